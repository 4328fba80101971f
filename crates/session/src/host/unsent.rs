//! What is typed and not sent in the session that is open.

use super::event::Event;
use super::host::{Job, Task};
use osier_agent::AgentMessage;
use osier_base::parts::Parts;
use osier_store::prompt_draft::{UnsentKeeper, UnsentText, find};

impl Task {
    pub(super) fn keep_unsent(&mut self, text: Parts) {
        let Some(session) = &self.session else {
            return;
        };
        if self.unsent.is_none() {
            self.unsent = Some(UnsentKeeper::new(self.setup.folders.drafts()));
        }
        if let Some(unsent) = &self.unsent {
            unsent.keep(UnsentText {
                session: session.store.id().to_owned(),
                cwd: self.setup.cwd.to_string_lossy().into_owned(),
                text,
            });
        }
    }

    /// What is typed is sent as `text`.
    pub(super) fn send_unsent(&self, text: &str) {
        if let Some(unsent) = &self.unsent {
            unsent.send(text);
        }
    }

    /// What is typed is put aside, and stored.
    pub(super) fn put_unsent_away(&self) {
        if let Some(unsent) = &self.unsent {
            unsent.put_away();
        }
    }

    /// Looks for what an earlier run left; told with `Event::UnsentFound` when there is something.
    pub(super) fn find_unsent(&self) {
        let Some(session) = &self.session else {
            return;
        };
        let (folders, jobs) = (self.setup.folders.clone(), self.jobs.clone());
        let (id, cwd) = (session.store.id().to_owned(), self.setup.cwd.clone());
        let (index, is_new) = (session.store.index().clone(), session.last_stored.is_none());
        tokio::task::spawn_blocking(move || {
            let which = (id.as_str(), &*cwd.to_string_lossy(), is_new);
            let Some(unsent) = find(&folders.data, &folders.drafts(), which) else {
                return;
            };
            let text = unsent.text.to_string();
            // It was sent, and the end came before its file was removed.
            let page = index.page(&osier_store::PageAt::End);
            let was_sent = page.is_some_and(|page| {
                let prompts =
                    page.messages
                        .iter()
                        .rev()
                        .filter_map(|stored| match &*stored.message {
                            AgentMessage::User(said) => Some(said.text.trim()),
                            _ => None,
                        });
                prompts.into_iter().next() == Some(text.trim())
            });
            if !was_sent {
                let event = Event::UnsentFound { text: unsent.text };
                let _ = jobs.send(Job::Publish(Box::new(event)));
            }
        });
    }

    pub(super) async fn end_unsent(&mut self) {
        if let Some(unsent) = self.unsent.take() {
            unsent.end().await;
        }
    }
}
