//! What motions do: moving, or the operator that waits for them; the characters that some need first; counts.

use super::super::TextArea;
use super::super::buffer::Position;
use super::motion::{self, Find, Purpose, Span, Target};
use super::register::{self, How};
use super::walk::last;
use super::{Awaiting, Edit, Modal, Mode, Outcome};
use osier_base::text;

impl Modal {
    /// Moves, or does what waits for a motion.
    pub(super) fn motion(&mut self, area: &mut TextArea, edit: Edit) {
        let purpose = match self.pending {
            _ if self.mode.is_visual() => Purpose::Move,
            Some(pending) if pending.operator == Edit::Change => Purpose::Change,
            Some(_) => Purpose::Operate,
            None => Purpose::Move,
        };
        let count = self.total();
        let target = motion::target(&area.buffer, area.cursor, edit, count, purpose);
        let column = (edit == Edit::LineEnd).then_some(usize::MAX);
        let far = matches!(
            edit,
            Edit::Matching
                | Edit::ParagraphForward
                | Edit::ParagraphBack
                | Edit::SentenceForward
                | Edit::SentenceBack
                | Edit::FirstLine
                | Edit::LastLine
        );
        let how = if far { How::DeletedFar } else { How::Deleted };
        self.go(area, target, how);
        self.column = column;
    }

    /// Goes to a target, or works on the text up to it. Without one, nothing that was begun is left.
    pub(super) fn go(&mut self, area: &mut TextArea, target: Option<Target>, how: How) {
        self.column = None;
        let pending = self.pending.take();
        self.count = None;
        match (target, pending) {
            (None, _) => self.fail(),
            (Some(target), Some(pending)) => {
                let from = area.cursor;
                self.operate_to(area, pending.operator, from, target, how);
            }
            (Some(target), None) => {
                if how == How::DeletedFar && target.at != area.cursor {
                    self.marks.insert('\'', area.cursor);
                }
                area.cursor = area.buffer.clamp(target.at);
                area.undo.seal();
            }
        }
    }

    /// The counts before and behind an operator.
    pub(super) fn total(&self) -> Option<usize> {
        let before = self.pending.and_then(|pending| pending.count);
        match (before, self.count) {
            (None, None) => None,
            (before, own) => Some(
                before
                    .unwrap_or(1)
                    .saturating_mul(own.unwrap_or(1))
                    .clamp(1, 9_999),
            ),
        }
    }

    pub(super) fn vertical(&mut self, area: &mut TextArea, up: bool) -> Outcome {
        let times = self.total().unwrap_or(1);
        let from = area.cursor;
        let lines = area.line_count();
        let line = if up {
            from.line.saturating_sub(times)
        } else {
            from.line.saturating_add(times).min(lines - 1)
        };
        // As far as there are lines; from the last one nowhere.
        let line = Some(line).filter(|line| *line != from.line);
        let Some(line) = line else {
            let used = self.pending.is_some() || self.count.is_some() || self.mode != Mode::Normal;
            self.fail();
            return if used { Outcome::Done } else { Outcome::Unused };
        };
        let text = &area.line(from.line)[..from.byte];
        let column = self.column.unwrap_or_else(|| text::width(text));
        let at = Position::new(line, at_column(area.line(line), column));
        self.go(
            area,
            Some(Target {
                at,
                span: Span::Lines,
            }),
            How::Deleted,
        );
        self.column = Some(column);
        Outcome::Done
    }

    pub(super) fn argument(&mut self, area: &mut TextArea, awaiting: Awaiting, char: char) {
        match awaiting {
            Awaiting::Find { back, till } => {
                let find = Find { char, back, till };
                self.find = Some(find);
                self.find_char(area, find, false);
            }
            Awaiting::Replace => self.replace(area, char),
            Awaiting::Register => self.register = register::is_name(char).then_some(char),
            Awaiting::Zap => self.zap(area, char),
            Awaiting::SetMark => {
                self.marks.insert(char, area.cursor);
            }
            Awaiting::GoMark { line } => {
                let name = if char == '`' { '\'' } else { char };
                let start = (name == '\'').then(Position::default);
                let mark = self.marks.get(&name).copied().or(start);
                let mark = mark.map(|mark| area.buffer.clamp(mark));
                let target = mark.map(|at| {
                    if line {
                        return motion::lines(&area.buffer, at.line);
                    }
                    let span = Span::Exclusive;
                    Target { at, span }
                });
                self.go(area, target, How::DeletedFar);
            }
            Awaiting::Search { back, mut typed } => {
                typed.push(char);
                self.awaiting = Some(Awaiting::Search { back, typed });
            }
            Awaiting::Typing {
                back,
                mut typed,
                origin,
            } => {
                typed.push(char);
                self.search_typed(area, typed, back, origin);
            }
        }
    }

    pub(super) fn find_char(&mut self, area: &mut TextArea, find: Find, again: bool) {
        let times = self.total().unwrap_or(1);
        let line = area.line(area.cursor.line);
        let found = motion::find(line, area.cursor.byte, find, times, again);
        let span = if find.back {
            Span::Exclusive
        } else {
            Span::Inclusive
        };
        let target = found.map(|byte| Target {
            at: Position::new(area.cursor.line, byte),
            span,
        });
        self.go(area, target, How::Deleted);
    }

    pub(super) fn find_again(&mut self, area: &mut TextArea, reverse: bool) {
        match self.find {
            Some(find) => {
                let back = find.back != reverse;
                self.find_char(area, Find { back, ..find }, true);
            }
            None => self.fail(),
        }
    }
}

/// Steps that need a character.
pub(super) fn awaited(edit: Edit) -> Option<Awaiting> {
    let find = |back, till| Some(Awaiting::Find { back, till });
    match edit {
        Edit::FindForward => find(false, false),
        Edit::FindBack => find(true, false),
        Edit::TillForward => find(false, true),
        Edit::TillBack => find(true, true),
        Edit::Replace => Some(Awaiting::Replace),
        Edit::Register => Some(Awaiting::Register),
        Edit::ZapToChar => Some(Awaiting::Zap),
        Edit::SetMark => Some(Awaiting::SetMark),
        Edit::GoMark => Some(Awaiting::GoMark { line: false }),
        Edit::GoMarkLine => Some(Awaiting::GoMark { line: true }),
        Edit::SearchForward | Edit::SearchBack => Some(Awaiting::Search {
            back: edit == Edit::SearchBack,
            typed: String::new(),
        }),
        _ => None,
    }
}

/// The cluster of a line that stands in a column; the last one of a shorter line.
pub(super) fn at_column(line: &str, column: usize) -> usize {
    let mut at = 0;
    for (byte, cluster) in text::graphemes(line) {
        let width = text::grapheme_width(cluster).max(1);
        if at + width > column {
            return byte;
        }
        at += width;
    }
    last(line)
}
