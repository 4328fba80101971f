//! The state of the diff view: the files, the selected change, and the rows of the selected file.

use ratatui::layout::Position;

use super::problems::Problems;
use super::texts::{unchanged, widest};
use crate::history::review::verdicts::Review;
use osier_checkpoint::hunks;
use osier_protocol::{DiffRange, FileDiff};
use osier_term::Row;
use osier_term::widgets::diff;
use osier_term::widgets::diff::{DiffLayout, Syntax};

/// From this width on old and new file are side by side, unless the user has switched.
const TWO_SIDES: u16 = 130;
/// Rows of one file; its diff is of bounded length.
pub(super) const MOST_ROWS: usize = 20_000;

/// The overlay.
#[derive(Debug)]
pub(crate) struct DiffView {
    pub(super) range: DiffRange,
    /// There is a repository to compare with.
    pub(super) has_git: bool,
    /// The changed files, then those that only have outdated reviews.
    pub(super) files: Vec<FileDiff>,
    /// How many files are changed.
    pub(super) changed: usize,
    /// Added and removed lines, by file.
    pub(super) counts: Vec<(usize, usize)>,
    /// Columns that the list needs to show every path in full.
    pub(super) widest: u16,
    /// The colours of each file.
    pub(super) syntax: Vec<Syntax>,
    /// New colours or reviews are not in the rows yet.
    pub(super) stale: bool,
    pub(super) selected: usize,
    /// The change of the selected file that keys act on.
    pub(super) hunk: usize,
    /// The first row of the changes that is shown.
    pub(super) top: usize,
    pub(super) page: usize,
    pub(super) layout: Option<DiffLayout>,
    pub(super) laid_out: Option<LaidOut>,
    /// The file was entered from below: its end is shown once it is laid out.
    pub(super) from_below: bool,
    pub(super) review: Review,
    pub(crate) problems: Problems,
    pub(super) cursor: Option<Position>,
    /// The cursor of a linear screen goes to the change, not to the file.
    pub(super) linear: bool,
}

/// The selected file for a width.
#[derive(Debug)]
pub(super) struct LaidOut {
    pub(super) file: usize,
    pub(super) width: u16,
    pub(super) layout: DiffLayout,
    pub(super) rows: Vec<Row>,
    /// Where its changes begin.
    pub(super) hunks: Vec<usize>,
}

impl DiffView {
    pub(crate) fn new(
        range: DiffRange,
        has_git: bool,
        mut files: Vec<FileDiff>,
        mut review: Review,
    ) -> Self {
        review.update(&files);
        let changed = files.len();
        for path in review.outdated_files() {
            if files.iter().all(|file| file.change.path != path) {
                files.push(unchanged(path));
            }
        }
        let counts: Vec<(usize, usize)> =
            files.iter().map(|file| diff::counts(&file.diff)).collect();
        let widest = widest(&files, &counts);
        let syntax = files.iter().map(|_| Syntax::default()).collect();
        Self {
            range,
            has_git,
            files,
            changed,
            counts,
            widest,
            syntax,
            stale: false,
            selected: 0,
            hunk: 0,
            top: 0,
            page: 10,
            layout: None,
            laid_out: None,
            from_below: false,
            review,
            problems: Problems::default(),
            cursor: None,
            linear: false,
        }
    }

    /// Lays out the rows again with new colours and reviews.
    fn refresh_rows(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        if let Some(mut laid) = self.laid_out.take() {
            (laid.rows, laid.hunks) = self.file_rows(laid.file, laid.width, laid.layout);
            self.hunk = self.hunk.min(laid.hunks.len().saturating_sub(1));
            self.laid_out = Some(laid);
        }
    }

    /// Whether there is a HEAD to compare with.
    pub(crate) fn has_git(&self) -> bool {
        self.has_git
    }

    /// Adopts the position of `before`.
    #[must_use]
    pub(crate) fn continuing(mut self, before: &Self) -> Self {
        let path = before.files.get(before.selected);
        let path = path.map(|file| file.change.path.clone());
        let same = self
            .files
            .iter()
            .position(|file| Some(&file.change.path) == path.as_ref());
        if let Some(selected) = same {
            self.selected = selected;
            self.hunk = before.hunk;
            self.top = before.top;
        } else {
            // The selected change does not exist any more: select the next one.
            let last = self.files.len().saturating_sub(1);
            self.selected = before.selected.min(last);
        }
        self.layout = before.layout;
        self
    }

