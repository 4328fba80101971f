//! Secrets: text that the user typed while the terminal did not show it.

/// Number of secrets that are removed from the text for the model.
const SECRETS: usize = 16;
/// Minimum characters of a secret: shorter text occurs everywhere.
const SECRET_LENGTH: usize = 4;
/// Maximum bytes of a secret, which is the longest line of a terminal.
const LONGEST: usize = 4096;
/// The replacement of a secret.
const HIDDEN: &str = "[hidden input]";

const END_OF_INPUT: u8 = 0x04;
const INTERRUPT: u8 = 0x03;
const QUIT: u8 = 0x1c;
const ERASE_LINE: u8 = 0x15;
const ERASE_WORD: u8 = 0x17;
/// The next key is text, whatever it is.
const LITERAL: u8 = 0x16;

#[derive(Default)]
pub(super) struct Secrets {
    begun: Vec<u8>,
    is_literal: bool,
    /// The longest first: one can contain another.
    complete: Vec<String>,
}

impl Secrets {
    /// Adds typed bytes, and applies editing keys as the terminal does.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if std::mem::take(&mut self.is_literal) {
                self.begun.push(*byte);
                continue;
            }
            match *byte {
                b'\r' | b'\n' | END_OF_INPUT => self.end_line(),
                0x7f | 0x08 => {
                    self.erase();
                }
                INTERRUPT | QUIT | ERASE_LINE => self.begun.clear(),
                ERASE_WORD => self.erase_word(),
                LITERAL => self.is_literal = true,
                byte if self.begun.len() < LONGEST => self.begun.push(byte),
                _ => {}
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        let secret = String::from_utf8_lossy(&line).into_owned();
        if secret.chars().count() < SECRET_LENGTH || self.complete.contains(&secret) {
            return;
        }
        if self.complete.len() == SECRETS {
            self.complete.pop();
        }
        self.complete.push(secret);
        self.complete
            .sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// Removes the last character; returns its first byte.
    fn erase(&mut self) -> Option<u8> {
        loop {
            let byte = self.begun.pop()?;
            if !(0x80..0xc0).contains(&byte) {
                return Some(byte);
            }
        }
    }

    /// Removes the last word and what is behind it.
    fn erase_word(&mut self) {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        let mut has_word = false;
        while let Some(last) = self.begun.last().copied() {
            if has_word && !is_word(last) {
                return;
            }
            has_word |= is_word(last);
            self.erase();
        }
    }

    /// Replaces secrets in consecutive lines, and the part of one at their start or end: more can follow.
    pub(super) fn hide(&self, mut lines: Vec<String>) -> Vec<String> {
        for secret in &self.complete {
            for line in &mut lines {
                if line.contains(secret.as_str()) {
                    *line = line.replace(secret.as_str(), HIDDEN);
                }
            }
        }
        for secret in &self.complete {
            let characters: Vec<usize> = secret.char_indices().map(|(at, _)| at).collect();
            let count = characters.len();
            if let Some(first) = lines.first_mut() {
                let mut ends = (1..=count - SECRET_LENGTH).map(|at| &secret[characters[at]..]);
                if let Some(end) = ends.find(|end| first.starts_with(end)) {
                    first.replace_range(..end.len(), HIDDEN);
                }
            }
            if let Some(last) = lines.last_mut() {
                let starts = (SECRET_LENGTH..count).rev();
                let mut starts = starts.map(|at| &secret[..characters[at]]);
                if let Some(start) = starts.find(|start| last.ends_with(start)) {
                    last.truncate(last.len() - start.len());
                    last.push_str(HIDDEN);
                }
            }
        }
        lines
    }

    /// Whether nothing needs to be replaced.
    pub(super) fn is_empty(&self) -> bool {
        self.complete.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(typed: &[&[u8]], line: &str) -> String {
        let mut secrets = Secrets::default();
        for bytes in typed {
            secrets.add(bytes);
        }
        secrets.hide(vec![line.to_owned()]).concat()
    }

    #[test]
    fn lines_are_edited_as_the_terminal_does_it() {
        for typed in [
            &b"wrong\x15hunter2\r"[..],
            b"wrong one\x17\x17hunter2\r",
            b"hunter3\x7f2\r",
            b"no\x03hunter2\n",
            b"hunter2\x04",
            "hunterö\x7f2\r".as_bytes(),
        ] {
            assert_eq!(
                hidden(&[typed], "was hunter2."),
                "was [hidden input].",
                "{typed:?}"
            );
        }
        assert_eq!(hidden(&[b"with\x16\x17in\r"], "with\x17in"), HIDDEN);
        // A character in two pieces.
        assert_eq!(
            hidden(&[b"gr\xc3", b"\xbcn!\r"], "is grün!"),
            "is [hidden input]"
        );
        assert_eq!(hidden(&[b"abc\r"], "abc"), "abc");
    }

    #[test]
    fn one_secret_can_begin_as_another_does() {
        let typed: [&[u8]; 2] = [b"hunt\r", b"hunter22\r"];
        assert_eq!(
            hidden(&typed, "hunter22 hunt"),
            "[hidden input] [hidden input]"
        );
    }

    #[test]
    fn a_part_at_the_end_or_the_start_is_hidden() {
        let typed: [&[u8]; 1] = [b"longsecretvalue\r"];
        assert_eq!(hidden(&typed, "it is longsec"), "it is [hidden input]");
        assert_eq!(hidden(&typed, "longsecretvalu"), HIDDEN);
        assert_eq!(hidden(&typed, "etvalue was it"), "[hidden input] was it");
        assert_eq!(hidden(&typed, "long ago"), "long ago");
    }
}
