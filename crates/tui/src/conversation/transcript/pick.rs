//! One block of the conversation picked by keyboard: a prompt, an answer, a piece of its code, a call. What is
//! picked can be copied as it was written, collapsed, and opened in another program.

use std::ops::Range;

use super::cell::Body;
use super::state::{Pick, Seen, Transcript};
use osier_term::{Emphasis, Face, Row, Span, Token};

impl Transcript {
    /// Picks the next block above or below. The first pick is, upward, the last block on the screen
    /// and, downward, the first that begins there. Returns false if there is no such block.
    pub fn pick_next(&mut self, down: bool) -> bool {
        let next = match self.pick {
            Some(pick) => self.step(pick, down),
            None if down => self.first_seen(),
            None => self.last_seen(),
        };
        let Some(next) = next else {
            return false;
        };
        self.pick = Some(next);
        if let Some((cell, rows)) = self.picked_rows() {
            self.reveal(cell, rows);
        }
        true
    }

    pub(super) fn pick_cell(&mut self, cell: usize) {
        self.pick = Some(Pick { cell, code: None });
    }

    pub fn clear_pick(&mut self) -> bool {
        self.pick.take().is_some()
    }

    pub(super) fn picked_cell(&self) -> Option<usize> {
        let cell = self.pick?.cell;
        (cell < self.strip().cells.len()).then_some(cell)
    }

    /// Folds or unfolds the picked block; false when nothing is picked or nothing folds.
    pub fn toggle_picked(&mut self) -> bool {
        let Some(cell) = self.picked_cell() else {
            return false;
        };
        if let Some(code) = self.pick.and_then(|pick| pick.code) {
            let row = self.code_of(cell).get(code).map(|(rows, _)| rows.start);
            if row.is_some_and(|row| self.toggle_diagram(cell, row)) {
                return true;
            }
        }
        self.toggle(cell)
    }

    /// The text of the picked block as it was written: Markdown of an answer, code without its fence, output
    /// of a call.
    pub fn picked_text(&mut self) -> Option<String> {
        let cell = self.picked_cell()?;
        if let Some(code) = self.pick.and_then(|pick| pick.code) {
            let pieces = self.code_of(cell);
            return Some(pieces.into_iter().nth(code)?.1);
        }
        let cells = &self.strip().cells;
        let text = match &cells[cell].body {
            Body::User(message) => message.text.clone(),
            Body::Text(_) => {
                let first = (0..=cell).rev().find(|at| !cells[*at].continues)?;
                let rest = cells[first + 1..].iter().take_while(|cell| cell.continues);
                let parts = std::iter::once(&cells[first]).chain(rest);
                let sources = parts.map(|part| match &part.body {
                    Body::Text(markdown) => markdown.source(),
                    _ => "",
                });
                sources.collect()
            }
            Body::Thinking { markdown, .. } | Body::Summary { markdown, .. } => {
                markdown.source().to_owned()
            }
            Body::Tool(tool) => tool.output().into_owned(),
            Body::Shell(shell) => shell.output().to_owned(),
            Body::Notice(notice) => notice.text.clone(),
            Body::Turn(line) => line.clone(),
            Body::Lines(rows) => rows.iter().map(Row::text).collect::<Vec<_>>().join("\n"),
        };
        Some(text.trim_end().to_owned())
    }

    /// The last code block of the answers.
    pub(super) fn last_code(&mut self) -> Option<String> {
        let (width, style) = (self.viewport.0, self.style);
        let mut cells = self.near.cells.iter_mut().rev();
        cells.find_map(|cell| Some(cell.code(width, style).pop()?.1))
    }

    /// The output of the last call or command that has any.
    pub(super) fn last_output(&self) -> Option<String> {
        let mut cells = self.near.cells.iter().rev();
        cells.find_map(|cell| {
            let output = match &cell.body {
                Body::Tool(tool) => tool.output().into_owned(),
                Body::Shell(shell) => shell.output().to_owned(),
                _ => return None,
            };
            Some(output.trim_end().to_owned()).filter(|output| !output.is_empty())
        })
    }

