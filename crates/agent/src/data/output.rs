//! Tool output for display: text without control sequences, with its colours. Only the text is stored and
//! sent to a model.

use serde::{Deserialize, Serialize};

use osier_base::ansi;
use osier_base::ansi::Run;

/// Output without control sequences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Output {
    pub text: String,
    /// Bytes that were dropped before `text` because they arrived too fast.
    pub skipped: u64,
    /// The coloured parts of `text`, by byte.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub colours: Vec<Run>,
    /// Whether `text` rewrites the current line, as progress bars do. It then starts with a newline: remove
    /// that newline and the earlier text of the line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarts: bool,
    /// How many lines before the current one `text` rewrites too, if `restarts` is set: remove them as well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up: u32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Output {
    /// Maximum number of coloured parts after a merge.
    const MAX_COLOURS: usize = 8192;

    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Appends `next`. Beyond `limit` bytes, the oldest text is dropped and counted as skipped.
    pub fn merge(&mut self, next: &Self, limit: usize) {
        if next.skipped > 0 {
            // Text before a gap counts as skipped.
            self.skipped += self.text.len() as u64 + next.skipped;
            *self = Self {
                skipped: self.skipped,
                ..Self::default()
            };
        }
        let mut dropped = 0;
        if next.restarts {
            let mut ends = self.text.rmatch_indices('\n');
            if let Some((newline, _)) = ends.nth(next.up as usize) {
                self.text.truncate(newline + 1);
                dropped = 1;
            } else {
                // The first of the lines starts in text that was already sent.
                let lines = self.text.matches('\n').count() as u32;
                self.up += next.up - (lines - u32::from(self.restarts));
                self.text.clear();
                self.restarts = true;
            }
            self.truncate_colours();
        }
        let shift = self.text.len() as u32;
        self.text.push_str(&next.text[dropped..]);
        self.colours.extend(next.colours.iter().map(|run| Run {
            start: run.start.saturating_sub(dropped as u32) + shift,
            end: run.end.saturating_sub(dropped as u32) + shift,
            style: run.style,
        }));
        if self.text.len() > limit {
            let start = self.text.ceil_char_boundary(self.text.len() - limit);
            self.drop_start(start);
            self.skipped += start as u64;
        }
        let surplus = self.colours.len().saturating_sub(Self::MAX_COLOURS);
        self.colours.drain(..surplus);
    }

    /// Like `merge`, for the complete output of a call: there is no earlier text to which a
    /// restarted line could belong.
    pub fn append(&mut self, next: &Self, limit: usize) {
        self.merge(next, limit);
        self.up = 0;
        if std::mem::take(&mut self.restarts) {
            self.drop_start(1);
        }
    }

    fn drop_start(&mut self, bytes: usize) {
        self.text.drain(..bytes);
        self.colours = ansi::part(&self.colours, bytes..usize::MAX).collect();
    }

    /// Removes the colours after the end of the text.
    fn truncate_colours(&mut self) {
        let end = self.text.len() as u32;
        let count = self.colours.partition_point(|run| run.start < end);
        self.colours.truncate(count);
        if let Some(last) = self.colours.last_mut() {
            last.end = last.end.min(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_base::ansi::{Hue, Style};

    fn output(text: &str, coloured: &[(u32, u32)], restarts: bool) -> Output {
        let style = Style {
            fg: Some(Hue::Named(1)),
            ..Style::default()
        };
        let run = |&(start, end)| Run { start, end, style };
        Output {
            text: text.to_owned(),
            colours: coloured.iter().map(run).collect(),
            restarts,
            ..Output::default()
        }
    }

    #[test]
    fn merge_preserves_colours() {
        let mut all = Output::default();
        all.append(&output("one\n10%", &[(4, 7)], false), 100);
        all.append(&output("\n20%", &[(1, 4)], true), 100);
        all.append(&output("\n30% done\n", &[(1, 4)], true), 100);
        assert_eq!(all, output("one\n30% done\n", &[(4, 7)], false));
        all.append(&output("red", &[(0, 3)], false), 8);
        assert_eq!(all.text, "done\nred");
        assert_eq!(all.colours, output("", &[(5, 8)], false).colours);
        assert_eq!(all.skipped, 8);
    }

    #[test]
    fn lines_above_are_replaced_too() {
        let up = |text: &str, up| Output {
            up,
            ..output(text, &[], true)
        };
        let all = Output::plain("a\nb\nc\nd");
        let mut joined = all.clone();
        joined.append(&up("\nB\nC", 2), 100);
        assert_eq!(joined, Output::plain("a\nB\nC"));
        // Waiting updates are merged with the same result.
        for (first, second) in [
            (up("\nB\nC", 2), up("\nX", 0)),
            (up("\nB\nC", 2), up("\nX", 1)),
            (up("\nB\nC", 2), up("\nX\nY", 2)),
            (Output::plain("e\nf"), up("\nX", 0)),
            (Output::plain("e\nf"), up("\nX", 1)),
            (Output::plain("e\nf"), up("\nX", 3)),
        ] {
            let mut merged = first.clone();
            merged.merge(&second, 100);
            let mut at_once = all.clone();
            at_once.append(&merged, 100);
            let mut one_by_one = all.clone();
            one_by_one.append(&first, 100);
            one_by_one.append(&second, 100);
            assert_eq!(at_once, one_by_one, "{first:?} {second:?}");
        }
    }

    #[test]
    fn a_restarted_line_replaces_its_earlier_text() {
        let mut pending = output("10%", &[(0, 3)], false);
        pending.merge(&output("\n20%", &[(1, 4)], true), 100);
        assert_eq!(pending, output("\n20%", &[(1, 4)], true));
        let mut all = Output::plain("a\nfrom ");
        all.append(&pending, 100);
        assert_eq!(all, output("a\n20%", &[(2, 5)], false));
        let mut first = Output::plain("0%");
        first.append(&pending, 100);
        assert_eq!(first, output("20%", &[(0, 3)], false));
    }
}
