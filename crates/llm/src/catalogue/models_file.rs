//! The user's `models.json`: their own providers and models, and changes to bundled ones.
//!
//! An error affects only its own entry: invalid JSON leaves the bundled table unchanged, an invalid provider
//! or model is ignored with a warning that contains its path, and unknown keys cause a warning because they
//! can be typing errors.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use osier_base::json;

use super::discovery::LOCAL_WINDOW;
use super::providers::ProviderEntry;
use super::related::related;
use crate::auth::KeySource;
use crate::model::{Api, Compat, Modality, Model, ThinkingLevel};
use crate::tuning::{Tuning, TuningChange};
use crate::usage::Price;
use osier_base::secrets;

const DEFAULT_WINDOW: u64 = 128_000;
const DEFAULT_OUTPUT: u64 = 8192;
/// The levels of a model that has only `reasoning: true`.
const DEFAULT_LEVELS: [ThinkingLevel; 4] = [
    ThinkingLevel::Off,
    ThinkingLevel::Low,
    ThinkingLevel::Medium,
    ThinkingLevel::High,
];

/// The content of `models.json` and its errors.
#[derive(Debug, Default)]
pub struct ModelsFile {
    providers: Vec<FileProvider>,
    /// One line for each ignored or unknown part, with its path in the file.
    pub warnings: Vec<String>,
    /// The environment variables that the file names, in order.
    pub variables: Vec<String>,
}

/// The reason why the file is not usable; osier works without it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelsFileError {
    #[error("{path}:{line}:{column}: {reason}")]
    Syntax {
        path: String,
        line: usize,
        column: usize,
        reason: String,
    },
    #[error("{path}: `providers` is not an object")]
    Shape { path: String },
}

impl ModelsFileError {
    /// A suggestion for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => {
                "fix the JSON there (no comments, no comma before a closing bracket); until then only bundled models are available"
            }
            Self::Shape { .. } => {
                "write {\"providers\": {\"NAME\": {\"baseUrl\": …, \"api\": …, \"models\": [{\"id\": …}]}}}"
            }
        }
    }
}

struct FileProvider {
    name: String,
    base_url: Option<String>,
    api: Option<Api>,
    key: Option<KeySource>,
    headers: BTreeMap<String, String>,
    compat: Map<String, Value>,
    models: Vec<FileModel>,
    /// Whether the entry describes a sign-in.
    signs_in: bool,
}

struct FileModel {
    id: String,
    name: Option<String>,
    api: Option<Api>,
    context_window: Option<u64>,
    max_tokens: Option<u64>,
    thinking_levels: Option<Vec<ThinkingLevel>>,
    input: Option<Vec<Modality>>,
    cost: Option<Price>,
    headers: BTreeMap<String, String>,
    compat: Map<String, Value>,
    tuning: TuningChange,
}

/// Hides headers and keys.
impl fmt::Debug for FileProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = self.models.iter().map(|model| model.id.as_str()).collect();
        formatter
            .debug_struct("FileProvider")
            .field("name", &self.name)
            .field("models", &ids)
            .finish_non_exhaustive()
    }
}

