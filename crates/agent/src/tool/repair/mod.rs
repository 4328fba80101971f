//! Repairs the calls of an answer before it is stored: other names of tools and arguments, values of another type, JSON
//! with raw line breaks. No other place repairs calls: permission rules, hooks, tools, the session file and exports get
//! the repaired call, so a rule cannot be avoided by another spelling.
//!
//! A part is repaired only if it has exactly one meaning; everything else fails the check of the arguments. Tools of
//! servers and plugins keep the names of their arguments.

mod coerce;
mod json_text;
mod names;
mod unknown;

use osier_llm::{AssistantBlock, AssistantMessage, StopReason, ToolCall};
use serde_json::{Map, Value};

use super::selection::ToolSelection;
use crate::data::ToolOrigin;

/// Names of the only argument in which some models wrap all others.
const WRAPPERS: [&str; 4] = ["arguments", "parameters", "input", "args"];

/// Repairs the calls of `answer`. Returns the notes for the model about each call, in order.
pub(crate) fn repair_calls(
    answer: &mut AssistantMessage,
    tools: &ToolSelection,
) -> Vec<Vec<String>> {
    let is_complete = matches!(answer.stop_reason, StopReason::Stop | StopReason::ToolUse);
    let calls = answer.content.iter_mut().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some(call),
        _ => None,
    });
    calls
        .map(|call| repair_call(call, tools, is_complete))
        .collect()
}

/// Repairs the name of a call whose arguments are not known yet, unless the name depends on the arguments or means more
/// than the tool.
pub(crate) fn repair_name(name: &mut String, tools: &ToolSelection) {
    if let Some(found) = names::resolve(tools, name, &Value::Null)
        && found.other.is_none_or(|other| other.implies.is_none())
    {
        name.clone_from(&found.tool.spec().name);
    }
}

fn repair_call(call: &mut ToolCall, tools: &ToolSelection, is_complete: bool) -> Vec<String> {
    if let Some(raw) = call.arguments_error.as_deref().filter(|_| is_complete)
        && let Some(arguments) = json_text::repaired_object(raw)
    {
        call.arguments = Value::Object(arguments);
        call.arguments_error = None;
    }
    let Some(found) = names::resolve(tools, &call.name, &call.arguments) else {
        return Vec::new();
    };
    let spec = found.tool.spec();
    call.name.clone_from(&spec.name);
    let Value::Object(arguments) = &mut call.arguments else {
        return Vec::new();
    };
    let is_own = matches!(found.tool.origin(), ToolOrigin::Program);
    let mut notes = Vec::new();
    if is_own {
        unwrap(arguments, &spec.parameters);
        if let Some(other) = found.other {
            names::apply_name(other, arguments);
        }
        names::rename_arguments(found.tool.spellings(), arguments);
    }
    coerce::to_schema(&mut call.arguments, &spec.parameters);
    if is_own {
        if let Value::Object(arguments) = &mut call.arguments {
            notes = found.tool.adapt(arguments);
            let meant = found.tool.redirect(arguments);
            if let Some((name, arguments)) = meant.filter(|(name, _)| tools.get(name).is_some()) {
                name.clone_into(&mut call.name);
                call.arguments = Value::Object(arguments);
                return notes;
            }
        }
        notes.extend(unknown::note(&**found.tool, &call.arguments));
    }
    notes
}

/// Unwraps the arguments if the model put all of them into one outer argument.
fn unwrap(arguments: &mut Map<String, Value>, schema: &Value) {
    let Some((name, inner)) = arguments.iter().next().filter(|_| arguments.len() == 1) else {
        return;
    };
    let is_own = schema
        .get("properties")
        .and_then(|known| known.get(name))
        .is_some();
    if is_own || !WRAPPERS.contains(&name.as_str()) {
        return;
    }
    let inner = match inner {
        Value::Object(inner) => Some(inner.clone()),
        Value::String(text) => json_text::repaired_object(text),
        _ => None,
    };
    if let Some(inner) = inner {
        *arguments = inner;
    }
}

#[cfg(test)]
mod tests;
