//! Safety settings and hooks that cannot be read: no session starts without a person who sees what applies instead.

use crate::extensions::hooks;
use crate::setup::SessionSetup;

/// Why no session starts: it is not known what must be asked or denied. Contains the first fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot read the safety settings: {0}; fix the file, then check it with `osier config check`"
)]
pub struct SafetyError(String);

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
    match &*faults {
        [] => Ok(()),
        [only] => Err(SafetyError(only.to_string())),
        [first, rest @ ..] => Err(SafetyError(format!("{first} (and {} more)", rest.len()))),
    }
}
