//! Drawing and scrolling: both walk cells outward from the position, so their cost is bounded by the
//! screen.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::cell::{Body, Cell};
use super::find::with_marks;
use super::pick::with_bar;
use super::selection::with_selection;
use super::state::{Position, Seen, Transcript};
use crate::drawing::Surface;
use osier_term::images::{ImageId, ImageRow, ImageStore, PlacedStrip, RowState};
use osier_term::widgets::paint::Painter;
use osier_term::{Face, Highlighted, Highlighter, Row, Token};

impl Transcript {
    /// Draws the visible rows and records what the terminal paints over them.
    pub(crate) fn render(
        &mut self,
        area: Rect,
        surface: &mut Surface<'_>,
        pictures: &mut ImageStore,
    ) {
        self.resize((area.width, area.height));
        let theme = surface.theme;
        let mut painter = Painter::new(area, surface.buffer, surface.links, |face| {
            theme.style(face)
        });
        pictures.next_frame();
        self.placed = self.paint(&mut painter, pictures);
        painter.finish();
        self.prefetch();
        self.count_below();
    }

    /// Returns the strips that the terminal must paint over the last frame, and clears them.
    pub fn take_placed(&mut self) -> Vec<PlacedStrip> {
        std::mem::take(&mut self.placed)
    }

    /// Applies the size of the screen. The cell at the top stays at the row that was read, although its rows change
    /// with the width.
    fn resize(&mut self, viewport: (u16, u16)) {
        if self.viewport == viewport {
            return;
        }
        let reading = match self.position {
            Position::At { cell, row } if self.viewport.0 != viewport.0 => {
                Some((cell, row, self.full_height(cell)))
            }
            _ => None,
        };
        self.viewport = viewport;
        if let Some((cell, row, height)) = reading {
            let row = row * self.full_height(cell) / height.max(1);
            self.position = Position::At { cell, row };
        }
    }

