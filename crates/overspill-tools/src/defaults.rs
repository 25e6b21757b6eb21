//! The values of parameters that nobody gave.

pub(crate) fn here() -> String {
    ".".to_owned()
}

pub(crate) fn hundred() -> u64 {
    100
}

pub(crate) fn five_hundred() -> u64 {
    500
}

pub(crate) fn one() -> u64 {
    1
}

pub(crate) fn two_minutes() -> u64 {
    120_000
}

pub(crate) fn yes() -> bool {
    true
}
