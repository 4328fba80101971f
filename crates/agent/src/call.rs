//! The model call of one turn: attempts over the list of models until one succeeds or none is left.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::event::Event;
use super::interceptor::StopRun;
use super::message::{AgentMessage, convert_to_llm};
use super::retry::{Failure, RetryPolicy, RetryStep};
use super::turn::{FINAL_TURN_MESSAGE, Run, elapsed_ms};
use osier_base::{clock, ids};
use osier_llm::{
    AssistantMessage, CallOptions, Context, Message, MessageBuilder, Model, Request, StreamEvent,
    TurnStatus, UserMessage,
};

/// How the turn's call ended, over all attempts.
pub(super) struct CallEnd {
    /// What was stored: the answer, or the partial one of an interrupted or failed call if it had any
    /// content.
    pub answer: Option<AssistantMessage>,
    pub status: TurnStatus,
}

/// One attempt's answer and the id events know it by.
struct Attempt {
    id: String,
    message: AssistantMessage,
    status: TurnStatus,
}

/// Calls models in order until one answers.
pub(super) async fn call_model(run: &mut Run<'_>) -> Result<CallEnd, StopRun> {
    if !load_history(run).await? {
        return Ok(CallEnd {
            answer: None,
            status: TurnStatus::Aborted,
        });
    }
    let mut place = first_usable(run);
    let mut attempts = 0;
    loop {
        let Some(model) = run.core.state().models.get(place).cloned() else {
            let message = "no model is chosen: pick one with `/model` or `--model`".to_owned();
            return Ok(CallEnd {
                answer: None,
                status: TurnStatus::ModelError {
                    message,
                    retryable: false,
                },
            });
        };
        let attempt = attempt(run, &model).await?;
        if attempt.status.is_success() || attempt.status == TurnStatus::Aborted {
            return store(run, attempt).await;
        }
        attempts += 1;
        if attempt.status.disables_provider() {
            run.core
                .state()
                .disabled_providers
                .insert(model.provider.clone());
        }
        let usable = usable(run);
        let policy = policy(run);
        let failure = Failure {
            status: &attempt.status,
            model: place,
            attempts,
            usable: &usable,
            jitter: jitter(),
        };
        let (next, delay) = match policy.next(failure) {
            RetryStep::GiveUp => {
                let fatal = !run.compacts_after(&attempt.status);
                run.recorder
                    .call_failed(run.turn, &model, &attempt.status, fatal);
                return store(run, attempt).await;
            }
            RetryStep::Switch { model } => (model, Duration::ZERO),
            RetryStep::Wait { model, delay } => (model, delay),
        };
        run.recorder
            .call_failed(run.turn, &model, &attempt.status, false);
        retract(run, &attempt.id);
        announce(run, &attempt.status, attempts, delay, (place, next));
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = run.core.retry_aborted.notified() => {
                run.recorder.call_failed(run.turn, &model, &attempt.status, true);
                return Ok(CallEnd { answer: None, status: attempt.status });
            }
            () = run.cancel.cancelled() => {
                return Ok(CallEnd { answer: None, status: TurnStatus::Aborted });
            }
        }
        place = next;
    }
}

/// Reads the earlier part of the conversation before the first request; false when the user interrupts.
pub(super) async fn load_history(run: &Run<'_>) -> Result<bool, StopRun> {
    let Some(history) = run.core.state().history.clone() else {
        return Ok(true);
    };
    tokio::select! {
        biased;
        () = run.cancel.cancelled() => Ok(false),
        earlier = history.load() => {
            run.core.prepend(earlier?);
            Ok(true)
        }
    }
}

/// One call of one model, from its request to its last event.
async fn attempt(run: &mut Run<'_>, model: &Arc<Model>) -> Result<Attempt, StopRun> {
    let request = build_request(run, model).await?;
    let messages = request.context.messages.len();
    let id = ids::prefixed("message");
    let builder = MessageBuilder::new(model, clock::now_ms());
    for interceptor in run.core.interceptors() {
        interceptor.on_answer(builder.partial());
    }
    let empty = Arc::new(AgentMessage::Assistant(builder.partial().clone()));
    run.core.state().partial = Some(builder);
    run.core.publish(Event::MessageStart {
        id: id.clone(),
        message: empty,
    });
    let started = Instant::now();
    let status = tokio::select! {
        biased;
        () = run.cancel.cancelled() => TurnStatus::Aborted,
        status = follow(run, request, &id, model, messages) => status,
    };
    let Some(mut builder) = run.core.state().partial.take() else {
        return Err(StopRun {
            message: "the answer in progress was lost".to_owned(),
        });
    };
    if !status.is_success() {
        builder.fail(&status);
    }
    let message = builder.finish(elapsed_ms(started));
    run.recorder.call_ended(run.turn, model, &message, &status);
    Ok(Attempt {
        id,
        message,
        status,
    })
}

