//! The output formats of other agents for scripts and SDKs, and the input of Claude Code's.

mod claude;
mod codex;
mod control;
mod facts;
mod format;
mod initialize;
mod modes;
mod rules;

pub use claude::{ClaudeFormat, Lines};
pub use codex::CodexFormat;
pub use control::{prompt_of, thinking_level};
pub use format::{AskedOps, AskedResult, Effect, Format, RunEnd, SdkHook};
pub use initialize::Initialize;
pub use modes::{permission_mode, rule_ops};
pub use rules::suggestion;
