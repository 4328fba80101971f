//! MCP servers in a complete session: working, failing and public ones.

mod instructions;
mod login;
mod restart;
mod sampling;
mod serve;
mod serve_http;
mod sse;
mod start;
mod tasks;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_agent::{ToolStatus, ToolUpdate};
use osier_llm::Script;
use osier_protocol::questions::Answer;
use osier_protocol::{Event, Op, ServerAction, ServerInfo, ServerState};
use osier_session::SessionChoice;
use osier_testing::skip;
use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};
use crate::support::web_server::{WebServer, json as answer, plain};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_server.sh");

fn write(path: &Path, text: &str) {
    osier_base::atomic_file::write(path, text.as_bytes()).unwrap();
}

fn config(place: &TestProject, servers: &Value) {
    std::fs::create_dir_all(place.data()).unwrap();
    let text = json!({"mcpServers": servers}).to_string();
    let path = place.data().join("mcp.json");
    write(&path, &text);
    osier_base::private::restrict(&path).unwrap();
}

fn fake(mode: &str) -> Value {
    json!({"command": "sh", "args": [SERVER, mode]})
}

async fn open(place: &TestProject, script: Script) -> OpenSession {
    let open = place.open_with(SessionChoice::Unstored, script, |setup| {
        setup.answers_questions = true;
        setup.environment = Arc::new(std::env::vars().collect());
    });
    open.await
}

/// A session with one server that is ready.
async fn ready(place: &TestProject, mode: &str, script: Script) -> (OpenSession, ServerInfo) {
    config(place, &json!({"fake": fake(mode)}));
    let mut open = open(place, script).await;
    let server = state(&mut open, |state| state == ServerState::Ready).await;
    (open, server)
}

/// Waits until the only server is in a state that `wanted` accepts.
async fn state(open: &mut OpenSession, wanted: impl Fn(ServerState) -> bool) -> ServerInfo {
    let is_so = |event: &Event| match event {
        Event::McpServers { servers } => servers.iter().any(|server| wanted(server.state)),
        _ => false,
    };
    match open.until(is_so).await.pop() {
        Some(Event::McpServers { servers }) => servers.into_iter().next().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// One call and then an answer.
fn calling(tool: &str) -> Script {
    let arguments = json!({});
    Script::new()
        .turn(|turn| turn.tool(tool, arguments).with_id("c"))
        .turn(|turn| turn.text("done"))
}

fn status(events: &[Event]) -> ToolStatus {
    statuses(events).into_iter().next().expect("a call")
}

/// The results of all calls.
fn statuses(events: &[Event]) -> Vec<ToolStatus> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => {
            Some(result.status.clone())
        }
        _ => None,
    });
    ends.collect()
}

fn offered(open: &OpenSession) -> Vec<String> {
    let request = open.provider.last_request().expect("a request");
    let names = request.context.tools.iter().map(|tool| tool.name.clone());
    names.filter(|name| name.contains("__")).collect()
}

