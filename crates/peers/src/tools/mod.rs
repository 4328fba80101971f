//! The tools of other agents: one table, and the calls that scripts see.

mod calls;
mod table;

pub use calls::{GENERAL, ScriptCall, claude_call, ours, seen, theirs};
pub use table::{
    KnownTool, ending, is_part, is_seen, likely, our_tool, seen_names, suggestion, tools_of,
};
