//! What is known about a model before it is called.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::usage::Price;

/// The wire format a provider speaks.
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
    /// A script inside the program: `demo/tour`, `script/FILE`.
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

    /// The wire format called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.name() == name)
    }
}

/// What a model accepts beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    Text,
    Image,
}

/// How hard a model is asked to think. Levels a model lacks are clamped to the nearest it has.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ThinkingLevel {
    /// Every level, weakest first.
    pub const ALL: [Self; 7] = [
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
        Self::Max,
    ];

    /// The name used on the command line, in files and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The level called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A model as the catalogue, `models.json` or a local server describes it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Name of the provider entry it belongs to; `PROVIDER/ID` names it everywhere.
    pub provider: String,
    pub id: String,
    /// For people; the id when nothing better is known.
    pub name: String,
    pub api: Api,
    /// Without a trailing slash; what the wire format appends its path to.
    pub base_url: String,
    /// Tokens.
    pub context_window: u64,
    /// Tokens one answer may have.
    pub max_tokens: u64,
    /// Levels the model has, weakest first; only `Off` when it cannot think.
    pub thinking_levels: Vec<ThinkingLevel>,
    pub input: Vec<Modality>,
    pub price: Price,
    /// Extra headers of every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub compat: Compat,
}

/// Of the headers the names alone: their values may be keys.
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
            .finish()
    }
}

/// The names of headers, to be shown without their values.
pub(crate) struct Names<'a>(pub &'a BTreeMap<String, String>);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl Model {
    /// `PROVIDER/ID`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    pub fn accepts_images(&self) -> bool {
        self.input.contains(&Modality::Image)
    }

    pub fn can_think(&self) -> bool {
        self.thinking_levels
            .iter()
            .any(|level| *level != ThinkingLevel::Off)
    }

    /// The nearest level the model has: the strongest not above `wanted`, else its weakest.
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

/// Ways in which a server differs from its wire format's norm. All data: no code asks which provider
/// it talks to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Compat {
    /// Chat completions: the output limit's field is `max_tokens`, not `max_completion_tokens`.
    pub max_tokens_field: bool,
    /// Chat completions: the system prompt goes under the role `developer`.
    pub developer_role: bool,
    /// Chat completions: `stream_options` is refused.
    pub no_stream_usage: bool,
    /// Chat completions: how thinking is asked for.
    pub thinking_format: ThinkingFormat,
    /// Chat completions: thinking text must come back on replayed assistant messages that call tools,
    /// under this field name.
    pub replay_reasoning_field: Option<String>,
    /// Chat completions: `prompt_cache_key` groups the calls of a session.
    pub prompt_cache_key: bool,
    /// Chat completions: tool-call ids are exactly nine letters and digits.
    pub short_tool_ids: bool,
    /// Chat completions, Bedrock: prompt-cache marks, for routers to models that need them.
    pub cache_control: bool,
    /// Bedrock: neither tools nor their results take prompt-cache marks.
    pub unmarked_tools: bool,
    /// Chat completions: the content of an answer is never null, at least empty.
    pub text_required: bool,
    /// Chat completions: tool results name their tool.
    pub tool_result_name: bool,
    /// Chat completions: a user message may not follow tool results; a word of the assistant's goes between.
    pub answer_after_results: bool,
    /// Chat completions: thinking goes back as parts of the content, before the text.
    pub thinking_parts: bool,
    /// OpenAI's formats: what efforts are called, where not by their level's name.
    pub effort_names: BTreeMap<ThinkingLevel, String>,
    /// OpenAI's formats: not asking for an effort turns thinking off.
    pub silent_off: bool,
    /// Fields that every request's body has beside the format's own.
    pub extra_body: BTreeMap<String, Value>,
    /// Header that groups the calls of a session.
    pub session_header: Option<String>,
    /// GitHub Copilot: headers say whether a person or the agent asks, and whether there are images.
    pub caller_headers: bool,
    /// Anthropic messages: value of `anthropic-version`; `2023-06-01` when not set.
    pub anthropic_version: Option<String>,
    /// Anthropic messages: as Google hosts them, with the model in the address and the version in the body.
    pub on_vertex: bool,
    /// Anthropic messages, Bedrock: thinking is asked for as `adaptive` with an effort, not as a token budget.
    pub adaptive_thinking: bool,
    /// Where the key goes, when not into the header that the wire format names.
    pub key_header: Option<KeyHeader>,
    /// Anthropic messages: no prompt-cache marks.
    pub no_cache_control: bool,
    /// Google, Bedrock: thinking is asked for as a budget of tokens, not as a level.
    pub thinking_budget: bool,
    /// Google: the first call of every step must carry a signature, the vendor's stand-in if need be.
    pub signed_calls: bool,
    /// Google: tool results may hold images.
    pub images_in_results: bool,
}

impl Compat {
    /// What `level` is called in a request of OpenAI's formats.
    pub fn effort(&self, level: ThinkingLevel) -> &str {
        match self.effort_names.get(&level) {
            Some(name) => name,
            None if level == ThinkingLevel::Off => "none",
            None => level.name(),
        }
    }
}

/// The header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    XApiKey,
    ApiKey,
    XGoogApiKey,
}

impl KeyHeader {
    /// The name of the header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bearer => "authorization",
            Self::XApiKey => "x-api-key",
            Self::ApiKey => "api-key",
            Self::XGoogApiKey => "x-goog-api-key",
        }
    }

    /// What the header says for `key`.
    pub fn value(self, key: &str) -> String {
        match self {
            Self::Bearer => format!("Bearer {key}"),
            _ => key.to_owned(),
        }
    }
}

/// How a chat-completions server is asked to think.
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
    /// The server is never asked.
    None,
}
