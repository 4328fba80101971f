//! The picker: a query line over a list. Callers provide the items and the action of each.

use std::cell::Cell;
use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::frame::{self, boxed};
use super::preview_pane;
use crate::actions::{Action, Command};
use crate::drawing::{layout, layout::docked};
use osier_term::component::{Component, Cx, Handled, View};
use osier_term::face::Token;
use osier_term::input::KeyPress;
use osier_term::keymap::Keymap;
use osier_term::row::{Row, Span};
use osier_term::widgets::columns::Columns;
use osier_term::widgets::line_input::LineInput;
use osier_term::widgets::paint::paint_rows;
use osier_term::widgets::select::{Item, Select};
use osier_term::wrap::Wrap;

/// The actions of choosing the item with this key.
pub(crate) type Take = Box<dyn Fn(&str) -> Vec<Action>>;

/// The rows of the preview pane for the item with this key.
pub(crate) type PreviewRows = Box<dyn Fn(&str) -> Vec<Row>>;

const PLACEHOLDER: &str = "type to filter";
const LEAVING: &str = "select a step, or type your first prompt";

/// Rows that a picker may take on any screen that has them.
const ALWAYS: u16 = 20;

/// Rows of a picker beside its items.
const FRAME: u16 = 3;

/// Rows that a preview takes at most.
const PREVIEWED: u16 = 16;

/// Items whose previews are measured.
const MEASURED: usize = 50;

/// Rows from which on the preview has room below the list.
const PREVIEW_BELOW: u16 = 15;

/// A picker on screen.
pub(crate) struct Picker {
    title: String,
    /// Shown when nothing matches.
    empty: &'static str,
    query: LineInput,
    list: Select,
    take: Take,
    /// Rows the list had in the last draw: a page.
    page: usize,
    cursor: Option<Position>,
    /// It stays open when an item is chosen.
    staying: bool,
    /// What selecting another item does.
    moving: Option<Take>,
    /// What closing without taking does.
    leaving: Vec<Action>,
    preview: Option<PreviewRows>,
    removing: Option<Take>,
    favouring: Option<Take>,
    few: Option<Few>,
    /// Typed text closes it and goes to the editor.
    leaves_text: bool,
    /// The size of the screen and the heights of the list and the preview when it opened: they stay while a query
    /// is typed.
    opened: Option<(Rect, Heights)>,
    /// Commands of the list with their verbs for the key hints, the most important first.
    hints: Vec<(Command, &'static str)>,
}

/// Rows of the list and the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heights {
    list: u16,
    preview: u16,
}

/// The items that a long list shows first.
struct Few {
    every: Vec<Item>,
    keys: Vec<String>,
    /// Shared with the owner, so that it remains when the items change.
    shows_all: Rc<Cell<bool>>,
}

impl Few {
    fn items(&self, all: bool) -> Vec<Item> {
        let shown = self.every.iter();
        let shown = shown.filter(|item| all || self.keys.contains(&item.key));
        shown.cloned().collect()
    }
}

impl Picker {
    pub(crate) fn new(
        title: impl Into<String>,
        empty: &'static str,
        items: Vec<Item>,
        take: Take,
    ) -> Self {
        Self {
            title: title.into(),
            empty,
            query: LineInput::default(),
            list: Select::new(items),
            take,
            page: 10,
            cursor: None,
            staying: false,
            moving: None,
            leaving: Vec::new(),
            preview: None,
            removing: None,
            favouring: None,
            few: None,
            leaves_text: false,
            opened: None,
            hints: vec![(Command::Accept, "select"), (Command::Cancel, "close")],
        }
    }

    /// Shows the details of its items in these columns.
    #[must_use]
    pub(crate) fn with_columns(mut self, columns: Columns) -> Self {
        self.list = self.list.with_columns(columns);
        self
    }

