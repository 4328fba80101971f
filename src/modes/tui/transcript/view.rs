//! Drawing and scrolling: both walk cells outward from the position, so their cost is bounded by the
//! screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::find::with_marks;
use super::pages::Purpose;
use super::{Position, Transcript};
use crate::coding::session::PageAt;
use crate::term::face::Face;
use crate::term::frame::Links;
use crate::term::highlight::{Highlighted, Highlighter};
use crate::term::row::Row;
use crate::term::theme::Theme;
use crate::term::widgets::paint::Painter;

impl Transcript {
    /// Draws the visible rows.
    pub fn render(&mut self, area: Rect, buffer: &mut Buffer, links: &Links, theme: &Theme) {
        self.resize((area.width, area.height));
        let mut painter = Painter::new(area, buffer, links, |face| theme.style(face));
        self.paint(&mut painter);
        painter.finish();
        self.prefetch();
        self.count_below();
    }

    /// Takes the size of the screen. A cell at the top keeps the place in it that was read: its rows are
    /// others at another width.
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

    /// Takes colours that came back; whether anything changed. The newest cells are the likeliest.
    pub fn on_highlight(&mut self, highlighted: &Highlighted) -> bool {
        let away = self.away.iter_mut().flat_map(|away| away.cells.iter_mut());
        let mut cells = away.rev().chain(self.near.cells.iter_mut().rev());
        cells.any(|cell| cell.apply_highlight(highlighted))
    }

    /// Moves by `rows`, up when negative. Reaching the end follows it again, and what is shorter than
    /// the screen is always at its end.
    pub fn scroll(&mut self, rows: isize) {
        let (cell, row) = self.top();
        self.position = match rows {
            0.. => self.moved_down((cell, row), rows.unsigned_abs()),
            _ => self.moved_up((cell, row), rows.unsigned_abs()),
        };
        if let Position::At { cell, row } = self.position
            && self.is_past_end(cell, row)
        {
            self.position = match &self.away {
                None => Position::Follow,
                // What comes below is on its way.
                Some(away) => {
                    let end = (away.cells.len(), 0);
                    self.moved_up(end, usize::from(self.viewport.1))
                }
            };
        }
        if self.follows() {
            self.below = None;
        }
        self.prefetch();
    }

    /// Moves by a page, keeping two rows of the old one.
    pub fn page(&mut self, down: bool) {
        let page = isize::try_from(self.viewport.1.saturating_sub(2).max(1)).unwrap_or(1);
        self.scroll(if down { page } else { -page });
    }

    pub fn go_top(&mut self) {
        if self.strip().earlier && self.near.earlier {
            self.ask(Purpose::Start, PageAt::Start);
            return;
        }
        if self.strip().earlier {
            self.leave_away();
        }
        self.position = Position::At { cell: 0, row: 0 };
        self.scroll(0);
    }

    pub fn go_bottom(&mut self) {
        self.leave_away();
        self.position = Position::Follow;
        self.below = None;
    }

    /// Puts the next prompt above or below the top row at the top.
    pub fn go_prompt(&mut self, down: bool) {
        let (cell, row) = self.top();
        let cells = &self.strip().cells;
        let found = if down {
            (cell + 1..cells.len()).find(|place| cells[*place].is_prompt())
        } else {
            let last = if row > 0 { cell + 1 } else { cell };
            (0..last.min(cells.len()))
                .rev()
                .find(|place| cells[*place].is_prompt())
        };
        let strip = self.strip();
        let entry = if down { &strip.last } else { &strip.first };
        let entry_id = entry.as_deref().unwrap_or_default().to_owned();
        match found {
            Some(cell) => {
                self.position = Position::At { cell, row: 0 };
                self.scroll(0);
            }
            None if down && self.away.is_some() => {
                self.ask(Purpose::Start, PageAt::PromptAfter { entry_id });
            }
            None if down => self.go_bottom(),
            None if strip.earlier => self.ask(Purpose::Start, PageAt::PromptBefore { entry_id }),
            None => self.go_top(),
        }
    }

    /// Folds or unfolds what stands on screen row `y` of the viewport; false when nothing does.
    pub fn toggle_at(&mut self, y: u16) -> bool {
        if y >= self.viewport.1 {
            return false;
        }
        let (mut cell, row) = self.top();
        let mut left = usize::from(y) + row;
        while cell < self.strip().cells.len() {
            let height = self.full_height(cell);
            if left < height {
                let look = self.look;
                let cell = &mut self.strip_mut().cells[cell];
                let open = match cell.body {
                    super::Body::Thinking { .. } => look.show_thinking,
                    super::Body::Tool(_) | super::Body::Shell(_) => look.expand_tools,
                    _ => return false,
                };
                cell.expanded = Some(!cell.expanded.unwrap_or(open));
                cell.changed();
                return true;
            }
            left -= height;
            cell += 1;
        }
        false
    }

    fn paint(&mut self, painter: &mut Painter<'_, impl Fn(Face) -> Style>) {
        let (mut cell, mut skip) = self.top();
        let (width, look) = (self.viewport.0, self.look);
        let needle = self.needle.take();
        while cell < self.strip().cells.len() && painter.room() > 0 {
            let above = self.strip().gap(cell);
            for _ in skip..above {
                painter.row(&Row::default());
            }
            let start = skip.saturating_sub(above);
            let range = start..start + painter.room();
            let cells = &mut self.strip_mut().cells;
            cells[cell].each_row(width, look, range, &mut |row| {
                let marked = needle.as_ref().and_then(|needle| with_marks(needle, row));
                painter.row(marked.as_ref().unwrap_or(row));
            });
            skip = 0;
            cell += 1;
        }
        self.needle = needle;
    }

    /// The cell and the row of it (its gap counted) that stand at the top.
    pub(super) fn top(&mut self) -> (usize, usize) {
        match self.position {
            Position::At { cell, row } => (cell, row),
            Position::Follow => {
                match self.moved_up((self.strip().cells.len(), 0), usize::from(self.viewport.1)) {
                    Position::At { cell, row } => (cell, row),
                    Position::Follow => (0, 0),
                }
            }
        }
    }

    /// Rows of a cell with its gap.
    fn full_height(&mut self, cell: usize) -> usize {
        let (width, _) = self.viewport;
        let look = self.look;
        let strip = self.strip_mut();
        strip.gap(cell) + strip.cells[cell].height(width, look)
    }

    pub(super) fn moved_up(
        &mut self,
        (mut cell, mut row): (usize, usize),
        rows: usize,
    ) -> Position {
        let mut left = rows;
        loop {
            if row >= left {
                return Position::At {
                    cell,
                    row: row - left,
                };
            }
            left -= row;
            if cell == 0 {
                return Position::At { cell: 0, row: 0 };
            }
            cell -= 1;
            row = self.full_height(cell);
        }
    }

    fn moved_down(&mut self, (mut cell, row): (usize, usize), rows: usize) -> Position {
        let mut row = row + rows;
        while cell < self.strip().cells.len() {
            let height = self.full_height(cell);
            if row < height {
                break;
            }
            row -= height;
            cell += 1;
        }
        Position::At { cell, row }
    }

    /// Whether less than a screen stands below the row.
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
