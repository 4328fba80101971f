//! Hooks without a program: a request to a server, a judgement of a model, a tool of an MCP server.

use osier_llm::Script;

use super::*;
use crate::support::web_server::{WebServer, plain};

/// A project whose `PreToolUse` hook for commands is `hook`.
fn guarded(hook: &Value) -> TestProject {
    with(&json!({"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}))
}

async fn open_with_environment(place: &TestProject, script: Script) -> OpenSession {
    let opened = place.open_with(SessionChoice::New, script, |setup| {
        let variables = [("HOOK_TOKEN", "secret"), ("OTHER", "other")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        setup.environment = std::sync::Arc::new(variables.into_iter().collect());
    });
    opened.await
}

#[tokio::test]
async fn a_server_judges_calls() {
    let server = WebServer::start(|asked, _| {
        let answer = if asked.body.contains("touch denied") {
            r#"{"decision": "block", "reason": "not here"}"#
        } else {
            ""
        };
        plain("200 OK", "", answer)
    });
    let hook = json!({"type": "http", "url": format!("{}/check", server.url()),
        "headers": {"Authorization": "Bearer $HOOK_TOKEN", "X-Other": "<$OTHER>"}, "allowedEnvVars": ["HOOK_TOKEN"]});
    let place = guarded(&hook);
    let mut open = open_with_environment(&place, runs(&["touch denied", "touch allowed"])).await;
    let events = open.run("go").await;
    let found = results(&events);
    assert_eq!(
        found[0],
        ("This call was denied: not here".to_owned(), false)
    );
    assert!(found[1].1, "{found:?}");
    assert!(place.work().join("allowed").exists() && !place.work().join("denied").exists());
    let asked = server.asked();
    let heads = asked.iter().map(|asked| {
        let headers = ["content-type", "authorization", "x-other"];
        (
            asked.line.clone(),
            headers.map(|name| asked.header(name).to_owned()),
        )
    });
    let headers = ["application/json", "Bearer secret", "<>"].map(str::to_owned);
    let expected = ("POST /check".to_owned(), headers);
    assert_eq!(heads.collect::<Vec<_>>(), [expected.clone(), expected]);
    assert_eq!(asked[0].json()["tool_input"], bash("touch denied"));
    open.close().await;
}

#[tokio::test]
async fn a_server_without_an_answer_blocks_what_it_guards() {
    let server = WebServer::start(|_, _| plain("500 Internal Server Error", "", "oops"));
    let place = guarded(&json!({"type": "http", "url": server.url()}));
    let mut open = open(&place, runs(&["touch denied"])).await;
    let (text, succeeded) = result(&open.run("go").await);
    let expected = format!(
        "This call was denied: the PreToolUse hook `{}`: the server answered with the status 500",
        server.url()
    );
    assert_eq!((text, succeeded), (expected, false));
    open.close().await;
}

#[tokio::test]
async fn an_answer_of_something_else_blocks() {
    let cases: [(&str, &[u8], &str); 7] = [
        ("content-type: text/html\r\n", b"all good", "an HTML page"),
        ("", b"<h1>502 Bad Gateway</h1>", "an HTML page"),
        (
            "content-encoding: gzip\r\n",
            b"\x1f\x8b",
            "compressed (`gzip`)",
        ),
        ("", b"\xff\xfe", "not in UTF-8"),
        ("", b"\"deny\"", "not an object"),
        ("", b"[[[[", "a list instead of an object"),
        ("", b"{\"async\": true}", "`async` is for programs"),
    ];
    let server = WebServer::start(move |_, count| {
        let (headers, body, _) = cases[count];
        plain("200 OK", headers, body)
    });
    let place = guarded(&json!({"type": "http", "url": server.url()}));
    let commands: Vec<String> = (0..cases.len())
        .map(|n| format!("touch denied{n}"))
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let mut open = open(&place, runs(&commands)).await;
    let found = results(&open.run("go").await);
    for ((text, succeeded), (_, _, reason)) in found.iter().zip(cases) {
        assert!(!succeeded && text.contains(reason), "{reason}: {text}");
    }
    assert_eq!(found.len(), cases.len());
    open.close().await;
}

#[tokio::test]
async fn a_guard_that_is_no_program_never_runs_in_the_background() {
    let server = WebServer::start(|_, _| {
        plain(
            "200 OK",
            "",
            r#"{"decision": "block", "reason": "not here"}"#,
        )
    });
    let place = guarded(&json!({"type": "http", "url": server.url(), "async": true}));
    let mut open = open(&place, runs(&["touch denied"])).await;
    let expected = ("This call was denied: not here".to_owned(), false);
    assert_eq!(result(&open.run("go").await), expected);
    open.close().await;
}

#[tokio::test]
async fn a_project_gets_no_key_for_its_headers() {
    let server = WebServer::start(|_, _| plain("200 OK", "", ""));
    let place = TestProject::new();
    let hook = json!({"type": "http", "url": server.url(), "headers": {"Authorization": "$HOOK_TOKEN"},
        "allowedEnvVars": ["HOOK_TOKEN"]});
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}).to_string();
    write(&place.work().join(".osier/hooks.json"), &hooks);
    let trust = Trust::new(&Folders::under(&place.data()));
    trust
        .decide(&ProjectFiles::read(&place.work()), true)
        .unwrap();
    let mut open = open_with_environment(&place, runs(&["touch denied"])).await;
    let (text, succeeded) = result(&open.run("go").await);
    let expected = format!(
        "This call was denied: the PreToolUse hook `{}`: `HOOK_TOKEN` holds a key; a hook of a project gets it if \
         `pass_environment` in your own settings names it",
        server.url()
    );
    assert_eq!((text, succeeded), (expected, false));
    assert_eq!(server.lines(), Vec::<String>::new());
    open.close().await;
}

#[tokio::test]
async fn a_model_judges_calls() {
    let hook = json!({"type": "prompt", "prompt": "Is this harmless? $ARGUMENTS", "continueOnBlock": true});
    let place = guarded(&hook);
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("touch denied")
                .text(r#"{"ok": false, "reason": "it makes a file"}"#)
                .repeat()
        })
        .turn(|turn| turn.when_user("true #").text(r#"{"ok": true}"#).repeat())
        .turn(|turn| turn.tool("bash", bash("touch denied")))
        .turn(|turn| turn.tool("bash", bash("true #")))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let events = open.run("go").await;
    assert_eq!(
        results(&events),
        [
            ("This call was denied: it makes a file".to_owned(), false),
            ("(no output)".to_owned(), true)
        ]
    );
    assert_eq!(outcome(&events), RunOutcome::Completed);
    open.close().await;
}

/// The agent reads a file before it judges, and its own calls run no hooks.
#[tokio::test]
async fn an_agent_judges_calls() {
    let place = with(&json!({"PreToolUse": [
        {"hooks": [{"type": "agent", "prompt": "Does rules.txt allow this? $ARGUMENTS"}]},
        {"hooks": [{"command": "cat >> calls.jsonl"}]},
    ]}));
    write(&place.work().join("rules.txt"), "no touch\n");
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("Does rules.txt allow this?")
                .tool("read", json!({"file_path": "rules.txt"}))
        })
        .turn(|turn| {
            turn.when_result("no touch")
                .text(r#"{"ok": false, "reason": "the rules say no"}"#)
        })
        .turn(|turn| turn.when_user("go").tool("bash", bash("touch denied")))
        .turn(|turn| turn.text("done").repeat());
    let mut open = open(&place, script).await;
    let events = open.run("go").await;
    let expected = ("This call was denied: the rules say no".to_owned(), false);
    assert_eq!(result(&events), expected);
    let calls = lines(&place.work().join("calls.jsonl"));
    let tools = calls.iter().map(|call| {
        let call: Value = serde_json::from_str(call).unwrap();
        call["tool_name"].as_str().unwrap().to_owned()
    });
    assert_eq!(tools.collect::<Vec<_>>(), ["Bash"]);
    open.close().await;
}

#[tokio::test]
async fn a_judgement_that_is_not_understood_blocks() {
    let place = guarded(&json!({"type": "prompt", "prompt": "Is this harmless?"}));
    let script = Script::new()
        .turn(|turn| turn.when_user("Is this harmless?").text("Sure!").repeat())
        .turn(|turn| turn.tool("bash", bash("touch denied")))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let (text, succeeded) = result(&open.run("go").await);
    let expected = "This call was denied: the PreToolUse hook `Is this harmless?`: the model answered `Sure!`, which is not {\"ok\": true} or \
                    {\"ok\": false, \"reason\": …}";
    assert_eq!((text.as_str(), succeeded), (expected, false));
    open.close().await;
}

#[tokio::test]
async fn a_tool_of_a_server_judges_calls() {
    let hooks = json!({"PostToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "mcp_tool", "server": "fake", "tool": "echo", "input": {"text": "${tool_input.command}"}}]}],
        "UserPromptSubmit": [{"hooks": [{"type": "mcp_tool", "server": "fake", "tool": "echo"}]}]});
    let place = with(&hooks);
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_server.sh");
    let servers = json!({"mcpServers": {"fake": {"command": "sh", "args": [server, "good"]}}});
    write(&place.data().join("mcp.json"), &servers.to_string());
    osier_base::private::restrict(&place.data().join("mcp.json")).unwrap();
    let mut open = open(&place, runs(&["true"])).await;
    let is_ready = |event: &Event| match event {
        Event::McpServers { servers } => servers[0].state == osier_protocol::ServerState::Ready,
        _ => false,
    };
    open.until(is_ready).await;
    let events = open.run("go").await;
    assert_eq!(outcome(&events), RunOutcome::Completed);
    // The text of the tool is context for the prompt.
    assert_eq!(
        open.last_request()[0],
        "user: go|<file name=\"UserPromptSubmit hook\">\nechoed\n</file>"
    );
    open.close().await;
}
