//! Reads a file that the model knew before its conversation was compacted.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::tool::{Arguments, read};
use crate::files::target::NamedFile;
use crate::workspace::Workspace;
use osier_agent::FileUse;
use osier_llm::ContentBlock;

impl Workspace {
    /// The numbered lines of the text file `path`, as the tool `read` shows them. The model counts as having read it.
    /// `None` if a rule denies the file, or if the file is no text of at most `limit` bytes. Blocks.
    pub fn read_again(&self, path: &str, limit: u64) -> Option<String> {
        let target = self.resolve(&NamedFile::new(path, FileUse::Read));
        let metadata = std::fs::symlink_metadata(&target.host).ok()?;
        let is_small = metadata.is_file() && (1..=limit).contains(&metadata.len());
        if !is_small || !self.read_filter()(&target.real) || is_media(&target.host) {
            return None;
        }
        let all = Arguments {
            file_path: path.to_owned(),
            offset: None,
            limit: None,
        };
        let output = read(self, &target, &all, &CancellationToken::new()).ok()?;
        match output.content.as_slice() {
            [ContentBlock::Text { text }] => Some(text.clone()),
            _ => None,
        }
    }
}

/// Whether the name is that of a file that is not shown as text.
fn is_media(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("pdf"))
}
