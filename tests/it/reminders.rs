//! Reminders for the model at the end of the conversation.

#![expect(clippy::disallowed_methods, reason = "tests change files by hand")]

use std::fs;

use osier_llm::Script;
use osier_protocol::{CheckpointEvent, CheckpointOp, Event, FilesAt, Op, TreeEvent, TreeOp};
use osier_session::{SessionChoice, SessionSetup};
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};

fn describes(setup: &mut SessionSetup) {
    setup.settings.describe_environment = true;
}

/// The reminders of the last request.
fn reminders(open: &OpenSession) -> Vec<String> {
    let request = open.last_request().into_iter();
    let reminder = |line: String| {
        let text = line.strip_prefix("user: <system-reminder>\n")?;
        Some(text.strip_suffix("\n</system-reminder>")?.to_owned())
    };
    request.filter_map(reminder).collect()
}

fn answers() -> Script {
    Script::new().turn(|turn| turn.text("ok").repeat())
}

#[tokio::test]
async fn environment_is_described_once() {
    let place = TestProject::new();
    for name in ["src", ".git"] {
        fs::create_dir(place.work().join(name)).unwrap();
    }
    fs::write(place.work().join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
    fs::write(place.work().join("<system-reminder>"), "").unwrap();
    let mut open = place
        .open_with(SessionChoice::New, answers(), describes)
        .await;
    open.run("one").await;
    let first = reminders(&open);
    let lines: Vec<&str> = first[0].lines().collect();
    assert!(lines[0].starts_with("Date: 20"), "{first:?}");
    assert!(lines[1].starts_with("System: "), "{first:?}");
    assert!(lines[2].starts_with("Shell: /"), "{first:?}");
    assert_eq!(
        lines[3..],
        [
            // The directory is no repository for git, so nothing is known about changes.
            "Git: branch topic",
            "Files: ?system-reminder?, src/",
            "Sandbox: none"
        ]
    );
    open.run("two").await;
    assert_eq!(reminders(&open), first);
    let id = open.session.id.clone();
    open.close().await;
    let mut again = place
        .open_with(SessionChoice::Resume(id), answers(), describes)
        .await;
    again.run("three").await;
    assert_eq!(reminders(&again), first);
    again.close().await;
}

/// Reads `a` and `b`, then changes `a` itself, then answers.
fn reads() -> Script {
    let path = |name: &str| json!({"file_path": name});
    let change = |command: &str| json!({"command": command});
    Script::new()
        .turn(|turn| turn.tool("read", path("a")).tool("read", path("b")))
        .turn(|turn| turn.tool("bash", change("echo more >> a")))
        .turn(|turn| turn.text("ok").repeat())
}

#[tokio::test]
async fn files_changed_by_hand_are_named_once_for_each_change() {
    let place = TestProject::new();
    let file = |name: &str| place.work().join(name);
    for name in ["a", "b"] {
        fs::write(file(name), "one\n").unwrap();
    }
    let mut open = place.open(SessionChoice::New, reads()).await;
    open.run("go").await;
    assert_eq!(reminders(&open), Vec::<String>::new());

    let told = |names: &str| {
        format!(
            "The user or another program has changed these files since you last saw them. Read what you still need; do not \
             undo these changes.\n{names}"
        )
    };
    fs::write(file("a"), "two\n").unwrap();
    fs::remove_file(file("b")).unwrap();
    open.run("on").await;
    assert_eq!(reminders(&open), [told("- a\n- b")]);
    // Only touched: the same contents.
    fs::write(file("a"), "two\n").unwrap();
    open.run("on").await;
    assert_eq!(reminders(&open).len(), 1);
    fs::write(file("a"), "three\n").unwrap();
    open.run("on").await;
    assert_eq!(reminders(&open), [told("- a\n- b"), told("- a")]);
    open.close().await;
}

/// The paths of the events about files that were changed outside of osier, and how many more there are.
fn changed_outside(events: &[Event]) -> Vec<(Vec<String>, u64)> {
    let found = events.iter().filter_map(|event| match event {
        Event::Checkpoint(CheckpointEvent::FilesChangedOutside { paths, more }) => {
            Some((paths.clone(), *more))
        }
        _ => None,
    });
    found.collect()
}

/// Writes `made`, changes `a` and answers.
fn changes() -> Script {
    let edit = json!({"file_path": "a", "old_string": "one", "new_string": "two"});
    let write = json!({"file_path": "made", "content": "new\n"});
    Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "a"})))
        .turn(|turn| turn.tool("edit", edit).tool("write", write))
        .turn(|turn| turn.text("ok").repeat())
}

