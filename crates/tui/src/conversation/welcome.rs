//! The start page of an empty session: model, permission mode and directory, the first keys, three things to try, and
//! the sessions to return to.

use osier_base::{clock, text};
use osier_protocol::{KeyState, ModelInfo, PermissionMode, SessionSummary};
use osier_term::{Face, Row, Span, Token, Wrap};

/// Keys and prefixes, two per row where there is room.
const KEYS: &[(&str, &str)] = &[
    ("/", "commands"),
    ("@", "name a file"),
    ("!", "run a command"),
    ("!!", "run, hidden from the model"),
    ("ctrl+l", "models"),
    ("f1", "help"),
    ("esc", "interrupt"),
    ("ctrl+d", "exit"),
];

/// Suggested first prompts.
const TO_TRY: &[(&str, &str)] = &[
    (
        "explain how this project is built",
        "reads files, changes nothing",
    ),
    (
        "@FILE what can fail here?",
        "names a file, which the model reads",
    ),
    ("/theme, /keymap, /settings", "customize osier"),
];

/// Rows of a page that is worth showing.
pub(crate) const LEAST: u16 = 10;
/// Width of the left column of `TO_TRY`.
const TRY: usize = 35;

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
    /// The newest sessions of this directory.
    pub(crate) recent: &'a [SessionSummary],
    /// With a picture; a screen that is read aloud has none.
    pub(crate) is_drawn: bool,
}

