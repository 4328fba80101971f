//! Encodings of text files: which one a file has, and a changed text in the same one.
//!
//! UTF-8 and a byte order mark are certain. Other encodings are recognized by their characters, as browsers do it. A text is
//! written only in the encoding in which it was read, and only if that has all its characters. In a short text whose encoding
//! is not certain, a new character is written only if all likely encodings have the same byte for it.

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, ISO_8859_2, ISO_8859_4, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1250, WINDOWS_1252,
    WINDOWS_1254, WINDOWS_1257,
};
use thiserror::Error;

const MARK: char = '\u{feff}';

/// With this many characters beyond ASCII, the detector is nearly always right. Hungarian, Romanian and Estonian stay unreliable.
const CERTAIN: usize = 32;

/// The encoding of a text file.
#[derive(Debug, Clone, Copy)]
pub struct TextEncoding {
    encoding: &'static Encoding,
    /// The file begins with a byte order mark. That of UTF-8 is a part of the text.
    has_mark: bool,
    /// The file has only those characters of Windows-1252 that ISO-8859-1 has too.
    is_latin_1: bool,
    /// The bytes from 0x80 on that the file does not have, and that stand for other characters in another likely encoding.
    uncertain: u128,
}

impl PartialEq for TextEncoding {
    fn eq(&self, other: &Self) -> bool {
        (self.encoding, self.has_mark, self.is_latin_1)
            == (other.encoding, other.has_mark, other.is_latin_1)
    }
}

impl Eq for TextEncoding {}

/// The text of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    pub text: Cow<'a, str>,
    pub encoding: TextEncoding,
    /// Encoding the text gives the bytes of the file again. If not, the text has `�` for some bytes.
    pub is_exact: bool,
}

/// A text has a character that its file cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the file is {encoding} text{why} `{character}`; use other characters, or convert the file to UTF-8 first with bash: `iconv`"
)]
pub struct MissingCharacter {
    encoding: TextEncoding,
    why: &'static str,
    character: char,
}

/// The text with these bytes; `None` for binary data.
pub fn decode(bytes: &[u8]) -> Option<Decoded<'_>> {
    let (marked, mark) = Encoding::for_bom(bytes).unzip();
    let body = &bytes[mark.unwrap_or_default()..];
    let with = |encoding| TextEncoding {
        encoding,
        has_mark: marked.is_some(),
        is_latin_1: encoding == WINDOWS_1252
            && !body.iter().any(|byte| (0x80..0xa0).contains(byte)),
        uncertain: if marked.is_none() {
            uncertain_bytes(encoding, body)
        } else {
            0
        },
    };
    let is_utf_16 = marked.is_some_and(|encoding| encoding != UTF_8);
    if !is_utf_16 {
        if let Ok(text) = str::from_utf8(bytes) {
            return Some(Decoded {
                text: text.into(),
                encoding: with(UTF_8),
                is_exact: true,
            });
        }
        if body.contains(&0) {
            return None;
        }
    }
    let encoding = with(marked.unwrap_or_else(|| guess(body)));
    let (text, _) = encoding.encoding.decode_without_bom_handling(body);
    let is_exact = encoding.encode(&text).is_ok_and(|again| *again == *bytes);
    Some(Decoded {
        text,
        encoding,
        is_exact,
    })
}

/// The text of these bytes and its encoding, if the encoding writes the text as the same bytes.
pub fn exact_text(bytes: Vec<u8>) -> Option<(String, TextEncoding)> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => Some((text, TextEncoding::PLAIN)),
        Err(error) => decode(error.as_bytes())
            .filter(|decoded| decoded.is_exact)
            .map(|decoded| (decoded.text.into_owned(), decoded.encoding)),
    };
    text.filter(|(text, _)| !text.contains('\0'))
}

/// The most likely encoding of a text that is not valid UTF-8.
fn guess(bytes: &[u8]) -> &'static Encoding {
    // Damaged UTF-8 has more characters of several bytes than invalid bytes.
    let (mut characters, mut invalid) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        characters += chunk
            .valid()
            .chars()
            .filter(|char| !char.is_ascii())
            .count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    if characters > invalid {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// The bit of a byte from 0x80 on.
fn bit(byte: u8) -> u128 {
    byte.checked_sub(0x80).map_or(0, |place| 1 << place)
}

/// The character of a byte in an encoding of one byte per character.
fn character(encoding: &'static Encoding, byte: u8) -> Option<char> {
    let bytes = [byte];
    let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes)?;
    text.chars().next()
}

