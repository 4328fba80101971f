//! Overlays above the main screen: a stack of components. Events are offered from the top down
//! until a component uses them; rendering goes from the bottom up.

use std::any::Any;
use std::fmt;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::frame::Cursor;
use crate::input::KeyPress;
use crate::screen::component::{Commands, Component, Cx, Handled, View};
use crate::text::highlight::{Highlighted, Highlighter};

/// One overlay and its id.
struct Layer<C: Commands, A> {
    id: &'static str,
    modal: bool,
    component: Box<dyn Component<C, A>>,
}

/// The stack of overlays.
pub struct Layers<C: Commands, A> {
    stack: Vec<Layer<C, A>>,
}

impl<C: Commands, A> Default for Layers<C, A> {
    fn default() -> Self {
        Self { stack: Vec::new() }
    }
}

impl<C: Commands, A> fmt::Debug for Layers<C, A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list()
            .entries(self.stack.iter().map(|layer| layer.id))
            .finish()
    }
}

impl<C: Commands, A: 'static> Layers<C, A> {
    /// Pushes a layer that passes unused events to the layers below. Replaces a layer with the same
    /// id.
    pub fn push(&mut self, id: &'static str, component: impl Component<C, A>) {
        self.insert(id, false, Box::new(component));
    }

    /// Pushes a layer that blocks every event from the layers below.
    pub fn push_modal(&mut self, id: &'static str, component: impl Component<C, A>) {
        self.insert(id, true, Box::new(component));
    }

    /// Removes the topmost layer and returns its id.
    pub fn pop(&mut self) -> Option<&'static str> {
        self.stack.pop().map(|layer| layer.id)
    }

    /// Removes a layer at any position; returns `false` if there is no such layer.
    pub fn remove(&mut self, id: &str) -> bool {
        let before = self.stack.len();
        self.stack.retain(|layer| layer.id != id);
        self.stack.len() < before
    }

    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub fn contains(&self, id: &str) -> bool {
        self.stack.iter().any(|layer| layer.id == id)
    }

    /// The id of the topmost layer.
    pub fn top(&self) -> Option<&'static str> {
        self.stack.last().map(|layer| layer.id)
    }

    /// The component of the layer with this id, if it is of this type.
    pub fn find<T: Component<C, A>>(&mut self, id: &str) -> Option<&mut T> {
        let layer = self.stack.iter_mut().find(|layer| layer.id == id)?;
        let component: &mut dyn Any = &mut *layer.component;
        component.downcast_mut()
    }

    /// The keymap contexts of the layers that receive events, topmost first.
    pub fn contexts(&self) -> Vec<&'static str> {
        let mut contexts = Vec::new();
        for layer in self.stack.iter().rev() {
            contexts.push(layer.component.context());
            if layer.modal {
                break;
            }
        }
        contexts
    }

    /// Whether the topmost layer has a use for a command of its context.
    pub fn uses(&self, command: C) -> bool {
        let top = self.stack.last();
        top.is_some_and(|layer| layer.component.uses(command))
    }

    /// The meaning of a command in the topmost layer; `None` if it is the usual one.
    pub fn meaning(&self, command: C) -> Option<&'static str> {
        self.stack.last()?.component.meaning(command)
    }

    /// The letters that the topmost layer reads itself.
    pub fn letters(&self) -> Vec<(String, String)> {
        let top = self.stack.last();
        top.map_or_else(Vec::new, |layer| layer.component.letters())
    }

    /// Whether the topmost layer receives every key directly.
    pub fn captures(&self) -> bool {
        self.stack
            .last()
            .is_some_and(|layer| layer.component.captures())
    }

    pub fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, A>) -> Handled {
        self.dispatch(|component| component.on_key(key, cx))
    }

    pub fn on_command(&mut self, command: C, cx: &mut Cx<'_, A>) -> Handled {
        self.dispatch(|component| component.on_command(command, cx))
    }

    pub fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, A>) -> Handled {
        self.dispatch(|component| component.on_paste(text, cx))
    }

    /// Renders every layer, lowest first. Only the topmost has the focus.
    pub fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, C>) {
        let top = self.stack.len().saturating_sub(1);
        for (index, layer) in self.stack.iter_mut().enumerate() {
            let view = view.focus(view.focused && index == top);
            layer.component.render(area, buffer, &view);
        }
    }

    /// Tells every layer that it is not on the screen until it is rendered again.
    pub fn hide(&mut self) {
        for layer in &mut self.stack {
            layer.component.hide();
        }
    }

    /// Renders only the topmost layer.
    pub fn render_top(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, C>) {
        if let Some(layer) = self.stack.last_mut() {
            layer.component.render(area, buffer, view);
        }
    }

    /// Whether the topmost layer covers this cell of the screen.
    pub fn covers(&self, at: Position) -> bool {
        let area = self.stack.last().and_then(|layer| layer.component.area());
        area.is_none_or(|area| area.contains(at))
    }

    /// The first row of `screen` that a layer will cover; `None` if all of them cover the screen.
    pub fn first_row_in(&mut self, screen: Rect) -> Option<u16> {
        let layers = self.stack.iter_mut();
        let areas = layers.filter_map(|layer| layer.component.area_in(screen));
        areas.map(|area| area.y).min()
    }

    /// Rows at the bottom of the screen that stay in sight: the footer, or those of the topmost layer.
    pub fn foot(&self) -> u16 {
        let top = self.stack.last();
        top.map_or(1, |layer| layer.component.foot())
    }

    /// Whether the wheel moves the selection of the topmost layer.
    pub fn takes_wheel(&self) -> bool {
        let top = self.stack.last();
        top.is_some_and(|layer| layer.component.takes_wheel())
    }

    /// The filter text typed into the topmost layer.
    pub fn typed(&self) -> Option<&str> {
        self.stack.last()?.component.typed()
    }

    /// Requests syntax highlighting for the topmost layer.
    pub fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        if let Some(layer) = self.stack.last_mut() {
            layer.component.request_highlight(highlighter);
        }
    }

    /// Passes a highlighting result to the layer that requested it; returns whether there is one.
    pub fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        let mut layers = self.stack.iter_mut().rev();
        layers.any(|layer| layer.component.apply_highlight(highlighted))
    }

    /// The cursor of the topmost layer that has one. A modal layer hides the cursors below it.
    pub fn cursor(&self) -> Option<Cursor> {
        for layer in self.stack.iter().rev() {
            let cursor = layer.component.shaped_cursor();
            if cursor.is_some() || layer.modal {
                return cursor;
            }
        }
        None
    }

    fn dispatch(&mut self, mut event: impl FnMut(&mut dyn Component<C, A>) -> Handled) -> Handled {
        for layer in self.stack.iter_mut().rev() {
            if event(&mut *layer.component) == Handled::Yes || layer.modal {
                return Handled::Yes;
            }
        }
        Handled::No
    }

    fn insert(&mut self, id: &'static str, modal: bool, component: Box<dyn Component<C, A>>) {
        self.remove(id);
        self.stack.push(Layer {
            id,
            modal,
            component,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use ratatui::style::Style;

    use super::*;
    use crate::frame::Links;
    use crate::keymap::Keymap;
    use crate::theme::Theme;

    /// Draws its letter and uses only the keys in `takes`.
    struct Probe {
        letter: char,
        takes: &'static str,
        cursor: Option<Position>,
    }

    impl Commands for u8 {
        type Settings = ();
    }

    impl Component<u8, String> for Probe {
        fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, u8>) {
            let mark = if view.focused { "*" } else { "" };
            let text = format!("{}{mark}", self.letter);
            buffer.set_string(area.x, area.y, text, Style::new());
        }

        fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, String>) -> Handled {
            match key.typed() {
                Some(char) if self.takes.contains(char) => {
                    cx.push(format!("{}:{char}", self.letter));
                    Handled::Yes
                }
                _ => Handled::No,
            }
        }

        fn cursor(&self) -> Option<Position> {
            self.cursor
        }
    }

    fn probe(letter: char, takes: &'static str) -> Probe {
        Probe {
            letter,
            takes,
            cursor: None,
        }
    }

    fn press(layers: &mut Layers<u8, String>, keys: &str) -> (Vec<String>, Vec<Handled>) {
        let mut actions = Vec::new();
        let mut cx = Cx {
            actions: &mut actions,
            now: Instant::now(),
        };
        let handled = keys
            .chars()
            .map(|key| layers.on_key(KeyPress::char(key), &mut cx))
            .collect();
        (actions, handled)
    }

    #[test]
    fn unused_keys_reach_lower_layers_up_to_a_modal_one() {
        let mut layers = Layers::default();
        layers.push("a", probe('a', "xyz"));
        layers.push("b", probe('b', "xy"));
        layers.push("c", probe('c', "x"));
        let (actions, handled) = press(&mut layers, "xyzq");
        assert_eq!(actions, ["c:x", "b:y", "a:z"]);
        assert_eq!(
            handled,
            [Handled::Yes, Handled::Yes, Handled::Yes, Handled::No]
        );

        layers.push_modal("b", probe('b', "y"));
        assert_eq!(layers.top(), Some("b"));
        let (actions, handled) = press(&mut layers, "xyz");
        assert_eq!(actions, ["b:y"]);
        assert_eq!(handled, [Handled::Yes; 3]);
        assert_eq!(layers.contexts(), ["global"]);
        // A layer is updated in place: it keeps its position in the stack.
        assert!(layers.find::<Probe>("none").is_none());
        *layers.find("c").unwrap() = probe('d', "xyz");
        assert_eq!(press(&mut layers, "xy").0, ["b:y"]);
        assert_eq!(layers.pop(), Some("b"));
        assert_eq!(press(&mut layers, "x").0, ["d:x"]);
    }

    #[test]
    fn topmost_layer_is_rendered_last_and_its_cursor_is_shown() {
        let mut layers: Layers<u8, String> = Layers::default();
        let mut below = probe('a', "");
        below.cursor = Some(Position::new(3, 1));
        layers.push("a", below);
        layers.push("b", probe('b', ""));
        let area = Rect::new(0, 0, 4, 1);
        let mut buffer = Buffer::empty(area);
        let (theme, keymap, links) = (Theme::default(), Keymap::default(), Links::default());
        let view = View {
            theme: &theme,
            keymap: &keymap,
            settings: &(),
            links: &links,
            now: Instant::now(),
            focused: true,
        };
        layers.render(area, &mut buffer, &view);
        assert_eq!(buffer, Buffer::with_lines(["b*  "]));
        assert_eq!(layers.cursor(), Some(Cursor::from(Position::new(3, 1))));
        layers.push_modal("c", probe('c', ""));
        assert_eq!(layers.cursor(), None);
    }
}
