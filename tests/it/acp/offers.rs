//! What an editor offers is made use of: its files, its terminals, its forms, its notices. What it does not
//! offer is never asked of it: the other tests have an editor that offers nothing.

use serde_json::{Value, json};

use super::acp;
use super::wire::Editor;
use crate::support::cli::Home;
use crate::support::server::{Answer, Server};

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn files() -> Value {
    json!({"fs": {"readTextFile": true, "writeTextFile": true}})
}

/// How the run that was begun as `turn` ended, and its tool call.
fn ended(editor: &mut Editor, turn: u64) -> (Value, Value) {
    let mut answer = editor.answer(turn);
    let update = editor.until(|line| {
        let update = &line["params"]["update"];
        update["sessionUpdate"] == "tool_call_update" && !update["status"].is_null()
    });
    (
        answer["result"]["stopReason"].take(),
        update["params"]["update"].clone(),
    )
}

#[test]
fn files_are_read_and_written_as_the_editor_has_them() {
    let home = Home::new();
    let note = home.file("note.txt", "on the disk\n");
    let (mut editor, session) = Editor::offering(files(), acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzread"));
    let read = editor.asked("fs/read_text_file");
    assert_eq!(
        (&read["params"]["path"], &read["params"]["sessionId"]),
        (&json!(note), &json!(session))
    );
    editor.reply(&read, json!({"content": "in the buffer\n"}));
    let (reason, call) = ended(&mut editor, turn);
    assert_eq!(reason, "end_turn");
    assert!(
        call["content"].to_string().contains("in the buffer"),
        "{call}"
    );
    // An edit is made in the buffer.
    let turn = editor.send("session/prompt", prompt(&session, "zzedit"));
    let read = editor.asked("fs/read_text_file");
    editor.reply(&read, json!({"content": "in the buffer\n"}));
    let write = editor.asked("fs/write_text_file");
    assert_eq!(
        (&write["params"]["path"], &write["params"]["content"]),
        (&json!(note), &json!("in the desk\n"))
    );
    editor.reply(&write, json!({}));
    let (_, call) = ended(&mut editor, turn);
    assert_eq!(
        call["content"][0],
        json!({
            "type": "diff", "path": note,
            "oldText": "in the buffer\n", "newText": "in the desk\n",
        })
    );
    // A file that is new has nothing to be read, and an editor that refuses is an error the model hears.
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let write = editor.asked("fs/write_text_file");
    editor.refuse(&write, "the window is closed");
    let (reason, call) = ended(&mut editor, turn);
    assert_eq!(
        (reason, &call["status"]),
        (json!("end_turn"), &json!("failed"))
    );
    let told = call["content"].to_string();
    assert!(told.contains("the window is closed"), "{told}");
    assert!(!home.work().join("made.txt").exists());
}

#[test]
fn what_the_editor_cannot_read_comes_from_the_disk() {
    let home = Home::new();
    home.file("note.txt", "on the disk\n");
    let (mut editor, session) = Editor::offering(files(), acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzread"));
    let read = editor.asked("fs/read_text_file");
    editor.refuse(&read, "not in the project");
    let (_, call) = ended(&mut editor, turn);
    assert!(
        call["content"].to_string().contains("on the disk"),
        "{call}"
    );
}

#[test]
fn what_lies_elsewhere_is_on_the_disk() {
    let home = Home::new();
    let (mut editor, session) = Editor::offering(files(), acp(&home), &home);
    // The editor would refuse it, and is not asked.
    let turn = editor.send("session/prompt", prompt(&session, "zzaway"));
    let (reason, call) = ended(&mut editor, turn);
    assert_eq!(
        (reason, &call["status"]),
        (json!("end_turn"), &json!("completed"))
    );
    let away = home.work().with_file_name("away.txt");
    assert_eq!(std::fs::read_to_string(away).unwrap(), "one\n");
}

#[test]
fn a_command_runs_in_a_terminal_of_the_editor() {
    let home = Home::new();
    let offers = json!({"terminal": true});
    let (mut editor, session) = Editor::offering(offers, acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzrun"));
    let create = editor.asked("terminal/create");
    let params = &create["params"];
    let args = params["args"].as_array().expect("arguments");
    assert_eq!(args.last(), Some(&json!("echo ran")), "{params}");
    assert_eq!(params["cwd"], json!(home.work()));
    editor.reply(&create, json!({"terminalId": "t7"}));
    let wait = editor.asked("terminal/wait_for_exit");
    let shown =
        editor.until(|line| !line["params"]["update"]["content"][0]["terminalId"].is_null());
    assert_eq!(
        shown["params"]["update"]["content"],
        json!([{"type": "terminal", "terminalId": "t7"}])
    );
    editor.reply(&wait, json!({"exitCode": 4, "signal": null}));
    let output = editor.asked("terminal/output");
    assert_eq!(output["params"]["terminalId"], "t7");
    editor.reply(&output, json!({"output": "ran\r\n", "truncated": false}));
    let release = editor.asked("terminal/release");
    editor.reply(&release, json!({}));
    let (reason, call) = ended(&mut editor, turn);
    assert_eq!(
        (reason, &call["status"]),
        (json!("end_turn"), &json!("failed"))
    );
    // The terminal goes on to be shown.
    assert_eq!(call.get("content"), None);
    assert_eq!(call["rawOutput"]["exitCode"], 4);
}

#[test]
fn a_cancel_kills_the_command_in_the_terminal() {
    let home = Home::new();
    let offers = json!({"terminal": true});
    let (mut editor, session) = Editor::offering(offers, acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzrun"));
    let create = editor.asked("terminal/create");
    editor.reply(&create, json!({"terminalId": "t1"}));
    editor.asked("terminal/wait_for_exit");
    editor.notify("session/cancel", json!({"sessionId": session}));
    let kill = editor.asked("terminal/kill");
    editor.reply(&kill, json!({}));
    let wait = editor.asked("terminal/wait_for_exit");
    editor.reply(&wait, json!({"signal": "SIGKILL"}));
    let output = editor.asked("terminal/output");
    editor.reply(&output, json!({"output": "half", "truncated": true}));
    let release = editor.asked("terminal/release");
    editor.reply(&release, json!({}));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
}

#[test]
fn an_editor_that_goes_while_it_is_asked_holds_nothing_up() {
    let home = Home::new();
    home.file("note.txt", "on the disk\n");
    let offers = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
    let (mut editor, session) = Editor::offering(offers, acp(&home), &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzedit"));
    editor.asked("fs/read_text_file");
    editor.running().close_input();
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
    let (_, code, errors) = editor.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(home.sessions().len(), 1);
}

/// An editor whose session has the server `given`, which asks for a size.
fn asking(home: &Home) -> (Editor, String) {
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
fn a_form_of_a_server_is_shown_by_the_editor() {
    let home = Home::new();
    let (mut editor, session) = asking(&home);
    let turn = editor.send("session/prompt", prompt(&session, "zzask"));
    let form = editor.asked("elicitation/create");
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
    editor.reply(
        &form,
        json!({"action": "accept", "content": {"size": "large"}}),
    );
    let (reason, call) = ended(&mut editor, turn);
    assert_eq!(reason, "end_turn");
    assert!(
        call["content"].to_string().contains("a large one"),
        "{call}"
    );
}

#[test]
fn a_request_that_is_open_at_a_cancel_is_taken_back() {
    let home = Home::new();
    let asks = acp(&home).args(["--permissions", "ask"]);
    let (mut editor, session) = Editor::with_session(asks, &home);
    let turn = editor.send("session/prompt", prompt(&session, "zzwrite"));
    let asked = editor.asked("session/request_permission");
    // The request of the prompt itself is given up, as the protocol knows it.
    editor.notify("$/cancel_request", json!({"requestId": turn}));
    let back = editor.until(|line| line["method"] == "$/cancel_request");
    assert_eq!(back["params"]["requestId"], asked["id"]);
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
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
fn a_plug_in_chooses_and_tells_where_the_editor_can_show_it() {
    let home = Home::new();
    std::fs::create_dir(home.home().join("plugins")).expect("a folder");
    home.config("plugins/choose.lua", PLUGIN);
    let offers = json!({"elicitation": {"form": {}}, "session": {"notices": {}}});
    let (mut editor, session) = Editor::offering(offers, acp(&home), &home);
    editor.until(|line| line.to_string().contains("\"choose\""));
    editor.send("session/prompt", prompt(&session, "/choose"));
    let form = editor.asked("elicitation/create");
    assert_eq!(
        form["params"]["requestedSchema"]["properties"]["answer"]["oneOf"],
        json!([
            {"const": "left", "title": "left"}, {"const": "right", "title": "To the right"},
        ])
    );
    editor.reply(
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
fn an_answer_that_was_cut_off_says_so() {
    let home = Home::new();
    let (mut editor, session) = Editor::with_session(acp(&home), &home);
    let ended = editor.call("session/prompt", prompt(&session, "zzlong"));
    assert_eq!(ended["stopReason"], "max_tokens");
}

#[test]
fn signing_in_is_offered_and_further_directories_are_told() {
    let home = Home::new();
    let mut editor = Editor::start(home.cli().args(["acp"]));
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": true}}});
    let greeting = editor.call("initialize", hello);
    assert_eq!(
        greeting["authMethods"],
        json!([{
            "type": "terminal", "id": "terminal", "name": "Sign in",
            "description": "Signs in with a provider, or stores a key, in a terminal", "args": ["--login"],
        }])
    );
    let beside = home.home().join("beside");
    std::fs::create_dir(&beside).expect("a folder");
    let new = |folder: &str| json!({"cwd": home.work(), "mcpServers": [], "additionalDirectories": [folder]});
    let (code, told) = editor.refused("session/new", new("beside"));
    assert_eq!(
        (code, told.as_str()),
        (-32602, "`additionalDirectories` has to be an absolute path")
    );
    let session = editor.call("session/new", new(&beside.to_string_lossy()));
    let session = session["sessionId"].as_str().expect("an id").to_owned();
    // Nobody has chosen the tour, and nothing else can answer.
    let (code, told) = editor.refused("session/prompt", prompt(&session, "hello"));
    assert_eq!(code, -32000, "{told}");
    let sound = json!({"sessionId": session, "prompt": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]});
    let (code, told) = editor.refused("session/prompt", sound);
    assert_eq!(code, -32602, "{told}");
    let (code, _) = editor.refused("authenticate", json!({"methodId": "by hand"}));
    assert_eq!(code, -32602);

    let model = Server::start([Answer::says("hello")]);
    home.config("models.json", model.models_json());
    editor.call("authenticate", json!({"methodId": "terminal"}));
    let answer = editor.call("session/prompt", prompt(&session, "hello"));
    assert_eq!(answer["stopReason"], "end_turn");
    let asked = model.requests()[0]["messages"][0].to_string();
    let further = format!("Further directories: {}", beside.display());
    assert!(asked.contains(&further), "{asked}");
}

#[test]
fn a_terminal_that_is_not_offered_is_not_asked_for() {
    let home = Home::new();
    let mut editor = Editor::start(acp(&home));
    let greeting = editor.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(greeting["authMethods"], json!([]));
}
