//! The conversation in inline mode: rows that will not change any more are printed, and belong to the terminal from then
//! on. Only the rows after them are drawn again.

use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::cell::{Body, Cell};
use super::group::is_hidden_thinking;
use super::state::{Position, Transcript};
use crate::drawing::{Surface, frame};
use osier_base::text;
use osier_term::images::ImageStore;
use osier_term::widgets::paint::Painter;
use osier_term::{Face, Row, Token};

/// How long rows stay in the region after their last change, for the colours of their code.
const SETTLES: Duration = Duration::from_millis(250);
/// Rows that one frame prints at most.
const MOST_ROWS: usize = 1000;

/// Which rows of the conversation a frame prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Printing {
    /// Rows that have been complete for a moment.
    #[default]
    Settled,
    /// Every complete row: the shell gets the terminal until osier continues.
    Complete,
    /// Every row: osier ends.
    All,
}

/// A frame of the conversation.
#[derive(Debug, Default)]
pub(crate) struct LiveRows {
    /// Rows to print above the region.
    pub(crate) printed: Option<Buffer>,
    /// Rows of the area that the conversation uses.
    pub(crate) height: u16,
}

impl Transcript {
    /// Names the conversation that replaces the one whose end is printed.
    pub(crate) fn announce(&mut self, title: String) {
        self.printed.title = Some(title);
    }

    /// Names the branch by its last prompt.
    pub(super) fn announce_branch(&mut self) {
        let prompts = self.near.cells.iter().rev();
        let prompt = prompts.into_iter().find_map(|cell| match &cell.body {
            Body::User(prompt) => Some(text::single_line(text::head_bytes(&prompt.text, 200))),
            _ => None,
        });
        let title = match prompt {
            Some(prompt) => format!("Branch: {prompt}"),
            None => "Branch: before the first prompt".to_owned(),
        };
        self.announce(title);
    }

    /// Prints the end of the conversation again, because it is another one now.
    pub(super) fn print_again(&mut self) {
        (self.printed.next, self.printed.settled) = (None, None);
    }

    /// The terminal shows this conversation now, below another one.
    pub(crate) fn print_below(&mut self, other: &Self) {
        self.print_again();
        self.printed.has_text |= other.printed.has_text;
    }

    /// Whether rows of a cell are printed.
    pub(super) fn is_printed(&self, cell: usize) -> bool {
        self.printed.next.is_some_and(|next| next > (cell, 0))
    }

    /// When rows can be printed that nothing else will change.
    pub(crate) fn next_print(&self) -> Option<Instant> {
        let (end, since) = self.printed.settled?;
        self.printed
            .next
            .is_none_or(|next| next < end)
            .then(|| since + SETTLES)
    }

    /// A frame without the conversation was drawn: nothing can be printed until the next one with it.
    pub(crate) fn prints_nothing(&mut self) {
        self.printed.settled = None;
    }

    /// Draws the rows that are not printed, and returns those that are printed now.
    pub(crate) fn render_live(
        &mut self,
        area: Rect,
        surface: &mut Surface<'_>,
        pictures: &mut ImageStore,
        (now, is_idle, printing): (Instant, bool, Printing),
    ) -> LiveRows {
        self.leave_away();
        self.position = Position::Follow;
        if let Some((cell, row @ 1..)) = self.printed.next {
            let widths = (self.viewport.0, area.width);
            self.printed.next = Some((cell, self.printed_row(cell, row, widths)));
        }
        self.viewport = (area.width, area.height);
        // Rows of the terminal cannot be expanded.
        let key = self.style.expand_key.take();
        let mut rows = Vec::new();
        let from = self.first_row(area.height, &mut rows);
        let to = if printing == Printing::All {
            (self.near.cells.len(), 0)
        } else {
            self.settled_end(from, is_idle)
        };
        let to = self.printable(from, to, (now, printing));
        let printed = self.print(from, to, &rows, surface, pictures);
        self.printed.next = Some(to);
        let height = self.rows_from(to, usize::from(area.height));
        if height > 0 {
            let fits = height <= usize::from(area.height);
            let start = if fits { to } else { self.top() };
            let theme = surface.theme;
            // While a question about a call is open, the calls after it are not shown.
            let used = Rect {
                height: u16::try_from(height).unwrap_or(u16::MAX).min(area.height),
                ..area
            };
            let mut painter = Painter::new(used, surface.buffer, surface.links, |face| {
                theme.style(face)
            });
            self.paint_from(start, &mut painter, pictures);
            painter.finish();
        }
        self.style.expand_key = key;
        LiveRows {
            printed,
            height: u16::try_from(height).unwrap_or(u16::MAX).min(area.height),
        }
    }

