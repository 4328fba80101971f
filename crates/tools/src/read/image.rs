//! Images for models: detected by content, checked, and scaled down when they exceed the limits of vendors.
//!
//! A damaged image is rejected here: once sent, it would stay in the conversation and every later request
//! would fail.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::imageops::FilterType as Resampling;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgb, RgbImage};

/// Maximum size of an image file.
pub const FILE_LIMIT: u64 = 64 * 1024 * 1024;
/// Maximum size of a sent image: 5 MiB in base64, the smallest limit of the major vendors.
const SENT_LIMIT: usize = 15 * 1024 * 1024 / 4;
/// Maximum length of the longer side of a sent image, in pixels; vendors scale down or reject larger ones.
const SIDE_LIMIT: u32 = 2000;
/// Maximum bytes of the pixels of an image.
const DECODED_LIMIT: u64 = 256 * 1024 * 1024;
const JPEG_QUALITY: u8 = 85;

/// An image that can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    pub mime_type: &'static str,
    pub bytes: Vec<u8>,
    /// Width and height of the sent image, in pixels.
    pub size: (u32, u32),
    /// Width and height of the file's image.
    pub original: (u32, u32),
}

/// Why an image cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(
        "is too large: {width}x{height} pixels need {} MiB of memory, and the limit is {} MiB",
        bytes.div_ceil(1024 * 1024), DECODED_LIMIT / 1024 / 1024
    )]
    Large { width: u32, height: u32, bytes: u64 },
    #[error("is too large: {0}")]
    Limits(image::ImageError),
    #[error("is damaged: {0}")]
    Damaged(image::ImageError),
    #[error("cannot be scaled down enough to send: {0}")]
    Encoding(image::ImageError),
}

impl Fitted {
    /// Size and scale in words, for the model: a position in the image, times the scale, is the position in
    /// the file.
    pub fn description(&self) -> String {
        let ((width, height), (full_width, full_height)) = (self.size, self.original);
        if self.size == self.original {
            return format!("{width}x{height}");
        }
        let scale = f64::from(full_width) / f64::from(width);
        format!("{full_width}x{full_height}, shown at {width}x{height}: scale {scale:.2}")
    }
}

/// The image type, detected from the first bytes of a file.
pub fn image_type(start: &[u8]) -> Option<&'static str> {
    format(start).map(|format| format.to_mime_type())
}

fn format(start: &[u8]) -> Option<ImageFormat> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        _ if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") => {
            Some(ImageFormat::WebP)
        }
        _ => None,
    }
}

/// The image in `bytes`: unchanged when it is within the limits, else scaled down. Animations lose all but
/// their first frame only when they are scaled down. Blocks.
///
/// # Errors
/// The image is damaged or incomplete, or does not fit into memory.
pub fn fit(bytes: Vec<u8>) -> Result<Fitted, ImageError> {
    let format = format(&bytes).unwrap_or(ImageFormat::Png);
    let (picture, original) = {
        let mut reader = ImageReader::with_format(Cursor::new(&bytes), format);
        let mut limits = Limits::default();
        limits.max_alloc = Some(DECODED_LIMIT);
        reader.limits(limits);
        let mut decoder = reader.into_decoder().map_err(decoding)?;
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let original = decoder.dimensions();
        let bytes_needed = decoder.total_bytes();
        if bytes_needed > DECODED_LIMIT {
            let ((width, height), bytes) = (original, bytes_needed);
            return Err(ImageError::Large {
                width,
                height,
                bytes,
            });
        }
        let mut picture = DynamicImage::from_decoder(decoder).map_err(decoding)?;
        if original.0.max(original.1) <= SIDE_LIMIT && bytes.len() <= SENT_LIMIT {
            (None, original)
        } else {
            picture.apply_orientation(orientation);
            let upright = (picture.width(), picture.height());
            (Some(picture), upright)
        }
    };
    let Some(picture) = picture else {
        return Ok(Fitted {
            mime_type: format.to_mime_type(),
            bytes,
            size: original,
            original,
        });
    };
    drop(bytes);
    shrink(picture, format, original)
}

fn decoding(error: image::ImageError) -> ImageError {
    match error {
        image::ImageError::Limits(_) => ImageError::Limits(error),
        _ => ImageError::Damaged(error),
    }
}

/// Halves the side limit until the result is small enough.
fn shrink(
    picture: DynamicImage,
    format: ImageFormat,
    original: (u32, u32),
) -> Result<Fitted, ImageError> {
    let mut side = SIDE_LIMIT;
    let mut picture = picture;
    // Scaling with a filter needs floating-point copies of every column.
    if picture.width().max(picture.height()) > 2 * side {
        picture = picture.thumbnail(2 * side, 2 * side);
    }
    loop {
        if picture.width().max(picture.height()) > side {
            picture = picture.resize(side, side, Resampling::CatmullRom);
        }
        let lossless = format != ImageFormat::Jpeg;
        let tries = [
            lossless.then_some(ImageFormat::Png),
            Some(ImageFormat::Jpeg),
        ];
        for format in tries.into_iter().flatten() {
            let bytes = encode(&picture, format).map_err(ImageError::Encoding)?;
            if bytes.len() <= SENT_LIMIT {
                return Ok(Fitted {
                    mime_type: format.to_mime_type(),
                    bytes,
                    size: (picture.width(), picture.height()),
                    original,
                });
            }
        }
        side /= 2;
    }
}

