//! Compaction: its progress, its result, and the summary before it is stored.

mod view;

use std::time::Instant;

use crate::activity::Work;
use crate::app::App;
use crate::overlays::Overlays;
use osier_agent::{CompactionOutcome, CompactionReason, Event as AgentEvent, Severity};
use view::SummaryView;

/// Opens a drafted summary. `numbers` are the tokens before, and the messages that go and stay.
pub(crate) fn open_summary(summary: &str, numbers: (u64, usize, usize), overlays: &mut Overlays) {
    overlays.push_modal(view::ID, SummaryView::new(summary, numbers));
}

impl App {
    /// Shows that a compaction runs, and its result.
    pub(crate) fn on_compaction(&mut self, event: &AgentEvent, now: Instant) {
        match event {
            AgentEvent::CompactionStart { reason } => {
                if *reason == CompactionReason::Manual {
                    self.activity.work = Work::Working { since: now };
                }
                self.toast("summarizing the earlier conversation", false, now);
            }
            AgentEvent::CompactionEnd { reason, outcome } => {
                if *reason == CompactionReason::Manual {
                    self.activity.work = Work::Idle;
                }
                self.show_compaction(outcome, now);
            }
            _ => {}
        }
    }

    fn show_compaction(&mut self, outcome: &CompactionOutcome, now: Instant) {
        match outcome {
            CompactionOutcome::Done {
                tokens_before,
                tokens_after,
                ..
            } => {
                self.footer.context_tokens = *tokens_after;
                let text = format!(
                    "compacted about {tokens_before} tokens to {tokens_after}; the earlier messages stay in the tree"
                );
                self.transcript.notice(Severity::Info, &text);
            }
            CompactionOutcome::Drafted => {}
            CompactionOutcome::Interrupted => self.toast("not compacted: interrupted", false, now),
            CompactionOutcome::Refused { message } => self.toast(message, true, now),
            CompactionOutcome::Failed { message } => {
                let text = format!("not compacted: {message}");
                self.transcript.notice(Severity::Error, &text);
            }
        }
    }
}
