//! Excel: each sheet as a table with its name. Values are those that Excel stored; dates are shown as dates.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::container::{Container, DocumentError};
use super::table::Table;
use super::xml::{Node, relations, walk};

/// Days from Excel's day 0 to the start of the Unix epoch.
const EPOCH: f64 = 25_569.0;

pub(super) fn text(container: &mut Container<'_>) -> Result<String, DocumentError> {
    const MAIN: &str = "xl/workbook.xml";
    let main = container.needed(MAIN)?;
    let mut sheets = Vec::new();
    walk(&main, |node| {
        if let Node::Open(element) = node
            && element.name == "sheet"
        {
            let name = element.get("name").unwrap_or_default().to_owned();
            sheets.push((name, element.get("id").unwrap_or_default().to_owned()));
        }
    })?;
    let targets = relations(container, MAIN)?;
    let strings = match container.part("xl/sharedStrings.xml")? {
        Some(bytes) => shared_strings(&bytes)?,
        None => Vec::new(),
    };
    let dates = match container.part("xl/styles.xml")? {
        Some(bytes) => date_styles(&bytes)?,
        None => BTreeSet::new(),
    };
    let mut text = String::new();
    for (name, id) in sheets {
        let Some(part) = targets.get(&id) else {
            continue;
        };
        let Some(bytes) = container.part(part)? else {
            continue;
        };
        let table = read(&bytes, &strings, &dates)?;
        let _ = write!(text, "## {name}\n\n{table}\n");
    }
    Ok(text)
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
    for char in code.chars() {
        match (closing, char) {
            (Some(end), char) if char == end => closing = None,
            (None, '"') => closing = Some('"'),
            (None, '[') => closing = Some(']'),
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

fn read(
    bytes: &[u8],
    strings: &[String],
    dates: &BTreeSet<usize>,
) -> Result<String, DocumentError> {
    let mut table = Table::default();
    let (mut kind, mut value) = (String::new(), String::new());
    let (mut is_in_value, mut is_date, mut is_cut) = (false, false, false);
    let (mut next, mut at) = (0, 0);
    walk(bytes, |node| match node {
        Node::Open(element) => match element.name.as_str() {
            "row" => {
                is_cut = table.is_full();
                if !is_cut {
                    table.begin_row();
                }
                next = 0;
            }
            "c" => {
                element.get("t").unwrap_or("n").clone_into(&mut kind);
                at = element.get("r").and_then(column).unwrap_or(next);
                is_date = element
                    .number("s")
                    .is_some_and(|style| dates.contains(&style));
                value.clear();
            }
            "v" | "t" => is_in_value = true,
            _ => {}
        },
        Node::Text(text) if is_in_value => value.push_str(text),
        Node::Close("v" | "t") => is_in_value = false,
        Node::Close("c") if !is_cut => {
            while next < at && next < 200 {
                table.add("");
                next += 1;
            }
            next = at + 1;
            let shared = || strings.get(value.parse::<usize>().ok()?);
            match kind.as_str() {
                "s" => table.add(shared().map_or("", String::as_str)),
                "b" => table.add(if value == "1" { "TRUE" } else { "FALSE" }),
                "n" if is_date => table.add(&date(&value)),
                _ => table.add(&value),
            }
        }
        Node::Text(_) | Node::Close(_) => {}
    })?;
    let mut text = table.markdown();
    if is_cut {
        text.push_str("\n[the rest of the sheet is left out]\n");
    }
    Ok(text)
}

/// The date or time of a number of days.
fn date(value: &str) -> String {
    let Ok(days) = value.parse::<f64>() else {
        return value.to_owned();
    };
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
        ] {
            assert_eq!(is_date(code), expected, "{code}");
        }
        for (value, expected) in [
            ("45292", "2024-01-01"),
            ("45292.5", "2024-01-01 12:00:00"),
            ("0.25", "06:00:00"),
            ("-3", "-3"),
        ] {
            assert_eq!(date(value), expected);
        }
    }

    #[test]
    fn columns_have_letters() {
        let columns = ["A1", "B12", "Z3", "AA1", "", "12"].map(column);
        assert_eq!(columns, [Some(0), Some(1), Some(25), Some(26), None, None]);
    }
}
