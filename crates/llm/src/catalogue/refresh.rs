//! Updates of the bundled table: new models, prices and limits from models.dev (MIT), the source of the
//! table.
//!
//! The document is not trusted: it contains no URL, header or key, only facts about models of bundled
//! providers. Implausible entries are ignored, and a document with mostly implausible entries is rejected.
//! Only differences from the table are stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::bundled;
use super::models_file::unlisted;
use super::providers::{PROVIDERS, ProviderEntry};
use super::related::related;
use super::vendor_list;
use crate::model::{Modality, Model, ThinkingLevel};
use crate::usage::{MAX_TIERS, Price, PriceTier, Tiers};
use osier_base::text;

/// The URL of the document.
pub const SOURCE: &str = "https://models.dev/api.json";
/// Maximum size of the document in bytes.
pub const DOCUMENT_LIMIT: usize = 32 * 1024 * 1024;

/// A document with fewer models is rejected.
const MIN_MODELS: usize = 20;
const LONGEST_NAME: usize = 200;
const WIDEST_WINDOW: u64 = 100_000_000;
/// The maximum plausible price, in US dollars per million tokens.
const MAX_PRICE: f64 = 10_000.0;

/// Differences from the bundled table, by provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Published {
    providers: BTreeMap<String, Vec<PublishedModel>>,
}

/// A new model, or the changes of a known one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PublishedModel {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    /// Whether the model can think; set only for new models.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Vec<Modality>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Price>,
}

/// The content of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub published: Published,
    pub new: usize,
    pub changed: usize,
    /// Number of implausible models.
    pub left_out: usize,
}

impl Published {
    /// Parses a document. The error says why it was rejected.
    pub fn read(document: &[u8]) -> Result<Reading, String> {
        let document: Map<String, Value> = serde_json::from_slice(document)
            .map_err(|error| format!("it is not a list of models: {error}"))?;
        let mut reading = Reading::default();
        let mut sound = 0;
        for row in PROVIDERS.iter() {
            let provider = row.published.and_then(|name| document.get(name));
            let models = provider.and_then(|provider| provider.get("models"));
            let Some(models) = models.and_then(Value::as_object) else {
                continue;
            };
            let known = bundled::models(&ProviderEntry::from(row));
            let mut differing = Vec::new();
            for fact in models.values() {
                match Fact::read(fact) {
                    DocumentEntry::Fact(fact) => {
                        sound += 1;
                        let have = known
                            .iter()
                            .map(|model| &**model)
                            .find(|model| model.id == fact.id);
                        if let Some(change) = fact.compared(have) {
                            *if have.is_some() {
                                &mut reading.changed
                            } else {
                                &mut reading.new
                            } += 1;
                            differing.push(change);
                        }
                    }
                    DocumentEntry::Other => {}
                    DocumentEntry::Nonsense => reading.left_out += 1,
                }
            }
            if !differing.is_empty() {
                reading
                    .published
                    .providers
                    .insert(row.name.to_owned(), differing);
            }
        }
        if sound < MIN_MODELS || reading.left_out > sound {
            return Err(format!(
                "only {sound} of its models are plausible, {} are not",
                reading.left_out
            ));
        }
        Ok(reading)
    }

    /// Adds the unknown models in the list of `provider`; returns their number.
    pub fn add_list(&mut self, provider: &str, list: &[u8]) -> usize {
        let Some(row) = PROVIDERS.iter().find(|row| row.name == provider) else {
            return 0;
        };
        let known = bundled::models(&ProviderEntry::from(row));
        let published = self.providers.entry(provider.to_owned()).or_default();
        let mut count = 0;
        for listed in vendor_list::read(list) {
            let is_known = known.iter().any(|model| model.id == listed.id)
                || published.iter().any(|model| model.id == listed.id);
            let is_plausible = |count: &u64| *count <= WIDEST_WINDOW;
            if !is_known && is_id(&listed.id) {
                published.push(PublishedModel {
                    id: listed.id,
                    context_window: listed.window.filter(is_plausible),
                    max_tokens: listed.output.filter(is_plausible),
                    ..PublishedModel::default()
                });
                count += 1;
            }
        }
        if published.is_empty() {
            self.providers.remove(provider);
        }
        count
    }

    /// The number of models.
    pub fn len(&self) -> usize {
        self.providers.values().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.providers.is_empty()
    }

    /// Applies the changes of `entry` to its bundled models.
    pub(super) fn change_models(&self, entry: &ProviderEntry, models: &mut Vec<Arc<Model>>) {
        let bundled = models.len();
        for published in self.providers.get(&entry.name).into_iter().flatten() {
            if let Some(model) = models.iter_mut().find(|model| model.id == published.id) {
                let mut changed = Model::clone(model);
                published.change(&mut changed);
                // An unchanged model remains shared.
                if changed != **model {
                    *model = Arc::new(changed);
                }
            } else if published.is_plausible() {
                let new = published.build(entry, &models[..bundled]);
                models.push(Arc::new(new));
            }
        }
    }
}

