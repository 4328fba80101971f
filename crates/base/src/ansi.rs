//! Separates the colours and emphasis of program output from its text. The text is the same as from `text::sanitize`,
//! byte for byte; runs give the styles. All other control sequences are removed.

use serde::{Deserialize, Serialize};

use super::text::{self, Clean};

/// Maximum number of runs per text; the rest stays plain.
const MOST_RUNS: usize = 4096;

/// A colour of a program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Hue {
    /// One of sixteen colours that the theme defines.
    Named(u8),
    /// One of the fixed 240 colours.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// The style of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Style {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fg: Option<Hue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bg: Option<Hue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bold: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dim: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub italic: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub underline: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strike: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverse: bool,
}

/// A styled byte range of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    pub start: u32,
    pub end: u32,
    #[serde(flatten)]
    pub style: Style,
}

/// Sanitizes `raw` like `text::sanitize` and returns the styled runs. `pen` is the initial style, and becomes the
/// final one.
pub fn styled(raw: &str, pen: &mut Style) -> (String, Vec<Run>) {
    let mut marks = Marks {
        pen: *pen,
        at: vec![(0, *pen)],
    };
    let clean = text::clean(raw, &mut marks);
    *pen = marks.pen;
    let runs = marks.runs(clean.len());
    (clean, runs)
}

/// The positions where the style changes.
struct Marks {
    pen: Style,
    at: Vec<(usize, Style)>,
}

impl Clean for Marks {
    fn graphics(&mut self, at: usize, parameters: &str) {
        self.pen.apply(parameters);
        self.mark(at);
    }

    fn cut(&mut self, at: usize) {
        while self.at.last().is_some_and(|(from, _)| *from >= at) {
            self.at.pop();
        }
        self.mark(at);
    }
}

impl Marks {
    fn mark(&mut self, at: usize) {
        // After too many changes the rest stays plain.
        let style = if self.at.len() < 2 * MOST_RUNS {
            self.pen
        } else {
            Style::default()
        };
        match self.at.last_mut() {
            Some((from, last)) if *from == at => *last = style,
            Some((_, last)) if *last == style => {}
            _ => self.at.push((at, style)),
        }
    }

    fn runs(&self, length: usize) -> Vec<Run> {
        let ends = self.at.iter().skip(1).map(|(at, _)| *at);
        let ranges = self.at.iter().zip(ends.chain([length]));
        let coloured = ranges.filter(|((from, style), to)| from < to && *style != Style::default());
        coloured
            .take(MOST_RUNS)
            .map(|((from, style), to)| Run {
                start: *from as u32,
                end: to as u32,
                style: *style,
            })
            .collect()
    }
}

impl Style {
    /// Applies the parameters of one SGR sequence.
    fn apply(&mut self, parameters: &str) {
        // A private prefix has another meaning.
        if parameters.starts_with(['<', '=', '>', '?']) {
            return;
        }
        let mut rest = parameters.split(';');
        while let Some(parameter) = rest.next() {
            let mut parts = parameter.split(':');
            let code: u16 = match parts.next() {
                Some("") => 0,
                Some(code) => code.parse().unwrap_or(u16::MAX),
                None => return,
            };
            match code {
                38 | 48 | 58 => {
                    let hue = if parameter.contains(':') {
                        colon_hue(parts)
                    } else {
                        extended_hue(&mut rest)
                    };
                    match (code, hue) {
                        (38, Some(hue)) => self.fg = Some(hue),
                        (48, Some(hue)) => self.bg = Some(hue),
                        _ => {}
                    }
                }
                // `4:0` is no underline, `4:3` a curly one.
                4 => self.underline = parts.next() != Some("0"),
                code => self.apply_code(code),
            }
        }
    }

