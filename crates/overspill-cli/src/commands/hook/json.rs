//! The JSON of an agent, read in place.
//!
//! A result may be a hundred megabytes long, and a tree of owned strings would hold it three times over: as it came, while it is
//! unescaped, and as it is kept. No string gets longer by being unescaped, so that is done where it stands, and the tree borrows
//! every text from the input. Half a surrogate pair, which agents leave that cut a text by UTF-16 units, becomes U+FFFD.

use std::borrow::Cow;
use std::fmt;
use std::ops::Index;

use serde_json::Value;

/// Deeper than this is no input of a hook, and would use up the stack.
const MAX_DEPTH: usize = 128;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json<'i> {
    /// `null`, `true`, `false` or a number.
    Scalar(Value),
    Text(Cow<'i, str>),
    List(Vec<Json<'i>>),
    /// Members as they came. Of two with the same name the last one counts.
    Object(Vec<(Cow<'i, str>, Json<'i>)>),
}

/// What stands for a member that is not there.
static NULL: Json<'static> = Json::Scalar(Value::Null);

impl<'i> Json<'i> {
    /// Reads an input, which is used up.
    pub(super) fn parse(input: &'i mut [u8]) -> Result<Json<'i>, Fault> {
        let mut reader = Reader {
            bytes: input.len(),
            rest: input,
            depth: 0,
        };
        let value = reader.value()?;
        reader.space();
        match reader.rest.is_empty() {
            true => Ok(value),
            false => Err(reader.fault("more behind the end")),
        }
    }

    /// Returns a member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Json<'i>> {
        let Json::Object(members) = self else {
            return None;
        };
        let member = members.iter().rfind(|(key, _)| key == name);
        member.map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Json<'i>> {
        let Json::Object(members) = self else {
            return None;
        };
        let member = members.iter_mut().rfind(|(key, _)| key == name);
        member.map(|(_, value)| value)
    }

    /// Returns a member of an object and leaves `null` in its place.
    pub(super) fn take(&mut self, name: &str) -> Json<'i> {
        let member = self.get_mut(name);
        member.map_or(NULL.clone(), |value| std::mem::replace(value, NULL.clone()))
    }

    /// Sets a member that is there.
    pub(super) fn set(&mut self, name: &str, value: Json<'i>) {
        if let Some(member) = self.get_mut(name) {
            *member = value;
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Json::Object(members) = self {
            members.retain(|(key, _)| key != name);
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Option<&[Json<'i>]> {
        match self {
            Json::List(items) => Some(items),
            _ => None,
        }
    }

    /// Tells whether it is this text.
    pub(super) fn is(&self, text: &str) -> bool {
        self.as_str() == Some(text)
    }

    pub(super) fn is_true(&self) -> bool {
        *self == Json::Scalar(Value::Bool(true))
    }

    pub(super) fn is_null(&self) -> bool {
        *self == NULL
    }
}

impl From<String> for Json<'_> {
    fn from(text: String) -> Self {
        Json::Text(Cow::Owned(text))
    }
}

impl<'i> Index<&str> for Json<'i> {
    type Output = Json<'i>;

    /// Returns a member of an object, or `null`.
    fn index(&self, name: &str) -> &Json<'i> {
        self.get(name).unwrap_or(&NULL)
    }
}

impl From<Json<'_>> for Value {
    fn from(json: Json<'_>) -> Value {
        match json {
            Json::Scalar(value) => value,
            Json::Text(text) => Value::String(text.into_owned()),
            Json::List(items) => items.into_iter().map(Value::from).collect(),
            Json::Object(members) => {
                let members = members.into_iter();
                let owned = members.map(|(name, value)| (name.into_owned(), Value::from(value)));
                Value::Object(owned.collect())
            }
        }
    }
}

/// Why an input is not JSON, and where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Fault {
    at: usize,
    what: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { at, what } = self;
        write!(f, "the input is not JSON at byte {at}: {what}")
    }
}

impl std::error::Error for Fault {}

/// What is still to be read.
struct Reader<'i> {
    bytes: usize,
    rest: &'i mut [u8],
    depth: usize,
}

