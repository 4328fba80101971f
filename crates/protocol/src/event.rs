//! Events that a session sends to its clients.

#[allow(
    clippy::wildcard_imports,
    reason = "the rows of requests declare events with any type of the crate"
)]
use crate::*;
use osier_agent::{Attachment, Coalesce, Output, Severity, ShellRun};
use osier_base::parts::Parts;
use osier_llm::ThinkingLevel;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Maximum bytes of output in one merged event.
const WAITING_OUTPUT: usize = 64 * 1024;

crate::op::session_events! {
    /// An event of a session. The events of the agent are flattened into this enum.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(
        tag = "type",
        rename_all = "snake_case",
        rename_all_fields = "camelCase"
    )]
    pub enum Event {
        /// A session was opened. The first event of every session. `messages` are the last messages of its
        /// current branch, oldest first. `read_transcript` returns earlier ones.
        SessionOpened {
            session: Box<SessionInfo>,
            messages: Vec<StoredMessage>,
            /// `messages` begin with the first message of the branch.
            at_start: bool,
        },
        /// A long session file was read completely. Follows `session_opened` without `contents`. Requests that
        /// need the complete conversation, such as a prompt, wait for it.
        #[event(RetainedForSession)]
        SessionIndexed { contents: SessionContents },
        /// A batch of results of `search_transcript`, newest message first.
        #[event(Answer)]
        SearchHits {
            request: u64,
            hits: Vec<SearchHit>,
            /// This is the last batch.
            done: bool,
            /// There are more results than the limit.
            cut: bool,
        },
        /// The agent's to-do list on the current branch. Empty when the agent has no list.
        #[event(RetainedForSession)]
        Todo { list: TodoList },
        /// The message `id` was stored as this entry. Its `message_end` follows.
        MessageStored { id: String, entry_id: String },
        /// The requested session could not be opened. No session is open now; `new_session` starts one.
        SessionFailed {
            message: String,
            /// The session file, if another process has the session open. `switch_session` with the `opening`
            /// `take_over`, `copy` or `read_only` opens it anyway.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            in_use: Option<String>,
            /// The process that has the session open.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            holder: Option<SessionHolder>,
        },
        /// The session ran in another directory than this one. `continue_here` remembers that it continues here.
        SessionElsewhere { elsewhere: Box<SessionElsewhere> },
        /// Another process took the session over. The session stores its work and ends.
        SessionTakenOver { process: u32 },
        /// The session was renamed; `null` when its name was removed.
        #[event(RetainedForSession)]
        SessionRenamed { name: Option<String> },
        /// The model and thinking level for the next request.
        #[event(RetainedForSession)]
        ModelSelected {
            model: Box<ModelInfo>,
            level: ThinkingLevel,
            /// The role that has this model and level.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            role: Option<Role>,
        },
        /// A shell command of the user started.
        ShellStart {
            id: String,
            command: String,
            exclude_from_context: bool,
        },
        /// More output of a shell command of the user.
        ShellUpdate {
            id: String,
            #[serde(flatten)]
            output: Output,
        },
        /// A shell command of the user ended.
        ShellEnd { id: String, run: Box<ShellRun> },
        /// The terminal sessions, oldest first. Sent when one starts, changes or ends.
        #[event(RetainedForSession)]
        Terminals { terminals: Vec<TerminalInfo> },
        /// The current screen of the terminal `id`.
        #[event(Connected)]
        TerminalScreen {
            id: String,
            screen: Box<TerminalScreen>,
        },
        /// Output of the background job that `follow_job` selected.
        #[event(Connected)]
        JobOutput {
            id: String,
            #[serde(flatten)]
            output: Output,
        },
        /// An event of a subagent that `follow_subagent` selected.
        #[event(Connected)]
        SubagentEvent {
            subagent: String,
            event: Box<osier_agent::Event>,
        },
        /// A sign-in waits for the user: to open `url`, to type `user_code` there, or to enter a key or the
        /// code from the browser.
        LoginStarted {
            provider: String,
            label: String,
            url: Option<String>,
            user_code: Option<String>,
            input: LoginInput,
        },
        /// The entered code or key is invalid. The sign-in still waits for input.
        LoginRefused { message: String },
        /// The sign-in ended. Without an `error`, the provider can be used.
        LoginEnded {
            provider: String,
            error: Option<String>,
        },
        /// A question for the user. Work that depends on it waits for `question_closed`.
        QuestionAsked { question: Box<Question> },
        /// The question was answered or withdrawn.
        QuestionClosed { id: String },
        /// The permission mode and the rules. Sent when either changes.
        #[event(Retained)]
        Permissions {
            mode: PermissionMode,
            rules: Vec<RuleInfo>,
            /// The sandbox of commands.
            #[serde(default)]
            sandbox: SandboxMode,
        },
        /// Auto review judged a call. Sent before the call runs, is asked about or is denied; `details.review` of the
        /// result has the same judgement.
        CallReviewed {
            call_id: String,
            tool_name: String,
            review: Box<Review>,
        },
        /// The user trusted the project: its files that can run code are loaded.
        #[event(Retained)]
        ProjectTrusted,
        /// The slash commands of skills, templates and plugins. Sent when they were loaded. A prompt that begins
        /// with one is expanded before it is sent.
        #[event(Retained)]
        Commands { commands: Vec<AddedCommand> },
        /// Text of a plugin in the footer; `null` removes it.
        #[event(Retained)]
        PluginStatus {
            plugin: String,
            text: Option<String>,
        },
        /// Lines of a plugin above the prompt editor; an empty list removes them.
        #[event(Retained)]
        PluginWidget {
            plugin: String,
            lines: Vec<StyledLine>,
        },
        /// All keys that plugins have bound.
        #[event(Retained)]
        PluginKeys { keys: Vec<PluginKey> },
        /// A hook ran.
        HookRan { run: Box<HookRun> },
        /// The working directory and its git branch. Sent again when the branch changes.
        #[event(Retained)]
        Workspace { cwd: String, branch: Option<String> },
        /// The state of the connection to a remote session. Sent by the client side, never by a session.
        Connection {
            state: ConnectionState,
            /// The error, or the address of the server.
            detail: String,
        },
        /// The prompts of a remote session that the server has not confirmed, while there is no connection. Sent by the
        /// client side, never by a session.
        UnconfirmedPrompts { prompts: Vec<UnconfirmedPrompt> },
        /// The clients of a shared session. Sent when a second client connects, when the list or the active
        /// writer changes, and when one client is left. Sent by the server, never by a session.
        Presence {
            /// In the order in which they connected.
            clients: Vec<Client>,
            /// The number of the active writer. Other clients cannot change the conversation until the work ends
            /// or they send `take_over`.
            writer: Option<u64>,
            /// The number of the client that receives this event.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            you: Option<u64>,
        },
        /// A message for the user that does not belong to a run.
        #[event(Change, wire "host_notice")]
        Notice {
            severity: Severity,
            text: String,
            /// The number of the request it belongs to, if any.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            request: Option<u64>,
        },
        /// The next event is about the request with this number. Only clients in the process of the session receive this.
        #[event(Connected)]
        OpEvent { request: u64 },
        /// The session has processed the request with this number. If the session passed it to the agent, events of the
        /// agent can still follow.
        #[event(Connected)]
        OpEnded { request: u64, with_agent: bool },
        /// The session has ended. The last event.
        ShutDown,
        ;
        /// An event about the session's tree.
        flatten Tree(TreeEvent),
        /// An event about files.
        flatten Checkpoint(CheckpointEvent),
        /// An event about exports and imports.
        flatten Transfer(TransferEvent),
        /// An event about stored sessions.
        flatten Index(IndexEvent),
        /// An event of the agent.
        flatten Agent(osier_agent::Event),
    }
}

