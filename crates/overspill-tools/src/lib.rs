//! What an agent does with files: pages through them and searches them, never holding more than it shows.
//!
//! All searching dependencies live here. The library below decides what a model sees; this crate only finds it.

pub mod page;
pub mod search;
