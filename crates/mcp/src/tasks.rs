//! Calls of tools, also as tasks of the server: the server answers at once with the id of a task,
//! which osier polls until it ends. Version 2025-11-25 has tasks for tools that require it; from
//! 2026 on they are an extension, and the server decides.

use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelTaskParams, CancelTaskRequest,
    ClientRequest, ContentBlock, CustomRequest, GetTaskParams, GetTaskRequest, InputRequests,
    ServerResult, UpdateTaskParams, UpdateTaskRequest,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connection::{CallError, Connection, PATIENCE, ROUNDS, Wait, too_many_rounds};
use osier_agent::ToolUpdate;
use osier_base::text;

/// How long the server shall keep a task.
const KEEP_TIME: Duration = Duration::from_hours(1);
/// Time between two polls: the default, and the limits for the server's own value.
const POLL_TIME: Duration = Duration::from_secs(1);
const MIN_POLL_TIME: Duration = Duration::from_millis(100);
const MAX_POLL_TIME: Duration = Duration::from_secs(30);
/// Maximum bytes of the id of a task.
const ID_LIMIT: usize = 256;
/// Maximum shown bytes of a status.
const STATUS_LIMIT: usize = 200;
/// Time for the server to accept a cancellation.
const CANCEL_TIME: Duration = Duration::from_secs(1);

/// The state of a task, in both forms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    #[serde(rename = "taskId")]
    id: String,
    status: Status,
    status_message: Option<String>,
    #[serde(alias = "pollIntervalMs")]
    poll_interval: Option<f64>,
    input_requests: Option<InputRequests>,
    result: Option<Value>,
    error: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

/// Which form the tasks of a server have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Version 2025-11-25: the result is another request.
    Utility,
    /// From 2026 on: the task contains its result.
    Extension,
}

impl Task {
    /// The task that a server started instead of answering `result`; none for another result.
    fn started(result: &ServerResult) -> Option<(Self, Form)> {
        let (task, form) = match result {
            ServerResult::CreateTaskResult(created) => {
                (serde_json::to_value(&created.task).ok()?, Form::Extension)
            }
            ServerResult::CustomResult(custom) => (custom.0.get("task").cloned()?, Form::Utility),
            _ => return None,
        };
        Some((serde_json::from_value(task).ok()?, form))
    }

    fn poll_time(&self) -> Duration {
        let wish = self.poll_interval.filter(|wish| wish.is_finite());
        let wish = wish.map(|wish| wish.clamp(0.0, 1e9) / 1000.0);
        let wish = wish.map_or(POLL_TIME, Duration::from_secs_f64);
        wish.clamp(MIN_POLL_TIME, MAX_POLL_TIME)
    }

    /// The reason why a task ended without a result.
    fn failure(&self) -> String {
        let message = self.error.as_ref().and_then(|error| error.get("message"));
        let message = message.and_then(Value::as_str).map(str::to_owned);
        let message = message.or_else(|| self.status_message.clone());
        let end = if self.status == Status::Cancelled {
            "the server cancelled the task"
        } else {
            "the task failed"
        };
        match message {
            Some(message) => format!("{end}: {message}"),
            None => end.to_owned(),
        }
    }
}

/// The call of a tool as a task, in version 2025-11-25.
fn task_request(params: CallToolRequestParams) -> ClientRequest {
    let ttl = u64::try_from(KEEP_TIME.as_millis()).unwrap_or(u64::MAX);
    let mut params = serde_json::to_value(params).unwrap_or_default();
    params["task"] = json!({"ttl": ttl});
    ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params)))
}

/// The result of a tool that the server did not wrap in blocks.
fn unwrapped(result: &ServerResult) -> CallToolResult {
    let value = serde_json::to_value(result).unwrap_or_default();
    let is_empty = value.as_object().is_none_or(serde_json::Map::is_empty);
    let blocks = (!is_empty).then(|| ContentBlock::text(format!("{value:#}")));
    CallToolResult::success(blocks.into_iter().collect())
}

