//! Groups consecutive calls that only read into one row: `Read 5 files, searched 3 times`. The user
//! can open the row; a call that failed stays outside.

use super::cell::{Body, Cell};
use super::cell_style::CellStyle;
use super::strip::Strip;
use osier_base::text;
use osier_settings::Density;
use osier_term::keymap::describe;
use osier_term::{Face, Row, Token};

/// The minimum number of calls that become one row.
const LEAST: usize = 3;

/// The place of a cell in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    Alone,
    /// The row of the group is in the place of this cell.
    First,
    Inside,
}

impl Strip {
    /// Blank rows above the cell, if there are messages before it, loaded or not. The line below a turn has its own row
    /// for that, because the line can be hidden.
    pub(super) fn gap(&self, cell: usize, style: CellStyle) -> usize {
        let has_none = matches!(
            self.cells.get(cell).map(|cell| &cell.body),
            Some(Body::Turn(_))
        ) || self.grouping(cell, style) == Grouping::Inside;
        usize::from((cell > 0 || self.earlier) && !has_none)
    }

    /// Rows of a cell on a screen of this width, without its gap.
    pub(super) fn height(&mut self, cell: usize, width: u16, style: CellStyle) -> usize {
        match self.grouping(cell, style) {
            Grouping::Alone => self.cells[cell].height(width, style),
            Grouping::First => 1,
            Grouping::Inside => 0,
        }
    }

    /// Shows the rows of `range` of a cell, one after the other, without the indent.
    pub(super) fn each_row(
        &mut self,
        cell: usize,
        (width, style): (u16, CellStyle),
        range: std::ops::Range<usize>,
        show: &mut dyn FnMut(&Row),
    ) {
        match self.grouping(cell, style) {
            Grouping::Alone => self.cells[cell].each_row(width, style, range, show),
            Grouping::First if range.contains(&0) => show(&self.group_row(cell, width, style)),
            Grouping::First | Grouping::Inside => {}
        }
    }

    /// Shows each call of the group whose row is in the place of `cell`; false where there is none.
    pub(super) fn open_group(&mut self, cell: usize, style: CellStyle) -> bool {
        if self.grouping(cell, style) != Grouping::First {
            return false;
        }
        for place in self.group(cell, style) {
            self.cells[place].expanded = Some(false);
            self.cells[place].changed();
        }
        true
    }

    /// Opens the group that hides a cell.
    pub(super) fn reveal(&mut self, cell: usize, style: CellStyle) {
        let mut places = (0..=cell).rev();
        let first = places.find(|place| self.grouping(*place, style) != Grouping::Inside);
        if let Some(first) = first.filter(|first| *first < cell) {
            self.open_group(first, style);
        }
    }

    /// Whether the cell is in a group of calls, or becomes part of one when a call follows.
    pub(super) fn may_group(&self, cell: usize, style: CellStyle) -> bool {
        let groups = !style.linear && style.density != Density::Everything;
        let at = self.cells.get(cell).filter(|_| groups);
        at.is_some_and(|at| verbs(at).is_some() || is_hidden_thinking(at, style))
    }

    fn grouping(&self, cell: usize, style: CellStyle) -> Grouping {
        if style.linear || style.density == Density::Everything {
            return Grouping::Alone;
        }
        let Some(at) = self.cells.get(cell) else {
            return Grouping::Alone;
        };
        let is_call = verbs(at).is_some();
        if !is_call && !is_hidden_thinking(at, style) {
            return Grouping::Alone;
        }
        let before = calls(self.cells[..cell].iter().rev(), style)
            .take(LEAST)
            .count();
        let after = calls(self.cells[cell + 1..].iter(), style)
            .take(LEAST)
            .count();
        let is_inside = before > 0 && (is_call || after > 0);
        match before + usize::from(is_call) + after {
            count if count < LEAST => Grouping::Alone,
            _ if is_inside => Grouping::Inside,
            _ if is_call => Grouping::First,
            _ => Grouping::Alone,
        }
    }

    /// The places of the calls of a group.
    fn group(&self, first: usize, style: CellStyle) -> Vec<usize> {
        let cells = self.cells[first..].iter().enumerate();
        let belongs = |cell: &Cell| verbs(cell).is_some() || is_hidden_thinking(cell, style);
        let members = cells.take_while(|(_, cell)| belongs(cell));
        let calls = members.filter(|(_, cell)| verbs(cell).is_some());
        calls.map(|(place, _)| first + place).collect()
    }

    fn group_row(&self, first: usize, width: u16, style: CellStyle) -> Row {
        let mut counts: Vec<(&str, &str, usize)> = Vec::new();
        for place in self.group(first, style) {
            let Some((verb, thing)) = verbs(&self.cells[place]) else {
                continue;
            };
            match counts.iter_mut().find(|count| count.0 == verb) {
                Some(count) => count.2 += 1,
                None => counts.push((verb, thing, 1)),
            }
        }
        let parts = counts.into_iter().map(|(verb, thing, count)| {
            format!(
                "{verb} {}",
                text::counted(count, thing, &format!("{thing}s"))
            )
        });
        let mut line = parts.collect::<Vec<_>>().join(", ");
        if let Some(first) = line.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let mut row = Row::plain("● ", Token::Success);
        row.push(line, Face::bold(Token::ToolName));
        if let Some(key) = style.expand_key {
            let hint = format!(" · {} to show", describe(key));
            if row.width() + text::width(&hint) <= usize::from(width) {
                row.push(hint, Token::Muted);
            }
        }
        row.truncated(usize::from(width))
    }
}

