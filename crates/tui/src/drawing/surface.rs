//! Where a frame is painted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use osier_term::{Face, Links, Row, Theme, Token, paint_rows};

/// The cells of a frame, their links and their colours.
#[derive(Debug)]
pub(crate) struct Surface<'a> {
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) links: &'a Links,
    pub(crate) theme: &'a Theme,
}

impl Surface<'_> {
    pub(crate) fn paint(&mut self, rows: &[Row], area: Rect) {
        paint_rows(rows, area, self.buffer, self.links, |face| {
            self.theme.style(face)
        });
    }

    /// Draws the area behind an overlay in the backdrop face.
    pub(crate) fn dim(&mut self, area: Rect) {
        let style = self.theme.style(Face::from(Token::Backdrop));
        for position in area.intersection(self.buffer.area).positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.fg = style.fg.unwrap_or_default();
                cell.bg = style.bg.unwrap_or_default();
                cell.modifier = style.add_modifier;
            }
        }
    }

    /// The background of a token, where the theme and the terminal have one.
    pub(crate) fn background(&self, token: Token) -> Option<Color> {
        let background = self.theme.style(Face::from(token)).bg?;
        (background != Color::Reset).then_some(background)
    }

    /// Gives cells of an area without a background the one of a token.
    pub(crate) fn paint_background(&mut self, area: Rect, token: Token) {
        let Some(background) = self.background(token) else {
            return;
        };
        for position in area.intersection(self.buffer.area).positions() {
            if let Some(cell) = self.buffer.cell_mut(position)
                && cell.bg == Color::Reset
            {
                cell.bg = background;
            }
        }
    }

    /// Gives the colours of the theme to cells without colours.
    pub(crate) fn paint_ground(&mut self) {
        let base = self.theme.base();
        if base.fg.is_none() && base.bg.is_none() {
            return;
        }
        for cell in &mut self.buffer.content {
            if cell.fg == Color::Reset {
                cell.fg = base.fg.unwrap_or_default();
            }
            if cell.bg == Color::Reset {
                cell.bg = base.bg.unwrap_or_default();
            }
        }
    }
}
