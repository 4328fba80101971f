//! The hooks, the plugins and the project context of the working directory.

use osier_extensions::hooks::HookNews;
use osier_extensions::plugins::channel;
use osier_protocol::questions::Questions;
use tokio::sync::mpsc;

use super::hooks::HookRunner;
use super::plugins::PluginHost;
use crate::context::commands::CommandState;
use crate::context::project::ContextState;
use crate::setup::SessionSetup;

/// The extensions of a session.
#[derive(Debug)]
pub(crate) struct Extensions {
    pub hooks: HookRunner,
    pub plugins: PluginHost,
    pub context: ContextState,
    pub commands: CommandState,
}

impl Extensions {
    /// Also returns the requests of plugins and the news of hooks.
    pub(crate) fn new(
        questions: &Questions,
        setup: &SessionSetup,
    ) -> (Self, channel::Requests, mpsc::UnboundedReceiver<HookNews>) {
        let (plugins, requests) = PluginHost::new(
            questions.clone(),
            setup.cwd.clone(),
            setup.answers_questions,
        );
        let (hooks, news) = HookRunner::new(setup, questions);
        let extensions = Self {
            hooks,
            plugins,
            context: ContextState::default(),
            commands: CommandState::default(),
        };
        (extensions, requests, news)
    }
}
