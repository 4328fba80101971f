//! Session events: they become session updates and end pending requests.

use agent_client_protocol_schema::v1 as acp;

use super::{Change, PendingRequest, Session};
use crate::commands;
use crate::jsonrpc::{internal_error, invalid_params};
use crate::stored;
use crate::tool_calls;
use crate::updates::{chunk, commands};
use osier_agent::{AgentMessage, CompactionOutcome, Output, RunOutcome, Severity, ToolUpdate};
use osier_base::text;
use osier_llm::{Delta, StopReason};
use osier_protocol::slash::{self, CommandEnd};
use osier_protocol::{CheckpointEvent, Event, TodoList, TodoState, changed_outside};

/// The maximum length in bytes of a title from a prompt.
const TITLE_LIMIT: usize = 80;

impl Session {
    pub(super) async fn on_event(&mut self, event: Event) {
        let options_changed = self.update_state(&event);
        if options_changed {
            let options = acp::ConfigOptionUpdate::new(self.options.config());
            self.update(acp::SessionUpdate::ConfigOptionUpdate(options))
                .await;
        }
        // Sent before the answer, which ends the request.
        if let Event::Agent(osier_agent::Event::CompactionEnd { outcome, .. }) = &event {
            self.send_compaction(Some(outcome.clone())).await;
        }
        self.answer_command(&event).await;
        match event {
            // The answer to the request of a session that was loaded.
            Event::Usage { .. } if self.used > 0 => self.send_usage().await,
            Event::Agent(event) => self.on_agent_event(event).await,
            Event::QuestionAsked { question } => self.ask(*question),
            Event::QuestionClosed { id } => drop(self.questions.remove(&id)),
            Event::Permissions { mode, .. } if options_changed => {
                let mode = acp::CurrentModeUpdate::new(mode.name());
                self.update(acp::SessionUpdate::CurrentModeUpdate(mode))
                    .await;
            }
            Event::Commands { commands: added } => {
                self.added.clone_from(&added);
                self.update(commands(commands::list(added))).await;
            }
            Event::Todo { list } => self.update(plan(list)).await,
            Event::SessionRenamed { name } => {
                self.titled = true;
                let info = acp::SessionInfoUpdate::new().title(name);
                self.update(acp::SessionUpdate::SessionInfoUpdate(info))
                    .await;
            }
            Event::Notice {
                severity,
                text,
                request,
            } => match self.pending(request) {
                Some(pending) => pending.notices.push((severity, text)),
                None => self.send_notice(severity, &text).await,
            },
            Event::CallReviewed {
                tool_name, review, ..
            } => {
                let text = format!("{tool_name}: {}", review.line());
                self.send_notice(Severity::Info, &text).await;
            }
            Event::Checkpoint(CheckpointEvent::FilesChangedOutside { paths, more }) => {
                let text = changed_outside(&paths, more);
                self.send_notice(Severity::Info, &text).await;
            }
            Event::OpEnded {
                request,
                with_agent,
            } => self.on_op_ended(request, with_agent).await,
            _ => {}
        }
    }

    /// Sends what an event says as the answer of the slash command that runs.
    async fn answer_command(&mut self, event: &Event) {
        let Some(prompt) = self.prompt.as_mut() else {
            return;
        };
        let (Some(end), Some(text)) = (prompt.command, slash::describe(event)) else {
            return;
        };
        if end == CommandEnd::RequestAlone {
            return;
        }
        prompt.notices.push((Severity::Info, text));
        if end == CommandEnd::Event
            && let Some(prompt) = self.prompt.take()
        {
            self.end_command(prompt).await;
        }
    }

    /// Sends the answer of a command, and ends its prompt.
    async fn end_command(&mut self, mut prompt: PendingRequest) {
        let notices = std::mem::take(&mut prompt.notices);
        let mut texts: Vec<String> = notices.into_iter().map(|(_, text)| text).collect();
        texts.dedup();
        if texts.is_empty() && prompt.command.is_some() {
            texts.push("Done.".to_owned());
        }
        for text in texts {
            self.update(acp::SessionUpdate::AgentMessageChunk(chunk(&text, None)))
                .await;
        }
        self.end_prompt(prompt, Ok(acp::StopReason::EndTurn)).await;
    }

