//! Arguments that other programs write in another form: times in milliseconds, commands as lists, ranges of lines. They
//! already have the names of osier.

use std::path::Path;

use osier_base::path;
use serde_json::{Map, Value};

/// A `timeout` from this on is in milliseconds.
const MILLISECONDS: f64 = 10_000.0;

type Arguments = Map<String, Value>;

/// A range of lines becomes the first line and a number of lines.
pub(crate) fn read(arguments: &mut Arguments) -> Vec<String> {
    if let Some(Value::Array(range)) = arguments.get("view_range")
        && let [first, last] = range[..].iter().map(whole).collect::<Vec<_>>()[..]
        && let (Some(first), Some(last)) = (first, last)
        && !arguments.contains_key("offset")
    {
        arguments.shift_remove("view_range");
        arguments.insert("offset".to_owned(), first.into());
        arguments.insert("end_line".to_owned(), last.into());
    }
    let number = |arguments: &Arguments, name: &str| arguments.get(name).and_then(whole);
    // Some programs count lines from 0, and -1 is the last line.
    if number(arguments, "offset") == Some(0) {
        arguments.insert("offset".to_owned(), 1.into());
    }
    if number(arguments, "limit").is_some_and(|limit| limit < 1) {
        arguments.shift_remove("limit");
    }
    if let Some(last) = number(arguments, "end_line")
        && !arguments.contains_key("limit")
    {
        let first = number(arguments, "offset").unwrap_or(1);
        if last >= first {
            arguments.insert("limit".to_owned(), (last - first + 1).into());
        }
        if last >= first || last == -1 {
            arguments.shift_remove("end_line");
        }
    }
    Vec::new()
}

/// Converts a command that is a list of words, its directory, and a timeout in milliseconds.
pub(crate) fn bash(arguments: &mut Arguments, cwd: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(Value::Array(words)) = arguments.get("command")
        && let Some(command) = command_line(words)
    {
        arguments.insert("command".to_owned(), command.into());
    }
    if let Some(time) = arguments.get("timeout_ms").and_then(float)
        && !arguments.contains_key("timeout")
    {
        arguments.shift_remove("timeout_ms");
        arguments.insert("timeout".to_owned(), seconds(time));
    } else if let Some(time) = arguments.get("timeout").and_then(float)
        && time >= MILLISECONDS
    {
        arguments.insert("timeout".to_owned(), seconds(time));
        notes.push(format!("timeout {time} was taken as milliseconds"));
    }
    if let Some(Value::String(folder)) = arguments.get("workdir").cloned()
        && let Some(Value::String(command)) = arguments.get("command")
    {
        let command = in_folder(command, &folder, cwd);
        arguments.shift_remove("workdir");
        arguments.insert("command".to_owned(), command.into());
    }
    notes
}

/// Converts the numbers of context lines before and after a match.
pub(crate) fn grep(arguments: &mut Arguments) -> Vec<String> {
    if !arguments.contains_key("context") {
        let lines = |name| arguments.get(name).and_then(whole);
        if let Some(most) = lines("-A").into_iter().chain(lines("-B")).max() {
            arguments.shift_remove("-A");
            arguments.shift_remove("-B");
            arguments.insert("context".to_owned(), most.into());
        }
    }
    if let Some(Value::Bool(is_sensitive)) = arguments.get("case_sensitive").cloned()
        && !arguments.contains_key("ignore_case")
    {
        arguments.shift_remove("case_sensitive");
        arguments.insert("ignore_case".to_owned(), (!is_sensitive).into());
    }
    Vec::new()
}

/// Converts one question that is not in a list, and options that are only a text.
pub(crate) fn ask_user(arguments: &mut Arguments) -> Vec<String> {
    if !arguments.contains_key("questions") && arguments.contains_key("question") {
        let question = Value::Object(std::mem::take(arguments));
        arguments.insert("questions".to_owned(), Value::Array(vec![question]));
    }
    let questions = arguments.get_mut("questions").and_then(Value::as_array_mut);
    for question in questions.into_iter().flatten() {
        let options = question.get_mut("options").and_then(Value::as_array_mut);
        for option in options.into_iter().flatten() {
            if let Value::String(label) = option {
                *option = serde_json::json!({ "label": label });
            }
        }
    }
    Vec::new()
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    }
}

fn seconds(milliseconds: f64) -> Value {
    let seconds = milliseconds / 1000.0;
    if seconds.fract() == 0.0 {
        Value::from(seconds as i64)
    } else {
        Value::from(seconds)
    }
}

/// `["bash", "-lc", "ls"]` is the script; other words are quoted.
fn command_line(words: &[Value]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    let words = words.filter(|words| !words.is_empty())?;
    if let [shell, "-c" | "-lc", script] = words[..] {
        let shell = shell.rsplit('/').next().unwrap_or_default();
        if matches!(shell, "bash" | "sh" | "zsh") {
            return Some(script.to_owned());
        }
    }
    let words: Vec<String> = words.into_iter().map(quoted).collect();
    Some(words.join(" "))
}

/// `word` for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./-+:@%,".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// `command` in `folder`. Rules and the user see the change of directory as part of the command.
fn in_folder(command: &str, folder: &str, cwd: &Path) -> String {
    let found = path::resolve(cwd, folder);
    if folder.trim().is_empty() || found == cwd {
        return command.to_owned();
    }
    let folder = match folder.chars().next() {
        Some('~') => found.display().to_string(),
        Some('/' | '.') => folder.to_owned(),
        _ => format!("./{folder}"),
    };
    let folder = quoted(&folder);
    // Nothing may run in the wrong directory if there is no such directory.
    let is_single = !command
        .trim()
        .contains([';', '\n', '|', '&', '#', '(', '{']);
    if is_single {
        format!("cd {folder} && {command}")
    } else {
        format!("cd {folder} || exit\n{command}")
    }
}

#[cfg(test)]
mod tests;
