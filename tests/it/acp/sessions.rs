//! Sessions: several at once, list, load, resume, close, modes and options.

use serde_json::{Value, json};

use super::acp;
use super::editor::Editor;
use crate::support::cli::Home;
use crate::support::model_server::{Answer, Server};

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

#[test]
fn load_replays_the_conversation_and_resume_does_not() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.call("session/prompt", prompt(&session, "zzrun"));
    let open = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    let (code, _) = editor.call_error("session/load", open.clone());
    assert_eq!(code, -32600);
    editor.call("session/close", json!({"sessionId": session}));
    let (code, _) = editor.call_error("session/prompt", prompt(&session, "hi"));
    assert_eq!(code, -32002);
    let listed = editor.call("session/list", json!({"cwd": home.work()}));
    assert_eq!(
        (
            &listed["sessions"][0]["sessionId"],
            &listed["sessions"][0]["title"]
        ),
        (&json!(session), &json!("zzrun"))
    );
    editor.clear_unread();
    let loaded = editor.call("session/load", open);
    assert_eq!(loaded["modes"]["currentModeId"], "yolo");
    let kinds: Vec<&str> = editor.unread();
    assert_eq!(
        kinds,
        [
            "user_message_chunk",
            "agent_thought_chunk",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk"
        ]
    );
    editor.clear_unread();
    editor.call("session/close", json!({"sessionId": session}));
    let resume = json!({"sessionId": session, "cwd": home.work()});
    editor.call("session/resume", resume);
    assert!(!editor.unread().contains(&"user_message_chunk"));
    let ended = editor.call("session/prompt", prompt(&session, "more"));
    assert_eq!(ended["stopReason"], "end_turn");
    let missing = json!({"sessionId": "ffff", "cwd": home.work(), "mcpServers": []});
    let (code, message) = editor.call_error("session/load", missing);
    assert_eq!(code, -32002, "{message}");
}

#[test]
fn sessions_run_concurrently() {
    let home = Home::new();
    let (mut editor, first) = Editor::with_session(acp(&home), &home);
    let new = json!({"cwd": home.work(), "mcpServers": []});
    let second = editor.call("session/new", new)["sessionId"].take();
    let second = second.as_str().unwrap().to_owned();
    let slow = editor.send("session/prompt", prompt(&first, "zzslow"));
    editor.update("agent_message_chunk");
    let ended = editor.call("session/prompt", prompt(&second, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
    let chunk =
        editor.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    assert_eq!(chunk["params"]["sessionId"], second);
    editor.running().close_input();
    // A running turn is cancelled and stored when the editor disconnects.
    assert_eq!(editor.response(slow)["result"]["stopReason"], "cancelled");
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(home.sessions().len(), 2);
}

#[test]
fn invalid_parameter_is_named() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let none = json!({"sessionId": session, "modeId": ""});
    let (_, message) = editor.call_error("session/set_mode", none);
    assert_eq!(
        message,
        "missing mode; expected one of `yolo`, `auto`, `ask`, `plan`"
    );
    let number = json!({"sessionId": session, "modeId": 7});
    let (code, message) = editor.call_error("session/set_mode", number);
    assert_eq!(
        (code, message.as_str()),
        (
            -32602,
            "invalid parameter `modeId`: invalid type: integer `7`, expected a string"
        )
    );
}

#[test]
fn mode_and_options_are_set() {
    let home = Home::new();
    home.file("other.json", json!({"turns": []}).to_string());
    let mut editor = Editor::start(acp(&home));
    let greeting = editor.call(
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": {}}),
    );
    assert_eq!(greeting["protocolVersion"], 1);
    assert_eq!(greeting["agentCapabilities"]["loadSession"], true);
    let opened = editor.call("session/new", json!({"cwd": home.work(), "mcpServers": []}));
    let session = opened["sessionId"].clone();
    let option = |options: &Value, id: &str| {
        let mut options = options.as_array().unwrap().iter();
        options.find(|option| option["id"] == id).cloned().unwrap()
    };
    assert_eq!(
        option(&opened["configOptions"], "model")["currentValue"],
        "script/model.json"
    );
    assert_eq!(
        editor.update("current_mode_update")["currentModeId"],
        "yolo"
    );
    let mode = json!({"sessionId": session, "modeId": "plan"});
    assert_eq!(editor.call("session/set_mode", mode), json!({}));
    assert_eq!(
        editor.update("current_mode_update")["currentModeId"],
        "plan"
    );
    let (code, message) = editor.call_error(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "fly"}),
    );
    assert_eq!(
        (code, message.as_str()),
        (
            -32602,
            "unknown mode `fly`; expected one of `yolo`, `auto`, `ask`, `plan`"
        )
    );
    let set = |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
    let chosen = editor.call(
        "session/set_config_option",
        set("model", "script/other.json"),
    );
    assert_eq!(
        option(&chosen["configOptions"], "model")["currentValue"],
        "script/other.json"
    );
    let chosen = editor.call("session/set_config_option", set("mode", "ask"));
    assert_eq!(
        option(&chosen["configOptions"], "mode")["currentValue"],
        "ask"
    );
    let (code, _) = editor.call_error("session/set_config_option", set("model", "no such model"));
    assert_eq!(code, -32602);
    let (code, message) = editor.call_error("session/set_config_option", set("colour", "red"));
    assert_eq!(
        (code, message.as_str()),
        (
            -32602,
            "unknown option `colour`; expected one of `mode`, `model`, `thought_level`"
        )
    );
    let (code, message) =
        editor.call_error("session/new", json!({"cwd": "here", "mcpServers": []}));
    assert_eq!(
        (code, message.as_str()),
        (-32602, "`cwd` must be an absolute path, not `here`")
    );
}

