//! Pending prompts: sent from here and not yet in the conversation. When they cannot be stored, they return to
//! the editor.

use super::queue::Queue;
use osier_agent::UserMessage;

/// The prompts, oldest first.
#[derive(Debug, Default)]
pub(super) struct PendingPrompts(Vec<UserMessage>);

impl PendingPrompts {
    pub(super) fn add(&mut self, prompt: UserMessage) {
        self.0.push(prompt);
    }

    /// A prompt is in the conversation. If its text was changed on the way, the oldest pending
    /// prompt is removed.
    pub(super) fn stored(&mut self, prompt: &UserMessage) {
        let place = self.0.iter().position(|sent| sent.text == prompt.text);
        if !self.0.is_empty() {
            self.0.remove(place.unwrap_or_default());
        }
    }

    /// Nothing runs: removes and returns the prompts that neither arrived nor wait in the queues.
    pub(super) fn take_lost(&mut self, queue: &Queue) -> Vec<UserMessage> {
        let waits = |sent: &UserMessage| queue.contains(&sent.text);
        let (kept, lost) = std::mem::take(&mut self.0).into_iter().partition(waits);
        self.0 = kept;
        lost
    }

    /// The queue was recalled or the session was replaced.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
