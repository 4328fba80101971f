//! Stored sessions: contents, resuming, commands of the user.

mod commands;
mod durability;

use std::path::PathBuf;

use osier_agent::RunOutcome;
use osier_llm::Script;
use osier_llm::scripted::Hold;
use osier_protocol::{Event, Op, Opening};
use osier_session::{SessionChoice, SessionSetup};
use serde_json::{Value, json};

use crate::support::cli::lines_of;
use crate::support::session::{OpenSession, TestProject};

/// `type role: text` of every entry, with the line of its parent (0 is the header).
fn shape(path: &std::path::Path) -> Vec<String> {
    let lines = lines_of(path);
    let place = |id: &Value| match id.as_str() {
        Some(id) => lines
            .iter()
            .position(|line| line["id"] == id)
            .unwrap_or(0)
            .to_string(),
        None => "root".into(),
    };
    let entries = lines.iter().skip(1);
    entries
        .map(|entry| {
            let message = &entry["message"];
            let text = match message["role"].as_str() {
                Some("assistant" | "toolResult") => message["content"][0]["text"].clone(),
                Some("shellRun") => message["output"].clone(),
                _ => message["text"].clone(),
            };
            let rest = match entry["type"].as_str() {
                Some("message") => format!("{}: {text}", message["role"].as_str().unwrap()),
                Some("model_change") => format!("{}/{}", entry["provider"], entry["modelId"]),
                Some("session_info") => entry["name"].to_string(),
                _ => String::new(),
            };
            let kind = entry["type"].as_str().unwrap();
            format!("{} {kind} {rest}", place(&entry["parentId"])).replace('"', "")
        })
        .collect()
}

#[tokio::test]
async fn run_stores_a_header_and_linked_entries() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| {
            turn.text("Looking.")
                .tool("bash", json!({"command": "printf hi"}))
        })
        .turn(|turn| turn.text("It says hi."));
    let mut open = place.open(SessionChoice::New, script).await;
    assert!(
        !open.path().exists(),
        "nothing is written before the first message"
    );
    open.run("look").await;
    let path = open.path();
    let header = &lines_of(&path)[0];
    assert_eq!(
        (
            &header["type"],
            &header["version"],
            &header["cwd"],
            &header["id"]
        ),
        (
            &json!("osier_session"),
            &json!(1),
            &json!(place.work()),
            &json!(open.session.id)
        )
    );
    assert_eq!(
        shape(&path),
        [
            "root message user: look",
            "1 message assistant: Looking.",
            "2 checkpoint ",
            "3 message toolResult: hi",
            "4 message assistant: It says hi.",
        ]
    );
    open.close().await;
}

#[tokio::test]
async fn resumed_session_continues_the_conversation() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, Script::always("one")).await;
    open.run("first").await;
    let (path, id) = (open.path(), open.session.id.clone());
    open.close().await;
    for choice in [
        SessionChoice::Continue,
        SessionChoice::Resume(id[..13].to_owned()),
        SessionChoice::Resume(path.to_string_lossy().into_owned()),
        SessionChoice::File(path.clone()),
    ] {
        let mut open = place.open(choice, Script::always("again")).await;
        assert_eq!((open.path(), open.session.resumed), (path.clone(), true));
        open.run("more").await;
        assert_eq!(open.last_request()[..2], ["user: first", "assistant: one"]);
        open.close().await;
    }
    let shape = shape(&path);
    assert_eq!(shape.len(), 10);
    assert_eq!(shape[9], "9 message assistant: again");
}

#[tokio::test]
async fn session_file_can_be_named_or_not_stored() {
    let place = TestProject::new();
    let mut open = place
        .open(SessionChoice::Unstored, Script::always("gone"))
        .await;
    open.run("hi").await;
    assert_eq!(open.session.path, None);
    open.host.send(Op::NewSession);
    open.opened().await;
    open.run("hi again").await;
    open.close().await;
    assert!(!place.data().exists());

    let path = place.work().join("mine.jsonl");
    let choice = SessionChoice::File(path.clone());
    let mut open = place.open(choice, Script::always("kept")).await;
    open.run("hi").await;
    open.close().await;
    assert_eq!(
        shape(&path),
        ["root message user: hi", "1 message assistant: kept"]
    );
}

