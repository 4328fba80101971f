//! Plugins in the agent loop: an event that can be changed or blocked goes to every plugin with a handler, in
//! order; each receives the changes of the earlier ones.

use async_trait::async_trait;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{INTERRUPTED, Plugins, api};
use osier_agent::{
    AgentMessage, CheckedCall, CompactionDecision, CompactionPlan, Interceptor, RunOutcome,
    StopRun, ToolDecision, ToolOutput, ToolResultMessage, ToolStatus, UserMessage,
};
use osier_base::clock;
use osier_llm::{ContentBlock, Context, Message};
use osier_tools::Workspace;

/// The interceptor of a session's plugins.
#[derive(Debug)]
pub struct PluginInterceptor {
    pub(super) plugins: Arc<Plugins>,
    /// Limits texts for the model.
    pub(super) workspace: Arc<Workspace>,
}

impl PluginInterceptor {
    /// Asks the plugins. A block ends the run, and so does a failure of a guard.
    async fn ask_or_stop(&self, event: &'static str, payload: Value) -> Result<Value, StopRun> {
        let stop = |message| Err(StopRun { message });
        match self.plugins.ask(event, payload).await {
            Ok(changed) => match changed.get("block") {
                Some(reason) => stop(text_of(reason)),
                None => Ok(changed),
            },
            // A message is stored even if the user interrupts.
            Err(reason) if reason == INTERRUPTED && event == "message" => Ok(Value::Null),
            Err(reason) if is_guard(event) => stop(reason),
            // The failure was already reported.
            Err(_) => Ok(Value::Null),
        }
    }

    /// Asks the plugins about a result. Returns whether a plugin replaced its text.
    async fn change_result(&self, call: &CheckedCall, output: &mut ToolOutput) -> bool {
        if !self.plugins.listens("tool_result") {
            return false;
        }
        let (text, call) = (output.text(), &call.call);
        let payload = json!({
            "id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "text": text,
            "details": output.details,
            "is_error": !output.status.is_success(),
        });
        let changed = match self.plugins.ask("tool_result", payload).await {
            Ok(Value::Object(changed)) => changed,
            Ok(_) => return false,
            Err(reason) => {
                let message = format!("the result was not checked and is withheld: {reason}");
                *output = ToolOutput::failed(
                    ToolStatus::ExecutionError {
                        message: message.clone(),
                    },
                    message,
                );
                return false;
            }
        };
        if let Some(text) = changed.get("text") {
            output.content = vec![ContentBlock::text(text_of(text))];
        }
        if let Some(details) = changed.get("details") {
            output.details = details.clone();
        }
        match changed.get("is_error") {
            Some(Value::Bool(false)) => output.status = ToolStatus::Success,
            Some(Value::Bool(true)) if output.status.is_success() => {
                let message = output.content.first().and_then(ContentBlock::as_text);
                output.status = ToolStatus::ExecutionError {
                    message: message.unwrap_or_default().to_owned(),
                };
            }
            _ => {}
        }
        changed.contains_key("text")
    }
}

fn is_guard(event: &str) -> bool {
    api::guards().any(|known| known == event)
}

