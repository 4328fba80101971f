//! The values while safety settings cannot be read: the last valid ones, and never less than what can be read.

use osier_base::problem::Problem;
use osier_protocol::PermissionMode;

use super::row::Other;
use super::table::{SETTINGS, Settings};

impl Settings {
    /// Sets the strictest value of every safety setting.
    pub(super) fn be_strict(&mut self) {
        for strictest in SETTINGS.iter().filter_map(|setting| setting.strictest) {
            strictest(self);
        }
    }

    /// Restricts the mode, because hooks that could deny a call are missing.
    pub fn without_hooks(&mut self, faults: Vec<Problem>) {
        if !faults.is_empty() {
            self.ask_at_least();
            self.faults.extend(faults);
        }
    }

    /// Adds the restrictions of `last`, the last valid settings. `is_complete` says whether every
    /// safety setting of the file is known; whatever loosens must be in both.
    pub(super) fn hold(&mut self, last: &Self, is_complete: bool) {
        for setting in SETTINGS.iter() {
            (setting.combine)(self, last, Other::LastValid { is_complete });
        }
        self.written.clone_from(&last.written);
    }

    /// Restricts the mode while rules, hooks or reviewers are not known: flags cannot select a mode
    /// that runs everything.
    pub(super) fn ask_at_least(&mut self) {
        self.least = PermissionMode::Ask;
        self.permissions = self.permissions.max(PermissionMode::Ask);
    }
}
