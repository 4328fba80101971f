//! Requests to the agent: prompts with slash commands, and the events of prompts that other features need.

use super::run::Actor;
use crate::context::project::Expanded;
use crate::cx::NO_SESSION;
use crate::sessions::open_session::OpenSession;
use osier_agent::Severity;

impl Actor {
    pub(super) async fn apply_agent(&mut self, mut op: osier_agent::Op) {
        let values = self.placeholders();
        let plugins = self.extensions.plugins.loaded_plugins();
        if starts_run(&op) {
            plugins.user_acted();
        }
        match self
            .extensions
            .context
            .expand(&mut op, plugins, &values, &self.emitter)
        {
            Expanded::Text => self.pass_to_agent(op).await,
            Expanded::Nothing => {}
            Expanded::Command(expansion) => self.prepare_command(*expansion, op),
        }
    }

    pub(super) async fn pass_to_agent(&mut self, op: osier_agent::Op) {
        match &op {
            osier_agent::Op::Abort => {
                self.extensions.commands.cancel();
                self.extensions.plugins.loaded_plugins().interrupt();
                self.extensions.hooks.interrupt();
                self.work.shell.cancel();
            }
            osier_agent::Op::SetThinkingLevel { level } => {
                let session = self.session.as_ref().map(|session| &session.active);
                self.selection
                    .set_level(*level, session, &self.emitter)
                    .await;
            }
            osier_agent::Op::SetTools { names } => {
                self.has_chosen_tools = true;
                // The prompt names tools, too.
                if let Some(session) = &self.session {
                    let prompt = self.system_prompt(names);
                    session
                        .agent
                        .send(osier_agent::Op::SetSystemPrompt { prompt });
                }
            }
            _ => {}
        }
        match &self.session {
            Some(session) if replaces_during_run(&op, session) => {
                self.notice(
                    Severity::Warning,
                    "the conversation was not replaced: a run is on",
                );
            }
            Some(session) => {
                self.program.note(&op);
                self.emitter.passed_to_agent();
                session.agent.send(op);
            }
            None => self.notice(Severity::Error, NO_SESSION),
        }
    }
}

/// Whether the user starts or continues a run with this request.
fn starts_run(op: &osier_agent::Op) -> bool {
    use osier_agent::Op;
    matches!(
        op,
        Op::Prompt { .. } | Op::Steer { .. } | Op::FollowUp { .. } | Op::Continue
    )
}

/// Whether an op would replace the conversation during a run.
fn replaces_during_run(op: &osier_agent::Op, session: &OpenSession) -> bool {
    matches!(op, osier_agent::Op::ReplaceMessages { .. }) && session.agent.state().is_streaming
}
