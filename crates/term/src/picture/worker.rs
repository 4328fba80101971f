//! The thread that makes pictures ready for the screen. It starts with the first picture and ends when the
//! store is dropped.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::metadata::Orientation;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageReader, Limits, RgbaImage,
    imageops,
};

use super::kitty::Number;
use super::{Canvas, PictureId, Protocol, blocks, iterm, kitty, scale, sixel};
use crate::row::Span;

/// Bytes that decoding may take.
const DECODED_LIMIT: u64 = 256 * 1024 * 1024;

/// A picture to be made ready.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) picture: PictureId,
    pub(super) canvas: Canvas,
    pub(super) number: Number,
    pub(super) base64: String,
}

/// A picture that is ready.
#[derive(Debug)]
pub struct Drawn {
    pub(super) picture: PictureId,
    pub(super) canvas: Canvas,
    pub(super) number: Number,
    /// The cells of each row; none when the picture is damaged.
    pub(super) rows: Vec<Vec<Span>>,
    /// What is painted over each row.
    pub(super) strips: Vec<Arc<[u8]>>,
    /// What the terminal is sent once.
    pub(super) send: Vec<u8>,
    /// Bytes of memory it takes, here or in the terminal.
    pub(super) weight: usize,
}

pub(super) fn work(requests: &Receiver<Request>, deliver: &(dyn Fn(Drawn) + Send)) {
    while let Ok(request) = requests.recv() {
        deliver(draw(&request));
    }
}

fn draw(request: &Request) -> Drawn {
    let mut drawn = Drawn {
        picture: request.picture,
        canvas: request.canvas,
        number: request.number,
        rows: Vec::new(),
        strips: Vec::new(),
        send: Vec::new(),
        weight: 0,
    };
    let canvas = &request.canvas;
    let shape = request.picture.shape;
    let Some(picture) = decode(&request.base64) else {
        return drawn;
    };
    let pixels = scale::onto_cells(&picture, shape, canvas);
    drop(picture);
    let blank = || {
        let text = " ".repeat(usize::from(shape.columns));
        vec![vec![Span::new(text, crate::face::Face::default())]; usize::from(shape.rows)]
    };
    match canvas.protocol {
        Protocol::Blocks => drawn.rows = blocks::rows(&pixels, canvas),
        Protocol::Kitty => {
            if let Some(png) = png(&pixels) {
                drawn.rows = kitty::rows(request.number, shape);
                drawn.send = kitty::send(request.number, shape, &png, canvas.passes_through);
            }
        }
        Protocol::Iterm | Protocol::Sixel => {
            drawn.rows = blank();
            let strips = (0..shape.rows).map(|row| strip(&pixels, row, canvas));
            drawn.strips = strips.map(Arc::from).collect();
        }
    }
    let spans = drawn.rows.iter().flatten();
    let cells: usize = spans.map(|span| span.text.len() + size_of::<Span>()).sum();
    let strips: usize = drawn.strips.iter().map(|strip| strip.len()).sum();
    let kept = match canvas.protocol {
        Protocol::Kitty => pixels.len(),
        _ => 0,
    };
    drawn.weight = cells + strips + kept;
    drawn
}

pub(super) fn decode(base64: &str) -> Option<RgbaImage> {
    let bytes = BASE64_STANDARD.decode(base64).ok()?;
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_LIMIT);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    // Cameras store pictures as the sensor saw them, and say how they were held.
    let held = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder).ok()?;
    picture.apply_orientation(held);
    Some(picture.into_rgba8())
}

/// What paints one row of cells.
fn strip(pixels: &RgbaImage, row: u16, canvas: &Canvas) -> Vec<u8> {
    let height = u32::from(canvas.cell.1);
    let top = u32::from(row) * height;
    let part = imageops::crop_imm(pixels, 0, top, pixels.width(), height).to_image();
    if canvas.protocol == Protocol::Sixel {
        return sixel::strip(&part, canvas.ground);
    }
    let columns = pixels.width() / u32::from(canvas.cell.0).max(1);
    png(&part).map_or_else(Vec::new, |png| iterm::strip(&png, columns as u16))
}

fn png(pixels: &RgbaImage) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, FilterType::Adaptive);
    let (width, height) = (pixels.width(), pixels.height());
    encoder
        .write_image(pixels, width, height, ExtendedColorType::Rgba8)
        .ok()?;
    Some(bytes)
}
