//! Requests that a client sends to a session.

use crate::{
    Answer, Budget, CheckpointOp, Grant, IndexOp, Opening, PageAt, PermissionMode, PromptPart,
    Role, ServerAction, TransferOp, TreeOp, UsagePeriod, UsageScope,
};
use osier_agent::Attachment;
use osier_base::parts::Parts;
use serde::{Deserialize, Serialize};
use std::fmt;

// recipe: a request of the protocol, 1: its row with the event that answers it, in the group of its subject (a short one to copy is `GetLog`; with `+ session` if it reads the conversation: then it waits until the session is open and indexed); some groups have a file: `tree.rs`, `checkpoints.rs`, `index.rs`, `transfer.rs`
osier_base::requests! {
    /// A request to a session. The requests about the tree, files, import and export, stored sessions and the
    /// agent are separate enums; on the wire all share the field `type`.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
    pub enum Op by OpGroup {
        /// Requests of one client, and the end.
        group Connection(ConnectionOp) {
            /// Make this client the active writer while another client is. All clients are notified. Has no effect if
            /// no other client writes.
            #[request(Connection, Change)]
            TakeOver,
            /// Stop all work, store everything and end the process.
            #[request(Connection, None, also "quit" => ShutDown)]
            ShutDown,
        }
        /// The open session: which one it is, its name and its conversation.
        group Session(SessionOp) {
            /// Close the session and start an empty one in the same directory. A run is interrupted first.
            #[request(Sessions, Change, also "reset" => SessionOpened | SessionFailed)]
            NewSession,
            /// Close the session and open another one. If that fails, no session is open.
            #[request(Sessions, Change, command "switch_session" => SessionOpened | SessionFailed)]
            ResumeSession {
                /// a session id, the start of one, or a path
                #[also("sessionPath", "path")]
                target: String,
                /// how to open it: itself by default, a copy, or read-only
                #[serde(default)]
                opening: Opening,
            },
            /// Continue a session in this directory, and remember that: its file names this directory from now on.
            #[request(Sessions, Change => SessionOpened | SessionFailed)]
            ContinueHere {
                /// a session id, the start of one, or a path; the open session by default
                #[serde(default, skip_serializing_if = "Option::is_none")]
                #[also("sessionPath", "path")]
                target: Option<String>,
            },
            /// List the stored sessions, newest first.
            #[request(Sessions, None)]
            ListSessions {
                /// of every directory, not only this one
                all: bool,
                /// at most so many
                #[serde(default, skip_serializing_if = "Option::is_none")]
                limit: Option<u64>,
            } =>
            /// Newest first.
            Sessions {
                all: bool,
                sessions: Vec<SessionSummary>,
            },
            /// Return a page of messages of the current branch: consecutive ones, oldest first.
            #[request(Tree, None)]
            ReadTranscript {
                request: u64,
                /// which messages
                page: PageAt,
            } =>
            /// Consecutive messages of the current branch, oldest first. `found` is false, and `messages`
            /// is empty, when the requested entry is not on the branch.
            TranscriptPage {
                request: u64,
                found: bool,
                messages: Vec<StoredMessage>,
                /// `messages` begin with the first message of the branch.
                at_start: bool,
                /// `messages` end with the last message of the branch.
                at_end: bool,
            },
            /// Search the messages of the current branch, newest first. A new search cancels the previous one; an
            /// empty query only cancels.
            #[request(Tree, None)]
            SearchTranscript {
                request: u64,
                /// the text; case is ignored unless it contains capitals
                query: String,
            },
            /// Rename the session. An empty name clears it.
            #[request(Sessions, None + session, command "set_session_name" => SessionRenamed)]
            RenameSession {
                /// the new name
                name: String,
            },
        }
        /// Models and their selection.
        group Model(ModelOp) {
            /// List every known model.
            #[request(Models, None, command "get_available_models", also "get_models")]
            ListModels =>
            /// Sent again when local model servers were found.
            #[event(Retained)]
            Models { models: Vec<ModelInfo> },
            /// Download the model list that was published since this build, and store it.
            #[request(Models, None => Models)]
            RefreshModels,
            /// Select the model for the next request.
            #[request(Models, Change + session, command "set_model" => ModelSelected)]
            SelectModel {
                /// `PROVIDER/ID[:LEVEL]`, or part of a name
                reference: String,
            },
            /// Select the next favourite model.
            #[request(Models, Change + session => ModelSelected)]
            CycleModel {
                /// select the previous one
                #[serde(default)]
                backward: bool,
            },
            /// Switch to the model and thinking level of a role. A role without a model restores the model that was
            /// selected before.
            #[request(Models, Change + session => ModelSelected)]
            SwitchRole {
                /// the other role by default
                #[serde(default)]
                role: Option<Role>,
            },
            /// Set the model of a role in the user's settings, or remove it.
            #[request(Models, None => ModelSelected)]
            SetRole {
                /// which role
                role: Role,
                /// `PROVIDER/ID[:LEVEL]`, or part of a name; removes the model when missing
                #[serde(default)]
                reference: Option<String>,
            },
            /// Add a model to the favourites in the user's settings, or remove it.
            #[request(Models, None => Models)]
            SetFavourite {
                /// `PROVIDER/ID`, or part of a name
                reference: String,
                /// `false` removes it
                on: bool,
            },
            /// Select the next thinking level of the model; the weakest follows the strongest.
            #[request(Models, Change + session => ThinkingLevelChanged)]
            CycleThinkingLevel,
        }
        /// Commands of the user, and background jobs.
        group Shell(ShellOp) {
            /// Run a shell command for the user. Its result is sent to the model with the next request unless it is
            /// excluded. `abort` stops it.
            #[request(Tools, Begin, command "bash" => ShellEnd)]
            Shell {
                /// the command line
                command: String,
                /// hide the command and its output from the model
                #[serde(default)]
                exclude_from_context: bool,
            },
            /// Stop the command of `bash` and nothing else.
            #[request(Tools, Stop, command "abort_bash")]
            AbortShell,
            /// List the background jobs, oldest first.
            #[request(Tools, None)]
            ListJobs =>
            /// Oldest first. Sent again when a job starts or ends.
            #[event(RetainedForSession)]
            Jobs { jobs: Vec<JobInfo> },
            /// Send the output of a background job as `job_output`: first the end of the existing output, then new
            /// output. One job at a time.
            #[request(Tools, None)]
            FollowJob {
                /// the job; `null` stops sending
                id: Option<String>,
            },
            /// Continue the running commands of the model as background jobs, and tell the model.
            #[request(Tools, Change => Jobs)]
            MoveToBackground,
            /// Kill a background job with all its processes.
            #[request(Tools, None)]
            KillJob {
                /// which job
                id: String,
            },
        }
        /// Subagents: their conversations, and control of those that run.
        group Subagent(SubagentOp) {
            /// List the subagents of the session, oldest first.
            #[request(Tools, None)]
            ListSubagents =>
            /// Oldest first. Sent again when one changes.
            #[event(RetainedForSession)]
            Subagents { subagents: Vec<SubagentInfo> },
            /// Return the conversation of a subagent so far. Its further events follow as `subagent_event`.
            #[request(Tools, None)]
            FollowSubagent {
                /// which subagent
                subagent: String,
            } =>
            /// Events that make the conversation so far when a client applies them in order. `skipped` earlier messages are
            /// no longer in memory.
            SubagentTranscript {
                subagent: String,
                skipped: u64,
                events: Vec<osier_agent::Event>,
            },
            /// Stop sending the events of a subagent, once for each `follow_subagent`.
            #[request(Tools, None)]
            UnfollowSubagent {
                /// which subagent
                subagent: String,
            },
            /// Send a message to a running subagent. It is delivered after the current tools, before the next request.
            #[request(Tools, Change)]
            SteerSubagent {
                /// which subagent
                subagent: String,
                /// the message
                text: String,
            },
            /// Stop a subagent and nothing else. The result of its call says so.
            #[request(Tools, Change => Subagents)]
            StopSubagent {
                /// which subagent
                subagent: String,
            },
            /// Continue a subagent in the background: its call returns at once, and the model gets its answer as a message
            /// when it ends.
            #[request(Tools, Change => Subagents)]
            MoveSubagentToBackground {
                /// which subagent
                subagent: String,
            },
        }
        /// Terminal sessions.
        group Terminal(TerminalOp) {
            /// List the terminal sessions, oldest first.
            #[request(Tools, None => Terminals)]
            ListTerminals,
            /// Start a command on a terminal for the user. The model can use it, too.
            #[request(Tools, Change => Terminals)]
            StartTerminal {
                /// the command line; empty for the user's shell
                command: String,
            },
            /// Type into a terminal for the user. The typed text is not stored.
            #[request(Tools, Change)]
            TypeInTerminal {
                /// which terminal
                terminal: String,
                /// the characters and control sequences of the keys
                text: String,
                /// it was pasted
                #[serde(default)]
                paste: bool,
            },
            /// Change the size of a terminal.
            #[request(Tools, Change => TerminalScreen)]
            ResizeTerminal {
                /// which terminal
                terminal: String,
                /// its height
                rows: u16,
                /// its width
                columns: u16,
            },
            /// End the program of a terminal with all its processes.
            #[request(Tools, Change)]
            CloseTerminal {
                /// which terminal
                terminal: String,
            },
            /// Send the screen of a terminal. Changes are sent to all clients while it runs.
            #[request(Tools, None => TerminalScreen)]
            ShowTerminal {
                /// which terminal
                terminal: String,
            },
        }
        /// Files and symbols of the project.
        group Project(ProjectOp) {
            /// List paths under the working directory. Directories end with a slash.
            #[request(Files, None)]
            ListFiles =>
            /// Paths relative to the working directory, directories with a trailing slash. `complete` is
            /// false when there are more paths than the limit.
            Files {
                paths: Arc<Vec<String>>,
                complete: bool,
            },
            /// Return the map of the project: its most important files with their most used symbols.
            #[request(Files, None)]
            GetMap {
                request: u64,
                /// words that occur in the paths or symbols to show; everything by default
                #[serde(default)]
                query: String,
                /// the size of the map in tokens, at most and by default 8,000
                #[serde(default)]
                tokens: Option<u64>,
            } => ProjectMap {
                request: u64,
                #[serde(flatten)]
                map: ProjectMap,
            },
            /// Find symbols of the project by a part of their name, the best match first.
            #[request(Files, None)]
            FindSymbols {
                request: u64,
                /// the part of the name
                query: String,
            } =>
            /// The best match first.
            Symbols {
                request: u64,
                symbols: Arc<Vec<ProjectSymbol>>,
            },
        }
        /// The user's prompts: history, draft and stash.
        group Draft(DraftOp) {
            /// List prompts of earlier sessions, oldest first.
            #[request(Drafts, None)]
            ListHistory =>
            /// Oldest first.
            History { prompts: Vec<String> },
            /// Add a prompt to the history of all sessions.
            #[request(Drafts, None)]
            AddHistory {
                /// the prompt
                text: String,
            },
            /// Store the draft in the prompt editor, so that a crash does not lose it. An empty text removes it.
            #[request(Drafts, None, wire "keep_unsent")]
            SaveDraft {
                /// the draft
                text: Parts,
            },
            /// Store the files that are attached to the draft, instead of the previous ones. After `keep_unsent` with a text
            /// that names them.
            #[request(Drafts, None)]
            SaveDraftFiles {
                /// the files
                files: Vec<Attachment>,
            },
            /// Return the draft that an earlier run left in this session, or in a session of this directory that was
            /// never stored.
            #[request(Drafts, None, wire "find_unsent")]
            FindDraft =>
            /// The draft in the prompt editor when the last run of osier ended.
            #[event(Answer, wire "unsent_found")]
            DraftFound {
                text: Parts,
                /// The files that are attached to it.
                #[serde(default, skip_serializing_if = "Vec::is_empty")]
                files: Vec<Attachment>,
            },
            /// Stash a prompt. Every session can restore it.
            #[request(Drafts, None => Stash)]
            StashPrompt {
                /// the prompt
                text: String,
                /// its parts, if it contains more than text
                #[serde(default, skip_serializing_if = "Vec::is_empty")]
                parts: Vec<PromptPart>,
            },
            /// List the stashed prompts, newest first.
            #[request(Drafts, None)]
            ListStash =>
            /// All stashed prompts, newest first. The answer to every request about the stash.
            Stash { prompts: Vec<Stashed> },
            /// Delete a stashed prompt.
            #[request(Drafts, None => Stash)]
            DropStashed {
                /// its id
                stashed: String,
            },
        }
        /// The state of the session and its costs.
        group State(StateOp) {
            /// Return tokens, cost and time of the session by model.
            #[request(State, None)]
            GetUsage => Usage { spending: Box<Spending> },
            /// Return tokens, cost and savings of the cache by model, by day and by tool.
            #[request(State, None)]
            GetUsageReport {
                /// the open session, or `all` stored sessions
                #[serde(default)]
                scope: UsageScope,
                /// the days to count
                #[serde(default)]
                period: UsagePeriod,
            } => UsageReport { report: Box<UsageReport> },
            /// Return the budget of the session and its used part.
            #[request(State, None)]
            GetBudget =>
            /// Sent again when either changes, if there is a limit.
            #[event(RetainedForSession)]
            Budget { budget: BudgetState },
            /// Change the limits of the session. At a limit, no further model call is made.
            #[request(State, Change => Budget)]
            SetBudget {
                /// the limits to change; 0 removes one
                budget: Budget,
            },
            /// Return the model, session, queues, usage and permissions, after all earlier requests were processed.
            #[request(State, None, command "get_state")]
            GetStatus => Status { status: Box<Status> },
            /// Return the version, the platform and the folders of osier.
            #[request(State, None)]
            GetAbout => About { about: Box<About> },
            /// Return the log of the session: warnings, errors, retries and failed calls, also of earlier runs.
            #[request(State, None)]
            GetLog =>
            /// Oldest first.
            SessionLog { lines: Vec<LogLine> },
        }
        /// Accounts at providers.
        group Account(AccountOp) {
            /// List the providers, whether each has a key, and how to sign in.
            #[request(Models, None)]
            ListAccounts =>
            #[event(Change)]
            Accounts { accounts: Vec<Account> },
            /// Sign in to a provider. The answer describes the next step of the user; `login_ended` reports the result.
            /// A running sign-in is cancelled.
            #[request(Models, None => LoginStarted | LoginEnded)]
            Login {
                /// its name
                provider: String,
                /// the provider's default method when missing
                #[serde(default, skip_serializing_if = "Option::is_none")]
                method: Option<LoginMethod>,
            },
            /// Send text that the user typed or pasted to the running sign-in: a key, a code, an address.
            #[request(Models, None)]
            LoginInput {
                /// never shown or logged
                text: Typed,
            },
            /// Cancel the running sign-in.
            #[request(Models, None)]
            CancelLogin,
            /// Delete the stored credentials of a provider.
            #[request(Models, None)]
            Logout {
                /// its name
                provider: String,
            },
        }
        /// Permissions and open questions.
        group Permission(PermissionOp) {
            /// Set the permission mode.
            #[request(Permissions, Change => Permissions)]
            SetPermissions {
                /// `plan` is read-only, `ask` confirms, `auto` lets a model judge, `yolo` runs everything that is not denied
                mode: PermissionMode,
            },
            /// Select the next permission mode.
            #[request(Permissions, Change => Permissions)]
            CyclePermissions,
            /// Return the permission mode and all rules.
            #[request(Permissions, None => Permissions)]
            ListPermissions,
            /// Add a rule that allows a tool.
            #[request(Permissions, Change)]
            AddPermission {
                /// for how long, and the rule: `tool` or `tool(pattern)`
                grant: Grant,
            },
            /// Remove a rule that was added in a dialog.
            #[request(Permissions, Change)]
            RemovePermission {
                /// as listed
                rule: String,
            },
            /// Answer an open question. `question_closed` follows; the first answer counts.
            #[request(Permissions, Change)]
            AnswerQuestion {
                /// which question
                id: String,
                /// the answer
                answer: Answer,
            },
            /// List the open questions, oldest first.
            #[request(Permissions, None)]
            ListQuestions =>
            /// The open questions, oldest first.
            Questions { questions: Vec<Question> },
        }
        /// Servers, plugins, hooks and project context.
        group Extension(ExtensionOp) {
            /// List the MCP servers of the session.
            #[request(Extensions, None)]
            ListMcpServers =>
            /// Sorted by name. Sent again when a server changes.
            #[event(RetainedForSession)]
            McpServers { servers: Vec<ServerInfo> },
            /// List the language servers that the session uses.
            #[request(Extensions, None)]
            ListCodeServers =>
            /// The language servers, sorted by name. Sent again when one changes or reports errors.
            #[event(RetainedForSession)]
            CodeServers { servers: Vec<CodeServerInfo> },
            /// Restart, enable or disable an MCP server, or sign in to it. `mcp_servers` reports the progress.
            #[request(Extensions, Change)]
            McpServer {
                /// which server
                name: String,
                /// what to do
                action: ServerAction,
            },
            /// Ask an MCP server for values of the last word of a prompt: an argument of `/mcp__server__prompt`, or the
            /// variable of a template after `@server:`.
            #[request(Extensions, None)]
            CompleteMcp {
                request: u64,
                /// the prompt up to the cursor
                text: String,
            } =>
            /// Each value replaces the last word, without its `@`.
            McpCompletions { request: u64, values: Vec<String> },
            /// Run the action that a plugin bound to a key, as listed in `plugin_keys`.
            #[request(Extensions, Change)]
            PressPluginKey {
                /// its name
                plugin: String,
                /// the keys
                keys: String,
            },
            /// List the hooks with the result of their last run.
            #[request(Extensions, None)]
            ListHooks =>
            /// In the order of their files.
            Hooks { hooks: Vec<HookInfo> },
            /// List instructions, skills and prompt templates with their size in tokens.
            #[request(Extensions, None)]
            ListContext =>
            ContextParts { parts: Vec<ContextPart> },
            /// Ask whether the user trusts the project, also about a decision that is stored: `question_asked` follows.
            #[request(Extensions, Change)]
            AskTrust,
            /// Read settings, hooks, models, instructions, skills, templates and plugins again. Problems in them are
            /// the error of the answer.
            #[request(Extensions, None)]
            Reload,
        }
        ;
        /// A request about the session tree.
        flatten Tree(TreeOp),
        /// A request about files.
        flatten Checkpoint(CheckpointOp),
        /// A request about import and export.
        flatten Transfer(TransferOp),
        /// A request about stored sessions.
        flatten Index(IndexOp),
        /// A request to the agent.
        flatten Agent(osier_agent::Op),
    }
    answers session_events $
}

osier_base::parameter_types! {
    Answer: Object("Answer"),
    Budget: Object("Budget"),
    Grant: Object("Grant"),
    PageAt: Object("PageAt"),
    PromptPart: Object("PromptPart"),
    Typed: Text,
}

osier_base::words! {
    /// The method of a sign-in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum LoginMethod {
        /// A browser on this machine, or on another one with the code pasted back.
        Browser = "browser",
        /// A short code typed on another device.
        Device = "device",
        /// An API key that the user enters.
        Key = "key",
    }
}

/// Text that may contain a key. It is sent with its request and never shown or logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Typed(pub String);

impl fmt::Debug for Typed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Typed(…)")
    }
}
