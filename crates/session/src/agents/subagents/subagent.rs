//! One subagent: its work from the wait for a place to its end, its state, and what clients do with it.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

use osier_agent::{
    Agent, Event, RunOutcome, ToolContext, ToolOutput, ToolStatus, ToolUpdate, UpdateSink,
};
use osier_base::{clock, text, visible};
use osier_llm::{ContentBlock, Delta};
use osier_protocol::{Event as SessionEvent, SubagentInfo, SubagentStatus};
use serde_json::json;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::details::TaskDetails;
use super::news::{NewsKind, Reporter};
use super::record::{Record, is_recorded};
use crate::emitter::Emitter;

/// Bytes of a task and of an activity in lists.
const LISTED: usize = 200;

/// A subagent that runs or ended.
#[derive(Debug)]
pub(super) struct Subagent {
    pub(super) id: String,
    reporter: Reporter,
    stop: CancellationToken,
    /// Fires when the call returns although the subagent has not ended.
    moved: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    info: SubagentInfo,
    details: TaskDetails,
    record: Record,
    /// The running calls, and what each does.
    calls: Vec<(String, String)>,
    /// How often it is followed.
    followers: usize,
    /// Its open questions.
    questions: usize,
    /// Set while it runs.
    agent: Option<Agent>,
    /// Messages that arrived before it ran.
    messages: Vec<String>,
    /// It gets no more messages.
    is_closing: bool,
    /// The user stopped it.
    is_stopped: bool,
    /// The model started it in the background.
    is_background_call: bool,
    started: Instant,
}

/// The result of the work.
enum End {
    /// The outcome, and the newest answer.
    Outcome(RunOutcome, Option<String>),
    /// It did not start.
    NotStarted(ToolOutput),
}

/// The task of a subagent.
pub(super) struct Task {
    pub(super) prompt: String,
    /// The name of the definition.
    pub(super) kind: Option<String>,
    pub(super) places: Arc<Semaphore>,
    /// Starts the agent. Returns it and the name of its model.
    pub(super) start: Start,
}

/// Starts the agent of a subagent.
type Start = Box<dyn FnOnce(&Arc<Subagent>) -> Started + Send>;

/// An agent and the name of its model, or why it cannot start.
pub(super) type Started = Result<(Agent, String), String>;

/// The result of a call, as its work sends it.
pub(super) type Output = oneshot::Receiver<ToolOutput>;

impl Subagent {
    pub(super) fn new((id, reporter): (String, Reporter), task: &Task, call_id: &str) -> Arc<Self> {
        let info = SubagentInfo {
            id: id.clone(),
            call_id: call_id.to_owned(),
            name: task.kind.as_deref().map(listed),
            task: listed(&task.prompt),
            started_at: clock::now_ms(),
            ..SubagentInfo::default()
        };
        let details = TaskDetails {
            id: id.clone(),
            agent: task.kind.clone(),
            ..TaskDetails::default()
        };
        Arc::new(Self {
            id,
            reporter,
            stop: CancellationToken::new(),
            moved: CancellationToken::new(),
            state: Mutex::new(State {
                info,
                details,
                record: Record::default(),
                calls: Vec::new(),
                followers: 0,
                questions: 0,
                agent: None,
                messages: Vec::new(),
                is_closing: false,
                is_stopped: false,
                is_background_call: false,
                started: Instant::now(),
            }),
        })
    }

    pub(super) fn info(&self) -> SubagentInfo {
        let state = self.state.lock();
        let mut info = state.info.clone();
        if info.is_active() {
            info.duration = state.elapsed();
        }
        info
    }

    /// Has the call return at once, before the work begins.
    pub(super) fn start_in_background(&self) {
        let mut state = self.state.lock();
        state.is_background_call = true;
        self.send_to_background(&mut state);
    }

    fn send_to_background(&self, state: &mut State) {
        state.info.background = true;
        state.details.background = true;
        self.moved.cancel();
    }

    /// Begins the work, which outlives the call in the background.
    pub(super) fn begin(
        self: &Arc<Self>,
        task: Task,
        cx: &ToolContext,
    ) -> (AbortOnDropHandle<()>, Output) {
        let (done, output) = oneshot::channel();
        let (subagent, cx) = (Arc::clone(self), cx.clone());
        let work = osier_base::task::spawn(async move {
            let end = subagent.run(task, &cx).await;
            subagent.end(end, done);
        });
        (AbortOnDropHandle::new(work), output)
    }

    /// Waits for the result of the call: the end of the work, or its move to the background.
    pub(super) async fn result(&self, output: Output) -> ToolOutput {
        tokio::select! {
            biased;
            () = self.moved.cancelled() => {
                let (id, state) = (&self.id, self.state.lock());
                let start = if state.is_background_call {
                    format!("{id} runs in the background")
                } else {
                    format!("The user moved {id} to the background: it continues")
                };
                let text = format!("{start}, and its answer follows as a message. Do not wait for it.");
                ToolOutput::success(text, json!(state.details))
            }
            output = output => {
                output.unwrap_or_else(|_| ToolOutput::error("the session is closing"))
            }
        }
    }

