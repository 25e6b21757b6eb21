//! Where the parts of a message are that the proxy looks at.

use std::ops::Range;

use overspill::Salience;

use super::held::Held;
use super::json::{Bracket, Fault, Pieces, Token};

/// Below this nothing is looked at.
const MAX_DEPTH: usize = 8;

/// A result of more blocks, or a list of more tools, is refused: where each is must be held.
const MAX_ITEMS: usize = 100_000;

/// A word is not longer.
const SHORT_BYTES: u64 = 16;

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
    /// What it says it is.
    pub(super) kind: Option<Range<u64>>,
}

/// A tool of a list.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolEntry {
    pub(super) span: Span,
    pub(super) name: Option<Range<u64>>,
    pub(super) output_schema: Option<Span>,
    pub(super) has_meta: bool,
}

/// A list of tools.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolList {
    pub(super) value: Option<Range<u64>>,
    pub(super) tools: Vec<ToolEntry>,
    pub(super) has_cursor: bool,
}

/// What a request tells in its `params`.
#[derive(Clone, Debug, Default)]
pub(super) struct Params {
    pub(super) name: Option<Range<u64>>,
    pub(super) uri: Option<Range<u64>>,
    pub(super) task: Option<Range<u64>>,
    /// What the client calls itself.
    pub(super) client: Option<Range<u64>>,
    /// The version of the protocol, where every request names it.
    pub(super) version: Option<Range<u64>>,
    pub(super) arguments: Option<Range<u64>>,
    /// What the arguments ask for.
    pub(super) query: Option<Range<u64>>,
    /// The request that is cancelled.
    pub(super) cancelled: Option<Range<u64>>,
}

/// What a result holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    /// All of it, with what tells of a task around it.
    pub(super) outer: Option<Range<u64>>,
    /// The result that is within what tells of a task.
    pub(super) inner: Option<Range<u64>>,
    /// `content`, or `contents` of a resource.
    pub(super) list: Option<Span>,
    pub(super) blocks: Vec<Block>,
    pub(super) structured: Option<Span>,
    pub(super) is_error: Option<Range<u64>>,
    /// What kind of a result it says it is.
    pub(super) kind: Option<Range<u64>>,
    /// How much of it is members that are not known.
    pub(super) loose: u64,
    /// Whether something is there twice, so that nobody can tell which of the two a client shows.
    pub(super) is_ambiguous: bool,
}

impl Body {
    /// Returns where the result itself is, without what tells of a task.
    pub(super) fn innermost(&self) -> Option<Range<u64>> {
        self.inner.clone().or_else(|| self.outer.clone())
    }
}

/// What an error holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Failure {
    pub(super) all: Range<u64>,
    pub(super) code: Option<Range<u64>>,
    pub(super) message: Option<Range<u64>>,
    pub(super) data: Option<Span>,
}

/// What a message is, and where its parts are.
#[derive(Clone, Debug, Default)]
pub(super) struct Outline {
    pub(super) id: Option<Range<u64>>,
    pub(super) method: Option<Range<u64>>,
    pub(super) params: Params,
    pub(super) body: Body,
    pub(super) failure: Option<Failure>,
    /// The task that an answer tells of.
    pub(super) task: Option<Range<u64>>,
    /// The version of the protocol that the answer to `initialize` names.
    pub(super) version: Option<Range<u64>>,
    pub(super) list: ToolList,
    /// Whether it says that it is JSON-RPC.
    pub(super) has_protocol: bool,
    /// The messages of a batch.
    pub(super) batch: Vec<Range<u64>>,
    /// What is being read.
    block: Block,
    tool: ToolEntry,
    error: Failure,
    is_doubled: bool,
}

/// What a value is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shape {
    String,
    Other,
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
            // A key must not be taken for an item.
            Step::Key(key) if key == b"*" => "\\*",
            Step::Key(key) => std::str::from_utf8(key).unwrap_or("\\"),
            Step::Item => "*",
        }
    }
}

