//! The draft: what is typed in the prompt editor and not sent. It is stored while a session is open, so that it can be
//! restored after a crash.

use std::path::Path;
use std::sync::Arc;

use osier_agent::{AgentMessage, Attachment, Op, Severity, UserMessage};
use osier_base::folders::Folders;
use osier_base::parts::Parts;
use osier_protocol::{Event, PageAt};
use osier_store::EntryIndex;
use osier_store::prompt_draft::{DraftQuery, PromptDraft, PromptDraftRecorder, find, forget};

use crate::cx::ActiveSession;
use crate::emitter::Emitter;

/// The draft of the open session.
#[derive(Debug)]
pub(crate) struct Drafts {
    folders: Folders,
    cwd: String,
    /// Starts with the first draft.
    writer: Option<PromptDraftRecorder>,
    /// The session whose queued prompts wait in its continued run again.
    requeued: Option<String>,
}

impl Drafts {
    pub(crate) fn new(folders: &Folders, cwd: &Path) -> Self {
        Self {
            folders: folders.clone(),
            cwd: cwd.to_string_lossy().into_owned(),
            writer: None,
            requeued: None,
        }
    }

    /// Stores the draft of `session`. A notice reports once that drafts cannot be stored.
    pub(crate) fn save(&mut self, session: &str, text: Parts, emitter: &Emitter) {
        let draft = PromptDraft {
            text,
            ..self.empty(session)
        };
        self.writer(emitter).record(draft);
    }

    fn empty(&self, session: &str) -> PromptDraft {
        PromptDraft {
            session: session.to_owned(),
            cwd: self.cwd.clone(),
            ..PromptDraft::default()
        }
    }

    fn writer(&mut self, emitter: &Emitter) -> &PromptDraftRecorder {
        let folder = self.folders.drafts();
        self.writer.get_or_insert_with(|| {
            let emitter = emitter.detached();
            PromptDraftRecorder::new(folder, move |error| {
                let text = format!(
                    "what you type is lost if osier is killed: it cannot be stored: {error}"
                );
                emitter.post_notice(Severity::Warning, text);
            })
        })
    }

    /// Stores the files that are attached to the draft.
    pub(crate) fn save_files(&self, files: Vec<Attachment>) {
        if let Some(writer) = &self.writer {
            writer.record_files(files);
        }
    }

    /// Stores the prompts of `session` that wait for the model, which are in no session file yet.
    pub(crate) fn save_queue(
        &mut self,
        session: &str,
        queued: Vec<UserMessage>,
        emitter: &Emitter,
    ) {
        // Without a writer nothing is stored that must be removed.
        if self.writer.is_some() || !queued.is_empty() {
            let empty = self.empty(session);
            self.writer(emitter).record_queue(empty, queued);
        }
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
    /// drafts of sessions that were never stored. Prompts that waited in a run which continues here wait in it again.
    pub(crate) fn find(&mut self, session: &ActiveSession, emitter: &Emitter) {
        let (folders, cwd) = (self.folders.clone(), self.cwd.clone());
        let (store, emitter) = (session.store.clone(), emitter.clone());
        let last = session.last_stored.clone();
        let continues = session.continues;
        let id = Some(session.store.id().to_owned());
        let is_first = continues && std::mem::replace(&mut self.requeued, id.clone()) != id;
        let first = is_first.then(|| (self.writer(&emitter).restorer(), session.agent.clone()));
        osier_base::task::spawn_blocking(move || {
            let query = DraftQuery {
                session: store.id(),
                cwd: &cwd,
                is_new: last.is_none(),
            };
            let Some(mut draft) = find(&folders.data, &folders.drafts(), query) else {
                return;
            };
            if continues {
                let (queued, rest) = draft.split();
                draft = rest;
                if let Some((restore, agent)) = first {
                    let waiting = queued.into_iter();
                    let waiting = waiting.filter(|message| !is_stored(store.index(), message));
                    let waiting: Vec<_> = waiting.collect();
                    restore(draft.clone(), waiting.clone());
                    for message in waiting {
                        agent.send(queue(message));
                    }
                }
                if draft.text.is_empty() {
                    return;
                }
            }
            if was_sent(store.index(), last.as_deref(), &draft.text.to_string()) {
                // The draft is removed: it would be restored after the next prompt, when it is not
                // the last prompt any more.
                forget(&folders.drafts(), store.id());
            } else {
                emitter.post(Event::DraftFound {
                    text: draft.text,
                    files: Arc::unwrap_or_clone(draft.files),
                });
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

fn queue(message: UserMessage) -> Op {
    Op::Steer {
        text: message.text,
        attachments: message.attachments,
        typed: message.typed,
        once: message.once,
    }
}

/// Whether the model got this queued prompt before the other process closed the session.
fn is_stored(index: &EntryIndex, queued: &UserMessage) -> bool {
    let Some(page) = index.page(&PageAt::End) else {
        return false;
    };
    page.messages.iter().any(|stored| match &*stored.message {
        AgentMessage::User(prompt) => {
            (prompt.timestamp, &prompt.text) == (queued.timestamp, &queued.text)
        }
        _ => false,
    })
}

/// Whether this text was sent, but the process ended before the draft's file was removed: it is the last prompt up to
/// the entry `last`, or a prompt after it, which was sent while the draft was looked for.
fn was_sent(index: &EntryIndex, last: Option<&str>, text: &str) -> bool {
    let Some(page) = index.page(&PageAt::End) else {
        return false;
    };
    let mut is_earlier = false;
    for stored in page.messages.iter().rev() {
        is_earlier |= last == Some(stored.entry_id.as_str());
        if let AgentMessage::User(prompt) = &*stored.message {
            if prompt.text.trim() == text.trim() {
                return true;
            }
            if is_earlier {
                return false;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use osier_protocol::{EntryKind, Header};
    use osier_store::SessionStore;

    use super::*;

    #[tokio::test]
    async fn draft_was_sent_if_it_is_the_last_prompt_of_the_earlier_run_or_a_later_one() {
        let header = Header::new(Path::new("/work"));
        let store = SessionStore::in_memory(header, &[]).unwrap();
        let mut ids = Vec::new();
        for text in ["first", "second", "third\n"] {
            let message = AgentMessage::User(UserMessage {
                text: text.to_owned(),
                ..UserMessage::default()
            });
            ids.push(
                store
                    .append(EntryKind::Message { message })
                    .await
                    .unwrap()
                    .id,
            );
        }
        let sent = |last: Option<usize>, text| {
            let last = last.map(|place| ids[place].as_str());
            was_sent(store.index(), last, text)
        };
        let texts = ["first", "second", "third", "never sent"];
        assert_eq!(
            texts.map(|text| sent(Some(2), text)),
            [false, false, true, false]
        );
        assert_eq!(
            texts.map(|text| sent(Some(1), text)),
            [false, true, true, false]
        );
        assert_eq!(
            texts.map(|text| sent(None, text)),
            [true, true, true, false]
        );
    }
}
