//! User code that extends the agent: hooks, which are programs, and plugins, which are Lua.
//!
//! Start at [`hooks::Hooks`] and [`plugins::Plugins`]: each loads its files and provides the interceptor that
//! connects it to the agent loop. [`osier_protocol::HookEvent`] and [`plugins::api`] are the tables of events and
//! functions from which the documentation is generated.
//!
//! The crate does not know session storage or the screen: it reports and requests over channels.
//!
//! ```
//! use osier_protocol::HookEvent;
//!
//! assert_eq!(HookEvent::find("pre_tool_use"), HookEvent::find("PreToolUse"));
//! assert!(osier_extensions::plugins::api::find_event("tool_call").is_some());
//! ```

pub mod hooks;
pub mod plugins;
