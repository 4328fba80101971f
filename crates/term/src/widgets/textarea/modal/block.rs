//! Block selections: the same columns of several lines, and what is done to them. Each change is one edit,
//! however many lines it touches.

use std::ops::Range;

use super::super::TextArea;
use super::super::buffer::{Fragment, Position};
use super::super::undo::Kind;
use super::operate::{INDENT, cased};
use super::register::{Content, How};
use super::walk::{after, before};
use super::{Edit, Input, Inserting, Modal, Mode, Request};
use osier_base::text;

/// A block: lines, and columns with the last one; without that, to the ends of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    first: usize,
    last: usize,
    left: usize,
    right: Option<usize>,
}

/// Where what is typed in the first line goes in the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    last: usize,
    /// Without one, the ends of the lines.
    at: Option<usize>,
    /// A line that does not reach so far is filled up; else it is left alone.
    fills: bool,
    /// Where the cursor goes at the end; without one it stays behind what was typed.
    left: Option<usize>,
}

/// A block that a change is done to again: so many columns, or to the ends of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Again {
    columns: Option<usize>,
}

/// Columns before a byte of a line.
fn columns(line: &str, byte: usize) -> usize {
    let clusters = text::graphemes(&line[..byte]);
    clusters.map(|(_, cluster)| width(cluster)).sum()
}

fn width(cluster: &str) -> usize {
    text::grapheme_width(cluster).max(1)
}

impl Block {
    /// Bytes of a line that are in the block.
    fn cells(&self, line: &str) -> Range<usize> {
        let (mut at, mut start, mut end) = (0, line.len(), line.len());
        for (byte, cluster) in text::graphemes(line) {
            let next = at + width(cluster);
            if next > self.left && byte < start {
                start = byte;
            }
            if self.right.is_some_and(|right| at > right) {
                end = byte;
                break;
            }
            at = next;
        }
        start.min(end)..end
    }

    /// The selected part of every line.
    pub(super) fn parts(&self, area: &TextArea) -> Vec<Range<Position>> {
        let part = |line| {
            let cells = self.cells(area.line(line));
            Position::new(line, cells.start)..Position::new(line, cells.end)
        };
        (self.first..=self.last)
            .map(part)
            .filter(|part| part.start < part.end)
            .collect()
    }

    fn columns(&self) -> Option<usize> {
        self.right.map(|right| right + 1 - self.left)
    }
}

impl Modal {
    /// The block that is selected.
    pub(super) fn block(&self, area: &TextArea) -> Option<Block> {
        let anchor = area.buffer.clamp(self.anchor?);
        if self.mode != Mode::VisualBlock {
            return None;
        }
        let cursor = area.cursor;
        let ends = |at: Position| {
            let line = area.line(at.line);
            let left = columns(line, at.byte);
            let behind = columns(line, after(line, at.byte));
            (left, behind.max(left + 1) - 1)
        };
        let (a, b) = (ends(anchor), ends(cursor));
        let ragged = self.column == Some(usize::MAX);
        // Done again it is as wide as it was, however short the last line is.
        if let Some(Again { columns: wide }) = self.again {
            return Some(Block {
                first: anchor.line,
                last: cursor.line,
                left: a.0,
                right: wide.map(|wide| a.0 + wide - 1),
            });
        }
        Some(Block {
            first: anchor.line.min(cursor.line),
            last: anchor.line.max(cursor.line),
            left: a.0.min(b.0),
            right: (!ragged).then_some(a.1.max(b.1)),
        })
    }

    /// As much from the cursor on as a change was made of.
    pub(super) fn select_block(&mut self, area: &mut TextArea, lines: usize, wide: Option<usize>) {
        let from = area.cursor;
        self.mode = Mode::VisualBlock;
        self.anchor = Some(from);
        let line = (from.line + lines - 1).min(area.line_count() - 1);
        let column = columns(area.line(from.line), from.byte) + wide.unwrap_or(1) - 1;
        let byte = super::moving::at_column(area.line(line), column);
        area.cursor = Position::new(line, byte);
        self.again = Some(Again { columns: wide });
    }

    /// The cursor goes to the other side of the block.
    pub(super) fn other_corner(&mut self, area: &mut TextArea) {
        let Some(anchor) = self.anchor else { return };
        let column = |at: Position| columns(area.line(at.line), at.byte);
        let (own, other) = (column(area.cursor), column(anchor));
        let at = |line: usize, column| {
            Position::new(line, super::moving::at_column(area.line(line), column))
        };
        self.anchor = Some(at(anchor.line, own));
        area.cursor = at(area.cursor.line, other);
    }

