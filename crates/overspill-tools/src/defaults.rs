//! The values of parameters that nobody gave.

pub(crate) fn here() -> String {
    ".".to_owned()
}

pub(crate) fn page_limit() -> u64 {
    100
}

pub(crate) fn listing_limit() -> u64 {
    500
}

pub(crate) fn map_tokens() -> usize {
    2000
}

pub(crate) fn first_line() -> u64 {
    1
}

pub(crate) fn run_timeout_ms() -> u64 {
    120_000
}

pub(crate) fn yes() -> bool {
    true
}
