//! Finds the part of a request that an error names.
//!
//! Errors have a path (`messages.3.content.1.image`, `tools[11].function.parameters`), the name of
//! a parameter or a tool, or only words. Only errors about a refusal are used: a busy server can
//! send any text.

mod content;
mod fields;
mod tools;

use serde_json::Value;

use super::{Change, hash, signatures};
use crate::errors::Fault;
use crate::message::Message;
use crate::provider::Request;
use osier_base::text;

/// Maximum bytes of an error that are shown.
const REASON_BYTES: usize = 200;

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

    /// The diagnosis that `what` was refused, and `then` the consequence for the user.
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

    /// Diagnoses signatures of thinking that the vendor does not accept.
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
