//! Several sessions in tabs of one program.

use std::fs;

use super::program::{Program, Setup};

/// Runs a command that waits until the test creates the file `go`, or one that needs permission; otherwise answers.
const SCRIPT: &str = r#"{"turns": [
  {"when": {"toolResult": "seen"}, "repeat": true, "steps": [{"text": "The wait is over."}]},
  {"when": {"user": "wait"}, "repeat": true, "steps": [
    {"tool": "bash", "arguments": {"command": "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo seen"}}
  ]},
  {"when": {"user": "burn"}, "repeat": true, "steps": [
    {"fail": {"type": "model_error", "message": "it burns", "retryable": false}}
  ]},
  {"repeat": true, "steps": [{"text": "Just an answer."}]}
]}"#;

fn setup() -> Setup {
    Program::new().file("s.json", SCRIPT).model("s.json")
}

/// A session that runs a command in the background, and a second one in the current tab.
fn two() -> Program {
    let mut program = setup().start();
    program.shows("Ask,");
    program.write("wait for it\r");
    program.shows("esc to interrupt");
    program.write("a draft");
    program.shows("❯ a draft");
    program.write("\x1bN");
    program.shows("Ask,");
    program.shows("tab 2/2, 1 running");
    program
}

#[test]
fn background_tab_continues() {
    let mut program = two();
    assert!(!program.screen().contains("wait for it"));
    program.write("hello\r");
    program.shows("Just an answer.");
    fs::write(program.work().join("go"), "").unwrap();
    program.shows("tab 2/2, 1 done");
    program.shows("1 · wait for it: done · alt+w");
    program.write("\x1bw");
    program.shows("The wait is over.");
    program.shows("❯ a draft");
    program.hides("1 done");
    program.shows("1/2");
    // A tab is opened by its number; the title shows the name of its session.
    program.write("\x1b2");
    program.shows("Just an answer.");
    program.shows("2/2");
    program.writes("\x1b]2;hello · work\x1b\\", 1);
    program.write("\x1b7");
    program.shows("no tab 7: 2 tabs are open");
}

#[test]
fn background_failures_and_questions_are_in_the_footer() {
    let mut program = setup().argument("--permissions").argument("ask").start();
    program.shows("Ask,");
    program.write("wait for it\r");
    program.shows("Run this command?");
    program.write("\x1bN");
    program.shows("tab 2/2, 1 waiting");
    program.write("burn\r\x1b,");
    program.shows("tab 1/2, 1 failed");
    // The question is still open: text that was typed in another tab did not answer it.
    program.shows("y once");
    program.write("\x1b0");
    program.shows("2 ✗  burn");
    program.write("2\r");
    program.shows("it burns");
    program.shows("tab 2/2, 1 waiting");
}

#[test]
fn new_session_opens_a_tab_during_a_run() {
    let mut program = setup().start();
    program.shows("Ask,");
    // Without a running agent the new session replaces the current one.
    program.write("hello\r");
    program.shows("Just an answer.");
    // The echo of a key comes with a complete screen and the current status.
    program.write("x");
    program.shows("❯ x");
    program.hides("esc to interrupt");
    program.write("\x7f/new\r");
    program.shows("Ask, or type");
    program.hides("Just an answer.");
    assert!(!program.screen().contains("tab 1/"));
    program.write("wait for it\r");
    program.shows("esc to interrupt");
    program.write("/new\r");
    program.shows("tab 2/2, 1 running");
    // The list returns to the stored session, and to the open one.
    program.write("\x1bs");
    program.shows("◂ tab 1");
    program.write("hello\r");
    program.shows("Just an answer.");
    program.shows("tab 2/2, 1 running");
    program.write("\x1bs");
    program.shows("◂ tab 1");
    program.write("wait\r");
    program.shows("esc to interrupt");
    program.shows("1/2");
    fs::write(program.work().join("go"), "").unwrap();
    program.shows("The wait is over.");
}

#[test]
fn quit_confirms_running_sessions_and_prints_resume_commands() {
    let mut program = two();
    program.write("hello\r");
    program.shows("Just an answer.");
    program.hides("esc to interrupt");
    program.write("\x04");
    program.shows("Session 1 is still running");
    program.write("\r");
    program.hides("Session 1 is still running");
    program.write("\x04");
    program.shows("Session 1 is still running");
    program.write("\x1b[B\r");
    assert!(program.exit().success());
    program.is_restored();
    let left = program.screen();
    assert!(left.contains("Just an answer."), "{left}");
    let ids: Vec<String> = left
        .lines()
        .filter_map(|line| line.strip_prefix("Resume with: osier --resume "))
        .map(str::to_owned)
        .collect();
    assert_eq!(ids.len(), 2, "{left}");
    let mut again = program.again(&["--resume", &ids[1]]);
    again.shows("▌ wait for it");
    again.shows("❯ a draft");
}

#[test]
fn kill_loses_nothing_in_any_tab() {
    let mut program = two();
    program.write("hello\r");
    program.shows("Just an answer.");
    program.hides("esc to interrupt");
    program.write("another draft ");
    program.write(&format!("\x1b[200~{}\x1b[201~", "line\r".repeat(20)));
    program.shows("[paste #1 +20 lines]");
    program.waits_for_file(r"another draft line\nline");
    program.waits_for_file("a draft");
    program.signal("KILL");
    program.exit();
    let mut again = program.again(&["--resume"]);
    again.shows("hello");
    again.shows("wait for it");
    again.write("hello\r");
    again.shows("Just an answer.");
    // The paste is one chip again.
    again.shows("❯ another draft [paste #1 +20 lines]");
    again.write("\x1bs");
    again.shows("wait for it");
    again.write("wait\x1b\r");
    again.shows("2/2");
    again.shows("❯ a draft");
}

#[test]
fn dialog_stays_when_the_list_below_changes() {
    let mut program = two();
    program.write("\x1b0");
    program.shows("Tabs");
    program.write("wait");
    program.shows("› 1 …");
    program.write("\x04");
    program.shows("Session 1 is still running");
    fs::write(program.work().join("go"), "").unwrap();
    program.shows("tab 2/2, 1 done");
    assert!(program.screen().contains("Cancel"));
    program.write("\x1b");
    program.hides("Cancel");
    program.shows("› 1 ✓");
}

#[test]
fn closing_a_running_tab_asks_and_shows_the_other() {
    let mut program = two();
    program.write("/close\r");
    program.hides("2/2");
    program.shows("❯ a draft");
    program.write("\x15/close\r");
    program.shows("this is the only tab");
    program.write("\x1bN");
    program.shows("tab 2/2, 1 running");
    program.write("\x1b0");
    program.shows("Tabs");
    program.write("wait");
    // The path of the other tab may match as well.
    program.shows("❯ wait");
    program.shows("› 1 …");
    program.write("\x04");
    program.shows("Session 1 is still running");
    program.write("\x1b[B\r");
    program.hides("2/2");
}
