//! The tools of the session: where each comes from, what its definition costs, and whether the model is
//! offered it. Taking one turns it off or on; the list stays open.

use super::picker::Picker;
use crate::coding::host::{Op, ToolInfo};
use crate::modes::tui::action::Action;
use crate::modes::tui::footer::tokens;
use crate::term::widgets::select::Item;

pub const ID: &str = "tools";

/// The picker over `tools`, in the order the model sees them.
pub fn picker(tools: &[ToolInfo]) -> Picker {
    let offered = tools.iter().filter(|tool| tool.enabled);
    let cost: u64 = offered.clone().map(|tool| tool.tokens).sum();
    let title = format!(
        "Tools: {} offered, about {} tokens",
        offered.count(),
        tokens(cost)
    );
    let items = tools.iter().map(item).collect();
    let states: Vec<(String, bool)> = tools
        .iter()
        .map(|tool| (tool.name.clone(), tool.enabled))
        .collect();
    let take = move |name: &str| {
        let enabled = states.iter().any(|(known, on)| known == name && *on);
        vec![Action::Tell(Op::SetToolEnabled {
            name: name.to_owned(),
            enabled: !enabled,
        })]
    };
    Picker::new(title, "no tool matches", items, Box::new(take)).staying()
}

fn item(tool: &ToolInfo) -> Item {
    let mark = if tool.enabled { "✓" } else { "·" };
    let rights = if tool.read_only { "reads  " } else { "" };
    Item {
        key: tool.name.clone(),
        label: format!("{mark} {}", tool.name),
        detail: format!("{rights}{}  ~{} tokens", tool.source, tokens(tool.tokens)),
        keywords: format!("{} {}", tool.description, tool.source),
        dimmed: !tool.enabled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_says_whence_it_is_and_what_it_costs() {
        let tool = ToolInfo {
            name: "grep".into(),
            source: "built in".into(),
            description: "Search".into(),
            tokens: 120,
            read_only: true,
            enabled: true,
        };
        let shown = item(&tool);
        assert_eq!(shown.label, "✓ grep");
        assert_eq!(shown.detail, "reads  built in  ~120 tokens");
        let off = item(&ToolInfo {
            enabled: false,
            ..tool
        });
        assert_eq!((off.label.as_str(), off.dimmed), ("· grep", true));
    }
}
