//! Decodes bytes into events with one state machine over a stream that may be split anywhere.
//!
//! The time is linear in the bytes, even for a paste of megabytes. Only the caller has a clock: it asks `pending` what
//! an incomplete end of the stream could be, and calls `expire` after the matching timeout.

use super::key::{KeyCode, KeyModifiers, KeyPress};
use super::reply::string_reply;
use super::sequence::{self, SequenceEvent};
use super::{InputEvent, TerminalReply};
use osier_base::text;

/// Maximum length of a control sequence and of a string reply.
const MAX_SEQUENCE: usize = 256;
const MAX_STRING: usize = 64 * 1024;
const PASTE_END: &[u8] = b"\x1b[201~";

/// The input that the decoder expects next. The caller's timeout depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingInput {
    /// The stream ends between two events.
    Nothing,
    /// A lone escape: the Esc key, or the start of a sequence.
    Escape,
    /// An introducer, which could also be a key with Alt, or the rest of a sequence.
    Sequence,
    /// The rest of a sequence that is no key with Alt.
    Partial,
    /// Nothing, or the rest of a sequence whose beginning was taken for keys.
    Late,
    /// More lines of a paste without marks.
    Lines,
    /// The rest of a paste.
    Paste,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// The bytes of an incomplete character.
    Character,
    Escape,
    Csi,
    /// `CSI [`: a function key of the Linux console.
    LinuxFunction,
    /// Remaining bytes of a mouse report in the legacy encoding.
    OldMouse(u8),
    Ss3,
    /// OSC, DCS or APC, which terminals send; the introducer.
    String(u8),
    /// An escape within a string, which ends it if a backslash follows.
    StringEscape(u8),
    Paste,
    /// Several lines that arrived at once: a paste without marks.
    Lines,
}

/// The beginning of a sequence that was taken for keys, because nothing followed in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Late {
    Escape,
    /// `ESC [`.
    Csi,
    /// No sequence but a paste without marks, which was taken for complete.
    Lines,
}

/// Decodes terminal input into events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    state: State,
    buffer: Vec<u8>,
    /// A second escape preceded the sequence: the legacy encoding of Alt.
    alt: bool,
    /// How much of a paste was already searched for its end.
    searched: usize,
    late: Option<Late>,
    /// `[` or `O` that came late after an escape: the next part of its sequence, or a key.
    held: Option<u8>,
    /// The sequence is the late rest of one whose beginning was taken for keys: nothing comes of it.
    muted: bool,
}

impl Decoder {
    /// Decodes bytes that arrived at once. Several lines are a paste, and the late rest of a sequence is not typed.
    pub(crate) fn receive(&mut self, bytes: &[u8], events: &mut Vec<InputEvent>) {
        if let Some(held) = self.held.take().filter(|held| !continues(*held, bytes)) {
            self.ground();
            events.push(InputEvent::Key(KeyPress::char(char::from(held))));
        }
        if let Some(late) = self.late {
            self.resume(late, bytes);
        }
        if self.state == State::Ground && is_several_lines(typed_part(bytes)) {
            self.state = State::Lines;
        }
        self.feed(bytes, events);
    }

