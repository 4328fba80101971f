//! Wall-clock time in stored and displayed form. Durations within the program use `std::time::Instant`.

use jiff::Timestamp;

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// RFC 3339 with milliseconds in UTC, as session files store it: `2026-11-21T09:30:00.123Z`.
pub fn rfc3339(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds)
        .unwrap_or_default()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// Today in the time zone of the user, with the day of the week: `2026-11-26, Thursday`.
pub fn today() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d, %A").to_string()
}

/// A readable duration: `340ms`, `4.2s`, `3m 05s`, `2h 04m`.
pub fn human_duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds}ms"),
        1..60 => format!("{}.{}s", seconds, milliseconds % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// The time since `then` in words; both in milliseconds since the Unix epoch.
pub fn age(then: i64, now: i64) -> String {
    let minutes = (now - then).max(0) / 60_000;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        1440..2880 => "1 day ago".to_owned(),
        _ => format!("{} days ago", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_for_files_and_people() {
        assert_eq!(rfc3339(1_763_717_400_123), "2025-11-21T09:30:00.123Z");
        let cases = [
            (340, "340ms"),
            (4_250, "4.2s"),
            (185_000, "3m 05s"),
            (7_440_000, "2h 04m"),
        ];
        for (milliseconds, expected) in cases {
            assert_eq!(human_duration(milliseconds), expected);
        }
    }
}
