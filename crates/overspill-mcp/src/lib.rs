//! MCP: a server of overspill's tools, and a proxy that bounds any other server.
//!
//! [`server`] speaks the protocol through `rmcp` and gives out [`overspill_tools::TOOLS`]. [`proxy`] relays bytes, since what it
//! does not change must pass as it came.

mod link;
mod pipes;
pub mod proxy;
mod serve;
pub mod server;

pub use self::pipes::Pipes;
pub use self::serve::Access;
