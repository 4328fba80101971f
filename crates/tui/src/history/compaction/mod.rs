//! Compaction: its progress, its result, and the summary before it is stored.

mod view;

use std::time::Instant;

use crate::actions::{Outbox, Toast};
use crate::conversation::Transcript;
use crate::drawing::Overlays;
use crate::status::{Activity, Footer};
use osier_agent::{CompactionOutcome, CompactionReason, Event as AgentEvent, Severity};
use osier_protocol::TreeEvent;
use view::{SummaryNumbers, SummaryView};

/// Opens a drafted summary, and reports whether the conversation is compacted automatically.
pub(crate) fn on_tree_event(event: &TreeEvent, overlays: &mut Overlays, outbox: &mut Outbox) {
    match event {
        TreeEvent::SummaryDrafted {
            summary,
            tokens_before,
            goes,
            stays,
        } => {
            let numbers = SummaryNumbers {
                tokens_before: *tokens_before,
                summarized: *goes,
                unchanged: *stays,
            };
            overlays.push_modal(view::ID, SummaryView::new(summary, numbers));
        }
        TreeEvent::AutoCompactChanged { enabled } => {
            let state = if *enabled { "on" } else { "off" };
            outbox.push(Toast::info(format!("automatic compaction is {state}")));
        }
        _ => {}
    }
}

/// Shows that a compaction runs, and its result.
pub(crate) fn on_event(
    event: &AgentEvent,
    transcript: &mut Transcript,
    activity: &mut Activity,
    footer: &mut Footer,
    outbox: &mut Outbox,
    now: Instant,
) {
    match event {
        AgentEvent::CompactionStart { reason } => {
            if *reason == CompactionReason::Manual {
                activity.begin(now);
            }
            activity.begin_task("summarizing the earlier conversation");
        }
        AgentEvent::CompactionEnd { reason, outcome } => {
            activity.end_task();
            if *reason == CompactionReason::Manual {
                activity.end();
            }
            show_outcome(outcome, transcript, footer, outbox);
        }
        _ => {}
    }
}

fn show_outcome(
    outcome: &CompactionOutcome,
    transcript: &mut Transcript,
    footer: &mut Footer,
    outbox: &mut Outbox,
) {
    match outcome {
        CompactionOutcome::Done {
            tokens_before,
            tokens_after,
            ..
        } => {
            footer.context_tokens = *tokens_after;
            footer.cache.compacted();
            let text = format!(
                "compacted about {tokens_before} tokens to {tokens_after}; the earlier messages stay in the tree"
            );
            transcript.notice(Severity::Info, &text);
        }
        CompactionOutcome::Drafted => {}
        CompactionOutcome::Interrupted => outbox.push(Toast::info("not compacted: interrupted")),
        CompactionOutcome::Refused { message } => outbox.push(Toast::error(message)),
        CompactionOutcome::Failed { message } => {
            let text = format!("not compacted: {message}");
            transcript.notice(Severity::Error, &text);
        }
    }
}
