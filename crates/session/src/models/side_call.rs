//! A model call outside of the conversation: a summary, a review, a title, a search, or a call for an MCP server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use osier_agent::{AccountingEntry, Transport};
use osier_base::clock;
use osier_llm::{
    AssistantMessage, CallOptions, Context, Message, MessageBuilder, Model, Request, StreamEvent,
    ThinkingLevel, TurnStatus, Usage, UserMessage,
};
use osier_protocol::EntryKind;

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The answer, or the part of it that arrived.
    pub message: AssistantMessage,
    pub status: TurnStatus,
    pub accounting: AccountingEntry,
}

/// The request for a call without tools and, where the model allows it, without thinking.
pub(crate) fn request(
    model: &Arc<Model>,
    system_prompt: &str,
    messages: Vec<Message>,
    max_tokens: u64,
) -> Request {
    Request {
        model: Arc::clone(model),
        context: Context {
            system_prompt: system_prompt.to_owned(),
            messages,
            tools: Vec::new(),
        },
        options: CallOptions {
            thinking: model.clamp(ThinkingLevel::Off),
            max_tokens: Some(max_tokens),
            ..CallOptions::default()
        },
        api_key: None,
        signing: None,
    }
}

/// One message of the user.
pub(crate) fn prompt(text: impl Into<String>) -> Vec<Message> {
    vec![Message::User(UserMessage::text(text.into()))]
}

/// The entry that stores what a call used.
pub(crate) fn usage_entry(kind: &str, model: &Model, usage: Usage) -> EntryKind {
    EntryKind::Usage {
        kind: kind.to_owned(),
        provider: model.provider.clone(),
        model: model.id.clone(),
        usage,
    }
}

/// Calls a model and waits for the end of its answer, at most `limit`.
pub(crate) async fn call(
    transport: &dyn Transport,
    request: Request,
    limit: Option<Duration>,
) -> Answered {
    watched(transport, request, limit, |_| {}).await
}

/// Calls a model as `call` does; `see` receives every event of the stream.
pub(crate) async fn watched(
    transport: &dyn Transport,
    request: Request,
    limit: Option<Duration>,
    see: impl FnMut(&StreamEvent),
) -> Answered {
    let model = request.model.clone();
    let (timestamp, started) = (clock::now_ms(), Instant::now());
    let mut builder = MessageBuilder::new(&model, timestamp);
    let answer = follow(transport, request, &mut builder, see);
    let status = match limit {
        None => answer.await,
        Some(limit) => match tokio::time::timeout(limit, answer).await {
            Ok(status) => status,
            Err(_) => TurnStatus::Timeout {
                message: format!("no answer within {} s", limit.as_secs()),
            },
        },
    };
    let latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    if !status.is_success() {
        builder.fail(&status);
    }
    let message = builder.finish(latency_ms);
    let outcome = if status.is_success() {
        "success"
    } else {
        "failed"
    };
    let accounting = AccountingEntry::Llm {
        timestamp,
        provider: model.provider.clone(),
        model: model.id.clone(),
        usage: message.usage,
        latency_ms,
        status: outcome.to_owned(),
    };
    Answered {
        message,
        status,
        accounting,
    }
}

/// Reads the answer into `builder`, until it ends.
async fn follow(
    transport: &dyn Transport,
    request: Request,
    builder: &mut MessageBuilder,
    mut see: impl FnMut(&StreamEvent),
) -> TurnStatus {
    let mut stream = match transport.stream(request).await {
        Ok(stream) => stream,
        Err(status) => return status,
    };
    while let Some(event) = stream.next().await {
        see(&event);
        if let Some(status) = builder.apply(&event) {
            return status;
        }
    }
    TurnStatus::InvalidResponse {
        message: "the answer ended without an end marker".to_owned(),
    }
}
