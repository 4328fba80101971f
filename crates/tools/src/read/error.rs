//! Why a file is not read.

use std::path::Path;

use osier_base::text::counted;
use thiserror::Error;

use super::document::{self, DocumentError};
use super::image::{self, ImageError};
use super::media;
use super::notebook;
use super::pdf::PdfError;
use crate::files::error::FileError;

/// Why nothing was read. The model receives the message.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "`{path}` is a binary file of {size} bytes; inspect it with bash: `file`, `xxd | head`"
    )]
    Binary { path: String, size: u64 },
    #[error("`{path}` is long UTF-16 text; convert it with bash: `iconv -f UTF-16 -t UTF-8`")]
    Utf16 { path: String },
    #[error(
        "the image `{path}` has {size} bytes, more than the limit of {limit}; scale it down with bash, e.g. `convert {path} -resize 1600x1600 small.png`",
        limit = image::FILE_LIMIT
    )]
    LargeImage { path: String, size: u64 },
    #[error(
        "the recording `{path}` has {size} bytes, more than the limit of {limit}; shorten or compress it with bash, e.g. `ffmpeg -i {path} -ac 1 -b:a 32k short.mp3`",
        limit = media::LIMIT
    )]
    LargeRecording { path: String, size: u64 },
    #[error("the image `{path}` {source}; inspect it with bash: `file`, `xxd | head`")]
    Image { path: String, source: ImageError },
    #[error(
        "offset {offset} is past the end of `{path}`, which has {}",
        counted(total, unit_of(path), &format!("{}s", unit_of(path)))
    )]
    PastEnd {
        path: String,
        offset: u64,
        total: u64,
    },
    #[error("the document `{path}` {source}")]
    Document { path: String, source: DocumentError },
    #[error("the document `{path}` has {size} bytes, more than the limit of {limit}", limit = document::LIMIT)]
    LargeDocument { path: String, size: u64 },
    #[error("`{path}` {source}")]
    Pdf { path: String, source: PdfError },
}

/// The unit of `offset` in a file.
fn unit_of(path: &str) -> &'static str {
    if notebook::is_notebook(Path::new(path)) {
        "cell"
    } else {
        "line"
    }
}
