//! The agent's to-do list above the status line: one row, or the part of the list around the current item. Nothing when
//! there is no list or all items are done.

use crate::drawing::frame;
use osier_base::text;
use osier_protocol::{TodoList, TodoState};
use osier_term::{Face, Row, Span, Token};

/// Items shown at most.
const MOST: usize = 7;
/// Items that are done and still shown above what is being done.
const BEFORE: usize = 1;
/// Screens with so many rows show the list unless it is collapsed; smaller screens show only its first row.
const TALL: u16 = 30;

/// The mark of an item that waits because nothing runs.
const PAUSE: &str = "‖";

/// The list as it is shown. Changed by events and one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TodoView {
    list: TodoList,
    /// The choice of the user; before that, it depends on the height of the screen.
    collapsed: Option<bool>,
    /// Rows of the screen as of the last frame.
    screen: u16,
    /// Nothing runs that could continue the list.
    is_paused: bool,
}

impl TodoView {
    pub(crate) fn set(&mut self, list: &TodoList) {
        self.list.clone_from(list);
    }

    /// Collapses or expands the list.
    pub(crate) fn toggle(&mut self) {
        self.collapsed = Some(!self.is_collapsed());
    }

    /// Rows wanted on a screen of `screen` rows; the list is paused while nothing runs.
    pub(crate) fn lay_out(&mut self, screen: u16, is_idle: bool) -> u16 {
        self.screen = screen;
        self.is_paused = is_idle;
        match self.list.items.len() {
            _ if self.list.is_done() => 0,
            _ if self.is_collapsed() => 1,
            1 => 1,
            // A rule separates it from the conversation.
            count => count.min(MOST + 1) as u16 + 1,
        }
    }

    /// The list in at most `height` rows.
    pub(crate) fn rows(&self, width: u16, height: u16) -> Vec<Row> {
        let has_rule = !self.is_collapsed() && height > 2;
        let limit = usize::from(height - u16::from(has_rule)).min(MOST + 1);
        let list = self.rows_up_to(usize::from(width).saturating_sub(2), limit);
        let done = format!("{} of {} done", self.list.done(), self.list.items.len());
        let remark = (&*done, Face::from(Token::Muted));
        let rule = frame::rule("To-do", Token::Border.into(), remark, width.into());
        let rule = has_rule.then_some(rule);
        rule.into_iter()
            .chain(list.into_iter().map(indented))
            .collect()
    }

    /// How many items are done, and how many there are; `None` without an open item.
    pub(crate) fn progress(&self) -> Option<(usize, usize)> {
        let list = &self.list;
        (!list.is_done()).then(|| (list.done(), list.items.len()))
    }

    /// The list in at most `limit` rows, or its first row if it is collapsed or there is no room for a part of it.
    pub(crate) fn rows_up_to(&self, width: usize, limit: usize) -> Vec<Row> {
        let width = width.saturating_sub(2);
        if self.is_collapsed() || limit < 2 {
            let mut summary = text::single_line(&self.list.summary());
            let (mark, token) = if self.is_paused {
                // Nothing is done now.
                summary = summary.replacen("done; now: ", "done; next: ", 1);
                (PAUSE, Token::Muted)
            } else {
                ("≡", Token::Accent)
            };
            return vec![row(mark, token, &summary, Token::Text.into(), width)];
        }
        let items = &self.list.items;
        let current = self.list.current().unwrap_or_default();
        let shown = if items.len() > limit {
            limit - 1
        } else {
            items.len()
        };
        let before = BEFORE.min(shown.saturating_sub(1));
        let start = current.saturating_sub(before).min(items.len() - shown);
        let mut rows: Vec<Row> = items[start..start + shown]
            .iter()
            .map(|item| {
                let (mark, token, face) = match item.state {
                    TodoState::Open => ("·", Token::Muted, Token::Text.into()),
                    TodoState::Doing if self.is_paused => (PAUSE, Token::Muted, Token::Text.into()),
                    TodoState::Doing => ("▸", Token::Accent, Face::bold(Token::Accent)),
                    TodoState::Done => ("✓", Token::Success, Token::Muted.into()),
                };
                row(mark, token, &text::single_line(&item.text), face, width)
            })
            .collect();
        if shown < items.len() {
            let (done, all) = (self.list.done(), items.len());
            let rest = format!("{done} of {all} done, {} more", all - shown);
            rows.push(row(" ", Token::Muted, &rest, Token::Muted.into(), width));
        }
        rows
    }

