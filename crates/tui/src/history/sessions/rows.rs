//! Drawing the sessions: the query, the list, and the preview next to it, or below it where the screen is
//! narrow. Only rows on the screen are made.

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::view::SessionsView;
use crate::actions::Command;
use crate::drawing::{
    frame, preview_pane::above_rows, preview_pane::at_column, preview_pane::divide,
    preview_pane::written,
};
use osier_base::{clock, path, text};
use osier_protocol::{FoundSession, FoundText, PreviewLine, SessionState, TextSource};
use osier_term::widgets::columns::{ColumnLayout, ColumnWidths};
use osier_term::{Cell, Column, Columns, Emphasis, Face, Keymap, Row, Span, Token, View, Wrap};

/// Below this height there is no preview.
const PREVIEW_HEIGHT: u16 = 20;

/// A screen with fewer columns shows the keys on two lines.
const LONG_LINE: u16 = 122;

/// Key hints below the list: the first ones where there is little room.
const HINTS: &[(Command, &str)] = &[
    (Command::Accept, "open"),
    (Command::SessionWords, ""),
    (Command::SessionScope, ""),
    (Command::SessionName, "rename"),
    (Command::SessionDelete, "delete"),
    (Command::Cancel, "back"),
    (Command::SessionInTab, "new tab"),
    (Command::SessionRestore, "restore"),
    (Command::SessionSort, "sort"),
    (Command::SessionPin, "pin"),
    (Command::SessionArchive, "archive"),
    (Command::SessionArchived, "show archived"),
    (Command::SessionNamed, "only named"),
];

const COLUMNS: Columns = Columns {
    label: "",
    details: &[
        Column::words("", 1),
        Column::words("", 2).at_least(8),
        Column::numbers("", 3),
        Column::numbers("", 0),
    ],
};

/// Rows of a message in the preview.
const SAID_ROWS: usize = 12;

/// The mark of a pinned session.
const PIN: &str = "▲ ";

