//! Turns the text of a file into its tags: what it defines, and how often it names what.
//!
//! A definition is kept as the place of its signature, not as text: the few that are shown are read again, and the many
//! that are not take no room. Whatever the bytes are, this ends: parsing has as many steps as the text is long.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use memchr::memmem;
use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use super::language::{
    Compiled, Family, Kind, LANGUAGES, Naming, Role, Space, Visibility, visibility,
};

/// The shortest and the longest name that counts. Shorter ones are loop variables, longer ones are nobody's.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=100;

/// The most definitions of one file. A header of ten thousand registers says no more than one of a thousand.
pub(super) const MOST_DEFINITIONS: usize = 1000;

/// The most bytes of a signature.
const SIGNATURE_BYTES: usize = 400;

/// How far before a definition its line may start.
const LINE_BYTES: usize = 200;

/// How deep definitions may be inside each other and still be told apart.
const MOST_SCOPES: usize = 64;

/// The libraries that come with Rust. A name that is brought in from there is none of the code base.
const FOREIGN: [&str; 3] = ["std", "core", "alloc"];

/// How many looks the parser may take at whether to stop: at least, and one more for so many bytes. It looks every hundred
/// steps. Code has 130 bytes and more a look; what needs far more is caught in trying to make sense of something else, and
/// would end in work that grows with the square of the text and takes no looks at all.
const LEAST_LOOKS: usize = 400;
const BYTES_A_LOOK: usize = 48;

/// How many more comments may begin than end. Grammars whose comments nest read to the end of the text for each.
const OPEN_COMMENTS: usize = 64;

/// A definition in a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Definition {
    /// The number of its name.
    pub(super) name: u32,
    pub(super) kind: Kind,
    pub(super) visibility: Visibility,
    /// Its line, from 0.
    pub(super) line: u32,
    /// Where its signature is.
    pub(super) start: u32,
    pub(super) bytes: u16,
    /// The definition it is in, as its number in the file plus one; 0 for none.
    pub(super) within: u32,
}

/// What a file defines and refers to. Names are numbered in the order they are met.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tags {
    pub(super) names: Vec<(Box<[u8]>, Space)>,
    pub(super) definitions: Vec<Definition>,
    /// Names with how often each stands in the file, in the order they are met.
    pub(super) references: Vec<(u32, u32)>,
}

/// Makes tags; holds on to what parsing needs.
pub(super) struct Tagger {
    parser: Parser,
}

impl Tagger {
    pub(super) fn new() -> Tagger {
        Tagger {
            parser: Parser::new(),
        }
    }

    /// Returns the tags of a text; nothing if it does not parse, or if `stops` says so on the way.
    pub(super) fn tags(
        &mut self,
        language: usize,
        text: &[u8],
        stops: impl Fn() -> bool,
    ) -> Option<Tags> {
        let count = |sign: &str| memmem::find_iter(text, sign).count();
        if count("/*") > count("*/") + OPEN_COMMENTS {
            return None;
        }
        let language = LANGUAGES.get(language)?.compiled();
        self.parser.set_language(&language.grammar).ok()?;
        let mut looks = LEAST_LOOKS + text.len() / BYTES_A_LOOK;
        let mut progress = |_: &tree_sitter::ParseState| {
            looks = looks.saturating_sub(1);
            match looks == 0 || stops() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
        let tree = self
            .parser
            .parse_with_options(&mut read, None, Some(options));
        let Some(tree) = tree else {
            self.parser.reset();
            return None;
        };
        let root = tree.root_node();
        let mut reader = Reader {
            text,
            language,
            tags: Tags::default(),
            known: HashMap::new(),
            foreign: FOREIGN.iter().map(|name| name.as_bytes()).collect(),
            scopes: Vec::new(),
        };
        reader.read(&mut root.walk());
        let is_empty = reader.tags.definitions.is_empty() && reader.tags.references.is_empty();
        // A tree is made of anything; one that has errors and nothing else is of no text in this language.
        (!is_empty || !root.has_error()).then_some(reader.tags)
    }
}

/// A definition that the walk is inside of.
struct Scope {
    depth: usize,
    /// Its number in the file plus one; 0 if it was not kept.
    number: u32,
    is_function: bool,
    members: Visibility,
}

/// The number of a name, and its place in the references once it is there.
type Known = (u32, Option<u32>);

struct Reader<'t> {
    text: &'t [u8],
    language: &'t Compiled,
    tags: Tags,
    known: HashMap<(&'t [u8], Space), Known>,
    /// Names that come from the language's own library.
    foreign: HashSet<&'t [u8]>,
    scopes: Vec<Scope>,
}

impl<'t> Reader<'t> {
    /// Walks the tree in the order of the text.
    fn read(&mut self, cursor: &mut TreeCursor<'t>) {
        let mut depth = 0_usize;
        loop {
            let node = cursor.node();
            let descends = self.meet(node, depth);
            if descends && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                depth -= 1;
            }
            while self.scopes.last().is_some_and(|scope| scope.depth >= depth) {
                self.scopes.pop();
            }
        }
    }

