//! The tool calls of one answer: checked, run as concurrently as they allow, stored in their original order.
//! Every call gets a result, including refused, interrupted and incomplete ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use osier_base::clock;
use osier_base::task::caught;
use osier_llm::{AssistantMessage, ContentBlock, StopReason, ToolCall};

use super::log::CallNumber;
use super::turn::{Turn, elapsed_ms};
use crate::data::{AgentMessage, Event, ToolResultMessage, ToolStatus};
use crate::interceptor::{AgentAccess, StopRun, ToolDecision};
use crate::tool::{CheckedCall, Concurrency, ToolContext, ToolOutput, Toolbox, UpdateSink};

/// How long a cancelled tool may take to return its partial output.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// A tool call of the answer that can run.
struct ReadyCall<'a> {
    number: CallNumber,
    /// The call in the answer.
    call: &'a ToolCall,
    /// The call that runs: interceptors can have changed it.
    checked: CheckedCall,
    /// Notes for the model about the repair of the call.
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
    let mut ready: Vec<ReadyCall<'_>> = Vec::with_capacity(calls.len());
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
        match check(turn, call, answer.stop_reason, &ready).await {
            Ok(checked) => ready.push(ReadyCall {
                number,
                call,
                checked,
                notes,
            }),
            // The user sees at once that a call does not run, although other calls are still to be
            // checked.
            Err(refusal) => results[index] = Some(finish(turn, number, call, notes, refusal, 0)),
        }
    }
    for batch in batches(ready) {
        let lanes = batch.into_iter().map(|lane| run_lane(turn, lane));
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

/// Checks that a call is complete, known, valid and allowed. `earlier` are the calls of the answer that run before it.
///
/// # Errors
/// The result of a call that does not run.
async fn check(
    turn: Turn<'_>,
    call: &ToolCall,
    stop_reason: StopReason,
    earlier: &[ReadyCall<'_>],
) -> Result<CheckedCall, ToolOutput> {
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
    let toolbox = if tools.get(&call.name).is_some() {
        Some(Arc::clone(&tools.toolbox))
    } else {
        let unlisted = turn.core.unlisted_tool(&call.name);
        unlisted.map(|tool| Arc::new(Toolbox::new(vec![tool])))
    };
    let Some(toolbox) = toolbox else {
        let known = tools.offered().join(", ");
        let text = match known.as_str() {
            "" => format!("Unknown tool `{}`. No tools are available.", call.name),
            known => format!("Unknown tool `{}`. Available tools: {known}.", call.name),
        };
        return Err(ToolOutput::failed(ToolStatus::ToolNotFound, text));
    };
    let mut checked = prepared(turn, toolbox.prepare(call.clone())).await?;
    for interceptor in turn.core.interceptors() {
        let mut earlier = earlier.iter();
        checked.is_preceded = earlier.any(|ready| ready.checked.can_affect(&checked));
        match interceptor.before_tool(&checked, turn.cancel).await {
            ToolDecision::Allow => {}
            ToolDecision::Deny { reason } => {
                let text = format!("This call was denied: {reason}");
                let mut output = ToolOutput::failed(ToolStatus::Denied { reason }, text);
                interceptor.after_denial(&checked.call, &mut output);
                return Err(output);
            }
            ToolDecision::Fail(output) => return Err(output),
            ToolDecision::Rewrite { arguments } => {
                checked = prepared(turn, checked.with_arguments(arguments)).await?;
            }
            ToolDecision::Replace(judged) => checked = *judged,
        }
    }
    Ok(checked)
}

/// Waits until a call is prepared.
async fn prepared(
    turn: Turn<'_>,
    preparing: impl Future<Output = Result<CheckedCall, ToolOutput>>,
) -> Result<CheckedCall, ToolOutput> {
    tokio::select! {
        prepared = caught(preparing) => prepared.map_err(ToolOutput::error).flatten(),
        () = turn.cancel.cancelled() => Err(aborted("interrupted before it ran")),
    }
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
type Lane<'a> = Vec<ReadyCall<'a>>;

/// The execution order: batches run one after the other, the lanes of a batch concurrently, the calls of a
/// lane one after the other. An exclusive call is a batch of its own.
fn batches(calls: Vec<ReadyCall<'_>>) -> Vec<Vec<Lane<'_>>> {
    let mut batches = Vec::new();
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for call in calls {
        match &call.checked.prepared.concurrency {
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
        matches!(&self.checked.prepared.concurrency, Concurrency::Serial(own) if own == key)
    }
}

async fn run_lane(turn: Turn<'_>, lane: Lane<'_>) -> Vec<CallResult> {
    let mut results = Vec::with_capacity(lane.len());
    for ready in lane {
        let started = Instant::now();
        let output = execute(turn, ready.checked).await;
        let (number, call, duration) = (ready.number, ready.call, elapsed_ms(started));
        results.push(CallResult {
            index: number.index,
            message: finish(turn, number, call, ready.notes, output, duration),
        });
    }
    results
}

/// Runs one call. A tool that ignores its cancellation is abandoned after a grace period.
async fn execute(turn: Turn<'_>, mut checked: CheckedCall) -> ToolOutput {
    if turn.cancel.is_cancelled() {
        return aborted("interrupted before it ran");
    }
    let call_id = checked.call.id.clone();
    let cx = ToolContext {
        cancel: turn.cancel.child_token(),
        updates: update_sink(turn, &call_id),
        call_id,
    };
    for interceptor in turn.core.interceptors() {
        interceptor.tool_starts(&checked.call);
    }
    let mut output = tokio::select! {
        output = caught(checked.prepared.run(cx)) => output.unwrap_or_else(ToolOutput::error),
        () = grace_period_end(turn) => aborted("interrupted; the tool did not stop in time"),
    };
    for interceptor in turn.core.interceptors() {
        interceptor.after_tool(&checked, &mut output).await;
    }
    if let Some(note) = checked.note {
        output.content.insert(0, ContentBlock::text(note));
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
