//! The list of themes. The interface has the colours of the selected theme at once; closing the
//! list restores those of the chosen theme.

use std::path::PathBuf;

use crate::actions::Effect;
use crate::drawing::{Choice, Picker};
use osier_term::theme::ThemeKind;
use osier_term::{Face, Item, Row, Token};

pub(super) const ID: &str = "themes";

/// A theme to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeChoice {
    pub name: String,
    pub kind: ThemeKind,
    /// The file of a theme of the user.
    pub path: Option<PathBuf>,
}

/// The list, `current` selected.
pub(super) fn picker(choices: &[ThemeChoice], current: &str) -> Picker<ThemeChoice> {
    let themes = choices.iter().cloned();
    Picker::new("Themes", "no theme matches", themes, |theme| {
        [Effect::LoadTheme(theme.name.clone())]
    })
    .taking("apply")
    .with_selected(|theme| theme.name == current)
    .on_move(|theme| [Effect::PreviewTheme(Some(theme.name.clone()))])
    .on_leave(Effect::PreviewTheme(None))
    .with_preview(|_| sample())
}

impl Choice for ThemeChoice {
    fn row(&self) -> Item {
        let kind = match self.kind {
            ThemeKind::Dark => "dark",
            ThemeKind::Light => "light",
            ThemeKind::System => "terminal colours",
        };
        let detail = match &self.path {
            Some(_) => format!("{kind}, custom"),
            None => kind.to_owned(),
        };
        Item {
            label: self.name.clone(),
            keywords: detail.clone(),
            details: vec![detail.into()],
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A bit of everything, in the colours that are shown now.
fn sample() -> Vec<Row> {
    let mut rows = Vec::new();
    let row = |spans: &[(&str, Face)]| {
        let mut row = Row::default();
        for (text, face) in spans {
            row.push(*text, *face);
        }
        row
    };
    let on = |token: Token, ground: Token| Face::from(token).on(ground);
    let filled = |mut row: Row, ground: Token| {
        row.fill = Some(Face::from(ground).on(ground));
        row
    };
    rows.push(filled(
        row(&[
            ("❯ ", Token::UserMarker.into()),
            ("make the tests pass", Token::User.into()),
        ]),
        Token::User,
    ));
    rows.push(row(&[("thinking about it", Token::Thinking.into())]));
    rows.push(row(&[
        ("bash ", Token::ToolName.into()),
        ("cargo test ", Token::Tool.into()),
        ("ok 1.2s", Token::Success.into()),
    ]));
    rows.push(row(&[("  12 passed", Token::ToolOutput.into())]));
    rows.push(row(&[("# Done", Token::Heading.into())]));
    rows.push(row(&[
        ("Text with ", Token::Text.into()),
        ("code", Token::Code.into()),
        (", ", Token::Text.into()),
        ("strong", Face::bold(Token::Text)),
        (" and a ", Token::Text.into()),
        ("link", Token::Link.into()),
    ]));
    let code = Token::CodeBlock;
    rows.push(filled(
        row(&[
            ("fn ", on(Token::SyntaxKeyword, code)),
            ("main", on(Token::SyntaxFunction, code)),
            ("() { ", on(Token::SyntaxPunctuation, code)),
            ("say", on(Token::SyntaxFunction, code)),
            ("(", on(Token::SyntaxPunctuation, code)),
            ("\"hi\"", on(Token::SyntaxString, code)),
            (", ", on(Token::SyntaxPunctuation, code)),
            ("42", on(Token::SyntaxNumber, code)),
            (") } ", on(Token::SyntaxPunctuation, code)),
            ("// one", on(Token::SyntaxComment, code)),
        ]),
        code,
    ));
    for (ground, word, mark) in [
        (Token::DiffRemoved, Token::DiffRemovedWord, "- "),
        (Token::DiffAdded, Token::DiffAddedWord, "+ "),
    ] {
        let changed = if mark == "- " { "old" } else { "new" };
        rows.push(filled(
            row(&[
                (mark, ground.into()),
                ("let x = ", ground.into()),
                (changed, word.into()),
                (";", ground.into()),
            ]),
            ground,
        ));
    }
    rows.push(row(&[
        ("warning ", Token::Warning.into()),
        ("error ", Token::Error.into()),
        ("working", Token::Working.into()),
    ]));
    rows.push(row(&[("quiet text", Token::Muted.into())]));
    rows
}
