//! The tools of one agent with the schemas of their arguments. A box never changes: when tools come or
//! go another takes its place, between two requests, so that a call always finds the tools its request
//! offered.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::schema::Schema;
use super::tool::{Tool, ToolInfo, ToolSet, ToolStatus};
use crate::llm::ToolSpec;

/// Tools by name, in the order the model sees them. Schemas are read on first use.
#[derive(Default)]
pub struct Toolbox {
    slots: Vec<Arc<Slot>>,
}

struct Slot {
    tool: Arc<dyn Tool>,
    schema: OnceLock<Result<Schema, String>>,
}

impl Toolbox {
    /// Of several tools with one name the first counts.
    pub fn new(tools: ToolSet) -> Self {
        Self::default().with(tools)
    }

    /// A box of `tools`. Those that are in this one too keep their schemas.
    #[must_use]
    pub fn with(&self, tools: ToolSet) -> Self {
        let known: HashMap<*const (), &Arc<Slot>> = self
            .slots
            .iter()
            .map(|slot| (address(&slot.tool), slot))
            .collect();
        let slot_of = |tool: Arc<dyn Tool>| match known.get(&address(&tool)) {
            Some(slot) => Arc::clone(slot),
            None => Arc::new(Slot {
                tool,
                schema: OnceLock::new(),
            }),
        };
        let mut names = HashSet::new();
        let slots = tools
            .into_iter()
            .filter(|tool| names.insert(tool.spec().name.clone()))
            .map(slot_of)
            .collect();
        Self { slots }
    }

    /// Whether the same tools are in both, in the same order.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.slots.len() == other.slots.len()
            && self
                .slots
                .iter()
                .zip(&other.slots)
                .all(|(one, other)| Arc::ptr_eq(one, other))
    }

    pub fn names(&self) -> Vec<String> {
        self.slots
            .iter()
            .map(|slot| slot.tool.spec().name.clone())
            .collect()
    }

    /// Every tool as a list shows it; `withheld` says which are not offered.
    pub(super) fn list(&self, withheld: &HashSet<String>) -> Vec<ToolInfo> {
        let info = |slot: &Arc<Slot>| {
            let spec = slot.tool.spec();
            ToolInfo {
                name: spec.name.clone(),
                description: spec.description.clone(),
                origin: slot.tool.origin(),
                hints: slot.tool.hints(),
                offered: !withheld.contains(&spec.name),
                bytes: serde_json::to_string(spec).map_or(0, |json| json.len()),
            }
        };
        self.slots.iter().map(info).collect()
    }

    /// The specifications of all but the `withheld` tools, in the box's own order: a stable order keeps
    /// the provider's cache.
    pub(super) fn specs(&self, withheld: &HashSet<String>) -> Vec<ToolSpec> {
        let specs = self.slots.iter().map(|slot| slot.tool.spec());
        specs
            .filter(|spec| !withheld.contains(&spec.name))
            .cloned()
            .collect()
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.slots
            .iter()
            .map(|slot| &slot.tool)
            .find(|tool| tool.spec().name == name)
    }

    /// Checks `arguments` against the schema of the tool `name`.
    ///
    /// # Errors
    /// `ToolStatus::InvalidParameters` with the schema path of the first failure and every message.
    pub fn validate(&self, name: &str, arguments: &Value) -> Result<(), ToolStatus> {
        let Some(slot) = self.slots.iter().find(|slot| slot.tool.spec().name == name) else {
            return Err(ToolStatus::ToolNotFound);
        };
        let read = || Schema::new(&slot.tool.spec().parameters);
        let schema = match slot.schema.get_or_init(read) {
            Ok(schema) => schema,
            Err(error) => {
                let message = format!("the schema of `{name}` is itself invalid: {error}");
                return Err(ToolStatus::InvalidParameters {
                    path: String::new(),
                    message,
                });
            }
        };
        let faults = schema.faults(arguments);
        let Some(first) = faults.first() else {
            return Ok(());
        };
        let path = first.schema_path.clone();
        let messages = faults.iter().map(|fault| {
            let place = match fault.place.as_str() {
                "" => "arguments".to_owned(),
                place => format!("`{place}`"),
            };
            let (message, path) = (&fault.message, &fault.schema_path);
            format!("{place}: {message} (schema path `{path}`)")
        });
        Err(ToolStatus::InvalidParameters {
            path,
            message: messages.collect::<Vec<_>>().join("; "),
        })
    }
}

fn address(tool: &Arc<dyn Tool>) -> *const () {
    Arc::as_ptr(tool).cast()
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Toolbox")
            .field(&self.names())
            .finish()
    }
}
