//! The cell of a tool call, from the moment its name streams in to its result. The row of a tool
//! says how its calls and results are shown; a tool without a row shows its arguments and its text.
//! `header` draws the call, `proposal` a call that waits for a permission, `result` the result.

mod header;
pub(crate) mod proposal;
mod result;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use osier_agent::{Output, ToolResultMessage, ToolUpdate};
use osier_base::ansi::{Run, carried};
use osier_base::text;
use osier_llm::{ContentBlock, ToolCall};
use osier_protocol::questions::{Question, Subject};
use osier_protocol::{Effect, Review, SubagentInfo};
use osier_session::subagents::TaskDetails;
use osier_settings::Density;
use osier_term::widgets::diff;
use osier_term::{Highlighted, Highlighter, Row, Span, Token};
use osier_tools::{BuiltIn, ToolEffect};

use super::cell_style::{CellStyle, picture_rows, plain};
use super::output::{Painted, tail_rows};
use super::task;

/// Rows of output shown while collapsed.
const FOLDED_ROWS: usize = 5;
/// Rows of the screen of a terminal.
const SCREEN_ROWS: usize = 12;
/// Rows of a picture.
const FOLDED_PICTURE_ROWS: u16 = 10;
const EXPANDED_PICTURE_ROWS: u16 = 30;
/// The maximum bytes of live output in memory; the result contains the important part.
const LIVE_LIMIT: usize = 64 * 1024;