    /// The name of the picked block.
    pub(super) fn picked_name(&self) -> &'static str {
        let is_code = self.pick.is_some_and(|pick| pick.code.is_some());
        let cell = self
            .picked_cell()
            .map(|cell| &self.strip().cells[cell].body);
        match cell {
            Some(_) if is_code => "code",
            Some(Body::User(_)) => "prompt",
            Some(Body::Text(_)) | None => "answer",
            Some(Body::Thinking { .. }) => "thinking",
            Some(Body::Summary { .. }) => "summary",
            Some(Body::Tool(_) | Body::Shell(_)) => "output",
            Some(Body::Notice(_)) => "notice",
            Some(Body::Turn(_) | Body::Lines(_)) => "text",
        }
    }

    /// The command that the picked block ran, or the file it is about.
    pub fn picked_command(&self) -> Option<String> {
        match &self.strip().cells[self.picked_cell()?].body {
            Body::Tool(tool) => tool.command(),
            Body::Shell(shell) => Some(shell.command.clone()),
            _ => None,
        }
    }

    /// The rows of the picked block within its cell.
    pub(super) fn picked_rows(&mut self) -> Option<(usize, Range<usize>)> {
        let cell = self.picked_cell()?;
        match self.pick?.code {
            Some(code) => Some((cell, self.code_of(cell).into_iter().nth(code)?.0)),
            None => Some((cell, 0..usize::MAX)),
        }
    }

    fn step(&mut self, pick: Pick, down: bool) -> Option<Pick> {
        let Pick { cell, code } = pick;
        let count = self.strip().cells.len();
        if cell >= count {
            return self.first_seen();
        }
        if down {
            let next = code.map_or(0, |code| code + 1);
            if next < self.code_of(cell).len() {
                let code = Some(next);
                return Some(Pick { cell, code });
            }
            let cell = (cell + 1..count).find(|cell| self.is_shown(*cell))?;
            return Some(Pick { cell, code: None });
        }
        match code {
            Some(0) => Some(Pick { cell, code: None }),
            Some(code) => {
                let code = Some(code - 1);
                Some(Pick { cell, code })
            }
            None => {
                let cell = (0..cell).rev().find(|cell| self.is_shown(*cell))?;
                let code = self.code_of(cell).len().checked_sub(1);
                Some(Pick { cell, code })
            }
        }
    }

    pub(super) fn last_seen(&mut self) -> Option<Pick> {
        let bottom = self.viewport.1;
        let seen = (0..bottom).rev().find_map(|y| match self.seen_at(y)? {
            Seen::Row { cell, .. } => Some(cell),
            Seen::Gap => None,
        });
        let cell = (0..=seen?).rev().find(|cell| self.is_shown(*cell))?;
        let code = self.code_of(cell).len().checked_sub(1);
        Some(Pick { cell, code })
    }

    fn first_seen(&mut self) -> Option<Pick> {
        let (top, row) = self.top();
        let from = if row > self.strip().gap(top, self.style) {
            top + 1
        } else {
            top
        };
        let count = self.strip().cells.len();
        let cell = (from..count).chain((0..from.min(count)).rev());
        let cell = cell.into_iter().find(|cell| self.is_shown(*cell))?;
        Some(Pick { cell, code: None })
    }

    /// Whether the cell has rows to copy or open. The line below a turn has none.
    fn is_shown(&mut self, cell: usize) -> bool {
        let is_turn = matches!(self.strip().cells[cell].body, Body::Turn(_));
        !is_turn && self.full_height(cell) > self.strip().gap(cell, self.style)
    }

    /// The pieces of code in a cell: their rows and their text.
    fn code_of(&mut self, cell: usize) -> Vec<(Range<usize>, String)> {
        let (width, style) = (self.viewport.0, self.style);
        self.strip_mut().cells[cell].code(width, style)
    }
}

/// The row with a bar in its indent or, without an indent, at its first column. On a linear screen,
/// the bar has the face that the cursor goes to.
pub(super) fn with_bar(row: &Row, linear: bool, indent: u16) -> Row {
    let bar = if linear {
        Face::from(Token::Selected)
    } else {
        Face::from(Token::Accent).emphasised(Emphasis::REVERSE)
    };
    let mut shown = row.clone();
    if indent > 0 {
        let rest = " ".repeat(usize::from(indent) - 1);
        shown.spans.insert(0, Span::new(rest, Token::Text));
        shown.spans.insert(0, Span::new(" ", bar));
        return shown;
    }
    match shown.spans.iter_mut().find(|span| !span.text.is_empty()) {
        None => shown.spans.push(Span::new(" ", bar)),
        Some(span) => {
            let text = std::mem::take(&mut span.text);
            let end = osier_base::text::column_range(&text, 0..=0).end;
            let rest = Span {
                text: text[end..].into(),
                ..span.clone()
            };
            *span = Span::new(&text[..end], bar);
            let place = shown.spans.iter().position(|span| span.face == bar);
            shown.spans.insert(place.map_or(0, |place| place + 1), rest);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_in_the_indent_or_covers_the_first_column_alone() {
        let row = Row::new(vec![
            Span::new("漢字", Token::Text),
            Span::new("x", Token::Code),
        ]);
        assert_eq!(with_bar(&row, false, 2).text(), "  漢字x");
        let shown = with_bar(&row, false, 0);
        let texts: Vec<&str> = shown.spans.iter().map(|span| &*span.text).collect();
        assert_eq!(texts, ["漢", "字", "x"]);
        assert_eq!(with_bar(&Row::default(), false, 0).text(), " ");
    }
}
