//! The interceptors of the agent of a session, in their order.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::context::SessionContext;
use crate::context::attachments::AttachedTexts;
use crate::context::reminders::{Environment, Reminders};
use crate::conversation::compaction::{CompactionOptions, Compactor};
use crate::files::checkpoints::SessionFiles;
use crate::files::code::{CodeFeedback, CodeIntelligence};
use crate::safety::secret_warnings::SecretWarnings;
use crate::safety::tool_policy::ToolPolicy;
use crate::setup::SessionSetup;
use osier_agent::Interceptor;
use osier_extensions::hooks::Role;
use osier_mcp::{Instructions, Mcp, Mentions};
use osier_store::SessionStore;
use osier_store::recorder::MessageRecorder;
use osier_store::writer::Writer;
use osier_tools::Workspace;

/// The interceptors of an agent, and what they share with the session.
pub(super) struct Listeners {
    pub(super) interceptors: Vec<Arc<dyn Interceptor>>,
    pub(super) rules: Vec<Arc<dyn Interceptor>>,
    pub(super) compactor: Compactor,
    pub(super) files: Option<SessionFiles>,
    pub(super) stored: mpsc::UnboundedReceiver<String>,
}

pub(super) fn listeners(
    setup: &SessionSetup,
    context: &SessionContext,
    policy: &ToolPolicy,
    store: &SessionStore,
    workspace: &Arc<Workspace>,
    (mcp, code): (&Mcp, &CodeIntelligence),
) -> Listeners {
    let (tell_stored, stored) = mpsc::unbounded_channel();
    let writer = Writer::at_leaf(store.clone());
    let options = CompactionOptions {
        automatic: setup.settings.auto_compact,
        drops_results: setup.settings.drop_results,
        cache_retention: setup.settings.cache_retention,
        small_models: context.small_models.clone(),
    };
    let (own_workspace, stored_ids) = (Arc::clone(workspace), tell_stored.clone());
    let compactor = Compactor::new(writer.clone(), stored_ids, options, own_workspace);
    // Plugins first: their changes are checked and stored.
    let mut rules: Vec<Arc<dyn Interceptor>> =
        vec![Arc::new(context.plugins.interceptor(workspace))];
    if setup.settings.secret_warnings {
        rules.push(Arc::new(SecretWarnings::new(&context.emitter, &setup.cwd)));
    }
    let (hooks, gate) = policy.interceptors(workspace, Role::Main);
    let hooks = hooks.map(|hooks| hooks as Arc<dyn Interceptor>);
    let environment = setup.settings.describe_environment.then(|| Environment {
        cwd: setup.cwd.clone(),
        sandbox: Arc::clone(workspace.confinement()),
    });
    let own: [Arc<dyn Interceptor>; 9] = [
        Arc::new(Reminders::new(workspace, environment)),
        policy.plan_reminder(),
        Arc::new(Mentions::new(mcp, Arc::clone(workspace))),
        Arc::new(AttachedTexts::new(workspace)),
        Arc::new(Instructions::new(mcp)),
        Arc::new(MessageRecorder::new(writer, tell_stored)),
        Arc::new(compactor.clone()),
        // After everything that can change a call.
        Arc::new(gate),
        Arc::new(context.nearby.interceptor(workspace, &context.emitter)),
    ];
    let files = store
        .path()
        .filter(|_| setup.settings.checkpoints)
        .map(|_| SessionFiles::new(setup, store, workspace, context.emitter.clone()));
    let feedback = CodeFeedback::new(code, workspace, &setup.settings);
    // Last: a denied call changes no files.
    let last = files.iter().map(SessionFiles::interceptor);
    Listeners {
        // First: everything else sees the files of a rename, and the checkpoint formatted files.
        interceptors: std::iter::once(Arc::new(feedback) as Arc<dyn Interceptor>)
            .chain(rules.iter().cloned())
            .chain(hooks)
            .chain(own)
            .chain(policy.guards())
            .chain(last)
            .collect(),
        rules,
        compactor,
        files,
        stored,
    }
}
