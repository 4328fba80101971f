//! Runs the body of a fuzz target over its cases: seeds, and every input that has failed before.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder with the cases of `target`.
fn folder(target: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("fuzz/cases").join(target)
}

/// Calls `body` with every case of `target`. A failure names the file.
pub fn run_cases(target: &str, body: fn(&[u8])) {
    let folder = folder(target);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "`{}` has no cases", folder.display());
    for file in files {
        let input = fs::read(&file).unwrap_or_default();
        let _named = Named(&file);
        body(&input);
    }
}

/// Prints the name of a case that fails.
struct Named<'a>(&'a Path);

impl Drop for Named<'_> {
    #[expect(clippy::print_stderr, reason = "a test reports its failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with the case `{}`", self.0.display());
        }
    }
}
