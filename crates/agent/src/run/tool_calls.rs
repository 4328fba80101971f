//! The tool calls of one answer: checked, run as concurrently as they allow, stored in their original order.
//! Every call gets a result, including refused, interrupted and incomplete ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use osier_base::clock;
use osier_llm::{AssistantMessage, ContentBlock, StopReason, ToolCall};
use serde_json::Value;

use super::log::CallNumber;
use super::turn::{Turn, elapsed_ms};
use crate::data::{AgentMessage, Event, ToolResultMessage, ToolStatus};
use crate::interceptor::{AgentAccess, StopRun, ToolDecision};
use crate::tool::{Concurrency, ToolContext, ToolOutput, Toolbox, UpdateSink};

/// How long a cancelled tool may take to return its partial output.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// A tool call of the answer that can run.
struct ReadyCall<'a> {
    number: CallNumber,
    call: &'a ToolCall,
    arguments: Value,
    concurrency: Concurrency,
    /// What the model is told about the repair of the call.
    notes: &'a [String],
}

/// The result of a finished call.
struct CallResult {
    /// Index of the call within its answer.
    index: usize,
    message: Arc<ToolResultMessage>,
}

/// Runs every call of `answer`, stores the results in source order and returns them.
pub(super) async fn run_tools(
    turn: Turn<'_>,
    answer: &AssistantMessage,
    notes: &[Vec<String>],
) -> Result<Vec<ToolResultMessage>, StopRun> {
    let calls: Vec<&ToolCall> = answer.tool_calls().collect();
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    turn.core.state().pending_tool_calls = calls.iter().map(|call| call.id.clone()).collect();
    let mut results: Vec<Option<Arc<ToolResultMessage>>> = vec![None; calls.len()];
    let mut ready = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        turn.core.publish(Event::ToolExecutionStart {
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        let number = CallNumber {
            turn: turn.number,
            index,
        };
        turn.log.tool_started(number, call);
        let notes = notes.get(index).map_or(&[][..], Vec::as_slice);
        match check(turn, call, answer.stop_reason).await {
            Ok((arguments, concurrency)) => ready.push(ReadyCall {
                number,
                call,
                arguments,
                concurrency,
                notes,
            }),
            // The user sees at once that a call does not run, although others are still to be checked.
            Err(refusal) => results[index] = Some(finish(turn, number, call, notes, refusal, 0)),
        }
    }
    for batch in batches(&ready) {
        let lanes = batch.iter().map(|lane| run_lane(turn, lane));
        for result in join_all(lanes).await.into_iter().flatten() {
            results[result.index] = Some(result.message);
        }
    }
    turn.core.state().pending_tool_calls.clear();
    let mut stored = Vec::with_capacity(results.len());
    for result in results.into_iter().flatten() {
        let result = Arc::unwrap_or_clone(result);
        let message = AgentMessage::ToolResult(result.clone());
        turn.core.commit(message).await?;
        stored.push(result);
    }
    Ok(stored)
}

/// Checks that a call is complete, known, valid and allowed. Returns the arguments to run it with.
///
/// # Errors
/// The result of a call that does not run.
async fn check(
    turn: Turn<'_>,
    call: &ToolCall,
    stop_reason: StopReason,
) -> Result<(Value, Concurrency), ToolOutput> {
    if turn.cancel.is_cancelled() || stop_reason == StopReason::Aborted {
        return Err(aborted("interrupted before it ran"));
    }
    if let Some(refusal) = refuse_incomplete(call, stop_reason) {
        return Err(refusal);
    }
    if turn.is_last {
        let text = "Tools are no longer available, so this call was not run.";
        return Err(ToolOutput::failed(ToolStatus::ToolNotFound, text));
    }
    let tools = turn.core.state().tools.clone();
    let Some(tool) = tools.get(&call.name) else {
        let known = tools.offered().join(", ");
        let text = match known.as_str() {
            "" => format!("Unknown tool `{}`. No tools are available.", call.name),
            known => format!("Unknown tool `{}`. Available tools: {known}.", call.name),
        };
        return Err(ToolOutput::failed(ToolStatus::ToolNotFound, text));
    };
    let mut arguments = call.arguments.clone();
    if let Some(refusal) = refuse_invalid(tools.toolbox(), &call.name, &arguments) {
        return Err(refusal);
    }
    let mut proposed = call.clone();
    for interceptor in turn.core.interceptors() {
        match interceptor.before_tool(&proposed, turn.cancel).await {
            ToolDecision::Allow => {}
            ToolDecision::Deny { reason } => {
                let text = format!("This call was denied: {reason}");
                let mut output = ToolOutput::failed(ToolStatus::Denied { reason }, text);
                interceptor.after_denial(&proposed, &mut output);
                return Err(output);
            }
            ToolDecision::Rewrite {
                arguments: rewritten,
            } => {
                if let Some(refusal) = refuse_invalid(tools.toolbox(), &call.name, &rewritten) {
                    return Err(refusal);
                }
                arguments.clone_from(&rewritten);
                proposed.arguments = rewritten;
            }
        }
    }
    let concurrency = tool.concurrency(&arguments);
    Ok((arguments, concurrency))
}

fn refuse_invalid(toolbox: &Toolbox, name: &str, arguments: &Value) -> Option<ToolOutput> {
    let status = toolbox.validate(name, arguments).err()?;
    let text = match &status {
        ToolStatus::InvalidParameters { message, .. } => format!(
            "Invalid arguments for `{name}`: {message}. The tool was not run; call it again with valid arguments."
        ),
        _ => format!("Unknown tool `{name}`."),
    };
    Some(ToolOutput::failed(status, text))
}

/// Refuses a call with incomplete arguments: a truncated command is a different command.
fn refuse_incomplete(call: &ToolCall, stop_reason: StopReason) -> Option<ToolOutput> {
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

/// Calls that run one after the other.
type Lane<'a> = Vec<&'a ReadyCall<'a>>;

/// The execution order: batches run one after the other, the lanes of a batch concurrently, the calls of a
/// lane one after the other. An exclusive call is a batch of its own.
fn batches<'a>(calls: &'a [ReadyCall<'a>]) -> Vec<Vec<Lane<'a>>> {
    let mut batches = Vec::new();
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    for call in calls {
        match &call.concurrency {
            Concurrency::Exclusive => {
                batches.push(std::mem::take(&mut lanes));
                batches.push(vec![vec![call]]);
            }
            Concurrency::Serial(key) => match lanes.iter_mut().find(|lane| lane[0].has_key(key)) {
                Some(lane) => lane.push(call),
                None => lanes.push(vec![call]),
            },
            Concurrency::Parallel => lanes.push(vec![call]),
        }
    }
    batches.push(lanes);
    batches
}

impl ReadyCall<'_> {
    /// Whether calls with this key must not run at the same time as this one.
    fn has_key(&self, key: &str) -> bool {
        matches!(&self.concurrency, Concurrency::Serial(own) if own == key)
    }
}

async fn run_lane(turn: Turn<'_>, lane: &Lane<'_>) -> Vec<CallResult> {
    let mut results = Vec::with_capacity(lane.len());
    for ready in lane {
        let started = Instant::now();
        let output = execute(turn, ready.call, ready.arguments.clone()).await;
        let duration = elapsed_ms(started);
        results.push(CallResult {
            index: ready.number.index,
            message: finish(
                turn,
                ready.number,
                ready.call,
                ready.notes,
                output,
                duration,
            ),
        });
    }
    results
}

/// Runs one call. A tool that ignores its cancellation is abandoned after a grace period.
async fn execute(turn: Turn<'_>, call: &ToolCall, arguments: Value) -> ToolOutput {
    // Interceptors get the arguments that ran, which another interceptor may have rewritten.
    let call = &ToolCall {
        arguments: arguments.clone(),
        ..call.clone()
    };
    let toolbox = Arc::clone(turn.core.state().tools.toolbox());
    let Some(tool) = toolbox.get(&call.name) else {
        return aborted("the tool is no longer available");
    };
    if turn.cancel.is_cancelled() {
        return aborted("interrupted before it ran");
    }
    let cx = ToolContext {
        call_id: call.id.clone(),
        cancel: turn.cancel.child_token(),
        updates: update_sink(turn, &call.id),
    };
    for interceptor in turn.core.interceptors() {
        interceptor.tool_starts(call);
    }
    let mut output = tokio::select! {
        output = tool.run(arguments, cx) => output,
        () = grace_period_end(turn) => aborted("interrupted; the tool did not stop in time"),
    };
    for interceptor in turn.core.interceptors() {
        interceptor.after_tool(call, &mut output).await;
    }
    output
}

async fn grace_period_end(turn: Turn<'_>) {
    turn.cancel.cancelled().await;
    tokio::time::sleep(CANCEL_GRACE).await;
}

fn update_sink(turn: Turn<'_>, call_id: &str) -> UpdateSink {
    let publisher = Arc::clone(&turn.core.publisher);
    let call_id = call_id.to_owned();
    UpdateSink::new(move |update| {
        publisher.publish(Event::ToolExecutionUpdate {
            call_id: call_id.clone(),
            update,
        });
    })
}

fn finish(
    turn: Turn<'_>,
    number: CallNumber,
    call: &ToolCall,
    notes: &[String],
    mut output: ToolOutput,
    duration_ms: u64,
) -> Arc<ToolResultMessage> {
    if !notes.is_empty() {
        let notes = format!("[{}]", notes.join("; "));
        output.content.push(ContentBlock::text(notes));
    }
    for interceptor in turn.core.interceptors() {
        interceptor.on_result(call, &mut output);
    }
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
    turn.log.tool_ended(number, &message);
    turn.core
        .state()
        .pending_tool_calls
        .retain(|id| *id != call.id);
    turn.core.publish(Event::ToolExecutionEnd {
        call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: Arc::clone(&message),
    });
    message
}
