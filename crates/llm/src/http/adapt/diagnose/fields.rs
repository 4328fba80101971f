//! Fields of the body that a server refuses, the role of the system prompt, and the output limit.

use super::{Diagnosis, Refusal, is_named};
use crate::http::adapt::Change;
use crate::model::Api;

/// Fields that every request needs.
const ESSENTIAL: [&str; 9] = [
    "model",
    "messages",
    "contents",
    "input",
    "stream",
    "system",
    "systemInstruction",
    "instructions",
    "anthropic_version",
];

/// Fields, other words for them, and the setting in `compat` of models.json for servers that do not
/// have them.
const FIELDS: [(&str, &[&str], &str); 14] = [
    // An error about the temperature can mention thinking.
    ("/temperature", &["temperature"], ""),
    ("/generationConfig/temperature", &["temperature"], ""),
    ("/inferenceConfig/temperature", &["temperature"], ""),
    (
        "/stream_options",
        &["stream_options"],
        "\"noStreamUsage\": true",
    ),
    (
        "/reasoning_effort",
        &["reasoning_effort", "reasoning effort", "reasoning.effort"],
        "\"thinkingFormat\": \"none\"",
    ),
    (
        "/reasoning",
        &[
            "'reasoning'",
            "\"reasoning\"",
            "`reasoning`",
            "reasoning.effort",
            "reasoning.summary",
            "reasoning is not",
            "support reasoning",
        ],
        "\"thinkingFormat\": \"none\"",
    ),
    ("/thinking", &["thinking"], "\"thinkingFormat\": \"none\""),
    ("/output_config", &["output_config", "effort"], ""),
    (
        "/enable_thinking",
        &["enable_thinking"],
        "\"thinkingFormat\": \"none\"",
    ),
    (
        "/chat_template_kwargs",
        &["chat_template_kwargs"],
        "\"thinkingFormat\": \"none\"",
    ),
    ("/think", &["thinking", "'think'", "\"think\""], ""),
    (
        "/generationConfig/thinkingConfig",
        &["thinking", "thinkingconfig", "thinking_config"],
        "",
    ),
    (
        "/additionalModelRequestFields",
        &["thinking", "additionalmodelrequestfields", "output_config"],
        "",
    ),
    (
        "/prompt_cache_key",
        &["prompt_cache_key"],
        "\"promptCacheKey\": false",
    ),
];

impl Refusal<'_> {
    /// Diagnoses errors about a field of the body, the role of the system prompt, or the output
    /// limit.
    pub(super) fn field(&self) -> Option<Diagnosis> {
        if self.says(&["developer"])
            && self.says(&["role", "unknown variant", "input should be"])
            && self.body.pointer("/messages/0/role") == Some(&"developer".into())
        {
            let then = "the system prompt has the role `system` from now on; `\"compat\": {\"developerRole\": false}` in \
                        models.json says so";
            return Some(self.diagnosis(Change::SystemRole, "the role `developer`", then));
        }
        if let Some(renamed) = self.renamed().or_else(|| self.output_limit()) {
            return Some(renamed);
        }
        if !self.refuses() {
            return None;
        }
        let fields = self.body.as_object()?;
        let known = FIELDS.iter().find(|(pointer, words, _)| {
            self.body.pointer(pointer).is_some()
                && (words.iter().any(|word| self.text.contains(word))
                    || self.has_param(&pointer[1..]))
        });
        if let Some((pointer, _, compat)) = known {
            return Some(self.without(pointer, compat));
        }
        let mut names = fields
            .keys()
            .filter(|name| !ESSENTIAL.contains(&name.as_str()));
        let name = names.find(|name| {
            let lower = name.to_lowercase();
            self.has_param(&lower) || is_named(&self.text, &lower)
        })?;
        (name != "tools" && name != "max_tokens").then(|| self.without(&format!("/{name}"), ""))
    }

    fn without(&self, pointer: &str, compat: &str) -> Diagnosis {
        let name = pointer[1..].replace('/', ".");
        let advice = match compat {
            "" => String::new(),
            compat => format!("; `\"compat\": {{{compat}}}` in models.json says so"),
        };
        let then = format!("it is not sent from now on{advice}");
        self.diagnosis(
            Change::Field(pointer.to_owned()),
            &format!("the field `{name}`"),
            &then,
        )
    }

    /// Diagnoses an output limit that has another name on this server.
    fn renamed(&self) -> Option<Diagnosis> {
        const NAMES: [(&str, &str, &str); 2] = [
            ("max_completion_tokens", "max_tokens", "true"),
            ("max_tokens", "max_completion_tokens", "false"),
        ];
        if self.request.model.api != Api::OpenaiChatCompletions || !self.refuses() {
            return None;
        }
        let (from, to, value) = NAMES.iter().find(|(from, to, _)| {
            let is_sent = self.body.get(from).is_some();
            is_sent && (self.has_param(from) || is_named(&self.text, from)) && !self.says(&["too large", "at most", "exceed", "greater than", "less than", "maximum"])
                // "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
                && (self.has_param(from) || self.text.find(from).unwrap_or(usize::MAX) <= self.text.find(to).unwrap_or(usize::MAX))
        })?;
        let then = format!(
            "the limit is sent as `{to}` from now on; `\"compat\": {{\"maxTokensField\": {value}}}` in models.json says so"
        );
        Some(self.diagnosis(
            Change::Rename(from, to),
            &format!("the field `{from}`"),
            &then,
        ))
    }

    /// Diagnoses an output limit above the maximum of the model.
    fn output_limit(&self) -> Option<Diagnosis> {
        let is_about_limit = self.says(&[
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "maxoutputtokens",
            "max tokens",
            "output tokens",
            "completion tokens",
        ]) && self.says(&[
            "too large",
            "at most",
            "maximum",
            "exceed",
            "greater than",
            "less than",
            "up to",
            " > ",
            "supported range",
        ]);
        if !is_about_limit || self.says(&["context"]) {
            return None;
        }
        let numbers = self.text.split(|char: char| !char.is_ascii_digit());
        let limits = numbers.filter_map(|number| number.parse::<u64>().ok());
        let most = self.request.model.max_tokens;
        let limit = limits.filter(|limit| (256..most).contains(limit)).max()?;
        let then = format!(
            "at most {limit} tokens are requested from now on; `maxTokens` in models.json says so"
        );
        Some(self.diagnosis(Change::OutputLimit(limit), "the output limit", &then))
    }
}
