//! Files that someone else may have prepared are opened by `regular_file` or `without_links` alone: regular files, without
//! waiting for a pipe or a device, up to a limit.

use regex::Regex;

use crate::layers::sources;

/// How a file is opened without these guarantees.
const OPENERS: &str = r"\b(?:fs::read|fs::read_to_string|fs::copy|File::open|io::read_to_string|OpenOptions::new|File::options|fs::openat|fs::open|Connection::open(?:_with_flags)?)\(";

/// Where that is right, and why. The count is the number of places in the file.
const ALLOWED: &[(&str, usize, &str)] = &[
    ("crates/base/src/allocator.rs", 1, "a file of the kernel"),
    (
        "crates/base/src/atomic_file.rs",
        1,
        "without waiting, and only the attributes are read",
    ),
    (
        "crates/base/src/atomic_file/in_place.rs",
        2,
        "a new file, and one whose kind is checked without waiting",
    ),
    (
        "crates/base/src/atomic_file/replaced_file.rs",
        1,
        "a directory, to sync it",
    ),
    (
        "crates/base/src/leftovers/folder.rs",
        1,
        "a directory of osier, to lock it",
    ),
    ("crates/base/src/pending_file.rs", 2, "new files"),
    ("crates/base/src/process/group.rs", 2, "files of the kernel"),
    (
        "crates/base/src/process/terminal.rs",
        2,
        "a file of the kernel, and the terminal",
    ),
    ("crates/base/src/regular_file.rs", 6, "these guarantees"),
    ("crates/base/src/without_links.rs", 3, "these guarantees"),
    (
        "crates/checkpoint/src/objects.rs",
        1,
        "a directory, to sync it",
    ),
    (
        "crates/index/src/schema.rs",
        3,
        "SQLite opens its own file without waiting",
    ),
    (
        "crates/peers/src/import/opencode.rs",
        1,
        "SQLite opens a regular file",
    ),
    (
        "crates/proxy/src/users.rs",
        1,
        "SQLite opens its own file without waiting",
    ),
    (
        "crates/sandbox/src/helper.rs",
        1,
        "a symbolic link itself, to mount it",
    ),
    (
        "crates/sandbox/src/mount_table.rs",
        1,
        "a file of the kernel",
    ),
    ("crates/sandbox/src/watch.rs", 2, "files of the kernel"),
    ("crates/serve/src/listen.rs", 1, "a directory, to lock it"),
    ("crates/store/src/handover.rs", 1, "a file of the kernel"),
    ("crates/store/src/lock.rs", 2, "files of the kernel"),
    (
        "crates/store/src/log_file.rs",
        3,
        "a directory, to sync it, and session files, which are open before",
    ),
    ("crates/term/src/terminal/mod.rs", 1, "the terminal"),
    ("crates/tools/src/commands/output_file.rs", 1, "a new file"),
    (
        "crates/tools/src/read/tool.rs",
        1,
        "a file that was opened without waiting, and whose size was checked",
    ),
];

#[test]
fn files_of_others_are_read_within_limits() {
    let openers = Regex::new(OPENERS).unwrap();
    // The tests at the end of a file.
    let tests = Regex::new(r"(?s)\n\s*#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*mod \w+ \{.*").unwrap();
    let mut found: Vec<(String, usize)> = Vec::new();
    for source in sources() {
        let path = source.path.to_string_lossy().into_owned();
        let name = source.path.file_name().unwrap().to_string_lossy();
        let is_test = ["/tests/", "/benches/", "crates/testing/"]
            .iter()
            .any(|part| path.contains(part))
            || name.ends_with("tests.rs")
            || name.ends_with("_test.rs");
        if is_test || name == "build.rs" || name == "testing.rs" {
            continue;
        }
        let code = tests.replace(&source.code, "");
        let lines = code
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default());
        let count = lines.map(|line| openers.find_iter(line).count()).sum();
        if count > 0 {
            found.push((path, count));
        }
    }
    found.sort();
    let mut allowed: Vec<(String, usize)> = ALLOWED
        .iter()
        .map(|(path, count, _)| ((*path).to_owned(), *count))
        .collect();
    allowed.sort();
    assert_eq!(
        found, allowed,
        "read files with `osier_base::regular_file`, or change the rows with the reason"
    );
}
