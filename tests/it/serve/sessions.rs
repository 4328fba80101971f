//! Sessions over HTTP requests: open, list, prompt, close and reopen.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Server, stored};
use crate::support::cli::{Home, without_time};

#[test]
fn session_is_opened_prompted_listed_closed_and_reopened() {
    let home = Home::new();
    let server = Server::start(&home);
    let status = server.http().get("/api/status").json();
    assert_eq!(status["name"], "osier");
    assert_eq!(status["protocol"], 1);
    assert_eq!(status["sessions"], 0);
    let models = server.http().get("/api/models").json();
    assert_eq!(models["models"].as_array().map(Vec::is_empty), Some(false));

    let id = server.open(&json!({"permissions": "ask"}));
    let mut run = server.http().events(
        "POST",
        &format!("/api/sessions/{id}/prompt"),
        &json!({"message": "hello"}).to_string(),
    );
    let events = run.until("agent_settled");
    let numbers: Vec<u64> = events.iter().filter_map(|(number, _)| *number).collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "{numbers:?}"
    );
    let said: String = events
        .iter()
        .filter_map(|(_, event)| event["delta"]["delta"].as_str())
        .collect();
    assert_eq!(said, "answer");
    assert_eq!(run.next(), None);

    let state = server.rpc(&id, &json!({"type": "get_state"}));
    assert_eq!(state["success"], true);
    assert_eq!(state["data"]["sessionId"], json!(id));
    assert_eq!(state["data"]["messageCount"], 2);
    assert_eq!(state["data"]["permissions"], "ask");

    let listed = server.http().get("/api/sessions").json();
    assert_eq!(listed["open"][0]["id"], json!(id));
    assert_eq!(listed["open"][0]["state"], "idle");
    assert_eq!(listed["open"][0]["firstPrompt"], "hello");
    assert_eq!(listed["stored"], json!([]));

    let path = format!("/api/sessions/{id}");
    assert_eq!(server.http().delete(&path).json(), json!({"closed": id}));
    assert_eq!(
        server.http().delete(&path).code(),
        (404, "unknown_session".into())
    );
    let listed = server.http().get("/api/sessions").json();
    assert_eq!(listed["open"], json!([]));
    assert_eq!(listed["stored"][0]["id"], json!(id));
    assert_eq!(listed["stored"][0]["firstPrompt"], "hello");
    // Opening it again returns the same session.
    let text = server.rpc(&id, &json!({"type": "get_last_assistant_text"}));
    assert_eq!(text["data"]["text"], "answer");
    let again = server.open(&json!({"session": id[..8]}));
    assert_eq!(again, id);
    assert_eq!(server.stop(), (Some(0), String::new()));
}

#[test]
fn a_new_name_does_not_change_the_order_of_sessions() {
    let home = Home::new();
    let server = Server::start(&home);
    let [first, second] = ["one", "two"].map(|prompt| {
        let id = server.open(&json!({}));
        let body = json!({"message": prompt}).to_string();
        let path = format!("/api/sessions/{id}/prompt");
        let mut events = server.http().events("POST", &path, &body);
        events.until("agent_settled");
        id
    });
    let listed = |list: &str| -> Vec<(String, Value)> {
        let listed = server.http().get("/api/sessions").json();
        let sessions = listed[list].as_array().expect("a list").iter();
        let row = |session: &Value| {
            (
                session["id"].as_str().expect("an id").to_owned(),
                session["name"].clone(),
            )
        };
        sessions.map(row).collect()
    };
    let named = json!({"type": "set_session_name", "name": "First"});
    assert_eq!(server.rpc(&first, &named)["success"], true);
    let expected = [
        (second.clone(), Value::Null),
        (first.clone(), json!("First")),
    ];
    assert_eq!(listed("open"), expected);
    for id in [&second, &first] {
        server.http().delete(&format!("/api/sessions/{id}"));
    }
    assert_eq!(listed("stored"), expected);
}

