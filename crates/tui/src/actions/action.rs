//! Actions: requests of components and features to the session, the program and each other. There is no other way, and
//! only `app/apply.rs` executes actions.

use super::command::Command;
use super::effect::{Effect, StoredSession, TabRequest};
use osier_agent::Op as AgentOp;
use osier_protocol::questions::Answer;
use osier_protocol::{CheckpointOp, DiffRange, IndexOp, Mark, Op, Reviewed, TransferOp, TreeOp};

/// The id of a session, and the entry to show once that session is open: the id of the entry and
/// the words that a search found in it.
pub(crate) type ExpectedEntry = (String, (String, String));

/// The fate of the files after a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilesAfter {
    /// They stay; a notice appears when they differ.
    Stay,
    /// A step back or forward: if they differ from those of the last visit, a list offers to restore them.
    Return,
    /// The list of file changes opens for review.
    List,
    /// They are restored: the user has chosen that already.
    Restored,
}

/// One action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Runs a command, as its key does outside of every layer.
    Run(Command),
    /// Sends an op to the session.
    Op(Op),
    /// Requests something of the program.
    Effect(Effect),
    Toast(Toast),
    /// Sends the editor's text: as a prompt, a slash command or a shell command.
    Submit {
        follow_up: bool,
    },
    /// Sends a prompt; the text in the editor stays.
    SendPrompt {
        text: String,
        /// The text that the user typed, if it differs from `text`.
        typed: Option<String>,
    },
    /// Replaces the text in the editor.
    SetEditor {
        text: String,
    },
    /// Puts text at the cursor of the editor.
    InsertText {
        text: String,
    },
    CloseLayer,
    /// Shows an entry in the tree as soon as its session is open.
    ShowEntry(ExpectedEntry),
    /// Runs a command of the view in front.
    InView(Command),
    /// Moves to another entry of the tree.
    Move {
        op: TreeOp,
        files: FilesAfter,
    },
    /// Opens a stored session. If it is open already, shows its tab.
    OpenSession {
        stored: StoredSession,
        /// Always in a new tab.
        new_tab: bool,
    },
    /// Shows the open session with this number.
    ShowSessionNumber(usize),
    /// Closes the tab with this number; asks first if that would stop a run.
    CloseSession(usize),
    /// Restores a stashed prompt in the editor.
    RestoreStashed(String),
    /// Pins or archives the shown session, or reverts that.
    MarkSession {
        mark: Mark,
        on: bool,
    },
    /// Asks what to do with a session that is open in another osier.
    OfferInUse {
        target: String,
    },
    /// Shows the changes of the files.
    ShowChanges(DiffRange),
    /// Shows the changes of this file since the session start.
    ShowChangesOf(String),
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
    /// Shows the plan or the call of the question `id` as the user edited it.
    ShowEditedAnswer {
        id: String,
        text: String,
    },
    /// Shows the terminal that is about to start, and types in it.
    TypeInNewTerminal,
    /// Shows the conversation of a subagent.
    ShowSubagent(Box<osier_protocol::SubagentInfo>),
    /// Keeps the text typed on the page of a subagent until the page opens again.
    KeepSubagentDraft(SubagentDraft),
    /// Shows the details of an MCP server and its actions.
    ShowServer(String),
    /// Searches the conversation for this text.
    Search(String),
    /// Selects the next match above, or below.
    StepSearch {
        older: bool,
    },
    EndSearch,
    /// Enables or disables a tool.
    ToggleTool(String),
    /// Turns a setting on or off, or opens a box for its value.
    EditSetting(&'static str),
    /// Opens a box for a permission rule with this effect; without one, for a directory of the sandbox.
    AddRule(Option<osier_protocol::Effect>),
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
}

/// A line that is shown above the editor for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub text: String,
    pub is_error: bool,
}

impl Toast {
    pub fn info(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
        }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::info(text)
        }
    }
}

/// Implements the conversion of ops (in all their groups), effects, commands and toasts into
/// actions.
macro_rules! made_of {
    ($($from:ty: $value:ident => $action:expr;)*) => {
        $(impl From<$from> for Action {
            fn from($value: $from) -> Self {
                $action
            }
        })*
    };
}

made_of! {
    Command: command => Self::Run(command);
    Op: op => Self::Op(op);
    AgentOp: op => Op::Agent(op).into();
    CheckpointOp: op => Op::Checkpoint(op).into();
    IndexOp: op => Op::Index(op).into();
    TransferOp: op => Op::Transfer(op).into();
    TreeOp: op => Op::Tree(op).into();
    Effect: effect => Self::Effect(effect);
    TabRequest: request => Effect::Tabs(request).into();
    Toast: toast => Self::Toast(toast);
}

/// The text typed on the page of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubagentDraft {
    pub subagent: String,
    pub text: String,
}
