//! Streams the complete output of a command to a file in the session's output directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use super::output::FullOutput;
use super::output_directory::OutputDirectory;

/// Maximum size of the file.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// A file that is created with the first bytes. A failed write never fails the command.
#[derive(Debug)]
pub(crate) struct Spill {
    directory: Arc<OutputDirectory>,
    file: Option<File>,
    kept: StoredOutput,
}

/// The state of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum StoredOutput {
    #[default]
    Nothing,
    At {
        path: PathBuf,
        bytes: u64,
        /// The end of the output did not fit.
        is_cut: bool,
    },
    Failed(String),
}

impl StoredOutput {
    pub(crate) fn full_output(&self) -> FullOutput<'_> {
        match self {
            Self::Nothing => FullOutput::NotStored,
            Self::At {
                path,
                bytes,
                is_cut,
            } => FullOutput::At {
                path,
                incomplete: is_cut.then_some(*bytes),
            },
            Self::Failed(error) => FullOutput::Failed(error),
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::At { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl Spill {
    pub(crate) fn new(directory: Arc<OutputDirectory>) -> Self {
        Self {
            directory,
            file: None,
            kept: StoredOutput::Nothing,
        }
    }

    pub(crate) fn is_started(&self) -> bool {
        self.kept != StoredOutput::Nothing
    }

    pub(crate) fn kept(&self) -> &StoredOutput {
        &self.kept
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        if let Err(error) = self.try_write(bytes).await {
            self.file = None;
            self.kept = StoredOutput::Failed(error.to_string());
        }
    }

    async fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.kept == StoredOutput::Nothing {
            let path = self.directory.new_path()?;
            let mut options = OpenOptions::new();
            self.file = Some(
                options
                    .create_new(true)
                    .write(true)
                    .mode(0o600)
                    .open(&path)
                    .await?,
            );
            self.kept = StoredOutput::At {
                path,
                bytes: 0,
                is_cut: false,
            };
        }
        if let (
            Some(file),
            StoredOutput::At {
                path,
                bytes: written,
                is_cut,
            },
        ) = (&mut self.file, &mut self.kept)
        {
            let wanted = (MAX_BYTES - *written).min(bytes.len() as u64);
            let room = self.directory.reserve(path, wanted);
            file.write_all(&bytes[..room as usize]).await?;
            *written += room;
            *is_cut |= room < bytes.len() as u64;
        }
        Ok(())
    }

    /// Waits until everything is written.
    pub(crate) async fn end(&mut self) {
        if let Some(mut file) = self.file.take()
            && let Err(error) = file.flush().await
        {
            self.kept = StoredOutput::Failed(error.to_string());
        }
        if let Some(path) = self.kept.path() {
            self.directory.complete(path);
        }
    }

    /// Removes the file when it is not needed.
    pub(crate) async fn discard(&mut self) {
        if let StoredOutput::At { path, .. } = std::mem::take(&mut self.kept) {
            let _ = tokio::fs::remove_file(&path).await;
            self.directory.forget(&path);
        }
    }
}
