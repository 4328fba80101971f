//! Wall-clock time in stored and displayed form. Durations within the program use `std::time::Instant`.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::time::SystemTime;

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> i64 {
    now().as_millisecond()
}

/// The current time; the end of the year 9999 if the clock is out of range.
pub fn now() -> Timestamp {
    let now = Timestamp::try_from(SystemTime::now());
    now.unwrap_or(Timestamp::MAX)
}

/// RFC 3339 with milliseconds in UTC, as session files store it: `2026-11-21T09:30:00.123Z`.
pub fn rfc3339(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds)
        .unwrap_or_default()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// A time for lists and previews, to the minute in the time zone of the user: `2026-11-21 10:30`.
pub fn local_minute(milliseconds: i64) -> String {
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    minute_in(time, TimeZone::system())
}

/// A stored time in the format of [`local_minute`]. A text that is no time stays as it is.
pub fn stored_minute(timestamp: &str) -> String {
    match timestamp.parse() {
        Ok(time) => minute_in(time, TimeZone::system()),
        Err(_) => timestamp.to_owned(),
    }
}

/// The day of a stored time in the time zone of the user: `2026-11-21`. `None` if it is no time.
pub fn stored_day(timestamp: &str) -> Option<String> {
    let time = timestamp.parse().ok()?;
    Some(minute_in(time, TimeZone::system())[..10].to_owned())
}

/// The day that is `days` before today in the time zone of the user: `2026-11-21`.
pub fn day_before_today(days: i64) -> String {
    let today = now().to_zoned(TimeZone::system()).date();
    let day = today.saturating_sub(jiff::Span::new().days(days));
    day.strftime("%Y-%m-%d").to_string()
}

/// A stored time for files that others read: in the time zone of the user, with the name of the
/// zone. A text that is no time stays as it is.
///
/// `2026-11-21 10:30 +01:00`, or `2026-11-21 09:30 UTC`
pub fn minute_with_zone(timestamp: &str) -> String {
    with_zone(timestamp, TimeZone::system())
}

fn minute_in(time: Timestamp, zone: TimeZone) -> String {
    time.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string()
}

fn with_zone(timestamp: &str, zone: TimeZone) -> String {
    let Ok(time) = timestamp.parse::<Timestamp>() else {
        return timestamp.to_owned();
    };
    let offset = match zone.to_offset(time).seconds() {
        0 => "UTC".to_owned(),
        _ => time.to_zoned(zone.clone()).strftime("%:z").to_string(),
    };
    format!("{} {offset}", minute_in(time, zone))
}

/// Today in the time zone of the user, with the day of the week: `2026-11-26, Thursday`.
pub fn today() -> String {
    let today = now().to_zoned(TimeZone::system());
    today.strftime("%Y-%m-%d, %A").to_string()
}

/// A readable duration: `340ms`, `4.2s`, `3m 05s`, `2h 04m`, `1d 03h`.
pub fn human_duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds}ms"),
        1..60 => format!("{}.{}s", seconds, milliseconds % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// The time since `then` in words; both in milliseconds since the Unix epoch. A time in the future
/// is shown as a date: some clock was wrong.
pub fn age(then: i64, now: i64) -> String {
    if then.saturating_sub(now) >= 60_000 {
        return local_minute(then);
    }
    let minutes = now.saturating_sub(then).max(0) / 60_000;
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
    fn times_for_people_are_local_and_name_their_zone_in_files() {
        let hours = |hours| jiff::tz::Offset::constant(hours).to_time_zone();
        let time = "2025-11-21T23:30:00.123Z";
        assert_eq!(with_zone(time, hours(0)), "2025-11-21 23:30 UTC");
        assert_eq!(with_zone(time, hours(2)), "2025-11-22 01:30 +02:00");
        assert_eq!(with_zone(time, hours(-5)), "2025-11-21 18:30 -05:00");
        assert_eq!(with_zone("once", hours(2)), "once");
        assert_eq!(
            (stored_minute("once"), stored_day("once")),
            ("once".to_owned(), None)
        );
        let time: Timestamp = time.parse().unwrap();
        assert_eq!(minute_in(time, hours(2)), "2025-11-22 01:30");
    }

    #[test]
    fn times_in_the_future_have_a_date() {
        let now = 1_763_717_400_000;
        let minute = 60_000;
        for (then, expected) in [
            (now - 3 * minute, "3 min ago".to_owned()),
            (now + minute / 2, "just now".to_owned()),
            (now + minute, local_minute(now + minute)),
            (now + 26 * 60 * minute, local_minute(now + 26 * 60 * minute)),
        ] {
            assert_eq!(age(then, now), expected);
        }
    }

    #[test]
    fn times_are_formatted_for_files_and_people() {
        assert_eq!(rfc3339(1_763_717_400_123), "2025-11-21T09:30:00.123Z");
        let cases = [
            (340, "340ms"),
            (4_250, "4.2s"),
            (185_000, "3m 05s"),
            (7_440_000, "2h 04m"),
            (86_400_000, "1d 00h"),
        ];
        for (milliseconds, expected) in cases {
            assert_eq!(human_duration(milliseconds), expected);
        }
    }
}
