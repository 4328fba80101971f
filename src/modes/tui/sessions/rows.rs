//! Drawing the sessions: the query, the list, and the selected one beside it, below it where the screen is
//! narrow. Only rows on the screen are made.

use std::fmt::Write as _;
use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::view::SessionsView;
use crate::base::{clock, text};
use crate::coding::host::{FoundSession, FoundText, SessionState};
use crate::coding::library::{PreviewLine, Source};
use crate::modes::tui::beside::{at_column, divide, fit};
use crate::term::component::View;
use crate::term::face::{Emphasis, Face, Token};
use crate::term::keymap::Keymap;
use crate::term::row::{Row, Span};
use crate::term::widgets::paint::paint_rows;
use crate::term::wrap::Wrap;

/// Below this height there is no preview.
const PREVIEW_HEIGHT: u16 = 20;

/// Keys told below the list, with a word for each: the first ones where there is little room.
const HINTS: &[(&str, &str)] = &[
    ("accept", "open"),
    ("session_beside", "beside"),
    ("session_words", "names/words"),
    ("session_scope", "here/all"),
    ("session_sort", "sort"),
    ("session_pin", "pin"),
    ("session_archive", "archive"),
    ("session_archived", "archived"),
    ("session_named", "named"),
    ("session_name", "name"),
    ("session_delete", "delete"),
    ("session_restore", "bring back"),
];

/// Stands before the title of a session that is pinned.
const PIN: &str = "▲ ";

