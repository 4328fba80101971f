//! Output on its way to who watches: text without control sequences, and beside it what it looked like. Only
//! the text is ever stored or read by a model.

use serde::{Deserialize, Serialize};

use osier_base::ansi;
use osier_base::ansi::Run;

/// A piece of output, without control sequences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Output {
    pub text: String,
    /// Bytes before it that were left out because they came faster than they can be shown.
    pub skipped: u64,
    /// Where the text is coloured, by byte.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub colours: Vec<Run>,
    /// The newline it begins with stands for a line that starts again: what stood on that line so far can be
    /// taken away, and the newline with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarts: bool,
}

impl Output {
    /// Most coloured parts that are kept of what is merged.
    const MOST_COLOURS: usize = 8192;

    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Appends what comes next. Beyond `limit` bytes the oldest text is dropped and counted as skipped.
    pub fn merge(&mut self, next: &Self, limit: usize) {
        if next.skipped > 0 {
            // A gap lies between the two: what stood before it belongs to what was left out.
            self.skipped += self.text.len() as u64 + next.skipped;
            *self = Self {
                skipped: self.skipped,
                ..Self::default()
            };
        }
        let mut taken = 0;
        if next.restarts {
            if let Some(newline) = self.text.rfind('\n') {
                self.text.truncate(newline + 1);
                taken = 1;
            } else {
                // The line begins in what was told before.
                self.text.clear();
                self.restarts = true;
            }
            self.cut_colours();
        }
        let shift = self.text.len() as u32;
        self.text.push_str(&next.text[taken..]);
        self.colours.extend(next.colours.iter().map(|run| Run {
            start: run.start.saturating_sub(taken as u32) + shift,
            end: run.end.saturating_sub(taken as u32) + shift,
            style: run.style,
        }));
        if self.text.len() > limit {
            let start = self.text.ceil_char_boundary(self.text.len() - limit);
            self.drop_start(start);
            self.skipped += start as u64;
        }
        let surplus = self.colours.len().saturating_sub(Self::MOST_COLOURS);
        self.colours.drain(..surplus);
    }

    /// `merge` into the whole of what is kept: nothing was told before it.
    pub fn append(&mut self, next: &Self, limit: usize) {
        self.merge(next, limit);
        if std::mem::take(&mut self.restarts) {
            self.drop_start(1);
        }
    }

    fn drop_start(&mut self, bytes: usize) {
        self.text.drain(..bytes);
        self.colours = ansi::part(&self.colours, bytes..usize::MAX).collect();
    }

    /// Forgets the colours of text that is no longer there.
    fn cut_colours(&mut self) {
        let end = self.text.len() as u32;
        let kept = self.colours.partition_point(|run| run.start < end);
        self.colours.truncate(kept);
        if let Some(last) = self.colours.last_mut() {
            last.end = last.end.min(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_base::ansi::{Hue, Style};

    fn piece(text: &str, coloured: &[(u32, u32)], restarts: bool) -> Output {
        let style = Style {
            fg: Some(Hue::Named(1)),
            ..Style::default()
        };
        let run = |&(start, end)| Run { start, end, style };
        Output {
            text: text.to_owned(),
            colours: coloured.iter().map(run).collect(),
            restarts,
            skipped: 0,
        }
    }

    #[test]
    fn pieces_become_one_with_their_colours() {
        let mut all = Output::default();
        all.append(&piece("one\n10%", &[(4, 7)], false), 100);
        all.append(&piece("\n20%", &[(1, 4)], true), 100);
        all.append(&piece("\n30% done\n", &[(1, 4)], true), 100);
        assert_eq!(all, piece("one\n30% done\n", &[(4, 7)], false));
        all.append(&piece("red", &[(0, 3)], false), 8);
        assert_eq!(all.text, "done\nred");
        assert_eq!(all.colours, piece("", &[(5, 8)], false).colours);
        assert_eq!(all.skipped, 8);
    }

    #[test]
    fn a_line_that_starts_again_is_taken_back_wherever_it_began() {
        let mut waiting = piece("10%", &[(0, 3)], false);
        waiting.merge(&piece("\n20%", &[(1, 4)], true), 100);
        assert_eq!(waiting, piece("\n20%", &[(1, 4)], true));
        let mut all = Output::plain("a\nfrom ");
        all.append(&waiting, 100);
        assert_eq!(all, piece("a\n20%", &[(2, 5)], false));
        let mut first = Output::plain("0%");
        first.append(&waiting, 100);
        assert_eq!(first, piece("20%", &[(0, 3)], false));
    }
}