    /// Takes note of a node; tells whether what is in it counts.
    fn meet(&mut self, node: Node<'t>, depth: usize) -> bool {
        match self.language.role(node.kind_id()) {
            Role::Identifier => self.refer(node),
            Role::Variable if self.is_used(node) => self.refer(node),
            Role::Variable => {}
            Role::Definition(rule) => return self.define(node, rule, depth),
            Role::Closure => self.enter(depth, 0, Kind::Function, Visibility::Unsaid),
            Role::Skipped => return false,
            Role::Import if self.is_foreign(node) => {
                self.import(node);
                return false;
            }
            Role::Path => return !self.is_foreign(node),
            Role::Import | Role::Body | Role::None => {}
        }
        true
    }

    /// Tells whether an identifier is used as no variable is: called, part of a path, or written as types and constants are.
    fn is_used(&self, node: Node<'t>) -> bool {
        let before = &self.text[..node.start_byte()];
        let after = &self.text[node.end_byte()..];
        self.text[node.byte_range()]
            .iter()
            .any(u8::is_ascii_uppercase)
            || matches!(after.first(), Some(b'(' | b'!' | b'<'))
            || [&b"::"[..], b" ("]
                .iter()
                .any(|sign| after.starts_with(sign))
            || before.ends_with(b"::")
    }

    /// Tells whether the first name of a path or an import is of the language's own library.
    fn is_foreign(&self, node: Node<'t>) -> bool {
        let text = &self.text[node.byte_range()];
        let text = text.strip_prefix(b"pub").unwrap_or(text).trim_ascii_start();
        let text = text
            .strip_prefix(b"use ")
            .unwrap_or(text)
            .trim_ascii_start();
        let end = text.iter().position(|&byte| !is_word_byte(byte));
        self.foreign.contains(&text[..end.unwrap_or(text.len())])
    }

    /// Notes the names that an import brings in.
    fn import(&mut self, node: Node<'t>) {
        let words = self.text[node.byte_range()].split(|&byte| !is_word_byte(byte));
        self.foreign
            .extend(words.filter(|word| NAME_BYTES.contains(&word.len())));
    }

    fn refer(&mut self, node: Node<'t>) {
        let Some(name) = self.name_of(node) else {
            return;
        };
        // A member whose name is one plain word may be that of any type.
        let is_member = self.text[..node.start_byte()].ends_with(b".");
        let is_plain_member = is_member && name.iter().all(u8::is_ascii_lowercase);
        let is_foreign = self.language.family == Family::Rust && self.foreign.contains(name);
        if is_plain_member || is_foreign {
            return;
        }
        let space = match (self.language.family, node.kind()) {
            (Family::C, "type_identifier") => Space::Type,
            _ => Space::Any,
        };
        let number = self.number(name, space);
        let next = self.tags.references.len() as u32;
        let place = self.known.get_mut(&(name, space)).map(|(_, place)| place);
        match place {
            Some(Some(place)) => {
                if let Some((_, count)) = self.tags.references.get_mut(*place as usize) {
                    *count += 1;
                }
            }
            Some(place) => {
                *place = Some(next);
                self.tags.references.push((number, 1));
            }
            None => {}
        }
    }

