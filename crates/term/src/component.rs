//! What everything on the screen has in common. Only drawing is required; the rest is left alone unless a
//! component wants it.
//!
//! A component changes nothing but itself: what it wants to happen elsewhere it adds to the actions, which
//! the application applies afterwards. Drawing depends on its state, the area and the view alone.

use std::any::Any;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::frame::{Cursor, Links};
use super::highlight::{Highlighted, Highlighter};
use super::input::{KeyPress, MouseInput};
use super::keymap::Keymap;
use super::theme::Theme;

/// What drawing may look at besides the component itself.
#[derive(Debug)]
pub struct View<'a, C> {
    pub theme: &'a Theme,
    pub keymap: &'a Keymap<C>,
    /// Numbers for the hyperlinks that are drawn.
    pub links: &'a Links,
    pub now: Instant,
    /// Whether keys go to this component.
    pub focused: bool,
}

impl<C> Clone for View<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for View<'_, C> {}

impl<C> View<'_, C> {
    /// The same view for a part that has the focus or not.
    #[must_use]
    pub fn focus(self, focused: bool) -> Self {
        Self { focused, ..self }
    }
}

/// Where a component leaves what it wants to happen.
#[derive(Debug)]
pub struct Cx<'a, A> {
    pub actions: &'a mut Vec<A>,
    pub now: Instant,
}

impl<A> Cx<'_, A> {
    pub fn push(&mut self, action: A) {
        self.actions.push(action);
    }
}

/// Whether an event was used; one that was not goes on to the next component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Handled {
    Yes,
    No,
}

/// A part of the screen. `C` names the commands that keys start, `A` is what a component can ask for.
pub trait Component<C: Copy, A> {
    /// Draws into `area`, which may have any size, none included.
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, C>);

    /// A key that no binding of the current contexts took.
    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, A>) -> Handled {
        let _ = (key, cx);
        Handled::No
    }

    /// A command that a key of this component's context is bound to.
    fn on_command(&mut self, command: C, cx: &mut Cx<'_, A>) -> Handled {
        let _ = (command, cx);
        Handled::No
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, A>) -> Handled {
        let _ = (text, cx);
        Handled::No
    }

    fn on_mouse(&mut self, mouse: MouseInput, cx: &mut Cx<'_, A>) -> Handled {
        let _ = (mouse, cx);
        Handled::No
    }

    /// The keymap context that is asked first while this component has the focus.
    fn context(&self) -> &'static str {
        "global"
    }

    /// Whether it takes every key as it comes, whatever it is bound to.
    fn captures(&self) -> bool {
        false
    }

    /// Where the text cursor stands after the last draw.
    fn cursor(&self) -> Option<Position> {
        None
    }

    /// The same with a shape.
    fn shaped_cursor(&self) -> Option<Cursor> {
        self.cursor().map(Cursor::from)
    }

    /// What was typed into it: kept when it is made again with newer contents.
    fn typed(&self) -> Option<&str> {
        None
    }

    /// The key of the selected item of a list: kept likewise.
    fn marked(&self) -> Option<&str> {
        None
    }

    /// Itself, for an owner that gives it news in place.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Sends what it shows and that was not sent yet to be coloured.
    fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        let _ = highlighter;
    }

    /// Takes colours that came back; whether they were for it.
    fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        let _ = highlighted;
        false
    }

    /// Commands worth showing in the footer, with a word for each.
    fn hints(&self) -> &[(C, &'static str)] {
        &[]
    }
}
