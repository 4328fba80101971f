//! Detects the terminal from the environment, before any query.

use crate::frame::Features;
use crate::theme::ColourDepth;

/// The program that shows the terminal output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TerminalHost {
    #[default]
    Emulator,
    Tmux,
    Screen,
    /// The console of the Linux kernel.
    Console,
    /// A terminal that cannot even move the cursor.
    Dumb,
}

/// How to send a desktop notification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NotificationProtocol {
    #[default]
    Bell,
    Osc9,
    Osc777,
    /// The protocol of Kitty.
    Osc99,
}

/// A terminal as described by its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalKind {
    pub host: TerminalHost,
    /// Connected over SSH, where bytes and round trips are expensive.
    pub remote: bool,
    pub depth: ColourDepth,
    pub notification_protocol: NotificationProtocol,
    /// Whether OSC 9;4 shows a progress bar and not a notification.
    pub progress: bool,
    /// Whether the background is dark, if the environment says so.
    pub dark: Option<bool>,
    /// An old terminal or an emulation of one: it supports the cursor and colours, but may not
    /// support moving or erasing parts of the screen.
    pub limited: bool,
    /// Whether the terminal puts right-to-left text in visual order itself.
    pub reorders: bool,
    /// Whether the terminal leaves rows as they are when it becomes narrower, and does not break them.
    pub keeps_rows: bool,
}

/// Prefixes of `TERM` for terminals without scroll regions, insert line or erase character.
const LIMITED_TERMS: &[&str] = &["ansi", "pcansi", "vt100", "vt52", "cons25", "cygwin", "sun"];

/// Part of `TERM` or `TERM_PROGRAM`, support for true colours, notifications, and a progress bar.
const EMULATORS: &[(&str, bool, NotificationProtocol, bool)] = &[
    ("kitty", true, NotificationProtocol::Osc99, false),
    ("ghostty", true, NotificationProtocol::Osc9, true),
    ("wezterm", true, NotificationProtocol::Osc9, true),
    ("iterm", true, NotificationProtocol::Osc9, false),
    ("foot", true, NotificationProtocol::Osc777, false),
    ("alacritty", true, NotificationProtocol::Bell, false),
    ("contour", true, NotificationProtocol::Osc777, false),
    ("vscode", true, NotificationProtocol::Bell, true),
    ("rio", true, NotificationProtocol::Bell, false),
    ("rxvt", false, NotificationProtocol::Osc777, false),
];

/// Variables of terminals that put right-to-left text in visual order. tmux passes on those of the terminal it started in.
const REORDERING_VARIABLES: &[&str] = &[
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "MLTERM",
    "VTE_VERSION",
];

/// Prefixes of `TERM`, `TERM_PROGRAM` and reported names of these terminals. Kitty reverses each word.
const REORDERING_NAMES: &[&str] = &[
    "apple_terminal",
    "konsole",
    "mintty",
    "mlterm",
    "pterm",
    "putty",
    "vte",
    "xterm-kitty",
    "kitty",
];

fn is_reordering(name: &str) -> bool {
    REORDERING_NAMES.iter().any(|known| name.starts_with(known))
}

/// Prefixes of reported terminal names and the colours they support, regardless of `TERM`.
const REPORTED_NAMES: &[(&str, ColourDepth)] = &[
    ("kitty", ColourDepth::True),
    ("ghostty", ColourDepth::True),
    ("wezterm", ColourDepth::True),
    ("iterm2", ColourDepth::True),
    ("foot", ColourDepth::True),
    ("contour", ColourDepth::True),
    ("konsole", ColourDepth::True),
    ("vte(", ColourDepth::True),
    ("mlterm", ColourDepth::True),
    // xterm accepts true colours and shows the nearest of 256.
    ("xterm(", ColourDepth::Indexed),
];

impl TerminalKind {
    /// Applies the name that the terminal reports: it may support more colours than the environment
    /// says, for example over SSH or with a plain `TERM=xterm`. Returns true if it does. Disabled
    /// colours stay disabled.
    pub fn apply_reported_name(&mut self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.reorders |= is_reordering(&name);
        self.keeps_rows |= name.starts_with("xterm(");
        let known = REPORTED_NAMES
            .iter()
            .find(|(start, _)| name.starts_with(start));
        let deeper = match (self.depth, known) {
            (ColourDepth::Ansi, Some((_, depth))) => *depth,
            (ColourDepth::Indexed, Some((_, ColourDepth::True))) => ColourDepth::True,
            _ => return false,
        };
        let changes = self.host == TerminalHost::Emulator && !self.limited && self.depth != deeper;
        if changes {
            self.depth = deeper;
        }
        changes
    }

