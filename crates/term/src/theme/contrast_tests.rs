//! Checks the promise of every theme: text is readable on every background it is used on.

#![expect(
    clippy::unreadable_literal,
    reason = "colours are written as everywhere: six digits"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::colour::{ANSI_NAMES, luminance};
use super::vision::{are_apart, distance, perceived};
use super::*;
use crate::text::face::Token;

/// Tokens that are not text: lines, marks and backgrounds.
const NOT_TEXT: &[Token] = &[
    Token::Border,
    Token::TableBorder,
    Token::Rule,
    Token::Backdrop,
];

/// The lowest contrast of a theme, its token and its background.
type Worst = (f32, &'static str, &'static str);

/// Foreground, background and the sixteen colours of common terminals.
const TERMINALS: &[(&str, u32, u32, [u32; 8])] = &[
    (
        "xterm",
        0xffffff,
        0x000000,
        [
            0, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
        ],
    ),
    (
        "xterm on white",
        0x000000,
        0xffffff,
        [
            0, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
        ],
    ),
    (
        "Campbell",
        0xcccccc,
        0x0c0c0c,
        [
            0, 0xc50f1f, 0x13a10e, 0xc19c00, 0x0037da, 0x881798, 0x3a96dd, 0xcccccc,
        ],
    ),
    (
        "Tango light",
        0x000000,
        0xeeeeec,
        [
            0, 0xcc0000, 0x4e9a06, 0xc4a000, 0x3465a4, 0x75507b, 0x06989a, 0xd3d7cf,
        ],
    ),
    (
        "Solarized dark",
        0x839496,
        0x002b36,
        [
            0x073642, 0xdc322f, 0x859900, 0xb58900, 0x268bd2, 0xd33682, 0x2aa198, 0xeee8d5,
        ],
    ),
    (
        "Solarized light",
        0x657b83,
        0xfdf6e3,
        [
            0x073642, 0xdc322f, 0x859900, 0xb58900, 0x268bd2, 0xd33682, 0x2aa198, 0xeee8d5,
        ],
    ),
    (
        "Nord",
        0xd8dee9,
        0x2e3440,
        [
            0x3b4252, 0xbf616a, 0xa3be8c, 0xebcb8b, 0x81a1c1, 0xb48ead, 0x88c0d0, 0xe5e9f0,
        ],
    ),
    (
        "grey on grey",
        0x777777,
        0x555555,
        [
            0, 0x803030, 0x308030, 0x808030, 0x303080, 0x803080, 0x308080, 0x909090,
        ],
    ),
];

fn rgb(value: u32) -> (u8, u8, u8) {
    let [_, red, green, blue] = value.to_be_bytes();
    (red, green, blue)
}

/// Every text token with its backgrounds.
fn contrasts(theme: &Theme, default_fg: Colour) -> Vec<(f32, &'static str, &'static str)> {
    let background = theme.background.unwrap();
    let fg = |token: Token| match theme.specs[token as usize].fg {
        Some(Colour::Default) | None => default_fg,
        Some(fg) => fg,
    };
    let bg = |token: Token| theme.specs[token as usize].bg;
    let mut contrasts = Vec::new();
    for (token, name) in Token::ALL
        .iter()
        .filter(|(token, _)| !NOT_TEXT.contains(token))
    {
        let mut backgrounds = vec![(bg(*token).unwrap_or(background), "itself")];
        if bg(*token).is_none() {
            let others = BACKGROUND_TOKENS
                .iter()
                .filter_map(|background| Some((bg(*background)?, background)));
            backgrounds
                .extend(others.map(|(bg, background)| (bg, Token::ALL[*background as usize].1)));
        }
        for (background, under) in backgrounds {
            contrasts.push((contrast(fg(*token), background).unwrap(), *name, under));
        }
    }
    contrasts
}

fn worst(contrasts: &[Worst]) -> Worst {
    let least = contrasts.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    *least.unwrap()
}

fn all_themes() -> Vec<(String, Theme)> {
    let store = ThemeStore::new(None, ColourDepth::True);
    let names = store.entries().into_iter().map(|entry| entry.name);
    names
        .map(|name| (name.clone(), store.load(&name).0))
        .collect()
}

/// The page about themes.
fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/themes.md")
}

// recipe: a colour, 3: `crates/markdown/src/render.rs`: where it is drawn, or in a widget
// recipe: a colour, 4: `docs/themes.md`: written by `UPDATE_DOCS=1 cargo test -p osier-term contrast`
#[test]
fn documentation_lists_the_tokens_that_follow_others() {
    let mut table = String::from("| token | follows |\n|---|---|\n");
    for (token, name) in Token::ALL {
        if let Some(followed) = token.with_fallbacks().nth(1) {
            let _ = writeln!(table, "| `{name}` | `{}` |", followed.name());
        }
    }
    osier_testing::pages::check_part(&page(), "followers", &table);
}

