//! `LS`: lists a directory, directories first.

use std::os::unix::ffi::OsStrExt as _;

use overspill::notice::Message;
use overspill::{Answer, Context, Tool, ToolError};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::defaults;
use crate::rules::join;
use crate::sandbox::{Place, one_line, shown};
use crate::target::{self, quoted};

/// Lists a directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ls;

/// What `LS` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LsParams {
    /// Directory relative to the project root
    #[serde(default = "defaults::here")]
    pub path: String,
    /// At most how many entries
    #[serde(default = "defaults::listing_limit")]
    #[schemars(range(min = 1))]
    pub limit: u64,
    /// List hidden entries too
    #[serde(default)]
    pub hidden: bool,
}

impl Tool for Ls {
    const NAME: &'static str = "LS";
    const DESCRIPTION: &'static str = "List the entries of a directory with type and size.";
    type Params = LsParams;

    fn run(&self, cx: &Context<'_>, params: LsParams) -> Result<Answer, ToolError> {
        let place = target::directory(cx, &params.path)?;
        let listed = list(&place, &params)
            .map_err(|errno| target::trouble(cx, &params.path, &errno.into()))?;
        Ok(listed
            .answer(cx, &params)
            .context("path_resolved", place.shown()))
    }
}

/// What a directory holds.
struct Listed {
    entries: Vec<Entry>,
    /// How many there are, those that are not listed included.
    all: usize,
    hidden: usize,
    unreadable: usize,
}

struct Entry {
    path: String,
    kind: &'static str,
    bytes: u64,
}

fn list(place: &Place, params: &LsParams) -> rustix::io::Result<Listed> {
    let handle = place.open().map_err(|error| {
        rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO)
    })?;
    let mut names: Vec<(bool, Vec<u8>)> = Vec::new();
    let mut hidden = 0;
    for entry in Dir::read_from(&handle)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if name.starts_with(b".") && !params.hidden {
            hidden += 1;
            continue;
        }
        let is_directory = match entry.file_type() {
            FileType::Unknown => statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
            known => known == FileType::Directory,
        };
        names.push((!is_directory, name.to_vec()));
    }
    names.sort_unstable();
    let all = names.len();
    let dir = place.path.as_os_str().as_bytes();
    let entry = |(_, name): &(bool, Vec<u8>)| {
        let stat = statat(&handle, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let (kind, bytes) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => ("dir", 0),
            FileType::Symlink => ("link", stat.st_size),
            _ => ("file", stat.st_size),
        };
        Some(Entry {
            path: shown(&join(dir, name)),
            kind,
            bytes: u64::try_from(bytes).unwrap_or(0),
        })
    };
    let wanted = all.min(usize::try_from(params.limit).unwrap_or(usize::MAX));
    let entries: Vec<Entry> = names[..wanted].iter().filter_map(entry).collect();
    Ok(Listed {
        unreadable: wanted - entries.len(),
        entries,
        all,
        hidden,
    })
}

impl Listed {
    fn answer(self, cx: &Context<'_>, params: &LsParams) -> Answer {
        let is_truncated = self.entries.len() + self.unreadable < self.all;
        let as_json =
            |entry: &Entry| json!({ "path": entry.path, "type": entry.kind, "size": entry.bytes });
        let entries: Vec<Value> = self.entries.iter().map(as_json).collect();
        let mut data = Map::new();
        data.insert("entries".to_owned(), entries.into());
        data.insert("truncated".to_owned(), is_truncated.into());
        let answer = Answer::new(data, self.text(cx, params, is_truncated))
            .stat("entries", self.entries.len())
            .stat("total_entries", self.all);
        match is_truncated || self.unreadable > 0 {
            true => answer.partial(),
            false => answer,
        }
    }

    fn text(&self, cx: &Context<'_>, params: &LsParams, is_truncated: bool) -> String {
        let values = [
            ("path", &*quoted(&params.path)),
            ("n", &*self.entries.len().to_string()),
            ("all", &*self.all.to_string()),
        ];
        let first = if self.all == 0 {
            Message::ListedNone
        } else {
            Message::Listed
        };
        let mut lines = vec![first.say(cx.lang(), &values)];
        if is_truncated {
            lines.push(Message::ListedSome.say(cx.lang(), &values));
        }
        if self.hidden > 0 {
            let hidden = self.hidden.to_string();
            lines.push(Message::HiddenEntries.say(cx.lang(), &[("n", &hidden)]));
        }
        if self.unreadable > 0 {
            let unreadable = self.unreadable.to_string();
            lines.push(Message::Unreadable.say(cx.lang(), &[("n", &unreadable)]));
        }
        if !self.entries.is_empty() {
            lines.push(String::new());
        }
        lines.extend(self.entries.iter().map(|entry| match entry.kind {
            "dir" => format!("{}/", one_line(&entry.path)),
            "link" => format!("{}@", one_line(&entry.path)),
            _ => format!("{}  {}", one_line(&entry.path), entry.bytes),
        }));
        lines.join("\n")
    }
}
