//! Opens the tree, applies its events and moves in it.

use std::path::PathBuf;
use std::time::Instant;

use super::compare::CompareView;
use super::{ID, TreeMemory, TreeView, compare};
use crate::activity::Work;
use crate::app::App;
use crate::overlays::Overlays;
use crate::{compaction, context};
use osier_agent::Severity;
use osier_protocol::{Event, Op, TreeEvent, TreeOp};

/// The requests of the open tree to the host.
pub(crate) fn take_ops(overlays: &mut Overlays) -> Vec<Op> {
    view(overlays).map(TreeView::take_ops).unwrap_or_default()
}

/// Reads the open tree again when an event has changed it.
pub(crate) fn refresh(overlays: &mut Overlays, event: &Event) {
    let stores = matches!(
        event,
        Event::MessageStored { .. }
            | Event::Tree(
                TreeEvent::Moved { .. }
                    | TreeEvent::EntryLabelled { .. }
                    | TreeEvent::BranchHidden { .. }
            )
    );
    if stores && let Some(view) = view(overlays) {
        view.refresh();
    }
}

fn view(overlays: &mut Overlays) -> Option<&mut TreeView> {
    overlays.get_mut(ID)?.as_any()?.downcast_mut()
}

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

    pub(crate) fn on_tree(&mut self, event: &TreeEvent, now: Instant) {
        match event {
            TreeEvent::Tree { outline, .. } => {
                if let Some(view) = view(&mut self.layers) {
                    view.set_outline(outline);
                }
            }
            TreeEvent::Entries { entries, .. } => {
                if let Some(view) = view(&mut self.layers) {
                    view.set_glimpses(entries);
                }
            }
            TreeEvent::TreeHits {
                request,
                entries,
                done,
            } => {
                if let Some(view) = view(&mut self.layers) {
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
                self.check_files_after_move();
            }
            TreeEvent::Forked { prompt, .. } => {
                if let Some(prompt) = prompt {
                    self.editor.set_text(&prompt.text);
                }
                self.toast(
                    "new session with a copy of the branch; the original is unchanged",
                    false,
                    now,
                );
            }
            TreeEvent::BranchSummaryStart => {
                self.activity.work = Work::Working { since: now };
                self.toast("summarizing the previous branch", false, now);
            }
            TreeEvent::BranchSummaryFailed { message } => {
                self.activity.work = Work::Idle;
                let text = format!("not moved: {message}");
                self.transcript.notice(Severity::Warning, &text);
            }
            event => self.on_tree_note(event, now),
        }
    }

    /// What was asked about the tree, and what was done beside it.
    fn on_tree_note(&mut self, event: &TreeEvent, now: Instant) {
        match event {
            TreeEvent::BranchHidden { hidden, .. } => {
                let text = if *hidden {
                    "hidden; it can be restored"
                } else {
                    "restored"
                };
                self.toast(text, false, now);
            }
            TreeEvent::SummaryDrafted {
                summary,
                tokens_before,
                goes,
                stays,
            } => {
                compaction::open_summary(
                    summary,
                    (*tokens_before, *goes, *stays),
                    &mut self.layers,
                );
            }
            TreeEvent::AutoCompactChanged { enabled } => {
                let state = if *enabled { "on" } else { "off" };
                self.toast(&format!("automatic compaction is {state}"), false, now);
            }
            TreeEvent::Context { report, spending } => {
                context::open(report, spending, &mut self.layers);
            }
            event => self.on_fan(event, now),
        }
    }

    /// Moves in the tree; with `files`, their changes follow for review, else a note when they differ.
    pub(crate) fn move_in_tree(&mut self, op: TreeOp, files: bool) {
        self.move_files = Some(files);
        self.ops.push(Op::Tree(op));
    }
}