// recipe: a theme, 3: `docs/themes.md`: written by `UPDATE_DOCS=1 cargo test -p osier-term contrast`
#[test]
fn text_is_readable_on_every_background_in_every_theme() {
    let mut table =
        String::from("| theme | kind | text | least | where |\n|---|---|---|---|---|\n");
    let mut themes = 0;
    for (name, theme) in all_themes() {
        let Some(background) = theme.background else {
            continue;
        };
        let contrasts = contrasts(&theme, theme.specs[0].fg.unwrap());
        let needed = if name.starts_with("high-contrast") {
            7.0
        } else {
            MIN_CONTRAST
        };
        for (found, token, under) in &contrasts {
            assert!(
                *found >= needed,
                "{name}: {token} on {under} has {found:.2}"
            );
        }
        let (least, token, under) = worst(&contrasts);
        let text = contrast(theme.specs[0].fg.unwrap(), background).unwrap();
        let kind = if theme.kind == ThemeKind::Dark {
            "dark"
        } else {
            "light"
        };
        let _ = writeln!(
            table,
            "| `{name}` | {kind} | {text:.1} | {least:.2} | {token} on {under} |"
        );
        themes += 1;
    }
    assert!(themes >= 16, "{themes}");
    osier_testing::pages::check_part(&page(), "contrast", &table);
}

#[test]
fn theme_kind_matches_its_background() {
    for (name, theme) in all_themes() {
        let Some(background) = theme.background else {
            continue;
        };
        let dark = luminance(background.rgb().unwrap()) < 0.2;
        assert_eq!(dark, theme.kind == ThemeKind::Dark, "{name}");
    }
}

#[test]
fn system_theme_is_readable_with_reported_colours() {
    let (system, _) = ThemeStore::new(None, ColourDepth::True).load("system");
    for (name, foreground, background, hues) in TERMINALS {
        let mut reported = TerminalColours {
            foreground: Some(rgb(*foreground)),
            background: Some(rgb(*background)),
            ..TerminalColours::default()
        };
        for tells_hues in [false, true] {
            if tells_hues {
                for (index, hue) in hues.iter().enumerate() {
                    reported.ansi[index] = Some(rgb(*hue));
                }
            }
            let mut theme = system.adapted(&reported);
            // Colours that stay the terminal's own are the reported ones.
            for spec in &mut theme.specs {
                if let Some(Colour::Ansi(index)) = spec.fg {
                    let (red, green, blue) =
                        reported.ansi[usize::from(index) % ANSI_NAMES.len()].unwrap();
                    spec.fg = Some(Colour::Rgb(red, green, blue));
                }
            }
            let (red, green, blue) = rgb(*foreground);
            let contrasts = contrasts(&theme, Colour::Rgb(red, green, blue));
            let (least, token, under) = worst(&contrasts);
            println!("{name}: {least:.2} ({token} on {under})");
            assert!(
                least >= MIN_CONTRAST,
                "{name}: {token} on {under} has {least:.2}"
            );
        }
    }
    let (dark, _) = ThemeStore::new(None, ColourDepth::True).load("dark");
    let reported = TerminalColours {
        background: Some((255, 255, 255)),
        ..TerminalColours::default()
    };
    assert_eq!(dark.adapted(&reported), dark);
}

#[test]
fn system_theme_distinguishes_added_from_removed_and_errors_with_256_colours() {
    let (system, _) = ThemeStore::new(None, ColourDepth::Indexed).load("system");
    for (name, foreground, background, hues) in TERMINALS {
        let mut reported = TerminalColours {
            foreground: Some(rgb(*foreground)),
            background: Some(rgb(*background)),
            ..TerminalColours::default()
        };
        for (index, hue) in hues.iter().enumerate() {
            reported.ansi[index] = Some(rgb(*hue));
        }
        let theme = system.adapted(&reported);
        let style = |token: Token| theme.style(token);
        let (added, removed) = (style(Token::DiffAdded), style(Token::DiffRemoved));
        assert_ne!(
            (added.fg, added.bg),
            (removed.fg, removed.bg),
            "{name}: added and removed lines"
        );
        let (red, green, blue) = rgb(*foreground);
        let text = theme.specs[Token::Text as usize].fg;
        let text = match text {
            Some(Colour::Default) | None => Colour::Rgb(red, green, blue),
            Some(other) => other,
        };
        for ground in [added.bg, removed.bg] {
            let ground = as_colour(ground).unwrap();
            let found = contrast(text, ground).unwrap();
            assert!(found >= 4.4, "{name}: text on {ground:?} has {found:.2}");
        }
        // A red does not become grey, also where it has to be light to be readable.
        if *name != "grey on grey" {
            let error = as_colour(style(Token::Error).fg).unwrap().rgb().unwrap();
            let others = error.1.max(error.2);
            assert!(
                error.0.saturating_sub(others) >= 40,
                "{name}: errors are {error:?}"
            );
        }
    }
}

