//! The description of a model.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tuning::{CacheRetention, Tuning};
use super::usage::Price;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    #[serde(rename = "openai-chat-completions", alias = "openai-completions")]
    OpenaiChatCompletions,
    #[serde(rename = "openai-responses")]
    OpenaiResponses,
    AnthropicMessages,
    #[serde(rename = "google-generative-ai")]
    GoogleGenerativeAi,
    Ollama,
    BedrockConverse,
    /// A script instead of a model: `demo/tour`, `script/FILE`.
    Scripted,
}

impl Api {
    pub const ALL: [Self; 7] = [
        Self::OpenaiChatCompletions,
        Self::OpenaiResponses,
        Self::AnthropicMessages,
        Self::GoogleGenerativeAi,
        Self::Ollama,
        Self::BedrockConverse,
        Self::Scripted,
    ];

    /// The name used in `models.json` and in stored messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChatCompletions => "openai-chat-completions",
            Self::OpenaiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GoogleGenerativeAi => "google-generative-ai",
            Self::Ollama => "ollama",
            Self::BedrockConverse => "bedrock-converse",
            Self::Scripted => "scripted",
        }
    }

    /// The modalities that a request can contain.
    fn carries(self) -> &'static [Modality] {
        use Modality::{Audio, Image, Pdf, Text};
        match self {
            Self::OpenaiChatCompletions | Self::GoogleGenerativeAi | Self::Scripted => {
                &[Text, Image, Audio, Pdf]
            }
            Self::OpenaiResponses | Self::AnthropicMessages | Self::BedrockConverse => {
                &[Text, Image, Pdf]
            }
            Self::Ollama => &[Text, Image],
        }
    }

    /// The wire format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.name() == name)
    }
}

/// A kind of input that a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    Text,
    Image,
    Audio,
    Pdf,
}

osier_base::words! {
    /// How much a model thinks. A level that the model does not support is replaced by the nearest one.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum ThinkingLevel {
        #[default]
        Off = "off",
        Minimal = "minimal",
        Low = "low",
        Medium = "medium",
        High = "high",
        Xhigh = "xhigh",
        Max = "max",
    }
}

osier_base::parameter_types! {
    Model: Object("Model"),
}

/// A model of the catalogue, `models.json` or a local server.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The name of the provider; `PROVIDER/ID` identifies the model.
    pub provider: String,
    pub id: String,
    /// The display name; the id when there is none.
    pub name: String,
    pub api: Api,
    /// The URL to which the wire format appends its path; without a trailing slash.
    pub base_url: String,
    /// The context window in tokens.
    pub context_window: u64,
    /// Maximum tokens of an answer.
    pub max_tokens: u64,
    /// The supported levels, lowest first; only `Off` if the model cannot think.
    pub thinking_levels: Vec<ThinkingLevel>,
    pub input: Vec<Modality>,
    pub price: Price,
    /// Extra headers of every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub compat: Compat,
    /// The forms that the model is trained with, and options of its requests.
    #[serde(default, skip_serializing_if = "Tuning::is_default")]
    pub tuning: Tuning,
}

/// Prints only the names of headers: their values can be keys.
impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Model")
            .field("provider", &self.provider)
            .field("id", &self.id)
            .field("name", &self.name)
            .field("api", &self.api)
            .field("base_url", &self.base_url)
            .field("context_window", &self.context_window)
            .field("max_tokens", &self.max_tokens)
            .field("thinking_levels", &self.thinking_levels)
            .field("input", &self.input)
            .field("price", &self.price)
            .field("headers", &Names(&self.headers))
            .field("compat", &self.compat)
            .field("tuning", &self.tuning)
            .finish()
    }
}

/// Prints the names of headers without their values.
pub(crate) struct Names<'a>(pub &'a BTreeMap<String, String>);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// The price of a cache entry for an hour at Anthropic, compared with five minutes: twice the price of input instead of
/// 1.25 times.
const HOUR_PRICE: f64 = 1.6;

impl Model {
    /// `PROVIDER/ID`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Whether the model accepts this kind of input, and its wire format can send it.
    pub fn accepts(&self, kind: Modality) -> bool {
        self.input.contains(&kind) && self.api.carries().contains(&kind)
    }

    /// How long the provider keeps a prompt in its cache after the last use; `None` if that is unknown.
    ///
    /// Sources: <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>,
    /// <https://platform.openai.com/docs/guides/prompt-caching>.
    pub fn cache_lifetime(&self, retention: CacheRetention) -> Option<Duration> {
        let is_marked = match self.api {
            Api::AnthropicMessages => !self.compat.no_cache_control,
            Api::OpenaiResponses => true,
            _ => self.compat.cache_control,
        };
        let long = if self.api == Api::OpenaiResponses {
            Duration::from_hours(24)
        } else {
            Duration::from_hours(1)
        };
        is_marked.then_some(match retention {
            CacheRetention::Short => Duration::from_mins(5),
            CacheRetention::Long => long,
        })
    }

    /// The price if the provider keeps its cache for `retention`.
    pub fn price_with(&self, retention: CacheRetention) -> Price {
        match (self.api, retention) {
            (Api::AnthropicMessages, CacheRetention::Long) => {
                self.price.with_cache_writes(HOUR_PRICE)
            }
            _ => self.price,
        }
    }

    pub fn can_think(&self) -> bool {
        self.thinking_levels
            .iter()
            .any(|level| *level != ThinkingLevel::Off)
    }

    /// The level of a session for which the user has set none. Vendors recommend thinking for
    /// agents, at their medium effort or as the model decides. A script does not think.
    pub fn default_thinking(&self) -> ThinkingLevel {
        match self.api {
            Api::Scripted => ThinkingLevel::Off,
            _ => ThinkingLevel::Medium,
        }
    }

