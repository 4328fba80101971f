//! Sends the recorded conversation of every wire format to every other, validates it against the rules of the
//! other vendor, and sends it back without loss.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::testing::{answer, body, interrupted, model, play, play_in, request, text, user};
use crate::message::{
    AssistantBlock, ContentBlock, Message, StopReason, ToolCall, ToolResult, UserMessage,
};
use crate::model::{Api, Model};

/// A server with its wire format and a recorded answer.
struct Party {
    model: Model,
    stream: Vec<u8>,
    /// The opaque data of its answer, which it needs back.
    opaque: &'static [&'static str],
    check: Check,
}

type Check = fn(&Value, &Model);

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../../tests/fixtures/llm/", $name))
    };
}

fn parties() -> Vec<Party> {
    let named = |name: &str, api| Model {
        provider: name.to_owned(),
        ..model(api)
    };
    let mut mistral = named("mistral", Api::OpenaiChatCompletions);
    mistral.compat.short_tool_ids = true;
    mistral.compat.thinking_parts = true;
    let mut deepseek = named("deepseek", Api::OpenaiChatCompletions);
    deepseek.compat.replay_reasoning_field = Some("reasoning_content".to_owned());
    let mut gemini = named("google", Api::GoogleGenerativeAi);
    gemini.compat.signed_calls = true;
    gemini.compat.images_in_results = true;
    let party = |model, stream: &[u8], opaque, check: Check| Party {
        model,
        stream: stream.to_vec(),
        opaque,
        check,
    };
    vec![
        party(
            named("anthropic", Api::AnthropicMessages),
            fixture!("anthropic-thinking-tool.sse"),
            &["EqQB...", "EmwK..."],
            check_anthropic,
        ),
        party(
            named("openai", Api::OpenaiResponses),
            fixture!("openai-responses-reasoning-tools.sse"),
            &["gAAAAABo-1==", "commentary"],
            check_responses,
        ),
        party(
            named("openrouter", Api::OpenaiChatCompletions),
            fixture!("openrouter-reasoning-tools.sse"),
            &["or-sig-1="],
            check_chat,
        ),
        party(
            deepseek,
            fixture!("llamacpp-chat-tool.sse"),
            &[],
            check_chat,
        ),
        party(
            mistral,
            fixture!("mistral-thinking-tools.sse"),
            &["mst+1="],
            check_chat,
        ),
        party(
            gemini,
            fixture!("google-thoughts-tools.sse"),
            &["CiQB+sig/1=", "CiQB+sig/2="],
            check_google,
        ),
        party(
            named("ollama", Api::Ollama),
            fixture!("ollama-thinking-tools.ndjson"),
            &[],
            check_ollama,
        ),
        party(
            named("bedrock", Api::BedrockConverse),
            &super::bedrock::tests::recorded(),
            &["br-sig-1=", "br-hidden="],
            check_bedrock,
        ),
    ]
}

fn image() -> ContentBlock {
    ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    }
}

/// A turn with everything that a turn can contain: an image, thinking and parallel calls, an error,
/// an image as a result, steering, and the answer.
fn turn(party: &Party, mark: &str) -> Vec<Message> {
    let asked = UserMessage {
        content: vec![ContentBlock::text(format!("ask {mark}")), image()],
        timestamp: 0,
    };
    let (recorded, _) = play(&party.model, &party.stream);
    let mut messages = vec![Message::User(asked)];
    let calls: Vec<_> = recorded.tool_calls().cloned().collect();
    messages.push(Message::Assistant(recorded));
    for (place, call) in calls.iter().enumerate() {
        messages.push(Message::ToolResult(ToolResult {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![ContentBlock::text(format!("result {mark}{place}")), image()],
            is_error: place == 1,
            timestamp: 0,
        }));
    }
    messages.push(user(&format!("steer {mark}")));
    messages.push(answer(&party.model, vec![text(&format!("said {mark}"))]));
    messages
}

