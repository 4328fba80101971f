//! The model's tools as the interface knows them, for the panel that turns them off and on.

use super::app::App;
use super::overlays;
use osier_agent::{Op, ToolInfo};

impl App {
    pub(super) fn open_tools(&mut self) {
        let picker = overlays::tools::picker(&self.tools);
        self.layers.push(overlays::tools::ID, picker);
        self.tell(Op::ListTools);
    }

    pub(super) fn tools_told(&mut self, tools: &[ToolInfo]) {
        self.tools = tools.to_vec();
        self.renew(overlays::tools::ID, overlays::tools::picker(tools));
    }

    /// Offers a tool from the next request on, or no longer. Shown at once: a second key may follow
    /// before the agent has answered.
    pub(super) fn toggle_tool(&mut self, name: &str) {
        for tool in self.tools.iter_mut().filter(|tool| tool.name == name) {
            tool.offered = !tool.offered;
        }
        let offered = self.tools.iter().filter(|tool| tool.offered);
        let names = offered.map(|tool| tool.name.clone()).collect();
        self.tell(Op::SetTools { names });
        let picker = overlays::tools::picker(&self.tools);
        self.renew(overlays::tools::ID, picker);
    }
}
