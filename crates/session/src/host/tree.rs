//! The tree of the open session: what is asked about it is answered beside the host's task, what changes
//! it goes through the agent's own task (`moves`), so that it never meets a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::event::Event;
use super::fan::EndedFan;
use super::hooks::Source;
use super::host::{Job, Task};
use super::moves::{Compaction, Leave, Move, Moved, Place, StoreDraft, Then};
use super::op::NO_SESSION;
use super::opening::copy;
use super::tree_op::{TreeEvent, TreeOp};
use super::usage::ContextFound;
use crate::compaction::{Compactor, Draft};
use crate::fan::original;
use crate::host::SessionChoice;
use osier_agent::{AccountingEntry, AgentMessage, Severity, UserMessage};
use osier_llm::ThinkingLevel;
use osier_store::{EntryKind, SessionError, SessionIndex, State, Tag, TreeQuery};

/// Why nothing is changed while the agent works.
pub(super) const BUSY: &str = "the agent is working: stop it with esc first";

/// What the host remembers of an open session's tree. Dropping it ends its search.
#[derive(Debug)]
pub(super) struct TreeState {
    pub compactor: Compactor,
    /// Model and level of the session before any was chosen in it.
    pub first: (Option<(String, String)>, ThinkingLevel),
    /// A summary that waits for the person's word.
    pub draft: Option<Draft>,
    /// Where undone prompts were left: the leaf after undoing, and the one before.
    undone: Vec<(Option<String>, String)>,
    /// Ends the search that runs.
    stop: Arc<AtomicBool>,
}

/// What comes back from work on the tree.
#[derive(Debug)]
pub(super) enum TreeJob {
    Moved(Box<Moved>),
    Drafted(Box<Draft>),
    Fanned(Box<EndedFan>),
    /// A lane has used something.
    Spent(AccountingEntry),
    Context(Box<ContextFound>),
    Refused,
}

impl TreeState {
    pub(super) fn new(
        compactor: Compactor,
        first: (Option<(String, String)>, ThinkingLevel),
    ) -> Self {
        Self {
            compactor,
            first,
            draft: None,
            undone: Vec::new(),
            stop: Arc::default(),
        }
    }
}