impl ModelsFile {
    /// Parses the text of `models.json`; `path` is used in errors.
    pub fn parse(text: &str, path: &str) -> Result<Self, ModelsFileError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value = json::from_people(text).map_err(|error| ModelsFileError::Syntax {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            reason: without_position(&error.to_string()),
        })?;
        secrets::add_known_fields(&value);
        let mut variables = Vec::new();
        collect_variables(&value, &mut variables);
        let shape = || ModelsFileError::Shape {
            path: path.to_owned(),
        };
        let Value::Object(mut top) = value else {
            return Err(shape());
        };
        let providers = match top.remove("providers") {
            Some(Value::Object(providers)) => providers,
            None if top.is_empty() => Map::new(),
            _ => return Err(shape()),
        };
        let mut fields = Fields::new(top, path.to_owned());
        fields.warn_of_rest("");
        let mut file = Self {
            providers: Vec::new(),
            warnings: fields.warnings,
            variables,
        };
        for (name, value) in providers {
            let location = format!("{path}: providers.{name}");
            let (provider, mut warnings) = FileProvider::parse(name, value, location);
            file.warnings.append(&mut warnings);
            file.providers.extend(provider);
        }
        Ok(file)
    }

    /// Replaces `$NAME` and `${NAME}` in headers by the variables that are set.
    pub(super) fn expand_headers(&mut self, variable: &dyn Fn(&str) -> Option<String>) {
        let all = self.providers.iter_mut().flat_map(|provider| {
            let models = provider.models.iter_mut();
            std::iter::once(&mut provider.headers).chain(models.map(|model| &mut model.headers))
        });
        for (name, value) in all.flatten() {
            let expanded = expand(value, variable);
            if expanded != *value {
                secrets::add_known_header(name, &expanded);
                *value = expanded;
            }
        }
    }

    /// Names of the providers in the file.
    pub(crate) fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|provider| provider.name.as_str())
    }

    /// Applies the changes of bundled providers and adds the user's own.
    pub(super) fn change_entries(&self, entries: &mut Vec<ProviderEntry>) {
        for provider in &self.providers {
            let at = entries.iter().position(|entry| entry.name == provider.name);
            let at = at.unwrap_or_else(|| {
                entries.push(provider.new_entry());
                entries.len() - 1
            });
            provider.change(&mut entries[at]);
        }
    }

    /// Applies the file's changes of `entry` to its bundled models. `entry` already has the changes of the
    /// provider.
    pub(super) fn change_models(&self, entry: &ProviderEntry, models: &mut Vec<Arc<Model>>) {
        let named = self.providers.iter();
        for provider in named.filter(|provider| provider.name == entry.name) {
            for model in models.iter_mut() {
                provider.change_model(Arc::make_mut(model));
            }
            for model in &provider.models {
                match models.iter_mut().find(|have| have.id == model.id) {
                    Some(have) => model.change(Arc::make_mut(have)),
                    None => models.push(Arc::new(model.build(entry))),
                }
            }
        }
    }
}

impl FileProvider {
    fn parse(name: String, value: Value, location: String) -> (Option<Self>, Vec<String>) {
        let Value::Object(fields) = value else {
            return (None, vec![format!("{location} is not an object: ignored")]);
        };
        let mut fields = Fields::new(fields, location);
        let base_url: Option<String> = fields.parse_field("baseUrl", "an address");
        let known = super::PROVIDERS.iter().any(|row| row.name == name);
        let mut provider = Self {
            name,
            base_url: base_url.map(|url| url.trim_end_matches('/').to_owned()),
            api: fields.parse_field("api", API_NAMES),
            key: fields
                .parse_field::<String>("apiKey", "a text")
                .filter(|key| !key.trim().is_empty())
                .map(|key| KeySource::parse(&key)),
            headers: fields
                .parse_field("headers", "texts by name")
                .unwrap_or_default(),
            compat: fields.compat(),
            models: Vec::new(),
            signs_in: false,
        };
        // `auth::SignIns` reads this field.
        provider.signs_in = fields.left.remove("oauth").is_some();
        let models: Vec<Value> = fields.parse_field("models", "a list").unwrap_or_default();
        for (index, value) in models.into_iter().enumerate() {
            let location = format!("{}.models[{index}]", fields.location);
            provider
                .models
                .extend(FileModel::parse(value, location, &mut fields.warnings));
        }
        fields.warn_of_rest(".");
        if provider.base_url.is_none() && !known {
            fields.warn("", "needs a `baseUrl`: ignored");
            return (None, fields.warnings);
        }
        (Some(provider), fields.warnings)
    }

    /// The entry of a provider that is not bundled. Without a configured key, the provider needs
    /// none.
    fn new_entry(&self) -> ProviderEntry {
        ProviderEntry {
            name: self.name.clone(),
            label: self.name.clone(),
            base_url: String::new(),
            api: Api::OpenaiChatCompletions,
            env_keys: Vec::new(),
            needs_key: self.key.is_some() || self.signs_in,
            ambient: None,
            key: None,
            headers: BTreeMap::new(),
            compat: Compat::default(),
        }
    }

