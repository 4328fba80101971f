//! What can be told and heard about all stored sessions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::marks::Mark;
use osier_index::{HitText, ModelCost, Preview, SessionRow, Sort, Source};

/// Instructions about stored sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum LibraryOp {
    /// Sessions by their names and first prompts, or by what was said in them; answered by
    /// `LibraryEvent::SessionsFound`. `request` is a number of the asker's choice that comes back with the
    /// answer; a new question ends the one before. The index is brought up to date beside it, unless it is
    /// to be taken `asIs`: `LibraryEvent::Indexing` says when asking again is worth it.
    FindSessions {
        request: u64,
        query: SessionQuery,
        #[serde(default)]
        as_is: bool,
    },
    /// How a session began and how it ends; answered by `LibraryEvent::SessionPreview`.
    PreviewSession { request: u64, path: PathBuf },
    /// Names a session, open or not; an empty name takes it away. Answered by
    /// `LibraryEvent::SessionsChanged`, or `LibraryEvent::LibraryRefused`.
    NameSession { path: PathBuf, name: String },
    /// Moves a session to the trash; answered by `LibraryEvent::SessionDeleted`, or
    /// `LibraryEvent::LibraryRefused`: one that is open is left alone.
    DeleteSession { path: PathBuf },
    /// Brings a session back from the trash, where it is at `path`; answered by
    /// `LibraryEvent::SessionsChanged`, or `LibraryEvent::LibraryRefused`.
    RestoreSession { path: PathBuf },
    /// Sets the session with this id apart, or no longer (`on`): one that is pinned stands first, one that is archived is
    /// listed only when that is asked for. Answered by `LibraryEvent::SessionsChanged`, or
    /// `LibraryEvent::LibraryRefused`.
    MarkSession {
        session: String,
        mark: Mark,
        on: bool,
    },
    /// What is known of the open session; answered by `LibraryEvent::SessionDescribed`.
    DescribeSession,
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
pub enum LibraryEvent {
    /// Answer to `LibraryOp::FindSessions`.
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
    /// Answer to `LibraryOp::PreviewSession`.
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
    /// Answer to `LibraryOp::DescribeSession`.
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
    pub source: Source,
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