    /// Takes note of a definition; tells whether what is in it counts.
    fn define(&mut self, node: Node<'t>, rule: u8, depth: usize) -> bool {
        let Some(rule) = self.language.rules.get(usize::from(rule)) else {
            return true;
        };
        let is_local = self.scopes.iter().any(|scope| scope.is_function);
        let body = self.body(node);
        let found = self.named(node, rule.naming);
        let name = found
            .and_then(|name| self.name_of(name))
            .unwrap_or_default();
        if rule.node == "mod_item" && [&b"test"[..], b"tests"].contains(&name) {
            return false;
        }
        // A variable of a function is nobody else's.
        let is_none = match rule.kind {
            Kind::Value => is_local,
            // What looks like one comes of macros that the grammar cannot know.
            Kind::Function if self.language.family == Family::C && is_local => true,
            _ => rule.needs_body && body.is_none(),
        };
        let is_wanted = !is_none && self.tags.definitions.len() < MOST_DEFINITIONS;
        let kept = found
            .filter(|_| is_wanted)
            .and_then(|name| self.definition(node, name, body, rule.kind));
        let number = match kept {
            Some(definition) => {
                self.tags.definitions.push(definition);
                self.tags.definitions.len() as u32
            }
            None => 0,
        };
        let members = match rule.node {
            "impl_item" if node.child_by_field_name("trait").is_some() => Visibility::Closed,
            "trait_item" => Visibility::Open,
            _ => Visibility::Unsaid,
        };
        self.enter(depth, number, rule.kind, members);
        true
    }

    /// Takes note of what the walk is inside of. `members` is what it says for what is in it and says nothing itself.
    fn enter(&mut self, depth: usize, number: u32, kind: Kind, members: Visibility) {
        if self.scopes.len() < MOST_SCOPES {
            self.scopes.push(Scope {
                depth,
                number,
                is_function: kind == Kind::Function,
                members,
            });
        }
    }

    fn definition(
        &mut self,
        node: Node<'t>,
        name: Node<'t>,
        body: Option<Node<'t>>,
        kind: Kind,
    ) -> Option<Definition> {
        let text = self.name_of(name)?;
        let space = match (self.language.family, kind) {
            (Family::C, Kind::Type) => Space::Type,
            _ => Space::Any,
        };
        if self.is_misread(name, kind) {
            return None;
        }
        let start = self.signature_start(node, name);
        let end = body.map_or(node.end_byte(), |body| body.start_byte());
        let end = end.max(start).min(start + SIGNATURE_BYTES);
        let signature = &self.text[start..end];
        let stop = match kind {
            // What follows on other lines is a value, not a signature.
            Kind::Value | Kind::Macro => memchr::memchr(b'\n', signature),
            Kind::Type if body.is_none() => memchr::memchr(b'{', signature),
            _ => None,
        };
        let end = stop.map_or(end, |stop| start + stop);
        let mut outer = self.scopes.iter().rev().map(|scope| scope.number);
        let within = outer.find(|number| *number > 0).unwrap_or(0);
        let said = match visibility(self.language.family, signature) {
            Visibility::Unsaid => self.scopes.last().map(|scope| scope.members),
            said => Some(said),
        };
        Some(Definition {
            name: self.number(text, space),
            kind,
            visibility: said.unwrap_or(Visibility::Unsaid),
            line: name.start_position().row as u32,
            start: u32::try_from(start).ok()?,
            bytes: u16::try_from(end.checked_sub(start)?).ok()?,
            within,
        })
    }

    /// Tells whether a definition in C comes of macros that the grammar cannot know: a function without parameters, a type
    /// with them.
    fn is_misread(&self, name: Node<'t>, kind: Kind) -> bool {
        let after = self.text[name.end_byte()..].trim_ascii_start();
        let is_called = after.starts_with(b"(");
        self.language.family == Family::C
            && match kind {
                Kind::Function => !is_called,
                Kind::Type => is_called,
                _ => false,
            }
    }

