//! The tools of one agent with their compiled argument schemas.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::Value;

use super::tool::{Tool, ToolSet, ToolStatus};
use crate::llm::ToolSpec;

/// Tools by name, in the order the model sees them. Schemas compile on first use.
pub struct Toolbox {
    slots: Vec<Slot>,
}

struct Slot {
    tool: Arc<dyn Tool>,
    validator: OnceLock<Result<Validator, String>>,
}

impl Toolbox {
    pub fn new(tools: ToolSet) -> Self {
        let slots = tools
            .into_iter()
            .map(|tool| Slot {
                tool,
                validator: OnceLock::new(),
            })
            .collect();
        Self { slots }
    }

    pub fn names(&self) -> Vec<String> {
        self.slots
            .iter()
            .map(|slot| slot.tool.spec().name.clone())
            .collect()
    }

    /// The specifications of the tools called `names`, in the box's own order: a stable order keeps
    /// the provider's cache.
    pub fn specs(&self, names: &[String]) -> Vec<ToolSpec> {
        let specs = self.slots.iter().map(|slot| slot.tool.spec());
        specs
            .filter(|spec| names.contains(&spec.name))
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

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Toolbox")
            .field(&self.names())
            .finish()
    }
}
