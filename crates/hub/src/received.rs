//! Commands that clients have sent to a session: their keys, so that none is executed twice, and
//! commands that arrive in parts.

use std::collections::{HashSet, VecDeque};

use serde::Deserialize;

/// How many keys are remembered in addition to those of the file.
const REMEMBERED_KEYS: usize = 256;
/// How many commands can arrive in parts at the same time, and their maximum bytes.
const UPLOADS: usize = 16;
const UPLOAD_BYTES: usize = 64 * 1024 * 1024;

/// The idempotency keys of a session.
#[derive(Debug)]
pub(super) struct SeenKeys {
    /// The keys of messages in the session file.
    stored: HashSet<String>,
    last: VecDeque<String>,
}

impl SeenKeys {
    pub(super) fn new(stored: HashSet<String>) -> Self {
        let last = VecDeque::new();
        Self { stored, last }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.stored.contains(key) || self.last.iter().any(|known| known == key)
    }

    /// Records a key. Returns false if it is already known.
    pub(super) fn claim(&mut self, key: &str) -> bool {
        if self.has(key) {
            return false;
        }
        if self.last.len() == REMEMBERED_KEYS {
            self.last.pop_front();
        }
        self.last.push_back(key.to_owned());
        true
    }
}

/// A part of the frame of a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// The bytes of the frame before this part.
    pub at: usize,
    /// The bytes of the complete frame.
    pub of: usize,
    /// The text of this part. If it is empty, the client asks how many bytes have arrived.
    pub text: String,
}

/// The commands that are not complete yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Uploads(VecDeque<(String, String)>);

impl Uploads {
    /// Adds a part. Returns how many bytes have arrived, and the text when it is complete. A part
    /// that does not start there has no effect: the answer tells the client where to continue.
    pub(super) fn add(&mut self, key: &str, piece: &Piece) -> (usize, Option<String>) {
        let found = self.0.iter().position(|(known, _)| known == key);
        let index = found.unwrap_or_else(|| {
            while self.0.len() >= UPLOADS || self.bytes() + piece.of > UPLOAD_BYTES {
                if self.0.pop_front().is_none() {
                    break;
                }
            }
            self.0.push_back((key.to_owned(), String::new()));
            self.0.len() - 1
        });
        let (_, text) = &mut self.0[index];
        if piece.at == text.len() && text.len() + piece.text.len() <= piece.of {
            text.push_str(&piece.text);
        }
        let received = text.len();
        let is_complete = received == piece.of && received > 0;
        let complete = is_complete.then(|| self.0.remove(index)).flatten();
        (received, complete.map(|(_, text)| text))
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(_, text)| text.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_continue_where_the_upload_is() {
        let mut uploads = Uploads::default();
        let mut add = |key: &str, at, text: &str| {
            let text = text.to_owned();
            uploads.add(key, &Piece { at, of: 6, text })
        };
        assert_eq!(add("a", 0, ""), (0, None));
        assert_eq!(add("a", 0, "abc"), (3, None));
        assert_eq!(add("b", 0, "x"), (1, None));
        // A part that is sent again, one after a gap, and one that is too long.
        assert_eq!(add("a", 0, "abc"), (3, None));
        assert_eq!(add("a", 5, "f"), (3, None));
        assert_eq!(add("a", 3, "defg"), (3, None));
        assert_eq!(add("a", 3, "def"), (6, Some("abcdef".to_owned())));
        assert_eq!(add("a", 0, ""), (0, None));
        assert_eq!(add("b", 1, ""), (1, None));
    }

    #[test]
    fn a_key_is_claimed_once_also_if_it_is_stored() {
        let mut keys = SeenKeys::new(HashSet::from(["stored".to_owned()]));
        assert!(!keys.claim("stored"));
        assert!(keys.claim("new") && !keys.claim("new"));
        for number in 0..2 * REMEMBERED_KEYS {
            assert!(keys.claim(&number.to_string()));
        }
        assert!(!keys.claim("stored"));
    }
}
