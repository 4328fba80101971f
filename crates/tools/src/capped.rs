//! Texts that other tools give, bounded the way a command's output is: its start and its end for the
//! model, the whole in a file.

use std::path::{Path, PathBuf};

use super::output::Capture;
use super::spill::Spill;
use super::workspace::Workspace;

/// What a model gets of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capped {
    pub text: String,
    pub truncated: bool,
    /// Where the whole is, when it was cut.
    pub path: Option<PathBuf>,
}

/// Bounds `text`.
pub async fn cap(workspace: &Workspace, text: &str) -> Capped {
    let mut capture = Capture::default();
    capture.push(text.as_bytes());
    let mut spill = Spill::new(std::sync::Arc::clone(&workspace.outputs));
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

/// Keeps `bytes` in a file of the session; the path, or why there is none.
pub async fn keep(workspace: &Workspace, bytes: &[u8]) -> Result<PathBuf, String> {
    let mut spill = Spill::new(std::sync::Arc::clone(&workspace.outputs));
    spill.write(bytes).await;
    spill.end().await;
    match spill.kept() {
        super::spill::Kept::Failed(error) => Err(error.clone()),
        kept => Ok(kept.path().unwrap_or(Path::new("")).to_owned()),
    }
}
