//! A mark that moves while something is going on: one cell, a pure function of the time.

use std::time::Duration;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long a frame stays.
const STEP: Duration = Duration::from_millis(120);

/// The mark after `elapsed`. It rests at the step that begins a second: the clock beside it moves then,
/// and one tick should not send both.
pub fn frame(elapsed: Duration) -> &'static str {
    let step = elapsed.as_millis() / STEP.as_millis();
    let step = step - step * STEP.as_millis() / 1000;
    FRAMES[(step % FRAMES.len() as u128) as usize]
}

/// How long until the mark changes.
pub fn until_next(elapsed: Duration) -> Duration {
    let into = elapsed.as_millis() % STEP.as_millis();
    STEP.saturating_sub(Duration::from_millis(into as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_the_time_round() {
        assert_eq!(frame(Duration::from_millis(119)), "⠋");
        assert_eq!(frame(Duration::from_millis(120)), "⠙");
        // The ninth step begins the second second.
        assert_eq!(frame(Duration::from_millis(960)), "⠇");
        assert_eq!(frame(Duration::from_millis(1080)), "⠇");
        assert_eq!(frame(Duration::from_millis(1200)), "⠏");
        assert_eq!(
            until_next(Duration::from_millis(130)),
            Duration::from_millis(110)
        );
    }
}