    /// The number of printed rows of a cell whose text streams, after the width has changed.
    fn printed_row(&mut self, cell: usize, row: usize, widths: (u16, u16)) -> usize {
        let style = self.style;
        let gap = self.near.gap(cell, style);
        match self.near.cells.get_mut(cell) {
            Some(at) if widths.0 != widths.1 && row > gap => {
                gap + at.row_at_width(row - gap, widths, style)
            }
            _ => row,
        }
    }

    /// The first row that is not printed. Where nothing is, the end of the conversation begins, with its name and a hint at
    /// the rows before it in `rows`.
    fn first_row(&mut self, height: u16, rows: &mut Vec<Row>) -> (usize, usize) {
        let width = usize::from(self.viewport.0);
        let title = self.printed.title.take();
        if self.printed.has_text
            && let Some(title) = title
        {
            rows.push(Row::default());
            rows.push(frame::rule(
                &text::single_line(&title),
                Face::bold(Token::Title),
                ("", Token::Muted.into()),
                width,
            ));
        }
        if let Some(next) = self.printed.next {
            return next;
        }
        let end = (self.near.cells.len(), 0);
        let from = self.moved_up(end, usize::from(height.saturating_sub(2)));
        if from > (0, 0) || self.near.earlier {
            let hint = "… pageup shows the conversation from its start";
            rows.push(Row::plain(hint, Token::Muted).truncated(width));
        }
        from
    }

    /// The end of the rows that do not change any more.
    fn settled_end(&mut self, from: (usize, usize), is_idle: bool) -> (usize, usize) {
        let (width, style) = (self.viewport.0, self.style);
        let live = self.first_live();
        let is_open = |transcript: &Self, cell: usize| {
            let blocks = transcript.open.iter().flat_map(|open| &open.blocks);
            blocks.into_iter().any(|block| *block == cell)
        };
        let mut cell = from.0;
        while cell < self.near.cells.len() {
            let is_settled =
                cell < live || is_open(self, cell) && self.near.cells[cell].is_complete();
            if !is_settled {
                break;
            }
            cell += 1;
        }
        // A call can still join the group of calls at the end.
        let joins = |at: &Cell| matches!(at.body, Body::Tool(_)) || is_hidden_thinking(at, style);
        let end = self.near.cells.get(cell);
        if !end.map_or(is_idle, |at| !joins(at)) {
            while cell > from.0 && self.near.may_group(cell - 1, style) {
                cell -= 1;
            }
        }
        if cell < self.near.cells.len() && is_open(self, cell) && cell >= from.0 {
            let gap = self.near.gap(cell, style);
            let rows = self.near.cells[cell].complete_rows(width, style);
            if rows > 0 {
                return (cell, gap + rows).max(from);
            }
        }
        (cell, 0).max(from)
    }

    /// How far rows can be printed now: those that have been complete for a moment.
    fn printable(
        &mut self,
        from: (usize, usize),
        end: (usize, usize),
        (now, printing): (Instant, Printing),
    ) -> (usize, usize) {
        if printing != Printing::Settled {
            self.printed.settled = None;
            return end;
        }
        let (before, since) = *self.printed.settled.get_or_insert((end, now));
        if now.saturating_duration_since(since) < SETTLES {
            return from;
        }
        // Cells may have been removed since.
        let to = before.min(end).max(from);
        let most = self.moved_down(from, MOST_ROWS);
        if to > most {
            return most;
        }
        self.printed.settled = (end > to).then_some((end, now));
        to
    }

