//! The request that sends a prompt, for modes without a person: a prompt that starts no run ends it, too.

use osier_agent::{RunOutcome, Severity};
use osier_protocol::Event;

/// A prompt that was sent.
#[derive(Debug)]
pub(super) struct PromptRequest {
    number: u64,
    /// An error was reported.
    failed: bool,
}

impl PromptRequest {
    pub(super) fn new(number: u64) -> Self {
        let failed = false;
        Self { number, failed }
    }

    /// The outcome of a prompt that starts no run: it was a command, or it was not sent.
    pub(super) fn on_event(&mut self, event: &Event) -> Option<RunOutcome> {
        match event {
            Event::Notice {
                severity: Severity::Error,
                request,
                ..
            } if *request == Some(self.number) => self.failed = true,
            Event::OpEnded {
                request,
                with_agent: false,
            } if *request == self.number => {
                return Some(if self.failed {
                    let message = "the prompt was not sent".to_owned();
                    RunOutcome::Stopped { message }
                } else {
                    RunOutcome::Completed
                });
            }
            _ => {}
        }
        None
    }

    /// The event without the number, which only this process knows; `None` if nothing is left of it.
    pub(super) fn without_number(&self, mut event: Event) -> Option<Event> {
        match &mut event {
            Event::OpEvent { .. } => return None,
            Event::OpEnded { request, .. } if *request == self.number => return None,
            Event::Notice { request, .. } if *request == Some(self.number) => *request = None,
            _ => {}
        }
        Some(event)
    }
}
