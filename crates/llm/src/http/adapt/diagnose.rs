//! Finds the part of a request that an error names.
//!
//! Errors have a path (`messages.3.content.1.image`, `tools[11].function.parameters`), the name of a parameter or a tool,
//! or only words. Only errors that say that something is refused count: a busy server can say anything.

use serde_json::Value;

use super::{Change, hash, hash_of_tool, signatures};
use crate::errors::Fault;
use crate::message::{ContentBlock, Message};
use crate::model::{Api, Modality};
use crate::provider::Request;
use crate::wire::lower;
use osier_base::text;

/// Maximum bytes of an error that are shown.
const REASON_BYTES: usize = 200;

/// Fields without which no request makes sense.
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

/// Words that say that something is not accepted.
const REFUSALS: [&str; 22] = [
    "not support",
    "unsupported",
    "doesn't support",
    "unrecognized",
    "unrecognised",
    "unknown",
    "unexpected",
    "extra inputs",
    "extra fields",
    "extra_forbidden",
    "not permitted",
    "not allowed",
    "invalid parameter",
    "invalid field",
    "invalid value",
    "not valid",
    "deprecated",
    "only the default",
    "requires",
    "cannot be used",
    "incompatible",
    "may only",
];

/// Fields, other words for them, and what says in `compat` of models.json that a server does not have them.
const FIELDS: [(&str, &[&str], &str); 14] = [
    // An error about it can mention thinking.
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

/// Kinds of content, their names, and words in errors about them.
const KINDS: [(Modality, &str, &[&str]); 3] = [
    (
        Modality::Image,
        "images",
        &["image", "vision", "multimodal", "multi-modal"],
    ),
    (Modality::Audio, "recordings", &["audio"]),
    (
        Modality::Pdf,
        "documents",
        &["pdf", "document", "input_file", "'file'", "\"file\""],
    ),
];

/// Words about the data of content.
const DATA_WORDS: [&str; 5] = [
    "media type",
    "media_type",
    "base64",
    "inline_data",
    "inlinedata",
];

/// Words that say that a model does not accept a kind of content.
const UNSUPPORTED_CONTENT: [&str; 9] = [
    "not support",
    "unsupported",
    "n't support",
    "only support",
    "no endpoints",
    "does not accept",
    "text-only",
    "unknown variant",
    "not a multimodal",
];

/// Words that say that one image or file is wrong, not its kind.
const VALUE_WORDS: [&str; 22] = [
    "media type",
    "media_type",
    "mime",
    "format",
    "could not process",
    "unable to process",
    "corrupt",
    "decode",
    "dimension",
    "exceed",
    "too large",
    "too big",
    "invalid base64",
    "not a valid",
    "not valid",
    "too many",
    "at most",
    "maximum",
    "empty",
    "password",
    "match",
    "pixel",
];

/// A refused part, and the line for the user.
pub(in crate::http) struct Diagnosis {
    pub change: Change,
    pub said: String,
}

/// The part of `request`, which was sent as `body`, that `fault` names.
pub(in crate::http) fn diagnose(
    fault: &Fault,
    request: &Request,
    body: &Value,
) -> Option<Diagnosis> {
    if !fault.names_a_part() {
        return None;
    }
    let error = Refusal {
        message: &fault.message,
        text: fault.message.to_lowercase(),
        param: fault.param.to_lowercase(),
        request,
        body,
    };
    let part = || error.content().or_else(|| error.tool());
    if fault.status.is_some_and(|status| status >= 500) {
        return part();
    }
    error.signatures().or_else(part).or_else(|| error.field())
}

struct Refusal<'a> {
    message: &'a str,
    /// The message in lower case.
    text: String,
    /// The parameter that the error names, in lower case.
    param: String,
    request: &'a Request,
    body: &'a Value,
}

