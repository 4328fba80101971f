//! Converts the content blocks of a prompt to text and attachments.

use std::path::Path;

use agent_client_protocol_schema::v1 as acp;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::jsonrpc::invalid_params;
use osier_agent::{Attachment, AttachmentKind};
use osier_base::{ids, percent};
use osier_session::SessionSetup;
use osier_tools::attachment;

/// The text and the attachments of a prompt. A link becomes its path or URL in the text; the model reads it.
pub(super) fn convert(blocks: Vec<acp::ContentBlock>) -> acp::Result<(String, Vec<Attachment>)> {
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            acp::ContentBlock::Text(text) => texts.push(text.text),
            acp::ContentBlock::ResourceLink(link) => texts.push(path_or_url(&link.uri)),
            acp::ContentBlock::Image(image) => attachments.push(binary("image", &image.data)?),
            acp::ContentBlock::Resource(embedded) => attachments.push(resource(embedded.resource)?),
            acp::ContentBlock::Audio(audio) => attachments.push(recording(&audio)?),
            _ => return Err(invalid_params("unsupported type of content block")),
        }
    }
    Ok((texts.join("\n"), attachments))
}

/// Replaces osier's own system prompt, or adds to it.
pub(super) fn add_system_prompt(
    setup: &mut SessionSetup,
    prompt: acp::SystemPrompt,
) -> acp::Result<()> {
    let mut texts = Vec::new();
    for block in prompt.content {
        let acp::ContentBlock::Text(text) = block else {
            return Err(invalid_params("`systemPrompt` can only contain text"));
        };
        texts.push(text.text);
    }
    let text = texts.join("\n");
    if text.trim().is_empty() {
        return Err(invalid_params("`systemPrompt` is empty"));
    }
    match prompt.mode {
        acp::SystemPromptMode::Append => {
            let mut parts: Vec<String> = setup.append_system_prompt.take().into_iter().collect();
            parts.push(text);
            setup.append_system_prompt = Some(parts.join("\n\n"));
        }
        acp::SystemPromptMode::Override => setup.system_prompt = Some(text),
        _ => {
            let text = "unknown mode of `systemPrompt`; expected `append` or `override`";
            return Err(invalid_params(text));
        }
    }
    Ok(())
}

/// Adds the required fields of content blocks that osier does not use and some editors omit.
pub(super) fn complete(mut params: Value) -> Value {
    let blocks = params.get_mut("prompt").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        let (fields, names): (_, &[&str]) = match block["type"].as_str() {
            Some("text") => (Some(block), &["text"]),
            Some("image" | "audio") => (Some(block), &["data", "mimeType"]),
            Some("resource_link") => (Some(block), &["uri", "name"]),
            Some("resource") => (block.get_mut("resource"), &["uri"]),
            _ => (None, &[]),
        };
        if let Some(fields) = fields.and_then(Value::as_object_mut) {
            for name in names {
                fields.entry(*name).or_insert_with(|| "".into());
            }
        }
    }
    params
}

