//! Bytes to events, one state machine over a stream that may be cut anywhere.
//!
//! Linear in the bytes, also for a paste of megabytes. Only the caller knows the time: it asks `waiting`
//! what an unfinished end of the stream could be, and calls `expire` when nothing followed for as long as
//! that takes.

use crossterm::event::{KeyCode, KeyModifiers};

use super::key::KeyPress;
use super::reply::string_reply;
use super::sequence::{self, Meaning};
use super::{InputEvent, TerminalReply};
use osier_base::text;

/// Longest control sequence and longest string reply that is waited for.
const LONGEST_SEQUENCE: usize = 256;
const LONGEST_STRING: usize = 64 * 1024;
const PASTE_END: &[u8] = b"\x1b[201~";

/// What the decoder waits for, which is how long the caller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing: the stream ends between two events.
    Nothing,
    /// A lone escape: the Esc key, or the start of something.
    Escape,
    /// An introducer that could also be a key with Alt, or the rest of a sequence that is under way.
    Sequence,
    /// The rest of a paste.
    Paste,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// The bytes of a character so far.
    Character,
    Escape,
    Csi,
    /// `CSI [`: a function key of the Linux console.
    LinuxFunction,
    /// Bytes left of a mouse report in the old form.
    OldMouse(u8),
    Ss3,
    /// OSC, DCS or APC, the ones that terminals send; the introducer.
    String(u8),
    /// An escape within a string: its end, if a backslash follows.
    StringEscape(u8),
    Paste,
}

/// Turns terminal input into events.
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
    buffer: Vec<u8>,
    /// A second escape came before the sequence: Alt, in the old way.
    alt: bool,
    /// How much of a paste was searched for its end.
    searched: usize,
}

impl Decoder {
    /// Decodes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<InputEvent>) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.state == State::Paste {
                rest = self.paste(rest, events);
            } else {
                self.byte(byte, events);
                rest = after;
            }
        }
    }

    /// What the end of the stream so far waits for.
    pub fn waiting(&self) -> Waiting {
        match self.state {
            State::Ground | State::Character => Waiting::Nothing,
            State::Escape => Waiting::Escape,
            State::Paste => Waiting::Paste,
            _ => Waiting::Sequence,
        }
    }

    /// Nothing followed in time: what is there is taken as it is. A part of a reply is dropped, never
    /// typed.
    pub fn expire(&mut self, events: &mut Vec<InputEvent>) {
        let alone = self.buffer.is_empty();
        match self.state {
            State::Escape => self.escape_keys(events),
            State::Csi if alone => self.alt_key('[', events),
            State::Ss3 if alone => self.alt_key('O', events),
            State::String(introducer) if alone => {
                self.alt_key(char::from(introducer), events);
            }
            State::Paste => self.end_paste(events),
            _ => {}
        }
        self.ground();
    }

    fn byte(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        match self.state {
            State::Ground | State::Paste => self.start(byte, KeyModifiers::NONE, events),
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
                    // The string was cut off by a new sequence.
                    self.ground();
                    self.state = State::Escape;
                    self.escape(byte, events);
                }
            }
        }
    }

    /// A byte between two events.
    fn start(&mut self, byte: u8, modifiers: KeyModifiers, events: &mut Vec<InputEvent>) {
        match byte {
            0x1b => {
                self.ground();
                self.state = State::Escape;
                return;
            }
            0x80.. => {
                self.ground();
                // Kept for the character that is to be completed.
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
                let key = text.chars().next().map(KeyPress::char);
                self.emit(key, events);
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
            0x20..=0x3f if self.buffer.len() < LONGEST_SEQUENCE => self.buffer.push(byte),
            0x20..=0x3f => self.ground(),
            0x40..=0x7e => {
                let meaning = sequence::csi(&String::from_utf8_lossy(&self.buffer), byte);
                match meaning {
                    Meaning::Event(InputEvent::Key(key)) => self.emit(Some(key), events),
                    Meaning::Event(event) => {
                        events.push(event);
                        self.ground();
                    }
                    Meaning::PasteStart => {
                        self.ground();
                        self.state = State::Paste;
                    }
                    Meaning::Nothing => self.ground(),
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
            0x20.. if self.buffer.len() < LONGEST_STRING => self.buffer.push(byte),
            // Too long for any reply; the rest is dropped up to its end.
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
        events.extend(reply.map(InputEvent::Reply));
        self.ground();
    }

    /// A sequence that cannot go on like this: it is dropped, and the byte starts something new.
    fn abandon(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        self.ground();
        self.start(byte, KeyModifiers::NONE, events);
    }

    /// Takes the part of `bytes` that belongs to the paste and returns the rest.
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

    fn alt_key(&mut self, char: char, events: &mut Vec<InputEvent>) {
        if self.alt {
            events.push(InputEvent::Key(KeyPress::plain(KeyCode::Esc)));
        }
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
        self.searched = 0;
        // A huge paste does not stay in memory.
        if self.buffer.capacity() > LONGEST_STRING {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
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

/// Pasted text as text: line ends are newlines, and control sequences go. Some multiplexers send control
/// characters within a paste in the encoding of keys.
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
    text::sanitize(&lines).into_owned()
}

#[cfg(test)]
mod tests;
