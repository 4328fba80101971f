//! A document that can be streamed: its source, its units and their rows.

mod highlighting;
mod lines;
mod paragraph;
mod sections;
mod split;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use self::lines::Lines;
use crate::shown::{Definitions, Shown};
use crate::unit::{Body, Kind, Unit};
use osier_base::text;
use osier_term::row::Row;

/// Minimum bytes of a block that is split where another block begins in it.
pub(super) const PART: usize = 4 * 1024;
/// Minimum bytes of an open paragraph that is drawn in parts.
pub(super) const LONG: usize = 8 * 1024;
/// Number of blocks around the visible ones, and at the end, whose rows are cached.
const CACHED_BLOCKS: usize = 64;

/// A Markdown document that can be streamed.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    source: String,
    /// The start of the unfinished last line.
    line: usize,
    /// The end of the lines that were split into units.
    scanned: usize,
    units: Vec<Unit>,
    /// The lines of the last unit, when it is a code block or table.
    lines: Option<Lines>,
    /// The parts of the open paragraph, and the block that the unfinished line begins.
    view: Vec<Unit>,
    /// Whether the unfinished line is shown.
    shows_partial: bool,
    /// Whether the last leaf block of the complete lines is a paragraph.
    has_paragraph: bool,
    /// Whether the last block is HTML, which can continue after a blank line.
    has_html: bool,
    /// Whether short blocks are split, too, for tests.
    splits_all: bool,
    /// Minimum length of the source at which the open paragraph may be split again.
    retry_length: usize,
    /// Bytes of text that were parsed so far.
    parsed: Cell<usize>,
    finished: bool,
    /// Whether the last delta ended with a carriage return.
    after_return: bool,
    /// Whether the source is still to be split into units.
    is_unsplit: bool,
    definitions: Definitions,
    width: usize,
    /// Whether tables and diagrams are text, for screen readers.
    linear: bool,
    /// The end of the rows of each block that is laid out for `width`.
    ends: Vec<usize>,
    dirty: bool,
    /// The sanitized unfinished line at the last layout.
    partial: String,
    /// The blocks that were drawn last.
    visible: Range<usize>,
    /// Blocks before this one have cached rows only around `visible`.
    trimmed: usize,
    /// The block, and the code block in it, for each key of the highlighter.
    keys: HashMap<u64, (usize, usize)>,
}

impl Markdown {
    /// Creates an empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a complete document.
    pub fn from_text(text: &str) -> Self {
        let mut document = Self::new();
        document.push(text);
        document.finish();
        document
    }

    /// Appends streamed text. Cheap: nothing is parsed.
    pub fn push(&mut self, delta: &str) {
        if delta.is_empty() || self.finished {
            return;
        }
        let delta = match delta.strip_prefix('\n') {
            Some(rest) if self.after_return => rest,
            _ => delta,
        };
        self.after_return = delta.ends_with('\r');
        for line in with_newlines(delta).split_inclusive('\n') {
            self.source.push_str(line);
            if line.ends_with('\n') {
                self.complete_line();
            }
        }
        self.touch();
    }

    /// Lays tables out as lines and shows diagrams as source, for screen readers.
    pub fn set_linear(&mut self, linear: bool) {
        if self.linear == linear {
            return;
        }
        self.linear = linear;
        // Everything is laid out again, as for another width.
        self.width = 0;
        self.units.iter_mut().for_each(Unit::forget_layout);
    }

