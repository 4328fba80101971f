//! What an editor is told: the events of a session as updates, and the answers that come of them.

use serde_json::{Value, json};

use super::{Session, Waiting};
use crate::tools;
use crate::updates::{chunk, commands};
use crate::wire::Fault;
use osier_agent::{AgentMessage, CompactionOutcome, Output, RunOutcome, Severity, ToolUpdate};
use osier_base::text;
use osier_llm::{Delta, StopReason};
use osier_session::host::Event;
use osier_tools::todo_list::{TodoList, TodoState};

/// Bytes of a prompt that stand for the name of a session.
const TITLE: usize = 80;

impl Session {
    /// Tells the editor of an event.
    pub(super) async fn take(&mut self, event: Event) {
        let chosen = self.note(&event);
        if chosen {
            self.tell_options().await;
        }
        match event {
            Event::Agent(event) => self.take_agent(event).await,
            Event::QuestionAsked { question } => self.ask(*question),
            Event::QuestionClosed { id } => drop(self.asked.remove(&id)),
            Event::Permissions { mode, .. } if chosen => {
                let mode = json!({"sessionUpdate": "current_mode_update", "currentModeId": mode});
                self.update(mode).await;
            }
            Event::Commands { commands: known } => self.update(commands(&known)).await,
            Event::Todo { list } => self.update(plan(&list)).await,
            Event::SessionRenamed { name } => {
                self.titled = true;
                let info = json!({"sessionUpdate": "session_info_update", "title": name});
                self.update(info).await;
            }
            Event::HostNotice {
                severity,
                text,
                request,
            } => match self.waits(request) {
                Some(waiting) => waiting.told.push((severity, text)),
                None => self.tell_notice(severity, &text).await,
            },
            Event::OpEnded {
                request,
                with_agent,
            } => self.op_ended(request, with_agent).await,
            _ => {}
        }
    }

    async fn take_agent(&mut self, event: osier_agent::Event) {
        match event {
            osier_agent::Event::MessageUpdate { id, delta } => {
                let (kind, text) = match delta {
                    Delta::TextDelta { delta, .. } => ("agent_message_chunk", delta),
                    Delta::ThinkingDelta { delta, .. } => ("agent_thought_chunk", delta),
                    _ => return,
                };
                self.update(chunk(kind, &text, Some(&id))).await;
            }
            osier_agent::Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => {
                let mut call = tools::call(&call_id, &tool_name, &arguments, &self.cwd);
                call["sessionUpdate"] = json!("tool_call");
                self.update(call).await;
            }
            osier_agent::Event::ToolExecutionUpdate { call_id, update } => {
                self.tell_progress(call_id, update).await;
            }
            osier_agent::Event::ToolExecutionEnd {
                call_id, result, ..
            } => {
                self.outputs.remove(&call_id);
                let mut ended = tools::ended(&call_id, &result, &self.cwd);
                ended["sessionUpdate"] = json!("tool_call_update");
                if self.terminals.remove(&call_id)
                    && let Some(ended) = ended.as_object_mut()
                {
                    // The terminal goes on to be shown.
                    ended.shift_remove("content");
                }
                self.update(ended).await;
            }
            osier_agent::Event::MessageEnd { message, .. } => {
                if let AgentMessage::Assistant(answer) = &*message {
                    self.stopped = answer.stop_reason;
                    self.used = answer.usage.total_tokens();
                }
            }
            osier_agent::Event::TurnEnd { .. } => self.tell_usage().await,
            osier_agent::Event::Notice { severity, text } => {
                self.tell_notice(severity, &text).await;
            }
            osier_agent::Event::CompactionStart { .. } => self.tell_compaction(None).await,
            osier_agent::Event::CompactionEnd { outcome, .. } => {
                self.tell_compaction(Some(&outcome)).await;
            }
            osier_agent::Event::AgentSettled { outcome } => {
                self.outputs.clear();
                self.terminals.clear();
                if let Some(waiting) = self.prompt.take() {
                    let answer = ended(&outcome, self.stopped);
                    self.peer.answer(&waiting.id, answer).await;
                }
            }
            _ => {}
        }
    }

    async fn tell_progress(&mut self, call_id: String, update: ToolUpdate) {
        let mut progress = match update {
            ToolUpdate::Output(Output { text, .. }) => {
                let output = self.outputs.entry(call_id.clone()).or_default();
                output.push_str(&text);
                tools::progress(&call_id, output)
            }
            ToolUpdate::Status { text } => tools::progress(&call_id, &text),
            ToolUpdate::Terminal { id } => {
                self.terminals.insert(call_id.clone());
                tools::in_terminal(&call_id, &id)
            }
            ToolUpdate::Agent { .. } => return,
        };
        progress["sessionUpdate"] = json!("tool_call_update");
        self.update(progress).await;
    }

    /// The first prompt stands for the name that a session does not have, as in lists of sessions.
    pub(super) async fn title(&mut self, prompt: &str) {
        let title = text::single_line(text::head_bytes(prompt.trim(), TITLE));
        if self.titled || title.is_empty() || title.starts_with('/') {
            return;
        }
        self.titled = true;
        self.update(json!({"sessionUpdate": "session_info_update", "title": title}))
            .await;
    }