    /// Whether the changes lead to the present files, so that they can be accepted or reverted.
    pub(super) fn reviews(&self) -> bool {
        !matches!(self.range, DiffRange::Between { to: Some(_), .. })
    }

    /// The review in progress.
    pub(crate) fn review(&self) -> &Review {
        &self.review
    }

    /// Removes the review and returns it with its range.
    pub(crate) fn take_review(&mut self) -> (DiffRange, Review) {
        (self.range.clone(), std::mem::take(&mut self.review))
    }

    /// The changes of a file, then those with an outdated review.
    pub(super) fn pieces<'a>(&'a self, file: &'a FileDiff) -> Vec<&'a str> {
        let mut pieces = hunks(&file.diff);
        pieces.extend(self.review.outdated_of(&file.change.path));
        pieces
    }

    /// Whether the change that keys act on is gone and has a review.
    pub(super) fn is_outdated(&self) -> bool {
        let file = self.files.get(self.selected);
        file.is_some_and(|file| {
            let outdated = self.review.outdated_of(&file.change.path);
            !outdated.is_empty() && self.hunk >= hunks(&file.diff).len()
        })
    }

    /// The change that keys act on: its file and its text.
    pub(super) fn current(&self) -> Option<(&str, &str)> {
        let file = self.files.get(self.selected)?;
        let pieces = self.pieces(file);
        let piece = pieces.get(self.hunk.min(pieces.len().checked_sub(1)?))?;
        Some((&file.change.path, piece))
    }

    /// Selects the file with this path, if the diff contains it.
    pub(crate) fn select_file(&mut self, path: &str) {
        let mut files = self.files.iter();
        if let Some(file) = files.position(|file| file.change.path == path) {
            self.select(file);
        }
    }

    pub(super) fn select(&mut self, file: usize) {
        if file < self.files.len() && file != self.selected {
            self.selected = file;
            self.hunk = 0;
            self.top = 0;
            self.from_below = false;
        }
    }

    pub(super) fn count(&self) -> usize {
        self.laid_out.as_ref().map_or(0, |laid| laid.rows.len())
    }

    pub(super) fn starts(&self) -> &[usize] {
        self.laid_out.as_ref().map_or(&[], |laid| &laid.hunks)
    }

    /// Scrolls; keys act on a change that is on the screen.
    pub(super) fn scroll(&mut self, rows: isize) {
        let last = self.count().saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
        let (top, end) = (self.top, self.top + self.page);
        let seen = |place: usize| {
            let starts = self.starts();
            let below = starts.get(place + 1).copied().unwrap_or(usize::MAX);
            starts.get(place).is_some_and(|start| *start < end) && below > top
        };
        if !seen(self.hunk) {
            let found = (0..self.starts().len()).find(|place| seen(*place));
            self.hunk = found.unwrap_or(self.hunk);
        }
    }

    /// Scrolls to the selected change.
    pub(super) fn show_hunk(&mut self) {
        let last = self.count().saturating_sub(self.page);
        if let Some(start) = self.starts().get(self.hunk) {
            self.top = (*start).min(last);
        }
    }

    /// Selects the next change; after the last one, the first change of the next file.
    pub(super) fn next_hunk(&mut self) {
        if self.hunk + 1 < self.starts().len() {
            self.hunk += 1;
            self.show_hunk();
        } else {
            self.select(self.selected + 1);
        }
    }

    pub(super) fn previous_hunk(&mut self) {
        if self.hunk > 0 {
            self.hunk -= 1;
            self.show_hunk();
        } else if self.selected > 0 {
            self.select(self.selected - 1);
            self.from_below = true;
        }
    }

    /// Lays the selected file out.
    pub(super) fn lay_out(&mut self, width: u16) {
        let auto = if width >= TWO_SIDES {
            DiffLayout::SideBySide
        } else {
            DiffLayout::Unified
        };
        let layout = self.layout.unwrap_or(auto);
        let current =
            |laid: &LaidOut| (laid.file, laid.width, laid.layout) == (self.selected, width, layout);
        if self.laid_out.as_ref().is_some_and(current) {
            self.refresh_rows();
            return;
        }
        self.stale = false;
        if self.selected >= self.files.len() {
            return;
        }
        let (rows, hunks) = self.file_rows(self.selected, width, layout);
        let laid = LaidOut {
            file: self.selected,
            width,
            layout,
            rows,
            hunks,
        };
        let again = self
            .laid_out
            .replace(laid)
            .is_some_and(|old| old.file == self.selected);
        if again {
            self.show_hunk();
        }
    }
}
