//! Requests and events about stored sessions: lists, search, previews.

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
        #[request(Sessions, None => SessionsFound)]
        FindSessions {
            request: u64,
            /// the query
            query: SessionQuery,
            /// do not update the index
            #[serde(default)]
            as_is: bool,
        },
        /// Return the first and last messages of a session.
        #[request(Sessions, None => SessionPreview)]
        PreviewSession {
            request: u64,
            /// the session file
            path: PathBuf,
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
        #[request(Sessions, None => SessionDescribed)]
        DescribeSession,
    }
}

osier_base::parameter_types! {
    Mark: Word("pinned", "archived"),
    SessionQuery: Object("SessionQuery"),
}

/// Which sessions are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionQuery {
    /// Letters of a name or first prompt, or words that were said. Empty: all.
    pub text: String,
    /// Look in what was said, not in names.
    pub in_words: bool,
    /// Of every directory, not only this one.
    pub all: bool,
    /// Only those with a name.
    pub named: bool,
    /// Those that are archived, and no others. Without it they are left out.
    pub archived: bool,
    pub sort: Sort,
    /// At most so many; 200 when 0.
    pub limit: usize,
}

/// What happened to stored sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum IndexEvent {
    /// Answer to `IndexOp::FindSessions`.
    SessionsFound {
        request: u64,
        sessions: Vec<FoundSession>,
        /// How many match, those that are not among `sessions` included; of words at least as many.
        total: usize,
        /// There may be more than were counted.
        cut: bool,
        /// There is an index; without one nothing can be found yet.
        ready: bool,
    },
    /// How far reading all sessions is. When it is `finished` and some were `read`, a question has newer
    /// answers.
    Indexing {
        done: usize,
        total: usize,
        finished: bool,
        read: usize,
    },
    /// Answer to `IndexOp::PreviewSession`.
    SessionPreview {
        request: u64,
        path: PathBuf,
        preview: Preview,
    },
    /// A stored session has another name or is back: a question has newer answers.
    SessionsChanged,
    /// The session is in the trash, at `trashed`.
    SessionDeleted { path: PathBuf, trashed: PathBuf },
    /// What was asked for was not done.
    LibraryRefused { message: String },
    /// Answer to `IndexOp::DescribeSession`.
    SessionDescribed { description: Box<Description> },
}

/// A session that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundSession {
    pub session: SessionRow,
    pub state: SessionState,
    /// It stands first.
    #[serde(default)]
    pub pinned: bool,
    /// It is listed only when that is asked for.
    #[serde(default)]
    pub archived: bool,
    /// What was found in it, when words were looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit: Option<FoundText>,
}

/// Words that were found in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundText {
    pub source: TextSource,
    /// The entry they stand in; not set for names and labels.
    pub entry_id: Option<String>,
    #[serde(flatten)]
    pub text: HitText,
}

/// Who has a session open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SessionState {
    #[default]
    Free,
    /// This host.
    Here,
    /// Another process.
    Elsewhere { pid: u32 },
}

/// Everything that is known of the open session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// Without a path when it is not stored.
    pub session: SessionRow,
    /// What each model was used for.
    pub models: Vec<ModelCost>,
    /// Entries on all branches.
    pub entries: usize,
    /// Ends of branches.
    pub branches: usize,
    /// Recorded states of the files.
    pub checkpoints: usize,
    /// Sessions that were forked from it, as far as they are indexed.
    pub forks: Vec<SessionRow>,
}

/// In which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Last used first.
    #[default]
    Active,
    /// Newest first.
    Created,
    /// Dearest first.
    Cost,
    /// Largest first.
    Size,
    /// By name, those without one last.
    Name,
}

impl Sort {
    /// Every order, as a key goes through them.
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

/// Where in a session something was found; the first is worth most.
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
    /// How it began.
    pub first: Vec<PreviewLine>,
    /// How it ends, when that is something else.
    pub last: Vec<PreviewLine>,
}

/// One row. Times are milliseconds since the Unix epoch.
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
    /// Whether all of the file has been read; until then counts and cost are those of a part.
    pub whole: bool,
}

impl SessionRow {
    /// The title: the name, else the first prompt.
    pub fn title(&self) -> &str {
        let named = self.name.as_deref().filter(|name| !name.is_empty());
        named.or(self.first_prompt.as_deref()).unwrap_or("(empty)")
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

    pub fn join(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
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

/// How a session can be set apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It stands first.
    Pinned,
    /// It is listed only when that is asked for.
    Archived,
}
