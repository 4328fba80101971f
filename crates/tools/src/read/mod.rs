//! Reading for models: text with line numbers, images, recordings, PDF files, documents, notebooks, and pages of the web.

mod again;
pub mod attachment;
mod binary;
pub(crate) mod document;
mod error;
pub mod illustration;
pub mod image;
pub mod media;
pub(crate) mod notebook;
pub mod pdf;
pub(crate) mod tool;
pub(crate) mod web_fetch;

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadDetails {
    /// Absolute path.
    pub(crate) file_path: String,
    pub(crate) total_lines: u64,
    pub(crate) lines_read: u64,
    /// First line read, from 1.
    pub(crate) offset: u64,
    /// More lines follow, or a line was cut.
    pub(crate) truncated: bool,
    /// Set when the file is an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mime_type: Option<String>,
}