fn notices(events: &[Event]) -> Vec<String> {
    let texts = events.iter().filter_map(|event| match event {
        Event::Notice { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn server_tools_are_offered_and_called() {
    let place = TestProject::new();
    let (mut open, server) = ready(&place, "good", calling("fake__echo")).await;
    assert_eq!(server.version.as_deref(), Some("fake 1"));
    assert_eq!(server.protocol.as_deref(), Some("2025-11-25"));
    let events = open.run("go").await;
    assert_eq!(status(&events), ToolStatus::Success);
    assert_eq!(open.last_request().last().unwrap(), "result c: echoed");
    let names = ["echo", "die", "wait", "ask", "flood", "grow"];
    assert_eq!(offered(&open), names.map(|name| format!("fake__{name}")));
    open.close().await;
}

#[tokio::test]
async fn hanging_server_does_not_delay_prompts() {
    let place = TestProject::new();
    config(&place, &json!({"slow": fake("hang")}));
    let script = Script::new().turn(|turn| turn.text("here"));
    let mut open = open(&place, script).await;
    open.run("go").await;
    assert_eq!(offered(&open), [""; 0]);
    open.close().await;
}

#[tokio::test]
async fn server_crash_ends_the_call_and_the_server_restarts() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "good", calling("fake__die")).await;
    let events = open.run("go").await;
    let lost =
        matches!(status(&events), ToolStatus::ConnectionError { server, .. } if server == "fake");
    assert!(lost, "{:?}", status(&events));
    let back = state(&mut open, |state| state == ServerState::Ready).await;
    assert_eq!(back.tools.len(), 6);
    open.close().await;
}

#[tokio::test]
async fn failed_server_is_not_restarted_until_requested() {
    let place = TestProject::new();
    config(&place, &json!({"none": {"command": "/no/such/program"}}));
    let mut open = open(&place, Script::default()).await;
    let server = state(&mut open, |state| state == ServerState::Failed).await;
    let error = server.error.unwrap();
    assert!(
        error.starts_with("cannot start `/no/such/program`"),
        "{error}"
    );
    let name = "none".to_owned();
    let action = ServerAction::Restart;
    open.host.send(Op::McpServer { name, action });
    state(&mut open, |state| state == ServerState::Starting).await;
    state(&mut open, |state| state == ServerState::Failed).await;
    open.close().await;
}

#[tokio::test]
async fn a_server_that_does_not_list_its_tools_can_be_disabled() {
    let place = TestProject::new();
    // A pipe in the project would be a part of the server, whose content nobody knows.
    let notes = place.folder().join("notes");
    // Reading ends when the server has been asked for its tools.
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(CWD, &notes, FileType::Fifo, mode, 0).unwrap();
    let mut server = fake("mute");
    server["env"] = json!({"MCP_NOTES": notes});
    config(&place, &json!({"fake": server}));
    let mut open = open(&place, Script::default()).await;
    let asked = move || loop {
        if std::fs::read_to_string(&notes).unwrap().contains("asked") {
            break;
        }
    };
    tokio::task::spawn_blocking(asked).await.unwrap();
    let name = "fake".to_owned();
    let action = ServerAction::Disable;
    open.host.send(Op::McpServer { name, action });
    state(&mut open, |state| state == ServerState::Disabled).await;
    open.close().await;
}

#[tokio::test]
async fn invalid_messages_are_skipped_and_logged() {
    let place = TestProject::new();
    let (mut open, server) = ready(&place, "garbage", calling("fake__echo")).await;
    let events = open.run("go").await;
    assert_eq!(status(&events), ToolStatus::Success);
    let log = std::fs::read_to_string(server.log).unwrap();
    assert!(log.contains("stdout, not a message: Welcome!"), "{log}");
    open.close().await;
}

#[tokio::test]
async fn oversized_message_is_an_error_of_its_call() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "good", calling("fake__flood")).await;
    let events = open.run("go").await;
    let ToolStatus::McpServerError { message, .. } = status(&events) else {
        panic!("{:?}", status(&events));
    };
    assert!(message.contains("bytes, and the limit is"), "{message}");
    open.close().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_an_error_of_its_call() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "nested", calling("fake__deep")).await;
    let events = open.run("go").await;
    let ToolStatus::McpServerError { message, .. } = status(&events) else {
        panic!("{:?}", status(&events));
    };
    let expected = "the server's message cannot be read: recursion limit exceeded";
    assert!(message.contains(expected), "{message}");
    open.close().await;
}

#[tokio::test]
async fn server_that_sends_requests_and_reads_no_answers_is_stopped() {
    let place = TestProject::new();
    config(&place, &json!({"fake": fake("pester")}));
    let mut open = open(&place, Script::new()).await;
    let stopped = |state| matches!(state, ServerState::Waiting { .. });
    let server = state(&mut open, stopped).await;
    let log = std::fs::read_to_string(server.log).unwrap();
    let expected = "osier: stopped: it sends requests, but has not read 1000 answers\n";
    assert!(log.contains(expected), "{log}");
}

