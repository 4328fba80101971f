//! Percent-encoding of URLs (RFC 3986): every byte except the unreserved ones becomes `%XX`.

use percent_encoding::{
    AsciiSet, NON_ALPHANUMERIC, percent_decode_str as decode, percent_encode as encode,
};

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// `bytes` as one path segment: slashes are encoded.
pub fn segment(bytes: &[u8]) -> String {
    encode(bytes, SEGMENT).to_string()
}

/// `bytes` as a path: slashes stay.
pub fn path(bytes: &[u8]) -> String {
    encode(bytes, PATH).to_string()
}

/// `a%20b` as `a b`. Invalid codes stay; invalid UTF-8 becomes U+FFFD.
pub fn decoded(text: &str) -> String {
    decode(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_encoded_and_decoded() {
        let name = "a b/ä%~-._".as_bytes();
        assert_eq!(segment(name), "a%20b%2F%C3%A4%25~-._");
        assert_eq!(path(name), "a%20b/%C3%A4%25~-._");
        assert_eq!(path(b"\xff"), "%FF");
        assert_eq!(decoded("a%20b%2f%C3%A4"), "a b/ä");
        assert_eq!(decoded("100% %2 %zz %FF"), "100% %2 %zz \u{fffd}");
    }
}
