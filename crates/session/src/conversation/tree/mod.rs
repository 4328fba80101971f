//! The tree of the open session: reading and searching it, moving to another entry, and compaction.
//!
//! Reads run in the background. Changes run in the agent's task between runs (`moves`).

mod moves;
mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::conversation::compaction::{Compactor, Draft};
use crate::cx::{store_entry, when_indexed};
use crate::emitter::{Callback, Emitter};
use crate::files::checkpoints::SessionFiles;
use moves::{Compaction, Deletion, Move, StoreDraft};
pub(crate) use moves::{LeftBranch, Moved, Then, TreeOutcome};
use osier_agent::{Agent, Severity};
use osier_protocol::{EntryKind, Event, TreeEvent, TreeOp};
use osier_store::{EntryIndex, SessionStore, TreeQuery};
use target::Step;
pub(crate) use target::Target;

/// The tree of an open session. Dropping it cancels its search.
#[derive(Debug)]
pub(crate) struct TreeState {
    store: SessionStore,
    agent: Agent,
    pub(crate) compactor: Compactor,
    /// A summary that the user reviews.
    draft: Option<Draft>,
    pub(crate) is_compacting: bool,
    /// Cancels the search that runs.
    stop: Arc<AtomicBool>,
}

/// The parts of the session that requests about the tree use.
#[derive(Debug)]
pub(crate) struct TreeContext<'a> {
    pub emitter: &'a Emitter,
    pub done: Callback<TreeOutcome>,
    pub files: Option<&'a SessionFiles>,
    pub cwd: &'a Path,
    /// The folder of the copies of lanes.
    pub fans: &'a Path,
}

impl TreeState {
    pub(crate) fn new(store: SessionStore, agent: Agent, compactor: Compactor) -> Self {
        Self {
            store,
            agent,
            compactor,
            draft: None,
            is_compacting: false,
            stop: Arc::default(),
        }
    }

    pub(crate) fn on_event(&mut self, event: &Event) {
        use osier_agent::Event as AgentEvent;
        let Event::Agent(event) = event else { return };
        match event {
            AgentEvent::CompactionStart { .. } => self.is_compacting = true,
            AgentEvent::CompactionEnd { .. } | AgentEvent::AgentSettled { .. } => {
                self.is_compacting = false;
            }
            _ => {}
        }
    }

    /// Handles a request. Returns those that concern more than the tree.
    pub(crate) async fn apply(&mut self, op: TreeOp, cx: TreeContext<'_>) -> Option<TreeOp> {
        match op {
            TreeOp::ReadTree { .. } | TreeOp::ReadEntries { .. } | TreeOp::ReadLog { .. } => {
                self.read(op, cx.emitter);
                None
            }
            TreeOp::SearchTree { request, query } => {
                self.search(request, &query, cx.emitter);
                None
            }
            TreeOp::CompareBranches {
                request,
                left,
                right,
            } => {
                self.compare(request, left, right, &cx);
                None
            }
            op => self.change(op, cx).await,
        }
    }

    /// Answers a request that only reads the tree.
    fn read(&self, op: TreeOp, emitter: &Emitter) {
        match op {
            TreeOp::ReadTree { request, since } => self.answer(emitter, move |index| {
                let outline = Arc::new(index.outline(since));
                TreeEvent::Tree { request, outline }
            }),
            TreeOp::ReadEntries {
                request,
                entry_ids,
                bytes,
            } => self.answer(emitter, move |index| {
                let entries = index.glimpses(&entry_ids, bytes);
                TreeEvent::Entries { request, entries }
            }),
            TreeOp::ReadLog {
                request,
                since,
                limit,
            } => self.answer(emitter, move |index| {
                let found = index.entries_after(since.as_deref(), limit);
                let is_found = found.is_some();
                let (entries, more) = found.unwrap_or_default();
                TreeEvent::StoredEntries {
                    request,
                    found: is_found,
                    entries,
                    leaf: index.leaf(),
                    more,
                }
            }),
            _ => {}
        }
    }