impl SessionsView {
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_>) {
        self.cursor = None;
        let (list, preview) = divide(area, PREVIEW_HEIGHT);
        let (width, height) = (usize::from(list.width), usize::from(list.height));
        let rows_each = if self.shows_hits() { 2 } else { 1 };
        self.page = (height.saturating_sub(3) / rows_each).max(1);
        let last_top = self.found.sessions.len().saturating_sub(self.page);
        self.top = self.top.min(self.selected).min(last_top);
        self.top = self.top.max((self.selected + 1).saturating_sub(self.page));
        let mut rows = vec![self.title(width), self.query_row(list)];
        rows.extend(self.list(width));
        rows.truncate(height.saturating_sub(1));
        while rows.len() + 1 < height {
            rows.push(Row::default());
        }
        rows.push(self.bottom(list, view.keymap));
        let style = |face| view.theme.style(face);
        paint_rows(&rows, list, buffer, view.links, style);
        if let Some(preview) = preview {
            let rows = self.preview_rows(preview, list.width < area.width);
            paint_rows(&rows, preview, buffer, view.links, style);
        }
    }

    /// Whether what was found stands below each session.
    fn shows_hits(&self) -> bool {
        self.found.sessions.iter().any(|found| found.hit.is_some())
    }

    fn title(&self, width: usize) -> Row {
        let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
        let mut row = Row::plain(" Sessions ", bold);
        let scope = if self.query.all {
            "every directory"
        } else {
            "this directory"
        };
        let how = if self.query.in_words {
            "what was said"
        } else {
            "names"
        };
        row.push(format!("· {scope} · {how} "), Token::Muted);
        if !self.query.in_words || self.query.text.is_empty() {
            row.push(format!("· {} ", self.query.sort.word()), Token::Muted);
        }
        if self.query.named {
            row.push("· named ", Token::Warning);
        }
        if self.query.archived {
            row.push("· archived ", Token::Warning);
        }
        if let Some((done, total)) = self.indexing.filter(|(done, total)| done < total) {
            row.push(format!("· reading {done}/{total} "), Token::Warning);
        }
        let count = self.found.sessions.len();
        let place = (self.selected + 1).min(count);
        let more = if self.found.cut { "+" } else { "" };
        let count = format!(" {place}/{}{more} ", self.found.total);
        let line = width.saturating_sub(row.width() + text::width(&count));
        row.push("─".repeat(line), Token::Border);
        row.push(count, Token::Muted);
        fit(row, width)
    }

    fn query_row(&mut self, list: Rect) -> Row {
        let mark = " ❯ ";
        if self.naming.is_none() {
            let column = text::width(mark) + self.input.cursor_column();
            self.cursor = Some(at_column(list, list.y + 1, column));
        }
        let mut row = Row::plain(mark, Token::Accent);
        if self.input.is_empty() {
            let placeholder = if self.query.in_words {
                "words that were said, called or printed"
            } else {
                "letters of a name or a first prompt"
            };
            row.push(placeholder, Token::Placeholder);
        } else {
            row.push(self.input.text(), Token::Text);
        }
        fit(row, usize::from(list.width))
    }

    fn list(&self, width: usize) -> Vec<Row> {
        if self.found.sessions.is_empty() {
            let text = match (self.found.current, self.found.ready) {
                (true, true) if self.query.archived && self.input.is_empty() => {
                    "   nothing is archived here"
                }
                (true, true) if self.input.is_empty() && !self.query.named => {
                    "   no session is stored here yet"
                }
                (true, true) => "   nothing matches",
                _ => "   …",
            };
            return vec![Row::plain(text, Token::Muted)];
        }
        let now = clock::now_ms();
        let end = (self.top + self.page).min(self.found.sessions.len());
        let shown = self.top..end;
        shown
            .flat_map(|place| {
                let found = &self.found.sessions[place];
                let selected = place == self.selected;
                let row = self.session_row(found, (now, selected), width);
                let hit = found.hit.as_ref().map(|hit| hit_row(hit, selected, width));
                [Some(row), hit].into_iter().flatten()
            })
            .collect()
    }

    fn session_row(&self, found: &FoundSession, (now, selected): (i64, bool), width: usize) -> Row {
        let session = &found.session;
        let ground = |face: Face| {
            if selected {
                face.on(Token::Selected)
            } else {
                face
            }
        };
        let mut detail = String::new();
        if self.query.all {
            let folder = Path::new(&session.cwd).file_name();
            let folder = folder.map_or("/".into(), |name| name.to_string_lossy());
            detail.push_str(&text::truncate_start(
                &text::single_line(&folder),
                width / 5,
            ));
            detail.push_str("  ");
        }
        if session.cost >= 0.01 {
            let _ = write!(detail, "${:.2}  ", session.cost);
        }
        detail.push_str(&clock::age(session.active, now));
        let (state, token) = match (self.number_of(&session.path), found.state) {
            (_, SessionState::Here) => ("◂ here  ".to_owned(), Token::Success),
            (Some(number), _) => (format!("◂ open, {number}  "), Token::Success),
            (None, SessionState::Free) => (String::new(), Token::Muted),
            (None, SessionState::Elsewhere { .. }) if self.joins => {
                ("▶ open there  ".to_owned(), Token::Success)
            }
            (None, SessionState::Elsewhere { .. }) => {
                ("▶ runs elsewhere  ".to_owned(), Token::Warning)
            }
        };
        let armed = self.armed.as_deref() == Some(session.path.as_path());
        let named = session.name.as_deref().is_some_and(|name| !name.is_empty());
        let face = match (armed, named) {
            (true, _) => Face::from(Token::Error).emphasised(Emphasis::STRIKE),
            (false, true) => Face::from(Token::Text).emphasised(Emphasis::BOLD),
            (false, false) => Token::Text.into(),
        };
        let room = width.saturating_sub(text::width(&detail) + text::width(&state) + 6);
        let mut title = text::single_line(&text::sanitize(session.title()));
        if found.pinned {
            title.insert_str(0, PIN);
        }
        let title = text::truncate(&title, room);
        let gap = room.saturating_sub(text::width(&title)) + 2;
        let mut row = Row::default();
        if selected {
            row.fill = Some(Face::from(Token::Selected));
        }
        row.push(
            if selected { " › " } else { "   " },
            ground(Token::Accent.into()),
        );
        row.push(title.into_owned(), ground(face));
        row.push(" ".repeat(gap), ground(Token::Text.into()));
        row.push(state, ground(token.into()));
        row.push(detail, ground(Token::Muted.into()));
        fit(row, width)
    }

    /// The line under the list: what is typed or to be confirmed, else the keys.
    fn bottom(&mut self, list: Rect, keymap: &Keymap) -> Row {
        let width = usize::from(list.width);
        if let Some(line) = &self.naming {
            let mark = " name: ";
            let mut row = Row::plain(mark, Token::Accent);
            row.push(line.text(), Token::Text);
            let column = text::width(mark) + line.cursor_column();
            let position = at_column(list, list.bottom().saturating_sub(1), column);
            self.cursor = Some(position);
            return fit(row, width);
        }
        let key = |command: &str| {
            let keys = keymap.keys_for("sessions", command);
            let shortest = keys.into_iter().min_by_key(String::len);
            shortest.unwrap_or_default()
        };
        if self.armed.is_some() {
            let text = format!(" {} again deletes it", key("session_delete"));
            return fit(Row::plain(text, Token::Warning), width);
        }
        if let Some(status) = &self.status {
            let mut text = format!(" {}", text::single_line(&text::sanitize(status)));
            if self.can_restore() {
                text = format!("{text} · {} brings it back", key("session_restore"));
            }
            return fit(Row::plain(text, Token::Warning), width);
        }
        let mut line = String::new();
        for (command, meaning) in HINTS {
            let hint = format!(" {} {meaning} ·", key(command));
            let useless = *command == "session_restore" && !self.can_restore();
            if useless || text::width(&line) + text::width(&hint) > width {
                continue;
            }
            line.push_str(&hint);
        }
        Row::plain(line.trim_end_matches(" ·").to_owned(), Token::Muted)
    }

    /// How the selected session began and ends.
    fn preview_rows(&self, area: Rect, is_beside: bool) -> Vec<Row> {
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let side = if is_beside { "│ " } else { " " };
        let mut rows = Vec::new();
        let corner = if is_beside { "┬" } else { "─" };
        let mut head = Row::plain(corner, Token::Border);
        head.push("─".repeat(width.saturating_sub(1)), Token::Border);
        rows.push(head);
        let indent = [Span::new(side, Token::Border)];
        let mut write = |line: &str, token: Token| {
            if rows.len() < height {
                Wrap::new(width)
                    .hanging(&indent, &indent)
                    .text(line, token, &mut rows);
            }
        };
        if let Some(found) = self.selected() {
            for line in facts(found) {
                write(&line, Token::Muted);
            }
            let preview = self.preview.as_ref();
            let preview = preview.filter(|(path, _)| *path == found.session.path);
            if let Some((_, preview)) = preview {
                for said in &preview.first {
                    write_said(said, &mut write);
                }
                if !preview.last.is_empty() {
                    write("⋯", Token::Muted);
                }
                for said in &preview.last {
                    write_said(said, &mut write);
                }
            }
        }
        while is_beside && rows.len() < height {
            rows.push(Row::plain(side, Token::Border));
        }
        rows.truncate(height);
        rows
    }
}

