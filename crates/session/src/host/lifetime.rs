//! Sessions that open and close under a host.

use super::event::Event;
use super::hooks::Source;
use super::host::Task;
use super::session::OpenSession;
use super::setup::SessionChoice;

use crate::spending::Spending;
use osier_store::EntryKind;

impl Task {
    /// Opens a session. When that fails none is open: whoever asked decides what comes next.
    pub(super) async fn open(&mut self, choice: SessionChoice, source: Source) {
        if let Err(error) = self.ask_server_first().await {
            let message = error.to_string();
            let in_use = None;
            self.publish(Event::SessionFailed { message, in_use });
            return;
        }
        let wires = self.wires();
        match OpenSession::open(&self.setup, &mut self.models, choice, wires).await {
            Ok(mut session) => {
                self.publish(session.opened_event());
                self.tell_opened_permissions();
                if !session.indexed {
                    self.await_index(&session);
                }
                self.level = session.agent.state().thinking_level;
                self.spending = Spending::default();
                self.spent_before = None;
                self.session = Some(session);
                self.forget_todo();
                self.start_hooks(source);
                self.offer_subagents();
                self.renew_prompt();
                self.publish_selected(self.level);
                self.await_servers().await;
            }
            Err(error) => self.not_opened(&error),
        }
    }

    /// Ends what runs and gives the file up; `reason` is for hooks.
    pub(super) async fn close(&mut self, reason: &str) {
        self.end_fan().await;
        self.plugins.interrupt();
        self.hooks.interrupt();
        self.forget_reading().await;
        if !self.waiting.is_empty()
            && let Some(session) = &self.session
        {
            let findings = session.store.findings().await;
            self.indexed(findings.map_err(|error| error.to_string()))
                .await;
        }
        self.followed_job = None;
        let Some(mut session) = self.session.take() else {
            return;
        };
        let hooks = session.guard.hooks().cloned();
        self.give_up_hooks(hooks.as_deref());
        // The state is asked for behind whatever was said last, so that a prompt on its way is stored.
        session.agent.send(osier_agent::Op::Abort);
        session.agent.send(osier_agent::Op::GetState);
        while let Some(event) = session.events.recv().await {
            let settled = match &event {
                osier_agent::Event::State { state } if !state.is_streaming => break,
                osier_agent::Event::State { .. } => continue,
                event => matches!(event, osier_agent::Event::AgentSettled { .. }),
            };
            self.forward(session.told(event));
            if settled {
                break;
            }
        }
        session.close().await;
        self.end_hooks(hooks, reason).await;
    }

    pub(super) async fn rename(&mut self, name: String) {
        let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        self.store(EntryKind::SessionInfo { name: name.clone() })
            .await;
        self.publish(Event::SessionRenamed { name });
    }
}
