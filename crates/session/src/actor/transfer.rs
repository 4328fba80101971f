//! Requests for import and export.

use super::NO_SESSION;
use super::dispatch::{Actor, Completion};
use crate::sessions::transfer;
use osier_agent::Severity;
use osier_protocol::{Event, Imported, Opening, TransferEvent, TransferOp};
use osier_transfer::{ExportOptions, ImportOptions};

impl Actor {
    pub(super) fn apply_transfer(&self, op: TransferOp) {
        let cwd = &self.setup.cwd;
        match op {
            TransferOp::ExportSession {
                path,
                format,
                scope,
                theme,
                force,
            } => {
                let Some(session) = &self.session else {
                    return self.notice(Severity::Error, NO_SESSION);
                };
                let options = ExportOptions {
                    format,
                    scope,
                    force,
                    themes: self.setup.html_themes.clone(),
                    theme,
                };
                transfer::export(&session.store, &self.setup, path, options, &self.emitter);
            }
            TransferOp::ImportSession { path, again, open } => {
                let done =
                    self.callback(move |imported| Completion::Imported(Box::new(imported), open));
                let data = self.setup.folders.data.clone();
                let options = ImportOptions { again };
                transfer::import(data, cwd.clone(), &path, options, &self.emitter, done);
            }
        }
    }

    /// A session was imported; `open` opens it.
    pub(super) async fn imported(&mut self, imported: Box<Imported>, open: bool) {
        let busy = self
            .session
            .as_ref()
            .is_some_and(|session| session.agent.state().is_streaming);
        if open && busy {
            let text = format!(
                "the agent is working: `/resume {}` opens the imported session later",
                imported.id
            );
            self.notice(Severity::Warning, text);
        } else if open {
            let path = imported.path.to_string_lossy().into_owned();
            self.resume(path, Opening::Itself).await;
        }
        self.publish(Event::Transfer(TransferEvent::SessionImported { imported }));
    }
}
