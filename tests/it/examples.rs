//! The examples for programs that embed osier or drive it, run as they are.

use std::sync::Arc;

use osier_agent::RunOutcome;
use osier_base::folders::Folders;
use osier_base::process::Invocation;
use osier_llm::{Script, ScriptedProvider};
use osier_session::host::HostSetup;
use serde_json::json;

use crate::support::agent::model;
use crate::support::cli::Home;

#[path = "../../examples/editor.rs"]
mod editor;
#[path = "../../examples/embed.rs"]
mod embed;
#[path = "../../examples/headless.rs"]
mod headless;

#[tokio::test]
async fn a_library_use_gets_its_answer() {
    let home = Home::new();
    let script = Script::new().turn(|turn| turn.text("it grows willows"));
    let mut setup = HostSetup::new(Folders::under(&home.home()), home.work());
    setup.settings.discover_local_models = false;
    let provider = Arc::new(ScriptedProvider::new(script));
    setup.embedded = Some((model("test/one"), provider));
    let mut answer = String::new();
    let outcome = embed::ask(setup, "What does it do?", |piece| answer.push_str(piece)).await;
    assert_eq!(outcome.expect("an answer"), RunOutcome::Completed);
    assert_eq!(answer, "it grows willows");
    assert_eq!(home.sessions().len(), 1);
}

#[tokio::test]
async fn a_small_editor_runs_a_turn() {
    let home = Home::new();
    let call = json!({"tool": "write", "arguments": {"file_path": "made.txt", "content": "x"}});
    let turns = json!([
        {"when": {"toolResult": ""}, "steps": [{"text": "done"}]}, {"steps": [call]},
    ]);
    home.file("model.json", json!({"turns": turns}).to_string());
    let folder = home.home().into_os_string();
    let arguments = "acp --model script/model.json --permissions ask".split(' ');
    let agent = Invocation {
        cwd: Some(home.work()),
        env: vec![
            ("HOME".into(), folder.clone()),
            ("OSIER_HOME".into(), folder),
        ],
        ..Invocation::new(env!("CARGO_BIN_EXE_osier"), arguments)
    };
    let mut heard = Vec::new();
    let say = |text: &str| heard.push(text.to_owned());
    let reason = editor::converse(&agent, &home.work(), "Make it", say).await;
    assert_eq!(reason.expect("an end"), "end_turn");
    assert_eq!(heard, ["write made.txt", "done"]);
    assert!(home.work().join("made.txt").exists());
}

#[tokio::test]
async fn a_program_without_a_person_asks_a_server() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "it grows "}, {"text": "willows"}]}]);
    home.file("model.json", json!({"turns": turns}).to_string());
    let words = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--model",
        "script/model.json",
    ];
    let mut server = home.cli().args(words).start();
    let line = server.line().expect("a line that says where it listens");
    let place = line
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once("/#token="));
    let place = place.expect("an address and a token");
    let mut answer = String::new();
    let outcome = headless::ask(place, "What does it do?", |piece| answer.push_str(piece)).await;
    assert_eq!(outcome.expect("an answer"), "\"completed\"");
    assert_eq!(answer, "it grows willows");
    let wrong = headless::ask((place.0, "wrong"), "What?", |_| ()).await;
    assert!(wrong.is_err_and(|error| error.to_string().contains("unauthorized")));
}