impl PublishedModel {
    fn is_plausible(&self) -> bool {
        is_id(&self.id)
    }

    fn change(&self, model: &mut Model) {
        model.context_window = self.context_window.unwrap_or(model.context_window);
        let most = self.max_tokens.unwrap_or(model.max_tokens);
        model.max_tokens = most.min(model.context_window / 2).max(1);
        model.price = self.cost.unwrap_or(model.price);
        if let Some(input) = &self.input {
            model.input.clone_from(input);
        }
    }

    /// Builds a model that is not in the table, with the connection settings of the model that has the most similar id.
    fn build(&self, entry: &ProviderEntry, known: &[Arc<Model>]) -> Model {
        let relative = related(&self.id, known);
        if self.context_window.is_none() {
            // Only the list of the provider has this model.
            let mut model = unlisted(entry, &self.id, known);
            self.change(&mut model);
            return model;
        }
        let kin = relative.map(|relative| relative.model);
        let thinks = self.reasoning.unwrap_or(false);
        let levels = match kin.filter(|model| model.can_think()) {
            _ if !thinks => vec![ThinkingLevel::Off],
            Some(model) => model.thinking_levels.clone(),
            None => vec![
                ThinkingLevel::Off,
                ThinkingLevel::Low,
                ThinkingLevel::Medium,
                ThinkingLevel::High,
            ],
        };
        let mut model = Model {
            provider: entry.name.clone(),
            id: self.id.clone(),
            name: self.name.clone().unwrap_or_else(|| self.id.clone()),
            api: kin.map_or(entry.api, |model| model.api),
            base_url: kin.map_or(&entry.base_url, |model| &model.base_url).clone(),
            context_window: 0,
            max_tokens: u64::MAX,
            thinking_levels: levels,
            input: vec![Modality::Text],
            price: Price::default(),
            headers: entry.headers.clone(),
            compat: kin.map_or(&entry.compat, |model| &model.compat).clone(),
            tuning: crate::tuning::Tuning::of(&self.id),
        };
        self.change(&mut model);
        model
    }
}

/// An entry of the document.
enum DocumentEntry {
    Fact(Fact),
    /// A model without support for conversations with tools.
    Other,
    /// An implausible model.
    Nonsense,
}

/// The facts about one model.
struct Fact {
    id: String,
    name: String,
    window: u64,
    output: u64,
    reasoning: bool,
    input: Vec<Modality>,
    cost: Option<Value>,
}

impl Fact {
    fn read(value: &Value) -> DocumentEntry {
        Self::plausible(value).unwrap_or(DocumentEntry::Nonsense)
    }

    fn plausible(value: &Value) -> Option<DocumentEntry> {
        let id = value.get("id")?.as_str()?;
        let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let listed = |pointer: &str, what: &str| {
            let list = value.pointer(pointer).and_then(Value::as_array);
            list.is_some_and(|list| list.iter().any(|entry| entry == what))
        };
        let limit = |name: &str| value.get("limit")?.get(name)?.as_u64();
        let (window, output) = (limit("context")?, limit("output")?);
        let cost = value.get("cost").filter(|cost| cost.is_object());
        let sound = is_id(id)
            && window <= WIDEST_WINDOW
            && output <= WIDEST_WINDOW
            && cost.is_none_or(|cost| price(cost, &Price::default()).is_some());
        if !sound {
            return None;
        }
        let gone = value
            .get("status")
            .is_some_and(|status| status == "deprecated");
        let speaks = listed("/modalities/output", "text") && flag("tool_call") && !gone;
        if !speaks || window == 0 || output == 0 {
            return Some(DocumentEntry::Other);
        }
        let mut input = vec![Modality::Text];
        let kinds = [
            ("image", Modality::Image),
            ("audio", Modality::Audio),
            ("pdf", Modality::Pdf),
        ];
        let kinds = kinds.iter();
        let listed = kinds.filter(|(name, _)| listed("/modalities/input", name));
        input.extend(listed.map(|(_, kind)| *kind));
        let name = value.get("name").and_then(Value::as_str).unwrap_or(id);
        let name = text::sanitize(name);
        Some(DocumentEntry::Fact(Self {
            id: id.to_owned(),
            name: text::head_bytes(name.trim(), LONGEST_NAME).to_owned(),
            window,
            output: output.min(window / 2).max(1),
            reasoning: flag("reasoning"),
            input,
            cost: cost.cloned(),
        }))
    }

