//! The blocks of results and prompts, and the contents of resources.

use rmcp::model::{ContentBlock, PromptMessage, ResourceContents};
use serde_json::{Value, json};

use super::fields::{Fields, fits, is_true, list_of, named_by, text_of, to_texts};
use osier_base::text;

/// Maximum shown bytes of an odd value.
const EXCERPT: usize = 120;

/// Repairs the blocks of a tool's result.
pub(super) fn repair_blocks(fields: &mut Fields) {
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
pub(super) fn prompt_messages(entry: Value) -> Vec<Value> {
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
                // The bytes of the data tell its type.
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
pub(super) fn contents_of(contents: &mut Value) -> bool {
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

/// The text in place of a block that cannot be read.
pub(super) fn unreadable(value: &Value) -> String {
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
