//! Requests of a server to the model (sampling): the user allows each one, or the configuration
//! allows all requests of a server. The requests are limited, and count as calls of the session.

#![expect(
    deprecated,
    reason = "servers of versions before 2026-07-28 request sampling"
)]

use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use osier_base::{text, visible};
use osier_llm::{AssistantBlock, AssistantMessage, ContentBlock, Message, UserMessage};
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};
use osier_tools::image;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, ErrorData, Role, SamplingMessage,
    SamplingMessageContentBlock as Block,
};
use tokio_util::sync::CancellationToken;

use super::config::SamplingRule;

/// Maximum messages, images and bytes of text of a request.
const MESSAGE_LIMIT: usize = 100;
const IMAGE_LIMIT: usize = 10;
const TEXT_LIMIT: usize = 256 * 1024;
/// Maximum tokens of an answer.
const ANSWER_TOKENS: u64 = 8192;
/// Maximum requests of a server in a session, and maximum tokens of their calls.
const REQUEST_LIMIT: u64 = 100;
const TOKEN_LIMIT: u64 = 500_000;
/// Bytes of the messages that the question shows.
const SHOWN_LIMIT: usize = 16 * 1024;
/// The protocol's error code for a refusal by the user.
const REFUSED: ErrorCode = ErrorCode(-1);

/// Calls the model of the session for servers.
#[async_trait]
pub trait Sampler: std::fmt::Debug + Send + Sync {
    /// Calls the model. `Err` is why there is no answer, for the server.
    async fn sample(
        &self,
        request: SamplingRequest,
        cancel: &CancellationToken,
    ) -> Result<SamplingAnswer, String>;
}

/// A request to the model. Its texts are untrusted and limited.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingRequest {
    pub server: String,
    pub system_prompt: String,
    pub messages: Vec<Message>,
    pub max_tokens: u64,
    pub temperature: Option<f32>,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingAnswer {
    pub model: String,
    pub text: String,
    /// The answer was cut at the limit of tokens.
    pub is_cut: bool,
    /// All tokens of the call.
    pub tokens: u64,
}

/// The sampling of one server.
#[derive(Debug, Clone)]
pub(super) struct Sampling {
    pub rule: SamplingRule,
    /// The sampler of the session; not set if there is no session.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Whether the user can answer questions.
    pub is_interactive: bool,
    pub spent: Arc<Spent>,
}

/// The requests and tokens that a server has used in the session.
#[derive(Debug, Default)]
pub(super) struct Spent {
    requests: AtomicU64,
    tokens: AtomicU64,
}

impl Sampling {
    /// Whether the server may ask.
    pub(super) fn is_offered(&self) -> bool {
        self.sampler.is_some() && self.rule != SamplingRule::Deny
    }

    /// Answers a request of `server`.
    pub(super) async fn answer(
        &self,
        server: &str,
        params: CreateMessageRequestParams,
        questions: &Questions,
        cancel: &CancellationToken,
    ) -> Result<CreateMessageResult, ErrorData> {
        let Some(sampler) = self.sampler.as_ref().filter(|_| self.is_offered()) else {
            let message = "sampling is not allowed for this server";
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        };
        self.spent.check()?;
        let stops = params.stop_sequences.clone().unwrap_or_default();
        let request =
            request(server, params).map_err(|error| ErrorData::invalid_params(error, None))?;
        if self.rule == SamplingRule::Ask {
            self.ask(&request, questions, cancel).await?;
        }
        // The limit is checked again for an allowed request: another request may have been answered
        // meanwhile.
        self.spent.check()?;
        self.spent.requests.fetch_add(1, Ordering::Relaxed);
        let answer = sampler.sample(request, cancel).await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error, None))?;
        self.spent
            .tokens
            .fetch_add(answer.tokens, Ordering::Relaxed);
        Ok(result(answer, &stops))
    }

    /// Asks the user.
    async fn ask(
        &self,
        request: &SamplingRequest,
        questions: &Questions,
        cancel: &CancellationToken,
    ) -> Result<(), ErrorData> {
        let server = &request.server;
        if !self.is_interactive {
            let message = format!(
                "the request to the model is refused: osier runs non-interactively; the user can allow it with \
                 `\"sampling\": \"allow\"` for `{server}` in mcp.json"
            );
            return Err(ErrorData::new(REFUSED, message, None));
        }
        let question = Question {
            id: String::new(),
            origin: format!("the MCP server `{server}`"),
            subagent: None,
            title: format!(
                "Send this to the model for the server, which gets the answer? At most {} tokens.",
                request.max_tokens
            ),
            subject: Some(Subject::Text {
                text: shown(request),
            }),
            kind: QuestionKind::Confirm,
        };
        match questions.ask(question, cancel).await {
            Answer::Yes => Ok(()),
            Answer::Refuse {
                reason: Some(reason),
            } => {
                let message = format!("the user refused the request to the model: {reason}");
                Err(ErrorData::new(REFUSED, message, None))
            }
            _ => {
                let message = "the user refused the request to the model";
                Err(ErrorData::new(REFUSED, message, None))
            }
        }
    }
}

