//! The signed ranges of a text.
//!
//! The vendor signs single parts of its stream and requires each signature on exactly its part,
//! while the parts are displayed as one text. So a block records its signed ranges, and is split at
//! them when it is sent back. Text between signed ranges can be sent as one part.

use serde::{Deserialize, Serialize};

/// Prefix of the ids generated for calls that the server sent without an id. They are never sent back.
pub(super) const GENERATED_ID: &str = "nameless";

/// The signed ranges, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SignedRanges(Vec<SignedRange>);

/// A signed range of a text, in bytes. Serialized as an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, usize, String)", into = "(usize, usize, String)")]
pub(super) struct SignedRange {
    pub start: usize,
    pub length: usize,
    pub signature: String,
}

impl From<(usize, usize, String)> for SignedRange {
    fn from((start, length, signature): (usize, usize, String)) -> Self {
        Self {
            start,
            length,
            signature,
        }
    }
}

impl From<SignedRange> for (usize, usize, String) {
    fn from(range: SignedRange) -> Self {
        (range.start, range.length, range.signature)
    }
}

/// A part of a text and its signature, if it is signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextPart<'a> {
    pub text: &'a str,
    pub signature: Option<&'a str>,
}

impl SignedRanges {
    pub(super) fn add(&mut self, range: SignedRange) {
        self.0.push(range);
    }

    /// Encodes the ranges as the signature of a block; `None` without signed ranges.
    pub(super) fn write(&self) -> Option<String> {
        let ranges = Some(&self.0).filter(|ranges| !ranges.is_empty())?;
        serde_json::to_string(ranges).ok()
    }

    /// Parses the output of `write`. Other text results in no ranges.
    pub(super) fn read(signature: Option<&str>) -> Self {
        let read = signature.and_then(|text| serde_json::from_str(text).ok());
        Self(read.unwrap_or_default())
    }

    /// The parts of `text`, in order, with their signatures. Ranges outside of `text` are ignored.
    pub(super) fn split<'a>(&'a self, text: &'a str) -> Vec<TextPart<'a>> {
        let mut parts = Vec::new();
        let mut position = 0;
        for range in &self.0 {
            let Some(end) = range.start.checked_add(range.length) else {
                continue;
            };
            let (Some(before), Some(signed)) =
                (text.get(position..range.start), text.get(range.start..end))
            else {
                continue;
            };
            if !before.is_empty() {
                parts.push(TextPart {
                    text: before,
                    signature: None,
                });
            }
            parts.push(TextPart {
                text: signed,
                signature: Some(&range.signature),
            });
            position = end;
        }
        if let Some(rest) = text.get(position..).filter(|rest| !rest.is_empty()) {
            parts.push(TextPart {
                text: rest,
                signature: None,
            });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'a>(text: &'a str, signature: Option<&'a str>) -> TextPart<'a> {
        TextPart { text, signature }
    }

    #[test]
    fn signed_parts_round_trip() {
        let mut ranges = SignedRanges::default();
        ranges.add((2, 3, "s".to_owned()).into());
        ranges.add((8, 0, "end".to_owned()).into());
        let written = ranges.write().unwrap();
        assert_eq!(written, r#"[[2,3,"s"],[8,0,"end"]]"#);
        let read = SignedRanges::read(Some(&written));
        assert_eq!(read, ranges);
        assert_eq!(
            read.split("ab漢def"),
            [
                part("ab", None),
                part("漢", Some("s")),
                part("def", None),
                part("", Some("end"))
            ]
        );
        // A text with other ranges.
        assert_eq!(read.split("漢"), [part("漢", None)]);
        assert_eq!(SignedRanges::read(Some("opaque")), SignedRanges::default());
        assert_eq!(SignedRanges::default().write(), None);
    }
}
