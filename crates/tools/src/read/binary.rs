//! Files that are no text: PDF, recordings and images.

use std::fs::Metadata;
use std::io::{self, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ReadDetails;
use super::error::ReadError;
use super::{document, image, media, pdf};
use crate::call::to_value;
use crate::files::error::FileError;
use crate::files::ledger::Stamp;
use crate::workspace::Workspace;
use osier_agent::{FileTarget, ToolOutput, ToolStatus};
use osier_base::text::counted;
use osier_llm::ContentBlock;

/// A file that is read.
pub(super) struct BinaryFile<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) target: &'a FileTarget,
    pub(super) metadata: &'a Metadata,
    /// The name for messages.
    pub(super) name: String,
}

impl BinaryFile<'_> {
    /// The bytes, and one more than `limit` if there are more.
    fn bytes(&self, source: impl io::Read, limit: u64) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        match source.take(limit + 1).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(source) => {
                let path = self.name.clone();
                Err(FileError::Io { path, source }.into())
            }
        }
    }

    fn record(&self, stamp: Stamp) {
        self.workspace.ledger.record(self.target, stamp, None);
    }

    fn details(&self, mime_type: &str) -> ReadDetails {
        ReadDetails {
            file_path: self.target.named.display().to_string(),
            mime_type: Some(mime_type.to_owned()),
            ..ReadDetails::default()
        }
    }

    /// `count` pages of a PDF from `first` on.
    pub(super) fn pdf_pages(
        self,
        source: impl io::Read,
        (first, count): (Option<u64>, Option<u64>),
    ) -> Result<ToolOutput, ReadError> {
        let bytes = self.bytes(source, pdf::LIMIT)?;
        let number = |count: Option<u64>| count.and_then(|count| usize::try_from(count).ok());
        let first = number(first).unwrap_or(1).max(1);
        let count = number(count).unwrap_or(pdf::PAGES).max(1);
        let pages = pdf::pages(self.workspace, &bytes, first, count);
        let pages = pages.map_err(|source| ReadError::Pdf {
            path: self.name.clone(),
            source,
        })?;
        self.record(Stamp::of(self.metadata, &bytes));
        let (text, more) = pages.for_model();
        let details = ReadDetails {
            total_lines: pages.total as u64,
            lines_read: pages.texts.len() as u64,
            offset: first as u64,
            truncated: more,
            ..self.details(media::PDF)
        };
        let total = counted(pages.total, "page", "pages");
        let text = format!("[{}: PDF, {total}]\n{text}", self.name);
        let mut output = ToolOutput::success(text, to_value(&details));
        if let Some(data) = pages.document {
            output.content.push(ContentBlock::File {
                data,
                mime_type: media::PDF.to_owned(),
                name: self.name,
                text: String::new(),
            });
        }
        Ok(output)
    }

    /// The text of a document; `None` if the file is another archive.
    pub(super) fn document(&self, source: impl io::Read) -> Result<Option<String>, ReadError> {
        let bytes = self.bytes(source, document::LIMIT)?;
        if bytes.len() as u64 > document::LIMIT {
            return Err(ReadError::LargeDocument {
                path: self.name.clone(),
                size: self.metadata.len(),
            });
        }
        let Some(kind) = document::Kind::of(&bytes) else {
            return Ok(None);
        };
        let text = document::text(kind, &bytes);
        let text = text.map_err(|source| ReadError::Document {
            path: self.name.clone(),
            source,
        })?;
        self.record(Stamp::of(self.metadata, &bytes));
        Ok(Some(text))
    }

    pub(super) fn recording(
        self,
        source: impl io::Read,
        mime_type: &'static str,
    ) -> Result<ToolOutput, ReadError> {
        let bytes = self.bytes(source, media::LIMIT)?;
        if bytes.len() as u64 > media::LIMIT {
            return Err(ReadError::LargeRecording {
                path: self.name,
                size: self.metadata.len(),
            });
        }
        self.record(Stamp::of(self.metadata, &bytes));
        let data = STANDARD.encode(&bytes);
        Ok(ToolOutput {
            content: media::recording(&self.name, mime_type, bytes.len(), data).into(),
            details: to_value(&self.details(mime_type)),
            status: ToolStatus::Success,
        })
    }

    pub(super) fn picture(self, source: impl io::Read) -> Result<ToolOutput, ReadError> {
        let bytes = self.bytes(source, image::FILE_LIMIT)?;
        if bytes.len() as u64 > image::FILE_LIMIT {
            return Err(ReadError::LargeImage {
                path: self.name,
                size: self.metadata.len(),
            });
        }
        let (stamp, size) = (Stamp::of(self.metadata, &bytes), bytes.len());
        let fitted = image::fit(bytes).map_err(|source| ReadError::Image {
            path: self.name.clone(),
            source,
        })?;
        self.record(stamp);
        let description = fitted.description();
        Ok(ToolOutput {
            content: vec![
                ContentBlock::text(format!("[{}: {description}, {size} bytes]", self.name)),
                ContentBlock::Image {
                    data: STANDARD.encode(&fitted.bytes),
                    mime_type: fitted.mime_type.to_owned(),
                },
            ],
            details: to_value(&self.details(fitted.mime_type)),
            status: ToolStatus::Success,
        })
    }
}
