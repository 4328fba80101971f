//! Excel: each sheet as a table with its name. Values are those that Excel stored; dates are shown as dates.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::container::{Container, DocumentError, TEXT};
use super::table::Table;
use super::xml::{Node, relations, walk};

/// Days from Excel's day 0 to the start of the Unix epoch.
const EPOCH: f64 = 25_569.0;
/// Days from the start of 1900 to that of 1904, as Excel counts them.
const FROM_1904: f64 = 1_462.0;

pub(super) fn text(container: &mut Container<'_>) -> Result<String, DocumentError> {
    const MAIN: &str = "xl/workbook.xml";
    let main = container.needed(MAIN)?;
    let mut sheets = Vec::new();
    let mut styles = Styles::default();
    walk(&main, |node| {
        let Node::Open(element) = node else { return };
        match element.name.as_str() {
            "workbookPr" => {
                let is_1904 = element.get("date1904").unwrap_or_default();
                styles.from_1904 = matches!(is_1904, "1" | "true");
            }
            "sheet" => {
                let name = element.get("name").unwrap_or_default();
                let is_hidden = element.get("state").is_some_and(|state| state != "visible");
                let hidden = if is_hidden { " (hidden)" } else { "" };
                let id = element.get("id").unwrap_or_default().to_owned();
                sheets.push((format!("{name}{hidden}"), id));
            }
            _ => {}
        }
    })?;
    let targets = relations(container, MAIN)?;
    let strings = match container.part("xl/sharedStrings.xml")? {
        Some(bytes) => shared_strings(&bytes)?,
        None => Vec::new(),
    };
    if let Some(bytes) = container.part("xl/styles.xml")? {
        styles.dates = date_styles(&bytes)?;
    }
    let mut text = String::new();
    for (name, id) in sheets {
        let Some(part) = targets.get(&id).filter(|_| text.len() <= TEXT) else {
            continue;
        };
        let Some(bytes) = container.part(part)? else {
            continue;
        };
        let table = read(&bytes, &strings, &styles)?;
        let _ = write!(text, "## {name}\n\n{table}\n");
    }
    Ok(text)
}

/// How cells show dates.
#[derive(Debug, Default)]
struct Styles {
    /// The numbers of the cell styles that show dates.
    dates: BTreeSet<usize>,
    /// Days are counted from 1904, as Excel for Macs did, not from 1900.
    from_1904: bool,
}

fn shared_strings(bytes: &[u8]) -> Result<Vec<String>, DocumentError> {
    let mut strings: Vec<String> = Vec::new();
    let (mut is_in_text, mut is_phonetic) = (false, false);
    walk(bytes, |node| match node {
        Node::Open(element) => match element.name.as_str() {
            "si" => strings.push(String::new()),
            "t" => is_in_text = true,
            "rPh" => is_phonetic = true,
            _ => {}
        },
        Node::Text(text) if is_in_text && !is_phonetic => {
            if let Some(last) = strings.last_mut() {
                last.push_str(text);
            }
        }
        Node::Close("t") => is_in_text = false,
        Node::Close("rPh") => is_phonetic = false,
        Node::Text(_) | Node::Close(_) => {}
    })?;
    Ok(strings)
}

/// The numbers of the cell styles that show dates.
fn date_styles(bytes: &[u8]) -> Result<BTreeSet<usize>, DocumentError> {
    let mut formats = BTreeSet::new();
    let mut styles = BTreeSet::new();
    let (mut is_in_cells, mut number) = (false, 0);
    walk(bytes, |node| match node {
        Node::Open(element) => match element.name.as_str() {
            "numFmt" => {
                let code = element.get("formatCode").unwrap_or_default();
                formats.extend(element.number("numFmtId").filter(|_| is_date(code)));
            }
            "cellXfs" => is_in_cells = true,
            "xf" if is_in_cells => {
                let format = element.number("numFmtId").unwrap_or(0);
                // The formats that every workbook has.
                if matches!(format, 14..=22 | 45..=47) || formats.contains(&format) {
                    styles.insert(number);
                }
                number += 1;
            }
            _ => {}
        },
        Node::Close("cellXfs") => is_in_cells = false,
        _ => {}
    })?;
    Ok(styles)
}

