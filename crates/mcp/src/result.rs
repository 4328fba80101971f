//! The result of a server's tool, for the model and the interface: texts are limited, images are resized, and
//! everything else is stored in a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock as Block, ResourceContents};
use serde_json::{Value, json};

use osier_agent::{ToolOutput, ToolStatus};
use osier_base::text;
use osier_llm::ContentBlock;
use osier_tools::{Workspace, image, media};

/// Maximum number of images per result.
const IMAGE_LIMIT: usize = 10;
/// Maximum number of images and other data per result.
const DATA_LIMIT: usize = 100;
/// Minimum bytes of a text that can be an encoded file.
const ENCODED_LENGTH: usize = 4096;
/// Maximum bytes of structured content for the interface.
const STRUCTURED_LIMIT: usize = 64 * 1024;

/// The texts and images of a server, in order.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub text: String,
    /// Images, recordings and documents.
    pub images: Vec<ContentBlock>,
    /// The number of blocks with data, including those beyond the limit.
    data: usize,
}

impl Parts {
    fn push(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    pub(super) async fn add(&mut self, block: Block, workspace: &Workspace) {
        match block {
            Block::Text(text) => self.push(&text.text),
            Block::Image(image) => self.data(&image.data, &image.mime_type, workspace).await,
            Block::Audio(audio) => self.data(&audio.data, &audio.mime_type, workspace).await,
            Block::Resource(resource) => self.resource(resource.resource, workspace).await,
            Block::ResourceLink(link) => {
                let kind = link.mime_type.map(|kind| format!(", {kind}"));
                let kind = kind.unwrap_or_default();
                self.push(&format!("[resource `{}`: {}{kind}]", link.name, link.uri));
            }
            _ => self.push("[content of an unsupported type]"),
        }
    }

    pub(super) async fn resource(&mut self, resource: ResourceContents, workspace: &Workspace) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.push(&format!("[resource {uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                if self.data < DATA_LIMIT {
                    self.push(&format!("[resource {uri}]"));
                }
                let kind = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                self.data(&blob, &kind, workspace).await;
            }
            _ => {}
        }
    }

    /// Whether the server sent no block that can be used.
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.images.is_empty()
    }

    /// Reports the omitted parts.
    pub(super) fn end(mut self) -> Self {
        let left_out = self.data.saturating_sub(DATA_LIMIT);
        if left_out > 0 {
            let blocks = text::counted(left_out, "block", "blocks");
            self.push(&format!(
                "[{blocks} of data left out: the limit is {DATA_LIMIT}]"
            ));
        }
        self
    }

    async fn data(&mut self, data: &str, mime_type: &str, workspace: &Workspace) {
        self.data += 1;
        if self.data > DATA_LIMIT {
            return;
        }
        let Ok(bytes) = STANDARD.decode(data.trim_ascii()) else {
            self.push(&format!("[{mime_type}: not valid base64]"));
            return;
        };
        let kind = text::single_line(mime_type);
        let mut reason = String::new();
        if image::image_type(&bytes).is_some() && self.images.len() < IMAGE_LIMIT {
            let copy = bytes.clone();
            let fitted = osier_base::task::spawn_blocking(move || image::fit(copy)).await;
            match fitted {
                Ok(Ok(fitted)) => {
                    self.images.push(ContentBlock::Image {
                        data: STANDARD.encode(&fitted.bytes),
                        mime_type: fitted.mime_type.to_owned(),
                    });
                    return;
                }
                Ok(Err(error)) => reason = format!("; the image {error}"),
                Err(_) => {}
            }
        }
        let size = bytes.len();
        let media = media::media_type(&bytes).filter(|_| size as u64 <= media::LIMIT);
        if let Some(mime_type) = media.filter(|_| self.images.len() < IMAGE_LIMIT) {
            self.images.push(ContentBlock::File {
                data: STANDARD.encode(&bytes),
                mime_type: mime_type.to_owned(),
                name: "result".to_owned(),
                // Every model gets the name of the stored file.
                text: String::new(),
            });
        }
        match workspace.store_output(&bytes).await {
            Ok(path) => self.push(&format!(
                "[{kind}, {size} bytes: stored in {}{reason}]",
                path.display()
            )),
            Err(error) => self.push(&format!("[{kind}, {size} bytes: not stored: {error}]")),
        }
    }
}

/// `value` with the encoded files in it stored: a model cannot read base64.
async fn without_data(mut value: Value, workspace: &Workspace) -> Value {
    let mut left = DATA_LIMIT;
    let mut open = vec![&mut value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(values) => open.extend(values.iter_mut()),
            Value::Object(fields) => open.extend(fields.values_mut()),
            Value::String(text) => {
                let Some(bytes) = encoded_file(text) else {
                    continue;
                };
                let size = bytes.len();
                let stored = match left.checked_sub(1) {
                    Some(rest) => {
                        left = rest;
                        let stored = workspace.store_output(&bytes).await;
                        stored.map(|path| path.display().to_string()).ok()
                    }
                    None => None,
                };
                *text = match stored {
                    Some(path) => format!("[{size} bytes: stored in {path}]"),
                    None => format!("[{size} bytes: not stored]"),
                };
            }
            _ => {}
        }
    }
    value
}

