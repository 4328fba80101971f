//! Programs of the user that extend a session: hooks, plugins and MCP servers.

pub(crate) mod hook_services;
pub(crate) mod hooks;
pub(crate) mod mcp;
pub(crate) mod mcp_on_demand;
pub(crate) mod model_switch;
pub(crate) mod plugins;
pub(crate) mod rule_check;
pub(crate) mod sampling;
mod set;
mod verifier;

pub(crate) use set::Extensions;
