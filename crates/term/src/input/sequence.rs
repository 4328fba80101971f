//! Parses one complete control sequence with tables of final bytes and numbers, and the Kitty and
//! xterm encodings of modified keys. Unknown sequences are ignored, never typed.

use super::key::{KeyCode, KeyModifiers, KeyPress};
use super::reply::TerminalReply;
use super::{InputEvent, MouseButton, MouseEventKind, MouseInput};

/// The result of a control sequence for the decoder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SequenceEvent {
    Event(InputEvent),
    PasteStart,
    Nothing,
}

/// Final bytes of `CSI` and `SS3` that are keys.
const FINALS: &[(u8, KeyCode)] = &[
    (b'A', KeyCode::Up),
    (b'B', KeyCode::Down),
    (b'C', KeyCode::Right),
    (b'D', KeyCode::Left),
    (b'E', KeyCode::KeypadBegin),
    (b'F', KeyCode::End),
    (b'H', KeyCode::Home),
    (b'P', KeyCode::F(1)),
    (b'Q', KeyCode::F(2)),
    (b'R', KeyCode::F(3)),
    (b'S', KeyCode::F(4)),
    (b'Z', KeyCode::BackTab),
];

/// Numbers of `CSI n ~`.
const NUMBERS: &[(u16, KeyCode)] = &[
    (1, KeyCode::Home),
    (2, KeyCode::Insert),
    (3, KeyCode::Delete),
    (4, KeyCode::End),
    (5, KeyCode::PageUp),
    (6, KeyCode::PageDown),
    (7, KeyCode::Home),
    (8, KeyCode::End),
    (11, KeyCode::F(1)),
    (12, KeyCode::F(2)),
    (13, KeyCode::F(3)),
    (14, KeyCode::F(4)),
    (15, KeyCode::F(5)),
    (17, KeyCode::F(6)),
    (18, KeyCode::F(7)),
    (19, KeyCode::F(8)),
    (20, KeyCode::F(9)),
    (21, KeyCode::F(10)),
    (23, KeyCode::F(11)),
    (24, KeyCode::F(12)),
    (25, KeyCode::F(13)),
    (26, KeyCode::F(14)),
    (28, KeyCode::F(15)),
    (29, KeyCode::F(16)),
    (31, KeyCode::F(17)),
    (32, KeyCode::F(18)),
    (33, KeyCode::F(19)),
    (34, KeyCode::F(20)),
];

/// Kitty's numbers of function and keypad keys.
const KITTY: &[(u32, KeyCode)] = &[
    (9, KeyCode::Tab),
    (13, KeyCode::Enter),
    (27, KeyCode::Esc),
    (127, KeyCode::Backspace),
    (57361, KeyCode::PrintScreen),
    (57362, KeyCode::Pause),
    (57363, KeyCode::Menu),
    (57409, KeyCode::Char('.')),
    (57410, KeyCode::Char('/')),
    (57411, KeyCode::Char('*')),
    (57412, KeyCode::Char('-')),
    (57413, KeyCode::Char('+')),
    (57414, KeyCode::Enter),
    (57415, KeyCode::Char('=')),
    (57416, KeyCode::Char(',')),
    (57417, KeyCode::Left),
    (57418, KeyCode::Right),
    (57419, KeyCode::Up),
    (57420, KeyCode::Down),
    (57421, KeyCode::PageUp),
    (57422, KeyCode::PageDown),
    (57423, KeyCode::Home),
    (57424, KeyCode::End),
    (57425, KeyCode::Insert),
    (57426, KeyCode::Delete),
    (57427, KeyCode::KeypadBegin),
];

/// Final bytes of `SS3` from the keypad in application mode.
const KEYPAD: &str = "j*k+l,m-n.o/p0q1r2s3t4u5v6w7x8y9X=";

/// Parses `CSI parameters final`; the parameters include intermediates.
pub(super) fn csi(parameters: &str, end: u8) -> SequenceEvent {
    let event = match parameters.as_bytes().first() {
        Some(b'<') => mouse(&parameters[1..], end).map(InputEvent::Mouse),
        Some(b'?') => reply(&parameters[1..], end).map(InputEvent::Reply),
        Some(b'>' | b'=') => None,
        _ => match (end, parameters) {
            (b'~', "200") => return SequenceEvent::PasteStart,
            (b'I', "") => Some(InputEvent::FocusGained),
            (b'O', "") => Some(InputEvent::FocusLost),
            (b't', _) => report(parameters),
            _ => key(parameters, end).map(InputEvent::Key),
        },
    };
    event.map_or(SequenceEvent::Nothing, SequenceEvent::Event)
}

