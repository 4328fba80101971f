//! The model call of one turn: attempts over the list of models until one succeeds or none is left.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use osier_base::clock;
use osier_llm::{
    AssistantMessage, CallOptions, Context, Delta, Message, MessageBuilder, Model, Request,
    StreamEvent, ToolChoice, TurnStatus, UserMessage,
};

use super::attempt::{Attempt, retract};
use super::log::RequestSummary;
use super::open_answer::OpenAnswer;
use super::turn::{Turn, elapsed_ms};
use crate::data::{AgentMessage, Event, Severity, convert_to_llm};
use crate::interceptor::{AgentAccess, StopRun};
use crate::retry::{CallFailure, RetryPolicy, RetryStep};
use crate::tool::{repair_calls, repair_name};

/// The message that announces the last turn to the model. It is sent with that request and never stored.
pub const FINAL_TURN_MESSAGE: &str = "This is your last turn: tools are no longer available. \
     Answer now with what you know, and say what is left undone.";

/// The result of a turn's model call, over all attempts.
pub(super) struct CallResult {
    /// The stored answer. The partial answer of an interrupted or failed call is stored if it has content.
    pub answer: Option<AssistantMessage>,
    pub status: TurnStatus,
    /// Notes for the model about each tool call of the answer.
    pub notes: Vec<Vec<String>>,
}

impl CallResult {
    fn without_answer(status: TurnStatus) -> Self {
        Self {
            answer: None,
            status,
            notes: Vec::new(),
        }
    }
}

/// A retry after a failed attempt. Models are indices of the agent's list.
struct Retry {
    attempt: u32,
    from: usize,
    to: usize,
    delay: Duration,
}

/// Calls models in order until one answers.
pub(super) async fn call_model(turn: Turn<'_>) -> Result<CallResult, StopRun> {
    if !turn.core.load_history(turn.cancel).await? {
        return Ok(CallResult::without_answer(TurnStatus::Aborted));
    }
    let mut index = turn.core.state().models.first_usable();
    let mut attempts = 0;
    // The answer that the last attempts left, until another one begins.
    let mut partial = None;
    loop {
        let Some(model) = turn.core.state().models.list().get(index).cloned() else {
            let message = "no model is selected: choose one with `/model` or `--model`".to_owned();
            return Ok(CallResult::without_answer(TurnStatus::ModelError {
                message,
                retryable: false,
            }));
        };
        let attempt = match attempt(turn, &model, &mut partial).await {
            Ok(attempt) => attempt,
            Err(stopped) => return stop_with(turn, partial, stopped).await,
        };
        if attempt.status.is_success() || attempt.status == TurnStatus::Aborted {
            return store(turn, attempt.or_partial(partial, turn)).await;
        }
        attempts += 1;
        let usable = {
            let models = &mut turn.core.state().models;
            if attempt.status.disables_provider() {
                models.disable(&model.provider);
            }
            models.usable()
        };
        let failure = CallFailure {
            status: &attempt.status,
            model: index,
            attempts,
            usable: &usable,
            jitter: jitter(),
        };
        let (next, delay) = match policy(turn).next(failure) {
            RetryStep::GiveUp => {
                let attempt = Attempt {
                    status: policy(turn).with_wait(attempt.status),
                    ..attempt
                };
                let is_compacted = turn.can_compact
                    && matches!(attempt.status, TurnStatus::ContextOverflow { .. });
                turn.log
                    .call_failed(turn.number, &model, &attempt.status, !is_compacted);
                if let Some(discarded) = partial.take_if(|_| is_compacted) {
                    retract(turn, &discarded.id);
                }
                return store(turn, attempt.or_partial(partial, turn)).await;
            }
            RetryStep::Switch { model } => (model, Duration::ZERO),
            RetryStep::Wait { model, delay } => (model, delay),
        };
        turn.log
            .call_failed(turn.number, &model, &attempt.status, false);
        let status = attempt.status.clone();
        if attempt.message.has_content() {
            turn.core.state().partial = Some(MessageBuilder::resume(attempt.message.clone()));
            partial = Some(attempt);
        } else if attempt.is_open {
            retract(turn, &attempt.id);
        }
        let retry = Retry {
            attempt: attempts,
            from: index,
            to: next,
            delay,
        };
        publish_retry(turn, &status, &retry);
        if let Some(status) = wait(turn, &model, status, delay).await {
            return match partial {
                Some(partial) => store(turn, partial.ended_by(status)).await,
                None => Ok(CallResult::without_answer(status)),
            };
        }
        index = next;
    }
}