impl<'i> Reader<'i> {
    fn fault(&self, what: &'static str) -> Fault {
        let at = self.bytes - self.rest.len();
        Fault { at, what }
    }

    /// Takes bytes, of which there are that many.
    fn take(&mut self, len: usize) -> &'i mut [u8] {
        let (taken, rest) = std::mem::take(&mut self.rest).split_at_mut(len);
        self.rest = rest;
        taken
    }

    fn space(&mut self) {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let len = self.rest.iter().take_while(|byte| is_space(byte)).count();
        self.take(len);
    }

    /// Takes a byte behind white space, if it is this one.
    fn accept(&mut self, byte: u8) -> bool {
        self.space();
        let is_there = self.rest.first() == Some(&byte);
        self.take(usize::from(is_there));
        is_there
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Fault> {
        match self.accept(byte) {
            true => Ok(()),
            false => Err(self.fault(what)),
        }
    }

    fn value(&mut self) -> Result<Json<'i>, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault("nested too deep"));
        }
        self.depth += 1;
        let value = if self.accept(b'"') {
            Json::Text(self.text()?)
        } else if self.accept(b'[') {
            self.list()?
        } else if self.accept(b'{') {
            self.object()?
        } else {
            self.scalar()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self) -> Result<Json<'i>, Fault> {
        let mut items = Vec::new();
        if self.accept(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value()?);
            if !self.accept(b',') {
                self.expect(b']', "expected `,` or `]`")?;
                return Ok(Json::List(items));
            }
        }
    }

    fn object(&mut self) -> Result<Json<'i>, Fault> {
        let mut members = Vec::new();
        if self.accept(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.expect(b'"', "expected a key")?;
            let name = self.text()?;
            self.expect(b':', "expected `:`")?;
            members.push((name, self.value()?));
            if !self.accept(b',') {
                self.expect(b'}', "expected `,` or `}`")?;
                return Ok(Json::Object(members));
            }
        }
    }

    fn scalar(&mut self) -> Result<Json<'i>, Fault> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let len = self.rest.iter().take_while(|byte| is_part(byte)).count();
        let value = serde_json::from_slice(&self.rest[..len]);
        let value = value.map_err(|_| self.fault("expected a value"))?;
        self.take(len);
        Ok(Json::Scalar(value))
    }

    /// Reads a string behind its opening quote.
    fn text(&mut self) -> Result<Cow<'i, str>, Fault> {
        let mut len = 0;
        loop {
            match self.rest.get(len) {
                None => return Err(self.fault("a string without an end")),
                Some(b'"') => break,
                Some(b'\\') => len += 2,
                Some(0..0x20) => return Err(self.fault("a control character in a string")),
                Some(_) => len += 1,
            }
        }
        let fault = self.fault("a string with an escape that is none");
        let text = self.take(len);
        self.take(1);
        let len = unescape(text).ok_or(fault)?;
        let text: &'i [u8] = text;
        let what = "a string that is not UTF-8";
        let text = std::str::from_utf8(&text[..len]).map_err(|_| Fault { what, ..fault })?;
        Ok(Cow::Borrowed(text))
    }
}

/// Unescapes a string where it stands, and returns its new length; `None` if an escape is none.
fn unescape(text: &mut [u8]) -> Option<usize> {
    let is_escape = |byte: &u8| *byte == b'\\';
    let (mut from, mut to) = (0, 0);
    while let Some(plain) = text[from..].iter().position(is_escape) {
        text.copy_within(from..from + plain, to);
        from += plain;
        to += plain;
        let (c, len) = unescaped(&text[from..])?;
        let mut buffer = [0; 4];
        let bytes = c.encode_utf8(&mut buffer).as_bytes();
        text[to..to + bytes.len()].copy_from_slice(bytes);
        from += len;
        to += bytes.len();
    }
    text.copy_within(from.., to);
    Some(to + text.len() - from)
}

/// Returns what an escape stands for, and how long it is.
fn unescaped(escape: &[u8]) -> Option<(char, usize)> {
    let c = match escape.get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return surrogates(escape),
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        _ => return None,
    };
    Some((c, 2))
}

