//! Every request extends the previous one byte by byte, because prompt caches work on prefixes. Checked for every
//! wire format over fifty calls of a conversation with thinking, parallel calls, images, errors, and changes of the
//! model and its level.

pub(crate) mod answers;

use std::collections::BTreeMap;

use osier_llm::{Script, ThinkingLevel};
use osier_protocol::{Event, Op, Spending, TreeEvent, TreeOp};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::session::{OpenSession, TestProject};
use crate::support::web_server::{ReceivedRequest, WebServer};

/// Model calls of the conversation.
const CALLS: usize = 50;
/// An image of one pixel.
const PICTURE: &[u8] = include_bytes!("prompt_cache/image.png");

/// A wire format and a kind of server.
struct Wire {
    api: &'static str,
    compat: Value,
    answer: fn(usize) -> Vec<u8>,
    /// The JSON pointers of the tools, the system prompt and the conversation in a body.
    places: [&'static str; 3],
    /// Texts that the last body must contain: everything that the vendor requires.
    holds: &'static [&'static str],
    /// The expected cache markers of a body.
    marks: fn(&Value) -> Vec<String>,
}

const IN_MESSAGES: [&str; 3] = ["/tools", "/messages/0", "/messages"];

fn no_marks(_: &Value) -> Vec<String> {
    Vec::new()
}

/// A recorded conversation.
struct Held {
    bodies: Vec<(String, Value)>,
    spending: Box<Spending>,
}

/// Fifty calls with tools, model changes and level changes.
async fn converse(wire: &Wire) -> Held {
    let answer = wire.answer;
    let server = WebServer::start(move |_, before| answer(before));
    let place = TestProject::new();
    let model = |id: &str| {
        json!({"id": id, "reasoning": true, "contextWindow": 200_000, "maxTokens": 8_000,
            "input": ["text", "image"], "compat": wire.compat})
    };
    let models = json!({"providers": {"here": {
        "baseUrl": server.url(), "api": wire.api, "apiKey": "sk-test-key",
        "models": [model("a"), model("b")],
    }}});
    std::fs::create_dir_all(place.data()).unwrap();
    let write = |path: std::path::PathBuf, bytes: &[u8]| {
        osier_base::atomic_file::write(&path, bytes).unwrap();
    };
    write(
        place.data().join("models.json"),
        models.to_string().as_bytes(),
    );
    write(place.work().join("notes.txt"), b"remember the milk\n");
    write(place.work().join("picture.png"), PICTURE);
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
    let mut events = open
        .until(|event| matches!(event, Event::Usage { .. }))
        .await;
    open.close().await;
    let Some(Event::Usage { spending }) = events.pop() else {
        unreachable!()
    };
    let bodies = server.asked().iter().map(whole).collect();
    Held { bodies, spending }
}

/// The model of a request and its body. The parsed body serializes to the same bytes.
fn whole(asked: &ReceivedRequest) -> (String, Value) {
    let body = asked.json();
    assert_eq!(body.to_string(), asked.body);
    let model = body["model"].as_str().unwrap_or_default();
    (format!("{} {model}", asked.line), body)
}

/// Changes the model or the level every few turns.
fn change(open: &OpenSession, turn: usize) {
    match turn % 6 {
        2 => open.host.send(Op::SelectModel {
            reference: "here/b".to_owned(),
        }),
        3 => open.host.send(level(ThinkingLevel::High)),
        4 => open.host.send(Op::SelectModel {
            reference: "here/a".to_owned(),
        }),
        5 => open.host.send(level(ThinkingLevel::Low)),
        _ => {}
    }
}

fn level(level: ThinkingLevel) -> Op {
    osier_agent::Op::SetThinkingLevel { level }.into()
}

/// Removes the cache markers.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(list) => {
            list.retain(|item| item.get("cachePoint").is_none());
            list.iter_mut().for_each(unmark);
        }
        _ => {}
    }
}

/// The sorted positions of the cache markers below `place`.
fn marks(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "cache_control" | "cachePoint" => found.push(place.to_owned()),
                    _ => marks(value, &format!("{place}/{name}"), found),
                }
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                marks(value, &format!("{place}/{number}"), found);
            }
        }
        _ => {}
    }
}