/// The file that `text` encodes: a long text of base64, also as a `data:` URL.
fn encoded_file(text: &str) -> Option<Vec<u8>> {
    if text.len() < ENCODED_LENGTH {
        return None;
    }
    let data = match text.strip_prefix("data:") {
        Some(rest) => rest.split_once(";base64,")?.1,
        None => text,
    };
    STANDARD.decode(data.trim_ascii()).ok()
}

/// The output of a call of `tool` of `server`.
pub(super) async fn output(
    result: CallToolResult,
    server: &str,
    tool: &str,
    workspace: &Workspace,
) -> ToolOutput {
    let mut parts = Parts::default();
    for block in result.content {
        parts.add(block, workspace).await;
    }
    let mut parts = parts.end();
    // Most servers send the same content as blocks. This handles servers that do not.
    if let Some(structured) = &result.structured_content
        && parts.is_empty()
    {
        let structured = without_data(structured.clone(), workspace).await;
        parts.push(&serde_json::to_string_pretty(&structured).unwrap_or_default());
    }
    let capped = workspace.cap(&parts.text).await;
    let mut content = Vec::new();
    if !capped.text.is_empty() || parts.images.is_empty() {
        let text = match capped.text.as_str() {
            "" => "(no output)".to_owned(),
            text => text.to_owned(),
        };
        content.push(ContentBlock::text(text));
    }
    content.extend(parts.images);
    let status = if result.is_error == Some(true) {
        let message = text::single_line(text::head_bytes(&capped.text, 200));
        ToolStatus::ExecutionError { message }
    } else {
        ToolStatus::Success
    };
    let structured = result.structured_content.filter(|structured| {
        serde_json::to_string(structured).is_ok_and(|json| json.len() <= STRUCTURED_LIMIT)
    });
    let mut details = json!({
        "server": server,
        "tool": tool,
        "truncated": capped.truncated,
        "fullOutputPath": capped.path,
    });
    if let (Some(structured), Value::Object(fields)) = (structured, &mut details) {
        fields.insert("structuredContent".to_owned(), structured);
    }
    ToolOutput {
        content,
        details,
        status,
    }
}

#[cfg(test)]
mod tests {
    use ::image as image_crate;

    use super::*;

    async fn shown(result: Value) -> ToolOutput {
        let workspace = Workspace::new("/");
        let result = serde_json::from_value(result).unwrap();
        output(result, "s", "t", &workspace).await
    }

