//! The cell of a tool call, from the moment its name streams in to its result. One table says how each
//! tool's call and result are shown; a tool that is not in it shows its arguments and its text.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use osier_agent::{Output, ToolResultMessage, ToolStatus, ToolUpdate};
use osier_base::ansi::{Run, carried};
use osier_base::{clock, text};
use osier_llm::{ContentBlock, ToolCall};
use osier_protocol::TodoList;
use osier_session::subagents::TaskDetails;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::highlight::{Highlighted, Highlighter};
use osier_term::row::{Row, Span};
use osier_term::widgets::diff;

use super::cell::{CellStyle, picture_rows, plain};
use super::output::{Painted, head_rows, tail_rows};
use super::task;

/// Rows of output shown while collapsed.
const FOLDED_ROWS: usize = 5;
/// Rows of a diff shown while collapsed.
const FOLDED_DIFF_ROWS: usize = 16;
/// Rows of a diff shown while unfolded; the view of changes shows all of it.
const EXPANDED_DIFF_ROWS: usize = 1000;
/// Rows of a picture.
const FOLDED_PICTURE_ROWS: u16 = 10;
const EXPANDED_PICTURE_ROWS: u16 = 30;
/// Bytes of live output kept; the result brings what matters.
const LIVE_LIMIT: usize = 64 * 1024;
/// Bytes of a result that are laid out when unfolded.
const EXPANDED_LIMIT: usize = 256 * 1024;

/// Where the call is in its life.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    /// Its arguments stream in.
    Streaming,
    Running,
    Done(Arc<ToolResultMessage>),
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCell {
    pub call_id: String,
    pub name: String,
    pub arguments: Value,
    /// Raw arguments while they stream.
    pub raw: String,
    pub phase: Phase,
    live: Output,
    /// Where the result is coloured: what is stored is not.
    colours: Box<[Run]>,
    /// The syntax of its diff.
    syntax: diff::Syntax,
    /// How far the running call is.
    status: String,
    /// What happened in the agent inside of it.
    nested: TaskDetails,
}

/// How a tool is shown.
struct ToolView {
    name: &'static str,
    /// The argument that says most.
    subject: &'static str,
    /// The text after it.
    more: fn(&Value) -> String,
    collapsed: Collapsed,
}

/// What a result shows while it is collapsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Collapsed {
    /// Only its header, unless it failed.
    Nothing,
    Start,
    End,
}

const VIEWS: &[ToolView] = &[
    ToolView {
        name: "bash",
        subject: "command",
        more: |_| String::new(),
        collapsed: Collapsed::End,
    },
    ToolView {
        name: "edit",
        subject: "file_path",
        more: |_| String::new(),
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "find",
        subject: "pattern",
        more: place,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "grep",
        subject: "pattern",
        more: place,
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "ls",
        subject: "path",
        more: |_| String::new(),
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "read",
        subject: "file_path",
        more: range,
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "task",
        subject: "prompt",
        more: |_| String::new(),
        collapsed: Collapsed::Start,
    },
    ToolView {
        name: "todo",
        subject: "",
        more: plan,
        collapsed: Collapsed::Nothing,
    },
    ToolView {
        name: "write",
        subject: "file_path",
        more: |_| String::new(),
        collapsed: Collapsed::Nothing,
    },
];

/// ` in src (*.rs)`: where something is looked for.
fn place(arguments: &Value) -> String {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = text("path").map(|path| format!(" in {path}"));
    let glob = text("glob").map(|glob| format!(" ({glob})"));
    path.unwrap_or_default() + &glob.unwrap_or_default()
}

/// How far the list is.
fn plan(arguments: &Value) -> String {
    let list = TodoList::of(arguments).unwrap_or_default();
    text::single_line(&list.summary())
}

/// `:10-19`: the lines that are read.
fn range(arguments: &Value) -> String {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let from = number("offset").unwrap_or(1);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (_, Some(limit)) => format!(":{from}-{}", from + limit.saturating_sub(1)),
        (_, None) => format!(":{from}-"),
    }
}

impl ToolCell {
    /// A call whose arguments begin to stream.
    pub(crate) fn streaming(call_id: String, name: String) -> Self {
        Self {
            call_id,
            name,
            arguments: Value::Null,
            raw: String::new(),
            phase: Phase::Streaming,
            live: Output::default(),
            colours: Box::default(),
            syntax: diff::Syntax::default(),
            status: String::new(),
            nested: TaskDetails::default(),
        }
    }

