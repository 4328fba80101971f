//! Very long lines of code: minified scripts, encoded data. The starts of their rows are stored, so
//! that a delta costs only the last row, and drawing only the drawn rows.

use std::ops::Range;

use super::code_line;
use osier_term::highlight::LineTokens;
use osier_term::row::Row;
use osier_term::wrap::{Wrap, clusters, row_starts};

/// Minimum bytes of a line whose row starts are stored.
pub(super) const LONG: usize = 4 * 1024;

/// The starts of the rows of a line, for one width.
#[derive(Debug, Clone, Default)]
pub(super) struct LongLine {
    /// Starts of the rows after the first.
    starts: Vec<usize>,
    /// Bytes of the line when it was measured last.
    length: usize,
    /// Bytes that were wrapped so far.
    pub(super) read: usize,
}

impl LongLine {
    /// The number of rows of `line`. Text may have been added to its end since the last call.
    pub(super) fn height(&mut self, line: &str, wrap: &Wrap<'_>) -> usize {
        let last = self.starts.last().copied().unwrap_or(0);
        if line.len() < self.length || !line.is_char_boundary(last) {
            *self = Self::default();
        }
        if line.len() > self.length {
            self.length = line.len();
            // All rows but the last are full and never change.
            let last = self.starts.last().copied().unwrap_or(0);
            let open = &line[last..];
            self.read += open.len();
            let before = self.starts.len();
            row_starts(clusters(open), wrap.text_width(), false, &mut self.starts);
            for start in &mut self.starts[before..] {
                *start += last;
            }
        }
        self.starts.len() + 1
    }

    /// Appends a range of the rows that `height` counted.
    pub(super) fn rows(
        &self,
        range: Range<usize>,
        line: &str,
        tokens: Option<&LineTokens>,
        wrap: &Wrap<'_>,
        out: &mut Vec<Row>,
    ) {
        for index in range.start..range.end.min(self.starts.len() + 1) {
            let start = index.checked_sub(1).map_or(0, |before| self.starts[before]);
            let end = self.starts.get(index).copied().unwrap_or(line.len());
            let Some(part) = line.get(start..end) else {
                return;
            };
            let tokens = tokens.map(|tokens| tokens_in(tokens, start as u32..end as u32));
            let first = out.len();
            code_line::rows(part, tokens.as_ref(), wrap, out);
            out.truncate(first + 1);
            if let Some(row) = out.last_mut() {
                row.continues = index > 0;
            }
        }
    }
}

/// The tokens of a part of a line, counted from its start.
fn tokens_in(tokens: &LineTokens, part: Range<u32>) -> LineTokens {
    let first = tokens.partition_point(|(range, _)| range.end <= part.start);
    tokens[first..]
        .iter()
        .take_while(|(range, _)| range.start < part.end)
        .map(|(range, token)| {
            let start = range.start.max(part.start) - part.start;
            let end = range.end.min(part.end) - part.start;
            (start..end, *token)
        })
        .collect()
}
