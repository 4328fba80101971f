//! Recordings and PDF files on their way to a model: from `read` and from `@file`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::pdf::{pdf, says};
use crate::support::cli::Home;
use crate::support::model_server::{Answer, Server};

/// The start of a recording.
const SOUND: &[u8] = b"RIFF\x04\0\0\0WAVE";
const SOUND_DATA: &str = "UklGRgQAAABXQVZF";

/// Answers and a `models.json` with a model that accepts this input.
fn serves<const N: usize>(home: &Home, input: &[&str], answers: [Answer; N]) -> Server {
    let server = Server::start(answers);
    let mut models: Value = serde_json::from_str(&server.models_json()).expect("JSON");
    models["providers"]["here"]["models"][0]["input"] = json!(input);
    home.config("models.json", models.to_string());
    server
}

fn run(home: &Home, prompt: &str) {
    let ended = home.cli().args(["-m", "here/m", "-p", prompt]).run();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "done\n"),
        "{}",
        ended.stderr
    );
}

/// The last message of the last request.
fn last(server: &Server) -> Value {
    let requests = server.requests();
    let messages = requests.last().expect("a request")["messages"]
        .as_array()
        .cloned();
    messages.expect("messages").pop().expect("a message")
}

#[test]
fn recording_is_read_by_a_model_with_audio() {
    let home = Home::new();
    home.file("talk.wav", SOUND);
    let read = Answer::stream().call("a", "read", &json!({"file_path": "talk.wav"}));
    let server = serves(&home, &["text", "audio"], [read, Answer::says("done")]);
    run(&home, "listen");
    assert_eq!(
        last(&server),
        json!({"role": "user", "content": [
            {"type": "text", "text": "Files of the tool results:"},
            {"type": "input_audio", "input_audio": {"data": SOUND_DATA, "format": "wav"}},
        ]})
    );
}

#[test]
fn recording_is_a_sentence_for_other_models() {
    let home = Home::new();
    home.file("talk.wav", SOUND);
    let read = Answer::stream().call("a", "read", &json!({"file_path": "talk.wav"}));
    let server = serves(&home, &["text"], [read, Answer::says("done")]);
    run(&home, "listen");
    assert_eq!(
        last(&server),
        json!({"role": "tool", "tool_call_id": "a", "content": "[talk.wav: audio/wav, 12 bytes]\n\
            [this model does not accept audio; a program can convert or transcribe the file]"})
    );
}

/// Pages without text, such as scanned ones, are sent as a PDF of these pages alone.
#[test]
fn scanned_page_is_read_by_a_model_with_pdf() {
    let home = Home::new();
    home.file("scan.pdf", pdf(&[says("First page"), Vec::new()], ""));
    let read = Answer::stream().call("a", "read", &json!({"file_path": "scan.pdf", "offset": 2}));
    let server = serves(&home, &["text", "pdf"], [read, Answer::says("done")]);
    run(&home, "read it");
    let requests = server.requests();
    let sent = requests[1]["messages"].as_array().expect("messages");
    let result = &sent[sent.len() - 2];
    assert_eq!(
        result["content"],
        "[scan.pdf: PDF, 2 pages]\n<page number=\"2\">\n(no text: a model that accepts PDF files sees the page)\n</page>\n"
    );
    let file = &last(&server)["content"][1]["file"];
    assert_eq!(file["filename"], "scan.pdf");
    let data = file["file_data"].as_str().expect("data");
    let data = data
        .strip_prefix("data:application/pdf;base64,")
        .expect("a PDF");
    let bytes = STANDARD.decode(data).expect("base64");
    home.file("sent.pdf", bytes);
    let again = [
        Answer::stream().call("a", "read", &json!({"file_path": "sent.pdf"})),
        Answer::says("done"),
    ];
    let server = serves(&home, &["text"], again);
    run(&home, "read what was sent");
    let text = last(&server)["content"].to_string();
    assert!(text.contains("[sent.pdf: PDF, 1 page]"), "{text}");
}

#[test]
fn attached_pdf_is_sent_as_it_is() {
    let home = Home::new();
    home.file("a.pdf", pdf(&[says("First page")], ""));
    let server = serves(&home, &["text", "pdf"], [Answer::says("done")]);
    let ended = home
        .cli()
        .args(["-m", "here/m", "-p", "@a.pdf", "what is it?"])
        .run();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "done\n"),
        "{}",
        ended.stderr
    );
    let content = last(&server)["content"].to_string();
    assert!(
        content.contains("data:application/pdf;base64,JVBERi0xLjQK"),
        "{content}"
    );
}