    /// A call of a stored message.
    pub(crate) fn stored(call: &ToolCall) -> Self {
        let mut cell = Self::streaming(call.id.clone(), call.name.clone());
        cell.arguments = call.arguments.clone();
        if let Some(raw) = &call.arguments_error {
            cell.raw.clone_from(raw);
        }
        cell
    }

    /// About how many bytes of text it holds.
    pub(crate) fn weight(&self) -> usize {
        let result = match &self.phase {
            Phase::Done(result) => {
                let blocks = result.result.content.iter();
                let text = blocks.map(|block| match block {
                    ContentBlock::Text { text } => text.len(),
                    ContentBlock::Image { data, .. } => data.len(),
                });
                text.sum::<usize>() + weight_of(&result.details)
            }
            Phase::Streaming | Phase::Running => 0,
        };
        result + self.raw.len() + weight_of(&self.arguments)
    }

    /// More output of the running call.
    pub(crate) fn update(&mut self, update: &ToolUpdate) {
        match update {
            ToolUpdate::Status { text } => self.status = text::single_line(text),
            ToolUpdate::Agent { event } => self.nested.on_event(event),
            // The screen is no editor and has none.
            ToolUpdate::Terminal { .. } => {}
            ToolUpdate::Output(output) => self.live.append(output, LIVE_LIMIT),
        }
    }

    /// The call's end. Live output is no longer needed.
    pub(crate) fn finish(&mut self, result: Arc<ToolResultMessage>) {
        let live = std::mem::take(&mut self.live);
        self.colours = carried(&live.text, &live.colours, &result_text(&result)).into();
        self.phase = Phase::Done(result);
        self.nested = TaskDetails::default();
        self.status = String::new();
        // Arguments that never became an object are shown as far as they came.
        if !self.arguments.is_null() {
            self.raw.clear();
        }
    }

