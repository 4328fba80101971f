//! A call of a tool: its arguments, how other programs spell them, and the value of its details.

pub(crate) mod arguments;
pub(crate) mod spellings;

use serde::Serialize;
use serde_json::Value;

/// The details of a result, for `ToolOutput::details`. The type of a tool's details is next to the tool. Sessions store
/// them, so the names and meanings of fields are stable.
pub(crate) fn to_value(details: &impl Serialize) -> Value {
    serde_json::to_value(details).unwrap_or_default()
}
