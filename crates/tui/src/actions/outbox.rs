//! What features want done outside of their own state: ops for the session, effects for the program, and actions for
//! the app. A feature gets it as an argument; the app delivers it afterwards.

use std::time::Instant;

use crate::actions::{Action, Effect};
use osier_agent::Op as AgentOp;
use osier_protocol::Op;
use osier_term::component::Cx;

/// Requests that are not delivered yet, each kind in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ops: Vec<Op>,
    effects: Vec<Effect>,
    actions: Vec<Action>,
    /// Something visible changed since the last draw.
    dirty: bool,
}

impl Outbox {
    /// Sends an op to the session.
    pub(crate) fn send(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Sends an op to the agent of the session.
    pub(crate) fn tell(&mut self, op: AgentOp) {
        self.send(Op::Agent(op));
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Has the app apply an action.
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Shows a line above the editor for a moment.
    pub(crate) fn toast(&mut self, text: impl Into<String>, error: bool) {
        let text = text.into();
        self.act(Action::Toast { text, error });
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

    pub(crate) fn take_ops(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Takes the texts of notifications and leaves the other effects.
    pub(crate) fn take_notifications(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Notify(text) => texts.push(text),
                effect => self.effects.push(effect),
            }
        }
        texts
    }

    /// The actions since the last call; empty when all are applied.
    pub(crate) fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Whether something visible changed; asking clears it.
    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }
}
