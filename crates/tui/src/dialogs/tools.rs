//! The model's tools, and the list that turns them off and on.

use crate::actions::{Action, Outbox};
use crate::drawing::{Choice, Overlays, Picker, overlays};
use crate::status::footer::tokens;
use osier_agent::{Op as AgentOp, ToolInfo, ToolOrigin};
use osier_term::{Column, Columns, Item};

const ID: &str = "tools";

/// The approximate bytes of a definition that make a token.
const BYTES_A_TOKEN: usize = 4;

const COLUMNS: Columns = Columns {
    label: "tool",
    details: &[
        Column::words("access", 2),
        Column::words("source", 1).at_least(10),
        Column::numbers("tokens", 0),
    ],
};

/// The picker over `tools`, in the order the model sees them.
fn picker(tools: &[ToolInfo]) -> Picker<ToolInfo> {
    let offered = tools.iter().filter(|tool| tool.offered);
    let cost: u64 = offered.clone().map(cost).sum();
    let count = offered.count();
    let title = format!("Tools: {count} enabled, about {} tokens", tokens(cost));
    Picker::new(title, "no tool matches", tools.iter().cloned(), |tool| {
        [Action::ToggleTool(tool.name.clone())]
    })
    .staying()
    .with_columns(COLUMNS)
    .taking("turn on or off")
}

fn cost(tool: &ToolInfo) -> u64 {
    tool.bytes.div_ceil(BYTES_A_TOKEN) as u64
}

impl Choice for ToolInfo {
    fn row(&self) -> Item {
        let mark = if self.offered { "✓" } else { "·" };
        let origin = match &self.origin {
            ToolOrigin::Program => "built in".to_owned(),
            ToolOrigin::Plugin { name } => format!("plugin {name}"),
            ToolOrigin::Server { server, .. } => format!("MCP server {server}"),
        };
        let origin = match &self.title {
            Some(title) => format!("{origin}: {title}"),
            None => origin,
        };
        let reads = self.hints.read_only == Some(true);
        let rights = if reads { "read-only" } else { "" };
        Item {
            label: format!("{mark} {}", self.name),
            details: vec![
                rights.into(),
                origin.as_str().into(),
                format!("~{}", tokens(cost(self))).into(),
            ],
            keywords: origin,
            dimmed: !self.offered,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The tools that the agent reported last.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    tools: Vec<ToolInfo>,
}

impl Tools {
    /// Lists the tools.
    pub(crate) fn open(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(ID, picker(&self.tools));
        outbox.push(AgentOp::ListTools);
    }

    /// The names of all tools, including those that are switched off.
    pub(crate) fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    pub(crate) fn set(&mut self, tools: &[ToolInfo], overlays: &mut Overlays) {
        self.tools = tools.to_vec();
        overlays::refresh(overlays, ID, picker(tools));
    }

    /// Turns a tool on or off, starting with the next request. The list shows it at once: a second
    /// key can follow before the agent has answered.
    pub(crate) fn toggle(&mut self, name: &str, overlays: &mut Overlays, outbox: &mut Outbox) {
        for tool in self.tools.iter_mut().filter(|tool| tool.name == name) {
            tool.offered = !tool.offered;
        }
        overlays::refresh(overlays, ID, picker(&self.tools));
        let offered = self.tools.iter().filter(|tool| tool.offered);
        let names = offered.map(|tool| tool.name.clone()).collect();
        outbox.push(AgentOp::SetTools { names });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::ToolHints;

    #[test]
    fn a_tool_has_access_source_and_cost() {
        let tool = ToolInfo {
            name: "grep".into(),
            title: None,
            description: "Search".into(),
            origin: ToolOrigin::Program,
            hints: ToolHints {
                read_only: Some(true),
                ..ToolHints::default()
            },
            offered: true,
            bytes: 478,
        };
        let shown = tool.row();
        assert_eq!(shown.label, "✓ grep");
        let told = |item: &Item| -> Vec<String> {
            let cells = item.details.iter();
            cells.map(|cell| cell.text.clone()).collect()
        };
        assert_eq!(told(&shown), ["read-only", "built in", "~120"]);
        let server = ToolOrigin::Server {
            server: "git".into(),
            tool: "log".into(),
        };
        let off = ToolInfo {
            title: Some("Show the log".into()),
            offered: false,
            hints: ToolHints::default(),
            origin: server,
            ..tool
        };
        let off = off.row();
        assert_eq!((off.label.as_str(), off.dimmed), ("· grep", true));
        assert_eq!(told(&off), ["", "MCP server git: Show the log", "~120"]);
    }
}
