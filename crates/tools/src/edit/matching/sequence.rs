//! Edits of one call that make sense only one after another: a later edit changes text that an earlier edit wrote, or
//! several edits are the same.

use super::together::apply_together;
use super::types::{Applied, Edit, Match};

/// Applies `edits` one after another; `None` when one of them does not fit. An edit that another one contains, or that
/// was given before, is not applied again.
pub(super) fn apply(original: &str, edits: &[Edit], allow_inexact: bool) -> Option<Applied> {
    let mut text = original.to_owned();
    let mut matches = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        if edits[..index].contains(edit) {
            matches.push(skipped("it was given before"));
        } else if edits.iter().any(|other| contains(other, edit)) {
            matches.push(skipped("another edit contains it"));
        } else {
            let applied =
                apply_together(&text, std::slice::from_ref(edit), allow_inexact, None).ok()?;
            text = applied.text;
            matches.extend(applied.matches);
        }
    }
    Some(Applied { text, matches })
}

fn skipped(note: &'static str) -> Match {
    Match {
        notes: vec![note],
        ..Match::default()
    }
}

/// Whether `outer` makes the change of `inner` too.
fn contains(outer: &Edit, inner: &Edit) -> bool {
    let rest = |text: &str, part: &str| {
        text.split_once(part)
            .map(|(before, after)| format!("{before}\n{after}"))
    };
    outer.old.len() > inner.old.len()
        && !outer.replace_all
        && outer.old.matches(&inner.old).count() == 1
        && outer.new.contains(&inner.new)
        && rest(&outer.old, &inner.old) != rest(&outer.new, &inner.old)
}