    /// Detects the terminal. `variable` returns the value of an environment variable.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = value("TERM").unwrap_or_default().to_ascii_lowercase();
        let program = value("TERM_PROGRAM")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let host = if term.is_empty() || term == "dumb" {
            TerminalHost::Dumb
        } else if term == "linux" {
            TerminalHost::Console
        } else if value("TMUX").is_some() || term.starts_with("tmux") {
            TerminalHost::Tmux
        } else if value("STY").is_some() || term.starts_with("screen") {
            TerminalHost::Screen
        } else {
            TerminalHost::Emulator
        };
        let known = EMULATORS
            .iter()
            .find(|(name, ..)| term.contains(name) || program.contains(name))
            .filter(|_| host == TerminalHost::Emulator);
        let vte = value("VTE_VERSION").is_some() && host == TerminalHost::Emulator;
        let windows = value("WT_SESSION").is_some();
        let konsole = value("KONSOLE_VERSION").is_some();
        let true_colour = value("COLORTERM")
            .is_some_and(|depth| depth == "truecolor" || depth == "24bit")
            || term.ends_with("-direct")
            || known.is_some_and(|known| known.1);
        let notification_protocol = match known {
            Some((_, _, notification_protocol, _)) => *notification_protocol,
            None if vte => NotificationProtocol::Osc777,
            None if windows => NotificationProtocol::Osc9,
            None => NotificationProtocol::Bell,
        };
        Self {
            host,
            remote: value("SSH_TTY").or(value("SSH_CONNECTION")).is_some(),
            depth: match host {
                _ if value("NO_COLOR").is_some() => ColourDepth::None,
                TerminalHost::Dumb => ColourDepth::None,
                TerminalHost::Console => ColourDepth::Ansi,
                _ if true_colour => ColourDepth::True,
                _ if term.contains("256color") => ColourDepth::Indexed,
                _ => ColourDepth::Ansi,
            },
            notification_protocol,
            progress: known.is_some_and(|known| known.3) || windows || konsole,
            dark: value("COLORFGBG").and_then(|colours| is_dark(&colours)),
            limited: LIMITED_TERMS.iter().any(|name| term.starts_with(name)),
            keeps_rows: matches!(host, TerminalHost::Screen | TerminalHost::Console),
            reorders: REORDERING_VARIABLES
                .iter()
                .any(|name| value(name).is_some())
                || is_reordering(&term)
                || is_reordering(&program),
        }
    }

    /// The features to use before the terminal has replied.
    pub fn features(&self) -> Features {
        let strings = self.has_strings();
        Features {
            margins: !self.limited,
            erase_characters: !self.limited,
            // The kernel erases with the current colour and does not support repetition.
            erase_background: self.host == TerminalHost::Console,
            bracketed: strings && self.host != TerminalHost::Screen,
            links: strings && self.host != TerminalHost::Screen,
            reorder: !self.reorders,
            console_font: self.host == TerminalHost::Console,
            ..Features::default()
        }
    }

    /// Whether control strings (OSC, DCS) are supported or at least skipped.
    pub fn has_strings(&self) -> bool {
        !self.limited && !matches!(self.host, TerminalHost::Console | TerminalHost::Dumb)
    }
}