fn rows<'a>(body: &'a Value, place: &str) -> &'a [Value] {
    body.pointer(place)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The last block of each of the last `count` messages of the user.
fn last_of_users(body: &Value, count: usize) -> Vec<String> {
    let messages = rows(body, "/messages").iter().enumerate().rev();
    let users = messages.filter(|(_, message)| message["role"] == "user");
    users
        .take(count)
        .map(|(at, message)| {
            let last = rows(message, "/content").len() - 1;
            format!("/messages/{at}/content/{last}")
        })
        .collect()
}

fn last_of(body: &Value, place: &str) -> String {
    format!("{place}/{}", rows(body, place).len() - 1)
}

/// Every request begins with the previous request to the same model, and all have the same tools and system prompt.
fn assert_stable(wire: &Wire, bodies: &[(String, Value)]) {
    assert_eq!(bodies.len(), CALLS, "{}", wire.api);
    let [tools, system, list] = wire.places;
    let text = |body: &Value, place: &str| match body.pointer(place) {
        Some(found) => found.to_string(),
        None => panic!("no {place} in {body}"),
    };
    let mut shared = None;
    let mut latest: BTreeMap<&str, String> = BTreeMap::new();
    let mut heads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (model, body) in bodies {
        let mut found = Vec::new();
        marks(body, "", &mut found);
        found.sort();
        let mut expected = (wire.marks)(body);
        expected.sort();
        assert_eq!(found, expected, "{}", wire.api);
        let mut body = body.clone();
        unmark(&mut body);
        let front = (text(&body, tools), text(&body, system));
        assert_eq!(*shared.get_or_insert(front.clone()), front, "{}", wire.api);
        let sent = text(&body, list);
        if let Some(before) = latest.get(model.as_str()) {
            // The last message may have been extended: compare without its closing brackets.
            let before = before.trim_end_matches(['}', ']']);
            assert!(sent.starts_with(before), "{}\n{before}\n{sent}", wire.api);
            assert!(sent.len() > before.len() + 20);
        }
        latest.insert(model, sent);
        body[&list[1..]] = Value::Null;
        heads.entry(model).or_default().push(body.to_string());
    }
    for heads in heads.values_mut() {
        heads.sort();
        heads.dedup();
        assert!(heads.len() > 1, "{}: no level was asked for", wire.api);
    }
    assert_eq!(latest.len(), 2, "{:?}", latest.keys());
    let last = &bodies[CALLS - 1].1.to_string();
    for part in wire.holds {
        assert!(last.contains(part), "{}: no {part} in {last}", wire.api);
    }
}

async fn holds(wire: Wire) -> Box<Spending> {
    let held = converse(&wire).await;
    assert_stable(&wire, &held.bodies);
    held.spending
}

#[tokio::test]
async fn chat_completions() {
    let spending = holds(Wire {
        api: "openai-chat-completions",
        compat: json!({"replayReasoningField": "reasoning_content"}),
        answer: answers::chat,
        places: IN_MESSAGES,
        holds: &["Thought 0", "image/png;base64", "call_0x2"],
        marks: no_marks,
    })
    .await;
    let calls: Vec<(&str, u64)> = spending
        .models
        .iter()
        .map(|model| (model.model.as_str(), model.calls))
        .collect();
    assert_eq!(calls, [("here/a", 34), ("here/b", 16)]);
    assert_eq!(spending.total.hit_rate(), Some(0.8));
    assert_eq!((spending.tool_calls, spending.tool_failures), (59, 9));
}

#[tokio::test]
async fn chat_completions_of_routers_with_cache_markers() {
    holds(Wire {
        api: "openai-chat-completions",
        compat: json!({"thinkingFormat": "openrouter", "cacheControl": true}),
        answer: answers::openrouter,
        places: IN_MESSAGES,
        holds: &["\"reasoning_details\"", "sig-0", "image/png;base64"],
        marks: |body| {
            let messages = rows(body, "/messages");
            let last = |role| messages.iter().rposition(|message| message["role"] == role);
            let places = [Some(0), last("user"), last("assistant")];
            let mut marked = Vec::new();
            for at in places.into_iter().flatten() {
                // The marker is on a text; an image may follow.
                let parts = rows(&messages[at], "/content");
                let text = parts.iter().rposition(|part| part["type"] == "text");
                marked.push(format!("/messages/{at}/content/{}", text.unwrap()));
            }
            marked
        },
    })
    .await;
}