/// A few lines about the session.
fn facts(found: &FoundSession) -> Vec<String> {
    let session = &found.session;
    let clean = |text: &str| text::single_line(&text::sanitize(text));
    let time = clock::rfc3339(session.active);
    let time = time.get(..16).unwrap_or_default().replace('T', " ");
    let mut lines = vec![
        clean(&session.cwd),
        format!("{time} · {}", size(session.size)),
    ];
    if session.whole {
        let counts = format!(
            "{} prompts · {} tool calls",
            session.prompts, session.tool_calls
        );
        lines.push(counts);
    }
    if !session.models.is_empty() {
        lines.push(clean(&session.models.join(", ")));
    }
    if !session.labels.is_empty() {
        lines.push(format!("labels: {}", clean(&session.labels.join(", "))));
    }
    if session.damaged > 0 {
        lines.push(format!("{} damaged lines", session.damaged));
    }
    lines.push(String::new());
    lines
}

fn write_said(said: &PreviewLine, write: &mut dyn FnMut(&str, Token)) {
    let (mark, token) = match said.source {
        Source::Prompt => ("❯ ", Token::User),
        Source::Summary => ("≡ ", Token::Heading),
        _ => ("● ", Token::Text),
    };
    let clean = text::sanitize(&said.text);
    let clean = text::expand_tabs(&clean);
    let mut lines = clean.lines().filter(|line| !line.trim().is_empty());
    for (place, line) in lines.by_ref().take(12).enumerate() {
        let mark = if place == 0 { mark } else { "  " };
        write(&format!("{mark}{line}"), token);
    }
    if lines.next().is_some() {
        write("  …", Token::Muted);
    }
}

/// What was found, its matches marked.
fn hit_row(hit: &FoundText, selected: bool, width: usize) -> Row {
    let ground = |token: Token| {
        if selected {
            Face::from(token).on(Token::Selected)
        } else {
            token.into()
        }
    };
    let mut row = Row::default();
    if selected {
        row.fill = Some(Face::from(Token::Selected));
    }
    row.push(
        format!("     {}: ", hit.source.word()),
        ground(Token::Accent),
    );
    let text = &hit.text.text;
    let mut at = 0;
    for (start, end) in &hit.text.marks {
        // Offsets from elsewhere are not trusted.
        let (Some(before), Some(matched)) = (text.get(at..*start), text.get(*start..*end)) else {
            break;
        };
        row.push(before.to_owned(), ground(Token::Muted));
        row.push(matched.to_owned(), ground(Token::Match));
        at = *end;
    }
    let rest = text.get(at..).unwrap_or_default();
    row.push(rest.to_owned(), ground(Token::Muted));
    fit(row, width)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::library::{HitText, SessionRow};

    fn found(name: Option<&str>, state: SessionState) -> FoundSession {
        FoundSession {
            session: SessionRow {
                name: name.map(str::to_owned),
                first_prompt: Some("fix\nit".into()),
                cwd: "/work/a".into(),
                ..SessionRow::default()
            },
            state,
            pinned: false,
            archived: false,
            hit: None,
        }
    }

    #[test]
    fn a_session_is_told_by_its_name_or_first_prompt() {
        let mut view = SessionsView::new();
        let row = |view: &SessionsView, found: &FoundSession| {
            view.session_row(found, (90 * 60_000, false), 40).text()
        };
        let here = found(None, SessionState::Here);
        assert_eq!(row(&view, &here), "   fix⏎it               ◂ here  1 h ago");
        view.query.all = true;
        let named = found(Some("mine"), SessionState::Free);
        assert_eq!(
            row(&view, &named),
            "   mine                      a  1 h ago"
        );
    }

    #[test]
    fn marks_that_do_not_fit_their_text_are_left_out() {
        let mut hit = FoundText {
            source: Source::Answer,
            entry_id: None,
            text: HitText {
                text: "käse und brot".into(),
                marks: vec![(0, 5), (10, 14)],
            },
        };
        let spans = |hit: &FoundText| hit_row(hit, false, 40).spans.len();
        assert_eq!(spans(&hit), 6);
        hit.text.marks = vec![(0, 2), (50, 60)];
        assert_eq!(
            hit_row(&hit, false, 40).text(),
            "     answer: käse und brot"
        );
    }
}