    /// The differences from the table; `None` if there are none.
    fn compared(&self, known: Option<&Model>) -> Option<PublishedModel> {
        let old = known.map(|model| model.price).unwrap_or_default();
        let cost = self.cost.as_ref().and_then(|cost| price(cost, &old));
        let Some(model) = known else {
            return Some(PublishedModel {
                id: self.id.clone(),
                name: Some(self.name.clone()),
                context_window: Some(self.window),
                max_tokens: Some(self.output),
                reasoning: Some(self.reasoning),
                input: Some(self.input.clone()),
                cost,
            });
        };
        let change = PublishedModel {
            id: self.id.clone(),
            context_window: Some(self.window).filter(|window| *window != model.context_window),
            max_tokens: Some(self.output).filter(|output| *output != model.max_tokens),
            cost: cost.filter(|cost| *cost != model.price),
            ..PublishedModel::default()
        };
        let unchanged = PublishedModel {
            id: self.id.clone(),
            ..PublishedModel::default()
        };
        (change != unchanged).then_some(change)
    }
}

fn is_id(id: &str) -> bool {
    let is_bad = |sign: char| sign.is_whitespace() || sign.is_control();
    !id.is_empty() && id.len() <= LONGEST_NAME && !id.contains(is_bad) && text::sanitize(id) == id
}

/// The prices in `cost`; missing prices are taken from `old`. `None` when a price is implausible.
fn price(cost: &Value, old: &Price) -> Option<Price> {
    let mut price = *old;
    price.input = amount(cost, "input", old.input)?;
    price.output = amount(cost, "output", old.output)?;
    price.cache_read = amount(cost, "cache_read", old.cache_read)?;
    price.cache_write = amount(cost, "cache_write", old.cache_write)?;
    let mut tiers = Vec::new();
    if let Some(long) = cost.get("context_over_200k") {
        tiers.push(tier(long, 200_000, &price)?);
    }
    for long in cost
        .get("tiers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if let Some(above) = long.pointer("/tier/size").and_then(Value::as_u64) {
            tiers.retain(|tier: &PriceTier| tier.input_tokens_above != above);
            tiers.push(tier(long, above, &price)?);
        }
    }
    if !tiers.is_empty() {
        tiers.truncate(MAX_TIERS);
        price.tiers = Tiers::try_from(tiers).ok()?;
    }
    Some(price)
}

fn tier(cost: &Value, above: u64, base: &Price) -> Option<PriceTier> {
    Some(PriceTier {
        input_tokens_above: above,
        input: amount(cost, "input", base.input)?,
        output: amount(cost, "output", base.output)?,
        cache_read: amount(cost, "cache_read", base.cache_read)?,
        cache_write: amount(cost, "cache_write", base.cache_write)?,
    })
}

