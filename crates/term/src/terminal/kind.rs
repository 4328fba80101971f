//! What the environment tells about the terminal, before it is asked anything itself.

use crate::frame::Features;
use crate::theme::ColourDepth;

/// What stands between us and the glass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Host {
    #[default]
    Emulator,
    Tmux,
    Screen,
    /// The console of the Linux kernel.
    Console,
    /// Cannot even move the cursor.
    Dumb,
}

/// How a desktop notification is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Notice {
    #[default]
    Bell,
    Osc9,
    Osc777,
    /// Kitty's.
    Osc99,
}

/// A terminal as its environment describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalKind {
    pub host: Host,
    /// Reached over SSH: every byte and every round trip is paid for.
    pub remote: bool,
    pub depth: ColourDepth,
    pub notice: Notice,
    /// Whether OSC 9;4 is a progress bar, not a notification.
    pub progress: bool,
    /// Whether the background is dark, where the environment tells.
    pub dark: Option<bool>,
    /// A terminal of the old days, or an emulation of one: it has a cursor and colours, but is not trusted to
    /// move or erase a part of the screen.
    pub limited: bool,
}

/// How `TERM` begins on a terminal without scroll regions, insert line or erase character.
const LIMITED: &[&str] = &["ansi", "pcansi", "vt100", "vt52", "cons25", "cygwin", "sun"];

/// Part of `TERM` or `TERM_PROGRAM`, whether it shows true colours, its notifications, its progress bar.
const EMULATORS: &[(&str, bool, Notice, bool)] = &[
    ("kitty", true, Notice::Osc99, false),
    ("ghostty", true, Notice::Osc9, true),
    ("wezterm", true, Notice::Osc9, true),
    ("iterm", true, Notice::Osc9, false),
    ("foot", true, Notice::Osc777, false),
    ("alacritty", true, Notice::Bell, false),
    ("contour", true, Notice::Osc777, false),
    ("vscode", true, Notice::Bell, true),
    ("rio", true, Notice::Bell, false),
    ("rxvt", false, Notice::Osc777, false),
];

/// How the names begin that terminals call themselves, and the colours that each shows, whatever `TERM` says.
const NAMED: &[(&str, ColourDepth)] = &[
    ("kitty", ColourDepth::True),
    ("ghostty", ColourDepth::True),
    ("wezterm", ColourDepth::True),
    ("iterm2", ColourDepth::True),
    ("foot", ColourDepth::True),
    ("contour", ColourDepth::True),
    ("konsole", ColourDepth::True),
    ("vte(", ColourDepth::True),
    ("mlterm", ColourDepth::True),
    // It takes true colours and shows the nearest of 256.
    ("xterm(", ColourDepth::Indexed),
];

impl TerminalKind {
    /// Takes note of what the terminal calls itself: it may show more colours than its environment told, as over
    /// SSH or with a plain `TERM=xterm`. True when it does. Colours that are turned off stay off.
    pub fn call(&mut self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let known = NAMED.iter().find(|(start, _)| name.starts_with(start));
        let deeper = match (self.depth, known) {
            (ColourDepth::Ansi, Some((_, depth))) => *depth,
            (ColourDepth::Indexed, Some((_, ColourDepth::True))) => ColourDepth::True,
            _ => return false,
        };
        let changes = self.host == Host::Emulator && !self.limited && self.depth != deeper;
        if changes {
            self.depth = deeper;
        }
        changes
    }

    /// Reads the environment through `variable`, which gives a variable's value.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = value("TERM").unwrap_or_default().to_ascii_lowercase();
        let program = value("TERM_PROGRAM")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let host = if term.is_empty() || term == "dumb" {
            Host::Dumb
        } else if term == "linux" {
            Host::Console
        } else if value("TMUX").is_some() || term.starts_with("tmux") {
            Host::Tmux
        } else if value("STY").is_some() || term.starts_with("screen") {
            Host::Screen
        } else {
            Host::Emulator
        };
        let known = EMULATORS
            .iter()
            .find(|(name, ..)| term.contains(name) || program.contains(name))
            .filter(|_| host == Host::Emulator);
        let vte = value("VTE_VERSION").is_some() && host == Host::Emulator;
        let windows = value("WT_SESSION").is_some();
        let konsole = value("KONSOLE_VERSION").is_some();
        let true_colour = value("COLORTERM")
            .is_some_and(|depth| depth == "truecolor" || depth == "24bit")
            || term.ends_with("-direct")
            || known.is_some_and(|known| known.1);
        let notice = match known {
            Some((_, _, notice, _)) => *notice,
            None if vte => Notice::Osc777,
            None if windows => Notice::Osc9,
            None => Notice::Bell,
        };
        Self {
            host,
            remote: value("SSH_TTY").or(value("SSH_CONNECTION")).is_some(),
            depth: match host {
                _ if value("NO_COLOR").is_some() => ColourDepth::None,
                Host::Dumb => ColourDepth::None,
                Host::Console => ColourDepth::Ansi,
                _ if true_colour => ColourDepth::True,
                _ if term.contains("256color") => ColourDepth::Indexed,
                _ => ColourDepth::Ansi,
            },
            notice,
            progress: known.is_some_and(|known| known.3) || windows || konsole,
            dark: value("COLORFGBG").and_then(|colours| is_dark(&colours)),
            limited: LIMITED.iter().any(|name| term.starts_with(name)),
        }
    }

    /// Whether a full-screen interface can be shown.
    pub fn is_capable(&self) -> bool {
        self.host != Host::Dumb
    }

    /// What frames may use before the terminal has answered anything.
    pub fn features(&self) -> Features {
        let strings = self.has_strings();
        Features {
            margins: !self.limited,
            erase_characters: !self.limited,
            // The kernel fills what it erases with the colour in force, and repeats nothing.
            erase_background: self.host == Host::Console,
            bracketed: strings && self.host != Host::Screen,
            links: strings && self.host != Host::Screen,
            ..Features::default()
        }
    }

    /// Whether control strings (OSC, DCS) are understood or at least skipped.
    pub fn has_strings(&self) -> bool {
        !self.limited && !matches!(self.host, Host::Console | Host::Dumb)
    }
}

/// `COLORFGBG` is foreground;background in numbers of the sixteen.
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
    fn the_environment_tells_the_kind() {
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
                    notice: Notice::Osc99,
                    dark: Some(true),
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
                    host: Host::Tmux,
                    depth: ColourDepth::Indexed,
                    ..plain.clone()
                },
            ),
            (
                &[("TERM", "xterm-ghostty"), ("NO_COLOR", "1")],
                TerminalKind {
                    depth: ColourDepth::None,
                    notice: Notice::Osc9,
                    progress: true,
                    ..plain.clone()
                },
            ),
            (
                &[("TERM", "linux"), ("COLORTERM", "truecolor")],
                TerminalKind {
                    host: Host::Console,
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
                    host: Host::Dumb,
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
    fn frames_use_what_the_kind_is_known_to_have() {
        let safe = Features::default();
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
    fn a_terminal_that_says_its_name_shows_its_colours() {
        let after = |variables: &[(&str, &str)], name: &str| {
            let mut kind = detect(variables);
            let changed = kind.call(name);
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
