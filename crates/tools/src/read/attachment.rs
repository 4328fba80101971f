//! Files attached to a prompt: images are resized, text and documents are sent as text, recordings and PDF files as they
//! are, everything else is an error. A PDF has its text for models that do not accept PDF files.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::document::{self, DocumentError};
use super::image;
use super::image::ImageError;
use super::media;
use super::pdf::{self, PdfPages};
use crate::files::encoding::decode;
use crate::workspace::Workspace;
use osier_agent::{Attachment, AttachmentKind};
use osier_base::{ids, without_links};

/// Maximum size of a text, in bytes.
pub const TEXT_LIMIT: u64 = 1024 * 1024;

/// The type of the text of a document.
const DOCUMENT_TEXT: &str = "text/markdown";

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("`{}` is a directory: attach a file in it, or let the agent list it", path.display())]
    Directory { path: PathBuf },
    #[error("`{}` is not a regular file: attach a text file or an image", path.display())]
    NotRegular { path: PathBuf },
    #[error("`{}` has {size} bytes, and the limit is {limit}: let the agent read the relevant part", path.display())]
    TooLarge {
        path: PathBuf,
        size: u64,
        limit: u64,
    },
    #[error("`{}` {source}: try another file", path.display())]
    Image { path: PathBuf, source: ImageError },
    #[error("`{}` {source}: try another file", path.display())]
    Document {
        path: PathBuf,
        source: DocumentError,
    },
    #[error("`{}` is neither text, a PDF, a document of Word, PowerPoint, Excel or OpenDocument, a recording nor a png, jpeg, gif or webp image", path.display())]
    Unsupported { path: PathBuf },
}

/// Reads the file at `path`.
pub fn load(path: &Path) -> Result<Attachment, AttachError> {
    let unreadable = |source| AttachError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let real = path.canonicalize().map_err(unreadable)?;
    let metadata = std::fs::symlink_metadata(&real).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(AttachError::Directory {
            path: path.to_owned(),
        });
    }
    // Reading a pipe or a device could block or never end.
    if !metadata.is_file() {
        return Err(AttachError::NotRegular {
            path: path.to_owned(),
        });
    }
    let size = metadata.len();
    if size > image::FILE_LIMIT {
        return Err(AttachError::TooLarge {
            path: path.to_owned(),
            size,
            limit: image::FILE_LIMIT,
        });
    }
    let file = without_links::open(&real).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let read = file.take(image::FILE_LIMIT).read_to_end(&mut bytes);
    read.map_err(unreadable)?;
    of_bytes(path, bytes)
}

/// The file at `path`, whose content was already read.
pub fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Attachment, AttachError> {
    let size = bytes.len() as u64;
    let file_name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    let base = Attachment {
        id: ids::prefixed("attachment"),
        kind: AttachmentKind::Document,
        file_name,
        mime_type: "text/plain".to_owned(),
        size,
        content: String::new(),
        extracted_text: None,
    };
    if image::image_type(&bytes).is_some() {
        let fitted = image::fit(bytes).map_err(|source| AttachError::Image {
            path: path.to_owned(),
            source,
        })?;
        return Ok(Attachment {
            kind: AttachmentKind::Image,
            mime_type: fitted.mime_type.to_owned(),
            size: fitted.bytes.len() as u64,
            content: STANDARD.encode(&fitted.bytes),
            ..base
        });
    }
    if let Some(mime_type) = media::media_type(&bytes) {
        if size > media::LIMIT {
            return Err(AttachError::TooLarge {
                path: path.to_owned(),
                size,
                limit: media::LIMIT,
            });
        }
        return Ok(Attachment {
            mime_type: mime_type.to_owned(),
            content: STANDARD.encode(&bytes),
            ..base
        });
    }
    if let Some(kind) = document::Kind::of(&bytes) {
        if size > document::LIMIT {
            return Err(AttachError::TooLarge {
                path: path.to_owned(),
                size,
                limit: document::LIMIT,
            });
        }
        let text = document::text(kind, &bytes).map_err(|source| AttachError::Document {
            path: path.to_owned(),
            source,
        })?;
        return Ok(Attachment {
            mime_type: DOCUMENT_TEXT.to_owned(),
            extracted_text: Some(text),
            ..base
        });
    }
    if size > TEXT_LIMIT {
        return Err(AttachError::TooLarge {
            path: path.to_owned(),
            size,
            limit: TEXT_LIMIT,
        });
    }
    match decode(&bytes) {
        Some(decoded) if !decoded.text.contains('\0') => Ok(Attachment {
            extracted_text: Some(decoded.text.into_owned()),
            ..base
        }),
        _ => Err(AttachError::Unsupported {
            path: path.to_owned(),
        }),
    }
}

