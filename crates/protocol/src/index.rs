//! Requests and events about stored sessions: lists, search, previews.

use crate::fork_title;
use osier_llm::Usage;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

osier_base::requests! {
    /// A request about stored sessions.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
    pub enum IndexOp {
        /// Find sessions by name and first prompt, or by their contents. A new query cancels the previous one.
        /// The index is updated at the same time; `indexing` says when a new query finds more.
        #[request(Sessions, None => SessionsFound | SearchCancelled)]
        FindSessions {
            request: u64,
            /// the query
            query: SessionQuery,
            /// do not update the index
            #[serde(default)]
            as_is: bool,
        },
        /// Return the first and last messages of a session.
        #[request(Sessions, None)]
        PreviewSession {
            request: u64,
            /// the session file
            path: PathBuf,
        } => SessionPreview {
            request: u64,
            path: PathBuf,
            preview: Preview,
        },
        /// Rename a session, open or not. An empty name clears it.
        #[request(Sessions, None => SessionsChanged | LibraryRefused)]
        NameSession {
            /// the session file
            path: PathBuf,
            /// the new name
            name: String,
        },
        /// Move a session to the trash. An open session is refused.
        #[request(Sessions, None => SessionDeleted | LibraryRefused)]
        DeleteSession {
            /// the session file
            path: PathBuf,
        },
        /// Restore a session from the trash.
        #[request(Sessions, None => SessionsChanged | LibraryRefused)]
        RestoreSession {
            /// its path in the trash
            path: PathBuf,
        },
        /// Pin a session, which lists it first, or archive it, which hides it from lists.
        #[request(Sessions, None => SessionsChanged | LibraryRefused)]
        MarkSession {
            /// its id
            session: String,
            /// which of the two
            mark: Mark,
            /// `false` removes the mark
            on: bool,
        },
        /// Return all information about the open session.
        #[request(Sessions, None)]
        DescribeSession => SessionDescribed { description: Box<Description> },
    }
    answers index_events $
}

osier_base::parameter_types! {
    SessionQuery: Object("SessionQuery"),
}

/// A query for stored sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionQuery {
    /// A part of the name or first prompt, or words of the conversation. Empty: all sessions.
    pub text: String,
    /// Search the conversations, not the names.
    pub in_words: bool,
    /// Include the sessions of every directory, not only the current one.
    pub all: bool,
    /// Only sessions with a name.
    pub named: bool,
    /// Only archived sessions. Without it, archived sessions are left out.
    pub archived: bool,
    pub sort: Sort,
    /// Maximum number of results; 0 means 200.
    pub limit: usize,
}

index_events! {
    /// An event about stored sessions.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(
        tag = "type",
        rename_all = "snake_case",
        rename_all_fields = "camelCase"
    )]
    pub enum IndexEvent {
        #[event(Answer)]
        SessionsFound {
            request: u64,
            sessions: Vec<FoundSession>,
            /// Number of matching sessions, including those beyond the limit. A lower bound for a search of words.
            total: usize,
            /// There may be more matches than `total`.
            cut: bool,
            /// False until the index exists: nothing can be found yet.
            ready: bool,
        },
        /// A newer `find_sessions` replaced this one.
        #[event(Answer)]
        SearchCancelled { request: u64, message: String },
        /// The progress of indexing: `done` of `total` session files. When it is `finished` and `read` is not 0, a
        /// new query may find more.
        #[event(Connected)]
        Indexing {
            done: usize,
            total: usize,
            finished: bool,
            read: usize,
        },
        /// A stored session was renamed, marked or restored: a new query may have other results.
        #[event(Connected)]
        SessionsChanged,
        /// The session was moved to the trash, as `trashed`.
        #[event(Connected)]
        SessionDeleted { path: PathBuf, trashed: PathBuf },
        /// A request about stored sessions failed.
        #[event(Connected)]
        LibraryRefused { message: String },
    }
}

/// A search result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundSession {
    pub session: SessionRow,
    pub state: SessionState,
    /// Listed first.
    #[serde(default)]
    pub pinned: bool,
    /// Listed only in a query for archived sessions.
    #[serde(default)]
    pub archived: bool,
    /// Its directory does not exist here.
    #[serde(default)]
    pub missing: bool,
    /// The first match of a search of words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit: Option<FoundText>,
}

/// A match in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundText {
    pub source: TextSource,
    /// The entry that contains the match; not set for names and labels.
    pub entry_id: Option<String>,
    #[serde(flatten)]
    pub text: HitText,
}

/// Whether a session is open, and where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SessionState {
    #[default]
    Free,
    /// In this process.
    Here,
    /// In another process.
    Elsewhere { pid: u32 },
}

/// All information about the open session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// Without a path when it is not stored.
    pub session: SessionRow,
    /// Usage by model.
    pub models: Vec<ModelCost>,
    /// Number of entries on all branches.
    pub entries: usize,
    /// Number of branches.
    pub branches: usize,
    /// Number of checkpoints.
    pub checkpoints: usize,
    /// Indexed sessions that were forked from it.
    pub forks: Vec<SessionRow>,
}

