//! Flags of stored sessions: pinned sessions are first in lists, archived sessions are not shown. They are in a file
//! of their own; the session files do not change.

use osier_protocol::Mark;
use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use osier_base::locked_json;
use osier_base::locked_json::LockedJsonError;

/// Ids of the sessions with a flag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFlags {
    pub pinned: BTreeSet<String>,
    pub archived: BTreeSet<String>,
}

impl SessionFlags {
    /// Reads the file. Blocks.
    pub fn read(file: &Path) -> Self {
        locked_json::read(file)
    }

    pub fn has(&self, mark: Mark, id: &str) -> bool {
        match mark {
            Mark::Pinned => self.pinned.contains(id),
            Mark::Archived => self.archived.contains(id),
        }
    }

    /// Sets or clears a flag of a session. A session has at most one. Blocks.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn set(file: &Path, id: &str, mark: Mark, on: bool) -> Result<Self, LockedJsonError> {
        locked_json::change(file, |flags: &mut Self| {
            let (set, other) = match mark {
                Mark::Pinned => (&mut flags.pinned, &mut flags.archived),
                Mark::Archived => (&mut flags.archived, &mut flags.pinned),
            };
            if on {
                set.insert(id.to_owned());
                other.remove(id);
            } else {
                set.remove(id);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_pinned_or_archived() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("marks.json");
        SessionFlags::set(&file, "a", Mark::Pinned, true).unwrap();
        SessionFlags::set(&file, "b", Mark::Pinned, true).unwrap();
        SessionFlags::set(&file, "a", Mark::Archived, true).unwrap();
        let flags = SessionFlags::set(&file, "b", Mark::Pinned, false).unwrap();
        assert!(flags.has(Mark::Archived, "a") && !flags.has(Mark::Pinned, "a"));
        assert!(!flags.has(Mark::Pinned, "b"));
        assert_eq!(SessionFlags::read(&file), flags);
    }
}