    /// What the call gave so far.
    pub(crate) fn output(&self) -> Cow<'_, str> {
        match &self.phase {
            Phase::Done(result) => match result.details.get("diff").and_then(Value::as_str) {
                Some(patch) => Cow::Borrowed(patch),
                None => result_text(result),
            },
            Phase::Streaming | Phase::Running => Cow::Borrowed(&self.live.text),
        }
    }

    /// What the call is about: the command, the file, the pattern.
    pub(crate) fn command(&self) -> Option<String> {
        let view = VIEWS.iter().find(|view| view.name == self.name)?;
        Some(self.arguments.get(view.subject)?.as_str()?.to_owned())
    }

    /// Sends the lines of its diff to be coloured.
    pub(crate) fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        let Phase::Done(result) = &self.phase else {
            return;
        };
        if let Some(patch) = result.details.get("diff").and_then(Value::as_str) {
            let path = self.arguments.get("file_path").and_then(Value::as_str);
            self.syntax
                .request(patch, path.unwrap_or_default(), highlighter);
        }
    }

    /// Takes colours that came back; whether they were for its diff.
    pub(crate) fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        self.syntax.apply(highlighted)
    }

    /// The files of the pictures it gave, in base64.
    pub(super) fn pictures(&self) -> impl Iterator<Item = &str> {
        let content = match &self.phase {
            Phase::Done(result) => result.result.content.as_slice(),
            Phase::Streaming | Phase::Running => &[],
        };
        content.iter().filter_map(|block| match block {
            ContentBlock::Image { data, .. } => Some(data.as_str()),
            ContentBlock::Text { .. } => None,
        })
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(&self.phase, Phase::Done(result) if !result.status.is_success())
    }

    /// Whether the call has changed files in a way that is known.
    pub(crate) fn changed_files(&self) -> bool {
        matches!(&self.phase, Phase::Done(result) if result.details.get("diff").is_some())
    }

    /// The rows at a width; with pictures where a cell is known to have so many pixels.
    pub(crate) fn rows(&self, width: u16, expanded: bool, style: CellStyle) -> Vec<Row> {
        let view = VIEWS.iter().find(|view| view.name == self.name);
        let mut rows = if style.linear {
            self.spoken_header(view, width, expanded)
        } else {
            self.header_rows(view, width, expanded)
        };
        let indent = [Span::new("  ", Token::ToolOutput)];
        let body_width = width;
        match &self.phase {
            Phase::Streaming => {}
            Phase::Running => {
                rows.extend(task::rows(&self.nested, width, expanded));
                let live = Painted::from(&self.live);
                rows.extend(tail_rows(live, body_width, &indent, FOLDED_ROWS));
                if !self.status.is_empty() {
                    let status = format!("  {}", self.status);
                    let status = text::truncate(&status, usize::from(width));
                    rows.push(Row::plain(status, Token::Muted));
                }
            }
            Phase::Done(result) => {
                if let Some(details) = task::details(result) {
                    rows.extend(task::rows(&details, width, expanded));
                }
                self.result_rows(view, result, (body_width, expanded), &mut rows);
                let height = if expanded {
                    EXPANDED_PICTURE_ROWS
                } else {
                    FOLDED_PICTURE_ROWS
                };
                if let Some(cell) = style.cell {
                    for base64 in self.pictures() {
                        rows.extend(picture_rows(base64, cell, (width, height), &indent));
                    }
                }
            }
        }
        rows
    }

    /// Rows of what the call gave: its diff, else its text.
    fn result_rows(
        &self,
        view: Option<&ToolView>,
        result: &ToolResultMessage,
        (width, expanded): (u16, bool),
        rows: &mut Vec<Row>,
    ) {
        let indent = [Span::new("  ", Token::ToolOutput)];
        if let Some(patch) = result.details.get("diff").and_then(Value::as_str) {
            let limit = if expanded {
                EXPANDED_DIFF_ROWS
            } else {
                FOLDED_DIFF_ROWS
            };
            let layout = diff::DiffLayout::Unified;
            let shown = diff::highlighted_rows(patch, width, limit, layout, &self.syntax);
            rows.extend(shown);
            return;
        }
        let failed = !result.status.is_success();
        let collapsed = match view.map_or(Collapsed::End, |view| view.collapsed) {
            Collapsed::Nothing if failed => Collapsed::End,
            collapsed => collapsed,
        };
        if !expanded && collapsed == Collapsed::Nothing {
            return;
        }
        let text = result_text(result);
        let output = Painted {
            text: &text,
            colours: &self.colours,
        }
        .without_exit_code(result);
        if expanded {
            rows.extend(output.head(EXPANDED_LIMIT).rows(width, &indent));
        } else if collapsed == Collapsed::Start {
            rows.extend(head_rows(output, width, &indent, FOLDED_ROWS));
        } else {
            rows.extend(tail_rows(output, width, &indent, FOLDED_ROWS));
        }
    }

    fn header_rows(&self, view: Option<&ToolView>, width: u16, expanded: bool) -> Vec<Row> {
        let (mark, token) = self.mark();
        let name = Face::from(Token::ToolName).emphasised(Emphasis::BOLD);
        let first = [
            Span::new(mark, token),
            Span::new(self.name.as_str(), name),
            Span::new(" ", Token::Tool),
        ];
        let rest = [Span::new("  ", Token::Tool)];
        let mut subject = self.subject(view);
        if !expanded {
            subject = shorten_subject(&subject, width);
        }
        if let Some(ending) = self.ending() {
            let between = if subject.is_empty() { "" } else { " " };
            subject = format!("{subject}{between}· {ending}");
        }
        plain(&subject, Token::Tool, width, &first, &rest)
    }

    /// The header in words: tool, state, then subject.
    fn spoken_header(&self, view: Option<&ToolView>, width: u16, expanded: bool) -> Vec<Row> {
        let ending = self.ending().map(|ending| ending.replace(" · ", ", "));
        let state = match &self.phase {
            Phase::Streaming => "streaming".to_owned(),
            Phase::Running => "running".to_owned(),
            Phase::Done(result) => {
                let is_named = matches!(
                    result.status,
                    ToolStatus::Aborted | ToolStatus::Denied { .. } | ToolStatus::Timeout { .. }
                );
                let word = if result.status.is_success() {
                    "done"
                } else {
                    "failed"
                };
                match ending {
                    Some(ending) if is_named || ending.starts_with(word) => ending,
                    Some(ending) => format!("{word}, {ending}"),
                    None => word.to_owned(),
                }
            }
        };
        let (_, token) = self.mark();
        let first = [Span::new(format!("Tool {}, {state}: ", self.name), token)];
        let rest = [Span::new("  ", Token::Tool)];
        let mut subject = self.subject(view);
        if !expanded {
            subject = shorten_subject(&subject, width);
        }
        plain(&subject, Token::Tool, width, &first, &rest)
    }

    fn mark(&self) -> (&'static str, Token) {
        match &self.phase {
            Phase::Streaming => ("○ ", Token::Muted),
            Phase::Running => ("◐ ", Token::Working),
            Phase::Done(result) => match &result.status {
                ToolStatus::Success => ("● ", Token::Success),
                ToolStatus::Aborted | ToolStatus::Denied { .. } => ("■ ", Token::Warning),
                _ => ("● ", Token::Error),
            },
        }
    }

    /// What the call is about, on one or more lines.
    fn subject(&self, view: Option<&ToolView>) -> String {
        let arguments = match &self.arguments {
            Value::Null => return partial_subject(&self.raw, view),
            arguments => arguments,
        };
        let subject = view.and_then(|view| match view.subject {
            "" => Some(""),
            name => arguments.get(name)?.as_str(),
        });
        let Some(subject) = subject else {
            return compact(arguments);
        };
        let more = view.map(|view| (view.more)(arguments));
        format!("{subject}{}", more.unwrap_or_default())
    }

    /// Duration and how it ended, once it has.
    fn ending(&self) -> Option<String> {
        let Phase::Done(result) = &self.phase else {
            return None;
        };
        let mut parts = Vec::new();
        match &result.status {
            ToolStatus::Success => {}
            ToolStatus::Aborted => parts.push("interrupted".to_owned()),
            ToolStatus::Denied { .. } => parts.push("denied".to_owned()),
            ToolStatus::Timeout { timeout_ms } => {
                parts.push(format!(
                    "timed out after {}",
                    clock::human_duration(*timeout_ms)
                ));
            }
            _ => match result.details.get("exitCode").and_then(Value::as_i64) {
                Some(code) => parts.push(format!("exit {code}")),
                None => match result.details.get("signal").and_then(Value::as_str) {
                    Some(signal) => parts.push(format!("killed by {signal}")),
                    None => parts.push("failed".to_owned()),
                },
            },
        }
        parts.extend(counts(&result.details));
        if result.duration_ms >= 100 {
            parts.push(clock::human_duration(result.duration_ms));
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }
}