impl Outline {
    /// Reads where the parts of a message are.
    pub(super) fn read(held: &Held, part: Range<u64>) -> Result<Outline, Fault> {
        let from = part.start;
        let mut pieces = Pieces::new(held.pieces(part));
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
                    outline.found(&mut frames, &frame.step, &span, Shape::Other)?;
                }
                Token::Close => {
                    if let Some(frame) = frames.last_mut() {
                        frame.last = Some(range.end);
                    }
                }
                Token::String | Token::Word => {
                    let shape = match token {
                        Token::String => Shape::String,
                        _ => Shape::Other,
                    };
                    let (step, span) = placed(&mut frames, range);
                    outline.found(&mut frames, &step, &span, shape)?;
                }
            }
        }
        match outline.is_doubled {
            true => Err(Fault::Malformed),
            false => Ok(outline),
        }
    }

    /// Tells whether it looks like what a tool returns.
    pub(super) fn has_content(&self) -> bool {
        self.body.list.is_some() || self.body.structured.is_some()
    }

    /// Notes a value that was read to its end.
    fn found(
        &mut self,
        frames: &mut [Frame],
        step: &Step,
        span: &Span,
        shape: Shape,
    ) -> Result<(), Fault> {
        let mut path: Vec<&str> = frames
            .iter()
            .skip(1)
            .map(|frame| frame.step.name())
            .collect();
        if !frames.is_empty() {
            path.push(step.name());
        }
        self.note(&path, span, shape);
        if self.list.tools.len().max(self.batch.len()) > MAX_ITEMS {
            return Err(Fault::Malformed);
        }
        if let Some(frame) = frames.last_mut() {
            frame.last = Some(span.value.end);
        }
        Ok(())
    }

    fn note(&mut self, path: &[&str], span: &Span, shape: Shape) {
        match path {
            ["*"] => self.batch.push(span.value.clone()),
            ["id"] => self.is_doubled |= self.id.replace(span.value.clone()).is_some(),
            ["method"] if shape == Shape::String => {
                self.is_doubled |= self.method.replace(span.value.clone()).is_some();
            }
            ["jsonrpc"] => self.has_protocol = true,
            ["error"] => {
                self.error.all = span.value.clone();
                let failure = std::mem::take(&mut self.error);
                self.is_doubled |= self.failure.replace(failure).is_some();
            }
            ["error", rest @ ..] => self.note_failure(rest, span, shape),
            ["result", "protocolVersion"] => self.version = Some(span.value.clone()),
            ["result", "taskId"] | ["result", "task", "taskId"] => {
                self.task = Some(span.value.clone());
            }
            ["result", "nextCursor"] => {
                let is_empty = span.value.end - span.value.start <= 2;
                self.list.has_cursor = shape == Shape::String && !is_empty;
            }
            ["result", "tools", rest @ ..] => self.note_tool(rest, span),
            ["result"] | ["params", "result"] => {
                let before = self.body.outer.replace(span.value.clone());
                self.is_doubled |= before.is_some();
            }
            ["result", "result"] | ["result", "task", "result"] => {
                let before = self.body.inner.replace(span.value.clone());
                self.body.is_ambiguous |= before.is_some();
            }
            ["result", "task", "result", rest @ ..]
            | ["result" | "params", "result", rest @ ..]
            | ["result", rest @ ..] => self.note_body(rest, span, shape),
            ["params", rest @ ..] => self.note_params(rest, span),
            _ => {}
        }
    }

    fn note_params(&mut self, path: &[&str], span: &Span) {
        let params = &mut self.params;
        let place = match path {
            ["name"] => &mut params.name,
            ["uri"] => &mut params.uri,
            ["taskId"] => &mut params.task,
            ["requestId"] => &mut params.cancelled,
            ["arguments"] => &mut params.arguments,
            ["arguments", key] if Salience::QUERY_PARAMETERS.contains(key) => &mut params.query,
            ["_meta", "io.modelcontextprotocol/protocolVersion"] => &mut params.version,
            ["clientInfo", "name"] | ["_meta", "io.modelcontextprotocol/clientInfo", "name"] => {
                &mut params.client
            }
            _ => return,
        };
        *place = Some(span.value.clone());
    }

    fn note_tool(&mut self, path: &[&str], span: &Span) {
        match path {
            [] => self.list.value = Some(span.value.clone()),
            ["*"] => {
                self.tool.span = span.clone();
                self.list.tools.push(std::mem::take(&mut self.tool));
            }
            ["*", "name"] => self.tool.name = Some(span.value.clone()),
            ["*", "outputSchema"] => self.tool.output_schema = Some(span.clone()),
            ["*", "_meta"] => self.tool.has_meta = true,
            _ => {}
        }
    }

    fn note_failure(&mut self, path: &[&str], span: &Span, shape: Shape) {
        let error = &mut self.error;
        match (path, shape) {
            (["code"], _) => error.code = Some(span.value.clone()),
            (["message"], Shape::String) => error.message = Some(span.value.clone()),
            (["data"], _) => error.data = Some(span.clone()),
            _ => {}
        }
    }

    fn note_body(&mut self, path: &[&str], span: &Span, shape: Shape) {
        let body = &mut self.body;
        let is_doubled = match (path, shape) {
            (["content" | "contents"], _) => body.list.replace(span.clone()).is_some(),
            (["structuredContent"], _) => body.structured.replace(span.clone()).is_some(),
            (["isError"], _) if len(&span.value) <= SHORT_BYTES => {
                body.is_error.replace(span.value.clone()).is_some()
            }
            (["task", "taskId" | "status" | "result"], _) => false,
            (["task", _], _) => {
                body.loose += len(&span.value);
                false
            }
            (["resultType"], _) => body.kind.replace(span.value.clone()).is_some(),
            // What the client keeps to itself, or what is looked at by itself.
            (["_meta" | "result" | "task"], _) => false,
            ([_], _) => {
                body.loose += span.value.end - span.start;
                false
            }
            (["content" | "contents", "*"], _) => {
                self.block.span = span.clone();
                let block = std::mem::take(&mut self.block);
                // Of so many it cannot be held where each is.
                let is_full = body.blocks.len() >= MAX_ITEMS;
                if !is_full {
                    body.blocks.push(block);
                }
                is_full
            }
            (["content" | "contents", "*", rest @ ..], Shape::String) => {
                self.block.note(rest, span)
            }
            _ => false,
        };
        self.body.is_ambiguous |= is_doubled;
    }
}

