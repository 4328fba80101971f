//! The small model: it writes titles, checks summaries, and searches the web.

use std::sync::Arc;

use super::available::Models;
use crate::emitter::Callback;
use crate::setup::SessionSetup;
use osier_llm::{Api, Model};
use osier_protocol::KeyState;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Vendors, and what the ids of their cheap models contain; the newest is first in the catalogue.
const FAMILIES: [(&str, &[&str]); 10] = [
    ("anthropic", &["haiku"]),
    ("openai", &["gpt-5", "mini"]),
    ("google", &["flash"]),
    ("deepseek", &["flash"]),
    ("mistral", &["mistral-small"]),
    ("mistralai", &["mistral-small"]),
    ("zai", &["flash"]),
    ("z-ai", &["flash"]),
    ("qwen", &["flash"]),
    ("minimax", &["flash"]),
];

/// The value of the setting that turns the small model off.
pub(super) const OFF: &str = "off";

/// A request for the small model.
pub(crate) type SmallModelRequest = oneshot::Sender<SmallModel>;

/// Gives work outside of the actor the current small model.
#[derive(Debug, Clone)]
pub(crate) struct SmallModels(Callback<SmallModelRequest>);

impl SmallModels {
    pub(crate) fn new(find: Callback<SmallModelRequest>) -> Self {
        Self(find)
    }

    /// The current small model, or none after `cancel`: an actor that closes its session waits for
    /// this work and answers no requests.
    pub(crate) async fn find(&self, cancel: &CancellationToken) -> SmallModel {
        let (reply, found) = oneshot::channel();
        self.0.call(reply);
        tokio::select! {
            biased;
            () = cancel.cancelled() => SmallModel::default(),
            // The session has ended if nobody answers.
            found = found => found.unwrap_or_default(),
        }
    }
}

/// The small model of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum SmallModel {
    /// The user wants none.
    Off,
    /// The provider of the session has none that osier knows.
    #[default]
    Unknown,
    /// A cheap model of the provider.
    Found(Arc<Model>),
    /// The one that the user named.
    Named(Arc<Model>),
}

impl SmallModel {
    /// The model for short tasks, if there is one.
    pub(crate) fn model(&self) -> Option<&Arc<Model>> {
        match self {
            Self::Found(model) | Self::Named(model) => Some(model),
            Self::Off | Self::Unknown => None,
        }
    }

    /// The small model for tasks that need the user's own choice.
    pub(crate) fn named(&self) -> Option<&Arc<Model>> {
        match self {
            Self::Named(model) => Some(model),
            _ => None,
        }
    }
}

impl Models {
    /// The small model.
    ///
    /// # Errors
    /// The setting names no usable model.
    pub(crate) fn small(&self, setup: &SessionSetup) -> Result<SmallModel, String> {
        let Some(name) = &setup.settings.small_model else {
            let is_script = self.chosen.api == Api::Scripted;
            let found = self.cheap(setup).filter(|_| !is_script);
            return Ok(found
                .filter(|model| self.key_state(model) != KeyState::Absent)
                .map_or(SmallModel::Unknown, SmallModel::Found));
        };
        if name == OFF {
            return Ok(SmallModel::Off);
        }
        let found = self.find(name);
        let (model, _) = found.map_err(|error| format!("`small_model`: {error}"))?;
        if self.key_state(&model) == KeyState::Absent {
            return Err(format!("`small_model`: {}", self.missing_key(&model)));
        }
        Ok(SmallModel::Named(model))
    }

    /// A cheap model of the vendor of the session's model, from the same provider.
    pub(super) fn cheap(&self, setup: &SessionSetup) -> Option<Arc<Model>> {
        // A URL of the command line is that of the session's model alone.
        if setup.base_url.is_some() || self.embedded.is_some() {
            return None;
        }
        let models = self.catalogue.models_of(&self.chosen.provider);
        cheap_of(&self.chosen, models).cloned()
    }
}

/// The first of `models` that is a cheap one of the vendor of `chosen` and costs no more.
fn cheap_of<'a>(chosen: &Model, models: &'a [Arc<Model>]) -> Option<&'a Arc<Model>> {
    let (prefix, words) = family(chosen)?;
    models.iter().find(|model| {
        // Variants such as `:batch` answer later or are limited.
        let is_variant = prefix.ends_with('/') && model.id.contains(':');
        model.id.starts_with(prefix)
            && words.iter().all(|word| model.id.contains(word))
            && !is_variant
            && model.price.output <= chosen.price.output
    })
}

/// The prefix of the ids of cheap models, and words that the ids contain. Providers of several vendors have ids such as
/// `anthropic/claude-…` and `us.anthropic.claude-…`.
fn family(model: &Model) -> Option<(&str, &'static [&'static str])> {
    FAMILIES.iter().find_map(|(vendor, words)| {
        if model.provider == *vendor {
            return Some(("", *words));
        }
        let end = model.id.find(vendor)? + vendor.len();
        let separated = model.id[end..].starts_with(['/', '.']);
        separated.then(|| (&model.id[..=end], *words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::catalogue::Catalogue;

    /// The cheap model for a model of the bundled catalogue.
    fn cheap(reference: &str) -> Option<String> {
        let catalogue = Catalogue::default();
        let (provider, id) = reference.split_once('/').unwrap();
        let models = catalogue.models_of(provider);
        let chosen = models.iter().find(|model| model.id == id).unwrap();
        cheap_of(chosen, models).map(|model| model.id.clone())
    }

    #[test]
    fn the_cheap_model_is_of_the_same_vendor_and_costs_no_more() {
        for (model, expected) in [
            ("anthropic/claude-opus-5-5", Some("claude-haiku-5-5")),
            ("anthropic/claude-haiku-5-5", Some("claude-haiku-5-5")),
            ("openai/gpt-5.4", Some("gpt-5.4-mini")),
            ("openai/gpt-5.4-nano", None),
            ("google/gemini-2.5-pro", Some("gemini-3.8-flash")),
            ("deepseek/deepseek-flash", Some("deepseek-flash")),
            (
                "openrouter/anthropic/claude-haiku-4.5",
                Some("anthropic/claude-haiku-5.5"),
            ),
            (
                "openrouter/openai/gpt-5.4-mini",
                Some("openai/gpt-5.4-mini"),
            ),
            ("openrouter/upstage/solar-mini4", None),
        ] {
            assert_eq!(cheap(model).as_deref(), expected, "{model}");
        }
    }
}