impl Spent {
    fn check(&self) -> Result<(), ErrorData> {
        let (requests, tokens) = (
            self.requests.load(Ordering::Relaxed),
            self.tokens.load(Ordering::Relaxed),
        );
        let limit = if requests >= REQUEST_LIMIT {
            format!("{REQUEST_LIMIT} requests")
        } else if tokens >= TOKEN_LIMIT {
            format!("{TOKEN_LIMIT} tokens")
        } else {
            return Ok(());
        };
        let message = format!(
            "the server has reached the limit of its requests to the model: {limit} in a session"
        );
        Err(ErrorData::new(REFUSED, message, None))
    }
}

/// The request that `params` describe.
///
/// # Errors
/// The request is too large, or has something that osier does not send.
fn request(server: &str, params: CreateMessageRequestParams) -> Result<SamplingRequest, String> {
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err("tools in sampling requests are not supported".to_owned());
    }
    within("messages", params.messages.len(), MESSAGE_LIMIT)?;
    let system_prompt = clean(params.system_prompt.as_deref().unwrap_or_default());
    let mut messages = Vec::new();
    let mut size = Size {
        bytes: system_prompt.len(),
        images: 0,
    };
    for message in params.messages {
        messages.push(size.convert(message)?);
    }
    within("bytes of text", size.bytes, TEXT_LIMIT)?;
    within("images", size.images, IMAGE_LIMIT)?;
    if !matches!(messages.last(), Some(Message::User(_))) {
        return Err("the last message is not one of the user".to_owned());
    }
    Ok(SamplingRequest {
        server: server.to_owned(),
        system_prompt,
        messages,
        max_tokens: u64::from(params.max_tokens).clamp(1, ANSWER_TOKENS),
        temperature: params
            .temperature
            .filter(|temperature| (0.0..=2.0).contains(temperature)),
    })
}

fn within(what: &str, count: usize, limit: usize) -> Result<(), String> {
    if count > limit {
        return Err(format!(
            "the request has {count} {what}, and the limit is {limit}"
        ));
    }
    Ok(())
}

fn clean(text: &str) -> String {
    text::sanitize(text).into_owned()
}

/// The size of the part of a request that was read.
struct Size {
    bytes: usize,
    images: usize,
}

impl Size {
    fn convert(&mut self, message: SamplingMessage) -> Result<Message, String> {
        let mut texts = Vec::new();
        let mut content = Vec::new();
        for block in message.content.into_vec() {
            match block {
                Block::Text(block) => {
                    let text = clean(&block.text);
                    self.bytes += text.len();
                    within("bytes of text", self.bytes, TEXT_LIMIT)?;
                    content.push(ContentBlock::text(&text));
                    texts.push(text);
                }
                Block::Image(block) if message.role == Role::User => {
                    self.images += 1;
                    within("images", self.images, IMAGE_LIMIT)?;
                    let bytes = STANDARD.decode(block.data.trim_ascii());
                    let bytes = bytes.map_err(|_| "an image is not valid base64".to_owned())?;
                    let fitted = image::fit(bytes).map_err(|error| format!("an image {error}"))?;
                    content.push(ContentBlock::Image {
                        data: STANDARD.encode(&fitted.bytes),
                        mime_type: fitted.mime_type.to_owned(),
                    });
                }
                _ => {
                    let message =
                        "only text and images of the user are supported in sampling requests";
                    return Err(message.to_owned());
                }
            }
        }
        Ok(match message.role {
            Role::User => Message::User(UserMessage {
                content,
                timestamp: 0,
            }),
            Role::Assistant => Message::Assistant(AssistantMessage {
                content: vec![AssistantBlock::Text {
                    text: texts.join("\n"),
                    signature: None,
                }],
                ..AssistantMessage::default()
            }),
        })
    }
}

