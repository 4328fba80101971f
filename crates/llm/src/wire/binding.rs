//! Thinking that is bound to the conversation before it.
//!
//! Some models of Anthropic reject thinking if the system prompt, the tools or an earlier message have changed since it
//! was produced (<https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>). Each answer therefore
//! stores a hash of everything that the model read before it. Thinking whose hash has changed is not sent.

use std::io;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::message::{AssistantBlock, AssistantMessage};
use crate::provider::Context;

/// The beta header that [`control`] requires.
pub(super) const BETA: &str = "thinking-binding-controls-2026-08-01";

/// The request field that makes the server itself ignore such thinking. It is for answers without a
/// hash: from sessions of older versions, from imports and from an LLM proxy.
pub(super) fn control() -> Value {
    serde_json::json!({"prefix_mismatch_behavior": "drop_block"})
}

/// The part of a request that the model has read so far.
#[derive(Clone)]
pub(super) struct Prefix {
    read: Sha256,
    /// Whether thinking is enabled. If it is disabled, the server cannot be told to ignore old
    /// thinking, so none is sent.
    thinks: bool,
}

impl Prefix {
    /// The start of a request.
    pub(super) fn new(context: &Context, thinks: bool) -> Self {
        let read = Sha256::new();
        let mut prefix = Self { read, thinks };
        prefix.write(&(&context.system_prompt, &context.tools));
        prefix
    }

    /// Continues with the blocks of a message, as they are sent but without marks of the prompt cache.
    pub(super) fn add(&mut self, role: &str, blocks: &[Value]) {
        if !blocks.is_empty() {
            self.write(&(role, blocks));
        }
    }

    /// The first 64 bits of the hash. They are enough to detect changes: a collision is of no use
    /// to an attacker.
    pub(super) fn hash(&self) -> String {
        let hash = self.read.clone().finalize();
        let start = hash.first_chunk().copied().unwrap_or_default();
        format!("{:016x}", u64::from_be_bytes(start))
    }

    fn write(&mut self, part: &impl Serialize) {
        // Neither writing to a hash nor serializing JSON can fail.
        serde_json::to_writer(Writer(&mut self.read), part).ok();
        self.read.update([0]);
    }
}

/// The blocks of `answer` that can be sent after `prefix`. Thinking at the end is removed because the vendor rejects it;
/// interrupted answers can have it.
pub(super) fn blocks<'a>(
    answer: &'a AssistantMessage,
    prefix: Option<&Prefix>,
) -> impl Iterator<Item = &'a AssistantBlock> {
    let thinks = |block: &AssistantBlock| {
        matches!(block, AssistantBlock::Thinking { .. }) && block.hosted_step().is_none()
    };
    let content = &answer.content;
    let last = content.iter().rposition(|block| !thinks(block));
    let end = last.map_or(0, |last| last + 1);
    let is_omitted = match (prefix, &answer.prefix_hash) {
        (Some(prefix), _) if !prefix.thinks => true,
        (Some(prefix), Some(hash)) if content.iter().any(thinks) => *hash != prefix.hash(),
        _ => false,
    };
    content[..end]
        .iter()
        .filter(move |block| !(is_omitted && thinks(block)))
}