    async fn tell_options(&self) {
        self.update(json!({
            "sessionUpdate": "config_option_update",
            "configOptions": self.options.config(),
        }))
        .await;
    }

    /// How full the window is and what the session has cost.
    async fn tell_usage(&self) {
        let Some(model) = &self.options.model else {
            return;
        };
        let mut used = json!({
            "sessionUpdate": "usage_update",
            "used": self.used, "size": model.context_window,
        });
        let cost = self.spending.total.cost.total;
        if cost > 0.0 {
            used["cost"] = json!({"amount": cost, "currency": "USD"});
        }
        self.update(used).await;
    }

    async fn tell_notice(&self, severity: Severity, text: &str) {
        if !self.offers.notices || text.trim().is_empty() {
            return;
        }
        let (title, more) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let mut notice = json!({"sessionUpdate": "notice", "severity": severity, "title": title});
        if !more.is_empty() {
            notice["description"] = json!(more);
        }
        self.update(notice).await;
    }

    /// That a conversation is compacted, or how that ended.
    async fn tell_compaction(&mut self, outcome: Option<&CompactionOutcome>) {
        if !self.offers.compaction {
            return;
        }
        if outcome.is_none() {
            self.compactions += 1;
        }
        let mut told = json!({
            "sessionUpdate": "compaction_update",
            "compactionId": format!("compaction-{}", self.compactions),
        });
        told["status"] = json!(match outcome {
            None | Some(CompactionOutcome::Drafted) => "in_progress",
            Some(CompactionOutcome::Done { summary, .. }) => {
                told["summary"] = json!([{"type": "text", "text": summary}]);
                "completed"
            }
            Some(
                CompactionOutcome::Refused { message } | CompactionOutcome::Failed { message },
            ) => {
                told["error"] = json!(message);
                "failed"
            }
            Some(CompactionOutcome::Interrupted) => "cancelled",
        });
        self.update(told).await;
    }

    /// The request of the editor that an op of this number was made for.
    fn waits(&mut self, request: Option<u64>) -> Option<&mut Waiting> {
        let choosing = self.choosing.iter_mut().map(|(waiting, _)| waiting);
        let mut waiting = self.prompt.iter_mut().chain(choosing);
        waiting.find(|waiting| Some(waiting.request) == request)
    }

    /// Nothing more comes of an op: a prompt that no run follows from, or a choice that holds.
    async fn op_ended(&mut self, request: u64, with_agent: bool) {
        let is_prompt = |waiting: &mut Waiting| waiting.request == request && !with_agent;
        if let Some(waiting) = self.prompt.take_if(is_prompt) {
            for (_, text) in &waiting.told {
                self.update(chunk("agent_message_chunk", text, None)).await;
            }
            let answer = Ok(json!({"stopReason": "end_turn"}));
            return self.peer.answer(&waiting.id, answer).await;
        }
        let place = self
            .choosing
            .iter()
            .position(|(waiting, _)| waiting.request == request);
        let Some(place) = place else { return };
        let (waiting, tells_options) = self.choosing.remove(place);
        let failed = waiting
            .told
            .iter()
            .find(|(severity, _)| *severity == Severity::Error);
        let answer = match failed {
            Some((_, text)) => Err(Fault::params(text)),
            None if tells_options => Ok(json!({"configOptions": self.options.config()})),
            None => Ok(json!({})),
        };
        self.peer.answer(&waiting.id, answer).await;
    }

    /// Remembers what is chosen and used; whether something else is chosen than before.
    pub(super) fn note(&mut self, event: &Event) -> bool {
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
            _ => return false,
        }
        true
    }
}

/// The answer to a prompt whose run has ended; `stopped` says why the last answer of the model did.
fn ended(outcome: &RunOutcome, stopped: StopReason) -> Result<Value, Fault> {
    let reason = match (outcome, stopped) {
        (RunOutcome::Completed, StopReason::Length) => "max_tokens",
        (RunOutcome::Completed, StopReason::Refusal) => "refusal",
        (RunOutcome::Completed, _) => "end_turn",
        (RunOutcome::Interrupted, _) => "cancelled",
        (RunOutcome::MaxTurns { .. }, _) => "max_turn_requests",
        (RunOutcome::Failed { .. } | RunOutcome::Stopped { .. }, _) => {
            let message = outcome.error().unwrap_or_default();
            return Err(Fault::new(Fault::INTERNAL, message));
        }
    };
    Ok(json!({"stopReason": reason}))
}

/// What the agent has set out to do, as a plan. Osier's items have no priorities.
fn plan(list: &TodoList) -> Value {
    let entries: Vec<Value> = list
        .items
        .iter()
        .map(|item| {
            let status = match item.state {
                TodoState::Open => "pending",
                TodoState::Doing => "in_progress",
                TodoState::Done => "completed",
            };
            json!({"content": item.text, "priority": "medium", "status": status})
        })
        .collect();
    json!({"sessionUpdate": "plan", "entries": entries})
}
