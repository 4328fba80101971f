//! A signal ends the program even if it waits for something that never happens. Without its limit these tests would not end.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

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

/// Waits until a process waits for the lock of `file`.
fn until_awaited(file: &File) {
    let inode = rustix::fs::fstat(file).unwrap().st_ino;
    let deadline = Instant::now() + Duration::from_mins(2);
    let is_awaited = || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let mut waiting = locks.lines().filter(|line| line.contains("->"));
        waiting.any(|line| line.contains(&format!(":{inode} ")))
    };
    while !is_awaited() {
        assert!(Instant::now() < deadline, "nothing waits for the lock");
        std::thread::yield_now();
    }
}

#[test]
fn a_signal_ends_print_mode_while_another_process_holds_the_lock_of_the_file_states() {
    for signal in [Signal::TERM, Signal::HUP] {
        let home = Home::new();
        let lock = hold(&home.home().join("checkpoints/lock"));
        let turns = json!([
            {"steps": [{"tool": "write", "arguments": {"file_path": "new", "content": "x"}}]},
            {"steps": [{"text": "done"}]},
        ]);
        let mut running = home.scripted(&turns).args(["-p", "go"]).start();
        running.close_input();
        until_awaited(&lock);
        running.signal(signal);
        let (_, code, _) = running.end();
        assert_eq!(code, Some(128 + signal.as_raw()));
    }
}
