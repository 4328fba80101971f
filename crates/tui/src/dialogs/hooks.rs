//! The hooks: the event of each, its file and its last run.

use crate::actions::{Effect, Outbox};
use crate::drawing::{Choice, Overlays, Picker, overlays};
use osier_base::text;
use osier_protocol::{HookInfo, Op};
use osier_term::{Cell, Column, Columns, Item, Token};

const ID: &str = "hooks";

const COLUMNS: Columns = Columns {
    label: "command",
    details: &[
        Column::words("event", 0).first(),
        Column::words("last run", 1).at_least(12),
        Column::words("file", 1),
    ],
};

impl Choice for HookInfo {
    fn row(&self) -> Item {
        let event = self.event.name();
        let matcher = match self.matcher.as_str() {
            "" => String::new(),
            matcher => format!(" {}", text::single_line(matcher)),
        };
        Item {
            label: text::single_line(&self.command),
            details: vec![
                format!("{} {event}{matcher}", mark(self)).into(),
                last_run(self),
                file(self).into(),
            ],
            keywords: self.file.clone(),
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.event, &self.matcher, &self.command, &self.file)
            == (other.event, &other.matcher, &other.command, &other.file)
    }
}

/// One line for each hook; choosing a line copies the command of the hook.
fn picker(hooks: &[HookInfo]) -> Picker<HookInfo> {
    Picker::new(
        "Hooks",
        "no hooks: add them to hooks.json in the configuration folder or in .osier",
        hooks.iter().cloned(),
        |hook| [Effect::Copy(hook.command.clone(), "command")],
    )
    .with_columns(COLUMNS)
    .taking("copy command")
}

fn mark(hook: &HookInfo) -> &'static str {
    match hook.last.as_ref().map(|last| last.outcome.as_str()) {
        None => "○",
        Some("failed") => "■",
        Some("goes on") => "◐",
        Some(_) => "●",
    }
}

/// The outcome of the last run.
fn last_run(hook: &HookInfo) -> Cell {
    let Some(last) = &hook.last else {
        return "has not run".into();
    };
    let token = match last.outcome.as_str() {
        "failed" => Token::Error,
        _ => Token::Muted,
    };
    let text = if last.message.is_empty() {
        format!("{} in {} ms", last.outcome, last.duration_ms)
    } else {
        format!("{}: {}", last.outcome, last.message)
    };
    Cell::new(text, token)
}

/// The end of the file's path.
fn file(hook: &HookInfo) -> String {
    let mut parts = hook.file.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next());
    match folder {
        Some(folder @ (".osier" | ".claude")) => format!("{folder}/{name}"),
        _ => name.to_owned(),
    }
}

/// Opens the list.
pub(crate) fn open(overlays: &mut Overlays, outbox: &mut Outbox) {
    overlays.push(ID, picker(&[]));
    outbox.push(Op::ListHooks);
}

/// Updates the open list.
pub(crate) fn refresh(hooks: &[HookInfo], overlays: &mut Overlays) {
    overlays::refresh(overlays, ID, picker(hooks));
}

/// Requests the hooks again when their list is open.
pub(crate) fn reload(overlays: &Overlays, outbox: &mut Outbox) {
    if overlays.contains(ID) {
        outbox.push(Op::ListHooks);
    }
}