#[test]
fn editor_passes_mcp_servers() {
    let home = Home::new();
    let server = format!("{}/tests/it/mcp_server.sh", env!("CARGO_MANIFEST_DIR"));
    let mut editor = Editor::start(acp(&home));
    editor.call("initialize", json!({"protocolVersion": 1}));
    let servers = json!([{"name": "given", "command": "/bin/sh", "args": [server], "env": []}]);
    let opened = editor.call(
        "session/new",
        json!({"cwd": home.work(), "mcpServers": servers}),
    );
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let ended = editor.call("session/prompt", prompt(&session, "hi"));
    assert_eq!(ended["stopReason"], "end_turn");
    // A server that cannot be reached does not fail the session.
    for kind in ["http", "sse"] {
        let url = "http://127.0.0.1:9/mcp";
        let web = json!([{"type": kind, "name": "web", "url": url, "headers": []}]);
        let opened = editor.call(
            "session/new",
            json!({"cwd": home.work(), "mcpServers": web}),
        );
        assert!(opened["sessionId"].is_string(), "{opened}");
    }
    let other = json!([{"type": "sse", "name": "old", "url": "ftp://example.com", "headers": []}]);
    let (code, message) = editor.call_error(
        "session/new",
        json!({"cwd": home.work(), "mcpServers": other}),
    );
    assert_eq!(code, -32602);
    assert_eq!(
        message,
        "an MCP server needs a `command`, or the type `http` or `sse` with an HTTP `url`"
    );
}

#[test]
fn fork_continues_in_a_copy_of_an_open_session() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    assert_eq!(
        editor.update("current_mode_update")["currentModeId"],
        "yolo"
    );
    editor.call("session/prompt", prompt(&session, "first"));
    let fork = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    let mut forked = editor.call("session/fork", fork);
    assert_eq!(forked["modes"]["currentModeId"], "yolo");
    let copy = forked["sessionId"].take();
    let copy = copy.as_str().unwrap();
    assert_ne!(copy, session);
    editor.call("session/prompt", prompt(copy, "second"));
    editor.call("session/close", json!({"sessionId": copy}));
    editor.call("session/close", json!({"sessionId": session}));
    let texts = |editor: &mut Editor, session: &str| {
        editor.clear_unread();
        let load = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
        editor.call("session/load", load);
        let count = editor
            .unread()
            .iter()
            .filter(|kind| **kind == "user_message_chunk")
            .count();
        let mut texts = Vec::new();
        for _ in 0..count {
            texts.push(editor.update("user_message_chunk")["content"]["text"].take());
        }
        json!(texts)
    };
    assert_eq!(texts(&mut editor, copy), json!(["first", "second"]));
    assert_eq!(texts(&mut editor, &session), json!(["first"]));
    let (code, _) = editor.call_error(
        "session/fork",
        json!({"sessionId": "ffff", "cwd": home.work()}),
    );
    assert_eq!(code, -32002);
}