#[tokio::test]
async fn chat_completions_of_mistral() {
    holds(Wire {
        api: "openai-chat-completions",
        compat: json!({"shortToolIds": true, "thinkingParts": true, "toolResultName": true,
            "answerAfterResults": true, "maxTokensField": true}),
        answer: answers::mistral,
        places: IN_MESSAGES,
        holds: &["\"thinking\"", "sig-0", "image/png;base64"],
        marks: no_marks,
    })
    .await;
}

const IN_BODY: [&str; 3] = ["/tools", "/system", "/messages"];

fn anthropic_marks(body: &Value) -> Vec<String> {
    // A mark after a prefix of less than 4,096 tokens, of about four bytes, would have no effect.
    let is_long = body["tools"].to_string().len() + body["system"].to_string().len() > 4 * 4096;
    let mut marked = last_of_users(body, if is_long { 2 } else { 3 });
    marked.extend(is_long.then(|| last_of(body, "/system")));
    marked
}

#[tokio::test]
async fn anthropic_messages() {
    let spending = holds(Wire {
        api: "anthropic-messages",
        compat: json!({}),
        answer: answers::anthropic,
        places: IN_BODY,
        holds: &[
            "sig-0",
            "hidden-0",
            "\"media_type\":\"image/png\"",
            "is_error",
        ],
        marks: anthropic_marks,
    })
    .await;
    assert_eq!(spending.total.hit_rate(), Some(80.0 / 110.0));
}

#[tokio::test]
async fn cache_miss_cost_uses_the_price_tier_of_the_call() {
    // Input, cache read, cache write.
    const CALLS: [[u64; 3]; 4] = [
        [50, 0, 90_000],
        [50, 0, 95_000],
        [50, 95_000, 4_000],
        [50, 0, 120_000],
    ];
    let server = WebServer::start(|_, before| {
        let [input, read, write] = CALLS[before];
        answers::anthropic_says("well", [input, read, write, 10])
    });
    let place = TestProject::new();
    let cost = json!({"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75, "tiers": [
        {"inputTokensAbove": 100_000, "input": 6, "output": 30, "cacheRead": 0.6, "cacheWrite": 7.5}]});
    let models = json!({"providers": {"here": {
        "baseUrl": server.url(), "api": "anthropic-messages", "apiKey": "sk-test-key",
        "models": [{"id": "m", "contextWindow": 200_000, "maxTokens": 8_000, "cost": cost}],
    }}});
    std::fs::create_dir_all(place.data()).unwrap();
    let path = place.data().join("models.json");
    osier_base::atomic_file::write(&path, models.to_string().as_bytes()).unwrap();
    let ask = async |session: SessionChoice, prompts: &[&str]| {
        let mut open = place
            .open_with(session, Script::default(), |setup| {
                setup.model = Some("here/m".to_owned());
            })
            .await;
        for prompt in prompts {
            open.run(prompt).await;
        }
        open.host.send(Op::Tree(TreeOp::GetContext));
        let is_context =
            |event: &Event| matches!(event, Event::Tree(TreeEvent::ContextReport { .. }));
        let mut events = open.until(is_context).await;
        let path = open.path();
        open.close().await;
        let Some(Event::Tree(TreeEvent::ContextReport { spending, .. })) = events.pop() else {
            unreachable!()
        };
        (spending, path)
    };
    let told = |spending: &Spending| {
        let (tokens, cost) = spending.missed();
        let last = spending.last.and_then(|usage| usage.hit_rate());
        (
            tokens,
            (cost * 1e6).round(),
            last,
            spending.total.hit_rate(),
        )
    };
    let (spending, path) = ask(SessionChoice::New, &["one", "two"]).await;
    let second = 90_050.0 * (3.75 - 0.3);
    assert_eq!(
        told(&spending),
        (90_050, f64::round(second), Some(0.0), Some(0.0))
    );
    // After resuming, stored usage counts, and the last call is in the higher price tier.
    let (spending, _) = ask(SessionChoice::File(path), &["three", "four"]).await;
    let fourth = 99_050.0 * (7.5 - 0.6);
    let rate = 95_000.0 / (90_050.0 + 95_050.0 + 99_050.0 + 120_050.0);
    assert_eq!(
        told(&spending),
        (189_100, f64::round(second + fourth), Some(0.0), Some(rate))
    );
}

