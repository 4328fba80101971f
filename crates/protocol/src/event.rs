//! Events that a session sends to its clients.

use crate::{
    Account, AddedCommand, CheckpointEvent, Client, ContextPart, HookInfo, HookRun, IndexEvent,
    JobInfo, ModelInfo, PermissionMode, PluginKey, Question, Role, RuleInfo, SandboxMode,
    SearchHit, ServerInfo, SessionContents, SessionInfo, SessionSummary, Spending, Stashed, Status,
    StoredMessage, StyledLine, TodoList, TransferEvent, TreeEvent,
};
use osier_agent::{Coalesce, Output, Severity, ShellRun};
use osier_base::parts::Parts;
use osier_llm::ThinkingLevel;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of output that wait as one event.
const WAITING_OUTPUT: usize = 64 * 1024;

/// One thing that happened. Those of the agent are flattened into this enum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// A session is open. The first event of a host. `messages` are the last ones of its current branch,
    /// oldest first; unless they are `atStart`, `ReadTranscript` gives those before them.
    SessionOpened {
        session: Box<SessionInfo>,
        messages: Vec<StoredMessage>,
        at_start: bool,
    },
    /// The rest of a long session has been read. Follows `SessionOpened` when that came without
    /// `contents`. What has to do with the whole conversation waits for it, a prompt included.
    SessionIndexed {
        contents: SessionContents,
    },
    /// Answer to `ReadTranscript`: consecutive messages of the current branch, oldest first. `found` is
    /// false, and the rest empty, when the entry asked for is not on it.
    TranscriptPage {
        request: u64,
        found: bool,
        messages: Vec<StoredMessage>,
        /// No message stands before the first one.
        at_start: bool,
        /// No message stands after the last one.
        at_end: bool,
    },
    /// Answer to `SearchTranscript`, in pieces, the newest message first.
    SearchHits {
        request: u64,
        hits: Vec<SearchHit>,
        /// No more will come.
        done: bool,
        /// There are more than the limit.
        cut: bool,
    },
    /// What the agent has set out to do on this branch; no items when it keeps no list.
    Todo {
        list: TodoList,
    },
    /// The message `id` is stored as this entry. Its `MessageEnd` follows.
    MessageStored {
        id: String,
        entry_id: String,
    },
    /// The session that was asked for cannot be opened, and none is open now: `NewSession` starts one.
    SessionFailed {
        message: String,
        /// The file of a session that another process has: a copy of it can be gone on in, and it can be
        /// looked at (`ResumeSession` with another `opening`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_use: Option<String>,
    },
    /// The session has another name; `None` when it was cleared.
    SessionRenamed {
        name: Option<String>,
    },
    /// Answer to `ListSessions`, newest first.
    Sessions {
        all: bool,
        sessions: Vec<SessionSummary>,
    },
    /// Answer to `ListModels`, and sent again when local servers were found.
    Models {
        models: Vec<ModelInfo>,
    },
    /// The model and level of the next request.
    ModelSelected {
        model: Box<ModelInfo>,
        level: ThinkingLevel,
        /// The role whose model and level these are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Role>,
    },
    /// The user's command began.
    ShellStart {
        id: String,
        command: String,
        exclude_from_context: bool,
    },
    /// More output of the user's command.
    ShellUpdate {
        id: String,
        #[serde(flatten)]
        output: Output,
    },
    ShellEnd {
        id: String,
        run: Box<ShellRun>,
    },
    /// Answer to `ListJobs`, oldest first, and sent again when a job begins or ends.
    Jobs {
        jobs: Vec<JobInfo>,
    },
    /// Output of the job that is followed.
    JobOutput {
        id: String,
        #[serde(flatten)]
        output: Output,
    },
    /// Answer to `ListFiles`: paths relative to the working directory, directories with a trailing
    /// slash. `complete` is false when there are more than the limit.
    Files {
        paths: Arc<Vec<String>>,
        complete: bool,
    },
    /// Answer to `ListHistory`, oldest first.
    History {
        prompts: Vec<String>,
    },
    /// What was typed and not sent before the last run ended.
    UnsentFound {
        text: Parts,
    },
    /// All stashed prompts, newest first. The answer to every request about the stash.
    Stash {
        prompts: Vec<Stashed>,
    },
    /// Answer to `GetUsage`.
    Usage {
        spending: Box<Spending>,
    },
    /// Answer to `GetStatus`.
    Status {
        status: Box<Status>,
    },
    /// Answer to `ListAccounts`.
    Accounts {
        accounts: Vec<Account>,
    },
    /// A sign-in waits for its person: to open `url`, to type `user_code` there, to enter a key or
    /// what the browser came back with.
    LoginStarted {
        provider: String,
        label: String,
        url: Option<String>,
        user_code: Option<String>,
        input: LoginInput,
    },
    /// The entered code or key is invalid. The sign-in still waits for input.
    LoginRefused {
        message: String,
    },
    /// The sign-in is over; without an error the provider can be called now.
    LoginEnded {
        provider: String,
        error: Option<String>,
    },
    /// Something waits for the person. Nothing that depends on it runs until it is closed.
    QuestionAsked {
        question: Box<Question>,
    },
    /// The question was answered or taken back.
    QuestionClosed {
        id: String,
    },
    /// Answer to `ListQuestions`: those that wait, oldest first.
    Questions {
        questions: Vec<Question>,
    },
    /// How much is asked, and the rules; sent when either changes.
    Permissions {
        mode: PermissionMode,
        rules: Vec<RuleInfo>,
        /// What confines commands.
        #[serde(default)]
        sandbox: SandboxMode,
    },
    /// The project's files that can run code are loaded from now on.
    ProjectTrusted,
    /// Answer to `ListMcpServers`, and sent again whenever one changes. In the order of their names.
    McpServers {
        servers: Vec<ServerInfo>,
    },
    /// The slash commands that no mode brings; sent when they were read. A prompt that begins with one is
    /// sent as what it stands for.
    Commands {
        commands: Vec<AddedCommand>,
    },
    /// Answer to `ListContext`.
    Context {
        parts: Vec<ContextPart>,
    },
    /// Text of a plugin in the footer; `null` removes it.
    PluginStatus {
        plugin: String,
        text: Option<String>,
    },
    /// Lines of a plugin above the prompt editor; an empty list removes them.
    PluginWidget {
        plugin: String,
        lines: Vec<StyledLine>,
    },
    /// All keys that plugins have bound.
    PluginKeys {
        keys: Vec<PluginKey>,
    },
    /// Answer to `ListHooks`, in the order of their files.
    Hooks {
        hooks: Vec<HookInfo>,
    },
    /// A hook has run.
    HookRan {
        run: Box<HookRun>,
    },
    /// Where the work happens; sent again when the branch changes.
    Workspace {
        cwd: String,
        branch: Option<String>,
    },
    /// The state of the connection to a remote session. Sent by the client side, never by a session.
    Connection {
        state: LineState,
        /// Why it is not there, or to where it is.
        detail: String,
    },
    /// The clients of a shared session. Sent when a second client connects, when the list or the active
    /// writer changes, and when one client is left. Sent by the server, never by a session.
    Presence {
        /// In the order in which they came.
        clients: Vec<Client>,
        /// The number of the one that began what goes on: the others cannot change the conversation
        /// meanwhile (`Op::TakeOver`).
        writer: Option<u64>,
        /// The number of the one that hears it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        you: Option<u64>,
    },
    /// Something the person should know that no run caused.
    HostNotice {
        severity: Severity,
        text: String,
        /// The number of the op it is about, when that came through `SessionHandle::ask`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<u64>,
    },
    /// Nothing more comes of the op that was asked for with this number, but what the agent says when it was
    /// passed on to it.
    OpEnded {
        request: u64,
        with_agent: bool,
    },
    /// The host has ended; nothing follows.
    ShutDown,
    /// An event about the session's tree.
    #[serde(untagged)]
    Tree(TreeEvent),
    /// An event about files.
    #[serde(untagged)]
    Checkpoint(CheckpointEvent),
    /// An event about exports and imports.
    #[serde(untagged)]
    Transfer(TransferEvent),
    /// An event about stored sessions.
    #[serde(untagged)]
    Index(IndexEvent),
    /// An event of the agent.
    #[serde(untagged)]
    Agent(osier_agent::Event),
}

/// How a line to a host elsewhere is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LineState {
    Connecting,
    Connected,
    /// It is tried again.
    Lost,
}

/// What a sign-in takes from the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoginInput {
    None,
    /// The address the browser ended at, or its code.
    Code,
    /// A key, which is not to be shown.
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
            Self::ShellUpdate { .. }
            | Self::JobOutput { .. }
            | Self::Tree(TreeEvent::LaneUpdate { .. }) => true,
            _ => false,
        }
    }
}