    fn change(&self, entry: &mut ProviderEntry) {
        if let Some(url) = &self.base_url {
            entry.base_url.clone_from(url);
        }
        entry.api = self.api.unwrap_or(entry.api);
        entry.key.clone_from(&self.key);
        entry.headers.extend(self.headers.clone());
        apply_compat(&mut entry.compat, &self.compat);
    }

    /// Applies the settings of the provider to a model, and overrides those of the table.
    fn change_model(&self, model: &mut Model) {
        if let Some(url) = &self.base_url {
            model.base_url.clone_from(url);
        }
        model.api = self.api.unwrap_or(model.api);
        model.headers.extend(self.headers.clone());
        apply_compat(&mut model.compat, &self.compat);
    }
}

impl FileModel {
    fn parse(value: Value, location: String, warnings: &mut Vec<String>) -> Option<Self> {
        let Value::Object(fields) = value else {
            warnings.push(format!("{location} is not an object: ignored"));
            return None;
        };
        let mut fields = Fields::new(fields, location);
        let id: Option<String> = fields.parse_field("id", "a text");
        let reasoning: Option<bool> = fields.parse_field("reasoning", "true or false");
        let mut levels: Option<Vec<ThinkingLevel>> =
            fields.parse_field("thinkingLevels", "a list of levels");
        if let Some(levels) = &mut levels {
            levels.sort_unstable();
            levels.dedup();
        }
        let by_default = reasoning.map(|reasoning| {
            let count = if reasoning { DEFAULT_LEVELS.len() } else { 1 };
            DEFAULT_LEVELS[..count].to_vec()
        });
        let positive = |tokens: &u64| *tokens > 0;
        let model = Self {
            id: id.unwrap_or_default(),
            name: fields.parse_field("name", "a text"),
            api: fields.parse_field("api", API_NAMES),
            context_window: fields
                .parse_field("contextWindow", "a count of tokens")
                .filter(positive),
            max_tokens: fields
                .parse_field("maxTokens", "a count of tokens")
                .filter(positive),
            thinking_levels: levels.filter(|levels| !levels.is_empty()).or(by_default),
            input: fields.parse_field("input", "a list of `text` and `image`"),
            cost: fields.parse_field("cost", "dollars per million tokens"),
            headers: fields
                .parse_field("headers", "texts by name")
                .unwrap_or_default(),
            compat: fields.compat(),
            tuning: TuningChange {
                tools: fields.parse_field("tools", "one of `edit`, `patch` and `gemini`"),
                verbosity: fields.parse_field("verbosity", "one of `low`, `medium` and `high`"),
                service_tier: fields.parse_field("serviceTier", "a text"),
                parallel_calls: fields.parse_field("parallelCalls", "true or false"),
            },
        };
        fields.warn_of_rest(".");
        let named = !model.id.trim().is_empty();
        if !named {
            fields.warn("", "needs an `id`: ignored");
        }
        warnings.append(&mut fields.warnings);
        named.then_some(model)
    }

    fn build(&self, entry: &ProviderEntry) -> Model {
        let usual = match self.api.unwrap_or(entry.api) {
            // Ollama allocates the window that a request specifies.
            Api::Ollama => LOCAL_WINDOW,
            _ => DEFAULT_WINDOW,
        };
        let window = self.context_window.unwrap_or(usual);
        let mut model = Model {
            provider: entry.name.clone(),
            id: self.id.clone(),
            name: self.id.clone(),
            api: entry.api,
            base_url: entry.base_url.clone(),
            context_window: window,
            max_tokens: DEFAULT_OUTPUT.min(window / 4).max(1),
            thinking_levels: vec![ThinkingLevel::Off],
            input: vec![Modality::Text],
            price: Price::default(),
            headers: entry.headers.clone(),
            compat: entry.compat.clone(),
            tuning: match entry.api {
                // The name of a script does not determine a tuning.
                Api::Scripted => Tuning::default(),
                _ => Tuning::of(&self.id),
            },
        };
        self.change(&mut model);
        model
    }

