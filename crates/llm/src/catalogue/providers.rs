//! The providers that need no configuration: one row each.

use std::collections::BTreeMap;
use std::fmt;

use crate::auth::{Ambient, KeySource};
use crate::model::{Api, Compat, KeyHeader, Model, Names, ThinkingFormat};
use crate::url_template;

/// The entry of the token for an LLM proxy.
const SERVER: &str = "proxy";

/// A bundled provider.
#[derive(Debug)]
pub struct ProviderRow {
    pub name: &'static str,
    /// The display name.
    pub label: &'static str,
    /// Can contain variables, such as `{NAME}`, that depend on the account.
    pub base_url: &'static str,
    /// Environment variable that can contain another base URL.
    pub base_url_env: Option<&'static str>,
    pub api: Api,
    /// Environment variables that can contain the key, in order of precedence. Empty: the provider needs no
    /// key.
    pub env_keys: &'static [&'static str],
    /// Credentials of the vendor's own tools that the provider accepts.
    pub ambient: Option<Ambient>,
    /// Extra headers of every request.
    pub headers: &'static [(&'static str, &'static str)],
    pub compat: fn() -> Compat,
}

/// A provider: bundled, configured, or both.
#[derive(Clone, PartialEq)]
pub struct ProviderEntry {
    pub name: String,
    pub label: String,
    pub base_url: String,
    pub api: Api,
    pub env_keys: Vec<String>,
    pub needs_key: bool,
    /// Credentials of the vendor's own tools that the provider accepts.
    pub ambient: Option<Ambient>,
    /// The key in `models.json`.
    pub key: Option<KeySource>,
    /// Extra headers of every request.
    pub headers: BTreeMap<String, String>,
    pub compat: Compat,
}

/// Prints only the names of headers: their values can be keys.
impl fmt::Debug for ProviderEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderEntry")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("api", &self.api)
            .field("key", &self.key)
            .field("headers", &Names(&self.headers))
            .finish_non_exhaustive()
    }
}

impl From<&ProviderRow> for ProviderEntry {
    fn from(row: &ProviderRow) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            name: row.name.to_owned(),
            label: row.label.to_owned(),
            base_url: row.base_url.to_owned(),
            api: row.api,
            env_keys: row.env_keys.iter().map(|name| (*name).to_owned()).collect(),
            needs_key: !row.env_keys.is_empty(),
            ambient: row.ambient,
            key: None,
            headers: row.headers.iter().map(owned).collect(),
            compat: (row.compat)(),
        }
    }
}

/// Variables that other tools read: they are not keys of osier alone.
const SHARED: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
];

/// The environment variables with keys that only osier needs: those of the providers `more` and of every bundled one,
/// and the tokens of osier itself.
pub fn key_variables<'a>(more: impl IntoIterator<Item = &'a ProviderEntry>) -> Vec<String> {
    let bundled = PROVIDERS
        .iter()
        .flat_map(|row| row.env_keys.iter().copied());
    let own = ["OSIER_SERVE_TOKEN", "OSIER_PROXY_TOKEN"];
    let own = own.into_iter();
    let services = SEARCH_SERVICES.iter().map(|(.., variable)| *variable);
    let names = bundled.chain(own).chain(services);
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    for entry in more {
        names.extend(entry.env_keys.iter().cloned());
        if let Some(KeySource::Env(name)) = &entry.key {
            names.push(name.clone());
        }
    }
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !SHARED.contains(&name.as_str()));
    names
}

impl ProviderEntry {
    /// The entry of the user's token for an LLM proxy.
    pub fn server() -> Self {
        Self::of_name(SERVER, "osier server (`proxy`)", Api::OpenaiChatCompletions)
            .with_key_of("OSIER_PROXY_TOKEN")
    }

    /// The entries of the keys of search services: names, labels and variables.
    pub fn search_services() -> Vec<Self> {
        let entry = |(name, label, variable): &(&str, &str, &str)| {
            Self::of_name(name, label, Api::OpenaiChatCompletions).with_key_of(variable)
        };
        SEARCH_SERVICES.iter().map(entry).collect()
    }

    /// Whether the models of both are called in the same way.
    pub(super) fn has_same_connection(&self, other: &Self) -> bool {
        self.api == other.api
            && self.base_url == other.base_url
            && self.headers == other.headers
            && self.compat == other.compat
    }

    /// The provider of a model of an LLM proxy.
    pub(super) fn served(model: &Model, bundled: Option<&Self>) -> Self {
        let label = bundled.map_or(&model.provider, |entry| &entry.label);
        Self {
            base_url: model.base_url.clone(),
            ..Self::of_name(&model.provider, label, model.api)
        }
    }

