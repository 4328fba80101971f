//! A list with a preview pane for the selected item: next to it, or below it on a narrow screen.

use ratatui::layout::{Position, Rect};

use crate::actions::Command;
use osier_base::text;
use osier_markdown::Markdown;
use osier_term::{Handled, LineInput, Row, Span};

/// From this width on the preview is next to the list.
const SIDE_BY_SIDE: u16 = 100;

/// The areas of the list and of the preview, if there is room: below the list from `least` rows on.
pub(crate) fn divide(area: Rect, least: u16) -> (Rect, Option<Rect>) {
    divide_for(area, least, (3, 5))
}

/// The areas as in `divide`, with the list's share of the width when the preview is next to it.
pub(crate) fn divide_for(area: Rect, least: u16, share: (u16, u16)) -> (Rect, Option<Rect>) {
    if area.width >= SIDE_BY_SIDE {
        let width = area.width * share.0 / share.1;
        let preview = Rect {
            x: area.x + width,
            width: area.width - width,
            ..area
        };
        return (Rect { width, ..area }, Some(preview));
    }
    if area.height < least {
        return (area, None);
    }
    let below = area.height / 3;
    let preview = Rect {
        y: area.bottom() - below,
        height: below,
        ..area
    };
    let height = area.height - below;
    (Rect { height, ..area }, Some(preview))
}

/// The screen above its last rows, and the last rows, in which the keys have all columns.
pub(crate) fn above_rows(area: Rect, rows: u16) -> (Rect, Rect) {
    let height = area.height.saturating_sub(rows);
    let line = Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    };
    (Rect { height, ..area }, line)
}

/// The cursor position at a column of a row of the list.
pub(crate) fn at_column(list: Rect, y: u16, column: usize) -> Position {
    let column = u16::try_from(column).unwrap_or(u16::MAX);
    Position {
        x: list.x + column.min(list.width.saturating_sub(1)),
        y,
    }
}

/// Markdown of a model, laid out in at most `height` rows of this width behind `indent`.
pub(crate) fn written(source: &str, indent: &[Span], width: usize, height: usize) -> Vec<Row> {
    let columns: usize = indent.iter().map(|span| text::width(&span.text)).sum();
    let width = width.saturating_sub(columns).max(1);
    let mut markdown = Markdown::from_text(source);
    let mut rows = Vec::new();
    let shown = markdown.height(width).min(height);
    markdown.rows(width, 0..shown, &mut rows);
    for row in &mut rows {
        // The background of code begins behind the indent.
        if let Some(fill) = row.fill.take() {
            let rest = width.saturating_sub(row.width());
            row.push(" ".repeat(rest), fill);
        }
        row.spans.splice(0..0, indent.iter().cloned());
    }
    rows
}

/// Edits a line; `No` when the command is none of a single line.
pub(crate) fn edit(line: &mut LineInput, command: Command) -> Handled {
    match command {
        Command::Left => line.left(),
        Command::Right => line.right(),
        Command::LineStart | Command::First => line.home(),
        Command::LineEnd | Command::Last => line.end(),
        Command::DeleteBackward => line.delete_backward(),
        Command::DeleteForward => line.delete_forward(),
        Command::DeleteWordBackward => line.delete_word_backward(),
        Command::KillToLineStart => line.clear(),
        _ => return Handled::No,
    }
    Handled::Yes
}
