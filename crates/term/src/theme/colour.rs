//! Colours of themes and their conversion to the colours that a terminal supports.

use ratatui::style::Color;

use osier_base::ansi::Hue;

/// A colour of a theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    /// The terminal's default foreground or background.
    Default,
    /// One of the terminal's sixteen colours.
    Ansi(u8),
    /// One of the fixed 240.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// The number of colours that a terminal supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ColourDepth {
    True,
    /// 256
    Indexed,
    /// 16
    #[default]
    Ansi,
    None,
}

/// Names in theme files, in the order of the sixteen colours.
pub(super) const ANSI_NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

/// The sixteen colours of xterm, to find the nearest.
const XTERM_RGB: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

const ANSI_COLOURS: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// Levels of the 256-colour cube.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Colour {
    /// Parses `#rrggbb`, `#rgb`, an index of the 256 colours, one of the sixteen names, or
    /// `default`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // Rust reads numbers with a sign.
        if text.contains('+') {
            return None;
        }
        if let Some(digits) = text.strip_prefix('#') {
            let number = u32::from_str_radix(digits, 16).ok()?;
            let [_, red, green, blue] = number.to_be_bytes();
            return match digits.len() {
                6 => Some(Self::Rgb(red, green, blue)),
                3 => {
                    let digit = |shift: u32| (number >> shift & 15) as u8 * 17;
                    Some(Self::Rgb(digit(8), digit(4), digit(0)))
                }
                _ => None,
            };
        }
        if let Ok(index) = text.parse::<u8>() {
            return Some(if index < 16 {
                Self::Ansi(index)
            } else {
                Self::Indexed(index)
            });
        }
        let name = text.to_ascii_lowercase().replace(['_', ' '], "-");
        match name.as_str() {
            "default" => Some(Self::Default),
            "gray" | "grey" => Some(Self::Ansi(8)),
            name => ANSI_NAMES
                .iter()
                .position(|known| *known == name)
                .map(|index| Self::Ansi(index as u8)),
        }
    }

    /// A colour of the terminal; `None` for its default.
    pub(crate) fn of_terminal(colour: Color) -> Option<Self> {
        match colour {
            Color::Reset => None,
            Color::Indexed(index) => Some(Self::Indexed(index)),
            Color::Rgb(red, green, blue) => Some(Self::Rgb(red, green, blue)),
            other => {
                let index = ANSI_COLOURS.iter().position(|known| *known == other);
                index.map(|index| Self::Ansi(index as u8))
            }
        }
    }

    /// Red, green, blue; `None` for the terminal's default.
    pub(crate) fn rgb(self) -> Option<(u8, u8, u8)> {
        match self {
            Self::Default => None,
            Self::Ansi(index) => XTERM_RGB.get(usize::from(index)).copied(),
            Self::Indexed(index) => Some(indexed(index)),
            Self::Rgb(red, green, blue) => Some((red, green, blue)),
        }
    }

    /// Mixes `part` (0 to 1) of `other` into `self`.
    #[must_use]
    pub(crate) fn mixed(self, other: Self, part: f32) -> Self {
        match (self.rgb(), other.rgb()) {
            (Some(a), Some(b)) => {
                let mix = |a: u8, b: u8| {
                    (f32::from(a) + (f32::from(b) - f32::from(a)) * part).round() as u8
                };
                Self::Rgb(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
            }
            _ => self,
        }
    }
}

impl Colour {
    /// The same hue, as bright as possible without white.
    #[must_use]
    pub(crate) fn brightest(self) -> Self {
        let Some((red, green, blue)) = self.rgb() else {
            return self;
        };
        let most = red.max(green).max(blue).max(1);
        let scaled = |part: u8| (u16::from(part) * 255 / u16::from(most)) as u8;
        Self::Rgb(scaled(red), scaled(green), scaled(blue))
    }
}

impl ColourDepth {
    /// The terminal colour for a theme colour; `None` without colours.
    pub(crate) fn reduce(self, colour: Colour) -> Option<Color> {
        Some(match (self, colour) {
            (Self::None, _) => return None,
            (_, Colour::Default) => Color::Reset,
            (_, Colour::Ansi(index)) => ANSI_COLOURS[usize::from(index.min(15))],
            (Self::True, Colour::Rgb(red, green, blue)) => Color::Rgb(red, green, blue),
            (Self::True | Self::Indexed, Colour::Indexed(index)) => Color::Indexed(index),
            (Self::Indexed, Colour::Rgb(red, green, blue)) => {
                Color::Indexed(nearest_indexed((red, green, blue)))
            }
            (Self::Ansi, colour) => ANSI_COLOURS[nearest_ansi(colour.rgb().unwrap_or_default())],
        })
    }
}

