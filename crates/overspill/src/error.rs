//! The one error of the library.

use std::fmt;

/// What kind of trouble an [`Error`] is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The store could not be read or written.
    Store,
    /// There is no such spill, or more than one.
    NoSpill,
    /// A setting is unknown or has a bad value.
    Settings,
}

/// An error: one line that names the thing and the cause, and, where there is one, a way out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Error {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(crate) fn store(thing: &str, cause: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Store, format!("`{thing}`: {cause}"))
    }

    /// Returns what kind of trouble it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns what to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Words an I/O error in lower case, without the `(os error 28)` that tells nobody anything.
///
/// ```
/// let error = std::io::Error::from_raw_os_error(28);
/// assert_eq!(overspill::io_cause(&error), "no space left on device");
/// ```
pub fn io_cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = plain.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}