    fn of_name(name: &str, label: &str, api: Api) -> Self {
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            base_url: String::new(),
            api,
            env_keys: Vec::new(),
            needs_key: false,
            ambient: None,
            key: None,
            headers: BTreeMap::new(),
            compat: Compat::default(),
        }
    }

    fn with_key_of(mut self, variable: &str) -> Self {
        self.env_keys.push(variable.to_owned());
        self.needs_key = true;
        self
    }
}

impl ProviderRow {
    /// The entry with the base URL that the environment sets, if any.
    pub(super) fn entry(&self, variable: &dyn Fn(&str) -> Option<String>) -> ProviderEntry {
        let mut entry = ProviderEntry::from(self);
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if let Some(url) = self.base_url_env.and_then(set) {
            entry.base_url = address(&url);
        } else if entry.base_url.contains('{') {
            entry.base_url = url_template::expand(&entry.base_url, &set);
        }
        entry
    }

    const fn ambient(mut self, ambient: Ambient) -> Self {
        self.ambient = Some(ambient);
        self
    }

    const fn compat(mut self, compat: fn() -> Compat) -> Self {
        self.compat = compat;
        self
    }

    const fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    const fn base_url_env(mut self, name: &'static str) -> Self {
        self.base_url_env = Some(name);
        self
    }
}

/// The base URL in a variable. A host without a scheme is accepted, and the wildcard address that a server
/// listens on becomes the loopback address.
fn address(value: &str) -> String {
    let value = value.trim().trim_end_matches('/');
    let url = if value.contains("://") {
        value.to_owned()
    } else {
        format!("http://{value}")
    };
    url.replace("://0.0.0.0", "://127.0.0.1")
}

const CHAT: Api = Api::OpenaiChatCompletions;
const RESPONSES: Api = Api::OpenaiResponses;
const MESSAGES: Api = Api::AnthropicMessages;
const GOOGLE: Api = Api::GoogleGenerativeAi;

/// Search services with a key: name, label and environment variable.
const SEARCH_SERVICES: &[(&str, &str, &str)] = &[
    ("brave", "Brave Search", "BRAVE_API_KEY"),
    ("tavily", "Tavily Search", "TAVILY_API_KEY"),
    ("exa", "Exa Search", "EXA_API_KEY"),
];

