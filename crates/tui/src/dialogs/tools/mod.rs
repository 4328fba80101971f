//! The model's tools, and the list that turns them off and on.

mod picker;

use crate::actions::Outbox;
use crate::drawing::{Overlays, overlays};
use osier_agent::{Op as AgentOp, ToolInfo};

/// The tools that the agent reported last.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    tools: Vec<ToolInfo>,
}

impl Tools {
    /// Lists the tools.
    pub(crate) fn open(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(picker::ID, picker::picker(&self.tools));
        outbox.push(AgentOp::ListTools);
    }

    pub(crate) fn set(&mut self, tools: &[ToolInfo], overlays: &mut Overlays) {
        self.tools = tools.to_vec();
        overlays::refresh(overlays, picker::ID, picker::picker(tools));
    }

    /// Turns a tool on or off from the next request on. The list shows it at once: a second key can follow
    /// before the agent has answered.
    pub(crate) fn toggle(&mut self, name: &str, overlays: &mut Overlays, outbox: &mut Outbox) {
        for tool in self.tools.iter_mut().filter(|tool| tool.name == name) {
            tool.offered = !tool.offered;
        }
        overlays::refresh(overlays, picker::ID, picker::picker(&self.tools));
        let offered = self.tools.iter().filter(|tool| tool.offered);
        let names = offered.map(|tool| tool.name.clone()).collect();
        outbox.push(AgentOp::SetTools { names });
    }
}
