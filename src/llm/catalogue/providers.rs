//! The providers that need no configuration: one row each.

use std::collections::BTreeMap;

use crate::llm::auth::KeySource;
use crate::llm::model::{Api, Compat, ThinkingFormat};

/// A provider as bundled.
#[derive(Debug)]
pub struct ProviderRow {
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    pub base_url: &'static str,
    pub api: Api,
    /// Variables that may hold its key, best first. None: it needs no key.
    pub env_keys: &'static [&'static str],
    pub compat: fn() -> Compat,
}

/// A provider as a session knows it: bundled, configured, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderEntry {
    pub name: String,
    pub label: String,
    pub base_url: String,
    pub api: Api,
    pub env_keys: Vec<String>,
    pub needs_key: bool,
    /// The key that `models.json` names.
    pub key: Option<KeySource>,
    /// Extra headers of every request.
    pub headers: BTreeMap<String, String>,
    pub compat: Compat,
}

impl From<&ProviderRow> for ProviderEntry {
    fn from(row: &ProviderRow) -> Self {
        Self {
            name: row.name.to_owned(),
            label: row.label.to_owned(),
            base_url: row.base_url.to_owned(),
            api: row.api,
            env_keys: row.env_keys.iter().map(|name| (*name).to_owned()).collect(),
            needs_key: !row.env_keys.is_empty(),
            key: None,
            headers: BTreeMap::new(),
            compat: (row.compat)(),
        }
    }
}

const CHAT: Api = Api::OpenaiChatCompletions;
const MESSAGES: Api = Api::AnthropicMessages;

/// Every bundled provider, in the order in which a default is looked for.
pub const PROVIDERS: &[ProviderRow] = &[
    row(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com",
        MESSAGES,
        &["ANTHROPIC_API_KEY"],
        || Compat {
            anthropic_version: Some("2026-10-21".to_owned()),
            ..Compat::default()
        },
    ),
    row(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        CHAT,
        &["OPENAI_API_KEY"],
        || Compat {
            developer_role: true,
            prompt_cache_key: true,
            ..Compat::default()
        },
    ),
    row(
        "google",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        CHAT,
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        Compat::default,
    ),
    row(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        CHAT,
        &["OPENROUTER_API_KEY"],
        || Compat {
            thinking_format: ThinkingFormat::Openrouter,
            ..Compat::default()
        },
    ),
    row(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        CHAT,
        &["DEEPSEEK_API_KEY"],
        || Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::Thinking,
            replay_reasoning_field: Some("reasoning_content".to_owned()),
            ..Compat::default()
        },
    ),
    row(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        CHAT,
        &["MISTRAL_API_KEY"],
        || Compat {
            max_tokens_field: true,
            // Refused there, and told without being asked for.
            no_stream_usage: true,
            short_tool_ids: true,
            ..Compat::default()
        },
    ),
    row(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        CHAT,
        &["XAI_API_KEY"],
        Compat::default,
    ),
    row(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        CHAT,
        &["GROQ_API_KEY"],
        Compat::default,
    ),
    row(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        CHAT,
        &["CEREBRAS_API_KEY"],
        Compat::default,
    ),
    row(
        "together",
        "Together",
        "https://api.together.ai/v1",
        CHAT,
        &["TOGETHER_API_KEY"],
        || Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::ReasoningEnabled,
            ..Compat::default()
        },
    ),
    row(
        "fireworks",
        "Fireworks",
        "https://api.fireworks.ai/inference/v1",
        CHAT,
        &["FIREWORKS_API_KEY"],
        max_tokens,
    ),
    row(
        "moonshot",
        "Moonshot Kimi",
        "https://api.moonshot.ai/v1",
        CHAT,
        &["MOONSHOT_API_KEY", "KIMI_API_KEY"],
        max_tokens,
    ),
    row(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/coding/paas/v4",
        CHAT,
        &["ZAI_API_KEY"],
        || Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::Thinking,
            ..Compat::default()
        },
    ),
    row(
        "minimax",
        "MiniMax",
        "https://api.minimax.io/anthropic",
        MESSAGES,
        &["MINIMAX_API_KEY"],
        Compat::default,
    ),
    row(
        "vercel",
        "Vercel AI Gateway",
        "https://ai-gateway.vercel.sh/v1",
        CHAT,
        &["AI_GATEWAY_API_KEY"],
        Compat::default,
    ),
    row(
        "nvidia",
        "NVIDIA",
        "https://integrate.api.nvidia.com/v1",
        CHAT,
        &["NVIDIA_API_KEY"],
        max_tokens,
    ),
    row(
        "huggingface",
        "Hugging Face",
        "https://router.huggingface.co/v1",
        CHAT,
        &["HF_TOKEN"],
        max_tokens,
    ),
    row(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434/v1",
        CHAT,
        &[],
        max_tokens,
    ),
    row(
        "lmstudio",
        "LM Studio",
        "http://127.0.0.1:1234/v1",
        CHAT,
        &[],
        max_tokens,
    ),
    row(
        "llamacpp",
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        CHAT,
        &[],
        max_tokens,
    ),
    row(
        "vllm",
        "vLLM",
        "http://127.0.0.1:8000/v1",
        CHAT,
        &[],
        max_tokens,
    ),
    row("demo", "Demo", "", Api::Scripted, &[], Compat::default),
    row("script", "Script", "", Api::Scripted, &[], Compat::default),
];

fn max_tokens() -> Compat {
    Compat {
        max_tokens_field: true,
        ..Compat::default()
    }
}

const fn row(
    name: &'static str,
    label: &'static str,
    base_url: &'static str,
    api: Api,
    env_keys: &'static [&'static str],
    compat: fn() -> Compat,
) -> ProviderRow {
    ProviderRow {
        name,
        label,
        base_url,
        api,
        env_keys,
        compat,
    }
}
