//! Calls are prepared once: what was judged is what runs, whatever the number of calls, and nobody is asked about a call that
//! would fail.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::fmt::Write as _;

use osier_agent::ToolStatus;
use osier_llm::Script;
use osier_protocol::questions::{Answer, Grant, Question};
use osier_protocol::{Event, Op, PermissionMode};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};

/// A model that makes these calls in one answer.
fn at_once(calls: &[(&str, Value)]) -> Script {
    let script = Script::new().turn(|turn| {
        calls.iter().fold(turn, |turn, (name, arguments)| {
            turn.tool(name, arguments.clone())
        })
    });
    script.turn(|turn| turn.text("done").repeat())
}

/// The status and text of each result, in the order in which the calls ended.
fn results(events: &[Event]) -> Vec<(ToolStatus, String)> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => {
            let content = result.result.content.iter();
            let text = content.filter_map(|block| block.as_text()).collect();
            Some((result.status.clone(), text))
        }
        _ => None,
    });
    ends.collect()
}

async fn open(place: &TestProject, calls: &[(&str, Value)], mode: PermissionMode) -> OpenSession {
    place
        .open_with(SessionChoice::Unstored, at_once(calls), |setup| {
            setup.permissions = Some(mode);
            setup.answers_questions = true;
        })
        .await
}

/// Answers every question with yes. Returns the questions and the results.
async fn allowed(
    place: &TestProject,
    calls: &[(&str, Value)],
) -> (Vec<Question>, Vec<(ToolStatus, String)>) {
    let mut open = open(place, calls, PermissionMode::Ask).await;
    open.prompt("go");
    let (mut questions, mut all) = (Vec::new(), Vec::new());
    loop {
        let seen = open
            .until(|event| {
                matches!(
                    event,
                    Event::QuestionAsked { .. }
                        | Event::Agent(osier_agent::Event::AgentSettled { .. })
                )
            })
            .await;
        all.extend(seen);
        let Some(Event::QuestionAsked { question }) = all.last() else {
            return (questions, results(&all));
        };
        questions.push((**question).clone());
        let id = question.id.clone();
        let answer = Answer::Allow {
            grant: Grant::Once,
            arguments: None,
        };
        open.host.send(Op::AnswerQuestion { id, answer });
    }
}

#[tokio::test]
async fn three_hundred_calls_of_one_answer_all_run() {
    let place = TestProject::new();
    let write = |number: usize| {
        let arguments =
            json!({"file_path": format!("f{number}.txt"), "content": format!("{number}\n")});
        ("write", arguments)
    };
    let calls: Vec<_> = (0..300).map(write).collect();
    let mut open = open(&place, &calls, PermissionMode::Yolo).await;
    let results = results(&open.run("go").await);
    assert_eq!(results.len(), 300);
    for (status, text) in results {
        assert_eq!(status, ToolStatus::Success, "{text}");
    }
    for number in 0..300 {
        let text = std::fs::read_to_string(place.work().join(format!("f{number}.txt"))).unwrap();
        assert_eq!(text, format!("{number}\n"));
    }
}