    async fn on_agent_event(&mut self, event: osier_agent::Event) {
        match event {
            osier_agent::Event::MessageUpdate { id, delta } => {
                let update = match delta {
                    Delta::TextDelta { delta, .. } => {
                        acp::SessionUpdate::AgentMessageChunk(chunk(&delta, Some(&id)))
                    }
                    Delta::ThinkingDelta { delta, .. } => {
                        acp::SessionUpdate::AgentThoughtChunk(chunk(&delta, Some(&id)))
                    }
                    _ => return,
                };
                self.update(update).await;
            }
            osier_agent::Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => {
                let call = tool_calls::started(&call_id, &tool_name, &arguments, &self.cwd);
                self.update(acp::SessionUpdate::ToolCall(call)).await;
            }
            osier_agent::Event::ToolExecutionUpdate { call_id, update } => {
                self.send_progress(call_id, update).await;
            }
            osier_agent::Event::ToolExecutionEnd {
                call_id, result, ..
            } => {
                self.outputs.remove(&call_id);
                let mut call = tool_calls::finished(&call_id, &result, &self.cwd);
                if self.terminals.remove(&call_id) {
                    // The editor continues to show the terminal.
                    call.fields.content = None;
                }
                self.update(acp::SessionUpdate::ToolCallUpdate(call)).await;
            }
            osier_agent::Event::MessageEnd { message, .. } => {
                if let AgentMessage::Assistant(answer) = &*message {
                    self.stop_reason = answer.stop_reason;
                    self.used = answer.usage.total_tokens();
                }
            }
            osier_agent::Event::TurnEnd { .. } => self.send_usage().await,
            osier_agent::Event::Notice { severity, text } => {
                self.send_notice(severity, &text).await;
            }
            osier_agent::Event::CompactionStart { .. } => {
                self.compactions += 1;
                self.send_compaction(None).await;
            }
            osier_agent::Event::AgentSettled { outcome } => {
                self.outputs.clear();
                self.terminals.clear();
                if let Some(prompt) = self.prompt.take() {
                    let result = prompt_result(&outcome, self.stop_reason);
                    self.end_prompt(prompt, result).await;
                }
            }
            _ => {}
        }
    }

    async fn send_progress(&mut self, call_id: String, update: ToolUpdate) {
        let call = match update {
            ToolUpdate::Output(Output { text, .. }) => {
                let output = self.outputs.entry(call_id.clone()).or_default();
                output.push_str(&text);
                tool_calls::output(&call_id, output)
            }
            ToolUpdate::Status { text } => tool_calls::output(&call_id, &text),
            ToolUpdate::Terminal { id } => {
                self.terminals.insert(call_id.clone());
                tool_calls::in_terminal(&call_id, id)
            }
            ToolUpdate::Agent { .. } => return,
        };
        self.update(acp::SessionUpdate::ToolCallUpdate(call)).await;
    }

    /// Sends the first prompt as the title of a session without a name, as in session lists.
    pub(super) async fn send_title(&mut self, prompt: &str) {
        let title = text::single_line(text::head_bytes(prompt.trim(), TITLE_LIMIT));
        if self.titled || title.is_empty() || title.starts_with('/') {
            return;
        }
        self.titled = true;
        let info = acp::SessionInfoUpdate::new().title(title);
        self.update(acp::SessionUpdate::SessionInfoUpdate(info))
            .await;
    }

    /// Sends the size of the context and the cost of the session.
    async fn send_usage(&self) {
        let Some(model) = &self.options.model else {
            return;
        };
        let cost = self.spending.total.cost.total;
        let cost = (cost > 0.0).then(|| acp::Cost::new(cost, "USD"));
        let usage = acp::UsageUpdate::new(self.used, model.context_window).cost(cost);
        self.update(acp::SessionUpdate::UsageUpdate(usage)).await;
    }

    async fn send_notice(&self, severity: Severity, text: &str) {
        let session = self.client.capabilities.session.as_ref();
        let text = text.trim();
        if session.is_none_or(|session| session.notices.is_none()) || text.is_empty() {
            return;
        }
        let (title, description) = match text.split_once('\n') {
            Some((title, description)) => (title, Some(description)),
            None => (text, None),
        };
        let severity = match severity {
            Severity::Info => acp::NoticeSeverity::Info,
            Severity::Warning => acp::NoticeSeverity::Warning,
            Severity::Error => acp::NoticeSeverity::Error,
        };
        let notice = acp::Notice::new(severity, title).description(description.map(str::to_owned));
        self.update(acp::SessionUpdate::Notice(notice)).await;
    }

    /// Sends the outcome of a compaction, or its start.
    async fn send_compaction(&self, outcome: Option<CompactionOutcome>) {
        let session = self.client.capabilities.session.as_ref();
        if session.is_none_or(|session| session.compaction.is_none()) {
            return;
        }
        let id = format!("compaction-{}", self.compactions);
        let update = |status| acp::CompactionUpdate::new(id, status);
        let update = match outcome {
            None | Some(CompactionOutcome::Drafted) => update(acp::CompactionStatus::InProgress),
            Some(CompactionOutcome::Done { summary, .. }) => {
                update(acp::CompactionStatus::Completed).summary(vec![summary.into()])
            }
            Some(
                CompactionOutcome::Refused { message } | CompactionOutcome::Failed { message },
            ) => update(acp::CompactionStatus::Failed).error(message),
            Some(CompactionOutcome::Interrupted) => update(acp::CompactionStatus::Cancelled),
        };
        self.update(acp::SessionUpdate::CompactionUpdate(update))
            .await;
    }

