//! Names of tools and arguments.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::interface::Tool;
use super::super::selection::ToolSelection;
use super::super::spellings::{OtherName, Spellings};

/// Prefixes that some models add to the name of a tool.
const PREFIXES: [&str; 7] = [
    "functions.",
    "functions:",
    "functions/",
    "tools.",
    "default_api.",
    "default_api:",
    "mcp__",
];

/// The tool that a call means.
pub(super) struct Found<'t> {
    pub(super) tool: &'t Arc<dyn Tool>,
    /// The name in another program by which the tool was found.
    pub(super) other: Option<&'static OtherName>,
}

/// The offered tool that `name` means: by its own name, then with other case, then by the name of another program.
pub(super) fn resolve<'t>(
    tools: &'t ToolSelection,
    name: &str,
    arguments: &Value,
) -> Option<Found<'t>> {
    let exact = |name: &str| tools.get(name).map(|tool| Found { tool, other: None });
    if let Some(found) = exact(name) {
        return Some(found);
    }
    // Special tokens of some models follow the name.
    let name = name.split("<|").next().unwrap_or_default().trim();
    let prefix = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    let name = prefix.unwrap_or(name);
    if let Some(found) = exact(name) {
        return Some(found);
    }
    let wanted = plain(name);
    let only = |mut found: Vec<Found<'t>>| (found.len() == 1).then(|| found.remove(0));
    let same = tools
        .callable()
        .filter(|tool| plain(&tool.spec().name) == wanted);
    let same: Vec<Found<'t>> = same.map(|tool| Found { tool, other: None }).collect();
    if !same.is_empty() {
        return only(same);
    }
    let command = arguments.get("command").and_then(Value::as_str);
    let means = |other: &&OtherName| {
        plain(other.name) == wanted && (other.command.is_none() || other.command == command)
    };
    let others = tools.callable().filter_map(|tool| {
        let other = tool.spellings().names.iter().find(means)?;
        Some(Found {
            tool,
            other: Some(other),
        })
    });
    only(others.collect())
}

/// Sets the argument that the name of another program implies, and removes the `command` that only the other program
/// needs.
pub(super) fn apply_name(other: &OtherName, arguments: &mut Map<String, Value>) {
    if other.command.is_some() {
        arguments.shift_remove("command");
    }
    if let Some((argument, value)) = other.implies {
        arguments
            .entry(argument)
            .or_insert_with(|| Value::from(value));
    }
}

/// Renames arguments to the tool's own names. If an argument exists under both names, both stay, and the other name is
/// unknown.
pub(super) fn rename_arguments(spellings: &Spellings, arguments: &mut Map<String, Value>) {
    for (path, others) in spellings.arguments {
        match path.split_once('.') {
            None => rename(arguments, path, others),
            Some((list, name)) => each_element(arguments.get_mut(list), &mut |element| {
                rename(element, name, others);
            }),
        }
    }
    for (path, other, value) in spellings.values {
        match path.split_once('.') {
            None => replace(arguments, path, other, value),
            Some((list, name)) => each_element(arguments.get_mut(list), &mut |element| {
                replace(element, name, other, value);
            }),
        }
    }
}

/// Calls `change` for each object of a list, which some models write as text, or as its only element.
fn each_element(list: Option<&mut Value>, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Some(list) = list else { return };
    if let Value::String(text) = list
        && let Some(parsed) = super::json_text::repaired_value(text)
        && (parsed.is_array() || parsed.is_object())
    {
        *list = parsed;
    }
    match list {
        Value::Object(element) => change(element),
        Value::Array(elements) => {
            let elements = elements.iter_mut().filter_map(Value::as_object_mut);
            elements.for_each(change);
        }
        _ => {}
    }
}

fn rename(arguments: &mut Map<String, Value>, name: &str, others: &[&str]) {
    if arguments.get(name).is_some_and(|value| !value.is_null()) {
        // A second name with the same value adds nothing.
        let repeats = |other: &str, value: &Value| {
            is_other(name, others, other) && Some(value) == arguments.get(name)
        };
        let repeated: Vec<String> = arguments
            .iter()
            .filter(|(other, value)| repeats(other, value))
            .map(|(other, _)| other.clone())
            .collect();
        for other in repeated {
            arguments.shift_remove(&other);
        }
        return;
    }
    // The names are tried in the order of the table, so that the most usual name is used.
    let given = |wanted: &str| {
        let mut names = arguments.iter().filter(|(_, value)| !value.is_null());
        names
            .find(|(given, _)| is_spelled(given, wanted) && given.as_str() != name)
            .map(|(given, _)| given.clone())
    };
    let found = given(name).or_else(|| others.iter().find_map(|other| given(other)));
    let Some(found) = found else { return };
    let renamed = std::mem::take(arguments)
        .into_iter()
        .filter(|(key, _)| key != name);
    let renamed = renamed.map(|(key, value)| {
        let key = if key == found { name.to_owned() } else { key };
        (key, value)
    });
    *arguments = renamed.collect();
}

fn is_other(name: &str, others: &[&str], given: &str) -> bool {
    given != name
        && (is_spelled(given, name) || others.iter().any(|other| is_spelled(given, other)))
}

fn replace(arguments: &mut Map<String, Value>, name: &str, other: &str, value: &str) {
    let given = arguments.get_mut(name);
    if let Some(given) = given
        && given
            .as_str()
            .is_some_and(|given| plain(given) == plain(other))
    {
        *given = Value::from(value);
    }
}

/// Whether `given` is a spelling of `name`.
pub(super) fn is_spelled(given: &str, name: &str) -> bool {
    if given.starts_with('-') || name.starts_with('-') {
        return given == name;
    }
    plain(given) == plain(name)
}

/// `name` in lower case, without the characters that only separate words.
fn plain(name: &str) -> String {
    let chars = name.chars().filter(|char| !matches!(char, '_' | '-' | ' '));
    chars.flat_map(char::to_lowercase).collect()
}
