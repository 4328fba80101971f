//! Claude Code's permission modes, and the modes and rules of osier for them.

use std::path::Path;

use osier_protocol::questions::Grant;
use osier_protocol::{Effect, Op, PermissionMode};

use crate::settings::{MappedRule, map_rule};

/// The mode in which a call that needs permission is denied.
pub(super) const DONT_ASK: &str = "dontAsk";

/// osier's mode for a permission mode of Claude Code. The rules that `acceptEdits` adds are in [`rule_ops`].
pub fn permission_mode(name: &str) -> Option<PermissionMode> {
    Some(match name {
        "default" | "manual" | ACCEPT_EDITS | DONT_ASK => PermissionMode::Ask,
        "auto" => PermissionMode::Auto,
        "plan" => PermissionMode::Plan,
        "bypassPermissions" => PermissionMode::Yolo,
        _ => return None,
    })
}

/// The mode in which changes of files in the working directory need no permission.
const ACCEPT_EDITS: &str = "acceptEdits";

/// The rules that the mode `name` adds: they allow changes of files below `cwd`.
pub(super) fn mode_rules(name: &str, cwd: &Path) -> Vec<String> {
    if name != ACCEPT_EDITS {
        return Vec::new();
    }
    let rule = format!("Edit(/{}/**)", cwd.display());
    match map_rule(&rule, Effect::Allow, cwd, is_rule) {
        MappedRule::Rules(rules) => rules,
        MappedRule::Invalid | MappedRule::NoTool => Vec::new(),
    }
}

/// The requests that add the rules of the mode `name`.
pub fn rule_ops(name: &str, cwd: &Path) -> impl Iterator<Item = Op> + use<> {
    let rules = mode_rules(name, cwd).into_iter();
    rules.map(|pattern| Op::AddPermission {
        grant: Grant::Session { pattern },
    })
}

/// Accepts every text: the session checks the rules that it adds.
pub(super) fn is_rule(_text: &str) -> bool {
    true
}
