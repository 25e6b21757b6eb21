//! What an agent does with files: Grep, Read, LS, Glob, RepoStructure, Run.
//!
//! [`TOOLS`] is the one list; each is an [`overspill::Tool`], called through [`overspill::call`]. All walking and searching
//! dependencies live here. The library below decides what a model sees; this crate only finds it.

mod globs;
pub mod grep;
pub mod page;
mod rules;
mod sandbox;
pub mod search;
mod target;
mod threads;
mod walk;

use overspill::AnyTool;

/// Every tool there is.
pub static TOOLS: &[&dyn AnyTool] = &[&grep::Grep];