    fn apply_code(&mut self, code: u16) {
        let named = |first: u16| Some(Hue::Named((code - first) as u8));
        match code {
            0 => *self = Self::default(),
            1 => self.bold = true,
            2 => self.dim = true,
            3 => self.italic = true,
            7 => self.reverse = true,
            9 => self.strike = true,
            21 => self.underline = true,
            22 => (self.bold, self.dim) = (false, false),
            23 => self.italic = false,
            24 => self.underline = false,
            27 => self.reverse = false,
            29 => self.strike = false,
            30..=37 => self.fg = named(30),
            39 => self.fg = None,
            40..=47 => self.bg = named(40),
            49 => self.bg = None,
            90..=97 => self.fg = named(90 - 8),
            100..=107 => self.bg = named(100 - 8),
            _ => {}
        }
    }
}

/// Parses `5;n` or `2;r;g;b` and consumes its parameters.
fn extended_hue<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Option<Hue> {
    let mut number = || rest.next()?.parse::<u8>().ok();
    match number()? {
        5 => number().map(indexed),
        2 => Some(Hue::Rgb(number()?, number()?, number()?)),
        _ => None,
    }
}

/// Parses `5:n`, `2:r:g:b` or `2:space:r:g:b`.
fn colon_hue<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Hue> {
    let parts: Vec<&str> = parts.collect();
    let number = |part: &str| part.parse::<u8>().ok();
    match parts.as_slice() {
        ["5", index] => number(index).map(indexed),
        ["2", red, green, blue] | ["2", _, red, green, blue, ..] => {
            Some(Hue::Rgb(number(red)?, number(green)?, number(blue)?))
        }
        _ => None,
    }
}

fn indexed(index: u8) -> Hue {
    if index < 16 {
        Hue::Named(index)
    } else {
        Hue::Indexed(index)
    }
}

/// The runs of a byte range of a text, relative to the range.
pub fn part(runs: &[Run], range: std::ops::Range<usize>) -> impl Iterator<Item = Run> + '_ {
    let first = runs.partition_point(|run| run.end as usize <= range.start);
    let within = runs[first..]
        .iter()
        .take_while(move |run| (run.start as usize) < range.end);
    let (from, to) = (range.start as u32, range.end as u32);
    within.map(move |run| Run {
        start: run.start.max(from) - from,
        end: run.end.min(to) - from,
        style: run.style,
    })
}

