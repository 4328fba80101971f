//! Kitty graphics with Unicode placeholders. An image is sent once, and cells with a placeholder show their part of the
//! image wherever the cells are. The id of the image is the colour of the cells, one of the 256, and a diacritic; both
//! survive a multiplexer without true colours.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::Shape;
use crate::text::face::Face;
use crate::text::row::Span;
use osier_base::ansi::Hue;

const PLACEHOLDER: char = '\u{10eeee}';
/// Base64 characters per chunk.
const CHUNK: usize = 4096;

/// The combining characters that encode row and column numbers, as ranges.
const DIACRITICS: &[(u32, u32)] = &[
    (0x305, 0x305),
    (0x30d, 0x30e),
    (0x310, 0x310),
    (0x312, 0x312),
    (0x33d, 0x33f),
    (0x346, 0x346),
    (0x34a, 0x34c),
    (0x350, 0x352),
    (0x357, 0x357),
    (0x35b, 0x35b),
    (0x363, 0x36f),
    (0x483, 0x487),
    (0x592, 0x595),
    (0x597, 0x599),
    (0x59c, 0x5a1),
    (0x5a8, 0x5a9),
    (0x5ab, 0x5ac),
    (0x5af, 0x5af),
    (0x5c4, 0x5c4),
    (0x610, 0x617),
    (0x657, 0x65b),
    (0x65d, 0x65e),
    (0x6d6, 0x6dc),
    (0x6df, 0x6e2),
    (0x6e4, 0x6e4),
    (0x6e7, 0x6e8),
    (0x6eb, 0x6ec),
    (0x730, 0x730),
    (0x732, 0x733),
    (0x735, 0x736),
    (0x73a, 0x73a),
    (0x73d, 0x73d),
    (0x73f, 0x741),
    (0x743, 0x743),
    (0x745, 0x745),
    (0x747, 0x747),
    (0x749, 0x74a),
    (0x7eb, 0x7f1),
    (0x7f3, 0x7f3),
];

/// The id of an image: a 256-colour index in the low byte, the number of a diacritic in the high
/// byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KittyId(u32);

impl KittyId {
    /// The id of the image number `count`. `start` differs between osier processes in one terminal,
    /// so that their ids differ.
    pub(super) fn new(count: u32, start: u32) -> Self {
        let index = count.wrapping_add(start.wrapping_mul(97));
        // The sixteen named colours are encoded differently.
        let low = 16 + index % 240;
        let high = 1 + index / 240 % 90;
        Self(high << 24 | low)
    }

    fn colour(self) -> u8 {
        self.0 as u8
    }
}

/// The cells of an image.
pub(super) fn rows(id: KittyId, shape: Shape) -> Vec<Vec<Span>> {
    let face = Face::exact(Some(Hue::Indexed(id.colour())), None);
    let high = diacritic(id.0 >> 24);
    let row = |row: u16| {
        let mut text = String::new();
        for column in 0..shape.columns {
            text.push(PLACEHOLDER);
            text.extend(
                [diacritic(row.into()), diacritic(column.into()), high]
                    .into_iter()
                    .flatten(),
            );
        }
        vec![Span::new(text, face)]
    };
    (0..shape.rows).map(row).collect()
}

/// The bytes that send an image as a PNG and show it at its placeholders.
pub(super) fn send(id: KittyId, shape: Shape, png: &[u8], passes_through: bool) -> Vec<u8> {
    let text = BASE64_STANDARD.encode(png);
    let chunks: Vec<&[u8]> = text.as_bytes().chunks(CHUNK).collect();
    let mut bytes = Vec::with_capacity(text.len() + chunks.len() * 32);
    for (index, chunk) in chunks.iter().enumerate() {
        let more = u8::from(index + 1 < chunks.len());
        let mut command = if index == 0 {
            let Shape { columns, rows } = shape;
            format!(
                "\x1b_Ga=T,U=1,q=2,f=100,i={},c={columns},r={rows},m={more};",
                id.0
            )
        } else {
            format!("\x1b_Gq=2,m={more};")
        }
        .into_bytes();
        command.extend_from_slice(chunk);
        command.extend_from_slice(b"\x1b\\");
        wrap(&command, passes_through, &mut bytes);
    }
    bytes
}

/// The bytes that delete an image from the terminal.
pub(super) fn delete(id: KittyId, passes_through: bool) -> Vec<u8> {
    let command = format!("\x1b_Ga=d,d=I,q=2,i={}\x1b\\", id.0);
    let mut bytes = Vec::new();
    wrap(command.as_bytes(), passes_through, &mut bytes);
    bytes
}

/// tmux forwards a command in this form if passthrough is allowed.
fn wrap(command: &[u8], passes_through: bool, out: &mut Vec<u8>) {
    if !passes_through {
        out.extend_from_slice(command);
        return;
    }
    out.extend_from_slice(b"\x1bPtmux;");
    for byte in command {
        if *byte == 0x1b {
            out.push(0x1b);
        }
        out.push(*byte);
    }
    out.extend_from_slice(b"\x1b\\");
}

fn diacritic(id: u32) -> Option<char> {
    let mut left = id;
    for (first, last) in DIACRITICS {
        let count = last - first + 1;
        if left < count {
            return char::from_u32(first + left);
        }
        left -= count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::MAX_COLUMNS;
    use osier_base::text::{grapheme_width, graphemes};

    #[test]
    fn placeholders_are_one_column_wide_and_encode_their_position() {
        let shape = Shape {
            columns: MAX_COLUMNS,
            rows: 2,
        };
        let id = KittyId::new(300, 7);
        let rows = rows(id, shape);
        assert_eq!(rows.len(), 2);
        let cells: Vec<&str> = graphemes(&rows[1][0].text).map(|(_, cell)| cell).collect();
        assert_eq!(cells.len(), usize::from(MAX_COLUMNS));
        for cell in &cells {
            assert_eq!(grapheme_width(cell), 1, "{cell:?}");
            assert_eq!(cell.chars().count(), 4);
        }
        assert!(cells[0].starts_with("\u{10eeee}\u{30d}\u{305}"));
        assert!(cells[2].starts_with("\u{10eeee}\u{30d}\u{30e}"));
        assert!(rows[1][0].face.colours.fg == Some(Hue::Indexed(id.colour())));
    }

    #[test]
    fn image_is_sent_in_chunks() {
        let shape = Shape {
            columns: 3,
            rows: 2,
        };
        let id = KittyId(0x0100_0010);
        let sent = send(id, shape, &[0; 4000], false);
        let sent = String::from_utf8(sent).unwrap();
        let chunks: Vec<&str> = sent.split_terminator("\x1b\\").collect();
        assert_eq!(chunks.len(), 2);
        assert!(chunks[0].starts_with("\x1b_Ga=T,U=1,q=2,f=100,i=16777232,c=3,r=2,m=1;AAAA"));
        assert!(chunks[1].starts_with("\x1b_Gq=2,m=0;AAAA"));
        assert_eq!(
            delete(id, true),
            b"\x1bPtmux;\x1b\x1b_Ga=d,d=I,q=2,i=16777232\x1b\x1b\\\x1b\\"
        );
    }
}
