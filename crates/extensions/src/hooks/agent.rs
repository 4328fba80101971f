//! Hooks in the loop of one agent. They run after plugins, so that they check what plugins change, and before
//! messages are stored. A hook's decision about a call is a hint for the gate, so that a deny rule overrides
//! a hook that allows.

use async_trait::async_trait;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::answer::{Advice, Decision, HookAnswer};
use super::response::{failure, input, response, text_in};
use super::session::{EventInput, SessionHooks, question};
use osier_agent::{
    AgentAccess, AgentMessage, Attachment, AttachmentKind, CheckedCall, CompactionDecision,
    CompactionOutcome, CompactionPlan, CompactionReason, CustomMessage, Interceptor, RunOutcome,
    StopRun, ToolDecision, ToolOutput, ToolResultMessage, ToolStatus, UserMessage,
};
use osier_base::slash_text::SlashText;
use osier_base::text::enclosed;
use osier_base::{clock, ids};
use osier_llm::{ContentBlock, ThinkingLevel, ToolCall, TurnStatus};
use osier_peers::formats::suggestion;
use osier_peers::tools::{GENERAL, ScriptCall, ours, seen};
use osier_permissions::{Advised, Advisor, Hint, Hints};
use osier_protocol::{HookEvent, TOOL as TODO};

/// The prefix of the names of commands that are prompts of MCP servers.
const SERVER_PROMPT: &str = "mcp__";
/// How often in a row hooks can continue a model that has finished.
const CONTINUATIONS: u32 = 8;

/// The role of an agent in its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The main agent, which talks to the user.
    Main,
    /// One of several agents that answer the same prompt.
    Lane,
    /// A subagent of this kind.
    SubAgent { kind: Option<String> },
}

/// The interceptor of one agent.
#[derive(Debug)]
pub struct AgentHooks {
    session: Arc<SessionHooks>,
    /// The id and kind of a subagent.
    sub_agent: Option<(String, String)>,
    /// Whether the agent receives the context of `SessionStart` hooks.
    is_main: bool,
    cwd: PathBuf,
    hints: Arc<Hints>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Why the run ends after this turn.
    stop: Option<String>,
    /// Context of hooks that ran before a call, by call id: the model reads it after the result.
    before: HashMap<String, Vec<String>>,
    /// The message of a hook that continues the run, until it is committed.
    own: Option<String>,
    /// How often hooks continued the run since the last prompt.
    continuations: u32,
    /// The last answer.
    answer: String,
    /// When calls that run have started, by call id.
    started: HashMap<String, Instant>,
    /// The calls of the last answer that have run, as hooks see them.
    batch: Vec<Value>,
    /// Context for the next request.
    after: Vec<String>,
    /// The thinking level of the last request; `None` if the model does not think.
    effort: Option<&'static str>,
    /// The to-dos, and whether they are done.
    tasks: Vec<(String, bool)>,
}

