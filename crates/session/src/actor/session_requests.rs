//! Requests about stored sessions, files and accounts: what needs the open session.

use std::path::{Path, PathBuf};

use super::NO_SESSION;
use super::dispatch::Actor;
use crate::conversation::stash;
use crate::extensions::mcp;
use crate::files::checkpoints;
use crate::models::accounts::login::LoginOutcome;
use crate::sessions::session_index::IndexHandle;
use osier_agent::Severity;
use osier_llm::ProviderEntry;
use osier_mcp::ServerEvent;
use osier_protocol::{CheckpointOp, DiffRange, Event, IndexEvent, IndexOp, PromptPart};

impl Actor {
    pub(super) async fn apply_library(&mut self, op: IndexOp) {
        let emitter = self.emitter.clone();
        match op {
            IndexOp::FindSessions {
                request,
                query,
                as_is,
            } => {
                let open = self.open_path();
                self.index.find(request, query, open, &emitter);
                if !as_is {
                    self.index.update(&emitter);
                }
            }
            IndexOp::PreviewSession { request, path } => {
                IndexHandle::preview(request, path, &emitter);
            }
            IndexOp::NameSession { path, name } if self.is_open_here(&path) => {
                self.rename(name).await;
                self.publish(Event::Index(IndexEvent::SessionsChanged));
            }
            IndexOp::NameSession { path, name } => IndexHandle::rename(path, name, &emitter),
            IndexOp::DeleteSession { path } if self.is_open_here(&path) => {
                let message = "cannot delete the open session: leave it first".to_owned();
                self.publish(Event::Index(IndexEvent::LibraryRefused { message }));
            }
            IndexOp::DeleteSession { path } => self.index.delete(path, &emitter),
            IndexOp::RestoreSession { path } => self.index.restore(path, &emitter),
            IndexOp::MarkSession { session, mark, on } => {
                self.index.set_flag(session, mark, on, &emitter);
            }
            IndexOp::DescribeSession => {
                if let Some(session) = &self.session {
                    self.index.describe(&session.store, &emitter);
                }
            }
        }
    }

    fn open_path(&self) -> Option<PathBuf> {
        let session = self.session.as_ref()?;
        session.store.path().map(Path::to_owned)
    }

    fn is_open_here(&self, path: &Path) -> bool {
        self.open_path().is_some_and(|open| open == path)
    }

    pub(super) fn apply_checkpoint(&self, op: CheckpointOp) {
        if let CheckpointOp::ReadFileDiffs {
            request,
            range: DiffRange::Head,
        } = op
        {
            return checkpoints::compare_with_head(request, &self.setup.cwd, &self.emitter);
        }
        let Some(session) = &self.session else {
            return self.notice(Severity::Error, NO_SESSION);
        };
        let files = session.files.as_ref();
        if let Err(error) = checkpoints::apply(op, files, &session.agent, &self.emitter) {
            self.notice(Severity::Warning, error.to_string());
        }
    }

    /// Stashes a prompt, which is no longer a draft then.
    pub(super) async fn stash_prompt(&mut self, text: String, parts: Vec<PromptPart>) {
        let (stashed, shared) = (text.clone(), parts.clone());
        if self.stash.add(stashed, shared, &self.emitter).await {
            self.drafts.stashed();
        } else {
            // The client has cleared its editor.
            let (text, files) = stash::as_draft(&text, &parts);
            self.publish(Event::DraftFound { text, files });
        }
    }

    pub(super) fn list_mcp_servers(&self) {
        if let Some(session) = &self.session {
            self.emitter.passed_to_agent();
            session.mcp.list();
        }
    }

    pub(super) fn list_code_servers(&self) {
        if let Some(session) = &self.session {
            let servers = session.code.infos();
            self.publish(Event::CodeServers { servers });
        }
    }

    pub(super) fn mcp_changed(&self, news: ServerEvent) {
        if mcp::publish(news, &self.emitter)
            && let Some(session) = &self.session
        {
            session.agent.send(osier_agent::Op::ListTools);
        }
    }

    /// Reads the files that configure servers again: new servers start, removed ones end.
    pub(super) fn load_servers(&self) {
        if let Some(session) = &self.session {
            let (files, trusted) = mcp::files(&self.setup);
            session.code.set_trusted(trusted);
            session.mcp.load(files, trusted);
        }
    }

    pub(super) async fn login_ended(&mut self, outcome: LoginOutcome) {
        self.logins.ended(&outcome, &self.emitter);
        if outcome.error.is_some() {
            return;
        }
        let provider = outcome.provider;
        self.notice(Severity::Info, format!("signed in to {provider}"));
        self.selection.models.credentials_changed();
        if provider == ProviderEntry::server().name {
            return self.signed_in_to_server().await;
        }
        self.enable(&provider);
        self.selection.publish(&self.emitter);
        let chosen = self.selection.models.chosen();
        match self.selection.models.better_default() {
            Some(model) => self.choose((model, None)).await,
            None if chosen.provider == provider => self.choose((chosen, None)).await,
            None => {}
        }
    }
}
