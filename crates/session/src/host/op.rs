//! What a mode can tell the host: everything the agent understands, and what stands around it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::checkpoint_op::CheckpointOp;
use super::exchange_op::ExchangeOp;
use super::library_op::LibraryOp;
use super::opening::Opening;
use super::tree_op::TreeOp;

use crate::roles::Role;
use crate::stash::PromptPart;
use osier_base::parts::Parts;
use osier_mcp::ServerAction;
use osier_permissions::Mode;
use osier_protocol::questions::{Answer, Grant};
use osier_store::PageAt;

/// One instruction. Those of the agent are flattened into this enum: on the wire there is one list of
/// `type`s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Op {
    /// Leaves the session and begins an empty one in the same directory. A run is interrupted first.
    NewSession,
    /// Leaves the session and opens another: an id, the start of one, or a path.
    ResumeSession {
        target: String,
        #[serde(default)]
        opening: Opening,
    },
    /// Answered by `Event::Sessions`, newest first; `all` for every directory, not only this one.
    ListSessions { all: bool },
    /// Messages of the current branch; answered by `Event::TranscriptPage`. `request` is a number of the
    /// asker's choice that comes back with the answer.
    ReadTranscript { request: u64, page: PageAt },
    /// Looks for `query` in the messages of the current branch, the newest first; answered by
    /// `Event::SearchHits`. A query without capitals finds them too. Ends the search before; an empty
    /// query does only that.
    SearchTranscript { request: u64, query: String },
    /// Names the session; an empty name clears it.
    RenameSession { name: String },
    /// Answered by `Event::Models`.
    ListModels,
    /// Asks for what was published about models since this build, and keeps it; answered by a notice and
    /// `Event::Models`.
    RefreshModels,
    /// Chooses the model for the next request: `PROVIDER/ID[:LEVEL]` or part of a name.
    SelectModel { reference: String },
    /// The next model of the cycling set, or the one before.
    CycleModel { backward: bool },
    /// Takes the model and the level of a role; of the one that is not on when none is named. A role without a
    /// model means what was chosen before.
    SwitchRole {
        #[serde(default)]
        role: Option<Role>,
    },
    /// Gives a role its model, as `SelectModel` names it, in the user's settings; without one takes it away.
    SetRole {
        role: Role,
        #[serde(default)]
        reference: Option<String>,
    },
    /// Makes a model a favourite, or no longer (`on`), in the user's settings; answered by `Event::Models`.
    SetFavourite { reference: String, on: bool },
    /// The next thinking level the model has, from the strongest back to the weakest.
    CycleThinkingLevel,
    /// Runs a command for the user. Its result goes to the model with the next request unless it is
    /// excluded. `Abort` stops it.
    Shell {
        command: String,
        exclude_from_context: bool,
    },
    /// Stops the command of `Shell` and nothing else.
    AbortShell,
    /// The background jobs; answered by `Event::Jobs`, which is sent again when one begins or ends.
    ListJobs,
    /// Sends the output of this background job as `Event::JobOutput`: first the end of what there is,
    /// then what comes. One at a time; `null` ends it.
    FollowJob { id: Option<String> },
    /// Kills a background job with all it started.
    KillJob { id: String },
    /// Paths under the working directory for completion; answered by `Event::Files`.
    ListFiles,
    /// Prompts of earlier sessions; answered by `Event::History`, oldest first.
    ListHistory,
    /// Remembers a prompt for every session.
    AddHistory { text: String },
    /// Keeps what is typed and not sent, so that a crash does not lose it; an empty text removes it.
    KeepUnsent { text: Parts },
    /// Answered by `Event::UnsentFound`, if an earlier run left a text in this session, or in one of this
    /// directory that was never stored.
    FindUnsent,
    /// Puts a prompt aside, for any session; answered by `Event::Stash`.
    StashPrompt {
        text: String,
        /// What it is made of, where that is more than its text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<PromptPart>,
    },
    /// The prompts that were put aside; answered by `Event::Stash`.
    ListStash,
    /// Forgets the one with the id `stashed`; answered by `Event::Stash`.
    DropStashed { stashed: String },
    /// What the session has used; answered by `Event::Usage`.
    GetUsage,
    /// How the host and its session stand, behind what was said before; answered by `Event::Status`.
    GetStatus,
    /// Which providers have a key and how one signs in; answered by `Event::Accounts`.
    ListAccounts,
    /// Signs in to a provider, by its usual method when none is named. `Event::LoginStarted` says what
    /// the person has to do, `Event::LoginEnded` how it ended. A sign-in that still runs is given up.
    Login {
        provider: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<LoginMethod>,
    },
    /// What the person typed or pasted into the running sign-in: a key, a code, an address.
    LoginInput { text: Typed },
    /// Gives the running sign-in up.
    CancelLogin,
    /// Forgets what is stored for a provider.
    Logout { provider: String },
    /// How much is asked from now on: yolo, ask or plan.
    SetPermissions { mode: Mode },
    /// The next mode of the three.
    CyclePermissions,
    /// Answered by `Event::Permissions`.
    ListPermissions,
    /// Adds a rule that allows, for the session or the project: `tool` or `tool(pattern)`.
    AddPermission { grant: Grant },
    /// Forgets a rule that was given in a dialog.
    RemovePermission { rule: String },
    /// Answers an open question; `Event::QuestionClosed` follows. The first answer counts.
    AnswerQuestion { id: String, answer: Answer },
    /// Answered by `Event::Questions`.
    ListQuestions,
    /// The MCP servers of the session; answered by `Event::McpServers`.
    ListMcpServers,
    /// Does something with the MCP server `name`; `Event::McpServers` tells how it goes.
    McpServer { name: String, action: ServerAction },
    /// Does what a plug-in has bound to a key; both as `Event::PluginKeys` names them.
    PressPluginKey { plugin: String, keys: String },
    /// The hooks and how each went last; answered by `Event::Hooks`.
    ListHooks,
    /// Instructions, skills and templates with their cost; answered by `Event::Context`.
    ListContext,
    /// Among several clients of a session: this one writes from now on, whoever began what goes on. Everybody
    /// is told. Nothing happens where nobody else writes.
    TakeOver,
    /// Reads settings, hooks, models, instructions, skills, templates and plug-ins again.
    Reload,
    /// Stops what runs, stores everything and ends; `Event::ShutDown` is the last event.
    ShutDown,
    /// An instruction about the session's tree.
    #[serde(untagged)]
    Tree(TreeOp),
    /// An instruction about files.
    #[serde(untagged)]
    Checkpoint(CheckpointOp),
    /// An instruction about exports and imports.
    #[serde(untagged)]
    Exchange(ExchangeOp),
    /// An instruction about stored sessions.
    #[serde(untagged)]
    Library(LibraryOp),
    /// An instruction of the agent.
    #[serde(untagged)]
    Agent(osier_agent::Op),
}

/// What an op is told that needs a session while none is open. It reaches people and programs: each begins one
/// in a way of its own.
pub(super) const NO_SESSION: &str = "no session is open: begin a new one first";

/// How a person wants to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoginMethod {
    /// A browser here, or anywhere with the code pasted back.
    Browser,
    /// A short code typed on another device.
    Device,
    /// A key, typed in.
    Key,
}

/// Text that may be a key: it travels with its op and is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Typed(pub String);

impl fmt::Debug for Typed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Typed(…)")
    }
}

impl From<osier_agent::Op> for Op {
    fn from(op: osier_agent::Op) -> Self {
        Self::Agent(op)
    }
}