#[async_trait]
impl Interceptor for PluginInterceptor {
    async fn on_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        if !self.plugins.is_attended
            && let Some(message) = self.plugins.broken_gate()
        {
            return Err(StopRun { message });
        }
        if !self.plugins.listens("input") {
            return Ok(());
        }
        let names = message.attachments.iter().map(|file| &file.file_name);
        let payload = json!({"text": message.text, "attachments": names.collect::<Vec<_>>()});
        let changed = self.ask_or_stop("input", payload).await?;
        if let Some(Value::String(text)) = changed.get("text") {
            message.text.clone_from(text);
        }
        Ok(())
    }

    async fn commit(&self, message: &AgentMessage) -> Result<(), StopRun> {
        if self.plugins.listens("message") {
            let payload = json!({"message": message});
            self.ask_or_stop("message", payload).await?;
        }
        Ok(())
    }

    async fn before_request(&self, context: &mut Context) -> Result<(), StopRun> {
        if !self.plugins.listens("before_request") {
            return Ok(());
        }
        let tools: Vec<&String> = context.tools.iter().map(|tool| &tool.name).collect();
        let payload = json!({
            "system_prompt": context.system_prompt,
            "messages": context.messages,
            "tools": tools,
        });
        let changed = self.ask_or_stop("before_request", payload).await?;
        if let Some(Value::String(prompt)) = changed.get("system_prompt") {
            context.system_prompt.clone_from(prompt);
        }
        if let Some(messages) = changed.get("messages") {
            match serde_json::from_value::<Vec<Message>>(messages.clone()) {
                Ok(messages) => context.messages = messages,
                Err(error) => {
                    let message = format!("`before_request` returned invalid messages: {error}");
                    return Err(StopRun { message });
                }
            }
        }
        Ok(())
    }

    async fn before_tool(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        if !self.plugins.listens("tool_call") {
            return ToolDecision::Allow;
        }
        let call = &call.call;
        let payload = json!({"id": call.id, "name": call.name, "arguments": call.arguments});
        let answer = tokio::select! {
            answer = self.plugins.ask("tool_call", payload) => answer,
            () = cancel.cancelled() => Err(INTERRUPTED.to_owned()),
        };
        match answer {
            // A plugin that checks calls and fails denies them.
            Err(reason) => ToolDecision::Deny { reason },
            Ok(changed) => match (changed.get("block"), changed.get("arguments")) {
                (Some(reason), _) => ToolDecision::Deny {
                    reason: text_of(reason),
                },
                (None, Some(arguments)) => ToolDecision::Rewrite {
                    arguments: arguments.clone(),
                },
                (None, None) => ToolDecision::Allow,
            },
        }
    }

    async fn after_tool(&self, call: &CheckedCall, output: &mut ToolOutput) {
        let has_changed = self.change_result(call, output).await;
        if !has_changed && !self.plugins.has_tool(&call.call.name) {
            return;
        }
        for block in &mut output.content {
            let Some(text) = block.as_text() else {
                continue;
            };
            let capped = self.workspace.cap(text).await;
            if capped.truncated {
                *block = ContentBlock::text(capped.text);
            }
        }
    }
    async fn before_compact(&self, plan: &CompactionPlan) -> CompactionDecision {
        if !self.plugins.listens("before_compact") {
            return CompactionDecision::Proceed;
        }
        let payload = json!({
            "reason": plan.reason,
            "instructions": plan.instructions,
            "tokens_before": plan.tokens_before,
            "messages": plan.replaced,
            "stays": plan.remaining,
        });
        let changed = self.plugins.ask("before_compact", payload).await;
        let changed = changed.unwrap_or_default();
        match ["block", "summary", "instructions"].map(|name| changed.get(name).map(text_of)) {
            [Some(reason), ..] => CompactionDecision::Cancel { reason },
            [_, Some(summary), _] => CompactionDecision::Replace { summary },
            [.., Some(text)] => CompactionDecision::Instruct(text),
            _ => CompactionDecision::Proceed,
        }
    }

    async fn on_turn_end(
        &self,
        results: &[ToolResultMessage],
        _cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        if self.plugins.listens("after_turn") {
            let payload = json!({"results": results});
            self.ask_or_stop("after_turn", payload).await?;
        }
        Ok(())
    }

    async fn before_settle(&self) -> Option<UserMessage> {
        if !self.plugins.listens("before_settle") {
            return None;
        }
        let changed = self.plugins.ask("before_settle", json!({})).await.ok()?;
        let text = changed.get("message").map(text_of)?;
        if !self.plugins.may_continue() {
            return None;
        }
        Some(UserMessage::new(text, clock::now_ms()))
    }

    async fn on_settled(&self, outcome: &RunOutcome) {
        if self.plugins.listens("settled") {
            let _ = self
                .plugins
                .ask("settled", json!({"outcome": outcome}))
                .await;
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
