//! The slash rule is the same in all clients: `//text` sends `/text`, paths are text, and an unknown command is an error.
//! The terminal is in `tests/it/tui/skills.rs`.

use osier_base::slash_text::SlashText;
use regex::Regex;
use serde_json::{Value, json};

use crate::support::cli::{Home, Running};

/// Prompts, and the text that the model gets.
const PROMPTS: [(&str, &str); 3] = [
    ("//name Mine", "/name Mine"),
    ("//usr/bin/x", "/usr/bin/x"),
    ("/usr/bin/x is odd", "/usr/bin/x is odd"),
];

/// The texts of the stored prompts, each with what the user typed if it differs.
fn stored(home: &Home) -> Vec<(String, Option<String>)> {
    let lines = home.session();
    let prompts = lines
        .iter()
        .filter(|line| line["message"]["role"] == "user")
        .map(|line| &line["message"]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let prompts = prompts.map(|prompt| (text(&prompt["text"]).unwrap(), text(&prompt["typed"])));
    prompts.collect()
}

fn expected() -> Vec<(String, Option<String>)> {
    let prompts = PROMPTS.iter().map(|(typed, sent)| {
        let differs = typed != sent;
        ((*sent).to_owned(), differs.then(|| (*typed).to_owned()))
    });
    prompts.collect()
}

fn model() -> Value {
    json!([{"steps": [{"text": "The model."}], "repeat": true}])
}

fn start(home: &Home, command: &str) -> Running {
    home.file("model.json", json!({"turns": model()}).to_string());
    let arguments = [command, "--model", "script/model.json"];
    home.cli().args(arguments).start()
}

fn send(program: &mut Running, id: usize, mut line: Value) {
    line["id"] = id.into();
    program.say(&line.to_string());
}

#[test]
fn scripts_send_text_after_two_slashes() {
    let home = Home::new();
    for (typed, _) in PROMPTS {
        let run = home.scripted(&model()).args(["-c", "-p", typed]).run();
        assert_eq!(run.stdout, "The model.\n", "{typed}: {}", run.stderr);
    }
    assert_eq!(stored(&home), expected());
}

#[test]
fn rpc_sends_text_after_two_slashes() {
    let home = Home::new();
    let mut program = start(&home, "rpc");
    for (number, (typed, _)) in PROMPTS.iter().enumerate() {
        send(
            &mut program,
            number,
            json!({"type": "prompt", "message": typed}),
        );
        program.until(|line| line["type"] == "agent_settled");
    }
    program.close_input();
    program.end();
    assert_eq!(stored(&home), expected());
}

#[test]
fn editors_send_text_after_two_slashes() {
    let home = Home::new();
    let mut program = start(&home, "acp");
    let call = |program: &mut Running, id: usize, method: &str, params: Value| {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        send(program, id, line);
        let answer = program.until(|line| line["id"] == id).pop().unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    };
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    call(&mut program, 1, "initialize", hello);
    let new = json!({"cwd": home.work(), "mcpServers": []});
    let session = call(&mut program, 2, "session/new", new)["sessionId"].take();
    for (number, (typed, _)) in PROMPTS.iter().enumerate() {
        let prompt = json!([{"type": "text", "text": typed}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        call(&mut program, 3 + number, "session/prompt", params);
    }
    program.close_input();
    program.end();
    assert_eq!(stored(&home), expected());
}

/// The chat reads a message by a pattern of its own, which agrees with the rule.
#[test]
fn the_chat_has_the_same_rule() {
    let script = include_str!("../../assets/chat/app/slash.js");
    let (_, rest) = script.split_once("= /^").unwrap();
    let (pattern, _) = rest.split_once("/.exec(text)").unwrap();
    let pattern = Regex::new(&format!("^{}", pattern.replace(r"\/", "/"))).unwrap();
    for text in [
        "/compact",
        "/compact the rest",
        "/nosuch a",
        "//name Mine",
        "//usr/bin/x",
        "/usr/bin/x is odd",
        "/",
        "/ x",
        "// x",
        "///x",
        "text",
        "a /compact",
    ] {
        let is_command = matches!(SlashText::read(text), SlashText::Command { .. });
        assert_eq!(pattern.is_match(text), is_command, "{text}");
    }
}