struct Writer<'a>(&'a mut Sha256);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::message::{ContentBlock, Message};
    use crate::model::{Api, Model, ThinkingLevel};
    use crate::provider::{Request, ToolChoice};
    use crate::wire::find;
    use crate::wire::testing::{answer, call, model, request, result, text, thinking, user};

    const WIRES: [Api; 2] = [Api::AnthropicMessages, Api::BedrockConverse];

    fn bound(api: Api) -> Model {
        let mut model = model(api);
        model.compat.bound_thinking = true;
        model.compat.adaptive_thinking = true;
        model.thinking_levels = ThinkingLevel::ALL.to_vec();
        model
    }

    fn ask(model: &Model, messages: Vec<Message>) -> Request {
        let mut request = request(model.clone(), messages);
        request.options.thinking = ThinkingLevel::Low;
        request
    }

    fn hash(request: &Request) -> String {
        let wire = find(request.model.api).unwrap();
        (wire.body)(request).prefix_hash.unwrap()
    }

    /// Whether each answer of the request is sent with its thinking.
    fn thinks(request: &Request) -> Vec<bool> {
        let body = (find(request.model.api).unwrap().body)(request).json;
        let messages = body["messages"].as_array().unwrap().iter();
        let answers = messages.filter(|message| message["role"] == "assistant");
        let answers = answers.map(ToString::to_string);
        answers.map(|answer| answer.contains("signature")).collect()
    }

    /// A conversation of three answers, each with the hash of its request.
    fn conversation(model: &Model) -> Vec<Message> {
        let mut messages = Vec::new();
        for turn in 0..3 {
            let id = format!("call{turn}");
            messages.push(user(&format!("question {turn}")));
            let hash = hash(&ask(model, messages.clone()));
            let content = vec![thinking("hm", Some("sig")), call(&id, json!({}))];
            let Message::Assistant(mut answer) = answer(model, content) else {
                unreachable!()
            };
            answer.prefix_hash = Some(hash);
            messages.push(Message::Assistant(answer));
            messages.push(result(&id, vec![ContentBlock::text("done")]));
        }
        messages
    }

    #[test]
    fn thinking_is_sent_while_everything_before_it_is_unchanged() {
        for api in WIRES {
            let model = bound(api);
            let messages = conversation(&model);
            let mut request = ask(&model, messages);
            assert_eq!(thinks(&request), [true, true, true]);
            // Neither the choice of a tool nor the level are part of what the model has read.
            request.options.tool_choice = ToolChoice::None;
            request.options.thinking = ThinkingLevel::Max;
            assert_eq!(thinks(&request), [true, true, true]);
            request.context.messages.push(user("one more"));
            assert_eq!(thinks(&request), [true, true, true]);
            request.options.thinking = ThinkingLevel::Off;
            assert_eq!(thinks(&request), [false, false, false]);
        }
    }

    #[test]
    fn thinking_after_a_change_is_not_sent() {
        for api in WIRES {
            let model = bound(api);
            let messages = conversation(&model);
            let unchanged = ask(&model, messages);
            let mut prompt = unchanged.clone();
            prompt.context.system_prompt.push('!');
            assert_eq!(thinks(&prompt), [false, false, false]);
            let mut tools = unchanged.clone();
            tools.context.tools[0].description.push('!');
            assert_eq!(thinks(&tools), [false, false, false]);
            let mut summarized = unchanged.clone();
            summarized.context.messages.splice(..3, [user("summary")]);
            assert_eq!(thinks(&summarized), [false, false]);
            let mut edited = unchanged.clone();
            edited.context.messages[5] = result("call1", vec![ContentBlock::text("removed")]);
            assert_eq!(thinks(&edited), [true, true, false]);
        }
    }

    #[test]
    fn an_answer_after_a_change_keeps_its_thinking_where_it_was_produced() {
        for api in WIRES {
            let model = bound(api);
            let mut changed = ask(&model, conversation(&model));
            changed.context.system_prompt.push('!');
            changed.context.messages.push(user("next"));
            let hash = hash(&changed);
            let content = vec![thinking("hm", Some("sig")), text("ok")];
            let Message::Assistant(mut answer) = answer(&model, content) else {
                unreachable!()
            };
            answer.prefix_hash = Some(hash);
            changed.context.messages.push(Message::Assistant(answer));
            changed.context.messages.push(user("and then"));
            assert_eq!(thinks(&changed), [false, false, false, true]);
            changed.context.system_prompt.pop();
            assert_eq!(thinks(&changed), [true, true, true, false]);
        }
    }

    #[test]
    fn the_server_is_asked_to_ignore_other_thinking_of_models_that_check_it() {
        let mut anthropic = request(bound(Api::AnthropicMessages), vec![user("hi")]);
        let headers = |request: &Request| (find(request.model.api).unwrap().own_headers)(request);
        let fields = |request: &Request| {
            let body = (find(request.model.api).unwrap().body)(request).json;
            ["thinking", "additionalModelRequestFields"].map(|field| body[field].clone())
        };
        anthropic.options.thinking = ThinkingLevel::High;
        let asked = json!({"type": "adaptive", "display": "summarized",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
        assert_eq!(fields(&anthropic), [asked.clone(), json!(null)]);
        let beta = (
            "anthropic-beta",
            "thinking-binding-controls-2026-08-01".to_owned(),
        );
        assert!(headers(&anthropic).contains(&beta));
        // The control is rejected with disabled thinking.
        anthropic.options.thinking = ThinkingLevel::Off;
        assert_eq!(
            fields(&anthropic),
            [json!({"type": "disabled"}), json!(null)]
        );
        assert!(!headers(&anthropic).contains(&beta));

        let mut bedrock = request(bound(Api::BedrockConverse), vec![user("hi")]);
        bedrock.options.thinking = ThinkingLevel::High;
        let expected = json!({"thinking": asked, "output_config": {"effort": "high"},
            "anthropic_beta": ["thinking-binding-controls-2026-08-01"]});
        assert_eq!(fields(&bedrock), [json!(null), expected]);
    }
}
