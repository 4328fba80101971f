//! Skills and prompt templates with what they cost; taking one begins its call.

use super::picker::Picker;
use crate::base::text;
use crate::coding::context::{ContextPart, PartKind};
use crate::modes::tui::action::Action;
use crate::modes::tui::footer::tokens;
use crate::term::widgets::select::Item;

pub const ID: &str = "skills";

/// The picker over what can be called.
pub fn picker(parts: &[ContextPart]) -> Picker {
    let callable = parts.iter().filter(|part| part.kind != PartKind::File);
    let items = callable.map(|part| Item {
        key: match part.kind {
            PartKind::Skill => format!("skill:{}", part.name),
            _ => part.name.clone(),
        },
        label: text::single_line(&format!("/{}  {}", part.name, part.description)),
        detail: cost(part),
        keywords: part.path.clone(),
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
        "none: put skills into .agents/skills and prompts into .osier/prompts",
        items,
        Box::new(take),
    )
}

/// `24 tokens, 1.2k when called`.
fn cost(part: &ContextPart) -> String {
    let called = format!("{} when called", tokens(part.call_tokens));
    match part.tokens {
        0 => called,
        always => format!("{} tokens, {called}", tokens(always)),
    }
}
