//! Sub-agents of the session: which kinds there are, which models they have, what they cost.

use super::event::Event;
use super::host::Task;
use crate::subagents::definition;
use osier_agent::{AccountingEntry, Severity, ToolUpdate};

impl Task {
    /// Offers the tool, when it is on, with the definitions that stand in the folders now.
    pub(super) fn offer_subagents(&self) {
        let Some(session) = self
            .session
            .as_ref()
            .filter(|_| self.setup.settings.subagents)
        else {
            return;
        };
        session
            .subagents
            .set_models(self.models.call_order(), self.level);
        let (definitions, problems) = definition::load(&self.setup.folders.config, &self.setup.cwd);
        for problem in problems {
            self.notice(Severity::Warning, problem.to_string());
        }
        let mut known = Vec::with_capacity(definitions.len());
        for definition in definitions {
            let model = definition.model.as_ref().map(|name| self.models.find(name));
            match model.transpose() {
                Ok(model) => known.push((definition, model.map(|(model, _)| model))),
                Err(error) => {
                    let (name, path) = (&definition.name, definition.path.display());
                    let text = format!("{path}: the model of `{name}`: {error}; yours is used");
                    self.notice(Severity::Warning, text);
                    known.push((definition, None));
                }
            }
        }
        session.subagents.offer(known);
    }

    /// The models of the session are those of its sub-agents.
    pub(super) fn tell_subagents_models(&self) {
        if let Some(session) = &self.session {
            session
                .subagents
                .set_models(self.models.call_order(), self.level);
        }
    }

    /// What a sub-agent's call cost, as if the session had made it.
    pub(super) fn nested_cost(event: &Event) -> Option<&AccountingEntry> {
        let Event::Agent(osier_agent::Event::ToolExecutionUpdate {
            update: ToolUpdate::Agent { event },
            ..
        }) = event
        else {
            return None;
        };
        match &**event {
            osier_agent::Event::Accounting { entry } => Some(entry),
            _ => None,
        }
    }
}
