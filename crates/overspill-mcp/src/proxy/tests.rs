//! Whatever a server says, and however it writes it.

use overspill::{Host, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FromClient, FromServer, Held, Options, OwnTools, Proxy};

const MAX_LINES: usize = 20;
const MAX_BYTES: usize = 2000;

/// What a notice may add to a preview.
const NOTICE_BYTES: usize = 1024;
const NOTICE_LINES: usize = 8;

/// Writes JSON with spaces and escapes that a stream of bytes chooses.
struct Writer<'b> {
    choices: std::iter::Cycle<std::slice::Iter<'b, u8>>,
    out: String,
}

impl Writer<'_> {
    fn choice(&mut self) -> u8 {
        self.choices.next().copied().unwrap_or(0)
    }

    fn space(&mut self) {
        let space = ["", "", "", " ", "\t ", "  "][self.choice() as usize % 6];
        self.out += space;
    }

    fn value(&mut self, value: &Value) {
        self.space();
        match value {
            Value::Object(members) => {
                self.list('{', '}', members.iter(), |writer, (key, value)| {
                    writer.out += &json!(key).to_string();
                    writer.space();
                    writer.out.push(':');
                    writer.value(value);
                });
            }
            Value::Array(items) => self.list('[', ']', items.iter(), Self::value),
            Value::String(text) => self.string(text),
            other => self.out += &other.to_string(),
        }
        self.space();
    }

    fn list<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) {
        self.out.push(open);
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.space();
            write(self, item);
        }
        self.space();
        self.out.push(close);
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            if self.choice().is_multiple_of(16) {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    self.out += &format!("\\u{unit:04x}");
                }
            } else {
                let quoted = json!(c.to_string()).to_string();
                self.out += &quoted[1..quoted.len() - 1];
            }
        }
        self.out.push('"');
    }
}

fn written(value: &Value, choices: &[u8]) -> String {
    let mut writer = Writer {
        choices: choices.iter().cycle(),
        out: String::new(),
    };
    writer.value(value);
    writer.out
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zé中\u{1f600}\"\\\\ \n\t]{0,60}",
        prop::collection::vec("[a-zA-Z0-9 :/{}\\[\\]\",é]{0,60}", 0..60)
            .prop_map(|lines| lines.join("\n")),
        (0_usize..300).prop_map(|count| "ERROR: it broke\n".repeat(count)),
        "[x\"\\\\]{0,2000}",
    ]
}

fn any_block() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => any_text().prop_map(|text| json!({ "type": "text", "text": text })),
        1 => any_text().prop_map(|text| json!({ "text": text, "_meta": { "text": 1, "content": [{}] }, "type": "text" })),
        1 => any_text().prop_map(|text| json!({ "type": "resource", "resource": { "uri": "a:b", "text": text } })),
        1 => "[A-Z]{0,40}".prop_map(|data| json!({ "type": "image", "data": data, "mimeType": "image/png" })),
        1 => Just(json!({ "type": "resource_link", "uri": "a:b", "name": "c" })),
    ]
}

fn any_structured() -> impl Strategy<Value = Option<Value>> {
    let items = prop::collection::vec((any::<i64>(), "[a-z\"]{0,9}"), 0..80);
    prop::option::of(items.prop_map(|items| json!({ "content": items, "id": 7 })))
}

/// The members of a message in some order, its result with members in some order.
fn any_message() -> impl Strategy<Value = Value> {
    let blocks = prop::collection::vec(any_block(), 0..6);
    let is_error = prop::option::of(any::<bool>());
    (blocks, any_structured(), is_error, any::<[bool; 2]>()).prop_map(
        |(blocks, structured, is_error, [reversed, inner_reversed])| {
            let mut members = vec![
                ("content", json!(blocks)),
                ("_meta", json!({ "id": [1.5, null] })),
            ];
            members.extend(structured.map(|data| ("structuredContent", data)));
            members.extend(is_error.map(|is| ("isError", json!(is))));
            let result = object(members, inner_reversed);
            object(
                vec![
                    ("jsonrpc", json!("2.0")),
                    ("id", json!("a/é")),
                    ("result", result),
                ],
                reversed,
            )
        },
    )
}

