//! When the program is killed, its commands end too.

use std::fs;
use std::os::fd::OwnedFd;

use osier_testing::skip;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::json;

use crate::support::cli::Home;

/// The command writes the ids of its children: one ignores SIGTERM, one has left the group, one is in the background.
const COMMAND: &str = "trap '' TERM; echo $$ > one; \
    setsid sh -c 'echo $$ > two; exec sleep 600' & \
    sh -c 'echo $$ > three; exec sleep 600' & \
    while [ ! -s two ] || [ ! -s three ]; do sleep 0.01; done; echo ready; while :; do sleep 1; done";

/// Kills the child reaper of the program; a new one replaces it.
const CARELESS: &str = "for id in $(cat /proc/$PPID/task/*/children); do \
    grep -q 'read -r sign group' /proc/$id/cmdline && kill -9 $id; done; true";

#[test]
fn commands_end_when_the_program_is_killed() {
    if !skip::has(&["setsid"], "apt install util-linux") {
        return;
    }
    let home = Home::new();
    let turn = |command: &str| {
        let call = json!({"tool": "bash", "arguments": {"command": command, "timeout": 600}});
        json!({"steps": [call]})
    };
    let turns = json!([turn("true"), turn(CARELESS), turn(COMMAND)]);
    let mut program = home.scripted(&turns).args(["--json", "go"]).start();
    program.until(|event| {
        event["type"] == "tool_execution_update" && event.to_string().contains("ready")
    });
    // A handle of each, because process ids can be reused.
    let handles = ["one", "two", "three"].map(|name| {
        let id = fs::read_to_string(home.work().join(name)).unwrap();
        let id = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
        pidfd_open(id, PidfdFlags::empty()).unwrap()
    });
    program.signal(Signal::KILL);
    handles.iter().for_each(waits_for_end);
}

fn waits_for_end(process: &OwnedFd) {
    let patience = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    let mut ends = [PollFd::new(process, PollFlags::IN)];
    // Signals about children of other tests arrive on any thread.
    let ended = retry_on_intr(|| poll(&mut ends, Some(&patience)));
    assert_eq!(ended, Ok(1), "it is still running");
}

/// The child leaves the group of the command and outlives it.
const DETACHED: &str = "setsid sh -c 'trap \"\" TERM HUP; echo $$ > two; while :; do sleep 1; done' \
    >/dev/null 2>&1 </dev/null & while [ ! -s two ]; do sleep 0.01; done; echo started";

#[test]
fn processes_that_left_their_command_end_when_the_program_ends_normally() {
    if !skip::has(&["setsid"], "apt install util-linux") {
        return;
    }
    let home = Home::new();
    let call = json!({"tool": "bash", "arguments": {"command": DETACHED, "timeout": 600}});
    let turns = json!([{"steps": [call]}, {"steps": [{"text": "done"}]}]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "done\n"));
    let id = fs::read_to_string(home.work().join("two")).unwrap();
    let id = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
    match pidfd_open(id, PidfdFlags::empty()) {
        Ok(process) => waits_for_end(&process),
        // The process has ended already.
        Err(error) => assert_eq!(error, Errno::SRCH),
    }
}
