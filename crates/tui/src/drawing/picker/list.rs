//! The list of a picker: its query, its selection, its keys and its drawing. The list knows items by their index.

use std::cell::Cell;
use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, Toast};
use crate::drawing::{frame, frame::boxed, layout, layout::docked, preview_pane};
use osier_base::text;
use osier_term::{
    Columns, Cx, Handled, Item, Keymap, LineInput, Row, Select, Span, Token, View, Wrap,
};

/// The actions of the item with this index.
pub(super) type IndexActions = Box<dyn Fn(usize) -> Vec<Action>>;

/// The rows of the preview pane for the item with this index.
type PreviewRows = Box<dyn Fn(usize) -> Vec<Row>>;

const PLACEHOLDER: &str = "type to filter";
const LEAVING: &str = "select a step, or type your first prompt";

/// Rows that a picker always gets if the screen has them.
const ALWAYS: u16 = 12;

/// Rows of a picker in addition to its items.
const FRAME: u16 = 3;

/// Columns of a line with all keys of a list that has many, and rows of a list with two lines of keys.
const LONG_LINE: u16 = 122;
const TWO_LINES: usize = 6;

/// Rows that a preview takes at most.
const PREVIEWED: u16 = 16;

/// Items whose previews are measured.
const MEASURED: usize = 50;

/// Rows from which on the preview has room below the list.
const PREVIEW_BELOW: u16 = 15;

/// The list on screen.
pub(super) struct List {
    title: String,
    /// Shown when nothing matches.
    empty: &'static str,
    query: LineInput,
    select: Select,
    take: IndexActions,
    /// Rows the list had in the last draw: a page.
    page: usize,
    pub(super) cursor: Option<Position>,
    /// The area of the list in the last frame, including its preview.
    pub(super) area: Rect,
    /// The items are answers: neither the wheel nor the other end of the list selects one.
    pub(super) has_answers: bool,
    /// The list stays open when an item is chosen.
    pub(super) staying: bool,
    /// The actions when another item is selected.
    pub(super) moving: Option<IndexActions>,
    /// The action when the list closes without a choice.
    pub(super) leaving: Option<Action>,
    pub(super) preview: Option<PreviewRows>,
    /// The actions of further keys on the selected item.
    keys: Vec<(Command, IndexActions)>,
    /// Whether a list that shows few items first shows all of them now.
    shows_all: Option<Rc<Cell<bool>>>,
    /// Typed text closes the list and goes to the editor.
    pub(super) leaves_text: bool,
    /// The size of the screen and the heights of the list and the preview when it opened: they stay while a query
    /// is typed.
    opened: Option<(Rect, Heights)>,
    /// Commands of the list with their verbs for the key hints, the most important first.
    hints: Vec<(Command, &'static str)>,
    /// A command of the whole screen that belongs to the list, with its verb.
    global_hint: Option<(Command, &'static str)>,
    /// Shown while nothing is typed.
    pub(super) placeholder: &'static str,
}

/// Rows of the list and the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heights {
    list: u16,
    preview: u16,
}

impl List {
    pub(super) fn new(
        title: String,
        empty: &'static str,
        items: Vec<Item>,
        take: IndexActions,
    ) -> Self {
        Self {
            title,
            empty,
            query: LineInput::default(),
            select: Select::new(items),
            take,
            page: 10,
            cursor: None,
            area: Rect::default(),
            has_answers: false,
            staying: false,
            moving: None,
            leaving: None,
            preview: None,
            keys: Vec::new(),
            shows_all: None,
            leaves_text: false,
            opened: None,
            hints: vec![(Command::Accept, "select"), (Command::Cancel, "close")],
            global_hint: None,
            placeholder: PLACEHOLDER,
        }
    }

    pub(super) fn set_columns(&mut self, columns: Columns) {
        self.select.set_columns(columns);
    }

    /// The verb in the hint of a key.
    pub(super) fn set_hint(&mut self, command: Command, word: &'static str) {
        let mut hints = self.hints.iter_mut();
        if let Some(hint) = hints.find(|(known, _)| *known == command) {
            hint.1 = word;
        }
    }

    /// A key that does something with the selected item.
    pub(super) fn add_key(&mut self, command: Command, word: &'static str, actions: IndexActions) {
        self.hints.insert(1, (command, word));
        self.keys.push((command, actions));
    }