impl ColourDepth {
    /// The nearest colour with a contrast of at least `least` on all `backgrounds` as the terminal
    /// shows them; the nearest one if none has it.
    pub(crate) fn reduce_readable(
        self,
        colour: Colour,
        backgrounds: &[Colour],
        least: f32,
    ) -> Option<Color> {
        let (Some(wanted), Colour::Rgb(..) | Colour::Indexed(_)) = (colour.rgb(), colour) else {
            return self.reduce(colour);
        };
        let candidates = match self {
            Self::Indexed => 16..=255,
            Self::Ansi => 0..=15,
            Self::True | Self::None => return self.reduce(colour),
        };
        let shown = |background: &Colour| match self {
            Self::Ansi => Colour::Ansi(nearest_ansi(background.rgb().unwrap_or_default()) as u8),
            _ => Colour::Indexed(nearest_indexed(background.rgb().unwrap_or_default())),
        };
        let backgrounds: Vec<Colour> = backgrounds.iter().map(shown).collect();
        let is_readable = |index: &u8| {
            let colour = Colour::Indexed(*index);
            let enough =
                |background| contrast(colour, background).is_none_or(|found| found >= least);
            backgrounds.iter().all(|background| enough(*background))
        };
        let nearest = candidates
            .filter(is_readable)
            .min_by_key(|index| distance(indexed(*index), wanted));
        match nearest {
            Some(index) if index < 16 => self.reduce(Colour::Ansi(index)),
            Some(index) => self.reduce(Colour::Indexed(index)),
            None => self.reduce(colour),
        }
    }
}

impl ColourDepth {
    /// A colour as the terminal shows it; `None` for the terminal's default.
    pub(super) fn reduced_rgb(self, colour: Colour) -> Option<(u8, u8, u8)> {
        let rgb = colour.rgb()?;
        Some(match self {
            Self::True | Self::None => rgb,
            Self::Indexed => indexed(nearest_indexed(rgb)),
            Self::Ansi => XTERM_RGB[nearest_ansi(rgb)],
        })
    }

    /// The nearest colour that the terminal supports, for a pixel.
    pub(crate) fn hue(self, red: u8, green: u8, blue: u8) -> Hue {
        match self {
            Self::True => Hue::Rgb(red, green, blue),
            Self::Indexed => Hue::Indexed(nearest_indexed((red, green, blue))),
            Self::Ansi | Self::None => Hue::Named(nearest_ansi((red, green, blue)) as u8),
        }
    }
}

/// The WCAG 2 contrast of two colours, 1 to 21; `None` if one is the terminal's default.
pub(crate) fn contrast(a: Colour, b: Colour) -> Option<f32> {
    let (a, b) = (luminance(a.rgb()?), luminance(b.rgb()?));
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

pub(super) fn luminance((red, green, blue): (u8, u8, u8)) -> f32 {
    let linear = |part: u8| {
        let part = f32::from(part) / 255.0;
        if part <= 0.040_45 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

pub(super) fn indexed(index: u8) -> (u8, u8, u8) {
    match index {
        0..16 => XTERM_RGB[usize::from(index)],
        16..232 => {
            let step = |divisor: u8| CUBE[usize::from((index - 16) / divisor % 6)];
            (step(36), step(6), step(1))
        }
        232.. => {
            let level = 8 + (index - 232) * 10;
            (level, level, level)
        }
    }
}

pub(super) fn nearest_indexed(colour: (u8, u8, u8)) -> u8 {
    (16..=255)
        .min_by_key(|&index| distance(indexed(index), colour))
        .unwrap_or(16)
}

/// One of the sixteen colours, as xterm has it.
pub(super) fn ansi_rgb(index: u8) -> (u8, u8, u8) {
    XTERM_RGB[usize::from(index % 16)]
}

fn nearest_ansi(colour: (u8, u8, u8)) -> usize {
    (0..16)
        .min_by_key(|&index| distance(XTERM_RGB[index], colour))
        .unwrap_or(7)
}

/// Perceptual distance ("redmean").
pub(super) fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> i32 {
    let mean = i32::midpoint(i32::from(a.0), i32::from(b.0));
    let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
    (((512 + mean) * square(a.0, b.0)) >> 8)
        + 4 * square(a.1, b.1)
        + (((767 - mean) * square(a.2, b.2)) >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_parsed_in_every_notation() {
        for (text, expected) in [
            ("#1e2030", Some(Colour::Rgb(30, 32, 48))),
            ("#fa0", Some(Colour::Rgb(255, 170, 0))),
            ("Bright_Blue", Some(Colour::Ansi(12))),
            ("7", Some(Colour::Ansi(7))),
            ("208", Some(Colour::Indexed(208))),
            ("default", Some(Colour::Default)),
            ("#12345", None),
            ("#+12345", None),
            ("+7", None),
            ("256", None),
            ("mauve", None),
        ] {
            assert_eq!(Colour::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn colours_are_reduced_to_the_colour_depth() {
        let orange = Colour::Rgb(255, 135, 0);
        for (depth, expected) in [
            (ColourDepth::True, Some(Color::Rgb(255, 135, 0))),
            (ColourDepth::Indexed, Some(Color::Indexed(208))),
            (ColourDepth::Ansi, Some(Color::Yellow)),
            (ColourDepth::None, None),
        ] {
            assert_eq!(depth.reduce(orange), expected);
        }
        assert_eq!(
            ColourDepth::Ansi.reduce(Colour::Default),
            Some(Color::Reset)
        );
        assert_eq!(
            ColourDepth::Ansi.reduce(Colour::Indexed(196)),
            Some(Color::LightRed)
        );
    }

    #[test]
    fn contrast_matches_wcag() {
        let black = Colour::Rgb(0, 0, 0);
        let white = Colour::Rgb(255, 255, 255);
        assert!((contrast(black, white).unwrap() - 21.0).abs() < 0.01);
        assert!((contrast(Colour::Rgb(119, 119, 119), white).unwrap() - 4.48).abs() < 0.01);
        assert_eq!(contrast(Colour::Default, white), None);
    }
}