#[test]
fn colour_blind_themes_distinguish_success_from_error() {
    for (name, theme) in all_themes()
        .iter()
        .filter(|(name, _)| name.starts_with("colour-blind"))
    {
        let spec = |token: Token| theme.specs[token as usize];
        let pairs = [
            (
                "success, error",
                spec(Token::Success).fg,
                spec(Token::Error).fg,
                40.0,
            ),
            (
                "added, removed",
                spec(Token::DiffAdded).bg,
                spec(Token::DiffRemoved).bg,
                15.0,
            ),
            (
                "words",
                spec(Token::DiffAddedWord).bg,
                spec(Token::DiffRemovedWord).bg,
                40.0,
            ),
        ];
        for (pair, good, bad, least) in pairs {
            let (good, bad) = (good.unwrap().rgb().unwrap(), bad.unwrap().rgb().unwrap());
            for without_red in [false, true] {
                let found = distance(perceived(good, without_red), perceived(bad, without_red));
                assert!(found >= least, "{name}: {pair} are {found:.1} apart");
            }
        }
    }
}

#[test]
fn text_is_readable_with_fewer_colours() {
    for depth in [ColourDepth::Indexed, ColourDepth::Ansi] {
        let store = ThemeStore::new(None, depth);
        for entry in store.entries() {
            let (theme, _) = store.load(&entry.name);
            let Some(background) = theme.base().bg else {
                continue;
            };
            for (token, name) in Token::ALL
                .iter()
                .filter(|(token, _)| !NOT_TEXT.contains(token))
            {
                let style = theme.style(*token);
                let (Some(fg), Some(bg)) = (
                    as_colour(style.fg),
                    as_colour(style.bg.or(Some(background))),
                ) else {
                    continue;
                };
                let found = contrast(fg, bg).unwrap();
                assert!(
                    found >= 4.4,
                    "{} {depth:?}: {name} has {found:.2}",
                    entry.name
                );
            }
        }
    }
}

/// The colour by which a line of a diff is known: its background, or the colour of its text.
fn sign(theme: &Theme, token: Token) -> Option<(u8, u8, u8)> {
    let style = theme.style(token);
    let plain = theme
        .background
        .and_then(|colour| theme.depth.reduced_rgb(colour));
    let bg = as_colour(style.bg).and_then(Colour::rgb);
    let fg = as_colour(style.fg).and_then(Colour::rgb);
    bg.filter(|bg| Some(*bg) != plain).or(fg)
}

#[test]
fn lines_of_diffs_differ_for_everybody_in_every_theme_with_fewer_colours() {
    let (added, removed) = (Token::DiffAdded, Token::DiffRemoved);
    let (added_word, removed_word) = (Token::DiffAddedWord, Token::DiffRemovedWord);
    for depth in [ColourDepth::Indexed, ColourDepth::Ansi] {
        let store = ThemeStore::new(None, depth);
        for entry in store.entries() {
            let (theme, _) = store.load(&entry.name);
            let of = |token: Token| sign(&theme, token);
            let plain = theme
                .background
                .and_then(|colour| depth.reduced_rgb(colour));
            let plain = match theme.style(added).bg {
                Some(_) => plain,
                None => of(Token::DiffContext),
            };
            let mut pairs = vec![
                ("added, removed", of(added), of(removed)),
                ("added, plain", of(added), plain),
                ("removed, plain", of(removed), plain),
                ("words", of(added_word), of(removed_word)),
            ];
            if theme.style(added_word).bg.is_some() {
                pairs.push(("added, its words", of(added), of(added_word)));
                pairs.push(("removed, its words", of(removed), of(removed_word)));
            }
            for (pair, one, other) in pairs {
                let (Some(one), Some(other)) = (one, other) else {
                    // The terminal's own text colour.
                    assert_ne!(one, other, "{} {depth:?}: {pair}", entry.name);
                    continue;
                };
                assert!(
                    are_apart(one, other),
                    "{} {depth:?}: {pair} are {one:?} and {other:?}",
                    entry.name
                );
            }
            // Syntax on a changed line is as readable as its text.
            for (token, name) in Token::ALL {
                if !name.starts_with("syntax_") {
                    continue;
                }
                for line in [added, removed] {
                    let style = theme.style(Face::from(*token).on(line));
                    let (Some(fg), Some(bg)) = (as_colour(style.fg), as_colour(style.bg)) else {
                        continue;
                    };
                    let found = contrast(fg, bg).unwrap();
                    let (name, theme) = (token.name(), &entry.name);
                    assert!(found >= 4.4, "{theme} {depth:?}: {name} has {found:.2}");
                }
            }
        }
    }
}