    /// Decodes the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8], events: &mut Vec<InputEvent>) {
        self.late = None;
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.state {
                State::Paste => rest = self.paste(rest, events),
                State::Lines => rest = self.lines(rest, events),
                _ => {
                    let (muted, before) = (self.muted, events.len());
                    self.byte(byte, events);
                    if muted {
                        events.truncate(before);
                    }
                    rest = after;
                }
            }
        }
    }

    /// Continues a sequence whose beginning was taken for keys, if `bytes` are its rest.
    fn resume(&mut self, late: Late, bytes: &[u8]) {
        let rest = match (late, bytes) {
            (Late::Lines, [b'\r' | b'\n', _, ..]) => {
                self.state = State::Lines;
                None
            }
            (Late::Escape, [introducer @ (b'[' | b'O')]) => {
                self.held = Some(*introducer);
                Some(State::Escape)
            }
            (Late::Csi, rest) => is_end_of_csi(rest).then_some(State::Csi),
            (Late::Escape, [b'[', rest @ ..]) => is_end_of_csi(rest).then_some(State::Escape),
            (Late::Escape, [b'O', b'A'..=b'D' | b'F' | b'H' | b'P'..=b'S']) => Some(State::Escape),
            (Late::Escape, [b']', b'0'..=b'9', ..] | [b'P', b'0'..=b'9' | b'>', ..]) => {
                Some(State::Escape)
            }
            _ => None,
        };
        if let Some(state) = rest {
            self.state = state;
            self.muted = true;
        }
    }

    /// The input that the incomplete end of the stream expects.
    pub(crate) fn pending(&self) -> PendingInput {
        match self.state {
            State::Ground if self.late.is_some() => PendingInput::Late,
            State::Ground | State::Character => PendingInput::Nothing,
            State::Escape => PendingInput::Escape,
            State::Paste => PendingInput::Paste,
            State::Lines => PendingInput::Lines,
            State::OldMouse(_) => PendingInput::Partial,
            _ if self.held.is_some() => PendingInput::Sequence,
            _ if self.buffer.is_empty() && !self.muted => PendingInput::Sequence,
            _ => PendingInput::Partial,
        }
    }

    /// Handles a timeout: interprets the incomplete input as keys. A partial reply is dropped,
    /// never typed.
    pub(crate) fn expire(&mut self, events: &mut Vec<InputEvent>) {
        let alone = self.buffer.is_empty() && !self.muted;
        let late = match self.state {
            State::Escape if !self.muted => Some(Late::Escape),
            State::Csi if alone => Some(Late::Csi),
            State::Lines => Some(Late::Lines),
            _ => None,
        };
        if let Some(held) = self.held {
            events.push(InputEvent::Key(KeyPress::char(char::from(held))));
        }
        match self.state {
            State::Escape if !self.muted => self.escape_keys(events),
            State::Csi if alone => self.alt_key('[', events),
            State::Ss3 if alone => self.alt_key('O', events),
            State::String(introducer) if alone => {
                self.alt_key(char::from(introducer), events);
            }
            State::Paste | State::Lines => self.end_paste(events),
            _ => {}
        }
        self.ground();
        self.late = late;
    }

    fn byte(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        match self.state {
            State::Ground | State::Paste | State::Lines => {
                self.start(byte, KeyModifiers::NONE, events);
            }
            State::Character => self.character(byte, events),
            State::Escape => self.escape(byte, events),
            State::Csi => self.csi(byte, events),
            State::LinuxFunction => {
                let key = sequence::linux_function(byte);
                self.emit(key, events);
            }
            State::OldMouse(left) if left > 1 => self.state = State::OldMouse(left - 1),
            State::OldMouse(_) => self.ground(),
            State::Ss3 => self.ss3(byte, events),
            State::String(introducer) => self.string(introducer, byte, events),
            State::StringEscape(introducer) => {
                if byte == b'\\' {
                    self.end_string(introducer, events);
                } else {
                    // A new sequence cut off the string.
                    self.ground();
                    self.state = State::Escape;
                    self.escape(byte, events);
                }
            }
        }
    }

    /// Decodes the first byte of an event.
    fn start(&mut self, byte: u8, modifiers: KeyModifiers, events: &mut Vec<InputEvent>) {
        match byte {
            0x1b => {
                self.ground();
                self.state = State::Escape;
                return;
            }
            0x80.. => {
                self.ground();
                // Saved for the complete character.
                self.alt = modifiers.contains(KeyModifiers::ALT);
                if (0xc2..0xf5).contains(&byte) {
                    self.buffer.push(byte);
                    self.state = State::Character;
                }
                return;
            }
            _ => {}
        }
        self.ground();
        events.push(InputEvent::Key(control(byte).with(modifiers)));
    }

    fn character(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        if !(0x80..0xc0).contains(&byte) {
            self.ground();
            self.start(byte, KeyModifiers::NONE, events);
            return;
        }
        self.buffer.push(byte);
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => {
                // No key types a control character.
                let typed = text.chars().find(|char| !char.is_control());
                self.emit(typed.map(KeyPress::char), events);
            }
            Err(error) if error.error_len().is_some() => self.ground(),
            Err(_) => {}
        }
    }

    fn escape(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        let state = match byte {
            b'[' => State::Csi,
            b'O' => State::Ss3,
            b']' | b'P' | b'_' => State::String(byte),
            0x1b if self.alt => {
                events.push(InputEvent::Key(KeyPress::plain(KeyCode::Esc)));
                return;
            }
            0x1b => {
                self.alt = true;
                return;
            }
            _ => {
                if self.alt {
                    events.push(InputEvent::Key(KeyPress::plain(KeyCode::Esc)));
                }
                self.start(byte, KeyModifiers::ALT, events);
                return;
            }
        };
        self.state = state;
        self.buffer.clear();
    }

    fn csi(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        match byte {
            b'[' if self.buffer.is_empty() => self.state = State::LinuxFunction,
            b'M' if self.buffer.is_empty() => self.state = State::OldMouse(3),
            0x20..=0x3f if self.buffer.len() < MAX_SEQUENCE => self.buffer.push(byte),
            0x20..=0x3f => self.ground(),
            0x40..=0x7e => {
                let decoded = sequence::csi(&String::from_utf8_lossy(&self.buffer), byte);
                match decoded {
                    SequenceEvent::Event(InputEvent::Key(key)) => self.emit(Some(key), events),
                    SequenceEvent::Event(event) => {
                        self.separate_escape(events);
                        events.push(event);
                        self.ground();
                    }
                    SequenceEvent::PasteStart => {
                        self.separate_escape(events);
                        self.ground();
                        self.state = State::Paste;
                    }
                    SequenceEvent::Nothing => {
                        // No key has a private sequence.
                        if matches!(self.buffer.first(), Some(b'<'..=b'?')) {
                            self.separate_escape(events);
                        }
                        self.ground();
                    }
                }
            }
            _ => self.abandon(byte, events),
        }
    }

    fn ss3(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        match byte {
            b'0'..=b'9' if self.buffer.is_empty() => self.buffer.push(byte),
            0x20..=0x7e => {
                let modifiers = String::from_utf8_lossy(&self.buffer).into_owned();
                let key = sequence::ss3(&modifiers, byte);
                if key.is_none() && self.buffer.is_empty() {
                    self.alt_key('O', events);
                    self.start(byte, KeyModifiers::NONE, events);
                } else {
                    self.emit(key, events);
                }
            }
            _ if self.buffer.is_empty() => {
                self.alt_key('O', events);
                self.start(byte, KeyModifiers::NONE, events);
            }
            _ => self.abandon(byte, events),
        }
    }

    fn string(&mut self, introducer: u8, byte: u8, events: &mut Vec<InputEvent>) {
        match byte {
            0x07 => self.end_string(introducer, events),
            0x1b => self.state = State::StringEscape(introducer),
            0x20.. if self.buffer.len() < MAX_STRING => self.buffer.push(byte),
            // Too long for any reply; skip to the end.
            0x20.. => {}
            _ if self.buffer.is_empty() => {
                self.alt_key(char::from(introducer), events);
                self.start(byte, KeyModifiers::NONE, events);
            }
            _ => self.abandon(byte, events),
        }
    }

    fn end_string(&mut self, introducer: u8, events: &mut Vec<InputEvent>) {
        let body = String::from_utf8_lossy(&self.buffer);
        let reply: Option<TerminalReply> = string_reply(introducer, &body);
        self.separate_escape(events);
        events.extend(reply.map(InputEvent::Reply));
        self.ground();
    }

    /// Drops an invalid sequence; the byte starts a new one.
    fn abandon(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        self.ground();
        self.start(byte, KeyModifiers::NONE, events);
    }

    /// Consumes the part of `bytes` that belongs to the paste; returns the rest.
    fn paste<'a>(&mut self, bytes: &'a [u8], events: &mut Vec<InputEvent>) -> &'a [u8] {
        let before = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        let from = self.searched.saturating_sub(PASTE_END.len() - 1);
        let found = self.buffer[from..]
            .windows(PASTE_END.len())
            .position(|window| window == PASTE_END);
        let Some(found) = found else {
            self.searched = self.buffer.len();
            return &[];
        };
        let end = from + found;
        self.buffer.truncate(end);
        self.end_paste(events);
        &bytes[end + PASTE_END.len() - before..]
    }

    /// Consumes the part of `bytes` that belongs to a paste without marks; returns the rest.
    fn lines<'a>(&mut self, bytes: &'a [u8], events: &mut Vec<InputEvent>) -> &'a [u8] {
        let part = typed_part(bytes);
        self.buffer.extend_from_slice(part);
        if part.len() < bytes.len() {
            self.end_paste(events);
        }
        &bytes[part.len()..]
    }

    fn end_paste(&mut self, events: &mut Vec<InputEvent>) {
        let pasted = String::from_utf8_lossy(&self.buffer);
        events.push(InputEvent::Paste(clean_paste(&pasted)));
        self.ground();
    }

    fn escape_keys(&mut self, events: &mut Vec<InputEvent>) {
        let count = if self.alt { 2 } else { 1 };
        let escape = InputEvent::Key(KeyPress::plain(KeyCode::Esc));
        events.extend(std::iter::repeat_n(escape, count));
    }

    /// The escape before a sequence that is no key was a key of its own: a reply of the terminal can follow it directly.
    fn separate_escape(&self, events: &mut Vec<InputEvent>) {
        if self.alt {
            events.push(InputEvent::Key(KeyPress::plain(KeyCode::Esc)));
        }
    }

    fn alt_key(&mut self, char: char, events: &mut Vec<InputEvent>) {
        self.separate_escape(events);
        events.push(InputEvent::Key(KeyPress::alt(char)));
        self.ground();
    }

    fn emit(&mut self, key: Option<KeyPress>, events: &mut Vec<InputEvent>) {
        let alt = if self.alt {
            KeyModifiers::ALT
        } else {
            KeyModifiers::NONE
        };
        events.extend(key.map(|key| InputEvent::Key(key.with(alt))));
        self.ground();
    }

    fn ground(&mut self) {
        self.state = State::Ground;
        self.alt = false;
        self.muted = false;
        self.held = None;
        self.searched = 0;
        // Free the memory of a huge paste.
        if self.buffer.capacity() > MAX_STRING {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
    }
}

