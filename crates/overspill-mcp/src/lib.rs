//! MCP: a server of overspill's tools, and a proxy that bounds any other server.
//!
//! [`server`] speaks the protocol through `rmcp` and gives out [`overspill_tools::TOOLS`].

pub mod server;