/// The messages of `request` for the user.
fn shown(request: &SamplingRequest) -> String {
    let mut lines = Vec::new();
    if !request.system_prompt.is_empty() {
        lines.push(format!("System: {}", request.system_prompt));
    }
    for message in &request.messages {
        lines.push(match message {
            Message::User(message) => {
                let parts = message.content.iter().map(|block| match block {
                    ContentBlock::Text { text } => text.clone(),
                    ContentBlock::Image { .. } => "[image]".to_owned(),
                    file @ ContentBlock::File { .. } => file.description().into_owned(),
                });
                format!("User: {}", parts.collect::<Vec<_>>().join("\n"))
            }
            Message::Assistant(message) => format!("Assistant: {}", message.text()),
            Message::ToolResult(_) => continue,
        });
    }
    let all = lines.join("\n\n");
    let shown = text::head_bytes(&all, SHOWN_LIMIT);
    let shown = visible::visible(shown).into_owned();
    if all.len() <= SHOWN_LIMIT {
        return shown;
    }
    let missing = all.len() - SHOWN_LIMIT;
    format!("{shown}\n[{missing} more bytes are sent but not shown]")
}

/// The answer for the server, up to the first of the `stops`.
fn result(answer: SamplingAnswer, stops: &[String]) -> CreateMessageResult {
    let stop = stops
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| answer.text.find(stop.as_str()))
        .min();
    let (text, reason) = match stop {
        Some(at) => (
            answer.text[..at].to_owned(),
            CreateMessageResult::STOP_REASON_END_SEQUENCE,
        ),
        None if answer.is_cut => (answer.text, CreateMessageResult::STOP_REASON_END_MAX_TOKEN),
        None => (answer.text, CreateMessageResult::STOP_REASON_END_TURN),
    };
    let message = SamplingMessage::assistant_text(text);
    CreateMessageResult::new(message, answer.model).with_stop_reason(reason)
}

#[cfg(test)]
mod tests {
    use osier_protocol::questions::Request;
    use serde_json::{Value, json};

    use super::*;

    /// A model that repeats the last message.
    #[derive(Debug)]
    struct Echo;

    #[async_trait]
    impl Sampler for Echo {
        async fn sample(
            &self,
            request: SamplingRequest,
            _cancel: &CancellationToken,
        ) -> Result<SamplingAnswer, String> {
            let text = shown(&request);
            std::future::ready(Ok(SamplingAnswer {
                model: "echo".to_owned(),
                text,
                is_cut: false,
                tokens: 10_000,
            }))
            .await
        }
    }

    fn sampling(rule: SamplingRule, is_interactive: bool) -> Sampling {
        Sampling {
            rule,
            sampler: Some(Arc::new(Echo)),
            is_interactive,
            spent: Arc::default(),
        }
    }

