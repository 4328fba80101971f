//! Waiting for something outside of the test's process that reports no change.

use std::time::Duration;

/// The time between two checks. It decides nothing: a test checks again until the state is there.
const PAUSE: Duration = Duration::from_millis(5);

/// Leaves the processor to the other process. A loop without it takes a core from what it waits for.
pub fn pause() {
    std::thread::sleep(PAUSE);
}
