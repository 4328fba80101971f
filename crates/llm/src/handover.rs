//! Makes a conversation fit for the model it is sent to.
//!
//! A conversation may hold answers of many vendors, half answers, calls that never got a result and
//! ids that only their maker accepts. `prepare` gives what every wire format may rely on: each tool call
//! has exactly one result, right after its message and in call order; ids are unique and of the accepted
//! form; no message is empty; nothing opaque reaches another model than the one that wrote it. The
//! result for a message never depends on later ones, so prompt caches keep hitting.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, ToolCall, ToolResult, UserMessage,
};
use super::model::Model;

/// Longest id any vendor accepts.
const ID_LENGTH: usize = 64;
/// Length of ids on servers that demand short ones.
const SHORT_ID_LENGTH: usize = 9;
const NO_RESULT: &str = "no result: the call was interrupted before it gave one";
const NO_IMAGE: &str = "[image omitted: this model accepts only text]";

/// The conversation as `model` may see it.
pub fn prepare(messages: &[Message], model: &Model) -> Vec<Message> {
    let mut ids = Ids::new(model.compat.short_tool_ids);
    let mut prepared = Vec::with_capacity(messages.len());
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        match message {
            Message::User(user) => prepared.extend(user_message(user, model)),
            // Results are taken with the call they belong to: this one has none.
            Message::ToolResult(_) => {}
            Message::Assistant(answer) => {
                let until = after
                    .iter()
                    .position(|message| matches!(message, Message::Assistant(_)))
                    .unwrap_or(after.len());
                let (turn, next) = after.split_at(until);
                add_turn(answer, turn, model, &mut ids, &mut prepared);
                rest = next;
            }
        }
    }
    prepared
}

/// Whether `model` wrote `answer`, in the wire format it has now: only then it may see again what is opaque.
pub(crate) fn is_own(answer: &AssistantMessage, model: &Model) -> bool {
    answer.provider == model.provider && answer.model == model.id && answer.api == model.api.name()
}

/// Adds an answer, the results of its calls, and what the user said before the next answer.
fn add_turn(
    answer: &AssistantMessage,
    turn: &[Message],
    model: &Model,
    ids: &mut Ids,
    prepared: &mut Vec<Message>,
) {
    let own = is_own(answer, model);
    let mut results: Vec<Option<&ToolResult>> = turn
        .iter()
        .map(|message| match message {
            Message::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect();
    let mut content = Vec::with_capacity(answer.content.len());
    let mut answers = Vec::new();
    for block in &answer.content {
        let AssistantBlock::ToolCall(call) = block else {
            content.extend(assistant_block(block, own));
            continue;
        };
        let sent = tool_call(call, own, ids);
        let found = results
            .iter_mut()
            .find(|result| result.is_some_and(|result| result.tool_call_id == call.id))
            .and_then(Option::take);
        answers.push(Message::ToolResult(tool_result(found, &sent, model)));
        content.push(AssistantBlock::ToolCall(sent));
    }
    if !content.is_empty() {
        prepared.push(Message::Assistant(AssistantMessage {
            content,
            ..header(answer)
        }));
    }
    prepared.append(&mut answers);
    for message in turn {
        if let Message::User(user) = message {
            prepared.extend(user_message(user, model));
        }
    }
}

/// The message without its content.
fn header(answer: &AssistantMessage) -> AssistantMessage {
    AssistantMessage {
        content: Vec::new(),
        provider: answer.provider.clone(),
        model: answer.model.clone(),
        api: answer.api.clone(),
        usage: answer.usage,
        stop_reason: answer.stop_reason,
        error_message: answer.error_message.clone(),
        response_id: answer.response_id.clone(),
        timestamp: answer.timestamp,
        duration_ms: answer.duration_ms,
    }
}

fn user_message(user: &UserMessage, model: &Model) -> Option<Message> {
    let content = blocks(&user.content, model);
    (!content.is_empty()).then_some(Message::User(UserMessage {
        content,
        timestamp: user.timestamp,
    }))
}

/// Blocks without blank text, and without images where the model has no eyes.
fn blocks(content: &[ContentBlock], model: &Model) -> Vec<ContentBlock> {
    content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text { text } if text.trim().is_empty() => None,
            ContentBlock::Image { .. } if !model.accepts_images() => {
                Some(ContentBlock::text(NO_IMAGE))
            }
            block => Some(block.clone()),
        })
        .collect()
}

