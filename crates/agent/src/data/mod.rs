//! The data of an agent: messages, ops, events, log entries. Knows nothing of how agents work.

mod compaction;
mod event;
mod log;
mod message;
mod op;
mod output;
mod snapshot;
mod tool;

pub use compaction::{CompactionDecision, CompactionOutcome, CompactionPlan, CompactionReason};
pub use event::{Event, RunOutcome, ToolUpdate};
pub use log::{AccountingEntry, Direction, LogEntry, LogKind, LogSeverity};
pub(crate) use message::last_answer;
pub use message::{
    AgentMessage, Attachment, AttachmentKind, CustomMessage, Notice, Severity, ShellRun, Summary,
    ToolResultMessage, UserMessage, convert_to_llm,
};
pub use op::{Op, QueueMode};
pub use output::Output;
pub use snapshot::StateSnapshot;
pub use tool::{ToolHints, ToolInfo, ToolOrigin, ToolStatus};
