//! Reads messages of servers entry by entry and field by field: an odd part is lost, but never its
//! neighbours.
//!
//! The protocol library parses a message as one value, so that one odd field makes the complete
//! message unreadable. Here, each entry of a list and each block of a result is first tried alone.
//! A field that cannot be read is removed, an entry that cannot be read is omitted and named in the
//! `_meta` of the list, and a block that cannot be read becomes a text that says so.

mod blocks;
mod fields;

use rmcp::model::{
    CallToolResult, GetPromptResult, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject, Prompt,
    PromptArgument, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use serde_json::{Value, json};

use self::blocks::{contents_of, prompt_messages, repair_blocks, unreadable};
use self::fields::{Fields, fits, has_name, is_true, list_of, named_by, to_texts, whole_number};

/// The field of a list's `_meta` with the names of omitted entries and fields.
const LEFT_OUT: &str = "osier/leftOut";
/// Maximum number of names in [`LEFT_OUT`].
const NAMED: usize = 20;

/// Repairs an entry and adds the names of omitted fields. Returns false if the entry cannot be
/// read.
type Repair = fn(&mut Value, &str, &mut Vec<String>) -> bool;

/// The lists of results: their field, the noun for an entry, and how an entry is repaired.
const LISTS: [(&str, &str, Repair); 4] = [
    ("tools", "tool", tool),
    ("prompts", "prompt", prompt),
    ("resources", "resource", resource),
    ("resourceTemplates", "template", template),
];

/// The names of omitted entries and fields of a list.
pub(super) fn left_out(meta: Option<&MetaObject>) -> Vec<String> {
    let names = meta.and_then(|meta| meta.0.get(LEFT_OUT));
    let names = names.and_then(Value::as_array).into_iter().flatten();
    names
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// Repairs a message of a server.
pub(super) fn message(message: &mut Value) {
    let Some(fields) = message.as_object_mut() else {
        return;
    };
    fields.insert("jsonrpc".to_owned(), "2.0".into());
    if fields.contains_key("method") {
        if fields
            .get("params")
            .is_some_and(|params| !params.is_object())
        {
            fields.remove("params");
        }
        return;
    }
    if fields.get("error").is_some_and(Value::is_null) {
        fields.remove("error");
    }
    // The ids that osier sends are numbers.
    if let Some(id) = fields.get_mut("id")
        && let Some(number) = whole_number(id)
    {
        *id = number.into();
    }
    if let Some(error) = fields.get_mut("error") {
        repair_error(error);
        fields.remove("result");
    } else if let Some(result) = fields.get_mut("result") {
        repair_result(result);
    }
}

fn repair_error(error: &mut Value) {
    let code = error.get("code").and_then(whole_number);
    let message = match error.get("message").unwrap_or(error) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let data = error.get("data").cloned();
    *error = json!({"code": code.unwrap_or(-32_603), "message": message});
    if let Some(data) = data {
        error["data"] = data;
    }
}

fn repair_result(result: &mut Value) {
    match result {
        // The result of a tool that is not wrapped.
        Value::String(_) | Value::Array(_) | Value::Number(_) | Value::Bool(_) => {
            *result = json!({"content": result.take()});
        }
        Value::Null => *result = json!({}),
        Value::Object(_) => {}
    }
    let Some(fields) = result.as_object_mut() else {
        return;
    };
    for name in ["_meta", "nextCursor", "resultType", "description"] {
        let is_valid = |value: &Value| match name {
            "_meta" => value.is_object(),
            _ => value.is_string(),
        };
        let Some(value) = fields.get_mut(name).filter(|value| !is_valid(value)) else {
            continue;
        };
        match value {
            Value::Number(number) if name == "nextCursor" => *value = number.to_string().into(),
            _ => drop(fields.remove(name)),
        }
    }
    let is_initialize = fields.contains_key("protocolVersion") || fields.contains_key("serverInfo");
    if is_initialize {
        initialize(result);
        return;
    }
    for (name, what, repair) in LISTS {
        repair_list(fields, name, what, repair);
    }
    if fields.contains_key("content")
        || fields.contains_key("isError")
        || fields.contains_key("structuredContent")
    {
        repair_blocks(fields);
    }
    if let Some(contents) = fields.get_mut("contents") {
        let found = list_of(contents.take());
        let found = found.into_iter().map(|mut item| {
            let is_read = contents_of(&mut item);
            if is_read {
                item
            } else {
                json!({"uri": "", "text": unreadable(&item)})
            }
        });
        *contents = found.collect();
    }
    if let Some(messages) = fields.get_mut("messages") {
        let entries = list_of(messages.take()).into_iter();
        *messages = entries.flat_map(prompt_messages).collect();
    }
    remove_odd_fields(result);
}

/// Removes the fields around the entries and blocks that cannot be read.
fn remove_odd_fields(result: &mut Value) {
    type Check = fn(&mut Value, &[&str], &str, &mut Vec<String>) -> bool;
    let checks: [(&str, Check); 7] = [
        ("tools", fits::<ListToolsResult>),
        ("prompts", fits::<ListPromptsResult>),
        ("resources", fits::<ListResourcesResult>),
        ("resourceTemplates", fits::<ListResourceTemplatesResult>),
        ("content", fits::<CallToolResult>),
        ("contents", fits::<ReadResourceResult>),
        ("messages", fits::<GetPromptResult>),
    ];
    for (name, check) in checks {
        if result.get(name).is_some() {
            check(result, &[name, "_meta"], "", &mut Vec::new());
        }
    }
}

/// Repairs the entries of a list.
fn repair_list(fields: &mut Fields, name: &str, what: &str, repair: Repair) {
    let Some(list) = fields.get_mut(name) else {
        return;
    };
    let entries = match list.take() {
        // The entries are in an object by name, not in a list.
        Value::Object(map) if !map.contains_key("name") && !map.contains_key("uri") => {
            let named = |(name, mut entry): (String, Value)| {
                if let Some(fields) = entry.as_object_mut() {
                    fields.entry("name").or_insert(name.into());
                }
                entry
            };
            map.into_iter().map(named).collect()
        }
        other => list_of(other),
    };
    let (mut kept, mut left_out) = (Vec::with_capacity(entries.len()), Vec::new());
    for (at, mut entry) in entries.into_iter().enumerate() {
        let label = ["name", "uri", "uriTemplate"]
            .iter()
            .find_map(|key| entry.get(*key)?.as_str())
            .filter(|name| !name.is_empty())
            .map_or_else(
                || format!("{what} {}", at + 1),
                |name| format!("{what} `{name}`"),
            );
        if repair(&mut entry, &label, &mut left_out) {
            kept.push(entry);
        } else {
            left_out.push(label);
        }
    }
    *list = kept.into();
    if left_out.is_empty() {
        return;
    }
    left_out.truncate(NAMED);
    let meta = fields.entry("_meta").or_insert_with(|| json!({}));
    meta[LEFT_OUT] = left_out.into();
}

fn tool(entry: &mut Value, label: &str, left_out: &mut Vec<String>) -> bool {
    let Some(fields) = entry.as_object_mut() else {
        return false;
    };
    if !has_name(fields, "name") {
        return false;
    }
    for other in ["input_schema", "parameters", "schema"] {
        if !fields.contains_key("inputSchema")
            && let Some(schema) = fields.remove(other)
        {
            fields.insert("inputSchema".to_owned(), schema);
        }
    }
    let schema = fields.get("inputSchema").cloned().unwrap_or_default();
    let schema = match schema {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    if !schema.is_object() && !schema.is_null() {
        left_out.push(format!("the schema of {label}"));
    }
    let schema = if schema.is_object() {
        schema
    } else {
        json!({"type": "object"})
    };
    fields.insert("inputSchema".to_owned(), schema);
    to_texts(fields, &["title", "description"]);
    fits::<Tool>(entry, &["name", "inputSchema"], label, left_out)
}

fn resource(entry: &mut Value, label: &str, left_out: &mut Vec<String>) -> bool {
    named_by(entry, "uri") && fits::<Resource>(entry, &["uri", "name"], label, left_out)
}

fn template(entry: &mut Value, label: &str, left_out: &mut Vec<String>) -> bool {
    let required = ["uriTemplate", "name"];
    named_by(entry, required[0]) && fits::<ResourceTemplate>(entry, &required, label, left_out)
}

fn prompt(entry: &mut Value, label: &str, left_out: &mut Vec<String>) -> bool {
    if let Some(name) = entry.as_str() {
        *entry = json!({ "name": name });
    }
    let Some(fields) = entry.as_object_mut() else {
        return false;
    };
    if !has_name(fields, "name") {
        return false;
    }
    to_texts(fields, &["title", "description"]);
    if let Some(arguments) = fields.get_mut("arguments") {
        let found = match arguments.take() {
            Value::Object(map) if !map.contains_key("name") => map
                .into_iter()
                .map(|(name, value)| {
                    let mut argument = if value.is_object() { value } else { json!({}) };
                    argument["name"] = name.into();
                    argument
                })
                .collect(),
            other => list_of(other),
        };
        let mut kept = Vec::with_capacity(found.len());
        for (at, mut argument) in found.into_iter().enumerate() {
            if let Some(name) = argument.as_str() {
                argument = json!({ "name": name });
            }
            let label = format!("argument {} of {label}", at + 1);
            let is_named = argument
                .as_object_mut()
                .is_some_and(|fields| has_name(fields, "name"));
            if is_named && fits::<PromptArgument>(&mut argument, &["name"], &label, left_out) {
                kept.push(argument);
            } else {
                left_out.push(label);
            }
        }
        *arguments = kept.into();
    }
    fits::<Prompt>(entry, &["name"], label, left_out)
}

fn initialize(result: &mut Value) {
    let Some(fields) = result.as_object_mut() else {
        return;
    };
    to_texts(fields, &["protocolVersion", "instructions"]);
    fields
        .entry("protocolVersion")
        .or_insert_with(|| "2024-11-05".into());
    let capabilities = fields.entry("capabilities").or_insert_with(|| json!({}));
    if !capabilities.is_object() {
        *capabilities = json!({});
    }
    if let Some(capabilities) = capabilities.as_object_mut() {
        capabilities.retain(|_, value| !value.is_null() && *value != Value::Bool(false));
        for value in capabilities.values_mut().filter(|value| !value.is_object()) {
            *value = json!({});
        }
        for value in capabilities.values_mut().filter_map(Value::as_object_mut) {
            for flag in ["listChanged", "subscribe"] {
                if let Some(value) = value.get_mut(flag) {
                    *value = is_true(value).into();
                }
            }
        }
    }
    let info = fields.entry("serverInfo").or_insert_with(|| json!({}));
    if let Some(name) = info.as_str() {
        *info = json!({ "name": name });
    }
    if !info.is_object() {
        *info = json!({});
    }
    if let Some(info) = info.as_object_mut() {
        to_texts(info, &["name", "version", "title"]);
        info.entry("name").or_insert_with(|| "unknown".into());
        info.entry("version").or_insert_with(|| "".into());
    }
    let required = ["protocolVersion", "capabilities", "serverInfo"];
    fits::<InitializeResult>(result, &required, "", &mut Vec::new());
}

#[cfg(test)]
mod tests;
