//! Reads the journal and adds up.

use std::collections::BTreeMap;

use overspill::settings::is_same_tool;
use rusqlite::{Connection, Row, params};

use super::since::Since;
use crate::journal::now_ms;

/// Which calls are looked at.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// Those in one root, or in all.
    pub(super) root: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) since: Since,
}

/// What the journal says of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// By day and tool, in that order.
    pub(super) cells: Vec<Cell>,
    /// Every cut, in the order they were made.
    pub(super) cuts: Vec<CutCall>,
}

/// The calls of one tool on one day.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Cell {
    pub(super) day: String,
    pub(super) tool: String,
    pub(super) sums: Sums,
}

/// What some calls come to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Sums {
    pub(super) calls: u64,
    /// Calls of which not all was shown: cut, or a page with another behind it.
    pub(super) cuts: u64,
    /// Those of them that are pages.
    pub(super) paged: u64,
    pub(super) spills: u64,
    /// Spills that were looked into at least once.
    pub(super) spills_read: u64,
    pub(super) readings: u64,
    pub(super) lines_before: u64,
    pub(super) lines_after: u64,
    pub(super) bytes_before: u64,
    pub(super) bytes_after: u64,
    /// Of what was cut.
    pub(super) tokens_before: u64,
    pub(super) tokens_after: u64,
    /// Whether a part of the tokens was not counted but reckoned.
    pub(super) is_estimated: bool,
}

/// A call whose output was cut, as far as it tells how to do better.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct CutCall {
    pub(super) tool: String,
    pub(super) strategy: String,
    /// The limit that bit.
    pub(super) limit: String,
    /// What it was set to.
    pub(super) max: Option<u64>,
    /// How much the output had in its unit.
    pub(super) size: Option<u64>,
    pub(super) is_read: bool,
}

impl Figures {
    /// Reads the figures of calls in a scope.
    pub(super) fn read(connection: &Connection, scope: &Scope) -> anyhow::Result<Figures> {
        let since = since_ms(connection, &scope.since)?;
        let is_wanted = |tool: &str| {
            scope
                .tool
                .as_deref()
                .is_none_or(|wanted| is_same_tool(wanted, tool))
        };
        let mut statement = connection.prepare(CELLS)?;
        let cells = statement.query_map(params![since, scope.root], cell)?;
        let mut cells = cells.collect::<Result<Vec<Cell>, _>>()?;
        cells.retain(|cell| is_wanted(&cell.tool));
        let mut statement = connection.prepare(CUTS)?;
        let cuts = statement.query_map(params![since, scope.root], cut)?;
        let mut cuts = cuts.collect::<Result<Vec<CutCall>, _>>()?;
        cuts.retain(|cut| is_wanted(&cut.tool));
        Ok(Figures { cells, cuts })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns what all calls come to.
    pub(super) fn total(&self) -> Sums {
        let mut total = Sums::default();
        self.cells.iter().for_each(|cell| total.add(&cell.sums));
        total
    }

    /// Returns what the calls of each tool come to, the most calls first.
    pub(super) fn tools(&self) -> Vec<(&str, Sums)> {
        let mut tools = self.grouped(|cell| &cell.tool);
        tools.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.calls));
        tools
    }

    /// Returns what the calls of each day come to.
    pub(super) fn days(&self) -> Vec<(&str, Sums)> {
        self.grouped(|cell| &cell.day)
    }

    fn grouped<'f>(&'f self, by: impl Fn(&'f Cell) -> &'f str) -> Vec<(&'f str, Sums)> {
        let mut groups: BTreeMap<&str, Sums> = BTreeMap::new();
        for cell in &self.cells {
            groups.entry(by(cell)).or_default().add(&cell.sums);
        }
        groups.into_iter().collect()
    }
}

impl Sums {
    /// Returns how many tokens were not shown. A notice may be longer than what it stands for.
    pub(super) fn tokens_saved(&self) -> i64 {
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        signed(self.tokens_before) - signed(self.tokens_after)
    }

    /// Returns which part of the calls was cut.
    pub(super) fn truncation_rate(&self) -> f64 {
        share(self.cuts, self.calls)
    }

    /// Returns which part of the spills was looked into.
    pub(super) fn regret_rate(&self) -> f64 {
        share(self.spills_read, self.spills)
    }
}

