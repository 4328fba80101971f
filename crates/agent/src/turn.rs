//! One run, to be read top to bottom: request, stream, tools, queues, again.
//!
//! Everything that happens is published; every final message is stored before it counts. The loop
//! decides on `TurnStatus` alone. Cancelling the token ends it at the next await with what there is.

use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::call::{CallEnd, call_model, load_history};
use super::change::{Desk, Moment};
use super::core::Core;
use super::event::{Event, RunOutcome};
use super::interceptor::StopRun;
use super::message::{AgentMessage, Severity, ToolResultMessage, UserMessage};
use super::recorder::Recorder;
use super::tool_run::run_tools;
use osier_llm::{AssistantMessage, StopReason, TurnStatus};

/// What told the model that its last turn has come; sent with that request, never stored.
pub const FINAL_TURN_MESSAGE: &str = "This is your last turn: tools are no longer available. \
     Answer now with what you know, and say what is left undone.";

/// The run in progress.
pub(super) struct Run<'a> {
    pub core: &'a Core,
    pub cancel: &'a CancellationToken,
    /// Counts model calls of the run from 1.
    pub turn: u32,
    /// The last allowed turn: no tools are offered and none runs.
    pub last_turn: bool,
    /// The conversation was compacted because it did not fit, and no call has succeeded since.
    pub overflowed: bool,
    pub recorder: Recorder<'a>,
}

/// Runs until the model stops calling tools, the user interrupts, or it fails for good.
pub(super) async fn run(
    core: &Core,
    cancel: &CancellationToken,
    input: Vec<UserMessage>,
) -> RunOutcome {
    core.publish(Event::AgentStart);
    let mut run = Run {
        core,
        cancel,
        turn: 0,
        last_turn: false,
        overflowed: false,
        recorder: Recorder::new(core),
    };
    let outcome = match run.drive(input).await {
        Ok(outcome) => outcome,
        Err(stop) => {
            run.recorder.fatal(run.turn, &stop.message);
            RunOutcome::Stopped {
                message: stop.message,
            }
        }
    };
    core.publish(Event::AgentEnd {
        outcome: outcome.clone(),
    });
    outcome
}