impl Drop for TreeState {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Task {
    pub(super) async fn apply_tree(&mut self, op: TreeOp) {
        if self.session.is_none() {
            self.notice(Severity::Error, NO_SESSION);
            return;
        }
        match op {
            TreeOp::ReadTree { request, since } => self.answer_tree(move |index| {
                let outline = Arc::new(index.outline(since));
                TreeEvent::Tree { request, outline }
            }),
            TreeOp::ReadEntries {
                request,
                entry_ids,
                bytes,
            } => self.answer_tree(move |index| {
                let entries = index.glimpses(&entry_ids, bytes);
                TreeEvent::Entries { request, entries }
            }),
            TreeOp::ReadLog {
                request,
                since,
                limit,
            } => self.answer_tree(move |index| {
                let found = index.entries_behind(since.as_deref(), limit);
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
            TreeOp::SearchTree { request, query } => self.search_tree(request, &query),
            TreeOp::MoveTo {
                entry_id,
                summarize,
                instructions,
            } => {
                let leave = if summarize {
                    Leave::Summarized(instructions)
                } else {
                    Leave::Silently
                };
                self.go(Place::Before(entry_id), leave, Then::Nothing);
            }
            TreeOp::Branch { entry_id } => {
                self.go(Place::Behind(entry_id), Leave::Silently, Then::Nothing);
            }
            TreeOp::Fork { entry_id: None } => self.fork(Place::LastPrompt).await,
            TreeOp::Fork { entry_id } => self.fork(Place::Before(entry_id)).await,
            TreeOp::Clone => self.fork(Place::Here).await,
            TreeOp::LabelEntry { entry_id, label } => self.label(entry_id, &label).await,
            TreeOp::HideBranch { entry_id, hidden } => self.hide(entry_id, hidden).await,
            TreeOp::CompareBranches {
                request,
                left,
                right,
            } => self.compare(request, (left, right)),
            TreeOp::RetryPrompt { model } => {
                self.go(Place::LastPrompt, Leave::Silently, Then::Retry(model));
            }
            TreeOp::UndoPrompt => self.go(Place::LastPrompt, Leave::Silently, Then::Undone),
            TreeOp::RedoPrompt => self.redo(),
            TreeOp::FanOut { models, prompt } => self.fan_out(&models, prompt).await,
            TreeOp::TakeLane { lane, force } => self.take_lane(lane, force).await,
            TreeOp::EndFan => self.drop_fan().await,
            op => self.apply_compaction(op),
        }
    }

    fn compare(&self, request: u64, (left, right): (Option<String>, Option<String>)) {
        let files = self.session.as_ref().and_then(|open| open.files.clone());
        let (fans, cwd) = (self.setup.folders.data.join("fans"), self.setup.cwd.clone());
        // A lane's tools have told the paths of its copy, which is gone.
        let name = move |path: &str| {
            let own = original(Path::new(path), &fans, &cwd)?;
            Some(own.to_string_lossy().into_owned())
        };
        self.answer_tree(move |index| {
            let leaf = index.leaf();
            let left = left.or_else(|| leaf.clone());
            let right = right.or(leaf);
            let mut comparison = index.compare(left.as_deref(), right.as_deref());
            for facts in [&mut comparison.left, &mut comparison.right] {
                let told = std::mem::take(&mut facts.files).into_iter();
                facts.files = told
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

    fn apply_compaction(&mut self, op: TreeOp) {
        let Some(session) = &mut self.session else {
            return;
        };
        let compactor = session.tree.compactor.clone();
        match op {
            TreeOp::Compact {
                instructions,
                review,
            } => {
                let jobs = self.jobs.clone();
                session.tree.draft = None;
                jobs.passed_on();
                session.agent.change(Box::new(Compaction {
                    compactor,
                    instructions: instructions.filter(|text| !text.trim().is_empty()),
                    review,
                    jobs,
                }));
            }
            TreeOp::StoreSummary { summary } => match session.tree.draft.take() {
                Some(draft) if !summary.trim().is_empty() => {
                    let mut draft = draft;
                    draft.summary = summary;
                    let jobs = self.jobs.clone();
                    jobs.passed_on();
                    session.agent.change(Box::new(StoreDraft {
                        compactor,
                        draft,
                        jobs,
                    }));
                }
                Some(_) => self.notice(Severity::Warning, "an empty summary is not stored"),
                None => self.notice(Severity::Warning, "no summary waits to be stored"),
            },
            TreeOp::DropSummary => session.tree.draft = None,
            TreeOp::SetAutoCompact { enabled } => {
                compactor.set_automatic(enabled);
                self.tell_tree(TreeEvent::AutoCompactChanged { enabled });
            }
            TreeOp::GetContext => self.tell_context(),
            _ => {}
        }
    }

    fn tell_tree(&self, event: TreeEvent) {
        self.publish(Event::Tree(event));
    }

    /// Answers from the index, off the host's task.
    fn answer_tree(&self, answer: impl FnOnce(&SessionIndex) -> TreeEvent + Send + 'static) {
        let Some(session) = &self.session else { return };
        let (store, jobs) = (session.store.clone(), self.jobs.clone());
        tokio::spawn(async move {
            // A file that cannot be read any more answers with what is known of it.
            let _ = store.findings().await;
            tokio::task::spawn_blocking(move || {
                let event = Event::Tree(answer(store.index()));
                let _ = jobs.send(Job::Publish(Box::new(event)));
            });
        });
    }

    fn search_tree(&mut self, request: u64, query: &str) {
        let Some(session) = &mut self.session else {
            return;
        };
        session.tree.stop.store(true, Ordering::Relaxed);
        session.tree.stop = Arc::default();
        let Some(mut query) = TreeQuery::new(query) else {
            return;
        };
        let stop = Arc::clone(&session.tree.stop);
        let (store, jobs) = (session.store.clone(), self.jobs.clone());
        tokio::task::spawn_blocking(move || {
            let tell = |entries: Vec<u32>, done: bool| {
                let event = TreeEvent::TreeHits {
                    request,
                    entries,
                    done,
                };
                let _ = jobs.send(Job::Publish(Box::new(Event::Tree(event))));
            };
            store
                .index()
                .search_tree(&mut query, &stop, &mut |entries| tell(entries, false));
            if !stop.load(Ordering::Relaxed) {
                tell(Vec::new(), true);
            }
        });
    }

    /// Has the agent go on elsewhere.
    pub(super) fn go(&self, place: Place, leave: Leave, then: Then) {
        let Some(session) = &self.session else { return };
        session.agent.change(Box::new(Move {
            store: session.store.clone(),
            place,
            leave,
            then,
            jobs: self.jobs.clone(),
        }));
    }

    fn redo(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        let here = session.store.index().leaf();
        match session.tree.undone.pop() {
            Some((at, back)) if at == here => {
                self.go(Place::Behind(Some(back)), Leave::Silently, Then::Redone);
            }
            _ => {
                session.tree.undone.clear();
                self.notice(Severity::Info, "there is nothing to redo");
            }
        }
    }

    pub(super) async fn finish_tree(&mut self, job: TreeJob) {
        match job {
            TreeJob::Moved(moved) => self.moved(*moved).await,
            TreeJob::Spent(entry) => self.spending.add(&entry),
            TreeJob::Context(found) => self.context_found(*found),
            TreeJob::Fanned(fan) => self.fanned(*fan),
            TreeJob::Refused => self.notice(Severity::Warning, BUSY),
            TreeJob::Drafted(draft) => {
                let event = TreeEvent::SummaryDrafted {
                    summary: draft.summary.clone(),
                    tokens_before: draft.tokens_before,
                    goes: draft.goes,
                    stays: draft.stays,
                };
                if let Some(session) = &mut self.session {
                    session.tree.draft = Some(*draft);
                    self.tell_tree(event);
                }
            }
        }
    }

    /// The conversation goes on elsewhere: with the model and the level of that place.
    async fn moved(&mut self, moved: Moved) {
        let Some(session) = &mut self.session else {
            return;
        };
        if session.store.id() != moved.session {
            return;
        }
        match (&moved.then, &moved.from) {
            (Then::Undone, Some(from)) => {
                session.tree.undone.push((moved.leaf.clone(), from.clone()));
            }
            (Then::Redone, _) => {}
            _ => session.tree.undone.clear(),
        }
        let first = session.tree.first.clone();
        self.tell_tree(TreeEvent::Moved {
            from: moved.from,
            leaf: moved.leaf,
            messages: moved.page.messages,
            at_start: moved.page.at_start,
            count: moved.count,
            prompt: match moved.then {
                Then::Retry(_) => None,
                _ => moved.prompt.clone(),
            },
        });
        self.restore(moved.state, first);
        self.find_todo();
        match (moved.then, moved.prompt) {
            (Then::Retry(model), Some(prompt)) => self.retry(model, prompt).await,
            (Then::Taken(lane, files, kept), _) => {
                self.tell_tree(TreeEvent::LaneTaken { lane, files, kept });
            }
            _ => {}
        }
    }

    fn restore(&mut self, state: State, first: (Option<(String, String)>, ThinkingLevel)) {
        if let Some((provider, id)) = state.model.or(first.0) {
            self.models.choose_stored(&provider, &id);
        }
        let level = state.thinking_level.unwrap_or(first.1);
        self.level = level;
        let models = self.models.call_order();
        let models = models.iter().map(|model| (**model).clone()).collect();
        if let Some(session) = &self.session {
            session.agent.send(osier_agent::Op::SetModels { models });
            session
                .agent
                .send(osier_agent::Op::SetThinkingLevel { level });
        }
        self.publish_selected(level);
    }

    async fn retry(&mut self, model: Option<String>, prompt: UserMessage) {
        if let Some(reference) = model {
            match self.models.find(&reference) {
                Ok((model, level)) => self.choose(model, level).await,
                Err(error) => return self.notice(Severity::Error, error.to_string()),
            }
        }
        if let Some(session) = &self.session {
            session.agent.send(osier_agent::Op::Prompt {
                text: prompt.text,
                attachments: prompt.attachments,
            });
        }
    }

    async fn label(&mut self, entry_id: String, label: &str) {
        let label = Some(label.trim().to_owned()).filter(|label| !label.is_empty());
        let kind = EntryKind::Label {
            target_id: entry_id.clone(),
            label: label.clone(),
        };
        if self.knows(&entry_id) && self.store(kind).await {
            self.tell_tree(TreeEvent::EntryLabelled { entry_id, label });
        }
    }

    async fn hide(&mut self, entry_id: String, hidden: bool) {
        let Some(session) = &self.session else { return };
        let index = session.store.index();
        let is_active = index.look(|tree| {
            let leaf = tree.leaf();
            tree.common_ancestor(leaf.as_deref(), Some(&entry_id)) == Some(entry_id.clone())
        });
        if hidden && is_active {
            self.notice(
                Severity::Warning,
                "this is the branch you are on: go to another one first, then delete it",
            );
            return;
        }
        let kind = EntryKind::Hide {
            target_id: entry_id.clone(),
            hidden,
        };
        if self.knows(&entry_id) && self.store(kind).await {
            self.tell_tree(TreeEvent::BranchHidden { entry_id, hidden });
        }
    }

    /// Whether the session has this entry; says so when it has not.
    fn knows(&self, entry_id: &str) -> bool {
        let known = self
            .session
            .as_ref()
            .is_some_and(|session| session.store.index().look(|tree| tree.has_entry(entry_id)));
        if !known {
            let text = format!("there is no entry `{entry_id}` in this session");
            self.notice(Severity::Error, text);
        }
        known
    }

    /// Leaves for a copy of the path to a place.
    async fn fork(&mut self, place: Place) {
        let Some(session) = &self.session else { return };
        if session.store.path().is_none() {
            let text = "this session is not stored: there is nothing a copy could go on from";
            return self.notice(Severity::Warning, text);
        }
        let (store, cwd) = (session.store.clone(), self.setup.cwd.clone());
        let data = self.setup.folders.data.clone();
        let copied = tokio::task::spawn_blocking(move || {
            let index = store.index();
            let (leaf, prompt) = place.find(index)?;
            let path = copy(&data, &cwd, &store, leaf.as_deref());
            let path = path.map_err(|error: SessionError| error.to_string())?;
            Ok((path, store.id().to_owned(), prompt))
        });
        let copied = copied.await.unwrap_or_else(|error| Err(error.to_string()));
        match copied {
            Err(message) => self.notice(Severity::Error, message),
            Ok((path, parent_session, prompt)) => {
                self.close("other").await;
                self.open(SessionChoice::File(path), Source::Fork).await;
                self.tell_tree(TreeEvent::Forked {
                    parent_session,
                    prompt,
                });
            }
        }
    }
}

impl Place {
    /// The leaf to go on from, and the prompt that is gone on before. Blocks.
    pub(super) fn find(
        &self,
        index: &SessionIndex,
    ) -> Result<(Option<String>, Option<UserMessage>), String> {
        let id = match self {
            Self::Before(None) | Self::Behind(None) => return Ok((None, None)),
            Self::Here => return Ok((index.leaf(), None)),
            Self::Before(Some(id)) | Self::Behind(Some(id)) => id.clone(),
            Self::LastPrompt => index
                .look(|tree| tree.last_of(Tag::User))
                .ok_or("there is no prompt to go back to")?,
        };
        let entry = index
            .look(|tree| tree.get(&id))
            .ok_or_else(|| format!("there is no entry `{id}` in this session"))?;
        if matches!(self, Self::Behind(_)) {
            return Ok((Some(id), None));
        }
        match entry.kind {
            EntryKind::Message {
                message: AgentMessage::User(prompt),
            } => Ok((entry.parent_id, Some(prompt))),
            _ => Ok((Some(id), None)),
        }
    }
}