    #[tokio::test]
    async fn texts_links_and_structured_content_are_reported() {
        let output = shown(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "resource_link", "uri": "a://b", "name": "b", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "c://d", "text": "two"}},
        ], "structuredContent": {"n": 1}}))
        .await;
        let expected = "one\n[resource `b`: a://b, text/plain]\n[resource c://d]\ntwo";
        assert_eq!(output.content, [ContentBlock::text(expected)]);
        assert_eq!(output.details["structuredContent"], json!({"n": 1}));
        assert_eq!(output.status, ToolStatus::Success);
        let output = shown(json!({"content": [], "structuredContent": {"n": 1}})).await;
        assert_eq!(output.content, [ContentBlock::text("{\n  \"n\": 1\n}")]);
        let output =
            shown(json!({"content": [{"type": "text", "text": "no\nway"}], "isError": true}));
        let message = "no⏎way".to_owned();
        assert_eq!(output.await.status, ToolStatus::ExecutionError { message });
    }

    #[tokio::test]
    async fn structured_content_beside_an_image_is_not_sent() {
        let mut png = std::io::Cursor::new(Vec::new());
        // The image is noise, which cannot be compressed.
        let noise = |x: u32, y: u32| {
            (x * 7919 + y * 104_729)
                .wrapping_mul(2_654_435_761)
                .to_be_bytes()
        };
        let pixel = |x, y| image_crate::Rgb([noise(x, y)[0], noise(y, x)[1], noise(x, x + y)[0]]);
        image_crate::RgbImage::from_fn(90, 90, pixel)
            .write_to(&mut png, image_crate::ImageFormat::Png)
            .unwrap();
        let data = STANDARD.encode(png.into_inner());
        let picture = json!({"type": "image", "data": data, "mimeType": "image/png"});
        let structured = json!({"image": data, "width": 90});
        let output =
            shown(json!({"content": [picture], "structuredContent": structured.clone()})).await;
        assert!(
            matches!(output.content.as_slice(), [ContentBlock::Image { .. }]),
            "{:?}",
            output.content
        );
        // If the model gets no block, the file is stored and named.
        let workspace = Workspace::new("/");
        let result = json!({"content": [], "structuredContent": structured});
        let result = serde_json::from_value(result).unwrap();
        let output = super::output(result, "s", "t", &workspace).await;
        let text = output.content[0].as_text().unwrap();
        assert!(text.contains("\"width\": 90"), "{text}");
        assert!(
            text.contains(" bytes: stored in ") && text.len() < 300,
            "{text}"
        );
        let path = text.split("stored in ").nth(1).unwrap();
        let path = path.split(']').next().unwrap();
        assert_eq!(STANDARD.encode(std::fs::read(path).unwrap()), data);
    }

    #[test]
    fn only_long_base64_is_an_encoded_file() {
        let long = STANDARD.encode([7; 6000]);
        assert_eq!(encoded_file(&long).unwrap(), [7; 6000]);
        let url = format!("data:image/png;base64,{long}");
        assert_eq!(encoded_file(&url).unwrap(), [7; 6000]);
        for text in ["aGVsbG8=", &"word ".repeat(2000), &format!("{long}."), ""] {
            assert_eq!(encoded_file(text), None, "{text}");
        }
    }

    #[tokio::test]
    async fn long_texts_and_other_data_are_stored_in_files() {
        let workspace = Workspace::new("/");
        let long = "line\n".repeat(100_000);
        let result = serde_json::from_value(json!({"content": [{"type": "text", "text": long}]}));
        let output = output(result.unwrap(), "s", "t", &workspace).await;
        let text = output.content[0].as_text().unwrap();
        assert!(
            text.len() < 60_000 && text.contains("omitted"),
            "{}",
            text.len()
        );
        let path = output.details["fullOutputPath"].as_str().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), long);

        let mut parts = Parts::default();
        let audio = json!({"type": "audio", "data": "AAEC", "mimeType": "audio/wav"});
        parts
            .add(serde_json::from_value(audio).unwrap(), &workspace)
            .await;
        let path = parts
            .text
            .split("stored in ")
            .nth(1)
            .unwrap()
            .trim_end_matches(']');
        assert_eq!(std::fs::read(path).unwrap(), [0, 1, 2]);
        assert_eq!(parts.images, []);
        let broken = json!({"type": "image", "data": "!", "mimeType": "image/png"});
        parts
            .add(serde_json::from_value(broken).unwrap(), &workspace)
            .await;
        assert!(parts.text.ends_with("[image/png: not valid base64]"));
    }

    #[tokio::test]
    async fn recordings_are_stored_and_passed_on() {
        let workspace = Workspace::new("/");
        let mut parts = Parts::default();
        let audio = json!({"type": "audio", "data": "UklGRgQAAABXQVZF", "mimeType": "audio/wav"});
        parts
            .add(serde_json::from_value(audio).unwrap(), &workspace)
            .await;
        let expected = ContentBlock::File {
            data: "UklGRgQAAABXQVZF".to_owned(),
            mime_type: "audio/wav".to_owned(),
            name: "result".to_owned(),
            text: String::new(),
        };
        assert_eq!(parts.images, [expected]);
        let start = "[audio/wav, 12 bytes: stored in ";
        assert!(parts.text.starts_with(start), "{}", parts.text);
    }

    #[tokio::test]
    async fn data_beyond_the_limit_is_left_out() {
        let audio = json!({"type": "audio", "data": "AAEC", "mimeType": "audio/wav"});
        let blob = json!({"type": "resource", "resource": {"uri": "a://b", "blob": "AAEC"}});
        let mut blocks = vec![audio; 10_000];
        blocks.extend(vec![blob; 10_000]);
        blocks.push(json!({"type": "text", "text": "the end"}));
        let output = shown(json!({"content": blocks})).await;
        let text = output.content[0].as_text().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let stored = |line: &&&str| line.starts_with("[audio/wav, 3 bytes: stored in ");
        assert_eq!(lines.iter().filter(stored).count(), 100, "{text}");
        let rest = [
            "the end",
            "[19900 blocks of data left out: the limit is 100]",
        ];
        assert_eq!(lines[100..], rest);
    }

    #[tokio::test]
    async fn an_image_with_too_many_pixels_is_stored_with_the_reason() {
        let mut pixels = image_crate::RgbImage::new(1, 1);
        let mut png = std::io::Cursor::new(Vec::new());
        pixels.put_pixel(0, 0, image_crate::Rgb([1, 2, 3]));
        pixels
            .write_to(&mut png, image_crate::ImageFormat::Png)
            .unwrap();
        let mut png = png.into_inner();
        // Width and height in the header, and its checksum.
        let side = 11_000_u32.to_be_bytes();
        png[16..24].copy_from_slice(&[side, side].concat());
        let checksum = crc32fast::hash(&png[12..29]);
        png[29..33].copy_from_slice(&checksum.to_be_bytes());
        let picture =
            json!({"type": "image", "data": STANDARD.encode(&png), "mimeType": "image/png"});
        let output = shown(json!({"content": [picture]})).await;
        let text = output.content[0].as_text().unwrap();
        let reason = "; the image is too large: 11000x11000 pixels need 347 MiB of memory, and the limit is 256 MiB]";
        assert!(text.ends_with(reason), "{text}");
    }
}