    async fn run(self: &Arc<Self>, task: Task, cx: &ToolContext) -> End {
        let _place = tokio::select! {
            place = task.places.acquire_owned() => place,
            () = self.interrupted(&cx.cancel) => {
                let text = self.interruption("before it started");
                return End::NotStarted(ToolOutput::failed(ToolStatus::Aborted, text));
            }
        };
        let (agent, model) = match (task.start)(self) {
            Ok(started) => started,
            Err(message) => return End::NotStarted(ToolOutput::error(message)),
        };
        let mut events = agent.subscribe();
        agent.prompt(task.prompt, Vec::new());
        self.started(&agent, model);
        let mut is_aborted = false;
        let outcome = loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = self.interrupted(&cx.cancel), if !is_aborted => {
                    is_aborted = true;
                    agent.abort();
                    continue;
                }
            };
            let Some(event) = event else {
                break RunOutcome::Interrupted;
            };
            if let Event::AgentSettled { outcome } = &event
                && self.settles(&agent).await
            {
                break outcome.clone();
            }
            self.apply(event, &cx.updates);
        };
        End::Outcome(outcome, agent.last_answer())
    }

    /// Waits until the user stops it, or interrupts the call unless it has returned.
    async fn interrupted(&self, call: &CancellationToken) {
        let interrupt = async {
            call.cancelled().await;
            if self.state.lock().info.background {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = interrupt => {}
        }
    }

    fn started(&self, agent: &Agent, model: String) {
        {
            let mut state = self.state.lock();
            for message in std::mem::take(&mut state.messages) {
                agent.steer(message, Vec::new());
            }
            state.agent = Some(agent.clone());
            state.details.model.clone_from(&model);
            state.info.model = model;
            state.set_active();
        }
        self.reporter.publish_list();
    }

    /// Whether its run is over: no message came in the meantime.
    async fn settles(&self, agent: &Agent) -> bool {
        self.state.lock().is_closing = true;
        agent.caught_up().await;
        let is_over = !agent.state().is_streaming;
        self.state.lock().is_closing = is_over;
        is_over
    }

    /// Records an event, and passes it on to the clients and the call.
    fn apply(&self, event: Event, updates: &UpdateSink) {
        let mut state = self.state.lock();
        state.details.on_event(&event);
        let changed = state.note(&event);
        let is_background = state.info.background;
        if is_recorded(&event) {
            state.record.add(&event);
            if state.followers > 0 {
                self.reporter.publish(SessionEvent::SubagentEvent {
                    subagent: self.id.clone(),
                    event: Box::new(event.clone()),
                });
            }
        }
        drop(state);
        if changed {
            self.reporter.publish_list();
        }
        if let (Event::Accounting { entry }, true) = (&event, is_background) {
            self.reporter.send(NewsKind::Used(entry.clone()));
        }
        if !is_background && is_shown(&event) {
            let event = Box::new(event);
            updates.send(ToolUpdate::Agent { event });
        }
    }

    /// Stores the end, and gives the answer to the call or, in the background, to the session.
    fn end(&self, end: End, done: oneshot::Sender<ToolOutput>) {
        let mut state = self.state.lock();
        let output = match end {
            End::NotStarted(output) => output,
            End::Outcome(outcome, answer) => {
                let mut output = result_of(&outcome, answer, state.is_stopped);
                output.details = json!(state.details);
                output
            }
        };
        state.info.status = match &output.status {
            ToolStatus::Success => SubagentStatus::Done,
            ToolStatus::Aborted => SubagentStatus::Stopped,
            _ => SubagentStatus::Failed,
        };
        state.info.duration = state.elapsed();
        state.info.activity.clear();
        state.is_closing = true;
        state.agent = None;
        let (is_background, is_stopped) = (state.info.background, state.is_stopped);
        drop(state);
        if is_background {
            let parts = output.content.iter().map(ContentBlock::description);
            let text = parts.collect::<Vec<_>>().join("\n");
            let text = match &output.status {
                ToolStatus::Success => format!("{} ended. Its answer: {text}", self.id),
                _ => format!("{}: {text}", self.id),
            };
            let id = self.id.clone();
            let kind = if is_stopped {
                NewsKind::Stopped { id, text }
            } else {
                NewsKind::Ended { id, text }
            };
            self.reporter.send(kind);
        } else {
            // The call was interrupted if nobody waits for it.
            let _ = done.send(output);
        }
        self.reporter.send(NewsKind::JobsChanged);
        self.reporter.publish_list();
    }

    fn interruption(&self, when: &str) -> String {
        let is_stopped = self.state.lock().is_stopped;
        let who = if is_stopped {
            "the user stopped it"
        } else {
            "interrupted"
        };
        format!("{who} {when}")
    }

    /// A question begins or ends to wait for the user.
    pub(super) fn asks(&self, begins: bool) {
        {
            let mut state = self.state.lock();
            state.questions = if begins {
                state.questions + 1
            } else {
                state.questions.saturating_sub(1)
            };
            state.set_active();
        }
        self.reporter.publish_list();
    }

    /// Publishes the conversation so far, and every event from now on.
    pub(super) fn follow(&self, emitter: &Emitter) {
        let mut state = self.state.lock();
        state.followers += 1;
        let (events, skipped) = state.record.events();
        // No event comes in between: they are published with this lock.
        emitter.publish(SessionEvent::SubagentTranscript {
            subagent: self.id.clone(),
            skipped,
            events,
        });
    }

    pub(super) fn unfollow(&self) {
        let mut state = self.state.lock();
        state.followers = state.followers.saturating_sub(1);
    }

    /// Sends a message, which is delivered before the next request.
    pub(super) fn steer(&self, text: String) -> Result<(), String> {
        let mut state = self.state.lock();
        if state.is_closing || !state.info.is_active() {
            return Err(self.ended("it gets no more messages"));
        }
        match &state.agent {
            _ if text.trim().is_empty() => {}
            Some(agent) => agent.steer(text, Vec::new()),
            None => state.messages.push(text),
        }
        Ok(())
    }

    pub(super) fn stop(&self) -> Result<(), String> {
        let mut state = self.state.lock();
        if !state.info.is_active() {
            return Err(self.ended("there is nothing to stop"));
        }
        state.is_stopped = true;
        self.stop.cancel();
        Ok(())
    }

    /// Lets the call return while the work continues.
    pub(super) fn move_to_background(&self) -> Result<(), String> {
        {
            let mut state = self.state.lock();
            if !state.info.is_active() {
                return Err(self.ended("its answer is in the conversation"));
            }
            self.send_to_background(&mut state);
        }
        self.reporter.send(NewsKind::JobsChanged);
        self.reporter.publish_list();
        Ok(())
    }

    fn ended(&self, result: &str) -> String {
        format!("{} has ended: {result}", self.id)
    }
}

