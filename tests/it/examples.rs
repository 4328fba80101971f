//! Runs the unmodified examples for programs that embed or control osier.

use std::sync::Arc;

use osier_agent::RunOutcome;
use osier_base::folders::Folders;
use osier_base::process::Invocation;
use osier_llm::{Script, ScriptedProvider};
use osier_session::SessionSetup;
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
async fn embed_example_prints_the_answer() {
    let home = Home::new();
    let script = Script::new().turn(|turn| turn.text("it grows willows"));
    let mut setup = SessionSetup::new(Folders::under(&home.home()), home.work());
    setup.settings.discover_local_models = false;
    let provider = Arc::new(ScriptedProvider::new(script));
    setup.embedded = Some((model("test/one"), provider));
    let mut answer = String::new();
    let outcome = embed::ask(setup, "What does it do?", |delta| answer.push_str(delta)).await;
    assert_eq!(outcome.expect("an answer"), RunOutcome::Completed);
    assert_eq!(answer, "it grows willows");
    assert_eq!(home.sessions().len(), 1);
}

#[tokio::test]
async fn editor_example_runs_a_turn() {
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
    let mut printed = Vec::new();
    let print = |text: &str| printed.push(text.to_owned());
    let reason = editor::converse(&agent, &home.work(), "Make it", print).await;
    assert_eq!(reason.expect("a stop reason"), "end_turn");
    assert_eq!(printed, ["write made.txt", "done"]);
    assert!(home.work().join("made.txt").exists());
}

#[tokio::test]
async fn headless_example_prints_the_answer_of_a_server() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "it grows "}, {"text": "willows"}]}]);
    home.file("model.json", json!({"turns": turns}).to_string());
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--model",
        "script/model.json",
    ];
    let mut server = home.cli().args(arguments).start();
    let line = server.line().expect("a URL");
    let access = line
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once("/#token="));
    let (address, token) = access.expect("an address and a token");
    let mut answer = String::new();
    let outcome = headless::ask(address, token, "What does it do?", |delta| {
        answer.push_str(delta);
    })
    .await;
    assert_eq!(outcome.expect("an answer"), "\"completed\"");
    assert_eq!(answer, "it grows willows");
    let wrong = headless::ask(address, "wrong", "What?", |_| ()).await;
    assert!(wrong.is_err_and(|error| error.to_string().contains("unauthorized")));
}
