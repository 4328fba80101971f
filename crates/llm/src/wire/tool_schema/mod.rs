//! Lowers the JSON schemas of tools to what vendors accept.
//!
//! Servers and plugins bring schemas in any condition, and a vendor refuses the complete request
//! for one of them. A part that is wrong, or that a vendor does not accept, becomes less strict,
//! never stricter (except that recursive references become plain objects if a vendor supports
//! none). Arguments are checked against the original schema before the tool runs.
//!
//! - `fix` makes a valid schema: every keyword has its type, references lead somewhere, depth is limited.
//! - `top` makes the schema of an object without choices, as every vendor requires.
//! - `openapi` converts to the subset of Google.
//! - `keys` renames properties whose names are not accepted; the arguments of calls get the original names back.

mod fix;
mod keys;
mod openapi;
#[cfg(test)]
mod tests;
mod top;

use serde_json::{Map, Value};

pub(crate) use keys::{OriginalKeys, original_keys};

use crate::model::Api;

/// The schemas that a wire format accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dialect {
    /// References within the schema; otherwise they are replaced by what they refer to.
    references: bool,
    /// Whether the format has the subset of OpenAPI instead of JSON schema.
    openapi: bool,
}

/// Rows for the wire formats. The table omits what holds for all: no vendor accepts choices,
/// enumerations or other types than `object` at the top level, OpenAI requires `properties` there
/// and `items` of arrays, and Anthropic limits names of properties.
///
/// Sources: <https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use>,
/// <https://platform.openai.com/docs/guides/function-calling>, <https://ai.google.dev/api/caching#Schema>,
/// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html>,
/// <https://github.com/ollama/ollama/blob/main/api/types.go>.
const DIALECTS: [(Api, Dialect); 6] = [
    (Api::AnthropicMessages, JSON_SCHEMA),
    (Api::OpenaiResponses, JSON_SCHEMA),
    (Api::OpenaiChatCompletions, JSON_SCHEMA),
    (Api::BedrockConverse, JSON_SCHEMA),
    (
        Api::Ollama,
        Dialect {
            references: false,
            ..JSON_SCHEMA
        },
    ),
    (
        Api::GoogleGenerativeAi,
        Dialect {
            references: false,
            openapi: true,
        },
    ),
];

const JSON_SCHEMA: Dialect = Dialect {
    references: true,
    openapi: false,
};

/// The schema of a tool's arguments for the wire format `api`.
pub(crate) fn lower(schema: &Value, api: Api) -> Value {
    lowered(schema, api).0
}

/// The schema with its errors fixed: a part that is no JSON schema becomes one that accepts
/// anything.
pub fn valid_schema(schema: &Value) -> Value {
    let mut fixed = fix::fix(schema, JSON_SCHEMA);
    fix::remove_dangling(&mut fixed);
    Value::Object(fixed)
}

/// The schema for Google; `None` for a tool without parameters, whose field is omitted.
pub(crate) fn openapi_parameters(schema: &Value) -> Option<Value> {
    let lowered = lower(schema, Api::GoogleGenerativeAi);
    let properties = lowered.get("properties").and_then(Value::as_object);
    let is_empty = properties.is_none_or(Map::is_empty);
    (!is_empty).then_some(lowered)
}

/// The lowered schema, and its renamed properties.
fn lowered(schema: &Value, api: Api) -> (Value, OriginalKeys) {
    let row = DIALECTS.iter().find(|(row, _)| *row == api);
    let dialect = row.map_or(JSON_SCHEMA, |(_, dialect)| *dialect);
    let mut fixed = top::object(fix::fix(schema, dialect));
    let renamed = keys::rename(&mut fixed);
    if dialect.references {
        fix::remove_dangling(&mut fixed);
    }
    let fixed = Value::Object(fixed);
    if dialect.openapi {
        (openapi::convert(&fixed), renamed)
    } else {
        (fixed, renamed)
    }
}

/// The schema in `root` that the reference `path` leads to.
fn target<'a>(root: &'a Value, path: &str) -> Option<&'a Map<String, Value>> {
    let pointer = path.strip_prefix('#')?;
    let pointer = osier_base::percent::decoded(pointer);
    root.pointer(&pointer)?.as_object()
}
