use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::{Hold, Script, ScriptedProvider};
use crate::builder::MessageBuilder;
use crate::event::{Delta, StreamEvent};
use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, StopReason, ToolCall,
};
use crate::model::Api;
use crate::provider::{Provider, Request};
use crate::status::TurnStatus;
use crate::usage::Usage;
use crate::wire::testing::{model, request, result, text, thinking, user};

fn ask(messages: Vec<Message>) -> Request {
    request(model(Api::Scripted), messages)
}

async fn answer(provider: &ScriptedProvider, request: Request) -> (AssistantMessage, TurnStatus) {
    let mut builder = MessageBuilder::new(&request.model, 0);
    let events: Vec<StreamEvent> = provider.stream(request).collect().await;
    let status = events
        .iter()
        .filter_map(|event| builder.apply(event))
        .last();
    (builder.finish(0), status.unwrap())
}

async fn said(provider: &ScriptedProvider, messages: Vec<Message>) -> String {
    let (message, status) = answer(provider, ask(messages)).await;
    match status {
        TurnStatus::Success { .. } => message.text(),
        status => format!("failed: {}", status.message()),
    }
}

fn call(id: &str, name: &str, arguments: Value) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        ..ToolCall::default()
    })
}

#[tokio::test(start_paused = true)]
async fn turns_play_in_order_and_requests_are_recorded() {
    let usage = Usage {
        input: 1_000_000,
        output: 10,
        ..Usage::default()
    };
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| {
                turn.thinking("hm")
                    .text("Looking.")
                    .paced(3, Duration::from_secs(1))
                    .tool("bash", json!({"command": "ls"}))
                    .tool_raw("read", "{\"half")
                    .with_id("mine")
                    .usage(usage)
            })
            .turn(|turn| turn.text("").text("ab").times(3).stop(StopReason::Length)),
    );
    let before = tokio::time::Instant::now();
    let (message, status) = answer(&provider, ask(vec![user("go")])).await;
    assert_eq!(before.elapsed(), Duration::from_secs(3));
    let half = AssistantBlock::ToolCall(ToolCall {
        id: "mine".to_owned(),
        name: "read".to_owned(),
        arguments_error: Some("{\"half".to_owned()),
        ..ToolCall::default()
    });
    assert_eq!(
        message.content,
        [
            thinking("hm", None),
            text("Looking."),
            call("call_1_0", "bash", json!({"command": "ls"})),
            half,
        ]
    );
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.usage, usage.priced(&model(Api::Scripted).price));
    assert!(matches!(
        status,
        TurnStatus::Success {
            has_tool_calls: true,
            ..
        }
    ));
    let (message, _) = answer(&provider, ask(vec![user("more")])).await;
    assert_eq!(message.text(), "ababab");
    assert_eq!(message.stop_reason, StopReason::Length);
    assert_eq!(
        said(&provider, vec![]).await,
        "failed: the script of `vendor/model-1` has no more turns"
    );
    let asked: Vec<_> = provider
        .requests()
        .into_iter()
        .map(|request| request.context.messages)
        .collect();
    assert_eq!(asked, [vec![user("go")], vec![user("more")], vec![]]);
}

#[tokio::test]
async fn turns_are_selected_by_the_last_message() {
    let provider = ScriptedProvider::new(
        Script::new()
            .turn(|turn| turn.text("first"))
            .turn(|turn| turn.when_result("exit 1").text("it failed").repeat())
            .turn(|turn| turn.when_user("Bug").text("fixing")),
    );
    let failed = result("a", vec![ContentBlock::text("EXIT 1")]);
    let bug = || vec![user("a BUG here")];
    assert_eq!(said(&provider, bug()).await, "fixing");
    for _ in 0..2 {
        assert_eq!(
            said(&provider, vec![user("bug"), failed.clone()]).await,
            "it failed"
        );
    }
    assert_eq!(said(&provider, bug()).await, "first");
    assert!(said(&provider, bug()).await.starts_with("failed: "));
}

