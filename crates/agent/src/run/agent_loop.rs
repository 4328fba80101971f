//! The agent loop: request, answer, tool calls, queued messages, and again.
//!
//! Everything that happens is published, and every final message is stored before it enters the
//! conversation. The loop decides on `TurnStatus` alone. Cancelling the token ends it at the next await.

use osier_base::task::caught;
use osier_llm::{AssistantMessage, StopReason, TurnStatus};
use tokio_util::sync::CancellationToken;

use super::call::{CallResult, call_model};
use super::log::RunLog;
use super::tool_calls::run_tools;
use super::turn::Turn;
use crate::core::Core;
use crate::data::{AgentMessage, Event, RunOutcome, Severity, ToolResultMessage, UserMessage};
use crate::interceptor::{AgentAccess, CompactionPoint, StopRun};

/// Maximum number of times that an answer continues after a pause.
const MAX_PAUSES: u32 = 10;

/// Runs until the model stops calling tools, the user interrupts, or the run fails.
pub(crate) async fn run(
    core: &Core,
    cancel: &CancellationToken,
    input: Vec<UserMessage>,
) -> RunOutcome {
    core.publish(Event::AgentStart);
    let mut run = Run {
        core,
        cancel,
        log: RunLog::new(core),
        turn: 0,
        overflowed: false,
        pauses: 0,
    };
    let driven = caught(run.drive(input)).await;
    let driven = driven.unwrap_or_else(|message| Err(StopRun { message }));
    let outcome = driven.unwrap_or_else(|StopRun { message }| {
        run.log.fatal(run.turn, &message);
        RunOutcome::Stopped { message }
    });
    core.publish(Event::AgentEnd {
        outcome: outcome.clone(),
    });
    outcome
}

/// The run in progress.
struct Run<'a> {
    core: &'a Core,
    cancel: &'a CancellationToken,
    log: RunLog<'a>,
    /// Model calls of the run, from 1.
    turn: u32,
    /// Whether the conversation was compacted because it exceeded the context window, and no call
    /// has succeeded since.
    overflowed: bool,
    /// The number of successive answers that the provider paused.
    pauses: u32,
}

impl<'a> Run<'a> {
    async fn drive(&mut self, input: Vec<UserMessage>) -> Result<RunOutcome, StopRun> {
        for message in input {
            self.accept(message).await?;
        }
        loop {
            self.deliver_pending().await?;
            self.make_room(CompactionPoint::BeforeRequest).await?;
            self.core.refresh_tools();
            self.remind().await?;
            let turn = self.next_turn();
            self.core.publish(Event::TurnStart { turn: turn.number });
            let CallResult {
                answer,
                status,
                notes,
            } = call_model(turn).await?;
            let results = match &answer {
                Some(answer) => run_tools(turn, answer, &notes).await?,
                None => Vec::new(),
            };
            self.end_turn(&results, status.clone()).await?;
            let overflows = turn.can_compact
                && (matches!(status, TurnStatus::ContextOverflow { .. })
                    || self.fills_window(answer.as_ref()));
            if overflows && self.make_room(CompactionPoint::Overflow).await? {
                self.overflowed = true;
                // The call that exceeded the window does not count as a turn.
                self.turn -= 1;
                continue;
            }
            self.overflowed &= !status.is_success() || overflows;
            if self.cancel.is_cancelled() {
                return Ok(RunOutcome::Interrupted);
            }
            if !status.is_success() {
                return Ok(RunOutcome::Failed { status });
            }
            if turn.is_last {
                return Ok(self.last_turn_outcome(answer.as_ref()));
            }
            if self.continues(answer.as_ref()) {
                continue;
            }
            let is_answered = results.is_empty() || self.ends_with(&results);
            if is_answered && !self.deliver_follow_up().await? {
                self.warn_if_empty(answer.as_ref());
                self.make_room(CompactionPoint::AfterRun).await?;
                return Ok(RunOutcome::Completed);
            }
        }
    }

