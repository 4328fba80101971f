//! Entry ids as numbers, so that a large index stores no text.
//!
//! Ids from osier are eight ASCII bytes, which fit the number. Other ids, from files of other programs, are stored
//! once and numbered.

use std::collections::HashMap;

/// An entry id within one session. Only keys of the same [`Keys`] can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

/// Set in the keys of ids stored as text. ASCII never sets this bit.
const TEXT: u64 = 1 << 63;

/// The ids that are not eight ASCII bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u64>,
}

impl Key {
    /// The key of an id with eight ASCII bytes.
    pub(super) fn plain(id: &[u8]) -> Option<Self> {
        let bytes = <[u8; 8]>::try_from(id).ok()?;
        bytes.is_ascii().then(|| Self(u64::from_be_bytes(bytes)))
    }

    /// The key of eight hexadecimal digits that depend on `key` and `salt`.
    pub(super) fn derived(key: Self, salt: u64) -> Self {
        let bytes = [key.0.to_be_bytes(), salt.to_be_bytes()].concat();
        // FNV-1a
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let digits = format!("{:08x}", (hash ^ hash >> 32) as u32);
        let mut id = [0; 8];
        id.copy_from_slice(digits.as_bytes());
        Self(u64::from_be_bytes(id))
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

impl Keys {
    /// The key of `id`, if it is known or has osier's format.
    pub(super) fn find(&self, id: &str) -> Option<Key> {
        Key::plain(id.as_bytes()).or_else(|| self.numbers.get(id).map(|number| Key(*number)))
    }

    /// The key of `id`; stores unknown text.
    pub(super) fn key(&mut self, id: &str) -> Key {
        if let Some(key) = self.find(id) {
            return key;
        }
        let number = TEXT | self.texts.len() as u64;
        self.texts.push(id.into());
        self.numbers.insert(id.into(), number);
        Key(number)
    }

    /// Appends the id of `key` to `text`.
    pub(super) fn write(&self, key: Key, text: &mut String) {
        let bytes = key.0.to_be_bytes();
        match std::str::from_utf8(&bytes) {
            Ok(plain) if key.0 & TEXT == 0 => text.push_str(plain),
            _ => text.push_str(&self.text(key)),
        }
    }

    /// The id of `key`.
    pub(super) fn text(&self, key: Key) -> String {
        if key.0 & TEXT == 0 {
            return String::from_utf8_lossy(&key.0.to_be_bytes()).into_owned();
        }
        let location = (key.0 & !TEXT) as usize;
        self.texts
            .get(location)
            .map(ToString::to_string)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
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
