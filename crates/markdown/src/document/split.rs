//! Splits a document into units while it grows: top-level blocks, items of top-level lists, and parts of long ones.
//!
//! The parser sees new lines once, from the start of the last block on. A block that begins in them
//! completes the one above. A quote, list item or footnote that is long is split where a block
//! begins inside of it; code blocks and tables inside are parts of their own. A part has the same
//! rows as in the complete block.

use super::lines::Lines;
use super::{LONG, Markdown, PART};
use crate::blocks::{BlockStart, Found, Leaf, Scan, Start, line_end, line_start};
use crate::code::CodeBlock;
use crate::dialect::{Fence, paired};
use crate::open_context::context_at;
use crate::render::blank_before;
use crate::shown::normalise;
use crate::table_block::TableBlock;
use crate::unit::{Body, Kind, Part, Text, Unit};
use osier_base::text;

/// Bytes that the parser gets at once, unless a block needs more.
const WINDOW: usize = 64 * 1024;
/// A width at which little wraps, for text that is laid out only to find its open containers.
const WIDE: usize = 512;
/// Bytes of an unfinished line that decide which block it begins.
const LINE_HEAD: usize = 1024;

impl Markdown {
    /// Finds the units of new complete lines.
    pub(super) fn split(&mut self) {
        let scanned = std::mem::replace(&mut self.scanned, self.line);
        let mut lines = self.source[scanned..self.line].split_inclusive('\n');
        let mut above = self.last_line(scanned);
        if lines.all(|line| {
            let above = std::mem::replace(&mut above, line);
            self.has_paragraph && continues_paragraph(above, line)
        }) {
            return;
        }
        self.scan_lines();
    }

    /// Finds the units of the lines that are not in complete blocks.
    pub(super) fn scan_lines(&mut self) {
        self.scanned = self.line;
        let mut window = WINDOW;
        loop {
            let (from, opener) = self.unscanned();
            if from >= self.line {
                break;
            }
            let end = line_end(&self.source[..self.line], from + window - 1);
            let text = opener.clone() + &self.source[from..end];
            self.parsed.set(self.parsed.get() + text.len());
            if !self.view.is_empty() {
                if is_paragraph(&text, opener.len()) {
                    break;
                }
                self.join();
                continue;
            }
            let next = self.scan(&text, opener.len(), from);
            if end == self.line {
                break;
            }
            window = if next > from { WINDOW } else { window * 2 };
        }
    }

    /// The line that ends at `end`.
    fn last_line(&self, end: usize) -> &str {
        &self.source[line_start(&self.source, end.saturating_sub(1))..end]
    }

    /// The start of the text that the parser must read with the next lines, and the opener of that
    /// text.
    fn unscanned(&self) -> (usize, String) {
        if let Some(lines) = self.lines.as_ref().filter(|_| self.view.is_empty()) {
            let opener = if lines.is_closed {
                lines.containers.clone()
            } else {
                lines.opener()
            };
            return (lines.from, opener);
        }
        let last = self.view.last().or(self.units.last());
        last.map_or((0, String::new()), |unit| {
            (unit.source.start, unit.opener().to_owned())
        })
    }

    /// Finds the units of `text`, which is an opener and the source from `from` on. Returns the
    /// start of the text that must be scanned again with more lines.
    fn scan(&mut self, text: &str, opener: usize, from: usize) -> usize {
        let end = from + text.len() - opener;
        let place = |at: usize| from + at - opener;
        let paired = paired(text);
        let mut scan = Scan::new(&paired, opener);
        while let Some(found) = scan.next() {
            match found {
                Found::Start(start) => {
                    let at = place(start.line);
                    if start.is_top_level {
                        self.begin_block(at, &start.block, &scan);
                    } else {
                        self.begin_part(at, &start.block, &scan);
                    }
                }
                Found::CodeLine(line, indent) => {
                    let line = place(line.start)..place(line.end);
                    self.push_line(line, indent);
                }
                Found::TableRow(at) => {
                    let at = place(at);
                    self.push_line(at..line_end(&self.source, at), 0);
                }
                Found::Closed(at) => {
                    let at = place(at);
                    if let Some(lines) = self.lines.as_mut().filter(|lines| !lines.is_closed) {
                        lines.is_closed = true;
                        lines.from = at;
                    }
                }
            }
        }
        if let Some(lines) = self.lines.as_mut().filter(|lines| !lines.is_closed) {
            lines.from = end;
        }
        self.split_leaf(&scan, from, opener, end);
        self.has_paragraph = self.lines.is_none() && scan.leaf() == Leaf::Paragraph;
        self.has_html = scan.leaf() == Leaf::Html;
        let next = self.unscanned().0;
        let is_final = self.finished && end == self.line;
        let definitions = scan
            .definitions()
            .into_iter()
            .filter_map(|(at, label, to)| {
                let is_new = at >= opener && (is_final || place(at) < next);
                is_new.then(|| (normalise(&label), to))
            });
        self.define(definitions.collect());
        next
    }

