//! The lists of models of the providers themselves: `/models`, with the user's key.
//!
//! Only ids and limits are read from them. All other data of a new model is taken from the most
//! similar known model.

use serde_json::Value;

use super::providers::ProviderEntry;
use crate::auth::Access;
use crate::model::{Api, KeyHeader};
use crate::secret::Secret;

/// Words in ids of models that cannot have conversations.
const OTHER_KINDS: [&str; 18] = [
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "transcribe",
    "realtime",
    "image",
    "imagen",
    "veo",
    "sora",
    "audio",
    "rerank",
    "ocr",
    "aqa",
    "davinci",
    "babbage",
    "lyria",
];

/// A request for the list of a provider.
#[derive(Debug, Clone)]
pub struct VendorList {
    pub provider: String,
    pub url: String,
    pub headers: Vec<(String, Secret)>,
}

impl VendorList {
    /// The request to `entry`, if it has a list.
    pub fn new(entry: &ProviderEntry, access: &Access) -> Option<Self> {
        let (path, header) = match entry.api {
            Api::AnthropicMessages => ("/v1/models?limit=1000", KeyHeader::XApiKey),
            Api::GoogleGenerativeAi => ("/models?pageSize=1000", KeyHeader::XGoogApiKey),
            Api::OpenaiChatCompletions | Api::OpenaiResponses => ("/models", KeyHeader::Bearer),
            Api::Ollama | Api::BedrockConverse | Api::Scripted => return None,
        };
        let base = entry.base_url.trim_end_matches('/');
        let key = access
            .key
            .as_ref()
            .filter(|_| base.starts_with("https://"))?;
        if base.contains('{') || access.signed_in.is_some() || access.signing.is_some() {
            return None;
        }
        let header = entry.compat.key_header.unwrap_or(header);
        let mut headers = vec![(
            header.name().to_owned(),
            Secret::new(header.value(key.expose())),
        )];
        if entry.api == Api::AnthropicMessages {
            headers.push(("anthropic-version".to_owned(), Secret::new("2023-06-01")));
        }
        let own = entry.headers.iter();
        headers.extend(own.map(|(name, value)| (name.clone(), Secret::new(value.clone()))));
        Some(Self {
            provider: entry.name.clone(),
            url: format!("{base}{path}"),
            headers,
        })
    }
}

/// A model of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedModel {
    pub id: String,
    pub window: Option<u64>,
    pub output: Option<u64>,
}

/// The models of a list that can have conversations.
pub(super) fn read(list: &[u8]) -> Vec<ListedModel> {
    let list = serde_json::from_slice::<Value>(list).unwrap_or_default();
    let rows = match &list {
        Value::Array(rows) => Some(rows),
        list => ["data", "models"]
            .iter()
            .find_map(|key| list.get(*key)?.as_array()),
    };
    rows.into_iter().flatten().filter_map(model).collect()
}

fn model(row: &Value) -> Option<ListedModel> {
    let id = row.get("id").or_else(|| row.get("name"))?.as_str()?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let lower = id.to_lowercase();
    if OTHER_KINDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let generates = row
        .get("supportedGenerationMethods")
        .and_then(Value::as_array);
    if generates.is_some_and(|methods| !methods.iter().any(|method| method == "generateContent")) {
        return None;
    }
    let count = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| row.pointer(key)?.as_u64())
            .filter(|count| *count > 0)
    };
    Some(ListedModel {
        id: id.to_owned(),
        window: count(&[
            "/context_length",
            "/context_window",
            "/max_context_length",
            "/max_model_len",
            "/inputTokenLimit",
            "/max_input_tokens",
        ]),
        output: count(&[
            "/max_output_tokens",
            "/outputTokenLimit",
            "/max_completion_tokens",
            "/top_provider/max_completion_tokens",
            "/max_tokens",
        ]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::PROVIDERS;

    #[test]
    fn lists_in_every_form_are_read() {
        let listed = |id: &str, window, output| ListedModel {
            id: id.to_owned(),
            window,
            output,
        };
        for (list, expected) in [
            (
                r#"{"data": [{"id": "gpt-9"}, {"id": "text-embedding-9"}, {"id": 3}, null]}"#,
                vec![listed("gpt-9", None, None)],
            ),
            (
                r#"{"models": [{"name": "models/gemini-9", "inputTokenLimit": 1000, "outputTokenLimit": 10, "supportedGenerationMethods": ["generateContent"]},
                   {"name": "models/x", "supportedGenerationMethods": ["predict"]}]}"#,
                vec![listed("gemini-9", Some(1000), Some(10))],
            ),
            (
                r#"[{"id": "x", "context_length": 5, "top_provider": {"max_completion_tokens": 2}}]"#,
                vec![listed("x", Some(5), Some(2))],
            ),
            ("<html>", vec![]),
            ("{}", vec![]),
        ] {
            assert_eq!(read(list.as_bytes()), expected, "{list}");
        }
    }

    #[test]
    fn lists_are_requested_with_the_key_in_its_header() {
        let access = Access::key(Secret::new("k"));
        let request = |name: &str| {
            let row = PROVIDERS.iter().find(|row| row.name == name).unwrap();
            let list = VendorList::new(&ProviderEntry::from(row), &access)?;
            let (header, value) = &list.headers[0];
            Some(format!("{} {header}: {}", list.url, value.expose()))
        };
        for (provider, expected) in [
            (
                "anthropic",
                Some("https://api.anthropic.com/v1/models?limit=1000 x-api-key: k"),
            ),
            (
                "openai",
                Some("https://api.openai.com/v1/models authorization: Bearer k"),
            ),
            (
                "google",
                Some(
                    "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000 x-goog-api-key: k",
                ),
            ),
            ("bedrock", None),
            ("ollama", None),
        ] {
            assert_eq!(request(provider).as_deref(), expected, "{provider}");
        }
    }
}
