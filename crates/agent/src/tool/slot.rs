//! A tool with its compiled argument schema.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::argument_schema::{ArgumentSchema, Mistakes};
use super::interface::Tool;
use super::output::ToolOutput;
use crate::data::ToolStatus;

/// A tool whose schema compiles on first use.
pub(super) struct Slot {
    pub(super) tool: Arc<dyn Tool>,
    schema: OnceLock<Result<ArgumentSchema, String>>,
}

impl Slot {
    pub(super) fn new(tool: Arc<dyn Tool>) -> Self {
        Self {
            tool,
            schema: OnceLock::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.tool.spec().name
    }

    /// Checks arguments against the schema. Parts of the schema that are wrong themselves are not checked.
    ///
    /// # Errors
    /// `ToolStatus::InvalidParameters` with the schema path of the first failure and every message.
    #[expect(clippy::result_large_err, reason = "a refused call is rare")]
    pub(super) fn validate(&self, arguments: &Value) -> Result<(), ToolOutput> {
        let name = self.name();
        let parameters = &self.tool.spec().parameters;
        let compile = || {
            let exact = ArgumentSchema::new(parameters);
            exact.or_else(|_| ArgumentSchema::new(&osier_llm::valid_schema(parameters)))
        };
        let Ok(schema) = self.schema.get_or_init(compile) else {
            return Ok(());
        };
        let checked = match schema.check(arguments) {
            Err(mistakes) if mistakes.is_of_schema => Ok(()),
            checked => checked,
        };
        checked.map_err(|Mistakes { path, message, .. }| {
            let text = format!(
                "Invalid arguments for `{name}`: {message}. The tool was not run; call it again with valid arguments."
            );
            ToolOutput::failed(ToolStatus::InvalidParameters { path, message }, text)
        })
    }
}
