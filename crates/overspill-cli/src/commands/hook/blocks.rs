//! Results that are lists of blocks, as MCP has them.

use serde_json::{Value, json};

/// The text of a list of blocks, all of them together.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Texts {
    pub(super) text: String,
    /// Whether there is anything beside text: an image, a sound, a resource. It must not be lost.
    pub(super) has_others: bool,
}

/// Returns the text of blocks; nothing if there is none.
pub(super) fn texts(blocks: &[Value]) -> Option<Texts> {
    let parts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    if parts.is_empty() {
        return None;
    }
    Some(Texts {
        text: parts.join("\n"),
        has_others: parts.len() < blocks.len(),
    })
}

/// Puts one block of text in the place of the first one, and drops the others that are text.
pub(super) fn replaced(blocks: Vec<Value>, message: &str) -> Vec<Value> {
    let mut message = Some(json!({ "type": "text", "text": message }));
    let mut replaced = Vec::new();
    for block in blocks {
        match text_of(&block) {
            Some(_) => replaced.extend(message.take()),
            None => replaced.push(block),
        }
    }
    replaced
}

/// Returns what blocks other than text take in the JSON of the list.
pub(super) fn others_chars<'b>(blocks: impl Iterator<Item = &'b Value>) -> usize {
    blocks
        .filter(|block| text_of(block).is_none())
        .map(|block| block.to_string().len())
        .sum()
}

/// Returns the text of a block that is nothing else. Gemini CLI writes one without a type.
fn text_of(block: &Value) -> Option<&str> {
    match block.get("type") {
        None => block.as_object().filter(|members| members.len() == 1)?,
        Some(kind) if kind == "text" => block.as_object()?,
        Some(_) => return None,
    }
    .get("text")?
    .as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_together_and_the_rest_stays() {
        let image = json!({ "type": "image", "data": "AAAA" });
        let blocks = vec![
            json!({ "type": "text", "text": "a" }),
            image.clone(),
            json!({ "type": "text", "text": "b" }),
        ];
        assert_eq!(
            texts(&blocks),
            Some(Texts {
                text: "a\nb".to_owned(),
                has_others: true
            })
        );
        assert_eq!(
            replaced(blocks, "short"),
            [json!({ "type": "text", "text": "short" }), image]
        );
        let parts = [json!({ "text": "x" }), json!({ "text": "y" })];
        assert_eq!(texts(&parts).map(|texts| texts.has_others), Some(false));
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
            assert_eq!(texts(std::slice::from_ref(&block)), None, "{block}");
        }
    }
}