impl AgentHooks {
    /// The hooks of an agent that works in `cwd`; its gate reads `hints`.
    pub fn new(session: Arc<SessionHooks>, role: Role, cwd: PathBuf, hints: Arc<Hints>) -> Self {
        Self {
            is_main: role == Role::Main,
            sub_agent: match role {
                Role::SubAgent { kind } => {
                    let kind = kind.unwrap_or_else(|| GENERAL.to_owned());
                    Some((ids::prefixed("agent"), kind))
                }
                _ => None,
            },
            session,
            cwd,
            hints,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the hooks of an event without a call.
    async fn fire(&self, event: HookEvent, names: Vec<&str>, mut fields: Value) -> HookAnswer {
        self.mark(event, &mut fields);
        let input = EventInput {
            event,
            names,
            fields,
            cwd: &self.cwd,
            call: None,
        };
        self.session.fire(input).await
    }

    /// Runs the hooks of an event about a call, for each of its files; `more` are additional fields.
    async fn fire_call(
        &self,
        event: HookEvent,
        call: &CheckedCall,
        more: impl Fn(&ScriptCall) -> Value,
        cancel: Option<&CancellationToken>,
    ) -> HookAnswer {
        let mut answers = Vec::new();
        for seen in seen(&call.call, call.files(), &self.cwd) {
            let answer = self.fire_file(event, call, &seen, more(&seen), cancel);
            answers.push(answer.await);
        }
        HookAnswer::of_files(answers)
    }

    async fn fire_file(
        &self,
        event: HookEvent,
        call: &CheckedCall,
        seen: &ScriptCall,
        more: Value,
        cancel: Option<&CancellationToken>,
    ) -> HookAnswer {
        let mut fields = json!({
            "tool_name": seen.name,
            "tool_input": input(&call.call, seen),
            "tool_use_id": call.call.id,
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut fields, more) {
            all.extend(more);
        }
        self.mark(event, &mut fields);
        let occurrence = EventInput {
            event,
            names: seen.names.iter().map(String::as_str).collect(),
            fields,
            cwd: &self.cwd,
            call: Some(call),
        };
        self.session.fire_until(occurrence, cancel).await
    }

    /// Adds the fields that identify a subagent, and the thinking level of the request.
    fn mark(&self, event: HookEvent, fields: &mut Value) {
        let is_of_request = event.info().is_about_calls()
            || event.info().continues
            || event == HookEvent::PostToolBatch;
        if let Some(level) = self.lock().effort.filter(|_| is_of_request) {
            fields["effort"] = json!({ "level": level });
        }
        if let Some((id, kind)) = &self.sub_agent {
            fields["agent_id"] = json!(id);
            fields["agent_type"] = json!(kind);
        }
    }

    /// Runs the hooks for a prompt, or for the task of a subagent.
    async fn judge_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        let is_own = self
            .lock()
            .own
            .take_if(|own| *own == message.text)
            .is_some();
        if is_own {
            return Ok(());
        }
        self.lock().continuations = 0;
        if let Some((_, kind)) = &self.sub_agent {
            let event = HookEvent::SubagentStart;
            let answer = self.fire(event, vec![kind.as_str()], json!({})).await;
            attach(message, event, &answer.context);
            return Ok(());
        }
        if self.is_main {
            self.session.begun().await;
            self.session.begin_prompt();
        }
        self.judge_command(message).await?;
        let event = HookEvent::UserPromptSubmit;
        if self.session.has(event) {
            let command = message
                .typed
                .as_deref()
                .filter(|text| text.starts_with('/'));
            let fields = json!({"prompt": command.unwrap_or(&message.text)});
            let answer = self.fire(event, Vec::new(), fields).await;
            accept(message, event, answer)?;
        }
        if self.is_main {
            let start = self.session.start_text();
            attach(message, HookEvent::SessionStart, &start.context);
            if let Some(first) = start.message {
                let typed = std::mem::take(&mut message.text);
                message.text = format!("{first}\n\n{typed}");
                message.typed.get_or_insert(typed);
            }
        }
        Ok(())
    }

    /// Runs the hooks for a prompt that a slash command has made.
    async fn judge_command(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        let event = HookEvent::UserPromptExpansion;
        let typed = message.typed.as_deref().map(SlashText::read);
        let Some(SlashText::Command { name, arguments }) = typed else {
            return Ok(());
        };
        if !self.session.has(event) {
            return Ok(());
        }
        let typed = message.typed.as_deref().unwrap_or_default().trim();
        let fields = json!({
            "expansion_type": if name.starts_with(SERVER_PROMPT) { "mcp_prompt" } else { "slash_command" },
            "command_name": name, "command_args": arguments.trim(), "prompt": typed,
        });
        let answer = self.fire(event, vec![name], fields).await;
        accept(message, event, answer)
    }

    async fn judge_call(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        if let Some(reason) = self.lock().stop.clone() {
            return ToolDecision::Deny { reason };
        }
        if let Some(reason) = self.judge_tasks(call).await {
            return ToolDecision::Deny { reason };
        }
        let event = HookEvent::PreToolUse;
        if !self.session.has(event) {
            return ToolDecision::Allow;
        }
        let nothing = |_: &_| Value::Null;
        let answer = self.fire_call(event, call, nothing, Some(cancel)).await;
        if answer.interrupted {
            let reason = "interrupted".to_owned();
            return ToolDecision::Deny { reason };
        }
        if let Some(reason) = answer.stop {
            self.lock().stop = Some(reason.clone());
            return ToolDecision::Deny { reason };
        }
        if let Some(reason) = answer.block {
            return ToolDecision::Deny { reason };
        }
        if let Some((decision, reason)) = &answer.decision {
            let hint = match decision {
                Decision::Allow => Hint::Allow,
                other => Hint::Ask(question(*other, reason)),
            };
            self.hints.leave(&call.call.id, hint);
        }
        if !answer.context.is_empty() {
            let id = call.call.id.clone();
            self.lock().before.insert(id, answer.context);
        }
        match answer.input {
            Some(input) => ToolDecision::Rewrite {
                arguments: ours(&call.call.name, &input),
            },
            None => ToolDecision::Allow,
        }
    }

    /// Runs the hooks for the to-dos that a call adds or completes. Returns the reason to deny the
    /// call.
    async fn judge_tasks(&self, call: &CheckedCall) -> Option<String> {
        let events = [HookEvent::TaskCreated, HookEvent::TaskCompleted];
        if !events.iter().any(|event| self.session.has(*event)) {
            return None;
        }
        let mut known = self.lock().tasks.clone();
        for (index, (subject, is_done)) in self.tasks(call)?.into_iter().enumerate() {
            // Several to-dos can have the same text, so each known one is counted once.
            let place = known.iter().position(|(known, _)| *known == subject);
            let before = place.map(|place| known.remove(place));
            let was_done = before.as_ref().is_some_and(|(_, was_done)| *was_done);
            let fields = json!({"task_id": (index + 1).to_string(), "task_subject": subject});
            for (event, occurs) in events
                .into_iter()
                .zip([before.is_none(), is_done && !was_done])
            {
                if occurs && self.session.has(event) {
                    let answer = self.fire(event, Vec::new(), fields.clone()).await;
                    if let Some(reason) = answer.stop.or(answer.block) {
                        return Some(reason);
                    }
                }
            }
        }
        None
    }

    /// The to-dos of a call, and whether they are done; `None` if the call has no to-dos.
    fn tasks(&self, call: &CheckedCall) -> Option<Vec<(String, bool)>> {
        if call.call.name != TODO {
            return None;
        }
        let seen = seen(&call.call, call.files(), &self.cwd)
            .into_iter()
            .next()?;
        let tasks = seen.input.get("todos")?.as_array()?.iter();
        let tasks = tasks.map(|task| {
            let subject = task["content"].as_str().unwrap_or_default().to_owned();
            (subject, task["status"] == "completed")
        });
        Some(tasks.collect())
    }

    async fn judge_output(&self, call: &CheckedCall, output: &mut ToolOutput) {
        let (mut context, started) = {
            let mut state = self.lock();
            let context = state.before.remove(&call.call.id).unwrap_or_default();
            (context, state.started.remove(&call.call.id))
        };
        if output.status.is_success()
            && let Some(tasks) = self.tasks(call)
        {
            self.lock().tasks = tasks;
        }
        if self.session.has(HookEvent::PostToolBatch) {
            let seen = seen(&call.call, call.files(), &self.cwd).into_iter();
            let calls = seen.map(|seen| {
                json!({"tool_name": seen.name, "tool_input": input(&call.call, &seen), "tool_use_id": call.call.id,
                    "tool_response": output.text()})
            });
            self.lock().batch.extend(calls);
        }
        let duration_ms = started.map_or(0, |started| started.elapsed().as_millis() as u64);
        let event = if output.status.is_success() {
            HookEvent::PostToolUse
        } else {
            HookEvent::PostToolUseFailure
        };
        if self.session.has(event) {
            let more = |seen: &ScriptCall| match event {
                HookEvent::PostToolUse => json!({
                    "tool_response": response(&call.call, seen, output),
                    "duration_ms": duration_ms,
                }),
                _ => json!({
                    "error": failure(&call.call, output),
                    "duration_ms": duration_ms,
                    "is_interrupt": output.status == ToolStatus::Aborted,
                }),
            };
            let answer = self.fire_call(event, call, more, None).await;
            if let Some(response) = &answer.output {
                output.content = vec![ContentBlock::text(text_in(response))];
            }
            if let Some(reason) = answer.stop {
                self.lock().stop = Some(reason);
            }
            let blocked = answer
                .block
                .map(|reason| format!("A hook blocked this: {reason}"));
            context.extend(answer.context);
            context.extend(blocked);
        }
        for text in context {
            let text = enclosed("hook", "", &text);
            output.content.push(ContentBlock::text(text));
        }
    }

    /// Runs the hooks for an answer whose calls have all run, in the order of `results`.
    async fn judge_batch(&self, results: &[ToolResultMessage]) {
        let mut calls = std::mem::take(&mut self.lock().batch);
        if calls.is_empty() {
            return;
        }
        calls.sort_by_key(|call| {
            let mut ids = results.iter().map(|result| &result.result.tool_call_id);
            ids.position(|id| call["tool_use_id"] == *id)
        });
        let fields = json!({"tool_calls": calls});
        let answer = self
            .fire(HookEvent::PostToolBatch, Vec::new(), fields)
            .await;
        let mut state = self.lock();
        state.after = answer.context;
        if let Some(reason) = answer.stop.or(answer.block) {
            state.stop = Some(reason);
        }
    }

    /// Runs the hooks for the end of a run. Returns a message that continues the run, if a hook
    /// requires it.
    async fn judge_end(&self) -> Option<UserMessage> {
        let (event, names) = match &self.sub_agent {
            Some((_, kind)) => (HookEvent::SubagentStop, vec![kind.as_str()]),
            None => (HookEvent::Stop, Vec::new()),
        };
        if !self.session.has(event) {
            return None;
        }
        let mut fields = {
            let state = self.lock();
            json!({
                "stop_hook_active": state.continuations > 0,
                "last_assistant_message": state.answer,
                "background_tasks": self.session.background_tasks(),
                // osier has no calls at set times.
                "session_crons": [],
            })
        };
        if self.sub_agent.is_some() {
            // osier stores the conversation of a subagent in no file.
            fields["agent_transcript_path"] = json!("");
        }
        let answer = self.fire(event, names, fields).await;
        if answer.stop.is_some() || answer.interrupted {
            return None;
        }
        let context = Some(answer.context.join("\n")).filter(|text| !text.is_empty());
        let text = match (answer.block, context) {
            (Some(reason), None) => format!("A hook requires you to continue: {reason}"),
            (Some(reason), Some(context)) => {
                format!("A hook requires you to continue: {reason}\n{context}")
            }
            (None, context) => format!("A hook reports: {}", context?),
        };
        let mut state = self.lock();
        if state.continuations >= CONTINUATIONS {
            let event = event.name();
            self.session.warn(format!(
                "the {event} hooks continued the model {CONTINUATIONS} times: stopping now"
            ));
            return None;
        }
        state.continuations += 1;
        state.own = Some(text.clone());
        Some(UserMessage::new(text, clock::now_ms()))
    }

    async fn judge_compaction(&self, plan: &CompactionPlan) -> CompactionDecision {
        let event = HookEvent::PreCompact;
        if !self.session.has(event) {
            return CompactionDecision::Proceed;
        }
        self.session.begin_prompt_if_none();
        let trigger = trigger(plan.reason);
        let instructions = plan.instructions.as_deref().unwrap_or_default();
        let fields = json!({"trigger": trigger, "custom_instructions": instructions});
        let answer = self.fire(event, vec![trigger], fields).await;
        let reason = answer.stop.or(answer.block);
        match reason {
            Some(reason) => CompactionDecision::Cancel { reason },
            None if answer.interrupted => CompactionDecision::Cancel {
                reason: "interrupted".to_owned(),
            },
            None if answer.context.is_empty() => CompactionDecision::Proceed,
            None => CompactionDecision::Instruct(answer.context.join("\n")),
        }
    }
}

#[async_trait]
impl Interceptor for AgentHooks {
    async fn on_input(&self, message: &mut UserMessage) -> Result<(), StopRun> {
        self.judge_input(message).await
    }

    async fn commit(&self, message: &AgentMessage) -> Result<(), StopRun> {
        let stops = [HookEvent::Stop, HookEvent::SubagentStop];
        if stops.into_iter().any(|event| self.session.has(event))
            && let Some(answer) = message.answer()
        {
            self.lock().answer = answer;
        }
        Ok(())
    }

    async fn before_tool(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        self.judge_call(call, cancel).await
    }

    fn tool_starts(&self, call: &ToolCall) {
        let events = [HookEvent::PostToolUse, HookEvent::PostToolUseFailure];
        if events.into_iter().any(|event| self.session.has(event)) {
            self.lock().started.insert(call.id.clone(), Instant::now());
        }
    }

    async fn after_tool(&self, call: &CheckedCall, output: &mut ToolOutput) {
        self.judge_output(call, output).await;
    }

    async fn before_compact(&self, plan: &CompactionPlan) -> CompactionDecision {
        self.judge_compaction(plan).await
    }

    async fn after_compact(&self, reason: CompactionReason, outcome: &CompactionOutcome) {
        let CompactionOutcome::Done { summary, .. } = outcome else {
            return;
        };
        let trigger = trigger(reason);
        let fields = json!({"trigger": trigger, "compact_summary": summary});
        self.fire(HookEvent::PostCompact, vec![trigger], fields)
            .await;
        if self.is_main {
            self.session.compacted(&self.cwd).await;
        }
    }

    async fn on_turn_end(
        &self,
        results: &[ToolResultMessage],
        _cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        self.judge_batch(results).await;
        let mut state = self.lock();
        state.before.clear();
        state.stop.take().map_or(Ok(()), |reason| Err(stop(reason)))
    }

    async fn reminders(&self, agent: &dyn AgentAccess) -> Vec<AgentMessage> {
        let level = agent.thinking();
        self.lock().effort = (level != ThinkingLevel::Off).then(|| level.name());
        let texts = std::mem::take(&mut self.lock().after).into_iter();
        texts
            .map(|text| context_message(HookEvent::PostToolBatch, &text))
            .collect()
    }

    async fn before_settle(&self) -> Option<UserMessage> {
        self.judge_end().await
    }

    async fn on_settled(&self, outcome: &RunOutcome) {
        self.lock().own = None;
        if let RunOutcome::Failed { status } = outcome {
            let error = error_name(status);
            let message = status.message();
            let fields = json!({"error": error, "error_details": message, "last_assistant_message": message});
            self.fire(HookEvent::StopFailure, vec![error], fields).await;
        }
    }
}

#[async_trait]
impl Advisor for AgentHooks {
    async fn advise(
        &self,
        call: &CheckedCall,
        patterns: &[String],
        cancel: &CancellationToken,
    ) -> Option<Advised> {
        let event = HookEvent::PermissionRequest;
        if !self.session.has(event) {
            return None;
        }
        let suggested: Vec<Value> = patterns.iter().map(|pattern| suggestion(pattern)).collect();
        let suggestions = |_: &_| json!({"permission_suggestions": suggested});
        let answer = self.fire_call(event, call, suggestions, Some(cancel)).await;
        if let Some(reason) = answer.stop {
            self.lock().stop = Some(reason.clone());
            return Some(Advised::Deny(reason));
        }
        if let Some(reason) = answer.block {
            return Some(Advised::Deny(reason));
        }
        match answer.advice? {
            Advice::Allow(None) => Some(Advised::Allow(None)),
            Advice::Allow(Some(input)) => {
                let arguments = ours(&call.call.name, &input);
                Some(Advised::Allow(Some(arguments)))
            }
            Advice::Deny(reason) => Some(Advised::Deny(reason)),
        }
    }

    async fn denied(&self, call: &CheckedCall, reason: &str, cancel: &CancellationToken) -> bool {
        let event = HookEvent::PermissionDenied;
        if !self.session.has(event) {
            return false;
        }
        let reason = |_: &_| json!({ "reason": reason });
        let answer = self.fire_call(event, call, reason, Some(cancel)).await;
        if let Some(reason) = answer.stop {
            self.lock().stop = Some(reason);
        }
        answer.retry
    }
}

/// Adds the context of hooks to a prompt, unless they block it.
fn accept(message: &mut UserMessage, event: HookEvent, answer: HookAnswer) -> Result<(), StopRun> {
    if answer.interrupted {
        let text = "interrupted while a hook checked the prompt: the prompt was not sent";
        return Err(stop(text));
    }
    if let Some(reason) = answer.stop.or(answer.block) {
        return Err(stop(format!("a hook blocked the prompt: {reason}")));
    }
    attach(message, event, &answer.context);
    Ok(())
}

/// Context of a hook as a message for the model.
pub fn context_message(event: HookEvent, text: &str) -> AgentMessage {
    AgentMessage::Custom(CustomMessage {
        kind: "hook".to_owned(),
        text: enclosed("hook", &format!(" event=\"{}\"", event.name()), text),
        display: true,
        details: Value::Null,
        timestamp: clock::now_ms(),
    })
}

fn stop(message: impl Into<String>) -> StopRun {
    StopRun {
        message: message.into(),
    }
}

/// Adds the context of hooks to the message.
fn attach(message: &mut UserMessage, event: HookEvent, context: &[String]) {
    let attachments = context.iter().map(|text| Attachment {
        id: ids::prefixed("hook"),
        kind: AttachmentKind::Document,
        file_name: format!("{} hook", event.name()),
        mime_type: "text/plain".to_owned(),
        size: text.len() as u64,
        content: String::new(),
        extracted_text: Some(text.clone()),
    });
    message.attachments.extend(attachments);
}

fn trigger(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual => "manual",
        CompactionReason::Threshold | CompactionReason::Overflow => "auto",
    }
}

/// The error name of the contract.
fn error_name(status: &TurnStatus) -> &'static str {
    match status {
        TurnStatus::RateLimit { .. } => "rate_limit",
        TurnStatus::AuthError { .. } => "authentication_failed",
        TurnStatus::QuotaExceeded { .. } => "billing_error",
        // The message begins with the status of the answer.
        TurnStatus::ModelError { message, .. } if message.contains(" answered 529") => "overloaded",
        TurnStatus::ModelError { message, .. } if message.contains(" answered 404") => {
            "model_not_found"
        }
        TurnStatus::ContextOverflow { .. }
        | TurnStatus::ModelError {
            retryable: false, ..
        } => "invalid_request",
        TurnStatus::ModelError { .. }
        | TurnStatus::NetworkError { .. }
        | TurnStatus::Timeout { .. }
        | TurnStatus::InvalidResponse { .. } => "server_error",
        TurnStatus::Success { .. } | TurnStatus::Aborted => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_of_claude_code() {
        let of_model = |message: &str, retryable| {
            let message = message.to_owned();
            error_name(&TurnStatus::ModelError { message, retryable })
        };
        assert_eq!(of_model("`a` answered 529: Overloaded", true), "overloaded");
        assert_eq!(
            of_model("`a` answered 404: no model `x`", false),
            "model_not_found"
        );
        assert_eq!(of_model("`a` answered 400: no", false), "invalid_request");
        assert_eq!(of_model("`a` answered 500: oops", true), "server_error");
    }
}
