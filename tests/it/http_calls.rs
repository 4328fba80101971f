//! The program with a model server over HTTP: order of requests, faults, and error messages.

use osier_agent::Op;
use osier_llm::Script;
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::model_server::{Answer, Gate, Server};
use crate::support::session::TestProject;

/// A home whose only custom model is that of the server.
fn home_of(server: &Server) -> Home {
    let home = Home::new();
    home.config("models.json", server.models_json());
    home
}

/// Runs one prompt in print mode with these answers; the port is replaced in the output.
fn ask<const N: usize>(answers: [Answer; N]) -> (ProgramOutput, Server) {
    let server = Server::start(answers);
    let home = home_of(&server);
    let cli = home
        .cli()
        .args(["--model", "here/m", "--tools", "bash", "-p", "hello"]);
    let ended = cli.run();
    let ended = ProgramOutput {
        stderr: server.normal(&ended.stderr),
        ..ended
    };
    (ended, server)
}

/// The roles and texts of a request's messages.
fn said(request: &Value) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => String::new(),
    };
    let messages = request["messages"].as_array().expect("messages").iter();
    messages
        .map(|message| {
            let role = message["role"].as_str().expect("a role").to_owned();
            (role, text(&message["content"]))
        })
        .filter(|(role, _)| role != "system")
        .collect()
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.into(), text.into())
}

#[test]
fn an_answer_is_streamed_over_http() {
    let (ended, server) = ask([Answer::stream().text("Hello ").text("yourself.").done()]);
    assert_eq!(ended, ProgramOutput::new(0, "Hello yourself.\n", ""));
    let request = &server.requests()[0];
    assert_eq!(request["model"], "m");
    assert_eq!(request["stream"], true);
    assert_eq!(said(request), [pair("user", "hello")]);
    assert_eq!(request["tools"][0]["function"]["name"], "bash");
}

#[test]
fn tool_result_is_in_the_next_request() {
    let call = Answer::stream().text("Let me see.").call(
        "call_1",
        "bash",
        &json!({"command": "echo from the shell"}),
    );
    let (ended, server) = ask([call, Answer::says("seen")]);
    assert_eq!(ended, ProgramOutput::new(0, "seen\n", ""));
    let second = &server.requests()[1];
    let messages = second["messages"].as_array().unwrap();
    let result = messages.last().unwrap();
    assert_eq!(result["role"], "tool");
    assert_eq!(result["tool_call_id"], "call_1");
    assert_eq!(
        said(second),
        [
            pair("user", "hello"),
            pair("assistant", "Let me see."),
            pair("tool", "from the shell\n"),
        ]
    );
}

#[test]
fn message_during_an_answer_is_in_the_next_request() {
    let gate = Gate::new();
    let server = Server::start([
        Answer::stream()
            .text("begun")
            .gate(&gate)
            .text(" and done")
            .done(),
        Answer::says("second"),
    ]);
    let home = home_of(&server);
    let mut running = home
        .cli()
        .args(["--model", "here/m", "--json", "--stdin", "first"])
        .start();
    running.until_said("begun");
    running.say(r#"{"type":"message","content":"more"}"#);
    // Calls are not run before the answer is complete.
    assert_eq!(server.requests().len(), 1);
    gate.open();
    running.until(|event| event["type"] == "agent_settled");
    running.until(|event| event["type"] == "agent_settled");
    assert_eq!(
        said(&server.requests()[1]),
        [
            pair("user", "first"),
            pair("assistant", "begun and done"),
            pair("user", "more"),
        ]
    );
}

#[test]
fn broken_stream_is_retried_and_discarded() {
    let (ended, server) = ask([Answer::stream().text("lost").cut(), Answer::says("whole")]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "whole\n"));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with(
            "[WRN] ← [1.0] llm here:m: network_error: the connection to `SERVER` broke: "
        ),
        "{}",
        ended.stderr
    );
    assert_eq!(said(&server.requests()[1]), [pair("user", "hello")]);
}