fn amount(cost: &Value, name: &str, missing: f64) -> Option<f64> {
    match cost.get(name) {
        None | Some(Value::Null) => Some(missing),
        Some(value) => value
            .as_f64()
            .filter(|price| (0.0..=MAX_PRICE).contains(price)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(name: &str) -> ProviderEntry {
        ProviderEntry::from(PROVIDERS.iter().find(|row| row.name == name).unwrap())
    }

    fn fact(id: &str, price: f64) -> Value {
        json!({"id": id, "name": id.to_uppercase(), "tool_call": true, "reasoning": true,
            "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
            "limit": {"context": 400_000, "output": 64_000},
            "cost": {"input": price, "output": 5.0, "cache_read": 0.1,
                     "context_over_200k": {"input": 2.0 * price, "output": 9.0}}})
    }

    /// A plausible document with additional models.
    fn document(more: &[(&str, Value)]) -> Value {
        let filler =
            (0..MIN_MODELS).map(|at| (format!("gpt-x{at}"), fact(&format!("gpt-x{at}"), 1.0)));
        let mut document = json!({"openai": {"models": filler.collect::<Map<String, Value>>()}});
        for (at, (provider, fact)) in more.iter().enumerate() {
            document[*provider]["models"][format!("more-{at}")] = fact.clone();
        }
        document
    }

    fn read(document: &Value) -> Result<Reading, String> {
        Published::read(document.to_string().as_bytes())
    }

    #[test]
    fn new_models_use_the_settings_of_related_models() {
        let document = document(&[
            ("anthropic", fact("claude-opus-9", 7.0)),
            ("anthropic", fact("claude-haiku-5-5", 0.2)),
            ("somewhere-else", fact("stranger", 1.0)),
        ]);
        let reading = read(&document).unwrap();
        assert_eq!(
            (reading.new, reading.changed, reading.left_out),
            (MIN_MODELS + 1, 1, 0)
        );
        let anthropic = entry("anthropic");
        let before = bundled::models(&anthropic);
        let mut models = before.clone();
        reading.published.change_models(&anthropic, &mut models);
        let find = |models: &[Arc<Model>], id: &str| {
            models
                .iter()
                .map(|model| &**model)
                .find(|model| model.id == id)
                .cloned()
        };
        let (new, kin) = (
            find(&models, "claude-opus-9").unwrap(),
            find(&before, "claude-opus-5-5").unwrap(),
        );
        let tier = PriceTier {
            input_tokens_above: 200_000,
            input: 14.0,
            output: 9.0,
            cache_read: 0.1,
            cache_write: 0.0,
        };
        let price = Price {
            input: 7.0,
            output: 5.0,
            cache_read: 0.1,
            cache_write: 0.0,
            tiers: Tiers::try_from(vec![tier]).unwrap(),
        };
        let expected = Model {
            id: "claude-opus-9".to_owned(),
            name: "CLAUDE-OPUS-9".to_owned(),
            context_window: 400_000,
            max_tokens: 64_000,
            price,
            ..kin
        };
        assert_eq!(new, expected);
        let (changed, was) = (
            find(&models, "claude-haiku-5-5").unwrap(),
            find(&before, "claude-haiku-5-5").unwrap(),
        );
        assert_eq!(
            (changed.price.input, changed.context_window),
            (0.2, 400_000)
        );
        assert_eq!(
            (&changed.compat, &changed.thinking_levels),
            (&was.compat, &was.thinking_levels)
        );
        assert_eq!(models.len(), before.len() + 1);
        // Stored data round-trips.
        let stored = serde_json::to_string(&reading.published).unwrap();
        assert_eq!(
            serde_json::from_str::<Published>(&stored).unwrap(),
            reading.published
        );
    }

    #[test]
    fn list_of_a_provider_adds_unknown_models() {
        let mut published = Published::default();
        let list = br#"{"data": [{"id": "claude-opus-9"}, {"id": "claude-opus-5-5"}, {"id": "claude-mini-9", "max_input_tokens": 5000}, {"id": "a b"}]}"#;
        assert_eq!(published.add_list("anthropic", list), 2);
        assert_eq!(published.add_list("anthropic", list), 0);
        assert_eq!(published.add_list("nobody", list), 0);
        let anthropic = entry("anthropic");
        let mut models = bundled::models(&anthropic);
        let known = models
            .iter()
            .find(|model| model.id == "claude-opus-5-5")
            .unwrap();
        let known = known.context_window;
        published.change_models(&anthropic, &mut models);
        let window = |id: &str| {
            models
                .iter()
                .find(|model| model.id == id)
                .unwrap()
                .context_window
        };
        assert_eq!(
            (window("claude-opus-9"), window("claude-mini-9")),
            (known, 5000)
        );
    }

    #[test]
    fn invalid_documents_are_rejected() {
        for text in [
            "",
            "<html>",
            "[]",
            "7",
            "{}",
            r#"{"openai": {"models": [1]}}"#,
        ] {
            assert!(Published::read(text.as_bytes()).is_err(), "{text}");
        }
        let mut bad = fact("x", 1.0);
        let mut hostile = Vec::new();
        for (pointer, value) in [
            ("/id", json!("a b")),
            ("/id", json!("\u{1b}[31mred")),
            ("/id", json!("x".repeat(500))),
            ("/limit/context", json!(-4)),
            ("/limit/context", json!(u64::MAX)),
            ("/limit/output", json!("many")),
            ("/cost/input", json!(-1.0)),
            ("/cost/output", json!(1e9)),
            ("/cost/context_over_200k/input", json!("free")),
        ] {
            let before = bad.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            hostile.push(("groq", bad));
            bad = before;
        }
        let reading = read(&document(&hostile)).unwrap();
        assert_eq!((reading.left_out, reading.new), (hostile.len(), MIN_MODELS));
        let mostly: Vec<(&str, Value)> = (0..30)
            .map(|at| ("groq", json!({"id": format!("m{at}"), "limit": "none"})))
            .collect();
        let error = read(&document(&mostly)).unwrap_err();
        assert_eq!(error, "only 20 of its models are plausible, 30 are not");
    }

    #[test]
    fn models_without_tools_are_ignored() {
        let mut mute = fact("gpt-image-9", 1.0);
        mute["modalities"]["output"] = json!(["image"]);
        let mut old = fact("gpt-old", 1.0);
        old["status"] = json!("deprecated");
        let mut simple = fact("gpt-simple", 1.0);
        simple["tool_call"] = json!(false);
        let reading = read(&document(&[
            ("openai", mute),
            ("openai", old),
            ("openai", simple),
        ]))
        .unwrap();
        assert_eq!((reading.new, reading.left_out), (MIN_MODELS, 0));
    }
}
