//! Decides which results of tools the model no longer needs, and when it saves money to leave results out of requests.
//! Pure.
//!
//! If a result is left out, the conversation changes from there on, and the provider's cache of the rest is lost. So
//! results are left out only when the cache has expired anyway, when the price is worth it, or to avoid a compaction.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::time::Duration;

use osier_agent::{AgentMessage, FileUse, ToolResultMessage};
use osier_llm::{ContentBlock, Price, ToolCall};
use osier_tools::{READ, ToolEffect, WRITE};
use serde_json::Value;

use super::estimate::message_tokens;

/// Minimum tokens of a result that is worth leaving out, and of all such results.
const RESULT: u64 = 200;
const ALL: u64 = 2_000;
/// Outputs are no longer needed after so many prompts and answers.
const PROMPTS: usize = 2;
const ANSWERS: usize = 30;
/// Requests that are expected to follow.
const REQUESTS: f64 = 20.0;
/// After this time no provider has the conversation in its cache.
const FORGOTTEN: Duration = Duration::from_hours(1);
/// Shares of the limit in percent: above the first, results are left out if that leads below the second.
const NEAR: u64 = 90;
const FAR: u64 = 75;

/// A result that is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Superseded {
    /// The index of the result in the conversation.
    pub place: usize,
    pub tokens: u64,
}

/// The facts that decide whether results are omitted now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    /// Tokens of the conversation, and the number at which it is compacted.
    pub tokens: u64,
    pub trigger: Option<u64>,
    /// Tokens after the first result that would be left out.
    pub rest: u64,
    /// The time since the last answer, of any model: the user can return to the one before.
    pub idle: Duration,
    /// How long the provider keeps its cache, if that is known.
    pub lifetime: Option<Duration>,
    pub price: Price,
}

/// Why results are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Cold,
    Price,
    Room,
}

/// A part of a file that the model has read: the first line and the number of lines, as far as the call named them.
#[derive(Debug)]
struct Reading {
    place: usize,
    range: (Option<u64>, Option<u64>),
}

/// The results that later ones replace and old outputs, in order.
pub(super) fn superseded<M: Borrow<AgentMessage>>(messages: &[M]) -> Vec<Superseded> {
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut readings: HashMap<&str, Vec<Reading>> = HashMap::new();
    let mut places = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        match message.borrow() {
            AgentMessage::Assistant(answer) => {
                calls.extend(answer.tool_calls().map(|call| (call.id.as_str(), call)));
            }
            AgentMessage::ToolResult(result) if result.status.is_success() => {
                let Some(call) = calls.get(result.result.tool_call_id.as_str()) else {
                    continue;
                };
                places.extend(replaced(call, result, place, &mut readings));
            }
            _ => {}
        }
    }
    places.extend(old_outputs(messages));
    places.sort_unstable();
    places.dedup();
    let sizes = places.into_iter().filter_map(|place| {
        let message = messages[place].borrow();
        let tokens = message_tokens(message);
        (tokens >= RESULT && !has_instructions(message)).then_some(Superseded { place, tokens })
    });
    sizes.collect()
}

/// The earlier readings that a call replaces.
fn replaced<'a>(
    call: &'a ToolCall,
    result: &ToolResultMessage,
    place: usize,
    readings: &mut HashMap<&'a str, Vec<Reading>>,
) -> Vec<usize> {
    let Some(path) = call.arguments.get("file_path").and_then(Value::as_str) else {
        return Vec::new();
    };
    let number = |name: &str| call.arguments.get(name).and_then(Value::as_u64);
    let known = readings.entry(path).or_default();
    match call.name.as_str() {
        WRITE => known.drain(..).map(|reading| reading.place).collect(),
        READ => {
            let range = (number("offset"), number("limit"));
            let is_cut = result.details.get("truncated").and_then(Value::as_bool);
            let is_whole = range == (None, None) && is_cut != Some(true);
            let covered = known.extract_if(.., |earlier| is_whole || earlier.range == range);
            let places = covered.map(|earlier| earlier.place).collect();
            known.push(Reading { place, range });
            places
        }
        _ => Vec::new(),
    }
}

/// Whether outputs of the tool are acted upon at once: those of commands, web pages and searches.
fn is_passing(tool: &str) -> bool {
    let Some(tool) = osier_tools::find(tool) else {
        return false;
    };
    let purpose = tool.file.map(|file| file.purpose);
    let searches = matches!(purpose, Some(FileUse::Search | FileUse::List));
    searches || matches!(tool.effect, ToolEffect::Runs | ToolEffect::Fetches)
}

/// Outputs from long ago.
fn old_outputs<M: Borrow<AgentMessage>>(messages: &[M]) -> Vec<usize> {
    let (mut prompts, mut answers) = (0, 0);
    let mut places = Vec::new();
    for (place, message) in messages.iter().enumerate().rev() {
        match message.borrow() {
            AgentMessage::User(_) => prompts += 1,
            AgentMessage::Assistant(_) => answers += 1,
            AgentMessage::ToolResult(result)
                if prompts >= PROMPTS
                    && answers >= ANSWERS
                    && is_passing(&result.result.tool_name) =>
            {
                places.push(place);
            }
            _ => {}
        }
    }
    places
}

/// Whether osier added instructions of a directory to the result: the model gets them once.
fn has_instructions(message: &AgentMessage) -> bool {
    let AgentMessage::ToolResult(result) = message else {
        return false;
    };
    result.result.content.iter().any(|block| {
        matches!(block, ContentBlock::Text { text } if text.contains("<instructions from="))
    })
}

