//! Requests about prompts that are not sent, and about the progress of the open session.

use std::path::Path;

use osier_base::folders::Folders;
use osier_protocol::{DraftOp, Event, PromptPart};

use super::drafts::Drafts;
use super::history::PromptHistory;
use super::stash::{Stash, as_draft};
use super::titles::Titles;
use super::todo::TodoState;
use super::usage::Usage;
use crate::cx::Cx;
use crate::emitter::Emitter;

/// The user's input: the draft, stashed prompts, and the history.
#[derive(Debug)]
pub(crate) struct Prompts {
    pub drafts: Drafts,
    stash: Stash,
    history: PromptHistory,
}

/// The state of the open session that clients see, besides its messages.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub usage: Usage,
    pub todo: TodoState,
    pub titles: Titles,
}

impl Prompts {
    pub(crate) fn new(folders: &Folders, cwd: &Path) -> Self {
        Self {
            drafts: Drafts::new(folders, cwd),
            stash: Stash::new(folders, cwd),
            history: PromptHistory::new(folders.history()),
        }
    }

    /// Handles a request about prompts.
    pub(crate) async fn handle(&mut self, op: DraftOp, cx: Cx<'_>) {
        let emitter = cx.emitter;
        // Nothing that is typed in a session without a file is stored, except what is stashed.
        let stored = cx.session.filter(|session| session.store.path().is_some());
        match op {
            DraftOp::ListHistory => self.history.list(emitter),
            DraftOp::AddHistory { text } => {
                self.drafts.sent(&text);
                if stored.is_some() {
                    self.history.add(&text, emitter);
                }
            }
            DraftOp::SaveDraft { text } => {
                if let Some(session) = stored {
                    self.drafts.save(session.id(), text, emitter);
                }
            }
            DraftOp::SaveDraftFiles { files } => self.drafts.save_files(files),
            DraftOp::FindDraft => {
                if let Some(session) = cx.session {
                    self.drafts.find(session, emitter);
                }
            }
            DraftOp::StashPrompt { text, parts } => self.stash(text, parts, emitter).await,
            DraftOp::ListStash => self.stash.list(emitter).await,
            DraftOp::DropStashed { stashed } => self.stash.delete(stashed, emitter).await,
        }
    }

    /// Stashes a prompt, which is no longer a draft then.
    async fn stash(&mut self, text: String, parts: Vec<PromptPart>, emitter: &Emitter) {
        if self.stash.add(text.clone(), parts.clone(), emitter).await {
            self.drafts.stashed();
        } else {
            // The client has cleared its editor.
            let (text, files) = as_draft(&text, &parts);
            emitter.publish(Event::DraftFound { text, files });
        }
    }
}
