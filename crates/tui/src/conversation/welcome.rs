//! The start page of an empty session: model, directory and permission mode, three hints, and the sessions to return to.

use crate::actions::Command;
use osier_base::{clock, text};
use osier_protocol::{KeyState, ModelInfo, PermissionMode, SessionSummary};
use osier_term::{Face, Keymap, Row, Span, Token, Wrap};

/// Keys and prefixes; `f1` names all others.
const HINTS: &[(&str, &str)] = &[("/", "commands"), ("@", "name a file"), ("f1", "keys")];

/// Commands whose keys the start page names.
const COMMANDS: &[(Command, &str)] = &[
    (Command::ModelPicker, "model"),
    (Command::CycleThinking, "thinking level"),
    (Command::Search, "search"),
    (Command::CyclePermissions, "permissions"),
];

/// The minimum height of the page in rows.
pub(crate) const LEAST: u16 = 10;

/// Osier is the willow that baskets are woven of.
const WEAVE: [&str; 3] = ["  ╲╱╲╱╲╱  ", "  ╱╲╱╲╱╲  ", "  ╲╱╲╱╲╱  "];

/// The contents of the start page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    /// The chosen model.
    pub(crate) model: Option<&'a ModelInfo>,
    pub(crate) permissions: PermissionMode,
    /// The working directory, with `~` for the home.
    pub(crate) directory: &'a str,
    pub(crate) keymap: &'a Keymap<Command>,
    /// The newest sessions of this directory.
    pub(crate) recent: &'a [SessionSummary],
    /// With a picture; a screen that is read aloud has none.
    pub(crate) is_drawn: bool,
}

