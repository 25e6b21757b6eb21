//! Where the parts of a message are that the proxy looks at.

use std::io::BufReader;
use std::ops::Range;

use super::held::Held;
use super::json::{Bracket, Fault, Pieces, Token};

/// Below this nothing is looked at.
const MAX_DEPTH: usize = 8;

/// A result of more blocks, or a list of more tools, is refused: where each is must be held.
const MAX_ITEMS: usize = 100_000;

/// Where a value is, with what it takes to remove it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Span {
    /// The value.
    pub(super) value: Range<u64>,
    /// Where its key begins; of an item, where it does itself.
    pub(super) start: u64,
    /// Where the member or item before it ends, if there is one.
    pub(super) after: Option<u64>,
}

/// A block of a result's content, an item of a resource's contents.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) span: Span,
    /// Its text, or that of the resource in it.
    pub(super) text: Option<Range<u64>>,
    /// What is not text in it: the data of an image or a sound, a blob.
    pub(super) data: Option<Span>,
    pub(super) mime_type: Option<Range<u64>>,
}

/// A tool of a list.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolEntry {
    pub(super) span: Span,
    pub(super) name: Option<Range<u64>>,
    pub(super) output_schema: Option<Span>,
    pub(super) has_meta: bool,
}

/// What a result holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    /// `content`, or `contents` of a resource.
    pub(super) list: Option<Span>,
    pub(super) blocks: Vec<Block>,
    pub(super) structured: Option<Span>,
    pub(super) is_error: Option<Range<u64>>,
    /// Whether there is more than one list, so that nobody can tell which a client shows.
    pub(super) is_ambiguous: bool,
}

/// What a message is, and where its parts are.
#[derive(Clone, Debug, Default)]
pub(super) struct Outline {
    pub(super) id: Option<Range<u64>>,
    pub(super) method: Option<Range<u64>>,
    pub(super) has_result: bool,
    pub(super) has_error: bool,
    /// `params.name`, `params.uri`, `params.taskId`, the client's name, and what the arguments ask for.
    pub(super) name: Option<Range<u64>>,
    pub(super) uri: Option<Range<u64>>,
    pub(super) task: Option<Range<u64>>,
    pub(super) client: Option<Range<u64>>,
    pub(super) query: Option<Range<u64>>,
    pub(super) arguments: Option<Range<u64>>,
    /// The version of the protocol that a request or the answer to `initialize` names.
    pub(super) version: Option<Range<u64>>,
    pub(super) body: Body,
    pub(super) tools: Vec<ToolEntry>,
    pub(super) tool_list: Option<Range<u64>>,
    pub(super) has_cursor: bool,
    /// The request that is cancelled.
    pub(super) cancelled: Option<Range<u64>>,
    /// The messages of a batch.
    pub(super) batch: Vec<Range<u64>>,
    block: Block,
    tool: ToolEntry,
}

/// A container that is open.
struct Frame {
    step: Step,
    span: Span,
    bracket: Bracket,
    /// The key that was read last, and where it begins.
    key: (Vec<u8>, u64),
    /// Where the last member or item ends.
    last: Option<u64>,
}

/// How a value is reached from what holds it.
#[derive(Clone, Debug)]
enum Step {
    Key(Vec<u8>),
    Item,
}

impl Step {
    fn name(&self) -> &str {
        match self {
            Step::Key(key) => std::str::from_utf8(key).unwrap_or("\\"),
            Step::Item => "*",
        }
    }
}

