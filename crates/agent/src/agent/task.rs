//! The task of an agent. It applies commands in order and does one run or change at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use osier_base::task::caught;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::ops::{NextStep, apply};
use crate::change::{Change, ChangeOutcome};
use crate::core::Core;
use crate::data::{Event, Op, RunOutcome, Severity, UserMessage};
use crate::interceptor::AgentAccess;
use crate::run;

/// A message to the task of an agent.
pub(super) enum Command {
    Op(Op),
    Change(Box<dyn Change>),
    /// Notifies the sender when all earlier commands have been received.
    Sync(oneshot::Sender<()>),
}

/// The task of an agent; it ends when every handle was dropped.
pub(super) struct Task {
    core: Arc<Core>,
    commands: mpsc::UnboundedReceiver<Command>,
    /// Changes that arrived during a brief one.
    waiting: VecDeque<Box<dyn Change>>,
    /// Whether the work in progress is a brief change.
    is_brief: bool,
}

impl Task {
    pub(super) fn new(core: Arc<Core>, commands: mpsc::UnboundedReceiver<Command>) -> Self {
        Self {
            core,
            commands,
            waiting: VecDeque::new(),
            is_brief: false,
        }
    }

    pub(super) async fn serve(mut self) {
        while let Some(command) = self.commands.recv().await {
            match command {
                Command::Op(op) => {
                    if let NextStep::Run(input) = apply(&self.core, op).await {
                        self.run_until_settled(input).await;
                    }
                }
                Command::Change(change) => self.perform_all(change).await,
                Command::Sync(reached) => drop(reached.send(())),
            }
        }
    }

    /// Performs a change, then the changes that waited for it. Messages that arrived in the
    /// meantime start a run.
    async fn perform_all(&mut self, first: Box<dyn Change>) {
        let mut next = Some(first);
        let mut awaits_answer = false;
        while let Some(change) = next {
            awaits_answer |= self.perform(change).await;
            next = self.waiting.pop_front();
        }
        let queued = self.drain_queued();
        if awaits_answer || !queued.is_empty() {
            self.run_until_settled(queued).await;
        }
    }

    /// Returns whether the model has to answer a message that was appended meanwhile.
    async fn perform(&mut self, change: Box<dyn Change>) -> bool {
        let core = Arc::clone(&self.core);
        core.state().running = true;
        let cancel = CancellationToken::new();
        self.is_brief = change.is_brief();
        let work = change.perform(&*core, &cancel);
        let outcome = self.apply_commands_during(caught(work), &cancel).await;
        self.is_brief = false;
        let outcome = outcome.unwrap_or_else(|problem| {
            core.notice(Severity::Error, problem);
            ChangeOutcome::default()
        });
        if let Some(history) = outcome.history {
            core.state().conversation.replace_with_history(history);
        }
        let awaits_answer = self.settle(None).await;
        for event in outcome.events {
            core.publish(event);
        }
        if let Some(on_complete) = outcome.on_complete {
            on_complete();
        }
        awaits_answer
    }

    /// Lets a change wait for a brief one, unless a message is queued before it, which starts a run. Rejects it otherwise.
    fn defer(&mut self, change: Box<dyn Change>) {
        if self.is_brief && self.core.state().queues.waiting().next().is_none() {
            self.waiting.push_back(change);
        } else {
            change.refused();
        }
    }

    /// Runs, and runs again for messages that arrived too late for the previous run.
    async fn run_until_settled(&mut self, mut input: Vec<UserMessage>) {
        let core = Arc::clone(&self.core);
        core.state().running = true;
        let outcome = loop {
            let cancel = CancellationToken::new();
            let work = run::run(&core, &cancel, input);
            let outcome = self.apply_commands_during(work, &cancel).await;
            let is_completed = matches!(outcome, RunOutcome::Completed);
            let awaits_answer = is_completed && core.state().conversation.awaits_answer();
            input = match outcome {
                RunOutcome::Completed => self.drain_queued(),
                _ => Vec::new(),
            };
            if input.is_empty() && !awaits_answer {
                break outcome;
            }
        };
        self.settle(outcome.error()).await;
        for interceptor in core.interceptors() {
            interceptor.on_settled(&outcome).await;
        }
        core.publish(Event::AgentSettled { outcome });
    }

    /// Waits for `work` and applies commands meanwhile. An abort, or the last handle's drop, cancels it.
    async fn apply_commands_during<T>(
        &mut self,
        work: impl Future<Output = T>,
        cancel: &CancellationToken,
    ) -> T {
        tokio::pin!(work);
        let mut abandoned = false;
        loop {
            tokio::select! {
                biased;
                command = self.commands.recv(), if !abandoned => match command {
                    None => {
                        abandoned = true;
                        cancel.cancel();
                    }
                    Some(Command::Change(change)) => self.defer(change),
                    Some(Command::Sync(reached)) => drop(reached.send(())),
                    Some(Command::Op(op)) => {
                        if apply(&self.core, op).await == NextStep::Abort {
                            cancel.cancel();
                        }
                    }
                },
                result = &mut work => return result,
            }
        }
    }

    /// Makes the state idle and commits the deferred messages. Returns whether the model has to answer one of them.
    async fn settle(&mut self, error: Option<String>) -> bool {
        let (deferred, awaits_answer) = {
            let mut state = self.core.state();
            state.running = false;
            state.partial = None;
            state.pending_tool_calls.clear();
            state.error = error;
            let awaits_answer = state.conversation.awaits_answer();
            (state.conversation.take_deferred(), awaits_answer)
        };
        for message in deferred {
            if let Err(stop) = self.core.commit(message).await {
                self.core.notice(Severity::Error, stop.message);
            }
        }
        awaits_answer
    }

    fn drain_queued(&self) -> Vec<UserMessage> {
        let queued = self.core.state().queues.take();
        if !queued.is_empty() {
            self.core.publish_queues();
        }
        queued
    }
}
