//! One module a command.

pub(crate) mod clean;
pub(crate) mod config;
pub(crate) mod generate;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod mcp;
pub(crate) mod proxy;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tools;
pub(crate) mod truncate;
