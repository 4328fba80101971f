//! The capabilities of an editor: files, terminals, forms and notices. The agent uses only the capabilities of
//! the editor; the editor of the other tests has none.

use serde_json::{Value, json};

use super::acp;
use super::editor::Editor;
use crate::support::cli::Home;
use crate::support::model_server::{Answer, Server};

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn files() -> Value {
    json!({"fs": {"readTextFile": true, "writeTextFile": true}})
}

/// The stop reason of `turn`, and its finished tool call.
fn finished(editor: &mut Editor, turn: u64) -> (Value, Value) {
    let mut answer = editor.response(turn);
    let update = editor.wait_for(|line| {
        let update = &line["params"]["update"];
        update["sessionUpdate"] == "tool_call_update" && !update["status"].is_null()
    });
    (
        answer["result"]["stopReason"].take(),
        update["params"]["update"].clone(),
    )
}

#[test]
fn files_are_read_and_written_through_the_editor() {
    let home = Home::new();
    let note = home.file("note.txt", "on the disk\n");
    let (mut editor, session) = Editor::with_capabilities(files(), acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzread"));
    let read = editor.request("fs/read_text_file");
    assert_eq!(
        (&read["params"]["path"], &read["params"]["sessionId"]),
        (&json!(note), &json!(session))
    );
    editor.respond(&read, json!({"content": "in the buffer\n"}));
    let (reason, call) = finished(&mut editor, turn);
    assert_eq!(reason, "end_turn");
    assert!(
        call["content"].to_string().contains("in the buffer"),
        "{call}"
    );
    // An edit changes the buffer.
    let turn = editor.send("session/prompt", prompt(&session, "zzedit"));
    let read = editor.request("fs/read_text_file");
    editor.respond(&read, json!({"content": "in the buffer\n"}));
    let write = editor.request("fs/write_text_file");
    assert_eq!(
        (&write["params"]["path"], &write["params"]["content"]),
        (&json!(note), &json!("in the editor\n"))
    );
    editor.respond(&write, json!({}));
    let (_, call) = finished(&mut editor, turn);
    assert_eq!(
        call["content"][0],
        json!({
            "type": "diff", "path": note,
            "oldText": "in the buffer\n", "newText": "in the editor\n",
        })
    );
    // A new file is not read first. The model gets the error of the editor.
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let write = editor.request("fs/write_text_file");
    editor.respond_error(&write, "the window is closed");
    let (reason, call) = finished(&mut editor, turn);
    assert_eq!(
        (reason, &call["status"]),
        (json!("end_turn"), &json!("failed"))
    );
    let content = call["content"].to_string();
    assert!(content.contains("the window is closed"), "{content}");
    assert!(!home.work().join("made.txt").exists());
}

/// A refusal of the editor is the result: osier neither reads the disk nor starts the command itself.
#[test]
fn refusals_of_the_editor_are_results() {
    let home = Home::new();
    let note = home.file("note.txt", "on the disk\n");
    let offers = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
    let (mut editor, session) = Editor::with_capabilities(offers, acp(&home), &home);
    for (text, method, expected) in [
        (
            "zzread",
            "fs/read_text_file",
            "the editor did not read the file: not in the project",
        ),
        (
            "zzedit",
            "fs/read_text_file",
            "the editor did not read the file: not in the project",
        ),
        (
            "zzrun",
            "terminal/create",
            "the editor did not start the command: not in the project",
        ),
    ] {
        let turn = editor.send("session/prompt", prompt(&session, text));
        let request = editor.request(method);
        editor.respond_error(&request, "not in the project");
        let (reason, call) = finished(&mut editor, turn);
        assert_eq!(
            (reason, &call["status"]),
            (json!("end_turn"), &json!("failed"))
        );
        let content = call["content"].to_string();
        assert!(content.contains(expected), "{content}");
        assert!(!content.contains("on the disk"), "{content}");
    }
    assert_eq!(std::fs::read_to_string(note).unwrap(), "on the disk\n");
}

#[test]
fn file_outside_the_session_is_written_to_disk() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_capabilities(files(), acp(&home), &home);
    // Editors reject such a file, so the agent does not ask.
    let turn = editor.send("session/prompt", prompt(&session, "zzaway"));
    let (reason, call) = finished(&mut editor, turn);
    assert_eq!(
        (reason, &call["status"]),
        (json!("end_turn"), &json!("completed"))
    );
    let away = home.work().with_file_name("away.txt");
    assert_eq!(std::fs::read_to_string(away).unwrap(), "one\n");
}

