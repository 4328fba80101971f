//! Code of the user around the loop: hooks, which are commands, and plug-ins, which are Lua.

pub mod hooks;
pub mod plugins;
