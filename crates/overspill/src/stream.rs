//! Bounds an output that comes in chunks, in one pass.
//!
//! Memory is O(limits): as much of either end is kept as a preview can need, twice over, so that a line at the edge is
//! known to be too long by itself or not. The rest is only counted, or, under the `smart` strategy, scored and held by
//! [`smart`](crate::smart) within a bound of its own. Whatever the chunks, the result is that of [`cut`](crate::cut()) on the
//! whole.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::cut::clip::Clipper;
use crate::cut::{COUNTED_BYTES, Clips, Ends, Preview, RawEnds, edge};
use crate::limits::{Limits, Size, Unit, count_newlines};
use crate::smart::{self, Salience};
use crate::strategy::Strategy;
use crate::text::{self, CharCounter};

/// An output that ended within its limits, or the part of it that was kept.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum Streamed {
    /// The output is within every limit: its bytes as they came.
    Whole(Vec<u8>),
    /// The output was over a limit.
    Part(Preview<'static>),
}

/// Bounds an output as it comes.
///
/// ```
/// use overspill::{Lang, Limits, Strategy, Stream, Streamed};
///
/// let mut stream = Stream::new(&Limits::none().lines(1), Strategy::Tail);
/// stream.push(b"first\nse");
/// stream.push(b"cond\n");
/// let Streamed::Part(preview) = stream.finish() else { panic!() };
/// assert_eq!(preview.text(Lang::En), "second");
/// ```
#[derive(Debug)]
pub struct Stream {
    limits: Limits,
    strategy: Strategy,
    bytes: u64,
    original_bytes: Option<u64>,
    newlines: u64,
    ends_in_newline: bool,
    chars: Option<CharCounter>,
    clipper: Option<Clipper>,
    held: Held,
}

impl Stream {
    /// Starts a stream that is cut to `limits` by `strategy`.
    pub fn new(limits: &Limits, strategy: Strategy) -> Self {
        Stream {
            limits: *limits,
            strategy,
            bytes: 0,
            original_bytes: None,
            newlines: 0,
            ends_in_newline: false,
            chars: limits.max_chars().map(|_| CharCounter::default()),
            clipper: limits.max_line_chars().map(Clipper::new),
            held: Held {
                ends: EndKeeper::new(kept_bytes(limits), strategy),
                smart: (strategy == Strategy::Smart).then(|| Scored::new(limits)),
            },
        }
    }

    /// Tells the `smart` strategy what to go by, before any of the output came.
    #[must_use]
    pub fn salience(mut self, salience: &Salience) -> Self {
        if let Some(smart) = &mut self.held.smart {
            smart.salience = salience.clone();
            smart.document = smart::Document::new(&self.limits, salience);
        }
        self
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        let Some(&last) = chunk.last() else { return };
        self.bytes += chunk.len() as u64;
        self.newlines += count_newlines(chunk);
        self.ends_in_newline = last == b'\n';
        if let Some(chars) = &mut self.chars {
            chars.push(chunk);
        }
        if let Some(smart) = &mut self.held.smart {
            smart.document.push(chunk);
        }
        match &mut self.clipper {
            None => self.held.push(chunk, false, &self.limits),
            Some(clipper) => clipper.push(chunk, &mut |bytes, is_dots| {
                self.held.push(bytes, is_dots, &self.limits);
            }),
        }
    }

    /// Returns the bytes that came so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the stream.
    pub fn finish(mut self) -> Streamed {
        self.settle();
        match self.exceeded(&self.limits) {
            Some(_) => Streamed::Part(self.preview(&self.limits, self.strategy)),
            None => Streamed::Whole(self.held.ends.head),
        }
    }

    /// Returns the size of the output as it came.
    pub(crate) fn original(&self) -> Size {
        self.with_ends(|ends| ends.original())
    }

    /// Tells how many bytes the output had before control codes were applied.
    pub(crate) fn set_original_bytes(&mut self, bytes: u64) {
        self.original_bytes = Some(bytes);
    }

    /// Takes the end of the output into account. Nothing may be pushed after it.
    pub(crate) fn settle(&mut self) {
        if let Some(clipper) = &mut self.clipper {
            clipper.end(&mut |bytes, is_dots| {
                self.held.push(bytes, is_dots, &self.limits);
            });
        }
        let is_over = self.exceeded(&self.limits).is_some();
        if let Some(smart) = self.held.smart.as_mut().filter(|_| is_over) {
            smart.start(&self.limits, &self.held.ends.head).end();
            smart.document.end();
        }
    }

    /// Returns the unit of the first limit that the output is over.
    pub(crate) fn exceeded(&self, limits: &Limits) -> Option<Unit> {
        self.with_ends(|ends| ends.exceeded(limits))
    }