#[tokio::test]
async fn tools_beyond_the_limit_are_hidden_and_reported() {
    let place = TestProject::new();
    config(&place, &json!({"fake": fake("many")}));
    let script = Script::new().turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let ready = |event: &Event| match event {
        Event::McpServers { servers } => servers[0].state == ServerState::Ready,
        _ => false,
    };
    let events = open.until(ready).await;
    let told = notices(&events);
    assert!(
        told[0].contains("has 1200 tools; only the first 1000 are offered"),
        "{told:?}"
    );
    open.run("go").await;
    // They are loaded on demand.
    assert_eq!(offered(&open), [""; 0]);
    let request = open.provider.last_request().expect("a request");
    let mut names = request.context.tools.iter().map(|tool| &*tool.name);
    assert!(names.any(|name| name == "tool_search"));
    open.close().await;
}

#[tokio::test]
async fn new_tool_is_offered_after_a_list_change() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "good", calling("fake__grow")).await;
    open.host.send(Op::Agent(osier_agent::Op::Prompt {
        text: "go".into(),
        attachments: Vec::new(),
        typed: None,
        once: None,
    }));
    let grown = |event: &Event| match event {
        Event::Agent(osier_agent::Event::Tools { tools }) => {
            tools.iter().any(|tool| tool.name == "fake__grown")
        }
        _ => false,
    };
    open.until(grown).await;
    open.close().await;
}

#[tokio::test]
async fn progress_is_shown_and_an_interrupt_cancels_the_call() {
    let place = TestProject::new();
    let notes = place.folder().join("notes");
    let mut server = fake("good");
    server["env"] = json!({"MCP_NOTES": notes});
    config(&place, &json!({"fake": server}));
    let mut open = open(&place, calling("fake__wait")).await;
    state(&mut open, |state| state == ServerState::Ready).await;
    open.prompt("go");
    let update = ToolUpdate::Status {
        text: "1/4 copying".into(),
    };
    open.until(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionUpdate { update: told, .. }) => {
            *told == update
        }
        _ => false,
    })
    .await;
    open.host.send(Op::Agent(osier_agent::Op::Abort));
    let events = open.settled().await;
    assert_eq!(status(&events), ToolStatus::Aborted);
    open.close().await;
    assert_eq!(
        std::fs::read_to_string(notes).unwrap(),
        "start good\ncancelled\n"
    );
}

#[tokio::test]
async fn elicitation_asks_the_user_during_a_call() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "good", calling("fake__ask")).await;
    open.prompt("go");
    let events = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = events.last() else {
        panic!("a question");
    };
    assert_eq!(question.origin, "the MCP server `fake`");
    assert_eq!(question.title, "Which size?");
    let values = json!({"size": "large"}).as_object().unwrap().clone();
    open.host.send(Op::AnswerQuestion {
        id: question.id.clone(),
        answer: Answer::Values { values },
    });
    open.settled().await;
    assert_eq!(open.last_request().last().unwrap(), "result c: a large one");
    open.close().await;
}

#[tokio::test]
async fn resources_and_prompts_are_expanded_in_a_prompt() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.text("one"))
        .turn(|turn| turn.text("two"));
    let (mut open, server) = ready(&place, "good", script).await;
    let listed = server.resources.iter();
    let listed: Vec<&str> = listed.map(|resource| &*resource.uri).collect();
    assert_eq!(listed, ["memo://one", "memo://{name}"]);
    let refused = open.run("read @fake:memo://{name}").await;
    let expected = "replace `{name}` in `@fake:memo://{name}` by a value";
    assert!(format!("{refused:?}").contains(expected), "{refused:?}");
    open.run("what is in @fake:memo://one?").await;
    assert!(open.last_request().join("\n").contains("remember the milk"));
    open.run("/mcp__fake__greet \"the whole team\"").await;
    let request = open.last_request();
    let greeting = "user: Greet the whole team warmly".to_owned();
    assert!(request.contains(&greeting), "{request:?}");
    open.close().await;
}

