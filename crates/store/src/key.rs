//! Ids of entries as numbers: an index of a hundred thousand entries holds no text.
//!
//! An id this program gives is eight bytes of ASCII and is its own number. Any other, from a file that
//! something else wrote, is kept once and numbered.

use std::collections::HashMap;

/// An id of one session. Comparable only with those of the same [`Keys`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

/// Set in the numbers of ids that are kept as text; no ASCII text has it.
const KEPT: u64 = 1 << 63;

/// The ids that are not eight bytes of ASCII.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    kept: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u64>,
}

impl Key {
    /// The key of an id of this program's own form.
    pub(super) fn plain(id: &[u8]) -> Option<Self> {
        let bytes = <[u8; 8]>::try_from(id).ok()?;
        bytes.is_ascii().then(|| Self(u64::from_be_bytes(bytes)))
    }
}

impl Keys {
    /// The key of `id`, if an entry may have it.
    pub(super) fn find(&self, id: &str) -> Option<Key> {
        Key::plain(id.as_bytes()).or_else(|| self.numbers.get(id).map(|number| Key(*number)))
    }

    /// The key of `id`.
    pub(super) fn key(&mut self, id: &str) -> Key {
        if let Some(key) = self.find(id) {
            return key;
        }
        let number = KEPT | self.kept.len() as u64;
        self.kept.push(id.into());
        self.numbers.insert(id.into(), number);
        Key(number)
    }

    /// Adds the id that `key` stands for to `text`.
    pub(super) fn write(&self, key: Key, text: &mut String) {
        let bytes = key.0.to_be_bytes();
        match std::str::from_utf8(&bytes) {
            Ok(plain) if key.0 & KEPT == 0 => text.push_str(plain),
            _ => text.push_str(&self.text(key)),
        }
    }

    /// The id that `key` stands for.
    pub(super) fn text(&self, key: Key) -> String {
        if key.0 & KEPT == 0 {
            return String::from_utf8_lossy(&key.0.to_be_bytes()).into_owned();
        }
        let place = (key.0 & !KEPT) as usize;
        self.kept
            .get(place)
            .map(ToString::to_string)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_comes_back_as_it_was() {
        let mut keys = Keys::default();
        for id in ["0000000a", "1", "", "a longer one", "höher67"] {
            let key = keys.key(id);
            assert_eq!(keys.text(key), id);
            assert_eq!(keys.find(id), Some(key));
            assert_eq!(keys.key(id), key);
        }
        assert_eq!(keys.find("2"), None);
        assert!(keys.find("0000000b").is_some());
    }
}
