//! A box to type a value, with what it means and what it accepts. An invalid value shows an error, and the box stays.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{frame, frame::Panel, layout::docked_over, preview_pane};
use crate::actions::{Action, Command};
use osier_base::text;
use osier_term::{Component, Cx, Face, Handled, KeyPress, LineInput, Row, Span, Token, View, Wrap};

pub(crate) const ID: &str = "value";

/// The width of the box.
const WIDTH: u16 = 80;

/// The actions for a typed text, or the mistake in it.
type Take = Box<dyn Fn(&str) -> Result<Vec<Action>, String>>;

/// The box on screen.
pub(crate) struct ValueBox {
    title: String,
    /// The meaning of the value, in sentences.
    about: String,
    /// The accepted values.
    accepts: String,
    /// Values that up and down go through.
    choices: Vec<String>,
    /// The meaning of an empty line.
    empty: &'static str,
    line: LineInput,
    /// The mistake in the value.
    fault: Option<String>,
    take: Take,
    cursor: Option<Position>,
}

impl ValueBox {
    /// A box that closes with the actions of `take`.
    pub(crate) fn new(
        title: impl Into<String>,
        about: impl Into<String>,
        accepts: impl Into<String>,
        take: impl Fn(&str) -> Result<Vec<Action>, String> + 'static,
    ) -> Self {
        Self {
            title: title.into(),
            about: about.into(),
            accepts: accepts.into(),
            choices: Vec::new(),
            empty: "",
            line: LineInput::default(),
            fault: None,
            take: Box::new(take),
            cursor: None,
        }
    }

    /// Sets the value that the line begins with.
    #[must_use]
    pub(crate) fn with_value(mut self, value: &str) -> Self {
        self.line = LineInput::new(value);
        self
    }

    #[must_use]
    pub(crate) fn with_choices(mut self, choices: Vec<String>) -> Self {
        self.choices = choices;
        self
    }

    /// Sets the meaning of an empty line.
    #[must_use]
    pub(crate) fn with_empty(mut self, meaning: &'static str) -> Self {
        self.empty = meaning;
        self
    }

    fn accept(&mut self, cx: &mut Cx<'_, Action>) {
        match (self.take)(self.line.text().trim()) {
            Ok(actions) => {
                cx.push(Action::CloseLayer);
                cx.actions.extend(actions);
            }
            Err(fault) => self.fault = Some(fault),
        }
    }

    /// The value before or after the one in the line.
    fn step(&mut self, down: bool) {
        let count = self.choices.len();
        let current = self.choices.iter().position(|one| one == self.line.text());
        let next = match current {
            Some(current) => (current + if down { 1 } else { count - 1 }) % count,
            None if down => 0,
            None => count.saturating_sub(1),
        };
        if let Some(choice) = self.choices.get(next) {
            self.line = LineInput::new(choice.clone());
            self.fault = None;
        }
    }

    /// The rows below the line, and the place of the box.
    fn place(&self, screen: Rect) -> (Vec<Row>, Rect) {
        let width = docked_over(screen, WIDTH, 4).width;
        let below = self.rows_below(usize::from(width.saturating_sub(2)));
        let height = u16::try_from(below.len() + 3).unwrap_or(u16::MAX);
        (below, docked_over(screen, WIDTH, height))
    }

    /// The rows below the line: the mistake or what is accepted, and the meaning.
    fn rows_below(&self, inner: usize) -> Vec<Row> {
        let indent = [Span::new(" ", Token::Text)];
        let wrap = Wrap::new(inner.saturating_sub(1)).hanging(&indent, &indent);
        let mut rows = Vec::new();
        if let Some(fault) = &self.fault {
            wrap.text(fault, Token::Error, &mut rows);
        } else if self.choices.is_empty() {
            wrap.text(&self.accepts, Token::Text, &mut rows);
        } else {
            let mut spans = vec![Span::new("‹ ", Token::Border)];
            for (place, choice) in self.choices.iter().enumerate() {
                if place > 0 {
                    spans.push(Span::new(" · ", Token::Border));
                }
                let face = if choice == self.line.text() {
                    Face::bold(Token::Text).on(Token::Selected)
                } else {
                    Token::Text.into()
                };
                spans.push(Span::new(choice.clone(), face));
            }
            spans.push(Span::new(" ›", Token::Border));
            wrap.line(&spans, &mut rows);
        }
        if !self.about.is_empty() {
            wrap.sentences(&self.about, Token::Text, &mut rows);
        }
        rows
    }
}

impl Component<Command, Action> for ValueBox {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let (below, area) = self.place(area);
        let inner = usize::from(area.width.saturating_sub(2));
        let room = inner.saturating_sub(4);
        let shown = text::truncate_start(self.line.text(), room);
        let mut line = Row::plain(" ❯ ", Token::Accent);
        line.push(shown.into_owned(), Token::Text);
        let mut hints = vec![(Command::Accept, "save"), (Command::Cancel, "cancel")];
        if !self.choices.is_empty() {
            hints.insert(0, (Command::Down, "next value"));
        }
        let mut keys = frame::hints(view.keymap, "list", &hints);
        if !self.empty.is_empty() {
            keys.insert(hints.len().min(keys.len()), self.empty.to_owned());
        }
        let panel = Panel {
            title: &self.title,
            remark: "",
            rows: std::iter::once(line).chain(below).collect(),
            keys,
            token: Token::Muted,
        };
        panel.draw(area, buffer, view);
        let column = 3 + self.line.cursor_column().min(room);
        let inside = Rect {
            x: area.x + 1,
            width: area.width.saturating_sub(2),
            ..area
        };
        self.cursor = Some(preview_pane::at_column(inside, area.y + 1, column));
    }

    fn on_key(&mut self, key: KeyPress, _cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed() {
            self.line.insert(character.encode_utf8(&mut [0; 4]));
            self.fault = None;
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, _cx: &mut Cx<'_, Action>) -> Handled {
        self.line.insert(text.trim_end());
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Accept => self.accept(cx),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
            }
            // The list behind the box stays as it is.
            Command::Up | Command::Down | Command::PageUp | Command::PageDown => {
                if matches!(command, Command::Up | Command::Down) {
                    self.step(command == Command::Down);
                }
            }
            command => return preview_pane::edit(&mut self.line, command),
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        frame::is_of_most_lists(command)
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn area_in(&mut self, screen: Rect) -> Option<Rect> {
        Some(self.place(screen).1)
    }
}

osier_base::opaque_debug!(ValueBox);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_and_down_go_through_the_values_and_an_invalid_one_stays() {
        let choices = ["default", "vim"].map(str::to_owned).to_vec();
        let mut value = ValueBox::new("keymap", "", "", |_| Err("unknown".to_owned()))
            .with_value("vim")
            .with_choices(choices);
        let mut shown = Vec::new();
        for down in [true, true, false, false] {
            value.step(down);
            shown.push(value.line.text().to_owned());
        }
        assert_eq!(shown, ["default", "vim", "default", "vim"]);
        let text = |value: &ValueBox| -> Vec<String> {
            value.rows_below(40).iter().map(Row::text).collect()
        };
        assert_eq!(text(&value), [" ‹ default · vim ›"]);
        value.fault = Some("unknown".to_owned());
        assert_eq!(text(&value), [" unknown"]);
    }
}
