//! Results that are lists of blocks, as MCP has them.

use std::borrow::Cow;

use serde_json::Value;

use super::json::Json;

/// The text of a list of blocks, all of them together.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Texts<'b> {
    pub(super) text: Cow<'b, str>,
    /// Whether there is anything beside text: an image, a sound, a resource. It must not be lost.
    pub(super) has_others: bool,
}

/// Returns the text of blocks; nothing if there is none.
pub(super) fn texts<'b>(blocks: &'b [Json<'_>]) -> Option<Texts<'b>> {
    let parts = parts(blocks);
    if parts.is_empty() {
        return None;
    }
    Some(Texts {
        has_others: parts.len() < blocks.len(),
        text: joined(&parts),
    })
}

/// Returns the text of each block that is text.
pub(super) fn parts<'b>(blocks: &'b [Json<'_>]) -> Vec<&'b str> {
    blocks.iter().filter_map(text_of).collect()
}

/// Returns texts below each other; one alone is not copied.
pub(super) fn joined<'b>(parts: &[&'b str]) -> Cow<'b, str> {
    match parts {
        [part] => Cow::Borrowed(part),
        _ => Cow::Owned(parts.join("\n")),
    }
}

/// Puts one block of text in the place of the first one, and drops the others that are text.
pub(super) fn replaced<'b>(blocks: Vec<Json<'b>>, message: String) -> Json<'b> {
    let kind = Json::Text("text".into());
    let members = vec![("type".into(), kind), ("text".into(), message.into())];
    let mut message = Some(Json::Object(members));
    let mut replaced = Vec::new();
    for block in blocks {
        match text_of(&block) {
            Some(_) => replaced.extend(message.take()),
            None => replaced.push(block),
        }
    }
    Json::List(replaced)
}

/// Returns what blocks other than text take in the JSON of the list.
pub(super) fn others_chars<'b>(blocks: impl Iterator<Item = &'b Json<'b>>) -> usize {
    blocks
        .filter(|block| text_of(block).is_none())
        .map(|block| Value::from(block.clone()).to_string().len())
        .sum()
}

/// Returns the text of a block that is nothing else. Gemini CLI writes one without a type.
fn text_of<'b>(block: &'b Json<'_>) -> Option<&'b str> {
    let Json::Object(members) = block else {
        return None;
    };
    let is_text = match block.get("type") {
        None => members.len() == 1,
        Some(kind) => kind.is("text"),
    };
    block.get("text").filter(|_| is_text)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(value: &Value) -> Vec<Json<'static>> {
        let input = value.to_string().into_bytes().leak();
        match Json::parse(input).unwrap() {
            Json::List(items) => items,
            _ => panic!("no list: {value}"),
        }
    }

    #[test]
    fn texts_are_taken_together_and_the_rest_stays() {
        let image = json!({ "type": "image", "data": "AAAA" });
        let text = |text: &str| json!({ "type": "text", "text": text });
        let blocks = parsed(&json!([text("a"), image, text("b")]));
        assert_eq!(
            texts(&blocks),
            Some(Texts {
                text: "a\nb".into(),
                has_others: true
            })
        );
        let short = replaced(blocks, "short".to_owned());
        assert_eq!(Value::from(short), json!([text("short"), image]));
        let parts = parsed(&json!([{ "text": "x" }, { "text": "y" }]));
        assert_eq!(texts(&parts).map(|texts| texts.has_others), Some(false));
        let alone = texts(&parts[..1]).unwrap();
        assert!(matches!(alone.text, Cow::Borrowed("x")), "no copy");
    }

    #[test]
    fn what_is_no_text_is_none() {
        for block in [
            json!({ "type": "text" }),
            json!({ "type": "text", "text": 1 }),
            json!({ "type": "resource", "text": "x" }),
            json!({ "text": "x", "thought": true }),
            json!("text"),
            json!(null),
        ] {
            assert_eq!(texts(&parsed(&json!([block]))), None, "{block}");
        }
    }
}