impl State {
    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The status of a subagent that has started.
    fn set_active(&mut self) {
        if self.info.is_active() {
            self.info.status = match (self.questions, &self.agent) {
                (0, None) => SubagentStatus::Waiting,
                (0, Some(_)) => SubagentStatus::Running,
                _ => SubagentStatus::Asks,
            };
        }
    }

    /// Updates the list entry from an event. Returns whether something changed.
    fn note(&mut self, event: &Event) -> bool {
        let idle = match event {
            Event::TurnStart { turn } => {
                self.info.turns = *turn;
                "thinking"
            }
            Event::MessageUpdate {
                delta: Delta::TextStart { .. },
                ..
            } => "answering",
            Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => {
                let activity = activity(tool_name, arguments);
                self.calls.push((call_id.clone(), activity));
                ""
            }
            Event::ToolExecutionEnd { call_id, .. } => {
                self.calls.retain(|(id, _)| id != call_id);
                "thinking"
            }
            Event::RetryScheduled { .. } => "waiting for a retry",
            Event::Accounting { .. } => {
                let total = &self.details.spending.total;
                self.info.tokens = total.total_tokens();
                self.info.cost = total.cost.total;
                return true;
            }
            _ => return false,
        };
        let call = self.calls.last().map(|(_, activity)| activity.as_str());
        self.info.activity = call.unwrap_or(idle).to_owned();
        true
    }
}

/// The result of a run for the model.
fn result_of(outcome: &RunOutcome, answer: Option<String>, is_stopped: bool) -> ToolOutput {
    let so_far = match &answer {
        Some(answer) => format!("; the answer so far: {answer}"),
        None => " before the first answer".to_owned(),
    };
    match outcome {
        RunOutcome::Completed => {
            let answer = answer.unwrap_or_else(|| "(no answer)".to_owned());
            ToolOutput::success(answer, serde_json::Value::Null)
        }
        RunOutcome::Interrupted => {
            let who = if is_stopped {
                "the user stopped it"
            } else {
                "interrupted"
            };
            ToolOutput::failed(ToolStatus::Aborted, format!("{who}{so_far}"))
        }
        failed => {
            let message = failed.error().unwrap_or_default();
            ToolOutput::error(format!("the subagent failed: {message}"))
        }
    }
}

/// The present work as words: `reading src/a.rs`.
fn activity(tool: &str, arguments: &serde_json::Value) -> String {
    let subject = osier_tools::subject(tool, arguments).unwrap_or_default();
    let verb = match osier_tools::find(tool) {
        Some(tool) => tool.view.verbs.now.to_lowercase(),
        None => tool.to_owned(),
    };
    listed(format!("{verb} {subject}").trim_end())
}

/// A text of a model on one line of a list.
fn listed(words: &str) -> String {
    let words = text::head_bytes(words.trim(), LISTED);
    text::single_line(&visible::visible(words))
}

/// Whether the call shows an event: text deltas and logs are not shown.
fn is_shown(event: &Event) -> bool {
    matches!(
        event,
        Event::TurnStart { .. }
            | Event::MessageEnd { .. }
            | Event::ToolExecutionStart { .. }
            | Event::ToolExecutionEnd { .. }
            | Event::RetryScheduled { .. }
            | Event::ProviderSwitched { .. }
            | Event::Notice { .. }
            | Event::Accounting { .. }
    )
}
