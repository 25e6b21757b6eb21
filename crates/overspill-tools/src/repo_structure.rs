//! `RepoStructure`: the tree of a project, folded where it is deep or wide.
//!
//! Entries are shown level by level, and on a level in turn from each directory, so that a wide directory does not push the
//! others out.

use std::collections::BTreeMap;
use std::time::Instant;

use overspill::notice::Message;
use overspill::{Answer, Context, Lang, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::defaults;
use crate::sandbox::{self, one_line};
use crate::target::{self, quoted};
use crate::walk::{self, Walk};

/// Shows the tree of a project.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepoStructure;

/// What `RepoStructure` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepoStructureParams {
    /// Directory relative to the project root
    #[serde(default = "defaults::here")]
    pub path: String,
    /// How deep the tree is shown; 3 if not given
    #[schemars(range(min = 1))]
    pub max_depth: Option<usize>,
    /// How many files and directories are shown; 500 if not given
    #[schemars(range(min = 1))]
    pub max_files: Option<usize>,
}

impl Tool for RepoStructure {
    const NAME: &'static str = "RepoStructure";
    const DESCRIPTION: &'static str =
        "Show the directory tree of the project, without what .gitignore leaves out.";
    type Params = RepoStructureParams;

    fn run(&self, cx: &Context<'_>, params: RepoStructureParams) -> Result<Answer, ToolError> {
        let time_limit = walk::time_limit(cx);
        let deadline = Instant::now() + time_limit;
        let place = target::directory(cx, &params.path)?;
        let walked = walk::walk(Walk::new(cx, &target::root(cx)?, &place), deadline);
        if !walked.is_complete && walked.files.is_empty() {
            return Err(walk::timeout(cx, time_limit, "path").path_resolved(place.shown()));
        }
        let before = match place.path.as_os_str().len() {
            0 => 0,
            len => len + 1,
        };
        let mut tree = Node::default();
        for file in walked.files.iter().filter(|file| !file.is_ignored()) {
            tree.add(file.path.get(before..).unwrap_or(&file.path));
        }
        tree.count();
        let or_setting = |given: Option<usize>, key: &str| {
            given
                .or_else(|| cx.settings().number(key))
                .unwrap_or(usize::MAX)
        };
        let max_depth = or_setting(params.max_depth, "max_depth");
        let max_entries = or_setting(params.max_files, "max_files");
        let choice = Choice::new(&tree, max_depth, max_entries);
        let answer = answer(
            cx,
            &params,
            &tree,
            &choice,
            &walk::remarks(cx, &walked, time_limit),
        );
        Ok(walk::marked(answer, &walked, choice.is_cut).context("path_resolved", place.shown()))
    }
}

/// A directory of the tree, or a file if there is nothing below it.
#[derive(Debug, Default)]
struct Node {
    below: BTreeMap<Box<[u8]>, Node>,
    files: usize,
    directories: usize,
}

impl Node {
    fn add(&mut self, path: &[u8]) {
        let mut node = self;
        for part in path.split(|&byte| byte == b'/') {
            node = node.below.entry(part.into()).or_default();
        }
    }

    /// Counts what is below it, once all is there. A path is not longer than the system allows, so neither is the descent.
    fn count(&mut self) {
        for below in self.below.values_mut() {
            below.count();
            self.files += if below.is_directory() { below.files } else { 1 };
            self.directories += below.directories + usize::from(below.is_directory());
        }
    }

    fn is_directory(&self) -> bool {
        !self.below.is_empty()
    }

    /// Returns what is in it, directories first.
    fn entries(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        let of = |directories: bool| {
            let entries = self.below.iter();
            entries.filter(move |(_, node)| node.is_directory() == directories)
        };
        of(true)
            .chain(of(false))
            .map(|(name, node)| (&**name, node))
    }
}

/// How many entries of each directory are shown, by the path of the directory.
struct Choice {
    shown: BTreeMap<Vec<u8>, usize>,
    /// Whether there was no room for entries that are not too deep.
    is_cut: bool,
}

impl Choice {
    fn new(tree: &Node, max_depth: usize, max_entries: usize) -> Choice {
        let mut shown = BTreeMap::new();
        let mut left = max_entries;
        let mut level: Vec<(Vec<u8>, &Node)> = vec![(Vec::new(), tree)];
        let mut is_cut = false;
        for _ in 0..max_depth {
            if level.is_empty() {
                break;
            }
            let sizes: Vec<usize> = level.iter().map(|(_, node)| node.below.len()).collect();
            let counts = share(&sizes, left);
            let mut next = Vec::new();
            for ((path, node), &count) in level.into_iter().zip(&counts) {
                left -= count;
                is_cut |= count < node.below.len();
                let entries = node.entries().take(count);
                for (name, below) in entries.filter(|(_, below)| below.is_directory()) {
                    next.push(([&path, name, b"/".as_slice()].concat(), below));
                }
                shown.insert(path, count);
            }
            level = next;
        }
        Choice { shown, is_cut }
    }
}

/// Shares `room` among directories of these sizes: in turn one entry each, until there is no more room.
fn share(sizes: &[usize], room: usize) -> Vec<usize> {
    let mut counts = vec![0; sizes.len()];
    let mut room = room;
    let mut open: Vec<usize> = (0..sizes.len()).filter(|&at| sizes[at] > 0).collect();
    while room > 0 && !open.is_empty() {
        let each = (room / open.len()).max(1);
        for &at in &open {
            let more = each.min(sizes[at] - counts[at]).min(room);
            counts[at] += more;
            room -= more;
        }
        open.retain(|&at| counts[at] < sizes[at]);
    }
    counts
}

