//! The communication of a sign-in with the user.

use std::time::Duration;

use tokio::sync::mpsc;

/// A message of a running sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The user must open this address.
    Started {
        url: String,
        /// The code to enter there.
        user_code: Option<String>,
        /// Whether the user can paste the final address of the browser, or the code in it.
        accepts_paste: bool,
    },
    /// The pasted text is not usable; the sign-in continues.
    Refused { message: String },
}

/// How a running sign-in communicates with the user.
pub struct Interaction<'a> {
    /// Shows a message to the user.
    pub report: &'a mut (dyn FnMut(Progress) + Send),
    /// Lines that the user pasted or typed.
    pub input: &'a mut mpsc::UnboundedReceiver<String>,
    /// The id of this installation, a UUID.
    pub installation: String,
    /// The length of a second in the provider's intervals; shorter in tests.
    pub second: Duration,
}

impl std::fmt::Debug for Interaction<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Interaction")
            .finish_non_exhaustive()
    }
}