#[tokio::test]
async fn gate_delays_the_answer_until_opened() {
    let gate = Hold::new();
    let provider =
        ScriptedProvider::new(Script::new().turn(|turn| turn.text("a").gate(&gate).text("b")));
    let mut stream = provider.stream(ask(vec![]));
    let mut seen = 0;
    while stream.next().now_or_never().is_some() {
        seen += 1;
    }
    // `Request`, `Start`, and three events of the first block.
    assert_eq!(seen, 5);
    gate.open();
    let rest: Vec<StreamEvent> = stream.collect().await;
    assert_eq!(rest[0], StreamEvent::Delta(Delta::TextStart { index: 1 }));
    assert!(matches!(rest.last(), Some(StreamEvent::Done { .. })));
}

#[tokio::test]
async fn failure_keeps_earlier_text() {
    let status = TurnStatus::NetworkError {
        message: "cut".to_owned(),
        retryable: true,
    };
    let provider =
        ScriptedProvider::new(Script::new().turn(|turn| turn.text("half").fail(status.clone())));
    let (message, ended) = answer(&provider, ask(vec![])).await;
    assert_eq!(ended, status);
    assert_eq!(message.content, [text("half")]);
    assert_eq!(message.stop_reason, StopReason::Error);
}

#[tokio::test]
async fn scripts_are_loaded_per_model_on_first_use() {
    let loader = |model: &crate::model::Model| match model.id.as_str() {
        "lost" => Err("`lost`: no such file".to_owned()),
        id => Ok(Script::always(id)),
    };
    let provider = ScriptedProvider::default().with_loader(std::sync::Arc::new(loader));
    provider.insert("vendor/own", Script::always("inserted"));
    let mut told = Vec::new();
    for id in ["own", "other", "lost"] {
        let mut model = model(Api::Scripted);
        id.clone_into(&mut model.id);
        let (message, status) = answer(&provider, request(model, vec![])).await;
        told.push(format!("{}{}", message.text(), status.message()));
    }
    assert_eq!(told, ["inserted", "other", "`lost`: no such file"]);
}

const FILE: &str = r#"{"about": "shows every step", "turns": [
  {"when": {"user": "fix"},
   "steps": [
     {"thinking": "Let me look."},
     {"text": "Reading it.", "chunk": 4, "delayMs": 20, "times": 2},
     {"tool": "read", "arguments": {"path": "a.rs"}, "id": "t1"},
     {"tool": "read", "arguments": "{\"half"},
     {"tool": "ls"},
     {"wait": 500},
     {"usage": {"input": 7, "output": 8}},
     {"stop": "toolUse"}
   ]},
  {"repeat": true, "steps": [{"fail": {"type": "rate_limit", "message": "slow down", "retryAfterMs": 1000}}]}
]}"#;

#[tokio::test(start_paused = true)]
async fn script_file_plays_as_written() {
    let provider = ScriptedProvider::new(Script::parse(FILE, "a.json").unwrap());
    let (message, _) = answer(&provider, ask(vec![user("please fix")])).await;
    assert_eq!(
        message.content[..3],
        [
            thinking("Let me look.", None),
            text("Reading it.Reading it."),
            call("t1", "read", json!({"path": "a.rs"})),
        ]
    );
    assert_eq!(message.content[4], call("call_1_2", "ls", json!({})));
    assert_eq!((message.usage.input, message.usage.output), (7, 8));
    for _ in 0..2 {
        let (_, status) = answer(&provider, ask(vec![])).await;
        let expected = TurnStatus::RateLimit {
            message: "slow down".to_owned(),
            retry_after_ms: Some(1000),
        };
        assert_eq!(status, expected);
    }
}

#[test]
fn invalid_file_error_has_path_and_line() {
    for (text, expected) in [
        (
            "{\"turns\": [\n {\"steps\": [}\n]}",
            "s.json:2: expected value",
        ),
        (
            "{\"turns\": [\n {\"steps\": [\n  {\"text\": \"a\"},\n  {\"texts\": \"b\"}]}]}",
            "s.json:4: unknown field `texts`, expected one of `text`, `thinking`, `tool`, `wait`, `usage`, `stop`, `fail`, `arguments`, `id`, `chunk`, `delayMs`, `times`",
        ),
        (
            "{\"turns\": [{\"steps\": [\n{\"text\": \"a\", \"wait\": 1}]}]}",
            "s.json:2: a step has exactly one of `text`, `thinking`, `tool`, `wait`, `usage`, `stop` and `fail`",
        ),
        ("{}", "s.json:1: missing field `turns`"),
    ] {
        let error = Script::parse(text, "s.json").unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