/// Applies and publishes the events of a call until its status is known.
async fn follow(
    run: &Run<'_>,
    request: Request,
    id: &str,
    model: &Model,
    messages: usize,
) -> TurnStatus {
    let mut stream = match run.core.config.transport.stream(request).await {
        Ok(stream) => stream,
        Err(status) => return status,
    };
    while let Some(event) = stream.next().await {
        let status = match &mut run.core.state().partial {
            Some(builder) => builder.apply(&event),
            None => None,
        };
        match event {
            StreamEvent::Request { bytes, body } => {
                run.recorder
                    .call_started(run.turn, model, (messages, bytes, run.last_turn), body);
            }
            StreamEvent::Delta(delta) => {
                for interceptor in run.core.interceptors() {
                    interceptor.on_delta(&delta);
                }
                run.core.publish(Event::MessageUpdate {
                    id: id.to_owned(),
                    delta,
                });
            }
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

async fn build_request(run: &Run<'_>, model: &Arc<Model>) -> Result<Request, StopRun> {
    let config = &run.core.config;
    let (system_prompt, conversation, tools, thinking) = {
        let state = run.core.state();
        let thinking = model.clamp(state.thinking);
        (
            state.system_prompt.clone(),
            state.messages.clone(),
            state.toolbox.specs(&state.withheld),
            thinking,
        )
    };
    let mut messages = convert_to_llm(conversation.iter().map(|message| &**message));
    if run.last_turn {
        messages.push(Message::User(UserMessage::text(FINAL_TURN_MESSAGE)));
    }
    let tools = if run.last_turn { Vec::new() } else { tools };
    let mut context = Context {
        system_prompt,
        messages,
        tools,
    };
    for interceptor in run.core.interceptors() {
        interceptor.before_request(&mut context).await?;
    }
    let options = CallOptions {
        thinking,
        temperature: config.temperature,
        cache_key: config.cache_key.clone(),
        trace: config.trace,
        ..CallOptions::default()
    };
    Ok(Request {
        model: Arc::clone(model),
        context,
        options,
        api_key: None,
        signing: None,
    })
}

/// Stores what the last attempt gave. A failed answer without content leaves no message.
async fn store(run: &mut Run<'_>, attempt: Attempt) -> Result<CallEnd, StopRun> {
    let Attempt {
        id,
        message,
        status,
    } = attempt;
    if message.content.is_empty() && !status.is_success() {
        retract(run, &id);
        return Ok(CallEnd {
            answer: None,
            status,
        });
    }
    let stored = run
        .core
        .commit(AgentMessage::Assistant(message.clone()), Some(id.clone()))
        .await;
    if stored.is_err() {
        retract(run, &id);
    }
    stored?;
    Ok(CallEnd {
        answer: Some(message),
        status,
    })
}

fn retract(run: &Run<'_>, id: &str) {
    for interceptor in run.core.interceptors() {
        interceptor.on_retract();
    }
    run.core
        .publish(Event::MessageRetracted { id: id.to_owned() });
}

fn announce(
    run: &Run<'_>,
    status: &TurnStatus,
    attempt: u32,
    delay: Duration,
    (from, to): (usize, usize),
) {
    if from != to {
        let references = run.core.state().model_references();
        let name = |place: usize| references.get(place).cloned().unwrap_or_default();
        let status = status.clone();
        run.core.publish(Event::ProviderSwitched {
            from: name(from),
            to: name(to),
            status,
        });
    }
    if delay > Duration::ZERO {
        run.core.publish(Event::RetryScheduled {
            attempt,
            max_attempts: run.core.config.retry.max_retries,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            status: status.clone(),
        });
    }
}

/// How often a failed call is tried again.
fn policy(run: &Run<'_>) -> RetryPolicy {
    let mut policy = run.core.config.retry;
    if run.core.state().no_retry {
        policy.max_retries = 0;
    }
    policy
}

/// Which models of the list may be called. When none is left all are tried again: the user may have
/// mended the key meanwhile.
fn usable(run: &Run<'_>) -> Vec<bool> {
    let state = run.core.state();
    state
        .models
        .iter()
        .map(|model| !state.disabled_providers.contains(&model.provider))
        .collect()
}

fn first_usable(run: &Run<'_>) -> usize {
    usable(run)
        .iter()
        .position(|usable| *usable)
        .unwrap_or_else(|| {
            run.core.state().disabled_providers.clear();
            0
        })
}

/// A number from 0 to 1, so that many clients do not come back at the same moment.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
