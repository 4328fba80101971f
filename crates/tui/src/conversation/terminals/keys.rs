//! The bytes that a key of the user sends to a program on a terminal.

use osier_term::KeyPress;
use osier_term::input::{KeyCode, KeyModifiers};

/// The characters that the key sends; with `application` the arrow keys send other sequences.
pub(super) fn sequence(key: KeyPress, application: bool) -> Option<String> {
    let has = |modifier| key.modifiers.contains(modifier);
    let arrow = |letter: char| match modifier_number(key.modifiers) {
        1 if application => format!("\x1bO{letter}"),
        1 => format!("\x1b[{letter}"),
        number => format!("\x1b[1;{number}{letter}"),
    };
    let tilde = |code: u8| match modifier_number(key.modifiers) {
        1 => format!("\x1b[{code}~"),
        number => format!("\x1b[{code};{number}~"),
    };
    let text = match key.code {
        KeyCode::Char(char) if has(KeyModifiers::CONTROL) => control(char)?.to_string(),
        KeyCode::Char(char) => char.to_string(),
        KeyCode::Enter => "\r".to_owned(),
        KeyCode::Tab => "\t".to_owned(),
        KeyCode::BackTab => "\x1b[Z".to_owned(),
        KeyCode::Esc => "\x1b".to_owned(),
        KeyCode::Backspace => "\x7f".to_owned(),
        KeyCode::Up => return Some(arrow('A')),
        KeyCode::Down => return Some(arrow('B')),
        KeyCode::Right => return Some(arrow('C')),
        KeyCode::Left => return Some(arrow('D')),
        KeyCode::Home => return Some(arrow('H')),
        KeyCode::End => return Some(arrow('F')),
        KeyCode::Insert => return Some(tilde(2)),
        KeyCode::Delete => return Some(tilde(3)),
        KeyCode::PageUp => return Some(tilde(5)),
        KeyCode::PageDown => return Some(tilde(6)),
        KeyCode::F(number @ 1..=4) => format!("\x1bO{}", char::from(b'O' + number)),
        KeyCode::F(number @ 5..=12) => {
            let code = [15, 17, 18, 19, 20, 21, 23, 24][usize::from(number) - 5];
            return Some(tilde(code));
        }
        _ => return None,
    };
    Some(if has(KeyModifiers::ALT) {
        format!("\x1b{text}")
    } else {
        text
    })
}

/// How xterm counts modifiers.
fn modifier_number(modifiers: KeyModifiers) -> u8 {
    let bit = |modifier, value| {
        if modifiers.contains(modifier) {
            value
        } else {
            0
        }
    };
    1 + bit(KeyModifiers::SHIFT, 1) + bit(KeyModifiers::ALT, 2) + bit(KeyModifiers::CONTROL, 4)
}

/// The control character of a key.
fn control(char: char) -> Option<char> {
    match char {
        ' ' | '@' | '2' => Some('\0'),
        'a'..='z' | '['..='_' => Some(char::from(char as u8 & 0x1f)),
        '/' | '7' => Some('\x1f'),
        '?' | '8' => Some('\x7f'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_send_what_a_terminal_sends() {
        let plain = |code| sequence(KeyPress::plain(code), false).unwrap();
        assert_eq!(plain(KeyCode::Char('é')), "é");
        assert_eq!(plain(KeyCode::Enter), "\r");
        assert_eq!(plain(KeyCode::F(1)), "\x1bOP");
        assert_eq!(plain(KeyCode::F(5)), "\x1b[15~");
        assert_eq!(plain(KeyCode::Up), "\x1b[A");
        assert_eq!(
            sequence(KeyPress::plain(KeyCode::Up), true).unwrap(),
            "\x1bOA"
        );
        assert_eq!(sequence(KeyPress::ctrl('c'), false).unwrap(), "\x03");
        let alt = KeyPress {
            code: KeyCode::Char('b'),
            modifiers: KeyModifiers::ALT,
        };
        assert_eq!(sequence(alt, false).unwrap(), "\x1bb");
        let word = KeyPress {
            code: KeyCode::Left,
            modifiers: KeyModifiers::CONTROL,
        };
        assert_eq!(sequence(word, true).unwrap(), "\x1b[1;5D");
    }
}