/// The order of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Last used first.
    #[default]
    Active,
    /// Newest first.
    Created,
    /// Most expensive first.
    Cost,
    /// Largest first.
    Size,
    /// By name; sessions without a name last.
    Name,
}

impl Sort {
    /// Every order, in the order in which a key cycles through them.
    pub const ALL: [Self; 5] = [
        Self::Active,
        Self::Created,
        Self::Cost,
        Self::Size,
        Self::Name,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "last used",
            Self::Created => "created",
            Self::Cost => "cost",
            Self::Size => "size",
            Self::Name => "name",
        }
    }
}

/// The part of a session that contains a match, most relevant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    Name,
    Label,
    Prompt,
    Answer,
    Summary,
    Call,
    Thinking,
    Output,
}

impl TextSource {
    /// One word for a list.
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Label => "label",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Summary => "summary",
            Self::Call => "call",
            Self::Thinking => "thinking",
            Self::Output => "output",
        }
    }
}

/// One message, shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PreviewLine {
    /// `prompt`, `answer` or `summary`.
    pub source: TextSource,
    pub text: String,
}

/// The parts of a conversation that identify it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The first messages.
    pub first: Vec<PreviewLine>,
    /// The last messages that are not in `first`.
    pub last: Vec<PreviewLine>,
}

/// A session of the index. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    pub id: String,
    pub path: PathBuf,
    /// The working directory; empty when it is unknown.
    pub cwd: String,
    pub name: Option<String>,
    /// The start of the user's first prompt.
    pub first_prompt: Option<String>,
    /// The start of the prompt that was stored last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_prompt: Option<String>,
    pub created: i64,
    /// When something was last stored.
    pub active: i64,
    /// Bytes of the file.
    pub size: u64,
    /// Number of prompts, on all branches.
    pub prompts: u64,
    pub answers: u64,
    pub tool_calls: u64,
    /// Lines that cannot be read.
    pub damaged: u64,
    /// Tokens of every call, cached ones included.
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    /// `PROVIDER/ID`, in the order of first use.
    pub models: Vec<String>,
    /// Labels of entries.
    pub labels: Vec<String>,
    /// Id of the session it was forked from.
    pub parent: Option<String>,
    /// The title of that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
    /// Whether the file was indexed completely. Until then, counts and cost are partial.
    pub whole: bool,
}

impl SessionRow {
    /// The title: the name, else the first prompt.
    pub fn title(&self) -> &str {
        let named = self.name.as_deref().filter(|name| !name.is_empty());
        named.or(self.first_prompt.as_deref()).unwrap_or("(empty)")
    }

    /// The title in lists: a fork without a name of its own says of what it is one, and has its last prompt.
    pub fn list_title(&self) -> String {
        let (name, source) = (self.name.as_deref(), self.fork_of.as_deref());
        let fork = fork_title(name, source, self.last_prompt.as_deref());
        fork.unwrap_or_else(|| self.title().to_owned())
    }
}

/// The usage of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelCost {
    /// `PROVIDER/ID`.
    pub model: String,
    pub calls: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// US dollars.
    pub cost: f64,
    /// Output tokens of the calls whose duration is known.
    #[serde(default, skip_serializing_if = "crate::tree::is_zero")]
    pub timed_output: u64,
    /// The duration of these calls, in milliseconds.
    #[serde(default, skip_serializing_if = "crate::tree::is_zero")]
    pub duration_ms: u64,
}

impl ModelCost {
    pub fn add(&mut self, usage: &Usage) {
        self.calls += 1;
        self.input += usage.input;
        self.output += usage.output;
        self.cache_read += usage.cache_read;
        self.cache_write += usage.cache_write;
        self.cost += usage.cost.total;
    }

    /// Adds the duration of a call, if it is known.
    pub fn time(&mut self, output: u64, duration_ms: u64) {
        if duration_ms > 0 {
            self.timed_output += output;
            self.duration_ms += duration_ms;
        }
    }

    /// Output tokens a second, from the request to the end of the answer.
    pub fn speed(&self) -> Option<u64> {
        let speed = (self.timed_output * 1000).checked_div(self.duration_ms)?;
        (speed > 0).then_some(speed)
    }

    pub fn join(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
        self.timed_output += other.timed_output;
        self.duration_ms += other.duration_ms;
    }

    pub fn tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// A line of text with matches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HitText {
    pub text: String,
    /// Byte ranges of the matches in `text`, in order.
    pub marks: Vec<(usize, usize)>,
}

osier_base::words! {
    /// A mark of a session.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Mark {
        /// Listed first.
        Pinned = "pinned",
        /// Listed only in a query for archived sessions.
        Archived = "archived",
    }
}
