//! What a dialog that has opened by itself does with the first keys.

use std::time::Duration;

use crate::command::{Category, Command};

/// Keys that come right after the dialog has opened by itself do not answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::questions) enum Guard {
    /// Typed text goes to the editor, and the question waits.
    Editor(Duration),
    Ignore(Duration),
}

/// Whether a command does not concern the question and works meanwhile.
pub(super) fn passes(command: Command) -> bool {
    let category = command.info().map(|info| info.category);
    matches!(category, Some(Category::Tabs | Category::Application))
}