fn as_colour(colour: Option<Color>) -> Option<Colour> {
    Colour::of_terminal(colour?)
}

#[test]
fn unreadable_ones_of_sixteen_colours_are_replaced() {
    let (system, _) = ThemeStore::new(None, ColourDepth::Ansi).load("system");
    let fg = |background: u32, blue: u32| {
        let mut reported = TerminalColours {
            background: Some(rgb(background)),
            ..TerminalColours::default()
        };
        reported.ansi[4] = Some(rgb(blue));
        let theme = system.adapted(&reported);
        (theme.style(Token::Link).fg, theme.style(Token::Success).fg)
    };
    let green = Some(Color::Green);
    assert_eq!(fg(0x16181d, 0x0000ee), (Some(Color::LightBlue), green));
    assert_eq!(fg(0x16181d, 0x7fb4ff), (Some(Color::Blue), green));
    assert_eq!(fg(0xffffff, 0x0000ee), (Some(Color::Blue), green));
    assert_eq!(fg(0xffffff, 0x99bbff), (Some(Color::Reset), green));
}

/// A diff of one changed line as every theme draws it with 256 colours: one row of the sheet each.
fn sheet_of_diffs() -> String {
    const LINE: f32 = 16.0;
    const CELL: f32 = 8.0;
    const DIFF: [(&str, &[(&str, Token)]); 3] = [
        ("   8  ", &[(" def total(self):", Token::DiffContext)]),
        (
            "   9 -",
            &[
                (" return sum(", Token::DiffRemoved),
                ("price for _, price, _ ", Token::DiffRemovedWord),
                ("in self.items)", Token::DiffRemoved),
            ],
        ),
        (
            "   9 +",
            &[
                (" return sum(", Token::DiffAdded),
                ("price * count for _, price, count ", Token::DiffAddedWord),
                ("in self.items)", Token::DiffAdded),
            ],
        ),
    ];
    let hex = |colour: Option<Color>, default: (u8, u8, u8)| {
        let (red, green, blue) = as_colour(colour).and_then(Colour::rgb).unwrap_or(default);
        format!("#{red:02x}{green:02x}{blue:02x}")
    };
    let store = ThemeStore::new(None, ColourDepth::Indexed);
    let mut drawn = String::new();
    let mut y = 0.0;
    let cells = |drawn: &mut String, text: &str, x: f32, y: f32, fill: &str, ground: &str| {
        let width = text.chars().count() as f32 * CELL;
        let _ = writeln!(
            drawn,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{LINE}\" fill=\"{ground}\"/>\
             <text x=\"{x}\" y=\"{}\" fill=\"{fill}\" xml:space=\"preserve\">{text}</text>",
            y + 12.0
        );
    };
    for entry in store.entries() {
        let (theme, _) = store.load(&entry.name);
        let base = theme.base();
        let ground = hex(base.bg, (0x16, 0x18, 0x1d));
        let style = |token: Token| theme.style(token);
        let text = |token: Token| hex(style(token).fg.or(base.fg), (0xd7, 0xda, 0xe0));
        let title = format!("{:<72}", entry.name);
        cells(&mut drawn, &title, 0.0, y, &text(Token::Muted), &ground);
        for (row, (number, parts)) in DIFF.iter().enumerate() {
            let y = y + (row + 1) as f32 * LINE;
            let blank = " ".repeat(72);
            let line = parts[0].1;
            let line_ground = style(line)
                .bg
                .map_or(ground.clone(), |bg| hex(Some(bg), (0, 0, 0)));
            cells(&mut drawn, &blank, 0.0, y, &ground, &line_ground);
            let mut x = 0.0;
            for (part, token) in [(*number, line)].iter().chain(parts.iter()) {
                let (mut fill, mut behind) = (text(*token), line_ground.clone());
                if let Some(bg) = style(*token).bg {
                    behind = hex(Some(bg), (0, 0, 0));
                }
                if style(*token)
                    .add_modifier
                    .contains(ratatui::style::Modifier::REVERSED)
                {
                    std::mem::swap(&mut fill, &mut behind);
                }
                cells(&mut drawn, part, x, y, &fill, &behind);
                x += part.chars().count() as f32 * CELL;
            }
        }
        y += 4.0 * LINE;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"576\" height=\"{y}\" \
         font-family=\"monospace\" font-size=\"13\">\n{drawn}</svg>\n"
    )
}

#[test]
fn sheet_shows_the_diff_of_every_theme_with_256_colours() {
    let sheet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures/diffs-256.svg");
    osier_testing::pages::check_file(&sheet, &sheet_of_diffs());
}