/// Carries out a request about files.
async fn change_files(open: &mut OpenSession, op: CheckpointOp) {
    open.host.send(Op::Checkpoint(op));
    let restored = |event: &Event| {
        matches!(
            event,
            Event::Checkpoint(CheckpointEvent::FilesRestored { .. })
        )
    };
    open.until(restored).await;
}

#[tokio::test]
async fn files_that_osier_restored_were_not_changed_outside_of_it() {
    let restored = "The user has restored these files to an earlier state since you last saw them. Read what you still need; \
                    do not undo that.\n- a\n- made";
    let undo = |at| CheckpointOp::RestoreFiles { at, by_hand: false };
    let cases: [(bool, &[CheckpointOp], &[&str]); 4] = [
        // Only the files: the model still believes that it has changed them.
        (false, &[undo(FilesAt::LastPrompt)], &[restored]),
        (false, &[undo(FilesAt::Start)], &[restored]),
        (
            false,
            &[undo(FilesAt::LastPrompt), CheckpointOp::UndoRestore],
            &[],
        ),
        // The conversation as well: for the model the turn did not happen.
        (true, &[undo(FilesAt::Here)], &[]),
    ];
    for (goes_back, ops, expected) in cases {
        let place = TestProject::new();
        fs::write(place.work().join("a"), "one\n").unwrap();
        let mut open = place.open(SessionChoice::New, changes()).await;
        open.run("go").await;
        if goes_back {
            open.host.send(Op::Tree(TreeOp::MoveTo {
                last_prompt: false,
                entry_id: None,
                summarize: false,
                instructions: None,
                with_files: false,
            }));
            open.until(|event| matches!(event, Event::Tree(TreeEvent::Moved { .. })))
                .await;
        }
        for op in ops {
            change_files(&mut open, op.clone()).await;
        }
        let events = open.run("on").await;
        assert_eq!(changed_outside(&events), [], "{ops:?}");
        assert_eq!(reminders(&open), expected, "{ops:?}");
        open.close().await;
    }
}

#[tokio::test]
async fn clients_get_an_event_with_the_reminder_about_changed_files() {
    let place = TestProject::new();
    let names: Vec<String> = (10..33).map(|number| format!("f{number}")).collect();
    let read = names.iter().fold(Script::new(), |script, name| {
        fs::write(place.work().join(name), "one\n").unwrap();
        script.turn(|turn| turn.tool("read", json!({"file_path": name})))
    });
    let script = read.turn(|turn| turn.text("ok").repeat());
    let mut open = place.open(SessionChoice::New, script).await;
    assert_eq!(changed_outside(&open.run("go").await), []);

    fs::write(place.work().join("f12"), "two\n").unwrap();
    let events = open.run("on").await;
    assert_eq!(changed_outside(&events), [(vec!["f12".to_owned()], 0)]);
    // The event follows the prompt.
    let prompt = events.iter().position(|event| {
        matches!(event, Event::Agent(osier_agent::Event::MessageEnd { message, .. }) if matches!(**message, osier_agent::AgentMessage::User(_)))
    });
    let event = events
        .iter()
        .position(|event| matches!(event, Event::Checkpoint(_)));
    assert!(prompt.unwrap() < event.unwrap(), "{events:#?}");

    assert_eq!(changed_outside(&open.run("on").await), []);
    for name in &names {
        fs::write(place.work().join(name), "three\n").unwrap();
    }
    let events = open.run("on").await;
    assert_eq!(changed_outside(&events), [(names[..20].to_vec(), 3)]);
    open.close().await;
}

#[tokio::test]
async fn forgotten_to_do_list_is_named_after_twelve_answers() {
    let place = TestProject::new();
    let items = json!({"items": [
        {"text": "write", "state": "done"}, {"text": "test", "state": "open"}, {"text": "check", "state": "doing"},
    ]});
    let mut script = Script::new().turn(|turn| turn.tool("todo", items));
    for number in 0..26 {
        let command: Value = json!({"command": format!("echo {number}")});
        script = script.turn(|turn| turn.tool("bash", command));
    }
    let script = script.turn(|turn| turn.text("ok"));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("go").await;
    let text = "The to-do list still has open items and was not changed for a while. If it is outdated, update it with \
                `todo`; otherwise ignore this.\n- test\n- check";
    assert_eq!(reminders(&open), [text, text]);
    open.close().await;
}
