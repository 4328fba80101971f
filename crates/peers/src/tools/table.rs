//! The tools of other agents and of osier, in one table. Permission rules, hooks, agents' definitions, settings of others and
//! imported sessions read it.

use osier_protocol::{ImportSource, PLAN_TOOL};
use osier_tools::{SUBAGENT, WEB_SEARCH};

/// A tool of another agent.
#[derive(Debug, PartialEq, Eq)]
pub struct PeerTool {
    /// The name of the tool in the other program.
    pub name: &'static str,
    /// The tool of osier.
    pub ours: &'static str,
    /// The tool does only a part of osier's tool: a rule that allows the part must not allow osier's tool.
    pub is_part: bool,
    /// The names of the arguments, there and in osier. Others are left out.
    pub arguments: &'static [(&'static str, &'static str)],
}

const fn tool(
    name: &'static str,
    ours: &'static str,
    arguments: &'static [(&'static str, &'static str)],
) -> PeerTool {
    PeerTool {
        name,
        ours,
        is_part: false,
        arguments,
    }
}

const fn part(
    name: &'static str,
    ours: &'static str,
    arguments: &'static [(&'static str, &'static str)],
) -> PeerTool {
    PeerTool {
        is_part: true,
        ..tool(name, ours, arguments)
    }
}

const FILE: (&str, &str) = ("file_path", "file_path");
const PATTERN: (&str, &str) = ("pattern", "pattern");
const PATH: (&str, &str) = ("path", "path");
const LIMIT: (&str, &str) = ("limit", "limit");
const OFFSET: (&str, &str) = ("offset", "offset");
const CONTENT: (&str, &str) = ("content", "content");
const COMMAND: (&str, &str) = ("command", "command");
const TIMEOUT: (&str, &str) = ("timeout", "timeout");
const EDITS: (&str, &str) = ("edits", "edits");
const PROMPT: (&str, &str) = ("prompt", "prompt");
const KIND: (&str, &str) = ("subagent_type", "agent");
const QUESTIONS: (&str, &str) = ("questions", "questions");

/// Claude Code's tools. The first row of a tool of osier has the name that scripts see.
const CLAUDE: &[PeerTool] = &[
    tool("Read", "read", &[FILE, OFFSET, LIMIT]),
    tool("Write", "write", &[FILE, CONTENT]),
    tool(
        "Edit",
        "edit",
        &[
            FILE,
            ("old_string", "old_string"),
            ("new_string", "new_string"),
            ("replace_all", "replace_all"),
            EDITS,
        ],
    ),
    tool("MultiEdit", "edit", &[FILE, EDITS]),
    tool(
        "NotebookEdit",
        "edit",
        &[
            ("notebook_path", "file_path"),
            ("cell_id", "cell_id"),
            ("cell_type", "cell_type"),
            ("edit_mode", "edit_mode"),
            ("new_source", "new_source"),
        ],
    ),
    tool("apply_patch", "apply_patch", &[("input", "input")]),
    tool(
        "Bash",
        "bash",
        &[
            COMMAND,
            TIMEOUT,
            ("run_in_background", "background"),
            ("bash_id", "job"),
            ("action", "action"),
        ],
    ),
    part(
        "BashOutput",
        "bash",
        &[("bash_id", "job"), ("task_id", "job")],
    ),
    part("TaskOutput", "bash", &[("task_id", "job")]),
    part(
        "KillShell",
        "bash",
        &[("shell_id", "job"), ("bash_id", "job")],
    ),
    part("KillBash", "bash", &[("shell_id", "job")]),
    part("TaskStop", "bash", &[("task_id", "job")]),
    tool(
        "map",
        "map",
        &[PATH, ("query", "query"), ("tokens", "tokens")],
    ),
    tool(
        "Grep",
        "grep",
        &[
            PATTERN,
            PATH,
            ("glob", "glob"),
            ("-i", "ignore_case"),
            ("literal", "literal"),
            ("-C", "context"),
            ("head_limit", "limit"),
        ],
    ),
    tool("Glob", "find", &[PATTERN, PATH, LIMIT]),
    tool("LS", "ls", &[PATH, LIMIT]),
    tool("TodoWrite", "todo", &[("todos", "items")]),
    tool("AskUserQuestion", "ask_user", &[QUESTIONS]),
    tool("WebFetch", "web_fetch", &[("url", "url")]),
    tool("WebSearch", WEB_SEARCH, &[("query", "query")]),
    tool("ExitPlanMode", PLAN_TOOL, &[("plan", "plan")]),
    tool("Task", SUBAGENT, &[PROMPT, KIND]),
    tool("Agent", SUBAGENT, &[PROMPT, KIND]),
];

