//! The answer of a handler: if a field is unknown or has a wrong type, the answer is not
//! understood.

use mlua::{MultiValue, Table, Value as LuaValue};
use serde_json::{Map, Value};

use super::api::PluginEvent;

/// The table that a handler returned; `None` if it returned nothing.
///
/// # Errors
/// The plugin returned something else, or a field that is no value of JSON.
pub(super) fn table(values: MultiValue) -> Result<Option<Table>, String> {
    let mut values = values.into_iter().filter(|value| !value.is_nil());
    let table = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(LuaValue::Table(table)), None) => table,
        (Some(one), None) => return Err(format!("{} instead of a table", kind(&one))),
        (Some(_), Some(_)) => return Err("more than one value".to_owned()),
    };
    // Fields of a metatable look as if they were in the table.
    if table.metatable().is_some() {
        return Err("a table with a metatable".to_owned());
    }
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let is_json = matches!(
            value,
            LuaValue::Boolean(_)
                | LuaValue::Integer(_)
                | LuaValue::Number(_)
                | LuaValue::String(_)
                | LuaValue::Table(_)
        );
        if !is_json {
            let key = key.to_string().unwrap_or_default();
            return Err(format!("{} as `{key}`", kind(&value)));
        }
    }
    Ok(Some(table))
}

fn kind(value: &LuaValue) -> &'static str {
    match value {
        LuaValue::Boolean(_) => "a boolean",
        LuaValue::Integer(_) | LuaValue::Number(_) => "a number",
        LuaValue::String(_) => "a string",
        LuaValue::Function(_) => "a function",
        _ => "a value that is not JSON",
    }
}

/// The fields of an answer to `event`; `block` is a text.
///
/// # Errors
/// A field that the event does not have, or that has another type.
pub(super) fn fields(event: &PluginEvent, answer: Value) -> Result<Map<String, Value>, String> {
    let Value::Object(given) = answer else {
        return Err("a list instead of a table with fields".to_owned());
    };
    let mut fields = Map::new();
    for (name, value) in given {
        if !event.answers.contains(&name.as_str()) {
            return Err(format!("`{name}`, which is not a field of the answer"));
        }
        let value = match (name.as_str(), value) {
            ("block", Value::Bool(false)) => continue,
            ("block", Value::Bool(true)) => Value::from("no reason given"),
            ("arguments", value @ Value::Object(_))
            | ("messages", value @ Value::Array(_))
            | ("is_error", value @ Value::Bool(_))
            | ("details", value) => value,
            ("messages", Value::Object(empty)) if empty.is_empty() => Value::Array(Vec::new()),
            ("arguments" | "messages" | "is_error", _) => {
                return Err(format!("`{name}` with a wrong type"));
            }
            (_, value @ Value::String(_)) => value,
            (_, Value::Number(number)) => Value::from(number.to_string()),
            _ => return Err(format!("`{name}` that is not a text")),
        };
        fields.insert(name, value);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use mlua::Lua;
    use serde_json::json;

    use super::super::api::find_event;
    use super::super::convert::from_lua;
    use super::*;

    fn read(event: &str, code: &str) -> Result<Value, String> {
        let lua = Lua::new();
        let values: MultiValue = lua.load(code).eval().unwrap();
        match table(values)? {
            None => Ok(Value::Null),
            Some(table) => {
                let answer = from_lua(&lua, LuaValue::Table(table)).unwrap();
                fields(find_event(event).unwrap(), answer).map(Value::Object)
            }
        }
    }

    #[test]
    fn known_fields_are_understood() {
        for (event, code, expected) in [
            ("tool_call", "return", Ok(Value::Null)),
            ("tool_call", "return nil", Ok(Value::Null)),
            ("tool_call", "return {}", Ok(json!({}))),
            (
                "tool_call",
                "return { block = 'no' }",
                Ok(json!({"block": "no"})),
            ),
            (
                "tool_call",
                "return { block = 7 }",
                Ok(json!({"block": "7"})),
            ),
            (
                "tool_call",
                "return { block = true }",
                Ok(json!({"block": "no reason given"})),
            ),
            ("tool_call", "return { block = false }", Ok(json!({}))),
            (
                "tool_call",
                "return { arguments = { a = 1 } }",
                Ok(json!({"arguments": {"a": 1}})),
            ),
            (
                "tool_result",
                "return { details = { 1 } }",
                Ok(json!({"details": [1]})),
            ),
            (
                "before_request",
                "return { messages = {} }",
                Ok(json!({"messages": []})),
            ),
        ] {
            assert_eq!(read(event, code), expected, "{event}: {code}");
        }
    }

    #[test]
    fn an_answer_that_is_not_understood_names_what_is_wrong() {
        let error = |text: &str| Err(text.to_owned());
        for (event, code, expected) in [
            (
                "tool_call",
                "return 'deny'",
                error("a string instead of a table"),
            ),
            (
                "tool_call",
                "return 42",
                error("a number instead of a table"),
            ),
            (
                "tool_call",
                "return true",
                error("a boolean instead of a table"),
            ),
            (
                "tool_call",
                "return false",
                error("a boolean instead of a table"),
            ),
            (
                "tool_call",
                "return print",
                error("a function instead of a table"),
            ),
            (
                "tool_call",
                "return nil, 'no'",
                error("a string instead of a table"),
            ),
            ("tool_call", "return {}, 'no'", error("more than one value")),
            (
                "tool_call",
                "return setmetatable({}, { __index = { block = 'no' } })",
                error("a table with a metatable"),
            ),
            (
                "tool_call",
                "return { 'no' }",
                error("a list instead of a table with fields"),
            ),
            (
                "tool_call",
                "return { blocked = true }",
                error("`blocked`, which is not a field of the answer"),
            ),
            (
                "tool_call",
                "return { block = print }",
                error("a function as `block`"),
            ),
            (
                "tool_call",
                "return { block = {} }",
                error("`block` that is not a text"),
            ),
            (
                "tool_call",
                "return { arguments = 'ls' }",
                error("`arguments` with a wrong type"),
            ),
            (
                "tool_result",
                "return { block = 'x' }",
                error("`block`, which is not a field of the answer"),
            ),
        ] {
            assert_eq!(read(event, code), expected, "{event}: {code}");
        }
    }
}
