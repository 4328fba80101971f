//! One entry of the transcript: what it says and how it folds. A cell knows its rows for a width; it
//! lays them out when it is first seen at that width, never before.

use std::borrow::Cow;
use std::sync::Arc;

use osier_agent::{AttachmentKind, Notice, Severity, UserMessage};
use osier_base::text;
use osier_markdown::Markdown;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::highlight::{Highlighted, Highlighter};
use osier_term::images;
use osier_term::input::KeyPress;
use osier_term::keymap::describe;
use osier_term::row::{Row, Span};
use osier_term::wrap::Wrap;

use super::illustration::Illustration;
use super::output::Fold;
use super::shell::ShellCell;
use super::tool::ToolCell;

/// Lines of a long prompt that are shown.
const PROMPT_LINES: usize = 20;
/// Columns before the text: for a mark and a space.
const GUTTER: u16 = 2;
/// Rows that a picture of a prompt may take.
const PROMPT_ROWS: u16 = 16;

/// How cells are laid out, in addition to the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellStyle {
    pub show_thinking: bool,
    /// Lines below the turns.
    pub turn_summaries: bool,
    pub expand_tools: bool,
    /// Pixels of a cell, where pictures are shown.
    pub cell: Option<(u16, u16)>,
    /// The key that expands tool calls.
    pub expand_key: Option<KeyPress>,
    /// The speaker is written out, and nothing is drawn.
    pub linear: bool,
}

impl CellStyle {
    /// The first or last `rows` of an output.
    pub(super) fn fold(self, rows: usize) -> Fold {
        Fold {
            rows,
            key: self.expand_key,
        }
    }
}

/// The content of a cell.
#[derive(Debug)]
pub(crate) enum Body {
    User(UserMessage),
    Thinking {
        markdown: Markdown,
        open: bool,
    },
    Text(Markdown),
    Tool(Box<ToolCell>),
    Shell(Box<ShellCell>),
    Notice(Notice),
    /// What the turn above took.
    Turn(String),
    /// The lines of a plugin.
    Lines(Vec<Row>),
    Summary {
        title: &'static str,
        markdown: Markdown,
    },
}

/// A body with its cached rows.
#[derive(Debug)]
pub(crate) struct Cell {
    pub body: Body,
    /// The entry its message is stored as.
    pub entry: Option<Arc<str>>,
    /// The entry that a call's result is stored as.
    pub result_entry: Option<Arc<str>>,
    /// It continues the text of the cell above.
    pub continues: bool,
    /// Overrides the style for this cell; toggled by a click.
    pub expanded: Option<bool>,
    /// Pictures that its text names, shown below it.
    illustrations: Vec<Illustration>,
    /// Rows of bodies without a cache of their own, and of pictures below a text, for a width and style.
    cache: Option<(u16, CellStyle, Vec<Row>)>,
    /// The sticky prompt row above the answer, for a width.
    sticky: Option<Box<(u16, Row)>>,
}

