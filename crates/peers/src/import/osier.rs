//! Imports osier's own sessions: exports, and files of other machines.

use std::path::Path;

use super::draft::Draft;
use super::error::ImportError;
use osier_store::load;

pub(super) fn read(path: &Path, draft: &mut Draft) -> Result<(), ImportError> {
    let loaded = load(path)?;
    let header = loaded.header;
    draft.id = Some(header.id);
    draft.timestamp = Some(header.timestamp);
    draft.cwd = Some(header.cwd).filter(|cwd| !cwd.is_empty());
    draft.parent = header.parent_session;
    draft.entries = loaded.entries;
    draft.damaged_lines(loaded.damaged, &loaded.damaged_lines);
    for _ in 0..loaded.reattached {
        draft.drop("links to a missing line, replaced by the line before");
    }
    Ok(())
}
