//! The search line: replaces the footer during a search in the
//! conversation. Scrolling still works.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command};
use crate::drawing::frame;
use osier_base::text;
use osier_term::{Component, Cx, Handled, KeyPress, LineInput, Row, Token, View};

pub(crate) const ID: &str = "search";

const MARK: &str = "find: ";

/// The keys with their verbs.
const KEYS: &[(Command, &str)] = &[
    (Command::Accept, "older"),
    (Command::Down, "newer"),
    (Command::Cancel, "close"),
];

/// The line on screen.
#[derive(Debug, Default)]
pub(super) struct SearchLine {
    query: LineInput,
    /// The query of the last search: the first typed text replaces it.
    is_kept: bool,
    /// How far the search is.
    status: String,
    cursor: Option<Position>,
}

impl SearchLine {
    /// A line with `query` and the status of the search.
    pub(super) fn new(query: &str, is_kept: bool, status: String) -> Self {
        Self {
            query: LineInput::new(query),
            is_kept,
            status,
            cursor: None,
        }
    }

    fn insert(&mut self, text: &str) {
        if std::mem::take(&mut self.is_kept) {
            self.query.clear();
        }
        self.query.insert(text);
    }

    /// The query, the keys as far as there is room for them, and the status. A long query has half of the line.
    fn row(&self, width: usize, hints: &[String]) -> Row {
        let query = text::width(MARK) + text::width(self.query.text()) + 2;
        let most = width.saturating_sub(query).max(width / 2);
        let taken = match &*self.status {
            "" => 0,
            status => text::width(status) + text::width(" · "),
        };
        let keys = frame::fitting(hints, most.saturating_sub(taken));
        let status = match (&*self.status, &*keys) {
            (status, "") => status.to_owned(),
            ("", keys) => keys.to_owned(),
            (status, keys) => format!("{keys} · {status}"),
        };
        let status = text::truncate(&status, most);
        let room = width.saturating_sub(text::width(MARK) + text::width(&status) + 2);
        let query = text::truncate_start(self.query.text(), room);
        let mut row = Row::plain(MARK, Token::Accent);
        let gap = room.saturating_sub(text::width(&query)) + 2;
        row.push(query.into_owned(), Token::Text);
        row.push(" ".repeat(gap), Token::Text);
        row.push(status.into_owned(), Token::Muted);
        row
    }
}

impl Component<Command, Action> for SearchLine {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let line = Rect {
            y: area.bottom().saturating_sub(1),
            height: area.height.min(1),
            ..area
        };
        let hints = frame::hints(view.keymap, ID, KEYS);
        let row = self.row(usize::from(line.width), &hints);
        view.paint(&[row], line, buffer);
        let column = text::width(MARK) + self.query.cursor_column();
        let column = u16::try_from(column).unwrap_or(u16::MAX);
        self.cursor = Some(Position {
            x: line.x + column.min(line.width.saturating_sub(1)),
            y: line.y,
        });
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        let Some(character) = key.typed() else {
            return Handled::No;
        };
        self.insert(character.encode_utf8(&mut [0; 4]));
        cx.push(Action::Search(self.query.text().to_owned()));
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, Action>) -> Handled {
        let line = text.lines().next().unwrap_or_default();
        self.insert(line);
        cx.push(Action::Search(self.query.text().to_owned()));
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let before = self.query.text().to_owned();
        if matches!(
            command,
            Command::Left | Command::Right | Command::LineStart | Command::LineEnd
        ) {
            self.is_kept = false;
        }
        match command {
            Command::Accept | Command::Up | Command::Search => {
                cx.push(Action::StepSearch { older: true });
            }
            Command::Down => cx.push(Action::StepSearch { older: false }),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::EndSearch);
            }
            Command::Left => self.query.left(),
            Command::Right => self.query.right(),
            Command::LineStart => self.query.home(),
            Command::LineEnd => self.query.end(),
            Command::DeleteBackward => self.query.delete_backward(),
            Command::DeleteForward => self.query.delete_forward(),
            Command::DeleteWordBackward => self.query.delete_word_backward(),
            Command::KillToLineStart => self.query.clear(),
            _ => return Handled::No,
        }
        if self.query.text() != before {
            cx.push(Action::Search(self.query.text().to_owned()));
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "search"
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn typed(&self) -> Option<&str> {
        Some(self.query.text())
    }
}
