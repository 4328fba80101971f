//! What an editor sends as a prompt, as text and attachments.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::wire::Fault;
use osier_agent::{Attachment, AttachmentKind};
use osier_base::ids;
use osier_tools::attachment;

/// The blocks of a prompt. Links are named in the text: the agent reads what it needs.
pub(super) fn read(blocks: &Value) -> Result<(String, Vec<Attachment>), Fault> {
    let blocks = blocks
        .as_array()
        .ok_or_else(|| Fault::params("`prompt` has to be a list of blocks"))?;
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for block in blocks {
        let word = |name: &str| block[name].as_str().unwrap_or_default();
        match word("type") {
            "text" => texts.push(word("text").to_owned()),
            "resource_link" => texts.push(place(word("uri")).to_owned()),
            "image" => attachments.push(image(word("data"))?),
            "resource" => {
                let resource = &block["resource"];
                attachments.push(document(resource)?);
            }
            "audio" => {
                let text = "sound is not taken: no model here hears; send what was said as text";
                return Err(Fault::params(text));
            }
            kind => {
                return Err(Fault::params(format!(
                    "blocks of type `{kind}` are not taken"
                )));
            }
        }
    }
    Ok((texts.join("\n"), attachments))
}

/// A file as a path, anything else as its address.
fn place(uri: &str) -> &str {
    uri.strip_prefix("file://").unwrap_or(uri)
}

fn image(data: &str) -> Result<Attachment, Fault> {
    let bytes = STANDARD.decode(data);
    let bytes = bytes.map_err(|error| Fault::params(format!("an image is no base64: {error}")))?;
    of_bytes("image", bytes)
}

fn document(resource: &Value) -> Result<Attachment, Fault> {
    let name = place(resource["uri"].as_str().unwrap_or_default());
    if let Some(text) = resource["text"].as_str() {
        return Ok(Attachment {
            id: ids::prefixed("attachment"),
            kind: AttachmentKind::Document,
            file_name: name.to_owned(),
            mime_type: "text/plain".to_owned(),
            size: text.len() as u64,
            content: String::new(),
            extracted_text: Some(text.to_owned()),
            preview: None,
        });
    }
    let data = resource["blob"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(data);
    let bytes = bytes.map_err(|error| Fault::params(format!("`{name}` is no base64: {error}")))?;
    of_bytes(name, bytes)
}

fn of_bytes(name: &str, bytes: Vec<u8>) -> Result<Attachment, Fault> {
    let attached = attachment::of_bytes(Path::new(name), bytes);
    attached.map_err(|error| Fault::params(error.to_string()))
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
        let (text, attachments) = read(&blocks).unwrap();
        assert_eq!(text, "see\n/work/a.rs");
        assert_eq!(attachments.len(), 1);
        assert_eq!(
            (
                attachments[0].file_name.as_str(),
                attachments[0].extracted_text.as_deref()
            ),
            ("/work/b.rs", Some("fn b() {}"))
        );
        let fault = read(&json!([{"type": "audio", "data": ""}])).unwrap_err();
        assert!(fault.message.starts_with("sound is not taken"), "{fault:?}");
        let fault = read(&json!([{"type": "smell"}])).unwrap_err();
        assert_eq!(fault.message, "blocks of type `smell` are not taken");
        let fault = read(&json!([{"type": "image", "data": "%"}])).unwrap_err();
        assert!(
            fault.message.starts_with("an image is no base64"),
            "{fault:?}"
        );
    }
}
