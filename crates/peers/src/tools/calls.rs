//! Translates calls to Claude Code's tools and arguments, and back.

use std::path::Path;

use serde_json::{Map, Value, json};

use osier_agent::FileTarget;
use osier_base::{path, text};
use osier_llm::ToolCall;
use osier_protocol::TOOL as TODO;
use osier_tools::{BASH, EDIT, GREP, SUBAGENT};

use super::table::of_claude;

/// The Claude Code names of calls about a background job: reading its output, and ending it.
const JOB_LOOK: &str = "BashOutput";
const JOB_END: &str = "KillShell";

/// The kind of a subagent that was requested without a kind.
pub const GENERAL: &str = "general-purpose";

/// Columns of the description, which is taken from the first line of the task.
const DESCRIPTION: usize = 60;

/// A call as scripts see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCall {
    pub name: String,
    /// All names that a matcher can use for the call.
    pub names: Vec<String>,
    pub input: Value,
}

/// `call` on `files`, made in `cwd`, as scripts see it: one call for each changed file, so that a
/// script that checks or formats one file handles all of them.
pub fn seen(call: &ToolCall, files: &[FileTarget], cwd: &Path) -> Vec<ScriptCall> {
    let seen = seen_as_one(call, cwd);
    let changes_several = osier_tools::find(&call.name).is_some_and(|tool| tool.files.is_some());
    if !changes_several || files.is_empty() {
        return vec![seen];
    }
    let of_file = |file: &FileTarget| {
        let mut seen = seen.clone();
        seen.input["file_path"] = json!(file.named);
        seen
    };
    files.iter().map(of_file).collect()
}

fn seen_as_one(call: &ToolCall, cwd: &Path) -> ScriptCall {
    let tool = call.name.as_str();
    let job = job_call(&call.arguments).filter(|_| tool == BASH);
    let mut names = vec![
        job.map_or_else(|| theirs(tool), str::to_owned),
        tool.to_owned(),
    ];
    names.extend(other_names(tool).map(str::to_owned));
    let pairs: Vec<_> = of_claude(tool).flat_map(|row| row.arguments).collect();
    let is_known = osier_tools::find(tool).is_some();
    let (true, Some(given)) = (is_known, call.arguments.as_object()) else {
        return ScriptCall {
            name: names[0].clone(),
            names,
            input: call.arguments.clone(),
        };
    };
    let mut input = Map::new();
    for (ours, value) in given {
        let theirs = pairs.iter().find(|(_, name)| name == ours);
        let theirs = theirs.map_or(ours.as_str(), |(theirs, _)| theirs);
        input.insert(theirs.to_owned(), theirs_of(tool, ours, value, cwd));
    }
    match tool {
        GREP => {
            input.insert("output_mode".to_owned(), json!("content"));
        }
        EDIT => join_edits(&mut input),
        SUBAGENT => {
            let prompt = input.get("prompt").and_then(Value::as_str);
            let first = prompt
                .unwrap_or_default()
                .lines()
                .next()
                .unwrap_or_default();
            let description = text::truncate(first, DESCRIPTION).into_owned();
            input.insert("description".to_owned(), json!(description));
            input.entry("subagent_type").or_insert(json!(GENERAL));
        }
        _ => {}
    }
    ScriptCall {
        name: names[0].clone(),
        names,
        input: Value::Object(input),
    }
}

/// Further names that a matcher can use for `tool`, including the names of tools that it replaces.
fn other_names(tool: &str) -> impl Iterator<Item = &'static str> {
    let replaced = osier_tools::find(tool).map_or(&[][..], |tool| tool.replaces);
    let of_replaced = replaced
        .iter()
        .flat_map(|tool| of_claude(tool).map(|row| row.name).chain([*tool]));
    let own = of_claude(tool).skip(1).filter(|row| !row.is_part);
    own.map(|row| row.name).chain(of_replaced)
}

/// The Claude Code name of `tool`. Tools of MCP servers have a prefix in Claude Code.
pub fn theirs(tool: &str) -> String {
    match of_claude(tool).next() {
        Some(row) => row.name.to_owned(),
        None if tool.contains("__") && !tool.starts_with("mcp__") => format!("mcp__{tool}"),
        None => tool.to_owned(),
    }
}

/// The Claude Code name and input of a call of `tool`.
pub fn claude_call(tool: &str, arguments: &Value) -> (String, Value) {
    let call = ToolCall {
        name: tool.to_owned(),
        arguments: arguments.clone(),
        ..ToolCall::default()
    };
    let seen = seen_as_one(&call, Path::new(""));
    (seen.name, seen.input)
}

