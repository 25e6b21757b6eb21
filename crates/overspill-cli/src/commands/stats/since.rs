//! From when on calls are counted.

/// A time as the user gives it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Since {
    /// So many seconds ago.
    Ago(i64),
    /// The start of a day, `YYYY-MM-DD`, where the user is.
    Day(String),
}

/// Units and their seconds.
const UNITS: [(char, i64); 4] = [('m', 60), ('h', 3600), ('d', 86_400), ('w', 604_800)];

impl Since {
    /// Reads a time.
    pub(crate) fn parse(text: &str) -> Result<Since, String> {
        if is_day(text) {
            return Ok(Since::Day(text.to_owned()));
        }
        ago(text).map(Since::Ago).ok_or_else(|| {
            "expected a number with `m`, `h`, `d` or `w` such as `7d`, or a day such as `2026-11-01`".to_owned()
        })
    }
}

fn ago(text: &str) -> Option<i64> {
    let (digits, seconds) = UNITS
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A century is more than the journal has.
    let number = is_number.then(|| digits.parse::<i64>().ok()).flatten()?;
    number
        .checked_mul(seconds)
        .filter(|&all| all <= 3_200_000_000)
}

fn is_day(text: &str) -> bool {
    let number = |digits: &str, len: usize| {
        let is_number = digits.len() == len && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().ok()).flatten()
    };
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    year.and_then(|year| number(year, 4)).is_some()
        && month
            .and_then(|month| number(month, 2))
            .is_some_and(|month| (1..=12).contains(&month))
        && day
            .and_then(|day| number(day, 2))
            .is_some_and(|day| (1..=31).contains(&day))
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let cases = [
            ("90m", Some(Since::Ago(5400))),
            ("24h", Some(Since::Ago(86_400))),
            ("7d", Some(Since::Ago(604_800))),
            ("2w", Some(Since::Ago(1_209_600))),
            ("2026-11-01", Some(Since::Day("2026-11-01".to_owned()))),
            ("2026-13-01", None),
            ("2026-11-32", None),
            ("2026-11-01-1", None),
            ("26-11-01", None),
            ("d", None),
            ("-1d", None),
            ("7", None),
            ("7y", None),
            ("99999999999999999999d", None),
            ("9999999999w", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Since::parse(text).ok(), expected, "{text}");
        }
    }
}