/// Writes a script to the working directory; its model is `script/NAME`.
fn script_file(place: &TestProject, name: &str, text: &str) -> String {
    let script = json!({"turns": [{"repeat": true, "steps": [{"text": text}]}]});
    let mut file = std::fs::File::create(place.work().join(name)).unwrap();
    std::io::Write::write_all(&mut file, script.to_string().as_bytes()).unwrap();
    format!("script/{name}")
}

fn selected(events: &[Event]) -> Vec<String> {
    let reference = |event: &Event| match event {
        Event::ModelSelected { model, .. } => Some(model.reference()),
        _ => None,
    };
    events.iter().filter_map(reference).collect()
}

#[tokio::test]
async fn selected_model_answers_next_and_is_stored() {
    let place = TestProject::new();
    let other = script_file(&place, "other.json", "from the other");
    let gate = Hold::new();
    let script = Script::new().turn(|turn| {
        turn.text("begun")
            .gate(&gate)
            .tool("bash", json!({"command": "true"}))
    });
    let mut open = place.open(SessionChoice::New, script).await;
    open.prompt("go");
    open.said("begun").await;
    open.host.send(Op::SelectModel {
        reference: other.clone(),
    });
    let events = open
        .until(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::ThinkingLevelChanged { .. })
            )
        })
        .await;
    assert_eq!(selected(&events), [other.as_str()]);
    gate.open();
    open.settled().await;
    let path = open.path();
    assert_eq!(
        shape(&path),
        [
            "root message user: go",
            "1 model_change script/other.json",
            "2 message assistant: begun",
            "3 checkpoint ",
            "4 message toolResult: ",
            "5 message assistant: from the other",
        ]
        .map(|line| line.replace("toolResult: ", "toolResult: (no output)"))
    );
    assert_eq!(open.provider.requests().len(), 1);
    open.close().await;

    let name = |setup: &mut SessionSetup| setup.fallback = vec![other.clone()];
    let mut open = place
        .open_with(SessionChoice::Continue, Script::new(), name)
        .await;
    let events = open.run("once more").await;
    let outcome = events.last().cloned();
    assert_eq!(
        outcome,
        Some(Event::Agent(osier_agent::Event::AgentSettled {
            outcome: RunOutcome::Completed
        }))
    );
    assert_eq!(
        open.provider.requests().len(),
        0,
        "the remembered model answers"
    );
    open.close().await;
}

async fn shell(open: &mut OpenSession, command: &str, exclude_from_context: bool) {
    open.host.send(Op::Shell {
        command: command.into(),
        exclude_from_context,
    });
    open.until(|event| matches!(event, Event::ShellEnd { .. }))
        .await;
    // The result is a message of the conversation like any other.
    open.until(|event| matches!(event, Event::Agent(osier_agent::Event::MessageEnd { .. })))
        .await;
}

#[tokio::test]
async fn user_command_is_sent_to_the_model_unless_excluded() {
    let place = TestProject::new();
    let mut open = place
        .open(SessionChoice::New, Script::always("I see"))
        .await;
    shell(&mut open, "printf for-both; exit 3", false).await;
    shell(&mut open, "printf for-me", true).await;
    open.run("what did I do?").await;
    assert_eq!(
        open.last_request(),
        [
            "user: I ran `printf for-both; exit 3` (exit code 3):\n```\nfor-both\n```",
            "user: what did I do?",
        ]
    );
    assert_eq!(
        shape(&open.path()),
        [
            "root message shellRun: for-both",
            "1 message shellRun: for-me",
            "2 message user: what did I do?",
            "3 message assistant: I see",
        ]
    );
    open.close().await;
}

