//! Tool calls of other programs as calls of osier's tools, so that a model that continues the
//! conversation sees calls that it can make. A mapped call retains the original for display.

use osier_llm::{OriginalCall, ToolCall};
use osier_protocol::{ImportSource, TOOL as TODO};
use osier_tools::{BASH, EDIT, SUBAGENT, WRITE};
use serde_json::{Map, Value, json};

use crate::tools::tools_of;

/// The call as one or more calls of osier's tools. The first has the id of the call; a patch of several files has one
/// call for each file.
pub(super) fn map(source: ImportSource, call: ToolCall) -> Vec<ToolCall> {
    if source == ImportSource::Osier {
        return vec![call];
    }
    let Some(given) = call.arguments.as_object() else {
        return vec![call];
    };
    let row = tools_of(source).find(|row| row.name == call.name);
    let Some(row) = row else {
        return vec![of_server(call)];
    };
    let mut mapped = Map::new();
    for (theirs, ours) in row.arguments {
        if let Some(value) = given.get(*theirs).filter(|value| !value.is_null()) {
            mapped.insert((*ours).to_owned(), value.clone());
        }
    }
    let patch = mapped.get("input").and_then(Value::as_str);
    let all = match (row.ours, patch) {
        (EDIT, Some(patch)) => patched(patch),
        (ours, _) => {
            convert(source, row.name, ours, given, &mut mapped);
            vec![(ours, mapped)]
        }
    };
    if all.is_empty() {
        return vec![call];
    }
    let calls = all.into_iter().enumerate();
    let calls = calls.map(|(number, (name, arguments))| {
        let arguments = Value::Object(arguments);
        let is_same = call.name == name && call.arguments == arguments;
        ToolCall {
            id: match number {
                0 => call.id.clone(),
                number => format!("{}_{number}", call.id),
            },
            name: name.to_owned(),
            arguments,
            original: (number == 0 && !is_same).then(|| {
                Box::new(OriginalCall {
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                })
            }),
            ..call.clone()
        }
    });
    calls.collect()
}

/// Removes the prefix that tools of MCP servers have in Claude Code.
fn of_server(call: ToolCall) -> ToolCall {
    let plain = call.name.strip_prefix("mcp__");
    let Some(plain) = plain.filter(|plain| plain.contains("__")) else {
        return call;
    };
    ToolCall {
        name: plain.to_owned(),
        original: Some(Box::new(OriginalCall {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        })),
        ..call
    }
}

/// Converts values whose form differs.
fn convert(
    source: ImportSource,
    theirs: &str,
    ours: &str,
    given: &Map<String, Value>,
    mapped: &mut Map<String, Value>,
) {
    match ours {
        BASH => convert_command(source, theirs, given, mapped),
        EDIT => {
            if let Some(edits) = mapped.get_mut("edits").and_then(Value::as_array_mut) {
                for edit in edits {
                    rename(edit, &["oldText", "oldString"], "old_string");
                    rename(edit, &["newText", "newString"], "new_string");
                    rename(edit, &["replaceAll"], "replace_all");
                }
            }
        }
        TODO => {
            if let Some(items) = mapped.get("items").and_then(Value::as_array) {
                let items: Vec<Value> = items.iter().map(item).collect();
                mapped.insert("items".to_owned(), json!(items));
            }
        }
        SUBAGENT => {
            let general = ["general-purpose", "general", "claude"];
            let agent = mapped.get("agent").and_then(Value::as_str);
            if agent.is_some_and(|agent| general.contains(&agent)) {
                mapped.remove("agent");
            }
        }
        _ => {}
    }
}

