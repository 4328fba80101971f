//! A definition, and how the index stores it.

use std::ops::Range;

use crate::kind::Kind;

/// Maximum bytes of a name: people do not write longer names.
const NAME_LIMIT: usize = 100;
/// Maximum number of stored definitions of a file.
pub(crate) const PER_FILE: usize = 1000;

/// A symbol that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The line, from 1.
    pub(crate) line: u32,
    /// How many other files use the name, at most 255.
    pub(crate) uses: u8,
}

impl Definition {
    /// A definition with the name at `range`.
    pub(crate) fn of(text: &[u8], range: Range<usize>, kind: Kind) -> Option<Self> {
        let name = text.get(range).filter(|name| name.len() <= NAME_LIMIT)?;
        let name = std::str::from_utf8(name).ok()?;
        let is_plain =
            !name.is_empty() && !name.chars().any(|char| char.is_control() || char == ' ');
        is_plain.then(|| Self {
            name: name.to_owned(),
            kind,
            line: 0,
            uses: 0,
        })
    }

    /// Appends the definition to `stored`: kind, uses, line, length of the name, name.
    pub(crate) fn store(&self, stored: &mut Vec<u8>) {
        let length = u8::try_from(self.name.len()).unwrap_or(0);
        stored.extend([self.kind as u8, self.uses]);
        stored.extend(self.line.to_le_bytes());
        stored.push(length);
        stored.extend(&self.name.as_bytes()[..usize::from(length)]);
    }
}

/// A definition in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored<'a> {
    pub(crate) kind: Kind,
    pub(crate) uses: u8,
    pub(crate) line: u32,
    pub(crate) name: &'a str,
    /// The position of `uses` in the bytes.
    pub(crate) uses_at: usize,
}

impl Stored<'_> {
    pub(crate) fn to_definition(self) -> Definition {
        Definition {
            name: self.name.to_owned(),
            kind: self.kind,
            line: self.line,
            uses: self.uses,
        }
    }
}

/// The stored definitions in `bytes`; damaged ones end the list.
pub(crate) fn stored(bytes: &[u8]) -> impl Iterator<Item = Stored<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let head = bytes.get(at..at + 7)?;
        let kind = Kind::numbered(head[0])?;
        let line = u32::from_le_bytes([head[2], head[3], head[4], head[5]]);
        let end = at + 7 + usize::from(head[6]);
        let name = std::str::from_utf8(bytes.get(at + 7..end)?).ok()?;
        let found = Stored {
            kind,
            uses: head[1],
            line,
            name,
            uses_at: at + 1,
        };
        at = end;
        Some(found)
    })
}

/// The number of a name in the lists of uses.
pub(crate) fn hash(name: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = name.len() as u64;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = (state.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    (state >> 32) as u32
}