    /// The request of the editor that started the op.
    fn pending(&mut self, op: Option<u64>) -> Option<&mut PendingRequest> {
        let changes = self.changes.iter_mut().map(|(pending, _)| pending);
        let mut pending = self.prompt.iter_mut().chain(changes);
        pending.find(|pending| Some(pending.op) == op)
    }

    /// Responds to the request that started the op. A prompt that started a run ends with the run.
    async fn on_op_ended(&mut self, op: u64, with_agent: bool) {
        let is_prompt = |pending: &mut PendingRequest| {
            // The work that such a command started continues, unless it was refused.
            let continues =
                pending.command == Some(CommandEnd::Event) && pending.notices.is_empty();
            pending.op == op && !with_agent && !continues
        };
        if let Some(prompt) = &mut self.prompt
            && prompt.op == op
            && with_agent
            && prompt.command.is_some()
        {
            // The event with the answer may have arrived already.
            if prompt.notices.is_empty() {
                prompt.command = Some(CommandEnd::Event);
            } else if let Some(prompt) = self.prompt.take() {
                self.end_command(prompt).await;
            }
            return;
        }
        if let Some(prompt) = self.prompt.take_if(is_prompt) {
            return self.end_command(prompt).await;
        }
        let index = self
            .changes
            .iter()
            .position(|(pending, _)| pending.op == op);
        let Some(index) = index else { return };
        let (pending, change) = self.changes.remove(index);
        let mut notices = pending.notices.into_iter();
        let failure = notices.find(|(severity, _)| *severity == Severity::Error);
        let result = match failure {
            Some((_, text)) => Err(invalid_params(text)),
            None => Ok(match change {
                Change::Mode => {
                    acp::AgentResponse::SetSessionModeResponse(acp::SetSessionModeResponse::new())
                }
                Change::Option => acp::AgentResponse::SetSessionConfigOptionResponse(
                    acp::SetSessionConfigOptionResponse::new(self.options.config()),
                ),
                Change::Title(title) => stored::titled(title),
                Change::Credentials => {
                    acp::AgentResponse::AuthenticateResponse(acp::AuthenticateResponse::new())
                }
            }),
        };
        self.client.respond(pending.id, result).await;
    }

    /// Updates the options and the spending. Returns whether an option changed.
    pub(super) fn update_state(&mut self, event: &Event) -> bool {
        match event {
            Event::ModelSelected { model, level, .. } => {
                self.options.model = Some((**model).clone());
                self.options.level = *level;
            }
            Event::Models { models } if *models != self.options.models => {
                self.options.models.clone_from(models);
            }
            Event::Permissions { mode, .. } if *mode != self.options.mode => {
                self.options.mode = *mode;
            }
            Event::Agent(osier_agent::Event::ThinkingLevelChanged { level, .. })
                if *level != self.options.level =>
            {
                self.options.level = *level;
            }
            Event::Usage { spending } => {
                self.spending = (**spending).clone();
                return false;
            }
            Event::Agent(osier_agent::Event::Accounting { entry }) => {
                self.spending.add(entry);
                return false;
            }
            Event::Todo { list } => {
                self.todo = Some(list.clone());
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Sends the to-do list of a session that was loaded.
    pub(super) async fn send_plan(&mut self) {
        if let Some(list) = self.todo.take().filter(|list| !list.items.is_empty()) {
            self.update(plan(list)).await;
        }
    }
}

/// The result of a prompt from the outcome of its run and the stop reason of its last model call.
fn prompt_result(outcome: &RunOutcome, reason: StopReason) -> acp::Result<acp::StopReason> {
    match (outcome, reason) {
        (RunOutcome::Completed, StopReason::Length) => Ok(acp::StopReason::MaxTokens),
        (RunOutcome::Completed, StopReason::Refusal) => Ok(acp::StopReason::Refusal),
        (RunOutcome::Completed, _) => Ok(acp::StopReason::EndTurn),
        (RunOutcome::Interrupted, _) => Ok(acp::StopReason::Cancelled),
        (RunOutcome::MaxTurns { .. }, _) => Ok(acp::StopReason::MaxTurnRequests),
        (RunOutcome::Failed { .. } | RunOutcome::Stopped { .. }, _) => {
            Err(internal_error(outcome.error().unwrap_or_default()))
        }
    }
}

/// The to-do list as a plan. Its items have no priorities.
fn plan(list: TodoList) -> acp::SessionUpdate {
    let entries = list.items.into_iter().map(|item| {
        let status = match item.state {
            TodoState::Open => acp::PlanEntryStatus::Pending,
            TodoState::Doing => acp::PlanEntryStatus::InProgress,
            TodoState::Done => acp::PlanEntryStatus::Completed,
        };
        acp::PlanEntry::new(item.text, acp::PlanEntryPriority::Medium, status)
    });
    acp::SessionUpdate::Plan(acp::Plan::new(entries.collect()))
}
