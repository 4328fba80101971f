//! Positions in the session tree that a request names.

use osier_agent::{AgentMessage, UserMessage};
use osier_protocol::{EntryKind, Jump, Tag};
use osier_store::{EntryIndex, Position, Positions};

/// Where the conversation continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Before a prompt, after any other entry.
    Before(Option<String>),
    After(Option<String>),
    /// Before the last prompt of the branch.
    LastPrompt,
    Current,
    /// A position of the history.
    Position(Step),
}

/// A step in the history of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Back,
    Forward,
    /// Back, if the last move undid a prompt.
    Redo,
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
            Self::Position(step) => return step.find(index),
            Self::LastPrompt => index
                .read(|tree| tree.last_of(Tag::User))
                .ok_or("no earlier prompt on this branch")?,
        };
        let (entry, is_deleted) = index.read(|tree| {
            let number = tree.number(&id);
            let is_deleted = number.is_some_and(|number| tree.is_deleted(number));
            (tree.get(&id), is_deleted)
        });
        if is_deleted {
            return Err(format!("the entry `{id}` was deleted"));
        }
        let entry = entry.ok_or_else(|| format!("no entry `{id}` in this session"))?;
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

impl Target {
    /// The entry whose files belong to a fork at this target, which `find` has `found`. Blocks.
    pub(crate) fn files(
        &self,
        (leaf, prompt): &(Option<String>, Option<NextPrompt>),
        index: &EntryIndex,
    ) -> Option<String> {
        match prompt {
            Some((id, _)) => Some(id.clone()),
            None if *self == Self::Current => index.position(),
            None => leaf.clone(),
        }
    }
}

impl Step {
    /// How the move of this step changes the history.
    pub(crate) fn jump(self) -> Jump {
        match self {
            Self::Back | Self::Redo => Jump::Back,
            Self::Forward => Jump::Forward,
        }
    }

    /// Why the step is not possible.
    pub(crate) fn refusal(self) -> &'static str {
        match self {
            Self::Back => "there is no earlier position to go back to",
            Self::Forward => "there is no later position to go forward to",
            Self::Redo => "there is nothing to redo",
        }
    }

    fn position(self, positions: &Positions, from: Position) -> Option<Position> {
        match self {
            Self::Back => positions.back(from),
            Self::Forward => positions.forward(from),
            Self::Redo => positions.undone(from),
        }
    }

    fn find(self, index: &EntryIndex) -> Result<(Option<String>, Option<NextPrompt>), String> {
        let (leaf, before) = index.read(|tree| {
            let position = self.position(tree.positions(), tree.position());
            let position = position.ok_or(self.refusal())?;
            let id = |number: Option<u32>| number.map(|number| tree.id(number));
            Ok::<_, &str>((id(position.leaf), id(position.before)))
        })?;
        let prompt = before.and_then(|id| {
            let entry = index.read(|tree| tree.get(&id))?;
            match entry.kind {
                EntryKind::Message {
                    message: AgentMessage::User(prompt),
                } => Some((id, prompt)),
                _ => None,
            }
        });
        Ok((leaf, prompt))
    }
}
