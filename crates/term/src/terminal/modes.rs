//! The modes that are set while the screen is ours, and what undoes each of them. One table of switches,
//! so that nothing can be set without being reset.

use super::TerminalOptions;
use super::kind::{Host, TerminalKind};

/// How modified keys are reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Keyboard {
    /// As ever; Shift+Enter is Enter.
    #[default]
    Plain,
    /// Kitty's protocol: disambiguated keys, with the key of a Latin layout for shortcuts.
    Kitty,
    /// xterm's modifyOtherKeys.
    Xterm,
}

impl Keyboard {
    pub(super) const fn enter(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Kitty => "\x1b[>5u",
            Self::Xterm => "\x1b[>4;2m",
        }
    }

    const fn leave(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Kitty => "\x1b[<u",
            Self::Xterm => "\x1b[>4;0m",
        }
    }
}

/// When a switch is used.
type Condition = fn(&TerminalKind, TerminalOptions) -> bool;

const ALWAYS: Condition = |_, _| true;
const MOUSE: Condition = |_, options| options.mouse;
const NO_MOUSE: Condition = |kind, options| !options.mouse && kind.has_strings();
const STRINGS: Condition = |kind, _| kind.has_strings();
const PROGRESS: Condition = |kind, _| kind.progress && kind.host == Host::Emulator;
/// Without an alternate screen, or not with it by default.
const ONE_SCREEN: Condition = |kind, _| matches!(kind.host, Host::Console | Host::Screen);
const EMULATOR: Condition = |kind, _| kind.host == Host::Emulator;

/// What sets a mode, what resets it, and when. Reset in the opposite order.
const SWITCHES: &[(&str, &str, Condition)] = &[
    // The title is put aside and taken back.
    ("\x1b[22;2t", "\x1b[23;2t", EMULATOR),
    ("\x1b[?1049h", "\x1b[?1049l", ALWAYS),
    // The shell's next line would stand in the middle of what is left on the screen.
    ("", "\x1b[H\x1b[J", ONE_SCREEN),
    // Autowrap.
    ("\x1b[?7l", "\x1b[?7h", ALWAYS),
    // Bracketed paste, focus, changes between dark and light.
    ("\x1b[?2004h", "\x1b[?2004l", ALWAYS),
    ("\x1b[?1004h", "\x1b[?1004l", STRINGS),
    ("\x1b[?2031h", "\x1b[?2031l", STRINGS),
    // Buttons, drags, coordinates of any size. No motion reports.
    ("\x1b[?1000;1002;1006h", "\x1b[?1006;1002;1000l", MOUSE),
    // Without the mouse the wheel must not become arrow keys, which would walk through the history.
    ("\x1b[?1007s\x1b[?1007l", "\x1b[?1007r", NO_MOUSE),
    // Cursor shape and progress bar.
    ("", "\x1b[0 q", STRINGS),
    ("", "\x1b]9;4;0;0\x1b\\", PROGRESS),
];

/// Whatever was cut off or left set by a frame is put in order first: an open control string, a
/// synchronized update, a hyperlink, margins on all sides, colours, a hidden cursor.
const SETTLE: &str = "\x1b\\\x1b[?2026l\x1b]8;;\x1b\\\x1b[?69l\x1b[r\x1b[m\x1b[?25h";
const SETTLE_CONSOLE: &str = "\x1b[r\x1b[m\x1b[?25h";

/// Foreground, background, and those of the sixteen that `system` uses.
macro_rules! colours {
    () => {
        concat!(
            "\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]4;1;?\x1b\\\x1b]4;2;?\x1b\\",
            "\x1b]4;4;?\x1b\\\x1b]4;5;?\x1b\\"
        )
    };
}

/// Questions, fenced by the one that every terminal answers: keyboard protocol, synchronized output,
/// side margins, colours, dark or light, name, pixels of a cell, and device attributes.
const PROBES: &str = concat!(
    "\x1b[?u\x1b[?2026$p\x1b[?69$p",
    colours!(),
    "\x1b[>q\x1b[16t\x1b[c"
);

