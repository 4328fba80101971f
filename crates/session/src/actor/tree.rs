//! Requests about the tree that replace or change more than the tree: moves, forks and fans.

use std::path::Path;
use std::sync::Arc;

use super::BUSY;
use super::run::Actor;
use crate::agents::fan::{Fan, FanOutcome, LaneTarget, LastingWorktree, lane_models};
use crate::choices::BranchChoices;
use crate::conversation::tree::{LeftBranch, Moved, Target, Then, TreeContext, TreeOutcome};
use crate::cx::NO_SESSION;
use crate::files::checkpoints::SessionFiles;
use crate::models::Models;
use crate::sessions::open_session::{copy, directory};
use futures_util::future::FutureExt as _;
use osier_agent::{Severity, UserMessage};
use osier_protocol::{Event, FilesAt, ForkFiles, TreeEvent, TreeOp};
use osier_store::prompt_draft::{PromptDraft, PromptDraftFile};
use osier_store::{SessionError, State};
use osier_tools::READ;

/// Files of a fork that are not as at its point and have their own notices.
const NAMED: usize = 10;

impl Actor {
    pub(super) async fn apply_tree(&mut self, op: TreeOp) {
        if let TreeOp::SetAutoCompact { enabled } = &op {
            self.program.auto_compact = Some(*enabled);
        }
        // An unknown model must be reported before the conversation moves.
        if let TreeOp::RetryPrompt { model: Some(name) } = &op
            && self.selection.find(name, &self.emitter).is_none()
        {
            return;
        }
        let done = self.async_callback(|actor, outcome| actor.finish_tree(outcome).boxed());
        let fans = self.setup.folders.data.join("fans");
        let Some(session) = &mut self.session else {
            return self.notice(Severity::Error, NO_SESSION);
        };
        let context = TreeContext {
            emitter: &self.emitter,
            done,
            files: session.files.as_ref(),
            cwd: &self.setup.cwd,
            fans: &fans,
        };
        match session.tree.apply(op, context).await {
            Some(TreeOp::Fork { entry_id }) => {
                let target = match entry_id {
                    None => Target::LastPrompt,
                    entry_id => Target::Before(entry_id),
                };
                self.fork(target, None).await;
            }
            Some(TreeOp::ForkWorktree { entry_id }) => self.fork_worktree(entry_id).await,
            Some(TreeOp::Clone) => self.fork(Target::Current, None).await,
            Some(TreeOp::FanOut { models, prompt }) => self.fan_out(&models, prompt).await,
            Some(TreeOp::TakeLane { lane, force }) => self.apply_lane(lane, force).await,
            Some(TreeOp::EndFan) => self.end_fan().await,
            Some(TreeOp::GetContext) => self.get_context(),
            _ => {}
        }
    }

    async fn end_fan(&mut self) {
        if self.work.fan.has_lanes() {
            self.work.fan.clear().await;
            self.tell_tree(TreeEvent::FanEnded { lanes: Vec::new() });
        }
    }

    fn tell_tree(&self, event: TreeEvent) {
        self.publish(Event::Tree(event));
    }

    async fn finish_tree(&mut self, outcome: TreeOutcome) {
        match outcome {
            TreeOutcome::Moved(moved) => self.moved(*moved).await,
            TreeOutcome::Refused => self.notice(Severity::Warning, BUSY),
            TreeOutcome::Drafted(draft) => {
                if let Some(session) = &mut self.session {
                    session.tree.drafted(*draft, &self.emitter);
                }
            }
        }
    }

    fn finish_fan(&mut self, outcome: FanOutcome) {
        match outcome {
            FanOutcome::Ended(fan) => {
                let open = self.session.as_ref().map(|session| session.id());
                self.work.fan.ended(*fan, open, &self.emitter);
            }
            FanOutcome::Spent(entry) => self.progress.usage.add(&entry),
            FanOutcome::Refused => self.notice(Severity::Warning, BUSY),
        }
    }

    /// The conversation continues at another entry, with the model and the level of that entry.
    async fn moved(&mut self, moved: Moved) {
        let Some(session) = &self.session else {
            return;
        };
        if session.id() != moved.session {
            return;
        }
        let first = session.first.clone();
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
        self.restore(&moved.state, &first);
        self.read_todo();
        match (moved.then, moved.prompt) {
            (Then::Retry(model), Some(prompt)) => self.retry(model, prompt).await,
            (Then::Taken(lane, files, kept), _) => {
                self.tell_tree(TreeEvent::LaneTaken { lane, files, kept });
            }
            _ => {}
        }
    }