#[tokio::test]
async fn three_patches_of_a_hundred_files_are_complete() {
    let place = TestProject::new();
    let patch = |patch: usize| {
        let mut input = "*** Begin Patch\n".to_owned();
        for file in 0..100 {
            writeln!(input, "*** Add File: p{patch}/f{file}.txt\n+{patch} {file}").unwrap();
        }
        input.push_str("*** End Patch\n");
        ("apply_patch", json!({ "input": input }))
    };
    let calls: Vec<_> = (0..3).map(patch).collect();
    let mut open = open(&place, &calls, PermissionMode::Yolo).await;
    for (status, text) in results(&open.run("go").await) {
        assert_eq!(status, ToolStatus::Success, "{text}");
    }
    for patch in 0..3 {
        for file in 0..100 {
            let path = place.work().join(format!("p{patch}/f{file}.txt"));
            let text = std::fs::read_to_string(path).unwrap();
            assert_eq!(text, format!("{patch} {file}\n"));
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_about_a_change_that_cannot_apply() {
    let place = TestProject::new();
    std::fs::write(place.work().join("a.txt"), "one\n").unwrap();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-nine\n+two\n*** End Patch\n";
    let calls = [
        (
            "edit",
            json!({"file_path": "a.txt", "old_string": "nine", "new_string": "two"}),
        ),
        ("write", json!({"file_path": "a.txt", "content": "two\n"})),
        ("apply_patch", json!({ "input": patch })),
        ("apply_patch", json!({"input": "no patch"})),
    ];
    for call in calls {
        let (questions, results) = allowed(&place, &[call]).await;
        assert_eq!(questions, [], "{results:?}");
        assert!(!results[0].0.is_success(), "{results:?}");
        let text = std::fs::read_to_string(place.work().join("a.txt")).unwrap();
        assert_eq!(text, "one\n");
    }
}

/// An earlier call of the same answer can be what makes a change possible.
#[tokio::test]
async fn a_change_of_what_an_earlier_call_writes_is_asked_about() {
    let place = TestProject::new();
    let calls = [
        ("write", json!({"file_path": "a.txt", "content": "one\n"})),
        (
            "edit",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
        ),
    ];
    let (questions, results) = allowed(&place, &calls).await;
    assert_eq!(questions.len(), 2);
    for (status, text) in results {
        assert_eq!(status, ToolStatus::Success, "{text}");
    }
    let text = std::fs::read_to_string(place.work().join("a.txt")).unwrap();
    assert_eq!(text, "two\n");
}

/// The attack: an edit that cannot apply would show the closest text of a file that the model may not read.
#[tokio::test]
async fn a_failing_edit_shows_nothing_of_a_secret_before_it_is_allowed() {
    let place = TestProject::new();
    std::fs::write(place.work().join(".env"), "TOKEN=sesame-open\n").unwrap();
    let edit = json!({"file_path": ".env", "old_string": "TOKEN=sesame", "new_string": "x=1", "replace_all": true});
    let other =
        json!({"file_path": ".env", "old_string": "TOKEN=sesame-closed", "new_string": "x=1"});
    for arguments in [edit, other] {
        let calls = [("edit", arguments)];
        let mut open = open(&place, &calls, PermissionMode::Ask).await;
        open.prompt("go");
        let seen = open
            .until(|event| matches!(event, Event::QuestionAsked { .. }))
            .await;
        assert_eq!(results(&seen), []);
        let Some(Event::QuestionAsked { question }) = seen.last() else {
            panic!("nothing was asked");
        };
        let (id, reason) = (question.id.clone(), None);
        let answer = Answer::Refuse { reason };
        open.host.send(Op::AnswerQuestion { id, answer });
        let ended = results(&open.settled().await);
        assert!(matches!(ended[0].0, ToolStatus::Denied { .. }), "{ended:?}");
        assert!(!ended[0].1.contains("sesame-open"), "{ended:?}");
    }
}

/// The attack: a line for a shell is typed in two calls of one answer, neither of which is the line that runs.
#[tokio::test]
async fn a_line_that_earlier_input_changes_is_not_typed() {
    let place = TestProject::new();
    std::fs::write(place.work().join("kept"), "x").unwrap();
    let shell = json!({"command": "exec bash --norc --noprofile", "terminal": true});
    let script = Script::new()
        .turn(|turn| turn.tool("bash", shell))
        .turn(|turn| {
            turn.tool("terminal", json!({"id": "term1", "text": "rm -f "}))
                .tool("terminal", json!({"id": "term1", "text": "kept\n"}))
        })
        .turn(|turn| turn.text("done").repeat());
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.permissions = Some(PermissionMode::Yolo);
            setup.settings.deny = vec!["bash(rm *)".to_owned()];
            setup.settings.allow = vec!["bash(exec bash --norc --noprofile)".to_owned()];
        })
        .await;
    let results = results(&open.run("go").await);
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(results[2].1.contains("nothing was typed"), "{results:?}");
    assert!(place.work().join("kept").exists());
}