/// The bundled providers, in the order in which the default model is selected.
#[rustfmt::skip]
pub const PROVIDERS: &[ProviderRow] = &[
    row("anthropic", "Anthropic", "https://api.anthropic.com", MESSAGES, &["ANTHROPIC_API_KEY"])
        .base_url_env("ANTHROPIC_BASE_URL")
        .compat(|| Compat {
            anthropic_version: Some("2026-10-21".to_owned()),
            hosted_search: true,
            ..Compat::default()
        }),
    row("openai", "OpenAI", "https://api.openai.com/v1", RESPONSES, &["OPENAI_API_KEY"])
        .base_url_env("OPENAI_BASE_URL")
        .compat(|| Compat {
            developer_role: true,
            prompt_cache_key: true,
            freeform_tools: true,
            hosted_search: true,
            ..Compat::default()
        }),
    row("google", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta", GOOGLE,
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"])
        .compat(|| Compat { hosted_search: true, ..Compat::default() }),
    row("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", CHAT, &["OPENROUTER_API_KEY"])
        .headers(&[("x-title", "osier")])
        .compat(|| Compat { thinking_format: ThinkingFormat::Openrouter, ..Compat::default() }),
    row("deepseek", "DeepSeek", "https://api.deepseek.com", CHAT, &["DEEPSEEK_API_KEY"])
        .compat(|| Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::Thinking,
            replay_reasoning_field: Some("reasoning_content".to_owned()),
            ..Compat::default()
        }),
    row("mistral", "Mistral", "https://api.mistral.ai/v1", CHAT, &["MISTRAL_API_KEY"]).compat(mistral),
    row("xai", "xAI", "https://api.x.ai/v1", RESPONSES, &["XAI_API_KEY"])
        .compat(|| Compat { prompt_cache_key: true, ..Compat::default() }),
    row("groq", "Groq", "https://api.groq.com/openai/v1", CHAT, &["GROQ_API_KEY"]),
    row("cerebras", "Cerebras", "https://api.cerebras.ai/v1", CHAT, &["CEREBRAS_API_KEY"]),
    row("together", "Together", "https://api.together.ai/v1", CHAT, &["TOGETHER_API_KEY"])
        .compat(|| Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::ReasoningEnabled,
            ..Compat::default()
        }),
    row("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1", CHAT, &["FIREWORKS_API_KEY"])
        .compat(max_tokens),
    row("moonshot", "Moonshot Kimi", "https://api.moonshot.ai/v1", CHAT, &["MOONSHOT_API_KEY"])
        .compat(max_tokens),
    row("moonshot-cn", "Moonshot Kimi (China)", "https://api.moonshot.cn/v1", CHAT, &["MOONSHOT_API_KEY"])
        .compat(max_tokens),
    row("kimi", "Kimi for coding", "https://api.kimi.com/coding/v1", CHAT, &["KIMI_API_KEY"])
        .compat(max_tokens),
    row("zai", "Z.ai", "https://api.z.ai/api/coding/paas/v4", CHAT, &["ZAI_API_KEY"]).compat(zai),
    row("zai-cn", "Z.ai (China)", "https://open.bigmodel.cn/api/coding/paas/v4", CHAT, &["ZAI_CODING_CN_API_KEY"])
        .compat(zai),
    row("minimax", "MiniMax", "https://api.minimax.io/anthropic", MESSAGES, &["MINIMAX_API_KEY"]),
    row("minimax-cn", "MiniMax (China)", "https://api.minimaxi.com/anthropic", MESSAGES, &["MINIMAX_CN_API_KEY"]),
    row("meta", "Meta", "https://api.meta.ai/v1", RESPONSES, &["META_API_KEY"]),
    row("vercel", "Vercel AI Gateway", "https://ai-gateway.vercel.sh", MESSAGES, &["AI_GATEWAY_API_KEY"]),
    row("opencode", "OpenCode", "https://opencode.ai/inference/openai/v1", CHAT, &["OPENCODE_API_KEY"]),
    row("opencode-go", "OpenCode Go", "https://opencode.ai/inference/go/openai/v1", CHAT, &["OPENCODE_API_KEY"]),
    row("github-copilot", "GitHub Copilot", "https://api.githubcopilot.com", CHAT, &["COPILOT_GITHUB_TOKEN"])
        .headers(&[
            ("editor-version", concat!("osier/", env!("CARGO_PKG_VERSION"))),
            ("openai-intent", "conversation-edits"),
        ])
        .compat(|| Compat { caller_headers: true, ..Compat::default() }),
    row("azure", "Azure OpenAI", "https://{AZURE_OPENAI_RESOURCE_NAME}.openai.azure.com/openai/v1", RESPONSES,
        &["AZURE_OPENAI_API_KEY"])
        .base_url_env("AZURE_OPENAI_BASE_URL")
        .compat(|| Compat {
            key_header: Some(KeyHeader::ApiKey), prompt_cache_key: true, freeform_tools: true, ..Compat::default()
        }),
    row("google-vertex", "Google Vertex",
        "https://{GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com/v1/projects/{GOOGLE_CLOUD_PROJECT|GCLOUD_PROJECT}/locations/{GOOGLE_CLOUD_LOCATION}/publishers/google",
        GOOGLE, &["GOOGLE_VERTEX_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"])
        .ambient(Ambient::Google)
        .compat(|| Compat { key_header: Some(KeyHeader::Bearer), ..Compat::default() }),
    row("google-vertex-anthropic", "Claude on Google Vertex",
        "https://{GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com/v1/projects/{GOOGLE_CLOUD_PROJECT|GCLOUD_PROJECT}/locations/{GOOGLE_CLOUD_LOCATION}/publishers/anthropic",
        MESSAGES, &["GOOGLE_VERTEX_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"])
        .ambient(Ambient::Google)
        .compat(|| Compat { key_header: Some(KeyHeader::Bearer), on_vertex: true, ..Compat::default() }),
    row("bedrock", "Amazon Bedrock", "https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com",
        Api::BedrockConverse, &["AWS_BEARER_TOKEN_BEDROCK"])
        .base_url_env("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
        .ambient(Ambient::Aws),
    row("huggingface", "Hugging Face", "https://router.huggingface.co/v1", CHAT, &["HF_TOKEN"]).compat(max_tokens),
    row("nvidia", "NVIDIA", "https://integrate.api.nvidia.com/v1", CHAT, &["NVIDIA_API_KEY"])
        .headers(&[("nvcf-poll-seconds", "3600")])
        .compat(max_tokens),
    row("baseten", "Baseten", "https://inference.baseten.co/v1", CHAT, &["BASETEN_API_KEY"]).compat(max_tokens),
    row("cloudflare", "Cloudflare Workers AI",
        "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1", CHAT, &["CLOUDFLARE_API_KEY"])
        .compat(max_tokens),
    row("qwen", "Qwen", "https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1", CHAT,
        &["QWEN_TOKEN_PLAN_API_KEY"])
        .compat(|| Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::EnableThinking,
            ..Compat::default()
        }),
    row("xiaomi", "Xiaomi MiMo", "https://api.xiaomimimo.com/v1", CHAT, &["XIAOMI_API_KEY"]),
    row("ollama", "Ollama", "http://127.0.0.1:11434", Api::Ollama, &[]).base_url_env("OLLAMA_HOST"),
    row("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", CHAT, &[]).compat(local),
    row("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", CHAT, &[]).compat(local),
    row("vllm", "vLLM", "http://127.0.0.1:8000/v1", CHAT, &[]).compat(local),
    row("demo", "Demo", "", Api::Scripted, &[]),
    row("script", "Script", "", Api::Scripted, &[]),
];