#[test]
fn command_runs_in_a_terminal_of_the_editor() {
    let home = Home::new();
    let offers = json!({"terminal": true});
    let (mut editor, session) = Editor::with_capabilities(offers, acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzrun"));
    let create = editor.request("terminal/create");
    let params = &create["params"];
    let args = params["args"].as_array().expect("arguments");
    assert_eq!(
        args.last(),
        Some(&json!("touch made && echo ran")),
        "{params}"
    );
    assert_eq!(params["cwd"], json!(home.work()));
    editor.respond(&create, json!({"terminalId": "t7"}));
    let wait = editor.request("terminal/wait_for_exit");
    let shown =
        editor.wait_for(|line| !line["params"]["update"]["content"][0]["terminalId"].is_null());
    assert_eq!(
        shown["params"]["update"]["content"],
        json!([{"type": "terminal", "terminalId": "t7"}])
    );
    editor.respond(&wait, json!({"exitCode": 4, "signal": null}));
    let output = editor.request("terminal/output");
    assert_eq!(output["params"]["terminalId"], "t7");
    editor.respond(&output, json!({"output": "ran\r\n", "truncated": false}));
    let release = editor.request("terminal/release");
    editor.respond(&release, json!({}));
    let (reason, call) = finished(&mut editor, turn);
    assert_eq!(
        (reason, &call["status"]),
        (json!("end_turn"), &json!("failed"))
    );
    // The editor continues to show the terminal.
    assert_eq!(call.get("content"), None);
    assert_eq!(call["rawOutput"]["exitCode"], 4);
}

#[test]
fn cancel_kills_the_command_in_the_terminal() {
    let home = Home::new();
    let offers = json!({"terminal": true});
    let (mut editor, session) = Editor::with_capabilities(offers, acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzrun"));
    let create = editor.request("terminal/create");
    editor.respond(&create, json!({"terminalId": "t1"}));
    editor.request("terminal/wait_for_exit");
    editor.notify("session/cancel", json!({"sessionId": session}));
    let kill = editor.request("terminal/kill");
    editor.respond(&kill, json!({}));
    let wait = editor.request("terminal/wait_for_exit");
    editor.respond(&wait, json!({"signal": "SIGKILL"}));
    let output = editor.request("terminal/output");
    editor.respond(&output, json!({"output": "half", "truncated": true}));
    let release = editor.request("terminal/release");
    editor.respond(&release, json!({}));
    assert_eq!(editor.response(turn)["result"]["stopReason"], "cancelled");
}

#[test]
fn disconnect_during_a_request_cancels_the_turn() {
    let home = Home::new();
    home.file("note.txt", "on the disk\n");
    let offers = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
    let (mut editor, session) = Editor::with_capabilities(offers, acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzedit"));
    editor.request("fs/read_text_file");
    editor.running().close_input();
    assert_eq!(editor.response(turn)["result"]["stopReason"], "cancelled");
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(home.sessions().len(), 1);
}

/// An editor whose session has the MCP server `given`, which asks for a size.
fn with_server(home: &Home) -> (Editor, String) {
    let server = format!("{}/tests/it/mcp_server.sh", env!("CARGO_MANIFEST_DIR"));
    let servers = json!([{"name": "given", "command": "/bin/sh", "args": [server], "env": []}]);
    let mut editor = Editor::start(acp(home));
    let offers = json!({"elicitation": {"form": {}, "url": {}}});
    let hello = json!({"protocolVersion": 1, "clientCapabilities": offers});
    editor.call("initialize", hello);
    let new = json!({"cwd": home.work(), "mcpServers": servers});
    let session = editor.call("session/new", new)["sessionId"].take();
    let session = session.as_str().expect("an id").to_owned();
    (editor, session)
}

#[test]
fn form_of_an_mcp_server_is_an_elicitation() {
    let home = Home::new();
    let (mut editor, session) = with_server(&home);
    let turn = editor.send("session/prompt", prompt(&session, "zzask"));
    let form = editor.request("elicitation/create");
    let params = &form["params"];
    assert_eq!(
        (&params["mode"], &params["requestedSchema"]["properties"]),
        (
            &json!("form"),
            &json!({"size": {"type": "string", "title": "size"}})
        )
    );
    let message = params["message"].as_str().expect("a message");
    assert!(
        message.contains("given") && message.contains("Which size?"),
        "{message}"
    );
    editor.respond(
        &form,
        json!({"action": "accept", "content": {"size": "large"}}),
    );
    let (reason, call) = finished(&mut editor, turn);
    assert_eq!(reason, "end_turn");
    assert!(
        call["content"].to_string().contains("a large one"),
        "{call}"
    );
}

#[test]
fn open_request_is_cancelled_with_its_prompt() {
    let home = Home::new();
    let asks = acp(&home).args(["--permissions", "ask"]);
    let (mut editor, session) = Editor::with_session(asks, &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let asked = editor.request("session/request_permission");
    // Cancels the request of the prompt instead of the session.
    editor.notify("$/cancel_request", json!({"requestId": turn}));
    let back = editor.wait_for(|line| line["method"] == "$/cancel_request");
    assert_eq!(back["params"]["requestId"], asked["id"]);
    assert_eq!(editor.response(turn)["result"]["stopReason"], "cancelled");
}

const PLUGIN: &str = r#"
osier.command {
  name = "choose",
  run = function()
    local chosen = osier.ui.select("Which?", { "left", { value = "right", label = "To the right" } })
    osier.ui.notify("went " .. (chosen or "nowhere") .. "\nand on", "warning")
  end,
}
"#;

#[test]
fn plugin_asks_and_notifies() {
    let home = Home::new();
    std::fs::create_dir(home.home().join("plugins")).expect("a folder");
    home.config("plugins/choose.lua", PLUGIN);
    let offers = json!({"elicitation": {"form": {}}, "session": {"notices": {}}});
    let (mut editor, session) = Editor::with_capabilities(offers, acp(&home), &home);
    editor.wait_for(|line| line.to_string().contains("\"choose\""));
    editor.send("session/prompt", prompt(&session, "/choose"));
    let form = editor.request("elicitation/create");
    assert_eq!(
        form["params"]["requestedSchema"]["properties"]["answer"]["oneOf"],
        json!([
            {"const": "left", "title": "left"}, {"const": "right", "title": "To the right"},
        ])
    );
    editor.respond(
        &form,
        json!({"action": "accept", "content": {"answer": "right"}}),
    );
    let notice = editor.update("notice");
    assert_eq!(
        (
            &notice["severity"],
            &notice["title"],
            &notice["description"]
        ),
        (
            &json!("warning"),
            &json!("choose: went right"),
            &json!("and on")
        )
    );
}

#[test]
fn truncated_answer_has_a_stop_reason() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let ended = editor.call("session/prompt", prompt(&session, "zzlong"));
    assert_eq!(ended["stopReason"], "max_tokens");
}

#[test]
fn authentication_loads_keys_and_directories_reach_the_model() {
    let home = Home::new();
    let mut editor = Editor::start(home.cli().args(["acp"]));
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": true}}});
    let greeting = editor.call("initialize", hello);
    assert_eq!(
        greeting["authMethods"],
        json!([{
            "type": "terminal", "id": "terminal", "name": "Sign in",
            "description": "Sign in to a provider or store an API key, in a terminal", "args": ["--login"],
        }])
    );
    let extra = home.home().join("extra");
    std::fs::create_dir(&extra).expect("a folder");
    let new = |folder: &str| json!({"cwd": home.work(), "mcpServers": [], "additionalDirectories": [folder]});
    let (code, message) = editor.call_error("session/new", new("extra"));
    assert_eq!(
        (code, message.as_str()),
        (
            -32602,
            "`additionalDirectories` must be an absolute path, not `extra`"
        )
    );
    let session = editor.call("session/new", new(&extra.to_string_lossy()));
    let session = session["sessionId"].as_str().expect("an id").to_owned();
    // No model has a key, and the tour is not selected.
    let (code, message) = editor.call_error("session/prompt", prompt(&session, "hello"));
    assert_eq!(code, -32000, "{message}");
    let sound = json!({"sessionId": session, "prompt": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]});
    let (code, message) = editor.call_error("session/prompt", sound);
    assert_eq!(code, -32602, "{message}");
    let (code, _) = editor.call_error("authenticate", json!({"methodId": "unknown"}));
    assert_eq!(code, -32602);

    let model = Server::start([Answer::says("hello")]);
    home.config("models.json", model.models_json());
    editor.call("authenticate", json!({"methodId": "terminal"}));
    let answer = editor.call("session/prompt", prompt(&session, "hello"));
    assert_eq!(answer["stopReason"], "end_turn");
    let asked = model.requests()[0]["messages"][0].to_string();
    let further = format!("Additional directories: {}", extra.display());
    assert!(asked.contains(&further), "{asked}");
}

#[test]
fn editor_without_terminals_has_no_auth_method() {
    let home = Home::new();
    let mut editor = Editor::start(acp(&home));
    let greeting = editor.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(greeting["authMethods"], json!([]));
}

#[test]
fn editor_sends_a_recording() {
    let home = Home::new();
    let server = Server::start([Answer::says("heard")]);
    let mut models: Value = serde_json::from_str(&server.models_json()).expect("JSON");
    models["providers"]["here"]["models"][0]["input"] = json!(["text", "audio"]);
    home.config("models.json", models.to_string());
    let (mut editor, session) =
        Editor::with_session(home.cli().args(["acp", "--model", "here/m"]), &home);
    let blocks = json!([
        {"type": "text", "text": "What is said?"},
        {"type": "audio", "data": "UklGRgQAAABXQVZF", "mimeType": "audio/wav"},
    ]);
    let ended = editor.call(
        "session/prompt",
        json!({"sessionId": session, "prompt": blocks}),
    );
    assert_eq!(ended["stopReason"], "end_turn");
    let messages = server.requests()[0]["messages"].clone();
    let content = &messages[messages.as_array().map_or(0, Vec::len) - 1]["content"];
    let audio = json!({"type": "input_audio", "input_audio": {"data": "UklGRgQAAABXQVZF", "format": "wav"}});
    assert!(
        content
            .as_array()
            .is_some_and(|parts| parts.contains(&audio)),
        "{content}"
    );
}

/// An editor of the draft of version 2 learns that osier speaks version 1, and continues with it.
#[test]
fn an_editor_of_version_2_gets_version_1() {
    let home = Home::new();
    let mut editor = Editor::start(acp(&home));
    let draft = json!({"protocolVersion": 2, "info": {"name": "editor", "version": "1"}, "capabilities": {}});
    let greeting = editor.call("initialize", draft);
    assert_eq!(greeting["protocolVersion"], 1);
    let new = json!({"cwd": home.work(), "mcpServers": []});
    let session = editor.call("session/new", new)["sessionId"].take();
    let prompt = json!([{"type": "text", "text": "hi"}]);
    let ended = editor.call(
        "session/prompt",
        json!({"sessionId": session, "prompt": prompt}),
    );
    assert_eq!(ended["stopReason"], "end_turn");
}