/// Parses `SS3 final` with optional modifiers before the final byte.
pub(super) fn ss3(modifiers: &str, end: u8) -> Option<KeyPress> {
    let modifiers = modifiers_of(modifiers.parse().unwrap_or(1));
    let keypad = || {
        let position = KEYPAD.bytes().step_by(2).position(|key| key == end)?;
        Some(KeyCode::Char(char::from(
            KEYPAD.as_bytes()[position * 2 + 1],
        )))
    };
    let code = match end {
        b'M' => KeyCode::Enter,
        b'a'..=b'd' => {
            let arrow = find(FINALS, end.to_ascii_uppercase())?;
            return Some(KeyPress::new(arrow, KeyModifiers::CONTROL));
        }
        _ => find(FINALS, end).or_else(keypad)?,
    };
    Some(KeyPress::new(code, modifiers))
}

/// Function keys F1 to F5 of the Linux console: `CSI [ A` to `CSI [ E`.
pub(super) fn linux_function(end: u8) -> Option<KeyPress> {
    (b'A'..=b'E')
        .contains(&end)
        .then(|| KeyPress::plain(KeyCode::F(end - b'A' + 1)))
}

fn key(parameters: &str, end: u8) -> Option<KeyPress> {
    let mut fields = parameters.split(';');
    let first = fields.next().unwrap_or_default();
    let second = fields.next().unwrap_or_default();
    let (modifiers, event) = split(second);
    let mut modifiers = modifiers_of(modifiers.unwrap_or(1));
    if event == Some(3) {
        return None;
    }
    let code = match end {
        b'u' => return kitty(first, modifiers),
        b'~' if first == "27" => {
            let code = char::from_u32(fields.next()?.parse().ok()?)?;
            return Some(KeyPress::new(code_of(code)?, modifiers));
        }
        b'~' => find(NUMBERS, first.parse().ok()?)?,
        // rxvt: the final byte encodes the modifier.
        b'^' | b'@' => {
            modifiers |= KeyModifiers::CONTROL;
            if end == b'@' {
                modifiers |= KeyModifiers::SHIFT;
            }
            find(NUMBERS, first.parse().ok()?)?
        }
        b'a'..=b'd' if parameters.is_empty() => {
            modifiers |= KeyModifiers::SHIFT;
            find(FINALS, end.to_ascii_uppercase())?
        }
        _ => find(FINALS, end)?,
    };
    Some(KeyPress::new(code, modifiers))
}

/// `code:shifted:base ; modifiers u`.
fn kitty(first: &str, modifiers: KeyModifiers) -> Option<KeyPress> {
    let mut codes = first.split(':').map(|code| code.parse::<u32>().ok());
    let code = codes.next()??;
    let shifted = codes.next().flatten();
    let base = codes.next().flatten();
    if let Some(code) = find(KITTY, code) {
        return Some(KeyPress::new(code, modifiers));
    }
    let code = match code {
        57376..=57398 => KeyCode::F((code - 57376 + 13) as u8),
        57399..=57408 => KeyCode::Char(char::from_digit(code - 57399, 10)?),
        // Modifiers, media keys and unassigned codes.
        0xe000..=0xf8ff => return None,
        _ => {
            let command = modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
            let shift = modifiers.contains(KeyModifiers::SHIFT);
            // A shortcut on a non-Latin layout means the key at the same position of a Latin one.
            let code = match (base, shifted) {
                (Some(base), _) if command && code > 0x7f => base,
                (_, Some(shifted)) if shift && !modifiers.contains(KeyModifiers::CONTROL) => {
                    shifted
                }
                _ => code,
            };
            code_of(char::from_u32(code)?)?
        }
    };
    Some(KeyPress::new(code, modifiers))
}