    /// The rows between two places, painted.
    fn print(
        &mut self,
        from: (usize, usize),
        to: (usize, usize),
        head: &[Row],
        surface: &Surface<'_>,
        pictures: &mut ImageStore,
    ) -> Option<Buffer> {
        let count = head.len() + self.rows_between(from, to);
        if count == 0 {
            return None;
        }
        self.printed.has_text = true;
        let height = u16::try_from(count).unwrap_or(u16::MAX);
        let area = Rect::new(0, 0, self.viewport.0, height);
        let mut buffer = Buffer::empty(area);
        let theme = surface.theme;
        let mut painter = Painter::new(area, &mut buffer, surface.links, |face| theme.style(face));
        for row in head {
            painter.row(row);
        }
        self.paint_from(from, &mut painter, pictures);
        painter.finish();
        let mut printed = Surface {
            buffer: &mut buffer,
            links: surface.links,
            theme,
        };
        printed.paint_ground();
        Some(buffer)
    }

    fn rows_between(&mut self, from: (usize, usize), to: (usize, usize)) -> usize {
        let cells: usize = (from.0..to.0).map(|cell| self.full_height(cell)).sum();
        (cells + to.1).saturating_sub(from.1)
    }

    /// The rows from a place to the end, counted until there are more than `most`.
    fn rows_from(&mut self, from: (usize, usize), most: usize) -> usize {
        let end = self.end();
        let mut rows = 0;
        let mut cell = from.0;
        while cell < end && rows <= most + from.1 {
            rows += self.full_height(cell);
            cell += 1;
        }
        rows.saturating_sub(from.1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use osier_agent::{AgentMessage, Event as AgentEvent, UserMessage};
    use osier_llm::{AssistantMessage, Delta};
    use osier_protocol::Event;
    use osier_term::{Links, Theme};

    const ANSWER: &str = "# Title\n\nA paragraph that is longer than a row of this terminal, with `code`.\n\n- one\n- two\n  - \
        three\n\n```rust\nfn main() {\n    println!(\"a line that is much longer than the row\");\n}\n```\n\n| a | b |\n|---|---|\n| 1 \
        | 2 |\n\n> a quote\n\nThe end.\n";

    struct Reader {
        transcript: Transcript,
        now: Instant,
        width: u16,
        printed: Vec<String>,
    }

    impl Reader {
        fn new(width: u16) -> Self {
            Self {
                transcript: Transcript::new(&Arc::default()),
                now: Instant::now(),
                width,
                printed: Vec::new(),
            }
        }

        fn event(&mut self, event: AgentEvent) {
            self.transcript.apply(&Event::Agent(event));
        }

        fn prompt(&mut self, text: &str) {
            let message = AgentMessage::User(UserMessage::new(text.to_owned(), 0));
            let (id, message) = (text.to_owned(), Arc::new(message));
            self.event(AgentEvent::MessageStart {
                id: id.clone(),
                message: Arc::clone(&message),
            });
            self.transcript.apply(&Event::MessageStored {
                id: id.clone(),
                entry_id: id,
            });
            let message = Arc::new(AgentMessage::Assistant(AssistantMessage::default()));
            let id = "answer".to_owned();
            self.event(AgentEvent::MessageStart { id, message });
            self.update(Delta::TextStart { index: 0 });
        }

        fn update(&mut self, delta: Delta) {
            let id = "answer".to_owned();
            self.event(AgentEvent::MessageUpdate { id, delta });
        }

        fn text(&mut self, delta: &str) {
            self.update(Delta::TextDelta {
                index: 0,
                delta: delta.to_owned(),
            });
        }

        fn end(&mut self) {
            self.update(Delta::TextEnd {
                index: 0,
                signature: None,
            });
            let message = Arc::new(AgentMessage::Assistant(AssistantMessage::default()));
            let id = "answer".to_owned();
            self.event(AgentEvent::MessageEnd { id, message });
        }

        /// Draws a frame; returns the rows that are not printed.
        fn frame(&mut self, printing: Printing) -> Vec<String> {
            self.now += Duration::from_millis(100);
            let area = Rect::new(0, 0, self.width, 12);
            let mut buffer = Buffer::empty(area);
            let (links, theme) = (Links::default(), Theme::default());
            let mut surface = Surface {
                buffer: &mut buffer,
                links: &links,
                theme: &theme,
            };
            let mut pictures = ImageStore::new(drop);
            let at = (self.now, false, printing);
            let live = self
                .transcript
                .render_live(area, &mut surface, &mut pictures, at);
            self.printed.extend(live.printed.iter().flat_map(lines));
            let mut rows = lines(&buffer);
            rows.truncate(usize::from(live.height));
            rows
        }

        /// All rows of the conversation.
        fn all(&mut self) -> Vec<String> {
            let area = Rect::new(0, 0, self.width, 200);
            let mut buffer = Buffer::empty(area);
            let (links, theme) = (Links::default(), Theme::default());
            let mut surface = Surface {
                buffer: &mut buffer,
                links: &links,
                theme: &theme,
            };
            self.transcript
                .render(area, &mut surface, &mut ImageStore::new(drop));
            let mut rows = lines(&buffer);
            while rows.last().is_some_and(String::is_empty) {
                rows.pop();
            }
            rows
        }
    }

    fn lines(buffer: &Buffer) -> Vec<String> {
        let rows = buffer.content.chunks(usize::from(buffer.area.width));
        rows.map(|row| {
            let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
            text.trim_end().to_owned()
        })
        .collect()
    }

    #[test]
    fn every_row_of_a_streamed_answer_is_printed_once() {
        let mut reader = Reader::new(40);
        for prompt in ["first", "second"] {
            reader.prompt(prompt);
            let text: Vec<char> = ANSWER.chars().collect();
            for piece in text.chunks(9) {
                reader.text(&piece.iter().collect::<String>());
                reader.frame(Printing::Settled);
            }
            assert!(reader.printed.iter().any(|row| row.contains("Title")));
            reader.end();
        }
        reader.frame(Printing::All);
        let expected = reader.all();
        assert_eq!(reader.printed, expected);
        assert_eq!(reader.frame(Printing::Settled), Vec::<String>::new());
    }

    #[test]
    fn rows_are_printed_when_nothing_can_change_them() {
        let mut reader = Reader::new(40);
        reader.prompt("go");
        reader.text("One.\n\nTwo.\n\nThree");
        let live = reader.frame(Printing::Settled);
        assert_eq!(live, ["▌ go", "", "  One.", "", "  Two.", "", "  Three"]);
        assert_eq!(reader.printed, Vec::<String>::new());
        for _ in 0..3 {
            reader.frame(Printing::Settled);
        }
        assert_eq!(reader.printed, ["▌ go", "", "  One."]);
        // The open paragraph continues at another width.
        reader.width = 30;
        reader.text(" words.");
        let live = ["", "  Two.", "", "  Three words."];
        assert_eq!(reader.frame(Printing::Settled), live);
    }

    #[test]
    fn a_partial_answer_that_a_retry_replaces_stays_with_a_notice() {
        let mut reader = Reader::new(60);
        reader.prompt("go");
        reader.text("One.\n\nTwo.\n\nThree");
        for _ in 0..5 {
            reader.frame(Printing::Settled);
        }
        let id = "answer".to_owned();
        reader.event(AgentEvent::MessageRetracted { id });
        reader.frame(Printing::All);
        assert_eq!(
            reader.printed,
            [
                "▌ go",
                "",
                "  One.",
                "",
                "! the retry replaces the partial answer above",
            ]
        );
    }
}
