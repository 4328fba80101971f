//! The dialog of a running sign-in: the address, the code to type there, and an input line for the code or key that
//! the user received. A key is never drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, Effect};
use crate::drawing::{frame, frame::Panel, layout::docked};
use osier_base::text;
use osier_protocol::{Event, LoginInput, Op, Typed};
use osier_term::{Component, Cx, Face, Handled, KeyPress, LineInput, Row, Span, Token, View, Wrap};

pub(crate) const ID: &str = "login";

/// Widest the dialog gets.
const WIDTH: u16 = 100;

/// The dialog.
pub(crate) struct Login {
    label: String,
    url: Option<String>,
    user_code: Option<String>,
    input: LoginInput,
    line: LineInput,
    cursor: Option<Position>,
}

impl Login {
    /// The dialog of a sign-in that has started; `None` for any other event.
    pub(crate) fn new(event: &Event) -> Option<Self> {
        let Event::LoginStarted {
            label,
            url,
            user_code,
            input,
            ..
        } = event
        else {
            return None;
        };
        Some(Self {
            label: text::single_line(label),
            url: url.as_deref().map(text::single_line),
            user_code: user_code.as_deref().map(text::single_line),
            input: *input,
            line: LineInput::default(),
            cursor: None,
        })
    }

    fn rows(&self, inner: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut say = |told: &str, face: Token| {
            Wrap::new(inner.saturating_sub(2)).text(told, face, &mut rows);
        };
        if self.url.is_some() {
            say("Open this address in a browser:", Token::Text);
        }
        if let Some(url) = &self.url {
            rows.extend(address(url, inner.saturating_sub(4)));
        }
        if let Some(code) = &self.user_code {
            let face = Face::bold(Token::Accent);
            let mut row = Row::plain("Enter this code: ", Token::Text);
            row.push(code.as_str(), face);
            rows.push(row);
        }
        let mut say = |told: &str| {
            Wrap::new(inner.saturating_sub(2)).text(told, Token::Text, &mut rows);
        };
        say(match self.input {
            LoginInput::None => {
                "Waiting for you to enter the code. Press enter to copy the address, esc to cancel."
            }
            LoginInput::Code => {
                "If the browser is on another machine, paste the address it ends at. Press enter to copy the address above, esc to cancel."
            }
            LoginInput::Key => {
                "The key is stored in the credential store and not shown. $NAME and !COMMAND are stored as written."
            }
        });
        rows
    }

    /// The typed text as it is drawn.
    fn shown(&self) -> String {
        match self.input {
            LoginInput::Key => "•".repeat(self.line.text().chars().count()),
            _ => self.line.text().to_owned(),
        }
    }

    fn accept(&mut self, cx: &mut Cx<'_, Action>) {
        let typed = self.line.text().trim().to_owned();
        match (&self.url, typed.is_empty(), self.input) {
            (Some(url), true, _) => cx.push(Effect::Copy(url.clone(), "address")),
            (_, false, LoginInput::Code | LoginInput::Key) => {
                self.line.clear();
                cx.push(Op::LoginInput { text: Typed(typed) });
            }
            _ => {}
        }
    }
}

/// An address on as many rows as it needs, each of which is a link to the address.
pub(crate) fn address(url: &str, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut rest = url;
    while !rest.is_empty() {
        let part = text::prefix_of_width(rest, width.max(8));
        let mut span = Span::new(part, Token::Link);
        span.link = Some(url.into());
        rows.push(Row::new(vec![Span::new("  ", Token::Text), span]));
        rest = &rest[part.len()..];
    }
    rows
}

impl Component<Command, Action> for Login {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let width = docked(area, WIDTH, 1).width;
        let inner = usize::from(width.saturating_sub(2));
        let mut rows = self.rows(inner);
        for row in &mut rows {
            row.spans.insert(0, Span::new(" ", Token::Text));
        }
        let has_line = self.input != LoginInput::None;
        let height = rows.len() + 2 + usize::from(has_line);
        let area = docked(area, WIDTH, u16::try_from(height).unwrap_or(u16::MAX));
        self.cursor = None;
        if has_line {
            let room = inner.saturating_sub(4);
            let shown = self.shown();
            let column = match self.input {
                LoginInput::Key => text::width(&shown),
                _ => self.line.cursor_column(),
            };
            let mut line = Row::plain(" ❯ ", Token::Accent);
            line.push(text::truncate_start(&shown, room).into_owned(), Token::Text);
            let row = u16::try_from(rows.len() + 1).unwrap_or(u16::MAX);
            rows.push(line);
            let column = u16::try_from(column.min(room)).unwrap_or(0);
            self.cursor = Some(Position {
                x: area.x + 4 + column,
                y: (area.y + row).min(area.bottom().saturating_sub(1)),
            });
        }
        let panel = Panel {
            title: &format!("Sign in to {}", self.label),
            remark: "",
            rows,
            keys: frame::hints(view.keymap, "list", &[(Command::Cancel, "cancel")]),
            token: Token::Muted,
        };
        panel.draw(area, buffer, view);
    }

    fn on_key(&mut self, key: KeyPress, _cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed().filter(|_| self.input != LoginInput::None) {
            self.line.insert(character.encode_utf8(&mut [0; 4]));
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, _cx: &mut Cx<'_, Action>) -> Handled {
        if self.input != LoginInput::None {
            self.line.insert(text.trim());
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Accept | Command::Submit => self.accept(cx),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
                cx.push(Op::CancelLogin);
            }
            Command::DeleteBackward => self.line.delete_backward(),
            Command::DeleteWordBackward => self.line.delete_word_backward(),
            Command::KillToLineStart => self.line.clear(),
            // The cursor stays at the end of a key.
            Command::Left if self.input == LoginInput::Code => self.line.left(),
            Command::Right if self.input == LoginInput::Code => self.line.right(),
            Command::First | Command::LineStart if self.input == LoginInput::Code => {
                self.line.home();
            }
            Command::Last | Command::LineEnd => self.line.end(),
            _ => return Handled::Yes,
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
}

// The typed text may be a key, so it is not printed.
osier_base::opaque_debug!(Login);