/// The question for the pixels of a cell alone, which are others when the letters are.
pub const ASK_CELL: &str = "\x1b[16t";

/// The questions for colours alone: they are asked again when the terminal turns dark or light.
pub(super) const COLOURS: &str = colours!();

pub(super) fn enter(kind: &TerminalKind, options: TerminalOptions, keyboard: Keyboard) -> String {
    let mut bytes: String = switches(kind, options).map(|(set, ..)| *set).collect();
    bytes.push_str(keyboard.enter());
    bytes
}

pub(super) fn leave(kind: &TerminalKind, options: TerminalOptions, keyboard: Keyboard) -> String {
    let settle = if kind.has_strings() {
        SETTLE
    } else {
        SETTLE_CONSOLE
    };
    let mut bytes = settle.to_owned();
    bytes.push_str(keyboard.leave());
    bytes.extend(switches(kind, options).rev().map(|(_, reset, _)| *reset));
    bytes
}

pub(super) fn probes(kind: &TerminalKind) -> &'static str {
    if kind.has_strings() { PROBES } else { "\x1b[c" }
}

fn switches(
    kind: &TerminalKind,
    options: TerminalOptions,
) -> impl DoubleEndedIterator<Item = &'static (&'static str, &'static str, Condition)> {
    SWITCHES
        .iter()
        .filter(move |(_, _, condition)| condition(kind, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Modes (`CSI ? n h` and `l`) in the order they are switched.
    fn modes(bytes: &str, end: char) -> Vec<u16> {
        let mut found = Vec::new();
        for sequence in bytes.split("\x1b[?").skip(1) {
            let length = sequence
                .find(|char: char| char.is_ascii_alphabetic())
                .unwrap();
            if sequence[length..].starts_with(end) {
                found.extend(
                    sequence[..length]
                        .split(';')
                        .map(|mode| mode.parse::<u16>().unwrap()),
                );
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn what_is_set_is_reset() {
        let kind = TerminalKind::default();
        for mouse in [false, true] {
            let options = TerminalOptions {
                mouse,
                ..TerminalOptions::default()
            };
            let entered = enter(&kind, options, Keyboard::Kitty);
            let left = leave(&kind, options, Keyboard::Kitty);
            let mut set = modes(&entered, 'h');
            let mut reset = modes(&left, 'l');
            // A frame sets these two, and autowrap is the other way round.
            reset.retain(|mode| ![69, 2026].contains(mode));
            assert_eq!(
                modes(&entered, 'l').contains(&7),
                modes(&left, 'h').contains(&7)
            );
            assert_eq!(modes(&left, 'h'), [7, 25]);
            set.sort_unstable();
            assert_eq!(set, reset);
            assert!(
                left.contains("\x1b[<u") && left.ends_with("\x1b[?1049l\x1b[23;2t"),
                "{left:?}"
            );
        }
    }

    #[test]
    fn nothing_is_left_where_there_is_one_screen() {
        for (host, cleared) in [
            (Host::Emulator, false),
            (Host::Tmux, false),
            (Host::Screen, true),
            (Host::Console, true),
        ] {
            let kind = TerminalKind {
                host,
                ..TerminalKind::default()
            };
            let left = leave(&kind, TerminalOptions::default(), Keyboard::Plain);
            assert_eq!(
                left.contains("\x1b[H\x1b[J\x1b[?1049l"),
                cleared,
                "{host:?}"
            );
        }
    }

    #[test]
    fn the_console_gets_no_control_strings() {
        let kind = TerminalKind {
            host: Host::Console,
            ..TerminalKind::default()
        };
        let options = TerminalOptions::default();
        for bytes in [
            enter(&kind, options, Keyboard::Plain),
            leave(&kind, options, Keyboard::Plain),
            probes(&kind).to_owned(),
        ] {
            assert!(
                !bytes.contains("\x1b]") && !bytes.contains(" q"),
                "{bytes:?}"
            );
        }
    }
}