impl Outline {
    /// Reads where the parts of a message are.
    pub(super) fn read(held: &Held, part: Range<u64>) -> Result<Outline, Fault> {
        let from = part.start;
        let mut pieces = Pieces::new(BufReader::with_capacity(64 << 10, held.part(part)));
        let (mut outline, mut frames) = (Outline::default(), Vec::<Frame>::new());
        while let Some((token, range)) = pieces.next()? {
            let range = from + range.start..from + range.end;
            match token {
                // What is deeper is passed over; its end is that of what holds it.
                _ if pieces.depth() > MAX_DEPTH => {}
                Token::Key(key) => {
                    if let Some(frame) = frames.last_mut() {
                        frame.key = (key, range.start);
                    }
                }
                Token::Open(bracket) => {
                    let (step, span) = placed(&mut frames, range);
                    frames.push(Frame {
                        step,
                        span,
                        bracket,
                        key: Default::default(),
                        last: None,
                    });
                }
                Token::Close if frames.len() > pieces.depth() => {
                    let Some(frame) = frames.pop() else {
                        return Err(Fault::Malformed);
                    };
                    let mut span = frame.span;
                    span.value.end = range.end;
                    outline.found(&mut frames, &frame.step, &span, range.end)?;
                }
                Token::Close => {
                    if let Some(frame) = frames.last_mut() {
                        frame.last = Some(range.end);
                    }
                }
                Token::String | Token::Word => {
                    let (step, span) = placed(&mut frames, range.clone());
                    outline.found(&mut frames, &step, &span, range.end)?;
                }
            }
        }
        Ok(outline)
    }

    /// Notes a value that was read to its end.
    fn found(
        &mut self,
        frames: &mut [Frame],
        step: &Step,
        span: &Span,
        end: u64,
    ) -> Result<(), Fault> {
        let mut path: Vec<&str> = frames
            .iter()
            .skip(1)
            .map(|frame| frame.step.name())
            .collect();
        if !frames.is_empty() {
            path.push(step.name());
        }
        self.note(&path, span);
        if self
            .body
            .blocks
            .len()
            .max(self.tools.len())
            .max(self.batch.len())
            > MAX_ITEMS
        {
            return Err(Fault::Malformed);
        }
        if let Some(frame) = frames.last_mut() {
            frame.last = Some(end);
        }
        Ok(())
    }

    fn note(&mut self, path: &[&str], span: &Span) {
        let value = Some(span.value.clone());
        match path {
            ["*"] => self.batch.push(span.value.clone()),
            ["id"] => self.id = value,
            ["method"] => self.method = value,
            ["result"] => self.has_result = true,
            ["error"] => self.has_error = true,
            ["params", "name"] => self.name = value,
            ["result", "protocolVersion"]
            | ["params", "_meta", "io.modelcontextprotocol/protocolVersion"] => {
                self.version = value;
            }
            ["params", "requestId"] => self.cancelled = value,
            ["params", "uri"] => self.uri = value,
            ["params", "arguments"] => self.arguments = value,
            ["params" | "result", "taskId"] | ["result", "task", "taskId"] => self.task = value,
            ["params", "clientInfo", "name"]
            | [
                "params",
                "_meta",
                "io.modelcontextprotocol/clientInfo",
                "name",
            ] => {
                self.client = value;
            }
            ["params", "arguments", "query" | "pattern" | "q" | "search"] => self.query = value,
            ["result", "nextCursor"] => self.has_cursor = true,
            ["result", "tools", rest @ ..] => self.note_tool(rest, span),
            ["result" | "params", "result", rest @ ..] | ["result", rest @ ..] => {
                self.note_body(rest, span);
            }
            _ => {}
        }
    }

    fn note_tool(&mut self, path: &[&str], span: &Span) {
        match path {
            [] => self.tool_list = Some(span.value.clone()),
            ["*"] => {
                self.tool.span = span.clone();
                self.tools.push(std::mem::take(&mut self.tool));
            }
            ["*", "name"] => self.tool.name = Some(span.value.clone()),
            ["*", "outputSchema"] => self.tool.output_schema = Some(span.clone()),
            ["*", "_meta"] => self.tool.has_meta = true,
            _ => {}
        }
    }

    fn note_body(&mut self, path: &[&str], span: &Span) {
        let value = || Some(span.value.clone());
        match path {
            ["content" | "contents"] => {
                self.body.is_ambiguous |= self.body.list.is_some();
                self.body.list = Some(span.clone());
            }
            ["structuredContent"] => self.body.structured = Some(span.clone()),
            ["isError"] => self.body.is_error = value(),
            ["content" | "contents", "*"] => {
                self.block.span = span.clone();
                self.body.blocks.push(std::mem::take(&mut self.block));
            }
            ["content" | "contents", "*", "text"] | ["content", "*", "resource", "text"] => {
                self.block.text = value();
            }
            ["content" | "contents", "*", "data" | "blob"]
            | ["content", "*", "resource", "blob"] => {
                self.block.data = Some(span.clone());
            }
            ["content" | "contents", "*", "mimeType"]
            | ["content", "*", "resource", "mimeType"] => {
                self.block.mime_type = value();
            }
            _ => {}
        }
    }
}