/// Whether to leave results of `tokens` out now.
pub(super) fn decide(tokens: u64, now: &Situation) -> Option<Reason> {
    if tokens < ALL {
        return None;
    }
    let lifetime = now.lifetime.unwrap_or(FORGOTTEN);
    if now.idle > lifetime {
        return Some(Reason::Cold);
    }
    let remaining = now.tokens.saturating_sub(tokens);
    let is_near =
        |trigger: u64| now.tokens > trigger / 100 * NEAR && remaining < trigger / 100 * FAR;
    if now.trigger.is_some_and(is_near) {
        return Some(Reason::Room);
    }
    let Price {
        input,
        cache_read,
        cache_write,
        ..
    } = now.price;
    let write = if cache_write > 0.0 {
        cache_write
    } else {
        input
    };
    // Without prices, a local server computes the rest again.
    let saved = tokens as f64 * cache_read * REQUESTS;
    let cost = now.rest.saturating_sub(tokens) as f64 * (write - cache_read);
    (cache_read > 0.0 && saved > cost).then_some(Reason::Price)
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::{ToolStatus, UserMessage};
    use osier_llm::{AssistantBlock, AssistantMessage, ToolResult};
    use serde_json::json;

    fn prompt() -> AgentMessage {
        AgentMessage::User(UserMessage::new("go on", 0))
    }

    /// A call and its result of about `tokens`.
    fn called(name: &str, arguments: Value, tokens: usize) -> [AgentMessage; 2] {
        let id = format!("{name} {arguments}");
        let call = AgentMessage::Assistant(AssistantMessage {
            content: vec![AssistantBlock::ToolCall(ToolCall {
                id: id.clone(),
                name: name.to_owned(),
                arguments,
                ..ToolCall::default()
            })],
            ..AssistantMessage::default()
        });
        let result = AgentMessage::ToolResult(ToolResultMessage {
            result: ToolResult {
                tool_call_id: id,
                tool_name: name.to_owned(),
                content: vec![ContentBlock::text("word".repeat(tokens))],
                ..ToolResult::default()
            },
            status: ToolStatus::Success,
            ..ToolResultMessage::default()
        });
        [call, result]
    }

    fn read(path: &str, offset: Option<u64>) -> [AgentMessage; 2] {
        let arguments = match offset {
            Some(offset) => json!({"file_path": path, "offset": offset}),
            None => json!({"file_path": path}),
        };
        called("read", arguments, 300)
    }

    fn places(messages: &[AgentMessage]) -> Vec<usize> {
        let found = superseded(messages);
        found.iter().map(|one| one.place).collect()
    }

    #[test]
    fn readings_are_replaced_by_later_ones_and_by_writing() {
        let write = called("write", json!({"file_path": "a", "content": ""}), 1);
        for (messages, expected) in [
            (vec![read("a", None), read("a", None)], vec![1]),
            (vec![read("a", Some(9)), read("a", None)], vec![1]),
            (vec![read("a", Some(9)), read("a", Some(9))], vec![1]),
            (vec![read("a", None), read("a", Some(9))], vec![]),
            (vec![read("a", None), read("b", None)], vec![]),
            (vec![read("a", None), read("a", Some(9)), write], vec![1, 3]),
        ] {
            assert_eq!(places(&messages.concat()), expected, "{messages:?}");
        }
    }

    #[test]
    fn small_results_and_instructions_stay() {
        let mut first = called("read", json!({"file_path": "a"}), 300);
        if let AgentMessage::ToolResult(result) = &mut first[1] {
            let text = "<instructions from=\"AGENTS.md\">\nbe kind\n</instructions>";
            result.result.content.push(ContentBlock::text(text));
        }
        let small = called("read", json!({"file_path": "a"}), 100);
        assert_eq!(places(&[first, small, read("a", None)].concat()), [0; 0]);
    }

    #[test]
    fn outputs_are_old_after_two_prompts_and_thirty_answers() {
        let command = || called("bash", json!({"command": "make"}), 300);
        let mut messages: Vec<AgentMessage> = command().into();
        messages.push(prompt());
        for _ in 0..29 {
            messages.extend(command());
        }
        messages.push(prompt());
        assert_eq!(places(&messages), [0; 0]);
        messages.extend(command());
        assert_eq!(places(&messages), [1]);
    }

    /// Everything is warm, cheap to keep and far from the limit.
    fn situation() -> Situation {
        Situation {
            tokens: 100_000,
            trigger: Some(180_000),
            rest: 90_000,
            idle: Duration::from_secs(10),
            lifetime: Some(Duration::from_mins(5)),
            price: Price {
                input: 3.0,
                output: 15.0,
                cache_read: 0.3,
                cache_write: 3.75,
                ..Price::default()
            },
        }
    }

    #[test]
    fn results_are_left_out_when_the_cache_is_cold_the_price_is_worth_it_or_room_is_needed() {
        let warm = situation();
        assert_eq!(decide(5_000, &warm), None);
        let idle = Duration::from_secs(301);
        let cold = Situation { idle, ..warm };
        assert_eq!(decide(5_000, &cold), Some(Reason::Cold));
        assert_eq!(decide(1_999, &cold), None, "not worth it");
        // 20 requests without 5,000 tokens save 0.03 dollars, and writing 5,000 again costs 0.017.
        let rest = 10_000;
        assert_eq!(
            decide(5_000, &Situation { rest, ..warm }),
            Some(Reason::Price)
        );
        let free = Situation {
            rest,
            price: Price::default(),
            ..warm
        };
        assert_eq!(decide(5_000, &free), None);
        let full = Situation {
            tokens: 170_000,
            ..free
        };
        assert_eq!(decide(36_000, &full), Some(Reason::Room));
        assert_eq!(decide(34_000, &full), None, "it would be full again soon");
    }
}