/// The bytes for `uncertain` of a text that was recognized as `encoding`.
fn uncertain_bytes(encoding: &'static Encoding, bytes: &[u8]) -> u128 {
    // Short texts do not distinguish these encodings. A text that is recognized as Windows-1252 has
    // no other letters of theirs.
    let alike = [
        WINDOWS_1250,
        WINDOWS_1254,
        WINDOWS_1257,
        ISO_8859_2,
        ISO_8859_4,
    ];
    let beyond_ascii = || bytes.iter().copied().filter(|byte| !byte.is_ascii());
    if !alike.contains(&encoding) || beyond_ascii().count() >= CERTAIN {
        return 0;
    }
    let used = beyond_ascii().fold(0, |used, byte| used | bit(byte));
    let is_likely = |other: &'static Encoding| {
        beyond_ascii().all(|byte| character(other, byte).is_some_and(char::is_alphabetic))
    };
    let likely: Vec<&'static Encoding> = alike
        .into_iter()
        .chain([WINDOWS_1252])
        .filter(|&other| other != encoding && is_likely(other))
        .collect();
    let differs = |byte: &u8| {
        let letter = character(encoding, *byte).filter(|char| char.is_alphabetic());
        let text = letter.map(String::from).unwrap_or_default();
        likely.iter().any(|other| {
            let (bytes, _, lacks_it) = other.encode(&text);
            !lacks_it && !bytes.is_empty() && *bytes != [*byte]
        })
    };
    let differing = (0x80..=0xff).filter(differs);
    differing.fold(0, |uncertain, byte| uncertain | bit(byte)) & !used
}

impl TextEncoding {
    /// UTF-8 without a byte order mark.
    pub const PLAIN: Self = Self {
        encoding: UTF_8,
        has_mark: false,
        is_latin_1: false,
        uncertain: 0,
    };

