//! Safety settings and hooks that cannot be read: no session starts without a person who sees what applies instead.

use osier_base::problem::Problem;

use crate::hooks;
use crate::setup::SessionSetup;

/// Why no session starts: it is not known what must be asked or denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot read the safety settings: {first}{more}; fix the file, then check it with `osier config check`"
)]
pub struct SafetyError {
    first: Problem,
    more: String,
}

/// Whether a session with this setup can start. Blocks.
///
/// # Errors
/// Safety settings, or hooks that can deny a call, cannot be read.
pub fn check(setup: &SessionSetup) -> Result<(), SafetyError> {
    if setup.starts_with_faults {
        return Ok(());
    }
    let mut faults = setup.settings.faults.clone();
    faults.extend(hooks::check(setup));
    let Some(first) = faults.first().cloned() else {
        return Ok(());
    };
    let more = match faults.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Err(SafetyError { first, more })
}
