//! Reads messages of servers entry by entry and field by field: what is odd costs itself, never its neighbours.
//!
//! The protocol library parses a message as one value, so that one odd field costs all of it. Here, each entry of a list
//! and each block of a result is tried alone first. A field that cannot be read is removed, an entry that cannot be read
//! is left out and named in the `_meta` of the list, and a block that cannot be read becomes a text that says so.

use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject, Prompt,
    PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, Tool,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use osier_base::text;

/// The field of a list's `_meta` with the names of entries and fields that were left out.
const LEFT_OUT: &str = "osier/leftOut";
/// Maximum number of names in it.
const NAMED: usize = 20;
/// Maximum bytes of an odd value that is shown.
const EXCERPT: usize = 120;

type Fields = Map<String, Value>;
/// Repairs an entry and adds the names of what it left out. False if the entry cannot be read.
type Repair = fn(&mut Value, &str, &mut Vec<String>) -> bool;

/// The lists of results: their field, what an entry is called, and how it is repaired.
const LISTS: [(&str, &str, Repair); 4] = [
    ("tools", "tool", tool),
    ("prompts", "prompt", prompt),
    ("resources", "resource", resource),
    ("resourceTemplates", "template", template),
];

/// The names of entries and fields of a list that were left out.
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
    // The ids of osier are numbers.
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
        // Entries by name.
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

/// The entries of a value that should be a list.
fn list_of(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        other => vec![other],
    }
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

