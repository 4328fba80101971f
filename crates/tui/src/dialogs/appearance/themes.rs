//! The themes. The whole interface takes the colours of the selected one at once; closing the list gives the
//! chosen ones back.

use super::ThemeChoice;
use crate::actions::{Action, Effect};
use crate::drawing::Picker;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::row::Row;
use osier_term::theme::ThemeKind;
use osier_term::widgets::select::Item;

pub(super) const ID: &str = "themes";

/// The list, `current` selected.
pub(super) fn picker(choices: &[ThemeChoice], current: &str) -> Picker {
    let items = choices.iter().map(item).collect();
    Picker::new("Themes", "no theme matches", items, Box::new(take))
        .taking("apply")
        .with_selected(current)
        .on_move(Box::new(|name| {
            vec![Action::Effect(Effect::PreviewTheme(Some(name.to_owned())))]
        }))
        .on_leave(vec![Action::Effect(Effect::PreviewTheme(None))])
        .with_preview(Box::new(|_| sample()))
}

fn take(name: &str) -> Vec<Action> {
    vec![Action::Effect(Effect::LoadTheme(name.to_owned()))]
}

fn item(choice: &ThemeChoice) -> Item {
    let kind = match choice.kind {
        ThemeKind::Dark => "dark",
        ThemeKind::Light => "light",
        ThemeKind::System => "terminal colours",
    };
    let detail = match &choice.path {
        Some(_) => format!("{kind}, custom"),
        None => kind.to_owned(),
    };
    Item {
        key: choice.name.clone(),
        label: choice.name.clone(),
        keywords: detail.clone(),
        details: vec![detail.into()],
        dimmed: false,
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
        ("strong", Face::from(Token::Text).emphasised(Emphasis::BOLD)),
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
