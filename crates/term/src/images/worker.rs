//! The thread that renders images. It starts with the first image and ends when the store is
//! dropped.

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

use super::kitty::KittyId;
use super::{Canvas, ImageId, Protocol, blocks, iterm2, kitty, scale, sixel};
use crate::text::row::Span;

/// Maximum memory for decoding.
const DECODED_LIMIT: u64 = 256 * 1024 * 1024;

/// A request to render an image.
#[derive(Debug)]
pub(super) struct RenderRequest {
    pub(super) image: ImageId,
    pub(super) canvas: Canvas,
    pub(super) id: KittyId,
    pub(super) base64: String,
}

/// A rendered image.
#[derive(Debug)]
pub struct RenderedImage {
    pub(super) image: ImageId,
    pub(super) canvas: Canvas,
    pub(super) id: KittyId,
    /// The cells of each row; empty if the image is damaged.
    pub(super) rows: Vec<Vec<Span>>,
    /// The bytes that paint each row.
    pub(super) strips: Vec<Arc<[u8]>>,
    /// The bytes to send to the terminal once.
    pub(super) send: Vec<u8>,
    /// Bytes of memory in this process or in the terminal.
    pub(super) weight: usize,
}

pub(super) fn run(requests: &Receiver<RenderRequest>, deliver: &(dyn Fn(RenderedImage) + Send)) {
    while let Ok(request) = requests.recv() {
        deliver(render(&request));
    }
}

fn render(request: &RenderRequest) -> RenderedImage {
    let mut rendered = RenderedImage {
        image: request.image,
        canvas: request.canvas,
        id: request.id,
        rows: Vec::new(),
        strips: Vec::new(),
        send: Vec::new(),
        weight: 0,
    };
    let canvas = &request.canvas;
    let shape = request.image.shape;
    let Some(image) = decode(&request.base64) else {
        return rendered;
    };
    let pixels = scale::onto_cells(&image, shape, canvas);
    drop(image);
    let blank = || {
        let text = " ".repeat(usize::from(shape.columns));
        vec![vec![Span::new(text, crate::text::face::Face::default())]; usize::from(shape.rows)]
    };
    match canvas.protocol {
        Protocol::Blocks => rendered.rows = blocks::rows(&pixels, canvas),
        Protocol::Kitty => {
            if let Some(png) = png(&pixels) {
                rendered.rows = kitty::rows(request.id, shape);
                rendered.send = kitty::send(request.id, shape, &png, canvas.passes_through);
            }
        }
        Protocol::Iterm | Protocol::Sixel => {
            rendered.rows = blank();
            let strips = (0..shape.rows).map(|row| strip(&pixels, row, canvas));
            rendered.strips = strips.map(Arc::from).collect();
        }
    }
    let spans = rendered.rows.iter().flatten();
    let cells: usize = spans.map(|span| span.text.len() + size_of::<Span>()).sum();
    let strips: usize = rendered.strips.iter().map(|strip| strip.len()).sum();
    let in_terminal = match canvas.protocol {
        Protocol::Kitty => pixels.len(),
        _ => 0,
    };
    rendered.weight = cells + strips + in_terminal;
    rendered
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
    // Cameras store the pixels as the sensor saw them, and the orientation separately.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    image.apply_orientation(orientation);
    Some(image.into_rgba8())
}

/// The bytes that paint one row of cells.
fn strip(pixels: &RgbaImage, row: u16, canvas: &Canvas) -> Vec<u8> {
    let height = u32::from(canvas.cell.1);
    let top = u32::from(row) * height;
    let part = imageops::crop_imm(pixels, 0, top, pixels.width(), height).to_image();
    if canvas.protocol == Protocol::Sixel {
        return sixel::strip(&part, canvas.background);
    }
    let columns = pixels.width() / u32::from(canvas.cell.0).max(1);
    png(&part).map_or_else(Vec::new, |png| iterm2::strip(&png, columns as u16))
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
