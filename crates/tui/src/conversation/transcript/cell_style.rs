//! How cells are laid out, and the rows that their kinds share.

use super::output::Fold;
use osier_base::text;
use osier_settings::Density;
use osier_term::images;
use osier_term::{Face, KeyPress, Row, Span, Wrap};

/// How cells are laid out, in addition to the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CellStyle {
    pub show_thinking: bool,
    /// Lines below the turns.
    pub turn_summaries: bool,
    pub density: Density,
    /// The size of a terminal cell in pixels, where pictures are shown.
    pub cell: Option<(u16, u16)>,
    /// The key that expands tool calls.
    pub expand_key: Option<KeyPress>,
    /// For a screen reader: speakers are written out, and nothing is drawn.
    pub linear: bool,
}

impl CellStyle {
    /// Whether calls and long prompts are shown completely unless the user has collapsed them.
    pub(super) fn expands(self) -> bool {
        self.density == Density::Everything
    }

    /// The first or last `rows` of an output.
    pub(super) fn fold(self, rows: usize) -> Fold {
        Fold {
            rows,
            key: self.expand_key,
        }
    }
}

/// Rows of literal text behind the prefix `first`; rows that continue a line have the prefix
/// `rest`.
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
        // A picture has no text to copy.
        row.decoration = width;
    }
    rows
}