impl Cell {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body,
            entry: None,
            result_entry: None,
            continues: false,
            expanded: None,
            illustrations: Vec::new(),
            cache: None,
            sticky: None,
        }
    }

    /// Finds the pictures that its text names. The text is complete.
    pub(super) fn illustrate(&mut self) {
        if let Body::Text(markdown) = &self.body {
            self.illustrations = Illustration::of(markdown.source());
            self.cache = None;
        }
    }

    /// Paths of images that were not requested yet.
    pub(super) fn ask_for_illustrations(&mut self) -> impl Iterator<Item = String> {
        self.illustrations.iter_mut().filter_map(Illustration::ask)
    }

    pub(super) fn set_illustration(&mut self, path: &str, read: &Result<String, String>) -> bool {
        let mut any = false;
        for illustration in &mut self.illustrations {
            any |= illustration.take(path, read);
        }
        if any {
            self.cache = None;
        }
        any
    }

    /// Forgets the laid-out rows after a change of the body.
    pub(crate) fn changed(&mut self) {
        self.cache = None;
        self.sticky = None;
    }

    /// The sticky row of the prompt above the answer; `None` for other cells.
    pub(super) fn sticky_row(&mut self, width: u16) -> Option<&Row> {
        let Body::User(message) = &self.body else {
            return None;
        };
        if self.sticky.as_ref().is_none_or(|sticky| sticky.0 != width) {
            self.sticky = Some(Box::new((width, sticky_row(&named(message), width))));
        }
        self.sticky.as_ref().map(|sticky| &sticky.1)
    }

    /// Whether this is the cell of the tool call `id`.
    pub(crate) fn is_call(&self, id: &str) -> bool {
        matches!(&self.body, Body::Tool(tool) if tool.call_id == id)
    }

    /// About how many bytes of text it holds.
    pub(crate) fn weight(&self) -> usize {
        let text = match &self.body {
            Body::User(message) => {
                let attached = message.attachments.iter();
                message.text.len() + attached.map(|file| file.content.len()).sum::<usize>()
            }
            Body::Thinking { markdown, .. }
            | Body::Text(markdown)
            | Body::Summary { markdown, .. } => markdown.source().len(),
            Body::Tool(tool) => tool.weight(),
            Body::Shell(shell) => shell.run.as_ref().map_or(0, |run| run.output.len()),
            Body::Notice(notice) => notice.text.len(),
            Body::Turn(line) => line.len(),
            Body::Lines(rows) => {
                let spans = rows.iter().flat_map(|row| &row.spans);
                spans.map(|span| span.text.len()).sum()
            }
        };
        let files = self.illustrations.iter().filter_map(Illustration::base64);
        text + files.map(str::len).sum::<usize>() + size_of::<Self>()
    }

    /// Drops the cached rows: the cell is far off the screen.
    pub(crate) fn release(&mut self) {
        self.cache = None;
        self.sticky = None;
        match &mut self.body {
            Body::Text(markdown)
            | Body::Thinking { markdown, .. }
            | Body::Summary { markdown, .. } => markdown.release_rows(),
            _ => {}
        }
    }

    /// The files of its pictures, in base64.
    pub(super) fn pictures(&self) -> Vec<&str> {
        match &self.body {
            Body::User(message) => {
                let attached = message.attachments.iter();
                let images = attached.filter(|file| file.kind == AttachmentKind::Image);
                images.map(|file| file.content.as_str()).collect()
            }
            Body::Tool(tool) => tool.pictures().collect(),
            Body::Text(_) => {
                let illustrations = self.illustrations.iter();
                illustrations.filter_map(Illustration::base64).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The speaker, for a row above a cell that does not name it.
    pub(super) fn speaker(&self, style: CellStyle) -> Option<&'static str> {
        match &self.body {
            Body::Text(_) if !self.continues => Some("Answer:"),
            Body::Thinking { .. } if self.expanded.unwrap_or(style.show_thinking) => {
                Some("Thinking:")
            }
            _ => None,
        }
    }

    /// Whether it is a prompt that is too long to be shown completely.
    pub(super) fn folds(&self) -> bool {
        matches!(&self.body, Body::User(message) if shown_prompt(&message.text, false).1 > 0)
    }

    /// Whether the cell is the start of a turn of the user.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self.body, Body::User(_))
    }

    /// Blank columns before its rows, so that texts begin where those behind a mark do.
    pub(super) fn indent(&self, style: CellStyle) -> u16 {
        match &self.body {
            _ if style.linear => 0,
            Body::Text(_)
            | Body::Thinking { .. }
            | Body::Summary { .. }
            | Body::Lines(_)
            | Body::Turn(_) => GUTTER,
            Body::User(_) | Body::Tool(_) | Body::Shell(_) | Body::Notice(_) => 0,
        }
    }

    /// Columns of its rows on a screen of this width.
    fn inner(&self, width: u16, style: CellStyle) -> u16 {
        width.saturating_sub(self.indent(style)).max(1)
    }

    /// The pieces of code of an answer: their rows and their text.
    pub(super) fn code(
        &mut self,
        width: u16,
        style: CellStyle,
    ) -> Vec<(std::ops::Range<usize>, String)> {
        let width = usize::from(self.inner(width, style));
        match &mut self.body {
            Body::Text(markdown) => markdown.code(width),
            _ => Vec::new(),
        }
    }

    /// Shows the diagram in this row as its source, or again as a diagram; false when there is none.
    pub(super) fn toggle_diagram(&mut self, width: u16, style: CellStyle, row: usize) -> bool {
        let width = usize::from(self.inner(width, style));
        match &mut self.body {
            Body::Text(markdown) => markdown.toggle_diagram(width, row),
            _ => false,
        }
    }

    /// Rows on a screen of this width.
    pub(crate) fn height(&mut self, width: u16, style: CellStyle) -> usize {
        let width = self.inner(width, style);
        let text = self
            .markdown(style)
            .map(|markdown| markdown.height(usize::from(width)));
        if text.is_some() && self.illustrations.is_empty() {
            return text.unwrap_or_default();
        }
        text.unwrap_or_default() + self.own_rows(width, style).len()
    }

    /// Shows the rows of `range` on a screen of this width, one after the other, without the indent.
    pub(crate) fn each_row(
        &mut self,
        width: u16,
        style: CellStyle,
        range: std::ops::Range<usize>,
        show: &mut dyn FnMut(&Row),
    ) {
        let width = self.inner(width, style);
        let is_thinking = matches!(self.body, Body::Thinking { .. });
        let mut range = range;
        let has_more = !self.illustrations.is_empty();
        if let Some(markdown) = self.markdown(style) {
            let text = if has_more {
                markdown.height(usize::from(width))
            } else {
                usize::MAX
            };
            markdown.each_row(usize::from(width), range.clone(), &mut |row| {
                if is_thinking {
                    show(&as_thinking(row));
                } else {
                    show(row);
                }
            });
            if range.end <= text {
                return;
            }
            range = range.start.saturating_sub(text)..range.end - text;
        }
        let all = self.own_rows(width, style);
        let range = range.start.min(all.len())..range.end.min(all.len());
        all[range].iter().for_each(show);
    }

    /// Sends code that waits for its colours to the highlighter.
    pub(crate) fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        match &mut self.body {
            Body::Text(markdown) => markdown.highlight(highlighter),
            Body::Tool(tool) => tool.request_highlight(highlighter),
            _ => {}
        }
    }

    /// Takes colours that came back; whether they were for this cell.
    pub(crate) fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        match &mut self.body {
            Body::Text(markdown) => markdown.apply(highlighted),
            Body::Tool(tool) => {
                let is_own = tool.apply_highlight(highlighted);
                if is_own {
                    self.changed();
                }
                is_own
            }
            _ => false,
        }
    }

    /// The document, when the cell is nothing but one.
    fn markdown(&mut self, style: CellStyle) -> Option<&mut Markdown> {
        let markdown = match &mut self.body {
            Body::Text(markdown) => markdown,
            Body::Thinking { markdown, .. } if self.expanded.unwrap_or(style.show_thinking) => {
                markdown
            }
            _ => return None,
        };
        markdown.set_linear(style.linear);
        Some(markdown)
    }

    /// The rows that are not those of a document.
    fn own_rows(&mut self, width: u16, style: CellStyle) -> &[Row] {
        let stale = self
            .cache
            .as_ref()
            .is_none_or(|(at, with, _)| (*at, *with) != (width, style));
        if stale {
            let rows = self.lay_out(width, style);
            self.cache = Some((width, style, rows));
        }
        self.cache.as_ref().map_or(&[], |(_, _, rows)| rows)
    }

    fn lay_out(&mut self, width: u16, style: CellStyle) -> Vec<Row> {
        match &mut self.body {
            Body::User(message) => {
                let expanded = self.expanded.unwrap_or(style.expand_tools);
                user_rows(message, width, expanded, style)
            }
            Body::Thinking { open, .. } => vec![thinking_row(*open)],
            Body::Text(_) => {
                let several = self.illustrations.len() > 1;
                let rows = self.illustrations.iter();
                rows.flat_map(|one| one.rows(width, style, several))
                    .collect()
            }
            Body::Tool(tool) => {
                let expanded = self.expanded.unwrap_or(style.expand_tools);
                tool.rows(width, expanded, style)
            }
            Body::Shell(shell) => {
                let expanded = self.expanded.unwrap_or(style.expand_tools);
                shell.rows(width, expanded, style)
            }
            Body::Turn(_) if !style.turn_summaries => Vec::new(),
            Body::Turn(line) => {
                let line = text::truncate(line, usize::from(width)).into_owned();
                vec![Row::default(), Row::plain(line, Token::Muted)]
            }
            Body::Notice(notice) => notice_rows(notice, width, style.linear),
            Body::Lines(lines) => {
                let mut rows = Vec::with_capacity(lines.len());
                for line in lines {
                    Wrap::new(usize::from(width)).line(&line.spans, &mut rows);
                }
                rows
            }
            Body::Summary { title, markdown } => {
                let mut rows = vec![Row::plain(*title, Token::Muted)];
                markdown.set_linear(style.linear);
                let width = usize::from(width);
                let height = markdown.height(width);
                markdown.rows(width, 0..height, &mut rows);
                rows
            }
        }
    }
}