    pub(super) fn operate_block(&mut self, area: &mut TextArea, edit: Edit, block: Block) {
        let times = self.count.take().unwrap_or(1);
        self.begin_block(area, block);
        match edit {
            Edit::Yank => self.keep_block(area, block, How::Copied),
            Edit::Delete => self.remove_block(area, block),
            Edit::Change => {
                self.remove_block(area, block);
                self.insert_block(area, block, (Some(block.left), false), None);
            }
            Edit::Indent => {
                let indent = Fragment::plain(&INDENT.repeat(times));
                rewrite(area, block, |line, cells, _| {
                    let reaches = columns(line, line.len()) > block.left;
                    let at = if reaches { cells.start } else { 0 };
                    let new = if reaches {
                        indent.clone()
                    } else {
                        Fragment::default()
                    };
                    (at..at, new)
                });
            }
            Edit::Outdent => rewrite(area, block, |line, cells, _| {
                let blanks = line[cells.start..].len() - line[cells.start..].trim_start().len();
                let gone = blanks.min(INDENT.len() * times);
                (cells.start..cells.start + gone, Fragment::default())
            }),
            case => rewrite(area, block, |_, cells, whole| {
                let new = Fragment {
                    text: cased(&whole(&cells).text, case),
                    ..whole(&cells)
                };
                (cells, new)
            }),
        }
        self.changed |= edit != Edit::Yank;
    }

    pub(super) fn change_block(&mut self, area: &mut TextArea, edit: Edit, block: Block) {
        let to_end = Block {
            right: None,
            ..block
        };
        match edit {
            Edit::DeleteChar | Edit::DeleteCharBefore => {
                self.operate_block(area, Edit::Delete, block);
            }
            Edit::Substitute => self.operate_block(area, Edit::Change, block),
            Edit::YankLine => self.operate_block(area, Edit::Yank, block),
            Edit::ToggleCaseChar => self.operate_block(area, Edit::ToggleCase, block),
            Edit::DeleteToEnd => self.operate_block(area, Edit::Delete, to_end),
            Edit::ChangeToEnd => self.operate_block(area, Edit::Change, to_end),
            Edit::InsertAtText | Edit::AppendAtEnd => {
                self.count = None;
                self.begin_block(area, block);
                let place = match (edit, block.right) {
                    (Edit::InsertAtText, _) => (Some(block.left), false),
                    (_, Some(right)) => (Some(right + 1), true),
                    (_, None) => (None, true),
                };
                self.insert_block(area, block, place, Some(block.left));
            }
            Edit::PutAfter | Edit::PutBefore => {
                let register = self.register.take();
                let content = self.registers.get(register).cloned();
                self.begin_block(area, block);
                self.remove_block(area, block);
                match content {
                    Some(content) => self.put_content(area, &content, (false, 1)),
                    None => self.fail(),
                }
            }
            // What works on lines works on these.
            edit => {
                self.mode = Mode::VisualLine;
                self.change(area, edit);
            }
        }
    }

    pub(super) fn replace_block(&mut self, area: &mut TextArea, block: Block, char: char) {
        self.count = None;
        self.begin_block(area, block);
        rewrite(area, block, |line, cells, _| {
            let clusters = text::graphemes(&line[cells.clone()]).count();
            let new = Fragment::plain(&char.to_string().repeat(clusters));
            (cells, new)
        });
        self.changed = true;
    }

    /// Leaves the selection, keeps its size for `.`, and puts the cursor on its first corner.
    fn begin_block(&mut self, area: &mut TextArea, block: Block) {
        let extent = Input::Block {
            lines: block.last - block.first + 1,
            columns: block.columns(),
        };
        self.recording.insert(0, extent);
        self.leave_visual(area);
        (self.column, self.again) = (None, None);
        let start = block.cells(area.line(block.first)).start;
        area.cursor = Position::new(block.first, start);
    }

    fn keep_block(&mut self, area: &TextArea, block: Block, how: How) {
        let mut text = Fragment::default();
        let mut widest = 0;
        for line in block.first..=block.last {
            if line > block.first {
                text.append(&Fragment::plain("\n"));
            }
            let cells = block.cells(area.line(line));
            widest = widest.max(columns(&area.line(line)[cells.clone()], cells.len()));
            let part = Position::new(line, cells.start)..Position::new(line, cells.end);
            text.append(&area.buffer.fragment(part));
        }
        let content = Content {
            text,
            lines: false,
            block: Some(block.columns().unwrap_or(widest)),
        };
        let copied = self.registers.store(self.register.take(), content, how);
        self.requests.extend(copied.map(Request::Copy));
    }

    fn remove_block(&mut self, area: &mut TextArea, block: Block) {
        self.keep_block(area, block, How::Deleted);
        rewrite(area, block, |_, cells, _| (cells, Fragment::default()));
        self.changed = true;
    }

