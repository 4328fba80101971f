//! Events of the agent on their way to the clients: features learn of them here.

use super::dispatch::{Actor, Completion};
use osier_agent::Severity;
use osier_protocol::Event;

impl Actor {
    /// Handles and publishes events of the agent.
    pub(super) fn forward(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.usage.on_event(&event, &self.emitter);
            let settled = matches!(
                &event,
                Event::Agent(osier_agent::Event::AgentSettled { .. })
            );
            if matches!(&event, Event::Agent(osier_agent::Event::AgentStart)) {
                self.pruning.stop();
                if self.setup.answers_questions {
                    self.sweeping.stop();
                }
            }
            if settled {
                self.start_idle_work();
            }
            self.title_first_prompt(&event);
            if let Some(session) = &mut self.session {
                session.tree.on_event(&event);
            }
            let hooks = self.session.as_ref();
            let hooks = hooks.and_then(|session| session.policy.hooks());
            self.hooks.on_event(&event, hooks, &self.setup);
            self.todo.on_event(&event, &self.emitter);
            if let (Some(session), Event::Agent(event)) = (&self.session, &event)
                && let osier_agent::Event::QueueUpdate {
                    steering,
                    follow_up,
                } = event
                && self.setup.answers_questions
            {
                let queued = [&**steering, follow_up].concat();
                let id = session.store.id();
                self.drafts.save_queue(id, queued, &self.emitter);
            }
            self.publish(event);
            if settled {
                self.commands.has_ended = true;
                if self.permissions.end_command() {
                    self.permissions.publish(&self.emitter);
                }
                let session = self.session.as_ref();
                self.plugins
                    .run_ended(session.map(|session| &session.agent));
            }
        }
    }

    /// Starts what waits until no run is on.
    fn start_idle_work(&mut self) {
        self.index
            .update_if_due(self.setup.answers_questions, &self.emitter);
        let files = self.session.as_ref().map(|session| session.files.is_some());
        if self.setup.answers_questions && files == Some(true) {
            self.pruning
                .restart(&self.setup.folders.data, &self.setup.settings);
        }
        if self.setup.answers_questions {
            self.sweeping.start();
        }
        if self.selection.is_default_late {
            let done = self.detached_callback(|()| Completion::DefaultChanged);
            done.call(());
        }
        if let Some(text) = osier_base::locked_file::warning() {
            self.notice(Severity::Warning, text);
        }
    }
}
