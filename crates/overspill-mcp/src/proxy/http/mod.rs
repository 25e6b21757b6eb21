//! A server at an address: for a client at standard input and output ([`bridge`]), or for one that speaks HTTP itself
//! ([`gateway`]).

mod bridge;
mod gateway;
mod upstream;

pub use self::bridge::bridge;
pub use self::gateway::gateway;
pub use self::upstream::Upstream;
