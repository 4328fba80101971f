//! Recordings and PDF files in requests: the form of each API, and their replacement for models without them.

use serde_json::{Value, json};

use super::testing::{body, call, model, request, result, user};
use crate::message::{ContentBlock, Message, UserMessage};
use crate::model::{Api, Modality, Model};
use crate::wire::testing::answer;

fn file(name: &str, mime_type: &str) -> ContentBlock {
    ContentBlock::File {
        data: "AAEC".to_owned(),
        mime_type: mime_type.to_owned(),
        name: name.to_owned(),
        text: format!("[{name} was left out]"),
    }
}

fn accepting(api: Api, kind: Modality) -> Model {
    Model {
        input: vec![Modality::Text, kind],
        ..model(api)
    }
}

/// The part of a request with this file, sent by the user.
fn sent(model: Model, file: ContentBlock, place: &str) -> Value {
    let message = Message::User(UserMessage {
        content: vec![
            ContentBlock::text("What is this?"),
            file,
            ContentBlock::text("Be short."),
        ],
        timestamp: 0,
    });
    let body = body(&request(model, vec![message]));
    body.pointer(place).cloned().unwrap_or(body)
}

#[test]
fn each_api_has_its_own_form_of_a_pdf() {
    let data = "data:application/pdf;base64,AAEC";
    for (api, place, expected) in [
        (
            Api::AnthropicMessages,
            "/messages/0/content/1",
            json!({"type": "document", "title": "my report.pdf",
                   "source": {"type": "base64", "media_type": "application/pdf", "data": "AAEC"}}),
        ),
        (
            Api::OpenaiResponses,
            "/input/0/content/1",
            json!({"type": "input_file", "filename": "my report.pdf", "file_data": data}),
        ),
        (
            Api::OpenaiChatCompletions,
            "/messages/1/content/1",
            json!({"type": "file", "file": {"filename": "my report.pdf", "file_data": data}}),
        ),
        (
            Api::GoogleGenerativeAi,
            "/contents/0/parts/1",
            json!({"inlineData": {"mimeType": "application/pdf", "data": "AAEC"}}),
        ),
        (
            Api::BedrockConverse,
            "/messages/0/content/1",
            json!({"document": {"format": "pdf", "name": "my report pdf", "source": {"bytes": "AAEC"}}}),
        ),
    ] {
        let pdf = file("my report.pdf", "application/pdf");
        assert_eq!(
            sent(accepting(api, Modality::Pdf), pdf, place),
            expected,
            "{api:?}"
        );
    }
}

#[test]
fn each_api_has_its_own_form_of_audio() {
    let chat = "/messages/1/content/1";
    let google = "/contents/0/parts/1";
    for (api, mime_type, place, expected) in [
        (
            Api::OpenaiChatCompletions,
            "audio/wav",
            chat,
            json!({"type": "input_audio", "input_audio": {"data": "AAEC", "format": "wav"}}),
        ),
        (
            Api::OpenaiChatCompletions,
            "audio/mpeg",
            chat,
            json!({"type": "input_audio", "input_audio": {"data": "AAEC", "format": "mp3"}}),
        ),
        // Only the two types above are accepted.
        (
            Api::OpenaiChatCompletions,
            "audio/flac",
            chat,
            json!({"type": "text", "text": "[talk was left out]"}),
        ),
        (
            Api::GoogleGenerativeAi,
            "audio/mpeg",
            google,
            json!({"inlineData": {"mimeType": "audio/mp3", "data": "AAEC"}}),
        ),
        (
            Api::GoogleGenerativeAi,
            "audio/flac",
            google,
            json!({"inlineData": {"mimeType": "audio/flac", "data": "AAEC"}}),
        ),
    ] {
        let model = accepting(api, Modality::Audio);
        let found = sent(model, file("talk", mime_type), place);
        assert_eq!(found, expected, "{api:?} {mime_type}");
    }
}

#[test]
fn other_models_get_a_sentence_instead() {
    for api in [
        Api::AnthropicMessages,
        Api::OpenaiResponses,
        Api::OpenaiChatCompletions,
        Api::GoogleGenerativeAi,
        Api::BedrockConverse,
        Api::Ollama,
    ] {
        for mime_type in ["application/pdf", "audio/wav"] {
            let model = accepting(api, Modality::Image);
            let body = sent(model, file("talk", mime_type), "/nothing").to_string();
            assert!(body.contains("[talk was left out]"), "{api:?}: {body}");
            assert!(!body.contains("AAEC"), "{api:?}: {body}");
        }
    }
}

/// APIs that accept only text in results get the files in a message after them.
#[test]
fn files_of_results_follow_where_results_are_text() {
    let pages = || {
        vec![
            ContentBlock::text("3 pages"),
            file("a.pdf", "application/pdf"),
        ]
    };
    let messages = |model: &Model| {
        vec![
            user("read it"),
            answer(model, vec![call("a", json!({}))]),
            result("a", pages()),
        ]
    };
    let chat = accepting(Api::OpenaiChatCompletions, Modality::Pdf);
    let found = body(&request(chat.clone(), messages(&chat)));
    let sent = found["messages"].as_array().unwrap();
    assert_eq!(
        sent[3..],
        [
            json!({"role": "tool", "tool_call_id": "a", "content": "3 pages"}),
            json!({"role": "user", "content": [
                {"type": "text", "text": "Files of the tool results:"},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAEC"}},
            ]}),
        ]
    );
    let claude = accepting(Api::AnthropicMessages, Modality::Pdf);
    let found = body(&request(claude.clone(), messages(&claude)));
    assert_eq!(
        found["messages"][2]["content"][0]["content"],
        json!([
            {"type": "text", "text": "3 pages"},
            {"type": "document", "title": "a.pdf",
             "source": {"type": "base64", "media_type": "application/pdf", "data": "AAEC"}},
        ])
    );
}