    fn restore(&mut self, state: &State, first: &BranchChoices) {
        if let Some((provider, id)) = state.model.as_ref().or(first.model.as_ref()) {
            self.selection.models.choose_stored(provider, id);
        }
        let level = state.thinking_level.unwrap_or(first.level);
        self.selection.level = level;
        if let Some(session) = &self.session {
            session.set_models(&self.selection.models.call_order(), level);
        }
        self.selection
            .publish_selected(&self.setup.settings, &self.emitter);
    }

    async fn retry(&mut self, model: Option<String>, prompt: UserMessage) {
        if let Some(reference) = model {
            let Some(choice) = self.selection.find(&reference, &self.emitter) else {
                return;
            };
            self.choose(choice).await;
        }
        if let Some(session) = &self.session {
            session.agent.prompt(prompt.text, prompt.attachments);
        }
    }

    /// Stores a copy of the path to an entry in a new git worktree. Nothing is left of the worktree if the copy cannot be
    /// stored, or could not be opened there.
    async fn fork_worktree(&mut self, entry_id: Option<String>) {
        let target = match entry_id {
            None => Target::LastPrompt,
            entry_id => Target::Before(entry_id),
        };
        let Some(session) = &self.session else { return };
        let (wanted, store) = (target.clone(), session.store.clone());
        let files = session.files.clone();
        let found = osier_base::task::spawn_blocking(move || {
            let index = store.index();
            let entry = wanted.files(&wanted.find(index)?, index);
            Ok(entry.filter(|id| !index.is_current(id)))
        });
        let entry = match found.await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(entry) => entry,
            Err(error) => return self.notice(Severity::Error, error),
        };
        let name = format!("fork-{}", osier_base::ids::entry_id());
        let fans = self.setup.folders.data.join("fans");
        let made = match LastingWorktree::new(&self.setup.cwd, &fans, &name).await {
            Ok(made) => made,
            Err(error) => return self.notice(Severity::Error, error.to_string()),
        };
        let files = self.fork_files(files, &made.cwd, entry).await;
        let (setup, cwd) = (self.setup.clone(), made.cwd.clone());
        let models = osier_base::task::spawn_blocking(move || {
            Models::load(&setup.in_directory(cwd)).map(drop)
        });
        match models.await {
            Ok(Ok(())) => self.fork(target, Some((made, files))).await,
            Ok(Err(error)) => {
                self.notice(Severity::Error, format!("no worktree was made: {error}"));
            }
            Err(error) => self.notice(Severity::Error, error.to_string()),
        }
    }

    /// Gives the new worktree `cwd` the files of an `entry`; those of now stay without one.
    async fn fork_files(
        &self,
        files: Option<SessionFiles>,
        cwd: &Path,
        entry: Option<String>,
    ) -> ForkFiles {
        let Some(entry_id) = entry else {
            return ForkFiles::Now;
        };
        let Some(files) = files else {
            return ForkFiles::Unrecorded;
        };
        let cwd = cwd.to_owned();
        let restored = osier_base::task::spawn_blocking(move || {
            let restored = files.restore_copy(&cwd, &FilesAt::Entry { entry_id });
            restored.map_err(|error| error.to_string())
        });
        match restored
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
        {
            Ok(Some(left)) => {
                for file in left.iter().take(NAMED) {
                    let (path, reason) = (&file.path, &file.reason);
                    let text = format!("`{path}` in the fork is as it is now: {reason}");
                    self.notice(Severity::Warning, text);
                }
                ForkFiles::Point
            }
            Ok(None) => ForkFiles::Unrecorded,
            Err(error) => {
                self.notice(Severity::Warning, error);
                ForkFiles::Unrecorded
            }
        }
    }

    /// Stores a copy of the branch up to `target` as a session of its own, in the directory of a `worktree` if there is one. A
    /// fork never takes the place of the session that it comes from.
    async fn fork(&self, target: Target, worktree: Option<(LastingWorktree, ForkFiles)>) {
        let Some(session) = &self.session else { return };
        if session.store.path().is_none() {
            let text = "this session is not stored: it cannot be copied";
            return self.notice(Severity::Warning, text);
        }
        let (worktree, files) = worktree.unzip();
        let elsewhere = worktree.as_ref().map(|worktree| worktree.cwd.clone());
        let cwd = elsewhere.clone().unwrap_or_else(|| self.setup.cwd.clone());
        let store = session.store.clone();
        let setup = self.setup.clone();
        let is_clone = target == Target::Current;
        let copied = osier_base::task::spawn_blocking(move || {
            let found = target.find(store.index())?;
            let files_of = target.files(&found, store.index());
            let (leaf, prompt) = found;
            if is_clone && !store.index().has_context(leaf.as_deref()) {
                return Err("nothing to clone yet: send a prompt first".to_owned());
            }
            let copied = copy(
                &directory(&setup)?,
                &cwd,
                &store,
                (leaf.as_deref(), files_of.as_deref()),
            );
            let (path, id) = copied.map_err(|error: SessionError| error.to_string())?;
            let prompt = prompt.map(|(_, prompt)| prompt);
            if let Some(prompt) = &prompt
                && let Err(error) = store_draft(&setup.folders.drafts(), &id, &cwd, prompt)
            {
                remove_copy(&path);
                return Err(format!("cannot store the prompt of the fork: {error}"));
            }
            Ok(TreeEvent::Forked {
                parent_session: store.id().to_owned(),
                session: id,
                path,
                prompt: prompt.map(Box::new),
                cwd: elsewhere,
                files,
            })
        });
        let copied = copied.await.unwrap_or_else(|error| Err(error.to_string()));
        if copied.is_ok()
            && let Some(worktree) = worktree
            && let Err(error) = worktree.keep().await
        {
            self.notice(Severity::Warning, error.to_string());
        }
        match copied {
            Err(message) => self.notice(Severity::Error, message),
            Ok(forked) => self.tell_tree(forked),
        }
    }

    /// Runs several models side by side.
    async fn fan_out(&mut self, references: &[String], prompt: Option<String>) {
        let selection = &self.selection;
        let lanes = lane_models(
            references,
            &selection.models,
            selection.level,
            &self.emitter,
        );
        let Some(lanes) = lanes else {
            return;
        };
        self.work.fan.clear().await;
        let Some(session) = &self.session else { return };
        let setup = &self.setup;
        session.agent.change(Box::new(Fan {
            store: session.store.clone(),
            lanes,
            prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
            cwd: setup.cwd.clone(),
            directories: setup.directories.clone(),
            files: session.files.clone(),
            folder: setup.folders.data.join("fans"),
            tools: setup.tools.clone(),
            prompts: (
                setup.system_prompt.clone(),
                setup.append_system_prompt.clone(),
            ),
            context: self.extensions.context.prompt(&[READ.to_owned()]),
            rules: session.rules.clone(),
            policy: session.policy.clone(),
            max_turns: setup.max_turns,
            compaction: session.tree.compactor.options(),
            emitter: self.emitter.clone(),
            done: self.callback(Self::finish_fan),
        }));
    }

    /// Applies the files of a lane and continues on its branch.
    async fn apply_lane(&mut self, number: usize, force: bool) {
        if !self.work.fan.has_lanes() {
            let text = "no lane to apply; run `/fan` first";
            return self.notice(Severity::Warning, text);
        }
        let Some(session) = &self.session else { return };
        if session.agent.state().is_streaming {
            return self.notice(Severity::Warning, BUSY);
        }
        let folder = self.setup.folders.data.join("fans");
        let target = LaneTarget {
            data: &self.setup.folders.data,
            cwd: &self.setup.cwd,
            files: session.files.as_ref(),
        };
        let applied = self.work.fan.apply(number, force, target, &self.emitter);
        let Some(lane) = applied.await else { return };
        let then = Then::Taken(number, lane.files, lane.kept);
        let context = TreeContext {
            emitter: &self.emitter,
            done: self.async_callback(|actor, outcome| actor.finish_tree(outcome).boxed()),
            files: None,
            cwd: &self.setup.cwd,
            fans: &folder,
        };
        session
            .tree
            .go(Target::After(lane.tip), LeftBranch::Kept, then, &context);
        self.work.fan.clear().await;
    }
}

/// Stores the `prompt` that the fork `id` returns, where the client that opens it finds it. Nothing is left after a failure.
fn store_draft(folder: &Path, id: &str, cwd: &Path, prompt: &UserMessage) -> std::io::Result<()> {
    let draft = PromptDraft {
        session: id.to_owned(),
        cwd: cwd.to_string_lossy().into_owned(),
        text: prompt.text.as_str().into(),
        files: Arc::new(prompt.attachments.clone()),
        ..PromptDraft::default()
    };
    let mut file = PromptDraftFile::open(folder, id)?;
    let written = file.write(&draft).map(drop);
    if written.is_err() {
        file.remove();
    }
    written
}

/// Removes the copy of a fork, and its folder if that has no other session.
fn remove_copy(path: &Path) {
    let _ = std::fs::remove_file(path);
    if let Some(folder) = path.parent() {
        let _ = std::fs::remove_dir(folder);
    }
}
