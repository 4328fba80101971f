//! Limits texts of other tools the way `bash` limits output: the model gets the start and the end, and a file
//! contains all of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::output::Capture;
use super::output_directory::OutputDirectory;
use super::output_file::{Spill, StoredOutput};

/// A text limited for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capped {
    pub text: String,
    pub truncated: bool,
    /// The file with the complete text, when it was cut.
    pub path: Option<PathBuf>,
}

/// Limits `text`.
pub(crate) async fn cap(outputs: &Arc<OutputDirectory>, text: &str) -> Capped {
    let mut capture = Capture::new(outputs.limits());
    capture.push(text.as_bytes());
    let mut spill = Spill::new(Arc::clone(outputs));
    if capture.exceeds_model() {
        spill.write(text.as_bytes()).await;
        spill.end().await;
    }
    let shown = capture.since(0).for_model(&spill.kept().full_output());
    Capped {
        text: shown.text,
        truncated: shown.truncated,
        path: spill.kept().path().map(Path::to_owned),
    }
}

/// Stores `bytes` in a file of the session. Returns its path, or an error message.
pub(crate) async fn store(outputs: &Arc<OutputDirectory>, bytes: &[u8]) -> Result<PathBuf, String> {
    let mut spill = Spill::new(Arc::clone(outputs));
    spill.write(bytes).await;
    spill.end().await;
    match spill.kept() {
        StoredOutput::Failed(error) => Err(error.clone()),
        kept => Ok(kept.path().unwrap_or(Path::new("")).to_owned()),
    }
}