    /// The nearest supported level: the highest one up to `wanted`, or the lowest one.
    pub fn clamp(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        let fitting = self
            .thinking_levels
            .iter()
            .filter(|level| **level <= wanted)
            .max();
        fitting
            .or(self.thinking_levels.iter().min())
            .copied()
            .unwrap_or_default()
    }
}

/// Differences of a server from its wire format. They are data: no code depends on the provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Compat {
    /// Whether the provider can search the web for an answer.
    pub hosted_search: bool,
    /// Chat completions: the field of the output limit is `max_tokens`, not `max_completion_tokens`.
    pub max_tokens_field: bool,
    /// Chat completions: the role of the system prompt is `developer`.
    pub developer_role: bool,
    /// Chat completions: `stream_options` is rejected.
    pub no_stream_usage: bool,
    /// Chat completions: how thinking is requested.
    pub thinking_format: ThinkingFormat,
    /// Chat completions: the field that must contain the thinking text of assistant messages with tool calls.
    pub replay_reasoning_field: Option<String>,
    /// Chat completions: `prompt_cache_key` groups the calls of a session.
    pub prompt_cache_key: bool,
    /// Chat completions: ids of tool calls must have exactly nine letters and digits.
    pub short_tool_ids: bool,
    /// Chat completions, Bedrock: send prompt-cache marks, for models that need them.
    pub cache_control: bool,
    /// Bedrock: tools and their results do not accept prompt-cache marks.
    pub unmarked_tools: bool,
    /// Chat completions: the content of an answer must not be null; it can be empty.
    pub text_required: bool,
    /// Chat completions: tool results contain the name of their tool.
    pub tool_result_name: bool,
    /// Chat completions: a user message must not follow tool results; an assistant message is inserted.
    pub answer_after_results: bool,
    /// Chat completions: thinking is sent back as parts of the content, before the text.
    pub thinking_parts: bool,
    /// OpenAI's formats: the names of efforts that differ from the names of the levels.
    pub effort_names: BTreeMap<ThinkingLevel, String>,
    /// OpenAI's formats: a request without an effort disables thinking.
    pub silent_off: bool,
    /// Additional fields of every request body.
    pub extra_body: BTreeMap<String, Value>,
    /// The header that groups the calls of a session.
    pub session_header: Option<String>,
    /// GitHub Copilot: headers contain whether the user or the agent sent the last message, and whether there
    /// are images.
    pub caller_headers: bool,
    /// Anthropic messages: the value of `anthropic-version`; `2023-06-01` when not set.
    pub anthropic_version: Option<String>,
    /// Anthropic messages on Google Vertex: the model is in the URL and the version in the body.
    pub on_vertex: bool,
    /// Anthropic messages, Bedrock: thinking is requested as `adaptive` with an effort, not with a token
    /// budget.
    pub adaptive_thinking: bool,
    /// Anthropic messages, Bedrock: thinking is bound to the conversation before it. Thinking that was produced with
    /// another system prompt, other tools or other messages is not sent back.
    pub bound_thinking: bool,
    /// The header of the key, if it is not that of the wire format.
    pub key_header: Option<KeyHeader>,
    /// Anthropic messages: no prompt-cache marks.
    pub no_cache_control: bool,
    /// Google, Bedrock: thinking is requested with a token budget, not with a level.
    pub thinking_budget: bool,
    /// Google: the first call of every step needs a signature, if necessary the vendor's placeholder.
    pub signed_calls: bool,
    /// Google: tool results can contain images.
    pub images_in_results: bool,
    /// Responses: the server has freeform tools with a grammar.
    pub freeform_tools: bool,
}

impl Compat {
    /// Sets a field by its name in files. The error says why the value is invalid.
    pub(crate) fn set(&mut self, field: &str, value: Value) -> Result<(), String> {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(&*self) else {
            return Err("cannot be changed".to_owned());
        };
        if !fields.contains_key(field) {
            return Err("is not known".to_owned());
        }
        fields.insert(field.to_owned(), value);
        *self = serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The name of `level` in requests of OpenAI's formats.
    pub fn effort(&self, level: ThinkingLevel) -> &str {
        match self.effort_names.get(&level) {
            Some(name) => name,
            None if level == ThinkingLevel::Off => "none",
            None => level.name(),
        }
    }
}

/// The header that contains the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    XApiKey,
    ApiKey,
    XGoogApiKey,
    /// `cf-aig-authorization: Bearer KEY`.
    CfAigAuthorization,
}

impl KeyHeader {
    /// The name of the header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bearer => "authorization",
            Self::XApiKey => "x-api-key",
            Self::ApiKey => "api-key",
            Self::XGoogApiKey => "x-goog-api-key",
            Self::CfAigAuthorization => "cf-aig-authorization",
        }
    }

    /// The value of the header for `key`.
    pub fn value(self, key: &str) -> String {
        match self {
            Self::Bearer | Self::CfAigAuthorization => format!("Bearer {key}"),
            _ => key.to_owned(),
        }
    }
}

/// How thinking is requested from a chat-completions server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingFormat {
    /// `reasoning_effort: LEVEL`.
    #[default]
    Effort,
    /// OpenRouter: `reasoning: {effort}`.
    Openrouter,
    /// Together: `reasoning: {enabled}`.
    ReasoningEnabled,
    /// DeepSeek, Z.ai: `thinking: {type: enabled|disabled}`.
    Thinking,
    /// Qwen: `enable_thinking: bool`.
    EnableThinking,
    /// Mistral: `prompt_mode: reasoning`.
    PromptMode,
    /// vLLM, llama.cpp, SGLang: `chat_template_kwargs: {enable_thinking}`.
    ChatTemplate,
    /// Thinking is not requested.
    None,
}
