//! Finds configuration of other agents that osier can use: files that it reads in place, and entries that it would copy
//! into its own files. Nothing is overwritten.

mod claude;
mod codex;
mod files;
mod opencode;
mod others;
mod plan;
mod sources;

pub use plan::{Action, Change, FoundServer, Item, Plan};
pub use sources::Sources;

/// Adds the configuration of one program to a plan.
pub type Find = fn(&Sources<'_>, &mut Plan);

/// The programs, in the order of a report.
pub const PROGRAMS: [(&str, Find); 6] = [
    ("Claude Code", claude::find),
    ("Codex", codex::find),
    ("pi", others::pi),
    ("opencode", opencode::find),
    ("Gemini CLI", others::gemini),
    ("GitHub Copilot", others::copilot),
];
