//! Exports and imports, beside the host's task.

use super::event::Event;
use super::exchange_op::{ExchangeEvent, ExchangeOp};
use super::host::{Job, Task};
use super::op::NO_SESSION;
use super::opening::Opening;
use osier_agent::Severity;
use osier_base::path::resolve;
use osier_store::Reading;
use osier_transfer::{ExchangeError, ExportOptions, ImportOptions, Imported, export, import};

impl Task {
    pub(super) fn apply_exchange(&self, op: ExchangeOp) {
        match op {
            ExchangeOp::ExportSession {
                path,
                format,
                scope,
                theme,
                force,
            } => {
                let options = ExportOptions {
                    format,
                    scope,
                    force,
                    look: self.setup.look.clone(),
                    theme,
                };
                self.export(path, options);
            }
            ExchangeOp::ImportSession { path, again, open } => {
                self.import(&path, ImportOptions { again }, open);
            }
        }
    }

    fn export(&self, path: Option<String>, options: ExportOptions) {
        let Some(session) = &self.session else {
            return self.notice(Severity::Error, NO_SESSION);
        };
        let (store, jobs) = (session.store.clone(), self.jobs.clone());
        let cwd = self.setup.cwd.clone();
        tokio::spawn(async move {
            // A file that cannot be read has told so when it was opened.
            let _ = store.findings().await;
            let written = tokio::task::spawn_blocking(move || {
                let reading = Reading::of(store.header().clone(), store.index());
                let path = path.map(|path| resolve(&cwd, &path));
                export(&reading, &cwd, path.as_deref(), &options)
            });
            let event = match written.await {
                Ok(Ok(exported)) => Event::Exchange(ExchangeEvent::SessionExported {
                    exported: Box::new(exported),
                }),
                Ok(Err(error)) => failed(&error),
                Err(error) => notice(error.to_string()),
            };
            // A host that has ended has nobody to tell.
            let _ = jobs.send(Job::Publish(Box::new(event)));
        });
    }

    fn import(&self, path: &str, options: ImportOptions, open: bool) {
        let (data, cwd) = (self.setup.folders.data.clone(), self.setup.cwd.clone());
        let (path, jobs) = (resolve(&cwd, path), self.jobs.clone());
        tokio::task::spawn_blocking(move || {
            let job = match import(&data, &cwd, &path, options) {
                Ok(imported) => Job::Imported(Box::new(imported), open),
                Err(error) => Job::Publish(Box::new(failed(&error))),
            };
            let _ = jobs.send(job);
        });
    }

    /// A session has come.
    pub(super) async fn imported(&mut self, imported: Box<Imported>, open: bool) {
        let busy = self
            .session
            .as_ref()
            .is_some_and(|session| session.agent.state().is_streaming);
        if open && busy {
            let text = format!(
                "the model works: `/resume {}` opens the imported session later",
                imported.id
            );
            self.notice(Severity::Warning, text);
        } else if open {
            self.resume(
                imported.path.to_string_lossy().into_owned(),
                Opening::Itself,
            )
            .await;
        }
        self.publish(Event::Exchange(ExchangeEvent::SessionImported { imported }));
    }
}

fn failed(error: &ExchangeError) -> Event {
    let hint = error.hint().map(|hint| format!("; {hint}"));
    notice(format!("{error}{}", hint.unwrap_or_default()))
}

fn notice(text: String) -> Event {
    Event::HostNotice {
        severity: Severity::Error,
        text,
        request: None,
    }
}
