//! An activity spinner: one cell, a pure function of the time.

use std::time::Duration;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Duration of a frame.
const STEP: Duration = Duration::from_millis(120);

/// The frame after `elapsed`. Skips the step at the start of each second, when the clock next to the spinner changes,
/// so that one tick does not send both.
pub fn frame(elapsed: Duration) -> &'static str {
    let step = elapsed.as_millis() / STEP.as_millis();
    let step = step - step * STEP.as_millis() / 1000;
    FRAMES[(step % FRAMES.len() as u128) as usize]
}

/// Time until the next frame.
pub fn until_next(elapsed: Duration) -> Duration {
    let into = elapsed.as_millis() % STEP.as_millis();
    STEP.saturating_sub(Duration::from_millis(into as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cycle_with_time() {
        assert_eq!(frame(Duration::from_millis(119)), "⠋");
        assert_eq!(frame(Duration::from_millis(120)), "⠙");
        // The ninth step starts the second second.
        assert_eq!(frame(Duration::from_millis(960)), "⠇");
        assert_eq!(frame(Duration::from_millis(1080)), "⠇");
        assert_eq!(frame(Duration::from_millis(1200)), "⠏");
        assert_eq!(
            until_next(Duration::from_millis(130)),
            Duration::from_millis(110)
        );
    }
}
