//! Painting the app. Reads the state, the area and the time; changes nothing but layout caches.

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Color;

use super::layout::{self, Areas, QUEUE_ROWS};
use super::{App, linear};
use crate::command::Command;
use crate::welcome;
use osier_base::text;
use osier_term::component::View;
use osier_term::face::Token;
use osier_term::frame::Links;
use osier_term::keymap::describe;
use osier_term::row::Row;
use osier_term::widgets::paint::paint_rows;
use osier_term::wrap::Wrap;

/// The mark before the prompt.
const PROMPT_MARK: &str = "❯ ";

impl App {
    /// Paints everything into `buffer`; returns where the cursor belongs.
    pub fn draw(&mut self, buffer: &mut Buffer, links: &Links, now: Instant) -> Option<Position> {
        self.placed.clear();
        let cursor = self.draw_parts(buffer, links, now);
        self.lay_ground(buffer);
        cursor
    }

    /// Gives cells that have no colours of their own those of the theme.
    fn lay_ground(&self, buffer: &mut Buffer) {
        let base = self.theme.base();
        if base.fg.is_none() && base.bg.is_none() {
            return;
        }
        for cell in &mut buffer.content {
            if cell.fg == Color::Reset {
                cell.fg = base.fg.unwrap_or_default();
            }
            if cell.bg == Color::Reset {
                cell.bg = base.bg.unwrap_or_default();
            }
        }
    }

    fn draw_parts(&mut self, buffer: &mut Buffer, links: &Links, now: Instant) -> Option<Position> {
        let screen = buffer.area;
        if !layout::fits(screen) {
            self.draw_too_small(screen, buffer, links);
            return None;
        }
        let editor_width = screen.width.saturating_sub(text::width(PROMPT_MARK) as u16);
        let limit = layout::editor_limit(screen.height);
        let editor_rows = self.editor.height(editor_width, limit);
        let mut areas = layout::divide(
            screen,
            editor_rows,
            self.queue_height(),
            self.questions.height(),
        );
        let widgets = layout::split_bottom(&mut areas.transcript, self.plugins.widget_height());
        let todo = layout::split_bottom(&mut areas.transcript, self.todo.lay_out(screen.height));
        if self.transcript.is_empty() {
            let Rect { width, height, .. } = areas.transcript;
            let rows = welcome::rows(width, height, self.footer.model.as_ref());
            self.paint(&rows, areas.transcript, buffer, links);
        } else {
            let style = (links, &*self.theme);
            let area = areas.transcript;
            self.placed = self
                .transcript
                .render(area, buffer, style, &mut self.pictures);
            self.transcript.request_highlight(&mut self.highlighter);
        }
        if widgets.height > 0 {
            self.paint(&self.plugins.widget_rows(), widgets, buffer, links);
        }
        if todo.height > 0 {
            let rows = self.todo.rows(todo.width);
            self.paint(&rows, todo, buffer, links);
        }
        self.draw_status(areas, buffer, links, now);
        self.draw_queue(areas, buffer, links);
        self.draw_questions(areas, buffer, links);
        let cursor = self.draw_editor(areas, buffer, links);
        let footer = self.footer.row(areas.footer.width);
        self.paint(&[footer], areas.footer, buffer, links);
        self.draw_attached(areas, buffer, links);
        self.draw_completion(areas, buffer, links);
        self.draw_next_keys(areas, buffer, links);
        if self.layers.is_empty() {
            return self.main_cursor(buffer, areas, cursor);
        }
        let view = View {
            theme: &self.theme,
            keymap: &self.keymap,
            links,
            now,
            focused: self.focused,
        };
        if self.linear {
            let cursor = linear::draw_layer(&mut self.layers, buffer, &view);
            self.layers.request_highlight(&mut self.highlighter);
            self.draw_toast(screen, buffer, links, now);
            return cursor;
        }
        self.layers.render(screen, buffer, &view);
        self.layers.request_highlight(&mut self.highlighter);
        self.draw_toast(screen, buffer, links, now);
        self.layers.cursor().map(|cursor| cursor.position)
    }

