//! The guard of a dialog that has opened by itself: it decides about the first keys.

use std::time::Duration;

/// Keys that come right after the dialog has opened by itself do not answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Typed text goes to the editor, and the question waits.
    Editor(Duration),
    /// The user has just answered another question: a `y`, an `n` and `enter` count after `ready`, other text goes to
    /// the editor until `text` is over.
    Answered {
        ready: Duration,
        text: Duration,
    },
    Ignore(Duration),
}

impl Guard {
    pub(super) fn time(self) -> Duration {
        match self {
            Self::Editor(time) | Self::Ignore(time) | Self::Answered { ready: time, .. } => time,
        }
    }
}

/// Whether a text is only letters that answer a question.
pub(crate) fn is_letters(text: &str) -> bool {
    let is_letter = |letter: char| matches!(letter, 'y' | 'n' | 'Y' | 'N');
    !text.is_empty() && text.chars().all(is_letter)
}
