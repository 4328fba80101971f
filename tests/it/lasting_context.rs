//! Features that keep a conversation useful for long: titles and checks by a small model, files that are shown again
//! after a compaction, and results that requests leave out.

use std::path::Path;

use osier_agent::CompactionOutcome;
use osier_llm::Script;
use osier_protocol::{EntryKind, Event, Op, TreeEvent, TreeOp};
use osier_session::{SessionChoice, SessionSetup};
use osier_store::LEFT_OUT;
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};
use crate::support::web_server::{ReceivedRequest, WebServer, events};

const SUMMARY: &str = "## Goal\nparse dates";

fn ended(delta: &Value, reason: &str) -> Vec<u8> {
    events(&[
        json!({"choices": [{"index": 0, "delta": delta}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 5}}),
    ])
}

fn says(text: &str) -> Vec<u8> {
    ended(&json!({"content": text}), "stop")
}

fn calls(calls: &[(&str, Value)]) -> Vec<u8> {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"index": index, "id": format!("{name}{index}"), "type": "function", "function": function})
    });
    ended(
        &json!({"tool_calls": calls.collect::<Vec<_>>()}),
        "tool_calls",
    )
}

fn model_of(asked: &ReceivedRequest) -> String {
    asked.json()["model"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The contents of the messages of a request.
fn contents(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let texts = messages.map(|message| match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    texts.collect()
}

/// A session with the models `here/a` and `here/small` of `server`.
async fn open(
    place: &TestProject,
    server: &WebServer,
    choice: SessionChoice,
    change: impl FnOnce(&mut SessionSetup),
) -> OpenSession {
    let model = |id: &str| json!({"id": id, "contextWindow": 200_000, "maxTokens": 8_000});
    let models = json!({"providers": {"here": {
        "baseUrl": server.url(), "api": "openai-chat-completions", "apiKey": "sk-test-key",
        "models": [model("a"), model("small")],
    }}});
    std::fs::create_dir_all(place.data()).unwrap();
    write(&place.data().join("models.json"), &models.to_string());
    place
        .open_with(choice, Script::default(), |setup| {
            setup.model = Some("here/a".to_owned());
            setup.settings.small_model = Some("here/small".to_owned());
            setup.tools = Some(["read", "write", "todo"].map(str::to_owned).into());
            change(setup);
        })
        .await
}

fn write(path: &Path, text: &str) {
    osier_base::atomic_file::write(path, text.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_small_model_writes_the_title_of_a_new_session() {
    let server = WebServer::start(|asked, _| match model_of(asked).as_str() {
        "small" => says("\n**Fix the \u{1b}[31mdate parser.**\nIt is a good title."),
        _ => says("done"),
    });
    let place = TestProject::new();
    let choice = SessionChoice::New;
    let mut session = open(&place, &server, choice, |setup| {
        setup.answers_questions = true;
    })
    .await;
    session.run("hello").await;
    session.prompt("The parser of dates fails on leap years.");
    let seen = session
        .until(|event| matches!(event, Event::SessionRenamed { .. }))
        .await;
    let name = "Fix the ^[[31mdate parser".to_owned();
    assert_eq!(
        seen.last(),
        Some(&Event::SessionRenamed { name: Some(name) })
    );
    let asked = server.asked();
    let titles: Vec<Value> = asked
        .iter()
        .filter(|asked| model_of(asked) == "small")
        .map(ReceivedRequest::json)
        .collect();
    assert_eq!(titles.len(), 1, "a short prompt gets no title");
    assert_eq!(
        contents(&titles[0])[1],
        "<prompt>\nThe parser of dates fails on leap years.\n</prompt>"
    );
    let path = session.path();
    session.close().await;
    let stored = std::fs::read_to_string(path).unwrap();
    assert!(stored.contains("\"kind\":\"title\""), "{stored}");
}

#[tokio::test]
async fn a_name_of_the_user_stays() {
    let server = WebServer::start(|_, _| says("done"));
    let place = TestProject::new();
    let choice = SessionChoice::New;
    let mut session = open(&place, &server, choice, |setup| {
        setup.answers_questions = true;
    })
    .await;
    session.host.send(Op::RenameSession {
        name: "mine".to_owned(),
    });
    session
        .run("The parser of dates fails on leap years.")
        .await;
    session.close().await;
    let models: Vec<String> = server.asked().iter().map(model_of).collect();
    assert_eq!(models, ["a"]);
}

/// Reads and writes files and makes a list, then answers; the small model summarises and checks.
fn works(asked: &ReceivedRequest, before: usize) -> Vec<u8> {
    let body = asked.body.as_str();
    match before {
        _ if body.contains("You check a summary") => says("- never touch `vendor/`\n"),
        _ if body.contains("Use exactly these headings") => says(SUMMARY),
        0 => calls(&[
            (
                "todo",
                json!({"items": [{"text": "parse", "state": "done"}, {"text": "print", "state": "open"}]}),
            ),
            ("read", json!({"file_path": "notes.txt"})),
            ("write", json!({"file_path": "out.txt", "content": "new\n"})),
            (
                "write",
                json!({"file_path": "secret.txt", "content": "hidden\n"}),
            ),
        ]),
        _ => says("done"),
    }
}

#[tokio::test]
async fn a_summary_is_checked_and_the_files_in_use_are_shown_again() {
    let server = WebServer::start(works);
    let place = TestProject::new();
    write(&place.work().join("notes.txt"), "milk\n</file>\n");
    let mut session = open(&place, &server, SessionChoice::New, |setup| {
        setup.settings.deny = vec!["read(secret.txt)".to_owned()];
    })
    .await;
    session.run("Parse dates. Never touch `vendor/`.").await;
    session.host.send(Op::Tree(TreeOp::Compact {
        instructions: None,
        review: false,
        up_to: None,
    }));
    session
        .until(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::CompactionEnd { .. })
            )
        })
        .await;
    let summary = "## Goal\nparse dates\n\n## Also\n- never touch `vendor/`\n\n## Open to-dos\n- print\n\n## Request in progress\n\
                   Parse dates. Never touch `vendor/`.\n\n<read-files>\nnotes.txt\n\
                   </read-files>\n\n<modified-files>\nout.txt\nsecret.txt\n</modified-files>";
    let asked = server.asked();
    let models: Vec<String> = asked.iter().map(model_of).collect();
    assert_eq!(models, ["a", "a", "small", "small"]);
    let question = &contents(&asked[3].json())[1];
    assert!(
        question.starts_with(
            "<prompt>\nParse dates. Never touch `vendor/`.\n</prompt>\n<open-todos>\n- print\n</open-todos>\n\
             <changed-files>\nout.txt\nsecret.txt\n</changed-files>\n<summary>\n## Goal\nparse dates\n</summary>\n"
        ),
        "{question}"
    );
    session.run("Go on.").await;
    let sent = contents(&server.asked()[4].json());
    assert!(sent[1].contains(summary), "{}", sent[1]);
    assert!(
        sent.contains(
            &"The files that you worked with last, as they are now:\n<file path=\"out.txt\">\n1\tnew\n</file>\n\
              <file path=\"notes.txt\">\n1\tmilk\n2\t</file>\n</file>\n"
                .to_owned()
        ),
        "{sent:#?}"
    );
    session.close().await;
}

#[tokio::test]
async fn when_the_small_model_fails_the_model_of_the_session_writes_the_summary() {
    let server = WebServer::start(|asked, before| match model_of(asked).as_str() {
        "small" => says(""),
        _ => works(asked, before),
    });
    let place = TestProject::new();
    let mut session = open(&place, &server, SessionChoice::New, |_| ()).await;
    session.run("Parse dates.").await;
    session.host.send(Op::Tree(TreeOp::Compact {
        instructions: None,
        review: false,
        up_to: None,
    }));
    let seen = session
        .until(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::CompactionEnd { .. })
            )
        })
        .await;
    let notices: Vec<&str> = seen
        .iter()
        .filter_map(|event| match event {
            Event::Agent(osier_agent::Event::Notice { text, .. }) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        [
            "the model `here/small` failed to write a summary: the answer is empty; `here/a` writes it instead"
        ]
    );
    let Some(Event::Agent(osier_agent::Event::CompactionEnd {
        outcome: CompactionOutcome::Done { summary, .. },
        ..
    })) = seen.last()
    else {
        panic!("{:?}", seen.last());
    };
    assert!(summary.starts_with(SUMMARY), "{summary}");
    let models: Vec<String> = server.asked().iter().map(model_of).collect();
    assert_eq!(models, ["a", "a", "small", "a", "small"]);
    session.close().await;
}

