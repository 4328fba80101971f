//! Requests without what a vendor refuses.
//!
//! A vendor refuses the complete request for one part of it: a tool whose schema it does not
//! accept, an image that it cannot process, a signature, a field that a server does not know.
//! Without a change, every later request of the session would be refused, too. So the part is
//! omitted or replaced by a note, the request is sent again, and later requests are sent without
//! the part. The session retains everything.
//!
//! - `diagnose` finds the part that an error names; `search` finds a tool that no error names.
//! - [`Adaptations`] has the refused parts of a model; [`Memory`] keeps them while the process
//!   runs. They are not stored in a file, because a server may accept them later; learning them
//!   again takes a refused request, which costs nothing.

mod diagnose;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

pub(super) use diagnose::diagnose;

use crate::message::{AssistantBlock, ContentBlock, Message};
use crate::model::Modality;
use crate::provider::Request;
use osier_base::text;
use search::{Held, Search};

/// Number of refused tools of one server after which its other tools are omitted, too.
const REFUSED_OF_SERVER: usize = 3;
/// Maximum number of tools that a warning names.
const NAMED: usize = 8;

/// A part of requests that a vendor refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Tools, by name and hash of their definition.
    Tools(Vec<(String, u64)>),
    /// A tool that the error does not name.
    UnknownTool,
    /// The tools after this many.
    ToolLimit(usize),
    /// Every tool.
    NoTools,
    /// Images, files and the signatures of thinking, by hash.
    Data(Vec<u64>),
    /// Images and files that the error does not name.
    Guess(Vec<u64>),
    /// A kind of images or files.
    Modality(Modality),
    /// Content with parts: images and files, and lists of texts.
    Parts,
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
    tools: BTreeSet<ToolKey>,
    search: Search,
    /// How often tools of a server were refused one by one.
    by_server: BTreeMap<String, usize>,
    tool_limit: Option<usize>,
    no_tools: bool,
    text_content: bool,
    data: BTreeSet<u64>,
    /// Guesses in `data` that can be wrong, because the model has not answered since.
    guessed: Vec<Vec<u64>>,
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

    /// Remembers a refusal; returns a further text about it for the user. `None` if it was known,
    /// so that the request was already sent without that part.
    pub(super) fn add(&self, request: &Request, change: Change) -> Option<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let adaptations = known.entry(key(request)).or_default();
        let before = Arc::clone(adaptations);
        let more = Arc::make_mut(adaptations).add(change, request)?;
        (before != *adaptations).then_some(more)
    }

    /// Records that the model accepts `request` without the refused parts. Returns a line for the
    /// user if this shows which tool it refused.
    pub(super) fn accepted(&self, request: &Request) -> Option<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let adaptations = known.get_mut(&key(request))?;
        if adaptations.guessed.is_empty() && !adaptations.search.is_active() {
            return None;
        }
        let sent = adaptations.sent_tools(request);
        let adaptations = Arc::make_mut(adaptations);
        // The last guess was right. The next request shows whether the others were.
        adaptations.guessed.pop();
        adaptations.undo_guesses();
        let found = adaptations.search.accepted(sent)?;
        let text = format!(
            "`{}` refuses the tool `{}`: it is left out, and requests succeed",
            request.model.reference(),
            found.0
        );
        adaptations.tools.insert(found);
        Some(text)
    }
}

impl Memory {
    /// Records that `request` was refused without any of the guessed parts, so the guesses were
    /// wrong.
    pub(super) fn failed(&self, request: &Request) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(adaptations) = known.get_mut(&key(request))
            && !adaptations.guessed.is_empty()
        {
            Arc::make_mut(adaptations).undo_guesses();
        }
    }
}

/// A tool by name and hash of its definition.
type ToolKey = (String, u64);

fn key(request: &Request) -> (String, String) {
    (request.model.reference(), request.model.base_url.clone())
}