/// Waits before a retry. Returns the reason if there is no retry.
async fn wait(
    turn: Turn<'_>,
    model: &Model,
    status: TurnStatus,
    delay: Duration,
) -> Option<TurnStatus> {
    tokio::select! {
        () = tokio::time::sleep(delay) => None,
        () = turn.core.retry_aborted.notified() => {
            turn.log.call_failed(turn.number, model, &status, true);
            Some(status)
        }
        () = turn.cancel.cancelled() => Some(TurnStatus::Aborted),
    }
}

/// Ends a run that may make no other call; the partial answer of an earlier attempt is stored.
async fn stop_with(
    turn: Turn<'_>,
    partial: Option<Attempt>,
    stopped: StopRun,
) -> Result<CallResult, StopRun> {
    if let Some(partial) = partial {
        store(turn, partial).await?;
    }
    Err(stopped)
}

/// One call of one model. Its answer replaces `partial` as soon as it has content.
async fn attempt(
    turn: Turn<'_>,
    model: &Arc<Model>,
    partial: &mut Option<Attempt>,
) -> Result<Attempt, StopRun> {
    let request = build_request(turn, model).await?;
    let builder = MessageBuilder::new(model, clock::now_ms());
    let mut answer = OpenAnswer::new(turn, builder.partial().clone(), partial);
    turn.core.state().partial = Some(builder);
    answer.begin();
    let started = Instant::now();
    let status = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => TurnStatus::Aborted,
        status = stream_answer(turn, request, &mut answer, model) => status,
    };
    answer.flush();
    let Some(mut builder) = turn.core.state().partial.take() else {
        return Err(StopRun {
            message: "the partial answer was lost".to_owned(),
        });
    };
    if status.is_success() {
        answer.open();
    } else {
        builder.fail(&status);
    }
    let mut message = builder.finish(elapsed_ms(started));
    let tools = turn.core.state().tools.clone();
    let notes = repair_calls(&mut message, &tools);
    turn.log.call_ended(turn.number, model, &message, &status);
    Ok(Attempt {
        is_open: answer.is_open(),
        id: answer.id,
        message,
        status,
        notes,
    })
}

/// Applies and publishes the events of a call until its status is known.
async fn stream_answer(
    turn: Turn<'_>,
    request: Request,
    answer: &mut OpenAnswer<'_>,
    model: &Model,
) -> TurnStatus {
    let messages = request.context.messages.len();
    let mut stream = match turn.core.config.transport.stream(request).await {
        Ok(stream) => stream,
        Err(status) => return status,
    };
    let tools = turn.core.state().tools.clone();
    while let Some(mut event) = stream.next().await {
        if let StreamEvent::Delta(Delta::ToolcallStart { name, .. }) = &mut event {
            repair_name(name, &tools);
        }
        if let StreamEvent::Delta(delta) = event {
            answer.add(delta);
            continue;
        }
        if matches!(event, StreamEvent::Done { .. } | StreamEvent::Failed { .. }) {
            answer.flush();
        }
        let status = match &mut turn.core.state().partial {
            Some(builder) => builder.apply(&event),
            None => None,
        };
        match event {
            StreamEvent::Request { bytes, body, .. } => {
                let request = RequestSummary {
                    messages,
                    bytes,
                    is_last_turn: turn.is_last,
                };
                turn.log.call_started(turn.number, model, &request, body);
            }
            StreamEvent::Warning { text } => warn_once(turn, text),
            _ => {}
        }
        if let Some(status) = status {
            return status;
        }
    }
    TurnStatus::InvalidResponse {
        message: "the answer ended without an end marker".to_owned(),
    }
}

