//! Files that are no text: PDF, recordings and images.

use std::fs::Metadata;
use std::io::{self, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::tool::{Arguments, ReadError};
use super::{image, media, pdf};
use crate::call::details::{ReadDetails, to_value};
use crate::files::ledger::{ContentHash, Stamp};
use crate::files::target::FileTarget;
use crate::workspace::Workspace;
use osier_agent::{ToolOutput, ToolStatus};
use osier_base::text::counted;
use osier_llm::ContentBlock;

/// Pages of a PDF from `offset` on.
pub(crate) fn pdf_pages(
    workspace: &Workspace,
    target: &FileTarget,
    metadata: &Metadata,
    source: impl io::Read,
    arguments: &Arguments,
) -> Result<ToolOutput, ReadError> {
    let name = workspace.display(&target.named);
    let mut bytes = Vec::new();
    let read = source.take(pdf::LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|source| ReadError::Io {
        path: name.clone(),
        source,
    })?;
    let number = |count: Option<u64>| count.and_then(|count| usize::try_from(count).ok());
    let first = number(arguments.offset).unwrap_or(1).max(1);
    let count = number(arguments.limit).unwrap_or(pdf::PAGES).max(1);
    let pages = pdf::pages(workspace, &bytes, first, count);
    let pages = pages.map_err(|source| ReadError::Pdf {
        path: name.clone(),
        source,
    })?;
    let mut hash = ContentHash::default();
    hash.update(&bytes);
    workspace
        .ledger
        .record(target, Stamp::hashed(metadata, &hash), None);
    let (text, more) = pages.for_model();
    let details = ReadDetails {
        file_path: target.named.display().to_string(),
        total_lines: pages.total as u64,
        lines_read: pages.texts.len() as u64,
        offset: first as u64,
        truncated: more,
        mime_type: Some("application/pdf".to_owned()),
    };
    let text = format!(
        "[{name}: PDF, {}]\n{text}",
        counted(pages.total, "page", "pages")
    );
    let mut output = ToolOutput::success(text, to_value(&details));
    if let Some(data) = pages.document {
        output.content.push(ContentBlock::File {
            data,
            mime_type: "application/pdf".to_owned(),
            name,
            text: String::new(),
        });
    }
    Ok(output)
}

pub(crate) fn recording(
    workspace: &Workspace,
    target: &FileTarget,
    metadata: &Metadata,
    source: impl io::Read,
    mime_type: &'static str,
) -> Result<ToolOutput, ReadError> {
    let path = workspace.display(&target.named);
    let mut bytes = Vec::new();
    if let Err(source) = source.take(media::LIMIT + 1).read_to_end(&mut bytes) {
        return Err(ReadError::Io { path, source });
    }
    if bytes.len() as u64 > media::LIMIT {
        let size = metadata.len();
        return Err(ReadError::LargeRecording { path, size });
    }
    let mut hash = ContentHash::default();
    hash.update(&bytes);
    workspace
        .ledger
        .record(target, Stamp::hashed(metadata, &hash), None);
    let details = ReadDetails {
        file_path: target.named.display().to_string(),
        mime_type: Some(mime_type.to_owned()),
        ..ReadDetails::default()
    };
    let data = STANDARD.encode(&bytes);
    Ok(ToolOutput {
        content: media::recording(&path, mime_type, bytes.len(), data).into(),
        details: to_value(&details),
        status: ToolStatus::Success,
    })
}

pub(crate) fn picture(
    workspace: &Workspace,
    target: &FileTarget,
    metadata: &Metadata,
    source: impl io::Read,
) -> Result<ToolOutput, ReadError> {
    let name = workspace.display(&target.named);
    let mut bytes = Vec::new();
    let read = source.take(image::FILE_LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|source| ReadError::Io {
        path: name.clone(),
        source,
    })?;
    if bytes.len() as u64 > image::FILE_LIMIT {
        return Err(ReadError::LargeImage {
            path: name,
            size: metadata.len(),
        });
    }
    let mut hash = ContentHash::default();
    hash.update(&bytes);
    let size = bytes.len();
    let fitted = image::fit(bytes).map_err(|source| ReadError::Image {
        path: name.clone(),
        source,
    })?;
    workspace
        .ledger
        .record(target, Stamp::hashed(metadata, &hash), None);
    let details = ReadDetails {
        file_path: target.named.display().to_string(),
        mime_type: Some(fitted.mime_type.to_owned()),
        ..ReadDetails::default()
    };
    let description = fitted.description();
    Ok(ToolOutput {
        content: vec![
            ContentBlock::text(format!("[{name}: {description}, {size} bytes]")),
            ContentBlock::Image {
                data: STANDARD.encode(&fitted.bytes),
                mime_type: fitted.mime_type.to_owned(),
            },
        ],
        details: to_value(&details),
        status: ToolStatus::Success,
    })
}
