//! Picks the lines that fit into the limits, best first.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::Evidence;
use super::document;
use super::form::Role;
use super::keeper::{HeldLine, LineKeeper};
use super::layout::{Gaps, Layout};
use super::score::Score;
use super::shape::Shape;
use super::weights;
use crate::cut::clip::DOTS;
use crate::cut::{Ends, Preview, edge};
use crate::limits::{CEILING_BYTES, Limits};
use crate::notice::{self, Lang};
use crate::text;

/// How long a line must be at least to count half for its length, whatever the room.
const FREE_BYTES: u64 = 1500;

/// How long a frame of a stack counts as.
const FRAME_BYTES: u64 = 80;

/// All of the room, in the parts that less of it is tried in.
const FULL: usize = 128;

/// A line may have this part of the room; a longer one is cut. Otherwise one of them would take the place of all others.
const LINE_SHARE: usize = 8;

/// What a line may have in any case, if there is four times as much room.
const SHOWN_LINE_BYTES: usize = 256;

/// Headers may have this part of the room for themselves.
const STRUCTURE_SHARE: usize = 2;

/// How often a preview that proved too long is tried again with less room.
const TRIES: u32 = 24;

/// What there is room for, as shares of it are told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    bytes: u64,
    lines: u64,
}

impl Room {
    pub(super) fn of(limits: &Limits) -> Self {
        let sizes = [
            limits.max_bytes(),
            limits.max_chars(),
            limits.max_tokens().map(|tokens| tokens.saturating_mul(4)),
        ];
        Room {
            bytes: sizes
                .into_iter()
                .flatten()
                .min()
                .map_or(CEILING_BYTES, |bytes| bytes.min(CEILING_BYTES)) as u64,
            lines: limits.max_lines().map_or(u64::MAX, |lines| lines as u64),
        }
    }

    /// Returns the bytes there is room for, or about as many as the tokens are.
    pub(super) fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Returns the percentage of the room that so much takes, 101 for any more than all of it.
    pub(super) fn share(&self, bytes: u64, lines: u64) -> u64 {
        // True of nearly every line of a large output, and this is asked of every line.
        if bytes > self.bytes || lines > self.lines {
            return 101;
        }
        let bytes = bytes.saturating_mul(100) / self.bytes.max(1);
        let lines = lines.saturating_mul(100) / self.lines.max(1);
        bytes.max(lines)
    }
}

/// An amount in every unit that a limit is on for.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    lines: usize,
    bytes: usize,
    chars: usize,
    tokens: usize,
}

impl Cost {
    /// Returns what a text and its line end cost.
    fn of(text: &str, limits: &Limits) -> Cost {
        let chars = limits.max_chars().map_or(0, |_| text.chars().count() + 1);
        // More than the limit is too much, however much more.
        let tokens = limits.max_tokens().map_or(0, |max| {
            let count = limits.token_encoding().count_within(text, max);
            count.map_or(max, |count| count as usize).saturating_add(1)
        });
        Cost {
            lines: 1,
            bytes: text.len() + 1,
            chars,
            tokens,
        }
    }

    /// Returns what the limits leave room for, in parts of [`FULL`]. The last line has no line end, so one more fits.
    fn room(limits: &Limits, scale: usize) -> Cost {
        // So much is as good as no limit, and can be added up.
        const MOST: usize = usize::MAX / 256;
        let of = |limit: Option<usize>, one: usize| {
            let limit = limit.map_or(MOST, |limit| limit.min(MOST));
            (limit as u128 * scale as u128 / FULL as u128) as usize + one
        };
        Cost {
            lines: of(limits.max_lines(), 0),
            bytes: of(limits.bytes_in_force(), 1),
            chars: of(limits.max_chars(), 1),
            tokens: of(limits.max_tokens(), 1),
        }
    }

