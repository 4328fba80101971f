//! The terminal modes of the interface. One table holds how to set and how to reset each mode, so
//! that nothing stays set.

use super::kind::{TerminalHost, TerminalKind};
use crate::frame::CLEAR_BELOW;

/// Features that the user can turn off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Report the mouse; the terminal's own selection then needs Shift.
    pub mouse: bool,
    /// Use the Kitty protocol or modifyOtherKeys if available.
    pub keyboard: bool,
    /// Use scroll regions.
    pub margins: bool,
    /// Put right-to-left text in visual order; `None` unless the terminal does it itself.
    pub bidi: Option<bool>,
    /// Whether the alternate screen is used at first.
    pub alternate: Alternate,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            mouse: true,
            keyboard: true,
            margins: true,
            bidi: None,
            alternate: Alternate::Always,
        }
    }
}

/// Whether the alternate screen is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternate {
    /// Until the terminal is released.
    Always,
    /// For now; the text of the terminal below it has rows of osier.
    Borrowed,
    /// Not now: osier draws below the text of the terminal.
    Off,
}

impl Alternate {
    pub(super) fn is_on(self) -> bool {
        self != Self::Off
    }
}

/// How modified keys are reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum KeyboardProtocol {
    /// The legacy encoding; Shift+Enter is Enter.
    #[default]
    Plain,
    /// The Kitty protocol: disambiguated keys, with the Latin layout key for shortcuts.
    Kitty,
    /// modifyOtherKeys of xterm.
    Xterm,
}

impl KeyboardProtocol {
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
/// While GNU screen reports the mouse, it keeps an escape until the next byte: esc would interrupt nothing.
const MOUSE: Condition =
    |kind, options| options.mouse && options.alternate.is_on() && kind.host != TerminalHost::Screen;
const ALTERNATE: Condition = |_, options| options.alternate.is_on();
const NO_MOUSE: Condition = |kind, options| !options.mouse && kind.has_strings();
const STRINGS: Condition = |kind, _| kind.has_strings();
const PROGRESS: Condition = |kind, _| kind.progress && kind.host == TerminalHost::Emulator;
const ONE_SCREEN: Condition = |kind, options| options.alternate.is_on() && has_one_screen(kind);
const EMULATOR: Condition = |kind, _| kind.host == TerminalHost::Emulator;

const ALTERNATE_ON: &str = "\x1b[?1049h";
const ALTERNATE_OFF: &str = "\x1b[?1049l";
const MOUSE_ON: &str = "\x1b[?1000;1002;1006h";
const MOUSE_OFF: &str = "\x1b[?1006;1002;1000l";

/// How to set and reset a mode, and when. Reset in reverse order.
const MODES: &[(&str, &str, Condition)] = &[
    // Push and pop the window title.
    ("\x1b[22;2t", "\x1b[23;2t", EMULATOR),
    (ALTERNATE_ON, ALTERNATE_OFF, ALTERNATE),
    // Otherwise the shell's next line would be in the middle of the remaining screen.
    ("", "\x1b[H\x1b[J", ONE_SCREEN),
    // Autowrap.
    ("\x1b[?7l", "\x1b[?7h", ALWAYS),
    // Bracketed paste, focus, changes between dark and light.
    ("\x1b[?2004h", "\x1b[?2004l", ALWAYS),
    ("\x1b[?1004h", "\x1b[?1004l", STRINGS),
    ("\x1b[?2031h", "\x1b[?2031l", STRINGS),
    // Buttons, drags, coordinates of any size. No motion reports.
    (MOUSE_ON, MOUSE_OFF, MOUSE),
    // Without the mouse, the wheel must not become arrow keys, which would move through the
    // history.
    ("\x1b[?1007s\x1b[?1007l", "\x1b[?1007r", NO_MOUSE),
    // Cursor shape and progress bar.
    ("", "\x1b[0 q", STRINGS),
    ("", "\x1b]9;4;0;0\x1b\\", PROGRESS),
];

/// Resets what an incomplete frame may leave behind: an open control string, a synchronized update,
/// a hyperlink, margins on all sides, colours, a hidden cursor.
const RESET: &str = "\x1b\\\x1b[?2026l\x1b]8;;\x1b\\\x1b[?69l\x1b[r\x1b[m\x1b[?25h";
const RESET_CONSOLE: &str = "\x1b[r\x1b[m\x1b[?25h";
/// The same for rows below the text of the terminal: margins are never set there, and to reset them would move the cursor.
const RESET_INLINE: &str = "\x1b\\\x1b[?2026l\x1b]8;;\x1b\\\x1b[m\x1b[?25h";
const RESET_INLINE_CONSOLE: &str = "\x1b[m\x1b[?25h";

/// Foreground, background, and the colours that the theme `system` uses.
macro_rules! colours {
    () => {
        concat!(
            "\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]4;1;?\x1b\\\x1b]4;2;?\x1b\\",
            "\x1b]4;4;?\x1b\\\x1b]4;5;?\x1b\\"
        )
    };
}

/// Queries for the keyboard protocol, synchronized output, side margins, colours, colour scheme,
/// name and cell size. The last one, device attributes, is answered by every terminal.
const PROBES: &str = concat!(
    "\x1b[?u\x1b[?2026$p\x1b[?69$p",
    colours!(),
    "\x1b[>q\x1b[16t\x1b[c"
);

/// Reports the mouse or no longer reports it, as `options` say.
pub(super) fn mouse(kind: &TerminalKind, options: TerminalOptions) -> &'static str {
    if MOUSE(kind, options) {
        MOUSE_ON
    } else {
        MOUSE_OFF
    }
}