    /// Returns the preview of an output that is over a limit. Each limit must be at least as narrow as that of the stream,
    /// and the strategy one whose ends were kept.
    pub(crate) fn preview(&self, limits: &Limits, strategy: Strategy) -> Preview<'static> {
        self.with_ends(|ends| {
            let first = ends.exceeded(limits).unwrap_or(Unit::Bytes);
            let smart = self
                .held
                .smart
                .as_ref()
                .filter(|_| strategy == Strategy::Smart);
            if let Some(preview) = smart.and_then(|smart| smart.preview(ends, limits)) {
                return preview;
            }
            ends.cut(limits, strategy, first).into_owned()
        })
    }

    /// Tells whether all that can be shown of the output is within the limits, and only control codes were too much.
    pub(crate) fn is_all_shown(&self, limits: &Limits) -> bool {
        self.original_bytes.is_some_and(|bytes| bytes > self.bytes)
            && self.with_ends(|ends| {
                Ends {
                    original_bytes: self.bytes,
                    ..*ends
                }
                .exceeded(limits)
                .is_none()
            })
    }

    /// Tells whether the output is within the limits but for lines that were shortened.
    pub(crate) fn is_only_clipped(&self, limits: &Limits) -> bool {
        let is_clipped = self
            .clipper
            .as_ref()
            .is_some_and(|clipper| clipper.removed_chars() > 0);
        is_clipped
            && self.with_ends(|ends| {
                Ends {
                    clips: Clips::default(),
                    ..*ends
                }
                .exceeded(limits)
                .is_none()
            })
    }

    /// Returns an output that is within its limits.
    pub(crate) fn whole(&self) -> &[u8] {
        &self.held.ends.head
    }

    fn with_ends<T>(&self, use_ends: impl FnOnce(&Ends<'_>) -> T) -> T {
        let open_line = u64::from(self.bytes > 0 && !self.ends_in_newline);
        let size = Size {
            bytes: self.bytes,
            lines: self.newlines + open_line,
        };
        let (raw_head, raw_tail) = (
            self.held.ends.head_end(),
            self.held.ends.tail_end(self.ends_in_newline),
        );
        let (head, tail) = (text::decode(raw_head), text::decode(raw_tail));
        let is_text = matches!((&head, &tail), (Cow::Borrowed(_), Cow::Borrowed(_)));
        let (mut in_head, mut in_tail) = (self.held.ends.head_clips(), self.held.ends.tail_clips());
        if !is_text {
            to_decoded(raw_head, &mut in_head);
            to_decoded(raw_tail, &mut in_tail);
        }
        let removed_chars = self.clipper.as_ref().map_or(0, Clipper::removed_chars);
        use_ends(&Ends {
            head: &head,
            tail: &tail,
            complete: !self.held.ends.is_over(),
            size,
            original_bytes: self.original_bytes.unwrap_or(self.bytes),
            chars: self.chars.as_ref().map(CharCounter::total),
            clips: Clips {
                in_head: &in_head,
                in_tail: &in_tail,
                removed_chars,
            },
            raw: (!is_text).then_some(RawEnds {
                head: raw_head,
                tail: raw_tail,
            }),
        })
    }
}

/// What is held of an output: its two ends, and what its strategy asks for beside them.
#[derive(Debug)]
struct Held {
    ends: EndKeeper,
    smart: Option<Scored>,
}

impl Held {
    /// Takes the next bytes of what is shown.
    fn push(&mut self, bytes: &[u8], is_dots: bool, limits: &Limits) {
        if let Some(smart) = &mut self.smart {
            smart.push(bytes, &self.ends, limits);
        }
        self.ends.push_clipped(bytes, is_dots);
    }
}

/// What the `smart` strategy holds of an output.
#[derive(Debug)]
struct Scored {
    salience: Salience,
    /// The document that the output may be.
    document: smart::Document,
    /// Its lines, from when it is known to be over its limits: an output within them costs nothing more.
    keeper: Option<Box<smart::LineKeeper>>,
}

impl Scored {
    fn new(limits: &Limits) -> Self {
        Scored {
            salience: Salience::default(),
            document: smart::Document::new(limits, &Salience::default()),
            keeper: None,
        }
    }

