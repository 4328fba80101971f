//! The tool calls of one answer: checked, run side by side as far as they allow, answered in source
//! order. Every call gets a result, also the refused, the interrupted and the half-streamed ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Value;

use super::event::Event;
use super::interceptor::{StopRun, ToolDecision};
use super::message::ToolResultMessage;
use super::tool::{Concurrency, ToolContext, ToolOutput, ToolStatus, UpdateSink};
use super::toolbox::Toolbox;
use super::turn::{Run, elapsed_ms};
use osier_base::clock;
use osier_llm::{AssistantMessage, StopReason, ToolCall};

/// How long a cancelled tool may take to hand over what it has.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// A call that passed its checks, or the output that refuses it.
enum Checked {
    Ready {
        arguments: Value,
        concurrency: Concurrency,
    },
    Refused(ToolOutput),
}

/// Runs every call of `answer`, stores the results in source order and returns them.
pub(super) async fn run_tools(
    run: &mut Run<'_>,
    answer: &AssistantMessage,
) -> Result<Vec<ToolResultMessage>, StopRun> {
    let calls: Vec<&ToolCall> = answer.tool_calls().collect();
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    run.core.state().pending_tool_calls = calls.iter().map(|call| call.id.clone()).collect();
    let mut checked = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        run.core.publish(Event::ToolExecutionStart {
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        run.recorder.tool_started(run.turn, place, call);
        checked.push(check(run, call, answer.stop_reason).await);
    }
    let mut results: Vec<Option<Arc<ToolResultMessage>>> = vec![None; calls.len()];
    for batch in batches(&checked) {
        let lanes = batch
            .into_iter()
            .map(|lane| run_lane(run, &calls, &checked, lane));
        for (place, result) in join_all(lanes).await.into_iter().flatten() {
            results[place] = Some(result);
        }
    }
    run.core.state().pending_tool_calls.clear();
    let mut stored = Vec::with_capacity(results.len());
    for result in results.into_iter().flatten() {
        run.commit_result(Arc::clone(&result)).await?;
        stored.push(Arc::unwrap_or_clone(result));
    }
    Ok(stored)
}

/// What stands before a call: it must be whole, known, valid, and allowed.
async fn check(run: &Run<'_>, call: &ToolCall, stop_reason: StopReason) -> Checked {
    if run.cancel.is_cancelled() || stop_reason == StopReason::Aborted {
        return Checked::Refused(aborted("interrupted before it ran"));
    }
    if let Some(refusal) = refuse_half_call(call, stop_reason) {
        return Checked::Refused(refusal);
    }
    if run.last_turn {
        let text = "Tools are no longer available, so this call was not run.";
        return Checked::Refused(ToolOutput::failed(ToolStatus::ToolNotFound, text));
    }
    let toolbox = Arc::clone(&run.core.state().toolbox);
    let withheld = run.core.state().withheld.contains(&call.name);
    let tool = toolbox.get(&call.name).filter(|_| !withheld);
    let Some(tool) = tool else {
        let known = run.core.state().offered().join(", ");
        let text = format!("There is no tool `{}`. The tools are: {known}.", call.name);
        return Checked::Refused(ToolOutput::failed(ToolStatus::ToolNotFound, text));
    };
    let mut arguments = call.arguments.clone();
    if let Some(refusal) = refuse_invalid(&toolbox, &call.name, &arguments) {
        return Checked::Refused(refusal);
    }
    let mut asked = call.clone();
    for interceptor in run.core.interceptors() {
        match interceptor.before_tool(&asked, run.cancel).await {
            ToolDecision::Allow => {}
            ToolDecision::Deny { reason } => {
                let text = format!("This call was denied: {reason}");
                return Checked::Refused(ToolOutput::failed(ToolStatus::Denied { reason }, text));
            }
            ToolDecision::Rewrite {
                arguments: rewritten,
            } => {
                if let Some(refusal) = refuse_invalid(&toolbox, &call.name, &rewritten) {
                    return Checked::Refused(refusal);
                }
                arguments.clone_from(&rewritten);
                asked.arguments = rewritten;
            }
        }
    }
    let concurrency = tool.concurrency(&arguments);
    Checked::Ready {
        arguments,
        concurrency,
    }
}

fn refuse_invalid(toolbox: &Toolbox, name: &str, arguments: &Value) -> Option<ToolOutput> {
    let status = toolbox.validate(name, arguments).err()?;
    let text = match &status {
        ToolStatus::InvalidParameters { message, .. } => format!(
            "The arguments of `{name}` do not fit its schema. {message}. \
             Call it again with valid arguments."
        ),
        _ => format!("There is no tool `{name}`."),
    };
    Some(ToolOutput::failed(status, text))
}

/// Arguments that are not whole are never run: half a command is another command.
fn refuse_half_call(call: &ToolCall, stop_reason: StopReason) -> Option<ToolOutput> {
    let invalid = |message: &str, text: String| {
        let status = ToolStatus::InvalidParameters {
            path: String::new(),
            message: message.to_owned(),
        };
        Some(ToolOutput::failed(status, text))
    };
    match (&call.arguments_error, stop_reason) {
        (_, StopReason::Length) => invalid(
            "the answer was cut off",
            "Your answer reached the output limit, so this call was not run. Call again in smaller steps.".to_owned(),
        ),
        (_, StopReason::Error) => invalid(
            "the answer was cut off",
            "The connection failed before this call was complete, so it was not run.".to_owned(),
        ),
        (Some(raw), _) => invalid(
            "not a complete JSON object",
            format!("The arguments were not a complete JSON object, so the call was not run. They were: {raw}"),
        ),
        (None, _) => None,
    }
}

fn aborted(text: &str) -> ToolOutput {
    ToolOutput::failed(ToolStatus::Aborted, text)
}

/// The order of work: batches one after the other; inside a batch lanes side by side; inside a lane
/// calls one after the other. An exclusive call is a batch of its own.
fn batches(checked: &[Checked]) -> Vec<Vec<Vec<usize>>> {
    let mut batches: Vec<Vec<Vec<usize>>> = Vec::new();
    let mut lanes: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    let close = |lanes: &mut Vec<(Option<&str>, Vec<usize>)>,
                 batches: &mut Vec<Vec<Vec<usize>>>| {
        if !lanes.is_empty() {
            batches.push(lanes.drain(..).map(|(_, lane)| lane).collect());
        }
    };
    for (place, checked) in checked.iter().enumerate() {
        match checked {
            Checked::Ready {
                concurrency: Concurrency::Exclusive,
                ..
            } => {
                close(&mut lanes, &mut batches);
                batches.push(vec![vec![place]]);
            }
            Checked::Ready {
                concurrency: Concurrency::Serial(key),
                ..
            } => match lanes.iter_mut().find(|(known, _)| *known == Some(key)) {
                Some((_, lane)) => lane.push(place),
                None => lanes.push((Some(key), vec![place])),
            },
            _ => lanes.push((None, vec![place])),
        }
    }
    close(&mut lanes, &mut batches);
    batches
}

async fn run_lane(
    run: &Run<'_>,
    calls: &[&ToolCall],
    checked: &[Checked],
    lane: Vec<usize>,
) -> Vec<(usize, Arc<ToolResultMessage>)> {
    let mut results = Vec::with_capacity(lane.len());
    for place in lane {
        let started = Instant::now();
        let output = match &checked[place] {
            Checked::Ready { arguments, .. } => execute(run, calls[place], arguments.clone()).await,
            Checked::Refused(output) => output.clone(),
        };
        results.push((
            place,
            finish(run, (place, calls[place]), output, elapsed_ms(started)),
        ));
    }
    results
}

/// Runs one call. A tool that ignores its cancellation is left behind after a grace period.
async fn execute(run: &Run<'_>, call: &ToolCall, arguments: Value) -> ToolOutput {
    // Whoever judges the output is told of the call that was made.
    let call = &ToolCall {
        arguments: arguments.clone(),
        ..call.clone()
    };
    let toolbox = Arc::clone(&run.core.state().toolbox);
    let Some(tool) = toolbox.get(&call.name) else {
        return aborted("the tool is no longer available");
    };
    if run.cancel.is_cancelled() {
        return aborted("interrupted before it ran");
    }
    let cx = ToolContext {
        call_id: call.id.clone(),
        cancel: run.cancel.child_token(),
        updates: update_sink(run, &call.id),
    };
    let mut output = tokio::select! {
        output = tool.run(arguments, cx) => output,
        () = overdue(run) => aborted("interrupted; the tool did not stop in time"),
    };
    for interceptor in run.core.interceptors() {
        interceptor.after_tool(call, &mut output).await;
    }
    output
}

async fn overdue(run: &Run<'_>) {
    run.cancel.cancelled().await;
    tokio::time::sleep(CANCEL_GRACE).await;
}

fn update_sink(run: &Run<'_>, call_id: &str) -> UpdateSink {
    let publisher = Arc::clone(&run.core.publisher);
    let call_id = call_id.to_owned();
    UpdateSink::new(move |update| {
        publisher.publish(Event::ToolExecutionUpdate {
            call_id: call_id.clone(),
            update,
        });
    })
}

fn finish(
    run: &Run<'_>,
    (place, call): (usize, &ToolCall),
    output: ToolOutput,
    duration_ms: u64,
) -> Arc<ToolResultMessage> {
    let result = osier_llm::ToolResult {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        is_error: !output.status.is_success(),
        content: output.content,
        timestamp: clock::now_ms(),
    };
    let message = Arc::new(ToolResultMessage {
        result,
        status: output.status,
        details: output.details,
        duration_ms,
    });
    run.recorder.tool_ended(run.turn, place, &message);
    run.core
        .state()
        .pending_tool_calls
        .retain(|id| *id != call.id);
    run.core.publish(Event::ToolExecutionEnd {
        call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: Arc::clone(&message),
    });
    message
}
