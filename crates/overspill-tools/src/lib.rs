//! What an agent does with files: Grep, Read, LS, Glob, RepoStructure, RepoMap, Run.
//!
//! [`TOOLS`] is the one list; each is an [`overspill::Tool`], called through [`overspill::call`]. All walking, searching and
//! parsing dependencies live here. The library below decides what a model sees; this crate only finds it.
//!
//! [`page`], [`search`] and [`process`] are parts that the command line shares: `show` pages and searches with them, `run` runs.

mod buffer;
mod defaults;
pub mod glob;
mod globs;
pub mod grep;
pub mod ls;
pub mod page;
pub mod process;
pub mod read;
pub mod repo_map;
pub mod repo_structure;
mod rules;
pub mod run;
mod sandbox;
pub mod search;
mod target;
mod threads;
mod walk;

use overspill::AnyTool;

pub use self::buffer::Buffer;

/// Every tool there is.
pub static TOOLS: &[&dyn AnyTool] = &[
    &grep::Grep,
    &read::Read,
    &ls::Ls,
    &glob::Glob,
    &repo_structure::RepoStructure,
    &repo_map::RepoMap,
    &run::Run,
];