impl Run<'_> {
    async fn drive(&mut self, input: Vec<UserMessage>) -> Result<RunOutcome, StopRun> {
        for message in input {
            self.accept(message).await?;
        }
        loop {
            self.deliver_waiting().await?;
            self.make_room(Moment::BeforeRequest).await?;
            self.core.refresh_tools();
            self.turn += 1;
            self.last_turn = self
                .core
                .config
                .max_turns
                .is_some_and(|limit| self.turn >= limit);
            self.core.publish(Event::TurnStart { turn: self.turn });
            let CallEnd { answer, status } = call_model(self).await?;
            let results = match &answer {
                Some(answer) => run_tools(self, answer).await?,
                None => Vec::new(),
            };
            self.end_turn(&results, status.clone()).await?;
            let is_full = self.compacts_after(&status) || self.is_silently_full(answer.as_ref());
            if is_full && self.make_room(Moment::Overflow).await? {
                self.overflowed = true;
                // The call that did not fit was none of the turns allowed.
                self.turn -= 1;
                continue;
            }
            self.overflowed &= !status.is_success() || is_full;
            if self.cancel.is_cancelled() {
                return Ok(RunOutcome::Interrupted);
            }
            if !status.is_success() {
                return Ok(RunOutcome::Failed { status });
            }
            if self.last_turn {
                return Ok(self.judge_last_turn(answer.as_ref()));
            }
            let called_tools = !results.is_empty();
            if !called_tools && !self.has_more_to_do().await? {
                self.tell_of_silence(answer.as_ref());
                self.make_room(Moment::AfterRun).await?;
                return Ok(RunOutcome::Completed);
            }
        }
    }

    /// Whether a failed call is made once more when room can be made for it.
    pub(super) fn compacts_after(&self, status: &TurnStatus) -> bool {
        !self.overflowed && matches!(status, TurnStatus::ContextOverflow { .. })
    }

    /// Whether the model had no room to say anything and its provider did not call that an error.
    fn is_silently_full(&self, answer: Option<&AssistantMessage>) -> bool {
        let models = self.core.state().models.clone();
        let window = models.first().map_or(0, |model| model.context_window);
        !self.overflowed
            && window > 0
            && answer.is_some_and(|answer| {
                answer.stop_reason == StopReason::Length
                    && answer.content.is_empty()
                    && answer.usage.context_tokens() >= window / 100 * 99
            })
    }

    /// A run that ends without a word would look as if nothing had happened.
    fn tell_of_silence(&self, answer: Option<&AssistantMessage>) {
        let silent = |answer: &AssistantMessage| {
            answer.stop_reason == StopReason::Stop && answer.text().trim().is_empty()
        };
        if answer.is_some_and(silent) {
            let text = "the model ended its turn without an answer";
            self.core.notice(Severity::Warning, text);
        }
    }

    /// Lets whoever can shorten the conversation; whether somebody did.
    async fn make_room(&mut self, moment: Moment) -> Result<bool, StopRun> {
        if !load_history(self).await? {
            return Ok(false);
        }
        for interceptor in self.core.interceptors() {
            let desk = Desk::new(self.core);
            if let Some(messages) = interceptor.make_room(desk, moment, self.cancel).await? {
                self.core.replace(messages);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes a message of the user into the conversation.
    async fn accept(&mut self, mut message: UserMessage) -> Result<(), StopRun> {
        for interceptor in self.core.interceptors() {
            interceptor.on_input(&mut message).await?;
        }
        self.core.commit(AgentMessage::User(message), None).await?;
        Ok(())
    }

    /// What was appended or steered while tools ran enters before the next request.
    async fn deliver_waiting(&mut self) -> Result<(), StopRun> {
        let (held, steering) = {
            let mut state = self.core.state();
            (
                std::mem::take(&mut state.held),
                state.queues.steering.take(),
            )
        };
        for message in held {
            self.core.commit(message, None).await?;
        }
        if !steering.is_empty() {
            self.core.publish_queues();
        }
        for message in steering {
            self.accept(message).await?;
        }
        Ok(())
    }

    /// The model would stop: is there a message that makes it go on?
    async fn has_more_to_do(&mut self) -> Result<bool, StopRun> {
        if !self.core.state().queues.steering.is_empty() {
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
            if let Some(message) = interceptor.before_settle().await {
                self.accept(message).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn end_turn(
        &mut self,
        results: &[ToolResultMessage],
        status: TurnStatus,
    ) -> Result<(), StopRun> {
        for interceptor in self.core.interceptors() {
            interceptor.on_turn_end(results).await?;
        }
        self.core.publish(Event::TurnEnd {
            turn: self.turn,
            status,
        });
        Ok(())
    }

    /// On the last allowed turn only an answer counts.
    fn judge_last_turn(&mut self, answer: Option<&AssistantMessage>) -> RunOutcome {
        let answered = answer.is_some_and(|answer| {
            answer.tool_calls().next().is_none() && !answer.text().trim().is_empty()
        });
        if answered {
            return RunOutcome::Completed;
        }
        let outcome = RunOutcome::MaxTurns {
            max_turns: self.turn,
        };
        self.recorder
            .fatal(self.turn, &outcome.error().unwrap_or_default());
        outcome
    }

    /// Stores a tool's result and takes it into the conversation.
    pub(super) async fn commit_result(
        &self,
        result: Arc<ToolResultMessage>,
    ) -> Result<(), StopRun> {
        let message = AgentMessage::ToolResult(Arc::unwrap_or_clone(result));
        self.core.commit(message, None).await?;
        Ok(())
    }
}

/// Milliseconds since `start`.
pub(super) fn elapsed_ms(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
