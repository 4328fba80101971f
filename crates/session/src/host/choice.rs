//! Which model answers next, and how hard it thinks: chosen by name, by cycling, or by what a place of
//! the tree remembers.

use std::sync::Arc;

use super::event::KeyState;
use super::host::Task;
use osier_agent::Severity;
use osier_llm::{Model, ThinkingLevel};
use osier_store::EntryKind;

impl Task {
    pub(super) async fn select_model(&mut self, reference: &str) {
        match self.models.find(reference) {
            Ok((model, level)) => self.choose(model, level).await,
            Err(error) => self.notice(Severity::Error, error.to_string()),
        }
    }

    /// The model of the next request.
    pub(super) async fn choose(&mut self, model: Arc<Model>, level: Option<ThinkingLevel>) {
        if self.models.key_state(&model) == KeyState::Absent {
            self.notice(Severity::Warning, self.models.missing_key(&model));
        }
        self.models.choose(&model);
        let (provider, model_id) = (model.provider.clone(), model.id.clone());
        self.store(EntryKind::ModelChange { provider, model_id })
            .await;
        let Some(session) = &self.session else { return };
        let models = self
            .models
            .call_order()
            .iter()
            .map(|model| (**model).clone())
            .collect();
        session.agent.send(osier_agent::Op::SetModels { models });
        let level = level.unwrap_or(self.level);
        self.level = level;
        session
            .agent
            .send(osier_agent::Op::SetThinkingLevel { level });
        self.tell_subagents_models();
        self.publish_selected(level);
    }

    pub(super) async fn cycle_thinking(&mut self) {
        let Some(session) = &self.session else { return };
        let model = self.models.chosen();
        if !model.can_think() {
            self.notice(
                Severity::Info,
                format!("{} has no thinking levels", model.reference()),
            );
            return;
        }
        let now = model.clamp(self.level);
        let levels = &model.thinking_levels;
        let place = levels.iter().position(|level| *level == now).unwrap_or(0);
        let level = levels[(place + 1) % levels.len()];
        self.level = level;
        self.jobs.passed_on();
        session
            .agent
            .send(osier_agent::Op::SetThinkingLevel { level });
        self.store(level_entry(level)).await;
    }
}

pub(super) fn level_entry(level: ThinkingLevel) -> EntryKind {
    EntryKind::ThinkingLevelChange {
        thinking_level: level,
    }
}