/// The page; on a screen with few rows, only its most important parts.
pub(crate) fn rows(width: u16, height: u16, start: &Start<'_>) -> Vec<Row> {
    type Part = fn(&Start<'_>, u16) -> Vec<Row>;
    // A user with stored sessions needs no suggestions.
    let pages: [&[Part]; 3] = [
        &[head, keys, to_try, recent],
        &[head, keys, recent],
        &[head, keys],
    ];
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
    smallest(width, height, start.model)
}

/// The page on a screen with few rows.
fn smallest(width: u16, height: u16, model: Option<&ModelInfo>) -> Vec<Row> {
    let indent = [Span::new("  ", Token::Muted)];
    let wrap = Wrap::new(usize::from(width)).hanging(&indent, &indent);
    let mut rows = Vec::new();
    if let Some(model) = model {
        let (text, token) = works(model);
        wrap.sentences(&text, token, &mut rows);
    }
    let keys = KEYS.iter().map(|(key, meaning)| format!("{key} {meaning}"));
    wrap.text(
        &keys.collect::<Vec<_>>().join(" · "),
        Token::Text,
        &mut rows,
    );
    if rows.len() + 1 < usize::from(height) {
        let title = format!("  osier {}", env!("CARGO_PKG_VERSION"));
        rows.insert(0, Row::plain(title, Token::Title));
    }
    rows.truncate(usize::from(height));
    rows
}

/// Name, model and directory, and whether the model can answer.
fn head(start: &Start<'_>, width: u16) -> Vec<Row> {
    let title = [
        Span::new("osier ", Face::bold(Token::Title)),
        Span::new(env!("CARGO_PKG_VERSION"), Token::Muted),
    ];
    let name = |model: &ModelInfo| model.reference();
    let room = usize::from(width).saturating_sub(text::width(WEAVE[0]));
    let line = |text: &str| Span::new(text::truncate(text, room), Token::Muted);
    let place = format!("{} · {}", start.directory, start.permissions.name());
    let lines = [
        title.to_vec(),
        start
            .model
            .map(name)
            .iter()
            .map(|name| line(name))
            .collect(),
        vec![line(place.trim_start_matches(" · "))],
    ];
    let mut rows: Vec<Row> = Vec::new();
    for (weave, spans) in WEAVE.into_iter().zip(lines) {
        let weave = if start.is_drawn { weave } else { "  " };
        let mut row = Row::plain(weave, Token::Success);
        row.spans.extend(spans);
        rows.push(row);
    }
    rows.push(Row::default());
    let indent = [Span::new("  ", Token::Muted)];
    let wrap = Wrap::new(usize::from(width)).hanging(&indent, &indent);
    let what =
        "Describe a task. The agent reads and edits files and runs commands in this directory.";
    wrap.text(what, Token::Text, &mut rows);
    if let Some(model) = start.model {
        let (text, token) = works(model);
        wrap.sentences(&text, token, &mut rows);
    }
    let (name, meaning) = (start.permissions.name(), start.permissions.meaning());
    let text = format!("Permission mode {name}: {meaning}. alt+p changes it.");
    wrap.text(&text, Token::Text, &mut rows);
    rows
}

/// Columns of the lists.
fn columns(width: u16) -> usize {
    if width < 72 { 1 } else { 2 }
}

fn keys(_: &Start<'_>, width: u16) -> Vec<Row> {
    let entries = KEYS.chunks(columns(width)).map(|entries| {
        let mut row = Row::plain(" ", Token::Text);
        for (place, (key, meaning)) in entries.iter().enumerate() {
            row.push(format!(" {key:<8} "), Token::Text);
            let pad = if place + 1 < entries.len() { 18 } else { 0 };
            row.push(format!("{meaning:<pad$}"), Token::Text);
            if pad > 0 {
                row.push(" ", Token::Muted);
            }
        }
        row
    });
    entries.collect()
}

fn to_try(_: &Start<'_>, width: u16) -> Vec<Row> {
    let entries = TO_TRY.iter().map(|(prompt, meaning)| {
        let mut row = Row::plain(format!("  {prompt:<TRY$}"), Token::Text);
        if columns(width) == 2 {
            row.push(*meaning, Token::Text);
        }
        row
    });
    entries.collect()
}

/// The newest sessions, and how to return to them.
fn recent(start: &Start<'_>, width: u16) -> Vec<Row> {
    if start.recent.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![Row::plain("  Recent sessions: alt+s", Token::Muted)];
    let now = clock::now_ms();
    for session in start.recent {
        let name = session.name.as_ref().or(session.first_prompt.as_ref());
        let name = text::single_line(name.map_or("no prompt", String::as_str));
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
    use super::*;

    fn start(recent: &[SessionSummary]) -> Start<'_> {
        Start {
            model: None,
            permissions: PermissionMode::Yolo,
            directory: "~/slug",
            recent,
            is_drawn: true,
        }
    }

    fn page(width: u16, height: u16, start: &Start<'_>) -> Vec<String> {
        rows(width, height, start).iter().map(Row::text).collect()
    }

    #[test]
    fn the_page_names_the_directory_and_the_permission_mode() {
        let shown = page(80, 40, &start(&[]));
        assert_eq!(shown[3], "  ╲╱╲╱╲╱  ~/slug · yolo");
        let expected = "  Permission mode yolo: run everything unless denied. alt+p changes it.";
        assert!(shown.iter().any(|row| row == expected), "{shown:#?}");
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
        };
        let shown = page(80, 40, &start(std::slice::from_ref(&session)));
        assert_eq!(
            shown[shown.len() - 2..],
            ["  Recent sessions: alt+s", "  Fix the⏎last check  just now"]
        );
        // If there is little space, the suggestions are dropped first, then the recent sessions.
        let recent = &shown[shown.len() - 3..];
        let without = page(80, 40, &start(&[]));
        let less = page(80, 18, &start(std::slice::from_ref(&session)));
        assert_eq!(less, [&without[..without.len() - 4], recent].concat());
        let least = page(80, 15, &start(&[session]));
        assert_eq!(least, without[..without.len() - 4]);
    }

    #[test]
    fn nothing_is_cut_on_a_small_screen() {
        assert!(page(40, 40, &start(&[])).len() > 12);
        let small = page(40, 6, &start(&[]));
        assert!(small.len() <= 6, "{small:?}");
        assert_eq!(
            small.last().map(|row| row.trim_end().ends_with("exit")),
            Some(true)
        );
        assert!(
            small.iter().all(|row| row.chars().count() <= 40),
            "{small:?}"
        );
    }
}
