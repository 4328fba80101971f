//! Draws the prompt: queued messages, the rule with the mode, the text, the list that completes, and the last
//! attached picture.

use ratatui::layout::{Position, Rect};

use super::Prompt;
use super::attachments::label;
use crate::actions::Command;
use crate::drawing::{Surface, layout::Areas};
use osier_base::text;
use osier_term::images;
use osier_term::images::{ImageStore, RowState};
use osier_term::{Keymap, Row, Span, Token};

/// The background of the editor and the footer.
pub(crate) const PANEL: Token = Token::User;
/// The mark before the prompt.
const PROMPT_MARK: &str = "❯ ";
/// The text in an empty prompt while keys do not insert text.
const NORMAL: &str = "i to write, : for commands";
/// The name of the mode in which keys go to the conversation.
const BROWSING: &str = "browsing";
/// Rows of the list that completes.
const COMPLETION_ROWS: u16 = 12;
/// Rows of the list that completes on a small screen.
const LEAST_COMPLETION_ROWS: u16 = 5;
/// Cells of the picture above the editor.
const PREVIEW: (u16, u16) = (28, 7);
/// Rows of the conversation that stay visible above the picture.
const LEFT_OVER: u16 = 6;

impl Prompt {
    /// Rows that the text wants on a screen of this width.
    pub(crate) fn height(&mut self, width: u16, limit: u16) -> u16 {
        let width = width.saturating_sub(text::width(PROMPT_MARK) as u16);
        self.editor.height(width, limit)
    }

    /// Rows that the queued messages want.
    pub(crate) fn queue_height(&self) -> u16 {
        self.queue.height()
    }

    pub(crate) fn draw_queue(
        &self,
        areas: Areas,
        keymap: &Keymap<Command>,
        surface: &mut Surface<'_>,
    ) {
        let rows = self
            .queue
            .rows(areas.queue.width, areas.queue.height, keymap);
        surface.paint(&rows, areas.queue);
    }

    /// Draws the text and the row above it. Returns the position of the cursor. If keys do not go to the prompt, `elsewhere` says where
    /// they go.
    pub(crate) fn draw_editor(
        &mut self,
        areas: Areas,
        elsewhere: Option<&str>,
        linear: bool,
        surface: &mut Surface<'_>,
    ) -> Position {
        let is_shell = self.editor.is_shell();
        let mark_width = text::width(PROMPT_MARK) as u16;
        let area = Rect {
            x: areas.editor.x + mark_width,
            width: areas.editor.width.saturating_sub(mark_width),
            ..areas.editor
        };
        self.area = area;
        let (mut rows, cursor) = self.editor.rows(area.width, area.height);
        let is_normal = !self.editor.modal().inserts();
        let other = elsewhere.or_else(|| is_normal.then_some(NORMAL));
        if let Some(text) = other.filter(|_| self.editor.is_empty()) {
            let text = text::truncate(text, usize::from(area.width)).into_owned();
            rows = vec![Row::plain(text, Token::Placeholder)];
        }
        surface.paint(&rows, area);
        let mark = if is_shell {
            Token::Warning
        } else {
            Token::Accent
        };
        let mode = match elsewhere {
            Some(_) => Some(BROWSING.to_owned()),
            None => self.editor.modal().label(),
        };
        let rule = self.rule(areas.rule.width, mode.as_deref(), linear, surface);
        surface.paint(&[rule], areas.rule);
        let mark_area = Rect {
            width: mark_width,
            height: 1,
            ..areas.editor
        };
        surface.paint(&[Row::plain(PROMPT_MARK, mark)], mark_area);
        Position {
            x: area.x + cursor.0,
            y: area.y + cursor.1,
        }
    }

    /// The editor is not on the screen: no click is for it.
    pub(crate) fn hide_editor(&mut self) {
        self.area = Rect::default();
    }

    /// The row above the text: how many rows are hidden, and the editing mode at the right. Without colours for the
    /// panel, it is a rule; on a linear screen, a word.
    fn rule(&self, width: u16, mode: Option<&str>, linear: bool, surface: &Surface<'_>) -> Row {
        let has_panel = surface.background(PANEL).is_some();
        let (line, face) = match (has_panel && !linear, self.editor.is_shell()) {
            (true, _) => (" ", Token::Muted),
            (false, true) => ("─", Token::Warning),
            (false, false) => ("─", Token::Border),
        };
        let (above, below) = self.editor.hidden_rows();
        let start = match (above + below, linear) {
            (0, true) => "Message:".to_owned(),
            (0, false) => String::new(),
            _ => format!("{line}{line} {above} rows above, {below} below "),
        };
        let label = mode.map_or_else(String::new, |mode| format!(" {mode} "));
        let end = if label.is_empty() || linear { 0 } else { 2 };
        let room = usize::from(width).saturating_sub(text::width(&label) + end);
        let start = text::prefix_of_width(&start, room);
        let rest = if linear { 0 } else { room - text::width(start) };
        let mut row = Row::plain(format!("{start}{}", line.repeat(rest)), face);
        if !label.is_empty() {
            row.push(label, Token::Accent);
            row.push(line.repeat(end), face);
        }
        row
    }