fn share(part: u64, all: u64) -> f64 {
    match all {
        0 => 0.0,
        all => part as f64 / all as f64,
    }
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        let pairs = [
            (&mut self.calls, other.calls),
            (&mut self.cuts, other.cuts),
            (&mut self.paged, other.paged),
            (&mut self.spills, other.spills),
            (&mut self.spills_read, other.spills_read),
            (&mut self.readings, other.readings),
            (&mut self.lines_before, other.lines_before),
            (&mut self.lines_after, other.lines_after),
            (&mut self.bytes_before, other.bytes_before),
            (&mut self.bytes_after, other.bytes_after),
            (&mut self.tokens_before, other.tokens_before),
            (&mut self.tokens_after, other.tokens_after),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.is_estimated |= other.is_estimated;
    }
}

/// The calls by day and tool. A reading counts for the call that made the spill, whenever it was.
const CELLS: &str = "
WITH again AS (SELECT root, spill, count(*) AS times FROM reading GROUP BY root, spill)
SELECT date(at_ms / 1000, 'unixepoch', 'localtime') AS day, tool, count(*), sum(ending <> 'whole'), sum(ending = 'paged'),
    count(spill), count(times), ifnull(sum(times), 0), ifnull(sum(lines_before), 0), ifnull(sum(lines_after), 0), ifnull(sum(bytes_before), 0),
    ifnull(sum(bytes_after), 0), ifnull(sum(tokens_before), 0), ifnull(sum(tokens_after), 0), max(is_estimated)
FROM call LEFT JOIN again USING (root, spill)
WHERE at_ms >= ?1 AND (?2 IS NULL OR root = ?2)
GROUP BY day, tool ORDER BY day, tool";

fn cell(row: &Row<'_>) -> rusqlite::Result<Cell> {
    let number = |at: usize| -> rusqlite::Result<u64> {
        let sum: i64 = row.get(at)?;
        Ok(u64::try_from(sum).unwrap_or(0))
    };
    Ok(Cell {
        day: row.get(0)?,
        tool: row.get(1)?,
        sums: Sums {
            calls: number(2)?,
            cuts: number(3)?,
            paged: number(4)?,
            spills: number(5)?,
            spills_read: number(6)?,
            readings: number(7)?,
            lines_before: number(8)?,
            lines_after: number(9)?,
            bytes_before: number(10)?,
            bytes_after: number(11)?,
            tokens_before: number(12)?,
            tokens_after: number(13)?,
            is_estimated: row.get(14)?,
        },
    })
}

/// Every cut with the limit that bit and the size in its unit; a char counts as a byte.
const CUTS: &str = "
SELECT tool, strategy, limit_name,
    CASE limit_name WHEN 'max_lines' THEN max_lines WHEN 'max_bytes' THEN max_bytes WHEN 'max_chars' THEN max_chars
        WHEN 'max_tokens' THEN max_tokens WHEN 'max_line_chars' THEN max_line_chars
        WHEN 'max_result_chars' THEN max_result_chars END,
    CASE limit_name WHEN 'max_lines' THEN lines_before WHEN 'max_tokens' THEN tokens_before
        WHEN 'max_line_chars' THEN NULL ELSE bytes_before END,
    EXISTS (SELECT 1 FROM reading WHERE reading.root = call.root AND reading.spill = call.spill)
FROM call
WHERE ending = 'cut' AND limit_name IS NOT NULL AND at_ms >= ?1 AND (?2 IS NULL OR root = ?2)
ORDER BY at_ms, id";

fn cut(row: &Row<'_>) -> rusqlite::Result<CutCall> {
    let number = |at: usize| {
        let number = row.get::<_, Option<i64>>(at)?;
        Ok::<_, rusqlite::Error>(number.and_then(|number| u64::try_from(number).ok()))
    };
    Ok(CutCall {
        tool: row.get(0)?,
        strategy: row.get(1)?,
        limit: row.get(2)?,
        max: number(3)?,
        size: number(4)?,
        is_read: row.get(5)?,
    })
}

/// Returns a time in milliseconds since 1970.
fn since_ms(connection: &Connection, since: &Since) -> anyhow::Result<i64> {
    match since {
        Since::Ago(seconds) => Ok(now_ms() - seconds * 1000),
        // SQLite knows the time zone of the user.
        Since::Day(day) => {
            let seconds: i64 =
                connection.query_row("SELECT unixepoch(?1, 'utc')", [day], |row| row.get(0))?;
            Ok(seconds * 1000)
        }
    }
}