/// How much a call has read or found.
fn counts(details: &Value) -> Option<String> {
    const COUNTS: [(&str, &str, &str); 4] = [
        ("linesRead", "line", "lines"),
        ("matches", "match", "matches"),
        ("count", "path", "paths"),
        ("total", "entry", "entries"),
    ];
    // A picture has no lines.
    if details.get("mimeType").is_some() {
        return None;
    }
    let number = |name: &str| details.get(name).and_then(Value::as_u64);
    let counted = |name: &str, (one, many): (&str, &str)| {
        let count = number(name)?;
        Some(format!("{count} {}", if count == 1 { one } else { many }))
    };
    let (name, one, many) = COUNTS.iter().find(|(name, ..)| number(name).is_some())?;
    let found = counted(name, (one, many))?;
    Some(match counted("files", ("file", "files")) {
        Some(files) if number("files") > Some(0) => format!("{found} in {files}"),
        _ => found,
    })
}

/// Bytes of the strings in a value.
fn weight_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight_of).sum(),
        Value::Object(fields) => fields.values().map(weight_of).sum(),
        _ => 0,
    }
}

/// The first line of the subject, and how many follow.
fn shorten_subject(subject: &str, width: u16) -> String {
    let mut lines = subject.lines();
    let first = lines.next().unwrap_or_default();
    let columns = usize::from(width).saturating_sub(24).max(16);
    let first = text::truncate(first, columns * 2);
    match lines.count() {
        0 => first.into_owned(),
        more => format!("{first} (+{more} lines)"),
    }
}

/// The subject while its JSON still streams: the value of the subject's key as far as it came.
fn partial_subject(raw: &str, view: Option<&ToolView>) -> String {
    let Some(view) = view else {
        return text::single_line(text::tail_bytes(raw, 200));
    };
    let key = format!("\"{}\"", view.subject);
    let value = raw
        .split_once(&key)
        .and_then(|(_, rest)| rest.trim_start().strip_prefix(':'))
        .and_then(|rest| rest.trim_start().strip_prefix('"'));
    let Some(value) = value else {
        return "…".to_owned();
    };
    let mut shown = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => match characters.next() {
                Some('n') => shown.push('\n'),
                Some('t') => shown.push('\t'),
                Some(other) => shown.push(other),
                None => break,
            },
            other => shown.push(other),
        }
    }
    shown
}

/// `name: value, …` on one line.
fn compact(arguments: &Value) -> String {
    let Some(fields) = arguments.as_object() else {
        return text::single_line(&arguments.to_string());
    };
    let show = |value: &Value| match value.as_str() {
        Some(text) => text::single_line(text::head_bytes(text, 200)),
        None => value.to_string(),
    };
    fields
        .iter()
        .map(|(name, value)| format!("{name}: {}", show(value)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn result_text(result: &ToolResultMessage) -> Cow<'_, str> {
    if let [ContentBlock::Text { text }] = result.result.content.as_slice() {
        return Cow::Borrowed(text);
    }
    let parts = result.result.content.iter().map(|block| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Image { mime_type, data } => {
            format!("[{mime_type}, {} bytes]", data.len() / 4 * 3)
        }
    });
    Cow::Owned(parts.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