    /// Sets queries that put an item first, and the items that are found only by the starts of their words.
    #[must_use]
    pub(crate) fn finding(
        mut self,
        aliases: Vec<(&'static str, String)>,
        by_word: Vec<String>,
    ) -> Self {
        self.list = self.list.with_aliases(aliases).with_by_word(by_word);
        self
    }

    /// The verb in the key hint of `enter`: `open`.
    #[must_use]
    pub(crate) fn taking(mut self, word: &'static str) -> Self {
        self.hints[0].1 = word;
        self
    }

    /// The verb in the key hint of `esc`: `cancel`.
    #[must_use]
    pub(crate) fn closing(mut self, word: &'static str) -> Self {
        let mut hints = self.hints.iter_mut();
        if let Some(hint) = hints.find(|(command, _)| *command == Command::Cancel) {
            hint.1 = word;
        }
        self
    }

    /// Runs `actions` whenever another item is selected, for a live preview.
    #[must_use]
    pub(crate) fn on_move(mut self, actions: Take) -> Self {
        self.moving = Some(actions);
        self
    }

    /// Runs `actions` when the picker is closed without a choice.
    #[must_use]
    pub(crate) fn on_leave(mut self, actions: Vec<Action>) -> Self {
        self.leaving = actions;
        self
    }

    /// The verb and the actions of the key that removes an item.
    #[must_use]
    pub(crate) fn on_remove(mut self, word: &'static str, actions: Take) -> Self {
        self.hints.insert(1, (Command::Remove, word));
        self.removing = Some(actions);
        self
    }

    /// The actions of the key that toggles a favourite.
    #[must_use]
    pub(crate) fn on_favourite(mut self, actions: Take) -> Self {
        self.hints.insert(1, (Command::Favourite, "favourite"));
        self.favouring = Some(actions);
        self
    }

    /// Shows a preview of the selected item: next to the list, or below it on a narrow screen.
    #[must_use]
    pub(crate) fn with_preview(mut self, preview: PreviewRows) -> Self {
        self.preview = Some(preview);
        self
    }

    /// Stays open when an item is chosen: for switches.
    #[must_use]
    pub(crate) fn staying(mut self) -> Self {
        self.staying = true;
        self
    }

    /// Has no filter: typed text closes the picker and goes to the editor.
    #[must_use]
    pub(crate) fn leaving_text(mut self) -> Self {
        self.leaves_text = true;
        self
    }

    /// Closes it for a text that is meant for the editor.
    fn pass_on(&mut self, text: String, cx: &mut Cx<'_, Action>) {
        cx.push(Action::CloseLayer);
        cx.actions.append(&mut self.leaving);
        cx.push(Action::InsertText { text });
    }

    /// Shows only the items with these keys until `show_all` is pressed, or until a query finds none of them.
    #[must_use]
    pub(crate) fn with_few(mut self, keys: Vec<String>, shows_all: Rc<Cell<bool>>) -> Self {
        let every = self.list.items().to_vec();
        if !keys.is_empty() && keys.len() < every.len() {
            self.hints.insert(1, (Command::ShowAll, "all"));
            self.few = Some(Few {
                every,
                keys,
                shows_all,
            });
            self.narrow();
        }
        self
    }

    /// Selects the item with this key.
    #[must_use]
    pub(crate) fn with_selected(mut self, key: &str) -> Self {
        self.list.select_key(key);
        self
    }

    /// Narrows the list by what was typed before; an empty text leaves the selection alone.
    #[must_use]
    pub(crate) fn with_query(mut self, query: &str) -> Self {
        self.query.insert(query);
        self.narrow();
        self
    }

    /// The list's share of the width next to a preview: more when it has several columns.
    fn share(&self) -> (u16, u16) {
        if self.list.head_rows() > 0 {
            (2, 3)
        } else {
            (3, 5)
        }
    }

    fn narrow(&mut self) {
        let query = self.query.text();
        if let Some(few) = &self.few {
            let all = few.shows_all.get();
            self.list.set_items(few.items(all));
            self.list.set_query(query);
            if self.list.is_empty() && !all {
                self.list.set_items(few.items(true));
            }
            let mut hints = self.hints.iter_mut();
            if let Some(hint) = hints.find(|(command, _)| *command == Command::ShowAll) {
                hint.1 = if all { "usable" } else { "all" };
            }
            return;
        }
        self.list.set_query(query);
    }

    /// How many items are shown, and of how many.
    fn count(&self) -> String {
        let count = format!("{}/{}", self.list.len(), self.list.total());
        match &self.few {
            Some(few) if self.list.total() < few.every.len() => {
                format!("{count} usable, {} in all", few.every.len())
            }
            _ => count,
        }
    }

    fn selected_key(&self) -> Option<String> {
        self.list.selected().map(|item| item.key.clone())
    }

    /// Runs the move actions when the selection has changed.
    fn tell_move(&self, before: Option<&str>, cx: &mut Cx<'_, Action>) {
        let Some(item) = self
            .list
            .selected()
            .filter(|item| Some(&*item.key) != before)
        else {
            return;
        };
        if let Some(moving) = &self.moving {
            cx.actions.extend(moving(&item.key));
        }
    }

    /// The preview of an item; rows that are wider than the preview wrap.
    fn previewed(&self, key: &str, inner: usize) -> Vec<Row> {
        let mut shown = Vec::new();
        let rows = self.preview.as_ref().map(|preview| preview(key));
        for row in rows.unwrap_or_default() {
            if row.width() < inner || row.fill.is_some() {
                shown.push(row);
            } else {
                Wrap::new(inner.saturating_sub(2)).line(&row.spans, &mut shown);
            }
        }
        shown
    }

    /// What an empty list says.
    fn empty_rows(&self, inner: usize) -> Vec<Row> {
        let indent = [Span::new("  ", Token::Muted)];
        let mut rows = Vec::new();
        let wrap = Wrap::new(inner).prefixed(&indent);
        wrap.text(self.empty, Token::Muted, &mut rows);
        rows
    }

    /// The place of the list and of the preview: as high as what they contain.
    fn areas(&mut self, screen: Rect) -> (Rect, Option<Rect>) {
        let width = if self.preview.is_some() { 140 } else { 100 };
        let most = (screen.height * 7 / 10).max(screen.height.min(ALWAYS));
        let heights = match self.opened {
            Some((of, heights)) if of == screen => heights,
            _ => self.heights(docked(screen, width, most), most),
        };
        self.opened = Some((screen, heights));
        let Heights { list, preview } = heights;
        if preview == 0 {
            return (docked(screen, width, list.min(most)), None);
        }
        let whole = docked(screen, width, most);
        let (left, right) = preview_pane::divide_for(whole, PREVIEW_BELOW, self.share());
        let Some(right) = right else {
            return (docked(screen, width, list.min(most)), None);
        };
        if left.y == right.y {
            let area = docked(screen, width, list.max(preview).min(most));
            return preview_pane::divide_for(area, 0, self.share());
        }
        // The list has what the preview leaves, which is a third at least.
        let preview = preview.min((most / 3).max(most.saturating_sub(list)));
        let mut area = docked(screen, width, (list + preview).min(most));
        let below = layout::take_bottom(&mut area, preview);
        (area, Some(below))
    }

    /// What the list and the previews of its items want, in the widths that they have in `area`.
    fn heights(&self, area: Rect, most: u16) -> Heights {
        let count = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX);
        let items = match self.list.total() {
            0 => self
                .empty_rows(usize::from(area.width.saturating_sub(2)))
                .len(),
            total => total + self.list.head_rows(),
        };
        let items = count(items.max(1));
        let list = items.saturating_add(FRAME);
        let pane = preview_pane::divide_for(area, PREVIEW_BELOW, self.share()).1;
        let inner = pane.map_or(0, |pane| usize::from(pane.width.saturating_sub(2)));
        let measured = self.list.items().iter().take(MEASURED);
        let rows = measured.map(|item| self.previewed(&item.key, inner).len());
        let rows = rows.max().filter(|rows| *rows > 0 && pane.is_some());
        let preview = rows.map_or(0, |rows| count(rows + 2).min(PREVIEWED.min(most)));
        Heights { list, preview }
    }

