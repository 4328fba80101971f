//! Which part of the conversation is in memory: pages are requested before they are needed, and cells
//! far from the viewport are dropped when they take too much memory.
//!
//! The end of the conversation is always loaded. A jump far up loads a separate strip, which grows in both
//! directions and is joined with the end when it reaches it. Nothing here moves the row at the top.

use super::jump::is_landmark;
use super::state::{PageRequest, Position, Purpose, Transcript};
use super::strip::Strip;
use osier_protocol::{Op, PageAt, StoredMessage};

/// The approximate bytes of text in a strip from which on cells far from the viewport are dropped.
const BUDGET: usize = 2 << 20;

/// The minimum number of cells that stay in memory on each side of the screen. On a taller screen it is the number of
/// its rows; because a cell has at least two rows, that is at least two screens.
const KEPT_CELLS: usize = 24;

/// The reply to a request for a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageResult<'a> {
    pub(super) request: u64,
    pub(super) found: bool,
    pub(super) messages: &'a [StoredMessage],
    pub(super) at_start: bool,
    pub(super) at_end: bool,
}

impl Transcript {
    /// The requests of the transcript to the session.
    pub fn take_ops(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    pub(super) fn ask(&mut self, purpose: Purpose, page: PageAt) {
        self.requests += 1;
        self.ops.push(Op::ReadTranscript {
            request: self.requests,
            page,
        });
        self.asked = Some(PageRequest {
            request: self.requests,
            purpose,
        });
    }

    /// Requests the next page when less than two screens are loaded beyond the viewport.
    pub(super) fn prefetch(&mut self) {
        if self.asked.is_some() {
            return;
        }
        let ahead = usize::from(self.viewport.1).max(8);
        let (top, _) = self.top();
        let strip = self.strip();
        if strip.earlier
            && top < ahead
            && let Some(first) = &strip.first
        {
            let entry_id = first.to_string();
            self.ask(Purpose::Earlier, PageAt::Before { entry_id });
        } else if self.away.is_some()
            && strip.cells.len() < top + 2 * ahead
            && let Some(last) = &strip.last
        {
            let entry_id = last.to_string();
            self.ask(Purpose::Later, PageAt::After { entry_id });
        }
    }

    /// Adds a page; returns whether anything visible may have changed.
    pub(super) fn add_page(&mut self, came: PageResult<'_>) -> bool {
        let Some(asked) = self.asked.take_if(|asked| asked.request == came.request) else {
            return false;
        };
        if came.messages.is_empty() {
            // The branch has moved, or there was nothing: the loaded cells are complete.
            match asked.purpose {
                Purpose::Earlier => self.strip_mut().earlier = false,
                Purpose::Later if came.found => self.join(),
                Purpose::Later => self.go_bottom(),
                Purpose::Landmark { landmark, down } => self.miss_landmark(landmark, down),
                Purpose::Start | Purpose::Show { .. } => return false,
            }
            return true;
        }
        match asked.purpose {
            Purpose::Earlier => self.grow_up(&came),
            Purpose::Later => self.grow_down(&came),
            Purpose::Start => {
                self.jump(&came);
                self.position = Position::At { cell: 0, row: 0 };
                self.scroll(0);
            }
            Purpose::Landmark { landmark, .. } => {
                self.jump(&came);
                let cells = &self.strip().cells;
                let found = cells.iter().position(|cell| is_landmark(cell, landmark));
                self.show_landmark(found.unwrap_or(0), landmark);
            }
            Purpose::Show { entry, nth } => {
                self.jump(&came);
                self.show(&entry, nth);
            }
        }
        self.trim();
        self.prefetch();
        true
    }

    fn grow_up(&mut self, came: &PageResult<'_>) {
        let page = Strip::of(came.messages, !came.at_start);
        self.prepend(page);
    }

    /// Puts cells above those of the strip that is read; the screen stays where it is.
    fn prepend(&mut self, page: Strip) {
        let before = self.strip().gap(0, self.style);
        let count = self.strip_mut().prepend(page);
        let after = self.strip().gap(count, self.style);
        if self.away.is_none() {
            self.shift_live(count);
        }
        if let Position::At { cell, row } = &mut self.position {
            // The first cell may have got a blank row above it.
            if *cell == 0 {
                *row = (*row + after).saturating_sub(before);
            }
            *cell += count;
        }
        self.shift_marks(count.cast_signed());
    }

    fn grow_down(&mut self, came: &PageResult<'_>) {
        let Some(away) = &mut self.away else { return };
        let (messages, joins) = before_end(came, self.near.first.as_deref());
        let page = Strip::of(messages, true);
        away.cells.extend(page.cells);
        away.last = page.last.or(away.last.take());
        if joins {
            self.join();
        }
    }

    /// Joins the strip that is read with the end of the conversation.
    fn join(&mut self) {
        let Some(away) = self.away.take() else { return };
        let count = self.near.prepend(away);
        self.shift_live(count);
    }

    /// Jumps to another position: the page becomes a separate strip, or is joined with the end of the
    /// conversation when it reaches it.
    fn jump(&mut self, came: &PageResult<'_>) {
        self.unmark();
        let (messages, joins) = before_end(came, self.near.first.as_deref());
        self.away = Some(Strip::of(messages, !came.at_start));
        // A valid row of the strip, until the caller sets the position.
        self.position = Position::At { cell: 0, row: 0 };
        if joins {
            self.join();
        }
    }

    /// Releases cells that are far from the screen when there are too many. Cells of running calls stay.
    pub(super) fn trim(&mut self) {
        // Cells must be counted before they are released.
        self.count_below();
        let ends = (self.strip().first.clone(), self.strip().last.clone());
        self.cut();
        self.release_far();
        let strip = self.strip();
        // A page for an end that has changed is useless.
        let moved = (&strip.first, &strip.last) != (&ends.0, &ends.1);
        let grows =
            |asked: &mut PageRequest| matches!(asked.purpose, Purpose::Earlier | Purpose::Later);
        if moved {
            self.asked.take_if(grows);
        }
    }

    /// Cells that stay on each side of the screen.
    fn kept(&self) -> usize {
        usize::from(self.viewport.1).max(KEPT_CELLS)
    }

    fn cut(&mut self) {
        let kept = self.kept();
        if self.near.weight() > BUDGET {
            self.trim_near(kept);
        }
        let Some(away) = &self.away else { return };
        if away.weight() <= BUDGET {
            return;
        }
        let (top, _) = self.top();
        let Some(away) = &mut self.away else { return };
        if let Some(cell) = (top + kept..away.cells.len()).find(|cell| away.begins_message(*cell)) {
            away.cut_from(cell);
        }
        let cell = (0..=top.saturating_sub(kept))
            .rev()
            .find(|cell| away.begins_message(*cell));
        if let Some(cell) = cell.filter(|cell| *cell > 0)
            && let Position::At { cell: at, .. } = &mut self.position
        {
            away.cut_before(cell);
            *at -= cell;
            self.shift_marks(-cell.cast_signed());
        }
    }

    /// Drops the laid-out rows of cells that are far from the screen.
    fn release_far(&mut self) {
        let kept = 2 * self.kept();
        let (top, _) = self.top();
        let cells = &mut self.strip_mut().cells;
        let (before, behind) = (top.saturating_sub(kept), cells.len().min(top + 2 * kept));
        let far = (0..before).chain(behind..cells.len());
        far.for_each(|cell| cells[cell].release());
    }

    fn trim_near(&mut self, kept: usize) {
        let live = self.first_live();
        let end = self.near.cells.len();
        let top = match self.away {
            Some(_) => end,
            None => self.top().0,
        };
        let near = &self.near;
        let limit = live
            .min(end.saturating_sub(kept))
            .min(top.saturating_sub(kept))
            .min(self.printed.next.map_or(end, |(cell, _)| cell));
        let cut = (0..=limit).rev().find(|cell| near.begins_message(*cell));
        let Some(cell) = cut else { return };
        if cell > 0 {
            self.near.cut_before(cell);
            self.shift_live_down(cell);
            if let (None, Position::At { cell: at, .. }) = (&self.away, &mut self.position) {
                *at -= cell;
            }
            if self.away.is_none() {
                self.shift_marks(-cell.cast_signed());
            }
        }
        let (top, _) = self.top();
        let far = self.away.is_none() && top + 3 * kept < self.near.cells.len();
        if far && self.near.weight() > BUDGET {
            self.part(top + kept);
        }
    }

    /// Splits off a separate strip when the viewport is far above the end; the part between is dropped.
    fn part(&mut self, below: usize) {
        let kept = self.kept();
        let near = &self.near;
        let limit = near.cells.len().saturating_sub(kept).min(self.first_live());
        let low = (below..limit).find(|cell| near.begins_message(*cell));
        let high = (below..=limit)
            .rev()
            .find(|cell| near.begins_message(*cell));
        let (Some(low), Some(high)) = (low, high) else {
            return;
        };
        let rest = self.near.cells.split_off(high);
        let mut away = Strip {
            cells: std::mem::replace(&mut self.near.cells, rest),
            first: self.near.first.take(),
            earlier: self.near.earlier,
            ..Strip::default()
        };
        away.cut_from(low);
        self.away = Some(away);
        self.near.earlier = true;
        self.near.first = self.near.cells.first().and_then(|cell| cell.entry.clone());
        self.near
            .calls
            .values_mut()
            .for_each(|place| *place -= high);
        self.shift_live_down(high);
    }
}

/// The messages of a page before the loaded end of the conversation, which begins with the entry
/// `first`, and whether the page reaches that entry.
fn before_end<'a>(came: &PageResult<'a>, first: Option<&str>) -> (&'a [StoredMessage], bool) {
    let reached = came
        .messages
        .iter()
        .position(|stored| Some(stored.entry_id.as_str()) == first);
    match reached {
        Some(place) => (&came.messages[..place], true),
        None => (came.messages, came.at_end),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use osier_agent::{AgentMessage, UserMessage};
    use osier_protocol::{Event, SessionInfo};

    const PAGE: usize = 40;

    /// A transcript over many heavy messages, and the session that answers its requests.
    struct Reader {
        all: Vec<StoredMessage>,
        transcript: Transcript,
    }

    impl Reader {
        fn new(count: usize) -> Self {
            let text = "word ".repeat(2000);
            let message = |number: usize| StoredMessage {
                entry_id: format!("{number:08x}"),
                message: Arc::new(AgentMessage::User(UserMessage::new(
                    format!("<{number}> {text}"),
                    0,
                ))),
            };
            let all: Vec<StoredMessage> = (0..count).map(message).collect();
            let mut transcript = Transcript::new(&std::sync::Arc::default());
            transcript.apply(&Event::SessionOpened {
                session: Box::<SessionInfo>::default(),
                messages: all[count - PAGE..].to_vec(),
                at_start: false,
            });
            Self { all, transcript }
        }

        /// Answers all pending requests.
        fn answer(&mut self) {
            loop {
                let ops = self.transcript.take_ops();
                if ops.is_empty() {
                    break;
                }
                for op in ops {
                    let Op::ReadTranscript { request, page } = op else {
                        panic!("{op:?}");
                    };
                    let place = |id: &str| usize::from_str_radix(id, 16).unwrap();
                    let range = match &page {
                        PageAt::Start => 0..PAGE,
                        PageAt::Before { entry_id } => {
                            let end = place(entry_id);
                            end.saturating_sub(PAGE)..end
                        }
                        PageAt::After { entry_id } => {
                            let start = place(entry_id) + 1;
                            start..(start + PAGE).min(self.all.len())
                        }
                        other => panic!("{other:?}"),
                    };
                    self.transcript.apply(&Event::TranscriptPage {
                        request,
                        found: true,
                        messages: self.all[range.clone()].to_vec(),
                        at_start: range.start == 0,
                        at_end: range.end == self.all.len(),
                    });
                }
            }
            let away = self.transcript.away.as_ref().map_or(0, Strip::weight);
            let weight = self.transcript.near.weight() + away;
            assert!(weight < 3 * BUDGET, "{weight}");
        }

        /// The number of the message at the top, and its row at the top.
        fn top(&mut self) -> (usize, usize) {
            let (cell, row) = self.transcript.top();
            let entry = self.transcript.strip().cells[cell].entry.clone();
            (usize::from_str_radix(&entry.unwrap(), 16).unwrap(), row)
        }
    }

    #[test]
    fn reading_far_holds_few_pages_and_skips_no_row() {
        let mut reader = Reader::new(2000);
        let (mut at, mut row) = reader.top();
        while at > 0 {
            // A cell has many more rows than a page: its number falls by one at most.
            reader.transcript.page(false);
            reader.answer();
            let now = reader.top();
            assert!(
                now.0 == at && now.1 < row || now.0 + 1 == at,
                "{at} {row} {now:?}"
            );
            (at, row) = now;
        }
        while !reader.transcript.follows() {
            reader.transcript.page(true);
            reader.answer();
            let now = reader.top();
            assert!(
                now.0 == at && now.1 > row || now.0 == at + 1,
                "{at} {row} {now:?}"
            );
            (at, row) = now;
        }
        assert_eq!(reader.top().0, 1999);
    }

    #[test]
    fn a_late_page_for_another_position_is_ignored() {
        let mut reader = Reader::new(400);
        reader.transcript.go_top();
        reader.answer();
        assert_eq!(reader.top(), (0, 0));
        reader.transcript.scroll(5);
        reader.transcript.go_bottom();
        let cells = reader.transcript.near.cells.len();
        let late = Event::TranscriptPage {
            request: reader.transcript.requests,
            found: true,
            messages: reader.all[40..80].to_vec(),
            at_start: false,
            at_end: false,
        };
        assert!(!reader.transcript.apply(&late));
        assert_eq!(reader.transcript.near.cells.len(), cells);
    }
}