    pub(crate) fn paint(&self, rows: &[Row], area: Rect, buffer: &mut Buffer, links: &Links) {
        paint_rows(rows, area, buffer, links, |face| self.theme.style(face));
    }

    fn draw_too_small(&self, screen: Rect, buffer: &mut Buffer, links: &Links) {
        let (width, height) = (screen.width, screen.height);
        let text = format!(
            "osier needs {}x{} cells; this terminal has {width}x{height}",
            layout::MIN_WIDTH,
            layout::MIN_HEIGHT
        );
        let mut rows = Vec::new();
        Wrap::new(usize::from(width)).text(&text, Token::Warning, &mut rows);
        self.paint(&rows, screen, buffer, links);
    }

    fn draw_status(&self, areas: Areas, buffer: &mut Buffer, links: &Links, now: Instant) {
        // A toast has priority over the keys of browse mode.
        let told = self.browsing && self.activity.has_toast(now);
        let right = self.status_right().filter(|_| !told);
        let row = self.activity.row(now, areas.status.width, right.as_deref());
        self.paint(&[row], areas.status, buffer, links);
    }

    /// The review, and every layer of a linear screen, cover the status line: then the toast is on the last row.
    fn draw_toast(&self, screen: Rect, buffer: &mut Buffer, links: &Links, now: Instant) {
        if let Some(row) = self.activity.toast_row(now, screen.width)
            && (self.linear || self.layers.top() == Some(crate::review::ID))
        {
            let line = Rect {
                y: screen.bottom().saturating_sub(1),
                height: screen.height.min(1),
                ..screen
            };
            self.paint(&[row], line, buffer, links);
        }
    }

    /// Keys of a started sequence, or the number of rows below the viewport.
    fn status_right(&self) -> Option<String> {
        if !self.pending_keys.is_empty() {
            let keys: Vec<String> = self.pending_keys.iter().map(|key| describe(*key)).collect();
            return Some(format!("{} …", keys.join(" ")));
        }
        if self.browsing {
            return Some(self.browsing_status());
        }
        if self.transcript.follows() {
            return None;
        }
        let keys = self.keymap.keys_for("global", Command::Bottom);
        let key = keys.first().map_or("scroll", String::as_str);
        Some(match self.transcript.unseen() {
            0 => format!("↓ {key} go to end"),
            1 => format!("↓ 1 new row · {key} go to end"),
            unseen => format!("↓ {unseen} new rows · {key} go to end"),
        })
    }

    /// The keys that matter while the conversation is browsed.
    fn browsing_status(&self) -> String {
        let keys = [
            (Command::LineDown, "down"),
            (Command::LineUp, "up"),
            (Command::PreviousPrompt, "previous prompt"),
            (Command::NextBlock, "select"),
            (Command::CopyBlock, "copy"),
            (Command::Bottom, "end"),
            (Command::Cancel, "back"),
        ];
        let shown = keys.iter().filter_map(|(command, meaning)| {
            let keys = self.keymap.keys_for("transcript", *command);
            // The shortest key of a command is the one that browsing is for.
            let key = keys.iter().min_by_key(|key| key.len())?;
            Some(format!("{key} {meaning}"))
        });
        shown.collect::<Vec<_>>().join(" · ")
    }

    fn queue_height(&self) -> u16 {
        let waiting = self.queue.steering.len() + self.queue.follow_up.len();
        u16::try_from(waiting).unwrap_or(QUEUE_ROWS).min(QUEUE_ROWS)
    }