    fn preview_rows(&self, width: usize, height: usize) -> Vec<Row> {
        let inner = width.saturating_sub(2);
        let line = |left: &str, right: &str| {
            let line = format!("{left}{}{right}", "─".repeat(inner));
            Row::plain(line, Token::Border)
        };
        let key = self.selected_key().unwrap_or_default();
        let shown = self.previewed(&key, inner);
        let mut rows = vec![line("╭", "╮")];
        for place in 0..height.saturating_sub(2) {
            let mut row = shown.get(place).cloned().unwrap_or_default();
            row.spans
                .insert(0, Span::new(" ", row.fill.unwrap_or_default()));
            rows.push(boxed(row, inner));
        }
        rows.push(line("╰", "╯"));
        rows
    }

    fn rows(&mut self, width: usize, height: usize, keymap: &Keymap<Command>) -> Vec<Row> {
        let inner = width.saturating_sub(2);
        let mut query = Row::plain("❯ ", Token::Accent);
        if self.query.is_empty() {
            let placeholder = if self.leaves_text {
                LEAVING
            } else {
                PLACEHOLDER
            };
            query.push(placeholder, Token::Placeholder);
        } else {
            query.push(self.query.text(), Token::Text);
        }
        let count = self.count();
        let mut rows = vec![frame::top(&self.title, &count, width), boxed(query, inner)];
        let room = height.saturating_sub(3).max(1);
        self.page = room.saturating_sub(self.list.head_rows()).max(1);
        if self.list.is_empty() {
            let empty = self.empty_rows(inner).into_iter().take(room);
            rows.extend(empty.map(|row| boxed(row, inner)));
        } else {
            let listed = self.list.rows(inner, room);
            rows.extend(listed.into_iter().map(|row| boxed(row, inner)));
        }
        while rows.len() + 1 < height {
            rows.push(boxed(Row::default(), inner));
        }
        let hints = frame::hints(keymap, "list", &self.hints);
        rows.push(frame::bottom(&hints, Token::Muted, width));
        rows
    }
}

