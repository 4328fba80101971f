//! Formats tables, times, sizes and costs for the terminal.

use std::path::Path;

use osier_base::{clock, text};

/// The width of the terminal on standard output; `None` when it is not a terminal.
pub(in crate::cli) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width >= 20)
}

/// One line of text without control sequences.
pub(in crate::cli) fn plain(text: &str) -> String {
    text::single_line(&text::sanitize(text))
}

/// The age in short form, such as `5m` or `2d`.
pub(in crate::cli) fn age(then: i64, now: i64) -> String {
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

/// `2026-01-31 12:30`, in the time zone of the user.
pub(in crate::cli) fn time(milliseconds: i64) -> String {
    clock::local_minute(milliseconds)
}

/// The start of an id, which differs for sessions created in different milliseconds.
pub(in crate::cli) fn short_id(id: &str) -> &str {
    id.get(..13).unwrap_or(id)
}

/// An amount in dollars; empty for zero.
pub(in crate::cli) fn money(dollars: f64) -> String {
    match dollars {
        cost if cost <= 0.0 => String::new(),
        cost if cost < 0.01 => "<$0.01".to_owned(),
        cost => format!("${cost:.2}"),
    }
}

pub(in crate::cli) fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// A directory, with `~` for the home directory.
pub(in crate::cli) fn directory(path: &str) -> String {
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

/// The lines of a table. Columns are as wide as their content; those in `right` are right-aligned. The last
/// column takes the rest of `width`.
pub(in crate::cli) fn render(
    headers: &[&str],
    right: &[usize],
    rows: &[Vec<String>],
    width: usize,
) -> Vec<String> {
    let mut widths: Vec<usize> = headers.iter().map(|header| text::width(header)).collect();
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(text::width(cell));
        }
    }
    let last = headers.len() - 1;
    let taken: usize = widths[..last].iter().map(|width| width + 2).sum();
    widths[last] = width.saturating_sub(taken).max(10);
    let header: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
    let line = |cells: &Vec<String>| {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let cell = text::truncate(cell, widths[column]);
            let gap = " ".repeat(widths[column] - text::width(&cell));
            if right.contains(&column) {
                line.push_str(&gap);
            }
            line.push_str(&cell);
            if column < last {
                if !right.contains(&column) {
                    line.push_str(&gap);
                }
                line.push_str("  ");
            }
        }
        line.trim_end().to_owned()
    };
    std::iter::once(&header).chain(rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_fits_its_width() {
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
    fn ages_have_a_short_form() {
        let minute = 60_000;
        let ages = [0, 5, 120, 3000, 100_000, 2_000_000].map(|minutes| age(0, minutes * minute));
        assert_eq!(ages, ["now", "5m", "2h", "2d", "2mo", "3y"]);
    }
}