/// DA1, which every terminal answers.
pub(super) const FENCE: &[u8] = b"\x1b[c";

/// Queries the cell size, which changes with the font size.
pub const QUERY_CELL_SIZE: &str = "\x1b[16t";

/// Queries the colours, again after the terminal switched between dark and light.
pub(super) const COLOURS: &str = colours!();

pub(super) fn enter(
    kind: &TerminalKind,
    options: TerminalOptions,
    keyboard: KeyboardProtocol,
) -> String {
    let mut bytes: String = active_modes(kind, options).map(|(set, ..)| *set).collect();
    bytes.push_str(keyboard.enter());
    bytes
}

pub(super) fn leave(
    kind: &TerminalKind,
    options: TerminalOptions,
    keyboard: KeyboardProtocol,
    above: u16,
) -> String {
    let reset = match (options.alternate.is_on(), kind.has_strings()) {
        (true, true) => RESET,
        (true, false) => RESET_CONSOLE,
        (false, true) => RESET_INLINE,
        (false, false) => RESET_INLINE_CONSOLE,
    };
    let mut bytes = reset.to_owned();
    bytes.push_str(keyboard.leave());
    bytes.extend(
        active_modes(kind, options)
            .rev()
            .map(|(_, reset, _)| *reset),
    );
    if options.alternate == Alternate::Borrowed {
        bytes.push_str(keyboard.leave());
    }
    if options.alternate != Alternate::Always {
        bytes.push_str(&clear_region(above));
    }
    bytes
}

/// Clears the rows of osier, which begin this many rows above the cursor; the text above them stays.
fn clear_region(above: u16) -> String {
    match above {
        0 => format!("\r{CLEAR_BELOW}"),
        above => format!("\r\x1b[{above}A{CLEAR_BELOW}"),
    }
}

/// Clears a screen from its second row on: GNU screen would store a screen that is cleared from the first one.
const CLEAR_UNSTORED: &str = "\x1b[H\x1b[K\x1b[2H\x1b[J\x1b[H";

/// Switches to the alternate screen or back, as `options` say. Each screen has its own state of the Kitty protocol.
pub(super) fn switch_screen(
    kind: &TerminalKind,
    options: TerminalOptions,
    keyboard: KeyboardProtocol,
    above: u16,
) -> String {
    let mouse = options.mouse && kind.host != TerminalHost::Screen;
    let mut bytes = String::new();
    if options.alternate.is_on() {
        if has_one_screen(kind) {
            // The next frame clears the screen, whose rows GNU screen stores.
            bytes.push_str(&clear_region(above));
        }
        bytes.push_str(ALTERNATE_ON);
        bytes.push_str(keyboard.enter());
        bytes.push_str(if mouse { MOUSE_ON } else { "" });
    } else {
        bytes.push_str(if mouse { MOUSE_OFF } else { "" });
        bytes.push_str(keyboard.leave());
        if has_one_screen(kind) {
            bytes.push_str(CLEAR_UNSTORED);
        }
        bytes.push_str(ALTERNATE_OFF);
        if keyboard == KeyboardProtocol::Xterm {
            bytes.push_str(keyboard.enter());
        }
    }
    bytes
}

/// Whether the terminal has no alternate screen, or has disabled it by default.
pub(super) fn has_one_screen(kind: &TerminalKind) -> bool {
    matches!(kind.host, TerminalHost::Console | TerminalHost::Screen)
}

pub(super) fn probes(kind: &TerminalKind) -> &'static str {
    if kind.has_strings() { PROBES } else { "\x1b[c" }
}

