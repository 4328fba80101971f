//! What the model is told beside the conversation. Read beside the task once the first session is open,
//! and again with `Reload`; ops that depend on it wait until it is there.

use tokio::task::JoinHandle;

use super::event::Event;
use super::host::{Job, Task};
use crate::agent::{self, Severity};
use crate::coding::context::{ContextSources, ProjectContext, slash_parts};
use crate::coding::prompt::{PromptParts, system_prompt};

/// The context of a host.
#[derive(Debug, Default)]
pub(super) struct HostContext {
    pub known: ProjectContext,
    reading: Option<JoinHandle<ProjectContext>>,
}

impl HostContext {
    /// Whether a prompt has to wait.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }
}

impl Task {
    /// Begins to read.
    pub(super) fn read_context(&mut self) {
        let sources = ContextSources {
            config: self.setup.folders.config.clone(),
            home: self.setup.environment.get("HOME").map(Into::into),
            cwd: self.setup.cwd.clone(),
            extra: self.setup.context.clone(),
        };
        let jobs = self.jobs.clone();
        self.context.reading = Some(tokio::task::spawn_blocking(move || {
            let context = ProjectContext::load(&sources);
            // The loop takes it from the handle.
            let _ = jobs.send(Job::ContextRead);
            context
        }));
    }

    /// Takes what was read, and does what waited for it.
    pub(super) async fn context_read(&mut self) {
        let Some(reading) = self.context.reading.take() else {
            return;
        };
        // Reading never panics; if it did there would be nothing to tell.
        self.context.known = reading.await.unwrap_or_default();
        for problem in &self.context.known.problems {
            self.notice(Severity::Warning, problem.to_string());
        }
        self.renew_prompt();
        self.publish_commands();
        for op in std::mem::take(&mut self.waiting) {
            Box::pin(self.apply(op)).await;
        }
    }

    /// Gives the agent the prompt that holds now, when it is another one.
    pub(super) fn renew_prompt(&self) {
        let Some(session) = &self.session else { return };
        let state = session.agent.state();
        let can_read = state.tools.iter().any(|tool| tool == "read");
        let prompt = system_prompt(PromptParts {
            cwd: &self.setup.cwd,
            replacement: self.setup.system_prompt.as_deref(),
            addition: self.setup.append_system_prompt.as_deref(),
            context: &self.context.known.prompt(can_read),
            tools: &state.tools,
        });
        if prompt != state.system_prompt {
            session.agent.send(agent::Op::SetSystemPrompt { prompt });
        }
    }

    /// The slash commands that no mode brings.
    pub(super) fn publish_commands(&self) {
        self.publish(Event::Commands {
            commands: self.context.known.commands(),
        });
    }

    pub(super) fn publish_context(&self) {
        self.publish(Event::Context {
            parts: self.context.known.parts(),
        });
    }

    /// Puts in the place of `/name arguments` what it stands for. False when it cannot be had.
    pub(super) fn expand(&self, op: &mut agent::Op) -> bool {
        let (agent::Op::Prompt { text, .. }
        | agent::Op::Steer { text, .. }
        | agent::Op::FollowUp { text, .. }) = op
        else {
            return true;
        };
        let found = slash_parts(text.trim())
            .and_then(|(name, arguments)| self.context.known.expand(name, arguments));
        match found {
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