    /// The cell of the text at a cell of the screen; none outside of the editor.
    pub(crate) fn editor_cell(&self, x: u16, y: u16) -> Option<(u16, u16)> {
        let area = self.area;
        let is_inside = (area.top()..area.bottom()).contains(&y) && x < area.right();
        is_inside.then(|| (x.saturating_sub(area.x), y - area.y))
    }

    /// The place of the list above the editor, if it is open. It has at most a quarter of the screen: the end of the
    /// conversation stays in sight.
    pub(crate) fn completion_area(
        &mut self,
        areas: Areas,
        covers_status: bool,
        linear: bool,
    ) -> Option<Rect> {
        let count = match self.editor.completion() {
            Some(list) => list.len(),
            None => usize::from(self.editor.unknown_command().is_some()),
        };
        let has_rule = self.editor.completion().is_some() && !linear;
        if count == 0 {
            return None;
        }
        let most = (areas.footer.bottom() / 4).clamp(LEAST_COMPLETION_ROWS, COMPLETION_ROWS);
        // A status stays visible below the list.
        let bottom = if covers_status || areas.transcript.height < most {
            areas.rule.y
        } else {
            areas.status.y
        };
        let room = bottom.saturating_sub(areas.transcript.y);
        let height = u16::try_from(count).unwrap_or(u16::MAX);
        let height = height.min(room).min(most);
        let rule = u16::from(height < room && has_rule);
        Some(Rect {
            y: bottom - height - rule,
            height: height + rule,
            ..areas.rule
        })
    }

    /// Draws the list above the editor.
    pub(crate) fn draw_completion(&mut self, area: Rect, linear: bool, surface: &mut Surface<'_>) {
        if let Some(mistake) = self.editor.unknown_command() {
            let row = text::truncate(&format!("  {mistake}"), usize::from(area.width)).into_owned();
            return surface.paint(&[Row::plain(row, Token::Text)], area);
        }
        let Some(list) = self.editor.completion() else {
            return;
        };
        let has_rule = !linear && usize::from(area.height) > 1;
        let height = usize::from(area.height) - usize::from(has_rule);
        let mut rows = list.rows(usize::from(area.width), height);
        if has_rule {
            let count = format!("{}/{}", list.selected_index() + 1, list.len());
            rows.insert(0, counted_rule(&count, usize::from(area.width)));
        }
        surface.paint(&rows, area);
    }

    /// Shows the picture of the last chip above the editor.
    pub(crate) fn draw_attached(
        &self,
        areas: Areas,
        pictures: &mut ImageStore,
        surface: &mut Surface<'_>,
    ) {
        let Some(cell) = pictures.cell() else {
            return;
        };
        let room = areas
            .transcript
            .height
            .saturating_sub(LEFT_OVER)
            .min(PREVIEW.1);
        let last = self.editor.attachments().pop().filter(|_| room >= 3);
        let Some(file) = last.and_then(|number| self.attachments.find(number)) else {
            return;
        };
        let most = (PREVIEW.0.min(areas.transcript.width / 2), room - 1);
        let rows = images::rows(&file.content, cell, most).unwrap_or_default();
        let mut shown = vec![Row::plain(label(file), Token::Muted)];
        for row in rows {
            let Some(part) = row.image.as_deref().copied() else {
                continue;
            };
            match pictures.row(part) {
                RowState::Missing => pictures.request(part.image, &file.content),
                // A picture painted over cells would have to be removed again at every key.
                RowState::Blank | RowState::Ready(_, Some(_)) => {}
                RowState::Ready(spans, None) => {
                    let mut row = Row::new(vec![Span::new(" ", Token::Text)]);
                    row.spans.extend(spans.iter().cloned());
                    shown.push(row);
                    continue;
                }
            }
            shown.push(Row::default());
        }
        let height = shown.len() as u16;
        let area = Rect {
            y: areas.status.y.saturating_sub(height),
            height,
            ..areas.transcript
        };
        surface.paint(&shown, area);
    }
}

/// `──────── 3/94 ──`
fn counted_rule(count: &str, width: usize) -> Row {
    let line = width.saturating_sub(text::width(count) + 4);
    Row::new(vec![
        Span::new(format!("{} ", "─".repeat(line)), Token::Border),
        Span::new(count, Token::Muted),
        Span::new(" ──", Token::Border),
    ])
}
