//! Reloading the definitions of subagents.

use std::sync::Arc;

use super::{Subagents, definition};
use crate::emitter::Emitter;
use crate::models::Models;
use crate::safety::trust;
use crate::setup::SessionSetup;
use osier_agent::Severity;
use osier_llm::ThinkingLevel;
use osier_peers::PeerFolders;

impl Subagents {
    /// Offers the tool with the definitions that the folders have now.
    pub(crate) fn reload(
        self: &Arc<Self>,
        setup: &SessionSetup,
        models: &Models,
        level: ThinkingLevel,
        emitter: &Emitter,
    ) {
        self.set_models(models.call_order(), level);
        if !self.limit(setup.tools.as_deref()) {
            return;
        }
        let peers = PeerFolders::of(&setup.folders.environment);
        let claude = peers.as_ref().map(|peers| peers.claude.as_path());
        let project = trust::trusted_files(setup);
        let (definitions, problems) =
            definition::load(&setup.folders.config, claude, &project, &setup.agents);
        emitter.problems(&problems);
        let mut offered = Vec::with_capacity(definitions.len());
        for definition in definitions {
            let named = definition.model.as_ref();
            let model = named.map_or(Ok(None), |name| models.find_of_peer(name));
            let model = match model {
                Ok(model) => {
                    let note = model
                        .as_ref()
                        .and_then(|(model, _)| models.assumed_of(model));
                    if let Some(note) = note {
                        let (name, path) = (&definition.name, definition.path.display());
                        let text = format!("{path}: the model of `{name}`: {note}");
                        emitter.notice(Severity::Warning, text);
                    }
                    model.map(|(model, _)| model)
                }
                Err(error) => {
                    let (name, path) = (&definition.name, definition.path.display());
                    let text = format!(
                        "{path}: the model of `{name}`: {error}; it uses the model of the session"
                    );
                    emitter.notice(Severity::Warning, text);
                    None
                }
            };
            offered.push((definition, model));
        }
        self.offer(offered, setup.waits_for_servers);
    }
}
