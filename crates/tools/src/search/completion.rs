//! The paths that `@` completes: everything below the working directory that models could find. The walk
//! runs off the async threads, is bounded, and stops when no caller waits for it.

use std::path::Path;
use std::time::{Duration, Instant};

use osier_walk::{Rules, walk};
use tokio_util::sync::CancellationToken;

/// Maximum number of paths; a larger tree is completed from its first part.
pub const FILE_LIMIT: usize = 500_000;

/// Time until a first part of the list is shown.
const FIRST_RESULT: Duration = Duration::from_millis(60);

/// Paths relative to `root`, directories with a trailing slash, in walking order, and whether the list is
/// complete. `first` receives the paths of the first moment if the walk takes longer. Blocks: call it from a
/// blocking thread.
pub fn list(
    root: &Path,
    cancel: &CancellationToken,
    first: impl FnOnce(&[String]),
) -> (Vec<String>, bool) {
    let mut first = Some((first, Instant::now() + FIRST_RESULT));
    let mut paths = Vec::new();
    for entry in walk(root, Rules::SEARCH_HIDDEN).filter_map(Result::ok) {
        if cancel.is_cancelled() {
            return (paths, false);
        }
        if let Some((show, _)) = first.take_if(|(_, due)| Instant::now() >= *due) {
            show(&paths);
        }
        let Ok(relative) = entry.path.strip_prefix(root) else {
            continue;
        };
        let Some(path) = relative.to_str() else {
            continue;
        };
        if paths.len() == FILE_LIMIT {
            return (paths, false);
        }
        paths.push(if entry.kind.is_dir() {
            format!("{path}/")
        } else {
            path.to_owned()
        });
    }
    (paths, true)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, create_dir};

    use super::*;

    #[test]
    fn ignored_files_and_git_are_excluded() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        create_dir(root.join(".git")).unwrap();
        create_dir(root.join("src")).unwrap();
        for name in [".git/config", "src/main.rs", "secret.log", ".env"] {
            File::create(root.join(name)).unwrap();
        }
        std::io::Write::write_all(
            &mut File::create(root.join(".gitignore")).unwrap(),
            b"*.log\n",
        )
        .unwrap();
        let (mut paths, complete) = list(root, &CancellationToken::new(), |_| ());
        paths.sort();
        assert_eq!(paths, [".env", ".gitignore", "src/", "src/main.rs"]);
        assert!(complete);
    }
}
