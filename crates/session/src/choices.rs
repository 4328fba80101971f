//! The choices of users while osier runs, by their owner. The owner decides what is stored, what a move in the tree and
//! the next session start with, and what is announced.
//!
//! - The branch has its model and its thinking level: [`BranchChoices`]. Each change is an entry of the session file. A
//!   move, a fork and the next start of osier restore both.
//! - The session has its name, its permission grants and its selection of tools. The next session starts without them;
//!   an event says which tools it offers.
//! - The program has its permission mode, and [`ProgramChoices`]. Every session of the program has these choices and
//!   announces them; no session stores them.
//!
//! The command line belongs to the program, too. Its model and level apply to the session that the command opens; in other
//! sessions they apply if the branch has no model or level.

use osier_agent::{Op, QueueMode};
use osier_llm::ThinkingLevel;
use osier_protocol::EntryKind;

/// The choices of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchChoices {
    /// Provider and id.
    pub model: Option<(String, String)>,
    pub level: ThinkingLevel,
}

/// Where a session that opens gets the choices that its branch does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line: it also overrides the branch.
    CommandLine,
    /// The previous session, or the branch from which the session was copied.
    Continued(BranchChoices),
    /// The session's own file: the session was resumed.
    Stored,
}

impl BranchChoices {
    /// The entries for the choices that differ from `stored`, the choices that the branch has or
    /// that apply without an entry.
    pub(crate) fn entries(&self, stored: &Self) -> Vec<EntryKind> {
        let model = self.model.clone().filter(|_| self.model != stored.model);
        let model = model.map(|(provider, model_id)| EntryKind::ModelChange { provider, model_id });
        let level = (self.level != stored.level).then_some(EntryKind::ThinkingLevelChange {
            thinking_level: self.level,
        });
        model.into_iter().chain(level).collect()
    }
}

/// The choices of the program that requests change. Without a value, the settings decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProgramChoices {
    /// The prompt in place of the one that osier makes.
    pub system_prompt: Option<String>,
    steering: Option<QueueMode>,
    follow_up: Option<QueueMode>,
    auto_retry: Option<bool>,
    pub auto_compact: Option<bool>,
}

impl ProgramChoices {
    /// Records the choice in a request to the agent.
    pub(crate) fn note(&mut self, op: &Op) {
        match op {
            Op::SetSystemPrompt { prompt } => self.system_prompt = Some(prompt.clone()),
            Op::SetQueueMode {
                steering,
                follow_up,
            } => {
                self.steering = steering.or(self.steering);
                self.follow_up = follow_up.or(self.follow_up);
            }
            Op::SetAutoRetry { enabled } => self.auto_retry = Some(*enabled),
            _ => {}
        }
    }

    /// The requests that give the agent of a new session these choices, and announce them.
    pub(crate) fn requests(&self) -> Vec<Op> {
        let (steering, follow_up) = (self.steering, self.follow_up);
        let queues = (steering.is_some() || follow_up.is_some()).then_some(Op::SetQueueMode {
            steering,
            follow_up,
        });
        let retry = self.auto_retry.map(|enabled| Op::SetAutoRetry { enabled });
        queues.into_iter().chain(retry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_choices_that_differ_are_stored() {
        let stored = BranchChoices {
            model: Some(("p".to_owned(), "m".to_owned())),
            level: ThinkingLevel::Medium,
        };
        assert_eq!(stored.entries(&stored), []);
        let chosen = BranchChoices {
            level: ThinkingLevel::High,
            ..stored.clone()
        };
        let entry = EntryKind::ThinkingLevelChange {
            thinking_level: ThinkingLevel::High,
        };
        assert_eq!(chosen.entries(&stored), [entry]);
        let other = BranchChoices {
            model: Some(("p".to_owned(), "n".to_owned())),
            ..stored.clone()
        };
        let entry = EntryKind::ModelChange {
            provider: "p".to_owned(),
            model_id: "n".to_owned(),
        };
        assert_eq!(other.entries(&stored), [entry]);
    }

    #[test]
    fn a_new_session_gets_what_was_requested_last() {
        let mut choices = ProgramChoices::default();
        assert_eq!(choices.requests(), []);
        let all = |steering, follow_up| Op::SetQueueMode {
            steering,
            follow_up,
        };
        let both = all(Some(QueueMode::All), Some(QueueMode::All));
        for op in [
            both,
            all(None, Some(QueueMode::OneAtATime)),
            Op::SetAutoRetry { enabled: false },
        ] {
            choices.note(&op);
        }
        let queues = all(Some(QueueMode::All), Some(QueueMode::OneAtATime));
        let retry = Op::SetAutoRetry { enabled: false };
        assert_eq!(choices.requests(), [queues, retry]);
    }
}
