//! How lists look on a terminal.

use std::path::Path;

use osier_base::{clock, text};

/// Columns of the terminal on standard output, if it is one.
pub(super) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width >= 20)
}

/// One line of text that cannot harm a terminal.
pub(super) fn plain(text: &str) -> String {
    text::single_line(&text::sanitize(text))
}

/// How long ago, in one short word.
pub(super) fn age(then: i64, now: i64) -> String {
    let minutes = (now - then).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h", minutes / 60),
        1440..43_200 => format!("{}d", minutes / 1440),
        43_200..525_600 => format!("{}mo", minutes / 43_200),
        _ => format!("{}y", minutes / 525_600),
    }
}

/// `2026-01-31 12:30`, in UTC.
pub(super) fn time(milliseconds: i64) -> String {
    let time = clock::rfc3339(milliseconds);
    time.get(..16).unwrap_or(&time).replace('T', " ")
}

/// As much of an id as tells sessions apart that began in different milliseconds.
pub(super) fn short_id(id: &str) -> &str {
    id.get(..13).unwrap_or(id)
}

/// Dollars, or nothing for nothing.
pub(super) fn money(dollars: f64) -> String {
    match dollars {
        cost if cost <= 0.0 => String::new(),
        cost if cost < 0.01 => "<$0.01".to_owned(),
        cost => format!("${cost:.2}"),
    }
}

pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

pub(super) fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// A directory, the home directory as `~`.
pub(super) fn directory(path: &str) -> String {
    let path = plain(path);
    match dirs::home_dir() {
        Some(home) => match Path::new(&path).strip_prefix(&home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path,
        },
        None => path,
    }
}

/// Rows under heads, each column as wide as it needs, those that are named right-aligned. The last column has
/// what is left of `width`.
pub(super) fn render(
    heads: &[&str],
    right: &[usize],
    rows: &[Vec<String>],
    width: usize,
) -> Vec<String> {
    let mut widths: Vec<usize> = heads.iter().map(|head| text::width(head)).collect();
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(text::width(cell));
        }
    }
    let last = heads.len() - 1;
    let taken: usize = widths[..last].iter().map(|width| width + 2).sum();
    widths[last] = width.saturating_sub(taken).max(10);
    let head: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let line = |cells: &Vec<String>| {
        let mut line = String::new();
        for (place, cell) in cells.iter().enumerate() {
            let cell = text::truncate(cell, widths[place]);
            let gap = " ".repeat(widths[place] - text::width(&cell));
            if right.contains(&place) {
                line.push_str(&gap);
            }
            line.push_str(&cell);
            if place < last {
                if !right.contains(&place) {
                    line.push_str(&gap);
                }
                line.push_str("  ");
            }
        }
        line.trim_end().to_owned()
    };
    std::iter::once(&head).chain(rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_width() {
        let rows = [
            vec![
                "a".to_owned(),
                "12".to_owned(),
                "a long title that is cut".to_owned(),
            ],
            vec!["漢字".to_owned(), "3".to_owned(), "short".to_owned()],
        ];
        let lines = render(&["id", "n", "title"], &[1], &rows, 22);
        assert_eq!(
            lines,
            [
                "id     n  title",
                "a     12  a long titl…",
                "漢字   3  short"
            ]
        );
    }

    #[test]
    fn ages_are_short() {
        let minute = 60_000;
        let ages = [0, 5, 120, 3000, 100_000, 2_000_000].map(|minutes| age(0, minutes * minute));
        assert_eq!(ages, ["now", "5m", "2h", "2d", "2mo", "3y"]);
    }
}