    fn next_turn(&mut self) -> Turn<'a> {
        self.turn += 1;
        let limit = self.core.config.max_turns;
        Turn {
            core: self.core,
            cancel: self.cancel,
            log: self.log,
            number: self.turn,
            is_last: limit.is_some_and(|limit| self.turn >= limit),
            can_compact: !self.overflowed,
        }
    }

    /// Whether the provider paused the answer, so that the next request continues it.
    fn continues(&mut self, answer: Option<&AssistantMessage>) -> bool {
        let is_paused = answer.is_some_and(|answer| {
            answer.stop_reason == StopReason::Paused && !answer.content.is_empty()
        });
        self.pauses = if is_paused { self.pauses + 1 } else { 0 };
        if self.pauses > MAX_PAUSES {
            let text = format!(
                "the provider paused the answer {MAX_PAUSES} times: osier does not continue it"
            );
            self.core.notice(Severity::Warning, &text);
        }
        (1..=MAX_PAUSES).contains(&self.pauses)
    }

    /// Whether the answer is empty because the context window is full. Some providers do not report that as
    /// an error.
    fn fills_window(&self, answer: Option<&AssistantMessage>) -> bool {
        let models = self.core.models();
        let window = models.first().map_or(0, |model| model.context_window);
        window > 0
            && answer.is_some_and(|answer| {
                answer.stop_reason == StopReason::Length
                    && answer.content.is_empty()
                    && answer.usage.context_tokens() >= window / 100 * 99
            })
    }

    /// Warns about an empty answer: without the notice, nothing would be visible.
    fn warn_if_empty(&self, answer: Option<&AssistantMessage>) {
        let is_empty = |answer: &AssistantMessage| {
            answer.stop_reason == StopReason::Stop && answer.text().trim().is_empty()
        };
        if answer.is_some_and(is_empty) {
            let text = "the model ended its turn without an answer";
            self.core.notice(Severity::Warning, text);
        }
    }

    /// Lets the interceptors shorten the conversation; returns whether one of them did.
    async fn make_room(&self, point: CompactionPoint) -> Result<bool, StopRun> {
        if !self.core.load_history(self.cancel).await? {
            return Ok(false);
        }
        for interceptor in self.core.interceptors() {
            let messages = interceptor.make_room(self.core, point, self.cancel).await?;
            if let Some(messages) = messages {
                self.core.state().conversation.replace(messages);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a message of the user to the conversation.
    async fn accept(&self, mut message: UserMessage) -> Result<(), StopRun> {
        let sent = message.text.clone();
        for interceptor in self.core.interceptors() {
            interceptor.on_input(&mut message).await?;
        }
        if message.text != sent {
            message.typed.get_or_insert(sent);
        }
        self.core.commit(AgentMessage::User(message)).await
    }

    /// Delivers the messages that were appended or queued for steering while tools ran.
    async fn deliver_pending(&self) -> Result<(), StopRun> {
        let (deferred, steering) = {
            let mut state = self.core.state();
            (
                state.conversation.take_deferred(),
                state.queues.steering.take(),
            )
        };
        for message in deferred {
            self.core.commit(message).await?;
        }
        if !steering.is_empty() {
            self.core.publish_queues();
        }
        for message in steering {
            self.accept(message).await?;
        }
        Ok(())
    }

    /// Adds the reminders of the interceptors to the conversation.
    async fn remind(&self) -> Result<(), StopRun> {
        for interceptor in self.core.interceptors() {
            if interceptor.needs_history() && !self.core.load_history(self.cancel).await? {
                return Ok(());
            }
            for message in interceptor.reminders(self.core).await {
                self.core.commit(message).await?;
            }
        }
        Ok(())
    }

    /// Whether one of the results completes the task of the run.
    fn ends_with(&self, results: &[ToolResultMessage]) -> bool {
        let tools = self.core.state().tools.clone();
        results.iter().any(|result| {
            let tool = tools.get(&result.result.tool_name);
            tool.is_some_and(|tool| tool.ends_run(result))
        })
    }

    /// Delivers a message that continues the run, if there is one.
    async fn deliver_follow_up(&self) -> Result<bool, StopRun> {
        let is_pending = {
            let state = self.core.state();
            !state.queues.steering.is_empty() || state.conversation.awaits_answer()
        };
        if is_pending {
            return Ok(true);
        }
        let follow_up = self.core.state().queues.follow_up.take();
        if !follow_up.is_empty() {
            self.core.publish_queues();
            for message in follow_up {
                self.accept(message).await?;
            }
            return Ok(true);
        }
        for interceptor in self.core.interceptors() {
            if let Some(mut message) = interceptor.before_settle().await {
                // The user did not type this message.
                message.typed = Some(String::new());
                self.accept(message).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn end_turn(
        &self,
        results: &[ToolResultMessage],
        status: TurnStatus,
    ) -> Result<(), StopRun> {
        for interceptor in self.core.interceptors() {
            interceptor.on_turn_end(results, self.cancel).await?;
        }
        self.core.publish(Event::TurnEnd {
            turn: self.turn,
            status,
        });
        Ok(())
    }

    /// The last allowed turn completes the run only with an answer.
    fn last_turn_outcome(&self, answer: Option<&AssistantMessage>) -> RunOutcome {
        let is_answered = answer.is_some_and(|answer| {
            answer.tool_calls().next().is_none() && !answer.text().trim().is_empty()
        });
        if is_answered {
            return RunOutcome::Completed;
        }
        let outcome = RunOutcome::MaxTurns {
            max_turns: self.turn,
        };
        self.log
            .fatal(self.turn, &outcome.error().unwrap_or_default());
        outcome
    }
}