fn assistant_block(block: &AssistantBlock, own: bool) -> Option<AssistantBlock> {
    match block {
        AssistantBlock::Text { text, signature } => {
            let signature = signature.clone().filter(|_| own);
            (!text.trim().is_empty() || signature.is_some()).then(|| AssistantBlock::Text {
                text: text.clone(),
                signature,
            })
        }
        AssistantBlock::Thinking { .. } if own => Some(block.clone()),
        AssistantBlock::Thinking {
            thinking, redacted, ..
        } => {
            let shown = !redacted && !thinking.trim().is_empty();
            shown.then(|| AssistantBlock::Text {
                text: format!("<thinking>\n{}\n</thinking>", thinking.trim()),
                signature: None,
            })
        }
        AssistantBlock::ToolCall(_) => None,
    }
}

fn tool_call(call: &ToolCall, own: bool, ids: &mut Ids) -> ToolCall {
    let arguments = match &call.arguments {
        arguments @ Value::Object(_) if call.arguments_error.is_none() => arguments.clone(),
        _ => Value::Object(Map::new()),
    };
    ToolCall {
        id: ids.assign(&call.id),
        name: tool_name(&call.name),
        arguments,
        arguments_error: None,
        signature: call.signature.clone().filter(|_| own),
    }
}

fn tool_result(found: Option<&ToolResult>, call: &ToolCall, model: &Model) -> ToolResult {
    let (content, is_error, timestamp) = match found {
        Some(result) => (
            blocks(&result.content, model),
            result.is_error,
            result.timestamp,
        ),
        None => (vec![ContentBlock::text(NO_RESULT)], true, 0),
    };
    ToolResult {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content,
        is_error,
        timestamp,
    }
}

/// A name a model made up is replayed in the form vendors accept, so that it cannot block the session.
fn tool_name(name: &str) -> String {
    let name: String = name.chars().map(accepted).take(ID_LENGTH).collect();
    if name.is_empty() {
        "unknown".to_owned()
    } else {
        name
    }
}

fn accepted(char: char) -> char {
    match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => char,
        _ => '_',
    }
}

/// Gives every call an id that is accepted and used once.
struct Ids {
    short: bool,
    used: HashSet<String>,
    /// How often an original id came: some servers count from zero in every answer.
    seen: HashMap<String, u32>,
}

impl Ids {
    fn new(short: bool) -> Self {
        Self {
            short,
            used: HashSet::new(),
            seen: HashMap::new(),
        }
    }

    fn assign(&mut self, original: &str) -> String {
        let count = self.seen.entry(original.to_owned()).or_default();
        let mut salt = *count;
        *count += 1;
        let mut id = match salt {
            0 if self.is_accepted(original) => original.to_owned(),
            _ => self.rewrite(original, salt),
        };
        while !self.used.insert(id.clone()) {
            salt += 1;
            id = self.rewrite(original, salt);
        }
        id
    }

    fn is_accepted(&self, id: &str) -> bool {
        if self.short {
            return id.len() == SHORT_ID_LENGTH
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        }
        (1..=ID_LENGTH).contains(&id.len()) && id.chars().all(|char| accepted(char) == char)
    }

    fn rewrite(&self, original: &str, salt: u32) -> String {
        let hash = fnv(format!("{original}#{salt}").as_bytes());
        if self.short {
            return format!("{hash:016x}")[..SHORT_ID_LENGTH].to_owned();
        }
        let readable: String = original.chars().map(accepted).take(40).collect();
        format!("{readable}_{hash:016x}")
    }
}

