//! Tools that come and go while a session is open, with the model, the servers and the project.

use std::sync::Arc;

use super::SessionContext;
use crate::agents::subagents::Subagents;
use crate::agents::terminals::TerminalSource;
use crate::emitter::Emitter;
use crate::extensions::mcp_on_demand::OnDemand;
use crate::files::code::CodeIntelligence;
use crate::files::project_map::MapSource;
use crate::models::Models;
use crate::models::web_search::WebSearch;
use crate::setup::SessionSetup;
use osier_agent::{Interceptor, ToolSource, Transport};
use osier_mcp::Mcp;
use osier_tools::{WEB_SEARCH, Workspace};

/// The sources of changes that the session follows.
pub(super) struct Following {
    search: WebSearch,
    on_demand: OnDemand,
    emitter: Emitter,
    map: Arc<MapSource>,
}

impl Following {
    pub(super) fn new(
        setup: &SessionSetup,
        models: &Models,
        context: &SessionContext,
        (mcp, workspace): (&Mcp, &Arc<Workspace>),
        transport: &Arc<dyn Transport>,
    ) -> Self {
        let share = setup.settings.mcp_tools_share;
        Self {
            emitter: context.emitter.clone(),
            map: MapSource::new(workspace, setup.tools.as_deref()),
            on_demand: OnDemand::new(Arc::new(mcp.clone()), share, models.chosen().context_window),
            search: WebSearch::new(
                wanted_search(setup),
                models.search_keys(),
                Arc::clone(transport),
                setup.settings.http(),
                context.small_models.clone(),
                models.call_order().into_iter().next(),
            ),
        }
    }

    /// All sources of tools, in the order in which the model gets them.
    pub(super) fn sources(
        &self,
        context: &SessionContext,
        subagents: &Arc<Subagents>,
        code: &CodeIntelligence,
        workspace: &Arc<Workspace>,
    ) -> Vec<Arc<dyn ToolSource>> {
        vec![
            Arc::new(self.search.clone()),
            Arc::new(self.on_demand.clone()),
            Arc::clone(&context.plugins) as Arc<dyn ToolSource>,
            Arc::clone(subagents) as Arc<dyn ToolSource>,
            self.on_demand.loaded(),
            Arc::new(code.clone()),
            TerminalSource::new(workspace),
            Arc::clone(&self.map) as Arc<dyn ToolSource>,
        ]
    }

    /// The interceptors that follow the model, and `others`. They come before compaction: the interceptors after one that
    /// compacts are not called.
    pub(super) fn interceptors(
        &self,
        others: Vec<Arc<dyn Interceptor>>,
    ) -> Vec<Arc<dyn Interceptor>> {
        let map = Arc::clone(&self.map) as Arc<dyn Interceptor>;
        let on_demand = self.on_demand.interceptor(&self.emitter);
        let own = [on_demand, self.search.interceptor(), map];
        own.into_iter().chain(others).collect()
    }
}

/// How to search the web, unless `--tools` has no `web_search`.
fn wanted_search(setup: &SessionSetup) -> osier_settings::WebSearch {
    let named = |names: &Vec<String>| names.iter().any(|name| name == WEB_SEARCH);
    if setup.tools.as_ref().is_none_or(named) {
        setup.settings.web_search.clone()
    } else {
        osier_settings::WebSearch::Off
    }
}
