//! Pixels for cells.

use image::{RgbaImage, imageops};

use super::{Canvas, Protocol, Shape};

/// How much smaller a picture is shown; never larger than it is.
pub(super) fn scale(pixels: (u32, u32), cell: (u16, u16), most: (u16, u16)) -> f64 {
    let room =
        |pixels: u32, cell: u16, most: u16| f64::from(cell) * f64::from(most) / f64::from(pixels);
    let across = room(pixels.0, cell.0, most.0);
    let down = room(pixels.1, cell.1, most.1);
    across.min(down).min(1.0)
}

/// The picture in exactly the pixels of its cells: scaled, at the top left, the rest transparent. With
/// half-blocks a cell has one pixel across and two down.
pub(super) fn onto_cells(picture: &RgbaImage, shape: Shape, canvas: &Canvas) -> RgbaImage {
    let pixels = (picture.width(), picture.height());
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
        picture.clone()
    } else {
        imageops::thumbnail(picture, size.0, size.1)
    };
    let mut cells = RgbaImage::new(across, down);
    imageops::replace(&mut cells, &small, 0, 0);
    cells
}

/// A pixel as it is seen before `ground`; `None` where nothing of it is.
pub(super) fn seen(pixel: [u8; 4], ground: (u8, u8, u8)) -> Option<(u8, u8, u8)> {
    let [red, green, blue, alpha] = pixel;
    let over = |part: u8, under: u8| {
        let (part, under, alpha) = (u32::from(part), u32::from(under), u32::from(alpha));
        ((part * alpha + under * (255 - alpha)) / 255) as u8
    };
    (alpha >= 8).then(|| {
        (
            over(red, ground.0),
            over(green, ground.1),
            over(blue, ground.2),
        )
    })
}