/// The page; on a screen with few rows, only its most important parts.
pub(crate) fn rows(width: u16, height: u16, start: &Start<'_>) -> Vec<Row> {
    type Part = fn(&Start<'_>, u16) -> Vec<Row>;
    let pages: [&[Part]; 2] = [&[head, hints, recent], &[head, hints]];
    for parts in pages {
        let shown = parts.iter().map(|part| part(start, width));
        let mut page = Vec::new();
        for mut rows in shown.filter(|rows| !rows.is_empty()) {
            page.push(Row::default());
            page.append(&mut rows);
        }
        if page.len() <= usize::from(height) {
            return page;
        }
    }
    smallest(width, height, start)
}

/// The page on a screen with few rows.
fn smallest(width: u16, height: u16, start: &Start<'_>) -> Vec<Row> {
    let indent = [Span::new("  ", Token::Muted)];
    let wrap = Wrap::new(usize::from(width)).hanging(&indent, &indent);
    let mut rows = Vec::new();
    if let Some(model) = start.model {
        let (text, token) = works(model);
        wrap.sentences(&text, token, &mut rows);
    }
    rows.extend(hints(start, width).into_iter().take(1));
    if rows.len() + 1 < usize::from(height) {
        let title = format!("  osier {}", env!("CARGO_PKG_VERSION"));
        rows.insert(0, Row::plain(title, Token::Title));
    }
    rows.truncate(usize::from(height));
    rows
}

/// Name, model, directory and permission mode, and what to do if the model cannot answer.
fn head(start: &Start<'_>, width: u16) -> Vec<Row> {
    let title = [
        Span::new("osier ", Face::bold(Token::Title)),
        Span::new(env!("CARGO_PKG_VERSION"), Token::Muted),
    ];
    let room = usize::from(width).saturating_sub(text::width(WEAVE[0]));
    let state = start.model.map(works);
    let model = match (start.model, &state) {
        (Some(_), Some((ready, Token::Success))) => {
            let clause = ready.find([';', ':']).filter(|_| text::width(ready) > room);
            let ready = &ready[..clause.unwrap_or(ready.len())];
            vec![Span::new(ready, Token::Success)]
        }
        (Some(model), _) => vec![Span::new(model.reference(), Token::Text)],
        (None, _) => Vec::new(),
    };
    let mut rows: Vec<Row> = Vec::new();
    let lines = [title.to_vec(), model, place(start)];
    for (weave, spans) in WEAVE.into_iter().zip(lines) {
        let weave = if start.is_drawn { weave } else { "  " };
        let mut row = Row::plain(weave, Token::Success);
        row.spans.extend(Row::new(spans).truncated(room).spans);
        rows.push(row);
    }
    rows.push(Row::default());
    let indent = [Span::new("  ", Token::Muted)];
    let wrap = Wrap::new(usize::from(width)).hanging(&indent, &indent);
    let what =
        "Describe a task. The agent reads and edits files and runs commands in this directory.";
    wrap.text(what, Token::Text, &mut rows);
    if let Some((text, token)) = state.filter(|(_, token)| *token != Token::Success) {
        wrap.sentences(&text, token, &mut rows);
    }
    rows
}

/// The directory and the permission mode, which warns if everything runs without a question.
fn place(start: &Start<'_>) -> Vec<Span> {
    let mode = start.permissions;
    let token = match mode {
        PermissionMode::Yolo => Token::Warning,
        _ => Token::Text,
    };
    let mut spans = Vec::new();
    if !start.directory.is_empty() {
        spans.push(Span::new(format!("{} · ", start.directory), Token::Text));
    }
    spans.push(Span::new(mode.name(), token));
    spans.push(Span::new(format!(": {}", mode.meaning()), Token::Text));
    spans
}

/// Two rows of hints: the prefixes, and the keys that a new user needs first.
fn hints(start: &Start<'_>, width: u16) -> Vec<Row> {
    let owned = |(key, meaning): &(&str, &'static str)| ((*key).to_owned(), *meaning);
    let bound = |(command, meaning): &(Command, &'static str)| {
        let mut contexts = ["global", "editor"].into_iter();
        let key = contexts.find_map(|context| {
            let keys = start.keymap.keys_for(context, *command);
            keys.into_iter().next()
        });
        Some((key?, *meaning))
    };
    let prefixes = HINTS.iter().map(owned).collect();
    let keys = COMMANDS.iter().filter_map(bound).collect();
    let lines = [prefixes, keys].into_iter();
    let rows = lines.map(|hints| hint_row(hints, usize::from(width)));
    rows.filter(|row| row.width() > 2).collect()
}

/// A row with as many hints as fit.
fn hint_row(hints: Vec<(String, &'static str)>, width: usize) -> Row {
    let mut row = Row::plain("  ", Token::Text);
    for (key, meaning) in hints {
        let separator = if row.width() > 2 { " · " } else { "" };
        if row.width() + text::width(separator) + text::width(&key) + 1 + text::width(meaning)
            > width
        {
            break;
        }
        row.push(separator, Token::Muted);
        row.push(format!("{key} "), Face::bold(Token::Text));
        row.push(meaning, Token::Text);
    }
    row
}

/// The newest sessions, and how to return to them.
fn recent(start: &Start<'_>, width: u16) -> Vec<Row> {
    if start.recent.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![Row::plain("  Recent sessions: alt+s", Token::Muted)];
    let now = clock::now_ms();
    for session in start.recent {
        let name = session.list_title();
        let name = text::single_line(name.as_deref().unwrap_or("no prompt"));
        let age = clock::age(session.modified, now);
        let room = usize::from(width).saturating_sub(text::width(&age) + 4);
        let name = text::truncate(&name, room.min(60));
        let mut row = Row::plain(format!("  {name}"), Token::Text);
        row.push(format!("  {age}"), Token::Muted);
        rows.push(row);
    }
    rows
}

/// Whether the chosen model can answer, and what to do when it cannot.
fn works(model: &ModelInfo) -> (String, Token) {
    let name = format!("{}/{}", model.provider, model.id);
    if model.provider == "demo" {
        let text = "No API key or local model server found, so osier runs a scripted demo. /login to sign in; \
                    `osier doctor` shows other ways.";
        return (text.to_owned(), Token::Warning);
    }
    match model.key {
        KeyState::Absent if model.provider == "none" => {
            let text = "No API key or local model server found. /login to sign in; \
                        `osier doctor` shows other ways.";
            (text.to_owned(), Token::Warning)
        }
        KeyState::Absent => {
            let text = format!(
                "{name} has no API key: /login to sign in, ctrl+l to choose another model."
            );
            (text, Token::Warning)
        }
        KeyState::NotNeeded => (
            format!("{name} is ready; no API key needed."),
            Token::Success,
        ),
        KeyState::Present => (format!("{name} is ready: API key found."), Token::Success),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use osier_term::keymap::KeymapSource;

    static KEYMAP: LazyLock<Keymap<Command>> = LazyLock::new(|| {
        let keys = [
            ("ctrl+l", "model_picker"),
            ("shift+tab", "cycle_thinking"),
            ("ctrl+f", "search"),
            ("alt+p", "cycle_permissions"),
        ];
        let keys = keys.map(|(key, name)| format!("\"{key}\" = \"{name}\"\n"));
        let source = KeymapSource::new("keys.toml", format!("[global]\n{}", keys.concat()));
        Keymap::load(&[source], &["global"], &Command::names()).0
    });

    fn start(recent: &[SessionSummary]) -> Start<'_> {
        Start {
            model: None,
            permissions: PermissionMode::Yolo,
            keymap: &KEYMAP,
            directory: "~/slug",
            recent,
            is_drawn: true,
        }
    }

    fn page(width: u16, height: u16, start: &Start<'_>) -> Vec<String> {
        let rows = rows(width, height, start);
        let rows = rows.iter().map(|row| row.text().trim_end().to_owned());
        rows.collect()
    }

    #[test]
    fn the_page_names_model_directory_and_permission_mode_once() {
        let shown = page(80, 40, &start(&[]));
        assert_eq!(
            shown[3..],
            [
                "  ╲╱╲╱╲╱  ~/slug · yolo: run everything unless denied",
                "",
                "  Describe a task. The agent reads and edits files and runs commands in this",
                "  directory.",
                "",
                "  / commands · @ name a file · f1 keys",
                "  ctrl+l model · shift+tab thinking level · ctrl+f search · alt+p permissions",
            ]
        );
        let rows = rows(80, 40, &start(&[]));
        let mode = rows[3].spans.iter().find(|span| &*span.text == "yolo");
        assert_eq!(mode.map(|span| span.face.token), Some(Token::Warning));
    }

    #[test]
    fn the_newest_sessions_end_the_page() {
        let session = SessionSummary {
            id: "s".to_owned(),
            path: String::new(),
            cwd: String::new(),
            name: None,
            first_prompt: Some("Fix the\nlast check".to_owned()),
            modified: clock::now_ms(),
            size: 1,
            ..SessionSummary::default()
        };
        let fork = SessionSummary {
            last_prompt: Some("Try a table".to_owned()),
            fork_of: Some("Parser".to_owned()),
            ..session.clone()
        };
        let shown = page(80, 40, &start(std::slice::from_ref(&fork)));
        let last = shown.last().map(String::as_str);
        assert_eq!(last, Some("  fork of Parser: Try a table  just now"));
        let shown = page(80, 40, &start(std::slice::from_ref(&session)));
        assert_eq!(
            shown[shown.len() - 3..],
            [
                "",
                "  Recent sessions: alt+s",
                "  Fix the⏎last check  just now"
            ]
        );
        // If there is little space, the recent sessions are dropped.
        let without = page(80, 40, &start(&[]));
        assert_eq!(page(80, 12, &start(&[session])), without);
    }

    #[test]
    fn nothing_is_cut_on_a_small_screen() {
        let small = page(40, 6, &start(&[]));
        assert!(small.len() <= 6, "{small:?}");
        assert_eq!(
            small.last().map(String::as_str),
            Some("  / commands · @ name a file · f1 keys")
        );
        assert!(
            small.iter().all(|row| row.chars().count() <= 40),
            "{small:?}"
        );
    }
}
