//! Permission mode and rules: choose a mode, remove a rule that was added in a dialog.

use crate::actions::{Action, Outbox};
use crate::drawing::{Overlays, Picker, overlays};
use osier_protocol::{Effect, Op, PermissionMode, RuleInfo, RuleSource};
use osier_term::widgets::columns::Columns;
use osier_term::widgets::select::Item;

const ID: &str = "permissions";

/// The picker over the modes and the active rules.
fn picker(mode: PermissionMode, rules: &[RuleInfo]) -> Picker {
    let modes = PermissionMode::ALL
        .into_iter()
        .map(|choice| mode_item(choice, mode));
    let items = modes.chain(rules.iter().map(rule_item)).collect();
    Picker::new(
        "Permissions",
        "no mode or rule matches",
        items,
        Box::new(take),
    )
    .with_columns(Columns::SENTENCE)
    .taking("set mode or remove rule")
}

fn mode_item(choice: PermissionMode, now: PermissionMode) -> Item {
    let mark = if choice == now { "●" } else { "○" };
    Item {
        key: format!("mode {}", choice.name()),
        label: format!("{mark} {}", choice.name()),
        details: vec![choice.meaning().into()],
        ..Item::default()
    }
}

fn rule_item(info: &RuleInfo) -> Item {
    let effect = match info.effect {
        Effect::Allow => "allow",
        Effect::Ask => "ask",
        Effect::Deny => "deny",
    };
    let (source, dimmed) = match info.source {
        RuleSource::Settings => ("settings", true),
        RuleSource::Command => ("slash command", true),
        RuleSource::Project => ("this project", false),
        RuleSource::Session => ("this session", false),
    };
    Item {
        key: format!("rule {}", info.rule),
        label: format!("{effect} {}", info.rule),
        details: vec![source.into()],
        dimmed,
        ..Item::default()
    }
}

fn take(key: &str) -> Vec<Action> {
    let op = match key.split_once(' ') {
        Some(("mode", name)) => {
            PermissionMode::from_name(name).map(|mode| Op::SetPermissions { mode })
        }
        Some((_, rule)) => Some(Op::RemovePermission {
            rule: rule.to_owned(),
        }),
        None => None,
    };
    op.map(Action::Tell).into_iter().collect()
}

/// The permission rules that hold.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    rules: Vec<RuleInfo>,
}

impl Permissions {
    /// Lists the modes and the rules.
    pub(crate) fn open(&self, mode: PermissionMode, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(ID, picker(mode, &self.rules));
        outbox.send(Op::ListPermissions);
    }

    /// Takes the rules and updates the open list.
    pub(crate) fn set(
        &mut self,
        mode: PermissionMode,
        rules: &[RuleInfo],
        overlays: &mut Overlays,
    ) {
        self.rules = rules.to_vec();
        overlays::refresh(overlays, ID, picker(mode, rules));
    }
}
