//! Typed calls. `Client::request` sends any request; the others are shortcuts.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CallError, Client};
use crate::answers::{
    Disposition, LastText, Messages, OpenedSession, PromptResult, SessionStats, ThinkingLevels,
};
use osier_agent::{CompactionOutcome, ShellRun};
use osier_llm::ThinkingLevel;
use osier_protocol::{
    Event, ModelInfo, Op, PermissionMode, SessionInfo, SessionSummary, Status, StoredMessage,
};

/// Messages of one answer to `get_messages`.
const MESSAGES: usize = 1_000;

/// The model and level of the next request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSelection {
    pub model: ModelInfo,
    pub level: ThinkingLevel,
}

impl Client {
    /// The state of the agent and its session.
    pub async fn state(&self) -> Result<Status, CallError> {
        self.call("get_state", json!({})).await
    }

    /// Sends a prompt. [`Events::settled`](super::Events::settled) waits for the end of the run.
    pub async fn prompt(&self, message: &str) -> Result<Disposition, CallError> {
        self.send_message("prompt", message).await
    }

    /// Sends a message that is delivered before the next model call.
    pub async fn steer(&self, message: &str) -> Result<Disposition, CallError> {
        self.send_message("steer", message).await
    }

    /// Sends a message that is delivered when the agent would otherwise stop.
    pub async fn follow_up(&self, message: &str) -> Result<Disposition, CallError> {
        self.send_message("follow_up", message).await
    }

    async fn send_message(&self, command: &str, message: &str) -> Result<Disposition, CallError> {
        let result: PromptResult = self.call(command, json!({"message": message})).await?;
        Ok(result.disposition)
    }

    /// One field of an answer.
    async fn field<T: DeserializeOwned>(
        &self,
        command: &str,
        parameters: Value,
        field: &str,
    ) -> Result<T, CallError> {
        let mut answer: Value = self.call(command, parameters).await?;
        let field = answer.get_mut(field).map(Value::take).unwrap_or_default();
        serde_json::from_value(field).map_err(|source| CallError::Unexpected {
            command: command.to_owned(),
            source,
        })
    }

    /// Stops the run.
    pub async fn abort(&self) -> Result<(), CallError> {
        self.call("abort", json!({})).await
    }

    /// Every message of the current branch, oldest first.
    pub async fn messages(&self) -> Result<Vec<StoredMessage>, CallError> {
        let mut messages = Vec::new();
        let mut parameters = json!({"limit": MESSAGES});
        loop {
            let page: Messages = self.call("get_messages", parameters.clone()).await?;
            messages.extend(page.messages);
            match messages.last() {
                Some(last) if page.more => parameters["after"] = json!(last.entry_id),
                _ => return Ok(messages),
            }
        }
    }

    /// The text of the last answer with text.
    pub async fn last_text(&self) -> Result<Option<String>, CallError> {
        let last: LastText = self.call("get_last_assistant_text", json!({})).await?;
        Ok(last.text)
    }

    /// All available models.
    pub async fn models(&self) -> Result<Vec<ModelInfo>, CallError> {
        self.field("get_available_models", json!({}), "models")
            .await
    }

    /// Selects the model of the next call: `PROVIDER/ID[:LEVEL]` or part of a name.
    pub async fn set_model(&self, reference: &str) -> Result<ModelSelection, CallError> {
        self.call("set_model", json!({"reference": reference}))
            .await
    }

    /// Sets the thinking level of the next call. Returns the effective level of the model.
    pub async fn set_thinking_level(
        &self,
        level: ThinkingLevel,
    ) -> Result<ThinkingLevel, CallError> {
        let level = json!({"level": level});
        self.field("set_thinking_level", level, "effective").await
    }

    /// The thinking levels of the model.
    pub async fn thinking_levels(&self) -> Result<Vec<ThinkingLevel>, CallError> {
        let levels: ThinkingLevels = self
            .call("get_available_thinking_levels", json!({}))
            .await?;
        Ok(levels.levels)
    }

    /// The stored sessions of the working directory, or of `all` directories, newest first.
    pub async fn sessions(&self, all: bool) -> Result<Vec<SessionSummary>, CallError> {
        self.field("list_sessions", json!({"all": all}), "sessions")
            .await
    }

    /// Starts an empty session.
    pub async fn new_session(&self) -> Result<SessionInfo, CallError> {
        let opened: OpenedSession = self.call("new_session", json!({})).await?;
        Ok(opened.session)
    }

    /// Opens another session, by id, id prefix or path.
    pub async fn switch_session(&self, target: &str) -> Result<SessionInfo, CallError> {
        let target = json!({"target": target});
        let opened: OpenedSession = self.call("switch_session", target).await?;
        Ok(opened.session)
    }

    /// Counts of the open session.
    pub async fn session_stats(&self) -> Result<SessionStats, CallError> {
        self.call("get_session_stats", json!({})).await
    }

    /// Replaces the earlier part of the conversation with a summary.
    pub async fn compact(
        &self,
        instructions: Option<&str>,
    ) -> Result<CompactionOutcome, CallError> {
        self.call("compact", json!({"instructions": instructions}))
            .await
    }

    /// Runs a shell command for the user.
    pub async fn bash(&self, command: &str) -> Result<ShellRun, CallError> {
        self.call("bash", json!({"command": command})).await
    }

    /// Sets the permission mode.
    pub async fn set_permissions(&self, mode: PermissionMode) -> Result<PermissionMode, CallError> {
        self.field("set_permissions", json!({"mode": mode}), "mode")
            .await
    }

    /// Sends a request. Its effects are reported as events.
    pub async fn op(&self, op: &Op) -> Result<(), CallError> {
        self.call("op", json!({"op": op})).await
    }

    /// Sends a request and returns the event that answers it, as the row of the request declares. `None` if the
    /// request has no such event, or there was nothing to report.
    pub async fn request(&self, op: &Op) -> Result<Option<Event>, CallError> {
        self.call("op", json!({"op": op, "reply": true})).await
    }

    /// Shuts the agent down.
    pub async fn shut_down(&self) -> Result<(), CallError> {
        let _: Value = self.call("shut_down", json!({})).await?;
        Ok(())
    }
}
