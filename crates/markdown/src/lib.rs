//! Layout of Markdown that is still streaming: finished top-level blocks are parsed once and laid out once per
//! width; only the open block is laid out again, on demand.
//!
//! Start at [`Markdown`], which owns the source and the rows of every block. The source is sanitized line by
//! line as it arrives. The cost of a delta does not depend on the length of the document, and the final result
//! does not depend on how the text was split into deltas.
//!
//! The crate does not know agents or sessions.

mod code;
mod coloured;
mod containers;
mod inline;
mod literal;
mod long_line;
mod parts;
mod pieces;
pub mod plain;
mod render;
mod scan;
mod sections;
mod split;
mod table;
mod table_block;
mod unit;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use self::containers::behind_marks;
use self::parts::PART;
use self::pieces::Cut;
use self::split::{Splitter, Step};
use self::unit::{Body, Definitions, Shown, Unit};
use osier_base::text;
use osier_term::row::Row;

/// Blocks on each side of what is shown, and at the end, that keep their rows.
const KEPT_BLOCKS: usize = 64;

/// A streamed document.
#[derive(Debug, Clone)]
pub struct Markdown {
    source: String,
    /// Where the unfinished last line starts.
    line: usize,
    /// The line above it, when it may be the header of a table that is a block of its own.
    header: Option<Range<usize>>,
    /// Where the last block begins inside what is open.
    block: usize,
    /// Bytes from which on what is open is parted where a block begins inside of it.
    part: usize,
    splitter: Splitter,
    blank: bool,
    units: Vec<Unit>,
    /// The block that the unfinished line seems to begin.
    tail: Option<Unit>,
    /// How the open block is cut while it is long.
    cut: Option<Cut>,
    /// Length of the source up to which no cut is looked for.
    uncut: usize,
    /// Bytes of text that were laid out so far.
    laid: Cell<usize>,
    finished: bool,
    /// Its blocks were not looked for yet.
    unread: bool,
    definitions: Definitions,
    width: usize,
    /// Without boxes and drawings.
    linear: bool,
    /// Where the rows of each block end, as far as they are laid out for `width`.
    ends: Vec<usize>,
    /// Where the rows of the tail end; stale while `dirty`.
    tail_end: usize,
    dirty: bool,
    /// The unfinished last line, made safe, as of the last layout.
    partial: String,
    /// The blocks that `rows` showed last.
    visible: Range<usize>,
    /// The blocks before this one keep no rows but around `visible`.
    trimmed: usize,
    /// The block, and the code block in it, that a highlighter's key is for.
    keys: HashMap<u64, (usize, usize)>,
}

impl Default for Markdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Markdown {
    pub fn new() -> Self {
        Self {
            source: String::new(),
            line: 0,
            header: None,
            block: 0,
            part: PART,
            splitter: Splitter::default(),
            blank: false,
            units: Vec::new(),
            tail: None,
            cut: None,
            uncut: 0,
            laid: Cell::new(0),
            finished: false,
            unread: false,
            definitions: HashMap::new(),
            width: 0,
            linear: false,
            ends: Vec::new(),
            tail_end: 0,
            dirty: false,
            partial: String::new(),
            visible: 0..0,
            trimmed: 0,
            keys: HashMap::new(),
        }
    }

