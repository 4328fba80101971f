//! The outbox: a feature adds actions for everything outside of its own state. The feature gets the outbox as an
//! argument; the app applies the actions afterwards.

use std::time::Instant;

use super::action::Action;
use osier_term::Cx;

/// Actions that are not applied yet, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    actions: Vec<Action>,
    /// Something visible changed since the last draw.
    dirty: bool,
}

impl Outbox {
    pub(crate) fn push(&mut self, action: impl Into<Action>) {
        self.actions.push(action.into());
    }

    /// Something visible changed when `changed` is set.
    pub(crate) fn redraw(&mut self, changed: bool) {
        self.dirty |= changed;
    }

    /// Collects the actions of a component.
    pub(crate) fn cx(&mut self, now: Instant) -> Cx<'_, Action> {
        Cx {
            actions: &mut self.actions,
            now,
        }
    }

    /// The actions since the last call; empty when all are applied.
    pub(crate) fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Whether something visible changed; asking clears it.
    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }
}