    fn change(&self, model: &mut Model) {
        if let Some(name) = &self.name {
            model.name.clone_from(name);
        }
        if let Some(levels) = &self.thinking_levels {
            model.thinking_levels.clone_from(levels);
        }
        if let Some(input) = &self.input {
            model.input.clone_from(input);
        }
        model.api = self.api.unwrap_or(model.api);
        model.context_window = self.context_window.unwrap_or(model.context_window);
        model.max_tokens = self.max_tokens.unwrap_or(model.max_tokens);
        model.price = self.cost.unwrap_or(model.price);
        model.headers.extend(self.headers.clone());
        apply_compat(&mut model.compat, &self.compat);
        self.tuning.apply(&mut model.tuning);
    }
}

/// A model of `entry`, given in the form of `models.json`, and the warnings about it.
pub(super) fn model(value: &Value, entry: &ProviderEntry) -> (Option<Model>, Vec<String>) {
    let mut warnings = Vec::new();
    let model = FileModel::parse(value.clone(), entry.name.clone(), &mut warnings);
    (model.map(|model| model.build(entry)), warnings)
}

/// A model of `entry` of which only the id is known. It is called like the related model in
/// `known`.
pub(super) fn unlisted(entry: &ProviderEntry, id: &str, known: &[Arc<Model>]) -> Model {
    if let Some(relative) = related(id, known) {
        let model = Model {
            id: id.to_owned(),
            name: id.to_owned(),
            price: Price::default(),
            tuning: Tuning::of(id),
            ..Model::clone(relative.model)
        };
        if relative.is_of_family {
            return model;
        }
        let (window, output) = (DEFAULT_WINDOW, DEFAULT_OUTPUT);
        return Model {
            context_window: window,
            max_tokens: output,
            thinking_levels: vec![ThinkingLevel::Off],
            input: vec![Modality::Text],
            ..model
        };
    }
    let known = FileModel {
        id: id.to_owned(),
        name: None,
        api: None,
        context_window: None,
        max_tokens: None,
        thinking_levels: None,
        input: None,
        cost: None,
        headers: BTreeMap::new(),
        compat: Map::new(),
        tuning: TuningChange::default(),
    };
    known.build(entry)
}

/// The name of the variable at the start of `text`, and the text after it.
fn variable_at(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('$')?;
    let is_end = |sign: char| !sign.is_ascii_alphanumeric() && sign != '_';
    let (name, rest) = if let Some(rest) = rest.strip_prefix('{') {
        rest.split_once('}')?
    } else {
        rest.split_at(rest.find(is_end).unwrap_or(rest.len()))
    };
    let is_name = !name.is_empty() && !name.contains(is_end);
    (is_name && !name.starts_with(|sign: char| sign.is_ascii_digit())).then_some((name, rest))
}

/// The text with the values of the variables that are set; other variables stay as they are
/// written.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = variable_at(rest).and_then(|(name, after)| Some((variable(name)?, after)));
        if let Some((value, after)) = found {
            expanded.push_str(value.trim());
            rest = after;
        } else {
            expanded.push('$');
            rest = &rest[1..];
        }
    }
    expanded + rest
}

/// The variables in the texts of `value`.
fn collect_variables(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let starts = text.match_indices('$').map(|(at, _)| &text[at..]);
            names.extend(
                starts
                    .filter_map(variable_at)
                    .map(|(name, _)| name.to_owned()),
            );
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect_variables(part, names)),
        Value::Object(fields) => fields
            .values()
            .for_each(|part| collect_variables(part, names)),
        _ => {}
    }
}

fn apply_compat(compat: &mut Compat, changes: &Map<String, Value>) {
    for (key, value) in changes {
        // Invalid values were removed with a warning when the file was parsed.
        compat.set(key, value.clone()).ok();
    }
}

const API_NAMES: &str = "one of `openai-chat-completions`, `openai-responses`, `anthropic-messages`, `google-generative-ai`, `ollama` and `bedrock-converse`";

/// The fields of an object. Known fields are removed one by one, so that the remaining ones are unknown.
struct Fields {
    left: Map<String, Value>,
    location: String,
    warnings: Vec<String>,
}