#[test]
fn stream_without_an_end_marker_is_retried() {
    let (ended, server) = ask([Answer::stream().text("half"), Answer::says("whole")]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "whole\n"));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn rate_limit_waits_for_retry_after() {
    let busy = Answer::plain(
        "429 Too Many Requests",
        "content-type: application/json\nretry-after: 0",
        r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
    );
    let (ended, server) = ask([busy.clone(), busy, Answer::says("at last")]);
    assert_eq!(
        ended,
        ProgramOutput::new(
            0,
            "at last\n",
            &"[WRN] ← [1.0] llm here:m: rate_limit: `here` answered 429: slow down\n".repeat(2)
        )
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn wait_for_a_rate_limit_is_reported() {
    let busy = Answer::plain(
        "429 Too Many Requests",
        "content-type: application/json\nretry-after-ms: 1001",
        r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
    );
    let (ended, _) = ask([busy, Answer::says("at last")]);
    assert_eq!(
        ended,
        ProgramOutput::new(
            0,
            "at last\n",
            "[WRN] ← [1.0] llm here:m: rate_limit: `here` answered 429: slow down\n\
             [WRN] retrying in 1.0s (1/5)\n"
        )
    );
}

#[test]
fn wait_above_the_limit_is_named() {
    let busy = Answer::plain(
        "429 Too Many Requests",
        "content-type: application/json\nretry-after: 5400",
        r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
    );
    let (ended, server) = ask([busy]);
    let reason = "rate_limit: `here` answered 429: slow down (the provider asks to retry in 1h 30m; \
                  osier waits at most 5 minutes)";
    assert_eq!(
        ended,
        ProgramOutput::new(1, "", &format!("[ERR] ← [1.0] llm here:m: {reason}\n"))
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn invalid_usage_is_a_warning_once_in_a_session() {
    let odd = |text: &str| {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": -5, "completion_tokens": 2.5}});
        Answer::plain(
            "200 OK",
            "content-type: text/event-stream",
            &format!("data: {chunk}\n\ndata: [DONE]\n\n"),
        )
    };
    let server = Server::start([odd("first"), odd("second")]);
    let home = home_of(&server);
    let cli = home.cli().args(["--model", "here/m", "-p", "one", "two"]);
    let warning =
        "[WRN] `here/m` reported invalid token counts or costs: usage and cost may be wrong\n";
    assert_eq!(
        cli.run(),
        ProgramOutput::new(0, "first\n\nsecond\n", warning)
    );
}

/// The log of a run that receives `answer` once and then a valid answer, and its status.
fn log_of_retry(answer: Answer) -> String {
    let (ended, _) = ask([answer, Answer::says("well")]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "well\n"),
        "{}",
        ended.stderr
    );
    ended.stderr
}

#[test]
fn transient_server_errors_are_retried() {
    let fault = |status: &str, message: &str| {
        let body = json!({"error": {"message": message}}).to_string();
        Answer::plain(status, "content-type: application/json", &body)
    };
    assert_eq!(
        log_of_retry(fault("500 Internal Server Error", "boom")),
        "[WRN] ← [1.0] llm here:m: model_error: `here` answered 500: boom\n"
    );
    assert_eq!(
        log_of_retry(fault("529 Overloaded", "too busy")),
        "[WRN] ← [1.0] llm here:m: model_error: `here` answered 529: too busy\n"
    );
    let garbage = Answer::stream().raw("data: {\"choices\": [{]]]\n\ndata: ???\n\n");
    let told = log_of_retry(garbage);
    assert!(
        told.starts_with("[WRN] ← [1.0] llm here:m: invalid_response: "),
        "{told}"
    );
    let binary = Answer::plain(
        "200 OK",
        "content-type: text/event-stream",
        "\u{0}\u{1}\u{2}\u{3}",
    );
    let told = log_of_retry(binary);
    assert!(
        told.starts_with("[WRN] ← [1.0] llm here:m: invalid_response: "),
        "{told}"
    );
}

#[test]
fn page_in_place_of_an_answer_is_not_requested_again() {
    let page = Answer::plain(
        "200 OK",
        "content-type: text/html",
        "<html><head><title>Sign in</title></head><body>Please sign in to the Wi-Fi</body></html>",
    );
    let (ended, server) = ask([page]);
    assert_eq!(
        (ended.code, server.requests().len()),
        (Some(1), 1),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.starts_with(
            "[ERR] ← [1.0] llm here:m: model_error: `here` answered with a web page instead of an event stream: "
        ),
        "{}",
        ended.stderr
    );
}

#[test]
fn rejected_key_is_reported_once_without_the_key() {
    let refused = Answer::plain(
        "401 Unauthorized",
        "content-type: application/json",
        r#"{"error":{"message":"the key sk-test-key is not known"}}"#,
    );
    let (ended, server) = ask([refused]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(server.requests().len(), 1);
    assert!(
        ended
            .stderr
            .starts_with("[ERR] ← [1.0] llm here:m: auth_error: "),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("sk-test-key"), "{}", ended.stderr);
}

#[test]
fn repeated_invalid_answers_end_the_run() {
    let server = Server::start([Answer::stream().raw("data: nonsense\n\n")]);
    let home = home_of(&server);
    let ended = home
        .cli()
        .args(["--model", "here/m", "--max-retries", "1", "-p", "hello"])
        .run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let severities: Vec<&str> = ended.stderr.lines().map(|line| &line[..5]).collect();
    assert_eq!(severities, ["[WRN]", "[ERR]"], "{}", ended.stderr);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn unreachable_server_is_named() {
    let home = Home::new();
    // A free port, where nothing listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port();
    let models = json!({"providers": {"here": {
        "baseUrl": format!("http://127.0.0.1:{port}/v1"),
        "api": "openai-chat-completions",
        "apiKey": "none",
        "models": [{"id": "m"}],
    }}});
    home.config("models.json", models.to_string());
    let ended = home
        .cli()
        .args(["--model", "here/m", "--max-retries", "0", "-p", "hello"])
        .run();
    assert_eq!(ended.code, Some(1));
    let told = ended.stderr.replace(&port.to_string(), "PORT");
    assert!(
        told.starts_with(
            "[ERR] ← [1.0] llm here:m: network_error: cannot reach `127.0.0.1:PORT`: "
        ),
        "{told}"
    );
    assert!(
        told.trim_end().ends_with("(is the server running?)"),
        "{told}"
    );
}

#[test]
fn fallback_model_answers_after_a_failure() {
    let refused = Answer::plain(
        "402 Payment Required",
        "content-type: application/json",
        r#"{"error":{"message":"no credit left"}}"#,
    );
    let server = Server::start([refused]);
    let home = home_of(&server);
    let script = json!({"turns": [{"steps": [{"text": "from the second"}]}]});
    home.file("model.json", script.to_string());
    let ended = home
        .cli()
        .args(["--model", "here/m,script/model.json", "-p", "hello"])
        .run();
    assert_eq!(
        ended,
        ProgramOutput::new(
            0,
            "from the second\n",
            "[WRN] ← [1.0] llm here:m: quota_exceeded: `here` answered 402: no credit left\n"
        )
    );
}

#[test]
fn every_request_extends_the_previous_one() {
    let call = |id| Answer::stream().call(id, "bash", &json!({"command": "true"}));
    let (ended, server) = ask([call("a"), call("b"), Answer::says("done")]);
    assert_eq!(ended.code, Some(0));
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for pair in requests.windows(2) {
        assert_eq!(pair[0]["tools"], pair[1]["tools"]);
        let before = pair[0]["messages"].as_array().unwrap();
        let after = pair[1]["messages"].as_array().unwrap();
        assert_eq!(before[..], after[..before.len()]);
        assert!(after.len() > before.len());
    }
}

#[tokio::test]
async fn steering_is_sent_with_the_tool_results() {
    let gate = Gate::new();
    let call = Answer::stream().text("begun").gate(&gate);
    let server = Server::start([
        call.call("call_1", "bash", &json!({"command": "echo ran"})),
        Answer::says("as you wish"),
    ]);
    let place = TestProject::new();
    std::fs::create_dir(place.data()).unwrap();
    let mut models = std::fs::File::create(place.data().join("models.json")).unwrap();
    std::io::Write::write_all(&mut models, server.models_json().as_bytes()).unwrap();
    let named = |setup: &mut osier_session::SessionSetup| setup.model = Some("here/m".into());
    let mut open = place
        .open_with(SessionChoice::New, Script::new(), named)
        .await;
    open.prompt("go");
    open.said("begun").await;
    let (text, attachments) = ("rather this".to_owned(), Vec::new());
    open.host.send(
        Op::Steer {
            text,
            attachments,
            typed: None,
            once: None,
        }
        .into(),
    );
    open.until(|event| serde_json::to_value(event).unwrap()["type"] == "queue_update")
        .await;
    gate.open();
    open.settled().await;
    assert_eq!(
        said(&server.requests()[1]),
        [
            pair("user", "go"),
            pair("assistant", "begun"),
            pair("tool", "ran\n"),
            pair("user", "rather this"),
        ]
    );
    assert_eq!(server.requests().len(), 2);
    open.close().await;
}

/// A server that repeats the key of the request in its error, with a header.
fn echoing() -> (Server, Home) {
    let body =
        json!({"error": {"message": "no such key: sk-test-key", "param": "Bearer sk-test-key"}});
    let headers = "content-type: application/json\nwww-authenticate: Bearer sk-test-key";
    let answer = Answer::plain("401 Unauthorized", headers, &body.to_string());
    let server = Server::start([answer]);
    let home = home_of(&server);
    (server, home)
}

/// No client, file or log gets a key that a server repeats.
#[test]
fn key_that_a_server_echoes_is_in_no_error() {
    let message = "no such key: …";
    for arguments in [
        &["-p", "hello"][..],
        &["--json", "hello"],
        &["-p", "--output-format", "stream-json", "--verbose", "hello"],
    ] {
        let (_server, home) = echoing();
        let mut cli = home.cli().args(["--model", "here/m"]);
        for argument in arguments {
            cli = cli.arg(*argument);
        }
        let ended = cli.run();
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert!(shown.contains(message), "{arguments:?}: {shown}");
        assert!(!shown.contains("sk-test-key"), "{arguments:?}: {shown}");
        let stored = Value::from(home.session()).to_string();
        assert!(!stored.contains("sk-test-key"), "{arguments:?}: {stored}");
    }
    let (_server, home) = echoing();
    let mut rpc = home.cli().args(["rpc", "--model", "here/m"]).start();
    rpc.say(&json!({"id": 1, "type": "prompt", "message": "hello"}).to_string());
    let seen = rpc.until(|line| line["type"] == "agent_settled");
    let shown = Value::from(seen).to_string();
    assert!(shown.contains(message), "{shown}");
    assert!(!shown.contains("sk-test-key"), "{shown}");
    let (_server, home) = echoing();
    let mut editor = home.cli().args(["acp", "--model", "here/m"]).start();
    let mut call = |id: u64, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        editor.say(&request.to_string());
        editor.until(|line| line["id"] == id)
    };
    call(
        1,
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": {}}),
    );
    let new = call(
        2,
        "session/new",
        json!({"cwd": home.work(), "mcpServers": []}),
    );
    let session = &new.last().expect("an answer")["result"]["sessionId"];
    let hello = json!({"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]});
    let seen = Value::from(call(3, "session/prompt", hello)).to_string();
    assert!(seen.contains(message), "{seen}");
    assert!(!seen.contains("sk-test-key"), "{seen}");
}