/// Reads `long.txt` twice, then answers.
fn reads_twice(_: &ReceivedRequest, before: usize) -> Vec<u8> {
    match before {
        0 | 1 => calls(&[("read", json!({"file_path": "long.txt"}))]),
        _ => says("done"),
    }
}

/// Moves the answers in a session file back by two hours.
fn make_older(path: &Path) {
    let stored = std::fs::read_to_string(path).unwrap();
    let lines = stored.lines().map(|line| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let message = &mut entry["message"];
        if message["role"] == "assistant" {
            let time = message["timestamp"].as_i64().unwrap();
            message["timestamp"] = json!(time - 7_200_000);
            entry.to_string()
        } else {
            line.to_owned()
        }
    });
    let lines: Vec<String> = lines.collect();
    write(path, &(lines.join("\n") + "\n"));
}

async fn context(session: &mut OpenSession) -> ((usize, u64), (usize, u64)) {
    session.host.send(Op::Tree(TreeOp::GetContext));
    let mut seen = session
        .until(|event| matches!(event, Event::Tree(TreeEvent::ContextReport { .. })))
        .await;
    let Some(Event::Tree(TreeEvent::ContextReport { report, .. })) = seen.pop() else {
        unreachable!()
    };
    (report.dropped, report.droppable)
}

