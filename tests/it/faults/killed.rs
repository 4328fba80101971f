//! The program is killed and can do nothing any more: what it was running ends, too.

use std::fs;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::json;

use crate::support::cli::Home;

/// Ids are written by the command itself: the child that ignores a request, one that left its group, and one in the
/// background.
const COMMAND: &str = "trap '' TERM; echo $$ > one; \
    setsid sh -c 'echo $$ > two; exec sleep 600' & \
    sh -c 'echo $$ > three; exec sleep 600' & \
    while [ ! -s two ] || [ ! -s three ]; do sleep 0.01; done; echo all; while :; do sleep 1; done";

#[test]
fn commands_end_with_a_program_that_is_killed() {
    let home = Home::new();
    let call = json!({"tool": "bash", "arguments": {"command": COMMAND, "timeout": 600}});
    let turns = json!([{"steps": [call]}]);
    let mut program = home.scripted(&turns).args(["--json", "go"]).start();
    program.until(|event| {
        event["type"] == "tool_execution_update" && event.to_string().contains("all")
    });
    // A handle of each, so that another process of its id is not meant.
    let handles = ["one", "two", "three"].map(|name| {
        let id = fs::read_to_string(home.work().join(name)).unwrap();
        let id = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
        pidfd_open(id, PidfdFlags::empty()).unwrap()
    });
    program.signal(Signal::KILL);
    let patience = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    for handle in &handles {
        let mut ends = [PollFd::new(handle, PollFlags::IN)];
        // Signals of other tests' children come to any thread.
        let ended = retry_on_intr(|| poll(&mut ends, Some(&patience)));
        assert_eq!(ended, Ok(1), "it goes on");
    }
}