/// The state of the connection to a remote session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    Connecting,
    Connected,
    /// Reconnects automatically.
    Lost,
    /// The server was stopped. Reconnects when it runs again.
    Stopped,
    /// The session was closed on the server. The last state.
    Closed,
    /// Retrying cannot help. The last state.
    Failed,
}

/// A prompt that the server of a remote session has not confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnconfirmedPrompt {
    pub text: String,
    /// It was sent before the connection was lost, and may have arrived.
    pub is_sent: bool,
}

/// The input that a sign-in waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoginInput {
    None,
    /// The URL that the browser was redirected to, or the code in it.
    Code,
    /// A key, which must not be shown.
    Key,
}

impl From<osier_agent::Event> for Event {
    fn from(event: osier_agent::Event) -> Self {
        Self::Agent(event)
    }
}

impl Coalesce for Event {
    fn coalesce(&mut self, next: &Self) -> bool {
        match (self, next) {
            (Self::Agent(event), Self::Agent(next)) => event.coalesce(next),
            (
                Self::ShellUpdate { id, output },
                Self::ShellUpdate {
                    id: at,
                    output: more,
                },
            )
            | (
                Self::JobOutput { id, output },
                Self::JobOutput {
                    id: at,
                    output: more,
                },
            ) if id == at && more.skipped == 0 => {
                if output.text.len() + more.text.len() >= WAITING_OUTPUT {
                    return false;
                }
                output.merge(more, WAITING_OUTPUT);
                true
            }
            (
                Self::TerminalScreen { id, screen },
                Self::TerminalScreen {
                    id: at,
                    screen: newer,
                },
            ) if id == at => {
                screen.clone_from(newer);
                true
            }
            (
                Self::SubagentEvent { subagent, event },
                Self::SubagentEvent {
                    subagent: at,
                    event: next,
                },
            ) if subagent == at => event.coalesce(next),
            (Self::Subagents { subagents }, Self::Subagents { subagents: newer }) => {
                subagents.clone_from(newer);
                true
            }
            (
                Self::Tree(TreeEvent::LaneUpdate { state }),
                Self::Tree(TreeEvent::LaneUpdate { state: newer }),
            ) if state.lane == newer.lane => {
                state.clone_from(newer);
                true
            }
            _ => false,
        }
    }

    fn is_deferrable(&self) -> bool {
        match self {
            Self::Agent(event) => event.is_deferrable(),
            Self::SubagentEvent { event, .. } => event.is_deferrable(),
            Self::ShellUpdate { .. }
            | Self::JobOutput { .. }
            | Self::TerminalScreen { .. }
            | Self::Tree(TreeEvent::LaneUpdate { .. }) => true,
            _ => false,
        }
    }
}