    /// The contents of a file with this text.
    ///
    /// # Errors
    /// The encoding lacks a character.
    pub fn encode<'t>(&self, text: &'t str) -> Result<Cow<'t, [u8]>, MissingCharacter> {
        if !self.has_mark && self.encoding == UTF_8 {
            return Ok(text.as_bytes().into());
        }
        let unmarked = text.strip_prefix(MARK).unwrap_or(text);
        if self.encoding == UTF_8 {
            return Ok(if unmarked.len() == text.len() {
                format!("{MARK}{text}").into_bytes().into()
            } else {
                text.as_bytes().into()
            });
        }
        if self.encoding == UTF_16LE || self.encoding == UTF_16BE {
            let bytes = if self.encoding == UTF_16LE {
                u16::to_le_bytes
            } else {
                u16::to_be_bytes
            };
            let mut units = [0; 2];
            let text = std::iter::once(MARK).chain(unmarked.chars());
            let units = text.flat_map(|char| char.encode_utf16(&mut units).to_vec());
            return Ok(units.flat_map(bytes).collect::<Vec<u8>>().into());
        }
        let (bytes, _, lacks_some) = self.encoding.encode(text);
        let missing = |why, character| MissingCharacter {
            encoding: *self,
            why,
            character,
        };
        if (lacks_some || self.is_latin_1)
            && let Some(character) = text.chars().find(|char| self.lacks(*char))
        {
            return Err(missing(", which has no", character));
        }
        if self.uncertain != 0
            && let Some(byte) = bytes.iter().find(|byte| self.uncertain & bit(**byte) != 0)
        {
            let character = character(self.encoding, *byte).unwrap_or(char::REPLACEMENT_CHARACTER);
            let why = " or text of a similar encoding, which has another byte for";
            return Err(missing(why, character));
        }
        Ok(bytes)
    }

    /// Whether the encoding is UTF-8 or UTF-16.
    pub(crate) fn is_unicode(&self) -> bool {
        [UTF_8, UTF_16LE, UTF_16BE].contains(&self.encoding)
    }

    fn lacks(&self, char: char) -> bool {
        let is_beyond = self.is_latin_1 && !matches!(char, '\0'..='\x7f' | '\u{a0}'..='\u{ff}');
        is_beyond || self.encoding.encode(char.encode_utf8(&mut [0; 4])).2
    }

    /// A line for the model about a file that is not UTF-8.
    pub(crate) fn note(&self) -> String {
        if self.encoding == UTF_8 {
            String::new()
        } else {
            format!("[the file is {self} text; edit and write keep this encoding]\n")
        }
    }
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_latin_1 {
            "ISO-8859-1"
        } else {
            self.encoding.name()
        })?;
        formatter.write_str(if self.has_mark {
            " (with a byte order mark)"
        } else {
            ""
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, bytes and text of files in other encodings.
    fn samples() -> Vec<(&'static str, Vec<u8>, &'static str)> {
        let of = |encoding: &'static Encoding, text: &'static str| {
            let (bytes, _, lacks_some) = encoding.encode(text);
            assert!(!lacks_some, "{text}");
            bytes.into_owned()
        };
        let japanese = "// 日本語のコメントです\nint main() { return 0; } // テスト\n";
        let russian = "// Это русский комментарий\nint x = 1; // и ещё один\n";
        let chinese = "// 这是中文注释，用于测试编码检测\nint x = 1;\n";
        vec![
            ("UTF-8", "é\n".into(), "é\n"),
            (
                "UTF-8 (with a byte order mark)",
                "\u{feff}é\r\n".into(),
                "\u{feff}é\r\n",
            ),
            (
                "UTF-16LE (with a byte order mark)",
                b"\xff\xfea\0\xe9\0\n\0\x3d\xd8\x00\xde".to_vec(),
                "aé\n😀",
            ),
            (
                "UTF-16BE (with a byte order mark)",
                b"\xfe\xff\0a\0\xe9\0\n".to_vec(),
                "aé\n",
            ),
            ("ISO-8859-1", b"caf\xe9\nb\n".to_vec(), "café\nb\n"),
            (
                "windows-1252",
                b"\x93caf\xe9\x94 costs 5 \x80\n".to_vec(),
                "“café” costs 5 €\n",
            ),
            ("Shift_JIS", of(encoding_rs::SHIFT_JIS, japanese), japanese),
            ("EUC-JP", of(encoding_rs::EUC_JP, japanese), japanese),
            (
                "windows-1251",
                of(encoding_rs::WINDOWS_1251, russian),
                russian,
            ),
            ("GBK", of(encoding_rs::GBK, chinese), chinese),
        ]
    }

    #[test]
    fn encodings_are_recognized_and_written_again() {
        for (name, bytes, text) in samples() {
            let decoded = decode(&bytes).unwrap();
            let found = (
                decoded.encoding.to_string(),
                &*decoded.text,
                decoded.is_exact,
            );
            assert_eq!(found, (name.to_owned(), text, true));
            let changed = format!("{text}more\n");
            let written = decoded.encoding.encode(&changed).unwrap();
            assert!(written.starts_with(&bytes), "{name}");
            assert_eq!(decode(&written).unwrap().text, changed, "{name}");
        }
    }

    #[test]
    fn characters_that_an_encoding_lacks_are_named() {
        let encoding = |bytes: &[u8]| decode(bytes).unwrap().encoding;
        let missing = |bytes: &[u8], text| encoding(bytes).encode(text).unwrap_err().to_string();
        assert_eq!(
            missing(b"caf\xe9", "5 €"),
            "the file is ISO-8859-1 text, which has no `€`; use other characters, or convert the file to UTF-8 first with bash: `iconv`"
        );
        assert!(
            missing(b"\x93caf\xe9\x94", "→")
                .starts_with("the file is windows-1252 text, which has no `→`")
        );
        assert!(missing(b"caf\xe9", "\u{85}").contains("ISO-8859-1"));
        // A mark that a text lacks is written.
        for (bytes, text) in [("\u{feff}é".as_bytes(), "ü"), (b"\xff\xfea\0", "ü")] {
            let written = encoding(bytes).encode(text).unwrap();
            assert_eq!(encoding(&written), encoding(bytes));
        }
    }

    #[test]
    fn a_short_text_of_an_uncertain_encoding_gets_no_byte_that_may_be_another_character() {
        let bytes = WINDOWS_1254.encode("şifre değer\n").0;
        let decoded = decode(&bytes).unwrap();
        let encoding = decoded.encoding;
        assert_eq!(encoding.to_string(), "windows-1250");
        assert_eq!(
            encoding.encode("ş").unwrap_err().to_string(),
            "the file is windows-1250 text or text of a similar encoding, which has another byte for `ş`; use other characters, or convert the file to UTF-8 first with bash: `iconv`"
        );
        // Existing characters are written as they were, and so are new characters with the same
        // byte in all likely encodings.
        let kept = format!("{}more öü\n", decoded.text);
        let written = encoding.encode(&kept).unwrap();
        assert_eq!(*written, [&*bytes, b"more \xf6\xfc\n"].concat());
        // A longer text is certain.
        let text = "şifre değer açık öğle günü ışık ".repeat(4);
        let (bytes, ..) = WINDOWS_1254.encode(&text);
        let encoding = decode(&bytes).unwrap().encoding;
        assert_eq!(encoding.to_string(), "windows-1254");
        assert_eq!(*encoding.encode("Ş").unwrap(), [0xde]);
    }

    #[test]
    fn binary_data_is_no_text_and_damaged_text_is_not_exact() {
        assert_eq!(decode(b"\xff\0\x01"), None);
        for (bytes, text, name) in [
            (
                &b"\xff\xfea\0b"[..],
                "a\u{fffd}",
                "UTF-16LE (with a byte order mark)",
            ),
            (
                b"\xff\xfe\0\xd8",
                "\u{fffd}",
                "UTF-16LE (with a byte order mark)",
            ),
            ("é ü ö \u{e4}".as_bytes(), "é ü ö ä", "UTF-8"),
            (b"\xc3\xa9 \xc3\xbc \xff", "é ü \u{fffd}", "UTF-8"),
        ] {
            let decoded = decode(bytes).unwrap();
            assert_eq!(
                (&*decoded.text, decoded.encoding.to_string()),
                (text, name.to_owned())
            );
            assert_eq!(decoded.is_exact, !text.contains('\u{fffd}'));
        }
        assert_eq!(exact_text(b"\xc3\xa9 \xc3\xbc \xff".to_vec()), None);
        let text = |bytes: &[u8]| exact_text(bytes.to_vec()).map(|(text, _)| text);
        assert_eq!(text(b"caf\xe9").as_deref(), Some("café"));
        assert_eq!(text(b"a\0b"), None);
    }
}
