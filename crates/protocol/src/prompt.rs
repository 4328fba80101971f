//! The prompts of the command line, with their attachments.

use crate::Op;
use osier_agent::Attachment;

/// One prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

impl From<Prompt> for Op {
    fn from(prompt: Prompt) -> Self {
        let Prompt { text, attachments } = prompt;
        Self::Agent(osier_agent::Op::Prompt { text, attachments })
    }
}