/// Rows of literal text behind a prefix, which the rows that continue a line have in another form.
pub(super) fn plain(
    text: &str,
    face: impl Into<Face>,
    width: u16,
    first: &[Span],
    rest: &[Span],
) -> Vec<Row> {
    let mut rows = Vec::new();
    Wrap::new(usize::from(width))
        .hanging(first, rest)
        .text(text, face, &mut rows);
    rows
}

/// The text of a prompt as far as it is shown, and how many lines are not.
fn shown_prompt(text: &str, expanded: bool) -> (&str, usize) {
    let lines = text.lines().count();
    if expanded || lines <= PROMPT_LINES + PROMPT_LINES / 2 {
        return (text, 0);
    }
    let end = text.match_indices('\n').nth(PROMPT_LINES - 1);
    let end = end.map_or(text.len(), |(newline, _)| newline);
    (&text[..end], lines - PROMPT_LINES)
}

/// What was typed, literally, behind a bar. Of a long paste only the start is shown until it is expanded.
fn user_rows(message: &UserMessage, width: u16, expanded: bool, style: CellStyle) -> Vec<Row> {
    let (first, bar) = if style.linear {
        ("You: ", "  ")
    } else {
        ("▌ ", "▌ ")
    };
    let first = [Span::new(first, Token::UserMarker)];
    let bar = [Span::new(bar, Token::UserMarker)];
    let fill = Face::from(Token::User);
    // A prompt of nothing but a file has no empty row above it.
    let has_text = style.linear || !message.text.is_empty() || message.attachments.is_empty();
    let mut rows = if has_text {
        let (shown, hidden) = shown_prompt(&message.text, expanded);
        let mut rows = plain(shown, Token::User, width, &first, &bar);
        if hidden > 0 {
            let mut more = format!("… {} below", text::counted(hidden, "line", "lines"));
            if let Some(key) = style.expand_key {
                more.extend([" · ", &describe(key), " to show"]);
            }
            rows.extend(plain(&more, Token::Muted, width, &bar, &bar));
        }
        rows
    } else {
        Vec::new()
    };
    for attachment in &message.attachments {
        let mark = if style.linear { "Attached:" } else { "▣" };
        let label = format!(
            "{mark} {} ({}, {} bytes)",
            attachment.file_name, attachment.mime_type, attachment.size
        );
        rows.extend(plain(&label, Token::Muted, width, &bar, &bar));
        if let Some(cell) = style
            .cell
            .filter(|_| attachment.kind == AttachmentKind::Image)
        {
            rows.extend(picture_rows(
                &attachment.content,
                cell,
                width,
                PROMPT_ROWS,
                &bar,
            ));
        }
    }
    for row in &mut rows {
        row.fill = Some(fill);
    }
    rows
}

