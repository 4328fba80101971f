//! The tools of other agents and of osier, from the rows of osier's tools. Permission rules, hooks,
//! agents' definitions, settings of other agents and imported sessions use this table.

use osier_base::problem::nearest;
use osier_protocol::ImportSource;
use osier_tools::{PeerTool, Renamed};

/// A tool of another agent, and the tool of osier that does the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownTool {
    /// The name of the tool in the other agent.
    pub name: &'static str,
    /// The name of osier's tool.
    pub ours: &'static str,
    /// Whether the tool does only a part of the work of osier's tool.
    pub is_part: bool,
    /// The suffix of the files that the other agent's tool is for, if it is not for all files.
    pub ending: Option<&'static str>,
    /// The names of the arguments, in the other agent and in osier.
    pub arguments: &'static [Renamed],
    source: Option<ImportSource>,
}

/// The tools of other agents, from the rows of osier's tools.
fn all() -> impl Iterator<Item = KnownTool> {
    osier_tools::all().flat_map(|tool| {
        let known = |theirs: &'static PeerTool| KnownTool {
            name: theirs.name,
            ours: tool.name,
            is_part: theirs.is_part,
            ending: theirs.ending,
            arguments: theirs.arguments,
            source: theirs.source,
        };
        tool.peers.iter().map(known)
    })
}

/// The tools of a program.
pub fn tools_of(source: ImportSource) -> impl Iterator<Item = KnownTool> {
    all().filter(move |known| known.source == Some(source))
}

/// Claude Code's tools for osier's tool `ours`, the main one first.
pub(super) fn of_claude(ours: &str) -> impl Iterator<Item = KnownTool> {
    tools_of(ImportSource::Claude).filter(move |known| known.ours == ours)
}

fn at_claude(name: &str) -> Option<KnownTool> {
    tools_of(ImportSource::Claude).find(|known| known.name == name)
}

/// osier's tool for a name that rules, definitions of agents and options contain: osier's own names win over those of
/// Claude Code; other names, and names of a part of a tool, stay.
pub fn our_tool(name: &str) -> &str {
    if osier_tools::find(name).is_some() {
        return name;
    }
    let known = at_claude(name).filter(|known| !known.is_part);
    known.map_or(name, |known| known.ours)
}

/// Whether Claude Code's tool `name` is a part of a tool of osier.
pub fn is_part(name: &str) -> bool {
    at_claude(name).is_some_and(|known| known.is_part)
}

/// The suffix of the files that Claude Code's tool `name` is for, if it is not for all files.
pub fn ending(name: &str) -> Option<&'static str> {
    at_claude(name).and_then(|known| known.ending)
}

/// The tool of osier that corresponds to the tool `name` of any other agent, for advice.
pub fn suggestion(name: &str) -> Option<&'static str> {
    all()
        .find(|known| known.name == name)
        .map(|known| known.ours)
}

/// The names by which hooks can see calls of built-in tools.
pub fn seen_names() -> impl Iterator<Item = &'static str> {
    let theirs = tools_of(ImportSource::Claude).map(|known| known.name);
    osier_tools::all().map(|tool| tool.name).chain(theirs)
}

/// Whether a hook can see a call by the name `name`.
pub fn is_seen(name: &str) -> bool {
    seen_names().any(|known| known == name)
}

/// The tool of osier that is likely to be meant by the unknown `name`.
pub fn likely(name: &str) -> Option<&'static str> {
    suggestion(name).or_else(|| nearest(name, osier_tools::all().map(|tool| tool.name)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use osier_llm::ToolCall;
    use osier_protocol::Effect;
    use serde_json::json;

    use super::*;
    use crate::settings::{MappedRule, map_rule};
    use crate::tools::seen;

    /// Each name is one tool of one agent, and hooks see each tool by one name.
    #[test]
    fn a_name_of_another_agent_is_one_tool() {
        let mut seen = Vec::new();
        for known in all() {
            let name = (known.source, known.name);
            assert!(!seen.contains(&name), "{known:?}");
            seen.push(name);
        }
        assert!(seen.len() > 50);
    }

    #[test]
    fn a_misspelt_name_is_likely_to_mean_a_tool() {
        for (name, expected) in [
            ("shell_command", Some("bash")),
            ("apply_pach", Some("apply_patch")),
            ("NotebookEdit", Some("edit")),
            ("Monitor", None),
        ] {
            assert_eq!(likely(name), expected, "{name}");
        }
    }

    /// Options, settings and hooks; rules, definitions and imports have such a test in their crates.
    #[test]
    fn every_name_of_claude_code_is_the_same_tool_everywhere() {
        for row in tools_of(ImportSource::Claude).filter(|row| row.name != row.ours) {
            let expected = if row.is_part { row.name } else { row.ours };
            assert_eq!(our_tool(row.name), expected);
            let mapped = map_rule(row.name, Effect::Deny, Path::new("/"), |_| true);
            let call = ToolCall {
                name: row.ours.to_owned(),
                arguments: json!({"command": "x"}),
                ..ToolCall::default()
            };
            let names = &seen(&call, &[], Path::new("/"))[0].names;
            let is_seen = names.iter().any(|name| name == row.name);
            if row.is_part {
                assert_eq!((mapped, is_seen), (MappedRule::NoTool, false), "{row:?}");
            } else {
                let denies = match &mapped {
                    MappedRule::Rules(rules) => {
                        // A tool for certain files has its own rules.
                        let rule = row.ending.map_or(row.ours, |_| row.name);
                        rules.iter().any(|known| known == rule)
                    }
                    _ => false,
                };
                assert_eq!((denies, is_seen), (true, true), "{row:?}");
            }
        }
    }

    #[test]
    fn own_names_win_over_those_of_others() {
        for tool in osier_tools::all() {
            assert_eq!(our_tool(tool.name), tool.name);
        }
    }
}
