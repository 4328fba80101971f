//! Bytes as hexadecimal digits, for digests and tokens.

use std::fmt::Write as _;

/// Two lower-case digits for each byte.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(super::hex([0, 0x0a, 0xff]), "000aff");
    }
}
