//! The summary of a compaction before it is stored: it can be changed like any text. It opens by itself, so what is typed goes to
//! the editor until a key moves the cursor in it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, Toast};
use crate::drawing::{frame, frame::Panel, layout::docked};
use crate::input::prompt::editing::edit_area;
use crate::status::footer::tokens;
use osier_base::text;
use osier_protocol::TreeOp;
use osier_term::widgets::textarea::{Motion, TextArea};
use osier_term::{Component, Cx, Handled, KeyPress, Span, Token, View};

pub(super) const ID: &str = "summary";

const HINTS: &[(Command, &str)] = &[
    (Command::Accept, "save"),
    (Command::Down, "edit"),
    (Command::Cancel, "discard"),
];

/// Widest the overlay gets.
const WIDTH: u16 = 100;

/// The summary on screen.
#[derive(Debug)]
pub(super) struct SummaryView {
    text: TextArea,
    numbers: SummaryNumbers,
    /// Typed text changes the summary.
    is_edited: bool,
    cursor: Option<Position>,
}

/// The size of the conversation that the summary replaces.
#[derive(Debug, Clone, Copy)]
pub(super) struct SummaryNumbers {
    /// Tokens of the context before.
    pub(super) tokens_before: u64,
    /// Messages to summarize.
    pub(super) summarized: usize,
    /// Messages that stay.
    pub(super) unchanged: usize,
}

impl SummaryView {
    pub(super) fn new(summary: &str, numbers: SummaryNumbers) -> Self {
        let mut text = TextArea::new("Summary; an empty one is not saved");
        text.set_text(summary);
        text.move_by(Motion::BufferStart);
        Self {
            text,
            numbers,
            is_edited: false,
            cursor: None,
        }
    }

    fn type_text(&mut self, text: &str, cx: &mut Cx<'_, Action>) {
        if self.is_edited {
            self.text.insert(text);
        } else {
            cx.push(Action::InsertText {
                text: text.to_owned(),
            });
        }
    }

    fn edit(&mut self, command: Command) {
        match command {
            Command::Up => self.text.move_by(Motion::Up(1)),
            Command::Down => self.text.move_by(Motion::Down(1)),
            Command::PageUp => self.text.move_by(Motion::Up(10)),
            Command::PageDown => self.text.move_by(Motion::Down(10)),
            command => edit_area(&mut self.text, command),
        };
    }
}

impl Component<Command, Action> for SummaryView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let area = docked(area, WIDTH, area.height * 9 / 10);
        let inner = usize::from(area.width.saturating_sub(2));
        let height = usize::from(area.height.saturating_sub(2)).max(1);
        let SummaryNumbers {
            tokens_before,
            summarized,
            unchanged,
        } = self.numbers;
        let hints = HINTS
            .iter()
            .filter(|(command, _)| !self.is_edited || *command != Command::Down);
        let hints: Vec<_> = hints.copied().collect();
        let numbers = format!(
            "{} summarized · {unchanged} unchanged · context {} tokens",
            text::counted(summarized, "message", "messages"),
            tokens(tokens_before)
        );
        let mut shown = self.text.view(inner.saturating_sub(2).max(1), height);
        for row in &mut shown.rows {
            row.spans.insert(0, Span::new(" ", Token::Text));
        }
        let panel = Panel {
            title: "Summary",
            remark: &numbers,
            rows: shown.rows,
            keys: frame::hints(view.keymap, "summary", &hints),
            token: Token::Muted,
        };
        panel.draw(area, buffer, view);
        self.cursor = self.is_edited.then_some(Position {
            x: area.x + 2 + shown.cursor.0,
            y: area.y + 1 + shown.cursor.1,
        });
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed() {
            self.type_text(character.encode_utf8(&mut [0; 4]), cx);
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, Action>) -> Handled {
        self.type_text(text, cx);
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Accept => {
                cx.push(Action::CloseLayer);
                cx.push(TreeOp::StoreSummary {
                    summary: self.text.text(),
                });
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
                cx.push(TreeOp::DropSummary);
                cx.push(Toast::info("not compacted".to_owned()));
            }
            Command::Up | Command::Down | Command::PageUp | Command::PageDown => {
                self.is_edited = true;
                self.edit(command);
            }
            command if self.is_edited => self.edit(command),
            // It is meant for the text in the editor.
            _ => {}
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "summary"
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }
}