    /// A whole document.
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
        for piece in delta.split_inclusive('\n') {
            self.source.push_str(piece);
            if piece.ends_with('\n') {
                self.complete_line();
            }
        }
        self.touch();
    }

    /// Lays tables out as lines and leaves diagrams as they were written, so that they can be read aloud.
    pub fn set_linear(&mut self, linear: bool) {
        if self.linear == linear {
            return;
        }
        self.linear = linear;
        // Everything is laid out anew, as for another width.
        self.width = 0;
        self.units.iter_mut().for_each(Unit::forget);
    }

    /// No more text will come: what is held back shows.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        if self.line < self.source.len() {
            self.complete_line();
        }
        self.finished = true;
        self.touch();
        self.close_last();
    }

    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The document so far, without control sequences.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn is_empty(&self) -> bool {
        self.source.trim().is_empty()
    }

    /// Top-level blocks; every item of a top-level list is one.
    pub fn block_count(&self) -> usize {
        self.units.len()
    }

    /// Rows of the whole document at `width`.
    pub fn height(&mut self, width: usize) -> usize {
        self.lay_out(width.max(1));
        self.tail_end
    }

    /// Appends a range of the rows to `out`; costs what is in the range.
    pub fn rows(&mut self, width: usize, range: Range<usize>, out: &mut Vec<Row>) {
        self.each_row(width, range, &mut |row| out.push(row.clone()));
    }

    /// Shows a range of the rows, one after the other.
    pub fn each_row(&mut self, width: usize, range: Range<usize>, show: &mut dyn FnMut(&Row)) {
        self.lay_out(width.max(1));
        let mut at = range.start;
        let mut index = self.ends.partition_point(|end| *end <= at);
        let first = index;
        while at < range.end.min(self.tail_end) {
            let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            let end = self.ends.get(index).copied().unwrap_or(self.tail_end);
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

    /// The pieces of code at `width`: their rows without the label, and their text.
    pub fn code(&mut self, width: usize) -> Vec<(Range<usize>, String)> {
        self.lay_out(width.max(1));
        let mut pieces = Vec::new();
        for (index, unit) in self.units.iter().enumerate() {
            let Body::Code(code) = &unit.body else {
                continue;
            };
            let above = index.checked_sub(1).map_or(0, |above| self.ends[above]);
            let start = above + usize::from(self.has_gap(index)) + code.head();
            let lines = (0..code.lines.len()).map(|line| code.line(line, &self.source));
            let text: Vec<Cow<'_, str>> = lines.collect();
            pieces.push((start..self.ends[index], text.join("\n")));
        }
        pieces
    }

    /// Shows a diagram as its source, or again as a diagram, where one stands on `row`; false where none does.
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

    /// Lets the rows of blocks go that are far from what is shown and from the end: those that were shown
    /// before, `left`, and those that have come since the last time. Heights stay.
    fn trim(&mut self, left: Range<usize>) {
        let end = self.units.len().saturating_sub(KEPT_BLOCKS);
        let near = self.visible.start.saturating_sub(KEPT_BLOCKS)..self.visible.end + KEPT_BLOCKS;
        let left = left.start.saturating_sub(KEPT_BLOCKS)..left.end + KEPT_BLOCKS;
        for index in (self.trimmed.min(end)..end).chain(left) {
            if index < end && !near.contains(&index) {
                self.units[index].release();
            }
        }
        self.trimmed = end;
    }

    /// Drops the rows that are kept; heights stay. For documents that are far off the screen.
    pub fn release_rows(&mut self) {
        for unit in &mut self.units {
            unit.release();
        }
    }

    /// The line that was just completed: made safe, then given to the splitter.
    fn complete_line(&mut self) {
        self.join_line();
        if let Cow::Owned(clean) = text::sanitize(&self.source[self.line..]) {
            self.source.truncate(self.line);
            self.source.push_str(&clean);
        }
        let range = self.line..self.source.len();
        self.line = range.end;
        let raw = &self.source[range.clone()];
        let line = range.start..range.start + raw.trim_end_matches('\n').len();
        let step = self.splitter.line(&self.source[line.clone()]);
        match step {
            Step::Starts(kind) => {
                self.close_last();
                self.block = line.start;
                let first = &self.source[line.clone()];
                self.units
                    .push(Unit::new(kind, line.start, first, self.blank));
            }
            Step::Code | Step::Row => self.add_line(&line),
            Step::Continues => self.begin_part(&line),
            Step::Table => self.begin_table(&line),
            Step::Blank => {}
        }
        self.header = self.splitter.is_direct().then(|| line.clone());
        self.blank = self.source[line].trim().is_empty();
        if let Some(unit) = self.units.last_mut() {
            unit.source.end = range.end;
        }
    }

    /// A line of a block whose lines are known one by one.
    fn add_line(&mut self, line: &Range<usize>) {
        let line = line.start as u32..line.end as u32;
        match self.units.last_mut().map(|unit| &mut unit.body) {
            Some(Body::Code(code)) => code.lines.push(line),
            Some(Body::Table(table)) => table.lines.push(line),
            _ => {}
        }
    }

    /// The last block is complete: its definitions count from here on.
    fn close_last(&mut self) {
        self.join();
        self.touch();
        let Some(unit) = self.units.last_mut() else {
            return;
        };
        unit.invalidate();
        match &mut unit.body {
            Body::Code(code) => code.closed = true,
            Body::Table(table) => table.closed = true,
            Body::Text(_) => {}
        }
        let mut labels = Vec::new();
        for (label, destination) in unit.definitions(&self.source) {
            self.definitions.entry(label.clone()).or_insert(destination);
            labels.push(label);
        }
        if labels.is_empty() {
            return;
        }
        for (index, unit) in self.units.iter_mut().enumerate() {
            if unit.waits_for(&labels) {
                unit.resolve_again();
                self.ends.truncate(index);
            }
        }
    }

    /// The open block has to be laid out again.
    fn touch(&mut self) {
        self.dirty = true;
        self.ends.truncate(self.units.len().saturating_sub(1));
    }

    fn lay_out(&mut self, width: usize) {
        self.read_section();
        if self.width != width {
            self.width = width;
            // Rows begin elsewhere.
            self.join();
            self.uncut = 0;
            self.ends.clear();
            self.dirty = true;
        }
        if !self.dirty {
            return;
        }
        self.dirty = false;
        self.read_partial();
        self.tail = self.begins_tail();
        self.cut_long();
        self.read_partial();
        if !self.finished
            && let Some(unit) = self.units.last_mut()
        {
            unit.invalidate();
        }
        for index in self.ends.len()..self.units.len() {
            let end = self.measure(index);
            self.ends.push(end);
        }
        self.tail_end = match &self.tail {
            Some(_) => self.measure(self.units.len()),
            None => self.ends.last().copied().unwrap_or(0),
        };
    }

    fn read_partial(&mut self) {
        let open = &self.source[self.open_start()..];
        let mut partial = std::mem::take(&mut self.partial);
        partial.clear();
        partial.push_str(&text::sanitize(open));
        self.partial = partial;
    }

    /// Where the rows of a block end.
    fn measure(&mut self, index: usize) -> usize {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        let width = self.width;
        let height = self.with_unit(index, |unit, shown| unit.height(width, shown));
        match height {
            0 => start,
            height => start + usize::from(self.has_gap(index)) + height,
        }
    }

    /// Whether an empty row stands above a block that has rows.
    fn has_gap(&self, index: usize) -> bool {
        let Some(unit) = self.units.get(index).or(self.tail.as_ref()) else {
            return false;
        };
        index.checked_sub(1).is_some_and(|before| {
            let follows = self.ends[before] > 0 || unit.rest.is_some();
            follows && unit.has_gap_after(self.units[before].kind)
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
                let unit = self.units.get(index).or(self.tail.as_ref());
                show(&unit.map(Unit::gap).unwrap_or_default());
            }
            range = range.start.saturating_sub(1)..range.end - 1;
        }
        debug_assert!(range.end <= height);
        self.with_unit(index, |unit, shown| unit.rows(range, shown, show));
    }

    /// Calls `use_unit` with a block and what it shows; index `units.len()` is the tail.
    fn with_unit<T: Default>(
        &mut self,
        index: usize,
        use_unit: impl FnOnce(&mut Unit, &Shown<'_>) -> T,
    ) -> T {
        let is_tail = index == self.units.len();
        let open = index + 1 == self.units.len() && !self.finished && self.tail.is_none();
        let complete_to = self.open_start();
        let goes_on = self.units.get(index + 1).is_some_and(Unit::flows);
        let Some(unit) = self.units.get_mut(index).or(self.tail.as_mut()) else {
            return T::default();
        };
        let complete = unit.source.start.min(complete_to)..unit.source.end.min(complete_to);
        let mut complete = &self.source[complete];
        let mut partial = None;
        if is_tail {
            complete = "";
            partial = Some(self.partial.as_str());
        } else if open {
            let cut = self.cut.as_ref().is_some_and(Cut::is_in_line);
            let open = Some(self.partial.as_str()).filter(|partial| !partial.is_empty());
            partial = open.filter(|open| cut || !holds_back(&self.splitter, unit, open));
            if partial.is_none() {
                complete = without_table_header(&self.splitter, complete);
            }
        }
        let is_code = matches!(unit.body, Body::Code(_));
        let shown = Shown {
            document: &self.source,
            complete,
            partial: partial.filter(|_| !is_code || self.splitter.fence().is_some()),
            definitions: &self.definitions,
            goes_on,
            linear: self.linear,
            laid: &self.laid,
        };
        use_unit(unit, &shown)
    }

    /// The block that the unfinished line begins, if it surely shows more than a marker.
    fn begins_tail(&self) -> Option<Unit> {
        let partial = self.partial.as_str();
        if self.finished
            || self.is_line_cut()
            || is_only_marks(partial)
            || starts_with_bar(&self.splitter, partial)
        {
            return None;
        }
        let mut splitter = self.splitter.clone();
        match splitter.line(partial) {
            Step::Starts(kind) => Some(Unit::new(kind, self.line, partial, self.blank)),
            Step::Continues => self.begins_part(&splitter, partial),
            _ => None,
        }
    }
}

/// Whether the unfinished line must wait for more: it could still turn out to be a fence's end, a marker,
/// a heading's underline or a row of a table.
fn holds_back(splitter: &Splitter, unit: &Unit, partial: &str) -> bool {
    match &unit.body {
        Body::Code(code) if splitter.fence().is_some() => code.may_close(partial),
        _ => splitter.is_in_table() || is_only_marks(partial) || starts_with_bar(splitter, partial),
    }
}

/// Whether a line inside of what is open may be one of a table.
fn starts_with_bar(splitter: &Splitter, line: &str) -> bool {
    let (left, _) = behind_marks(splitter.containers(), line);
    left.rest().starts_with('|')
}

/// The text of an open paragraph without a last line that looks like the header of a table.
fn without_table_header<'a>(splitter: &Splitter, source: &'a str) -> &'a str {
    if !splitter.may_become_table() {
        return source;
    }
    let body = source.strip_suffix('\n').unwrap_or(source);
    let start = body.rfind('\n').map_or(0, |newline| newline + 1);
    let waits = starts_with_bar(splitter, &body[start..]);
    if waits { &source[..start] } else { source }
}

/// Characters that by themselves only announce a construct.
fn is_only_marks(line: &str) -> bool {
    line.bytes()
        .all(|byte| b"-=*+_#`~>|:.[]() \t0123456789".contains(&byte))
}

#[cfg(test)]
mod tests;
