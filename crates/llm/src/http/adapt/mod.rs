//! Requests without what a vendor refuses.
//!
//! A vendor refuses the complete request for one part of it: a tool whose schema it does not accept, an image that it
//! cannot process, a signature, a field that a server does not know. Otherwise every later request of the session
//! would be refused, too. So the part is left out or replaced by a note, the request is sent again, and later requests
//! are sent without it. The session keeps everything.
//!
//! - `diagnose` finds the part that an error names.
//! - [`Adaptations`] has the refused parts of a model; [`Memory`] keeps them while the process runs.

mod diagnose;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

pub(super) use diagnose::diagnose;

use crate::message::{AssistantBlock, ContentBlock, Message};
use crate::model::Modality;
use crate::provider::Request;

/// A part of requests that a vendor refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Tools, by name and hash of their definition.
    Tools(Vec<(String, u64)>),
    /// Every tool.
    NoTools,
    /// Images, files and the signatures of thinking, by hash.
    Data(Vec<u64>),
    /// A kind of images or files.
    Modality(Modality),
    /// A field of the body, as a JSON pointer.
    Field(String),
    /// A field of the body that has another name on this server.
    Rename(&'static str, &'static str),
    /// The system prompt has the role `system`.
    SystemRole,
    /// The maximum of the output limit.
    OutputLimit(u64),
}

/// The parts that a model refuses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Adaptations {
    tools: BTreeSet<(String, u64)>,
    no_tools: bool,
    data: BTreeSet<u64>,
    modalities: Vec<Modality>,
    fields: BTreeSet<String>,
    renamed: BTreeSet<(&'static str, &'static str)>,
    system_role: bool,
    output_limit: Option<u64>,
}

/// The parts that the models of the process refuse, by name and address.
#[derive(Debug, Default)]
pub(in crate::http) struct Memory(Mutex<HashMap<(String, String), Arc<Adaptations>>>);

impl Memory {
    pub(super) fn of(&self, request: &Request) -> Arc<Adaptations> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key(request)).cloned().unwrap_or_default()
    }

    /// Remembers a refusal. False if it was known: the request was sent without that part.
    pub(super) fn add(&self, request: &Request, change: Change) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let adaptations = known.entry(key(request)).or_default();
        let before = Arc::clone(adaptations);
        Arc::make_mut(adaptations).add(change);
        before != *adaptations
    }
}

fn key(request: &Request) -> (String, String) {
    (request.model.reference(), request.model.base_url.clone())
}

impl Adaptations {
    fn add(&mut self, change: Change) {
        match change {
            Change::Tools(tools) => self.tools.extend(tools),
            Change::NoTools => self.no_tools = true,
            Change::Data(data) => self.data.extend(data),
            Change::Modality(kind) if self.modalities.contains(&kind) => {}
            Change::Modality(kind) => self.modalities.push(kind),
            Change::Field(pointer) => {
                self.fields.insert(pointer);
            }
            Change::Rename(from, to) => {
                // A server that refuses both names gets none of them.
                if !self.renamed.insert((from, to)) || self.renamed.contains(&(to, from)) {
                    self.fields.insert(format!("/{to}"));
                }
            }
            Change::SystemRole => self.system_role = true,
            Change::OutputLimit(limit) => self.output_limit = Some(limit),
        }
    }

    /// `request` without the refused parts; `None` if it has none of them.
    pub(super) fn request(&self, request: &Request) -> Option<Request> {
        if *self == Self::default() {
            return None;
        }
        let mut request = request.clone();
        let context = &mut request.context;
        if self.no_tools {
            context.tools.clear();
        }
        context.tools.retain(|tool| {
            !self
                .tools
                .contains(&(tool.name.clone(), hash_of_tool(tool)))
        });
        let has_data = !self.data.is_empty();
        for message in context.messages.iter_mut().filter(|_| has_data) {
            self.remove_data(message);
        }
        if !self.modalities.is_empty() || self.output_limit.is_some() {
            let model = Arc::make_mut(&mut request.model);
            model.input.retain(|kind| !self.modalities.contains(kind));
            let limit = self.output_limit.unwrap_or(model.max_tokens);
            model.max_tokens = model.max_tokens.min(limit);
        }
        Some(request)
    }

    fn remove_data(&self, message: &mut Message) {
        let content = match message {
            Message::User(user) => &mut user.content,
            Message::ToolResult(result) => &mut result.content,
            Message::Assistant(answer) => {
                let is_refused = |signature: &&str| self.data.contains(&hash(signature));
                if signatures(&answer.content).any(|signature| is_refused(&signature)) {
                    // The answer is sent like that of another model.
                    answer.api.clear();
                }
                return;
            }
        };
        for block in content {
            if block
                .data()
                .is_some_and(|data| self.data.contains(&hash(data)))
            {
                *block = ContentBlock::text(note(block));
            }
        }
    }

    /// Removes the refused fields of a body.
    pub(super) fn change_body(&self, body: &mut Value) {
        let Some(fields) = body.as_object_mut() else {
            return;
        };
        for (from, to) in &self.renamed {
            if let Some(value) = fields.shift_remove(*from) {
                fields.insert((*to).to_owned(), value);
            }
        }
        if self.system_role
            && let Some(messages) = fields.get_mut("messages").and_then(Value::as_array_mut)
        {
            for message in messages {
                if message["role"] == "developer" {
                    message["role"] = "system".into();
                }
            }
        }
        for pointer in &self.fields {
            remove(fields, pointer);
        }
    }
}

/// Removes what `pointer` leads to, and objects that are empty then.
fn remove(fields: &mut Map<String, Value>, pointer: &str) {
    let Some((name, rest)) = pointer
        .strip_prefix('/')
        .map(|path| path.split_once('/').unwrap_or((path, "")))
    else {
        return;
    };
    if rest.is_empty() {
        fields.shift_remove(name);
    } else if let Some(Value::Object(inner)) = fields.get_mut(name) {
        remove(inner, &format!("/{rest}"));
        if inner.is_empty() {
            fields.shift_remove(name);
        }
    }
}

/// The text that a model gets instead of an image or file.
fn note(block: &ContentBlock) -> String {
    format!(
        "{}: left out, because the provider refused it",
        block.description()
    )
}

/// The opaque data of an answer.
fn signatures(content: &[AssistantBlock]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|block| match block {
        AssistantBlock::Text { signature, .. } | AssistantBlock::Thinking { signature, .. } => {
            signature.as_deref()
        }
        AssistantBlock::ToolCall(call) => call.signature.as_deref(),
    })
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn hash_of_tool(tool: &crate::provider::ToolSpec) -> u64 {
    hash(&format!("{}\n{}", tool.description, tool.parameters))
}
