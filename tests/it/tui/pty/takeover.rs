//! A second osier takes the session over from the one that has it open: after the loss of a connection, for example.

use std::time::{Duration, Instant};

use super::crash_recovery::{Random, sessions};
use super::program::Program;
use super::{ANSWER, STUCK};

const ROUNDS: u64 = 12;

const AGAIN: &[&str] = &["--model", "script/s.json", "-c"];
const TAKE_OVER: &[&str] = &["--model", "script/s.json", "-c", "--take-over"];

/// An osier in the middle of an answer, with a queued prompt and a draft.
fn at_work() -> Program {
    let mut program = Program::new().file("s.json", STUCK).model("s.json").start();
    program.shows("Ask, or type / for commands");
    program.write("the prompt\r");
    program.shows("The first half");
    program.write("the queued prompt\r");
    program.shows("Steering: the queued prompt");
    program.write("the draft");
    program.shows("❯ the draft");
    program.waits_for_file("the queued prompt\\n\\nthe draft");
    program
}

/// Asserts that the run continues with its queued prompt, and that the draft is in the editor. The prompt waits for the next
/// request, or is already in the first one.
fn continues(program: &mut Program) {
    program.shows("the run that the other osier stopped continues here");
    program.shows("the queued prompt");
    program.shows("❯ the draft");
    program.shows("esc to interrupt");
}

/// Asserts that the screen shows the answer, the queued prompt and the draft.
fn has_everything(program: &mut Program) {
    for text in ["The first half", "the queued prompt", "the draft"] {
        program.shows(text);
    }
}

#[test]
fn session_is_taken_over_with_its_run_queue_and_draft() {
    let mut first = at_work();
    let mut second = first.again(AGAIN);
    second.shows("Session open elsewhere (process ");
    second.shows("its run continues here; the other osier ends");
    second.write("\r");
    assert_eq!(first.exit().exit_code(), 0);
    assert!(first.written().contains("continues in process "));
    first.is_restored();
    has_everything(&mut second);
    continues(&mut second);
    // The same session is continued, not a copy, and the next osier takes it over from the second
    // one.
    let home = second.work().parent().unwrap().join("home");
    assert_eq!(sessions(&home).len(), 1);
    let mut third = second.again(TAKE_OVER);
    second.exit();
    has_everything(&mut third);
    continues(&mut third);
}

#[test]
fn stopped_process_is_ended_before_the_session_is_taken_over() {
    let mut first = at_work();
    first.signal("STOP");
    let mut second = first.again(AGAIN);
    second.shows("it is stopped (ctrl+z?); all its tabs end");
    second.write("\r");
    has_everything(&mut second);
    first.exit();
}

#[test]
fn hangup_leaves_everything_to_the_next_one() {
    let mut first = at_work();
    first.signal("HUP");
    first.exit();
    let mut second = first.again(AGAIN);
    has_everything(&mut second);
}

#[test]
fn kills_of_either_side_lose_nothing() {
    let mut random = Random(7);
    let mut old = at_work();
    for round in 0..ROUNDS {
        let mut new = old.again(TAKE_OVER);
        let end = Instant::now() + Duration::from_millis(random.below(400));
        while Instant::now() < end && new.reads_until(end) {}
        let killed = if round % 2 == 0 { &mut old } else { &mut new };
        killed.signal("KILL");
        killed.exit();
        // The other side may still have the session, or may have ended.
        let mut next = old.again(TAKE_OVER);
        has_everything(&mut next);
        old.signal_if_running("KILL");
        new.signal_if_running("KILL");
        old = next;
    }
    assert_eq!(
        sessions(&old.work().parent().unwrap().join("home")).len(),
        1
    );
}

#[test]
fn idle_session_is_taken_over_from_the_command_line() {
    let mut first = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .start();
    first.shows("Ask, or type / for commands");
    first.write("hello\r");
    first.shows("• a list");
    let mut second = first.again(TAKE_OVER);
    second.shows("• a list");
    first.exit();
    second.write("and on\r");
    second.waits_for_file("and on");
}