/// Adds the text of PDF files, and replaces other documents by their text. Every attachment of a prompt comes through here,
/// whatever client sent it.
pub async fn add_texts(workspace: &Workspace, attachments: &mut [Attachment]) {
    for attachment in attachments {
        if attachment.kind != AttachmentKind::Document || attachment.extracted_text.is_some() {
            continue;
        }
        let Ok(bytes) = STANDARD.decode(&attachment.content) else {
            continue;
        };
        if bytes.is_empty() {
            continue;
        }
        if pdf::is_pdf(&bytes) {
            let read = pdf::read(workspace, &bytes, 1, pdf::PAGES).await;
            let text = match read {
                Ok(pages) => pdf_text(&pages),
                Err(error) => format!("[the file {error}]"),
            };
            attachment.extracted_text = Some(text);
        } else if media::media_type(&bytes).is_none() {
            let name = PathBuf::from(&attachment.file_name);
            let read = osier_base::task::spawn_blocking(move || of_bytes(&name, bytes)).await;
            let problem = match read {
                Ok(Ok(read)) => {
                    let (id, file_name) = (attachment.id.clone(), attachment.file_name.clone());
                    *attachment = Attachment {
                        id,
                        file_name,
                        ..read
                    };
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            };
            attachment.content.clear();
            attachment.extracted_text = Some(format!("[{problem}]"));
        }
    }
}

/// The text of a PDF as part of a prompt, which has no next page.
fn pdf_text(pages: &PdfPages) -> String {
    let mut text = pages.texts_for_model();
    let read = pages.texts.len();
    if let Some(problem) = &pages.problem {
        let _ = writeln!(text, "[page {} cannot be read: {problem}]", read + 1);
    } else if read < pages.total {
        let _ = writeln!(
            text,
            "[the first {read} of {} pages; let `read` show the others]",
            pages.total
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grey PNG of one pixel.
    const ONE_PIXEL: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\x9cc\xa8\x07\x00\x00\x81\x00\x80\xd3\x94SJ\x00\x00\x00\x00IEND\xaeB`\x82";

    #[test]
    fn kind_is_detected_from_content_not_from_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::File::create(&path)
                .and_then(|mut file| std::io::Write::write_all(&mut file, bytes))
                .unwrap();
            path
        };
        let image = load(&file("a.txt", ONE_PIXEL)).unwrap();
        assert_eq!(
            (image.kind, image.mime_type.as_str()),
            (AttachmentKind::Image, "image/png")
        );
        let text = load(&file("b.png", b"hello")).unwrap();
        assert_eq!(
            (text.kind, text.extracted_text.as_deref()),
            (AttachmentKind::Document, Some("hello"))
        );
        let latin = load(&file("latin.txt", b"caf\xe9")).unwrap();
        assert_eq!(latin.extracted_text.as_deref(), Some("café"));
        let recording = load(&file("a.png", b"RIFF\x04\0\0\0WAVE")).unwrap();
        assert_eq!(
            (
                recording.kind,
                recording.mime_type.as_str(),
                recording.content.as_str(),
                recording.extracted_text
            ),
            (
                AttachmentKind::Document,
                "audio/wav",
                "UklGRgQAAABXQVZF",
                None
            )
        );
        let large = file("large.pdf", b"%PDF-1.7");
        let opened = std::fs::File::options().write(true).open(&large).unwrap();
        opened.set_len(media::LIMIT + 1).unwrap();
        assert!(matches!(
            load(&large),
            Err(AttachError::TooLarge {
                limit: media::LIMIT,
                ..
            })
        ));
        assert!(matches!(
            load(&file("c", b"\x00\x01")),
            Err(AttachError::Unsupported { .. })
        ));
        assert!(matches!(
            load(&file("torn.png", &ONE_PIXEL[..40])),
            Err(AttachError::Image { .. })
        ));
        assert!(matches!(
            load(folder.path()),
            Err(AttachError::Directory { .. })
        ));
        assert!(matches!(
            load(&folder.path().join("none")),
            Err(AttachError::Unreadable { .. })
        ));
    }
}
