//! The sign that work goes on: a pure function of time, one cell wide.

use std::time::Duration;

const FRAMES: &[&str] = &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// How long a frame is shown.
const PERIOD: Duration = Duration::from_millis(120);

/// What stands in its place when motion is to be reduced.
pub const STILL: &str = "●";

/// The frame to show `elapsed` after the work began.
pub fn frame(elapsed: Duration) -> &'static str {
    let index = elapsed.as_millis() / PERIOD.as_millis();
    FRAMES[(index % FRAMES.len() as u128) as usize]
}

/// Time from `elapsed` until the frame changes.
pub fn next_change(elapsed: Duration) -> Duration {
    let into = elapsed.as_nanos() % PERIOD.as_nanos();
    PERIOD.saturating_sub(Duration::from_nanos(into as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_changes_when_it_says() {
        let at = Duration::from_secs(1);
        let next = at + next_change(at);
        assert_eq!(next, Duration::from_millis(1080));
        assert_eq!([frame(at), frame(next)], ["⠇", "⠏"]);
        assert_eq!(frame(PERIOD * 10), frame(Duration::ZERO));
    }
}