/// The turn, then answers that were interrupted after every tenth of their stream, and a failed one.
fn conversation(party: &Party) -> Vec<Message> {
    let mut messages = turn(party, party.model.provider.as_str());
    for tenth in 0..10 {
        let count = party.stream.len() * tenth / 10;
        messages.push(user(&format!("again {tenth}")));
        let partial = interrupted(&party.model, &party.stream, count);
        messages.push(Message::Assistant(partial));
    }
    messages.push(user("and now?"));
    let Message::Assistant(mut failed) = answer(&party.model, Vec::new()) else {
        unreachable!()
    };
    failed.stop_reason = StopReason::Error;
    messages.push(Message::Assistant(failed));
    messages.push(user("go on"));
    messages
}

/// The request body for `model`, of a conversation that was stored and loaded.
fn sent(model: &Model, messages: &[Message]) -> Value {
    let stored = serde_json::to_string(messages).unwrap();
    let restored: Vec<Message> = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored, messages);
    body(&request(model.clone(), restored))
}

#[test]
fn every_conversation_can_be_sent_to_every_vendor() {
    let parties = parties();
    for from in &parties {
        let messages = conversation(from);
        for to in &parties {
            let body = sent(&to.model, &messages);
            (to.check)(&body, &to.model);
            let told = body.to_string();
            let own = from.model.provider == to.model.provider;
            for opaque in from.opaque {
                assert_eq!(
                    told.contains(opaque),
                    own,
                    "{} to {}: {opaque}",
                    from.model.provider,
                    to.model.provider
                );
            }
            let name = &from.model.provider;
            for said in ["ask", "result", "steer", "said"].map(|word| format!("{word} {name}")) {
                assert!(told.contains(&said), "{said} to {}", to.model.provider);
            }
            assert!(told.contains("AAAA") && told.contains("go on"));
        }
    }
}