impl Fields {
    fn new(left: Map<String, Value>, location: String) -> Self {
        Self {
            left,
            location,
            warnings: Vec::new(),
        }
    }

    fn warn(&mut self, key: &str, message: &str) {
        self.warnings
            .push(format!("{}{key} {message}", self.location));
    }

    /// Removes the field `key`, with a warning if it is not `what`. `null` means not set.
    fn parse_field<T: DeserializeOwned>(&mut self, key: &str, what: &str) -> Option<T> {
        let value = self.left.remove(key).filter(|value| !value.is_null())?;
        let parsed = serde_json::from_value(value).ok();
        if parsed.is_none() {
            self.warn(&format!(".{key}"), &format!("is not {what}: ignored"));
        }
        parsed
    }

    fn compat(&mut self) -> Map<String, Value> {
        let mut changes: Map<String, Value> =
            self.parse_field("compat", "an object").unwrap_or_default();
        changes.retain(|key, value| {
            let outcome = Compat::default().set(key, value.clone());
            if let Err(reason) = &outcome {
                let message = format!("{}.compat.{key} {reason}: ignored", self.location);
                self.warnings.push(message);
            }
            outcome.is_ok()
        });
        changes
    }

    fn warn_of_rest(&mut self, joint: &str) {
        let rest: Vec<String> = self.left.keys().cloned().collect();
        for key in rest {
            let separator = if joint.is_empty() { ": " } else { joint };
            self.warn(&format!("{separator}{key}"), "is not known: ignored");
        }
    }
}