impl SessionsView {
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.cursor = None;
        let (body, keys) = above_rows(area, if area.width < LONG_LINE { 2 } else { 1 });
        let (list, preview) = divide(body, PREVIEW_HEIGHT);
        let (width, height) = (usize::from(list.width), usize::from(list.height));
        let rows_each = if self.shows_hits() { 2 } else { 1 };
        self.page = (height.saturating_sub(2) / rows_each).max(1);
        let last_top = self.found.sessions.len().saturating_sub(self.page);
        self.top = self.top.min(self.selected).min(last_top);
        self.top = self.top.max((self.selected + 1).saturating_sub(self.page));
        let mut rows = vec![self.title(width), self.query_row(list)];
        rows.extend(self.list(width, view.keymap));
        rows.truncate(height);
        view.paint(&rows, list, buffer);
        let bottom = self.bottom(keys, view.keymap);
        view.paint(&bottom, keys, buffer);
        if let Some(preview) = preview {
            let rows = self.preview_rows(preview, list.width < area.width);
            view.paint(&rows, preview, buffer);
        }
    }

    /// Whether each session has a row with its match.
    fn shows_hits(&self) -> bool {
        self.found.sessions.iter().any(|found| found.hit.is_some())
    }

    fn title(&self, width: usize) -> Row {
        let mut row = Row::plain(" Sessions ", Face::bold(Token::Title));
        let scope = if self.query.all {
            "all directories"
        } else {
            "this directory"
        };
        let how = if self.query.in_words { "text" } else { "names" };
        let is_sorted = !self.query.in_words || self.query.text.is_empty();
        let sort = is_sorted.then(|| self.query.sort.word().to_owned());
        let reading = self.indexing.filter(|(done, total)| done < total);
        let reading = reading.map(|(done, total)| format!("indexing {done}/{total}"));
        let parts = [
            (Some(scope.to_owned()), Token::Muted),
            (self.query.named.then(|| "named".to_owned()), Token::Warning),
            (
                self.query.archived.then(|| "archived".to_owned()),
                Token::Warning,
            ),
            (reading, Token::Warning),
            (Some(how.to_owned()), Token::Muted),
            (sort, Token::Muted),
        ];
        let count = self.found.sessions.len();
        let place = (self.selected + 1).min(count);
        let more = if self.found.cut { "+" } else { "" };
        let count = format!(" {place}/{}{more} ", self.found.total);
        // Parts that do not fit are left out.
        for (part, token) in parts {
            let Some(part) = part.map(|part| format!("· {part} ")) else {
                continue;
            };
            if row.width() + text::width(&part) + text::width(&count) <= width {
                row.push(part, token);
            }
        }
        let line = width.saturating_sub(row.width() + text::width(&count));
        row.push("─".repeat(line), Token::Border);
        row.push(count, Token::Muted);
        row.truncated(width)
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
                "search prompts, answers, tool calls and output"
            } else {
                "search names and first prompts"
            };
            row.push(placeholder, Token::Placeholder);
        } else {
            row.push(self.input.text(), Token::Text);
        }
        row.truncated(usize::from(list.width))
    }

    fn list(&self, width: usize, keymap: &Keymap<Command>) -> Vec<Row> {
        if self.found.sessions.is_empty() {
            let text = match (self.found.current, self.found.ready) {
                (true, true) if self.query.archived && self.input.is_empty() => {
                    "no archived sessions"
                }
                (true, true) if self.input.is_empty() && !self.query.named => "no sessions yet",
                (true, true) => "no session matches",
                _ => return vec![Row::plain("   …", Token::Text)],
            };
            return self.nothing_found(text, width, keymap);
        }
        let now = clock::now_ms();
        let end = (self.top + self.page).min(self.found.sessions.len());
        let shown = self.top..end;
        let details: Vec<_> = self
            .found
            .sessions
            .iter()
            .map(|found| self.details(found, now))
            .collect();
        let mut measure = ColumnWidths::default();
        for (found, details) in self.found.sessions.iter().zip(&details) {
            measure.add(&title(found), details);
        }
        let layout = measure.fit(COLUMNS, width.saturating_sub(4));
        shown
            .flat_map(|place| {
                let found = &self.found.sessions[place];
                let selected = place == self.selected;
                let row = self.session_row(found, &details[place], &layout, selected);
                let hit = found.hit.as_ref().map(|hit| hit_row(hit, selected, width));
                [Some(row), hit].into_iter().flatten()
            })
            .collect()
    }

    /// The rows of an empty list: why it is empty, and the keys that search in more sessions.
    fn nothing_found(&self, text: &str, width: usize, keymap: &Keymap<Command>) -> Vec<Row> {
        let is_wider = |(command, _): &(Command, &str)| match command {
            Command::SessionWords => !self.query.in_words && !self.input.is_empty(),
            Command::SessionScope => !self.query.all,
            _ => false,
        };
        let mut wider = self.hints();
        wider.retain(is_wider);
        let keys = frame::key_hints(keymap, "sessions", &wider).into_iter();
        let parts: Vec<String> = std::iter::once(text.to_owned()).chain(keys).collect();
        let indent = [Span::new("   ", Token::Text)];
        let mut rows = Vec::new();
        let wrap = Wrap::new(width).prefixed(&indent);
        wrap.text(&parts.join(" · "), Token::Text, &mut rows);
        rows
    }

    /// The keys with their effects in the current state of the list.
    fn hints(&self) -> Vec<(Command, &'static str)> {
        let of_words = if self.query.in_words {
            "search names"
        } else {
            "search text"
        };
        let of_scope = if self.query.all {
            "this directory"
        } else {
            "all directories"
        };
        let named = |(command, word): &(Command, &'static str)| match command {
            Command::SessionWords => (*command, of_words),
            Command::SessionScope => (*command, of_scope),
            _ => (*command, *word),
        };
        let is_useful =
            |(command, _): &(Command, _)| *command != Command::SessionRestore || self.can_restore();
        HINTS.iter().map(named).filter(is_useful).collect()
    }

    /// The columns after the title of a session.
    fn details(&self, found: &FoundSession, now: i64) -> [Cell; 4] {
        let session = &found.session;
        let state = match (self.number_of(&session.path), found.state) {
            (_, SessionState::Here) => Cell::new("◂ current", Token::Success),
            (Some(number), _) => Cell::new(format!("◂ tab {number}"), Token::Success),
            (None, SessionState::Free) if found.missing => Cell::new("(missing)", Token::Warning),
            (None, SessionState::Free) => "".into(),
            (None, SessionState::Elsewhere { .. }) if self.joins => {
                Cell::new("▶ open on the server", Token::Success)
            }
            (None, SessionState::Elsewhere { .. }) => Cell::new("▶ open elsewhere", Token::Warning),
        };
        let folder = Path::new(&session.cwd).file_name();
        let folder = folder.map_or("/".into(), |name| name.to_string_lossy());
        let folder = if self.query.all { &*folder } else { "" };
        let cost = if session.cost >= 0.01 {
            format!("${:.2}", session.cost)
        } else {
            String::new()
        };
        [
            state,
            folder.into(),
            cost.into(),
            clock::age(session.active, now).into(),
        ]
    }

    fn session_row(
        &self,
        found: &FoundSession,
        details: &[Cell],
        layout: &ColumnLayout,
        selected: bool,
    ) -> Row {
        let ground = |face: Face| {
            if selected {
                face.on(Token::Selected)
            } else {
                face
            }
        };
        let armed = self.armed.as_deref() == Some(found.session.path.as_path());
        let name = found.session.name.as_deref();
        let face = match (armed, name.is_some_and(|name| !name.is_empty())) {
            (true, _) => Face::from(Token::Error).emphasised(Emphasis::STRIKE),
            (false, true) => Face::bold(Token::Text),
            (false, false) => Token::Text.into(),
        };
        let mut row = Row {
            fill: selected.then(|| Face::from(Token::Selected)),
            ..Row::default()
        };
        let mark = if selected { " › " } else { "   " };
        row.push(mark, ground(Token::Accent.into()));
        let token_face = |token: Token| ground(token.into());
        layout.write(&mut row, details, token_face, |row, room| {
            let title = title(found);
            row.push(text::truncate(&title, room), ground(face));
        });
        row
    }

    /// The rows below the list: an input, a confirmation, or the key hints.
    fn bottom(&mut self, area: Rect, keymap: &Keymap<Command>) -> Vec<Row> {
        let width = usize::from(area.width);
        if let Some(line) = &self.naming {
            let mark = " name: ";
            let mut row = Row::plain(mark, Token::Accent);
            match self.selected().filter(|_| line.text().is_empty()) {
                Some(found) => row.push(title(found), Token::Placeholder),
                None => row.push(line.text(), Token::Text),
            }
            let column = text::width(mark) + line.cursor_column();
            let position = at_column(area, area.y, column);
            self.cursor = Some(position);
            let keys = [(Command::Accept, "save"), (Command::Cancel, "cancel")];
            let keys = frame::key_hints(keymap, "sessions", &keys).join(" · ");
            let mut row = row.truncated(width.saturating_sub(text::width(&keys) + 3));
            row.push(format!("   {keys}"), Token::Muted);
            return vec![row];
        }
        let key = |command: Command| {
            let keys = keymap.keys_for("sessions", command);
            let shortest = keys.into_iter().min_by_key(String::len);
            shortest.unwrap_or_default()
        };
        if self.armed.is_some() {
            let text = format!(" press {} again to delete", key(Command::SessionDelete));
            return vec![Row::plain(text, Token::Warning).truncated(width)];
        }
        if let Some(status) = &self.status {
            let mut text = format!(" {}", text::single_line(&text::sanitize(status)));
            if self.can_restore() {
                text = format!("{text} · {} restore", key(Command::SessionRestore));
            }
            return vec![Row::plain(text, Token::Warning).truncated(width)];
        }
        let (hints, room) = (self.hints(), width.saturating_sub(1));
        let lines = if area.height > 1 {
            frame::view_keys_in_two(keymap, "sessions", &hints, room).to_vec()
        } else {
            vec![frame::view_keys(keymap, "sessions", &hints, room)]
        };
        let row = |keys: &String| Row::plain(format!(" {keys}"), Token::Muted);
        lines.iter().map(row).collect()
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
        if let Some(found) = self.selected() {
            if let Some(hit) = &found.hit {
                rows.extend(hit_rows(hit, &indent, width));
            }
            for line in facts(found) {
                Wrap::new(width)
                    .hanging(&indent, &indent)
                    .text(&line, Token::Muted, &mut rows);
            }
            let preview = self.preview.as_ref();
            let preview = preview.filter(|(path, _)| *path == found.session.path);
            if let Some((_, preview)) = preview {
                for said in &preview.first {
                    rows.extend(text_rows(said, side, width, height));
                }
                if !preview.last.is_empty() {
                    let mut more = Row::new(indent.to_vec());
                    more.push("⋯", Token::Muted);
                    rows.push(more);
                }
                for said in &preview.last {
                    rows.extend(text_rows(said, side, width, height));
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

/// The title of a session, on one line.
fn title(found: &FoundSession) -> String {
    let title = text::single_line(&text::sanitize(&found.session.list_title()));
    if found.pinned {
        format!("{PIN}{title}")
    } else {
        title
    }
}

/// A few lines about the session.
fn facts(found: &FoundSession) -> Vec<String> {
    let session = &found.session;
    let clean = |text: &str| text::single_line(&text::sanitize(text));
    let time = clock::local_minute(session.active);
    let missing = if found.missing { " (missing)" } else { "" };
    let mut lines = vec![
        clean(&path::below_home(Path::new(&session.cwd))) + missing,
        format!("{time} · {}", text::size(session.size)),
    ];
    if session.whole {
        let count = |count: u64, noun: &str| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} {noun}{plural}")
        };
        let prompts = count(session.prompts, "prompt");
        lines.push(format!(
            "{prompts} · {}",
            count(session.tool_calls, "tool call")
        ));
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

/// The text of a message, as far as it fits.
fn text_rows(said: &PreviewLine, side: &str, width: usize, height: usize) -> Vec<Row> {
    let side = Span::new(side, Token::Border);
    let (mark, token) = match said.source {
        TextSource::Prompt => ("❯ ", Token::UserMarker),
        TextSource::Summary => ("≡ ", Token::Heading),
        _ => ("● ", Token::Accent),
    };
    let first = [side.clone(), Span::new(mark, token)];
    let rest = [side, Span::new("  ", Token::Text)];
    let height = height.min(SAID_ROWS);
    let mut rows = Vec::new();
    if said.source == TextSource::Prompt {
        let clean = text::sanitize(&said.text);
        let clean = text::expand_tabs(clean.trim());
        let mut lines = clean.lines().filter(|line| !line.trim().is_empty());
        for line in lines.by_ref().take(height) {
            let mark = if rows.is_empty() { &first } else { &rest };
            Wrap::new(width)
                .hanging(mark, &rest)
                .text(line, Token::User, &mut rows);
        }
    } else {
        rows = written(&said.text, &rest, width, height + 1);
        if let Some(span) = rows.first_mut().and_then(|row| row.spans.get_mut(1)) {
            span.clone_from(&first[1]);
        }
    }
    if rows.len() > height {
        rows.truncate(height);
        let mut more = Row::new(rest.to_vec());
        more.push("…", Token::Muted);
        rows.push(more);
    }
    rows
}

/// A search result with its matches marked, in the list.
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
    let mut spans = marked(hit, Token::Muted);
    // The first match is always in the row.
    if let [(before, _), (matched, _), ..] = &mut *spans {
        let room = width.saturating_sub(row.width());
        let most = room.saturating_sub(text::width(matched)).min(room / 3);
        *before = text::truncate_start(before, most).into_owned();
    }
    for (text, token) in spans {
        row.push(text, ground(token));
    }
    row.truncated(width)
}

/// The text of a search result: the words that matched, and the others as `token`.
fn marked(hit: &FoundText, token: Token) -> Vec<(String, Token)> {
    let text = &hit.text.text;
    let mut spans = Vec::new();
    let mut at = 0;
    for (start, end) in &hit.text.marks {
        // Offsets from other programs are not trusted.
        let (Some(before), Some(matched)) = (text.get(at..*start), text.get(*start..*end)) else {
            break;
        };
        spans.push((before.to_owned(), token));
        spans.push((matched.to_owned(), Token::Match));
        at = *end;
    }
    spans.push((text.get(at..).unwrap_or_default().to_owned(), token));
    spans
}

/// The search result at the top of the preview.
fn hit_rows(hit: &FoundText, indent: &[Span], width: usize) -> Vec<Row> {
    let source = Span::new(format!("{}: ", hit.source.word()), Token::Accent);
    let text = marked(hit, Token::Text).into_iter();
    let text = text.map(|(text, token)| Span::new(text, token));
    let spans: Vec<Span> = [source].into_iter().chain(text).collect();
    let mut rows = Vec::new();
    let wrap = Wrap::new(width).hanging(indent, indent);
    wrap.line(&spans, &mut rows);
    rows.push(Row::new(indent.to_vec()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::{HitText, SessionRow};

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
            missing: false,
            hit: None,
        }
    }

    #[test]
    fn rows_show_the_name_or_first_prompt_in_columns() {
        let mut view = SessionsView::new();
        let shown = |view: &SessionsView| -> Vec<String> {
            let now = 90 * 60_000;
            let all = [
                found(None, SessionState::Here),
                found(Some("mine"), SessionState::Free),
            ];
            let details = all.each_ref().map(|found| view.details(found, now));
            let mut measure = ColumnWidths::default();
            for (found, details) in all.iter().zip(&details) {
                measure.add(&title(found), details);
            }
            let layout = measure.fit(COLUMNS, 36);
            let rows = all.iter().zip(&details);
            rows.map(|(found, details)| view.session_row(found, details, &layout, false).text())
                .collect()
        };
        assert_eq!(
            shown(&view),
            [
                "   fix⏎it            ◂ current  1 h ago",
                "   mine                         1 h ago",
            ]
        );
        let gone = FoundSession {
            missing: true,
            ..found(None, SessionState::Free)
        };
        assert_eq!(view.details(&gone, 0)[0].text, "(missing)");
        view.query.all = true;
        assert_eq!(
            shown(&view),
            [
                "   fix⏎it         ◂ current  a  1 h ago",
                "   mine                      a  1 h ago",
            ]
        );
    }

    #[test]
    fn preview_begins_at_the_hit_and_a_fork_says_of_what_it_is_one() {
        let mut fork = found(Some("Parser"), SessionState::Free);
        fork.session.fork_of = Some("Parser".into());
        fork.session.last_prompt = Some("try it\nwith a table".into());
        fork.hit = Some(FoundText {
            source: TextSource::Answer,
            entry_id: None,
            text: HitText {
                text: "the needle is here".into(),
                marks: vec![(4, 10)],
            },
        });
        assert_eq!(title(&fork), "fork of Parser: try it⏎with a table");
        let mut view = SessionsView::new();
        view.found.sessions = vec![fork];
        let area = Rect::new(0, 0, 40, 7);
        let rows = view.preview_rows(area, false);
        let rows: Vec<String> = rows.iter().map(Row::text).take(4).collect();
        let head = "─".repeat(40);
        assert_eq!(
            rows,
            [&*head, " answer: the needle is here", " ", " /work/a"]
        );
    }

    #[test]
    fn the_first_match_is_in_the_row_of_a_narrow_list() {
        let before = "forty bytes of text are before the match ";
        let hit = FoundText {
            source: TextSource::Answer,
            entry_id: None,
            text: HitText {
                text: format!("{before}needle and more text after it"),
                marks: vec![(before.len(), before.len() + 6)],
            },
        };
        assert_eq!(
            hit_row(&hit, false, 50).text(),
            "     answer: … the match needle and more text aft…"
        );
    }

    #[test]
    fn marks_that_do_not_fit_their_text_are_left_out() {
        let mut hit = FoundText {
            source: TextSource::Answer,
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
