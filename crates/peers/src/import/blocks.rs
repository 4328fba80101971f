//! Message contents in the formats of other programs.

use serde_json::{Value, json};

use super::draft::Draft;
use super::lines::text;
use osier_agent::{Attachment, AttachmentKind, UserMessage};
use osier_base::ids;
use osier_llm::{AssistantBlock, ContentBlock, Usage};

/// Milliseconds since the Unix epoch from an RFC 3339 time or a number.
pub(super) fn milliseconds(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::Number(number)) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|number| number as i64))
            .unwrap_or(0),
        Some(Value::String(time)) => match time.parse::<jiff::Timestamp>() {
            Ok(time) => time.as_millisecond(),
            Err(_) => time.trim().parse().unwrap_or(0),
        },
        _ => 0,
    }
}

/// The blocks of a message: a text becomes a block.
pub(super) fn parts(value: Option<&Value>) -> Vec<Value> {
    let text = |text: &Value| json!({"type": "text", "text": text});
    match value {
        Some(said @ Value::String(_)) => vec![text(said)],
        Some(block @ Value::Object(_)) => vec![block.clone()],
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| {
                if part.is_string() {
                    text(part)
                } else {
                    part.clone()
                }
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The text and images of a prompt or a result: a string, or a list of blocks in the format of Anthropic, OpenAI
/// Responses or pi. Other blocks are counted as dropped.
pub(super) fn content(value: Option<&Value>, draft: &mut Draft) -> Vec<ContentBlock> {
    let blocks = parts(value);
    blocks
        .iter()
        .filter_map(|block| content_block(block, draft))
        .collect()
}

fn content_block(block: &Value, draft: &mut Draft) -> Option<ContentBlock> {
    let kind = text(block, "type").unwrap_or_default();
    match kind {
        "text" | "input_text" | "output_text" => {
            let said = text(block, "text");
            if said.is_none() {
                draft.drop("texts of an unknown form");
            }
            said.map(ContentBlock::text)
        }
        "image" | "input_image" => {
            let image = image(block);
            if image.is_none() {
                draft.drop("external images");
            }
            image.map(|(mime_type, data)| ContentBlock::Image { data, mime_type })
        }
        other => {
            draft.drop(format!("content of type `{other}`"));
            None
        }
    }
}

/// Type and base64 data of an image.
fn image(block: &Value) -> Option<(String, String)> {
    let source = block.get("source").unwrap_or(block);
    if let Some(data) = text(source, "data") {
        let mime_type = text(source, "mimeType").or_else(|| text(source, "media_type"))?;
        return Some((mime_type.to_owned(), data.to_owned()));
    }
    let url = text(block, "image_url")?.strip_prefix("data:")?;
    let (mime_type, data) = url.split_once(";base64,")?;
    Some((mime_type.to_owned(), data.to_owned()))
}

/// Blocks as a prompt: text, with images as attachments.
pub(super) fn prompt(blocks: Vec<ContentBlock>, timestamp: i64) -> UserMessage {
    let mut prompt = UserMessage {
        // Other programs put more than typed text into prompts.
        typed: Some(String::new()),
        ..UserMessage::new("", timestamp)
    };
    for block in blocks {
        match block {
            ContentBlock::Text { text } => {
                if !prompt.text.is_empty() {
                    prompt.text.push('\n');
                }
                prompt.text.push_str(&text);
            }
            ContentBlock::Image { data, mime_type } => {
                let ending = mime_type.rsplit('/').next().unwrap_or("png");
                prompt.attachments.push(Attachment {
                    id: ids::prefixed("file"),
                    kind: AttachmentKind::Image,
                    file_name: format!("picture-{}.{ending}", prompt.attachments.len() + 1),
                    size: data.len() as u64 / 4 * 3,
                    content: data,
                    mime_type,
                    extracted_text: None,
                });
            }
            ContentBlock::File {
                data,
                mime_type,
                name,
                ..
            } => prompt.attachments.push(Attachment {
                id: ids::prefixed("file"),
                kind: AttachmentKind::Document,
                file_name: name,
                size: data.len() as u64 / 4 * 3,
                content: data,
                mime_type,
                extracted_text: None,
            }),
        }
    }
    prompt
}

/// Adds blank lines between the texts of an answer: other programs show each text as a paragraph,
/// but osier joins them.
pub(super) fn set_apart(content: &mut [AssistantBlock]) {
    let mut has_text_behind = false;
    for block in content.iter_mut().rev() {
        let AssistantBlock::Text { text, .. } = block else {
            continue;
        };
        if has_text_behind && !text.is_empty() && !text.ends_with('\n') {
            text.push_str("\n\n");
        }
        has_text_behind |= !text.is_empty();
    }
}

pub(super) fn usage(value: Option<&Value>) -> Usage {
    let count = |name: &str| {
        let count = value.and_then(|usage| usage.get(name));
        count.and_then(Value::as_u64).unwrap_or(0)
    };
    Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        ..Usage::default()
    }
}
