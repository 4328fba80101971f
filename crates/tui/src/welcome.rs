//! The start page of an empty session: the current model, the first keys, and three things to try.

use osier_protocol::{KeyState, ModelInfo, PermissionMode};
use osier_term::face::{Emphasis, Face, Token};
use osier_term::row::{Row, Span};
use osier_term::wrap::Wrap;

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

/// What to begin with.
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

/// Width of the left column of `TO_TRY`.
const TRY: usize = 35;

/// The page, for the model that is chosen: of a screen with few rows what matters most.
pub(super) fn rows(
    width: u16,
    height: u16,
    model: Option<&ModelInfo>,
    permissions: PermissionMode,
) -> Vec<Row> {
    for with_prompts in [true, false] {
        let page = page(width, model, permissions, with_prompts);
        if page.len() <= usize::from(height) {
            return page;
        }
    }
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
        Token::Muted,
        &mut rows,
    );
    if rows.len() + 1 < usize::from(height) {
        let title = format!("  osier {}", env!("CARGO_PKG_VERSION"));
        rows.insert(0, Row::plain(title, Token::Title));
    }
    rows.truncate(usize::from(height));
    rows
}

/// All of it, or all but what to begin with.
fn page(
    width: u16,
    model: Option<&ModelInfo>,
    permissions: PermissionMode,
    with_prompts: bool,
) -> Vec<Row> {
    let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
    let title = vec![
        Span::new("  osier ", bold),
        Span::new(env!("CARGO_PKG_VERSION"), Token::Muted),
    ];
    let mut rows = vec![Row::default(), Row::new(title), Row::default()];
    let indent = [Span::new("  ", Token::Muted)];
    let wrap = Wrap::new(usize::from(width)).hanging(&indent, &indent);
    let what =
        "Describe a task. The agent reads and edits files and runs commands in this directory.";
    wrap.text(what, Token::Muted, &mut rows);
    if let Some(model) = model {
        rows.push(Row::default());
        let (text, token) = works(model);
        wrap.sentences(&text, token, &mut rows);
    }
    let (name, meaning) = (permissions.name(), permissions.meaning());
    let text = format!("Permission mode {name}: {meaning}. alt+p changes it.");
    wrap.text(&text, Token::Muted, &mut rows);
    rows.push(Row::default());
    let columns = if width < 72 { 1 } else { 2 };
    for entries in KEYS.chunks(columns) {
        let mut line = String::from(" ");
        for (key, meaning) in entries {
            line = format!("{line} {key:<8} {meaning:<18} ");
        }
        rows.push(Row::plain(line.trim_end().to_owned(), Token::Muted));
    }
    if !with_prompts {
        return rows;
    }
    rows.push(Row::default());
    for (prompt, meaning) in TO_TRY {
        let mut row = Row::plain(format!("  {prompt:<TRY$}"), Token::Text);
        if columns == 2 {
            row.push(*meaning, Token::Muted);
        }
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

    #[test]
    fn the_page_names_the_permission_mode() {
        let rows = rows(80, 40, None, PermissionMode::Yolo);
        let expected = "  Permission mode yolo: run everything unless denied. alt+p changes it.";
        assert!(rows.iter().any(|row| row.text() == expected));
    }

    #[test]
    fn nothing_is_cut_on_a_small_screen() {
        let text = |height| -> Vec<String> {
            let rows = rows(40, height, None, PermissionMode::Ask);
            rows.iter().map(Row::text).collect()
        };
        assert!(text(40).len() > 12);
        let small = text(6);
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
