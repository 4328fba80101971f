//! What is shown of keys that are not finished: the mode of the editor, and what can follow a prefix.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::command::Command;
use super::layout::Areas;
use crate::base::text;
use crate::term::face::Token;
use crate::term::frame::Links;
use crate::term::row::{Row, Span};
use crate::term::widgets::textarea::modal::Edit;

/// Least columns of one key and what it does.
const COLUMN: usize = 38;

impl App {
    /// The rule above the editor with its mode at the right.
    pub(super) fn with_mode(&self, rule: Row, border: Token, width: u16) -> Row {
        let Some(label) = self.editor.modal().label() else {
            return rule;
        };
        let label = format!(" {label} ");
        let room = usize::from(width).saturating_sub(text::width(&label) + 2);
        let line = text::take_width(&rule.text(), room).to_owned();
        Row::new(vec![
            Span::new(line, border),
            Span::new(label, Token::Accent),
            Span::new("──", border),
        ])
    }

    /// What can follow a prefix, in columns above the status line.
    pub(super) fn draw_next_keys(&self, areas: Areas, buffer: &mut Buffer, links: &Links) {
        let hints = self.next_keys();
        if hints.is_empty() || areas.rule.width < 24 {
            return;
        }
        let width = usize::from(areas.rule.width);
        let columns = (width / COLUMN).max(1);
        let column_width = width / columns;
        let keys = hints.iter().map(|hint| text::width(&hint.keys)).max();
        let keys = keys.unwrap_or_default();
        let room = areas.status.y.saturating_sub(areas.transcript.y + 1);
        let rows = hints.len().div_ceil(columns).min(usize::from(room));
        let mut shown = vec![Row::plain("─".repeat(width), Token::Border)];
        for row in 0..rows {
            let mut line = Row::default();
            for column in 0..columns {
                let Some(hint) = hints.get(column * rows + row) else {
                    continue;
                };
                line.push(format!(" {:>keys$} ", hint.keys), Token::Accent);
                let meaning = describe(hint.action);
                let room = column_width.saturating_sub(keys + 2);
                let meaning = text::truncate(meaning, room.saturating_sub(1));
                let gap = room.saturating_sub(text::width(&meaning));
                line.push(format!("{meaning}{}", " ".repeat(gap)), Token::Text);
            }
            let rest = width.saturating_sub(line.width());
            line.push(" ".repeat(rest), Token::Text);
            shown.push(line);
        }
        let hidden = hints.len().saturating_sub(rows * columns);
        if hidden > 0 {
            let more = format!(" … and {} more", hidden + columns);
            shown.pop();
            shown.push(Row::plain(format!("{more:<width$}"), Token::Muted));
        }
        let height = u16::try_from(shown.len()).unwrap_or(u16::MAX);
        let area = Rect {
            y: areas.status.y.saturating_sub(height),
            height,
            ..areas.rule
        };
        self.paint(&shown, area, buffer, links);
    }
}

/// The sentence of an action, or its name.
pub(super) fn describe(action: &str) -> &str {
    if let Some(command) = Command::from_name(action) {
        return command.info().description;
    }
    Edit::from_name(action).map_or(action, |edit| edit.info().description)
}