/// Shows a warning that may come with every answer of a model.
fn warn_once(turn: Turn<'_>, text: String) {
    if turn.core.state().warnings.insert(text.clone()) {
        turn.core.publish(Event::Notice {
            severity: Severity::Warning,
            text,
        });
    }
}

async fn build_request(turn: Turn<'_>, model: &Arc<Model>) -> Result<Request, StopRun> {
    let config = &turn.core.config;
    // Converted outside of the lock: a conversation can be long.
    let conversation = turn.core.messages();
    let mut context = Context {
        system_prompt: turn.core.system_prompt(),
        messages: convert_to_llm(conversation.iter().map(|message| &**message)),
        tools: turn.core.tools(),
    };
    if turn.is_last {
        let message = UserMessage::text(FINAL_TURN_MESSAGE);
        context.messages.push(Message::User(message));
    }
    for interceptor in turn.core.interceptors() {
        interceptor.before_request(&mut context).await?;
    }
    let options = CallOptions {
        thinking: model.clamp(turn.core.state().models.thinking),
        temperature: config.temperature,
        cache_key: config.cache_key.clone(),
        cache_retention: config.cache_retention,
        // Without the definitions, the request would not continue the earlier requests: no cache, and no thinking on
        // models that bind thinking to the conversation.
        tool_choice: if turn.is_last {
            ToolChoice::None
        } else {
            ToolChoice::Auto
        },
        trace: config.trace,
        unbatched: false,
        ..CallOptions::default()
    };
    let mut model = Arc::clone(model);
    let price = model.price_with(config.cache_retention);
    if price != model.price {
        Arc::make_mut(&mut model).price = price;
    }
    Ok(Request {
        model,
        context,
        options,
        api_key: None,
        signing: None,
    })
}

/// Stores the answer of the last attempt. A failed answer without content is discarded.
async fn store(turn: Turn<'_>, attempt: Attempt) -> Result<CallResult, StopRun> {
    let Attempt {
        id,
        is_open,
        message,
        status,
        notes,
    } = attempt;
    if message.content.is_empty() && !status.is_success() {
        if is_open {
            retract(turn, &id);
        }
        return Ok(CallResult::without_answer(status));
    }
    let stored = turn
        .core
        .commit_started(&id, AgentMessage::Assistant(message.clone()))
        .await;
    if stored.is_err() {
        retract(turn, &id);
    }
    stored?;
    Ok(CallResult {
        answer: Some(message),
        status,
        notes,
    })
}

fn publish_retry(turn: Turn<'_>, status: &TurnStatus, retry: &Retry) {
    if retry.from != retry.to {
        let references = turn.core.state().models.references();
        let name = |index: usize| references.get(index).cloned().unwrap_or_default();
        turn.core.publish(Event::ProviderSwitched {
            from: name(retry.from),
            to: name(retry.to),
            status: status.clone(),
        });
    }
    if retry.delay > Duration::ZERO {
        turn.core.publish(Event::RetryScheduled {
            attempt: retry.attempt,
            max_attempts: turn.core.config.retry.max_retries,
            delay_ms: u64::try_from(retry.delay.as_millis()).unwrap_or(u64::MAX),
            status: status.clone(),
        });
    }
}

/// The retry policy; without retries when they are disabled.
fn policy(turn: Turn<'_>) -> RetryPolicy {
    let mut policy = turn.core.config.retry;
    if !turn.core.state().auto_retry {
        policy.max_retries = 0;
    }
    policy
}

/// A random number from 0 to 1, so that many clients do not retry at the same moment.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