fn object(mut members: Vec<(&str, Value)>, reversed: bool) -> Value {
    if reversed {
        members.reverse();
    }
    members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// A long value of no known shape, and what may be written around it.
fn any_odd() -> impl Strategy<Value = String> {
    let huge = prop_oneof![
        (3_000_usize..20_000).prop_map(|len| json!("x".repeat(len)).to_string()),
        (500_usize..2_000).prop_map(|count| json!(vec!["item"; count]).to_string()),
        (200_usize..900).prop_map(|count| {
            json!(vec![
                json!({ "type": "resource_link", "uri": "a:b", "name": "c" });
                count
            ])
            .to_string()
        }),
    ];
    (huge, 0..ODD.len()).prop_map(|(huge, at)| ODD[at].replace("HUGE", &huge))
}

/// Where a server may put what is too long.
const ODD: &[&str] = &[
    r#""result":HUGE"#,
    r#""result":{"content":HUGE}"#,
    r#""result":{"content":[HUGE]}"#,
    r#""result":{"content":[{"type":"text","text":HUGE}]}"#,
    r#""re\u0073ult":{"cont\u0065nt":[{"type":"text","t\u0065xt":HUGE}]}"#,
    r#""result":{"content":[{"type":"text","text":"a"}],"toolResult":HUGE,"resultType":"complete"}"#,
    r#""result":{"content":[{"type":"text","text":"a","annotations":HUGE}]}"#,
    r#""result":{"content":[{"type":"image","data":HUGE,"text":"a"}]}"#,
    r#""result":{"content":[{"type":"new","body":{"deep":[HUGE]}}],"isError":true}"#,
    r#""result":{"content":[],"content":[{"type":"text","text":HUGE}]}"#,
    r#""result":{"content":[{"type":"text","text":HUGE,"text":"a"}]}"#,
    r#""result":{"structuredContent":HUGE,"structuredContent":{}}"#,
    r#""result":{"structuredContent":{"a":HUGE}}"#,
    r#""result":{"taskId":"t","result":{"content":[{"type":"text","text":HUGE}]}}"#,
    r#""result":{"task":{"taskId":"t","result":{"content":[{"type":"text","text":HUGE}]}}}"#,
    r#""result":{"*":HUGE}"#,
    r#""result":{"result":HUGE}"#,
    r#""result":{"task":{"taskId":"t","more":HUGE}}"#,
    r#""result":{"resultType":"odd","more":HUGE,"content":[]}"#,
    r#""result":{"content":[],"isError":HUGE}"#,
    r#""result":{"content":[{"type":"json","data":HUGE}]}"#,
    r#""method":null,"result":{"content":[{"type":"text","text":HUGE}]}"#,
    r#""error":HUGE"#,
    r#""error":{"code":-32000,"message":HUGE}"#,
    r#""error":{"code":-32000,"message":"a","data":HUGE}"#,
    r#""error":{"code":-32000,"data":HUGE}"#,
    r#""error":{"code":7,"message":"a","other":HUGE}"#,
    r#""error":{"code":HUGE,"message":"a"}"#,
    r#""error":{"message":HUGE},"result":{"content":[{"type":"text","text":HUGE}]}"#,
];

/// Has a proxy relay the answer to a call.
fn relayed(answer: &str) -> String {
    let root = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with_option("max_lines", &MAX_LINES.to_string(), "")
        .and_then(|settings| settings.with_option("max_bytes", &MAX_BYTES.to_string(), ""))
        .unwrap();
    let options = Options {
        name: "fix".to_owned(),
        own_tools: OwnTools::Offered,
        scratch: std::env::temp_dir(),
    };
    let proxy = Proxy::new(Host::new(root.path(), settings), options);
    let call = json!({ "id": "a/é", "method": "tools/call", "params": { "name": "x" } });
    let asked = proxy
        .client_said(Held::Memory(call.to_string().into_bytes()))
        .unwrap();
    assert!(matches!(asked, FromClient::Forward(_)));
    let said = proxy
        .server_said(Held::Memory(answer.as_bytes().to_vec()))
        .unwrap();
    let message = match said {
        FromServer::Forward(message) => message,
        FromServer::Refused(message, _) => return String::from_utf8(message).unwrap(),
        FromServer::Garbage(..) => panic!("taken for garbage: {answer}"),
    };
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(message.write(&mut out)).unwrap();
    String::from_utf8(out).unwrap()
}

fn blocks(message: &Value) -> &[Value] {
    message["result"]["content"].as_array().unwrap()
}

fn text_of(block: &Value) -> Option<&str> {
    block["text"]
        .as_str()
        .or(block["resource"]["text"].as_str())
}

/// All text of a message, as it is bounded.
fn all_text(message: &Value) -> String {
    let mut all = String::new();
    for text in blocks(message).iter().filter_map(text_of) {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all += text;
    }
    all
}

fn is_within(text: &str) -> bool {
    text.len() <= MAX_BYTES && text.lines().count() <= MAX_LINES
}

/// What must come through any cut.
fn kept(message: &Value) -> Vec<&Value> {
    let is_ours = |block: &Value| {
        block["uri"]
            .as_str()
            .is_some_and(|uri| uri.starts_with("overspill:"))
    };
    let blocks = blocks(message)
        .iter()
        .filter(|block| text_of(block).is_none() && !is_ours(block));
    [
        &message["id"],
        &message["jsonrpc"],
        &message["result"]["_meta"],
        &message["result"]["isError"],
    ]
    .into_iter()
    .chain(blocks)
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_result_passes_as_it_came_or_is_bounded(
        message in any_message(),
        choices in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let answer = written(&message, &choices);
        let structured = &message["result"]["structuredContent"];
        let shown = relayed(&answer);
        // The longest that it can be written.
        if is_within(&all_text(&message)) && (structured.is_null() || answer.len() <= MAX_BYTES) {
            prop_assert_eq!(&shown, &answer);
        }
        let after: Value = serde_json::from_str(&shown).map_err(|error| TestCaseError::fail(format!("{error}: {shown}")))?;
        prop_assert_eq!(kept(&after), kept(&message));
        let text = all_text(&after);
        prop_assert!(text.len() <= MAX_BYTES + NOTICE_BYTES, "{} bytes: {}", text.len(), text);
        prop_assert!(text.lines().count() <= MAX_LINES + NOTICE_LINES, "{}", text);
        if let Some(data) = after["result"].get("structuredContent") {
            prop_assert_eq!(data, structured);
            prop_assert!(data.to_string().len() <= MAX_BYTES);
        }
        if !is_within(&all_text(&message)) {
            prop_assert!(text.contains("Full output saved to: "), "{}", text);
        }
    }

    #[test]
    fn an_answer_of_any_shape_is_bounded(odd in any_odd(), id in prop_oneof![Just(r#""a/é""#), Just(r#""a\/\u00e9""#)]) {
        // Text, structured content and what is beside them, each within its own.
        const MOST: usize = 3 * MAX_BYTES + NOTICE_BYTES;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},{odd}}}"#);
        let shown = relayed(&answer);
        let after: Value = serde_json::from_str(&shown).map_err(|error| TestCaseError::fail(format!("{error}: {shown}")))?;
        prop_assert_eq!(&after["id"], "a/é");
        prop_assert!(after.get("result").is_some() || after["error"]["message"].is_string(), "{}", shown);
        if let Some(result) = after.get("result") {
            prop_assert!(result.is_object(), "{}", shown);
        }
        prop_assert!(shown.len() <= MOST, "{} bytes of {}: {}", shown.len(), answer.len(), shown);
    }
}
