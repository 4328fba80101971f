//! Skills and prompt templates with their costs. Choosing one puts its command into the prompt.

use crate::actions::{Action, Outbox};
use crate::drawing::{Choice, Overlays, Picker, overlays};
use crate::status::footer::tokens;
use osier_protocol::{ContextPart, Op, PartKind};
use osier_term::{Cell, Column, Columns, Item};

const ID: &str = "skills";

const COLUMNS: Columns = Columns {
    label: "name",
    details: &[
        Column::words("description", 1).at_least(16),
        Column::numbers("always", 0),
        Column::numbers("when called", 0),
    ],
};

impl Choice for ContextPart {
    fn row(&self) -> Item {
        Item {
            label: format!("/{}", self.name),
            details: vec![
                self.description.as_str().into(),
                cost(self.tokens),
                cost(self.call_tokens),
            ],
            keywords: format!("{} {}", self.description, self.path),
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.name) == (other.kind, &other.name)
    }
}

/// The picker over skills and prompt templates.
fn picker(parts: &[ContextPart]) -> Picker<ContextPart> {
    let callable = parts.iter().filter(|part| part.kind != PartKind::File);
    Picker::new(
        "Skills and prompts",
        "no skills or prompts: add them to .agents/skills or .osier/prompts",
        callable.cloned(),
        |part| {
            let prefix = match part.kind {
                PartKind::Skill => "skill:",
                _ => "",
            };
            let text = format!("/{prefix}{} ", part.name);
            [Action::SetEditor { text }]
        },
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
    outbox.push(Op::ListContext);
}

/// Updates the open list.
pub(crate) fn refresh(parts: &[ContextPart], overlays: &mut Overlays) {
    overlays::refresh(overlays, ID, picker(parts));
}
