//! What the app does about the tree: opens it, hands it what the host says, and goes where it was told.

use std::path::PathBuf;
use std::time::Instant;

use super::compare::CompareView;
use super::{ID, TreeMemory, TreeView, compare};
use crate::activity::Work;
use crate::app::App;
use crate::overlays;
use osier_agent::{CompactionOutcome, CompactionReason, Event as AgentEvent, Severity};
use osier_base::path;
use osier_session::host::{Event, Op, TreeEvent, TreeOp};

impl App {
    /// Opens the tree of the session.
    pub(crate) fn open_tree(&mut self) {
        if self.tree.session != self.session.id {
            self.tree = TreeMemory {
                session: self.session.id.clone(),
                ..TreeMemory::default()
            };
        }
        self.layers.push_modal(ID, TreeView::new(self.tree.clone()));
    }

    /// The tree that is open.
    fn tree_view(&mut self) -> Option<&mut TreeView> {
        self.layers.get_mut(ID)?.as_any()?.downcast_mut()
    }

    /// The models that answer side by side.
    fn fan_view(&mut self) -> Option<&mut overlays::fan::FanView> {
        let view = self.layers.get_mut(overlays::fan::ID)?;
        view.as_any()?.downcast_mut()
    }

    /// What the open tree wants from the host.
    pub(crate) fn take_tree_ops(&mut self) -> Vec<Op> {
        self.tree_view().map(TreeView::take_ops).unwrap_or_default()
    }

    /// Lets the open tree see what was stored.
    pub(crate) fn refresh_tree(&mut self, event: &Event) {
        let stores = matches!(
            event,
            Event::MessageStored { .. }
                | Event::Tree(
                    TreeEvent::Moved { .. }
                        | TreeEvent::EntryLabelled { .. }
                        | TreeEvent::BranchHidden { .. }
                )
        );
        if stores && let Some(view) = self.tree_view() {
            view.refresh();
        }
    }

    pub(crate) fn follow_tree(&mut self, event: &TreeEvent, now: Instant) {
        match event {
            TreeEvent::Tree { outline, .. } => {
                if let Some(view) = self.tree_view() {
                    view.set_outline(outline);
                }
            }
            TreeEvent::Entries { entries, .. } => {
                if let Some(view) = self.tree_view() {
                    view.set_glimpses(entries);
                }
            }
            TreeEvent::TreeHits {
                request,
                entries,
                done,
            } => {
                if let Some(view) = self.tree_view() {
                    view.set_hits(*request, entries, *done);
                }
            }
            TreeEvent::BranchesCompared { comparison, .. } => {
                let cwd = PathBuf::from(&self.session.cwd);
                let view = CompareView::new((**comparison).clone(), cwd);
                self.layers.push_modal(compare::ID, view);
            }
            TreeEvent::Moved {
                messages, prompt, ..
            } => {
                self.activity.work = Work::Idle;
                self.footer.context_tokens = 0;
                for stored in messages {
                    self.show_tokens(&stored.message);
                }
                if let Some(prompt) = prompt {
                    self.editor.set_text(&prompt.text);
                }
                self.follow_move();
            }
            TreeEvent::Forked { prompt, .. } => {
                if let Some(prompt) = prompt {
                    self.editor.set_text(&prompt.text);
                }
                self.toast(
                    "this is a copy: the session it came from is as it was",
                    false,
                    now,
                );
            }
            TreeEvent::BranchSummaryStart => {
                self.activity.work = Work::Working { since: now };
                self.toast("summarising the branch that is left", false, now);
            }
            TreeEvent::BranchSummaryFailed { message } => {
                self.activity.work = Work::Idle;
                let text = format!("nothing moved: {message}");
                self.transcript.notice(Severity::Warning, &text);
            }
            event => self.follow_tree_news(event, now),
        }
    }

