//! Prepares a conversation for the model it is sent to.
//!
//! A conversation can contain answers of several vendors, partial answers, calls without results, and ids
//! that only one vendor accepts. `prepare` guarantees to every wire format: each tool call has exactly one
//! result, directly after its message and in call order; ids are unique and in an accepted form; no message
//! is empty; the first message is one of the user and the last one is no answer; opaque data is sent only to the model that wrote it. The result for a message never depends on
//! later ones, so that prompt caches remain valid.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, ToolCall, ToolResult, UserMessage,
};
use super::model::{Api, Modality, Model};

/// Maximum length of an id or name.
const ID_LENGTH: usize = 64;
/// Maximum length of an id of Chat Completions.
const CHAT_ID_LENGTH: usize = 40;
/// Length of ids for servers that require short ones.
const SHORT_ID_LENGTH: usize = 9;
const NO_RESULT: &str = "no result: the call was interrupted before it gave one";
const NO_START: &str = "(the beginning of this conversation is not available)";
const NO_PROMPT: &str = "Continue.";
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const NO_IMAGE: &str = "[image omitted: this model accepts only text]";

/// The conversation for `model`.
pub(crate) fn prepare(messages: &[Message], model: &Model) -> Vec<Message> {
    let mut prepared = turns(messages, model);
    let note = |text| Message::User(UserMessage::text(text));
    if !matches!(prepared.first(), Some(Message::User(_))) {
        prepared.insert(0, note(NO_START));
    }
    if matches!(prepared.last(), Some(Message::Assistant(_))) {
        prepared.push(note(NO_PROMPT));
    }
    prepared
}