#[test]
fn logout_deletes_stored_credentials() {
    let home = Home::new();
    let ended = home
        .cli()
        .args(["login", "openai", "--key"])
        .stdin("sk-test-0123456789\n")
        .run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let stored = || std::fs::read_to_string(home.home().join("auth.json")).unwrap();
    assert!(stored().contains("sk-test"));
    let mut editor = Editor::start(acp(&home));
    let greeting = editor.call("initialize", json!({"protocolVersion": 1}));
    let capabilities = &greeting["agentCapabilities"];
    assert_eq!(
        (
            &capabilities["auth"]["logout"],
            &capabilities["sessionCapabilities"]["fork"]
        ),
        (&json!({}), &json!({}))
    );
    assert_eq!(editor.call("logout", json!({})), json!({}));
    assert!(!stored().contains("sk-test"), "{}", stored());
}

#[test]
fn status_of_sign_in_names_accounts_with_credentials() {
    let home = Home::new();
    let mut editor = Editor::start(home.cli().args(["acp"]));
    let greeting = editor.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(
        greeting["agentCapabilities"]["auth"]["status"],
        json!({}),
        "{greeting}"
    );
    let none = json!({"state": "unauthenticated"});
    assert_eq!(editor.call("auth/status", json!({})), none);
    let key = home
        .cli()
        .args(["login", "openai", "--key"])
        .stdin("sk-test-0123456789\n");
    assert_eq!(key.run().code, Some(0));
    let account = json!({"label": "OpenAI: key …6789", "active": true});
    assert_eq!(
        editor.call("auth/status", json!({})),
        json!({"state": "authenticated", "accounts": [account]})
    );
    editor.call("logout", json!({}));
    assert_eq!(editor.call("auth/status", json!({})), none);
}

#[test]
fn open_and_stored_sessions_have_a_status_and_get_titles() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let of = json!({"sessionId": session});
    assert_eq!(
        editor.call("session/status", of.clone()),
        json!({"status": "open"})
    );
    editor.call("session/prompt", prompt(&session, "hi"));
    let title = |text: &str| json!({"sessionId": session, "title": text});
    // The response comes after the notification, and a title is one line.
    assert_eq!(
        editor.call("session/set_title", title(" the\nparser ")),
        json!({"title": "the parser"})
    );
    editor.clear_unread();
    editor.call("session/close", of.clone());
    assert_eq!(
        editor.call("session/status", of),
        json!({"status": "saved"})
    );
    let listed = |editor: &mut Editor| {
        let mut list = editor.call("session/list", json!({"cwd": home.work()}));
        list["sessions"][0]["title"].take()
    };
    assert_eq!(listed(&mut editor), "the parser");
    assert_eq!(
        editor.call("session/set_title", title("closed")),
        json!({"title": "closed"})
    );
    assert_eq!(listed(&mut editor), "closed");
    let (code, message) = editor.call_error("session/set_title", title(" \n"));
    assert_eq!(
        (code, message.as_str()),
        (-32602, "`title` is empty; expected the new title")
    );
    for (method, params) in [
        ("session/status", json!({"sessionId": "ffff"})),
        (
            "session/set_title",
            json!({"sessionId": "ffff", "title": "x"}),
        ),
    ] {
        let (code, message) = editor.call_error(method, params);
        assert_eq!(code, -32002, "{method}: {message}");
    }
}

