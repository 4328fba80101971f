//! Encodes Sixel: bands of six pixel rows, one colour at a time, with run lengths.

use std::collections::HashMap;
use std::fmt::Write as _;

use image::RgbaImage;

use super::scale::over_background;

/// Levels per colour component if a strip has more than 256 colours.
const LEVELS: u32 = 6;

/// The bytes that paint the pixels over cells. Transparent pixels stay unchanged.
pub(super) fn strip(pixels: &RgbaImage, background: (u8, u8, u8)) -> Vec<u8> {
    let exact: Vec<Option<(u8, u8, u8)>> = pixels
        .pixels()
        .map(|pixel| over_background(pixel.0, background))
        .collect();
    let mut palette: HashMap<(u8, u8, u8), usize> = HashMap::new();
    for colour in exact.iter().flatten() {
        let next = palette.len();
        palette.entry(*colour).or_insert(next);
        if palette.len() > 256 {
            break;
        }
    }
    let coarse = palette.len() > 256;
    let shown: Vec<Option<(u8, u8, u8)>> = if coarse {
        palette.clear();
        let width = pixels.width() as usize;
        let pixels_by_index = exact.iter().enumerate();
        pixels_by_index
            .map(|(at, colour)| colour.map(|colour| dithered(colour, at % width, at / width)))
            .collect()
    } else {
        exact
    };
    for colour in shown.iter().flatten() {
        let next = palette.len();
        palette.entry(*colour).or_insert(next);
    }
    write(&shown, &palette, pixels.width(), pixels.height())
}

/// The nearest level of each component, with ordered dithering.
fn dithered((red, green, blue): (u8, u8, u8), x: usize, y: usize) -> (u8, u8, u8) {
    const PATTERN: [[u32; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];
    let push = PATTERN[y % 4][x % 4];
    let level = |part: u8| {
        let step = 255 / (LEVELS - 1);
        let level = (u32::from(part) + push * step / 16) / step;
        (level.min(LEVELS - 1) * step) as u8
    };
    (level(red), level(green), level(blue))
}

fn write(
    shown: &[Option<(u8, u8, u8)>],
    palette: &HashMap<(u8, u8, u8), usize>,
    width: u32,
    height: u32,
) -> Vec<u8> {
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    let mut colours: Vec<(&(u8, u8, u8), &usize)> = palette.iter().collect();
    colours.sort_unstable_by_key(|(_, number)| **number);
    let percent = |part: u8| (u32::from(part) * 100 + 127) / 255;
    for ((red, green, blue), number) in colours {
        let (red, green, blue) = (percent(*red), percent(*green), percent(*blue));
        let _ = write!(out, "#{number};2;{red};{green};{blue}");
    }
    let (width, height) = (width as usize, height as usize);
    for top in (0..height).step_by(6) {
        let mut lines: HashMap<usize, Vec<u8>> = HashMap::new();
        for x in 0..width {
            for y in top..height.min(top + 6) {
                if let Some(colour) = shown[y * width + x] {
                    let line = lines
                        .entry(palette[&colour])
                        .or_insert_with(|| vec![0; width]);
                    line[x] |= 1 << (y - top);
                }
            }
        }
        let mut lines: Vec<(usize, Vec<u8>)> = lines.into_iter().collect();
        lines.sort_unstable_by_key(|(number, _)| *number);
        for (index, (number, line)) in lines.iter().enumerate() {
            if index > 0 {
                out.push('$');
            }
            let _ = write!(out, "#{number}");
            push_line(line, &mut out);
        }
        out.push('-');
    }
    out.push_str("\x1b\\");
    out.into_bytes()
}

fn push_line(line: &[u8], out: &mut String) {
    let end = line
        .iter()
        .rposition(|bits| *bits != 0)
        .map_or(0, |last| last + 1);
    let mut at = 0;
    while at < end {
        let same = line[at..end]
            .iter()
            .take_while(|bits| **bits == line[at])
            .count();
        let glyph = char::from(63 + line[at]);
        if same > 3 {
            let _ = write!(out, "!{same}{glyph}");
        } else {
            out.extend(std::iter::repeat_n(glyph, same));
        }
        at += same;
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    #[test]
    fn pixels_are_encoded_in_bands_of_six() {
        let pixels = RgbaImage::from_fn(5, 7, |x, y| match (x, y) {
            (4, _) => Rgba([0, 0, 0, 0]),
            (_, 6) => Rgba([0, 0, 255, 255]),
            _ => Rgba([255, 0, 0, 255]),
        });
        let encoded = String::from_utf8(strip(&pixels, (0, 0, 0))).unwrap();
        assert_eq!(
            encoded,
            "\x1bP0;1;0q\"1;1;5;7#0;2;100;0;0#1;2;0;0;100#0!4~-#1!4@-\x1b\\"
        );
    }

    #[test]
    fn many_colours_are_reduced() {
        let pixels = RgbaImage::from_fn(64, 12, |x, y| Rgba([x as u8 * 4, y as u8 * 20, 77, 255]));
        let encoded = String::from_utf8(strip(&pixels, (0, 0, 0))).unwrap();
        let colours = encoded.matches(";2;").count();
        assert!(colours <= 216, "{colours}");
    }
}
