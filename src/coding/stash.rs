//! Prompts that were put aside: kept in the data directory until they are taken back, whatever session or
//! process that happens in.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::kept::{self, KeptError};
use crate::base::text::head_bytes;
use crate::base::{clock, ids};

/// Bytes of a prompt that are kept.
const LONGEST: usize = 1 << 20;
/// Prompts that are kept: the oldest ones give way.
const MOST: usize = 200;

/// A prompt that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stashed {
    pub id: String,
    pub text: String,
    /// Where it was written.
    pub cwd: String,
    /// When, in milliseconds since the Unix epoch.
    pub created: i64,
}

/// The prompts that are put aside, the newest first. Blocks.
pub fn list(file: &Path) -> Vec<Stashed> {
    kept::read(file)
}

/// Puts a prompt aside; what there is now. Blocks.
///
/// # Errors
/// It was not kept.
pub fn add(file: &Path, text: &str, cwd: &str) -> Result<Vec<Stashed>, KeptError> {
    kept::change(file, |prompts: &mut Vec<Stashed>| {
        let stashed = Stashed {
            id: ids::session_id(),
            text: head_bytes(text, LONGEST).to_owned(),
            cwd: cwd.to_owned(),
            created: clock::now_ms(),
        };
        prompts.retain(|other| other.text != stashed.text);
        prompts.insert(0, stashed);
        prompts.truncate(MOST);
    })
}

/// Forgets one; what there is now. Blocks.
///
/// # Errors
/// It is still kept.
pub fn forget(file: &Path, id: &str) -> Result<Vec<Stashed>, KeptError> {
    kept::change(file, |prompts: &mut Vec<Stashed>| {
        prompts.retain(|other| other.id != id);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_first_and_nothing_is_there_twice() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("stash.json");
        add(&file, "one", "/a").unwrap();
        add(&file, "two", "/b").unwrap();
        add(&file, "one", "/c").unwrap();
        let texts = |prompts: &[Stashed]| -> Vec<String> {
            prompts.iter().map(|prompt| prompt.text.clone()).collect()
        };
        let prompts = list(&file);
        assert_eq!(texts(&prompts), ["one", "two"]);
        assert_eq!(prompts[0].cwd, "/c");
        let left = forget(&file, &prompts[0].id).unwrap();
        assert_eq!(texts(&left), ["two"]);
        assert_eq!(list(&file), left);
    }
}
