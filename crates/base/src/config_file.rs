//! A configuration file for a loader: on disk, or with content that was read before. A file that
//! was checked for trust is loaded from the bytes that were checked, so it cannot change in
//! between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::regular_file::{self, ReadError};

/// A configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    pub path: PathBuf,
    content: Option<Arc<[u8]>>,
}

impl ConfigFile {
    /// A file with known content.
    pub fn with_content(path: &Path, content: Arc<[u8]>) -> Self {
        Self {
            path: path.to_owned(),
            content: Some(content),
        }
    }

    /// Whether the content was read before.
    pub fn is_known(&self) -> bool {
        self.content.is_some()
    }

    /// The text of the file; `None` if the file does not exist. Blocks.
    pub fn text(&self, limit: u64) -> Result<Option<String>, ReadError> {
        let Some(content) = &self.content else {
            return match regular_file::read_text(&self.path, limit) {
                Err(ReadError::Missing) => Ok(None),
                text => text.map(Some),
            };
        };
        if content.len() as u64 > limit {
            return Err(ReadError::TooLarge { limit });
        }
        let text = std::str::from_utf8(content).map_err(|_| ReadError::NotText)?;
        Ok(Some(text.to_owned()))
    }
}

impl From<PathBuf> for ConfigFile {
    /// A file on disk, which is read when it is loaded.
    fn from(path: PathBuf) -> Self {
        Self {
            path,
            content: None,
        }
    }
}
