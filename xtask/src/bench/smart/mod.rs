//! The claims about the strategy `smart`: how much of what matters it keeps, what each kind of evidence is worth, what it costs.
//!
//! Recall is measured in this process, since no flag of the program leaves evidence out; speed is that of the program.

mod data;
mod quality;
#[path = "../../../../crates/overspill/tests/recall/mod.rs"]
mod recall;
mod speed;

use anyhow::Result;

use super::machine;
use super::subject::Subject;

/// Measures everything, and prints each table as soon as it is measured.
pub(crate) fn run() -> Result<()> {
    let subject = Subject::prepare("smart")?;
    let sets = data::sets()?;
    println!("{}", machine());
    for set in &sets {
        println!("\n{}: {} outputs\n", set.name, set.cases.len());
        quality::print_strategies(&set.cases);
        println!();
        quality::print_missed(&set.cases);
        println!();
        quality::print_evidence(&set.cases);
    }
    for set in &sets {
        speed::measure(&subject, set)?;
    }
    Ok(())
}