/// The bytes before the first one that no paste has: an escape or another control character.
fn typed_part(bytes: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
    let end = bytes.iter().position(|byte| !is_text(byte));
    &bytes[..end.unwrap_or(bytes.len())]
}

/// Whether bytes that arrived at once are lines of a paste: nobody types a line break and more
/// within one read. Over a slow connection two short answers can arrive together; they are keys.
fn is_several_lines(text: &[u8]) -> bool {
    const SHORT: usize = 4;
    let is_break = |byte: &&u8| matches!(byte, b'\n' | b'\r');
    let inner = text.trim_ascii();
    let breaks = inner.iter().filter(is_break).count();
    breaks > 1 || (breaks == 1 && inner.len() > SHORT)
}

/// Whether `bytes` are the rest of a control sequence after its introducer: parameters and a letter, or a letter alone.
fn is_end_of_csi(bytes: &[u8]) -> bool {
    let parameters = bytes
        .iter()
        .take_while(|byte| matches!(byte, 0x20..=0x3f))
        .count();
    match bytes.get(parameters) {
        None => parameters > 0,
        Some(b'A'..=b'Z' | b'a'..=b'z' | b'~') if parameters > 0 => true,
        Some(b'A'..=b'Z') => bytes.len() == 1,
        Some(_) => false,
    }
}

