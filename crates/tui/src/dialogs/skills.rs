//! Skills and prompt templates with what they cost; taking one begins its call.

use crate::actions::{Action, Outbox};
use crate::drawing::{Overlays, Picker, overlays};
use crate::status::footer::tokens;
use osier_protocol::{ContextPart, Op, PartKind};
use osier_term::widgets::columns::{Cell, Column, Columns};
use osier_term::widgets::select::Item;

const ID: &str = "skills";

const COLUMNS: Columns = Columns {
    label: "name",
    details: &[
        Column::words("description", 1).at_least(16),
        Column::numbers("always", 0),
        Column::numbers("when called", 0),
    ],
};

/// The picker over what can be called.
fn picker(parts: &[ContextPart]) -> Picker {
    let callable = parts.iter().filter(|part| part.kind != PartKind::File);
    let items = callable.map(|part| Item {
        key: match part.kind {
            PartKind::Skill => format!("skill:{}", part.name),
            _ => part.name.clone(),
        },
        label: format!("/{}", part.name),
        details: vec![
            part.description.as_str().into(),
            cost(part.tokens),
            cost(part.call_tokens),
        ],
        keywords: format!("{} {}", part.description, part.path),
        dimmed: false,
    });
    let take = |name: &str| {
        vec![Action::SetEditor {
            text: format!("/{name} "),
        }]
    };
    let items = items.collect();
    Picker::new(
        "Skills and prompts",
        "no skills or prompts: add them to .agents/skills or .osier/prompts",
        items,
        Box::new(take),
    )
    .with_columns(COLUMNS)
    .taking("insert")
}

/// Tokens of the context.
fn cost(count: u64) -> Cell {
    let count = match count {
        0 => String::new(),
        count => format!("~{}", tokens(count)),
    };
    count.into()
}

/// Opens the list.
pub(crate) fn open(overlays: &mut Overlays, outbox: &mut Outbox) {
    overlays.push(ID, picker(&[]));
    outbox.send(Op::ListContext);
}

/// Updates the open list.
pub(crate) fn refresh(parts: &[ContextPart], overlays: &mut Overlays) {
    overlays::refresh(overlays, ID, picker(parts));
}
