//! Tool calls with their results, collapsed. The rows of the tools define the summary line of a call.

use serde_json::{Map, Value};

use super::code;
use super::escape::{clean, escape, escape_clean, picture};
use super::theme::Highlighter;
use crate::patch;
use osier_agent::ToolResultMessage;
use osier_base::visible::visible;
use osier_base::{clock, text};
use osier_llm::{ContentBlock, ToolCall};
use osier_protocol::Review;
use osier_tools::{PartKind, READ};

/// Maximum bytes of a result.
const LONGEST: usize = 512 * 1024;
/// Diffs of up to this many lines are open from the start.
const OPEN_DIFF: usize = 60;
/// Maximum columns of a call's summary line.
const SUBJECT: usize = 200;

/// A folded call.
pub(super) struct Cell<'a> {
    pub name: &'a str,
    pub subject: &'a str,
    pub failed: bool,
    pub open: bool,
    /// The end of the summary line, already escaped.
    pub meta: String,
    /// The elements below the summary line.
    pub body: String,
}

pub(super) fn cell(highlighter: &mut dyn Highlighter, cell: &Cell<'_>) -> String {
    let (class, mark) = if cell.failed {
        ("bad", "✗")
    } else {
        ("good", "✓")
    };
    let open = if cell.open { " open" } else { "" };
    let line = visible(cell.subject);
    let line = text::single_line(&clean(&line));
    let line = text::truncate(&line, SUBJECT);
    let subject = if is_command(cell.name) {
        code::marked(highlighter, "bash", &line)
    } else {
        escape_clean(&line)
    };
    format!(
        "<details class=\"tool {class}\"{open}><summary><span class=mark>{mark}</span><b>{}</b> \
         <code>{subject}</code><span class=meta>{}</span></summary>{}</details>",
        escape(cell.name),
        cell.meta,
        cell.body
    )
}

/// A call and its result.
pub(super) fn answered(
    highlighter: &mut dyn Highlighter,
    call: Option<&ToolCall>,
    result: &ToolResultMessage,
) -> String {
    let call = call.map(ToolCall::as_made);
    let call = call.as_deref();
    let given = &result.result;
    let patch = result.details.get("diff").and_then(Value::as_str);
    let patch = patch.filter(|patch| !patch.is_empty());
    let exit = result.details.get("exitCode").and_then(Value::as_i64);
    let failed =
        given.is_error || !result.status.is_success() || exit.is_some_and(|exit| exit != 0);
    let changed = patch.map_or(String::new(), |patch| {
        let (added, removed) = code::counts(patch);
        format!("<ins>+{added}</ins> <del>−{removed}</del>")
    });
    let mut body = String::new();
    if let Some(call) = call {
        body.push_str(&arguments(highlighter, call, patch.is_some()));
    }
    if let Some(review) = Review::of(&result.details) {
        body.push_str("<p>");
        body.push_str(&escape_clean(&review.line()));
        body.push_str("</p>");
    }
    match patch {
        Some(patch) if !failed => body.push_str(&code::diff(patch)),
        _ => body.push_str(&content(highlighter, call, &given.content)),
    }
    let name = call.map_or(given.tool_name.as_str(), |call| call.name.as_str());
    let exit = exit.and_then(|exit| i32::try_from(exit).ok());
    cell(
        highlighter,
        &Cell {
            name,
            subject: &call.map(subject).unwrap_or_default(),
            failed,
            open: patch.is_some_and(|patch| patch.lines().count() <= OPEN_DIFF),
            meta: meta(result, exit, &changed),
            body,
        },
    )
}

/// A call without a result.
pub(super) fn unanswered(highlighter: &mut dyn Highlighter, call: &ToolCall) -> String {
    let call = &*call.as_made();
    let body = arguments(highlighter, call, false);
    let subject = subject(call);
    cell(
        highlighter,
        &Cell {
            name: &call.name,
            subject: &subject,
            failed: true,
            open: false,
            meta: "never answered".to_owned(),
            body,
        },
    )
}

/// The end of the summary line: changes, outcome and duration.
pub(super) fn meta(result: &ToolResultMessage, exit: Option<i32>, changed: &str) -> String {
    let mut parts = Vec::new();
    if !changed.is_empty() {
        parts.push(changed.to_owned());
    }
    if let Some(exit) = exit.filter(|exit| *exit != 0) {
        parts.push(format!("exit {exit}"));
    }
    if result.duration_ms > 0 {
        parts.push(clock::human_duration(result.duration_ms));
    }
    parts.join(" · ")
}