#[tokio::test]
async fn results_that_were_read_again_are_left_out_once_the_cache_has_expired() {
    let server = WebServer::start(reads_twice);
    let place = TestProject::new();
    let text = "twelve bytes".repeat(10) + "\n";
    write(&place.work().join("long.txt"), &text.repeat(100));
    let mut session = open(&place, &server, SessionChoice::New, |_| ()).await;
    session.run("Read it.").await;
    session.run("Go on.").await;
    let both = server.asked()[3].body.matches("twelve bytestwelve").count();
    assert_eq!(both, 1_000, "the cache is warm");
    let ((none, _), (count, tokens)) = context(&mut session).await;
    assert_eq!((none, count), (0, 1));
    let path = session.path();
    session.close().await;
    make_older(&path);
    let resume = || SessionChoice::Resume(path.to_string_lossy().into_owned());
    let mut session = open(&place, &server, resume(), |_| ()).await;
    session.run("Go on two hours later.").await;
    let (dropped, left) = context(&mut session).await;
    assert_eq!((dropped.0, left), (1, (0, 0)));
    assert!(
        dropped.1.abs_diff(tokens) < tokens / 10,
        "{dropped:?} {tokens}"
    );
    session.close().await;
    // The decision holds in the next process, and the file still has both results.
    let mut session = open(&place, &server, resume(), |_| ()).await;
    session.run("Continue.").await;
    session.close().await;
    for request in &server.asked()[4..] {
        let sent = contents(&request.json());
        assert_eq!(
            sent.iter().filter(|text| *text == LEFT_OUT).count(),
            1,
            "{sent:#?}"
        );
        let whole = sent.iter().filter(|text| text.contains("twelve bytes"));
        assert_eq!(whole.count(), 1, "{sent:#?}");
    }
    let stored = std::fs::read_to_string(path).unwrap();
    let entries = stored
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let kinds: Vec<EntryKind> = entries
        .filter_map(|entry: osier_protocol::Entry| match entry.kind {
            kind @ EntryKind::DroppedResults { .. } => Some(kind),
            _ => None,
        })
        .collect();
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    assert_eq!(stored.matches("twelve bytestwelve").count(), 1_000);
}

#[tokio::test]
async fn nothing_is_left_out_when_the_setting_is_off() {
    let server = WebServer::start(reads_twice);
    let place = TestProject::new();
    let text = "twelve bytes".repeat(10) + "\n";
    write(&place.work().join("long.txt"), &text.repeat(100));
    let mut session = open(&place, &server, SessionChoice::New, |setup| {
        setup.settings.drop_results = false;
    })
    .await;
    session.run("Read it.").await;
    let path = session.path();
    session.close().await;
    make_older(&path);
    let choice = SessionChoice::Resume(path.to_string_lossy().into_owned());
    let mut session = open(&place, &server, choice, |setup| {
        setup.settings.drop_results = false;
    })
    .await;
    session.run("Go on.").await;
    assert_eq!(context(&mut session).await, ((0, 0), (0, 0)));
    session.close().await;
}
