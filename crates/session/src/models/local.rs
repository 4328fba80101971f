//! Models of servers on this machine, and what a run does without any.

use std::sync::Arc;
use std::time::Duration;

use super::available::Models;
use super::placeholder::{NO_MODEL, NONE};
use crate::setup::{SessionChoice, SessionSetup};
use osier_llm::catalogue::discovery;
use osier_llm::{Api, Model};

/// How long a run without a person waits for servers that are slow to answer.
pub(crate) const WAIT: Duration = Duration::from_secs(2);
/// Finds the models of servers on this machine if `setup` needs them: it names a model that cannot be called otherwise.
/// Modes without a person need them also if there is no other model.
///
/// # Errors
/// There is no model, and the mode must not run the demo.
pub async fn find_local(setup: &mut SessionSetup) -> Result<(), String> {
    let (mut models, _) = Models::load_lenient(setup);
    if models.server.is_some() || models.embedded.is_some() {
        return Ok(());
    }
    let found = models.select_named(setup, &mut Vec::new());
    let named = setup.model.is_some() || !setup.fallback.is_empty();
    let is_usable = found.is_ok() && models.is_usable(&models.chosen);
    let is_needed = !is_usable && (named || !setup.may_demo);
    if is_needed && setup.settings.discover_local_models && setup.local_models.is_none() {
        let local = models.search_local(WAIT).await;
        models.discovered(local.clone());
        setup.local_models = Some(local).filter(|local| !local.is_empty());
        if let Some(model) = models.better_default() {
            models.chosen = model;
        }
    }
    // A stored session can name its model; without one, its first run fails.
    let is_new = matches!(setup.session, SessionChoice::New | SessionChoice::Unstored);
    if found.is_ok() && models.is_missing() && is_new {
        return Err(NO_MODEL.to_owned());
    }
    Ok(())
}

impl Models {
    /// Whether there is no model, not even the demo.
    pub(crate) fn is_missing(&self) -> bool {
        self.chosen.provider == NONE
    }

    /// Whether to look for local servers before the first prompt.
    pub(crate) fn waits_for_local(&self, setup: &SessionSetup) -> bool {
        self.is_missing() && setup.settings.discover_local_models && setup.local_models.is_none()
    }

    /// A search for the models of servers on this machine.
    pub(crate) fn search_local(
        &self,
        deadline: Duration,
    ) -> impl Future<Output = Vec<Model>> + Send + use<> {
        let provider = |name: &str| self.catalogue.provider(name);
        let probes = discovery::probes(|name| Some(provider(name)?.base_url.as_str()));
        async move { discovery::discover(&probes, deadline).await }
    }

    /// Adds the models of servers on this machine to the list.
    pub async fn add_local(&mut self) {
        let found = self.search_local(WAIT).await;
        self.discovered(found);
    }

    /// Adds the models of local servers. Whether there are any.
    pub(crate) fn discovered(&mut self, found: Vec<Model>) -> bool {
        if found.is_empty() || self.server.is_some() {
            return false;
        }
        self.catalogue.set_local(found);
        true
    }

    /// A better model than the demo, if the user has not selected one.
    pub(crate) fn better_default(&self) -> Option<Arc<Model>> {
        if self.named || self.chosen.api != Api::Scripted || self.embedded.is_some() {
            return None;
        }
        if self.server.is_some() {
            return self.catalogue.first_served().cloned();
        }
        self.catalogue.default_model(&self.keys)
    }
}