/// Whether the text of an entry has a field `key`, which is also its name if it has none.
fn named_by(entry: &mut Value, key: &str) -> bool {
    if let Some(uri) = entry.as_str() {
        *entry = json!({ key: uri });
    }
    let Some(fields) = entry.as_object_mut() else {
        return false;
    };
    if !has_name(fields, key) {
        return false;
    }
    if !has_name(fields, "name") {
        let name = fields[key].clone();
        fields.insert("name".to_owned(), name);
    }
    to_texts(fields, &["title", "description", "mimeType"]);
    true
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

/// Repairs the blocks of a tool's result.
fn repair_blocks(fields: &mut Fields) {
    if let Some(flag) = fields.get_mut("isError")
        && !flag.is_boolean()
    {
        *flag = is_true(flag).into();
    }
    let content = fields.entry("content").or_insert(Value::Null);
    let blocks = list_of(content.take()).into_iter();
    *content = blocks
        .filter(|block| !block.is_null())
        .map(readable_block)
        .collect();
}

/// The messages of a prompt in an entry that should be one.
fn prompt_messages(entry: Value) -> Vec<Value> {
    let (role, content) = match entry {
        Value::Object(mut fields) if fields.contains_key("content") => (
            fields.remove("role"),
            fields.remove("content").unwrap_or_default(),
        ),
        other => (None, other),
    };
    let role = match role.as_ref().and_then(Value::as_str) {
        Some("assistant") => "assistant",
        _ => "user",
    };
    let blocks = list_of(content)
        .into_iter()
        .filter(|block| !block.is_null());
    let messages = blocks.map(|block| json!({"role": role, "content": readable_block(block)}));
    messages
        .filter(|message| serde_json::from_value::<PromptMessage>(message.clone()).is_ok())
        .collect()
}

/// A block, or a text that says that it cannot be read.
fn readable_block(mut block: Value) -> Value {
    let odd = block.clone();
    if repair_block(&mut block)
        && fits::<ContentBlock>(&mut block, &BLOCK_FIELDS, "", &mut Vec::new())
    {
        block
    } else {
        json!({"type": "text", "text": unreadable(&odd)})
    }
}

/// The fields that make a block what it is.
const BLOCK_FIELDS: [&str; 7] = [
    "type", "text", "data", "mimeType", "resource", "uri", "name",
];

fn repair_block(block: &mut Value) -> bool {
    if let Value::String(_) | Value::Number(_) | Value::Bool(_) = block {
        let text = text_of(block);
        *block = json!({"type": "text", "text": text});
        return true;
    }
    let Some(fields) = block.as_object_mut() else {
        return false;
    };
    let has = |name: &str| fields.get(name).is_some_and(|value| !value.is_null());
    let kind = match fields.get("type").and_then(Value::as_str) {
        Some(kind @ ("text" | "image" | "audio" | "resource" | "resource_link")) => kind,
        _ if has("text") => "text",
        _ if has("data") => "image",
        _ if has("resource") => "resource",
        _ if has("uri") => "resource_link",
        _ => return false,
    }
    .to_owned();
    match kind.as_str() {
        "text" if !has("text") => return false,
        "text" => to_texts(fields, &["text"]),
        "image" | "audio" => {
            let Some(data) = fields
                .get("data")
                .and_then(Value::as_str)
                .map(str::to_owned)
            else {
                return false;
            };
            let url = data
                .strip_prefix("data:")
                .and_then(|url| url.split_once(";base64,"));
            if let Some((mime_type, data)) = url {
                fields.insert("mimeType".to_owned(), mime_type.into());
                fields.insert("data".to_owned(), data.into());
            }
            if !fields.get("mimeType").is_some_and(Value::is_string) {
                // The bytes say what it is.
                let unknown = if kind == "image" {
                    "image/png"
                } else {
                    "audio/wav"
                };
                fields.insert("mimeType".to_owned(), unknown.into());
            }
        }
        "resource" => {
            if !fields.get_mut("resource").is_some_and(contents_of) {
                return false;
            }
        }
        _ => {
            if !named_by(block, "uri") {
                return false;
            }
            block["type"] = kind.into();
            return true;
        }
    }
    fields.insert("type".to_owned(), kind.into());
    true
}

/// Repairs the contents of a resource.
fn contents_of(contents: &mut Value) -> bool {
    if contents.is_string() {
        *contents = json!({"uri": "", "text": contents.take()});
    }
    let Some(fields) = contents.as_object_mut() else {
        return false;
    };
    if !fields.get("uri").is_some_and(Value::is_string) {
        fields.insert("uri".to_owned(), "".into());
    }
    to_texts(fields, &["text", "mimeType"]);
    let is_blob = fields.get("blob").is_some_and(Value::is_string);
    if !is_blob {
        fields.remove("blob");
    } else if fields.get("text").is_some_and(Value::is_null) {
        fields.remove("text");
    }
    fits::<ResourceContents>(
        contents,
        &["uri", "text", "blob", "mimeType"],
        "",
        &mut Vec::new(),
    )
}

/// Removes the fields of `entry` that cannot be read, with names after `label`. False if the `required` ones cannot.
fn fits<T: DeserializeOwned>(
    entry: &mut Value,
    required: &[&str],
    label: &str,
    left_out: &mut Vec<String>,
) -> bool {
    if T::deserialize(&*entry).is_ok() {
        return true;
    }
    let Some(fields) = entry.as_object() else {
        return false;
    };
    let is_required = |name: &String| required.contains(&name.as_str());
    let mut kept: Fields = fields
        .iter()
        .filter(|(name, _)| is_required(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if T::deserialize(&Value::Object(kept.clone())).is_err() {
        return false;
    }
    for (name, value) in fields.iter().filter(|(name, _)| !is_required(name)) {
        if is_read::<T>(&kept, name, value) {
            kept.insert(name.clone(), value.clone());
            continue;
        }
        left_out.push(format!("`{name}` of {label}"));
        // The other fields in it stay.
        let inner = value.as_object().map(|inner| {
            let fitting = inner
                .iter()
                .filter(|(key, value)| is_read::<T>(&kept, name, &json!({ key.as_str(): value })));
            fitting
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Fields>()
        });
        if let Some(inner) = inner.map(Value::Object)
            && is_read::<T>(&kept, name, &inner)
        {
            kept.insert(name.clone(), inner);
        }
    }
    *entry = Value::Object(kept);
    true
}

/// Whether `fields` can be read with another one.
fn is_read<T: DeserializeOwned>(fields: &Fields, name: &str, value: &Value) -> bool {
    let mut with = fields.clone();
    with.insert(name.to_owned(), value.clone());
    T::deserialize(&Value::Object(with)).is_ok()
}

/// Whether the field `key` is a text that is not empty. Numbers become texts.
fn has_name(fields: &mut Fields, key: &str) -> bool {
    to_texts(fields, &[key]);
    let name = fields.get(key).and_then(Value::as_str);
    name.is_some_and(|name| !name.trim().is_empty())
}

/// Makes texts of fields that have other types.
fn to_texts(fields: &mut Fields, names: &[&str]) {
    for name in names {
        match fields.get_mut(*name) {
            None | Some(Value::String(_)) => {}
            Some(Value::Null) => drop(fields.remove(*name)),
            Some(value) => *value = text_of(value).into(),
        }
    }
}

/// The text in a value.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let lines: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            lines.join("\n")
        }
        Value::Object(map) => match map.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => {
            let number = value.as_f64()?;
            (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
        }
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "true" | "yes" | "1"),
        Value::Object(_) => true,
        Value::Null | Value::Array(_) => false,
    }
}

/// The text in place of a block that cannot be read.
fn unreadable(value: &Value) -> String {
    let json = text::single_line(&value.to_string());
    let start = text::head_bytes(&json, EXCERPT);
    let more = if start.len() < json.len() { "…" } else { "" };
    match value.get("type").and_then(Value::as_str) {
        Some(kind) => format!(
            "[content of the type `{}` that osier cannot read: {start}{more}]",
            text::single_line(kind)
        ),
        None => format!("[content that osier cannot read: {start}{more}]"),
    }
}

#[cfg(test)]
mod tests;