/// What is written of the tree, and what is not.
struct Drawing<'t> {
    choice: &'t Choice,
    lang: Lang,
    text: String,
    folded_files: usize,
    folded_directories: usize,
}

impl Drawing<'_> {
    /// Writes what a directory holds.
    fn draw(&mut self, path: &[u8], node: &Node, depth: usize) {
        let shown = self.choice.shown.get(path).copied().unwrap_or(0);
        let indent = "  ".repeat(depth);
        for (name, below) in node.entries().take(shown) {
            let text = sandbox::shown(name);
            let text = one_line(&text);
            if !below.is_directory() {
                self.line(&format!("{indent}{text}"));
                continue;
            }
            let path = [path, name, b"/"].concat();
            if self.choice.shown.get(&path).is_some_and(|shown| *shown > 0) {
                self.line(&format!("{indent}{text}/"));
                self.draw(&path, below, depth + 1);
            } else {
                self.folded_files += below.files;
                self.folded_directories += below.directories;
                let files = below.files.to_string();
                let holds = Message::FolderHolds.say(self.lang, &[("n", &files)]);
                self.line(&format!("{indent}{text}/ {holds}"));
            }
        }
        let (mut files, mut directories) = (0, 0);
        for (_, below) in node.entries().skip(shown) {
            match below.is_directory() {
                true => {
                    files += below.files;
                    directories += below.directories + 1;
                }
                false => files += 1,
            }
        }
        if files > 0 {
            self.folded_files += files;
            self.folded_directories += directories;
            let [files, directories] = [files, directories].map(|count| count.to_string());
            let values = [("n", &*files), ("m", &*directories)];
            let more = Message::TreeMore.say(self.lang, &values);
            self.line(&format!("{indent}{more}"));
        }
    }

    fn line(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

fn answer(
    cx: &Context<'_>,
    params: &RepoStructureParams,
    tree: &Node,
    choice: &Choice,
    remarks: &[String],
) -> Answer {
    let mut drawing = Drawing {
        choice,
        lang: cx.lang(),
        text: String::new(),
        folded_files: 0,
        folded_directories: 0,
    };
    drawing.draw(b"", tree, 0);
    let [n, m, folded, folded_directories] = [
        tree.files,
        tree.directories,
        drawing.folded_files,
        drawing.folded_directories,
    ]
    .map(|count| count.to_string());
    let path = quoted(&params.path);
    let head = Message::TreeOf.say(cx.lang(), &[("path", &path), ("n", &n), ("m", &m)]);
    let mut lines = vec![head];
    if drawing.folded_files > 0 {
        let values = [("n", &*folded), ("m", &*folded_directories)];
        lines.push(Message::TreeFolded.say(cx.lang(), &values));
    }
    lines.extend_from_slice(remarks);
    if !drawing.text.is_empty() {
        lines.extend([String::new(), drawing.text.clone()]);
    }
    let mut data = Map::new();
    data.insert("tree".to_owned(), drawing.text.into());
    data.insert("truncated".to_owned(), Value::Bool(choice.is_cut));
    Answer::new(data, lines.join("\n"))
        .stat("files", tree.files)
        .stat("directories", tree.directories)
        .stat("folded_files", drawing.folded_files)
        .stat("folded_directories", drawing.folded_directories)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(paths: &[&str], max_depth: usize, max_entries: usize) -> (String, usize, usize) {
        let mut tree = Node::default();
        for path in paths {
            tree.add(path.as_bytes());
        }
        tree.count();
        let choice = Choice::new(&tree, max_depth, max_entries);
        let mut drawing = Drawing {
            choice: &choice,
            lang: Lang::En,
            text: String::new(),
            folded_files: 0,
            folded_directories: 0,
        };
        drawing.draw(b"", &tree, 0);
        (
            drawing.text,
            drawing.folded_files,
            drawing.folded_directories,
        )
    }

    #[test]
    fn deep_and_wide_directories_are_folded() {
        let paths = [
            "a/b/c/d.rs",
            "a/b/e.rs",
            "a/x.rs",
            "z.md",
            "w/1",
            "w/2",
            "w/3",
        ];
        assert_eq!(
            draw(&paths, 9, 99).0,
            "a/\n  b/\n    c/\n      d.rs\n    e.rs\n  x.rs\nw/\n  1\n  2\n  3\nz.md"
        );
        assert_eq!(
            draw(&paths, 1, 99),
            ("a/ (3 files)\nw/ (3 files)\nz.md".to_owned(), 6, 2)
        );
        assert_eq!(
            draw(&paths, 2, 6),
            (
                "a/\n  b/ (2 files)\n  x.rs\nw/\n  1\n  ... 2 more files, 0 more directories\nz.md"
                    .to_owned(),
                4,
                1
            )
        );
        assert_eq!(
            draw(&paths, 9, 1),
            (
                "a/ (3 files)\n... 4 more files, 1 more directories".to_owned(),
                7,
                3
            )
        );
        assert_eq!(draw(&[], 3, 5), (String::new(), 0, 0));
    }

    #[test]
    fn room_is_shared_in_turn() {
        assert_eq!(share(&[10, 2, 0, 10], 9), [4, 2, 0, 3]);
        assert_eq!(share(&[1, 1], 9), [1, 1]);
        assert_eq!(share(&[5, 5, 5], 2), [1, 1, 0]);
        assert_eq!(share(&[], 2), [0; 0]);
    }
}
