//! The loop: requests, tools, queues, retries. `Op` goes in, `Event` comes out. Knows neither which
//! tools exist nor where sessions live.

pub mod message;
pub mod tool;

pub use message::{
    AgentMessage, Attachment, AttachmentKind, ShellRun, ToolResultMessage, UserMessage,
};
pub use tool::{
    Concurrency, Tool, ToolContext, ToolOutput, ToolSet, ToolStatus, ToolUpdate, UpdateSink,
};