fn active_modes(
    kind: &TerminalKind,
    options: TerminalOptions,
) -> impl DoubleEndedIterator<Item = &'static (&'static str, &'static str, Condition)> {
    MODES
        .iter()
        .filter(move |(_, _, condition)| condition(kind, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Modes (`CSI ? n h` and `l`) in the order of the switches.
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
    fn every_mode_that_is_set_is_reset() {
        let kind = TerminalKind::default();
        for mouse in [false, true] {
            let options = TerminalOptions {
                mouse,
                ..TerminalOptions::default()
            };
            let entered = enter(&kind, options, KeyboardProtocol::Kitty);
            let left = leave(&kind, options, KeyboardProtocol::Kitty, 0);
            let mut set = modes(&entered, 'h');
            let mut reset = modes(&left, 'l');
            // A frame sets these two, and autowrap is reversed.
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
    fn screen_is_cleared_without_an_alternate_screen() {
        for (host, cleared) in [
            (TerminalHost::Emulator, false),
            (TerminalHost::Tmux, false),
            (TerminalHost::Screen, true),
            (TerminalHost::Console, true),
        ] {
            let kind = TerminalKind {
                host,
                ..TerminalKind::default()
            };
            let left = leave(
                &kind,
                TerminalOptions::default(),
                KeyboardProtocol::Plain,
                0,
            );
            assert_eq!(
                left.contains("\x1b[H\x1b[J\x1b[?1049l"),
                cleared,
                "{host:?}"
            );
        }
    }

    #[test]
    fn the_mouse_is_not_reported_in_gnu_screen() {
        for host in [
            TerminalHost::Emulator,
            TerminalHost::Tmux,
            TerminalHost::Screen,
        ] {
            let kind = TerminalKind {
                host,
                ..TerminalKind::default()
            };
            let options = TerminalOptions::default();
            let entered = enter(&kind, options, KeyboardProtocol::Plain);
            let is_reported = host != TerminalHost::Screen;
            assert_eq!(entered.contains(MOUSE_ON), is_reported, "{host:?}");
            let switch = if is_reported { MOUSE_ON } else { MOUSE_OFF };
            assert_eq!(mouse(&kind, options), switch, "{host:?}");
        }
    }

    #[test]
    fn inline_mode_leaves_the_screen_and_the_mouse_to_the_terminal() {
        let kind = TerminalKind::default();
        let of = |alternate| TerminalOptions {
            alternate,
            ..TerminalOptions::default()
        };
        let (off, borrowed) = (of(Alternate::Off), of(Alternate::Borrowed));
        let kitty = KeyboardProtocol::Kitty;
        let entered = enter(&kind, off, kitty);
        assert_eq!(modes(&entered, 'h'), [1004, 2004, 2031]);
        let left = leave(&kind, off, kitty, 3);
        assert!(!left.contains("\x1b[r"), "moves the cursor: {left:?}");
        assert!(
            left.ends_with("\x1b[23;2t\r\x1b[3A\x1b[2K\x1b[C\x1b[J\r"),
            "{left:?}"
        );
        // Each screen has its own flags of the keyboard.
        assert_eq!(
            switch_screen(&kind, borrowed, kitty, 3),
            "\x1b[?1049h\x1b[>5u\x1b[?1000;1002;1006h"
        );
        assert_eq!(
            switch_screen(&kind, off, kitty, 3),
            "\x1b[?1006;1002;1000l\x1b[<u\x1b[?1049l"
        );
        let left = leave(&kind, borrowed, kitty, 0);
        assert!(
            left.ends_with("\x1b[?1049l\x1b[23;2t\x1b[<u\r\x1b[2K\x1b[C\x1b[J\r"),
            "{left:?}"
        );
        let console = TerminalKind {
            host: TerminalHost::Console,
            ..kind
        };
        assert_eq!(
            switch_screen(&console, borrowed, KeyboardProtocol::Plain, 2),
            "\r\x1b[2A\x1b[2K\x1b[C\x1b[J\r\x1b[?1049h\x1b[?1000;1002;1006h"
        );
    }

    #[test]
    fn console_receives_no_control_strings() {
        let kind = TerminalKind {
            host: TerminalHost::Console,
            ..TerminalKind::default()
        };
        let options = TerminalOptions::default();
        for bytes in [
            enter(&kind, options, KeyboardProtocol::Plain),
            leave(&kind, options, KeyboardProtocol::Plain, 0),
            probes(&kind).to_owned(),
        ] {
            assert!(
                !bytes.contains("\x1b]") && !bytes.contains(" q"),
                "{bytes:?}"
            );
        }
    }
}