/// Reads `\uXXXX`, or two of them where they are one character.
fn surrogates(escape: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u16> {
        let digits = escape.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let is_number = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    let pair = [first, unit(6).unwrap_or_default()];
    match char::decode_utf16(pair).next()? {
        Ok(c) => Some((c, 6 * c.len_utf16())),
        Err(_) => Some((char::REPLACEMENT_CHARACTER, 6)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// What the input says, or nothing if it is not JSON.
    fn read(input: &[u8]) -> Option<Value> {
        let mut input = input.to_vec();
        Json::parse(&mut input).ok().map(Value::from)
    }

    #[test]
    fn half_a_character_is_mended() {
        let cases = [
            (r#"{"a":"x\ud83d"}"#, json!({ "a": "x\u{FFFD}" })),
            (
                r#"["\ude00\ud83d\ude00\ud83d\n"]"#,
                json!(["\u{FFFD}😀\u{FFFD}\n"]),
            ),
            (r#"["\\ud83d", "\ud83d"]"#, json!(["\\ud83d", "\u{FFFD}"])),
            (r#""\ud83d\u0041""#, json!("\u{FFFD}A")),
        ];
        for (input, expected) in cases {
            assert_eq!(read(input.as_bytes()), Some(expected), "{input}");
        }
    }

    #[test]
    fn texts_are_borrowed() {
        let mut input = br#"{"a\n":["x\ty"]}"#.to_vec();
        let Json::Object(members) = Json::parse(&mut input).unwrap() else {
            panic!("no object");
        };
        let [(Cow::Borrowed("a\n"), Json::List(items))] = &members[..] else {
            panic!("{members:?}");
        };
        assert_eq!(items[..], [Json::Text(Cow::Borrowed("x\ty"))]);
        assert!(matches!(items[0], Json::Text(Cow::Borrowed(_))));
    }

    #[test]
    fn what_is_no_json_names_the_place() {
        let deep = "[".repeat(100_000);
        let cases: [(&[u8], usize, &str); 13] = [
            (b"", 0, "expected a value"),
            (b" nonsense", 1, "expected a value"),
            (b"{\"a\":\"\xff\xfe\"}", 6, "a string that is not UTF-8"),
            (b"[1,]", 3, "expected a value"),
            (b"[1 2]", 3, "expected `,` or `]`"),
            (b"{\"a\" 1}", 5, "expected `:`"),
            (b"{\"a\":1,}", 7, "expected a key"),
            (b"\"open", 1, "a string without an end"),
            (b"\"a\nb\"", 1, "a control character in a string"),
            (b"\"\\x\"", 1, "a string with an escape that is none"),
            (b"\"\\u+123\"", 1, "a string with an escape that is none"),
            (b"1 2", 2, "more behind the end"),
            (deep.as_bytes(), 128, "nested too deep"),
        ];
        for (input, at, what) in cases {
            let mut input = input.to_vec();
            assert_eq!(Json::parse(&mut input), Err(Fault { at, what }));
        }
    }

    #[test]
    fn members_are_found_set_and_taken() {
        let mut input = br#"{"a":1,"a":"last","b":true}"#.to_vec();
        let mut json = Json::parse(&mut input).unwrap();
        assert!(json["a"].is("last") && json["b"].is_true() && json["c"].is_null());
        json.set("b", "new".to_owned().into());
        json.set("c", "nowhere".to_owned().into());
        assert_eq!(json.take("a"), Json::Text("last".into()));
        assert!(json["a"].is_null() && json.take("c").is_null());
        json.remove("a");
        assert_eq!(Value::from(json), json!({ "b": "new" }));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_json_is_read_as_it_was_written(value in any_json(), spaces in any::<bool>()) {
            let text = match spaces {
                true => serde_json::to_string_pretty(&value).unwrap(),
                false => value.to_string(),
            };
            prop_assert_eq!(read(text.as_bytes()), Some(value));
        }

        #[test]
        fn what_is_json_is_decided_as_by_others(text in r#"([\[\]{}:, ]|"a"|"\\n"|"\\u00e9"|"\\ud83d\\ude00"|-?[0-9]{1,2}|1e5|0\.5|true|nul|\\){0,8}"#) {
            let theirs: Option<Value> = serde_json::from_str(&text).ok();
            prop_assert_eq!(read(text.as_bytes()), theirs);
        }
    }
}
