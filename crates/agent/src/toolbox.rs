//! The tools of one agent with their compiled argument schemas. A box never changes: when tools come or
//! go another takes its place, between two requests, so that a call always finds the tools its request
//! offered.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::Value;

use super::tool::{Tool, ToolInfo, ToolSet, ToolStatus};
use osier_llm::ToolSpec;

/// Tools by name, in the order the model sees them. Schemas compile on first use.
#[derive(Default)]
pub struct Toolbox {
    slots: Vec<Arc<Slot>>,
}

struct Slot {
    tool: Arc<dyn Tool>,
    validator: OnceLock<Result<Validator, String>>,
}

impl Toolbox {
    /// Of several tools with one name the first counts.
    pub fn new(tools: ToolSet) -> Self {
        Self::default().with(tools)
    }

    /// A box of `tools`. Those that are in this one too keep their compiled schemas.
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
                validator: OnceLock::new(),
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
        let compile = || {
            jsonschema::validator_for(&slot.tool.spec().parameters)
                .map_err(|error| error.to_string())
        };
        let validator = match slot.validator.get_or_init(compile) {
            Ok(validator) => validator,
            Err(error) => {
                let message = format!("the schema of `{name}` is itself invalid: {error}");
                return Err(ToolStatus::InvalidParameters {
                    path: String::new(),
                    message,
                });
            }
        };
        let mut path = None;
        let mut messages = Vec::new();
        for error in validator.iter_errors(arguments) {
            path.get_or_insert_with(|| error.schema_path().to_string());
            let at = error.instance_path().to_string();
            let place = if at.is_empty() {
                "arguments".to_owned()
            } else {
                format!("`{at}`")
            };
            messages.push(format!(
                "{place}: {error} (schema path `{}`)",
                error.schema_path()
            ));
        }
        match path {
            None => Ok(()),
            Some(path) => Err(ToolStatus::InvalidParameters {
                path,
                message: messages.join("; "),
            }),
        }
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
