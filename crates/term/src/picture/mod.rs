//! Pictures among text. How many cells one takes is known from its first bytes, so that nothing moves when
//! its pixels come; they are decoded, made smaller and put into the terminal's own form on a thread, and kept
//! within a bound of bytes.
//!
//! Half-blocks and Kitty's placeholders are ordinary text: they scroll, are clipped and covered as any row. A
//! picture that the terminal paints over cells (Sixel, iTerm2) is cut into strips, one a row, and a strip is
//! sent again whenever it is not where it was.

mod around;
mod blocks;
mod iterm;
mod kitty;
mod scale;
mod sixel;
mod store;
mod worker;

use std::io::Cursor;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::ImageDecoder;
use image::metadata::Orientation;

use super::input::TerminalReply;
use super::row::Row;
use super::theme::ColourDepth;

pub use around::Around;
pub use store::{Pictures, Placed, Shown};
pub use worker::Drawn;

/// The way pictures reach the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Two pixels a cell, in colours.
    #[default]
    Blocks,
    Kitty,
    Iterm,
    Sixel,
}

/// Number in the device attributes of a terminal that shows Sixel.
const SIXEL: u16 = 4;

/// How the names of terminals begin that show pictures in a way of their own, and the first version that does.
/// Others that know Kitty's protocol do not know its placeholders, which came later.
const NAMES: &[(&str, (u32, u32), Protocol)] = &[
    ("kitty", (0, 28), Protocol::Kitty),
    ("ghostty", (0, 0), Protocol::Kitty),
    ("iterm2", (0, 0), Protocol::Iterm),
    ("wezterm", (0, 0), Protocol::Iterm),
];

impl Protocol {
    /// The way that a terminal's answers name, if any.
    pub fn told(replies: &[TerminalReply]) -> Option<Self> {
        replies.iter().fold(None, Self::after)
    }

    /// The way that is known after one more answer.
    pub fn after(known: Option<Self>, reply: &TerminalReply) -> Option<Self> {
        match reply {
            TerminalReply::Version(name) => Self::named(name).or(known),
            TerminalReply::DeviceAttributes(numbers) if numbers.contains(&SIXEL) => {
                known.or(Some(Self::Sixel))
            }
            _ => known,
        }
    }

    /// The way of a terminal that calls itself so: `kitty(0.41.1)`, `WezTerm 20240203-110809`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let known = NAMES.iter().find_map(|(start, first, protocol)| {
            let version = name.strip_prefix(start)?;
            Some((version, first, protocol))
        });
        let (version, first, protocol) = known?;
        let numbers = version.split(|char: char| !char.is_ascii_digit());
        let mut numbers = numbers.filter_map(|number| number.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        (version >= *first).then_some(*protocol)
    }
}

/// What pictures are drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Canvas {
    pub protocol: Protocol,
    /// Pixels of a cell: width, height.
    pub cell: (u16, u16),
    pub depth: ColourDepth,
    /// What is seen through a picture.
    pub ground: (u8, u8, u8),
    /// Sequences are wrapped for tmux to pass them on.
    pub passes_through: bool,
}

/// Pixels of a cell where the terminal does not say.
pub const USUAL_CELL: (u16, u16) = (9, 18);
/// Most columns of a picture: a placeholder has no number for more.
pub const MOST_COLUMNS: u16 = 96;

impl PictureId {
    /// Whether this is the picture whose file is `base64`.
    pub fn is_of(self, base64: &str) -> bool {
        self.content == fingerprint(base64)
    }
}

/// Cells that a picture takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub columns: u16,
    pub rows: u16,
}

/// A row of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    pub picture: PictureId,
    pub row: u16,
}

/// A picture in one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureId {
    content: u64,
    pub shape: Shape,
}

/// The rows of the picture whose file is `base64`, none yet with its pixels, within `most` columns and rows.
/// `None` for what is no picture.
pub fn rows(base64: &str, cell: (u16, u16), most: (u16, u16)) -> Option<Vec<Row>> {
    let picture = PictureId {
        content: fingerprint(base64),
        shape: fit(dimensions(base64)?, cell, most)?,
    };
    let part = |row| Row {
        picture: Some(Arc::new(Part { picture, row })),
        ..Row::default()
    };
    Some((0..picture.shape.rows).map(part).collect())
}

