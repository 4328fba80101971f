//! The graphic rendition of the terminal (SGR): colours, modifiers and the open hyperlink. It
//! persists across frames, so a change only costs the parameters that differ.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::link::{LinkId, Links};
use super::motion::push_number;

/// Modifiers that are visible on a blank cell.
pub(super) const VISIBLE_ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::CROSSED_OUT)
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::RAPID_BLINK);

/// The appearance of the next printed character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rendition {
    foreground: Color,
    background: Color,
    modifier: Modifier,
    link: Option<LinkId>,
}

impl Default for Rendition {
    fn default() -> Self {
        Self {
            foreground: Color::Reset,
            background: Color::Reset,
            modifier: Modifier::empty(),
            link: None,
        }
    }
}

/// Modifier, code that sets it, code that clears it.
const MODIFIERS: &[(Modifier, u16, u16)] = &[
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::SLOW_BLINK, 5, 25),
    (Modifier::RAPID_BLINK, 6, 25),
    (Modifier::REVERSED, 7, 27),
    (Modifier::HIDDEN, 8, 28),
    (Modifier::CROSSED_OUT, 9, 29),
];

impl Rendition {
    /// The rendition that draws `symbol` with the style of the cell. A blank only shows its
    /// background, so the other attributes stay unchanged.
    pub(super) fn for_cell(self, cell: &Cell, symbol: &str) -> Self {
        let link = LinkId::of(cell);
        if symbol == " " && !cell.modifier.intersects(VISIBLE_ON_BLANK) {
            return Self {
                background: cell.bg,
                modifier: self.modifier - VISIBLE_ON_BLANK,
                link,
                ..self
            };
        }
        Self {
            foreground: cell.fg,
            background: cell.bg,
            modifier: cell.modifier,
            link,
        }
    }

    /// The rendition for erasing with `background`.
    pub(super) fn for_erase(self, background: Color) -> Self {
        Self {
            background,
            modifier: self.modifier - VISIBLE_ON_BLANK,
            link: None,
            ..self
        }
    }

    pub(super) fn without_link(self) -> Self {
        Self { link: None, ..self }
    }

    /// Writes the change from this rendition to `to` in the fewest bytes.
    pub(super) fn write_change(self, to: Self, links: Option<&Links>, out: &mut Vec<u8>) {
        if self.link != to.link {
            write_link(to.link, links, out);
        }
        if self.without_link() == to.without_link() {
            return;
        }
        let start = out.len();
        self.write_step(to, out);
        let middle = out.len();
        Self::default().write_absolute(to, out);
        if out.len() - middle < middle - start {
            out.drain(start..middle);
        } else {
            out.truncate(middle);
        }
    }

    fn write_step(self, to: Self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[");
        self.write_parameters(to, out);
        close(out);
    }

    fn write_absolute(self, to: Self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[");
        if to.without_link() != self {
            out.extend_from_slice(b"0;");
            self.write_parameters(to, out);
        }
        close(out);
    }

    fn write_parameters(self, to: Self, out: &mut Vec<u8>) {
        let mut active = self.modifier;
        let mut cleared = 0;
        for (modifier, _, clear) in MODIFIERS {
            if (active - to.modifier).contains(*modifier) && cleared != *clear {
                push_parameter(out, *clear);
                cleared = *clear;
                // One code clears bold and dim; another clears both kinds of blinking.
                for (other, _, code) in MODIFIERS {
                    if code == clear {
                        active.remove(*other);
                    }
                }
            }
        }
        for (modifier, set, _) in MODIFIERS {
            if (to.modifier - active).contains(*modifier) {
                push_parameter(out, *set);
            }
        }
        if self.foreground != to.foreground {
            push_colour(out, to.foreground, 30);
        }
        if self.background != to.background {
            push_colour(out, to.background, 40);
        }
    }
}

fn write_link(link: Option<LinkId>, links: Option<&Links>, out: &mut Vec<u8>) {
    let Some(links) = links else {
        return;
    };
    out.extend_from_slice(b"\x1b]8;");
    // Rows with the same id belong to one wrapped link.
    if let Some((id, target)) = link.and_then(|id| links.target(id).map(|target| (id, target))) {
        out.extend_from_slice(b"id=");
        push_number(out, id.number());
        out.push(b';');
        out.extend_from_slice(target.as_bytes());
    } else {
        out.push(b';');
    }
    out.extend_from_slice(b"\x1b\\");
}

/// The number of a named colour, 0 to 15.
pub(super) fn ansi_number(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        _ => return None,
    })
}

/// `base` is 30 for the foreground, 40 for the background.
fn push_colour(out: &mut Vec<u8>, colour: Color, base: u16) {
    match colour {
        Color::Reset => push_parameter(out, base + 9),
        Color::Indexed(index) => {
            push_parameter(out, base + 8);
            push_parameter(out, 5);
            push_parameter(out, u16::from(index));
        }
        Color::Rgb(red, green, blue) => {
            push_parameter(out, base + 8);
            push_parameter(out, 2);
            for part in [red, green, blue] {
                push_parameter(out, u16::from(part));
            }
        }
        named => match u16::from(ansi_number(named).unwrap_or_default()) {
            number @ 0..8 => push_parameter(out, base + number),
            number => push_parameter(out, base + 60 + number - 8),
        },
    }
}

/// Writes a parameter and a separator. `close` replaces the last separator with the final byte.
fn push_parameter(out: &mut Vec<u8>, number: u16) {
    push_number(out, number);
    out.push(b';');
}

fn close(out: &mut Vec<u8>) {
    match out.last_mut() {
        Some(last) if *last == b';' => *last = b'm',
        _ => out.push(b'm'),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    fn change(from: Style, to: Style) -> String {
        let rendition = |style| {
            let mut cell = Cell::new("x");
            cell.set_style(style);
            Rendition::default().for_cell(&cell, "x")
        };
        let mut out = Vec::new();
        rendition(from).write_change(rendition(to), None, &mut out);
        String::from_utf8(out).unwrap().replace('\x1b', "")
    }

    #[test]
    fn rendition_change_writes_only_differences() {
        let plain = Style::new();
        for (from, to, expected) in [
            (plain, plain, ""),
            (plain, plain.red(), "[31m"),
            (plain.red(), plain.red().bold(), "[1m"),
            (plain.red().bold(), plain, "[m"),
            (plain.red().on_blue(), plain.red(), "[49m"),
            (plain.bold().dim(), plain.dim(), "[0;2m"),
            (plain.bold().red(), plain.dim().red(), "[22;2m"),
            (plain, plain.fg(Color::Indexed(208)), "[38;5;208m"),
            (plain.on_red(), plain.on_dark_gray(), "[100m"),
            (plain.italic().underlined(), plain.underlined(), "[23m"),
            (
                plain.italic().bold().underlined().red(),
                plain.red(),
                "[0;31m",
            ),
        ] {
            assert_eq!(change(from, to), expected, "{from:?} to {to:?}");
        }
    }
}
