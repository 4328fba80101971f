//! A line to type the value of a setting. An invalid value shows an error, and the line stays.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, Effect};
use crate::drawing::{frame, frame::Panel, layout::docked_over, preview_pane};
use osier_base::text;
use osier_settings::SettingInfo;
use osier_term::{Component, Cx, Handled, KeyPress, LineInput, Row, Token, View};

pub(super) const ID: &str = "value";

const HINTS: &[(Command, &str)] = &[(Command::Accept, "save"), (Command::Cancel, "cancel")];

/// The line on screen.
#[derive(Debug)]
pub(super) struct ValueLine {
    name: &'static str,
    accepts: String,
    line: LineInput,
    /// The mistake in the value.
    fault: Option<String>,
    cursor: Option<Position>,
}

impl ValueLine {
    pub(super) fn new(info: &SettingInfo) -> Self {
        // A text is written without its quotes.
        let value = info
            .value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'));
        let value = value
            .filter(|value| !value.contains('\\'))
            .unwrap_or(&info.value);
        Self {
            name: info.name,
            accepts: info.accepts.clone(),
            line: LineInput::new(value),
            fault: None,
            cursor: None,
        }
    }

    fn accept(&mut self, cx: &mut Cx<'_, Action>) {
        let typed = self.line.text().trim();
        let value = match osier_settings::literal(self.name, typed) {
            _ if typed.is_empty() => None,
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault = Some(fault);
                return;
            }
        };
        let name = self.name.to_owned();
        cx.push(Action::CloseLayer);
        cx.push(Effect::WriteSetting { name, value });
    }
}

impl Component<Command, Action> for ValueLine {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let area = docked_over(area, 80, 4);
        let inner = usize::from(area.width.saturating_sub(2));
        let room = inner.saturating_sub(4);
        let shown = text::truncate_start(self.line.text(), room);
        let mut line = Row::plain(" ❯ ", Token::Accent);
        line.push(shown.into_owned(), Token::Text);
        let below = match &self.fault {
            Some(fault) => (fault.as_str(), Token::Error),
            None => (self.accepts.as_str(), Token::Muted),
        };
        let shown = text::truncate(below.0, inner.saturating_sub(2));
        let below = Row::plain(format!(" {shown}"), below.1);
        let mut keys = frame::hints(view.keymap, "list", HINTS);
        keys.push("leave empty for the default".to_owned());
        let panel = Panel {
            title: self.name,
            remark: "",
            rows: vec![line, below],
            keys,
            token: Token::Muted,
        };
        panel.draw(area, buffer, view);
        let column = 3 + self.line.cursor_column().min(room);
        self.cursor = Some(preview_pane::at_column(
            Rect {
                x: area.x + 1,
                width: area.width.saturating_sub(2),
                ..area
            },
            area.y + 1,
            column,
        ));
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
            command => return preview_pane::edit(&mut self.line, command),
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }
}
