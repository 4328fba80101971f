//! What the model is told beside the conversation. Read beside the task once the first session is open,
//! and again with `Reload`; ops that depend on it wait until it is there.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::event::Event;
use super::host::{Job, Task};
use super::session::prompt;
use osier_agent::Severity;
use osier_context::{AddedCommand, ContextSources, ProjectContext, slash_parts};
use osier_extensions::plugins::Loaded;

/// What is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Everything,
    /// Files of plug-ins changed; the prompt stays as it is.
    Plugins,
}

/// What a reading gave; no context when only plug-ins were read.
type Read = (Option<ProjectContext>, Loaded);

/// The context of a host.
#[derive(Debug, Default)]
pub(super) struct HostContext {
    pub known: ProjectContext,
    reading: Option<JoinHandle<Read>>,
    /// The commands that were told last.
    told: Vec<AddedCommand>,
    /// Asked for while one was on.
    next: Option<Reading>,
}

impl HostContext {
    /// Whether a prompt has to wait.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }
}

impl Task {
    /// Begins to read; while that is on, the next one waits for it.
    pub(super) fn read_context(&mut self, what: Reading) {
        if self.context.is_reading() {
            let wider = self.context.next == Some(Reading::Everything);
            self.context.next = Some(if wider { Reading::Everything } else { what });
            return;
        }
        let sources = ContextSources {
            config: self.setup.folders.config.clone(),
            home: self.setup.environment.get("HOME").map(Into::into),
            cwd: self.setup.cwd.clone(),
            extra: self.setup.context.clone(),
        };
        let (jobs, plugins) = (self.jobs.clone(), Arc::clone(&self.plugins));
        let folders = self.plugin_folders();
        // Beside the task: a plug-in may ask the host for something while it loads.
        self.context.reading = Some(tokio::spawn(async move {
            let context = async {
                let load = move || ProjectContext::load(&sources);
                match what {
                    Reading::Everything => tokio::task::spawn_blocking(load).await.ok(),
                    Reading::Plugins => None,
                }
            };
            let read = tokio::join!(context, plugins.load(folders));
            let _ = jobs.send(Job::ContextRead);
            read
        }));
    }

    /// Takes what was read, and does what waited for it.
    pub(super) async fn context_read(&mut self) {
        let Some(reading) = self.context.reading.take() else {
            return;
        };
        let (context, loaded) = reading.await.unwrap_or_default();
        if let Some(context) = context {
            self.context.known = context;
            self.offer_subagents();
            for problem in &self.context.known.problems {
                self.notice(Severity::Warning, problem.to_string());
            }
        }
        self.plugins_loaded(&loaded);
        self.renew_prompt();
        self.publish_commands();
        if let Some(next) = self.context.next.take() {
            self.read_context(next);
            return;
        }
        self.apply_waiting().await;
    }

    /// The session closes: what waits for a reading waits no more.
    pub(super) async fn forget_reading(&mut self) {
        if !self.waiting.is_empty()
            && let Some(reading) = self.context.reading.take()
        {
            reading.abort();
            self.apply_waiting().await;
            // The session that comes next knows it again.
            self.read_context(Reading::Everything);
        }
    }

    /// Gives the agent the prompt that holds now, when it is another one.
    pub(super) fn renew_prompt(&self) {
        let Some(session) = &self.session else { return };
        let state = session.agent.state();
        let prompt = self.prompt(&state.tools);
        if prompt != state.system_prompt {
            session
                .agent
                .send(osier_agent::Op::SetSystemPrompt { prompt });
        }
    }

    /// The system prompt of an agent that offers `tools`.
    pub(super) fn prompt(&self, tools: &[String]) -> String {
        let can_read = tools.iter().any(|tool| tool == "read");
        prompt(&self.setup, &self.context.known.prompt(can_read), tools)
    }

    /// Tells the slash commands that no mode brings, when they are others than before.
    pub(super) fn publish_commands(&mut self) {
        let mut commands = self.plugins.commands();
        for command in self.context.known.commands() {
            if commands.iter().all(|known| known.name != command.name) {
                commands.push(command);
            }
        }
        if commands != self.context.told {
            self.context.told.clone_from(&commands);
            self.publish(Event::Commands { commands });
        }
    }

    pub(super) fn publish_context(&self) {
        self.publish(Event::Context {
            parts: self.context.known.parts(),
        });
    }

    /// Puts in the place of `/name arguments` what it stands for. False when nothing is left to send: a
    /// plug-in does it, or it cannot be had.
    pub(super) fn expand(&self, op: &mut osier_agent::Op) -> bool {
        let (osier_agent::Op::Prompt { text, .. }
        | osier_agent::Op::Steer { text, .. }
        | osier_agent::Op::FollowUp { text, .. }) = op
        else {
            return true;
        };
        let parts = slash_parts(text.trim());
        if let Some((name, arguments)) = parts
            && self.plugins.run_command(name, arguments.trim())
        {
            return false;
        }
        match parts.and_then(|(name, arguments)| self.context.known.expand(name, arguments)) {
            None => true,
            Some(Ok(expanded)) => {
                *text = expanded;
                true
            }
            Some(Err(problem)) => {
                self.notice(Severity::Error, problem.to_string());
                false
            }
        }
    }
}
