//! One entry of the transcript: its contents, and how it folds. A cell lays out its rows for a width when it is first
//! visible at that width, never before.

use std::sync::Arc;

use super::cell_rows::{
    as_thinking, named, notice_rows, shown_prompt, sticky_row, thinking_row, user_rows,
};
use super::cell_style::CellStyle;
use super::illustration::Illustration;
use super::shell::ShellCell;
use super::tool::ToolCell;
use osier_agent::{AttachmentKind, Notice, UserMessage};
use osier_base::text;
use osier_markdown::Markdown;
use osier_term::{Highlighted, Highlighter, Row, Token, Wrap};

/// Columns before the text: for a mark and a space.
const GUTTER: u16 = 2;

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
    /// Time, calls and cost of the turn above.
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
    /// The cell continues the text of the cell above.
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

    /// Finds the pictures that the complete text of the cell names.
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
            any |= illustration.store(path, read);
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

    /// The approximate bytes of text in the cell.
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

    /// The files of the cell's pictures, in base64.
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

    /// Whether the cell is a prompt that is too long to be shown completely.
    pub(super) fn folds(&self) -> bool {
        matches!(&self.body, Body::User(message) if shown_prompt(&message.text, false).1 > 0)
    }

    /// Whether the cell is the start of a turn of the user.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self.body, Body::User(_))
    }

    /// Blank columns before the rows of the cell, so that its text begins where text behind a mark begins.
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

    /// Columns of the cell's rows on a screen of this width.
    fn inner(&self, width: u16, style: CellStyle) -> u16 {
        width.saturating_sub(self.indent(style)).max(1)
    }

    /// The code blocks of an answer: their rows and their text.
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

    /// Whether the text of the cell is complete; a call may still change.
    pub(super) fn is_complete(&self) -> bool {
        match &self.body {
            Body::Text(markdown) => markdown.is_finished(),
            Body::Thinking { open, .. } => !open,
            _ => false,
        }
    }

    /// The rows of a text that streams that do not change any more.
    pub(super) fn complete_rows(&mut self, width: u16, style: CellStyle) -> usize {
        let width = usize::from(self.inner(width, style));
        let markdown = self.markdown(style);
        markdown.map_or(0, |markdown| markdown.complete_rows(width))
    }

    /// The row at the second width at which the block begins that begins at this row at the first width.
    pub(super) fn row_at_width(
        &mut self,
        row: usize,
        widths: (u16, u16),
        style: CellStyle,
    ) -> usize {
        let [from, to] = [widths.0, widths.1].map(|width| usize::from(self.inner(width, style)));
        let markdown = self.markdown(style);
        markdown.map_or(row, |markdown| markdown.row_at_width(row, from, to))
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

    /// Applies highlighted colours; returns whether they were for this cell.
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

    /// The document of a cell that consists of nothing else.
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

    /// The rows of a cell that is no document.
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
                let expanded = self.expanded.unwrap_or(style.expands());
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
                let expanded = self.expanded.unwrap_or(style.expands());
                tool.rows(width, expanded, style)
            }
            Body::Shell(shell) => {
                let expanded = self.expanded.unwrap_or(style.expands());
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

#[cfg(test)]
mod tests {
    use super::super::cell_rows::PROMPT_LINES;
    use super::*;
    use osier_settings::Density;
    use osier_term::KeyPress;

    #[test]
    fn a_long_paste_shows_its_start_until_it_is_expanded() {
        let text = "a line\n".repeat(5000);
        let mut cell = Cell::new(Body::User(UserMessage::new(text, 0)));
        let style = CellStyle {
            show_thinking: false,
            turn_summaries: true,
            density: Density::Normal,
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