    /// Begins to insert in the first line what the others get, too.
    fn insert_block(
        &mut self,
        area: &mut TextArea,
        block: Block,
        (column, fills): (Option<usize>, bool),
        left: Option<usize>,
    ) {
        let line = area.line(block.first);
        let have = columns(line, line.len());
        let byte = match column {
            Some(column) if column < have => cells_before(line, column),
            _ => line.len(),
        };
        let at = Position::new(block.first, byte);
        let missing = column.filter(|_| fills).unwrap_or(0).saturating_sub(have);
        area.cursor = at;
        if missing > 0 {
            area.edit(at..at, Fragment::plain(&" ".repeat(missing)), Kind::Other);
        }
        self.begin_insert(area, 1, false);
        let block = Column {
            last: block.last,
            at: column,
            fills,
            left,
        };
        if let Some(inserting) = &mut self.inserting {
            *inserting = Inserting {
                block: Some(block),
                ..*inserting
            };
        }
    }

    /// Puts the lines of a block beside one another's columns, at the cursor.
    pub(super) fn put_block(
        &mut self,
        area: &mut TextArea,
        content: &Fragment,
        (wide, times): (usize, usize),
        behind: bool,
    ) {
        let at = area.cursor;
        let line = area.line(at.line);
        let byte = if behind {
            after(line, at.byte)
        } else {
            at.byte
        };
        let column = columns(line, byte);
        let pieces = content.lines();
        let missing = (at.line + pieces.len()).saturating_sub(area.line_count());
        if missing > 0 {
            let end = area.buffer.end();
            area.edit(
                end..end,
                Fragment::plain(&"\n".repeat(missing)),
                Kind::Other,
            );
        }
        let block = Block {
            first: at.line,
            last: at.line + pieces.len() - 1,
            left: 0,
            right: None,
        };
        let mut place = 0;
        rewrite(area, block, |line, _, _| {
            let piece = &pieces[place];
            place += 1;
            let have = columns(line, line.len());
            let byte = cells_before(line, column);
            let own = columns(&piece.text, piece.text.len());
            let mut new = Fragment::plain(&" ".repeat(column.saturating_sub(have)));
            for time in 0..times {
                new.append(piece);
                let is_last = time + 1 == times && byte >= line.len();
                if !is_last {
                    new.append(&Fragment::plain(&" ".repeat(wide.saturating_sub(own))));
                }
            }
            (byte..byte, new)
        });
        let line = area.line(at.line);
        area.cursor = Position::new(at.line, cells_before(line, column));
        self.changed = true;
    }
}

/// Puts what was typed at `start` into the other lines of the block.
pub(super) fn spread(area: &mut TextArea, start: Position, to: Column, typed: &Fragment) {
    let last = to.last.min(area.line_count() - 1);
    if typed.is_empty() || typed.text.contains('\n') || start.line >= last {
        return;
    }
    let rest = Block {
        first: start.line + 1,
        last,
        left: 0,
        right: None,
    };
    rewrite(area, rest, |line, _, _| {
        let have = columns(line, line.len());
        let column = to.at.unwrap_or(have);
        let byte = cells_before(line, column);
        let (missing, reaches) = (column.saturating_sub(have), column <= have);
        let mut new = Fragment::default();
        if reaches || to.fills {
            new = Fragment::plain(&" ".repeat(missing));
            new.append(typed);
        }
        (byte..byte, new)
    });
    if let Some(left) = to.left {
        let line = area.line(start.line);
        // Leaving goes one to the left, as it does from the end of what was typed.
        area.cursor = Position::new(start.line, after(line, cells_before(line, left)));
    }
}

/// The byte of the cluster that stands in a column; the end of a shorter line.
fn cells_before(line: &str, column: usize) -> usize {
    let mut at = 0;
    for (byte, cluster) in text::graphemes(line) {
        let next = at + width(cluster);
        if next > column {
            return byte;
        }
        at = next;
    }
    line.len()
}

/// A part of a line with its chips, from byte to byte.
type Whole<'a> = &'a dyn Fn(&Range<usize>) -> Fragment;

/// Makes every line of a block anew, in one edit: `change` says which bytes of it become what.
fn rewrite(
    area: &mut TextArea,
    block: Block,
    mut change: impl FnMut(&str, Range<usize>, Whole<'_>) -> (Range<usize>, Fragment),
) {
    let mut all = Fragment::default();
    for line in block.first..=block.last {
        if line > block.first {
            all.append(&Fragment::plain("\n"));
        }
        let text = area.line(line);
        let whole = |bytes: &Range<usize>| {
            area.buffer
                .fragment(Position::new(line, bytes.start)..Position::new(line, bytes.end))
        };
        let (bytes, new) = change(text, block.cells(text), &whole);
        all.append(&whole(&(0..bytes.start)));
        all.append(&new);
        all.append(&whole(&(bytes.end..text.len())));
    }
    let cursor = area.cursor;
    let end = area.line(block.last).len();
    let range = Position::new(block.first, 0)..Position::new(block.last, end);
    area.edit(range, all, Kind::Other);
    area.cursor = area.buffer.clamp(cursor);
    let line = area.line(area.cursor.line);
    if area.cursor.byte > line.len() {
        area.cursor.byte = before(line, line.len());
    }
}
