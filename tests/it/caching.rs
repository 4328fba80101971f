//! What a model reads stays the same from its first byte up to what is new, whatever happens in
//! between: that is what prompt caches live on.

use osier::agent;
use osier::coding::host::{Event, Op, SessionChoice};
use osier::llm::{Script, ThinkingLevel};
use serde_json::{Value, json};

use crate::support::host::{Open, Place};
use crate::support::server::{Answer, Server};

/// Model calls of the conversation.
const CALLS: usize = 50;

/// One wire format: its name, a call of the read tool, and a text.
struct Wire {
    api: &'static str,
    call: fn(usize) -> Answer,
    text: fn(usize) -> Answer,
}

const CHAT: Wire = Wire {
    api: "openai-chat-completions",
    call: |place| {
        let arguments = json!({"path": "notes.txt"});
        Answer::stream().call(&format!("call_{place}"), "read", &arguments)
    },
    text: |place| Answer::says(&format!("answer {place}")),
};

const MESSAGES: Wire = Wire {
    api: "anthropic-messages",
    call: |place| {
        let block = json!({"type": "tool_use", "id": format!("toolu_{place}"), "name": "read", "input": {}});
        let input = json!({"type": "input_json_delta", "partial_json": "{\"path\":\"notes.txt\"}"});
        message(&block, &input, "tool_use")
    },
    text: |place| {
        let delta = json!({"type": "text_delta", "text": format!("answer {place}")});
        message(&json!({"type": "text", "text": ""}), &delta, "end_turn")
    },
};

/// An answer of one block in Anthropic's format.
fn message(block: &Value, delta: &Value, stop: &str) -> Answer {
    let usage = json!({"input_tokens": 20, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "output_tokens": 5});
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let text: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    Answer::stream().raw(&text)
}

/// Fifty calls with tools, model changes and level changes: the bodies that were sent, and what the
/// session says of its usage.
async fn converse(wire: &Wire) -> (Vec<Value>, Vec<Event>) {
    let answers: [Answer; CALLS] = std::array::from_fn(|place| match place % 2 {
        0 => (wire.call)(place),
        _ => (wire.text)(place),
    });
    let server = Server::start(answers);
    let place = Place::new();
    let model = |id: &str| json!({"id": id, "reasoning": true, "contextWindow": 200_000, "maxTokens": 8_000});
    let models = json!({"providers": {"here": {
        "baseUrl": server.url(), "api": wire.api, "apiKey": "sk-test-key",
        "models": [model("a"), model("b")],
    }}});
    std::fs::create_dir_all(place.data()).unwrap();
    let write = |path: std::path::PathBuf, text: &str| {
        osier::base::atomic_file::write(&path, text.as_bytes()).unwrap();
    };
    write(place.data().join("models.json"), &models.to_string());
    write(place.work().join("notes.txt"), "remember the milk\n");
    let mut open = place
        .open_with(SessionChoice::New, Script::default(), |setup| {
            setup.model = Some("here/a".to_owned());
        })
        .await;
    for turn in 0..CALLS / 2 {
        change(&open, turn);
        open.run(&format!("question {turn}")).await;
    }
    open.host.send(Op::GetUsage);
    let events = open
        .until(|event| matches!(event, Event::Usage { .. }))
        .await;
    open.close().await;
    (server.requests(), events)
}

/// Every few turns another model or another level.
fn change(open: &Open, turn: usize) {
    match turn % 6 {
        2 => open.host.send(Op::SelectModel {
            reference: "here/b".to_owned(),
        }),
        3 => open.host.send(level(ThinkingLevel::High)),
        4 => open.host.send(Op::SelectModel {
            reference: "here/a".to_owned(),
        }),
        5 => open.host.send(level(ThinkingLevel::Off)),
        _ => {}
    }
}

fn level(level: ThinkingLevel) -> Op {
    agent::Op::SetThinkingLevel { level }.into()
}

/// Takes the cache marks out and counts them.
fn without_marks(value: &mut Value) -> usize {
    match value {
        Value::Object(fields) => {
            let mark = usize::from(fields.shift_remove("cache_control").is_some());
            mark + fields.values_mut().map(without_marks).sum::<usize>()
        }
        Value::Array(list) => list.iter_mut().map(without_marks).sum(),
        _ => 0,
    }
}

/// What of a request the next one must begin with, as text.
fn parts(body: &Value) -> (String, String, Vec<String>) {
    let messages = body["messages"].as_array().expect("messages");
    (
        body["tools"].to_string(),
        body["system"].to_string(),
        messages.iter().map(Value::to_string).collect(),
    )
}

fn assert_stable(bodies: &[Value]) {
    assert_eq!(bodies.len(), CALLS);
    for pair in bodies.windows(2) {
        let (tools, system, before) = parts(&pair[0]);
        let (same_tools, same_system, after) = parts(&pair[1]);
        assert_eq!((tools, system), (same_tools, same_system));
        assert!(after.len() > before.len());
        assert_eq!(before[..], after[..before.len()]);
    }
    let models: Vec<&str> = bodies
        .iter()
        .filter_map(|body| body["model"].as_str())
        .collect();
    assert!(models.contains(&"a") && models.contains(&"b"), "{models:?}");
}

#[tokio::test]
async fn fifty_turns_of_chat_completions_share_their_prefix() {
    let (bodies, _) = converse(&CHAT).await;
    assert_stable(&bodies);
    let asked = bodies
        .iter()
        .filter(|body| body["reasoning_effort"] == "high");
    assert!(asked.count() > 0);
}

#[tokio::test]
async fn fifty_turns_of_messages_share_their_prefix_and_are_marked() {
    let (mut bodies, events) = converse(&MESSAGES).await;
    for body in &mut bodies {
        let last = body["messages"]
            .as_array()
            .and_then(|messages| messages.last())
            .cloned();
        let marks = without_marks(body);
        assert!((2..=4).contains(&marks), "{marks} marks");
        assert!(
            last.expect("a message")
                .to_string()
                .contains("cache_control")
        );
    }
    assert_stable(&bodies);
    let Some(Event::Usage { spending }) = events.last() else {
        panic!("{events:?}");
    };
    let calls: Vec<(&str, u64)> = spending
        .models
        .iter()
        .map(|model| (model.model.as_str(), model.calls))
        .collect();
    assert_eq!(calls.iter().map(|(_, calls)| calls).sum::<u64>(), 50);
    assert_eq!(
        calls.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["here/a", "here/b"]
    );
    assert_eq!(spending.total.hit_rate(), Some(80.0 / 110.0));
    assert_eq!(spending.tool_calls, 25);
}