/// The runs of `body`, the stored output of a command: those of `live`, the output while it ran,
/// for the start and the end that both texts share.
pub fn carried(live: &str, runs: &[Run], body: &str) -> Vec<Run> {
    if runs.is_empty() {
        return Vec::new();
    }
    let same = live.bytes().zip(body.bytes());
    let head = body.floor_char_boundary(same.take_while(|(one, other)| one == other).count());
    let mut carried: Vec<Run> = part(runs, 0..head).collect();
    let live = live.trim_end_matches('\n');
    if head >= live.len() {
        return carried;
    }
    // osier may append a line to the output.
    let body = body.trim_end_matches('\n');
    let above = body.rfind('\n').map_or("", |newline| &body[..newline]);
    let ends = [body, above.trim_end_matches('\n')];
    let shared = |end: &str| {
        let same = live.bytes().rev().zip(end.bytes().rev());
        let most = live.len().min(end.len()) - head.min(live.len().min(end.len()));
        same.take(most)
            .take_while(|(one, other)| one == other)
            .count()
    };
    let best = ends.iter().map(|end| (shared(end), end.len())).max();
    let Some((tail, end)) = best.filter(|(tail, _)| *tail > 0) else {
        return carried;
    };
    let from = live.ceil_char_boundary(live.len() - tail);
    let to = end - (live.len() - from);
    carried.extend(part(runs, from..live.len()).map(|run| Run {
        start: run.start + to as u32,
        end: run.end + to as u32,
        style: run.style,
    }));
    carried
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn red() -> Style {
        Style {
            fg: Some(Hue::Named(1)),
            ..Style::default()
        }
    }

    fn run(start: u32, end: u32, style: Style) -> Run {
        Run { start, end, style }
    }

    #[test]
    fn colours_are_parsed_in_every_notation() {
        let fg = |hue| Style {
            fg: Some(hue),
            ..Style::default()
        };
        for (parameters, expected) in [
            ("31", fg(Hue::Named(1))),
            ("97", fg(Hue::Named(15))),
            ("38;5;9", fg(Hue::Named(9))),
            ("38;5;208", fg(Hue::Indexed(208))),
            ("38;2;1;2;3", fg(Hue::Rgb(1, 2, 3))),
            ("38:2::1:2:3", fg(Hue::Rgb(1, 2, 3))),
            ("38:5:208", fg(Hue::Indexed(208))),
            ("38;5", Style::default()),
            ("58;5;9;31", fg(Hue::Named(1))),
            ("31;0", Style::default()),
            ("31;", Style::default()),
            (">4;1", Style::default()),
            ("99999", Style::default()),
            (
                "1;2;3;4;7;9;41",
                Style {
                    bg: Some(Hue::Named(1)),
                    bold: true,
                    dim: true,
                    italic: true,
                    underline: true,
                    strike: true,
                    reverse: true,
                    ..Style::default()
                },
            ),
            ("1;2;3;4;7;9;22;23;24;27;29", Style::default()),
            ("4:3;4:0", Style::default()),
        ] {
            let mut style = Style::default();
            style.apply(parameters);
            assert_eq!(style, expected, "{parameters}");
        }
    }

    #[test]
    fn runs_mark_the_coloured_text() {
        let mut pen = Style::default();
        let told = styled("a\x1b[31mbc\x1b[0md\x1b[31m", &mut pen);
        assert_eq!(told, ("abcd".to_owned(), vec![run(1, 3, red())]));
        // The colour continues in the next chunk.
        assert_eq!(pen, red());
        let told = styled("e\x1b[mf\x1b]0;title\x07\x1b[2J", &mut pen);
        assert_eq!(told, ("ef".to_owned(), vec![run(0, 1, red())]));
        // A restarted line has the text that was printed last.
        let told = styled("\x1b[32mold\x1b[31m\rnew\x1b[m\x08x", &mut pen);
        assert_eq!(told, ("nex".to_owned(), vec![run(0, 2, red())]));
    }

    #[test]
    fn colours_are_transferred_to_the_stored_output() {
        let live = "one\ntwo\nred\n";
        let runs = [run(0, 3, red()), run(8, 11, red())];
        for (body, expected) in [
            (live, vec![run(0, 3, red()), run(8, 11, red())]),
            ("one\ntwo\nred", vec![run(0, 3, red()), run(8, 11, red())]),
            (
                "one\ntwo\nred\n[exit code 1]",
                vec![run(0, 3, red()), run(8, 11, red())],
            ),
            (
                "one\n[… left out …]\nred\n[exit code 1]",
                vec![run(0, 3, red()), run(23, 26, red())],
            ),
            ("another", vec![]),
        ] {
            let found = carried(live, &runs, body);
            assert_eq!(found, expected, "{body}");
        }
    }

    proptest! {
        #[test]
        fn the_text_is_that_of_sanitize(raw in "[a-c\\r\\n\\x08\\x1b\\[;0-9mKé\\u{9b}]{0,60}") {
            let (clean, runs) = styled(&raw, &mut Style::default());
            prop_assert_eq!(&clean, &*text::sanitize(&raw));
            let mut at = 0;
            for run in runs {
                prop_assert!(at <= run.start && run.start < run.end);
                at = run.end;
                prop_assert!(clean.is_char_boundary(run.start as usize));
            }
            prop_assert!(at as usize <= clean.len());
        }

        #[test]
        fn carried_colours_stand_on_characters(
            live in "[aé\\n]{0,20}", body in "[aé\\n]{0,20}", cut in 0usize..20,
        ) {
            let cut = live.floor_char_boundary(cut.min(live.len()));
            let runs = [run(0, cut as u32, red())];
            for run in carried(&live, &runs, &body) {
                prop_assert!(body.is_char_boundary(run.start as usize));
                prop_assert!(body.is_char_boundary(run.end as usize));
            }
        }
    }
}