    fn plus(self, other: Cost) -> Cost {
        Cost {
            lines: self.lines.saturating_add(other.lines),
            bytes: self.bytes.saturating_add(other.bytes),
            chars: self.chars.saturating_add(other.chars),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    fn minus(self, other: Cost) -> Cost {
        Cost {
            lines: self.lines.saturating_sub(other.lines),
            bytes: self.bytes.saturating_sub(other.bytes),
            chars: self.chars.saturating_sub(other.chars),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }

    /// Returns so many parts of [`FULL`] of it.
    fn part(self, parts: usize) -> Cost {
        let of = |n: usize| (n as u128 * parts as u128 / FULL as u128) as usize;
        Cost {
            lines: of(self.lines),
            bytes: of(self.bytes),
            chars: of(self.chars),
            tokens: of(self.tokens),
        }
    }

    fn times(self, n: usize) -> Cost {
        (1..n).fold(self, |sum, _| sum.plus(self))
    }

    fn fits(self, room: Cost) -> bool {
        self.lines <= room.lines
            && self.bytes <= room.bytes
            && self.chars <= room.chars
            && self.tokens <= room.tokens
    }
}

impl LineKeeper {
    /// Returns the preview of an output that is over a limit, or nothing if there is too little room for one.
    pub(crate) fn preview(&self, ends: &Ends<'_>, limits: &Limits) -> Option<Preview<'static>> {
        let scores = self.scores(&Room::of(limits));
        let mut scale = FULL;
        for _ in 0..TRIES {
            let (picker, picked) = self.pick(&scores, limits, scale)?;
            let preview = picker.preview(&picked, ends)?;
            let is_within = Lang::ALL
                .into_iter()
                .all(|lang| !crate::cut::is_over(&preview.text(lang), limits));
            if is_within {
                return Some(preview);
            }
            scale = scale * 7 / 8;
        }
        None
    }

    /// Picks lines for a part of the room. Where nothing else needs it, the long ones may have more of it.
    fn pick<'k>(
        &'k self,
        scores: &'k [Score],
        limits: &'k Limits,
        scale: usize,
    ) -> Option<(Picker<'k>, Picked)> {
        let mut share = LINE_SHARE;
        let mut picker = Picker::new(self, scores, limits, scale, share)?;
        let mut picked = picker.pick();
        while picked.has_cut && picked.is_roomy && share > 1 {
            share /= 2;
            let wider = Picker::new(self, scores, limits, scale, share)?;
            let more = wider.pick();
            if more.count() < picked.count() {
                break;
            }
            (picker, picked) = (wider, more);
        }
        Some((picker, picked))
    }

    fn text_of(&self, line: &HeldLine) -> Cow<'_, str> {
        text::decode(&self.text[line.range()])
    }
}

struct Picker<'k> {
    keeper: &'k LineKeeper,
    scores: &'k [Score],
    limits: &'k Limits,
    gaps: Gaps,
    room: Cost,
    marker: Cost,
    /// The most bytes of a line.
    max_line: usize,
    /// How long a line must be to count half for it.
    free_bytes: u64,
}

/// Lines being picked.
struct Picking {
    /// For each line the header that it needs.
    headers: Vec<Option<usize>>,
    is_kept: Vec<bool>,
    used: Cost,
    /// What of it headers took for themselves.
    structure: Cost,
}

/// Which of the held lines are kept.
struct Picked {
    is_kept: Vec<bool>,
    /// Whether one of them is not shown whole.
    has_cut: bool,
    /// Whether a quarter of the room is left.
    is_roomy: bool,
}

impl Picked {
    fn count(&self) -> usize {
        self.is_kept.iter().filter(|is_kept| **is_kept).count()
    }
}

impl<'k> Picker<'k> {
    /// Returns nothing if there is no room for a few lines and the markers between them.
    fn new(
        keeper: &'k LineKeeper,
        scores: &'k [Score],
        limits: &'k Limits,
        scale: usize,
        line_share: usize,
    ) -> Option<Self> {
        let room = Cost::room(limits, scale);
        let bytes = Room::of(limits).bytes();
        let all = keeper.counts.lines;
        let longest = Lang::ALL
            .into_iter()
            .map(|lang| notice::omitted(all, all, lang))
            .max_by_key(String::len)?;
        let marker = Cost::of(&longest, limits);
        let has_wide_lines = limits
            .max_line_chars()
            .is_none_or(|max| max >= longest.chars().count());
        let gaps = match keeper.former.is_records() {
            true => Gaps::Counted,
            false => Gaps::Marked,
        };
        (marker.times(5).fits(room) && has_wide_lines).then_some(Picker {
            keeper,
            scores,
            limits,
            gaps,
            room,
            marker,
            max_line: (bytes / line_share).max(SHOWN_LINE_BYTES.min(bytes / 4)),
            free_bytes: FREE_BYTES.max(bytes as u64 / 4),
        })
    }

