//! Names of spills: `tool_<YYYYMMDD_HHMMSS>_<id>_<tool>.txt`, in UTC.
//!
//! The id is 8 characters of base 32: the microsecond, so that names of one second sort by time, and 20 random bits. It
//! never collides, since a file is created only under a name that is free.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Base 32 in ASCII order, without the letters that look like digits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

const ID_LEN: usize = 8;

/// The most characters of a tool's name in a file name.
const TOOL_MAX: usize = 64;

/// How the names of files end that are not whole yet.
const TEMPORARY: &str = ".tmp";
const COMPANION: &str = ".txt.tmp";

/// The id of a spill.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SpillId(String);

impl SpillId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_valid(text: &str) -> bool {
        text.len() == ID_LEN && text.bytes().all(|byte| ALPHABET.contains(&byte))
    }
}

impl fmt::Display for SpillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a spill holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Format {
    /// Plain output, or the text of an envelope.
    Text,
    /// A complete envelope.
    Json,
}

impl Format {
    const ALL: [Format; 2] = [Format::Text, Format::Json];

    const fn extension(self) -> &'static str {
        match self {
            Format::Text => ".txt",
            Format::Json => ".json",
        }
    }
}

/// The parts of a spill's name, without its format.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Stem {
    time: String,
    pub(crate) id: SpillId,
    pub(crate) tool: String,
}

impl Stem {
    /// Makes a name that has not been given before, as far as time and chance can tell.
    pub(crate) fn new(tool: &str, now: SystemTime, random: u32) -> Self {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let digits = |value: u32| {
            (0..4)
                .rev()
                .map(move |at| char::from(ALPHABET[(value >> (5 * at)) as usize & 31]))
        };
        let id = digits(since.subsec_micros())
            .chain(digits(random))
            .collect();
        Stem {
            time: timestamp(since.as_secs()),
            id: SpillId(id),
            tool: safe(tool),
        }
    }

    pub(crate) fn file_name(&self, format: Format) -> String {
        format!(
            "tool_{}_{}_{}{}",
            self.time,
            self.id,
            self.tool,
            format.extension()
        )
    }

    pub(crate) fn temporary(&self) -> String {
        format!(".tool_{}_{}_{}{TEMPORARY}", self.time, self.id, self.tool)
    }

    /// Reads the name of a spill; `None` for any other file.
    pub(crate) fn parse(name: &str) -> Option<(Stem, Format)> {
        let format = Format::ALL
            .into_iter()
            .find(|format| name.ends_with(format.extension()))?;
        let stem = name
            .strip_prefix("tool_")?
            .strip_suffix(format.extension())?;
        Some((Stem::from_parts(stem)?, format))
    }

    /// Returns the temporary name of a second file under the same id.
    pub(crate) fn temporary_companion(&self) -> String {
        format!(
            "{}{COMPANION}",
            self.temporary().trim_end_matches(TEMPORARY)
        )
    }

    /// Tells whether a name is that of a spill not yet whole.
    pub(crate) fn is_temporary(name: &str) -> bool {
        let stem = name
            .strip_suffix(COMPANION)
            .or_else(|| name.strip_suffix(TEMPORARY));
        stem.and_then(|stem| stem.strip_prefix(".tool_"))
            .and_then(Stem::from_parts)
            .is_some()
    }

    fn from_parts(stem: &str) -> Option<Stem> {
        let mut parts = stem.splitn(4, '_');
        let (day, second, id, tool) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str, len: usize| {
            text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let valid =
            digits(day, 8) && digits(second, 6) && SpillId::is_valid(id) && tool == safe(tool);
        valid.then(|| Stem {
            time: format!("{day}_{second}"),
            id: SpillId(id.to_owned()),
            tool: tool.to_owned(),
        })
    }
}

/// Returns a tool's name with what does not belong into a file name replaced.
fn safe(tool: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '-'
        }
    };
    let name: String = tool.chars().map(safe).take(TOOL_MAX).collect();
    let name = name.trim_matches('.');
    if name.is_empty() {
        "tool".to_owned()
    } else {
        name.to_owned()
    }
}

/// Formats seconds since 1970 as `YYYYMMDD_HHMMSS` in UTC.
fn timestamp(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}{month:02}{day:02}_{:02}{:02}{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Returns the Gregorian date of a day since 1970-01-01, by Hinnant's era arithmetic.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc() {
        assert_eq!(timestamp(0), "19700101_000000");
        assert_eq!(timestamp(951_827_696), "20000229_123456");
        assert_eq!(timestamp(4_102_444_799), "20991231_235959");
    }

    #[test]
    fn names_sort_by_time_and_read_back() {
        let at = |micros: u64| UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_000 + micros);
        let names: Vec<String> = [0, 1, 31, 32, 999_999, 1_000_000]
            .map(|micros| Stem::new("Run", at(micros), 7).file_name(Format::Text))
            .into();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(names[1], "tool_20231114_221320_00010007_Run.txt");
        let (stem, format) = Stem::parse(&names[4]).unwrap();
        assert_eq!(
            (stem.file_name(format), stem.tool.as_str()),
            (names[4].clone(), "Run")
        );
    }

    #[test]
    fn tool_names_are_made_safe() {
        let cases = [
            ("mcp__git__log", "mcp__git__log"),
            ("../../etc/x", "-..-etc-x"),
            ("", "tool"),
            ("...", "tool"),
            ("截断", "--"),
            ("a b\0c", "a-b-c"),
        ];
        for (tool, expected) in cases {
            let name = Stem::new(tool, UNIX_EPOCH, 0).file_name(Format::Json);
            assert_eq!(
                name,
                format!("tool_19700101_000000_00000000_{expected}.json")
            );
            assert!(Stem::parse(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn foreign_names_are_not_spills() {
        for name in [
            "tool_x.txt",
            "tool_20231114_221320_00010007_Run.md",
            "tool_20231114_221320_ilou0000_Run.txt",
            "notes.txt",
            ".gitignore",
        ] {
            assert_eq!(Stem::parse(name), None, "{name}");
        }
        assert!(Stem::is_temporary(".tool_20231114_221320_00010007_Run.tmp"));
        assert!(!Stem::is_temporary(".tool_mine.tmp"));
    }
}
