//! Has a model write a summary. What is to be summarised may be longer than the model's window: then it
//! is told in pieces, one call after the other, each with the summary so far.

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use super::estimate::text_tokens;
use super::plan::Limits;
use super::prompts;
use super::serialize::{message_text, pieces};
use osier_agent::retry::{Failure, RetryStep};
use osier_agent::{AccountingEntry, AgentMessage, Desk, Event};
use osier_base::clock;
use osier_llm::{
    AssistantMessage, CallOptions, Context, Message, MessageBuilder, Model, Request, StopReason,
    ThinkingLevel, TurnStatus, Usage, UserMessage,
};

/// Tokens around a piece: the words that ask for its summary.
const AROUND: u64 = 120;

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("interrupted")]
    Interrupted,
    #[error("no model is chosen: pick one with `/model`")]
    NoModel,
    #[error("there is nothing to summarise")]
    Nothing,
    #[error("the model `{model}` wrote no summary: {message}")]
    Failed { model: String, message: String },
}

/// A summary and what it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summarized {
    pub text: String,
    pub usage: Usage,
    pub provider: String,
    pub model: String,
}

/// What is to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    /// The summary that the new one takes the place of.
    pub previous: Option<&'a str>,
    pub form: &'a str,
    pub instructions: Option<&'a str>,
}

/// Summarises `texts`, the messages in order.
pub(super) async fn summarize(
    desk: Desk<'_>,
    texts: Vec<String>,
    task: Task<'_>,
    cancel: &CancellationToken,
) -> Result<Summarized, SummaryError> {
    let model = desk
        .models()
        .first()
        .cloned()
        .ok_or(SummaryError::NoModel)?;
    let limits = Limits::of(&model);
    let writer = Writing {
        desk,
        limits,
        cancel,
        model: &model,
    };
    let fixed = text_tokens(prompts::SYSTEM) + text_tokens(task.form) + AROUND;
    let told = fixed + task.instructions.map_or(0, text_tokens) + 2 * limits.summary;
    let room = if limits.window == 0 {
        u64::MAX
    } else {
        limits.window.saturating_sub(told).max(256)
    };
    let mut summary = Summarized {
        provider: model.provider.clone(),
        model: model.id.clone(),
        ..Summarized::default()
    };
    let mut previous = task.previous.map(str::to_owned);
    let parts = pieces(texts, room);
    if parts.is_empty() {
        return Err(SummaryError::Nothing);
    }
    for part in parts {
        let ask = words(&part, previous.as_deref(), &task);
        let answer = writer.write(ask).await?;
        summary.usage += answer.usage;
        answer.text().trim().clone_into(&mut summary.text);
        previous = Some(summary.text.clone());
    }
    Ok(summary)
}

/// Summarises the messages of a branch that is left.
///
/// # Errors
/// Nothing was written, or the person interrupted.
pub async fn summarize_branch(
    desk: Desk<'_>,
    messages: &[AgentMessage],
    instructions: Option<&str>,
    cancel: &CancellationToken,
) -> Result<Summarized, SummaryError> {
    let texts = messages.iter().map(message_text).collect();
    let task = Task {
        previous: None,
        form: prompts::BRANCH,
        instructions,
    };
    summarize(desk, texts, task, cancel).await
}

/// One request: the conversation, the summary before it, and what is wanted.
fn words(part: &str, previous: Option<&str>, task: &Task<'_>) -> String {
    let before = previous.map_or_else(String::new, |previous| {
        format!("<previous-summary>\n{previous}\n</previous-summary>\n\n")
    });
    let wanted = match previous {
        Some(_) => prompts::UPDATE,
        None => prompts::FIRST,
    };
    let added = task.instructions.map_or_else(String::new, |instructions| {
        format!("\n\nThe person adds: {instructions}")
    });
    let form = task.form;
    format!("{before}<conversation>\n{part}\n</conversation>\n\n{wanted}\n\n{form}{added}")
}

/// The calls of one summary.
struct Writing<'a> {
    desk: Desk<'a>,
    limits: Limits,
    cancel: &'a CancellationToken,
    model: &'a Arc<Model>,
}

impl Writing<'_> {
    /// Calls the model until it has written something whole, as often as a turn would be tried.
    async fn write(&self, ask: String) -> Result<AssistantMessage, SummaryError> {
        let mut attempts = 0;
        loop {
            let (answer, status) = self.call(ask.clone()).await?;
            if status.is_success() {
                return self.checked(answer);
            }
            attempts += 1;
            let step = self.desk.retry().next(Failure {
                status: &status,
                model: 0,
                attempts,
                usable: &[true],
                jitter: 0.0,
            });
            let RetryStep::Wait { delay, .. } = step else {
                return Err(self.failed(status.message()));
            };
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.cancel.cancelled() => return Err(SummaryError::Interrupted),
            }
        }
    }

    async fn call(&self, ask: String) -> Result<(AssistantMessage, TurnStatus), SummaryError> {
        let request = Request {
            model: Arc::clone(self.model),
            context: Context {
                system_prompt: prompts::SYSTEM.to_owned(),
                messages: vec![Message::User(UserMessage::text(ask))],
                tools: Vec::new(),
            },
            options: CallOptions {
                thinking: self.model.clamp(ThinkingLevel::Off),
                max_tokens: Some(self.limits.summary),
                ..CallOptions::default()
            },
            api_key: None,
            signing: None,
        };
        let started = Instant::now();
        let mut builder = MessageBuilder::new(self.model, clock::now_ms());
        let status = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(SummaryError::Interrupted),
            status = self.follow(request, &mut builder) => status,
        };
        if !status.is_success() {
            builder.fail(&status);
        }
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let answer = builder.finish(elapsed);
        self.desk.publish(Event::Accounting {
            entry: AccountingEntry::Llm {
                timestamp: answer.timestamp,
                provider: self.model.provider.clone(),
                model: self.model.id.clone(),
                usage: answer.usage,
                latency_ms: elapsed,
                status: if status.is_success() {
                    "success"
                } else {
                    "failed"
                }
                .to_owned(),
            },
        });
        Ok((answer, status))
    }

    async fn follow(&self, request: Request, builder: &mut MessageBuilder) -> TurnStatus {
        let mut stream = match self.desk.transport().stream(request).await {
            Ok(stream) => stream,
            Err(status) => return status,
        };
        while let Some(event) = stream.next().await {
            if let Some(status) = builder.apply(&event) {
                return status;
            }
        }
        TurnStatus::InvalidResponse {
            message: "the answer ended without an end marker".to_owned(),
        }
    }

    /// Only an answer that is whole is a summary.
    fn checked(&self, answer: AssistantMessage) -> Result<AssistantMessage, SummaryError> {
        let fault = match answer.stop_reason {
            StopReason::Length => Some("it was cut off at the output limit"),
            StopReason::Refusal => Some("it refused"),
            _ if answer.tool_calls().next().is_some() => Some("it called a tool instead"),
            _ if answer.text().trim().is_empty() => Some("it said nothing"),
            _ => None,
        };
        match fault {
            Some(fault) => Err(self.failed(fault)),
            None => Ok(answer),
        }
    }

    fn failed(&self, message: &str) -> SummaryError {
        SummaryError::Failed {
            model: self.model.reference(),
            message: message.to_owned(),
        }
    }
}