impl Connection {
    /// Calls a tool; with `as_task`, as a task that the server keeps.
    pub(super) async fn call_tool(
        &self,
        mut params: CallToolRequestParams,
        as_task: bool,
        wait: &Wait,
    ) -> Result<CallToolResult, CallError> {
        let began = Instant::now();
        for _ in 0..ROUNDS {
            let request = if as_task {
                task_request(params.clone())
            } else {
                ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()))
            };
            let answer = self.send(request, wait).await?;
            if let Some((task, form)) = Task::started(&answer) {
                return self.follow_task(task, form, began, wait).await;
            }
            let asked = match answer {
                ServerResult::CallToolResult(result) => return Ok(result),
                asked @ ServerResult::InputRequiredResult(_) => self.answers(asked, wait).await?,
                other => return Ok(unwrapped(&other)),
            };
            (params.input_responses, params.request_state) = asked;
        }
        Err(too_many_rounds())
    }

    /// Waits for the end of `task`, the result of a call that began at `began`. A task that is interrupted or takes too
    /// long is cancelled.
    async fn follow_task(
        &self,
        task: Task,
        form: Form,
        began: Instant,
        wait: &Wait,
    ) -> Result<CallToolResult, CallError> {
        if task.id.is_empty() || task.id.len() > ID_LIMIT {
            return Err(CallError::Server(format!(
                "the id of the task has {} bytes; expected 1 to {ID_LIMIT}",
                task.id.len()
            )));
        }
        let id = task.id.clone();
        let limit = wait.timeout * PATIENCE;
        let ended = tokio::select! {
            biased;
            () = wait.cancel.cancelled() => Err(CallError::Cancelled),
            ended = self.poll(task, form, wait) => ended,
            () = tokio::time::sleep_until(began + limit) => Err(CallError::Late { after: began.elapsed() }),
        };
        if matches!(ended, Err(CallError::Cancelled | CallError::Late { .. })) {
            let cancel = CancelTaskRequest::new(CancelTaskParams::new(id));
            let request = ClientRequest::CancelTaskRequest(cancel);
            // The call was interrupted, but the cancellation must not be.
            let wait = Wait {
                cancel: tokio_util::sync::CancellationToken::new(),
                ..wait.clone()
            };
            let cancelling = self.send(request, &wait);
            let _ = tokio::time::timeout(CANCEL_TIME, cancelling).await;
        }
        ended
    }

    async fn poll(
        &self,
        mut task: Task,
        form: Form,
        wait: &Wait,
    ) -> Result<CallToolResult, CallError> {
        let id = task.id.clone();
        let mut shown = None;
        let mut rounds = 0;
        loop {
            if task.id != id {
                let message = "the server answered with another task".to_owned();
                return Err(CallError::Server(message));
            }
            if task.status_message != shown {
                shown.clone_from(&task.status_message);
                let status = shown.as_deref().unwrap_or_default();
                let text = text::single_line(text::head_bytes(status, STATUS_LIMIT));
                wait.updates.send(ToolUpdate::Status { text });
            }
            match (task.status, form) {
                (Status::Completed, Form::Extension) => {
                    let result = task.result.unwrap_or_default();
                    return serde_json::from_value(result).map_err(|error| {
                        CallError::Server(format!("the task has no result: {error}"))
                    });
                }
                // The answer to this request is the result of the call. Questions arrive during the
                // wait.
                (Status::Completed | Status::InputRequired | Status::Failed, Form::Utility) => {
                    let params = json!({"taskId": id});
                    let request = CustomRequest::new("tasks/result", Some(params));
                    // The server answers when the task ends.
                    let wait = Wait {
                        timeout: wait.timeout * PATIENCE,
                        ..wait.clone()
                    };
                    let answer = self
                        .send(ClientRequest::CustomRequest(request), &wait)
                        .await?;
                    return match answer {
                        ServerResult::CallToolResult(result) => Ok(result),
                        _ => Err(CallError::Server(task.failure())),
                    };
                }
                (Status::Failed, Form::Extension) | (Status::Cancelled, _) => {
                    return Err(CallError::Server(task.failure()));
                }
                (Status::InputRequired, Form::Extension) => {
                    rounds += 1;
                    if rounds > ROUNDS {
                        let message =
                            format!("the task asked more than {ROUNDS} rounds of questions");
                        return Err(CallError::Server(message));
                    }
                    let requests = task.input_requests.take().unwrap_or_default();
                    let answers = self.answer_all(requests, wait).await?;
                    let update = UpdateTaskRequest::new(UpdateTaskParams::new(&id, answers));
                    self.send(ClientRequest::UpdateTaskRequest(update), wait)
                        .await?;
                }
                (Status::Working, _) => tokio::time::sleep(task.poll_time()).await,
            }
            let get = GetTaskRequest::new(GetTaskParams::new(&id));
            let answer = self.send(ClientRequest::GetTaskRequest(get), wait).await?;
            let state = serde_json::to_value(answer).unwrap_or_default();
            task = serde_json::from_value(state).map_err(|error| {
                CallError::Server(format!("the state of the task is invalid: {error}"))
            })?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(value: Value) -> ServerResult {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn started_tasks_of_both_forms_are_recognised() {
        let fields = json!({"taskId": "t1", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60_000, "pollInterval": 500});
        let (task, form) = Task::started(&result(json!({"task": fields}))).unwrap();
        assert_eq!((task.id.as_str(), form), ("t1", Form::Utility));
        assert_eq!(task.poll_time(), Duration::from_millis(500));
        let mut fields = fields;
        fields["resultType"] = json!("task");
        fields["ttlMs"] = json!(60_000);
        fields["pollIntervalMs"] = json!(2_000);
        fields.as_object_mut().unwrap().remove("pollInterval");
        let (task, form) = Task::started(&result(fields)).unwrap();
        assert_eq!((task.id.as_str(), form), ("t1", Form::Extension));
        assert_eq!(task.poll_time(), Duration::from_secs(2));
        for other in [json!({"content": []}), json!({"task": 1}), json!({})] {
            assert_eq!(Task::started(&result(other.clone())), None, "{other}");
        }
    }

    #[test]
    fn the_time_between_polls_is_limited() {
        for (wish, expected) in [
            (json!(null), POLL_TIME),
            (json!(0), MIN_POLL_TIME),
            (json!(-1), MIN_POLL_TIME),
            (json!(1e300), MAX_POLL_TIME),
            (json!(1500), Duration::from_millis(1500)),
        ] {
            let task = json!({"taskId": "t", "status": "working", "pollInterval": wish});
            let task: Task = serde_json::from_value(task).unwrap();
            assert_eq!(task.poll_time(), expected, "{wish}");
        }
    }

    #[test]
    fn a_task_that_ended_without_a_result_says_why() {
        for (task, expected) in [
            (
                json!({"taskId": "t", "status": "failed"}),
                "the task failed",
            ),
            (
                json!({"taskId": "t", "status": "failed", "error": {"code": 1, "message": "no disk"}}),
                "the task failed: no disk",
            ),
            (
                json!({"taskId": "t", "status": "cancelled", "statusMessage": "shut down"}),
                "the server cancelled the task: shut down",
            ),
        ] {
            let task: Task = serde_json::from_value(task).unwrap();
            assert_eq!(task.failure(), expected);
        }
    }
}