fn convert_command(
    source: ImportSource,
    theirs: &str,
    given: &Map<String, Value>,
    mapped: &mut Map<String, Value>,
) {
    if let Some(command) = mapped.get("command").map(command_line) {
        let folder = given.get("workdir").and_then(Value::as_str);
        let command = match folder.filter(|folder| !folder.is_empty()) {
            Some(folder) => format!("cd {} && {command}", quoted(folder)),
            None => command,
        };
        mapped.insert("command".to_owned(), json!(command));
    }
    let milliseconds = mapped.get("timeout").and_then(Value::as_f64);
    if let Some(milliseconds) = milliseconds.filter(|_| source != ImportSource::Pi) {
        mapped.insert("timeout".to_owned(), json!(milliseconds / 1000.0));
    }
    if let Some(job) = mapped.get("job") {
        let job = job.as_str().map_or_else(|| job.to_string(), str::to_owned);
        let is_kill = theirs.starts_with("Kill") || theirs == "TaskStop";
        let action = if is_kill { "kill" } else { "read" };
        mapped.insert("job".to_owned(), json!(job));
        mapped.insert("action".to_owned(), json!(action));
    }
}

/// A command as one line; some programs store a list of words, which often starts a shell.
fn command_line(command: &Value) -> String {
    match command {
        Value::String(line) => line.clone(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [shell, flag, line] if shell.ends_with("sh") && flag.ends_with('c') => {
                    (*line).to_owned()
                }
                words => {
                    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                    words.join(" ")
                }
            }
        }
        other => other.to_string(),
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_./=:,@+%".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn rename(value: &mut Value, names: &[&str], to: &str) {
    let Some(members) = value.as_object_mut() else {
        return;
    };
    for name in names {
        if let Some(value) = members.remove(*name) {
            members.insert(to.to_owned(), value);
        }
    }
}

/// An item of a to-do list.
fn item(theirs: &Value) -> Value {
    let text = |name: &str| theirs.get(name).and_then(Value::as_str);
    let what = text("content").or_else(|| text("step")).or(text("text"));
    let state = match text("status").unwrap_or_default() {
        "in_progress" => "doing",
        "completed" | "cancelled" => "done",
        _ => "open",
    };
    json!({"text": what.unwrap_or_default(), "state": state})
}

/// The calls for a patch of Codex, one for each file. A file that is only deleted or moved has no
/// call of a file tool.
fn patched(patch: &str) -> Vec<(&'static str, Map<String, Value>)> {
    let mut calls = Vec::new();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let mut body = Vec::new();
        let mut take_body = || {
            while let Some(line) = lines.next_if(|line| !line.starts_with("*** ")) {
                body.push(line);
            }
        };
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            take_body();
            let content: Vec<&str> = body
                .iter()
                .map(|line| line.strip_prefix('+').unwrap_or(line))
                .collect();
            let content = content.join("\n") + "\n";
            calls.push((
                WRITE,
                object(json!({"file_path": path, "content": content})),
            ));
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let moved = lines.next_if(|line| line.starts_with("*** Move to: "));
            let mut take_body = || {
                while let Some(line) = lines.next_if(|line| {
                    !line.starts_with("*** ") || line.starts_with("*** End of File")
                }) {
                    body.push(line);
                }
            };
            take_body();
            let edits = edits(&body);
            if moved.is_some() && edits.is_empty() {
                continue;
            }
            let call = match edits.as_slice() {
                [(old, new)] => {
                    json!({"file_path": path, "old_string": old, "new_string": new})
                }
                edits => {
                    let edits: Vec<Value> = edits
                        .iter()
                        .map(|(old, new)| json!({"old_string": old, "new_string": new}))
                        .collect();
                    json!({"file_path": path, "edits": edits})
                }
            };
            calls.push((EDIT, object(call)));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            let command = format!("rm {}", quoted(path));
            calls.push((BASH, object(json!({"command": command}))));
        }
    }
    calls
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The replaced and the new text of each part of an updated file.
fn edits(body: &[&str]) -> Vec<(String, String)> {
    let mut edits = Vec::new();
    for hunk in body.split(|line| line.starts_with("@@")) {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for line in hunk {
            match line.chars().next() {
                Some('+') => new.push(&line[1..]),
                Some('-') => old.push(&line[1..]),
                Some(' ') => {
                    old.push(&line[1..]);
                    new.push(&line[1..]);
                }
                Some('*') => {}
                _ => {
                    old.push(line);
                    new.push(line);
                }
            }
        }
        if old != new {
            edits.push((old.join("\n"), new.join("\n")));
        }
    }
    edits
}

#[cfg(test)]
mod tests;
