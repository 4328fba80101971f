//! The models of an agent.

use std::collections::HashSet;
use std::sync::Arc;

use osier_llm::{Model, ThinkingLevel};

/// The preferred model and its fallbacks, and the providers that failed.
#[derive(Debug)]
pub(crate) struct ModelSelection {
    models: Vec<Arc<Model>>,
    /// Providers whose key or quota failed.
    disabled: HashSet<String>,
    /// The requested level.
    pub thinking: ThinkingLevel,
}

impl ModelSelection {
    pub(crate) fn new(models: Vec<Arc<Model>>, thinking: ThinkingLevel) -> Self {
        Self {
            models,
            disabled: HashSet::new(),
            thinking,
        }
    }

    /// The models, preferred first.
    pub(crate) fn list(&self) -> &[Arc<Model>] {
        &self.models
    }

    /// `PROVIDER/ID` of each model.
    pub(crate) fn references(&self) -> Vec<String> {
        self.models.iter().map(|model| model.reference()).collect()
    }

    /// Replaces the models. The provider of the preferred model is enabled: the user chose it.
    pub(crate) fn set(&mut self, models: Vec<Model>) {
        self.models = models.into_iter().map(Arc::new).collect();
        if let Some(preferred) = self.models.first() {
            self.disabled.remove(&preferred.provider);
        }
    }

    pub(crate) fn enable(&mut self, provider: &str) {
        self.disabled.remove(provider);
    }

    pub(crate) fn disable(&mut self, provider: &str) {
        self.disabled.insert(provider.to_owned());
    }

    /// For each model, whether its provider is enabled.
    pub(crate) fn usable(&self) -> Vec<bool> {
        let is_enabled = |model: &Arc<Model>| !self.disabled.contains(&model.provider);
        self.models.iter().map(is_enabled).collect()
    }

    /// The index of the first usable model. When no model is usable, all providers are enabled again:
    /// the user may have fixed the key in the meantime.
    pub(crate) fn first_usable(&mut self) -> usize {
        let first = self.usable().iter().position(|usable| *usable);
        first.unwrap_or_else(|| {
            self.disabled.clear();
            0
        })
    }

    /// The effective level of the preferred model.
    pub(crate) fn effective_thinking(&self) -> ThinkingLevel {
        self.models
            .first()
            .map_or(self.thinking, |model| model.clamp(self.thinking))
    }
}
