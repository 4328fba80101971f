//! Syntax highlighting of HTML pages with the grammars of the terminal interface.

use std::ops::Range;

use osier_term::face::Token;
use osier_term::highlight::BlockHighlighter;
use osier_transfer::{Highlighter, MarkedLine};

/// Highlights code in all languages of the terminal interface. Loads the grammars with the first block.
#[derive(Debug, Default)]
pub struct SyntaxHighlighter(BlockHighlighter);

impl Highlighter for SyntaxHighlighter {
    fn lines(&mut self, language: &str, code: &str) -> Option<Vec<MarkedLine>> {
        let lines = self.0.lines(language, code)?;
        let named = |marked: (Range<u32>, Token)| {
            let (range, token) = marked;
            let (_, name) = Token::ALL[token as usize];
            (range.start as usize..range.end as usize, name)
        };
        let line = |tokens: Vec<_>| tokens.into_iter().map(named).collect();
        Some(lines.into_iter().map(line).collect())
    }
}
