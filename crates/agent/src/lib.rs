//! The agent loop: it sends requests, runs tools, and manages queues and retries.
//!
//! Start at [`Agent`], which runs as a task; [`Op`], its input; and [`Event`], its output. [`Interceptor`] is
//! the extension point for rules that apply to all messages and tool calls, and [`Transport`] performs the
//! model calls.
//!
//! The crate does not know which tools exist or how sessions are stored.

mod agent;
mod call;
pub mod change;
pub mod compaction;
mod core;
pub mod event;
pub mod history;
pub mod interceptor;
pub mod log;
pub mod mailbox;
pub mod message;
pub mod op;
mod output;
pub mod queue;
mod recorder;
pub mod result;
pub mod retry;
pub mod state;
pub mod tool;
mod tool_run;
pub mod toolbox;
pub mod transport;
mod turn;

pub use agent::{Agent, AgentConfig};
pub use change::{Change, Changed, Desk, Moment};
pub use compaction::{CompactionDecision, CompactionOutcome, CompactionPlan, CompactionReason};
pub use event::{Event, RunOutcome};
pub use history::History;
pub use interceptor::{Interceptor, StopRun, ToolDecision};
pub use log::{AccountingEntry, Direction, LogEntry, LogKind, LogSeverity};
pub use mailbox::{Coalesce, Publisher, Subscription};
pub use message::{
    AgentMessage, Attachment, AttachmentKind, Notice, Severity, ShellRun, Summary,
    ToolResultMessage, UserMessage, convert_to_llm,
};
pub use op::{Op, QueueMode};
pub use output::Output;
pub use result::RunResult;
pub use retry::RetryPolicy;
pub use state::StateSnapshot;
pub use tool::{
    Concurrency, Tool, ToolContext, ToolHints, ToolInfo, ToolOrigin, ToolOutput, ToolSet,
    ToolSource, ToolStatus, ToolUpdate, UpdateSink,
};
pub use toolbox::Toolbox;
pub use transport::{AppTransport, KeySource, ProviderTransport, Transport};
pub use turn::FINAL_TURN_MESSAGE;
