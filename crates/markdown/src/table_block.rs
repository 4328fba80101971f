//! A table that is a unit. The widths that its columns need are measured row by row, and rows are
//! built only when they are drawn. So a table of any length costs only its new rows and the rows on
//! the screen.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::Alignment;

use super::context::Context;
use super::render::{self, Block};
use super::shown::{Resolver, Shown};
use super::table::{Cell, Grid, Needs, lines, room};
use osier_term::row::{Row, Span};

/// Maximum bytes of an open table in which a cell that changes the columns lays out all rows again.
/// A longer table keeps its columns until it is complete.
pub(super) const ADAPTS: usize = 32 * 1024;
/// Number of rows that are parsed together.
const BATCH: usize = 64;
/// Number of rows around the drawn ones whose layout is cached.
const CACHED: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct TableBlock {
    context: Option<Context>,
    prefix: Vec<Span>,
    /// The opener of the table's containers, the header, and the line below it.
    head: String,
    /// Bytes of `head` that open containers.
    opener: usize,
    /// Byte ranges of the body's lines in the document.
    pub(super) lines: Vec<Range<u32>>,
    /// Whether all rows are known.
    pub(super) closed: bool,
    /// References without a definition.
    pub(super) unresolved: Vec<String>,
    /// The width for which the fields below are valid.
    width: usize,
    alignments: Vec<Alignment>,
    header: Vec<Cell>,
    needs: Needs,
    columns: Option<Vec<usize>>,
    ruled: bool,
    /// The layout of each row of the body.
    marks: Vec<Mark>,
    /// Rows of the header.
    top: usize,
    /// Number of rows of the body that have a position.
    placed: usize,
    cached: BTreeMap<usize, Vec<Row>>,
}

/// A row of the body.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Number of lines of the row if nothing wraps.
    lines: u16,
    /// The end of its screen rows, counted from below the header.
    end: u32,
}

impl TableBlock {
    /// The table with the header and the line below it in `head`, inside the containers that
    /// `opener` opens.
    pub(super) fn new(opener: &str, context: Option<&Context>, head: &str) -> Self {
        Self {
            context: context.cloned(),
            prefix: context.map(Context::spans).unwrap_or_default(),
            head: [opener, head].concat(),
            opener: opener.len(),
            lines: Vec::new(),
            closed: false,
            unresolved: Vec::new(),
            width: 0,
            alignments: Vec::new(),
            header: Vec::new(),
            needs: Needs::default(),
            columns: None,
            ruled: false,
            marks: Vec::new(),
            top: 0,
            placed: 0,
            cached: BTreeMap::new(),
        }
    }

