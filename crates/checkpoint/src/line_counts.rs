//! The number of changed lines of each file between two states. The counts of files that did not change in between are
//! those of the last call.

use std::collections::HashMap;
use std::path::PathBuf;

use super::error::CheckpointError;
use super::plan::{self, Difference};
use super::state::{Content, StateId};
use super::store::CheckpointStore;
use osier_protocol::ChangedLines;
use osier_tools::diff;

/// Counts of the last call.
#[derive(Debug, Default)]
pub struct LineCounts(HashMap<PathBuf, Counted>);

/// The lines that were added and removed between two contents.
#[derive(Debug, Clone, Copy)]
struct Counted {
    from: Option<Content>,
    to: Option<Content>,
    added: u64,
    removed: u64,
}

impl LineCounts {
    /// The changed lines of the files that differ between two states, by path: of the first `limit` files, and the number
    /// of the others. Blocks.
    ///
    /// # Errors
    /// A state is not in the store.
    pub fn between(
        &mut self,
        files: &CheckpointStore,
        (old, new): (StateId, StateId),
        limit: usize,
    ) -> Result<(Vec<ChangedLines>, u64), CheckpointError> {
        let mut differences = files.differences(old, new)?;
        let more = differences.len().saturating_sub(limit) as u64;
        differences.truncate(limit);
        let mut known = std::mem::take(&mut self.0);
        let lines = differences
            .into_iter()
            .map(|Difference { path, from, to }| {
                let before = known.remove(&path);
                let before = before.filter(|before| (before.from, before.to) == (from, to));
                let counted = before.unwrap_or_else(|| count(files, from, to));
                let lines = ChangedLines {
                    path: path.to_string_lossy().into_owned(),
                    kind: plan::kind(from, to),
                    added: counted.added,
                    removed: counted.removed,
                };
                self.0.insert(path, counted);
                lines
            });
        Ok((lines.collect(), more))
    }
}

/// Counts the lines; none of files that are not text or not recorded.
fn count(files: &CheckpointStore, from: Option<Content>, to: Option<Content>) -> Counted {
    let diff = match (files.text(from), files.text(to)) {
        (Ok(old), Ok(new)) => diff::unified("", old.as_deref(), new.as_deref().unwrap_or_default()),
        _ => diff::FileDiff::default(),
    };
    Counted {
        from,
        to,
        added: diff.added,
        removed: diff.removed,
    }
}
