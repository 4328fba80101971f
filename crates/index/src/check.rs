//! Checks stored sessions for damage without changing them.

use osier_base::sort;
use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::error::IndexError;
use super::schema::SessionIndex;
use super::walk::walk;
use osier_base::text::counted;
use osier_store::{header_from_name, load};

/// One problem of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub path: PathBuf,
    pub what: String,
    /// The advice for the user, or why nothing needs to be done.
    pub hint: String,
}

/// Checks every session and reports its problems, file by file. Returns the number of files.
pub fn check(
    library: &SessionIndex,
    cancel: &CancellationToken,
    each: &mut dyn FnMut(Finding),
) -> Result<usize, IndexError> {
    use std::os::unix::ffi::OsStrExt;
    let root = library.directory.root();
    let mut found = walk(root, cancel)?;
    sort::by(&mut found, |one, other| one.path.cmp(&other.path));
    let mut ids: HashMap<String, PathBuf> = HashMap::new();
    for file in &found {
        if cancel.is_cancelled() {
            return Err(IndexError::Cancelled);
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
                    error
                        .hint()
                        .unwrap_or("it is not listed; move it away or delete it"),
                );
                continue;
            }
        };
        if loaded.damaged > 0 {
            let what = counted(loaded.damaged, "damaged line", "damaged lines");
            let numbers: Vec<String> = loaded.damaged_lines.iter().map(u64::to_string).collect();
            let what = match &numbers[..] {
                [] => what,
                numbers => format!("{what}: {}", numbers.join(", ")),
            };
            tell(what, "osier skips damaged lines; the rest opens as usual");
        }
        if loaded.torn_bytes > 0 {
            let what = format!(
                "the last {} bytes are an incomplete line",
                loaded.torn_bytes
            );
            tell(what, "the next write moves them to a separate file");
        }
        if loaded.reattached > 0 {
            let what = format!(
                "{} with a missing parent",
                counted(loaded.reattached, "entry", "entries")
            );
            tell(what, "osier attaches each one to the entry before it");
        }
        if let Some(other) = ids.insert(loaded.header.id.clone(), path.clone()) {
            let what = format!("it has the same id as `{}`", other.display());
            tell(what, "resume such sessions by their path");
        }
        let named = header_from_name(&path);
        if named.is_some_and(|named| named.id != loaded.header.id) {
            let what = format!(
                "its file name does not contain its id `{}`",
                loaded.header.id
            );
            tell(what, "find it by the id in its header, or by its path");
        }
    }
    Ok(found.len())
}