/// A message of any history: damaged files, imports, crashes and other vendors leave every one of them.
fn any_message() -> impl Strategy<Value = Message> {
    let texts = || prop::sample::select(vec!["", " \n", "hi", "<b>", "é漢"]);
    let ids = || {
        prop::sample::select(vec!["", "a", "b", "call 1", "functions.read:0", "ü"])
            .prop_map(str::to_owned)
            .boxed()
            .prop_union(Just("x".repeat(90)).boxed())
    };
    let content = || {
        let block = prop_oneof![
            texts().prop_map(ContentBlock::text),
            Just(image()),
            Just(ContentBlock::Image {
                data: String::new(),
                mime_type: "image/png".to_owned()
            }),
            Just(ContentBlock::Image {
                data: "AAAA".to_owned(),
                mime_type: "image/bmp".to_owned()
            }),
        ];
        prop::collection::vec(block, 0..3)
    };
    let signature = || {
        prop::option::of(prop::sample::select(vec![
            "",
            "sig",
            "[]",
            "{\"type\":\"x\"}",
        ]))
    };
    let arguments = prop::sample::select(vec![
        json!({"path": "x"}),
        json!(null),
        json!([1]),
        json!("x"),
    ]);
    let name = prop::sample::select(vec!["read", "", "a b/ü", "mcp__x__y"]);
    let block = prop_oneof![
        (texts(), signature()).prop_map(|(text, signature)| AssistantBlock::Text {
            text: text.to_owned(),
            signature: signature.map(str::to_owned),
        }),
        (texts(), signature(), any::<bool>()).prop_map(|(thinking, signature, redacted)| {
            AssistantBlock::Thinking {
                thinking: thinking.to_owned(),
                signature: signature.map(str::to_owned),
                redacted,
            }
        }),
        (ids(), name, arguments, signature()).prop_map(|(id, name, arguments, signature)| {
            AssistantBlock::ToolCall(ToolCall {
                id,
                name: name.to_owned(),
                arguments,
                signature: signature.map(str::to_owned),
                ..ToolCall::default()
            })
        }),
    ];
    let mut vendors: Vec<Model> = parties().into_iter().map(|party| party.model).collect();
    vendors.push(model(Api::Ollama));
    let vendors = prop::sample::select(vendors);
    prop_oneof![
        content().prop_map(|content| Message::User(UserMessage {
            content,
            timestamp: 0
        })),
        (ids(), content(), any::<bool>()).prop_map(|(tool_call_id, content, is_error)| {
            Message::ToolResult(ToolResult {
                tool_call_id,
                content,
                is_error,
                ..ToolResult::default()
            })
        }),
        (prop::collection::vec(block, 0..4), vendors)
            .prop_map(|(content, vendor)| answer(&vendor, content)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_history_can_be_sent_to_every_vendor(messages in prop::collection::vec(any_message(), 0..9)) {
        for party in parties() {
            let body = sent(&party.model, &messages);
            (party.check)(&body, &party.model);
        }
    }
}

#[test]
fn switching_vendors_twice_loses_nothing() {
    let parties = parties();
    for home in &parties {
        for away in &parties {
            let mut messages = Vec::new();
            let mut before = String::new();
            for round in 0..2 {
                messages.extend(turn(home, &format!("home{round}")));
                messages.extend(turn(away, &format!("away{round}")));
                messages.push(user("back"));
                let abroad = sent(&away.model, &messages);
                (away.check)(&abroad, &away.model);
                let body = sent(&home.model, &messages);
                (home.check)(&body, &home.model);
                // Everything occurs as often as before, and the part that was sent before is unchanged.
                let told = list(&body).to_string();
                for opaque in home.opaque {
                    let rounds = if home.model == away.model { 2 } else { 1 };
                    let expected = (round + 1) * rounds;
                    assert_eq!(told.matches(opaque).count(), expected, "{told}");
                }
                let told = unmarked(&told);
                let start = before.trim_end_matches([']', '}']);
                assert!(told.starts_with(start), "{start}\n{told}");
                before = told;
            }
        }
    }
}

#[test]
fn recordings_decode_equally_in_any_chunks() {
    for party in parties() {
        let framing = super::find(party.model.api).unwrap().framing;
        let framed = |chunks: &[&[u8]]| {
            let mut parser = framing.parser();
            let mut events: Vec<_> = chunks
                .iter()
                .flat_map(|chunk| parser.push(chunk).unwrap())
                .collect();
            events.extend(parser.finish());
            events
        };
        let whole = framed(&[&party.stream]);
        // Short streams are cut at every byte, others at the first and last bytes.
        let length = party.stream.len();
        for cut in (0..length).filter(|cut| *cut < 1500 || length - cut < 1500) {
            let (before, after) = party.stream.split_at(cut);
            assert_eq!(framed(&[before, after]), whole, "{cut}");
        }
        let plain = |size| {
            let (message, status) = play_in(&party.model, &party.stream, size);
            // Generated ids differ each time.
            let content = format!("{:?}", message.content);
            let told = content.split("nameless_").next().unwrap().to_owned();
            let told = told.split("call_").next().unwrap().to_owned();
            (
                told,
                message.text(),
                message.usage,
                message.stop_reason,
                status,
            )
        };
        for size in 1..32 {
            assert_eq!(plain(size), plain(length), "{size}");
        }
    }
}

#[test]
fn truncated_stream_is_never_a_success() {
    // The end markers: before them, an answer is incomplete.
    const ENDS: &[&str] = &[
        "\"stop_reason\":\"tool_use\"",
        "\"type\":\"response.completed\"",
        "\"finish_reason\":\"tool_calls\"",
        "\"finishReason\": \"STOP\"",
        "\"done\":true",
        "messageStop",
    ];
    for party in parties() {
        let name = &party.model.provider;
        let place = |end: &&str| {
            let mut windows = party.stream.windows(end.len());
            Some(windows.position(|part| part == end.as_bytes())? + end.len())
        };
        let end = ENDS.iter().find_map(place);
        let end = end.unwrap_or_else(|| panic!("no end in the stream of {name}"));
        // The stream is cut at every byte near the end, and at every tenth byte before.
        let cuts = (0..end).filter(|cut| end - cut < 600 || cut % 10 == 0);
        for cut in cuts {
            let (_, status) = play_in(&party.model, &party.stream[..cut], 4096);
            assert!(!status.is_success(), "{name} cut at {cut} of {end}");
            assert!(status.is_retryable(), "{name} cut at {cut}: {status:?}");
        }
        let (_, status) = play_in(&party.model, &party.stream, 4096);
        assert!(status.is_success(), "{name}: {status:?}");
    }
}

/// The messages of a request body.
fn list(body: &Value) -> &Value {
    let names = ["messages", "input", "contents"];
    names.iter().find_map(|name| body.get(*name)).unwrap()
}

/// Removes the cache marks, which move with the conversation.
fn unmarked(told: &str) -> String {
    told.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

/// Checks the form of an id, and that it is unique.
fn check_id(id: &Value, seen: &mut HashSet<String>) -> String {
    let id = id.as_str().expect("an id").to_owned();
    let accepted = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    assert!(
        (1..=64).contains(&id.len()) && id.bytes().all(accepted),
        "{id}"
    );
    assert!(seen.insert(id.clone()), "{id} twice");
    id
}

fn check_anthropic(body: &Value, _: &Model) {
    let messages = rows(&body["messages"]);
    let mut seen = HashSet::new();
    let mut expected_role = "user";
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        assert_eq!(role(message), expected_role);
        expected_role = if expected_role == "user" {
            "assistant"
        } else {
            "user"
        };
        let blocks = rows(&message["content"]);
        assert!(!blocks.is_empty());
        let mut results = Vec::new();
        for block in blocks {
            match block["type"].as_str().unwrap() {
                "text" => assert!(!block["text"].as_str().unwrap().trim().is_empty()),
                "tool_use" => {
                    assert!(block["input"].is_object());
                    open.push(check_id(&block["id"], &mut seen));
                }
                "tool_result" => results.push(block["tool_use_id"].as_str().unwrap().to_owned()),
                "thinking" => assert!(block["signature"].is_string()),
                "redacted_thinking" => assert!(block["data"].is_string()),
                "image" => {}
                other => panic!("{other}"),
            }
        }
        if role(message) == "user" {
            assert_eq!(results, std::mem::take(&mut open));
            let leading = blocks
                .iter()
                .take_while(|block| block["type"] == "tool_result");
            assert_eq!(leading.count(), results.len(), "results come first");
        } else {
            assert_eq!(results, Vec::<String>::new());
            let last = blocks.last().unwrap()["type"].as_str().unwrap();
            assert!(!last.contains("thinking"), "{message}");
        }
    }
    assert_eq!(role(messages.last().unwrap()), "user");
}

fn check_responses(body: &Value, _: &Model) {
    let items = rows(&body["input"]);
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().unwrap();
        match kind {
            "function_call" => {
                let arguments = item["arguments"].as_str().unwrap();
                assert!(
                    serde_json::from_str::<Value>(arguments)
                        .unwrap()
                        .is_object()
                );
                open.push(check_id(&item["call_id"], &mut seen));
            }
            "function_call_output" => {
                assert_eq!(item["call_id"], json!(open.remove(0)));
                assert!(!rows(&item["output"]).is_empty() || item["output"].is_string());
            }
            "message" => {
                assert!(role(item) == "assistant" || open.is_empty(), "{item}");
                assert!(!rows(&item["content"]).is_empty());
            }
            "reasoning" => {
                let next = &items[place + 1];
                let led = next["type"] == "function_call"
                    || next["type"] == "reasoning"
                    || role(next) == "assistant";
                assert!(led, "{next}");
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

fn check_chat(body: &Value, model: &Model) {
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for message in rows(&body["messages"]) {
        if role(message) != "tool" {
            assert_eq!(open, Vec::<String>::new(), "{message}");
        }
        match role(message) {
            "system" => {}
            "user" => {
                assert!(message["content"].is_string() || !rows(&message["content"]).is_empty());
            }
            "assistant" => {
                let calls = rows(&message["tool_calls"]);
                assert!(!message["content"].is_null() || !calls.is_empty());
                for call in calls {
                    let arguments = call["function"]["arguments"].as_str().unwrap();
                    assert!(
                        serde_json::from_str::<Value>(arguments)
                            .unwrap()
                            .is_object()
                    );
                    let id = check_id(&call["id"], &mut seen);
                    assert!(id.len() == 9 || !model.compat.short_tool_ids, "{id}");
                    open.push(id);
                }
                if let (Some(field), false) =
                    (&model.compat.replay_reasoning_field, calls.is_empty())
                {
                    assert!(message[field].is_string());
                }
            }
            "tool" => {
                assert_eq!(message["tool_call_id"], json!(open.remove(0)));
                assert!(message["content"].is_string());
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

fn check_google(body: &Value, _: &Model) {
    let contents = rows(&body["contents"]);
    let mut before = Value::Null;
    let mut open: Vec<Value> = Vec::new();
    for content in contents {
        let parts = rows(&content["parts"]);
        assert!(!parts.is_empty());
        let with = |key: &str| -> Vec<&Value> {
            parts
                .iter()
                .filter(|part| part.get(key).is_some())
                .collect()
        };
        let (calls, results) = (with("functionCall"), with("functionResponse"));
        match role(content) {
            "model" => {
                assert_eq!(before["role"], "user", "{content}");
                assert!(results.is_empty() && open.is_empty());
                if let Some(first) = calls.first() {
                    assert!(first["thoughtSignature"].is_string());
                }
                let name = |call: &&Value| call["functionCall"]["name"].clone();
                open = calls.iter().map(name).collect();
            }
            "user" => {
                let name = |result: &&Value| result["functionResponse"]["name"].clone();
                let named: Vec<Value> = results.iter().map(name).collect();
                assert_eq!(named, std::mem::take(&mut open));
                assert!(results.is_empty() || results.len() == parts.len());
            }
            other => panic!("{other}"),
        }
        before = content.clone();
    }
    assert!(open.is_empty());
    assert_eq!(role(&before), "user");
}

fn check_ollama(body: &Value, _: &Model) {
    let mut open: Vec<(Value, Value)> = Vec::new();
    for message in rows(&body["messages"]) {
        assert!(message["content"].is_string());
        match role(message) {
            "tool" => {
                let named = (
                    message["tool_call_id"].clone(),
                    message["tool_name"].clone(),
                );
                assert_eq!(named, open.remove(0));
            }
            other => {
                assert!(open.is_empty(), "{other}");
                for call in rows(&message["tool_calls"]) {
                    assert!(call["function"]["arguments"].is_object());
                    open.push((call["id"].clone(), call["function"]["name"].clone()));
                }
            }
        }
    }
    assert!(open.is_empty());
}

fn check_bedrock(body: &Value, _: &Model) {
    let mut seen = HashSet::new();
    let mut open: Vec<Value> = Vec::new();
    let mut expected_role = "user";
    for message in rows(&body["messages"]) {
        assert_eq!(role(message), expected_role);
        expected_role = if expected_role == "user" {
            "assistant"
        } else {
            "user"
        };
        let blocks = rows(&message["content"]);
        let with = |key: &str| -> Vec<&Value> {
            blocks.iter().filter_map(|block| block.get(key)).collect()
        };
        let named: Vec<Value> = with("toolResult")
            .iter()
            .map(|result| result["toolUseId"].clone())
            .collect();
        assert_eq!(named, std::mem::take(&mut open));
        for call in with("toolUse") {
            assert!(call["input"].is_object() && role(message) == "assistant");
            open.push(json!(check_id(&call["toolUseId"], &mut seen)));
        }
        let blank = |text: &&Value| text.as_str().is_none_or(|text| text.trim().is_empty());
        assert_eq!(with("text").iter().copied().find(blank), None);
        assert!(blocks.last().unwrap().get("reasoningContent").is_none());
    }
    assert!(open.is_empty());
    assert_eq!(expected_role, "assistant");
}
