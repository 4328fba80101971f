//! What the person has set apart among the stored sessions: those that stand first in lists, and those that
//! are out of sight. The sessions themselves are not touched.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use osier_base::locked_json;
use osier_base::locked_json::KeptError;

/// How a session can be set apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It stands first.
    Pinned,
    /// It is listed only when that is asked for.
    Archived,
}

/// Ids of the sessions that are set apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    pub pinned: BTreeSet<String>,
    pub archived: BTreeSet<String>,
}

impl Marks {
    /// What stands in the file. Blocks.
    pub fn read(file: &Path) -> Self {
        locked_json::read(file)
    }

    pub fn has(&self, mark: Mark, id: &str) -> bool {
        match mark {
            Mark::Pinned => self.pinned.contains(id),
            Mark::Archived => self.archived.contains(id),
        }
    }

    /// Sets a session apart, or no longer. What is out of sight does not stand first. Blocks.
    ///
    /// # Errors
    /// It was not kept.
    pub fn set(file: &Path, id: &str, mark: Mark, on: bool) -> Result<Self, KeptError> {
        locked_json::change(file, |marks: &mut Self| {
            let (set, other) = match mark {
                Mark::Pinned => (&mut marks.pinned, &mut marks.archived),
                Mark::Archived => (&mut marks.archived, &mut marks.pinned),
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
    fn a_session_is_pinned_or_archived() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("marks.json");
        Marks::set(&file, "a", Mark::Pinned, true).unwrap();
        Marks::set(&file, "b", Mark::Pinned, true).unwrap();
        Marks::set(&file, "a", Mark::Archived, true).unwrap();
        let marks = Marks::set(&file, "b", Mark::Pinned, false).unwrap();
        assert!(marks.has(Mark::Archived, "a") && !marks.has(Mark::Pinned, "a"));
        assert!(!marks.has(Mark::Pinned, "b"));
        assert_eq!(Marks::read(&file), marks);
    }
}