impl Adaptations {
    /// Adds a change for `request`; returns a further text for the user. `None` if the change has
    /// no effect.
    fn add(&mut self, change: Change, request: &Request) -> Option<String> {
        let mut more = String::new();
        match change {
            Change::Tools(tools) => {
                for (name, _) in &tools {
                    more += &self.drop_server(name, request).unwrap_or_default();
                }
                self.tools.extend(tools);
            }
            Change::UnknownTool => {
                let sent = self.sent_tools(request);
                let held = self.search.refused(sent)?;
                more = match held {
                    Held::Found(tool) => {
                        let text = format!(": it is `{}`, which is left out", tool.0);
                        self.tools.insert(tool);
                        text
                    }
                    Held::Suspects(names) => format!(
                        ": {} are left out until osier knows: {}",
                        text::counted(names.len(), "tool of a server", "tools of servers"),
                        listed(&names)
                    ),
                };
            }
            Change::ToolLimit(limit) => {
                let tools = request.context.tools.iter();
                let beyond: Vec<String> = tools.skip(limit).map(|tool| tool.name.clone()).collect();
                self.tool_limit = Some(limit);
                more = format!(": {}", listed(&beyond));
            }
            Change::Parts => {
                self.text_content = true;
                for kind in [Modality::Image, Modality::Audio, Modality::Pdf] {
                    if !self.modalities.contains(&kind) {
                        self.modalities.push(kind);
                    }
                }
            }
            Change::NoTools => self.no_tools = true,
            Change::Data(data) => self.data.extend(data),
            Change::Guess(data) => {
                self.data.extend(&data);
                self.guessed.push(data);
            }
            Change::Modality(kind) if self.modalities.contains(&kind) => {}
            Change::Modality(kind) => self.modalities.push(kind),
            Change::Field(pointer) => {
                self.fields.insert(pointer);
            }
            Change::Rename(from, to) => {
                // A server that refuses both names gets neither.
                if !self.renamed.insert((from, to)) || self.renamed.contains(&(to, from)) {
                    self.fields.insert(format!("/{to}"));
                }
            }
            Change::SystemRole => self.system_role = true,
            Change::OutputLimit(limit) => self.output_limit = Some(limit),
        }
        Some(more)
    }

    fn undo_guesses(&mut self) {
        for data in std::mem::take(&mut self.guessed).into_iter().flatten() {
            self.data.remove(&data);
        }
    }

    /// Omits the other tools of the server of `tool`, if enough of its tools were refused; returns
    /// a text for the user.
    fn drop_server(&mut self, tool: &str, request: &Request) -> Option<String> {
        let (server, _) = server_of(tool)?;
        let count = self.by_server.entry(server.to_owned()).or_default();
        *count += 1;
        if *count < REFUSED_OF_SERVER {
            return None;
        }
        let others: Vec<ToolKey> = self
            .sent_tools(request)
            .into_iter()
            .filter(|(name, _)| {
                name != tool && server_of(name).is_some_and(|(other, _)| other == server)
            })
            .collect();
        let names: Vec<String> = others.iter().map(|(name, _)| name.clone()).collect();
        self.tools.extend(others);
        (!names.is_empty()).then(|| {
            format!(
                "; so are the other tools of the server `{server}`: {}",
                listed(&names)
            )
        })
    }

    /// The tools that are sent with `request`.
    fn sent_tools(&self, request: &Request) -> Vec<ToolKey> {
        let keys = request.context.tools.iter();
        let keys = keys.map(|tool| (tool.name.clone(), hash_of_tool(tool)));
        let keys = keys.filter(|key| !self.tools.contains(key) && !self.search.holds(key));
        keys.take(self.tool_limit.unwrap_or(usize::MAX)).collect()
    }

    /// `request` without the refused parts; `None` if it contains no refused part.
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
            let key = (tool.name.clone(), hash_of_tool(tool));
            !self.tools.contains(&key) && !self.search.holds(&key)
        });
        context
            .tools
            .truncate(self.tool_limit.unwrap_or(usize::MAX));
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
                    // Without its API, the answer is sent like that of another model.
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
        let messages = fields.get_mut("messages").and_then(Value::as_array_mut);
        for message in messages.into_iter().flatten().filter(|_| self.text_content) {
            join_texts(&mut message["content"]);
        }
        for pointer in &self.fields {
            remove(fields, pointer);
        }
    }
}

/// Joins a list of texts into one text.
fn join_texts(content: &mut Value) {
    let Some(parts) = content.as_array() else {
        return;
    };
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    if let Some(texts) = texts {
        *content = texts.join("\n").into();
    }
}

/// Up to a few names, and how many there are more.
fn listed(names: &[String]) -> String {
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("`{}`{more}", names[..names.len().min(NAMED)].join("`, `"))
}

/// The server of a tool, and the server's name for it; `None` for other tools.
fn server_of(tool: &str) -> Option<(&str, &str)> {
    let (server, name) = tool.split_once("__")?;
    (!server.is_empty() && !name.is_empty()).then_some((server, name))
}

/// Removes the value at `pointer`, and objects that become empty.
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
