//! The interface of everything on the screen. Only `render` is required; the other methods have
//! defaults.
//!
//! A component changes only itself. It requests changes elsewhere by pushing actions, which the
//! application applies afterwards. Rendering depends only on the component's state, the area and
//! the view.

use std::any::Any;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::frame::{Cursor, Links};
use crate::input::KeyPress;
use crate::keymap::Keymap;
use crate::text::highlight::{Highlighted, Highlighter};
use crate::text::row::Row;
use crate::theme::Theme;
use crate::widgets::paint::paint_rows;

/// The type of commands that keys are bound to.
pub trait Commands: Copy + 'static {
    /// The settings that components read.
    type Settings;
}

/// Shared data that a component reads while it renders.
#[derive(Debug)]
pub struct View<'a, C: Commands> {
    pub theme: &'a Theme,
    pub keymap: &'a Keymap<C>,
    pub settings: &'a C::Settings,
    /// Assigns ids to hyperlinks.
    pub links: &'a Links,
    pub now: Instant,
    /// Whether this component receives keys.
    pub focused: bool,
}

#[expect(
    clippy::expl_impl_clone_on_copy,
    reason = "a derived one requires settings that can be copied"
)]
impl<C: Commands> Clone for View<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Commands> Copy for View<'_, C> {}

impl<C: Commands> View<'_, C> {
    /// Paints rows in the styles of the theme.
    pub fn paint(&self, rows: &[Row], area: Rect, buffer: &mut Buffer) {
        paint_rows(rows, area, buffer, self.links, |face| {
            self.theme.style(face)
        });
    }

    /// The same view with another focus state.
    #[must_use]
    pub(crate) fn focus(self, focused: bool) -> Self {
        Self { focused, ..self }
    }
}

/// Collects the actions that a component requests.
#[derive(Debug)]
pub struct Cx<'a, A> {
    pub actions: &'a mut Vec<A>,
    pub now: Instant,
}

impl<A> Cx<'_, A> {
    pub fn push(&mut self, action: impl Into<A>) {
        self.actions.push(action.into());
    }
}

/// Whether a component used an event. An unused event is passed to the next component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Handled {
    Yes,
    No,
}

/// A part of the screen. `C` is the type of commands that keys are bound to; `A` is the type of
/// actions that a component can request. Its owner finds it by its type to update it in place.
pub trait Component<C: Commands, A>: Any {
    /// Draws into `area`, which may be empty.
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, C>);

    /// Called before keys that come while the component is not on the screen, because the terminal
    /// is too small.
    fn hide(&mut self) {}

    /// Handles a key that no binding of the active contexts uses.
    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, A>) -> Handled {
        let _ = (key, cx);
        Handled::No
    }

    /// Handles a command bound to a key in this component's context.
    fn on_command(&mut self, command: C, cx: &mut Cx<'_, A>) -> Handled {
        let _ = (command, cx);
        Handled::No
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, A>) -> Handled {
        let _ = (text, cx);
        Handled::No
    }

    /// The keymap context that is searched first while this component has the focus.
    fn context(&self) -> &'static str {
        "global"
    }

    /// Whether the component has a use for a command of its context.
    fn uses(&self, command: C) -> bool {
        let _ = command;
        true
    }

    /// The meaning of a command in this component; `None` if it is the usual one.
    fn meaning(&self, command: C) -> Option<&'static str> {
        let _ = command;
        None
    }

    /// Letters that the component reads itself, with their meanings: no keymap has them.
    fn letters(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether the component receives every key directly, ignoring all bindings.
    fn captures(&self) -> bool {
        false
    }

    /// The position of the text cursor after the last render.
    fn cursor(&self) -> Option<Position> {
        None
    }

    /// The cells of the last frame that it covers; `None` if it covers the screen.
    fn area(&self) -> Option<Rect> {
        None
    }

    /// The cells of `screen` that it will cover, if it leaves the others to the screen behind it.
    fn area_in(&mut self, screen: Rect) -> Option<Rect> {
        let _ = screen;
        None
    }

    /// Rows at the bottom of the screen that stay in sight under a page of keys or a notice: the line of keys, and what is
    /// typed into it.
    fn foot(&self) -> u16 {
        1
    }

    /// Whether the wheel moves its selection. A choice of answers must not change by it.
    fn takes_wheel(&self) -> bool {
        true
    }

    /// The text cursor with its shape.
    fn shaped_cursor(&self) -> Option<Cursor> {
        self.cursor().map(Cursor::from)
    }

    /// The filter text typed into the component.
    fn typed(&self) -> Option<&str> {
        None
    }

    /// Requests syntax highlighting for visible text that was not requested before.
    fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        let _ = highlighter;
    }

    /// Applies a highlighting result; returns whether it belongs to this component.
    fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        let _ = highlighted;
        false
    }
}
