//! The connections of a session to its actor.

use std::sync::Arc;

use crate::agents::subagents::SubagentNews;
use crate::agents::terminals::TerminalNews;
use crate::context::nearby::Nearby;
use crate::conversation::budget::SessionBudget;
use crate::emitter::{Callback, Emitter};
use crate::extensions::sampling::SamplingNews;
use crate::models::SmallModels;
use crate::safety::review::{ReviewNews, SessionReviewer};
use crate::safety::tool_policy::ToolPolicy;
use crate::safety::trust::TrustDecision;
use crate::setup::SessionSetup;
use osier_extensions::hooks::Hooks;
use osier_extensions::plugins::Plugins;
use osier_mcp::ServerEvent;
use osier_protocol::questions::Questions;
use osier_store::SessionStore;
use osier_store::writer::Writer;
use osier_tools::{OutputLimits, OutputOptions};

/// The connections of a session to its actor, to clients and to extensions.
#[derive(Debug, Clone)]
pub(crate) struct SessionContext {
    pub emitter: Emitter,
    pub mcp_changed: Callback<ServerEvent>,
    pub jobs_changed: Callback<()>,
    pub terminal_news: Callback<TerminalNews>,
    pub trust_decided: Callback<TrustDecision>,
    pub review_news: Callback<ReviewNews>,
    pub sampling_news: Callback<SamplingNews>,
    pub subagent_news: Callback<SubagentNews>,
    pub small_models: SmallModels,
    pub questions: Questions,
    pub policy: ToolPolicy,
    pub plugins: Arc<Plugins>,
    pub hooks: Arc<Hooks>,
    pub nearby: Nearby,
}

impl SessionContext {
    /// The policy of the session in `store`.
    pub(crate) fn session_policy(
        &self,
        setup: &SessionSetup,
        store: &SessionStore,
        budget: &SessionBudget,
    ) -> ToolPolicy {
        let policy = self.policy.clone();
        let reviewer = |permissions| {
            let (branch, news) = (Writer::at_leaf(store.clone()), self.review_news.clone());
            let timeout = setup.review_timeout;
            SessionReviewer::new(permissions, branch, news, &self.emitter, timeout)
        };
        policy
            .for_session(&self.hooks, store.id(), store.path())
            .reviewed_by(reviewer)
            .with_budget(budget.clone())
            .with_outputs(OutputOptions {
                kept: store.path().map(|path| {
                    let folder = setup.folders.outputs().join(store.id());
                    (folder, path.to_owned())
                }),
                limits: OutputLimits::of_kilobytes(setup.settings.output_limit),
            })
    }

    /// The budget of the session in `store`, whose last stored message is `last`.
    pub(crate) fn budget(
        &self,
        setup: &SessionSetup,
        store: &SessionStore,
        last: Option<String>,
    ) -> SessionBudget {
        let limits = setup.settings.budget().changed(&setup.budget);
        let stored = last.map(|last| (store.clone(), last));
        SessionBudget::new(limits, stored, setup.answers_questions, &self.emitter)
    }
}