/// Whether a format has parts of a date outside of quoted text and colours.
fn is_date(code: &str) -> bool {
    let mut closing = None;
    let mut chars = code.chars();
    while let Some(char) = chars.next() {
        match (closing, char) {
            (Some(end), char) if char == end => closing = None,
            (None, '"') => closing = Some('"'),
            (None, '[') => closing = Some(']'),
            (None, '\\') => drop(chars.next()),
            (None, 'y' | 'Y' | 'd' | 'D' | 'h' | 'H' | 's') => return true,
            _ => {}
        }
    }
    false
}

/// Where a cell is: `B12` is column 1. Cells without a place follow one another.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase);
    let mut column = 0_usize;
    for letter in letters.take(4) {
        column = column * 26 + usize::from(letter - b'A' + 1);
    }
    column.checked_sub(1)
}

fn read(bytes: &[u8], strings: &[String], styles: &Styles) -> Result<String, DocumentError> {
    let mut table = Table::default();
    let (mut kind, mut value) = (String::new(), String::new());
    let (mut is_in_value, mut is_date) = (false, false);
    let (mut next, mut at, mut row) = (0, 0, 0);
    walk(bytes, |node| match node {
        Node::Open(element) => match element.name.as_str() {
            "row" => {
                let number = element.number("r").unwrap_or(row + 1);
                // Empty rows are not in the file: one stands for all.
                if number > row + 1 && row > 0 {
                    table.begin_row();
                }
                table.begin_row();
                (row, next) = (number, 0);
            }
            "c" => {
                element.get("t").unwrap_or("n").clone_into(&mut kind);
                at = element.get("r").and_then(column).unwrap_or(next);
                is_date = element
                    .number("s")
                    .is_some_and(|style| styles.dates.contains(&style));
                value.clear();
            }
            "v" | "t" => is_in_value = true,
            _ => {}
        },
        Node::Text(text) if is_in_value => value.push_str(text),
        Node::Close("v" | "t") => is_in_value = false,
        Node::Close("c") => {
            table.add_empty(at.saturating_sub(next));
            next = at + 1;
            let shared = || strings.get(value.parse::<usize>().ok()?);
            match kind.as_str() {
                "s" => table.add(shared().map_or("", String::as_str)),
                "b" => table.add(if value == "1" { "TRUE" } else { "FALSE" }),
                "n" if is_date => table.add(&date(&value, styles.from_1904)),
                _ => table.add(&value),
            }
        }
        Node::Text(_) | Node::Close(_) => {}
    })?;
    Ok(table.markdown())
}

/// The date or time of a number of days.
fn date(value: &str, from_1904: bool) -> String {
    let Ok(mut days) = value.parse::<f64>() else {
        return value.to_owned();
    };
    if from_1904 {
        days += FROM_1904;
    } else if (1.0..60.0).contains(&days) {
        // Excel has a 29th of February in 1900.
        days += 1.0;
    }
    if !(0.0..3_000_000.0).contains(&days) {
        return value.to_owned();
    }
    let seconds = ((days - EPOCH) * 86_400.0).round();
    let stamp = osier_base::clock::rfc3339((seconds as i64) * 1000);
    let (day, time) = stamp.split_once('T').unwrap_or((&stamp, ""));
    let time = time.get(..8).unwrap_or_default();
    match (days < 1.0, time) {
        (true, time) => time.to_owned(),
        (false, "00:00:00") => day.to_owned(),
        (false, time) => format!("{day} {time}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_known_by_their_format() {
        for (code, expected) in [
            ("yyyy-mm-dd", true),
            ("h:mm", true),
            ("0.00", false),
            ("[Red]#,##0", false),
            ("0\" days\"", false),
            ("General", false),
            ("0\\d", false),
        ] {
            assert_eq!(is_date(code), expected, "{code}");
        }
        for (value, expected) in [
            ("45292", "2024-01-01"),
            ("45292.5", "2024-01-01 12:00:00"),
            ("0.25", "06:00:00"),
            ("1", "1900-01-01"),
            ("61", "1900-03-01"),
            ("-3", "-3"),
        ] {
            assert_eq!(date(value, false), expected);
        }
    }

    #[test]
    fn days_can_be_counted_from_1904() {
        assert_eq!(date("0", true), "1904-01-01");
        assert_eq!(date("43830", true), "2024-01-01");
    }

    #[test]
    fn columns_have_letters() {
        let columns = ["A1", "B12", "Z3", "AA1", "", "12"].map(column);
        assert_eq!(columns, [Some(0), Some(1), Some(25), Some(26), None, None]);
    }
}
