//! Generated parts of the documentation: compared with what is written, or written with `UPDATE_DOCS=1`.

#![expect(
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed check is a failed test; the sources of the documentation are written in place"
)]

use std::fs;
use std::path::Path;

use parking_lot::Mutex;

/// Locks pages: one page can have several parts, whose tests run at the same time.
static WRITING: Mutex<()> = Mutex::new(());

/// Checks that the file at `path` has the text `expected`.
///
/// # Panics
///
/// If it has another text, or cannot be read or written.
pub fn check_file(path: &Path, expected: &str) {
    let _alone = WRITING.lock();
    check(path, expected);
}

fn check(path: &Path, expected: &str) {
    let found = fs::read_to_string(path);
    if found.as_deref().ok() == Some(expected) {
        return;
    }
    let shown = path.display();
    assert!(
        std::env::var_os("UPDATE_DOCS").is_some(),
        "{shown} is out of date; run the test with UPDATE_DOCS=1"
    );
    fs::write(path, expected).unwrap_or_else(|error| panic!("{shown}: {error}"));
}

/// Checks that the page at `path` has the text `expected` between the lines `<!-- name -->` and `<!-- /name -->`.
///
/// # Panics
///
/// If it has another text or no such lines, or cannot be read or written.
pub fn check_part(path: &Path, name: &str, expected: &str) {
    let _alone = WRITING.lock();
    let shown = path.display();
    let page = fs::read_to_string(path).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let parts = page.split_once(&start).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        panic!("{shown} has no part `{name}`, which begins with {start:?} and ends with {end:?}");
    };
    check(path, &format!("{before}{start}{expected}{end}{after}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("page.md");
        fs::write(&path, text).unwrap();
        (place, path)
    }

    #[test]
    fn part_with_the_expected_text_passes() {
        let (_place, path) = page("before\n<!-- list -->\n- one\n<!-- /list -->\nafter\n");
        check_part(&path, "list", "- one\n");
    }

    #[test]
    #[should_panic(expected = "has no part `list`")]
    fn page_without_the_part_fails() {
        let (_place, path) = page("- one\n");
        check_part(&path, "list", "- one\n");
    }
}
