//! A long session is open before all of it has been read. What the rest of the file shows is taken here,
//! and what could not be done without it is done then.

use super::host::{Job, Task};
use super::session::OpenSession;
use osier_agent::Severity;
use osier_store::Findings;

impl Task {
    /// Has the loop told when the rest of the session has been read.
    pub(super) fn await_index(&self, session: &OpenSession) {
        let (store, jobs) = (session.store.clone(), self.jobs.own());
        tokio::spawn(async move {
            let findings = store.findings().await.map_err(|error| error.to_string());
            let _ = jobs.send(Job::Indexed(store.id().to_owned(), findings));
        });
    }

    /// The rest of the session has been read: what waited for it is done now.
    pub(super) async fn indexed(&mut self, findings: Result<Findings, String>) {
        let Some(session) = self.session.as_mut().filter(|session| !session.indexed) else {
            return;
        };
        match findings {
            Ok(findings) => {
                let before = self.models.chosen().reference();
                let now = session.now_indexed(&self.setup, &mut self.models, findings);
                let (events, level) = now.await;
                self.forward(events);
                if level != self.level || self.models.chosen().reference() != before {
                    self.level = level;
                    self.publish_selected(level);
                }
            }
            Err(message) => {
                session.indexed = true;
                self.notice(Severity::Error, message);
            }
        }
        self.find_todo();
        self.apply_waiting().await;
    }
}