    /// Completes the document: shows text that could still have become another block.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        if self.line < self.source.len() {
            self.complete_line();
        }
        self.finished = true;
        self.join();
        // Definitions in the last block now apply.
        self.scan_lines();
        self.close_last(self.line);
    }

    /// The document so far, without control sequences.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the document has nothing but white space.
    pub fn is_empty(&self) -> bool {
        self.source.trim().is_empty()
    }

    /// Rows of the document at `width`.
    pub fn height(&mut self, width: usize) -> usize {
        self.lay_out(width.max(1));
        self.end()
    }

    /// Whether no more text will be added.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Rows at the start of the document that later text does not change, but for references that it defines.
    pub fn complete_rows(&mut self, width: usize) -> usize {
        self.lay_out(width.max(1));
        let open = if self.finished {
            0
        } else {
            1 + self.view.len()
        };
        let complete = self.ends.len().saturating_sub(open);
        complete.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// The row at the width `to` at which the block begins that begins at `row` at the width `from`.
    pub fn row_at_width(&mut self, row: usize, from: usize, to: usize) -> usize {
        self.lay_out(from.max(1));
        let blocks = self.ends.partition_point(|end| *end <= row);
        self.lay_out(to.max(1));
        let last = blocks.min(self.ends.len()).checked_sub(1);
        last.map_or(0, |last| self.ends[last])
    }

    /// Appends a range of the rows to `out`. The cost depends only on the range.
    pub fn rows(&mut self, width: usize, range: Range<usize>, out: &mut Vec<Row>) {
        self.each_row(width, range, &mut |row| out.push(row.clone()));
    }

    /// Calls `show` with each row of a range.
    pub fn each_row(&mut self, width: usize, range: Range<usize>, show: &mut dyn FnMut(&Row)) {
        self.lay_out(width.max(1));
        let mut at = range.start;
        let mut index = self.ends.partition_point(|end| *end <= at);
        let first = index;
        while at < range.end.min(self.end()) {
            let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            let end = self.ends[index];
            let to = range.end.min(end);
            if to > at {
                self.unit_rows(index, at - start..to - start, end - start, show);
                at = to;
            }
            index += 1;
        }
        let left = std::mem::replace(&mut self.visible, first..index);
        self.trim(left);
    }

    /// The code blocks at `width`: their rows without the label, and their text.
    pub fn code(&mut self, width: usize) -> Vec<(Range<usize>, String)> {
        self.lay_out(width.max(1));
        let mut blocks = Vec::new();
        for (index, unit) in self.units.iter().enumerate() {
            let Body::Code(code) = &unit.body else {
                continue;
            };
            let above = index.checked_sub(1).map_or(0, |above| self.ends[above]);
            let start = above + usize::from(self.has_gap(index)) + code.head();
            let lines = (0..code.lines.len()).map(|line| code.line(line, &self.source));
            let text: Vec<Cow<'_, str>> = lines.collect();
            blocks.push((start..self.ends[index], text.join("\n")));
        }
        blocks
    }

    /// Switches the diagram at `row` between drawing and source; false if there is no diagram.
    pub fn toggle_diagram(&mut self, width: usize, row: usize) -> bool {
        self.lay_out(width.max(1));
        let index = self.ends.partition_point(|end| *end <= row);
        let Some(Body::Code(code)) = self.units.get_mut(index).map(|unit| &mut unit.body) else {
            return false;
        };
        if !code.toggle_diagram() {
            return false;
        }
        self.ends.truncate(index);
        self.dirty = true;
        true
    }

    /// Drops the cached rows of blocks that are far from the visible ones and from the end: blocks
    /// around `left`, which was visible before, and new blocks. Heights stay.
    fn trim(&mut self, left: Range<usize>) {
        let count = self.units.len() + self.view.len();
        let end = count.saturating_sub(CACHED_BLOCKS);
        let near =
            self.visible.start.saturating_sub(CACHED_BLOCKS)..self.visible.end + CACHED_BLOCKS;
        let left = left.start.saturating_sub(CACHED_BLOCKS)..left.end + CACHED_BLOCKS;
        for index in (self.trimmed.min(end)..end).chain(left) {
            if index < end && !near.contains(&index) {
                self.unit_mut(index).map(Unit::release);
            }
        }
        self.trimmed = end;
    }

    /// Drops the cached rows; heights stay. For documents far off the screen.
    pub fn release_rows(&mut self) {
        for unit in self.units.iter_mut().chain(&mut self.view) {
            unit.release();
        }
    }

    /// Sanitizes the last line, which is complete.
    fn complete_line(&mut self) {
        if self
            .view
            .last()
            .is_some_and(|unit| unit.source.start >= self.line)
        {
            // Only now is it known to which block the line belongs.
            let parts = self
                .view
                .partition_point(|unit| unit.source.start < self.line);
            self.view.truncate(parts);
            self.ends
                .truncate((self.units.len() + parts).saturating_sub(1));
            self.retry_length = 0;
        }
        if let Cow::Owned(clean) = text::sanitize(&self.source[self.line..]) {
            self.source.truncate(self.line);
            self.source.push_str(&clean);
        }
        self.line = self.source.len();
    }

    /// Completes the last block, which ends here.
    fn close_last(&mut self, end: usize) {
        self.touch();
        let Some(unit) = self.units.last_mut() else {
            return;
        };
        unit.source.end = end;
        unit.invalidate();
        match &mut unit.body {
            Body::Code(code) => code.closed = true,
            Body::Table(table) => table.closed = true,
            Body::Text(_) => {}
        }
    }

    /// Adds definitions of links. The first definition of a label applies.
    fn define(&mut self, definitions: Vec<(String, String)>) {
        let mut labels = Vec::new();
        for (label, destination) in definitions {
            if let Entry::Vacant(entry) = self.definitions.entry(label) {
                labels.push(entry.key().clone());
                entry.insert(destination);
            }
        }
        if labels.is_empty() {
            return;
        }
        for (index, unit) in self.units.iter_mut().enumerate() {
            if unit.waits_for(&labels) {
                unit.resolve_again();
                self.ends.truncate(index);
                self.dirty = true;
            }
        }
    }

    /// Marks the open block to be laid out again.
    fn touch(&mut self) {
        self.dirty = true;
        let count = self.units.len() + self.view.len();
        self.ends.truncate(count.saturating_sub(1));
    }

    fn lay_out(&mut self, width: usize) {
        self.read_section();
        if self.width != width {
            self.width = width;
            // The parts must be split at other places.
            self.join();
            self.ends.clear();
            self.dirty = true;
        }
        if !self.dirty {
            return;
        }
        // Without parts, the unfinished line can still begin another kind of block.
        if self.view.last().is_some_and(|unit| !unit.is_flow()) {
            self.view.pop();
        }
        self.touch();
        self.invalidate_open();
        self.split();
        let begun = self.read_unfinished();
        self.view.extend(begun);
        self.split_paragraph();
        self.invalidate_open();
        for index in self.ends.len()..self.units.len() + self.view.len() {
            let end = self.measure(index);
            self.ends.push(end);
        }
        self.dirty = false;
    }

    fn invalidate_open(&mut self) {
        let open = self.view.last_mut().or(self.units.last_mut());
        if let Some(unit) = open.filter(|_| !self.finished) {
            unit.invalidate();
        }
    }

    /// Reads the unfinished line, or its part after `from`.
    fn read_partial(&mut self, from: usize) {
        self.partial.clear();
        let open = &self.source[from.max(self.line)..];
        self.partial.push_str(&text::sanitize(open));
    }

    /// The end of the rows of the last block.
    fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn unit(&self, index: usize) -> Option<&Unit> {
        let view = index.wrapping_sub(self.units.len());
        self.units.get(index).or_else(|| self.view.get(view))
    }

    fn unit_mut(&mut self, index: usize) -> Option<&mut Unit> {
        let view = index.wrapping_sub(self.units.len());
        self.units
            .get_mut(index)
            .or_else(|| self.view.get_mut(view))
    }

    /// The end of the rows of a block.
    fn measure(&mut self, index: usize) -> usize {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        let width = self.width;
        let height = self.with_unit(index, |unit, shown| unit.height(width, shown));
        match height {
            0 => start,
            height => start + usize::from(self.has_gap(index)) + height,
        }
    }

    /// Whether an empty row is above a block that has rows.
    fn has_gap(&self, index: usize) -> bool {
        let Some(unit) = self.unit(index) else {
            return false;
        };
        let above = index.checked_sub(1);
        above.is_some_and(|above| {
            let follows = self.ends[above] > 0 || unit.part.is_some();
            let previous = self.unit(above).map_or(Kind::Text, |unit| unit.kind);
            follows && unit.has_gap_after(previous)
        })
    }

    fn unit_rows(
        &mut self,
        index: usize,
        range: Range<usize>,
        height: usize,
        show: &mut dyn FnMut(&Row),
    ) {
        let mut range = range;
        if self.has_gap(index) {
            if range.start == 0 {
                show(&self.unit(index).map(Unit::gap).unwrap_or_default());
            }
            range = range.start.saturating_sub(1)..range.end - 1;
        }
        debug_assert!(range.end <= height);
        self.with_unit(index, |unit, shown| unit.rows(range, shown, show));
    }

    /// Calls `use_unit` with a block and its current text.
    fn with_unit<T: Default>(
        &mut self,
        index: usize,
        use_unit: impl FnOnce(&mut Unit, &Shown<'_>) -> T,
    ) -> T {
        let Some(unit) = self.unit(index) else {
            return T::default();
        };
        let source = unit.source.clone();
        let next = self.unit(index + 1);
        let is_carried = next.is_some_and(Unit::is_flow);
        let mut complete = &self.source[..self.line];
        let mut partial = None;
        if let Some(next) = next {
            complete = &self.source[..next.source.start];
        } else if self.shows_partial {
            partial = Some(self.partial.as_str());
        }
        complete = complete.get(source.start..).unwrap_or_default();
        if next.is_none() && partial.is_none() && !self.finished {
            complete = self.without_table_header(complete);
        }
        let shown = Shown {
            document: &self.source,
            complete,
            partial,
            definitions: &self.definitions,
            is_carried,
            linear: self.linear,
            parsed: &self.parsed,
        };
        let part = index.wrapping_sub(self.units.len());
        let unit = self
            .units
            .get_mut(index)
            .or_else(|| self.view.get_mut(part));
        unit.map_or_else(T::default, |unit| use_unit(unit, &shown))
    }
}

#[cfg(test)]
mod tests;

/// The text with a newline for each carriage return, which ends a line in Markdown. In the output
/// of a program, a carriage return moves to the start of the line, but a model must not overwrite
/// the text before it.
fn with_newlines(text: &str) -> Cow<'_, str> {
    if !text.contains(['\r', '\x08']) {
        return Cow::Borrowed(text);
    }
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(lines.replace('\x08', ""))
}