#[test]
fn closing_the_request_ends_the_run_only_on_request() {
    let home = Home::new();
    let server = Server::start(&home);
    for aborts in [true, false] {
        let id = server.open(&json!({}));
        let mut all = server
            .http()
            .events("GET", &format!("/api/sessions/{id}/events"), "");
        let path = format!("/api/sessions/{id}/prompt");
        let body = json!({"message": "zzslow", "abortOnClose": aborts}).to_string();
        let mut run = server.http().events("POST", &path, &body);
        run.until("message_update");
        drop(run);
        if !aborts {
            let state = server.rpc(&id, &json!({"type": "get_state"}));
            assert_eq!(state["data"]["isStreaming"], true);
            server.rpc(&id, &json!({"type": "abort"}));
        }
        let settled = all.until("agent_settled");
        let (_, last) = settled.last().unwrap();
        assert_eq!(last["outcome"]["type"], "interrupted");
    }
    let id = server.open(&json!({}));
    let path = format!("/api/sessions/{id}/prompt");
    let wrong = json!({"message": "hello", "abortOnClose": "yes"});
    assert_eq!(server.http().post(&path, &wrong).status, 400);
}

#[test]
fn every_event_is_available_by_number() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let path = format!("/api/sessions/{id}/events");
    let mut events = server.http().events("GET", &path, "");
    let (number, snapshot) = events.next().expect("how everything stands");
    assert_eq!(snapshot["type"], "snapshot");
    assert_eq!(snapshot["events"][0]["type"], "session_opened");
    let number = number.expect("a number");
    let prompt = json!({"type": "prompt", "message": "hello"});
    assert_eq!(server.rpc(&id, &prompt)["data"]["disposition"], "started");
    let first = events.until("agent_settled");
    // After a lost connection the browser sends the last event number.
    let replayed = server.http().header("last-event-id", &number.to_string());
    let second = replayed.events("GET", &path, "").until("agent_settled");
    let second: Vec<_> = second
        .into_iter()
        .filter(|(number, _)| number.is_some())
        .collect();
    assert_eq!(first, second);
    // The times, too.
    for (_, event) in &first {
        let _ = without_time(event);
    }
    let gap = server
        .http()
        .events("GET", &format!("{path}?after=1"), "")
        .until("replay_gap");
    let (_, gap) = gap.last().expect("a gap");
    let messages = gap["events"][0]["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 2);
    let wrong = server.http().get(&format!("{path}?after=x"));
    assert_eq!(wrong.code(), (400, "malformed".into()));
}

#[test]
fn session_uses_the_requested_directory() {
    let home = Home::new();
    let server = Server::start(&home);
    let other = home.work().join("other");
    std::fs::create_dir(&other).expect("a folder");
    let here = server.open(&json!({}));
    let there = server.open(&json!({"cwd": other}));
    let cwd = |id: &str| {
        let state = server.rpc(id, &json!({"type": "get_state"}));
        state["data"]["cwd"].as_str().map(str::to_owned)
    };
    let real = |path: &std::path::Path| {
        let path = path.canonicalize().expect("a path");
        Some(path.to_string_lossy().into_owned())
    };
    assert_eq!(cwd(&here), real(&home.work()));
    assert_eq!(cwd(&there), real(&other));
    for (wanted, code) in [
        (json!({"cwd": "relative"}), (400, "malformed")),
        (json!({"cwd": "/nowhere/at/all"}), (400, "no_directory")),
        (json!({"cwd": 1}), (400, "malformed")),
        (json!({"other": 1}), (400, "malformed")),
        (json!({"session": "ffffffff"}), (404, "unknown_session")),
        (json!({"session": "/etc/passwd"}), (400, "malformed")),
    ] {
        let answer = server.http().post("/api/sessions", &wanted);
        assert_eq!(answer.code(), (code.0, code.1.to_owned()), "{wanted}");
    }
}

