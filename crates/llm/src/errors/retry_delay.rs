//! The delay in texts such as "Please try again in 1m30.5s".

/// Words before a delay.
const STARTS: [&str; 9] = [
    "again in ",
    "retry in ",
    "retry after ",
    "again after ",
    "wait for ",
    "wait ",
    "resets in ",
    "reset in ",
    "available in ",
];

/// Units and their milliseconds. A longer name is listed before a shorter one that it starts with.
const UNITS: [(&str, f64); 16] = [
    ("milliseconds", 1.0),
    ("millisecond", 1.0),
    ("ms", 1.0),
    ("seconds", 1000.0),
    ("second", 1000.0),
    ("secs", 1000.0),
    ("sec", 1000.0),
    ("s", 1000.0),
    ("minutes", 60_000.0),
    ("minute", 60_000.0),
    ("mins", 60_000.0),
    ("min", 60_000.0),
    ("m", 60_000.0),
    ("hours", 3_600_000.0),
    ("hour", 3_600_000.0),
    ("h", 3_600_000.0),
];

/// The delay that a message names, in milliseconds.
pub(super) fn in_text(message: &str) -> Option<u64> {
    let text = message.to_lowercase();
    STARTS
        .iter()
        .flat_map(|start| {
            text.match_indices(start)
                .map(|(at, _)| &text[at + start.len()..])
        })
        .find_map(duration)
}

/// The duration at the start of `text`: `1.2s`, `20 seconds`, `1m30s`, `6h 5m`; a number alone is seconds.
fn duration(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix("about ").unwrap_or(text);
    let mut total = 0.0;
    let mut count = 0;
    loop {
        let start = rest.trim_start().trim_start_matches("and ").trim_start();
        let end = start.find(|char: char| !(char.is_ascii_digit() || char == '.'));
        let (number, after) = start.split_at(end.unwrap_or(start.len()));
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let unit = after.trim_start();
        let fits = |(name, _): &&(&str, f64)| {
            let rest = unit.strip_prefix(name);
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
        };
        match UNITS.iter().find(fits) {
            Some((name, unit_ms)) => {
                total += number * unit_ms;
                rest = &unit[name.len()..];
            }
            None if count == 0 => return milliseconds(number * 1000.0),
            None => break,
        }
        count += 1;
    }
    (count > 0).then(|| milliseconds(total))?
}

fn milliseconds(amount: f64) -> Option<u64> {
    (amount.is_finite() && (0.0..1e12).contains(&amount)).then_some(amount.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_in_every_form() {
        for (text, expected) in [
            (
                "Rate limit reached. Please try again in 1.2s. Visit https://x",
                Some(1200),
            ),
            ("Please try again in 20ms.", Some(20)),
            ("try again in 20 seconds", Some(20_000)),
            ("Please retry after 5 seconds.", Some(5000)),
            ("Please try again in 1m30s.", Some(90_000)),
            ("Please try again in 6m0s", Some(360_000)),
            ("try again in 1h 2m 3.5s", Some(3_723_500)),
            ("Try again in 2 minutes and 5 seconds", Some(125_000)),
            ("Please retry in 37.245s.", Some(37_245)),
            ("retry after 30", Some(30_000)),
            ("Please wait 3 seconds before the next request", Some(3000)),
            ("Limit resets in 45 sec", Some(45_000)),
            ("try again in a few minutes", None),
            ("you sent 20 requests in 3 seconds", None),
            ("", None),
        ] {
            assert_eq!(in_text(text), expected, "{text}");
        }
    }
}
