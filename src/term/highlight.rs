//! (being written)

use std::ops::Range;

use super::face::Token;

/// The coloured parts of one line, by byte.
pub type LineTokens = Vec<(Range<u32>, Token)>;
