//! The models of an LLM proxy: `GET BASE/api/models` with the user's token as bearer returns `ServedModels`,
//! preferred models first.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::HttpOptions;
use super::fetch::{Fetch, Fetched};
use super::proxy::{ProxyProvider, server};
use crate::model::{Api, Compat, Modality, Model, ThinkingLevel};
use crate::secret::Secret;
use crate::status::TurnStatus;
use crate::usage::Price;
use osier_base::text;

/// Maximum size of a list in bytes.
const LIST_LIMIT: usize = 8 * 1024 * 1024;
/// Timeout of the request.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// The list in the response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServedModels {
    pub models: Vec<ServedModel>,
}

/// A model of the server. Names and units are those of `models.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedModel {
    pub provider: String,
    pub id: String,
    /// The display name; the id when it is empty.
    #[serde(default)]
    pub name: String,
    /// The wire format between server and provider; it determines which thinking can be sent back.
    pub api: Api,
    pub context_window: u64,
    pub max_tokens: u64,
    #[serde(default = "only_off")]
    pub thinking_levels: Vec<ThinkingLevel>,
    #[serde(default = "only_text")]
    pub input: Vec<Modality>,
    #[serde(default)]
    pub cost: Price,
}

fn only_off() -> Vec<ThinkingLevel> {
    vec![ThinkingLevel::Off]
}

fn only_text() -> Vec<Modality> {
    vec![Modality::Text]
}

impl ServedModel {
    /// The description of `model`.
    pub fn of(model: &Model) -> Self {
        Self {
            provider: model.provider.clone(),
            id: model.id.clone(),
            name: model.name.clone(),
            api: model.api,
            context_window: model.context_window,
            max_tokens: model.max_tokens,
            thinking_levels: model.thinking_levels.clone(),
            input: model.input.clone(),
            cost: model.price,
        }
    }

    /// The model as called through the server at `base_url`; `None` when the description is invalid.
    fn model(self, base_url: &str) -> Option<Model> {
        let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        let sound = is_name(&self.provider)
            && is_name(&self.id)
            && !self.provider.contains('/')
            && self.context_window > 0
            && self.api != Api::Scripted;
        let name = if self.name.trim().is_empty() {
            &self.id
        } else {
            &self.name
        };
        let mut levels = self.thinking_levels;
        levels.sort_unstable();
        levels.dedup();
        sound.then(|| Model {
            name: text::sanitize(name).into_owned(),
            provider: text::sanitize(&self.provider).into_owned(),
            id: text::sanitize(&self.id).into_owned(),
            api: self.api,
            base_url: base_url.to_owned(),
            context_window: self.context_window,
            max_tokens: self.max_tokens.clamp(1, self.context_window),
            thinking_levels: if levels.is_empty() {
                only_off()
            } else {
                levels
            },
            input: self.input,
            price: self.cost,
            headers: BTreeMap::new(),
            compat: Compat::default(),
            tuning: crate::tuning::Tuning::of(&self.id),
        })
    }
}

impl ProxyProvider {
    /// The models that the server offers to the owner of `token`. Invalid entries are ignored.
    pub async fn models(
        &self,
        token: Option<&Secret>,
        http: &HttpOptions,
    ) -> Result<Vec<Model>, TurnStatus> {
        let base = self.base_url().trim_end_matches('/');
        let fetch = Fetch {
            headers: &[],
            url: &format!("{base}/api/models"),
            token,
            etag: None,
            limit: LIST_LIMIT,
            time: LIST_TIMEOUT,
        };
        let peer = server(base, u64::MAX);
        let garbled = || TurnStatus::InvalidResponse {
            message: format!("`{}` did not answer with a list of models", peer.name),
        };
        let Fetched::Whole { body, .. } = fetch.from(&peer, http).await? else {
            return Err(garbled());
        };
        let list: Value = serde_json::from_slice(&body).map_err(|_| garbled())?;
        let list = list
            .get("models")
            .and_then(Value::as_array)
            .ok_or_else(garbled)?;
        let read = |entry: &Value| serde_json::from_value::<ServedModel>(entry.clone()).ok();
        let models: Vec<Model> = list
            .iter()
            .filter_map(read)
            .filter_map(|served| served.model(base))
            .collect();
        if models.is_empty() {
            let message = format!("`{}` has no models for you", peer.name);
            return Err(TurnStatus::InvalidResponse { message });
        }
        Ok(models)
    }
}