    /// Handles a request that changes the tree. Returns those that concern more than the tree.
    async fn change(&mut self, op: TreeOp, cx: TreeContext<'_>) -> Option<TreeOp> {
        let emitter = cx.emitter;
        match op {
            TreeOp::MoveTo {
                entry_id,
                last_prompt,
                summarize,
                instructions,
                with_files,
            } => {
                let left = if summarize {
                    LeftBranch::Summarized(instructions)
                } else {
                    LeftBranch::Kept
                };
                let target = if last_prompt {
                    Target::LastPrompt
                } else {
                    Target::Before(entry_id)
                };
                self.go_with_files(target, left, Then::Nothing, with_files, &cx);
            }
            TreeOp::Branch { entry_id } => {
                self.go(
                    Target::After(entry_id),
                    LeftBranch::Kept,
                    Then::Nothing,
                    &cx,
                );
            }
            TreeOp::RetryPrompt { model } => {
                self.go(
                    Target::LastPrompt,
                    LeftBranch::Kept,
                    Then::Retry(model),
                    &cx,
                );
            }
            TreeOp::UndoPrompt { with_files } => self.undo(with_files, &cx),
            TreeOp::RedoPrompt { with_files } => self.step(Step::Redo, with_files, &cx),
            TreeOp::GoBack => self.step(Step::Back, false, &cx),
            TreeOp::GoForward => self.step(Step::Forward, false, &cx),
            TreeOp::LabelEntry { entry_id, label } => self.label(entry_id, &label, emitter).await,
            TreeOp::HideBranch { entry_id, hidden } => self.hide(entry_id, hidden, emitter).await,
            TreeOp::FoldBranch { entry_id, folded } => self.fold(entry_id, folded, emitter).await,
            TreeOp::DeleteBranch { entry_id, preview } => {
                self.agent.change(Box::new(Deletion {
                    store: self.store.clone(),
                    entry_id,
                    preview,
                    emitter: emitter.clone(),
                    done: cx.done,
                }));
            }
            TreeOp::Compact {
                instructions,
                review,
                up_to,
            } => {
                self.draft = None;
                emitter.passed_to_agent();
                self.agent.change(Box::new(Compaction {
                    compactor: self.compactor.clone(),
                    instructions: instructions.filter(|text| !text.trim().is_empty()),
                    review,
                    up_to,
                    done: cx.done,
                }));
            }
            TreeOp::StoreSummary { summary } => self.store_summary(summary, cx),
            TreeOp::DropSummary => self.draft = None,
            TreeOp::SetAutoCompact { enabled } => {
                self.compactor.set_automatic(enabled);
                publish(emitter, TreeEvent::AutoCompactChanged { enabled });
            }
            op => return Some(op),
        }
        None
    }

    /// Has the agent move to another entry.
    pub(crate) fn go(&self, target: Target, left: LeftBranch, then: Then, cx: &TreeContext<'_>) {
        self.go_with_files(target, left, then, false, cx);
    }

    /// Like `go`; `with_files` refuses the move if the files of the target cannot be restored.
    fn go_with_files(
        &self,
        target: Target,
        left: LeftBranch,
        then: Then,
        with_files: bool,
        cx: &TreeContext<'_>,
    ) {
        self.agent.change(Box::new(Move {
            store: self.store.clone(),
            target,
            left,
            then,
            with_files,
            files: cx.files.cloned(),
            emitter: cx.emitter.clone(),
            compactor: self.compactor.clone(),
            done: cx.done.clone(),
        }));
    }

    /// Publishes a summary, which waits for the user.
    pub(crate) fn drafted(&mut self, draft: Draft, emitter: &Emitter) {
        let event = TreeEvent::SummaryDrafted {
            summary: draft.summary.clone(),
            tokens_before: draft.tokens_before,
            goes: draft.goes,
            stays: draft.stays,
        };
        self.draft = Some(draft);
        publish(emitter, event);
    }

    fn undo(&self, with_files: bool, cx: &TreeContext<'_>) {
        let (target, left) = (Target::LastPrompt, LeftBranch::Kept);
        self.go_with_files(target, left, Then::Undone, with_files, cx);
    }

    /// A step in the history of positions, which the moves that are still being made change.
    fn step(&self, step: Step, with_files: bool, cx: &TreeContext<'_>) {
        let (target, left) = (Target::Position(step), LeftBranch::Kept);
        self.go_with_files(target, left, Then::Nothing, with_files, cx);
    }

    fn store_summary(&mut self, summary: String, cx: TreeContext<'_>) {
        match self.draft.take() {
            Some(mut draft) if !summary.trim().is_empty() => {
                draft.summary = summary;
                cx.emitter.passed_to_agent();
                self.agent.change(Box::new(StoreDraft {
                    compactor: self.compactor.clone(),
                    draft,
                    done: cx.done,
                }));
            }
            Some(_) => cx
                .emitter
                .notice(Severity::Warning, "an empty summary is not stored"),
            None => cx.emitter.notice(
                Severity::Warning,
                "no summary to store; `/compact` creates one",
            ),
        }
    }

    /// Answers from the index, in the background.
    fn answer(
        &self,
        emitter: &Emitter,
        answer: impl FnOnce(&EntryIndex) -> TreeEvent + Send + 'static,
    ) {
        let emitter = emitter.clone();
        when_indexed(&self.store, move |store| {
            emitter.post(Event::Tree(answer(store.index())));
        });
    }

