//! The permission mode: it applies to the rules and the sandbox.

use osier_permissions::{Permissions, Rule};
use osier_protocol::{Effect, Event, PermissionMode};
use osier_sandbox::Confinement;

use super::deny_rules;

/// Changes the mode of the rules, and of the sandbox with it.
pub(crate) fn change_mode(rules: &Permissions, sandbox: &Confinement, mode: PermissionMode) {
    rules.set_mode(mode);
    sandbox.set_plan(mode == PermissionMode::Plan);
}

/// The mode, the rules and the sandbox, for clients.
pub(crate) fn describe(rules: &Permissions, sandbox: &Confinement) -> Event {
    let mut list = rules.list();
    let of_deny = list.iter_mut().filter(|info| info.effect == Effect::Deny);
    for info in of_deny {
        let rule = Rule::parse(&info.rule);
        info.note = rule.and_then(|rule| deny_rules::advice(&rule, sandbox, rules.cwd()));
    }
    Event::Permissions {
        mode: rules.mode(),
        rules: list,
        sandbox: sandbox.mode(),
    }
}