/// `COLORFGBG` is `foreground;background` in numbers of the sixteen colours.
fn is_dark(colours: &str) -> Option<bool> {
    let background: u8 = colours.rsplit(';').next()?.parse().ok()?;
    Some(matches!(background, 0..=6 | 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)]) -> TerminalKind {
        TerminalKind::detect(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn terminal_kind_is_detected_from_the_environment() {
        let plain = TerminalKind::default();
        let cases: &[(&[(&str, &str)], TerminalKind)] = &[
            (
                &[("TERM", "xterm-256color")],
                TerminalKind {
                    depth: ColourDepth::Indexed,
                    ..plain.clone()
                },
            ),
            (
                &[
                    ("TERM", "xterm-kitty"),
                    ("SSH_TTY", "/dev/pts/3"),
                    ("COLORFGBG", "15;0"),
                ],
                TerminalKind {
                    remote: true,
                    depth: ColourDepth::True,
                    notification_protocol: NotificationProtocol::Osc99,
                    dark: Some(true),
                    reorders: true,
                    ..plain.clone()
                },
            ),
            (
                &[
                    ("TERM", "screen-256color"),
                    ("TMUX", "/tmp/x"),
                    ("TERM_PROGRAM", "tmux"),
                ],
                TerminalKind {
                    host: TerminalHost::Tmux,
                    depth: ColourDepth::Indexed,
                    ..plain.clone()
                },
            ),
            (
                &[("TERM", "xterm-ghostty"), ("NO_COLOR", "1")],
                TerminalKind {
                    depth: ColourDepth::None,
                    notification_protocol: NotificationProtocol::Osc9,
                    progress: true,
                    ..plain.clone()
                },
            ),
            (
                &[("TERM", "linux"), ("COLORTERM", "truecolor")],
                TerminalKind {
                    host: TerminalHost::Console,
                    keeps_rows: true,
                    ..plain.clone()
                },
            ),
            (
                &[
                    ("TERM", "xterm"),
                    ("NO_COLOR", ""),
                    ("COLORFGBG", "0;default;15"),
                ],
                TerminalKind {
                    dark: Some(false),
                    ..plain.clone()
                },
            ),
            (
                &[],
                TerminalKind {
                    host: TerminalHost::Dumb,
                    depth: ColourDepth::None,
                    ..plain.clone()
                },
            ),
        ];
        for (variables, expected) in cases {
            assert_eq!(detect(variables), *expected, "{variables:?}");
        }
    }

    #[test]
    fn initial_features_depend_on_the_terminal_kind() {
        let safe = Features {
            reorder: true,
            ..Features::default()
        };
        let cases: &[(&[(&str, &str)], Features)] = &[
            (&[("TERM", "xterm-256color")], safe),
            (&[("TERM", "xterm-256color"), ("TMUX", "/tmp/x")], safe),
            (
                &[("TERM", "screen")],
                Features {
                    bracketed: false,
                    links: false,
                    ..safe
                },
            ),
            (
                &[("TERM", "linux")],
                Features {
                    erase_background: true,
                    bracketed: false,
                    links: false,
                    console_font: true,
                    ..safe
                },
            ),
            (
                &[("TERM", "vt100")],
                Features {
                    margins: false,
                    erase_characters: false,
                    bracketed: false,
                    links: false,
                    ..safe
                },
            ),
        ];
        for (variables, expected) in cases {
            assert_eq!(detect(variables).features(), *expected, "{variables:?}");
        }
    }

    #[test]
    fn terminals_that_reorder_text_are_known() {
        for (variables, name, expected) in [
            (&[("TERM", "xterm-256color")][..], "", false),
            (
                &[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")],
                "",
                true,
            ),
            (
                &[("TERM", "tmux-256color"), ("KONSOLE_VERSION", "230804")],
                "",
                true,
            ),
            (
                &[
                    ("TERM", "xterm-256color"),
                    ("TERM_PROGRAM", "Apple_Terminal"),
                ],
                "",
                true,
            ),
            (&[("TERM", "xterm-256color")], "VTE(7600)", true),
            (&[("TERM", "xterm-256color")], "WezTerm 20240203", false),
            (&[("TERM", "alacritty")], "", false),
        ] {
            let mut kind = detect(variables);
            kind.apply_reported_name(name);
            assert_eq!(kind.reorders, expected, "{variables:?} {name}");
        }
    }

    #[test]
    fn reported_name_raises_the_colour_depth() {
        let after = |variables: &[(&str, &str)], name: &str| {
            let mut kind = detect(variables);
            let changed = kind.apply_reported_name(name);
            (kind.depth, changed)
        };
        let xterm: &[(&str, &str)] = &[("TERM", "xterm")];
        let many: &[(&str, &str)] = &[("TERM", "xterm-256color"), ("SSH_TTY", "/dev/pts/1")];
        for (variables, name, expected) in [
            (xterm, "XTerm(379)", (ColourDepth::Indexed, true)),
            (xterm, "kitty(0.41.1)", (ColourDepth::True, true)),
            (xterm, "something 1.0", (ColourDepth::Ansi, false)),
            (many, "WezTerm 20240203", (ColourDepth::True, true)),
            (many, "XTerm(379)", (ColourDepth::Indexed, false)),
            (
                &[("TERM", "xterm"), ("NO_COLOR", "1")],
                "kitty(0.41.1)",
                (ColourDepth::None, false),
            ),
            (
                &[("TERM", "tmux-256color"), ("TMUX", "/tmp/t,1,0")],
                "kitty(0.41.1)",
                (ColourDepth::Indexed, false),
            ),
            (
                &[("TERM", "vt100")],
                "XTerm(379)",
                (ColourDepth::Ansi, false),
            ),
        ] {
            assert_eq!(after(variables, name), expected, "{variables:?} {name}");
        }
    }
}