/// The path of a file URI, with the lines that its fragment selects (`#L3:9`), or the URL.
fn path_or_url(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    let (path, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    // Editors append a symbol or a version as a query.
    let path = path.split('?').next().unwrap_or(path);
    let path = percent::decoded(path.strip_prefix("localhost").unwrap_or(path));
    let lines = fragment.strip_prefix('L').unwrap_or_default();
    let (first, last) = lines.split_once(':').unwrap_or((lines, ""));
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let last = last.strip_prefix('L').unwrap_or(last);
    match (is_number(first), is_number(last)) {
        (true, true) => format!("{path}:{first}-{last}"),
        (true, false) => format!("{path}:{first}"),
        _ => path,
    }
}

fn resource(resource: acp::EmbeddedResourceResource) -> acp::Result<Attachment> {
    match resource {
        acp::EmbeddedResourceResource::TextResourceContents(resource) => Ok(Attachment {
            id: ids::prefixed("attachment"),
            kind: AttachmentKind::Document,
            file_name: path_or_url(&resource.uri),
            mime_type: "text/plain".to_owned(),
            size: resource.text.len() as u64,
            content: String::new(),
            extracted_text: Some(resource.text),
        }),
        acp::EmbeddedResourceResource::BlobResourceContents(resource) => {
            binary(&path_or_url(&resource.uri), &resource.blob)
        }
        _ => Err(invalid_params("unsupported type of embedded resource")),
    }
}

/// The type follows from the content, as for all files.
fn recording(audio: &acp::AudioContent) -> acp::Result<Attachment> {
    let attachment = binary("recording", &audio.data)?;
    if !attachment.mime_type.starts_with("audio/") {
        let message = "`recording` is not a wav, mp3, flac, ogg, aac, aiff or m4a file";
        return Err(invalid_params(message));
    }
    Ok(attachment)
}

fn binary(name: &str, data: &str) -> acp::Result<Attachment> {
    let bytes = STANDARD
        .decode(data)
        .map_err(|cause| invalid_params(format!("`{name}` is not valid base64: {cause}")))?;
    attachment::of_bytes(Path::new(name), bytes).map_err(|cause| invalid_params(cause.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_become_text_and_attachments() {
        let blocks = json!([
            {"type": "text", "text": "see"},
            {"type": "resource_link", "uri": "file:///work/a.rs", "name": "a.rs"},
            {"type": "resource", "resource": {"uri": "file:///work/b.rs", "text": "fn b() {}"}},
        ]);
        let blocks = serde_json::from_value(blocks).unwrap();
        let (text, mut attachments) = convert(blocks).unwrap();
        assert_eq!(text, "see\n/work/a.rs");
        for attachment in &mut attachments {
            "id".clone_into(&mut attachment.id);
        }
        let document = Attachment {
            id: "id".to_owned(),
            kind: AttachmentKind::Document,
            file_name: "/work/b.rs".to_owned(),
            mime_type: "text/plain".to_owned(),
            size: 9,
            content: String::new(),
            extracted_text: Some("fn b() {}".to_owned()),
        };
        assert_eq!(attachments, [document]);
    }

    #[test]
    fn uris_of_files_become_paths_and_lines() {
        for (uri, expected) in [
            ("file:///work/src%20file.txt", "/work/src file.txt"),
            ("file:///work/n%C3%A4me.txt#L3:9", "/work/näme.txt:3-9"),
            ("file:///work/a.rs#L3", "/work/a.rs:3"),
            ("file:///work/a.rs?symbol=f#L10:L20", "/work/a.rs:10-20"),
            ("file://localhost/work/a%23b.rs#other", "/work/a#b.rs"),
            (
                "https://example.org/a%20b#L3",
                "https://example.org/a%20b#L3",
            ),
        ] {
            assert_eq!(path_or_url(uri), expected);
        }
    }

    #[test]
    fn fields_without_use_may_be_missing() {
        let short = json!({"prompt": [
            {"type": "text"},
            {"type": "image", "data": "aa"},
            {"type": "resource_link", "uri": "a"},
            {"type": "resource", "resource": {"text": "b"}},
            "no object",
        ]});
        let whole = json!({"prompt": [
            {"type": "text", "text": ""},
            {"type": "image", "data": "aa", "mimeType": ""},
            {"type": "resource_link", "uri": "a", "name": ""},
            {"type": "resource", "resource": {"text": "b", "uri": ""}},
            "no object",
        ]});
        assert_eq!(complete(short), whole);
        assert_eq!(complete(json!("no object")), json!("no object"));
    }

    #[test]
    fn recordings_are_attached_and_other_data_is_rejected() {
        let audio = |data: &str| {
            let audio = acp::AudioContent::new(data, "audio/wav");
            convert(vec![acp::ContentBlock::Audio(audio)])
        };
        let (_, attachments) = audio("UklGRgQAAABXQVZF").unwrap();
        let found = (&attachments[0].file_name, &attachments[0].mime_type);
        assert_eq!(found, (&"recording".to_owned(), &"audio/wav".to_owned()));
        let text = "`recording` is not a wav, mp3, flac, ogg, aac, aiff or m4a file";
        assert_eq!(audio("aGVsbG8=").unwrap_err(), invalid_params(text));
        assert_eq!(audio("").unwrap_err(), invalid_params(text));
        let image = acp::ContentBlock::Image(acp::ImageContent::new("%", "image/png"));
        let error = convert(vec![image]).unwrap_err();
        let text = "`image` is not valid base64: Invalid symbol 37, offset 0.";
        assert_eq!(error, invalid_params(text));
    }
}