    fn compare(
        &self,
        request: u64,
        left: Option<String>,
        right: Option<String>,
        cx: &TreeContext<'_>,
    ) {
        let (files, fans, cwd) = (cx.files.cloned(), cx.fans.to_owned(), cx.cwd.to_owned());
        // A lane has recorded paths in its copy, which may be deleted.
        let name = move |path: &str| {
            let own = original(Path::new(path), &fans, &cwd)?;
            Some(own.to_string_lossy().into_owned())
        };
        self.answer(cx.emitter, move |index| {
            let leaf = index.leaf();
            let left = left.or_else(|| leaf.clone());
            let right = right.or(leaf);
            let mut comparison = index.compare(left.as_deref(), right.as_deref());
            for facts in [&mut comparison.left, &mut comparison.right] {
                let recorded = std::mem::take(&mut facts.files).into_iter();
                facts.files = recorded
                    .map(|(path, changes)| (name(&path).unwrap_or(path), changes))
                    .collect();
            }
            if let Some(files) = files {
                files.complete(&mut comparison);
            }
            TreeEvent::BranchesCompared {
                request,
                comparison: Box::new(comparison),
            }
        });
    }

    fn search(&mut self, request: u64, query: &str, emitter: &Emitter) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop = Arc::default();
        let Some(mut query) = TreeQuery::new(query) else {
            return;
        };
        let (store, stop) = (self.store.clone(), Arc::clone(&self.stop));
        let emitter = emitter.clone();
        osier_base::task::spawn_blocking(move || {
            let post = |entries: Vec<u32>, done: bool| {
                emitter.post(Event::Tree(TreeEvent::TreeHits {
                    request,
                    entries,
                    done,
                }));
            };
            store
                .index()
                .search_tree(&mut query, &stop, &mut |entries| post(entries, false));
            if !stop.load(Ordering::Relaxed) {
                post(Vec::new(), true);
            }
        });
    }

    async fn label(&self, entry_id: String, label: &str, emitter: &Emitter) {
        let label = Some(label.trim().to_owned()).filter(|label| !label.is_empty());
        let kind = EntryKind::Label {
            target_id: entry_id.clone(),
            label: label.clone(),
        };
        if self.has_entry(&entry_id, emitter) && store_entry(&self.store, kind, emitter).await {
            publish(emitter, TreeEvent::EntryLabelled { entry_id, label });
        }
    }

    async fn hide(&self, entry_id: String, hidden: bool, emitter: &Emitter) {
        let is_active = self.store.index().read(|tree| {
            let leaf = tree.leaf();
            tree.common_ancestor(leaf.as_deref(), Some(&entry_id)) == Some(entry_id.clone())
        });
        if hidden && is_active {
            emitter.notice(
                Severity::Warning,
                "cannot delete the current branch: go to another branch first",
            );
            return;
        }
        let kind = EntryKind::Hide {
            target_id: entry_id.clone(),
            hidden,
        };
        if self.has_entry(&entry_id, emitter) && store_entry(&self.store, kind, emitter).await {
            publish(emitter, TreeEvent::BranchHidden { entry_id, hidden });
        }
    }

    async fn fold(&self, entry_id: String, folded: bool, emitter: &Emitter) {
        let kind = EntryKind::Fold {
            target_id: entry_id.clone(),
            folded,
        };
        if self.has_entry(&entry_id, emitter) && store_entry(&self.store, kind, emitter).await {
            publish(emitter, TreeEvent::BranchFolded { entry_id, folded });
        }
    }

    /// Whether the session has this entry. Publishes an error if not.
    fn has_entry(&self, entry_id: &str, emitter: &Emitter) -> bool {
        let known = self.store.index().read(|tree| tree.has_entry(entry_id));
        if !known {
            let text = format!("no entry `{entry_id}` in this session");
            emitter.notice(Severity::Error, text);
        }
        known
    }
}

impl Drop for TreeState {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The original of a file in a copy below `parent`, relative to the working directory `cwd` if it is below it. `None`
/// for a file that is in no copy.
fn original(path: &Path, parent: &Path, cwd: &Path) -> Option<PathBuf> {
    let mut rest = path.strip_prefix(parent).ok()?.components();
    let (lane, copy) = (rest.next()?.as_os_str(), rest.next()?.as_os_str());
    // Earlier versions named every copy `files`.
    if copy != lane && copy != "files" {
        return None;
    }
    let mut above = cwd.ancestors();
    let top = above.find(|folder| folder.join(".git").exists());
    let there = top.unwrap_or(cwd).join(rest.as_path());
    let inside = there.strip_prefix(cwd).map(Path::to_owned);
    Some(inside.unwrap_or(there))
}

fn publish(emitter: &Emitter, event: TreeEvent) {
    emitter.publish(Event::Tree(event));
}
