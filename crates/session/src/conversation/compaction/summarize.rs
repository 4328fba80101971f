//! Requests summaries from a model. If the text is longer than the context window, it is sent in chunks, one call after
//! the other, each with the summary so far.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::estimate::text_tokens;
use super::plan::Limits;
use super::prompts;
use super::serialize::{message_text, pieces};
use crate::models::side_call;
use osier_agent::{AgentAccess, AgentMessage, CallFailure, Event, RetryStep, Severity};
use osier_llm::{AssistantMessage, Model, StopReason, TurnStatus, Usage};

/// Tokens of the request around a chunk.
const AROUND: u64 = 120;

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SummaryError {
    #[error("interrupted")]
    Interrupted,
    #[error("no model is selected: select one with `/model`")]
    NoModel,
    #[error("there is nothing to summarise")]
    Nothing,
    #[error("the model `{model}` failed to write a summary: {message}")]
    Failed { model: String, message: String },
}

/// A summary and its usage.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Summarized {
    pub text: String,
    pub usage: Usage,
    pub provider: String,
    pub model: String,
}

/// The kind of a summary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    /// The summary that the new one replaces.
    pub previous: Option<&'a str>,
    pub form: &'a str,
    pub instructions: Option<&'a str>,
}

/// Summarises `texts`, the messages in order, with the model that the user `named` for it. Without one, or when it fails,
/// the model of the conversation writes the summary.
pub(super) async fn summarize(
    desk: &dyn AgentAccess,
    named: Option<&Arc<Model>>,
    texts: Vec<String>,
    task: Task<'_>,
    cancel: &CancellationToken,
) -> Result<Summarized, SummaryError> {
    let models = desk.models();
    let own = models.first().ok_or(SummaryError::NoModel)?;
    let named = named.filter(|named| named.reference() != own.reference());
    if let Some(model) = named {
        let writer = Writing::new(desk, model, true, cancel);
        match writer.summarize(texts.clone(), task).await {
            Err(error @ SummaryError::Failed { .. }) => {
                let text = format!("{error}; `{}` writes it instead", own.reference());
                desk.publish(Event::Notice {
                    severity: Severity::Warning,
                    text,
                });
            }
            done => return done,
        }
    }
    let writer = Writing::new(desk, own, false, cancel);
    writer.summarize(texts, task).await
}

/// Summarises the messages of a branch that is left, with the model that the user `named` for it or that of the conversation.
///
/// # Errors
/// The model wrote no summary, or the user interrupted it.
pub(crate) async fn summarize_branch(
    desk: &dyn AgentAccess,
    named: Option<&Arc<Model>>,
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
    summarize(desk, named, texts, task, cancel).await
}

/// One request: the conversation, the summary before it, and the instructions.
fn request_text(part: &str, previous: Option<&str>, task: &Task<'_>) -> String {
    let before = previous.map_or_else(String::new, |previous| {
        format!("<previous-summary>\n{previous}\n</previous-summary>\n\n")
    });
    let wanted = match previous {
        Some(_) => prompts::UPDATE,
        None => prompts::FIRST,
    };
    let added = task.instructions.map_or_else(String::new, |instructions| {
        format!("\n\nAdditional instructions from the user: {instructions}")
    });
    let form = task.form;
    format!("{before}<conversation>\n{part}\n</conversation>\n\n{wanted}\n\n{form}{added}")
}

/// The calls of one summary.
struct Writing<'a> {
    desk: &'a dyn AgentAccess,
    limits: Limits,
    cancel: &'a CancellationToken,
    model: &'a Arc<Model>,
    /// When this model fails, another one writes the summary at once.
    has_other: bool,
}

impl<'a> Writing<'a> {
    fn new(
        desk: &'a dyn AgentAccess,
        model: &'a Arc<Model>,
        has_other: bool,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            desk,
            limits: Limits::of(model),
            cancel,
            model,
            has_other,
        }
    }

    /// Writes one summary of all texts.
    async fn summarize(
        &self,
        texts: Vec<String>,
        task: Task<'_>,
    ) -> Result<Summarized, SummaryError> {
        let fixed = text_tokens(prompts::SYSTEM) + text_tokens(task.form) + AROUND;
        let told = fixed + task.instructions.map_or(0, text_tokens) + 2 * self.limits.summary;
        let room = if self.limits.window == 0 {
            u64::MAX
        } else {
            self.limits.window.saturating_sub(told).max(256)
        };
        let mut summary = Summarized {
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            ..Summarized::default()
        };
        let mut previous = task.previous.map(str::to_owned);
        let parts = pieces(texts, room);
        if parts.is_empty() {
            return Err(SummaryError::Nothing);
        }
        for part in parts {
            let ask = request_text(&part, previous.as_deref(), &task);
            let answer = self.write(ask).await?;
            summary.usage += answer.usage;
            answer.text().trim().clone_into(&mut summary.text);
            previous = Some(summary.text.clone());
        }
        Ok(summary)
    }

    /// Calls the model until the answer is complete, with the retries of a turn.
    async fn write(&self, ask: String) -> Result<AssistantMessage, SummaryError> {
        let mut attempts = 0;
        loop {
            let (answer, status) = self.call(ask.clone()).await?;
            if status.is_success() {
                return self.checked(answer);
            }
            attempts += 1;
            let step = self.desk.retry().next(CallFailure {
                status: &status,
                model: 0,
                attempts,
                usable: &[true, true][..=usize::from(self.has_other)],
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
        let (prompt, tokens) = (side_call::prompt(ask), self.limits.summary);
        let request = side_call::request(self.model, prompts::SYSTEM, prompt, tokens);
        let transport = self.desk.transport();
        let answered = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(SummaryError::Interrupted),
            answered = side_call::call(&*transport, request, None) => answered,
        };
        self.desk.publish(Event::Accounting {
            entry: answered.accounting,
        });
        Ok((answered.message, answered.status))
    }

    /// Only a complete answer is a summary.
    fn checked(&self, answer: AssistantMessage) -> Result<AssistantMessage, SummaryError> {
        let fault = match answer.stop_reason {
            StopReason::Length => Some("the answer reached the output limit"),
            StopReason::Refusal => Some("the model refused"),
            _ if answer.tool_calls().next().is_some() => Some("the answer is a tool call"),
            _ if answer.text().trim().is_empty() => Some("the answer is empty"),
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
