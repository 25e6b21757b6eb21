//! What evidence is worth: the one table of weights.
//!
//! 100 points are a plain error message. What a line says by itself is in points; its score among the others is in
//! hundredths of a point, which [`score`] makes of points. A `_SHARE` is in percent, a `_PART` is one in so many. The weights were set by
//! what keeps most of the lines that people marked in real logs, and hold for all tools alike; `cargo xtask bench smart`
//! measures what each kind of evidence is worth.

/// Returns points as a score.
const fn score(points: u32) -> u32 {
    points * 100
}

/// From how many points on a line is hot: it begins a block, and warms its neighbours.
pub(super) const HOT: u16 = 50;

/// From how many points on a line says aloud that something failed.
pub(super) const LOUD: u16 = 85;

/// A word of failure that announces what follows, or a type's name: `error:`, `KeyError`.
pub(super) const FAILURE_LABEL: u16 = 100;

/// A word of failure in capitals.
pub(super) const FAILURE_LOUD: u16 = 85;

/// A word of failure in a sentence.
pub(super) const FAILURE_PROSE: u16 = 65;

/// The name of a type of failure in a sentence.
pub(super) const FAILURE_MENTION: u16 = 60;

/// An item of a numbered list: what failed is often listed so.
pub(super) const NUMBERED: u16 = 90;

/// A line that is logged at a level of failure and has no other word of trouble.
pub(super) const LEVEL: u16 = 75;

/// The same where there is nothing behind the level.
pub(super) const LEVEL_ALONE: u16 = 10;

/// What a level of failure adds to what other words are worth.
pub(super) const LEVEL_BESIDE: u16 = 10;

/// Words of trouble: cannot, not found.
pub(super) const TROUBLE: u16 = 45;

/// A word of warning that announces what follows.
pub(super) const WARNING_LABEL: u16 = 30;

/// A word of warning in a sentence.
pub(super) const WARNING_PROSE: u16 = 22;

/// A word for a value that a check compared, as a label.
pub(super) const VALUES_LABEL: u16 = 38;

/// The same in a sentence.
pub(super) const VALUES_PROSE: u16 = 20;

/// A count of failures: `3 errors`.
pub(super) const COUNT_FAILED: u16 = 95;

/// A count that says that nothing failed: `0 errors`.
pub(super) const COUNT_NONE: u16 = 25;

/// A count of what went well: `3 passed`.
pub(super) const COUNT_PASSED: u16 = 30;

/// An exit code that tells of failure.
pub(super) const EXIT_FAILED: u16 = 90;

/// The exit code 0.
pub(super) const EXIT_OK: u16 = 20;

/// Any other word of how a program or a run of tests ended.
pub(super) const OUTCOME: u16 = 40;

/// What a place in a file adds: `a.c:12`.
pub(super) const LOCATION: u16 = 10;

/// Of what the weaker kinds of evidence in a line are worth, this part is added to the strongest.
pub(super) const OTHER_WORDS_PART: u16 = 8;

/// The most that words are worth in a command, or where they are those of a test that passed.
pub(super) const BENIGN_MOST: u16 = 8;

/// What is left of words that are logged at a level at which nothing fails.
pub(super) const CALM_PART: u16 = 3;

/// What is left of words in source.
pub(super) const CODE_SHARE: u16 = 40;

/// The most lines of a block, in either direction.
pub(super) const BLOCK_LINES: usize = 60;

/// How far a hot line reaches back to lines that are indented more than it.
pub(super) const INNER_LINES: usize = 40;

/// What the lines of a block behind the hot line are worth, of what that is worth.
pub(super) const BLOCK_SHARE: u32 = 80;

/// What the lines before it are worth that are indented more.
pub(super) const INNER_SHARE: u32 = 65;

/// What the line behind a block is worth.
pub(super) const CLOSING_SHARE: u32 = 70;

/// What the line is worth that a hot one hangs from.
pub(super) const PARENT_SHARE: u32 = 75;

/// What the heading above a hot line is worth.
pub(super) const HEADING_SHARE: u32 = 60;

/// What neighbours are worth that are kept for context, the nearest first.
pub(super) const CONTEXT_SHARES: [u32; 3] = [40, 30, 20];

