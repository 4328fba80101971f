//! Converts values between Lua and JSON, and reads tables of options. `null` is `nil`; a table with only list indices is a
//! list.

use mlua::{
    DeserializeOptions, Error, FromLua, Lua, LuaSerdeExt as _, Result, SerializeOptions, Table,
    Value,
};
use osier_base::problem::nearest;

/// Maximum levels of a table: conversion needs stack for each.
const MAX_LEVELS: usize = 128;
/// Maximum bytes of a table, with [`VALUE_BYTES`] for each value. A nested table that occurs twice counts twice.
const MAX_BYTES: usize = 16 * 1024 * 1024;
const VALUE_BYTES: usize = 16;

pub(super) fn to_lua(lua: &Lua, value: &serde_json::Value) -> Result<Value> {
    let options = SerializeOptions::new()
        .serialize_none_to_null(false)
        .serialize_unit_to_null(false);
    lua.to_value_with(value, options)
}

/// Converts a Lua value to JSON. Functions and similar values are dropped. A table that is
/// recursive, too deep or too large is an error.
pub(super) fn from_lua(lua: &Lua, value: Value) -> Result<serde_json::Value> {
    if value.is_nil() {
        return Ok(serde_json::Value::Null);
    }
    check_size(&value, MAX_LEVELS, &mut { MAX_BYTES })?;
    let options = DeserializeOptions::new().deny_unsupported_types(false);
    lua.from_value_with(value, options)
}

fn check_size(value: &Value, levels: usize, room: &mut usize) -> Result<()> {
    let bytes = match value {
        Value::String(text) => text.as_bytes().len() + VALUE_BYTES,
        _ => VALUE_BYTES,
    };
    *room = room
        .checked_sub(bytes)
        .ok_or_else(|| Error::runtime(format!("a value has more than {} MB", MAX_BYTES >> 20)))?;
    let Value::Table(table) = value else {
        return Ok(());
    };
    let levels = levels.checked_sub(1).ok_or_else(|| {
        Error::runtime(format!(
            "a table is recursive or has more than {MAX_LEVELS} levels"
        ))
    })?;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        check_size(&key, levels, room)?;
        check_size(&value, levels, room)?;
    }
    Ok(())
}

pub(super) fn fail<T>(message: impl Into<String>) -> mlua::Result<T> {
    Err(mlua::Error::RuntimeError(message.into()))
}

/// A field that can be missing.
pub(super) fn optional<T: FromLua>(
    given: &Table,
    field: &str,
    what: &str,
    expected: &str,
) -> Result<Option<T>> {
    let wrong = |_| fail(format!("`{field}` of {what} must be {expected}"));
    given.get::<Option<T>>(field).or_else(wrong)
}

/// Checks that a table has only known fields.
pub(super) fn only(given: &Table, known: &[&str], what: &str) -> Result<()> {
    for pair in given.pairs::<Value, Value>() {
        let name = pair?.0.to_string()?;
        if known.contains(&name.as_str()) {
            continue;
        }
        let hint = match nearest(&name, known.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("expected {}", known.join(", ")),
        };
        return fail(format!("unknown field `{name}` of {what}: {hint}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(source: &str) -> std::result::Result<serde_json::Value, String> {
        let lua = Lua::new();
        let value = lua.load(source).eval().unwrap();
        from_lua(&lua, value).map_err(|error| error.to_string())
    }

    #[test]
    fn hostile_tables_are_errors() {
        let deep = "a table is recursive or has more than 128 levels";
        let large = "a value has more than 16 MB";
        for (source, expected) in [
            (
                "local t = {} for _ = 1, 200000 do t = {t} end return t",
                deep,
            ),
            ("local t = {} t.t = t return t", deep),
            (
                "local t = {1} for _ = 1, 100 do t = {t, t} end return t",
                large,
            ),
            ("return string.rep('x', 20000000)", large),
            ("return {[string.rep('x', 20000000)] = 1}", large),
        ] {
            let error = converted(source).unwrap_err();
            assert!(error.contains(expected), "{source}: {error}");
        }
        let nested = "local t = {} for _ = 1, 126 do t = {t} end return t";
        assert!(converted(nested).is_ok());
        let plain = converted("return {a = {1, 'x'}, f = print}").unwrap();
        assert_eq!(plain, serde_json::json!({"a": [1, "x"]}));
    }
}