    fn preview(&self, picked: &Picked, ends: &Ends<'_>) -> Option<Preview<'static>> {
        let mut layout = Layout::default();
        let lines = self.keeper.lines.iter().enumerate();
        for (at, line) in lines.filter(|(at, _)| picked.is_kept[*at]) {
            layout.add(line, &self.shown(line)?, &self.scores[at], self.gaps);
        }
        let all = self.keeper.counts.lines;
        layout.end(all, self.gaps);
        (layout.size.lines > 0).then(|| layout.into_preview(ends, all))
    }

    /// Picks lines, best first, as long as they fit, each with the headers that it needs. A little room is left at first, to
    /// fill holes of a single line with: the marker takes nearly as much.
    fn pick(&self) -> Picked {
        let lines = &self.keeper.lines;
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|&at| self.order_of(at));
        let mut picking = Picking {
            headers: headers(lines),
            is_kept: vec![false; lines.len()],
            // There is one gap to begin with, and the record that counts what is left out takes no more.
            used: self.marker,
            structure: Cost::default(),
        };
        self.pick_from(&mut picking, &order, self.room.part(FULL - FULL / 20));
        for at in 0..lines.len() {
            if !picking.is_kept[at] && self.sides(&picking.is_kept, at) == 2 {
                self.pick_from(&mut picking, &[at], self.room);
            }
        }
        self.pick_from(&mut picking, &order, self.room);
        let kept = lines
            .iter()
            .zip(&picking.is_kept)
            .filter(|(_, is_kept)| **is_kept);
        Picked {
            has_cut: kept.into_iter().any(|(line, _)| self.is_cut(line)),
            is_roomy: picking.used.times(4).fits(self.room.times(3)),
            is_kept: picking.is_kept,
        }
    }

    /// Keeps those of `order` that fit into `room`.
    fn pick_from(&self, picking: &mut Picking, order: &[usize], room: Cost) {
        for &at in order {
            if picking.is_kept[at] || !self.is_worth(&picking.is_kept, at) {
                continue;
            }
            let group = group(&picking.headers, &picking.is_kept, at);
            let after = self.add(&mut picking.is_kept, &group, picking.used);
            let is_header = self.keeper.lines[at].role.is_header();
            let structure = picking.structure.plus(after.minus(picking.used));
            let is_fair = !is_header || structure.times(STRUCTURE_SHARE).fits(room);
            if !after.fits(room) || !is_fair {
                group.iter().for_each(|&at| picking.is_kept[at] = false);
                continue;
            }
            if is_header {
                picking.structure = structure;
            }
            picking.used = after;
        }
    }

    /// Tells whether a line may be kept at all, as things stand.
    fn is_worth(&self, is_kept: &[bool], at: usize) -> bool {
        let line = &self.keeper.lines[at];
        if self.gaps == Gaps::Counted {
            let is_last = line.number == self.keeper.counts.lines;
            let is_broken_off = is_last && self.keeper.former.is_broken_off();
            return line.reading.shape != Shape::Blank && !is_broken_off;
        }
        self.scores[at].points >= weights::WORTH_A_GAP || self.sides(is_kept, at) > 0
    }

    /// Marks the lines of a group as kept, and returns what is used with them.
    fn add(&self, is_kept: &mut [bool], group: &[usize], mut used: Cost) -> Cost {
        for &at in group {
            let sides = self.sides(is_kept, at);
            let line = &self.keeper.lines[at];
            used = used.plus(match self.shown(line) {
                Some(text) => Cost::of(&text, self.limits),
                None => self.room,
            });
            used = match (self.gaps, sides) {
                (Gaps::Counted, _) | (Gaps::Marked, 1) => used,
                (Gaps::Marked, 0) => used.plus(self.marker),
                (Gaps::Marked, _) => used.minus(self.marker),
            };
            is_kept[at] = true;
        }
        used
    }

