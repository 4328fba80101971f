//! The placeholder for the model while no model is configured.

use std::sync::Arc;

use osier_llm::{Api, Model, Price};
use osier_protocol::KeyState;

/// Provider of the placeholder while there is no model.
pub(super) const NONE: &str = "none";
/// The error of a run without a model.
pub const NO_MODEL: &str = "no model is configured: no API key and no local model server found; sign in with \
                            `osier auth login`, set a key such as ANTHROPIC_API_KEY, or start Ollama; \
                            `--model demo/tour` runs a scripted demo";

/// The key state of a model that needs no server; `None` for other models.
pub(super) fn scripted_key(model: &Model) -> Option<KeyState> {
    match (model.api, model.provider.as_str()) {
        (_, NONE) => Some(KeyState::Absent),
        (Api::Scripted, _) => Some(KeyState::NotNeeded),
        _ => None,
    }
}

/// A placeholder while there is no model: its calls fail.
pub(super) fn placeholder() -> Arc<Model> {
    Arc::new(Model {
        provider: NONE.to_owned(),
        id: NONE.to_owned(),
        name: NONE.to_owned(),
        api: Api::Scripted,
        base_url: String::new(),
        context_window: 0,
        max_tokens: 0,
        thinking_levels: Vec::new(),
        input: Vec::new(),
        price: Price::default(),
        headers: std::collections::BTreeMap::new(),
        compat: osier_llm::Compat::default(),
        tuning: osier_llm::Tuning::default(),
    })
}