/// What a short line between two better ones is worth, of the lesser.
pub(super) const BETWEEN_SHARE: u32 = 90;

/// Below how many bytes such a line is short.
pub(super) const BETWEEN_BYTES: u32 = 200;

/// What each line more costs in a run of lines that only their level makes hot: the first is a message, and the rest go on with it.
pub(super) const LEVEL_RUN_SHARE: u32 = 6;

/// What is left at least of a line in such a run.
pub(super) const LEVEL_RUN_LEAST_SHARE: u32 = 35;

/// What words in a line of a diff are worth: text about trouble, not a report of it.
pub(super) const DIFF_SHARE: u32 = 50;

/// How much of an output may be as hot as a line at no cost to it. Each percent more costs it one: where much is hot, being hot
/// says less.
pub(super) const CROWD_SHARE: u32 = 25;

/// What each doubling of its distance from the first or the last of its kind costs a line.
pub(super) const KIND_SHARE: u32 = 14;

/// How many doublings cost something.
pub(super) const KIND_DOUBLINGS: u32 = 6;

/// What the last line of a content that came before is worth.
pub(super) const LAST_REPEAT_SHARE: u32 = 50;

/// What any other line is worth whose content came before: this, and down to a [`REPEAT_PART`] of it the more often it came.
pub(super) const REPEAT_SHARE: u32 = 40;

/// See [`REPEAT_SHARE`].
pub(super) const REPEAT_PART: u32 = 4;

/// The header of a file in a diff, or of a table. What stands below brings it along in any case.
pub(super) const HEADER: u32 = score(95);

/// The header of a hunk.
pub(super) const HUNK: u32 = score(94);

/// A line that a diff removes or adds.
pub(super) const CHANGE: u32 = score(30);

/// The rarest template in an output of which nothing repeats itself.
pub(super) const RARE: u32 = score(10);

/// What it is worth more for each percent of the output that does.
pub(super) const RARE_PER_PERCENT: u32 = score(1) / 4;

/// After how many doublings of its count a template is not rare at all.
pub(super) const RARE_DOUBLINGS: u32 = 4;

/// Of what a line's rarity is worth, this part is added to its score.
pub(super) const RARE_PART: u32 = 2;

/// What a place in the output is worth, by the share of the room that it takes to get there from the end in question: shares
/// ascend, and the first that is not exceeded counts.
pub(super) type Steps = [(u64, u32)];

/// Near the start.
pub(super) const HEAD: &Steps = &[
    (2, score(90)),
    (5, score(45)),
    (15, score(30)),
    (50, score(17)),
];

/// Near the start of an output in which nothing says aloud that it failed: there the start tells as much as the end.
pub(super) const CALM_HEAD: &Steps = &[(45, score(46))];

/// The first line, which nearly always stays.
pub(super) const FIRST_LINE: &Steps = &[(12, score(126)), (25, score(90))];

/// Near the end: three tenths of the room are for it before anything else.
pub(super) const TAIL: &Steps = &[(30, score(125)), (60, score(45)), (100, score(25))];

/// The most that a line is worth for the words of a query in it: never as much as a plain error message.
pub(super) const QUERY_MOST: u32 = score(99);

/// The most that one such word is worth, if it is rare.
pub(super) const QUERY_WORD: u32 = score(89);

/// Of what the other words of a query are worth, this part is added to the rarest.
pub(super) const QUERY_OTHERS_PART: u32 = 4;

/// A word of a query that stands in more than this part of the lines asks for nothing.
pub(super) const QUERY_COMMON_PART: u64 = 3;

/// What the words of a command are worth, of what they would be in a query.
pub(super) const COMMAND_SHARE: u32 = 50;

/// What a string of a JSON document is worth that answers a query: more than any failure.
pub(super) const QUERY_IN_DOCUMENT: u32 = 150;

/// What each word of the query adds to it.
pub(super) const QUERY_WORD_IN_DOCUMENT: u32 = 10;

/// Below which score a line is not kept away from any other: it is not worth the marker.
pub(super) const WORTH_A_GAP: u32 = score(15);

/// No score is higher.
pub(super) const MOST: u32 = score(200);
