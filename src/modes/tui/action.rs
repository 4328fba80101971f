//! What components want done. `App::apply` is the only place that does it.

use super::command::Command;
use crate::coding::host::Op;

/// One intent.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// As if its key had been pressed outside of every layer.
    Run(Command),
    /// Sends an op to the host.
    Tell(Op),
    /// Sends the editor's text: as a prompt, a slash command or a shell command.
    Submit {
        follow_up: bool,
    },
    /// Puts text into the editor in place of what is there.
    SetEditor {
        text: String,
    },
    CloseLayer,
    /// Lists the providers to sign in to, or those to sign out of.
    PickAccount {
        sign_out: bool,
    },
    /// Lists skills and prompt templates.
    PickSkill,
    /// Puts text on the clipboard.
    Copy(String),
    /// Looks for this text in the conversation.
    Search(String),
    /// Goes to the next hit above, or below.
    StepSearch {
        older: bool,
    },
    EndSearch,
    SetTheme(String),
    /// Reads settings, themes and keymaps again.
    ReloadLooks,
    /// Shows a line above the editor for a moment.
    Toast {
        text: String,
        error: bool,
    },
    Quit,
}