/// Translates `input`, which a script changed, to the arguments of osier's `tool`. Unknown arguments are
/// dropped.
pub fn ours(tool: &str, input: &Value) -> Value {
    let mut known = of_claude(tool).peekable();
    let (Some(_), Some(given)) = (known.peek(), input.as_object()) else {
        return input.clone();
    };
    let mut arguments = Map::new();
    for (theirs, ours) in known.flat_map(|row| row.arguments) {
        let Some(value) = given.get(*theirs).or_else(|| given.get(*ours)) else {
            continue;
        };
        if arguments.contains_key(*ours) {
            continue;
        }
        let value = match (tool, *ours) {
            (BASH, "timeout") => scaled(value, 0.001),
            (TODO, "items") => {
                let states = STATES.map(|(ours, theirs)| (theirs, ours));
                renamed_items(value, &ITEM.map(|(ours, theirs)| (theirs, ours)), &states)
            }
            _ => value.clone(),
        };
        arguments.insert((*ours).to_owned(), value);
    }
    match tool {
        EDIT if arguments.contains_key("edits") => {
            arguments.retain(|name, _| matches!(name.as_str(), "file_path" | "edits"));
        }
        SUBAGENT => arguments.retain(|name, value| name != "agent" || *value != GENERAL),
        _ => {}
    }
    Value::Object(arguments)
}

