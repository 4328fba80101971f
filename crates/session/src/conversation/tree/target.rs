//! Positions in the session tree that a request names.

use osier_agent::{AgentMessage, UserMessage};
use osier_protocol::{EntryKind, Tag};
use osier_store::EntryIndex;

/// Where the conversation continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Before a prompt, after any other entry.
    Before(Option<String>),
    After(Option<String>),
    /// Before the last prompt of the branch.
    LastPrompt,
    Current,
}

/// A prompt that follows a position, and its id.
pub(crate) type NextPrompt = (String, UserMessage);

impl Target {
    /// The entry to continue from, and the prompt that follows it for `Before` and `LastPrompt`. Blocks.
    pub(crate) fn find(
        &self,
        index: &EntryIndex,
    ) -> Result<(Option<String>, Option<NextPrompt>), String> {
        let id = match self {
            Self::Before(None) | Self::After(None) => return Ok((None, None)),
            Self::Current => return Ok((index.leaf(), None)),
            Self::Before(Some(id)) | Self::After(Some(id)) => id.clone(),
            Self::LastPrompt => index
                .read(|tree| tree.last_of(Tag::User))
                .ok_or("no earlier prompt on this branch")?,
        };
        let entry = index
            .read(|tree| tree.get(&id))
            .ok_or_else(|| format!("no entry `{id}` in this session"))?;
        if matches!(self, Self::After(_)) {
            return Ok((Some(id), None));
        }
        match entry.kind {
            EntryKind::Message {
                message: AgentMessage::User(prompt),
            } => Ok((entry.parent_id, Some((id, prompt)))),
            _ => Ok((Some(id), None)),
        }
    }
}