#[test]
fn archived_sessions_are_closed_and_listed_on_request() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    editor.call("session/prompt", prompt(&session, "hi"));
    let of = json!({"sessionId": session});
    // The session of a running prompt closes, then it is archived.
    let turn = editor.send("session/prompt", prompt(&session, "zzslow"));
    editor.update("agent_message_chunk");
    assert_eq!(editor.call("session/archive", of.clone()), json!({}));
    assert_eq!(editor.response(turn)["result"]["stopReason"], "cancelled");
    assert_eq!(
        editor.call("session/status", of.clone()),
        json!({"status": "saved"})
    );
    let listed = |editor: &mut Editor, archived: &str| {
        let list = json!({"cwd": home.work(), "archived": archived});
        let list = editor.call("session/list", list);
        let rows = list["sessions"].as_array().unwrap().iter();
        rows.map(|row| row["archived"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&mut editor, "exclude"), [json!(null); 0]);
    assert_eq!(listed(&mut editor, "include"), [json!(true)]);
    assert_eq!(listed(&mut editor, "only"), [json!(true)]);
    assert_eq!(editor.call("session/archive", of.clone()), json!({}));
    assert_eq!(editor.call("session/unarchive", of), json!({}));
    assert_eq!(listed(&mut editor, "exclude"), [json!(false)]);
    assert_eq!(listed(&mut editor, "only"), [json!(null); 0]);
    let (code, message) = editor.call_error("session/list", json!({"archived": "all"}));
    assert_eq!(
        (code, message.as_str()),
        (
            -32602,
            "unknown `archived`; expected `exclude`, `include` or `only`"
        )
    );
    for method in ["session/archive", "session/unarchive"] {
        let (code, message) = editor.call_error(method, json!({"sessionId": "ffff"}));
        assert_eq!(code, -32002, "{method}: {message}");
    }
}

#[test]
fn response_to_a_prompt_has_its_tokens() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let one = json!({
        "totalTokens": 110, "inputTokens": 100, "outputTokens": 10,
        "cachedReadTokens": 0, "cachedWriteTokens": 0,
    });
    // The second prompt does not count the first one.
    for text in ["first", "second"] {
        let ended = editor.call("session/prompt", prompt(&session, text));
        assert_eq!(ended, json!({"stopReason": "end_turn", "usage": one}));
    }
    let ended = editor.call("session/prompt", prompt(&session, "/usage"));
    assert_eq!(ended, json!({"stopReason": "end_turn"}));
}

#[test]
fn system_prompt_of_the_editor_is_added_or_replaces_osiers() {
    let home = Home::new();
    let model = Server::start(["append", "override"].map(Answer::says));
    home.config("models.json", model.models_json());
    let mut editor = Editor::start(home.cli().args(["acp", "--model", "here/m"]));
    editor.call("initialize", json!({"protocolVersion": 1}));
    let open = |mode: &str, content: Value| {
        json!({
            "cwd": home.work(), "mcpServers": [],
            "systemPrompt": {"mode": mode, "content": content},
        })
    };
    let words = json!([{"type": "text", "text": "Answer in"}, {"type": "text", "text": "rhymes."}]);
    for (number, mode) in ["append", "override"].into_iter().enumerate() {
        let opened = editor.call("session/new", open(mode, words.clone()));
        let session = opened["sessionId"].as_str().unwrap().to_owned();
        editor.call("session/prompt", prompt(&session, "hi"));
        let sent = model.requests()[number]["messages"][0]["content"].to_string();
        assert!(sent.contains(r"Answer in\nrhymes."), "{mode}: {sent}");
        let own = sent.contains("You are osier, a coding agent");
        assert_eq!(own, mode == "append", "{sent}");
    }
    for (mode, content, reason) in [
        (
            "prepend",
            words.clone(),
            "unknown mode of `systemPrompt`; expected `append` or `override`",
        ),
        ("append", json!([]), "`systemPrompt` is empty"),
        (
            "append",
            json!([{"type": "resource_link", "uri": "file:///a", "name": "a"}]),
            "`systemPrompt` can only contain text",
        ),
    ] {
        let (code, message) = editor.call_error("session/new", open(mode, content));
        assert_eq!((code, message.as_str()), (-32602, reason));
    }
}
