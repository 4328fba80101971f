//! The prompts of the command line, with their attachments.

use crate::Op;
use osier_agent::Attachment;

/// One prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub attachments: Vec<Attachment>,
    /// The text that the user typed, if `text` contains more.
    pub typed: Option<String>,
}

impl From<Prompt> for Op {
    fn from(prompt: Prompt) -> Self {
        let Prompt {
            text,
            attachments,
            typed,
        } = prompt;
        Self::Agent(osier_agent::Op::Prompt {
            text,
            attachments,
            typed,
            once: None,
        })
    }
}