/// The key of a character; no key types a control character.
fn code_of(char: char) -> Option<KeyCode> {
    Some(match char {
        '\r' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\x1b' => KeyCode::Esc,
        '\x7f' | '\x08' => KeyCode::Backspace,
        char if char.is_control() => return None,
        char => KeyCode::Char(char),
    })
}

/// `modifiers:event`.
fn split(field: &str) -> (Option<u16>, Option<u16>) {
    let mut parts = field.split(':').map(|part| part.parse().ok());
    (parts.next().flatten(), parts.next().flatten())
}

/// The protocols count modifiers from 1; lock states are not modifiers.
fn modifiers_of(number: u16) -> KeyModifiers {
    const BITS: [(u16, KeyModifiers); 6] = [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
        (8, KeyModifiers::SUPER),
        (16, KeyModifiers::HYPER),
        (32, KeyModifiers::META),
    ];
    let number = number.saturating_sub(1);
    BITS.iter()
        .filter(|(bit, _)| number & bit != 0)
        .fold(KeyModifiers::NONE, |all, (_, modifier)| all | *modifier)
}

/// `button ; column ; row`, then `M` for a press and `m` for a release.
fn mouse(parameters: &str, end: u8) -> Option<MouseInput> {
    let [button, column, row] = numbers(parameters)?;
    let which = match button & 3 {
        0 => Some(MouseButton::Left),
        1 => Some(MouseButton::Middle),
        2 => Some(MouseButton::Right),
        _ => None,
    };
    let kind = match (button & 0b1110_0000, which) {
        (64, Some(MouseButton::Left)) => MouseEventKind::ScrollUp,
        (64, Some(MouseButton::Middle)) => MouseEventKind::ScrollDown,
        (64, Some(MouseButton::Right)) => MouseEventKind::ScrollLeft,
        (64, None) => MouseEventKind::ScrollRight,
        (32, Some(which)) => MouseEventKind::Drag(which),
        (32, None) => MouseEventKind::Moved,
        (0, Some(which)) if end == b'm' => MouseEventKind::Up(which),
        (0, Some(which)) if end == b'M' => MouseEventKind::Down(which),
        _ => return None,
    };
    let bits = [
        (4, KeyModifiers::SHIFT),
        (8, KeyModifiers::ALT),
        (16, KeyModifiers::CONTROL),
    ];
    Some(MouseInput {
        kind,
        column: column.saturating_sub(1),
        row: row.saturating_sub(1),
        modifiers: bits
            .iter()
            .filter(|(bit, _)| button & bit != 0)
            .fold(KeyModifiers::NONE, |all, (_, modifier)| all | *modifier),
    })
}

fn reply(parameters: &str, end: u8) -> Option<TerminalReply> {
    match end {
        b'u' => parameters.parse().ok().map(TerminalReply::KeyboardFlags),
        b'c' => Some(TerminalReply::DeviceAttributes(
            parameters
                .split(';')
                .filter_map(|part| part.parse().ok())
                .collect(),
        )),
        b'y' => {
            let [mode, state] = numbers(parameters.strip_suffix('$')?)?;
            Some(TerminalReply::Mode { mode, state })
        }
        b'n' => match numbers(parameters)? {
            [997, scheme] => Some(TerminalReply::DarkScheme(scheme == 1)),
            _ => None,
        },
        _ => None,
    }
}

/// Window reports: the size in cells (mode 2048) and the size of a cell.
fn report(parameters: &str) -> Option<InputEvent> {
    let fields: Vec<u16> = parameters
        .split(';')
        .map_while(|part| part.split(':').next()?.parse().ok())
        .collect();
    match *fields.as_slice() {
        [48, rows, columns, ..] => Some(InputEvent::Resize(columns, rows)),
        [6, height, width] => Some(InputEvent::Reply(TerminalReply::CellSize(width, height))),
        _ => None,
    }
}

fn numbers<const COUNT: usize>(parameters: &str) -> Option<[u16; COUNT]> {
    let mut fields = parameters.split(';');
    let mut found = [0; COUNT];
    for slot in &mut found {
        *slot = fields.next()?.parse().ok()?;
    }
    Some(found)
}

fn find<K: PartialEq + Copy>(table: &[(K, KeyCode)], key: K) -> Option<KeyCode> {
    table
        .iter()
        .find(|(candidate, _)| *candidate == key)
        .map(|(_, code)| *code)
}
