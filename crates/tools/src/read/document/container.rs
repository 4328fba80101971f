//! The archive that a document is.

use std::io::{Cursor, Read as _};

use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

/// Bytes that all read parts unpack to, at most.
pub(super) const UNPACKED: u64 = 64 * 1024 * 1024;
/// Bytes of the text of a document at most.
pub(super) const TEXT: usize = 1024 * 1024;

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    #[error("is damaged: {0}")]
    Damaged(String),
    #[error("unpacks to more than {} MB, the limit for documents", UNPACKED / 1024 / 1024)]
    Large,
}

/// An archive, and how many bytes may still be unpacked.
pub(super) struct Container<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Container<'a> {
    pub(super) fn open(bytes: Cursor<&'a [u8]>) -> Result<Self, DocumentError> {
        let archive = ZipArchive::new(bytes).map_err(|error| damaged(&error))?;
        let left = UNPACKED;
        Ok(Self { archive, left })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// The bytes of a part; `None` if it is missing.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, DocumentError> {
        let file = match self.archive.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(damaged(&error)),
        };
        let mut bytes = Vec::new();
        let read = file.take(self.left + 1).read_to_end(&mut bytes);
        read.map_err(|error| DocumentError::Damaged(error.to_string()))?;
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or(DocumentError::Large)?;
        Ok(Some(bytes))
    }

    /// The bytes of a part that every document of the kind has.
    pub(super) fn needed(&mut self, name: &str) -> Result<Vec<u8>, DocumentError> {
        let part = self.part(name)?;
        part.ok_or_else(|| DocumentError::Damaged(format!("the part `{name}` is missing")))
    }
}

fn damaged(error: &ZipError) -> DocumentError {
    DocumentError::Damaged(error.to_string())
}