    fn is_collapsed(&self) -> bool {
        self.collapsed.unwrap_or(self.screen < TALL)
    }
}

fn indented(mut row: Row) -> Row {
    if let Some(mark) = row.spans.first_mut() {
        mark.text = format!("  {}", mark.text).into();
    }
    row
}

fn row(mark: &str, token: Token, item: &str, face: Face, width: usize) -> Row {
    let item = text::truncate(item, width);
    Row::new(vec![
        Span::new(format!("{mark} "), token),
        Span::new(item.into_owned(), face),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::TodoItem;

    fn shown(done: usize, all: usize, height: u16) -> Vec<String> {
        let state = |place| match place {
            place if place < done => TodoState::Done,
            place if place == done => TodoState::Doing,
            _ => TodoState::Open,
        };
        let items = (0..all).map(|place| TodoItem {
            text: format!("item {place}"),
            state: state(place),
        });
        let mut view = TodoView::default();
        view.list.items = items.collect();
        let wanted = usize::from(view.lay_out(height, false));
        let rows = match wanted {
            0 => Vec::new(),
            wanted => view.rows(40, wanted as u16),
        };
        assert_eq!(rows.len(), wanted);
        rows.iter().map(Row::text).collect()
    }

    #[test]
    fn the_part_around_what_is_being_done_is_shown() {
        assert_eq!(shown(0, 0, 40), Vec::<String>::new());
        assert_eq!(shown(3, 3, 40), Vec::<String>::new());
        assert_eq!(shown(1, 3, 24), ["  ≡ 1 of 3 done; now: item 1"]);
        assert_eq!(
            shown(1, 3, 40),
            [
                "─ To-do ────────────────── 1 of 3 done ─",
                "  ✓ item 0",
                "  ▸ item 1",
                "  · item 2"
            ]
        );
        let middle = shown(4, 20, 40);
        assert_eq!(middle[1..3], ["  ✓ item 3", "  ▸ item 4"]);
        assert_eq!(middle[7..], ["  · item 9", "    4 of 20 done, 13 more"]);
        assert_eq!(shown(19, 20, 40)[7], "  ▸ item 19");
    }

    #[test]
    fn what_is_being_done_is_paused_while_nothing_runs() {
        let mut view = TodoView::default();
        let item = |text: &str, state| TodoItem {
            text: text.to_owned(),
            state,
        };
        view.list.items = vec![
            item("Test", TodoState::Doing),
            item("Report", TodoState::Open),
        ];
        let mut shown = |height, is_idle| -> Vec<String> {
            let rows = view.lay_out(height, is_idle);
            view.rows(40, rows).iter().map(Row::text).collect()
        };
        assert_eq!(shown(24, false), ["  ≡ 0 of 2 done; now: Test"]);
        assert_eq!(shown(24, true), ["  ‖ 0 of 2 done; next: Test"]);
        assert_eq!(shown(40, false)[1..], ["  ▸ Test", "  · Report"]);
        assert_eq!(shown(40, true)[1..], ["  ‖ Test", "  · Report"]);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut view = TodoView::default();
        let items = (0..20).map(|place| TodoItem {
            text: format!("item {place}"),
            state: TodoState::Open,
        });
        view.list.items = items.collect();
        view.lay_out(24, false);
        view.toggle();
        let rows = |view: &TodoView, height| -> Vec<String> {
            let rows = view.rows(40, height);
            rows.iter().map(Row::text).collect()
        };
        assert_eq!(
            rows(&view, 4),
            [
                "─ To-do ───────────────── 0 of 20 done ─",
                "  · item 0",
                "  · item 1",
                "    0 of 20 done, 18 more"
            ]
        );
        assert_eq!(rows(&view, 2), ["  · item 0", "    0 of 20 done, 19 more"]);
        assert_eq!(rows(&view, 1), ["  ≡ 0 of 20 done; next: item 0"]);
        view.list.items.truncate(2);
        assert_eq!(rows(&view, 2), ["  · item 0", "  · item 1"]);
    }
}
