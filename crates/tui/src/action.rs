//! What components and features want done. `app/apply.rs` is the only place that does it.

use crate::command::Command;
use crate::effect::{Effect, StoredSession};
use osier_protocol::questions::Answer;
use osier_protocol::{DiffRange, Mark, Op, Reviewed, TreeOp};

/// One intent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// As if its key had been pressed outside of every layer.
    Run(Command),
    /// Sends an op to the host.
    Tell(Op),
    /// Requests something of the program.
    Effect(Effect),
    /// Sends the editor's text: as a prompt, a slash command or a shell command.
    Submit {
        follow_up: bool,
    },
    /// Puts text into the editor in place of what is there.
    SetEditor {
        text: String,
    },
    CloseLayer,
    /// Goes elsewhere in the tree.
    Move {
        op: TreeOp,
        /// With `files`, the list of file changes opens for review; else a notice appears when files differ.
        files: bool,
    },
    /// Opens a stored session; one that is open already is shown.
    OpenSession {
        stored: StoredSession,
        /// Always in a new tab.
        new_tab: bool,
    },
    /// Shows the open session with this number.
    ShowSessionNumber(usize),
    /// Closes the open session with this number, when nothing is cut off by that or the person agrees.
    CloseSession(usize),
    /// Restores a stashed prompt in the editor.
    RestoreStashed(String),
    /// Pins or archives the session that is shown, or no longer.
    MarkSession {
        mark: Mark,
        on: bool,
    },
    /// Asks what to do with a session that another osier has.
    OfferInUse {
        target: String,
    },
    /// Shows what changed in the files.
    ShowChanges(DiffRange),
    /// Requests the shown changes again.
    ReloadChanges,
    /// Reverts rejected changes and sends the review to the model.
    SendReview(Vec<Reviewed>),
    /// Answers the question `id` and closes its dialog.
    Answer {
        id: String,
        answer: Answer,
    },
    /// Closes the dialog of the question `id`, which stays pending; `draft` is the text typed in it.
    LeaveQuestion {
        id: String,
        draft: Vec<String>,
    },
    /// What can be done with an MCP server, and what is known of it.
    ShowServer(String),
    /// Appearance for this text in the conversation.
    Search(String),
    /// Goes to the next hit above, or below.
    StepSearch {
        older: bool,
    },
    EndSearch,
    /// Offers the model a tool, or no longer.
    ToggleTool(String),
    /// Changes a setting: to the next of its values, or by what is typed then.
    EditSetting(String),
    /// Waits for the keys of a command in a context.
    CaptureKeys {
        context: String,
        command: Command,
    },
    /// Removes every key of a command in a context.
    Unbind {
        context: String,
        command: Command,
    },
    /// Shows a line above the editor for a moment.
    Toast {
        text: String,
        error: bool,
    },
}