/// The printed output.
pub(super) fn output(printed: &str) -> String {
    if printed.trim().is_empty() {
        return "<p class=empty>no output</p>".to_owned();
    }
    let printed = clean(printed);
    let start = text::head_bytes(&printed, LONGEST);
    let cut = printed.len() - start.len();
    let more = match cut {
        0 => String::new(),
        cut => format!("<p class=empty>{cut} more bytes are not in this page</p>"),
    };
    let start = escape_clean(start);
    format!(
        "<pre class=plain tabindex=0>{}</pre>{more}",
        start.trim_end()
    )
}

fn is_command(name: &str) -> bool {
    let known = osier_tools::known_call(name, &Map::new());
    let first = known.and_then(|(tool, _)| tool.view.subject.first());
    matches!(name, "!" | "!!") || first.is_some_and(|first| first.kind == PartKind::Command)
}

/// The subject in the summary line of a call.
fn subject(call: &ToolCall) -> String {
    if let Some(files) = patch::files(call) {
        return files;
    }
    let Value::Object(given) = &call.arguments else {
        return call.arguments_error.clone().unwrap_or_default();
    };
    let known = osier_tools::known_call(&call.name, given);
    let subject = known.and_then(|(tool, arguments)| tool.subject(&Value::Object(arguments)));
    let first = || given.values().find_map(Value::as_str).map(str::to_owned);
    subject.or_else(first).unwrap_or_default()
}

/// The arguments that are not in the summary line, except those that the diff shows.
fn arguments(highlighter: &mut dyn Highlighter, call: &ToolCall, has_diff: bool) -> String {
    let Value::Object(members) = &call.arguments else {
        let raw = call.arguments_error.as_deref().unwrap_or_default();
        return if raw.is_empty() {
            String::new()
        } else {
            output(raw)
        };
    };
    let shown = subject(call);
    let one_line = !shown.contains('\n') && shown.len() <= SUBJECT;
    let is_shown = |name: &str, value: &Value| {
        let single = Map::from_iter([(name.to_owned(), value.clone())]);
        let known = osier_tools::known_call(&call.name, &single);
        let is_part = known.is_none_or(|(tool, ours)| {
            let mut parts = tool.view.subject.iter().filter(|part| part.kind.is_text());
            parts.any(|part| ours.contains_key(part.argument))
        });
        is_part && value.as_str().is_some_and(|text| shown.contains(text))
    };
    let rest: Map<String, Value> = members
        .iter()
        .filter(|(name, value)| !one_line || !is_shown(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if rest.is_empty() || has_diff {
        return String::new();
    }
    if let ([(_, Value::String(text))], true) = (&rest.iter().collect::<Vec<_>>()[..], !one_line) {
        return if is_command(&call.name) {
            code::block(highlighter, "bash", &visible(text))
        } else {
            code::block(highlighter, "", text)
        };
    }
    let json = serde_json::to_string_pretty(&rest).unwrap_or_default();
    code::block(highlighter, "json", text::head_bytes(&json, LONGEST))
}

/// The result for the model.
fn content(
    highlighter: &mut dyn Highlighter,
    call: Option<&ToolCall>,
    content: &[ContentBlock],
) -> String {
    let mut html = String::new();
    for block in content {
        match block {
            ContentBlock::Text { text } => match read_language(call) {
                Some(language) if text.len() <= LONGEST => {
                    html.push_str(&code::block(highlighter, &language, text));
                }
                _ => html.push_str(&output(text)),
            },
            ContentBlock::Image { data, mime_type } => match picture(mime_type, data) {
                Some(source) => {
                    html.push_str("<figure><img loading=lazy alt=\"picture\" src=\"");
                    html.push_str(&source);
                    html.push_str("\"></figure>");
                }
                None => html.push_str("<p class=empty>an image that is not shown</p>"),
            },
            file @ ContentBlock::File { .. } => html.push_str(&output(&file.description())),
        }
    }
    if html.is_empty() {
        html.push_str("<p class=empty>no output</p>");
    }
    html
}

/// The language of a file that was read, from its extension.
fn read_language(call: Option<&ToolCall>) -> Option<String> {
    let call = call?;
    let (tool, arguments) = osier_tools::known_call(&call.name, call.arguments.as_object()?)?;
    let file = tool.file.filter(|_| tool.name == READ)?;
    let path = arguments.get(file.name)?.as_str()?;
    let (_, ending) = path.rsplit_once('.')?;
    let plain =
        (1..=12).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then(|| ending.to_owned())
}