    fn params(text: &str) -> Value {
        json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}],
            "maxTokens": 1_000_000, "systemPrompt": "Be brief."})
    }

    async fn sampled(
        sampling: &Sampling,
        params: Value,
        answer: Answer,
    ) -> (Option<Question>, Value) {
        let (questions, mut requests) = Questions::new();
        let cancel = CancellationToken::new();
        let params = serde_json::from_value(params).unwrap();
        let answering = async {
            let Some(Request::Ask { question, reply }) = requests.recv().await else {
                return std::future::pending().await;
            };
            reply.send(answer).unwrap();
            question
        };
        let asked = std::cell::RefCell::new(None);
        let asking = async {
            *asked.borrow_mut() = Some(*answering.await);
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! {
            outcome = sampling.answer("shop", params, &questions, &cancel) => outcome,
            () = asking => unreachable!(),
        };
        let outcome = match outcome {
            Ok(result) => serde_json::to_value(result).unwrap(),
            Err(error) => json!(error.message),
        };
        (asked.into_inner(), outcome)
    }

    #[tokio::test]
    async fn the_user_sees_the_request_and_decides() {
        let sampling = sampling(SamplingRule::Ask, true);
        let (question, outcome) = sampled(&sampling, params("Hi\u{202e}"), Answer::Yes).await;
        let question = question.unwrap();
        assert_eq!(question.origin, "the MCP server `shop`");
        assert!(
            question.title.contains("At most 8192 tokens"),
            "{}",
            question.title
        );
        let Some(Subject::Text { text }) = &question.subject else {
            panic!("{question:?}");
        };
        assert!(text.starts_with("System: Be brief.\n\nUser: Hi"), "{text}");
        assert!(!text.contains('\u{202e}'), "{text}");
        assert_eq!(outcome["model"], "echo");
        assert_eq!(outcome["stopReason"], "endTurn");
        let no = Answer::Refuse { reason: None };
        let (_, outcome) = sampled(&sampling, params("Hi"), no).await;
        assert_eq!(outcome, "the user refused the request to the model");
    }

    #[tokio::test]
    async fn nobody_is_asked_in_a_non_interactive_run() {
        let ask = sampling(SamplingRule::Ask, false);
        let (question, outcome) = sampled(&ask, params("Hi"), Answer::Yes).await;
        assert_eq!(question, None);
        let outcome = outcome.as_str().unwrap();
        assert!(
            outcome.contains("osier runs non-interactively"),
            "{outcome}"
        );
        let allow = sampling(SamplingRule::Allow, false);
        let (question, outcome) = sampled(&allow, params("Hi"), Answer::Yes).await;
        assert_eq!((question, &outcome["model"]), (None, &json!("echo")));
        let deny = sampling(SamplingRule::Deny, true);
        assert!(!deny.is_offered());
        let (_, outcome) = sampled(&deny, params("Hi"), Answer::Yes).await;
        assert_eq!(outcome, "sampling is not allowed for this server");
    }

    #[tokio::test]
    async fn a_server_cannot_ask_without_end() {
        let sampling = sampling(SamplingRule::Allow, true);
        for _ in 0..50 {
            let (_, outcome) = sampled(&sampling, params("Hi"), Answer::Yes).await;
            assert_eq!(outcome["model"], "echo");
        }
        let (_, outcome) = sampled(&sampling, params("Hi"), Answer::Yes).await;
        let expected = "the server has reached the limit of its requests to the model: 500000 tokens in a session";
        assert_eq!(outcome, expected);
    }

    #[tokio::test]
    async fn requests_are_limited() {
        let message = json!({"role": "user", "content": {"type": "text", "text": "x"}});
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        let audio = json!({"type": "audio", "data": "AAEC", "mimeType": "audio/wav"});
        let allow = sampling(SamplingRule::Allow, true);
        for (change, value, expected) in [
            (
                "messages",
                json!(vec![&message; 101]),
                "the request has 101 messages, and the limit is 100",
            ),
            (
                "messages",
                json!([]),
                "the last message is not one of the user",
            ),
            (
                "tools",
                json!([tool]),
                "tools in sampling requests are not supported",
            ),
            (
                "systemPrompt",
                json!("x".repeat(262_144)),
                "the request has 262146 bytes of text, and the limit is 262144",
            ),
            (
                "messages",
                json!([{"role": "user", "content": audio}]),
                "only text and images of the user are supported in sampling requests",
            ),
        ] {
            let mut params = params("Hi");
            params[change] = value;
            let (_, outcome) = sampled(&allow, params, Answer::Yes).await;
            assert_eq!(outcome, expected);
        }
    }

    #[test]
    fn an_answer_ends_at_a_stop_sequence() {
        let answer = |text: &str, is_cut| SamplingAnswer {
            model: "m".to_owned(),
            text: text.to_owned(),
            is_cut,
            tokens: 1,
        };
        let stops = ["END".to_owned(), String::new(), "STOP".to_owned()];
        for (answer, text, reason) in [
            (answer("a STOP b END c", false), "a ", "stopSequence"),
            (answer("a", true), "a", "maxTokens"),
            (answer("a", false), "a", "endTurn"),
        ] {
            let result = serde_json::to_value(result(answer, &stops)).unwrap();
            assert_eq!(result["content"]["text"], text);
            assert_eq!(result["stopReason"], reason);
            assert_eq!(result["role"], "assistant");
        }
    }
}
