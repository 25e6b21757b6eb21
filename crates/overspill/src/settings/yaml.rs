//! Reads YAML as a tree with line numbers.
//!
//! Only what a configuration needs: mappings, sequences and scalars. Anchors and aliases are refused, which rules out
//! files that grow as they are read, and nesting has a bound.

use saphyr_parser::{Event, Parser, Span};

/// How deep a configuration may nest.
const DEPTH_MAX: usize = 16;

/// The most that an error quotes.
const QUOTE_BYTES: usize = 100;

/// A node of the tree, with the line it starts on, from 1.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NodeKind {
    Scalar(String),
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping, with its line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Key {
    pub(super) line: usize,
    pub(super) name: String,
}

/// Trouble at a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Trouble {
    pub(super) line: usize,
    pub(super) cause: String,
}

/// Reads a document; `None` if it is empty.
pub(super) fn read(text: &str) -> Result<Option<Node>, Trouble> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
    };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(None),
            (event, span) => {
                let node = reader.node(event, span, 0)?;
                return reader.end().map(|()| Some(node));
            }
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Trouble> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(Trouble {
                line: error.marker().line(),
                cause: format!("not YAML: {}", error.info()),
            }),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Refuses a second document.
    fn end(&mut self) -> Result<(), Trouble> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentEnd | Event::Nothing, _) => {}
                (_, span) => return Err(trouble(span, "a second document is not read")),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Trouble> {
        if depth > DEPTH_MAX {
            return Err(trouble(span, "nested too deeply"));
        }
        let kind = match event {
            Event::Scalar(text, _, 0, _) => NodeKind::Scalar(text.into_owned()),
            Event::SequenceStart(0, _) => NodeKind::Sequence(self.sequence(depth)?),
            Event::MappingStart(0, _) => NodeKind::Mapping(self.mapping(depth)?),
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::MappingStart(..) => {
                return Err(trouble(span, "anchors and aliases are not supported"));
            }
            _ => return Err(trouble(span, "not YAML")),
        };
        Ok(Node {
            line: span.start.line(),
            kind,
        })
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Node>, Trouble> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<(Key, Node)>, Trouble> {
        let mut members: Vec<(Key, Node)> = Vec::new();
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Ok(members),
                (Event::Scalar(name, _, 0, _), span) => Key {
                    line: span.start.line(),
                    name: name.into_owned(),
                },
                (_, span) => return Err(trouble(span, "a key must be a word")),
            };
            if members.iter().any(|(known, _)| known.name == key.name) {
                return Err(Trouble {
                    line: key.line,
                    cause: format!("{} stands twice", quote(&key.name)),
                });
            }
            let (event, span) = self.next()?;
            members.push((key, self.node(event, span, depth + 1)?));
        }
    }
}

/// Returns what a user wrote in quotes, on one line and not too long.
pub(super) fn quote(text: &str) -> String {
    match &text[..text.floor_char_boundary(QUOTE_BYTES)] {
        "" => "empty".to_owned(),
        start => format!("`{}`", start.escape_debug()),
    }
}

fn trouble(span: Span, cause: &str) -> Trouble {
    Trouble {
        line: span.start.line(),
        cause: cause.to_owned(),
    }
}
