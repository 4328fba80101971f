//! What applies while safety settings cannot be read: the last valid ones, and never less than what can be read.

use osier_base::problem::Problem;
use osier_protocol::{PermissionMode, SandboxMode};

use super::{SETTINGS, Settings, Take};

impl Settings {
    /// Sets the strictest value of every safety setting.
    pub(super) fn be_strict(&mut self) {
        for setting in SETTINGS {
            if let Take::Safety(_, strictest) = setting.take {
                strictest(self);
            }
        }
    }

    /// Hooks that could deny a call are missing.
    pub fn without_hooks(&mut self, faults: Vec<Problem>) {
        if !faults.is_empty() {
            at_least_ask(self);
            self.faults.extend(faults);
        }
    }

    /// Adds what restricts in `last`, the valid settings before. `is_complete` says whether every safety setting of
    /// the file is known: what loosens then needs both.
    pub(super) fn hold(&mut self, last: &Self, is_complete: bool) {
        self.permissions = self.permissions.max(last.permissions);
        self.sandbox = self.sandbox.max(last.sandbox);
        self.secret_warnings |= last.secret_warnings;
        for (own, others) in [(&mut self.ask, &last.ask), (&mut self.deny, &last.deny)] {
            let missing = others.iter().filter(|rule| !own.contains(rule));
            let missing: Vec<String> = missing.cloned().collect();
            own.extend(missing);
        }
        for (own, others) in [
            (&mut self.allow, &last.allow),
            (&mut self.sandbox_write, &last.sandbox_write),
            (&mut self.web_private_hosts, &last.web_private_hosts),
            (&mut self.pass_environment, &last.pass_environment),
        ] {
            if is_complete {
                own.retain(|entry| others.contains(entry));
            } else {
                own.clone_from(others);
            }
        }
        if is_complete {
            let network = std::mem::take(&mut self.sandbox_network);
            self.sandbox_network = network.and(&last.sandbox_network);
        } else {
            self.sandbox_network.clone_from(&last.sandbox_network);
            self.review_model.clone_from(&last.review_model);
        }
        if last.claude_hooks == Some(true) {
            self.claude_hooks = last.claude_hooks;
        }
        self.written.clone_from(&last.written);
    }
}

/// For rules, hooks and reviewers that are not known: flags cannot select a mode that runs everything.
pub(super) fn at_least_ask(settings: &mut Settings) {
    settings.least = PermissionMode::Ask;
    settings.permissions = settings.permissions.max(PermissionMode::Ask);
}

/// A sandbox that was selected stays; without one, the strictest applies.
pub(super) fn confined(mode: SandboxMode) -> SandboxMode {
    match mode {
        SandboxMode::Off => SandboxMode::ReadOnly,
        mode => mode,
    }
}