    /// Returns the place of a line in the order in which lines are kept: by score, the very long ones later. Of equals the
    /// first comes first, but at the end the last.
    fn order_of(&self, at: usize) -> (Reverse<u64>, u64) {
        let (line, score) = (&self.keeper.lines[at], &self.scores[at]);
        // The frames of a stack stay level, so that it is kept from its start and not in pieces.
        let len = match line.reading.shape {
            Shape::Frame => FRAME_BYTES,
            _ => u64::from(line.len).min(self.max_line as u64),
        };
        let priority = u64::from(score.points) * self.free_bytes / (self.free_bytes + len);
        let place = match score.evidence {
            Evidence::Tail => u64::MAX - line.number,
            _ => line.number,
        };
        (Reverse(priority), place)
    }

    /// Returns how many neighbours of a line are kept; beyond either end of the output is as good as kept.
    fn sides(&self, kept: &[bool], at: usize) -> usize {
        let lines = &self.keeper.lines;
        let number = lines[at].number;
        let before = number == 1 || (at > 0 && kept[at - 1] && lines[at - 1].number + 1 == number);
        let after = number == self.keeper.counts.lines
            || (at + 1 < lines.len() && kept[at + 1] && lines[at + 1].number == number + 1);
        usize::from(before) + usize::from(after)
    }

    fn is_cut(&self, line: &HeldLine) -> bool {
        line.has_hole || line.len as usize > self.max_line
    }

    /// Returns a line as it is shown: whole, or its two ends if it is too long; nothing if it cannot be shown so.
    fn shown(&self, line: &HeldLine) -> Option<Cow<'k, str>> {
        let whole = self.keeper.text_of(line);
        if !self.is_cut(line) {
            return Some(whole);
        }
        if self.gaps == Gaps::Counted {
            return document::shorten(&whole, self.max_line).map(Cow::Owned);
        }
        let room = self.max_line.saturating_sub(DOTS.len());
        let hole = self.keeper.max_line;
        let (start, end) = match line.has_hole {
            true => (
                &whole[..whole.floor_char_boundary(hole)],
                &whole[whole.ceil_char_boundary(hole)..],
            ),
            false => (&*whole, &*whole),
        };
        // Three parts of the start, where it tells what it is, and one of the end.
        let from = end.ceil_char_boundary(end.len().saturating_sub(room / 4));
        let until = start.floor_char_boundary(room - room / 4);
        let (start, end) = (
            &start[..edge::floor(start, until)],
            &end[edge::ceil(end, from)..],
        );
        Some(Cow::Owned(format!("{start}{DOTS}{end}")))
    }
}

/// Returns for each line the header above it that it must not stand without. No chain of them is longer than a file's header
/// and a hunk's.
fn headers(lines: &[HeldLine]) -> Vec<Option<usize>> {
    /// How far the lines of a file's header are apart at most: others stand between them.
    const HEADER_LINES: u64 = 6;
    let (mut file, mut hunk): (Option<usize>, Option<usize>) = (None, None);
    let needed = |(at, line): (usize, &HeldLine)| match line.role {
        Role::File => {
            (file, hunk) = (Some(at), None);
            None
        }
        Role::Header => {
            let is_near = |above: &usize| lines[*above].number + HEADER_LINES > line.number;
            let above = file.filter(is_near).filter(|_| hunk.is_none());
            (file, hunk) = (Some(at), None);
            above
        }
        Role::Hunk => {
            hunk = Some(at);
            file
        }
        Role::Change | Role::Same => hunk,
        Role::Plain => None,
    };
    lines.iter().enumerate().map(needed).collect()
}

/// Returns a line and the headers that it needs and that are not kept yet.
fn group(headers: &[Option<usize>], is_kept: &[bool], at: usize) -> Vec<usize> {
    // The headers of a header that is kept are kept.
    let needed = std::iter::successors(Some(at), |&at| headers[at]);
    needed.take_while(|&at| !is_kept[at]).collect()
}