/// The calls of a group from a cell on, in one direction.
fn calls<'a>(
    cells: impl Iterator<Item = &'a Cell>,
    style: CellStyle,
) -> impl Iterator<Item = &'a Cell> {
    let belongs = move |cell: &&Cell| verbs(cell).is_some() || is_hidden_thinking(cell, style);
    cells
        .take_while(belongs)
        .filter(|cell| verbs(cell).is_some())
}

/// The verb and the noun that count several calls, if the cell can be in a group: a call that only
/// read something, and that the user has neither expanded nor collapsed.
fn verbs(cell: &Cell) -> Option<(&'static str, &'static str)> {
    let Body::Tool(tool) = &cell.body else {
        return None;
    };
    tool.several().filter(|_| cell.expanded.is_none())
}

/// Whether the cell is a row `Thought`, which does not separate calls.
pub(super) fn is_hidden_thinking(cell: &Cell, style: CellStyle) -> bool {
    matches!(cell.body, Body::Thinking { .. }) && !cell.expanded.unwrap_or(style.show_thinking)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::tool::ToolCell;
    use super::*;
    use osier_agent::{ToolResultMessage, ToolStatus};
    use osier_llm::{ContentBlock, ToolResult};
    use osier_term::KeyPress;
    use serde_json::json;

    fn style(density: Density) -> CellStyle {
        CellStyle {
            density,
            expand_key: Some(KeyPress::ctrl('o')),
            ..CellStyle::default()
        }
    }

    /// The calls, each with its tool and whether it ended well; `text` is a sentence of the model.
    fn strip(calls: &[(&str, bool)]) -> Strip {
        let mut strip = Strip::default();
        for (number, (name, is_success)) in calls.iter().enumerate() {
            if *name == "text" {
                strip.notice(osier_agent::Severity::Info, "text");
                continue;
            }
            let mut cell = ToolCell::streaming(number.to_string(), (*name).to_owned());
            cell.arguments =
                json!({"file_path": format!("{number}.rs"), "pattern": "x", "path": "."});
            let result = ToolResult {
                tool_call_id: number.to_string(),
                tool_name: (*name).to_owned(),
                content: vec![ContentBlock::Text {
                    text: "found".to_owned(),
                }],
                is_error: !is_success,
                timestamp: 0,
            };
            let status = if *is_success {
                ToolStatus::Success
            } else {
                ToolStatus::Aborted
            };
            cell.finish(Arc::new(ToolResultMessage {
                result,
                status,
                ..ToolResultMessage::default()
            }));
            strip.push(Body::Tool(Box::new(cell)));
        }
        strip
    }

    /// All rows with the gaps.
    fn rows(strip: &mut Strip, style: CellStyle) -> Vec<String> {
        let mut rows = Vec::new();
        for cell in 0..strip.cells.len() {
            rows.extend(std::iter::repeat_n(String::new(), strip.gap(cell, style)));
            let height = strip.height(cell, 60, style);
            let before = rows.len();
            strip.each_row(cell, (60, style), 0..height, &mut |row| {
                rows.push(row.text());
            });
            assert_eq!(rows.len() - before, height, "cell {cell}");
        }
        rows
    }

    #[test]
    fn three_calls_that_look_around_are_one_row_that_opens() {
        let mut strip = strip(&[("read", true), ("grep", true), ("read", true), ("ls", true)]);
        let normal = style(Density::Normal);
        assert_eq!(
            rows(&mut strip, normal),
            ["● Read 2 files, searched 1 time, listed 1 folder"]
        );
        assert!(!strip.open_group(1, normal));
        // A jump to a call of the group opens it.
        strip.reveal(2, normal);
        let opened = rows(&mut strip, normal);
        assert_eq!(opened[0], "● read 0.rs");
        assert!(opened.contains(&"  found".to_owned()), "{opened:#?}");
        // Later calls are a group of their own.
        assert!(!strip.open_group(0, normal));
    }

    #[test]
    fn a_failed_call_a_text_and_a_change_separate_groups() {
        let read = ("read", true);
        let mut strip = strip(&[
            read,
            read,
            read,
            ("read", false),
            read,
            read,
            ("text", true),
            read,
            ("bash", true),
            ("edit", true),
        ]);
        let shown = rows(&mut strip, style(Density::Normal));
        let group = "● Read 3 files · ctrl+o to show";
        assert_eq!(shown.iter().filter(|row| *row == group).count(), 1);
        assert_eq!(shown[0], group);
        let calls = |name: &str| shown.iter().filter(|row| row.contains(name)).count();
        assert_eq!((calls("read "), calls("bash"), calls("edit")), (4, 1, 1));
    }

    #[test]
    fn everything_shows_each_call_and_quiet_no_output() {
        let mut strip = strip(&[
            ("grep", true),
            ("grep", true),
            ("grep", true),
            ("bash", true),
        ]);
        let found = |rows: &[String]| rows.iter().filter(|row| row.trim() == "found").count();
        assert_eq!(found(&rows(&mut strip, style(Density::Everything))), 4);
        assert_eq!(found(&rows(&mut strip, style(Density::Normal))), 1);
        let quiet = rows(&mut strip, style(Density::Quiet));
        assert_eq!(found(&quiet), 0);
        assert_eq!(quiet[0], "● Searched 3 times · ctrl+o to show");
    }
}
