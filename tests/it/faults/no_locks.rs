//! A file system without file locks, such as NFS without a lock service: flock(2) fails with ENOLCK.
#![expect(clippy::disallowed_methods, reason = "a library of the test's own")]

use std::process::Command;

use osier_testing::skip;
use serde_json::json;

use crate::support::cli::Home;

const SHIM: &str =
    "#include <errno.h>\nint flock(int file, int how) { errno = ENOLCK; return -1; }\n";

#[test]
fn sessions_and_checkpoints_are_stored_without_file_locks() {
    let Some(compiler) = skip::program(&["cc"], "apt install gcc") else {
        return;
    };
    let home = Home::new();
    let (source, shim) = (home.home().join("shim.c"), home.home().join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let compiled = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .args([&shim, &source])
        .output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    home.file("a.txt", "old\n");
    let write = json!({"tool": "write", "arguments": {"file_path": "a.txt", "content": "new\n"}});
    let read = json!({"tool": "read", "arguments": {"file_path": "a.txt"}});
    let turns = json!([{"steps": [read]}, {"steps": [write]}, {"steps": [{"text": "Done."}]}]);
    let run = home.scripted(&turns).args(["-p", "write it"]);
    let output = run.environment("LD_PRELOAD", shim.to_str().unwrap()).run();
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(
        output.stderr.matches("no file locks").count(),
        1,
        "{output:?}"
    );
    assert_eq!(
        std::fs::read_to_string(home.work().join("a.txt")).unwrap(),
        "new\n"
    );
    let entries = home.session();
    let count = |kind: &str| entries.iter().filter(|entry| entry["type"] == kind).count();
    assert_eq!(
        (count("message"), count("checkpoint")),
        (6, 2),
        "{entries:#?}"
    );
}