/// The parser's message without the position, which precedes it.
fn without_position(error: &str) -> String {
    let end = error.rfind(" at line ").unwrap_or(error.len());
    error[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::model::ThinkingFormat;
    use crate::secret::Secret;

    fn parse(text: &str) -> ModelsFile {
        ModelsFile::parse(text, "models.json").unwrap()
    }

    #[test]
    fn new_providers_and_models_get_defaults() {
        let file = parse(
            r#"{"providers": {"lab": {
                "baseUrl": "http://10.0.0.1:8000/v1/", "api": "openai-completions", "apiKey": "$LAB_KEY",
                "headers": {"x-team": "a"}, "compat": {"maxTokensField": true, "thinkingFormat": "chat-template"},
                "models": [
                    {"id": "small", "contextWindow": 16000},
                    {"id": "big", "name": "Big", "contextWindow": 1000000, "maxTokens": 64000, "reasoning": true,
                     "input": ["text", "image"], "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0}}
                ]}}}"#,
        );
        assert_eq!(file.warnings, Vec::<String>::new());
        let catalogue = Catalogue::new(file);
        let entry = catalogue.provider("lab").unwrap();
        assert_eq!(entry.key, Some(KeySource::Env("LAB_KEY".to_owned())));
        let compat = Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::ChatTemplate,
            ..Compat::default()
        };
        let small = Model {
            provider: "lab".to_owned(),
            id: "small".to_owned(),
            name: "small".to_owned(),
            api: Api::OpenaiChatCompletions,
            base_url: "http://10.0.0.1:8000/v1".to_owned(),
            context_window: 16_000,
            max_tokens: 4000,
            thinking_levels: vec![ThinkingLevel::Off],
            input: vec![Modality::Text],
            price: Price::default(),
            headers: BTreeMap::from([("x-team".to_owned(), "a".to_owned())]),
            compat,
            tuning: Tuning::default(),
        };
        assert_eq!(**catalogue.get("lab/small").unwrap(), small);
        let big = Model {
            id: "big".to_owned(),
            name: "Big".to_owned(),
            context_window: 1_000_000,
            max_tokens: 64_000,
            thinking_levels: DEFAULT_LEVELS.to_vec(),
            input: vec![Modality::Text, Modality::Image],
            price: Price {
                input: 1.0,
                output: 2.0,
                cache_read: 0.1,
                cache_write: 0.0,
                ..Price::default()
            },
            ..small
        };
        assert_eq!(**catalogue.get("lab/big").unwrap(), big);
    }

    #[test]
    fn headers_contain_variables() {
        let mut file = parse(
            r#"{"providers": {"lab": {"baseUrl": "http://lab", "apiKey": "$LAB_KEY",
                "headers": {"a": "${ONE}", "b": "Bearer $TWO.", "c": "$5 ${} $UNSET"},
                "models": [{"id": "m", "headers": {"d": "x${ONE}${TWO}"}}]}}}"#,
        );
        let mut names = file.variables.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names, ["LAB_KEY", "ONE", "TWO", "UNSET"]);
        file.expand_headers(&|name| match name {
            "ONE" => Some("1".to_owned()),
            "TWO" => Some("2".to_owned()),
            _ => None,
        });
        let catalogue = Catalogue::new(file);
        let headers = &catalogue.get("lab/m").unwrap().headers;
        let headers: Vec<&str> = headers.values().map(String::as_str).collect();
        assert_eq!(headers, ["1", "Bearer 2.", "$5 ${} $UNSET", "x12"]);
    }

    #[test]
    fn bundled_providers_are_changed_and_extended() {
        let file = parse(
            r#"{"providers": {"anthropic": {"baseUrl": "https://proxy.example", "apiKey": "sk-1",
                "models": [{"id": "claude-opus-5-5", "name": "Mine"}, {"id": "claude-next"}]}}}"#,
        );
        let bundled = Catalogue::default();
        let catalogue = Catalogue::new(file);
        let mut expected = Model::clone(bundled.get("anthropic/claude-opus-5-5").unwrap());
        expected.base_url = "https://proxy.example".to_owned();
        expected.name = "Mine".to_owned();
        assert_eq!(
            **catalogue.get("anthropic/claude-opus-5-5").unwrap(),
            expected
        );
        let next = catalogue.get("anthropic/claude-next").unwrap();
        assert_eq!(next.api, Api::AnthropicMessages);
        assert_eq!(catalogue.list().len(), bundled.list().len() + 1);
        let key = &catalogue.provider("anthropic").unwrap().key;
        assert_eq!(key, &Some(KeySource::Literal(Secret::new("sk-1"))));
    }

    #[test]
    fn errors_are_isolated_and_reported() {
        let file = parse(
            r#"{"version": 1, "providers": {
                "a": 7,
                "b": {"models": []},
                "c": {"baseUrl": "http://c", "api": "telepathy", "apikey": "x", "compat": {"nope": 1, "developerRole": "yes"},
                      "models": [{"name": "no id"}, 3, {"id": "ok", "contextWindow": "big", "reasoning": null}]}
            }}"#,
        );
        let warnings: Vec<&str> = file
            .warnings
            .iter()
            .map(|warning| warning.strip_prefix("models.json: ").unwrap())
            .collect();
        assert_eq!(
            warnings,
            [
                "version is not known: ignored",
                "providers.a is not an object: ignored",
                "providers.b needs a `baseUrl`: ignored",
                &format!("providers.c.api is not {API_NAMES}: ignored"),
                "providers.c.compat.nope is not known: ignored",
                "providers.c.compat.developerRole invalid type: string \"yes\", expected a boolean: ignored",
                "providers.c.models[0] needs an `id`: ignored",
                "providers.c.models[1] is not an object: ignored",
                "providers.c.models[2].contextWindow is not a count of tokens: ignored",
                "providers.c.apikey is not known: ignored",
            ]
        );
        let catalogue = Catalogue::new(file);
        assert_eq!(
            catalogue.get("c/ok").unwrap().context_window,
            DEFAULT_WINDOW
        );
    }

    #[test]
    fn invalid_json_error_has_a_position() {
        let error =
            ModelsFile::parse("{\n  \"providers\": {,}\n}", "/home/me/models.json").unwrap_err();
        assert_eq!(
            error.to_string(),
            "/home/me/models.json:2:17: key must be a string"
        );
        let error = ModelsFile::parse("{\"providers\": []}", "m.json").unwrap_err();
        assert_eq!(error.to_string(), "m.json: `providers` is not an object");
        assert!(ModelsFile::parse("  ", "m.json").is_ok());
    }
}
