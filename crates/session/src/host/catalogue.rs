//! What a host does about the models there are: asking the osier server that calls go through, and asking
//! for what was newly published.

use super::event::Event;
use super::hooks::Source;
use super::host::{Job, Task};
use super::setup::SessionChoice;
use crate::models::{ModelError, ServerError};
use crate::refresh;
use crate::refresh::Refreshed;
use osier_agent::Severity;
use osier_llm::ThinkingLevel;
use osier_llm::catalogue::refresh::SOURCE;

impl Task {
    /// Before the first session: what the osier server has, when there is one. One that does not answer keeps
    /// nobody from a session: its calls say why they fail, and `/login` may mend it.
    pub(super) async fn ask_server_first(&mut self) -> Result<(), ModelError> {
        match self.models.ask_server_first(&self.setup).await {
            Ok(problems) => {
                for problem in problems {
                    self.notice(Severity::Warning, problem.to_string());
                }
                Ok(())
            }
            Err(ServerError::Silent(message)) => {
                self.notice(Severity::Error, message);
                Ok(())
            }
            Err(ServerError::Named(error)) => Err(error),
        }
    }

    /// What the server has now.
    pub(super) async fn ask_server(&mut self) {
        if let Err(message) = self.models.ask_server().await {
            self.notice(Severity::Error, message);
        }
    }

    /// A person's token is there, or is another one.
    pub(super) async fn signed_in_to_server(&mut self) {
        if self.models.is_served() {
            self.ask_server().await;
        } else if let Err(error) = self.ask_server_first().await {
            self.notice(Severity::Error, error.to_string());
        }
        self.try_again();
        self.publish_models();
        if self.session.is_none() {
            return self.open(SessionChoice::New, Source::Startup).await;
        }
        let chosen = self.models.chosen();
        self.choose(chosen, None).await;
    }

    /// Everything that calls go to is worth another try.
    pub(super) fn try_again(&self) {
        for model in self.models.call_order() {
            self.enable(&model.provider);
        }
    }

    /// `provider` is worth another try.
    pub(super) fn enable(&self, provider: &str) {
        if let Some(session) = &self.session {
            let provider = provider.to_owned();
            session
                .agent
                .send(osier_agent::Op::EnableProvider { provider });
        }
    }

    /// Asks for what was published, where the settings want that and a day has passed.
    pub(super) fn refresh_models(&self) {
        let Some(source) = self.setup.settings.refresh_models.clone() else {
            return;
        };
        let folders = self.setup.folders.clone();
        let (http, jobs) = (self.setup.settings.http(), self.jobs.clone());
        tokio::spawn(async move {
            let due = folders.clone();
            let due = tokio::task::spawn_blocking(move || refresh::is_due(&due)).await;
            if due.unwrap_or(false) {
                let outcome = refresh::refresh(&folders, &http, &source).await;
                // The host may have ended.
                let _ = jobs.send(Job::Refreshed(outcome));
            }
        });
    }

    /// Asks for it now.
    pub(super) fn refresh_models_now(&self) {
        let source = self.setup.settings.refresh_models.clone();
        let source = source.unwrap_or_else(|| SOURCE.to_owned());
        let folders = self.setup.folders.clone();
        let (http, jobs) = (self.setup.settings.http(), self.jobs.clone());
        tokio::spawn(async move {
            let outcome = refresh::refresh(&folders, &http, &source).await;
            let _ = jobs.send(Job::Refreshed(outcome));
        });
    }

    /// Takes over what came of asking.
    pub(super) fn refreshed(&mut self, outcome: Result<Refreshed, String>) {
        match outcome {
            Ok(outcome) => {
                self.notice(Severity::Info, format!("models: {}", outcome.described()));
                let mut problems = Vec::new();
                let path = self.setup.folders.published();
                self.models.published(refresh::read(&path, &mut problems));
                self.publish_models();
            }
            Err(message) => self.notice(Severity::Warning, message),
        }
    }

    pub(super) fn publish_models(&self) {
        self.publish(Event::Models {
            models: self.models.list(),
        });
    }

    pub(super) fn publish_selected(&self, level: ThinkingLevel) {
        let model = self.models.chosen();
        let level = model.clamp(level);
        self.publish(Event::ModelSelected {
            model: Box::new(self.models.info(&model)),
            level,
            role: self.role(level),
        });
    }
}