impl Refusal<'_> {
    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.text.contains(word))
    }

    fn refuses(&self) -> bool {
        self.says(&REFUSALS) || !self.param.is_empty()
    }

    /// `what` was refused, so `then`.
    fn diagnosis(&self, change: Change, what: &str, then: &str) -> Diagnosis {
        let words: Vec<&str> = self.message.split_whitespace().collect();
        let words = words.join(" ");
        let reason = text::head_bytes(&words, REASON_BYTES);
        let more = if reason.len() < words.len() {
            "…"
        } else {
            ""
        };
        let model = self.request.model.reference();
        let said = format!("`{model}` refused {what} ({reason}{more}): {then}");
        Diagnosis { change, said }
    }

    /// Whether the error names the parameter `name`.
    fn has_param(&self, name: &str) -> bool {
        let rest = self.param.strip_prefix(&name.to_lowercase());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    /// Signatures of thinking that the vendor does not accept.
    fn signatures(&self) -> Option<Diagnosis> {
        let named = self.says(&[
            "signature",
            "encrypted content",
            "encrypted_content",
            "redacted_thinking",
        ]) || (self.says(&["reasoning"]) && self.says(&["following item", "rs_"]))
            || (self.says(&["thinking"])
                && self.says(&["blocks", "cannot be modified"])
                && self.says(&["messages."]));
        let all: Vec<u64> = self
            .request
            .context
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Assistant(answer) => Some(&answer.content),
                _ => None,
            })
            .flat_map(|content| signatures(content).map(hash))
            .collect();
        (named && !all.is_empty()).then(|| {
            self.diagnosis(
                Change::Data(all),
                "the signatures of earlier thinking",
                "it is sent as text",
            )
        })
    }

    /// Images and files.
    fn content(&self) -> Option<Diagnosis> {
        let blocks = self.blocks();
        let kinds = KINDS.iter();
        let of_kind = kinds.filter(|(_, _, words)| self.says(words));
        if let Some(found) = of_kind.clone().find_map(|kind| self.kind(kind, &blocks)) {
            return Some(found);
        }
        if of_kind.count() == 0 && !self.says(&DATA_WORDS) {
            return None;
        }
        let mut refused = self.blocks_in_path(&blocks);
        if refused.is_empty() {
            refused = self.newest_blocks();
        }
        let what: Vec<String> = refused
            .iter()
            .map(|block| block.description().into_owned())
            .collect();
        let data: Vec<u64> = refused
            .iter()
            .filter_map(|block| block.data())
            .map(hash)
            .collect();
        (!data.is_empty()).then(|| {
            let then = "requests contain a note instead; the session keeps it";
            self.diagnosis(Change::Data(data), &what.join(", "), then)
        })
    }

    /// A kind of content that the model does not accept, or of which there is too much.
    fn kind(
        &self,
        (kind, name, _): &(Modality, &str, &[&str]),
        blocks: &[&ContentBlock],
    ) -> Option<Diagnosis> {
        let blocks: Vec<&&ContentBlock> = blocks
            .iter()
            .filter(|block| block.modality() == *kind)
            .collect();
        if blocks.is_empty() {
            return None;
        }
        if self.says(&UNSUPPORTED_CONTENT) && !self.says(&VALUE_WORDS) {
            let then = "the model gets notes instead";
            return Some(self.diagnosis(Change::Modality(*kind), name, then));
        }
        let limit = self.too_many(blocks.len())?;
        let count = blocks.len() - limit;
        let oldest = blocks[..count].iter().filter_map(|block| block.data());
        let then = format!("the {count} oldest are left out of requests; the session keeps them");
        let change = Change::Data(oldest.map(hash).collect());
        Some(self.diagnosis(change, &format!("so many {name}"), &then))
    }

    /// The images and files of the request, in order.
    fn blocks(&self) -> Vec<&ContentBlock> {
        let messages = self.request.context.messages.iter();
        messages.flat_map(data_blocks).collect()
    }

    /// The images and files of the newest message that has any: with the earlier ones, requests succeeded.
    fn newest_blocks(&self) -> Vec<&ContentBlock> {
        let messages = self.request.context.messages.iter().rev();
        let mut messages = messages.map(|message| data_blocks(message).collect::<Vec<_>>());
        messages
            .find(|blocks| !blocks.is_empty())
            .unwrap_or_default()
    }

    /// The images and files at the place in the body that the error names.
    fn blocks_in_path<'b>(&self, blocks: &[&'b ContentBlock]) -> Vec<&'b ContentBlock> {
        for root in ["messages", "contents", "input"] {
            let Some(node) = self.node(root) else {
                continue;
            };
            let text = node.to_string();
            let sent = blocks.iter().filter(|block| {
                block
                    .data()
                    .is_some_and(|data| !data.is_empty() && text.contains(data))
            });
            let sent: Vec<&ContentBlock> = sent.copied().collect();
            if !sent.is_empty() {
                return sent;
            }
        }
        Vec::new()
    }

    /// The part of the body at the innermost index of the path that starts with `root`.
    fn node(&self, root: &str) -> Option<&Value> {
        let path = [self.param.as_str(), self.text.as_str()]
            .into_iter()
            .find_map(|text| path_after(text, root))?;
        let mut node = self.body.get(root)?;
        let mut indexed = None;
        for part in &path {
            if let Ok(index) = part.parse::<usize>() {
                let Some(next) = node.get(index) else { break };
                (node, indexed) = (next, Some(next));
                continue;
            }
            // The text is in lower case, and errors write names in two ways.
            let plain = |name: &str| name.to_lowercase().replace('_', "");
            let mut entries = node.as_object().into_iter().flatten();
            let Some((_, next)) = entries.find(|(name, _)| plain(name) == plain(part)) else {
                break;
            };
            node = next;
        }
        indexed
    }

    /// The limit of an error about the number of images or files, if there are more.
    fn too_many(&self, count: usize) -> Option<usize> {
        if !self.says(&[
            "too many",
            "at most",
            "up to",
            "maximum of",
            "maximum number",
            "limit of",
            "more than",
        ]) || self.says(&["pixel", "dimension", "bytes", " mb", "token"])
        {
            return None;
        }
        let numbers = self.text.split(|char: char| !char.is_ascii_digit());
        let fitting = numbers.filter_map(|number| number.parse().ok());
        let limit = fitting
            .filter(|limit: &usize| (1..count).contains(limit))
            .max();
        limit.or_else(|| self.says(&["too many"]).then_some(count / 2))
    }

    /// A tool, or all of them.
    fn tool(&self) -> Option<Diagnosis> {
        let tools = &self.request.context.tools;
        if tools.is_empty() {
            return None;
        }
        let at = [self.param.as_str(), self.text.as_str()]
            .into_iter()
            .find_map(tool_index);
        let is_about_tools = self.says(&["tool", "function", "schema"]);
        let quoted = |name: &str| {
            let name = name.to_lowercase();
            let quotes = ['\'', '"', '`'];
            quotes
                .iter()
                .any(|quote| self.text.contains(&format!("{quote}{name}{quote}")))
                || self.text.contains(&format!("function {name}:"))
                || self.text.contains(&format!("tool {name}:"))
        };
        let named = at.and_then(|at| tools.get(at)).or_else(|| {
            tools
                .iter()
                .filter(|_| is_about_tools)
                .find(|tool| quoted(&tool.name))
        });
        if let Some(tool) = named {
            let change = Change::Tools(vec![(tool.name.clone(), hash_of_tool(tool))]);
            let what = format!("the tool `{}`", tool.name);
            return Some(self.diagnosis(change, &what, "it is left out"));
        }
        let has_none = self.says(&[
            "support tool",
            "support function",
            "tools are not",
            "tools is not",
            "tool use is not",
            "tool calling is not",
            "function calling is not",
            "--jinja",
            "--enable-auto-tool-choice",
            "tool-call-parser",
        ]) || (is_named(&self.text, "tools")
            && self.says(&REFUSALS[..12])
            && !self.says(&["schema"]));
        if has_none || self.has_param("tools") {
            return Some(self.diagnosis(Change::NoTools, "tools", "it is called without them"));
        }
        // The error names no tool: those with schemas that had to be changed.
        if is_about_tools && self.says(&["schema"]) {
            let api = self.request.model.api;
            let odd = tools
                .iter()
                .filter(|tool| lower(&tool.parameters, api) != tool.parameters);
            let odd: Vec<(String, u64)> = odd
                .map(|tool| (tool.name.clone(), hash_of_tool(tool)))
                .collect();
            let names: Vec<&str> = odd.iter().map(|(name, _)| name.as_str()).collect();
            let then = format!("these tools are left out: `{}`", names.join("`, `"));
            let can_be_named =
                !odd.is_empty() && odd.len() < tools.len() && api != Api::GoogleGenerativeAi;
            return can_be_named.then(|| {
                self.diagnosis(Change::Tools(odd.clone()), "the schema of a tool", &then)
            });
        }
        None
    }

    /// A field of the body, the role of the system prompt, or the output limit.
    fn field(&self) -> Option<Diagnosis> {
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

    /// The other name of the output limit.
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

    /// The greatest output limit that the model accepts.
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

fn data_blocks(message: &Message) -> impl Iterator<Item = &ContentBlock> {
    let content = match message {
        Message::User(user) => user.content.as_slice(),
        Message::ToolResult(result) => result.content.as_slice(),
        Message::Assistant(_) => &[],
    };
    content.iter().filter(|block| block.data().is_some())
}

/// The parts of a path such as `messages.3.content[1].image` after `root`.
fn path_after(text: &str, root: &str) -> Option<Vec<String>> {
    let mut rest = text;
    loop {
        let at = rest.find(root)?;
        rest = &rest[at + root.len()..];
        if rest.starts_with(['.', '[', '/']) {
            let end =
                rest.find(|char: char| !(char.is_ascii_alphanumeric() || "._[]/".contains(char)));
            let path = &rest[..end.unwrap_or(rest.len())];
            let parts = path
                .split(['.', '[', ']', '/'])
                .filter(|part| !part.is_empty());
            return Some(parts.map(str::to_owned).collect());
        }
    }
}

/// The index of the tool that a path names.
fn tool_index(text: &str) -> Option<usize> {
    for root in ["function_declarations", "functiondeclarations", "tools"] {
        if let Some(parts) = path_after(text, root)
            && let Some(Ok(index)) = parts.first().map(|part| part.parse())
        {
            return Some(index);
        }
    }
    None
}

/// Whether `text` names a field. A name that is also a word of the language must be in quotes or followed by a colon.
fn is_named(text: &str, field: &str) -> bool {
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.match_indices(field).any(|(at, _)| {
        let (before, after) = (
            text[..at].chars().next_back(),
            text[at + field.len()..].chars().next(),
        );
        let is_complete = !before.is_some_and(is_word) && !after.is_some_and(is_word);
        let is_quoted = before.is_some_and(|char| "'\"`".contains(char)) || after == Some(':');
        is_complete && (is_quoted || field.contains('_'))
    })
}
