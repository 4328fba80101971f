//! Tokens of bots at Discord, which have no prefix: three parts separated by dots, of which the
//! first is a number in Base64.

use std::ops::Range;

use memchr::memchr_iter;

use super::signs::is_random;
use super::table::Characters;

/// The kind of secret.
pub(super) const NAME: &str = "Discord token";

/// The lengths of the three parts.
const PARTS: [Range<usize>; 3] = [23..29, 6..8, 27..45];

/// The positions of the tokens in `text`, in order.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for point in memchr_iter(b'.', bytes) {
        let is_part = |byte: &&u8| Characters::Url.contain(**byte);
        let first = bytes[..point]
            .iter()
            .rev()
            .take(PARTS[0].end)
            .take_while(is_part)
            .count();
        if !PARTS[0].contains(&first) || !matches!(bytes[point - first], b'M' | b'N' | b'O') {
            continue;
        }
        let after = &bytes[point + 1..];
        let second = after.iter().take(PARTS[1].end).take_while(is_part).count();
        if !PARTS[1].contains(&second) || after.get(second) != Some(&b'.') {
            continue;
        }
        let third = after[second + 1..]
            .iter()
            .take(PARTS[2].end)
            .take_while(is_part)
            .count();
        let range = point - first..point + second + third + 2;
        if PARTS[2].contains(&third) && is_random(&text[range.clone()]) {
            found.push(range);
        }
    }
    found
}
