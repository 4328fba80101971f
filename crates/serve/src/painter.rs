//! The grammars of the interface for pages: that layer knows neither them nor their tokens.

use std::ops::Range;

use osier_term::face::Token;
use osier_term::highlight::BlockHighlighter;
use osier_transfer::{Highlighter, MarkedLine};

/// Marks code of the languages the interface knows. Loads its grammars with the first block.
#[derive(Debug, Default)]
pub struct Painter(BlockHighlighter);

impl Highlighter for Painter {
    fn lines(&mut self, language: &str, code: &str) -> Option<Vec<MarkedLine>> {
        let lines = self.0.lines(language, code)?;
        let named = |token: Token| Token::ALL[token as usize].1;
        let line = |tokens: Vec<_>| {
            tokens
                .into_iter()
                .map(|(range, token): (Range<u32>, Token)| {
                    (range.start as usize..range.end as usize, named(token))
                })
                .collect()
        };
        Some(lines.into_iter().map(line).collect())
    }
}