/// Pixels of a picture as it is shown, from its header.
pub fn dimensions(base64: &str) -> Option<(u32, u32)> {
    /// Bytes of a file in which its size nearly always stands.
    const HEAD: usize = 64 * 1024;
    let read = |text: &str| {
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        let reader = image::ImageReader::new(Cursor::new(bytes));
        let mut decoder = reader.with_guessed_format().ok()?.into_decoder().ok()?;
        let (width, height) = decoder.dimensions();
        let lies_down = matches!(
            decoder.orientation(),
            Ok(Orientation::Rotate90
                | Orientation::Rotate270
                | Orientation::Rotate90FlipH
                | Orientation::Rotate270FlipH)
        );
        Some(if lies_down {
            (height, width)
        } else {
            (width, height)
        })
    };
    // Four characters are three bytes.
    let head = base64.get(..HEAD).and_then(read);
    head.or_else(|| read(base64))
}

/// The cells for a picture of so many pixels: its own size, or the largest that fits.
fn fit(pixels: (u32, u32), cell: (u16, u16), most: (u16, u16)) -> Option<Shape> {
    let most = (most.0.min(MOST_COLUMNS), most.1.min(MOST_COLUMNS));
    if pixels.0 == 0 || pixels.1 == 0 || most.0 == 0 || most.1 == 0 {
        return None;
    }
    let scale = scale::scale(pixels, cell, most);
    let cells = |pixels: u32, cell: u16, most: u16| {
        let cells = (f64::from(pixels) * scale / f64::from(cell)).ceil() as u16;
        cells.clamp(1, most)
    };
    Some(Shape {
        columns: cells(pixels.0, cell.0, most.0),
        rows: cells(pixels.1, cell.1, most.1),
    })
}

/// A number that stands for the content. A picture is large: its length and parts of it are enough to tell it
/// from the others of a conversation.
fn fingerprint(base64: &str) -> u64 {
    let bytes = base64.as_bytes();
    let step = (bytes.len() / 4096).max(1);
    let sampled = bytes
        .iter()
        .step_by(step)
        .chain(bytes.iter().rev().take(512));
    sampled.fold(bytes.len() as u64, |hash, byte| {
        (hash.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};

    use super::*;

    /// A PNG in base64, red at the top and blue at the bottom.
    pub(super) fn flag(width: u32, height: u32) -> String {
        let pixels = RgbaImage::from_fn(width, height, |_, y| {
            if y < height / 2 {
                Rgba([255, 0, 0, 255])
            } else {
                Rgba([0, 0, 255, 255])
            }
        });
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::ImageRgba8(pixels)
            .write_to(&mut bytes, ImageFormat::Png)
            .unwrap();
        BASE64_STANDARD.encode(bytes.into_inner())
    }

    /// A JPEG in base64 that says it was held upright.
    fn portrait(width: u32, height: u32) -> String {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height)
            .write_to(&mut bytes, ImageFormat::Jpeg)
            .unwrap();
        let mut bytes = bytes.into_inner();
        // Behind the start of the file: one entry, the orientation 6, a quarter turn.
        let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        bytes.splice(2..2, exif.iter().copied());
        BASE64_STANDARD.encode(bytes)
    }

    #[test]
    fn a_picture_stands_as_it_was_held() {
        assert_eq!(dimensions(&portrait(40, 20)), Some((20, 40)));
        let shape = worker::decode(&portrait(40, 20)).map(|picture| picture.dimensions());
        assert_eq!(shape, Some((20, 40)));
    }

    #[test]
    fn the_size_is_known_before_the_pixels() {
        for (pixels, most, expected) in [
            ((90, 90), (80, 20), (10, 5)),
            ((1, 1), (80, 20), (1, 1)),
            ((900, 180), (50, 20), (50, 5)),
            ((900, 1800), (80, 20), (20, 20)),
            ((4000, 10), (200, 20), (96, 1)),
        ] {
            let shape = fit(pixels, (9, 18), most).unwrap();
            assert_eq!((shape.columns, shape.rows), expected, "{pixels:?}");
        }
        assert_eq!(fit((0, 4), (9, 18), (80, 20)), None);
        assert_eq!(dimensions(&flag(30, 20)), Some((30, 20)));
        assert_eq!(dimensions("bm8gcGljdHVyZQ=="), None);
        let rows = rows(&flag(90, 90), (9, 18), (80, 20)).unwrap();
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[4].picture.as_ref().unwrap().row, 4);
    }
}
