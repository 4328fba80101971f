//! A notebook for a model: the cells with their ids, and their outputs. Images are sent as images.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::parse::{MultilineText, Notebook};
use crate::read::image::{self, Fitted};
use osier_base::text::{head_bytes, sanitize, tail_bytes};

/// Bytes of one output, of all cells of a call, and number of its images.
const OUTPUT: usize = 8 * 1024;
const TOTAL: usize = 100 * 1024;
const IMAGES: usize = 8;

/// The types of images that models accept.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Cells for a model.
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) images: Vec<Fitted>,
    /// Cells that were rendered.
    pub(crate) shown: usize,
}

#[derive(Deserialize)]
#[serde(tag = "output_type", rename_all = "snake_case")]
enum Output {
    Stream {
        text: MultilineText,
    },
    #[serde(alias = "execute_result")]
    DisplayData {
        #[serde(default)]
        data: BTreeMap<String, Value>,
    },
    Error {
        #[serde(default)]
        ename: String,
        #[serde(default)]
        evalue: String,
        #[serde(default)]
        traceback: Vec<String>,
    },
    #[serde(other)]
    Other,
}

/// Renders at most `limit` cells from the cell `first`, counted from 0.
pub(crate) fn render(notebook: &Notebook<'_>, first: usize, limit: usize) -> Rendered {
    let mut rendered = Rendered {
        text: String::new(),
        images: Vec::new(),
        shown: 0,
    };
    for cell in notebook.cells.iter().skip(first).take(limit) {
        let mut text = String::new();
        let kind = match &*cell.kind {
            "code" => String::new(),
            other => format!(" type=\"{}\"", sanitize(other)),
        };
        let id = sanitize(&cell.id);
        let source = cell.source.strip_suffix('\n').unwrap_or(&cell.source);
        let _ = writeln!(text, "<cell id=\"{id}\"{kind}>\n{source}\n</cell>");
        let outputs = cell.outputs.map(serde_json::value::RawValue::get);
        let outputs: Vec<Output> = outputs
            .and_then(|outputs| serde_json::from_str(outputs).ok())
            .unwrap_or_default();
        let before = rendered.images.len();
        for output in outputs {
            let shown = rendered.output(output);
            if !shown.trim().is_empty() {
                let _ = writeln!(text, "<output>\n{}\n</output>", shown.trim_end());
            }
        }
        if rendered.shown > 0 && rendered.text.len() + text.len() > TOTAL {
            rendered.images.truncate(before);
            break;
        }
        rendered.text.push_str(&text);
        rendered.shown += 1;
    }
    rendered
}

impl Rendered {
    /// The text of an output. Its image is added to the images.
    fn output(&mut self, output: Output) -> String {
        let text = match output {
            Output::Stream { text } => text.into_text(),
            Output::Error {
                ename,
                evalue,
                traceback,
            } => {
                if traceback.is_empty() {
                    format!("{ename}: {evalue}")
                } else {
                    traceback.join("\n")
                }
            }
            Output::DisplayData { data } => self.display(data),
            Output::Other => return String::new(),
        };
        let text = sanitize(&text);
        if text.len() <= OUTPUT {
            return text.into_owned();
        }
        let (head, tail) = (head_bytes(&text, OUTPUT / 2), tail_bytes(&text, OUTPUT / 2));
        let left = text.len() - head.len() - tail.len();
        format!("{head}\n[{left} bytes omitted]\n{tail}")
    }

    /// The image of an output with a text for its place, otherwise its text.
    fn display(&mut self, mut data: BTreeMap<String, Value>) -> String {
        for kind in IMAGE_TYPES {
            let Some(encoded) = data.remove(kind).and_then(text_of) else {
                continue;
            };
            if self.images.len() >= IMAGES {
                return format!("[image omitted: at most {IMAGES} images a call]");
            }
            let encoded: String = encoded.split_whitespace().collect();
            let decoded = STANDARD.decode(encoded).ok();
            return match decoded.map(image::fit) {
                Some(Ok(fitted)) => {
                    let description = fitted.description();
                    self.images.push(fitted);
                    format!("[image {}: {description}]", self.images.len())
                }
                Some(Err(error)) => format!("[an image that {error}]"),
                None => "[an image that is damaged]".to_owned(),
            };
        }
        for kind in [
            "text/markdown",
            "text/plain",
            "text/html",
            "application/json",
        ] {
            if let Some(text) = data.remove(kind).and_then(text_of) {
                return text;
            }
        }
        let kinds: Vec<&str> = data.keys().map(String::as_str).collect();
        format!("[{}]", kinds.join(", "))
    }
}

/// A text of an output; JSON as it is.
fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(lines) => lines
            .into_iter()
            .map(|line| line.as_str().map(str::to_owned))
            .collect(),
        other => Some(other.to_string()),
    }
}