/// FNV-1a: the same in every build and on every machine, which the standard hasher does not promise.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Api, Modality};
    use crate::wire::testing::{answer, call, model, result, text, thinking, user};
    use serde_json::json;

    fn own() -> Model {
        model(Api::AnthropicMessages)
    }

    fn foreign() -> Model {
        Model {
            id: "other".to_owned(),
            ..own()
        }
    }

    fn contents(messages: &[Message]) -> Vec<&AssistantMessage> {
        messages
            .iter()
            .filter_map(|message| match message {
                Message::Assistant(answer) => Some(answer),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn thinking_stays_with_its_model_and_is_text_for_others() {
        let hidden = AssistantBlock::Thinking {
            thinking: String::new(),
            signature: Some("secret".to_owned()),
            redacted: true,
        };
        let signed = AssistantBlock::Text {
            text: "yes".to_owned(),
            signature: Some("sig".to_owned()),
        };
        let content = vec![
            thinking("hm ", Some("sig")),
            hidden,
            thinking(" ", Some("sig")),
            signed,
        ];
        let messages = [answer(&own(), content.clone())];
        assert_eq!(contents(&prepare(&messages, &own()))[0].content, content);
        assert_eq!(
            contents(&prepare(&messages, &foreign()))[0].content,
            [text("<thinking>\nhm\n</thinking>"), text("yes")]
        );
    }

    #[test]
    fn calls_get_one_result_each_right_after_them() {
        let messages = [
            result("nobody", vec![]),
            user("go"),
            answer(&own(), vec![call("a", json!({})), call("b", json!({}))]),
            user("steer"),
            result("b", vec![ContentBlock::text("two")]),
            result("b", vec![ContentBlock::text("again")]),
            answer(&own(), vec![text("done")]),
            result("a", vec![ContentBlock::text("too late")]),
        ];
        let Message::ToolResult(orphan) = result("a", vec![ContentBlock::text(NO_RESULT)]) else {
            unreachable!()
        };
        let expected = [
            user("go"),
            answer(&own(), vec![call("a", json!({})), call("b", json!({}))]),
            Message::ToolResult(ToolResult {
                is_error: true,
                ..orphan
            }),
            result("b", vec![ContentBlock::text("two")]),
            user("steer"),
            answer(&own(), vec![text("done")]),
        ];
        assert_eq!(prepare(&messages, &own()), expected);
    }

    #[test]
    fn ids_are_accepted_unique_and_the_same_every_time() {
        let long = "x".repeat(100);
        let originals = ["fc_1|call_9", "fc_1|call.9", &long, "call_0", "call_0", ""];
        let mut messages = Vec::new();
        for id in originals {
            messages.push(answer(&own(), vec![call(id, json!({}))]));
            messages.push(result(id, vec![ContentBlock::text(id)]));
        }
        let prepared = prepare(&messages, &own());
        assert_eq!(prepared, prepare(&messages, &own()));
        // What comes later never changes what came before.
        assert_eq!(prepared[..6], prepare(&messages[..6], &own())[..]);
        let mut seen = HashSet::new();
        for pair in prepared.chunks(2) {
            let [Message::Assistant(answer), Message::ToolResult(result)] = pair else {
                panic!("{pair:?}");
            };
            let id = &answer.tool_calls().next().unwrap().id;
            assert_eq!(id, &result.tool_call_id);
            assert!((1..=64).contains(&id.len()) && id.chars().all(|char| accepted(char) == char));
            assert!(seen.insert(id.clone()), "{id}");
        }
        assert!(seen.contains("call_0"));
    }

    #[test]
    fn nothing_empty_is_sent() {
        let aborted = AssistantMessage {
            stop_reason: super::super::message::StopReason::Aborted,
            ..AssistantMessage::default()
        };
        let messages = [
            user(" \n"),
            Message::Assistant(aborted),
            answer(&own(), vec![text(""), text("yes")]),
        ];
        let expected = [answer(&own(), vec![text("yes")])];
        assert_eq!(prepare(&messages, &own()), expected);
    }

    #[test]
    fn a_call_that_was_never_complete_is_replayed_empty() {
        let broken = AssistantBlock::ToolCall(ToolCall {
            id: "a".to_owned(),
            name: "re ad".to_owned(),
            arguments: Value::Null,
            arguments_error: Some("{".to_owned()),
            signature: Some("s".to_owned()),
        });
        let messages = [answer(&own(), vec![broken])];
        let prepared = prepare(&messages, &foreign());
        let expected = ToolCall {
            id: "a".to_owned(),
            name: "re_ad".to_owned(),
            arguments: json!({}),
            arguments_error: None,
            signature: None,
        };
        let calls: Vec<&ToolCall> = contents(&prepared)[0].tool_calls().collect();
        assert_eq!(calls, [&expected]);
        assert_eq!(prepared.len(), 2);
    }

    #[test]
    fn a_model_without_eyes_is_told_of_the_image() {
        let blind = Model {
            input: vec![Modality::Text],
            ..own()
        };
        let image = ContentBlock::Image {
            data: "AAAA".to_owned(),
            mime_type: "image/png".to_owned(),
        };
        let messages = [
            Message::User(UserMessage {
                content: vec![image.clone()],
                timestamp: 0,
            }),
            answer(&own(), vec![call("a", json!({}))]),
            result("a", vec![image]),
        ];
        let expected = [
            user(NO_IMAGE),
            answer(&own(), vec![call("a", json!({}))]),
            result("a", vec![ContentBlock::text(NO_IMAGE)]),
        ];
        assert_eq!(prepare(&messages, &blind), expected);
    }
}
