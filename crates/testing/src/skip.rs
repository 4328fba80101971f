//! Tests that cannot run on this machine. A test reports why it is skipped and returns.
//!
//! libtest hides what a passing test prints, so the list is written when the test program exits. `cargo test` runs
//! several test programs: each that skips a test prints the list of the whole run, which the programs share in
//! `skipped-tests.txt` in the build directory.
//!
//! With `OSIER_REQUIRE_ALL=1` a skipped test fails. `OSIER_UNSUPPORTED`, a comma-separated list, names the kernel
//! features that may be missing nevertheless.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, thread};

const REQUIRE_ALL: &str = "OSIER_REQUIRE_ALL";
const UNSUPPORTED: &str = "OSIER_UNSUPPORTED";

/// One line for each skipped test: the reason, a tab, the test.
static SKIPPED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Reports that this test is skipped because `what` is not installed; `fix` is the command that installs it.
///
/// # Panics
///
/// With `OSIER_REQUIRE_ALL=1`.
pub fn missing(what: &str, fix: &str) {
    let reason = format!("`{what}` is not installed; install it with `{fix}`");
    report(&reason, false);
}

/// Reports that this test is skipped because this machine does not support or allow `feature`.
///
/// # Panics
///
/// With `OSIER_REQUIRE_ALL=1`, unless `OSIER_UNSUPPORTED` names the feature.
pub fn unsupported(feature: &str, detail: &str) {
    let allowed = env::var(UNSUPPORTED).unwrap_or_default();
    let is_allowed = allowed.split(',').any(|name| name == feature);
    report(
        &format!("`{feature}` is not supported here: {detail}"),
        is_allowed,
    );
}

/// Returns the path of the first of `names` on `PATH`, or reports that the test is skipped.
///
/// # Panics
///
/// With `OSIER_REQUIRE_ALL=1`, when there is none.
pub fn program(names: &[&str], fix: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = names.iter().find_map(|name| find(name, &path));
    if found.is_none() {
        missing(names.first().unwrap_or(&""), fix);
    }
    found
}

/// Returns whether all `names` are on `PATH`. Reports the first that is missing; `fix` installs all of them.
///
/// # Panics
///
/// With `OSIER_REQUIRE_ALL=1`, when one is missing.
pub fn has(names: &[&str], fix: &str) -> bool {
    names.iter().all(|name| program(&[name], fix).is_some())
}

fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

fn report(reason: &str, is_allowed: bool) {
    let is_required = env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1");
    assert!(is_allowed || !is_required, "{reason} ({REQUIRE_ALL}=1)");
    // libtest names the thread after the test.
    let thread = thread::current();
    let line = format!("{reason}\t{}", thread.name().unwrap_or("?"));
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    skipped.insert(line);
}

#[dtor::dtor(unsafe)]
fn print_at_exit() {
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    if skipped.is_empty() {
        return;
    }
    let program = env::current_exe().unwrap_or_default();
    // `target/debug/deps/PROGRAM`
    if let Some(folder) = program.parent().and_then(Path::parent) {
        // Without the file the list has the tests of this program.
        let _ = merge(&folder.join("skipped-tests.txt"), &run_id(), &mut skipped);
    }
    let _ = io::stderr().write_all(list(&skipped).as_bytes());
}

/// Names the run of `cargo test`: the process that starts the test programs.
#[cfg(unix)]
fn run_id() -> String {
    format!("run {}", std::os::unix::process::parent_id())
}

#[cfg(not(unix))]
fn run_id() -> String {
    format!("run {}", std::process::id())
}

/// Adds the lines of the same run in `file` to `skipped` and writes all of them back.
fn merge(file: &Path, run: &str, skipped: &mut BTreeSet<String>) -> io::Result<()> {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(file)?;
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let mut lines = text.lines();
    if lines.next() == Some(run) {
        skipped.extend(lines.map(str::to_owned));
    }
    let mut text = format!("{run}\n");
    for line in &*skipped {
        text.push_str(line);
        text.push('\n');
    }
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}

/// The reasons, each with its tests.
fn list(skipped: &BTreeSet<String>) -> String {
    let mut text = format!("\nskipped: {} tests or parts of tests\n", skipped.len());
    let mut previous = "";
    for line in skipped {
        let (reason, test) = line.split_once('\t').unwrap_or((line, "?"));
        if reason != previous {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {reason}");
            previous = reason;
        }
        let _ = writeln!(text, "    {test}");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> BTreeSet<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn list_groups_tests_by_reason() {
        let skipped = lines(&["no tmux\tb", "no tmux\ta", "no git\tc"]);
        assert_eq!(
            list(&skipped),
            "\nskipped: 3 tests or parts of tests\n  no git\n    c\n  no tmux\n    a\n    b\n\n"
        );
    }

    #[test]
    fn programs_of_one_run_share_their_lists() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list");
        let mut first = lines(&["x\ta", "x\tb", "x\tc"]);
        merge(&file, "run 1", &mut first).unwrap();
        let mut second = lines(&["y\td"]);
        merge(&file, "run 1", &mut second).unwrap();
        assert_eq!(second, lines(&["x\ta", "x\tb", "x\tc", "y\td"]));
        let mut other = lines(&["z\te"]);
        merge(&file, "run 2", &mut other).unwrap();
        assert_eq!(other, lines(&["z\te"]));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "run 2\nz\te\n");
    }

    #[test]
    fn program_is_found_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join("tool")).unwrap();
        let path = folder.path().as_os_str();
        assert_eq!(find("tool", path), Some(folder.path().join("tool")));
        assert_eq!(find("other", path), None);
    }
}