    fn draw_queue(&self, areas: Areas, buffer: &mut Buffer, links: &Links) {
        let steering = self
            .queue
            .steering
            .iter()
            .map(|message| ("Steering", message));
        let follow_up = self
            .queue
            .follow_up
            .iter()
            .map(|message| ("Queued", message));
        let waiting: Vec<(&str, &String)> = steering.chain(follow_up).collect();
        if waiting.is_empty() {
            return;
        }
        let shown = usize::from(areas.queue.height);
        let width = usize::from(areas.queue.width);
        let keys = self.keymap.keys_for("global", Command::RecallQueue);
        let hint = keys.first().map(|key| format!(" · {key} to edit"));
        let hint = hint.filter(|hint| text::width(hint) * 2 < width);
        let mut rows = Vec::with_capacity(shown);
        for (place, (kind, message)) in waiting.iter().enumerate().take(shown) {
            let hidden = waiting.len() - shown;
            if place + 1 == shown && hidden > 0 {
                rows.push(Row::plain(
                    format!("  … and {} more", hidden + 1),
                    Token::Muted,
                ));
                break;
            }
            let hint = hint.as_deref().filter(|_| place == 0).unwrap_or_default();
            let line = format!("  {kind}: {}", text::single_line(message));
            let room = width.saturating_sub(text::width(hint));
            let mut row = Row::plain(text::truncate(&line, room).into_owned(), Token::Muted);
            row.push(hint, Token::Accent);
            rows.push(row);
        }
        self.paint(&rows, areas.queue, buffer, links);
    }

    fn draw_questions(&self, areas: Areas, buffer: &mut Buffer, links: &Links) {
        if areas.questions.height == 0 {
            return;
        }
        let keys = self.keymap.keys_for("global", Command::Answer);
        let key = keys.first().map(String::as_str);
        let rows = self.questions.rows(usize::from(areas.questions.width), key);
        self.paint(&rows, areas.questions, buffer, links);
    }

    fn draw_editor(&mut self, areas: Areas, buffer: &mut Buffer, links: &Links) -> Position {
        let is_shell = self.editor.is_shell();
        let mark_width = text::width(PROMPT_MARK) as u16;
        let area = Rect {
            x: areas.editor.x + mark_width,
            width: areas.editor.width.saturating_sub(mark_width),
            ..areas.editor
        };
        self.editor_area = area;
        let (rows, cursor) = self.editor.rows(area.width, area.height);
        paint_rows(&rows, area, buffer, links, |face| self.theme.style(face));
        let (border, mark) = if is_shell {
            (Token::Warning, Token::Warning)
        } else {
            (Token::Border, Token::Accent)
        };
        let (above, below) = self.editor.hidden_rows();
        let mut rule = "─".repeat(usize::from(areas.rule.width));
        if self.linear {
            "Message:".clone_into(&mut rule);
        }
        if above + below > 0 {
            let note = format!("── {above} rows above, {below} below ");
            let rest = usize::from(areas.rule.width).saturating_sub(text::width(&note));
            rule = format!("{note}{}", "─".repeat(rest));
        }
        let rule = self.with_mode(Row::plain(rule, border), border, areas.rule.width);
        self.paint(&[rule], areas.rule, buffer, links);
        let mark_area = Rect {
            width: mark_width,
            height: 1,
            ..areas.editor
        };
        self.paint(&[Row::plain(PROMPT_MARK, mark)], mark_area, buffer, links);
        Position {
            x: area.x + cursor.0,
            y: area.y + cursor.1,
        }
    }

    /// The list above the editor.
    fn draw_completion(&mut self, areas: Areas, buffer: &mut Buffer, links: &Links) {
        let Some(list) = self.editor.completion() else {
            return;
        };
        let room = areas.rule.y.saturating_sub(areas.transcript.y);
        let height = u16::try_from(list.len())
            .unwrap_or(u16::MAX)
            .min(room)
            .min(8);
        let area = Rect {
            y: areas.rule.y - height,
            height,
            ..areas.rule
        };
        let rows = list.rows(usize::from(area.width), usize::from(height));
        self.paint(&rows, area, buffer, links);
    }
}
