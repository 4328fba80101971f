//! Permission mode and rules: choose a mode, remove a rule that was added in a dialog.

use crate::actions::Outbox;
use crate::drawing::{Choice, Overlays, Picker, overlays};
use osier_protocol::{Effect, Op, PermissionMode, RuleInfo, RuleSource};
use osier_term::{Columns, Item};

const ID: &str = "permissions";

/// A row of the list.
enum Entry {
    Mode { mode: PermissionMode, is_set: bool },
    Rule(RuleInfo),
}

impl Choice for Entry {
    fn row(&self) -> Item {
        let info = match self {
            Self::Mode { mode, is_set } => {
                let mark = if *is_set { "●" } else { "○" };
                return Item {
                    label: format!("{mark} {}", mode.name()),
                    details: vec![mode.meaning().into()],
                    ..Item::default()
                };
            }
            Self::Rule(info) => info,
        };
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
            label: format!("{effect} {}", info.rule),
            details: [source]
                .into_iter()
                .chain(info.note.as_deref())
                .map(Into::into)
                .collect(),
            dimmed,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mode { mode: one, .. }, Self::Mode { mode: other, .. }) => one == other,
            (Self::Rule(one), Self::Rule(other)) => one.rule == other.rule,
            _ => false,
        }
    }
}

/// The picker over the modes and the active rules.
fn picker(now: PermissionMode, rules: &[RuleInfo]) -> Picker<Entry> {
    let modes = PermissionMode::ALL.map(|mode| Entry::Mode {
        mode,
        is_set: mode == now,
    });
    let rules = rules.iter().cloned().map(Entry::Rule);
    let entries = modes.into_iter().chain(rules);
    Picker::new("Permissions", "no mode or rule matches", entries, |entry| {
        [match entry {
            Entry::Mode { mode, .. } => Op::SetPermissions { mode: *mode },
            Entry::Rule(info) => Op::RemovePermission {
                rule: info.rule.clone(),
            },
        }]
    })
    .with_columns(Columns::SENTENCE)
    .taking("set mode or remove rule")
}

/// The permission rules that hold.
#[derive(Debug, Default)]
pub(crate) struct PermissionsDialog {
    rules: Vec<RuleInfo>,
}

impl PermissionsDialog {
    /// Lists the modes and the rules.
    pub(crate) fn open(&self, mode: PermissionMode, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(ID, picker(mode, &self.rules));
        outbox.push(Op::ListPermissions);
    }

    /// Shows the rules in the open list.
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