/// Returns how the value that begins is reached, and where it is.
fn placed(frames: &mut [Frame], value: Range<u64>) -> (Step, Span) {
    let Some(frame) = frames.last_mut() else {
        let start = value.start;
        let span = Span {
            value,
            start,
            after: None,
        };
        return (Step::Item, span);
    };
    let (step, start) = match frame.bracket {
        Bracket::Object => {
            let (key, start) = std::mem::take(&mut frame.key);
            (Step::Key(key), start)
        }
        Bracket::Array => (Step::Item, value.start),
    };
    let span = Span {
        value,
        start,
        after: frame.last,
    };
    (step, span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Outline {
        let held = Held::Memory(text.as_bytes().to_vec());
        Outline::read(&held, 0..held.len()).unwrap()
    }

    fn at(text: &str, range: &Range<u64>) -> String {
        text[range.start as usize..range.end as usize].to_owned()
    }

    #[test]
    fn the_parts_of_a_result_are_found_in_any_order() {
        let text = r#" {"result": {"structuredContent":{"a":[1,{"b":2}]}, "content":[{"type":"text","text":"x\"y"},{"type":"image","data":"QQ==","mimeType":"image/png"},{"type":"resource","resource":{"uri":"u","text":"z"}}],"isError":true},"jsonrpc":"2.0","id":"a1"}"#;
        let outline = outline(text);
        assert_eq!(at(text, outline.id.as_ref().unwrap()), "\"a1\"");
        assert!(outline.has_result && !outline.has_error && outline.method.is_none());
        let texts: Vec<Option<String>> = outline
            .body
            .blocks
            .iter()
            .map(|block| block.text.as_ref().map(|range| at(text, range)))
            .collect();
        assert_eq!(
            texts,
            [Some(r#""x\"y""#.into()), None, Some("\"z\"".into())]
        );
        let structured = outline.body.structured.unwrap();
        assert_eq!(at(text, &structured.value), r#"{"a":[1,{"b":2}]}"#);
        assert_eq!(structured.after, None);
        assert_eq!(at(text, &outline.body.is_error.unwrap()), "true");
        assert_eq!(
            at(text, &outline.body.blocks[1].data.clone().unwrap().value),
            "\"QQ==\""
        );
    }

    #[test]
    fn the_parts_of_a_request_are_found() {
        let text = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","id":3},"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"codex","version":"1"}}}}"#;
        let outline = outline(text);
        let shown = |range: Option<Range<u64>>| range.map(|range| at(text, &range));
        assert_eq!(shown(outline.id), Some("7".into()));
        assert_eq!(shown(outline.method), Some("\"tools/call\"".into()));
        assert_eq!(shown(outline.name), Some("\"search\"".into()));
        assert_eq!(shown(outline.query), Some("\"x\"".into()));
        assert_eq!(shown(outline.client), Some("\"codex\"".into()));
    }

    #[test]
    fn results_of_tasks_and_lists_of_tools_are_found() {
        let text = r#"{"id":1,"result":{"taskId":"t","status":"completed","result":{"content":[{"type":"text","text":"a"}]}}}"#;
        let task = outline(text);
        assert_eq!(at(text, &task.task.unwrap()), "\"t\"");
        assert_eq!(task.body.blocks.len(), 1);
        let text = r#"{"id":1,"result":{"tools":[{"name":"a","outputSchema":{"type":"object","properties":{"name":{}}},"_meta":{}},{"name":"b"}],"nextCursor":"c"}}"#;
        let list = outline(text);
        assert!(list.has_cursor);
        assert_eq!(list.tools.len(), 2);
        assert_eq!(at(text, list.tools[0].name.as_ref().unwrap()), "\"a\"");
        assert!(list.tools[0].has_meta && list.tools[0].output_schema.is_some());
        assert!(list.tools[1].output_schema.is_none());
    }
}
