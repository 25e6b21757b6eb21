//! The kept part of an output, and the gaps in it.

use std::borrow::Cow;

use crate::limits::{Limits, Removed, Size, Unit};
use crate::notice::{self, Lang};
use crate::smart::Reason;

/// The part of an output that was kept, with what is known of the rest.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Preview<'t> {
    parts: Vec<Part<'t>>,
    removed: Removed,
    original: Size,
    kept: Size,
    first_missing: u64,
    reasons: Vec<Reason>,
}

/// A piece of a preview.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Part<'t> {
    /// Kept text, verbatim but for shortened lines and bytes that were not UTF-8.
    Text(Cow<'t, str>),
    /// A place where something was left out, said in words between the kept parts.
    Gap(Gap),
    /// Lines that were left out between kept ones, said on a line of its own.
    Omitted {
        /// The number of the first of them, from 1.
        first: u64,
        /// The number of the last of them.
        last: u64,
    },
    /// The output is binary, so a line about it stands for it.
    Binary {
        /// Its size in bytes.
        bytes: u64,
        /// What bounds that line, too.
        limits: Limits,
    },
    /// A summary stands for the output.
    Summary(Cow<'t, str>),
}

/// What was left out between two kept parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Gap {
    /// How much, in the unit of the limit that stopped the cut.
    pub removed: Removed,
    /// How many line ends were among it.
    pub lines: u64,
    /// How the gap is said.
    pub style: GapStyle,
}

/// How a gap is said, by the room there is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum GapStyle {
    /// A paragraph of its own: amount and lines.
    Paragraph,
    /// A line of its own: amount and lines.
    SizeLine,
    /// A line of its own: lines only.
    Lines,
    /// Three dots on a line of their own.
    DotsLine,
    /// Three dots between the parts.
    Dots,
    /// A line end, since there is room for nothing else.
    Break,
}

impl<'t> Preview<'t> {
    pub(crate) fn new(parts: Vec<Part<'t>>, removed: Removed, original: Size, kept: Size) -> Self {
        Preview {
            parts,
            removed,
            original,
            kept,
            first_missing: 1,
            reasons: Vec::new(),
        }
    }

    /// Notes that the start of `text` up to `end` is shown, so that what is missing begins there.
    pub(super) fn missing_from(self, text: &str, end: usize) -> Self {
        let lines = crate::limits::count_newlines(&text.as_bytes()[..end]) + 1;
        let is_line_cut = text.as_bytes().get(end).is_some_and(|&next| next != b'\n');
        Preview {
            first_missing: lines + u64::from(!is_line_cut),
            ..self
        }
    }

    /// Notes the first line that is not shown.
    pub(crate) fn with_first_missing(self, first_missing: u64) -> Self {
        Preview {
            first_missing,
            ..self
        }
    }

    /// Notes why what is shown was kept.
    pub(crate) fn with_reasons(self, reasons: Vec<Reason>) -> Self {
        Preview { reasons, ..self }
    }

    /// Returns what is shown of a binary output: one line that says so.
    pub(crate) fn of_binary(original: Size, limits: &Limits) -> Self {
        let bytes = original.bytes;
        let line = Part::Binary {
            bytes,
            limits: *limits,
        };
        Preview::new(
            vec![line],
            Removed {
                count: bytes,
                unit: Unit::Bytes,
            },
            original,
            Size::default(),
        )
    }

    /// Returns what is shown of an output that a summary stands for. Nothing of the output itself is.
    pub(crate) fn of_summary(original: Size, summary: &'t str) -> Self {
        Preview::new(
            vec![Part::Summary(Cow::Borrowed(summary))],
            Removed {
                count: original.bytes,
                unit: Unit::Bytes,
            },
            original,
            Size::of(summary.as_bytes()),
        )
    }

    /// Returns the preview as text. Words in it (the marker of a gap) are in `lang`.
    pub fn text(&self, lang: Lang) -> Cow<'_, str> {
        match &self.parts[..] {
            [Part::Text(text) | Part::Summary(text)] => Cow::Borrowed(text),
            parts => Cow::Owned(parts.iter().map(|part| part.text(lang)).collect()),
        }
    }

    /// Returns the pieces in order.
    pub fn parts(&self) -> &[Part<'t>] {
        &self.parts
    }

    /// Returns how much was left out.
    pub fn removed(&self) -> Removed {
        self.removed
    }

    /// Returns the size of the whole output.
    pub fn original(&self) -> Size {
        self.original
    }

    /// Returns the size of what was kept, without the words about gaps.
    pub fn kept(&self) -> Size {
        self.kept
    }

    /// Returns the number of the first line, from 1, that is not shown, or not all of it.
    pub fn first_missing_line(&self) -> u64 {
        self.first_missing
    }

    /// Returns why each run of lines was kept, for a strategy that scores lines.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Tells whether nothing more is to be said of how much was left out: a gap's marker says it, or a summary stands for all.
    pub fn says_removed(&self) -> bool {
        self.parts.iter().any(|part| {
            matches!(
                part,
                Part::Gap(Gap {
                    style: GapStyle::Paragraph | GapStyle::SizeLine | GapStyle::Lines,
                    ..
                }) | Part::Summary(_)
            )
        })
    }

    /// Detaches the preview from the text it was cut from.
    pub fn into_owned(self) -> Preview<'static> {
        let Preview {
            parts,
            removed,
            original,
            kept,
            first_missing,
            reasons,
        } = self;
        let parts = parts.into_iter().map(Part::into_owned).collect();
        Preview {
            parts,
            removed,
            original,
            kept,
            first_missing,
            reasons,
        }
    }
}

impl Part<'_> {
    fn text(&self, lang: Lang) -> Cow<'_, str> {
        match self {
            Part::Text(text) | Part::Summary(text) => Cow::Borrowed(text),
            Part::Gap(gap) => notice::marker(gap, lang),
            Part::Omitted { first, last } => Cow::Owned(notice::omitted(*first, *last, lang)),
            Part::Binary { bytes, limits } => {
                let line = notice::binary(*bytes, lang);
                let fitting = match crate::cut(&line, limits, crate::Strategy::Head) {
                    crate::Cut::Part(preview) => Some(preview.text(lang).into_owned()),
                    crate::Cut::Whole(_) => None,
                };
                Cow::Owned(fitting.unwrap_or(line))
            }
        }
    }

    fn into_owned(self) -> Part<'static> {
        match self {
            Part::Text(text) => Part::Text(Cow::Owned(text.into_owned())),
            Part::Summary(text) => Part::Summary(Cow::Owned(text.into_owned())),
            Part::Gap(gap) => Part::Gap(gap),
            Part::Omitted { first, last } => Part::Omitted { first, last },
            Part::Binary { bytes, limits } => Part::Binary { bytes, limits },
        }
    }
}
