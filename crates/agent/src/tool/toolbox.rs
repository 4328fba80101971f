//! The tools of one agent with their compiled argument schemas.
//!
//! A toolbox is immutable. When tools are added or removed, a new toolbox replaces it between two requests, so
//! that a call always finds the tools that its request offered.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::Value;

use super::interface::{Tool, ToolSet};
use crate::data::ToolStatus;

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
    /// Of several tools with the same name, the first is used.
    pub fn new(tools: ToolSet) -> Self {
        Self::default().with(tools)
    }

    /// A toolbox of `tools`. Tools that are also in this one keep their compiled schemas.
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

    /// Whether both contain the same tools in the same order.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.slots.len() == other.slots.len()
            && self
                .slots
                .iter()
                .zip(&other.slots)
                .all(|(one, other)| Arc::ptr_eq(one, other))
    }

    pub fn names(&self) -> Vec<String> {
        self.iter().map(|tool| tool.spec().name.clone()).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.slots.iter().map(|slot| &slot.tool)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.iter().find(|tool| tool.spec().name == name)
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
                let message = format!("the argument schema of `{name}` is invalid: {error}");
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
            let argument = argument_name(&error.instance_path().to_string());
            messages.push(match argument.as_str() {
                "" => error.to_string(),
                argument => format!("`{argument}`: {error}"),
            });
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

/// A JSON pointer as a model writes the argument: `/edits/0/text` as `edits[0].text`.
fn argument_name(pointer: &str) -> String {
    let mut name = String::new();
    for part in pointer.split('/').skip(1) {
        if part.parse::<usize>().is_ok() {
            name.extend(["[", part, "]"]);
        } else {
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(part);
        }
    }
    name
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
