//! The permission mode: it applies to the rules and the sandbox.

use osier_permissions::Permissions;
use osier_protocol::{Event, PermissionMode};
use osier_sandbox::Confinement;

/// Changes the mode of the rules, and of the sandbox with it.
pub(crate) fn change_mode(rules: &Permissions, sandbox: &Confinement, mode: PermissionMode) {
    rules.set_mode(mode);
    sandbox.set_plan(mode == PermissionMode::Plan);
}

/// The mode, the rules and the sandbox, for clients.
pub(crate) fn describe(rules: &Permissions, sandbox: &Confinement) -> Event {
    Event::Permissions {
        mode: rules.mode(),
        rules: rules.list(),
        sandbox: sandbox.mode(),
    }
}
