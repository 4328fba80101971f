//! Sessions in lists, and ways to open one.

use osier_base::text::{self, counted, head_bytes};
use osier_llm::Usage;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The open session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub id: String,
    /// Not set for a session that is not stored.
    pub path: Option<String>,
    pub cwd: String,
    pub name: Option<String>,
    /// Whether the session existed before.
    pub resumed: bool,
    /// The session is read-only: nothing is stored.
    #[serde(default)]
    pub read_only: bool,
    /// Totals of the session; not set until a long session file is read completely.
    pub contents: Option<SessionContents>,
    /// Whether a partial answer was restored after a crash.
    pub recovered_draft: bool,
    /// The title of the session from which it was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
}

/// A session that ran in another directory than the one in which it is open, or could be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionElsewhere {
    pub id: String,
    pub path: String,
    /// Where it ran.
    pub directory: String,
    /// Whether that directory exists.
    pub exists: bool,
    /// Whether this session is open. If not, the directory has no session, and this one ran in a directory of the same
    /// name.
    pub open: bool,
    /// How to continue, as one line.
    pub message: String,
}

impl SessionElsewhere {
    /// The session `id`, which ran in `directory`, in the directory `here`.
    pub fn new(id: &str, path: &Path, (directory, here): (&str, &str), open: bool) -> Self {
        let exists = Path::new(directory).is_dir();
        let missing = if exists {
            ""
        } else {
            ", which does not exist here"
        };
        let start = head_bytes(id, 13);
        let message = if open {
            format!(
                "the session ran in `{directory}`{missing}: it continues in `{here}`; `osier --fork {start}` continues in a copy"
            )
        } else {
            format!(
                "no session of this directory; a session ran in `{directory}`{missing}: `osier --resume {start}` continues it"
            )
        };
        Self {
            id: id.to_owned(),
            path: path.to_string_lossy().into_owned(),
            directory: directory.to_owned(),
            exists,
            open,
            message,
        }
    }
}

/// Totals of a complete session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionContents {
    /// Messages of the current branch.
    pub messages: usize,
    /// Lines that could not be read and were skipped.
    pub damaged_lines: usize,
    /// Tokens and cost of every call, on all branches.
    pub usage: Usage,
}

impl SessionContents {
    /// A warning about lines of the file at `path` that were skipped.
    pub fn damage(&self, path: Option<&str>) -> Option<String> {
        let lines = counted(self.damaged_lines, "damaged line", "damaged lines");
        (self.damaged_lines > 0).then(|| {
            format!(
                "skipped {lines} of the session file; {} in `{}`",
                if self.damaged_lines == 1 {
                    "it remains"
                } else {
                    "they remain"
                },
                path.unwrap_or("the file")
            )
        })
    }
}

/// A stored session, for lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    pub id: String,
    pub path: String,
    pub cwd: String,
    pub name: Option<String>,
    pub first_prompt: Option<String>,
    /// The start of the prompt that was stored last, if it is near the end of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_prompt: Option<String>,
    /// The title of the session from which it was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub modified: i64,
    /// Bytes of the file.
    pub size: u64,
}

impl SessionSummary {
    /// The title in lists: the name, else the first prompt. The title of an unnamed fork also names its source.
    pub fn list_title(&self) -> Option<String> {
        let (name, source) = (self.name.as_deref(), self.fork_of.as_deref());
        let fork = fork_title(name, source, self.last_prompt.as_deref());
        fork.or_else(|| self.name.clone().filter(|name| !name.is_empty()))
            .or_else(|| self.first_prompt.clone())
    }
}

/// The title of a fork without a name of its own: its source and its last prompt.
pub fn fork_title(
    name: Option<&str>,
    source: Option<&str>,
    last_prompt: Option<&str>,
) -> Option<String> {
    /// The largest width of the source's title, in columns.
    const SOURCE: usize = 24;
    let own = name.filter(|name| !name.is_empty() && Some(*name) != source);
    let source = text::single_line(source.filter(|_| own.is_none())?);
    let source = text::truncate(&source, SOURCE);
    Some(match last_prompt {
        Some(prompt) => format!("fork of {source}: {prompt}"),
        None => format!("fork of {source}"),
    })
}

osier_base::words! {
    /// How a stored session is opened.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Opening {
        /// Continue the session. Refused while another process has it open.
        #[default]
        Itself = "itself",
        /// Continue in a new session with a copy of its current branch.
        Copy = "copy",
        /// Open it read-only. Nothing can be stored.
        ReadOnly = "read_only",
        /// Continue the session. A process that has it open stores its work, closes the session and ends.
        TakeOver = "take_over",
        /// Continue the session, and end a process that has it open and cannot hand it over.
        EndOther = "end_other",
    }
}

osier_base::words! {
    /// Whether the process that has a session open can hand it over.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum HolderState {
        /// It answers.
        Ready = "ready",
        /// It was stopped, by ctrl+z for example.
        Stopped = "stopped",
        /// It does not answer.
        Silent = "silent",
        /// It does not listen: it has another version of osier.
        Older = "older",
        /// It cannot be seen from here: it runs in another container or on another machine.
        Hidden = "hidden",
        /// The session is open in this process.
        Own = "own",
    }
}

/// The process that has a session open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionHolder {
    /// Not set if the system does not tell.
    pub process: Option<u32>,
    pub state: HolderState,
    /// A run is active there.
    pub working: bool,
}

impl SessionHolder {
    /// Why the process does not hand the session over, and what to do.
    pub fn reason(&self) -> String {
        let pid = self.process.unwrap_or_default();
        match self.state {
            HolderState::Ready => "it hands the session over".to_owned(),
            HolderState::Stopped => {
                format!("it is stopped; continue it with `kill -CONT {pid}`, and try again")
            }
            HolderState::Silent => format!("it does not answer; end it with `kill {pid}`"),
            HolderState::Older => {
                format!("it is another version of osier; end it with `kill {pid}`")
            }
            HolderState::Hidden => {
                "it runs in another container or on another machine; end it there".to_owned()
            }
            HolderState::Own => "it is this process; close the other tab".to_owned(),
        }
    }
}
