//! Events of the agent on their way to the clients: features learn of them here.

use super::run::Actor;
use crate::conversation::compaction::overflow_advice;
use futures_util::future::FutureExt as _;
use osier_agent::{RunOutcome, Severity};
use osier_llm::TurnStatus;
use osier_protocol::Event;

impl Actor {
    /// Handles and publishes events of the agent.
    pub(super) fn forward(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.progress.usage.on_event(&event, &self.emitter);
            let settled = matches!(
                &event,
                Event::Agent(osier_agent::Event::AgentSettled { .. })
            );
            if matches!(&event, Event::Agent(osier_agent::Event::AgentStart)) {
                self.project.run_started(&self.setup);
            }
            if settled {
                self.start_idle_work();
            }
            self.explain_overflow(&event);
            self.title_first_prompt(&event);
            if let Some(session) = &mut self.session {
                session.tree.on_event(&event);
            }
            let hooks = self.session.as_ref();
            let hooks = hooks.and_then(|session| session.policy.hooks());
            self.extensions.hooks.on_event(&event, hooks, &self.setup);
            self.progress.todo.on_event(&event, &self.emitter);
            if let (Some(session), Event::Agent(event)) = (&self.session, &event)
                && let osier_agent::Event::QueueUpdate {
                    steering,
                    follow_up,
                } = event
                && self.setup.answers_questions
                && session.store.path().is_some()
            {
                let queued = [&**steering, follow_up].concat();
                let id = session.store.id();
                self.prompts.drafts.save_queue(id, queued, &self.emitter);
            }
            self.publish(event);
            if settled {
                self.extensions.commands.has_ended = true;
                if self.safety.permissions.end_command() {
                    self.safety.permissions.publish(&self.emitter);
                }
                let session = self.session.as_ref();
                self.extensions
                    .plugins
                    .run_ended(session.map(|session| &session.agent));
            }
        }
    }

    /// A run failed because the conversation does not fit the context window: says what to do.
    fn explain_overflow(&self, event: &Event) {
        let Event::Agent(osier_agent::Event::AgentSettled { outcome }) = event else {
            return;
        };
        if let RunOutcome::Failed {
            status: TurnStatus::ContextOverflow { .. },
        } = outcome
            && let Some(session) = &self.session
        {
            let index = session.store.index();
            let messages = index.context(index.leaf().as_deref());
            let model = self.selection.models.chosen();
            let window = (&*model.reference(), model.context_window);
            let is_automatic = session.tree.compactor.is_automatic();
            self.notice(
                Severity::Error,
                overflow_advice(&messages, window, is_automatic),
            );
        }
    }

    /// Starts work that waits until no run is active.
    fn start_idle_work(&mut self) {
        self.index
            .update_if_due(self.setup.answers_questions, &self.emitter);
        let session = self.session.as_ref();
        let records_files = session.is_some_and(|session| session.files.is_some());
        self.project.run_ended(&self.setup, records_files);
        if self.selection.is_default_late {
            let done = self.async_detached(|actor, ()| actor.choose_better_default().boxed());
            done.call(());
        }
        if let Some(text) = osier_base::locked_file::warning() {
            self.notice(Severity::Warning, text);
        }
    }
}