    fn preview(&self, ends: &Ends<'_>, limits: &Limits) -> Option<Preview<'static>> {
        let document = self.document.preview(ends, limits);
        document.or_else(|| self.keeper.as_ref()?.preview(ends, limits))
    }

    fn push(&mut self, bytes: &[u8], ends: &EndKeeper, limits: &Limits) {
        if self.keeper.is_some() || ends.head.len() + bytes.len() > ends.capacity {
            self.start(limits, &ends.head).push(bytes);
        }
    }

    /// Returns the keeper, which has seen what came so far: all of it is still in `head` when it starts.
    fn start(&mut self, limits: &Limits, head: &[u8]) -> &mut smart::LineKeeper {
        self.keeper.get_or_insert_with(|| {
            let mut keeper = Box::new(smart::LineKeeper::new(limits, &self.salience));
            keeper.push(head);
            keeper
        })
    }
}

/// Turns ascending offsets into `raw` to offsets into its decoded text.
fn to_decoded(raw: &[u8], offsets: &mut [usize]) {
    let (mut from, mut shown) = (0, 0);
    for offset in offsets {
        shown += text::decode(&raw[from..*offset]).len();
        (from, *offset) = (*offset, shown);
    }
}

/// Returns how much of an end must be kept to cut it as if the whole were there.
fn kept_bytes(limits: &Limits) -> usize {
    let needed = limits
        .reach_bytes()
        .saturating_mul(2)
        .saturating_add(2 * edge::CONTEXT_BYTES);
    // What is counted in tokens must be at hand.
    if limits.max_tokens().is_some() {
        needed.max(COUNTED_BYTES)
    } else {
        needed
    }
}

/// Keeps the two ends of an output: all of it while it is short, then what the strategy needs.
#[derive(Debug)]
struct EndKeeper {
    capacity: usize,
    wants_head: bool,
    wants_tail: bool,
    /// The first bytes, up to `capacity`.
    head: Vec<u8>,
    /// The last bytes, at least `capacity` of them and at most twice that; empty while `head` has everything.
    tail: Vec<u8>,
    /// How many bytes came after `head` was full.
    passed: u64,
    /// Where the dots of shortened lines are: offsets into what was kept of the output, those before `tail` forgotten.
    clips: VecDeque<u64>,
    head_clips: Vec<usize>,
}

impl EndKeeper {
    fn new(capacity: usize, strategy: Strategy) -> Self {
        EndKeeper {
            capacity,
            wants_head: strategy != Strategy::Tail,
            wants_tail: strategy != Strategy::Head,
            head: Vec::new(),
            tail: Vec::new(),
            passed: 0,
            clips: VecDeque::new(),
            head_clips: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.passed > 0
    }

    fn push_clipped(&mut self, bytes: &[u8], is_dots: bool) {
        let at = self.head.len() as u64 + self.passed;
        if is_dots && at < self.capacity as u64 {
            self.head_clips.push(at as usize);
        }
        if is_dots && self.wants_tail {
            self.clips.push_back(at);
        }
        self.push(bytes);
    }

    fn push(&mut self, chunk: &[u8]) {
        let taken = chunk.len().min(self.capacity - self.head.len());
        self.head.extend_from_slice(&chunk[..taken]);
        let rest = &chunk[taken..];
        if rest.is_empty() {
            return;
        }
        if self.wants_tail {
            self.push_tail(rest);
        }
        self.passed += rest.len() as u64;
    }

    fn push_tail(&mut self, rest: &[u8]) {
        if self.passed == 0 {
            self.tail.extend_from_slice(&self.head);
        }
        self.tail
            .extend_from_slice(&rest[rest.len().saturating_sub(self.capacity)..]);
        if self.tail.len() >= 2 * self.capacity {
            self.tail.drain(..self.tail.len() - self.capacity);
            let start =
                self.head.len() as u64 + self.passed + rest.len() as u64 - self.capacity as u64;
            while self.clips.front().is_some_and(|&at| at < start) {
                self.clips.pop_front();
            }
        }
    }

    /// Returns the start, without a character that is cut off where it ends.
    fn head_end(&self) -> &[u8] {
        match (self.is_over(), self.wants_head) {
            (false, _) => &self.head,
            (true, true) => text::without_cut_end(&self.head),
            (true, false) => &[],
        }
    }

    /// Returns the end, without a character that is cut off where it starts, nor the newline that ends the last line.
    fn tail_end(&self, ends_in_newline: bool) -> &[u8] {
        let tail = if self.is_over() {
            text::without_cut_start(&self.tail)
        } else {
            &self.head
        };
        if ends_in_newline {
            tail.strip_suffix(b"\n").unwrap_or(tail)
        } else {
            tail
        }
    }

    /// Returns where the dots of shortened lines are in the start.
    fn head_clips(&self) -> Vec<usize> {
        if self.is_over() && !self.wants_head {
            Vec::new()
        } else {
            self.head_clips.clone()
        }
    }

    /// Returns where the dots of shortened lines are in the end.
    fn tail_clips(&self) -> Vec<usize> {
        if !self.is_over() {
            return self.head_clips.clone();
        }
        let end = self.head.len() as u64 + self.passed;
        let start = end - text::without_cut_start(&self.tail).len() as u64;
        self.clips
            .iter()
            .filter_map(|&at| at.checked_sub(start))
            .map(|at| at as usize)
            .collect()
    }
}

#[cfg(test)]
mod tests;