const fn row(
    name: &'static str,
    label: &'static str,
    base_url: &'static str,
    api: Api,
    env_keys: &'static [&'static str],
) -> ProviderRow {
    ProviderRow {
        name,
        label,
        base_url,
        base_url_env: None,
        api,
        env_keys,
        ambient: None,
        headers: &[],
        compat: Compat::default,
    }
}

fn max_tokens() -> Compat {
    Compat {
        max_tokens_field: true,
        ..Compat::default()
    }
}

/// Servers whose models think through their chat template, if at all.
fn local() -> Compat {
    Compat {
        max_tokens_field: true,
        thinking_format: ThinkingFormat::ChatTemplate,
        ..Compat::default()
    }
}

fn mistral() -> Compat {
    Compat {
        max_tokens_field: true,
        // Rejected by this server, which always reports the usage.
        no_stream_usage: true,
        short_tool_ids: true,
        thinking_parts: true,
        session_header: Some("x-affinity".to_owned()),
        ..Compat::default()
    }
}

fn zai() -> Compat {
    Compat {
        max_tokens_field: true,
        thinking_format: ThinkingFormat::Thinking,
        replay_reasoning_field: Some("reasoning_content".to_owned()),
        ..Compat::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, variables: &[(&str, &str)]) -> ProviderEntry {
        let row = PROVIDERS.iter().find(|row| row.name == name).unwrap();
        row.entry(&|wanted| {
            let set = variables.iter().find(|(name, _)| *name == wanted);
            set.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn environment_sets_the_base_url() {
        let url = |name, variables| entry(name, variables).base_url;
        assert_eq!(url("anthropic", &[]), "https://api.anthropic.com");
        assert_eq!(
            url(
                "anthropic",
                &[("ANTHROPIC_BASE_URL", "https://proxy.example/")]
            ),
            "https://proxy.example"
        );
        assert_eq!(
            url("azure", &[("AZURE_OPENAI_RESOURCE_NAME", "mine")]),
            "https://mine.openai.azure.com/openai/v1"
        );
        assert_eq!(
            url("azure", &[("AZURE_OPENAI_RESOURCE_NAME", " ")]),
            "https://{AZURE_OPENAI_RESOURCE_NAME}.openai.azure.com/openai/v1"
        );
        let vertex = [
            ("GOOGLE_CLOUD_PROJECT", "p"),
            ("GOOGLE_CLOUD_LOCATION", "europe-west4"),
        ];
        assert_eq!(
            url("google-vertex", &vertex),
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google"
        );
        assert_eq!(
            url("ollama", &[("OLLAMA_HOST", "0.0.0.0:11500")]),
            "http://127.0.0.1:11500"
        );
    }

    #[test]
    fn known_vendors_are_bundled() {
        for name in [
            "anthropic",
            "openai",
            "google",
            "mistral",
            "groq",
            "cerebras",
            "xai",
            "deepseek",
            "openrouter",
            "github-copilot",
            "together",
            "fireworks",
            "moonshot",
            "zai",
            "minimax",
            "huggingface",
            "nvidia",
            "azure",
            "vercel",
            "google-vertex",
            "google-vertex-anthropic",
            "bedrock",
            "ollama",
            "lmstudio",
            "vllm",
            "llamacpp",
        ] {
            assert!(PROVIDERS.iter().any(|row| row.name == name), "{name}");
        }
    }

    #[test]
    fn provider_names_are_unique_and_remote_ones_need_a_key() {
        let mut names: Vec<&str> = PROVIDERS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in PROVIDERS {
            let local = row.base_url.starts_with("http://127.0.0.1") || row.api == Api::Scripted;
            assert_eq!(row.env_keys.is_empty(), local, "{}", row.name);
            assert!(!row.base_url.ends_with('/'), "{}", row.name);
        }
    }
}