impl Component<Command, Action> for Picker {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let (area, preview) = self.areas(area);
        let paint = |rows: &[Row], area: Rect, buffer: &mut Buffer| {
            paint_rows(rows, area, buffer, view.links, |face| {
                view.theme.style(face)
            });
        };
        let rows = self.rows(
            usize::from(area.width),
            usize::from(area.height),
            view.keymap,
        );
        paint(&rows, area, buffer);
        if let Some(preview) = preview {
            let rows = self.preview_rows(usize::from(preview.width), usize::from(preview.height));
            paint(&rows, preview, buffer);
        }
        let column = 3 + self.query.cursor_column();
        let column = u16::try_from(column)
            .unwrap_or(u16::MAX)
            .min(area.width.saturating_sub(2));
        self.cursor = Some(Position {
            x: area.x + column,
            y: area.y + 1,
        });
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed() {
            if self.leaves_text {
                self.pass_on(character.into(), cx);
                return Handled::Yes;
            }
            let before = self.selected_key();
            self.query.insert(character.encode_utf8(&mut [0; 4]));
            self.narrow();
            self.tell_move(before.as_deref(), cx);
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, Action>) -> Handled {
        if self.leaves_text {
            self.pass_on(text.to_owned(), cx);
            return Handled::Yes;
        }
        let before = self.selected_key();
        self.query.insert(text.trim_end());
        self.narrow();
        self.tell_move(before.as_deref(), cx);
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let before = self.selected_key();
        match command {
            Command::Up => self.list.step(false),
            Command::Down => self.list.step(true),
            Command::PageUp => self.list.page(false, self.page),
            Command::PageDown => self.list.page(true, self.page),
            Command::First => self.list.first(),
            Command::Last => self.list.last(),
            Command::Accept => {
                if let Some(item) = self.list.selected() {
                    if !self.staying {
                        cx.push(Action::CloseLayer);
                    }
                    cx.actions.extend((self.take)(&item.key));
                }
            }
            Command::Remove | Command::Favourite => {
                let done = match command {
                    Command::Remove => &self.removing,
                    _ => &self.favouring,
                };
                let Some((done, item)) = done.as_ref().zip(self.list.selected()) else {
                    return Handled::No;
                };
                cx.actions.extend(done(&item.key));
            }
            Command::ShowAll => {
                let Some(few) = &self.few else {
                    return Handled::No;
                };
                few.shows_all.set(!few.shows_all.get());
                self.opened = None;
                let key = self.selected_key().unwrap_or_default();
                self.narrow();
                self.list.select_key(&key);
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
                cx.actions.append(&mut self.leaving);
            }
            command if preview_pane::edit(&mut self.query, command) == Handled::Yes => {
                self.narrow();
            }
            _ => return Handled::No,
        }
        self.tell_move(before.as_deref(), cx);
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn typed(&self) -> Option<&str> {
        Some(self.query.text())
    }

    fn marked(&self) -> Option<&str> {
        self.list.selected().map(|item| item.key.as_str())
    }
}

impl std::fmt::Debug for Picker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Picker")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}
