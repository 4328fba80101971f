//! The draft: what is typed in the prompt editor and not sent. It is stored while a session is open, so that it can be
//! restored after a crash.

use std::path::Path;

use osier_agent::AgentMessage;
use osier_base::folders::Folders;
use osier_base::parts::Parts;
use osier_protocol::{Event, PageAt};
use osier_store::prompt_draft::{DraftQuery, PromptDraft, PromptDraftRecorder, find};
use osier_store::{EntryIndex, SessionStore};

use crate::emitter::Emitter;

/// The draft of the open session.
#[derive(Debug)]
pub(crate) struct Drafts {
    folders: Folders,
    cwd: String,
    /// Starts with the first draft.
    writer: Option<PromptDraftRecorder>,
}

impl Drafts {
    pub(crate) fn new(folders: &Folders, cwd: &Path) -> Self {
        Self {
            folders: folders.clone(),
            cwd: cwd.to_string_lossy().into_owned(),
            writer: None,
        }
    }

    /// Stores the draft of `session`.
    pub(crate) fn save(&mut self, session: &str, text: Parts) {
        let folder = self.folders.drafts();
        let writer = self
            .writer
            .get_or_insert_with(|| PromptDraftRecorder::new(folder));
        writer.record(PromptDraft {
            session: session.to_owned(),
            cwd: self.cwd.clone(),
            text,
        });
    }

    /// Removes the draft that was sent as `text`.
    pub(crate) fn sent(&self, text: &str) {
        if let Some(writer) = &self.writer {
            writer.submit(text);
        }
    }

    /// Removes the draft that was stashed.
    pub(crate) fn stashed(&self) {
        if let Some(writer) = &self.writer {
            writer.clear();
        }
    }

    /// Publishes the draft that an earlier process left, if there is one. A session without messages also finds the
    /// drafts of sessions that were never stored.
    pub(crate) fn find(&self, store: &SessionStore, is_new: bool, emitter: &Emitter) {
        let (folders, cwd) = (self.folders.clone(), self.cwd.clone());
        let (store, emitter) = (store.clone(), emitter.clone());
        tokio::task::spawn_blocking(move || {
            let query = DraftQuery {
                session: store.id(),
                cwd: &cwd,
                is_new,
            };
            let Some(draft) = find(&folders.data, &folders.drafts(), query) else {
                return;
            };
            if !was_sent(store.index(), &draft.text.to_string()) {
                emitter.post(Event::UnsentFound { text: draft.text });
            }
        });
    }

    /// Finishes writing.
    pub(crate) async fn close(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.end().await;
        }
    }
}

/// Whether the last prompt is this text: the process ended after it was sent and before its file was removed.
fn was_sent(index: &EntryIndex, text: &str) -> bool {
    let Some(page) = index.page(&PageAt::End) else {
        return false;
    };
    let mut messages = page.messages.iter().rev();
    let last = messages.find_map(|stored| match &*stored.message {
        AgentMessage::User(prompt) => Some(prompt.text.trim() == text.trim()),
        _ => None,
    });
    last.unwrap_or(false)
}
