//! Identifiers. Sessions use UUIDv7, which sorts by creation time; entries within a session use eight hex digits,
//! which their owner checks for collisions.

use uuid::Uuid;

use crate::clock;

/// A new session id: UUIDv7, hyphenated, lower case.
pub fn session_id() -> String {
    let id = if clock::now_ms() >= 0 {
        Uuid::now_v7()
    } else {
        // The standard knows no time before 1970.
        let mut random = [0; 10];
        random.copy_from_slice(&Uuid::new_v4().as_bytes()[6..]);
        uuid::Builder::from_unix_timestamp_millis(0, &random).into_uuid()
    };
    id.hyphenated().to_string()
}

/// A candidate entry id: eight lower-case hex digits.
pub fn entry_id() -> String {
    format!("{:08x}", Uuid::new_v4().as_fields().0)
}

/// An id for a message or tool call within the program: `prefix_` and 24 hex digits.
pub fn prefixed(prefix: &str) -> String {
    let hex = Uuid::new_v4().simple().to_string();
    format!("{prefix}_{}", &hex[..24])
}

/// The length of a [`random_name`].
pub(crate) const RANDOM_NAME: usize = 12;

/// A part of a name of a temporary file: hex digits.
pub(crate) fn random_name() -> String {
    let mut hex = Uuid::new_v4().simple().to_string();
    hex.truncate(RANDOM_NAME);
    hex
}
