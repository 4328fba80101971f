//! What the app does about the tree: opens it, hands it what the host says, and goes where it was told.

use std::path::PathBuf;
use std::time::Instant;

use super::compare::CompareView;
use super::{ID, TreeMemory, TreeView, compare};
use crate::activity::Work;
use crate::app::App;
use crate::{compaction, context};
use osier_agent::Severity;
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

    pub(crate) fn on_tree(&mut self, event: &TreeEvent, now: Instant) {
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
                self.check_files_after_move();
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
            event => self.on_tree_note(event, now),
        }
    }

    /// What was asked about the tree, and what was done beside it.
    fn on_tree_note(&mut self, event: &TreeEvent, now: Instant) {
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
