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

/// The texts of the last message.
fn text_of_last(server: &Server) -> String {
    match &last(server)["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        other => panic!("no content: {other}"),
    }
}

/// The text as `read` shows it, whatever client attached the file.
#[test]
fn attached_pdf_is_text_for_other_models() {
    let file = pdf(&[says("First page"), says("Second page")], "");
    let shown = "<file name=\"a.pdf\">\n<page number=\"1\">\nFirst page\n</page>\n<page number=\"2\">\nSecond page\n</page>\n\n</file>";
    let home = Home::new();
    home.file("a.pdf", &file);
    let server = serves(&home, &["text"], [Answer::says("done")]);
    let by_name = home
        .cli()
        .args(["-m", "here/m", "-p", "@a.pdf", "what is it?"]);
    assert_eq!(by_name.run().code, Some(0));
    let content = text_of_last(&server);
    assert!(content.contains(shown), "{content}");
    // A client sends the file itself.
    let attachment = json!({"id": "a", "kind": "document", "fileName": "a.pdf", "mimeType": "application/pdf",
        "size": file.len(), "content": STANDARD.encode(&file)});
    let prompt = json!({"type": "prompt", "message": "what is it?", "attachments": [attachment]});
    let by_client = home.cli().args(["rpc", "-m", "here/m"]);
    let ended = by_client.stdin(format!("{prompt}\n")).run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(server.requests().len(), 2);
    let content = text_of_last(&server);
    assert!(content.contains(shown), "{content}");
}

#[test]
fn attached_pdf_without_text_says_why() {
    let home = Home::new();
    home.file("a.pdf", b"%PDF-1.4\nnothing");
    let server = serves(&home, &["text"], [Answer::says("done")]);
    let ended = home
        .cli()
        .args(["-m", "here/m", "-p", "@a.pdf", "what is it?"]);
    assert_eq!(ended.run().code, Some(0));
    let content = text_of_last(&server);
    assert!(
        content.contains("[the file cannot be read as PDF: "),
        "{content}"
    );
}

/// A document that a client sends as it is becomes text, too.
#[test]
fn document_of_a_client_is_text() {
    let home = Home::new();
    let file = include_bytes!("../fixtures/documents/sheets.xlsx");
    let server = serves(&home, &["text"], [Answer::says("done")]);
    let attachment = json!({"id": "a", "kind": "document", "fileName": "sheets.xlsx",
        "mimeType": "application/octet-stream", "size": file.len(), "content": STANDARD.encode(file)});
    let prompt = json!({"type": "prompt", "message": "sum", "attachments": [attachment]});
    let ended = home
        .cli()
        .args(["rpc", "-m", "here/m"])
        .stdin(format!("{prompt}\n"));
    assert_eq!(ended.run().code, Some(0));
    let content = text_of_last(&server);
    assert!(
        content.contains("<file name=\"sheets.xlsx\">\n## Sales & more\n"),
        "{content}"
    );
}

#[test]
fn text_and_other_files_of_a_client_are_no_documents() {
    let home = Home::new();
    let server = serves(&home, &["text", "pdf"], [Answer::says("done")]);
    let file = |name: &str, bytes: &[u8]| {
        json!({"id": name, "kind": "document", "fileName": name, "mimeType": "application/octet-stream",
            "size": bytes.len(), "content": STANDARD.encode(bytes)})
    };
    let files = [file("note.txt", b"a note"), file("a.bin", b"\x00\x01")];
    let prompt = json!({"type": "prompt", "message": "look", "attachments": files});
    let ended = home
        .cli()
        .args(["rpc", "-m", "here/m"])
        .stdin(format!("{prompt}\n"));
    assert_eq!(ended.run().code, Some(0));
    let content = text_of_last(&server);
    assert!(
        content.contains("<file name=\"note.txt\">\na note\n</file>"),
        "{content}"
    );
    assert!(
        content.contains("[`a.bin` is neither text, a PDF"),
        "{content}"
    );
}
