//! Scales pixels to cells.

use image::{RgbaImage, imageops};

use super::canvas::{Canvas, Protocol};
use crate::text::image::Shape;

/// The scale factor that fits an image into its cells; at most 1.
pub(super) fn scale(pixels: (u32, u32), cell: (u16, u16), most: (u16, u16)) -> f64 {
    let factor =
        |pixels: u32, cell: u16, most: u16| f64::from(cell) * f64::from(most) / f64::from(pixels);
    let across = factor(pixels.0, cell.0, most.0);
    let down = factor(pixels.1, cell.1, most.1);
    across.min(down).min(1.0)
}

/// Scales an image to exactly the pixels of its cells. It is at the top left; the rest is
/// transparent. With half-blocks, a cell is one pixel wide and two high.
pub(super) fn onto_cells(image: &RgbaImage, shape: Shape, canvas: &Canvas) -> RgbaImage {
    let pixels = (image.width(), image.height());
    let scale = scale(pixels, canvas.cell, (shape.columns, shape.rows));
    let unit = match canvas.protocol {
        Protocol::Blocks => (f64::from(canvas.cell.0), f64::from(canvas.cell.1) / 2.0),
        _ => (1.0, 1.0),
    };
    let (across, down) = match canvas.protocol {
        Protocol::Blocks => (u32::from(shape.columns), u32::from(shape.rows) * 2),
        _ => (
            u32::from(shape.columns) * u32::from(canvas.cell.0),
            u32::from(shape.rows) * u32::from(canvas.cell.1),
        ),
    };
    let sized = |pixels: u32, unit: f64, most: u32| {
        ((f64::from(pixels) * scale / unit).round() as u32).clamp(1, most)
    };
    let size = (
        sized(pixels.0, unit.0, across),
        sized(pixels.1, unit.1, down),
    );
    let small = if size == pixels {
        image.clone()
    } else {
        imageops::thumbnail(image, size.0, size.1)
    };
    let mut cells = RgbaImage::new(across, down);
    imageops::replace(&mut cells, &small, 0, 0);
    cells
}

/// The colour of a pixel on the background `ground`; `None` if it is transparent.
pub(super) fn over_background(pixel: [u8; 4], background: (u8, u8, u8)) -> Option<(u8, u8, u8)> {
    let [red, green, blue, alpha] = pixel;
    let over = |part: u8, under: u8| {
        let (part, under, alpha) = (u32::from(part), u32::from(under), u32::from(alpha));
        ((part * alpha + under * (255 - alpha)) / 255) as u8
    };
    (alpha >= 8).then(|| {
        (
            over(red, background.0),
            over(green, background.1),
            over(blue, background.2),
        )
    })
}