const PI: &[PeerTool] = &[
    tool("bash", "bash", &[COMMAND, TIMEOUT]),
    tool(
        "read",
        "read",
        &[("path", "file_path"), FILE, OFFSET, LIMIT],
    ),
    tool("write", "write", &[("path", "file_path"), FILE, CONTENT]),
    tool(
        "edit",
        "edit",
        &[
            ("path", "file_path"),
            FILE,
            ("oldText", "old_string"),
            ("newText", "new_string"),
            EDITS,
        ],
    ),
    tool(
        "grep",
        "grep",
        &[
            PATTERN,
            PATH,
            ("glob", "glob"),
            ("ignoreCase", "ignore_case"),
            ("literal", "literal"),
            ("context", "context"),
            LIMIT,
        ],
    ),
    tool("find", "find", &[PATTERN, PATH, LIMIT]),
    tool("ls", "ls", &[PATH, LIMIT]),
];

const CODEX: &[PeerTool] = &[
    tool("exec_command", "bash", &[("cmd", "command")]),
    tool("shell_command", "bash", &[COMMAND]),
    tool("shell", "bash", &[COMMAND]),
    tool("local_shell", "bash", &[COMMAND]),
    tool("container.exec", "bash", &[("cmd", "command"), COMMAND]),
    part("write_stdin", "bash", &[("session_id", "job")]),
    tool("update_plan", "todo", &[("plan", "items")]),
    tool("view_image", "read", &[("path", "file_path")]),
    tool("apply_patch", "edit", &[("input", "input")]),
];

const OPENCODE: &[PeerTool] = &[
    tool("read", "read", &[("filePath", "file_path"), OFFSET, LIMIT]),
    tool("write", "write", &[("filePath", "file_path"), CONTENT]),
    tool(
        "edit",
        "edit",
        &[
            ("filePath", "file_path"),
            ("oldString", "old_string"),
            ("newString", "new_string"),
            ("replaceAll", "replace_all"),
        ],
    ),
    tool("bash", "bash", &[COMMAND, TIMEOUT]),
    tool("grep", "grep", &[PATTERN, PATH, ("include", "glob")]),
    tool("glob", "find", &[PATTERN, PATH]),
    tool("list", "ls", &[PATH]),
    tool("todowrite", "todo", &[("todos", "items")]),
    tool("webfetch", "web_fetch", &[("url", "url")]),
    tool("multiedit", "edit", &[("filePath", "file_path"), EDITS]),
    tool("task", SUBAGENT, &[PROMPT, KIND]),
    tool("question", "ask_user", &[QUESTIONS]),
    tool("apply_patch", "edit", &[("patchText", "input")]),
    tool("patch", "edit", &[("patchText", "input")]),
];

/// Names of programs without an import, for suggestions.
const OTHERS: &[PeerTool] = &[
    tool("Shell", "bash", &[]),
    tool("exec", "bash", &[]),
    tool("run_shell_command", "bash", &[]),
    tool("sh", "bash", &[]),
];

/// The tools of a program.
pub fn tools_of(source: ImportSource) -> &'static [PeerTool] {
    match source {
        ImportSource::Osier => &[],
        ImportSource::Pi => PI,
        ImportSource::Claude => CLAUDE,
        ImportSource::Codex => CODEX,
        ImportSource::Opencode => OPENCODE,
    }
}

/// Claude Code's tools for osier's tool `ours`, the main one first.
pub(super) fn of_claude(ours: &str) -> impl Iterator<Item = &'static PeerTool> {
    CLAUDE.iter().filter(move |row| row.ours == ours)
}

/// osier's tool for a name that rules, definitions of agents and options contain: osier's own names win over those of
/// Claude Code; other names, and names of a part of a tool, stay.
pub fn our_tool(name: &str) -> &str {
    if osier_tools::find(name).is_some() {
        return name;
    }
    let known = CLAUDE.iter().find(|row| row.name == name && !row.is_part);
    known.map_or(name, |row| row.ours)
}

/// Whether Claude Code's tool `name` is a part of a tool of osier.
pub fn is_part(name: &str) -> bool {
    CLAUDE.iter().any(|row| row.name == name && row.is_part)
}

/// The tool of osier that does what the tool `name` of any other agent does, for advice.
pub fn suggestion(name: &str) -> Option<&'static str> {
    let tables = [CLAUDE, CODEX, OPENCODE, PI, OTHERS].into_iter().flatten();
    let mut known = tables.filter(|row| row.name == name);
    known.next().map(|row| row.ours)
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

    #[test]
    fn every_row_names_a_tool_of_osier() {
        let sources = [
            ImportSource::Claude,
            ImportSource::Codex,
            ImportSource::Opencode,
            ImportSource::Pi,
        ];
        for row in sources.into_iter().flat_map(tools_of).chain(OTHERS) {
            let is_ours = osier_tools::find(row.ours).is_some();
            let is_of_session = [SUBAGENT, WEB_SEARCH].contains(&row.ours);
            assert!(is_ours || is_of_session, "{row:?}");
            assert!(suggestion(row.name).is_some(), "{row:?}");
        }
    }

    /// Options, settings and hooks; rules, definitions and imports have such a test in their crates.
    #[test]
    fn every_name_of_claude_code_is_the_same_tool_everywhere() {
        for row in CLAUDE.iter().filter(|row| row.name != row.ours) {
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
                    MappedRule::Rules(rules) => rules.iter().any(|rule| rule == row.ours),
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