fn theirs_of(tool: &str, argument: &str, value: &Value, cwd: &Path) -> Value {
    match (tool, argument) {
        // The timeout is in milliseconds in Claude Code, and in seconds in osier.
        (BASH, "timeout") => scaled(value, 1000.0),
        (TODO, "items") => renamed_items(value, &ITEM, &STATES),
        // Paths are absolute in Claude Code.
        (_, "file_path" | "path") => match value.as_str() {
            Some(given) => json!(path::resolve(cwd, given)),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

/// The fields of an item of the to-do list, in osier and in Claude Code, and the values of its state.
const ITEM: [(&str, &str); 2] = [("text", "content"), ("state", "status")];
const STATES: [(&str, &str); 3] = [
    ("open", "pending"),
    ("doing", "in_progress"),
    ("done", "completed"),
];

/// Renames these fields and values of items; other fields are dropped.
fn renamed_items(items: &Value, fields: &[(&str, &str)], values: &[(&str, &str)]) -> Value {
    let item = |item: &Value| {
        let fields = fields.iter().filter_map(|(from, to)| {
            let value = item.get(*from)?;
            let is_state = matches!(*from, "state" | "status");
            let mut values = values.iter().filter(|_| is_state);
            let known = values.find(|(known, _)| value == *known);
            let value = known.map_or_else(|| value.clone(), |(_, renamed)| json!(renamed));
            Some(((*to).to_owned(), value))
        });
        Value::Object(fields.collect())
    };
    match items.as_array() {
        Some(items) => items.iter().map(item).collect(),
        None => items.clone(),
    }
}

fn scaled(value: &Value, factor: f64) -> Value {
    let Some(number) = value.as_f64() else {
        return value.clone();
    };
    let number = number * factor;
    if number.fract() == 0.0 && number.abs() < 1e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// The Claude Code name for a call about a background job.
fn job_call(arguments: &Value) -> Option<&'static str> {
    if arguments.get("command").is_some() {
        return None;
    }
    match arguments.get("action").and_then(Value::as_str) {
        None | Some("read" | "list") => Some(JOB_LOOK),
        Some("kill") => Some(JOB_END),
        Some(_) => None,
    }
}

/// Adds several edits of one file also as one edit, so that scripts that expect a single edit see
/// the complete text.
fn join_edits(input: &mut Map<String, Value>) {
    let Some(edits) = input.get("edits").and_then(Value::as_array).cloned() else {
        return;
    };
    for field in ["old_string", "new_string"] {
        let texts = edits.iter().filter_map(|edit| edit.get(field)?.as_str());
        let joined = texts.collect::<Vec<_>>().join("\n");
        input.entry(field).or_insert(json!(joined));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall {
            name: name.to_owned(),
            arguments,
            ..ToolCall::default()
        }
    }

    fn both(name: &str, arguments: &Value) -> (String, Value) {
        let mut all = seen(&call(name, arguments.clone()), &[], Path::new("/work"));
        assert_eq!(all.len(), 1);
        let seen = all.remove(0);
        assert!(seen.names.iter().any(|known| known == name));
        let mut back = ours(name, &seen.input);
        // Paths are absolute.
        for key in ["file_path", "path"] {
            if let Some(path) = back.get_mut(key) {
                let text = path.as_str().unwrap_or_default();
                *path = json!(text.trim_start_matches("/work/"));
            }
        }
        assert_eq!(&back, arguments, "{name}");
        (seen.name, seen.input)
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn every_tool_translates_in_both_directions() {
        for (name, arguments, theirs, input) in [
            (
                "bash",
                json!({"command": "ls", "timeout": 2.5, "background": true}),
                "Bash",
                json!({"command": "ls", "timeout": 2500, "run_in_background": true}),
            ),
            (
                "bash",
                json!({"action": "kill", "job": "j1"}),
                "KillShell",
                json!({"action": "kill", "bash_id": "j1"}),
            ),
            (
                "read",
                json!({"file_path": "a.rs", "offset": 3, "limit": 4}),
                "Read",
                json!({"file_path": "/work/a.rs", "offset": 3, "limit": 4}),
            ),
            (
                "write",
                json!({"file_path": "a.rs", "content": "x"}),
                "Write",
                json!({"file_path": "/work/a.rs", "content": "x"}),
            ),
            (
                "edit",
                json!({"file_path": "a.rs", "old_string": "x", "new_string": "y", "replace_all": true}),
                "Edit",
                json!({"file_path": "/work/a.rs", "old_string": "x", "new_string": "y", "replace_all": true}),
            ),
            (
                "edit",
                json!({"file_path": "a.rs", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "v", "new_string": "w"}]}),
                "Edit",
                json!({"file_path": "/work/a.rs", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "v", "new_string": "w"}], "old_string": "x\nv", "new_string": "y\nw"}),
            ),
            (
                "grep",
                json!({"pattern": "a", "path": "src", "ignore_case": true, "context": 2, "limit": 9}),
                "Grep",
                json!({"pattern": "a", "path": "/work/src", "-i": true, "-C": 2, "head_limit": 9, "output_mode": "content"}),
            ),
            (
                "find",
                json!({"pattern": "*.rs"}),
                "Glob",
                json!({"pattern": "*.rs"}),
            ),
            (
                "todo",
                json!({"items": [{"text": "a", "state": "doing"}, {"text": "done", "state": "open"}]}),
                "TodoWrite",
                json!({"todos": [{"content": "a", "status": "in_progress"}, {"content": "done", "status": "pending"}]}),
            ),
            (
                "ls",
                json!({"path": "src"}),
                "LS",
                json!({"path": "/work/src"}),
            ),
            (
                "task",
                json!({"prompt": "look\nwell", "agent": "scout"}),
                "Agent",
                json!({"prompt": "look\nwell", "subagent_type": "scout", "description": "look"}),
            ),
            (
                "git__log",
                json!({"path": "x"}),
                "mcp__git__log",
                json!({"path": "x"}),
            ),
            ("count", json!({"to": 3}), "count", json!({"to": 3})),
            // A tool that only osier has.
            (
                "hover",
                json!({"file_path": "a.rs", "symbol": "x"}),
                "hover",
                json!({"file_path": "/work/a.rs", "symbol": "x"}),
            ),
        ] {
            assert_eq!(both(name, &arguments), (theirs.to_owned(), input), "{name}");
        }
    }

    /// A script that checks the path of an edit checks every file of a patch.
    #[test]
    fn a_patch_is_seen_once_for_each_file() {
        let input = "*** Begin Patch\n*** Update File: a\n*** Move to: b/c\n-x\n*** Delete File: d\n*** End Patch";
        let (patch, cwd) = (
            call("apply_patch", json!({"input": input})),
            Path::new("/work"),
        );
        let files = osier_tools::file_targets(&patch.name, &patch.arguments, cwd);
        let all = seen(&patch, &files, cwd);
        let files: Vec<&Value> = all.iter().map(|seen| &seen.input["file_path"]).collect();
        assert_eq!(files, ["/work/a", "/work/b/c", "/work/d"]);
        for seen in &all {
            assert_eq!(seen.input["input"], input);
            assert_eq!(
                seen.names,
                [
                    "apply_patch",
                    "apply_patch",
                    "Write",
                    "write",
                    "Edit",
                    "MultiEdit",
                    "NotebookEdit",
                    "edit"
                ]
            );
        }
        assert_eq!(ours("apply_patch", &all[1].input), json!({"input": input}));
    }

    /// A hook on `Edit|Write` is for every tool that changes files.
    #[test]
    fn tools_that_change_several_files_have_the_names_of_those_that_change_one() {
        let changes = osier_tools::all().filter(|tool| tool.files.is_some());
        let tools: Vec<&str> = changes.map(|tool| tool.name).collect();
        assert_eq!(tools, ["apply_patch", "rename"]);
        for tool in tools {
            let names = seen_as_one(&call(tool, json!({})), Path::new("/")).names;
            for name in ["Edit", "Write", "edit", "write", tool] {
                assert!(names.iter().any(|known| known == name), "{tool}: {name}");
            }
        }
    }

    #[test]
    fn unknown_arguments_are_dropped() {
        let input = json!({"command": "ls", "timeout": 120_000, "description": "Lists files"});
        assert_eq!(
            ours("bash", &input),
            json!({"command": "ls", "timeout": 120})
        );
    }
}