/// The rows of a picture behind `indent`, within a width and a height.
pub(super) fn picture_rows(
    base64: &str,
    cell: (u16, u16),
    width: u16,
    height: u16,
    indent: &[Span],
) -> Vec<Row> {
    let columns: usize = indent.iter().map(|span| text::width(&span.text)).sum();
    let room = width.saturating_sub(columns as u16 + 1);
    let mut rows = images::rows(base64, cell, (room, height)).unwrap_or_default();
    for row in &mut rows {
        row.spans = indent.to_vec();
        // Nothing of it is text to be copied.
        row.decoration = width;
    }
    rows
}

/// The text of a prompt, or what was sent in its place.
fn named(message: &UserMessage) -> Cow<'_, str> {
    match message.attachments.first() {
        Some(file) if message.text.trim().is_empty() => Cow::Owned(format!("▣ {}", file.file_name)),
        _ => Cow::Borrowed(&message.text),
    }
}

/// The first line of a prompt, as the sticky row above the answer.
fn sticky_row(text: &str, width: u16) -> Row {
    let line = text::single_line(text::head_bytes(text.trim_start(), 4 * usize::from(width)));
    let room = usize::from(width).saturating_sub(2);
    // The line separates it from what has scrolled below it.
    let user = Face::from(Token::User).emphasised(Emphasis::UNDERLINE);
    let mut row = Row::new(vec![
        Span::new("▌", Token::UserMarker),
        Span::new(" ", user),
        Span::new(&*text::truncate(&line, room), user),
    ]);
    row.decoration = 2;
    row.fill = Some(user);
    row
}

