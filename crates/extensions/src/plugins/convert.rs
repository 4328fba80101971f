//! Converts values between Lua and JSON. `null` is `nil`; a table with only list indices is a list.

use mlua::{DeserializeOptions, Lua, LuaSerdeExt as _, Result, SerializeOptions, Value};

pub(super) fn to_lua(lua: &Lua, value: &serde_json::Value) -> Result<Value> {
    let options = SerializeOptions::new()
        .serialize_none_to_null(false)
        .serialize_unit_to_null(false);
    lua.to_value_with(value, options)
}

/// Functions and similar values are dropped; a recursive table is an error.
pub(super) fn from_lua(lua: &Lua, value: Value) -> Result<serde_json::Value> {
    if value.is_nil() {
        return Ok(serde_json::Value::Null);
    }
    let options = DeserializeOptions::new().deny_unsupported_types(false);
    lua.from_value_with(value, options)
}
