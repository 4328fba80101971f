//! The characters of keys, and how random they are.

use std::ops::Range;

use super::table::{Characters, PLACEHOLDERS};

/// Bytes of a value at most.
const LONGEST: usize = 1024;

/// A value where a secret can be.
pub(super) struct Value {
    pub name: &'static str,
    pub range: Range<usize>,
    pub is_secret: bool,
}

impl Characters {
    pub(super) fn contain(self, byte: u8) -> bool {
        let is_narrow = matches!(self, Self::Digit | Self::Capital | Self::Hexadecimal);
        byte.is_ascii_alphanumeric() && !is_narrow
            || match self {
                Self::Word => false,
                Self::Digit => byte.is_ascii_digit(),
                Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
                Self::Hexadecimal => byte.is_ascii_hexdigit(),
                Self::Url => matches!(byte, b'-' | b'_'),
                Self::Dotted => matches!(byte, b'-' | b'_' | b'.'),
                Self::Base64 => matches!(byte, b'+' | b'/' | b'='),
                Self::Path => matches!(byte, b'/' | b'-' | b'_' | b'@' | b'.'),
                Self::Query => byte == b'%',
            }
    }
}

/// The end of the characters from `start` on.
pub(super) fn end(text: &str, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes()[start..].iter().take(LONGEST);
    let length = bytes.take_while(|byte| belongs(**byte)).count();
    text.floor_char_boundary(start + length)
}

pub(super) fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_~+/.=-".contains(&byte)
}

pub(super) fn is_inside_word(text: &str, at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| text.as_bytes()[before]);
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A key has little repetition and a part of digits and letters, or of capital and small letters, unlike words, paths and
/// placeholders.
pub(super) fn is_random(value: &str) -> bool {
    let parts = value.split(|sign: char| !sign.is_ascii_alphanumeric());
    let has_key = parts.into_iter().any(is_random_part) || is_mixed_up(value);
    has_key && entropy(value) >= 2.7 && !is_placeholder(value)
}

/// A part of a key between other characters.
fn is_random_part(part: &str) -> bool {
    if part.len() < 8 {
        return false;
    }
    // `version2` and `base64encode` have one number, which keys rarely have.
    let pairs = part.as_bytes().windows(2);
    let changes = pairs
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count();
    // Names in code have few capital letters: `createTemporaryFileForTests`.
    let capitals = part.bytes().filter(u8::is_ascii_uppercase).count();
    let has_small = part.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_letters = part.len() >= 20 && capitals * 6 >= part.len() && has_small;
    changes >= if part.len() < 16 { 3 } else { 2 } || is_letters
}

/// Short parts between other characters, with digits and letters throughout: a generated password.
fn is_mixed_up(value: &str) -> bool {
    let kinds: [fn(&u8) -> bool; 4] = [
        u8::is_ascii_digit,
        u8::is_ascii_uppercase,
        u8::is_ascii_lowercase,
        u8::is_ascii_punctuation,
    ];
    kinds
        .into_iter()
        .all(|kind| value.bytes().any(|byte| kind(&byte)))
}

/// Base64 has capital letters within, or digits; a word has none.
pub(super) fn is_mixed(value: &str) -> bool {
    let within = value.bytes().skip(1);
    within.clone().any(|byte| byte.is_ascii_lowercase())
        && within
            .clone()
            .any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    value.starts_with(['<', '$', '{']) || PLACEHOLDERS.iter().any(|part| value.contains(part))
}

/// Shannon entropy in bits per byte.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = value.len() as f64;
    let shares = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}
