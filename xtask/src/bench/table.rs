//! Claims and what was measured, as a Markdown table.

use std::fmt;

/// One claim and its measurement.
pub(crate) struct Row<'a> {
    pub(crate) what: &'a str,
    pub(crate) claim: Claim,
    /// In the claim's unit; `None` where this machine cannot tell.
    pub(crate) figure: Option<f64>,
    /// How the figure came about.
    pub(crate) how: String,
}

/// What is claimed of a figure.
pub(crate) struct Claim {
    bound: Bound,
    limit: f64,
    unit: &'static str,
}

enum Bound {
    AtMost,
    Under,
    AtLeast,
}

impl Claim {
    pub(crate) fn at_most(limit: f64, unit: &'static str) -> Self {
        Claim {
            bound: Bound::AtMost,
            limit,
            unit,
        }
    }

    pub(crate) fn under(limit: f64, unit: &'static str) -> Self {
        Claim {
            bound: Bound::Under,
            limit,
            unit,
        }
    }

    pub(crate) fn at_least(limit: f64, unit: &'static str) -> Self {
        Claim {
            bound: Bound::AtLeast,
            limit,
            unit,
        }
    }

    fn holds(&self, figure: f64) -> bool {
        match self.bound {
            Bound::AtMost => figure <= self.limit,
            Bound::Under => figure < self.limit,
            Bound::AtLeast => figure >= self.limit,
        }
    }
}

/// Prints the head of the table.
pub(crate) fn print_head() {
    println!("| what | claim | measured | | how |\n|---|---|---|---|---|");
}

/// Returns the row of a program's peak memory in bytes, which is claimed to be under so many megabytes.
pub(crate) fn memory(what: &str, under: f64, peak: Option<u64>) -> Row<'_> {
    let how = if peak.is_some() {
        "`VmHWM`"
    } else {
        "only Linux tells"
    };
    Row {
        what,
        claim: Claim::under(under, "MB"),
        figure: peak.map(|bytes| bytes as f64 / 1e6),
        how: how.to_owned(),
    }
}

impl Row<'_> {
    /// Prints the row. That is done as soon as it is measured, since a benchmark takes minutes.
    pub(crate) fn print(&self) {
        println!("{self}");
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row {
            what,
            claim,
            figure,
            how,
        } = self;
        write!(f, "| {what} | {claim} | ")?;
        match figure {
            None => write!(f, "not measured | ")?,
            Some(figure) => {
                let verdict = if claim.holds(*figure) { "ok" } else { "MISSED" };
                write!(f, "{figure:.2} {} | {verdict} ", claim.unit)?;
            }
        }
        write!(f, "| {how} |")
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = match self.bound {
            Bound::AtMost => "at most",
            Bound::Under => "under",
            Bound::AtLeast => "at least",
        };
        write!(f, "{bound} {} {}", self.limit, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_its_claim_holds() {
        let row = |claim, figure| {
            Row {
                what: "it",
                claim,
                figure,
                how: "so".to_owned(),
            }
            .to_string()
        };
        assert_eq!(
            row(Claim::at_most(1.3, "times"), Some(1.3)),
            "| it | at most 1.3 times | 1.30 times | ok | so |"
        );
        assert_eq!(
            row(Claim::under(32.0, "MB"), Some(32.0)),
            "| it | under 32 MB | 32.00 MB | MISSED | so |"
        );
        assert_eq!(
            row(Claim::at_least(4.0, "GB/s"), Some(3.9)),
            "| it | at least 4 GB/s | 3.90 GB/s | MISSED | so |"
        );
        assert_eq!(
            row(Claim::under(32.0, "MB"), None),
            "| it | under 32 MB | not measured | | so |"
        );
    }
}