    /// Adds a line to the open code block or table.
    fn push_line(&mut self, line: std::ops::Range<usize>, indent: u8) {
        if self.lines.as_ref().is_none_or(|lines| lines.is_closed) {
            return;
        }
        let begin = line_start(&self.source, line.start);
        if let Some(lines) = &mut self.lines {
            lines.pass(&self.source[begin..line.end]);
        }
        let end = line.start + self.source[line.clone()].trim_end_matches('\n').len();
        match self.units.last_mut().map(|unit| &mut unit.body) {
            Some(Body::Code(code)) => code.push(line.start..end, indent),
            Some(Body::Table(table)) => table.lines.push(line.start as u32..end as u32),
            _ => {}
        }
    }

    /// Handles a line that begins a top-level block or an item of a top-level list.
    fn begin_block(&mut self, at: usize, block: &BlockStart, scan: &Scan<'_>) {
        let is_open = self.lines.is_none();
        let unit = self.block_at(at, block);
        match self.units.last_mut() {
            // More lines can make the paragraph a heading or a table.
            Some(last) if is_open && last.part.is_none() && last.source.start == at => {
                if !matches!(last.kind, Kind::Item { .. }) {
                    last.kind = unit.kind;
                }
                last.body = unit.body;
            }
            _ => self.push_unit(unit),
        }
        self.begin_lines(at, block, scan);
    }

    /// The unit of the top-level block that begins at `at`.
    fn block_at(&self, at: usize, block: &BlockStart) -> Unit {
        let kind = match block {
            BlockStart::Text | BlockStart::Table => Kind::Text,
            BlockStart::Heading => Kind::Heading,
            BlockStart::FirstItem(number) => Kind::Item {
                number: *number,
                first: true,
            },
            BlockStart::NextItem => {
                let number = match self.last_kind() {
                    Kind::Item { number, .. } => number.map(|number| number.saturating_add(1)),
                    _ => None,
                };
                let first = false;
                Kind::Item { number, first }
            }
            BlockStart::Code { .. } => Kind::Code,
        };
        let after_blank = at > 0 && {
            let above = &self.source[..at - 1];
            above[line_start(above, above.len())..].trim().is_empty()
        };
        Unit::new(kind, at, after_blank, self.body_at(at, block, None))
    }

    fn body_at(&self, at: usize, block: &BlockStart, part: Option<&Part>) -> Body {
        let context = part.map(|part| &part.context);
        match block {
            BlockStart::Code { language, fence } => {
                Body::Code(Box::new(CodeBlock::new(*fence, language, context)))
            }
            BlockStart::Table => {
                let opener = part.map_or("", |part| &part.opener);
                let head = &self.source[at..line_end(&self.source, line_end(&self.source, at))];
                Body::Table(Box::new(TableBlock::new(opener, context, head)))
            }
            _ => Body::Text(Text::default()),
        }
    }

    /// Handles a line that begins a block inside of a top-level block.
    fn begin_part(&mut self, at: usize, block: &BlockStart, scan: &Scan<'_>) {
        let Some(last) = self.units.last() else {
            return;
        };
        let is_same = self.lines.is_none() && last.part.is_some() && last.source.start == at;
        if is_same {
            if *block == BlockStart::Table {
                let body = self.body_at(at, block, last.part.as_deref());
                if let Some(last) = self.units.last_mut() {
                    last.body = body;
                }
                self.begin_lines(at, block, scan);
            }
            return;
        }
        if let Some(part) = self.part_behind_lines() {
            self.push_unit(part);
            self.lines = None;
        }
        let has_lines = matches!(block, BlockStart::Code { .. } | BlockStart::Table);
        let Some(last) = self.units.last() else {
            return;
        };
        let is_long = self.splits_all || at - last.source.start >= PART;
        if !has_lines && !is_long {
            return;
        }
        if let Some(unit) = self.part_at(at, block, scan) {
            self.push_unit(unit);
            self.begin_lines(at, block, scan);
        }
    }

    /// The unit of the part after a code block or table that is a part.
    fn part_behind_lines(&self) -> Option<Unit> {
        let lines = self.lines.as_ref()?;
        let part = Part {
            opener: lines.containers.as_str().into(),
            context: self.units.last()?.part.as_ref()?.context.behind_block(),
            after_blank: blank_before(&self.source, lines.from),
            carry: None,
        };
        let body = Body::Text(Text::default());
        Some(Unit::part(self.last_kind(), lines.from, part, body))
    }

