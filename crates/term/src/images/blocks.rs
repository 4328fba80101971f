//! Images as half-blocks: the upper pixel of a cell is the foreground of the glyph, the lower one
//! its background.

use image::RgbaImage;

use super::Canvas;
use super::scale::over_background;
use crate::text::face::Face;
use crate::text::row::Span;
use osier_base::ansi::Hue;

/// The rows of an image, each two pixels high.
pub(super) fn rows(pixels: &RgbaImage, canvas: &Canvas) -> Vec<Vec<Span>> {
    let row = |row: u32| {
        let mut spans: Vec<(String, Face)> = Vec::new();
        for x in 0..pixels.width() {
            let hue = |y: u32| {
                let (red, green, blue) =
                    over_background(pixels.get_pixel(x, y).0, canvas.background)?;
                Some(canvas.depth.hue(red, green, blue))
            };
            let (glyph, face) = cell(hue(row * 2), hue(row * 2 + 1));
            match spans.last_mut() {
                Some((text, last)) if *last == face && text.ends_with(glyph) => text.push(glyph),
                _ => spans.push((glyph.to_string(), face)),
            }
        }
        let spans = spans.into_iter();
        spans.map(|(text, face)| Span::new(text, face)).collect()
    };
    (0..pixels.height() / 2).map(row).collect()
}

fn cell(upper: Option<Hue>, lower: Option<Hue>) -> (char, Face) {
    match (upper, lower) {
        (None, None) => (' ', Face::default()),
        (None, lower) => ('▄', Face::exact(lower, None)),
        (upper, None) => ('▀', Face::exact(upper, None)),
        (upper, lower) if upper == lower => (' ', Face::exact(None, lower)),
        (upper, lower) => ('▀', Face::exact(upper, lower)),
    }
}