    /// Returns where the signature starts: with its line, so that `export`, `typedef` and `type` are there, unless something
    /// else ends on that line. Annotations are left out.
    fn signature_start(&self, node: Node<'t>, name: Node<'t>) -> usize {
        let is_annotated = matches!(self.text.get(node.start_byte()), Some(b'@' | b'[' | b'#'))
            && node.start_position().row < name.start_position().row;
        let at = match is_annotated {
            true => name.start_byte(),
            false => node.start_byte(),
        };
        let before = &self.text[..at];
        let line = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let indent = before[line..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace());
        let start = line + indent.count();
        let is_own = at - start <= LINE_BYTES
            && !before[start..]
                .iter()
                .any(|byte| matches!(byte, b';' | b'{' | b'}' | b'(' | b','));
        if is_own { start } else { at }
    }

    /// Returns what a signature ends before.
    fn body(&self, node: Node<'t>) -> Option<Node<'t>> {
        node.child_by_field_name("body").or_else(|| {
            let mut cursor = node.walk();
            node.named_children(&mut cursor)
                .find(|child| matches!(self.language.role(child.kind_id()), Role::Body))
        })
    }

    /// Returns the node of a definition's name.
    fn named(&self, node: Node<'t>, naming: Naming) -> Option<Node<'t>> {
        let named = match naming {
            Naming::Field(field) => node.child_by_field_name(field)?,
            Naming::First => node,
            Naming::Exactly(field) => {
                let named = node.child_by_field_name(field)?;
                let is_identifier = matches!(
                    self.language.role(named.kind_id()),
                    Role::Identifier | Role::Variable
                );
                return is_identifier.then_some(named);
            }
            Naming::Declarator => {
                let mut named = node.child_by_field_name("declarator")?;
                // The innermost declarator has the name; a text can be nested deeper than any name is.
                for _ in 0..MOST_SCOPES {
                    match named
                        .child_by_field_name("declarator")
                        .or_else(|| named.child_by_field_name("name"))
                    {
                        Some(inner) => named = inner,
                        None => break,
                    }
                }
                named
            }
        };
        self.first_identifier(named)
    }

    /// Returns the first identifier at or below a node. A name is never far.
    fn first_identifier(&self, node: Node<'t>) -> Option<Node<'t>> {
        let is_word = |node: &Node<'t>| {
            let text = &self.text[node.byte_range()];
            !text.is_empty() && text.iter().all(|&byte| is_word_byte(byte))
        };
        if matches!(
            self.language.role(node.kind_id()),
            Role::Identifier | Role::Variable
        ) || (node.named_child_count() == 0 && is_word(&node))
        {
            return Some(node);
        }
        let mut cursor = node.walk();
        let mut below = node.named_children(&mut cursor).take(4).collect::<Vec<_>>();
        for _ in 0..4 {
            let found = below.iter().find(|node| {
                matches!(
                    self.language.role(node.kind_id()),
                    Role::Identifier | Role::Variable
                )
            });
            if let Some(found) = found {
                return Some(*found);
            }
            let next = below.iter().flat_map(|node| {
                let mut cursor = node.walk();
                let children: Vec<_> = node.named_children(&mut cursor).take(4).collect();
                children
            });
            below = next.collect();
        }
        None
    }

    fn name_of(&self, node: Node<'t>) -> Option<&'t [u8]> {
        let name = self.text.get(node.byte_range())?;
        let is_name = NAME_BYTES.contains(&name.len()) && name.iter().all(|&b| is_word_byte(b));
        is_name.then_some(name)
    }

    fn number(&mut self, name: &'t [u8], space: Space) -> u32 {
        let next = self.tags.names.len() as u32;
        let names = &mut self.tags.names;
        let (number, _) = self.known.entry((name, space)).or_insert_with(|| {
            names.push((name.into(), space));
            (next, None)
        });
        *number
    }
}

/// Tells whether a byte can be part of a name: in any of the languages, and of any letter beyond ASCII.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'?' | b'!' | b'-') || byte >= 0x80
}
