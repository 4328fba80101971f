//! The program in every wire format with a server that streams as the vendor does: a call, its result with
//! everything the vendor requires, and errors.

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::model_server::{Answer, Server};

/// Runs one prompt against these answers, in the wire format `api`.
fn ask<const N: usize>(
    api: &str,
    model: &Value,
    answers: [Answer; N],
) -> (ProgramOutput, Vec<Value>) {
    let server = Server::start(answers);
    let home = Home::new();
    let models = json!({"providers": {"here": {
        "baseUrl": server.url(), "api": api, "apiKey": "sk-test-key", "models": [model],
    }}});
    home.config("models.json", models.to_string());
    let ended = home
        .cli()
        .args([
            "--model",
            "here/m",
            "--tools",
            "bash",
            "--max-retries",
            "0",
            "-p",
            "hello",
        ])
        .run();
    let ended = ProgramOutput {
        stderr: server.normal(&ended.stderr),
        ..ended
    };
    (ended, server.requests())
}

fn events(events: &[Value]) -> Answer {
    events.iter().fold(Answer::stream(), |answer, event| {
        answer.raw(&format!("data: {event}\n\n"))
    })
}

fn thinker() -> Value {
    json!({"id": "m", "reasoning": true, "thinkingLevels": ["low", "medium", "high"]})
}

#[test]
fn openai_responses() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA="});
    let called = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash",
        "arguments": "{\"command\":\"echo from the shell\"}"});
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "phase": "final_answer",
        "content": [{"type": "output_text", "text": "seen", "annotations": []}]});
    let completed = |output: Value| {
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output,
            "usage": {"input_tokens": 10, "output_tokens": 5}}})
    };
    let (ended, requests) = ask(
        "openai-responses",
        &thinker(),
        [
            events(&[
                json!({"type": "response.created", "response": {"id": "r"}}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
                json!({"type": "response.output_item.done", "output_index": 1, "item": called}),
                completed(json!([reasoning, called])),
            ]),
            events(&[
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": "seen"}),
                completed(json!([said])),
            ]),
        ],
    );
    assert_eq!(ended, ProgramOutput::new(0, "seen\n", ""));
    assert_eq!(requests[0]["store"], false);
    let input = requests[1]["input"].as_array().unwrap();
    assert_eq!(
        input[1..],
        [
            reasoning,
            json!({"type": "function_call", "call_id": "call_1", "name": "bash",
                "arguments": "{\"command\":\"echo from the shell\"}"}),
            json!({"type": "function_call_output", "call_id": "call_1", "output": "from the shell\n"}),
        ]
    );
    let failed = json!({"type": "response.failed", "response": {"error":
        {"code": "insufficient_quota", "message": "You exceeded your current quota"}}});
    let (ended, _) = ask("openai-responses", &thinker(), [events(&[failed])]);
    assert_eq!(
        ended,
        ProgramOutput::new(
            1,
            "",
            "[ERR] ← [1.0] llm here:m: quota_exceeded: `here` failed: You exceeded your current quota\n"
        )
    );
}

#[test]
fn google_generative_ai() {
    let chunk = |part: Value, more: Value| {
        let mut chunk = json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
        if !more.is_null() {
            chunk["candidates"][0]["finishReason"] = more;
        }
        chunk
    };
    let called = json!({"functionCall": {"name": "bash", "args": {"command": "echo from the shell"}},
        "thoughtSignature": "sig=="});
    let (ended, requests) = ask(
        "google-generative-ai",
        &thinker(),
        [
            events(&[
                chunk(json!({"text": "Hm.", "thought": true}), Value::Null),
                chunk(called.clone(), json!("STOP")),
            ]),
            events(&[chunk(json!({"text": "seen"}), json!("STOP"))]),
        ],
    );
    assert_eq!(ended, ProgramOutput::new(0, "seen\n", ""));
    let contents = requests[1]["contents"].as_array().unwrap();
    assert_eq!(
        contents[1..],
        [
            json!({"role": "model", "parts": [{"text": "Hm.", "thought": true}, called]}),
            json!({"role": "user", "parts": [{"functionResponse":
                {"name": "bash", "response": {"output": "from the shell\n"}}}]}),
        ]
    );
    let declared = &requests[0]["tools"][0]["functionDeclarations"][0]["parameters"];
    assert_eq!(declared["properties"]["command"]["type"], "STRING");
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let (ended, _) = ask("google-generative-ai", &thinker(), [events(&[blocked])]);
    assert_eq!(
        ended,
        ProgramOutput::new(
            1,
            "",
            "[ERR] ← [1.0] llm here:m: model_error: the prompt was blocked (SAFETY)\n"
        )
    );
}

#[test]
fn ollama() {
    let lines = |lines: &[Value]| {
        let body: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        Answer::plain(
            "200 OK",
            "content-type: application/x-ndjson",
            &body.concat(),
        )
    };
    let done = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 10, "eval_count": 5});
    let called = json!({"message": {"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "bash", "arguments": {"command": "echo from the shell"}}}]}, "done": false});
    let said = json!({"message": {"role": "assistant", "content": "seen"}, "done": false});
    let model = json!({"id": "m", "contextWindow": 16384});
    let (ended, requests) = ask(
        "ollama",
        &model,
        [lines(&[called, done.clone()]), lines(&[said, done])],
    );
    assert_eq!(ended, ProgramOutput::new(0, "seen\n", ""));
    assert_eq!(requests[0]["options"]["num_ctx"], 16384);
    let messages = requests[1]["messages"].as_array().unwrap();
    let [.., asked, answered] = messages.as_slice() else {
        panic!("{messages:?}");
    };
    assert_eq!(
        asked["tool_calls"][0]["function"]["arguments"]["command"],
        "echo from the shell"
    );
    assert_eq!(answered["tool_name"], "bash");
    assert_eq!(answered["content"], "from the shell\n");
    let refused = Answer::plain(
        "404 Not Found",
        "content-type: application/json",
        r#"{"error":"model 'm' not found"}"#,
    );
    let (ended, _) = ask("ollama", &model, [refused]);
    assert_eq!(
        ended,
        ProgramOutput::new(
            1,
            "",
            "[ERR] ← [1.0] llm here:m: model_error: `here` answered 404: model 'm' not found\n"
        )
    );
}