fn encode(picture: &DynamicImage, format: ImageFormat) -> image::ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    if format == ImageFormat::Png {
        let encoder = PngEncoder::new_with_quality(
            &mut bytes,
            CompressionType::Default,
            FilterType::Adaptive,
        );
        eight_bit(picture).write_with_encoder(encoder)?;
    } else {
        on_white(picture)
            .write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
    }
    Ok(bytes)
}

/// Sixteen bits per channel double the size without a visible difference.
fn eight_bit(picture: &DynamicImage) -> DynamicImage {
    if picture.color().has_alpha() {
        DynamicImage::ImageRgba8(picture.to_rgba8())
    } else {
        DynamicImage::ImageRgb8(picture.to_rgb8())
    }
}

/// JPEG has no transparency: transparent pixels become white.
fn on_white(picture: &DynamicImage) -> DynamicImage {
    if !picture.color().has_alpha() {
        return DynamicImage::ImageRgb8(picture.to_rgb8());
    }
    let picture = picture.to_rgba8();
    let flat = RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0;
        let over = |channel: u8| {
            let (channel, alpha) = (u32::from(channel), u32::from(alpha));
            ((channel * alpha + 255 * (255 - alpha)) / 255) as u8
        };
        Rgb([over(red), over(green), over(blue)])
    });
    DynamicImage::ImageRgb8(flat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgba, RgbaImage};

    fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn plain(width: u32, height: u32) -> DynamicImage {
        DynamicImage::ImageRgb8(RgbImage::from_pixel(width, height, Rgb([9, 99, 199])))
    }

    /// Pixels that no codec can compress.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 1_u32;
        DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, |_, _| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            Rgba(state.to_le_bytes())
        }))
    }

    #[test]
    fn an_image_within_limits_is_unchanged() {
        for (format, mime_type) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Gif, "image/gif"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let bytes = encoded(&plain(40, 30), format);
            assert_eq!(image_type(&bytes), Some(mime_type));
            let expected = Fitted {
                mime_type,
                bytes: bytes.clone(),
                size: (40, 30),
                original: (40, 30),
            };
            assert_eq!(fit(bytes).unwrap(), expected);
            assert_eq!(expected.description(), "40x30");
        }
    }

    #[test]
    fn a_scaled_image_keeps_aspect_ratio_and_format() {
        for (format, mime_type) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::WebP, "image/png"),
        ] {
            let fitted = fit(encoded(&plain(4000, 1000), format)).unwrap();
            assert_eq!((fitted.mime_type, fitted.size), (mime_type, (2000, 500)));
            assert_eq!(
                fitted.description(),
                "4000x1000, shown at 2000x500: scale 2.00"
            );
            let again = image::load_from_memory(&fitted.bytes).unwrap();
            assert_eq!((again.width(), again.height()), (2000, 500));
        }
    }

    #[test]
    fn a_large_file_becomes_a_jpeg_or_smaller() {
        let fitted = fit(encoded(&noise(1500, 1500), ImageFormat::Png)).unwrap();
        assert_eq!(fitted.mime_type, "image/jpeg");
        assert!(fitted.bytes.len() <= SENT_LIMIT, "{}", fitted.bytes.len());
        assert_eq!(fitted.original, (1500, 1500));
    }

    #[test]
    fn a_damaged_image_is_rejected() {
        let whole = encoded(&noise(64, 64), ImageFormat::Png);
        for bytes in [
            b"\x89PNG\r\n\x1a\n\0\0".to_vec(),
            whole[..whole.len() / 2].to_vec(),
        ] {
            let error = fit(bytes).unwrap_err().to_string();
            assert!(error.starts_with("is damaged: "), "{error}");
        }
    }

    #[test]
    fn an_image_with_too_many_pixels_is_rejected_before_decoding() {
        let mut bytes = encoded(&plain(40, 30), ImageFormat::Gif);
        let bomb = |bytes: &mut [u8], width: u16, height: u16| {
            bytes[6..8].copy_from_slice(&width.to_le_bytes());
            bytes[8..10].copy_from_slice(&height.to_le_bytes());
            fit(bytes.to_vec())
        };
        let error = bomb(&mut bytes, 11_000, 11_000).unwrap_err().to_string();
        let expected =
            "is too large: 11000x11000 pixels need 462 MiB of memory, and the limit is 256 MiB";
        assert_eq!(error, expected);
        let error = bomb(&mut bytes, 8192, 8193).unwrap_err().to_string();
        assert!(
            error.starts_with("is too large: 8192x8193 pixels need 257 MiB"),
            "{error}"
        );
    }

    #[test]
    fn a_very_large_image_is_scaled_in_two_steps() {
        let fitted = fit(encoded(&plain(9000, 300), ImageFormat::Png)).unwrap();
        assert_eq!((fitted.size, fitted.original), ((2000, 67), (9000, 300)));
        let again = image::load_from_memory(&fitted.bytes).unwrap();
        assert_eq!(again.to_rgb8(), plain(2000, 67).to_rgb8());
    }

    #[test]
    fn the_type_is_detected_from_the_first_bytes() {
        assert_eq!(image_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(image_type(b"RIFF\0\0\0\0WAVEfmt "), None);
        assert_eq!(image_type(b"\x89PN"), None);
    }
}
