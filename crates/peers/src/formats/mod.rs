//! The output formats of other agents for scripts and SDKs, and the input of Claude Code's.

mod claude;
mod codex;
mod control;
mod format;

pub use claude::{ClaudeFormat, Lines};
pub use codex::CodexFormat;
pub use control::{permission_mode, prompt_of};
pub use format::{Effect, Format, RunEnd, SdkHook};