    fn block(&self) -> Block<'_> {
        Block {
            width: self.width,
            opener: self.opener,
            context: self.context.as_ref(),
            ..Block::default()
        }
    }

    pub(super) fn invalidate(&mut self) {
        self.width = 0;
    }

    /// Screen rows at `width`.
    pub(super) fn height(&mut self, width: usize, shown: &Shown<'_>) -> usize {
        if self.width != width {
            self.begin(width, shown);
        }
        self.measure(shown);
        self.place(shown);
        self.top + self.body_end(self.placed) + self.bottom()
    }

    fn bottom(&self) -> usize {
        usize::from(self.columns.is_some())
    }

    /// The end of the screen rows of the first `rows` of the body.
    fn body_end(&self, rows: usize) -> usize {
        rows.checked_sub(1)
            .map_or(0, |last| self.marks[last].end as usize)
    }

    fn begin(&mut self, width: usize, shown: &Shown<'_>) {
        self.width = width;
        self.unresolved.clear();
        self.marks.clear();
        let resolver = Resolver::new(shown);
        let table = render::table(&self.head, self.block(), &|label| resolver.find(label));
        let table = table.unwrap_or_default();
        self.unresolved = resolver.into_unresolved();
        self.needs = Needs::new(table.alignments.len());
        self.alignments = table.alignments;
        self.header = table.rows.into_iter().next().unwrap_or_default();
        self.needs.add(&self.header);
        self.columns = self.fitting(shown);
        self.ruled = false;
        self.lay_again();
    }

    /// The widths of the columns; `None` if the table is not drawn as a box.
    fn fitting(&self, shown: &Shown<'_>) -> Option<Vec<usize>> {
        if shown.linear {
            return None;
        }
        self.needs.columns(room(&self.prefix, self.width))
    }

    /// Drops the positions of all rows.
    fn lay_again(&mut self) {
        self.placed = 0;
        self.cached.clear();
        let mut rows = Vec::new();
        self.grid().header(self.lines.is_empty(), &mut rows);
        self.top = rows.len();
    }

    /// Measures new rows, and updates the columns if they change.
    fn measure(&mut self, shown: &Shown<'_>) {
        let known = self.marks.len();
        while self.marks.len() < self.lines.len() {
            let first = self.marks.len();
            let rows = self.parse(first..self.lines.len().min(first + BATCH), shown);
            for row in rows {
                self.needs.add(&row);
                self.marks.push(Mark {
                    lines: lines(&row).min(usize::from(u16::MAX)) as u16,
                    end: 0,
                });
            }
        }
        let bytes = self.lines.last().map_or(0, |line| line.end)
            - self.lines.first().map_or(0, |line| line.start);
        let adapts = self.closed || bytes as usize <= ADAPTS || known == 0;
        let columns = self.fitting(shown);
        // Without a box the header is drawn only while there is no other row.
        let is_first = self.columns.is_none() && known == 0 && !self.marks.is_empty();
        let ruled = columns
            .as_ref()
            .is_some_and(|columns| self.needs.ruled(columns));
        let changes = columns != self.columns || ruled != self.ruled;
        if adapts && changes || is_first {
            self.columns = columns;
            self.ruled = ruled;
            self.lay_again();
        }
    }

    /// Finds the positions of the rows that have none.
    fn place(&mut self, shown: &Shown<'_>) {
        let fits = self
            .columns
            .as_ref()
            .is_some_and(|columns| self.needs.fit(columns));
        let mut end = self.body_end(self.placed);
        while fits && self.placed < self.marks.len() {
            let mark = &mut self.marks[self.placed];
            let ruled = self.placed == 0 || self.ruled;
            end += usize::from(ruled) + usize::from(mark.lines);
            mark.end = end as u32;
            self.placed += 1;
        }
        let mut rows = Vec::new();
        while self.placed < self.marks.len() {
            let first = self.placed;
            let cells = self.parse(first..self.marks.len().min(first + BATCH), shown);
            for row in cells {
                rows.clear();
                self.grid().row(self.placed, &row, &mut rows);
                end += rows.len();
                self.marks[self.placed].end = end as u32;
                self.placed += 1;
            }
        }
    }

    /// Appends a range of the screen rows that `height` counted.
    pub(super) fn rows(&mut self, range: Range<usize>, shown: &Shown<'_>, out: &mut Vec<Row>) {
        let start = out.len();
        let mut skip = range.start;
        if range.start < self.top {
            self.grid().header(self.lines.is_empty(), out);
        } else {
            skip -= self.top;
        }
        let below = |row: usize| row.saturating_sub(self.top);
        let first = self
            .marks
            .partition_point(|mark| mark.end as usize <= below(range.start));
        let behind = self
            .marks
            .partition_point(|mark| (mark.end as usize) < below(range.end));
        let last = (behind + 1).min(self.marks.len());
        if range.start >= self.top {
            skip -= self.body_end(first);
        }
        self.cache(first..last.max(first), shown);
        for index in first..last {
            out.extend_from_slice(self.cached.get(&index).map_or(&[], Vec::as_slice));
        }
        self.grid().end(out);
        out.drain(start..(start + skip).min(out.len()));
        out.truncate(start + range.len());
    }

    /// Lays out the wanted rows of the body that are not cached, and drops rows that are far from
    /// them.
    fn cache(&mut self, wanted: Range<usize>, shown: &Shown<'_>) {
        let near = wanted.start.saturating_sub(CACHED)..wanted.end + CACHED;
        self.cached.retain(|index, _| near.contains(index));
        let mut index = wanted.start;
        while index < wanted.end {
            if self.cached.contains_key(&index) {
                index += 1;
                continue;
            }
            let behind = (index..wanted.end).find(|index| self.cached.contains_key(index));
            let missing = index..behind.unwrap_or(wanted.end).min(index + BATCH);
            let cells = self.parse(missing.clone(), shown);
            for (index, row) in missing.clone().zip(cells) {
                let mut rows = Vec::new();
                self.grid().row(index, &row, &mut rows);
                self.cached.insert(index, rows);
            }
            index = missing.end;
        }
    }

    fn grid(&self) -> Grid<'_> {
        Grid {
            alignments: &self.alignments,
            header: &self.header,
            columns: self.columns.as_deref(),
            ruled: self.ruled,
            prefix: &self.prefix,
            width: self.width,
        }
    }

    /// The cells of some rows of the body, as many as `range` has.
    fn parse(&mut self, range: Range<usize>, shown: &Shown<'_>) -> Vec<Vec<Cell>> {
        let mut source = self.head.clone();
        for line in &self.lines[range.clone()] {
            let line = &shown.document[line.start as usize..line.end as usize];
            source.push_str(line);
            source.push('\n');
        }
        shown.parsed.set(shown.parsed.get() + source.len());
        let resolver = Resolver::new(shown);
        let table = render::table(&source, self.block(), &|label| resolver.find(label));
        for label in resolver.into_unresolved() {
            if !self.unresolved.contains(&label) {
                self.unresolved.push(label);
            }
        }
        let mut rows = table.unwrap_or_default().rows;
        rows.resize(range.len() + 1, Vec::new());
        rows.remove(0);
        rows
    }
}
