//! The screen for users of a screen reader: one column, words, and the real cursor at the focus: the input position,
//! the selected item of a list, or the picked block.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command};
use crate::drawing::layout::Areas;
use osier_term::linear;
use osier_term::{Layers, View};

/// The selection on the main screen above the prompt.
pub(super) fn selected(buffer: &mut Buffer, areas: Areas) -> Option<Position> {
    let above = Rect {
        height: areas.rule.y.saturating_sub(areas.transcript.y),
        ..areas.transcript
    };
    let selected = linear::strip(buffer, above)?;
    Some(linear::first_alphanumeric(buffer, selected))
}

/// Draws only the topmost layer, because a screen reader would read the rows of overlapping layers
/// as one line. Returns where the cursor belongs.
pub(super) fn draw_layer(
    layers: &mut Layers<Command, Action>,
    buffer: &mut Buffer,
    view: &View<'_, Command>,
) -> Option<Position> {
    buffer.reset();
    let area = Rect {
        width: buffer.area.width.min(linear::OVERLAY_COLUMNS),
        ..buffer.area
    };
    layers.render_top(area, buffer, view);
    let cursor = layers.cursor().map(|cursor| cursor.position);
    let mut places = [linear::strip(buffer, area), cursor];
    linear::compact(buffer, &mut places);
    let [selected, cursor] = places;
    let selected = selected.map(|at| linear::first_alphanumeric(buffer, at));
    // In a list, the cursor is on the selected item, not in the query; elsewhere it is in the input line.
    match cursor {
        Some(cursor) if layers.typed().is_none() => Some(cursor),
        cursor => selected.or(cursor).or(Some(area.as_position())),
    }
}
