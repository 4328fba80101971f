//! The agent loop: it sends requests to models, runs tools, and manages queues and retries.
//!
//! - [`Agent`] is the handle of a running agent; [`AgentConfig`] is what it starts with.
//! - [`Op`] is its input, [`Event`] its output. Both are serde types: a client in another process has the
//!   same interface as one in this process.
//! - [`Tool`] is a function that a model can call, [`Transport`] performs the model calls.
//! - [`Interceptor`] is the extension point for features that apply to all messages and tool calls: storage, permissions,
//!   hooks, compaction.
//!
//! The crate does not know which tools exist or how sessions are stored.
//!
//! # A tool call
//!
//! 1. The answer is complete: calls in the form of other programs are repaired, then stored.
//! 2. The arguments are checked against the schema, and [`Tool::prepare`] makes a [`PreparedCall`] of them: its files
//!    without symbolic links, how it runs with other calls, its preview, and what it does.
//! 3. The interceptors judge the [`CheckedCall`]. If one of them changes the arguments, the call is prepared and judged
//!    again.
//! 4. When all calls of the answer are judged, they run, in parallel as far as they allow.
//!
//! Invariants: the value that was judged is the one that runs, every call has a result, and a call whose
//! arguments are incomplete does not run.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use osier_agent::{Agent, AgentConfig, ProviderTransport, RunOutcome};
//! use osier_llm::{Catalogue, Script, ScriptedProvider};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // A provider with a prepared answer; `osier_llm::Providers` calls real models.
//! let provider = ScriptedProvider::new(Script::always("Paris."));
//! let transport = Arc::new(ProviderTransport::new(Arc::new(provider), None));
//!
//! let catalogue = Catalogue::default();
//! let model = catalogue.get("demo/tour").expect("the model is bundled");
//!
//! let agent = Agent::spawn(AgentConfig::new(transport, (**model).clone()));
//! let result = agent.run("What is the capital of France?", Vec::new()).await;
//!
//! assert_eq!(result.outcome, RunOutcome::Completed);
//! assert_eq!(result.answer().as_deref(), Some("Paris."));
//! # }
//! ```
//!
//! # Layers
//!
//! Each module depends only on modules below it:
//!
//! ```text
//! agent                                    handle and task of an agent, the result of a run
//! run                                      one run: its turns, model calls, tool calls, log
//! core                                     what the task and a run share
//! state  config                            models, tools, messages and queues of an agent
//! change                                   exclusive changes of a conversation
//! interceptor  history                     extension points
//! tool  transport  retry
//! data                                     messages, ops, events, log entries
//! mailbox                                  one queue per subscriber
//! ```
//!
//! # Design
//!
//! - The modules form layers without cycles, which a test checks.
//! - `run` is one run: it delivers queued messages, calls a model, runs the tools, and repeats. It decides on
//!   `TurnStatus` alone.
//! - An `Interceptor` handles all messages and calls; storing messages is one. A message enters memory only
//!   after the `commit` of every interceptor has returned.
//! - News for the model is added to the end of the conversation (`Interceptor::reminders`): the system prompt, the
//!   tools and earlier messages are in the provider's cache.
//! - Calls are repaired in one place, `tool/repair`, before an answer is stored: names and arguments of other
//!   programs, types, JSON. Rules cannot be passed by another spelling, because nothing after the repair sees one.
//! - One change of the conversation happens at a time: a move in the tree, a compaction by hand and a fan of models
//!   are `Change`s, which the agent's task does between runs. Messages wait meanwhile, and `Abort` ends the change.
//! - Each subscriber has its own queue (`mailbox`). Deltas of one block merge while they wait; nothing else is
//!   merged, nothing is dropped, and a slow reader stops nobody.

mod agent;
mod change;
mod config;
mod core;
mod data;
mod history;
mod interceptor;
mod mailbox;
mod retry;
mod run;
mod state;
mod tool;
mod transport;

pub use agent::{Agent, RunResult};
pub use change::{Change, ChangeOutcome};
pub use config::AgentConfig;
pub use data::{
    AccountingEntry, AgentMessage, Attachment, AttachmentKind, CompactionDecision,
    CompactionOutcome, CompactionPlan, CompactionReason, CustomMessage, Direction, Event, LogEntry,
    LogKind, LogSeverity, Notice, Op, Output, QueueMode, RunOutcome, Severity, ShellRun,
    StateSnapshot, Summary, ToolHints, ToolInfo, ToolOrigin, ToolResultMessage, ToolStatus,
    ToolUpdate, UserMessage, convert_to_llm,
};
pub use history::{Earlier, History};
pub use interceptor::{AgentAccess, CompactionPoint, Interceptor, StopRun, ToolDecision};
pub use mailbox::{Coalesce, Publisher, Subscription};
pub use retry::{CallFailure, RetryPolicy, RetryStep};
pub use run::FINAL_TURN_MESSAGE;
pub use tool::{
    Adapt, CheckedCall, Concurrency, FileTarget, FileUse, OtherName, PreparedCall, Preparing,
    Preview, Refusal, ShellInput, Spellings, Tool, ToolContext, ToolOutput, ToolSet, ToolSource,
    Toolbox, UpdateSink, check_schema, check_value, prepare_typed,
};
pub use transport::{AppTransport, KeySource, ProviderTransport, Transport};
