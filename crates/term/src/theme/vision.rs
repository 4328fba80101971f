//! How colours look to people, also to those without one type of cone.

/// Least distance of colours that mean different things.
const APART: f32 = 8.0;
/// Least distance of such colours for a person who sees neither red nor green.
const APART_WITHOUT: f32 = 5.0;

/// How a person without one type of cone sees a colour (Viénot, Brettel and Mollon 1999), as linear
/// light.
pub(super) fn perceived(colour: (u8, u8, u8), without_red: bool) -> [f32; 3] {
    let [red, green, blue] = linear(colour);
    let (both, rest) = if without_red {
        (
            0.112_38 * red + 0.887_62 * green,
            0.004_01 * (red - green) + blue,
        )
    } else {
        (
            0.292_75 * red + 0.707_25 * green,
            0.022_34 * (green - red) + blue,
        )
    };
    [both, both, rest]
}

fn linear((red, green, blue): (u8, u8, u8)) -> [f32; 3] {
    [red, green, blue].map(|part| (f32::from(part) / 255.0).powf(2.2))
}

/// Distance in CIELAB.
pub(super) fn distance(one: [f32; 3], other: [f32; 3]) -> f32 {
    let curve = |part: f32| {
        if part > 0.008_856 {
            part.max(0.0).cbrt()
        } else {
            7.787 * part + 16.0 / 116.0
        }
    };
    let lab = |[red, green, blue]: [f32; 3]| {
        let first = curve((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.950_47);
        let light = curve(0.2126 * red + 0.7152 * green + 0.0722 * blue);
        let last = curve((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.088_83);
        [
            116.0 * light - 16.0,
            500.0 * (first - light),
            200.0 * (light - last),
        ]
    };
    let squares = lab(one).into_iter().zip(lab(other));
    let squares = squares.map(|(one, other)| (one - other).powi(2));
    squares.sum::<f32>().sqrt()
}

/// Whether everybody can distinguish two colours.
pub(super) fn are_apart(one: (u8, u8, u8), other: (u8, u8, u8)) -> bool {
    let without = |without_red| {
        distance(perceived(one, without_red), perceived(other, without_red)) >= APART_WITHOUT
    };
    distance(linear(one), linear(other)) >= APART && without(false) && without(true)
}

/// The difference of the hues of two colours in degrees, up to 180.
pub(super) fn hue_difference(one: (u8, u8, u8), other: (u8, u8, u8)) -> f32 {
    let difference = (hue(one) - hue(other)).abs() % 360.0;
    difference.min(360.0 - difference)
}

fn hue((red, green, blue): (u8, u8, u8)) -> f32 {
    let [red, green, blue] = [red, green, blue].map(f32::from);
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    let range = (most - least).max(1.0);
    let sixth = if (most - red).abs() < f32::EPSILON {
        (green - blue) / range
    } else if (most - green).abs() < f32::EPSILON {
        (blue - red) / range + 2.0
    } else {
        (red - green) / range + 4.0
    };
    sixth * 60.0
}