fn turns(messages: &[Message], model: &Model) -> Vec<Message> {
    let mut ids = Ids::new(model);
    let mut prepared = Vec::with_capacity(messages.len());
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        match message {
            Message::User(user) => prepared.extend(user_message(user, model)),
            // Results are added with their calls: this result has no call.
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

/// Whether `model` wrote `answer` in its current wire format: only then opaque data is sent back.
pub(crate) fn is_own(answer: &AssistantMessage, model: &Model) -> bool {
    answer.provider == model.provider && answer.model == model.id && answer.api == model.api.name()
}

/// Adds an answer, the results of its calls, and the messages of the user before the next answer.
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
            content.extend(assistant_block(block, own, model.api));
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
    // In an interrupted answer, thinking can lack the text or call that it led to.
    let leads = matches!(model.api, Api::AnthropicMessages | Api::BedrockConverse);
    let is_thinking = |block: &AssistantBlock| {
        matches!(block, AssistantBlock::Thinking { .. }) && block.hosted_step().is_none()
    };
    while leads && content.last().is_some_and(is_thinking) {
        content.pop();
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
        prefix_hash: answer.prefix_hash.clone(),
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

/// OpenAI's form of audio has a list of formats.
fn accepts_file(model: &Model, mime_type: &str, block: &ContentBlock) -> bool {
    let kind = block.modality();
    let is_known = kind != Modality::Audio
        || model.api != Api::OpenaiChatCompletions
        || matches!(mime_type, "audio/wav" | "audio/mpeg");
    model.accepts(kind) && is_known
}

/// Removes blank text, and replaces images and files if the model does not accept them.
fn blocks(content: &[ContentBlock], model: &Model) -> Vec<ContentBlock> {
    content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text { text } if text.trim().is_empty() => None,
            ContentBlock::Image { .. } if !model.accepts(Modality::Image) => {
                Some(ContentBlock::text(NO_IMAGE))
            }
            ContentBlock::Image { data, mime_type }
                if data.is_empty() || !IMAGE_TYPES.contains(&mime_type.as_str()) =>
            {
                let note = format!(
                    "{}: left out, it is no image of a known type",
                    block.description()
                );
                Some(ContentBlock::text(note))
            }
            ContentBlock::File {
                text, mime_type, ..
            } if !accepts_file(model, mime_type, block) => {
                (!text.is_empty()).then(|| ContentBlock::text(text))
            }
            block => Some(block.clone()),
        })
        .collect()
}

/// The signature, if `own`; an empty signature counts as none.
fn signed(signature: Option<&String>, own: bool) -> Option<String> {
    signature
        .filter(|signature| own && !signature.is_empty())
        .cloned()
}

fn assistant_block(block: &AssistantBlock, own: bool, api: Api) -> Option<AssistantBlock> {
    match block {
        AssistantBlock::Text { text, signature } => {
            let signature = signed(signature.as_ref(), own);
            // Google signs the end of an answer.
            let is_mark = signature.is_some() && api == Api::GoogleGenerativeAi;
            (!text.trim().is_empty() || is_mark).then(|| AssistantBlock::Text {
                text: text.clone(),
                signature,
            })
        }
        AssistantBlock::Thinking {
            thinking,
            signature,
            redacted,
        } if own => Some(AssistantBlock::Thinking {
            thinking: thinking.clone(),
            signature: signed(signature.as_ref(), own),
            redacted: *redacted,
        }),
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
        signature: signed(call.signature.as_ref(), own),
        original: None,
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

/// Converts an invented tool name to a form that vendors accept, so that it cannot block the session.
pub(crate) fn tool_name(name: &str) -> String {
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

/// Assigns every call a unique id in an accepted form.
struct Ids {
    short: bool,
    length: usize,
    used: HashSet<String>,
    /// How often an original id occurred: some servers count from zero in every answer.
    seen: HashMap<String, u32>,
}

impl Ids {
    fn new(model: &Model) -> Self {
        Self {
            short: model.compat.short_tool_ids,
            length: match model.api {
                Api::OpenaiChatCompletions => CHAT_ID_LENGTH,
                _ => ID_LENGTH,
            },
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
        (1..=self.length).contains(&id.len()) && id.chars().all(|char| accepted(char) == char)
    }

    fn rewrite(&self, original: &str, salt: u32) -> String {
        let hash = fnv(format!("{original}#{salt}").as_bytes());
        if self.short {
            return format!("{hash:016x}")[..SHORT_ID_LENGTH].to_owned();
        }
        let readable: String = original
            .chars()
            .map(accepted)
            .take(self.length.min(57) - 17)
            .collect();
        format!("{readable}_{hash:016x}")
    }
}

/// FNV-1a: stable across builds and machines, unlike the standard hasher.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn thinking_is_text_for_other_models() {
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
        assert_eq!(contents(&turns(&messages, &own()))[0].content, content);
        assert_eq!(
            contents(&turns(&messages, &foreign()))[0].content,
            [text("<thinking>\nhm\n</thinking>"), text("yes")]
        );
    }

    #[test]
    fn every_call_has_one_result() {
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
        assert_eq!(turns(&messages, &own()), expected);
    }

    #[test]
    fn ids_are_valid_unique_and_stable() {
        let long = "x".repeat(100);
        let originals = ["fc_1|call_9", "fc_1|call.9", &long, "call_0", "call_0", ""];
        let mut messages = Vec::new();
        for id in originals {
            messages.push(answer(&own(), vec![call(id, json!({}))]));
            messages.push(result(id, vec![ContentBlock::text(id)]));
        }
        let prepared = turns(&messages, &own());
        assert_eq!(prepared, turns(&messages, &own()));
        // Later messages never change earlier ones.
        assert_eq!(prepared[..6], turns(&messages[..6], &own())[..]);
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
    fn empty_content_is_removed() {
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
        assert_eq!(turns(&messages, &own()), expected);
    }

    #[test]
    fn incomplete_calls_are_replayed_without_arguments() {
        let broken = AssistantBlock::ToolCall(ToolCall {
            id: "a".to_owned(),
            name: "re ad".to_owned(),
            arguments: Value::Null,
            arguments_error: Some("{".to_owned()),
            signature: Some("s".to_owned()),
            original: None,
        });
        let messages = [answer(&own(), vec![broken])];
        let prepared = turns(&messages, &foreign());
        let expected = ToolCall {
            id: "a".to_owned(),
            name: "re_ad".to_owned(),
            arguments: json!({}),
            arguments_error: None,
            signature: None,
            original: None,
        };
        let calls: Vec<&ToolCall> = contents(&prepared)[0].tool_calls().collect();
        assert_eq!(calls, [&expected]);
        assert_eq!(prepared.len(), 2);
    }

    #[test]
    fn images_are_replaced_for_models_without_image_input() {
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
        assert_eq!(turns(&messages, &blind), expected);
    }
}
