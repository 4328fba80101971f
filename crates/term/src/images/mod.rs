//! Inline images. The number of cells of an image is known from its header, so nothing moves when
//! its pixels arrive. A background thread decodes and scales images and encodes them for the
//! terminal; a store limits their memory.
//!
//! Half-blocks and Kitty placeholders are ordinary text: they scroll and are clipped and covered
//! like any row. Images that the terminal paints over cells (Sixel, iTerm2) are cut into strips,
//! one per row. A strip is sent again whenever it moved.

// recipe: an image protocol: a file in this folder
mod blocks;
mod canvas;
mod iterm2;
mod kitty;
mod scale;
mod sixel;
mod store;
mod tmux;
mod worker;

use std::io::Cursor;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::ImageDecoder;
use image::metadata::Orientation;

use crate::text::row::Row;

pub use crate::text::image::{ImageId, ImageRow, Shape};
pub use canvas::{Canvas, DEFAULT_CELL, Protocol};
pub use store::{ImageStore, PlacedStrip, RowState};
pub use tmux::OuterTerminal;
pub use worker::RenderedImage;

/// Maximum number of columns of an image: placeholders have no number for more.
const MAX_COLUMNS: u16 = 96;

impl ImageId {
    /// Whether this is the image with the file content `base64`.
    pub fn is_of(self, base64: &str) -> bool {
        self.content == fingerprint(base64)
    }
}

/// The rows of the image with the file content `base64`, at most `most` columns and rows. They hold
/// no pixels yet. `None` if the content is not an image.
pub fn rows(base64: &str, cell: (u16, u16), most: (u16, u16)) -> Option<Vec<Row>> {
    let image = ImageId {
        content: fingerprint(base64),
        shape: fit(dimensions(base64)?, cell, most)?,
    };
    let part = |row| Row {
        image: Some(Arc::new(ImageRow { image, row })),
        ..Row::default()
    };
    Some((0..image.shape.rows).map(part).collect())
}

/// The displayed size of an image in pixels, from its header.
pub fn dimensions(base64: &str) -> Option<(u32, u32)> {
    /// The header with the size is nearly always within this many base64 characters.
    const HEAD: usize = 64 * 1024;
    let read = |text: &str| {
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        let reader = image::ImageReader::new(Cursor::new(bytes));
        let mut decoder = reader.with_guessed_format().ok()?.into_decoder().ok()?;
        let (width, height) = decoder.dimensions();
        let is_rotated = matches!(
            decoder.orientation(),
            Ok(Orientation::Rotate90
                | Orientation::Rotate270
                | Orientation::Rotate90FlipH
                | Orientation::Rotate270FlipH)
        );
        Some(if is_rotated {
            (height, width)
        } else {
            (width, height)
        })
    };
    // A multiple of four characters, which encode three bytes each.
    let head = base64.get(..HEAD).and_then(read);
    head.or_else(|| read(base64))
}

/// The cells for an image of `pixels`: its own size, or the largest that fits.
fn fit(pixels: (u32, u32), cell: (u16, u16), most: (u16, u16)) -> Option<Shape> {
    let most = (most.0.min(MAX_COLUMNS), most.1.min(MAX_COLUMNS));
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

/// Identifies the content by its length and a sample of its bytes, which is enough to distinguish
/// the images of a conversation.
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

    /// A JPEG in base64 with an EXIF rotation of a quarter turn.
    fn portrait(width: u32, height: u32) -> String {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height)
            .write_to(&mut bytes, ImageFormat::Jpeg)
            .unwrap();
        let mut bytes = bytes.into_inner();
        // After the start of the file: one entry, orientation 6, a quarter turn.
        let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        bytes.splice(2..2, exif.iter().copied());
        BASE64_STANDARD.encode(bytes)
    }

    #[test]
    fn orientation_is_applied() {
        assert_eq!(dimensions(&portrait(40, 20)), Some((20, 40)));
        let shape = worker::decode(&portrait(40, 20)).map(|image| image.dimensions());
        assert_eq!(shape, Some((20, 40)));
    }

    #[test]
    fn size_is_known_from_the_header() {
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
        assert_eq!(rows[4].image.as_ref().unwrap().row, 4);
    }
}
