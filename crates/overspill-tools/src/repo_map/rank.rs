//! PageRank of files: where a reader ends up who keeps following references, and now and then starts anew.

use super::graph::Graph;

/// How likely the reader follows a reference.
const DAMPING: f64 = 0.85;

/// Enough for the order to settle; a fixed number, so that the same graph gives the same ranks.
const ROUNDS: usize = 24;

/// Ranks of files and of what flows over names.
#[derive(Debug)]
pub(super) struct Ranks {
    /// The rank of each file; they add up to 1.
    pub(super) files: Vec<f64>,
    /// What flows over each name of the graph, for each unit of the pull of a file that defines it.
    names: Vec<f64>,
    /// The pull of each file.
    pulls: Vec<f64>,
}

impl Ranks {
    /// Returns what flows over a name to a file that defines it.
    pub(super) fn flow(&self, name: usize, file: usize) -> f64 {
        self.names[name] * self.pulls[file]
    }
}

/// Ranks the files of a graph. `starts` tells how likely a reader starts at each; it need not add up to anything.
pub(super) fn rank(graph: &Graph, starts: &[f64]) -> Ranks {
    let count = graph.references.len();
    let all: f64 = starts.iter().sum();
    let starts: Vec<f64> = match all > 0.0 {
        true => starts.iter().map(|start| start / all).collect(),
        false => vec![1.0 / count.max(1) as f64; count],
    };
    let totals: Vec<f64> = graph
        .references
        .iter()
        .map(|references| references.iter().map(|(_, weight)| weight).sum())
        .collect();
    let mut files = starts.clone();
    let mut pulls = Vec::new();
    let mut names = vec![0.0; graph.names.len()];
    for _ in 0..ROUNDS {
        names.fill(0.0);
        // Whoever is at a file that refers to nothing starts anew.
        let mut stranded = 0.0;
        for ((references, total), rank) in graph.references.iter().zip(&totals).zip(&files) {
            if *total <= 0.0 {
                stranded += rank;
                continue;
            }
            let share = rank / total;
            for &(name, weight) in references {
                names[name as usize] += share * weight;
            }
        }
        pulls = files.iter().map(|rank| rank.sqrt()).collect();
        split(graph, &pulls, &mut names);
        let anew = 1.0 - DAMPING + DAMPING * stranded;
        let definers = pulls.iter().zip(&starts).zip(&graph.definitions);
        for (rank, ((pull, start), own)) in files.iter_mut().zip(definers) {
            let flow: f64 = own.iter().map(|&name| names[name as usize]).sum();
            *rank = DAMPING * flow * pull + anew * start;
        }
    }
    Ranks {
        files,
        names,
        pulls,
    }
}

/// Splits what flows over each name among the files that define it, by their pulls, which are the roots of their ranks: of
/// several of a name the one that others refer to anyway is likely meant.
fn split(graph: &Graph, pulls: &[f64], flows: &mut [f64]) {
    let mut sums = vec![0.0; flows.len()];
    for (own, pull) in graph.definitions.iter().zip(pulls) {
        for &name in own {
            sums[name as usize] += pull;
        }
    }
    for (flow, sum) in flows.iter_mut().zip(&sums) {
        *flow = if *sum > 0.0 { *flow / sum } else { 0.0 };
    }
}