    /// Sends code that has come into view to the highlighter.
    pub fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        let (first, _) = self.top();
        let visible = usize::from(self.viewport.1);
        for cell in self.strip_mut().cells.iter_mut().skip(first).take(visible) {
            cell.request_highlight(highlighter);
        }
    }

    /// Applies highlighted colours; returns whether anything changed. The newest cells are the likeliest.
    pub fn on_highlight(&mut self, highlighted: &Highlighted) -> bool {
        let away = self.away.iter_mut().flat_map(|away| away.cells.iter_mut());
        let mut cells = away.rev().chain(self.near.cells.iter_mut().rev());
        cells.any(|cell| cell.apply_highlight(highlighted))
    }

    /// Drops the layout. Cells are laid out again when they are shown.
    pub fn forget_layout(&mut self) {
        let away = self.away.iter_mut().flat_map(|away| away.cells.iter_mut());
        for cell in self.near.cells.iter_mut().chain(away) {
            cell.release();
        }
    }

    /// Moves by `rows`, up when negative. At the end, the view follows the end again. A conversation that is shorter
    /// than the screen is always at its end.
    pub fn scroll(&mut self, rows: isize) {
        let top = self.top();
        let (mut cell, mut row) = match rows {
            0.. => self.moved_down(top, rows.unsigned_abs()),
            _ => self.moved_up(top, rows.unsigned_abs()),
        };
        let is_past_end = self.is_past_end(cell, row);
        // If this page is not the last one, the page below is already requested.
        if let Some(away) = self.away.as_ref().filter(|_| is_past_end) {
            let end = (away.cells.len(), 0);
            (cell, row) = self.moved_up(end, usize::from(self.viewport.1));
        }
        self.position = match self.away {
            None if is_past_end => Position::Follow,
            _ => Position::At { cell, row },
        };
        if self.follows() {
            self.below = None;
        }
        self.prefetch();
    }

    /// Moves by a page. Two rows of the previous page stay visible, in addition to the prompt header.
    pub fn page(&mut self, down: bool) {
        let page = isize::try_from(self.viewport.1.saturating_sub(2).max(1)).unwrap_or(1);
        if down {
            self.scroll(page);
            if !self.follows() && self.prompt_above().is_some() {
                self.scroll(-1);
            }
        } else {
            let covered = isize::from(self.prompt_above().is_some());
            self.scroll(-(page - covered).max(1));
        }
    }

    /// Collapses or expands the block on screen row `y` of the viewport; false when there is none.
    pub fn toggle_at(&mut self, y: u16) -> bool {
        match self.seen_at(y) {
            Some(Seen::Row { cell, row }) => self.toggle(cell) || self.toggle_diagram(cell, row),
            _ => false,
        }
    }

    pub(super) fn toggle(&mut self, cell: usize) -> bool {
        let style = self.style;
        if self.strip_mut().open_group(cell, style) {
            return true;
        }
        let cell = &mut self.strip_mut().cells[cell];
        let open = match cell.body {
            Body::Thinking { .. } => style.show_thinking,
            Body::Tool(_) | Body::Shell(_) => style.expands(),
            Body::User(_) if cell.folds() => style.expands(),
            _ => return false,
        };
        cell.expanded = Some(!cell.expanded.unwrap_or(open));
        cell.changed();
        true
    }

    /// Shows a diagram as its source, or again as a diagram.
    pub(super) fn toggle_diagram(&mut self, cell: usize, row: usize) -> bool {
        let (width, style) = (self.viewport.0, self.style);
        self.strip_mut().cells[cell].toggle_diagram(width, style, row)
    }

    /// The content of screen row `y`.
    pub(super) fn seen_at(&mut self, y: u16) -> Option<Seen> {
        if y >= self.viewport.1 {
            return None;
        }
        let (mut cell, row) = self.top();
        let mut left = usize::from(y) + row;
        while cell < self.strip().cells.len() {
            let height = self.full_height(cell);
            if left < height {
                let row = left.checked_sub(self.strip().gap(cell, self.style));
                return Some(row.map_or(Seen::Gap, |row| Seen::Row { cell, row }));
            }
            left -= height;
            cell += 1;
        }
        None
    }

    /// The prompt of the answer at the top, when it is not on screen itself.
    pub(super) fn prompt_above(&mut self) -> Option<usize> {
        if self.style.linear {
            // A screen reader would read the prompt again with every screen.
            return None;
        }
        let (top, row) = self.top();
        let strip = self.strip();
        let end = strip.cells.len().min(top + 1);
        let prompt = strip.cells[..end].iter().rposition(Cell::is_prompt)?;
        let hidden = prompt < top || row > strip.gap(top, self.style);
        hidden.then_some(prompt)
    }

    fn paint(
        &mut self,
        painter: &mut Painter<'_, impl Fn(Face) -> Style>,
        pictures: &mut ImageStore,
    ) -> Vec<PlacedStrip> {
        let (cell, mut skip) = self.top();
        let width = self.viewport.0;
        if let Some(prompt) = self.prompt_above() {
            if let Some(row) = self.strip_mut().cells[prompt].sticky_row(width) {
                painter.row(row);
            }
            skip += 1;
        }
        self.paint_from((cell, skip), painter, pictures)
    }

    /// Paints the rows from a place on, as far as there is room.
    pub(super) fn paint_from(
        &mut self,
        (mut cell, mut skip): (usize, usize),
        painter: &mut Painter<'_, impl Fn(Face) -> Style>,
        pictures: &mut ImageStore,
    ) -> Vec<PlacedStrip> {
        let mut placed = Vec::new();
        let mut missing = Vec::new();
        let mut wanted = Vec::new();
        let (width, style) = (self.viewport.0, self.style);
        let found = self.found_match();
        let (needle, selected) = (self.needle.take(), self.selected());
        let picked = self.picked_rows();
        while cell < self.strip().cells.len() && painter.room() > 0 {
            let above = self.strip().gap(cell, self.style);
            for _ in skip..above {
                let cell = &self.strip().cells[cell];
                let speaker = cell.speaker(style).filter(|_| style.linear);
                painter
                    .row(&speaker.map_or_else(Row::default, |name| Row::plain(name, Token::Muted)));
            }
            let mut place = skip.saturating_sub(above);
            let range = place..place + painter.room();
            let strip = self.strip_mut();
            wanted.extend(strip.cells[cell].ask_for_illustrations());
            let indent = strip.cells[cell].indent(style);
            painter.indent(indent);
            strip.each_row(cell, (width, style), range, &mut |row| {
                let current = found.filter(|at| (at.0, at.1) == (cell, place));
                let current = current.map(|(.., number)| number);
                let marked = needle.as_ref();
                let marked =
                    marked.and_then(|needle| with_marks(needle, row, current, style.linear));
                let mut shown = Cow::Borrowed(marked.as_ref().unwrap_or(row));
                if let Some(columns) = selected.and_then(|all| all.columns(cell, place)) {
                    shown = Cow::Owned(with_selection(&shown, &columns));
                }
                if picked
                    .as_ref()
                    .is_some_and(|(at, rows)| *at == cell && rows.contains(&place))
                {
                    shown = Cow::Owned(with_bar(&shown, style.linear, indent));
                    painter.indent(0);
                }
                match shown.image.as_deref() {
                    None => painter.row(&shown),
                    Some(part) => match paint_part(painter, &shown, *part, pictures) {
                        Ok(strip) => placed.extend(strip),
                        Err(picture) => missing.push((cell, picture)),
                    },
                }
                painter.indent(indent);
                place += 1;
            });
            painter.indent(0);
            skip = skip.saturating_sub(self.full_height(cell));
            cell += 1;
        }
        self.needle = needle;
        self.request_pictures(missing, pictures);
        if pictures.cell().is_some() {
            self.wanted.append(&mut wanted);
        }
        placed
    }

    /// Requests the pictures that came into view.
    fn request_pictures(&self, mut missing: Vec<(usize, ImageId)>, pictures: &mut ImageStore) {
        missing.dedup();
        for (cell, picture) in missing {
            let files = self.strip().cells[cell].pictures();
            if let Some(file) = files.into_iter().find(|file| picture.is_of(file)) {
                pictures.request(picture, file);
            }
        }
    }

    /// The cell at the top and its first visible row (its gap counted).
    pub(super) fn top(&mut self) -> (usize, usize) {
        match self.position {
            Position::At { cell, row } => (cell, row),
            Position::Follow => self.moved_up((self.end(), 0), usize::from(self.viewport.1)),
        }
    }

    /// Rows of a cell with its gap.
    pub(super) fn full_height(&mut self, cell: usize) -> usize {
        let (width, _) = self.viewport;
        let style = self.style;
        let strip = self.strip_mut();
        strip.gap(cell, style) + strip.height(cell, width, style)
    }

    /// Scrolls until the rows of a cell, its gap not counted, are on the screen: all of them if they fit, else the first.
    pub(super) fn reveal(&mut self, cell: usize, rows: Range<usize>) {
        let gap = self.strip().gap(cell, self.style);
        let height = self.full_height(cell);
        let start = gap + rows.start.min(height);
        let end = gap.saturating_add(rows.end).min(height);
        // The first row may be covered by the prompt that stays at the top.
        let screen = usize::from(self.viewport.1).saturating_sub(1).max(1);
        let first = self.moved_up((cell, start), 1);
        let last = self.moved_up((cell, end), screen + 1);
        let top = self.top();
        let (cell, row) = if first < top || end - start > screen {
            first
        } else if last > top {
            last
        } else {
            return;
        };
        self.position = Position::At { cell, row };
        self.scroll(0);
    }

    pub(super) fn moved_up(
        &mut self,
        (mut cell, mut row): (usize, usize),
        rows: usize,
    ) -> (usize, usize) {
        let mut left = rows;
        loop {
            if row >= left {
                return (cell, row - left);
            }
            left -= row;
            if cell == 0 {
                return (0, 0);
            }
            cell -= 1;
            row = self.full_height(cell);
        }
    }

    pub(super) fn moved_down(
        &mut self,
        (mut cell, row): (usize, usize),
        rows: usize,
    ) -> (usize, usize) {
        let mut row = row + rows;
        while cell < self.strip().cells.len() {
            let height = self.full_height(cell);
            if row < height {
                break;
            }
            row -= height;
            cell += 1;
        }
        (cell, row)
    }

    /// Whether less than a screen is below the row.
    fn is_past_end(&mut self, cell: usize, row: usize) -> bool {
        let mut left = usize::from(self.viewport.1) + row;
        for place in cell..self.strip().cells.len() {
            let height = self.full_height(place);
            if left < height {
                return false;
            }
            left -= height;
        }
        true
    }
}

/// Paints a row of a picture: its cells if the picture is ready, else blanks. `Err` if the picture was not requested.
fn paint_part(
    painter: &mut Painter<'_, impl Fn(Face) -> Style>,
    row: &Row,
    part: ImageRow,
    pictures: &mut ImageStore,
) -> Result<Option<PlacedStrip>, ImageId> {
    let (spans, strip) = match pictures.row(part) {
        RowState::Ready(spans, strip) => (spans, strip),
        RowState::Blank => {
            painter.row(row);
            return Ok(None);
        }
        RowState::Missing => {
            painter.row(row);
            return Err(part.image);
        }
    };
    let line = painter.joined(row, spans);
    let (Some(line), Some(bytes)) = (line, strip) else {
        return Ok(None);
    };
    let columns = part.image.shape.columns;
    let x = line.x + row.width() as u16;
    if x + columns > line.right() {
        return Ok(None);
    }
    painter.leave(Rect {
        x,
        width: columns,
        ..line
    });
    Ok(Some(PlacedStrip {
        x,
        y: line.y,
        columns,
        part,
        bytes,
    }))
}