    /// Adds a key that works everywhere on the screen; here it acts on the selected item.
    pub(super) fn set_global_key(&mut self, hint: (Command, &'static str), actions: IndexActions) {
        self.global_hint = Some(hint);
        self.keys.push((hint.0, actions));
    }

    pub(super) fn show_few(&mut self, usual: &[bool], shows_all: Rc<Cell<bool>>) {
        self.hints.insert(1, (Command::ShowAll, "all"));
        self.select.set_extra(|index| !usual[index]);
        self.shows_all = Some(shows_all);
        self.narrow();
    }

    pub(super) fn query(&self) -> &str {
        self.query.text()
    }

    pub(super) fn selected(&self) -> Option<usize> {
        self.select.selected()
    }

    pub(super) fn select(&mut self, item: Option<usize>) {
        self.select.select(item);
    }

    /// Narrows the list by what was typed before; an empty text leaves the selection alone.
    pub(super) fn type_query(&mut self, query: &str) {
        self.query.insert(query);
        self.narrow();
    }

    /// A command that the list does not have. A question stays in front until it is answered.
    fn leave_unused(&self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let works = command.passes_questions() || matches!(command, Command::Quit | Command::Exit);
        if !self.has_answers || works {
            return Handled::No;
        }
        cx.push(Toast::info("answer the question first"));
        Handled::Yes
    }

    /// Closes the list and passes on a text that is meant for the editor.
    fn pass_on(&mut self, text: &str, cx: &mut Cx<'_, Action>) {
        cx.push(Action::CloseLayer);
        cx.actions.extend(self.leaving.take());
        let text = text.to_owned();
        cx.push(Action::InsertText { text });
    }

    /// The list's share of the width next to a preview: more when it has several columns.
    fn share(&self) -> (u16, u16) {
        if self.select.head_rows() > 0 {
            (2, 3)
        } else {
            (3, 5)
        }
    }

    fn narrow(&mut self) {
        let all = self.shows_all.as_ref().map(|shows_all| shows_all.get());
        let total = self.select.total();
        self.select.list_all(all.unwrap_or_default());
        self.select.set_query(self.query.text());
        // Scattered letters match almost anything, so the complete list is searched for a closer name.
        if all == Some(false) && (self.select.is_empty() || self.select.is_scattered()) {
            let found_few = !self.select.is_empty();
            self.select.list_all(true);
            if found_few && self.select.is_scattered() {
                self.select.list_all(false);
            }
        }
        if self.select.total() != total && !self.select.is_empty() {
            // A shorter list needs fewer rows.
            self.opened = None;
        }
        if let Some(all) = all {
            self.set_hint(Command::ShowAll, if all { "usable" } else { "all" });
        }
    }

    /// How many items are shown, and of how many.
    fn count(&self) -> String {
        if self.leaves_text {
            // Without a filter there is nothing to count.
            return String::new();
        }
        let usual = self.select.items().iter().filter(|item| !item.only_found);
        let (listed, every) = (self.select.total(), usual.count());
        let count = format!("{}/{listed}", self.select.len());
        if listed < every {
            format!("{count} usable, {every} in all")
        } else {
            count
        }
    }

    /// Runs the move actions when the selection has changed.
    fn follow_move(&self, before: Option<usize>, cx: &mut Cx<'_, Action>) {
        let selected = self.select.selected().filter(|item| Some(*item) != before);
        if let (Some(item), Some(moving)) = (selected, &self.moving) {
            cx.actions.extend(moving(item));
        }
    }

    /// The preview of an item; rows that are wider than the preview wrap.
    fn previewed(&self, item: usize, inner: usize) -> Vec<Row> {
        let mut shown = Vec::new();
        let rows = self.preview.as_ref().map(|preview| preview(item));
        for row in rows.unwrap_or_default() {
            if row.width() < inner || row.fill.is_some() {
                shown.push(row);
            } else {
                Wrap::new(inner.saturating_sub(2)).line(&row.spans, &mut shown);
            }
        }
        shown
    }

    /// The rows of an empty list.
    fn empty_rows(&self, inner: usize) -> Vec<Row> {
        let indent = [Span::new("  ", Token::Muted)];
        let mut rows = Vec::new();
        let wrap = Wrap::new(inner).prefixed(&indent);
        wrap.text(self.empty, Token::Text, &mut rows);
        rows
    }

    /// The areas of the list and of the preview, as high as their contents.
    pub(super) fn areas(&mut self, screen: Rect) -> (Rect, Option<Rect>) {
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
        // The list gets the rows that the preview leaves, at least three fifths.
        let preview = preview.min((most * 2 / 5).max(most.saturating_sub(list)));
        let mut area = docked(screen, width, (list + preview).min(most));
        let below = layout::cut_bottom(&mut area, preview);
        (area, Some(below))
    }

    /// The heights that the list and the previews of its items need, with their widths in `area`.
    fn heights(&self, area: Rect, most: u16) -> Heights {
        let count = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX);
        let items = match self.select.total() {
            0 => self
                .empty_rows(usize::from(area.width.saturating_sub(2)))
                .len(),
            total => total + self.select.head_rows(),
        };
        let items = count(items.max(1));
        let list = items.saturating_add(FRAME + u16::from(self.has_two_lines(area.width)));
        let pane = preview_pane::divide_for(area, PREVIEW_BELOW, self.share()).1;
        let inner = pane.map_or(0, |pane| usize::from(pane.width.saturating_sub(2)));
        let measured = self.select.listed().into_iter().take(MEASURED);
        let rows = measured.map(|item| self.previewed(item, inner).len());
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
        let selected = self.select.selected();
        let shown = selected.map(|item| self.previewed(item, inner));
        let shown = shown.unwrap_or_default();
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
                self.placeholder
            };
            let placeholder = text::truncate(placeholder, inner.saturating_sub(query.width()));
            query.push(placeholder.into_owned(), Token::Placeholder);
        } else {
            query.push(self.query.text(), Token::Text);
        }
        let count = self.count();
        let mut rows = vec![frame::top(&self.title, &count, width), boxed(query, inner)];
        let is_high = height >= TWO_LINES;
        let two_lines = is_high && self.has_two_lines(u16::try_from(width).unwrap_or(u16::MAX));
        let room = height.saturating_sub(3 + usize::from(two_lines)).max(1);
        self.page = room.saturating_sub(self.select.head_rows()).max(1);
        if self.select.is_empty() {
            let empty = self.empty_rows(inner).into_iter().take(room);
            rows.extend(empty.map(|row| boxed(row, inner)));
        } else {
            let listed = self.select.rows(inner, room);
            rows.extend(listed.into_iter().map(|row| boxed(row, inner)));
        }
        while rows.len() + 1 + usize::from(two_lines) < height {
            rows.push(boxed(Row::default(), inner));
        }
        let hints = self.key_hints(keymap);
        let (upper, lower) = if two_lines {
            frame::in_two(&hints, inner.saturating_sub(3))
        } else {
            (String::new(), &*hints)
        };
        if two_lines {
            let upper = Row::plain(format!("  {upper}"), Token::Muted);
            rows.push(boxed(upper, inner));
        }
        rows.push(frame::bottom(lower, Token::Muted, width));
        rows
    }

    fn key_hints(&self, keymap: &Keymap<Command>) -> Vec<String> {
        let mut hints = frame::key_hints(keymap, "list", &self.hints);
        if let Some(global) = self.global_hint {
            let last = hints.len().saturating_sub(1);
            let global = frame::key_hints(keymap, "global", &[global]);
            hints.splice(last..last, global);
        }
        hints.extend(frame::help_hint(keymap, "list"));
        hints
    }

    /// Whether the list has more keys than a line of this width has room for.
    fn has_two_lines(&self, width: u16) -> bool {
        self.keys.len() > 2 && width < LONG_LINE
    }

    pub(super) fn uses(&self, command: Command) -> bool {
        frame::is_of_most_lists(command) || self.hints.iter().any(|(known, _)| *known == command)
    }

    pub(super) fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let (area, preview) = self.areas(area);
        let rows = self.rows(
            usize::from(area.width),
            usize::from(area.height),
            view.keymap,
        );
        view.paint(&rows, area, buffer);
        self.area = preview.map_or(area, |preview| area.union(preview));
        if let Some(preview) = preview {
            let rows = self.preview_rows(usize::from(preview.width), usize::from(preview.height));
            view.paint(&rows, preview, buffer);
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

    /// Adds typed or pasted text to the query.
    pub(super) fn insert(&mut self, text: &str, cx: &mut Cx<'_, Action>) {
        if self.leaves_text {
            return self.pass_on(text, cx);
        }
        let before = self.select.selected();
        self.query.insert(text);
        self.narrow();
        self.follow_move(before, cx);
    }

    pub(super) fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let before = self.select.selected();
        match command {
            Command::Up | Command::Down if self.has_answers => {
                self.select.page(command == Command::Down, 1);
            }
            Command::Up => self.select.step(false),
            Command::Down => self.select.step(true),
            Command::PageUp => self.select.page(false, self.page),
            Command::PageDown => self.select.page(true, self.page),
            Command::First => self.select.first(),
            Command::Last => self.select.last(),
            Command::Accept => {
                if let Some(item) = before {
                    if !self.staying {
                        cx.push(Action::CloseLayer);
                    }
                    cx.actions.extend((self.take)(item));
                }
            }
            Command::ShowAll => {
                let Some(shows_all) = &self.shows_all else {
                    return Handled::No;
                };
                shows_all.set(!shows_all.get());
                self.opened = None;
                self.narrow();
                self.select.select(before);
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
                cx.actions.extend(self.leaving.take());
            }
            command if preview_pane::edit(&mut self.query, command) == Handled::Yes => {
                self.narrow();
            }
            command => {
                let mut keys = self.keys.iter();
                let key = keys.find(|(known, _)| *known == command);
                let Some(((_, actions), item)) = key.zip(before) else {
                    return self.leave_unused(command, cx);
                };
                cx.actions.extend(actions(item));
            }
        }
        self.follow_move(before, cx);
        Handled::Yes
    }
}
