//! The picker: a query line over a list of items of one type. Its owner says what an item does; nothing is looked up
//! by a text.

mod list;
mod menu;

use std::cell::Cell;
use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command};
use list::{IndexActions, List};
pub(crate) use menu::MenuItem;
use osier_term::{Columns, Component, Cx, Handled, Item, KeyPress, Row, View};

/// An item that a picker lists.
pub(crate) trait Choice: 'static {
    /// The row of the item in the list.
    fn row(&self) -> Item;

    /// Whether `other` is the same thing, of which a newer list has a newer state.
    fn is_same(&self, other: &Self) -> bool;
}

/// A picker on screen.
pub(crate) struct Picker<T> {
    items: Rc<[T]>,
    list: List,
}

impl<T: Choice> Picker<T> {
    /// A picker that closes with the actions of `take` for the chosen item. `empty` is shown when nothing matches.
    pub(crate) fn new<R: IntoIterator<Item: Into<Action>>>(
        title: impl Into<String>,
        empty: &'static str,
        items: impl IntoIterator<Item = T>,
        take: impl Fn(&T) -> R + 'static,
    ) -> Self {
        let items: Rc<[T]> = items.into_iter().collect();
        let rows = items.iter().map(T::row).collect();
        let take = by_index(&items, take);
        let list = List::new(title.into(), empty, rows, take);
        Self { items, list }
    }

    /// Shows the details of its items in these columns.
    #[must_use]
    pub(crate) fn with_columns(mut self, columns: Columns) -> Self {
        self.list.set_columns(columns);
        self
    }

    /// The verb in the key hint of `enter`: `open`.
    #[must_use]
    pub(crate) fn taking(mut self, word: &'static str) -> Self {
        self.list.set_hint(Command::Accept, word);
        self
    }

    /// The verb in the key hint of `esc`: `cancel`.
    #[must_use]
    pub(crate) fn closing(mut self, word: &'static str) -> Self {
        self.list.set_hint(Command::Cancel, word);
        self
    }

    /// Runs `actions` whenever another item is selected, for a live preview.
    #[must_use]
    pub(crate) fn on_move<R: IntoIterator<Item: Into<Action>>>(
        mut self,
        actions: impl Fn(&T) -> R + 'static,
    ) -> Self {
        self.list.moving = Some(by_index(&self.items, actions));
        self
    }

    /// Runs an action when the picker is closed without a choice.
    #[must_use]
    pub(crate) fn on_leave(mut self, action: impl Into<Action>) -> Self {
        self.list.leaving = Some(action.into());
        self
    }

    /// The verb and the actions of a further key, such as the one that removes an item.
    #[must_use]
    pub(crate) fn on<R: IntoIterator<Item: Into<Action>>>(
        mut self,
        command: Command,
        word: &'static str,
        actions: impl Fn(&T) -> R + 'static,
    ) -> Self {
        let actions = by_index(&self.items, actions);
        self.list.add_key(command, word, actions);
        self
    }

    /// Shows a preview of the selected item: next to the list, or below it on a narrow screen.
    #[must_use]
    pub(crate) fn with_preview(mut self, preview: impl Fn(&T) -> Vec<Row> + 'static) -> Self {
        let items = Rc::clone(&self.items);
        self.list.preview = Some(Box::new(move |index| preview(&items[index])));
        self
    }

    /// Adds a key that works everywhere on the screen, with its verb and its actions for the selected item.
    #[must_use]
    pub(crate) fn on_global<R: IntoIterator<Item: Into<Action>>>(
        mut self,
        command: Command,
        word: &'static str,
        actions: impl Fn(&T) -> R + 'static,
    ) -> Self {
        let actions = by_index(&self.items, actions);
        self.list.set_global_key((command, word), actions);
        self
    }

    /// Sets the text of the query line while nothing is typed.
    #[must_use]
    pub(crate) fn asking(mut self, placeholder: &'static str) -> Self {
        self.list.placeholder = placeholder;
        self
    }

    /// Stays open when an item is chosen: for switches.
    #[must_use]
    pub(crate) fn staying(mut self) -> Self {
        self.list.staying = true;
        self
    }

    /// Has no filter: typed text closes the picker and goes to the editor.
    #[must_use]
    pub(crate) fn leaving_text(mut self) -> Self {
        self.list.leaves_text = true;
        self
    }

    /// Shows only these items until `show_all` is pressed, or until a query finds none of them. `shows_all` is shared
    /// with the owner, so that it remains when the items change.
    #[must_use]
    pub(crate) fn with_few(
        mut self,
        is_usual: impl Fn(&T) -> bool,
        shows_all: Rc<Cell<bool>>,
    ) -> Self {
        let usual: Vec<bool> = self.items.iter().map(is_usual).collect();
        if usual.contains(&true) && usual.contains(&false) {
            self.list.show_few(&usual, shows_all);
        }
        self
    }

    /// The items are the answers of a question.
    #[must_use]
    pub(crate) fn with_answers(mut self) -> Self {
        self.list.has_answers = true;
        self
    }

    /// Selects the first item for which `is_wanted` is true.
    #[must_use]
    pub(crate) fn with_selected(mut self, is_wanted: impl Fn(&T) -> bool) -> Self {
        self.list.select(self.items.iter().position(is_wanted));
        self
    }

    /// Adopts the query and the selection of a picker that this picker replaces.
    pub(super) fn resume(&mut self, before: &Self) {
        self.list.type_query(before.list.query());
        if let Some(selected) = before.list.selected() {
            let selected = &before.items[selected];
            let now = self.items.iter().position(|item| item.is_same(selected));
            self.list.select(now);
        }
    }
}

/// The actions of the item with an index.
fn by_index<T: 'static, R: IntoIterator<Item: Into<Action>>>(
    items: &Rc<[T]>,
    actions: impl Fn(&T) -> R + 'static,
) -> IndexActions {
    let items = Rc::clone(items);
    Box::new(move |index| {
        let actions = actions(&items[index]).into_iter();
        actions.map(Into::into).collect()
    })
}

impl<T: Choice> Component<Command, Action> for Picker<T> {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.list.render(area, buffer, view);
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed() {
            self.list.insert(character.encode_utf8(&mut [0; 4]), cx);
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, Action>) -> Handled {
        let is_passed_on = self.list.leaves_text;
        let text = if is_passed_on { text } else { text.trim_end() };
        self.list.insert(text, cx);
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        self.list.on_command(command, cx)
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        self.list.uses(command)
    }

    fn cursor(&self) -> Option<Position> {
        self.list.cursor
    }

    fn area(&self) -> Option<Rect> {
        Some(self.list.area)
    }

    fn area_in(&mut self, screen: Rect) -> Option<Rect> {
        let (list, preview) = self.list.areas(screen);
        Some(preview.map_or(list, |preview| list.union(preview)))
    }

    fn takes_wheel(&self) -> bool {
        !self.list.has_answers
    }

    fn typed(&self) -> Option<&str> {
        Some(self.list.query())
    }
}

osier_base::opaque_debug!(Picker<T>);
