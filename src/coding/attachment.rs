//! Files given along with a prompt: images as they are, text as text, and a clear word for the rest.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::agent::{Attachment, AttachmentKind};
use crate::base::ids;

/// Largest image that is sent, in bytes: the smallest limit of the big vendors.
pub const IMAGE_LIMIT: u64 = 5 * 1024 * 1024;
/// Largest text that is sent, in bytes.
pub const TEXT_LIMIT: u64 = 1024 * 1024;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("`{}` is a directory: name a file in it, or let the agent look", path.display())]
    Directory { path: PathBuf },
    #[error("`{}` has {size} bytes and the limit is {limit}: let the agent read the part that matters", path.display())]
    TooLarge {
        path: PathBuf,
        size: u64,
        limit: u64,
    },
    #[error("`{}` is neither text nor a png, jpeg, gif or webp image", path.display())]
    Unsupported { path: PathBuf },
}

/// Reads the file at `path`.
pub fn load(path: &Path) -> Result<Attachment, AttachError> {
    let unreadable = |source| AttachError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(AttachError::Directory {
            path: path.to_owned(),
        });
    }
    let size = metadata.len();
    if size > IMAGE_LIMIT {
        return Err(AttachError::TooLarge {
            path: path.to_owned(),
            size,
            limit: IMAGE_LIMIT,
        });
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
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
        preview: None,
    };
    if let Some(mime_type) = image_type(&bytes) {
        return Ok(Attachment {
            kind: AttachmentKind::Image,
            mime_type: mime_type.to_owned(),
            content: STANDARD.encode(&bytes),
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
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Attachment {
            extracted_text: Some(text),
            ..base
        }),
        _ => Err(AttachError::Unsupported {
            path: path.to_owned(),
        }),
    }
}

/// The image type that the first bytes of a file show.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_known_by_content_not_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::File::create(&path)
                .and_then(|mut file| std::io::Write::write_all(&mut file, bytes))
                .unwrap();
            path
        };
        let image = load(&file("a.txt", b"\x89PNG\r\n\x1a\nrest")).unwrap();
        assert_eq!(
            (image.kind, image.mime_type.as_str()),
            (AttachmentKind::Image, "image/png")
        );
        let text = load(&file("b.png", b"hello")).unwrap();
        assert_eq!(
            (text.kind, text.extracted_text.as_deref()),
            (AttachmentKind::Document, Some("hello"))
        );
        assert!(matches!(
            load(&file("c", b"\x00\x01")),
            Err(AttachError::Unsupported { .. })
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
