//! How much of what matters a preview keeps, by limit: with each strategy, and with each kind of evidence left out.

use overspill::{Evidence, Limits, Salience, Strategy};

use super::recall::{Case, mean_recall};

/// The limits by name: thousands of tokens at four bytes each, and the limits that hold where none are set.
fn all_limits() -> [(&'static str, Limits); 5] {
    [
        ("1k", Limits::none().bytes(4_000)),
        ("2k", Limits::none().bytes(8_000)),
        ("4k", Limits::none().bytes(16_000)),
        ("10k", Limits::none().bytes(40_000)),
        ("default", Limits::default()),
    ]
}

/// Prints the recall of each strategy. An output counts at limits that it is over.
pub(super) fn print_strategies(cases: &[Case]) {
    print_head("recall");
    for strategy in [
        Strategy::Smart,
        Strategy::Head,
        Strategy::Tail,
        Strategy::HeadTail,
    ] {
        let cells = all_limits().map(|(_, limits)| {
            let mean = mean_recall(cases, &limits, strategy, &Salience::default());
            mean.map_or("-".to_owned(), |(mean, _)| format!("{mean:.3}"))
        });
        print_row(strategy.name(), &cells);
    }
    let counts = all_limits().map(|(_, limits)| {
        let mean = mean_recall(cases, &limits, Strategy::Head, &Salience::default());
        mean.map_or(0, |(_, n_cases)| n_cases).to_string()
    });
    print_row("outputs over it", &counts);
}

/// Prints the outputs of which `smart` misses something, for whoever wants to see why.
pub(super) fn print_missed(cases: &[Case]) {
    for (name, limits) in all_limits() {
        let recall = |case: &Case| {
            let preview = case.preview(&limits, Strategy::Smart, &Salience::default())?;
            Some(case.recall(&preview)).filter(|&recall| recall < 1.0)
        };
        let missed: Vec<String> = cases
            .iter()
            .filter_map(|case| Some(format!("{} {:.2}", case.name, recall(case)?)))
            .collect();
        if !missed.is_empty() {
            println!("- not all at {name}: {}", missed.join(", "));
        }
    }
}

/// Prints the recall without each kind of evidence, and what that is more or less than with all of it.
pub(super) fn print_evidence(cases: &[Case]) {
    print_head("`smart` without");
    let recall = |salience: &Salience| {
        all_limits().map(|(_, limits)| {
            mean_recall(cases, &limits, Strategy::Smart, salience).map(|(mean, _)| mean)
        })
    };
    let all = recall(&Salience::default());
    let cells = all.map(|mean| mean.map_or("-".to_owned(), |mean| format!("{mean:.3}")));
    print_row("nothing", &cells);
    // Room is no evidence: it is what a line has that nothing speaks for.
    for evidence in Evidence::ALL
        .into_iter()
        .filter(|&evidence| evidence != Evidence::Room)
    {
        let without = recall(&Salience::default().without(evidence));
        let mut cells = all.iter().zip(without).map(|(all, without)| {
            let (Some(all), Some(without)) = (all, without) else {
                return "-".to_owned();
            };
            format!("{without:.3} ({:+.3})", without - all)
        });
        let cells: [String; 5] = std::array::from_fn(|_| cells.next().unwrap_or_default());
        print_row(evidence.name(), &cells);
    }
}

fn print_head(what: &str) {
    let names = all_limits().map(|(name, _)| name.to_owned());
    print_row(what, &names);
    println!("|---|{}", "---|".repeat(names.len()));
}

fn print_row(name: &str, cells: &[String]) {
    println!("| {name} | {} |", cells.join(" | "));
}
