//! A signal ends the program even if it waits for something that never happens. Without its limit these tests would not end.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::json;

use crate::support::cli::Home;

/// A lock that another process holds and does not release.
fn hold(path: &Path) -> File {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}

#[test]
fn a_signal_ends_a_visible_wait_for_the_lock_of_the_checkpoints() {
    for signal in [Signal::TERM, Signal::HUP] {
        let home = Home::new();
        let lock = hold(&home.home().join("checkpoints/lock"));
        let turns = json!([
            {"steps": [{"tool": "write", "arguments": {"file_path": "new", "content": "x"}}]},
            {"steps": [{"text": "done"}]},
        ]);
        let mut running = home.scripted(&turns).args(["--json", "go"]).start();
        running.close_input();
        // The reason is visible before the user loses patience.
        let holder = std::process::id();
        let reason = format!(
            "waiting for another osier (process {holder}), which has locked the checkpoints"
        );
        running.until(|event| {
            event["text"]
                .as_str()
                .is_some_and(|text| text.starts_with(&reason))
        });
        running.signal(signal);
        let (_, code, _) = running.end();
        drop(lock);
        assert_eq!(code, Some(128 + signal.as_raw()));
    }
}
