//! `apply_patch` instead of `edit` and `write`, and back.

use osier_llm::{ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::edit::patch;
use crate::edit::tool::EDIT;
use crate::edit::write::WRITE;

/// Replaces both tools; false if one of them is not offered.
pub(super) fn replace_tools(tools: &mut Vec<ToolSpec>) -> bool {
    let has = |name: &str| tools.iter().any(|spec| spec.name == name);
    if !patch::REPLACES.iter().all(|name| has(name)) {
        return false;
    }
    let place = tools
        .iter()
        .position(|spec| patch::REPLACES.contains(&spec.name.as_str()));
    tools.retain(|spec| !patch::REPLACES.contains(&spec.name.as_str()) && spec.name != patch::NAME);
    tools.insert(place.unwrap_or_default(), patch::spec().clone());
    true
}

/// An earlier call of `edit` or `write` as a patch.
pub(super) fn of_edit(call: &mut ToolCall) {
    let Some(path) = text(call, "file_path") else {
        return;
    };
    let section = match call.name.as_str() {
        WRITE => text(call, "content").map(|content| {
            let lines = content.lines().map(|line| format!("+{line}\n"));
            format!("*** Add File: {path}\n{}", lines.collect::<String>())
        }),
        EDIT => {
            let hunks = edits(call).map(|(old, new)| format!("@@\n{}", hunk(old, new)));
            let hunks = hunks.collect::<String>();
            (!hunks.is_empty()).then(|| format!("*** Update File: {path}\n{hunks}"))
        }
        _ => None,
    };
    if let Some(section) = section {
        let input = format!("*** Begin Patch\n{section}*** End Patch\n");
        patch::NAME.clone_into(&mut call.name);
        call.arguments = json!({ "input": input });
    }
}

/// The texts of a call of `edit`.
fn edits(call: &ToolCall) -> impl Iterator<Item = (&str, &str)> {
    let single = Some(&call.arguments);
    let several = call.arguments.get("edits").and_then(Value::as_array);
    let all = single.into_iter().chain(several.into_iter().flatten());
    all.filter_map(|value| {
        let text = |name: &str| value.get(name)?.as_str();
        Some((text("old_string")?, text("new_string")?))
    })
}

/// The lines of an edit with their signs; those that both texts begin and end with are unchanged.
fn hunk(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = old.iter().zip(&new).take_while(same).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = end.take_while(same).count();
    let signed = |sign: char, lines: &[&str]| -> String {
        let mut text = String::new();
        for line in lines {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
        text
    };
    [
        signed(' ', &old[..start]),
        signed('-', &old_rest[..old_rest.len() - end]),
        signed('+', &new_rest[..new_rest.len() - end]),
        signed(' ', &old_rest[old_rest.len() - end..]),
    ]
    .concat()
}

/// An earlier patch as a call of `edit` or `write`, if it changes or creates one file.
pub(super) fn to_edit(call: &mut ToolCall) {
    if call.name != patch::NAME {
        return;
    }
    let input = text(call, "input").unwrap_or_default();
    if let Some((name, arguments)) = patch::as_edit(input) {
        name.clone_into(&mut call.name);
        call.arguments = arguments;
    }
}

/// A text argument of a call.
fn text<'c>(call: &'c ToolCall, name: &str) -> Option<&'c str> {
    call.arguments.get(name).and_then(Value::as_str)
}