#[test]
fn command_errors_have_http_statuses() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let path = format!("/api/sessions/{id}/rpc");
    let asked = |command: &Value| {
        let answer = server.http().post(&path, command);
        let code = answer.json()["code"].as_str().map(str::to_owned);
        (answer.status, code)
    };
    let code = |status, code: &str| (status, Some(code.to_owned()));
    assert_eq!(
        asked(&json!({"type": "no_such"})),
        code(400, "unknown_command")
    );
    assert_eq!(
        asked(&json!({"type": "prompt"})),
        code(400, "invalid_parameters")
    );
    assert_eq!(
        asked(&json!({"type": "hello", "protocol": 9})),
        code(400, "unsupported_protocol")
    );
    assert_eq!(asked(&json!({})), code(400, "parse"));
    assert_eq!(
        asked(&json!({"type": "set_model", "reference": "no/such"})),
        code(409, "refused")
    );
    let unknown = server
        .http()
        .post("/api/sessions/none/rpc", &json!({"type": "get_state"}));
    assert_eq!(unknown.code(), (404, "unknown_session".into()));
    let broken = server.http().ask("POST", &path, "{");
    assert_eq!(broken.code(), (400, "malformed".into()));
}

#[test]
fn signal_stops_runs_and_stores_sessions() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let mut run = server.http().events(
        "POST",
        &format!("/api/sessions/{id}/prompt"),
        &json!({"message": "zzslow"}).to_string(),
    );
    run.until("message_update");
    let listed = server.http().get("/api/sessions").json();
    assert_eq!(listed["open"][0]["state"], "working");
    server.running.signal(Signal::TERM);
    // The last events of the run come before the end of the stream.
    let settled = run.until("agent_settled").pop().expect("an end").1;
    assert_eq!(settled["outcome"]["type"], "interrupted");
    let (_, code, errors) = server.running.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let sessions = home.sessions();
    assert_eq!(sessions.len(), 1);
    assert!(stored(&sessions[0]).contains("begun"));
}

/// A session that is open keeps its model and permissions.
#[test]
fn options_of_an_open_session_are_refused() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let again = server.http().post("/api/sessions", &json!({"session": id}));
    assert_eq!(again.json()["id"], json!(id), "{again:?}");
    for (field, value) in [("model", "demo/tour"), ("permissions", "plan")] {
        let body = json!({"session": id, field: value});
        let answer = server.http().post("/api/sessions", &body);
        let text = format!("the session `{id}` is open: `{field}` has no effect");
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.text.contains(&text), "{}", answer.text);
    }
}

/// A field that a body or an address does not have is refused by name.
#[test]
fn unknown_fields_of_requests_are_refused() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let of_session = |path: &str| format!("/api/sessions/{id}/{path}");
    for (path, body) in [
        ("/api/sessions".to_owned(), json!({"extra": 1})),
        ("/api/markdown".to_owned(), json!({"texts": [], "extra": 1})),
        (
            "/api/markdown".to_owned(),
            json!({"texts": [{"text": "", "extra": 1}]}),
        ),
        ("/api/login".to_owned(), json!({"token": "x", "extra": 1})),
        (of_session("rpc"), json!({"type": "abort", "extra": 1})),
        (
            of_session("rpc"),
            json!({"type": "op", "op": {"type": "abort", "extra": 1}}),
        ),
        (of_session("prompt"), json!({"message": "x", "extra": 1})),
    ] {
        let answer = server.http().post(&path, &body);
        assert_eq!(answer.status, 400, "{path} {body}: {answer:?}");
        assert!(answer.text.contains("`extra`"), "{path}: {}", answer.text);
    }
    let address = server.http().get(&of_session("events?extra=1"));
    let kind = server.http().post(
        &of_session("prompt"),
        &json!({"type": "abort", "message": "x"}),
    );
    for (answer, named) in [(address, "`extra`"), (kind, "`type`")] {
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.text.contains(named), "{}", answer.text);
    }
}