    /// The unit of the part that begins at `at` with a block.
    fn part_at(&self, at: usize, block: &BlockStart, scan: &Scan<'_>) -> Option<Unit> {
        let last = self.units.last()?;
        let end = line_end(&self.source, at);
        let opener = scan.opener(false);
        let is_short = opener.len() < PART;
        if !is_short || !scan.is_at(&opener, &self.source[at..end], block) {
            return None;
        }
        let text = [last.opener(), &self.source[last.source.start..end]].concat();
        self.parsed.set(self.parsed.get() + text.len());
        let place = text.len() - (end - at);
        let mut context = context_at(&text, last.block(WIDE, &[]), place)?;
        if scan.is_between_items() {
            context.push_closing_item();
        }
        if context.depth() != scan.depth() {
            return None;
        }
        let part = Part {
            opener: opener.into(),
            context,
            after_blank: blank_before(&self.source, at),
            carry: None,
        };
        let body = self.body_at(at, block, Some(&part));
        Some(Unit::part(self.last_kind(), at, part, body))
    }

    fn last_kind(&self) -> Kind {
        self.units.last().map_or(Kind::Text, |unit| unit.kind)
    }

    /// Prepares the last unit after its start: a code block or table gets its lines one by one.
    fn begin_lines(&mut self, at: usize, block: &BlockStart, scan: &Scan<'_>) {
        let end = line_end(&self.source, at);
        let end = match block {
            BlockStart::Code { .. } => end,
            BlockStart::Table => line_end(&self.source, end),
            _ => {
                self.lines = None;
                return;
            }
        };
        let first = self.source[at..end].to_owned();
        let is_code = matches!(block, BlockStart::Code { .. });
        self.lines = Some(Lines {
            from: end,
            containers: scan.opener(false),
            pairs: Fence::opens_markdown(&first).filter(|_| is_code),
            first,
            inner: None,
            is_closed: false,
        });
    }

    /// Splits HTML and indented code that is long at its last line.
    fn split_leaf(&mut self, scan: &Scan<'_>, from: usize, opener: usize, end: usize) {
        let is_literal = matches!(scan.leaf(), Leaf::Html | Leaf::IndentedCode);
        let Some(at) = scan.last_leaf_line().checked_sub(opener) else {
            return;
        };
        let at = from + at;
        let is_last = line_end(&self.source, at) >= end;
        let Some(last) = self.units.last() else {
            return;
        };
        let start = last.source.start;
        if !is_literal || !is_last || self.lines.is_some() || at < start + LONG {
            return;
        }
        let text = last.opener().to_owned() + &self.source[start..end];
        let place = text.len() - (end - at);
        let context = context_at(&text, last.block(WIDE, &[]), place);
        let opener = scan.leaf_opener().filter(|opener| opener.len() < PART);
        let (Some(opener), Some(context)) = (opener, context) else {
            return;
        };
        // Blank lines at the end of indented code are not drawn.
        if blank_before(&self.source, at) || context.depth() != scan.depth() {
            return;
        }
        let part = Part {
            opener: opener.into(),
            context,
            after_blank: false,
            carry: None,
        };
        let body = Body::Text(Text::default());
        self.push_unit(Unit::part(self.last_kind(), at, part, body));
    }

    fn push_unit(&mut self, unit: Unit) {
        self.close_last(unit.source.start);
        self.units.push(unit);
    }