impl Block {
    /// Notes a string in it, and tells whether it has two of them.
    fn note(&mut self, path: &[&str], span: &Span) -> bool {
        match path {
            ["text"] | ["resource", "text"] => self.text.replace(span.value.clone()).is_some(),
            ["data" | "blob"] | ["resource", "blob"] => self.data.replace(span.clone()).is_some(),
            ["type"] => self.kind.replace(span.value.clone()).is_some(),
            ["mimeType"] | ["resource", "mimeType"] => {
                self.mime_type = Some(span.value.clone());
                false
            }
            _ => false,
        }
    }
}

/// Returns how many bytes a place has.
pub(super) fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
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
        assert!(outline.has_protocol && outline.body.outer.is_some() && outline.failure.is_none());
        assert!(outline.method.is_none() && !outline.body.is_ambiguous);
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
        assert_eq!(shown(outline.params.name), Some("\"search\"".into()));
        assert_eq!(shown(outline.params.query), Some("\"x\"".into()));
        assert_eq!(shown(outline.params.client), Some("\"codex\"".into()));
    }

    #[test]
    fn results_of_tasks_and_lists_of_tools_are_found() {
        let text = r#"{"id":1,"result":{"taskId":"t","status":"completed","result":{"content":[{"type":"text","text":"a"}]}}}"#;
        let task = outline(text);
        assert_eq!(at(text, &task.task.unwrap()), "\"t\"");
        assert_eq!(task.body.blocks.len(), 1);
        let text = r#"{"id":1,"result":{"tools":[{"name":"a","outputSchema":{"type":"object","properties":{"name":{}}},"_meta":{}},{"name":"b"}],"nextCursor":"c"}}"#;
        let list = outline(text);
        assert!(list.list.has_cursor);
        assert_eq!(list.list.tools.len(), 2);
        assert_eq!(at(text, list.list.tools[0].name.as_ref().unwrap()), "\"a\"");
        assert!(list.list.tools[0].has_meta && list.list.tools[0].output_schema.is_some());
        assert!(list.list.tools[1].output_schema.is_none());
    }
}