/// Thinking is dimmed: plain text takes its colour, other text keeps its own.
fn as_thinking(row: &Row) -> Row {
    let mut row = row.clone();
    for span in row
        .spans
        .iter_mut()
        .filter(|span| span.face.token == Token::Text)
    {
        span.face.token = Token::Thinking;
        span.face = span.face.emphasised(Emphasis::ITALIC);
    }
    row
}

fn thinking_row(open: bool) -> Row {
    let text = if open { "Thinking…" } else { "Thought" };
    Row::plain(
        text,
        Face::from(Token::Thinking).emphasised(Emphasis::ITALIC),
    )
}

fn notice_rows(notice: &Notice, width: u16, linear: bool) -> Vec<Row> {
    let (mark, word, token) = match notice.severity {
        Severity::Info => ("· ", "Note: ", Token::Muted),
        Severity::Warning => ("! ", "Warning: ", Token::Warning),
        Severity::Error => ("✗ ", "Error: ", Token::Error),
    };
    let mark = if linear { word } else { mark };
    let first = [Span::new(mark, token)];
    let rest = [Span::new("  ", token)];
    let mut rows = Vec::new();
    Wrap::new(usize::from(width))
        .hanging(&first, &rest)
        .sentences(&notice.text, token, &mut rows);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paste_shows_its_start_until_it_is_expanded() {
        let text = "a line\n".repeat(5000);
        let mut cell = Cell::new(Body::User(UserMessage::new(text, 0)));
        let style = CellStyle {
            show_thinking: false,
            turn_summaries: true,
            expand_tools: false,
            cell: None,
            expand_key: Some(KeyPress::char('o')),
            linear: false,
        };
        assert_eq!(cell.height(60, style), PROMPT_LINES + 1);
        let last = cell.own_rows(60, style).last().map(Row::text);
        assert_eq!(last.as_deref(), Some("▌ … 4980 lines below · o to show"));
        cell.expanded = Some(true);
        cell.changed();
        assert_eq!(cell.height(60, style), 5000);
    }
}