    /// Reads the unfinished line: whether it is shown, and the unit that it begins.
    pub(super) fn read_unfinished(&mut self) -> Option<Unit> {
        self.shows_partial = false;
        let (from, opener) = self.unscanned();
        self.read_partial(from);
        if self.finished || self.partial.is_empty() {
            return None;
        }
        if from > self.line {
            self.shows_partial = true;
            return None;
        }
        let open_code = match self.units.last().map(|unit| &unit.body) {
            Some(Body::Code(code)) if !code.closed => Some(code),
            _ => None,
        };
        let open_code =
            open_code.filter(|_| self.lines.as_ref().is_some_and(|lines| !lines.is_closed));
        let is_hidden = match open_code {
            Some(code) => code.may_close(self.partial.trim_start_matches(CONTAINER_MARKS)),
            None => is_only_marks(&self.partial) || starts_with_bar(&self.partial),
        };
        if is_hidden {
            return None;
        }
        if self.has_paragraph && continues_paragraph(self.last_line(self.line), &self.partial) {
            self.shows_partial = true;
            return None;
        }
        // Only its fence ends a fenced block that is not inside of another block and not indented.
        let is_plain_code =
            |lines: &Lines| lines.containers.is_empty() && lines.first.starts_with(['`', '~']);
        let is_code_line = open_code.is_some() && self.lines.as_ref().is_some_and(is_plain_code);
        if is_code_line || open_code.is_some() && self.partial.trim().is_empty() {
            self.shows_partial = true;
            return None;
        }
        if let Some(block) = self.sure_start() {
            self.shows_partial = true;
            return Some(self.block_at(self.line, &block));
        }
        let head = text::head_bytes(&self.partial, LINE_HEAD);
        let text = [&opener, &self.source[from..self.line], head].concat();
        self.parsed.set(self.parsed.get() + text.len());
        let at = text.len() - head.len();
        for found in Scan::new(&paired(&text), opener.len()) {
            match found {
                Found::Start(start) if start.line >= at => {
                    return self.unit_of_partial(&start);
                }
                Found::CodeLine(line, indent) if line.start >= at => {
                    self.partial.drain(..line.start - at);
                    self.partial.insert_str(0, &" ".repeat(usize::from(indent)));
                    self.shows_partial = true;
                    return None;
                }
                _ => {}
            }
        }
        self.shows_partial = self.lines.is_none();
        None
    }

    /// The top-level block that the unfinished line certainly begins, for frequent kinds of lines:
    /// the parser would allocate in each frame.
    fn sure_start(&self) -> Option<BlockStart> {
        let is_inside = self.lines.as_ref().is_some_and(|lines| !lines.is_closed)
            || self.has_html
            || !self.view.is_empty();
        let last = self
            .units
            .last()
            .filter(|last| last.part.is_none() && !is_inside)?;
        let begins_word = |text: &str| text.starts_with(char::is_alphabetic);
        let source = &self.source[last.source.start..];
        if begins_word(&self.partial) {
            let is_alone = self.last_line(self.line) == "\n" && !source.starts_with("[^");
            return is_alone.then_some(BlockStart::Text);
        }
        let marker = self
            .partial
            .chars()
            .next()
            .filter(|marker| "-*+".contains(*marker))?;
        if !self.partial[1..].strip_prefix(' ').is_some_and(begins_word) {
            return None;
        }
        match last.kind {
            Kind::Item { .. } if source.starts_with(marker) => Some(BlockStart::NextItem),
            Kind::Item { .. } => None,
            _ => Some(BlockStart::FirstItem(None)),
        }
    }

    fn unit_of_partial(&mut self, start: &Start) -> Option<Unit> {
        // The line with the fence is no code.
        self.shows_partial = !matches!(start.block, BlockStart::Code { .. });
        if start.is_top_level {
            return Some(self.block_at(self.line, &start.block));
        }
        self.part_behind_lines().filter(|_| self.view.is_empty())
    }

    /// The text of the open block without a last line that can be the header of a table.
    pub(super) fn without_table_header<'a>(&self, text: &'a str) -> &'a str {
        let body = text.strip_suffix('\n').unwrap_or(text);
        let start = line_start(body, body.len());
        if self.has_paragraph && starts_with_bar(&body[start..]) {
            &text[..start]
        } else {
            text
        }
    }
}

/// Whether text that continues a paragraph contains only this paragraph.
fn is_paragraph(text: &str, opener: usize) -> bool {
    let mut scan = Scan::new(text, opener);
    let is_other = |found: Found| !matches!(found, Found::Start(start) if start.line == opener && start.block == BlockStart::Text);
    !scan.any(is_other) && scan.leaf() == Leaf::Paragraph
}

/// Characters that mark the lines of quotes and items.
const CONTAINER_MARKS: [char; 3] = ['>', ' ', '\t'];

/// Whether a line may belong to a table.
fn starts_with_bar(line: &str) -> bool {
    line.trim_start_matches(CONTAINER_MARKS).starts_with('|')
}

/// Whether a line certainly continues a paragraph that has the line `above`.
fn continues_paragraph(above: &str, line: &str) -> bool {
    let split = |line| {
        let text = str::trim_start_matches(line, CONTAINER_MARKS);
        let marks = &line[..line.len() - text.len()];
        (marks, text.trim_end())
    };
    let (above_marks, above) = split(above);
    let (marks, text) = split(line);
    let is_inside = marks == above_marks || !marks.contains('>');
    !above.is_empty() && is_inside && text.starts_with(char::is_alphabetic)
}

/// Whether a line has only characters that could be the start of another construct.
fn is_only_marks(line: &str) -> bool {
    line.bytes()
        .all(|byte| b"-=*+_#`~>|:.[]() \t0123456789".contains(&byte))
}

#[cfg(test)]
mod tests;