/// The state of the call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    /// The arguments of the call stream in.
    Streaming,
    Running,
    /// The call has no result, and nothing runs: osier was killed.
    Interrupted,
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
    /// The current screen of the call's terminal.
    pub screen: Option<Output>,
    /// The colours of the result, which are not stored in its text.
    colours: Box<[Run]>,
    /// The syntax of the call's diff.
    syntax: diff::Syntax,
    /// The progress of the running call.
    status: String,
    /// The events of the agent that the call runs.
    nested: TaskDetails,
    /// The subagent that the call started, and the time since it was reported.
    pub subagent: Option<Box<(SubagentInfo, Duration)>>,
    /// The judgement of auto review.
    pub review: Option<Box<Review>>,
    /// The question whether the call may run, while it waits.
    proposal: Option<Box<Question>>,
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
            screen: None,
            colours: Box::default(),
            syntax: diff::Syntax::default(),
            status: String::new(),
            nested: TaskDetails::default(),
            subagent: None,
            review: None,
            proposal: None,
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

    /// The approximate bytes of text in the call.
    pub(crate) fn weight(&self) -> usize {
        let result = match &self.phase {
            Phase::Done(result) => {
                let blocks = result.result.content.iter();
                let text = blocks.map(|block| match block {
                    ContentBlock::Text { text } => text.len(),
                    ContentBlock::Image { data, .. } | ContentBlock::File { data, .. } => {
                        data.len()
                    }
                });
                text.sum::<usize>() + weight_of(&result.details)
            }
            Phase::Streaming | Phase::Running | Phase::Interrupted => 0,
        };
        result + self.raw.len() + weight_of(&self.arguments)
    }

    /// Adds output of the running call.
    pub(crate) fn update(&mut self, update: &ToolUpdate) {
        match update {
            ToolUpdate::Status { text } => self.status = text::single_line(text),
            ToolUpdate::Agent { event } => self.nested.on_event(event),
            // Only editors have terminals of their own.
            ToolUpdate::Terminal { .. } => {}
            ToolUpdate::Output(output) => self.live.append(output, LIVE_LIMIT),
        }
    }

    /// Ends the call. Live output is no longer needed.
    pub(crate) fn finish(&mut self, result: Arc<ToolResultMessage>) {
        let live = std::mem::take(&mut self.live);
        self.colours = carried(&live.text, &live.colours, &result_text(&result)).into();
        self.review = Review::of(&result.details).map(Box::new);
        self.phase = Phase::Done(result);
        self.propose(None);
        self.nested = TaskDetails::default();
        self.status = String::new();
        // Arguments that never became an object are shown as far as they arrived.
        if !self.arguments.is_null() {
            self.raw.clear();
        }
    }

    /// Shows what the call would do while the question about it waits.
    pub(crate) fn propose(&mut self, question: Option<&Question>) {
        if self.proposal.is_some() || question.is_some() {
            self.syntax = diff::Syntax::default();
        }
        self.proposal = question.map(|question| Box::new(question.clone()));
    }

    pub(crate) fn is_proposed(&self) -> bool {
        self.proposal.is_some()
    }

    /// The output of the call so far.
    pub(crate) fn output(&self) -> Cow<'_, str> {
        match &self.phase {
            Phase::Done(result) => match result.details.get("diff").and_then(Value::as_str) {
                Some(patch) => Cow::Borrowed(patch),
                None => result_text(result),
            },
            Phase::Streaming | Phase::Running | Phase::Interrupted => {
                Cow::Borrowed(&self.live.text)
            }
        }
    }

    /// The subject of the call: the command, the file, the pattern.
    pub(crate) fn command(&self) -> Option<String> {
        let part = osier_tools::find(&self.name)?.view.subject.first();
        let part = part.filter(|part| part.kind.is_text())?;
        Some(self.arguments.get(part.argument)?.as_str()?.to_owned())
    }

    /// Sends the lines of the call's diff to be coloured.
    pub(crate) fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        if let Some(Subject::Diff { path, diff }) = self
            .proposal
            .as_ref()
            .and_then(|question| question.subject.as_ref())
        {
            return self.syntax.request(diff, path, highlighter);
        }
        let Phase::Done(result) = &self.phase else {
            return;
        };
        if let Some(patch) = result.details.get("diff").and_then(Value::as_str) {
            let path = self.arguments.get("file_path").and_then(Value::as_str);
            self.syntax
                .request(patch, path.unwrap_or_default(), highlighter);
        }
    }

    /// Applies highlighted colours; returns whether they were for the call's diff.
    pub(crate) fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        self.syntax.apply(highlighted)
    }

    /// The files of the pictures in the result, in base64.
    pub(super) fn pictures(&self) -> impl Iterator<Item = &str> {
        let content = match &self.phase {
            Phase::Done(result) => result.result.content.as_slice(),
            Phase::Streaming | Phase::Running | Phase::Interrupted => &[],
        };
        content.iter().filter_map(|block| match block {
            ContentBlock::Image { data, .. } => Some(data.as_str()),
            ContentBlock::Text { .. } | ContentBlock::File { .. } => None,
        })
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(&self.phase, Phase::Done(result) if !result.status.is_success())
    }

    /// The verb and the noun that count several calls like this one, such as `read` and `file`, if
    /// the call only read something. A call with a picture is never in a group.
    pub(crate) fn several(&self) -> Option<(&'static str, &'static str)> {
        let looked = matches!(&self.phase, Phase::Done(result) if result.status.is_success());
        let is_text = self.pictures().next().is_none();
        let tool = osier_tools::find(&self.name).filter(|_| looked && is_text)?;
        let looks = matches!(tool.effect, ToolEffect::Looks | ToolEffect::Fetches);
        tool.view.verbs.several.filter(|_| looks)
    }

    /// Whether the call has changed files in a way that is known.
    pub(crate) fn changed_files(&self) -> bool {
        matches!(&self.phase, Phase::Done(result) if result.details.get("diff").is_some())
    }

    /// The rows at a width; with pictures if the size of a cell in pixels is known.
    pub(crate) fn rows(&self, width: u16, expanded: bool, style: CellStyle) -> Vec<Row> {
        let tool = osier_tools::find(&self.name);
        if let (Some(question), false) = (&self.proposal, style.linear) {
            let mut rows = proposal::call_rows(question, &self.head(), width, &self.syntax);
            let review = self.review.iter();
            rows.extend(review.flat_map(|review| review_rows(review, width, true)));
            return rows;
        }
        let mut rows = if style.linear {
            self.spoken_header(tool, width, expanded)
        } else {
            self.header_rows(tool, width, expanded)
        };
        if let Some(review) = &self.review {
            rows.extend(review_rows(review, width, expanded));
        }
        match &self.phase {
            Phase::Streaming | Phase::Interrupted => {}
            Phase::Running => self.add_running(width, expanded, style, &mut rows),
            Phase::Done(result) => {
                let is_hidden = !expanded
                    && style.density == Density::Quiet
                    && self.screen.is_none()
                    && result.status.is_success();
                if !is_hidden {
                    self.add_result(tool, result, width, expanded, style, &mut rows);
                }
            }
        }
        rows
    }

    /// Adds the output so far.
    fn add_running(&self, width: u16, expanded: bool, style: CellStyle, rows: &mut Vec<Row>) {
        if let Some((info, since)) = self.subagent.as_deref() {
            rows.push(task::summary(info, *since, width));
        }
        if expanded {
            rows.extend(task::steps(&self.nested, width));
        }
        let (live, fold) = (Painted::from(&self.live), style.fold(FOLDED_ROWS));
        rows.extend(tail_rows(live, width, &indent(), fold));
        if !self.status.is_empty() {
            let status = format!("  {}", self.status);
            let status = text::truncate(&status, usize::from(width));
            rows.push(Row::plain(status, Token::Muted));
        }
    }

    /// Adds the result, or the screen of a terminal, and pictures.
    fn add_result(
        &self,
        tool: Option<&BuiltIn>,
        result: &ToolResultMessage,
        width: u16,
        expanded: bool,
        style: CellStyle,
        rows: &mut Vec<Row>,
    ) {
        if let Some(details) = task::details(result) {
            let stored = || Box::new((task::of_details(&details, result), Duration::ZERO));
            let shown = self.subagent.clone().unwrap_or_else(stored);
            rows.push(task::summary(&shown.0, shown.1, width));
            if expanded {
                rows.extend(task::steps(&details, width));
            }
        }
        match &self.screen {
            Some(screen) => {
                let fold = style.fold(if expanded { usize::MAX } else { SCREEN_ROWS });
                rows.extend(tail_rows(Painted::from(screen), width, &indent(), fold));
            }
            None => rows.extend(self.result_rows(tool, result, width, expanded, style)),
        }
        let height = if expanded {
            EXPANDED_PICTURE_ROWS
        } else {
            FOLDED_PICTURE_ROWS
        };
        if let Some(cell) = style.cell {
            for base64 in self.pictures() {
                rows.extend(picture_rows(base64, cell, width, height, &indent()));
            }
        }
    }
}

/// The start of the rows below the header.
fn indent() -> [Span; 1] {
    [Span::new("  ", Token::ToolOutput)]
}

/// The judgement of auto review; a denial is never cut.
fn review_rows(review: &Review, width: u16, expanded: bool) -> Vec<Row> {
    let line = text::single_line(&review.line());
    let (token, is_complete) = match review.decision {
        Effect::Allow => (Token::Muted, expanded),
        Effect::Ask => (Token::Warning, expanded),
        Effect::Deny => (Token::Warning, true),
    };
    let indent = [Span::new("  ", token)];
    let room = usize::from(width).saturating_sub(2);
    let line = if is_complete {
        line.into()
    } else {
        text::truncate(&line, room)
    };
    plain(&line, token, width, &indent, &indent)
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

fn result_text(result: &ToolResultMessage) -> Cow<'_, str> {
    if let [ContentBlock::Text { text }] = result.result.content.as_slice() {
        return Cow::Borrowed(text);
    }
    let parts = result.result.content.iter().map(ContentBlock::description);
    Cow::Owned(parts.collect::<Vec<_>>().join("\n"))
}