/// Whether `bytes` continue the sequence that `introducer` began after an escape.
fn continues(introducer: u8, bytes: &[u8]) -> bool {
    match introducer {
        b'[' => is_end_of_csi(bytes),
        _ => matches!(bytes, [b'A'..=b'D' | b'F' | b'H' | b'P'..=b'S']),
    }
}

/// The key of a byte below 0x80 other than escape.
fn control(byte: u8) -> KeyPress {
    match byte {
        0x00 => KeyPress::ctrl(' '),
        b'\t' => KeyPress::plain(KeyCode::Tab),
        b'\r' => KeyPress::plain(KeyCode::Enter),
        0x01..=0x1a => KeyPress::ctrl(char::from(byte + b'a' - 1)),
        0x1c..=0x1f => KeyPress::ctrl(char::from(byte + b'@')),
        0x7f => KeyPress::plain(KeyCode::Backspace),
        _ => KeyPress::char(char::from(byte)),
    }
}

/// The separators of lines and pages in pasted text. Removed like other control characters, they would join words.
const SEPARATORS: [char; 6] = ['\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}', '\u{1e}'];

/// Cleans pasted text: line breaks become newlines, and control sequences are removed. Some
/// multiplexers encode control characters in a paste as keys.
fn clean_paste(pasted: &str) -> String {
    let decoded = if pasted.contains(";5u") {
        pasted
            .replace("\x1b[105;5u", "\t")
            .replace("\x1b[106;5u", "\n")
            .replace("\x1b[109;5u", "\n")
    } else {
        pasted.to_owned()
    };
    let lines = if decoded.contains('\r') {
        decoded.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        decoded
    };
    let lines = if lines.contains(SEPARATORS) {
        lines.replace(SEPARATORS, "\n")
    } else {
        lines
    };
    let lines = lines.strip_prefix('\u{feff}').unwrap_or(&lines);
    let shown = if lines.contains(text::is_invisible) {
        show_invisible(lines)
    } else {
        lines.to_owned()
    };
    text::sanitize(&shown).into_owned()
}

/// Writes the characters that nobody sees as `\u{200f}`: what is sent is what the user reads.
fn show_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if text::is_invisible(char) {
            shown.extend(char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    shown
}

#[cfg(test)]
mod tests;