#[tokio::test]
async fn anthropic_messages_on_vertex() {
    holds(Wire {
        api: "anthropic-messages",
        compat: json!({"onVertex": true, "keyHeader": "bearer", "adaptiveThinking": true}),
        answer: answers::anthropic,
        places: IN_BODY,
        holds: &["sig-0", "hidden-0", "vertex-2023-10-16"],
        marks: anthropic_marks,
    })
    .await;
}

#[tokio::test]
async fn openai_responses() {
    holds(Wire {
        api: "openai-responses",
        compat: json!({"promptCacheKey": true}),
        answer: answers::responses,
        places: ["/tools", "/instructions", "/input"],
        holds: &[
            "sig-0",
            "\"phase\":\"commentary\"",
            "image/png;base64",
            "prompt_cache_key",
        ],
        marks: no_marks,
    })
    .await;
}

const GEMINI: [&str; 3] = ["/tools", "/systemInstruction", "/contents"];

#[tokio::test]
async fn gemini() {
    holds(Wire {
        api: "google-generative-ai",
        compat: json!({"signedCalls": true, "imagesInResults": true}),
        answer: answers::google,
        places: GEMINI,
        holds: &["sig-0", "sig-1\"", "\"mimeType\":\"image/png\""],
        marks: no_marks,
    })
    .await;
}

#[tokio::test]
async fn gemini_on_vertex_with_images_next_to_results() {
    holds(Wire {
        api: "google-generative-ai",
        compat: json!({"thinkingBudget": true, "keyHeader": "bearer"}),
        answer: answers::google,
        places: GEMINI,
        holds: &["sig-0", "sig-1\"", "Files of the tool results:"],
        marks: no_marks,
    })
    .await;
}

#[tokio::test]
async fn ollama() {
    holds(Wire {
        api: "ollama",
        compat: json!({}),
        answer: answers::ollama,
        places: IN_MESSAGES,
        holds: &["\"thinking\":\"Thought 0", "\"images\"", "num_ctx"],
        marks: no_marks,
    })
    .await;
}

const CONVERSE: [&str; 3] = ["/toolConfig/tools", "/system", "/messages"];

#[tokio::test]
async fn bedrock_converse() {
    holds(Wire {
        api: "bedrock-converse",
        compat: json!({"cacheControl": true, "thinkingBudget": true}),
        answer: answers::bedrock,
        places: CONVERSE,
        holds: &["sig-0", "\"format\":\"png\"", "\"status\":\"error\""],
        marks: |body| {
            let mut marked = last_of_users(body, 2);
            let others = ["/toolConfig/tools", "/system"];
            marked.extend(others.map(|place| last_of(body, place)));
            marked
        },
    })
    .await;
}

#[tokio::test]
async fn bedrock_converse_without_cache_points_on_tools() {
    holds(Wire {
        api: "bedrock-converse",
        compat: json!({"cacheControl": true, "unmarkedTools": true, "thinkingBudget": true}),
        answer: answers::bedrock,
        places: CONVERSE,
        holds: &["sig-0", "\"format\":\"png\""],
        marks: |body| {
            let messages = rows(body, "/messages").iter().enumerate().rev();
            let plain = messages.filter(|(_, message)| {
                message["role"] == "user" && message["content"][0].get("text").is_some()
            });
            let mut marked: Vec<String> = plain
                .take(2)
                .map(|(at, _)| format!("/messages/{at}/content/1"))
                .collect();
            marked.push(last_of(body, "/system"));
            marked
        },
    })
    .await;
}
