//! The kinds of values that settings take.

use std::fmt;

use super::PRESETS;
use crate::notice::Lang;
use crate::strategy::Strategy;
use crate::tokens::Encoding;

/// The most milliseconds that a user may have an agent wait.
const MOST_MS: u64 = 600_000;

/// A checked value.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// The limit is off.
    Off,
    /// A number.
    Number(u64),
    /// A word or a path.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Off => f.write_str("off"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// What kind of value a setting takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// A number from 1, or off.
    Limit,
    /// A number of bytes from 1, perhaps with a unit, or off.
    SizeLimit,
    /// A number from 0.
    Count,
    Strategy,
    Preset,
    Encoding,
    Lang,
    Path,
    Text,
    /// An address that outputs are sent to, or off.
    Address,
    /// The name of an environment variable.
    Variable,
    /// How many milliseconds something may take; never for ever.
    Timeout,
    /// `on` or `off`.
    Switch,
}

impl Kind {
    /// Checks what the user wrote.
    pub(crate) fn parse(self, text: &str) -> Option<Value> {
        let word = |is_known: bool| is_known.then(|| Value::Text(text.to_owned()));
        match self {
            Kind::Limit | Kind::SizeLimit if is_off(text) => Some(Value::Off),
            Kind::Limit => number(text).filter(|&n| n > 0).map(Value::Number),
            Kind::SizeLimit => size(text).filter(|&n| n > 0).map(Value::Number),
            Kind::Count => number(text)
                .filter(|&n| n <= u64::from(u32::MAX))
                .map(Value::Number),
            Kind::Strategy => {
                Strategy::parse(text).map(|strategy| Value::Text(strategy.name().to_owned()))
            }
            Kind::Preset if is_off(text) => Some(Value::Off),
            Kind::Preset => word(PRESETS.iter().any(|preset| preset.name == text)),
            Kind::Encoding => word(Encoding::parse(text).is_some()),
            Kind::Lang => word(Lang::parse(text).is_some()),
            Kind::Path | Kind::Text => word(!text.trim().is_empty() && !text.contains('\0')),
            Kind::Address if is_off(text) => Some(Value::Off),
            Kind::Address => word(is_address(text)),
            Kind::Variable => word(is_variable(text)),
            Kind::Timeout => number(text)
                .filter(|n| (1..=MOST_MS).contains(n))
                .map(Value::Number),
            // YAML has several words for each.
            Kind::Switch => match text {
                "on" | "true" | "yes" | "1" => Some(Value::Text("on".to_owned())),
                "false" | "no" | "0" => Some(Value::Off),
                text => is_off(text).then_some(Value::Off),
            },
        }
    }

    /// Returns what is expected, in words.
    pub(crate) fn expected(self) -> String {
        match self {
            Kind::Limit => "a whole number from 1, or `off`".to_owned(),
            Kind::SizeLimit => {
                "a size in bytes from 1 such as `51200` or `50KiB`, or `off`".to_owned()
            }
            Kind::Count => "a whole number from 0".to_owned(),
            Kind::Path => "a path".to_owned(),
            Kind::Text => "a word".to_owned(),
            Kind::Address => {
                "an address such as `https://api.example.com/v1`, without user, query or fragment, or `off`".to_owned()
            }
            Kind::Variable => "the name of an environment variable".to_owned(),
            Kind::Timeout => format!("a whole number of milliseconds from 1 to {MOST_MS}"),
            words => one_of(&words.words()),
        }
    }

    /// Returns the words it takes, for a kind that takes words only.
    pub(crate) fn words(self) -> Vec<&'static str> {
        match self {
            Kind::Strategy => Strategy::ALL.map(Strategy::name).to_vec(),
            Kind::Preset => PRESETS.iter().map(|preset| preset.name).collect(),
            Kind::Encoding => Encoding::ALL.map(Encoding::name).to_vec(),
            Kind::Lang => Lang::ALL.map(Lang::name).to_vec(),
            Kind::Switch => vec!["on", "off"],
            _ => Vec::new(),
        }
    }
}

/// Returns words as `a`, `b` or `c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}

fn is_off(text: &str) -> bool {
    matches!(text, "off" | "null" | "~")
}

/// Tells whether a text is an address that a path can be added to, and that holds no secret.
fn is_address(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let is_plain = |rest: &str| {
        let strange = |c: char| c.is_whitespace() || c.is_control() || "@?#\\".contains(c);
        !rest.is_empty() && !rest.starts_with(['/', ':']) && !rest.contains(strange)
    };
    rest.is_some_and(is_plain)
}

fn is_variable(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn size(text: &str) -> Option<u64> {
    const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("B", 0)];
    let (digits, shift) = UNITS
        .into_iter()
        .find_map(|(unit, shift)| {
            text.strip_suffix(unit)
                .map(|digits| (digits.trim_end(), shift))
        })
        .unwrap_or((text, 0));
    number(digits)?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_by_kind() {
        let cases = [
            (Kind::Limit, "10", Some("10")),
            (Kind::Limit, "off", Some("off")),
            (Kind::Limit, "0", None),
            (Kind::Limit, "-1", None),
            (Kind::Limit, "ten", None),
            (Kind::Limit, "1.5", None),
            (Kind::Limit, "99999999999999999999", None),
            (Kind::SizeLimit, "50KiB", Some("51200")),
            (Kind::SizeLimit, "2 MiB", Some("2097152")),
            (Kind::SizeLimit, "10k", None),
            (Kind::SizeLimit, "18446744073709551615GiB", None),
            (Kind::Count, "0", Some("0")),
            (Kind::Strategy, "head_only", Some("head")),
            (Kind::Strategy, "middle", None),
            (Kind::Switch, "on", Some("on")),
            (Kind::Switch, "false", Some("off")),
            (Kind::Switch, "of", None),
            (Kind::Timeout, "off", None),
            (Kind::Timeout, "0", None),
            (Kind::Timeout, "600000", Some("600000")),
            (Kind::Timeout, "600001", None),
            (Kind::Variable, "MY_KEY", Some("MY_KEY")),
            (Kind::Variable, "sk-secret", None),
            (Kind::Address, "off", Some("off")),
            (Kind::Address, "http://[::1]:80", Some("http://[::1]:80")),
            (Kind::Address, "https://h/v1", Some("https://h/v1")),
            (Kind::Address, "https://u:p@h/v1", None),
            (Kind::Address, "https://h/v1?key=k", None),
            (Kind::Address, "ftp://h", None),
            (Kind::Address, "https://", None),
            (Kind::Path, "  ", None),
        ];
        for (kind, text, expected) in cases {
            assert_eq!(
                kind.parse(text).map(|value| value.to_string()).as_deref(),
                expected,
                "{kind:?} {text}"
            );
        }
    }
}