    /// What was asked about the tree, and what was done beside it.
    fn follow_tree_news(&mut self, event: &TreeEvent, now: Instant) {
        match event {
            TreeEvent::BranchHidden { hidden, .. } => {
                let text = if *hidden {
                    "deleted from sight; it can be brought back"
                } else {
                    "brought back"
                };
                self.toast(text, false, now);
            }
            TreeEvent::SummaryDrafted {
                summary,
                tokens_before,
                goes,
                stays,
            } => {
                let view =
                    overlays::summary::SummaryView::new(summary, (*tokens_before, *goes, *stays));
                self.layers.push_modal(overlays::summary::ID, view);
            }
            TreeEvent::AutoCompactChanged { enabled } => {
                let state = if *enabled { "on" } else { "off" };
                self.toast(&format!("automatic compaction is {state}"), false, now);
            }
            TreeEvent::Context { report, spending } => {
                let view = overlays::context::ContextView::new((**report).clone(), spending);
                self.layers.push(overlays::context::ID, view);
            }
            event => self.follow_fan(event, now),
        }
    }

    /// How several models at one prompt are coming along.
    fn follow_fan(&mut self, event: &TreeEvent, now: Instant) {
        match event {
            TreeEvent::FanStarted { models } => {
                self.activity.work = Work::Working { since: now };
                let view = overlays::fan::FanView::new(models);
                self.layers.push_modal(overlays::fan::ID, view);
            }
            TreeEvent::LaneUpdate { state } => {
                if let Some(view) = self.fan_view() {
                    view.set_lane(state);
                }
            }
            TreeEvent::FanEnded { lanes } => {
                // Its copies may be gone long after it has ended.
                if self.fan_view().is_none() {
                    return;
                }
                self.activity.work = Work::Idle;
                if lanes.is_empty() {
                    self.layers.remove(overlays::fan::ID);
                } else if let Some(view) = self.fan_view() {
                    for state in lanes {
                        view.set_lane(state);
                    }
                    view.end();
                }
            }
            TreeEvent::LaneTaken { files, kept, .. } => {
                self.layers.remove(overlays::fan::ID);
                let kept = kept.as_ref().map_or_else(String::new, |kept| {
                    format!(
                        "; what was overwritten is kept in {}",
                        path::below_home(kept)
                    )
                });
                let text = format!(
                    "taken: {} written{kept}",
                    overlays::restore::files(files.len())
                );
                self.transcript.notice(Severity::Info, &text);
            }
            TreeEvent::LaneConflicts { files, .. } => {
                if let Some(view) = self.fan_view() {
                    view.set_conflicts(files);
                }
            }
            _ => {}
        }
    }

    /// What a compaction shows while it runs and when it has ended.
    pub(crate) fn follow_compaction(&mut self, event: &AgentEvent, now: Instant) {
        match event {
            AgentEvent::CompactionStart { reason } => {
                if *reason == CompactionReason::Manual {
                    self.activity.work = Work::Working { since: now };
                }
                self.toast(
                    "summarising the earlier part of the conversation",
                    false,
                    now,
                );
            }
            AgentEvent::CompactionEnd { reason, outcome } => {
                if *reason == CompactionReason::Manual {
                    self.activity.work = Work::Idle;
                }
                self.tell_compaction(outcome, now);
            }
            _ => {}
        }
    }

    fn tell_compaction(&mut self, outcome: &CompactionOutcome, now: Instant) {
        match outcome {
            CompactionOutcome::Done {
                tokens_before,
                tokens_after,
                ..
            } => {
                self.footer.context_tokens = *tokens_after;
                let text = format!(
                    "compacted: about {tokens_before} tokens became {tokens_after}; the earlier messages are in the tree"
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

    /// Retries the last prompt on another model, chosen from the list.
    pub(crate) fn pick_retry_model(&mut self) {
        let picker = overlays::model::retry_picker(&self.models);
        self.layers.push(overlays::model::RETRY_ID, picker);
        self.ops.push(Op::ListModels);
    }

    /// Asks what fills the window.
    pub(crate) fn ask_context(&mut self) {
        self.ops.push(Op::Tree(TreeOp::GetContext));
    }
}
