//! What is wrong with the stored sessions, without changing any.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::error::LibraryError;
use super::schema::Library;
use super::walk::walk;
use osier_store::{header_from_name, load};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub path: PathBuf,
    pub what: String,
    /// What to do, or that nothing has to be done.
    pub hint: String,
}

/// Reads every session and tells what is wrong, as `each` file is done; the number of files.
pub fn check(
    library: &Library,
    cancel: &CancellationToken,
    each: &mut dyn FnMut(Finding),
) -> Result<usize, LibraryError> {
    use std::os::unix::ffi::OsStrExt;
    let root = library.directory.root();
    let mut found = walk(root, cancel)?;
    found.sort_by(|one, other| one.path.cmp(&other.path));
    let mut ids: HashMap<String, PathBuf> = HashMap::new();
    for file in &found {
        if cancel.is_cancelled() {
            return Err(LibraryError::Cancelled);
        }
        let path = root.join(std::ffi::OsStr::from_bytes(&file.path));
        let mut tell = |what: String, hint: &str| {
            each(Finding {
                path: path.clone(),
                what,
                hint: hint.to_owned(),
            });
        };
        let loaded = match load(&path) {
            Ok(loaded) => loaded,
            Err(error) => {
                tell(
                    error.to_string(),
                    error.hint().unwrap_or("it is not listed"),
                );
                continue;
            }
        };
        if loaded.damaged > 0 {
            let what = format!("{} damaged lines", loaded.damaged);
            tell(what, "they are skipped; the rest opens as usual");
        }
        if loaded.torn_bytes > 0 {
            let what = format!(
                "the last {} bytes are an incomplete line",
                loaded.torn_bytes
            );
            tell(what, "the next write moves them to a separate file");
        }
        if loaded.reattached > 0 {
            let what = format!("{} entries whose parent is not there", loaded.reattached);
            tell(what, "they are attached to the preceding entries");
        }
        if let Some(other) = ids.insert(loaded.header.id.clone(), path.clone()) {
            let what = format!("it has the same id as `{}`", other.display());
            tell(what, "resume such sessions by their path");
        }
        let named = header_from_name(&path);
        if named.is_some_and(|named| named.id != loaded.header.id) {
            let what = format!("its name does not hold its id `{}`", loaded.header.id);
            tell(what, "it is found by the id inside, and by its path");
        }
    }
    Ok(found.len())
}