#[tokio::test]
async fn a_change_of_an_attached_resource_is_told_once() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "good", Script::always("ok")).await;
    open.prompt("what is in @fake:memo://one?");
    // The server answers the subscription with a change of the resource, and adds a tool.
    let has_grown = |event: &Event| match event {
        Event::McpServers { servers } => servers[0].tools.contains(&"fake__grown".to_owned()),
        _ => false,
    };
    let seen = open.until(has_grown).await;
    let is_settled =
        |event: &Event| matches!(event, Event::Agent(osier_agent::Event::AgentSettled { .. }));
    if !seen.iter().any(is_settled) {
        open.settled().await;
    }
    let told = "These attached resources have changed on their server since you got them; what you have is old: \
                @fake:memo://one";
    for prompt in ["and now?", "and then?"] {
        open.run(prompt).await;
        let sent = open.last_request().join("\n");
        assert_eq!(sent.matches(told).count(), 1, "{sent}");
    }
    open.close().await;
}

#[tokio::test]
async fn a_server_logs_from_the_level_of_its_entry() {
    let place = TestProject::new();
    let notes = place.data().join("notes");
    let server = json!({"command": "sh", "args": [SERVER, "good"], "logLevel": "warning",
        "env": {"MCP_NOTES": notes}});
    config(&place, &json!({"fake": server}));
    let mut open = open(&place, calling("fake__echo")).await;
    state(&mut open, |state| state == ServerState::Ready).await;
    // The server receives the request for the level before the call.
    open.run("go").await;
    let notes = std::fs::read_to_string(&notes).unwrap();
    assert!(
        notes.lines().any(|line| line == "\"level\":\"warning\""),
        "{notes}"
    );
    open.close().await;
}

#[tokio::test]
async fn text_of_a_server_refers_to_no_resource() {
    let place = TestProject::new();
    let script = Script::new().turn(|turn| turn.text("one"));
    let (mut open, _) = ready(&place, "sly", script).await;
    open.run("/mcp__fake__greet you").await;
    let request = open.last_request().join("\n");
    assert!(
        request.contains("Greet @fake:memo://one, warmly"),
        "{request}"
    );
    assert!(!request.contains("remember the milk"), "{request}");
    open.close().await;
}

/// A server that accepts connections and requires a sign-in to list its tools.
fn guarded() -> WebServer {
    WebServer::start(|asked, _| {
        if !asked.line.starts_with("POST") {
            return plain("405 Method Not Allowed", "", "");
        }
        let message = asked.json();
        let says = |what: &str, value: Value| {
            let text = json!({"jsonrpc": "2.0", "id": message["id"], what: value});
            answer("200 OK", &text)
        };
        match message["method"].as_str() {
            Some("initialize") => says(
                "result",
                json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "guarded", "version": "1"},
                }),
            ),
            Some("tools/list") => {
                let header = "WWW-Authenticate: Bearer scope=\"read\"\r\n";
                plain("401 Unauthorized", header, "")
            }
            Some(method) if method.starts_with("notifications/") => plain("202 Accepted", "", ""),
            _ => says("error", json!({"code": -32601, "message": "unknown"})),
        }
    })
}

#[tokio::test]
async fn server_that_requires_authorization_needs_login() {
    let place = TestProject::new();
    let server = guarded();
    config(
        &place,
        &json!({"web": {"url": format!("{}/mcp", server.url())}}),
    );
    let mut open = open(&place, Script::new()).await;
    let settled = state(&mut open, ServerState::is_settled).await;
    assert_eq!(
        settled.state,
        ServerState::NeedsLogin,
        "{:?}",
        settled.error
    );
    open.close().await;
}