#[tokio::test]
async fn interrupt_stops_the_user_command() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, Script::new()).await;
    open.host.send(Op::Shell {
        command: "echo begun; sleep 600".into(),
        exclude_from_context: false,
    });
    open.until(
        |event| matches!(event, Event::ShellUpdate { output, .. } if output.text.contains("begun")),
    )
    .await;
    open.host.send(osier_agent::Op::Abort.into());
    let events = open
        .until(|event| matches!(event, Event::ShellEnd { .. }))
        .await;
    let Some(Event::ShellEnd { run, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!((run.cancelled, run.output.trim_end()), (true, "begun"));
    open.close().await;
}

#[tokio::test]
async fn new_session_interrupts_the_run_and_stores_the_partial_answer() {
    let place = TestProject::new();
    let never = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("half of it").gate(&never))
        .turn(|turn| turn.text("fresh"));
    let mut open = place.open(SessionChoice::New, script).await;
    open.prompt("go");
    open.said("of it").await;
    let before = open.path();
    open.host.send(Op::NewSession);
    let events = open.opened().await;
    let outcome = events.iter().find_map(|event| match event {
        Event::Agent(osier_agent::Event::AgentSettled { outcome }) => Some(outcome.clone()),
        _ => None,
    });
    assert_eq!(outcome, Some(RunOutcome::Interrupted));
    assert_ne!(open.path(), before);
    assert_eq!(
        shape(&before),
        ["root message user: go", "1 message assistant: half of it"]
    );
    open.run("again").await;
    assert_eq!(open.last_request(), ["user: again"]);
    open.close().await;
}

#[tokio::test]
async fn prompt_directly_before_a_new_session_is_stored() {
    let place = TestProject::new();
    let script = Script::always("answered");
    for _ in 0..20 {
        let mut open = place.open(SessionChoice::New, script.clone()).await;
        let before = open.path();
        open.prompt("go");
        open.host.send(Op::NewSession);
        let events = open.opened().await;
        let failed = events.iter().find(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::AgentSettled {
                    outcome: RunOutcome::Stopped { .. }
                })
            )
        });
        assert_eq!(failed, None);
        assert_eq!(shape(&before)[0], "root message user: go");
        open.close().await;
    }
}

#[tokio::test]
async fn last_session_name_applies() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, Script::always("ok")).await;
    open.run("hi").await;
    for name in ["draft", "  the real name "] {
        open.host.send(Op::RenameSession { name: name.into() });
        let name = Some(name.trim().to_owned());
        open.until(|event| *event == Event::SessionRenamed { name: name.clone() })
            .await;
    }
    open.host.send(Op::ListSessions {
        all: false,
        limit: None,
    });
    let events = open
        .until(|event| matches!(event, Event::Sessions { .. }))
        .await;
    let Some(Event::Sessions { sessions, .. }) = events.last() else {
        panic!("{events:?}");
    };
    let shown: Vec<_> = sessions
        .iter()
        .map(|session| (session.name.as_deref(), session.first_prompt.as_deref()))
        .collect();
    assert_eq!(shown, [(Some("the real name"), Some("hi"))]);
    open.close().await;
    let open = place.open(SessionChoice::Continue, Script::new()).await;
    assert_eq!(open.session.name.as_deref(), Some("the real name"));
    open.close().await;
}

#[tokio::test]
async fn missing_session_is_an_error_and_a_new_one_can_be_opened() {
    let place = TestProject::new();
    let open = place.open(SessionChoice::New, Script::new()).await;
    let mut open = open;
    open.host.send(Op::ResumeSession {
        target: "0000".into(),
        opening: Opening::Itself,
    });
    let events = open
        .until(|event| matches!(event, Event::Notice { .. }))
        .await;
    let Some(Event::Notice { text, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(
        text,
        "no session matches `0000`; list the sessions with `osier sessions`"
    );
    let path: PathBuf = open.path();
    open.close().await;
    assert!(!path.exists());
}

/// Exit stops the user's command; its output is stored.
#[tokio::test]
async fn user_command_running_at_exit_is_stored() {
    let place = TestProject::new();
    let mut open = place.open(SessionChoice::New, Script::always("one")).await;
    open.run("first").await;
    let path = open.path();
    open.host.send(Op::Shell {
        command: "echo begun; cat /dev/zero | tail".into(),
        exclude_from_context: false,
    });
    open.until(
        |event| matches!(event, Event::ShellUpdate { output, .. } if output.text.contains("begun")),
    )
    .await;
    open.close().await;
    let stored = shape(&path);
    assert_eq!(stored.len(), 3, "{stored:?}");
    assert!(
        stored[2].starts_with("2 message shellRun: begun"),
        "{stored:?}"
    );
}