/// A server at `/mcp/`. Requests to `/mcp` are redirected there, those to `/away` to `other`.
fn redirecting(other: String) -> WebServer {
    WebServer::start(move |asked, _| {
        let redirect = |to: &str| {
            let header = format!("location: {to}\r\n");
            plain("307 Temporary Redirect", &header, "")
        };
        let path = asked.line.split(' ').nth(1).unwrap_or_default();
        match path {
            "/mcp" => redirect("/mcp/"),
            "/away" => redirect(&other),
            _ if !asked.line.starts_with("POST") => plain("405 Method Not Allowed", "", ""),
            _ => open_server_answer(&asked.json()),
        }
    })
}

/// The answer of a server without tools.
fn open_server_answer(message: &Value) -> Vec<u8> {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "moved", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": []}),
        Some(method) if method.starts_with("notifications/") => {
            return plain("202 Accepted", "", "");
        }
        _ => {
            let error = json!({"code": -32601, "message": "unknown"});
            return answer(
                "200 OK",
                &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
            );
        }
    };
    answer(
        "200 OK",
        &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
    )
}

/// A server whose tool answers with 600,000 values: as JSON at `/json`, else as an event.
fn excessive() -> WebServer {
    WebServer::start(|asked, _| {
        if !asked.line.starts_with("POST") {
            return plain("405 Method Not Allowed", "", "");
        }
        let message = asked.json();
        let result = match message["method"].as_str() {
            Some("tools/list") => {
                json!({"tools": [{"name": "go", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => {
                json!({"content": [], "structuredContent": {"a": vec![0; 600_000]}})
            }
            _ => return open_server_answer(&message),
        };
        let text = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        if message["method"] == "tools/list" || asked.line.contains("/json") {
            return answer("200 OK", &text);
        }
        let header = "content-type: text/event-stream\r\n";
        plain("200 OK", header, format!("data: {text}\n\n"))
    })
}

#[tokio::test]
async fn answer_over_http_with_too_many_values_is_an_error_of_its_call() {
    let server = excessive();
    for path in ["json", "events"] {
        let place = TestProject::new();
        let url = format!("{}/{path}", server.url());
        config(&place, &json!({"web": {"url": url}}));
        let mut open = open(&place, calling("web__go")).await;
        state(&mut open, |state| state == ServerState::Ready).await;
        let expected = "JSON values, and the limit is 500000";
        match status(&open.run("go").await) {
            ToolStatus::McpServerError { message, .. } => {
                assert!(message.ends_with(expected), "{message}");
            }
            other => panic!("{path}: {other:?}"),
        }
        open.close().await;
    }
}

#[tokio::test]
async fn redirects_are_followed_within_the_server_only() {
    let other = WebServer::start(|asked, _| open_server_answer(&asked.json()));
    let server = redirecting(format!("{}/mcp", other.url()));
    for headers in [json!({}), json!({"Authorization": "Bearer secret"})] {
        for (path, is_ready) in [("mcp", true), ("away", false)] {
            let place = TestProject::new();
            let url = format!("{}/{path}", server.url());
            config(&place, &json!({"web": {"url": url, "headers": headers}}));
            let mut open = open(&place, Script::new()).await;
            let settled = state(&mut open, ServerState::is_settled).await;
            assert_eq!(
                settled.state == ServerState::Ready,
                is_ready,
                "{path} {headers}: {:?}",
                settled.error
            );
            open.close().await;
        }
    }
    assert_eq!(other.lines(), [""; 0]);
}

#[tokio::test]
async fn invalid_file_is_reported_in_one_line() {
    let place = TestProject::new();
    std::fs::create_dir_all(place.data()).unwrap();
    let path = place.data().join("mcp.json");
    write(&path, "{\n  \"mcpServers\": {,}\n}\n");
    osier_base::private::restrict(&path).unwrap();
    let script = Script::new().turn(|turn| turn.text("here"));
    let mut open = open(&place, script).await;
    let events = open
        .until(|event| matches!(event, Event::Notice { .. }))
        .await;
    let told = notices(&events);
    assert!(told[0].contains("mcp.json:2:18: "), "{told:?}");
    open.run("go").await;
    open.close().await;
}

#[tokio::test]
async fn changed_files_are_reloaded() {
    let place = TestProject::new();
    let (mut open, server) = ready(&place, "good", Script::always("ok")).await;
    assert_eq!(server.name, "fake");
    config(&place, &json!({"other": fake("good")}));
    open.host.send(Op::Reload);
    let named = |event: &Event| match event {
        Event::McpServers { servers } => servers
            .iter()
            .all(|server| server.name == "other" && server.state == ServerState::Ready),
        _ => false,
    };
    open.until(named).await;
    open.run("go").await;
    let offered = offered(&open);
    assert!(!offered.is_empty(), "nothing is offered");
    assert!(
        offered.iter().all(|name| name.starts_with("other__")),
        "{offered:?}"
    );
    open.close().await;
}

#[tokio::test]
async fn project_servers_start_after_trust() {
    let place = TestProject::new();
    let servers = json!({"mcpServers": {"fake": fake("good")}}).to_string();
    write(&place.work().join(".mcp.json"), &servers);
    let mut open = open(&place, Script::always("ok")).await;
    let asked = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = asked.last() else {
        panic!("{asked:?}");
    };
    let started =
        |event: &Event| matches!(event, Event::McpServers { servers } if !servers.is_empty());
    assert!(!asked.iter().any(started), "{asked:?}");
    let (id, answer) = (question.id.clone(), Answer::Yes);
    open.host.send(Op::AnswerQuestion { id, answer });
    let server = state(&mut open, |state| state == ServerState::Ready).await;
    assert_eq!(server.name, "fake");
    open.close().await;
}

/// The directory in which `.ci/run` installs the public servers.
fn peer(program: &str) -> Option<PathBuf> {
    let folder = std::env::var("OSIER_MCP_PEERS").unwrap_or_else(|_| "target/mcp-peers".into());
    let places = ["node_modules/.bin", "venv/bin"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let found = places.map(|place| folder.join(place).join(program));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        skip::missing(program, ".ci/run");
    }
    found
}

/// Calls `tool` of a public server. Returns the result for the model.
async fn call_peer(program: &str, args: &[&str], tool: &str, arguments: Value) -> Option<String> {
    let program = peer(program)?;
    let place = TestProject::new();
    write(&place.work().join("a.txt"), "inside");
    config(&place, &json!({"peer": {"command": program, "args": args}}));
    let work = place.work().to_string_lossy().into_owned();
    let arguments = arguments.to_string().replace("$WORK", &work);
    let arguments: Value = serde_json::from_str(&arguments).unwrap();
    let script = Script::new()
        .turn(|turn| turn.tool(tool, arguments).with_id("c"))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    state(&mut open, |state| state == ServerState::Ready).await;
    let events = open.run("go").await;
    assert_eq!(
        status(&events),
        ToolStatus::Success,
        "{:?}",
        open.last_request()
    );
    let told = open.last_request().pop();
    open.close().await;
    told
}

#[tokio::test]
async fn public_servers_answer() {
    let echo = json!({"message": "hello"});
    if let Some(told) = call_peer("mcp-server-everything", &[], "peer__echo", echo).await {
        assert_eq!(told, "result c: Echo: hello");
    }
    // The server allows the root of the client, which is the working directory.
    let path = json!({"path": "$WORK/a.txt"});
    let tool = "peer__read_text_file";
    if let Some(told) = call_peer("mcp-server-filesystem", &["/"], tool, path).await {
        assert_eq!(told, "result c: inside");
    }
    let zone = json!({"timezone": "UTC"});
    let tool = "peer__get_current_time";
    if let Some(told) = call_peer("mcp-server-time", &[], tool, zone).await {
        assert!(told.contains("\"timezone\": \"UTC\""), "{told}");
    }
    let repository = json!({"repo_path": env!("CARGO_MANIFEST_DIR"), "max_count": 1});
    if let Some(told) = call_peer("mcp-server-git", &[], "peer__git_log", repository).await {
        assert!(told.contains("Commit"), "{told}");
    }
}

#[tokio::test]
async fn a_public_server_completes_what_is_typed() {
    let Some(program) = peer("mcp-server-everything") else {
        return;
    };
    let place = TestProject::new();
    config(&place, &json!({"peer": {"command": program}}));
    let mut open = open(&place, Script::always("ok")).await;
    state(&mut open, |state| state == ServerState::Ready).await;
    let names = ["Alice", "Bob", "Charlie"].as_slice();
    for (text, expected) in [
        (
            "/mcp__peer__completable-prompt E",
            ["Engineering"].as_slice(),
        ),
        // The values depend on the first argument.
        ("/mcp__peer__completable-prompt Engineering ", names),
        (
            "see @peer:demo://resource/dynamic/text/1",
            &["peer:demo://resource/dynamic/text/1"],
        ),
        ("/mcp__peer__none x", &[]),
    ] {
        let text = text.to_owned();
        open.host.send(Op::CompleteMcp { request: 1, text });
        let seen = open
            .until(|event| matches!(event, Event::McpCompletions { .. }))
            .await;
        let values = expected.iter().map(|value| (*value).to_owned()).collect();
        let completions = Event::McpCompletions { request: 1, values };
        assert_eq!(seen.last(), Some(&completions));
    }
    open.close().await;
}

/// The names of the tools of the last request that are about servers.
fn of_servers(open: &OpenSession) -> Vec<String> {
    let request = open.provider.last_request().expect("a request");
    let names = request.context.tools.iter().map(|tool| tool.name.clone());
    names
        .filter(|name| name.contains("__") || name == "tool_search")
        .collect()
}

#[tokio::test]
async fn tools_are_loaded_on_demand_and_stay_loaded() {
    let place = TestProject::new();
    config(&place, &json!({"fake": fake("good")}));
    let script = || {
        Script::new()
            .turn(|turn| {
                turn.tool("tool_search", json!({"query": "echo"}))
                    .with_id("s")
            })
            .turn(|turn| turn.tool("fake__echo", json!({})).with_id("c"))
            .turn(|turn| turn.text("done").repeat())
    };
    let on_demand = |setup: &mut osier_session::SessionSetup| {
        setup.settings.mcp_tools_share = 0;
        setup.waits_for_servers = true;
    };
    let mut open = place
        .open_with(SessionChoice::New, script(), on_demand)
        .await;
    let events = open.run("go").await;
    assert_eq!(status(&events), ToolStatus::Success);
    assert_eq!(open.last_request().last().unwrap(), "result c: echoed");
    let requests = open.provider.requests();
    let tools = |place: usize| -> Vec<&str> {
        let tools = requests[place].context.tools.iter();
        tools.map(|tool| tool.name.as_str()).collect()
    };
    let (first, second) = (tools(0), tools(1));
    assert_eq!(first[first.len() - 2..], ["tool_search", "task"]);
    assert_eq!(second[..first.len()], first);
    assert_eq!(second[first.len()..], ["fake__echo"]);
    open.close().await;
    let again = Script::always("hello");
    let mut open = place
        .open_with(SessionChoice::Continue, again, on_demand)
        .await;
    open.run("more").await;
    assert_eq!(of_servers(&open), ["tool_search", "fake__echo"]);
    open.close().await;
}
