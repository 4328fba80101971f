//! The output of commands as rows, in the colours in which it was printed. Only the visible part of the output is laid
//! out.

use serde_json::Value;

use osier_agent::{Output, ToolResultMessage};
use osier_base::ansi::Run;
use osier_base::{ansi, text};
use osier_term::keymap::describe;
use osier_term::{Face, KeyPress, Row, Span, Token, Wrap};

/// How much of an output is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fold {
    pub rows: usize,
    /// The key that shows the rest.
    pub key: Option<KeyPress>,
}

impl Fold {
    /// The row that counts hidden lines.
    fn row(self, count: usize, noun: [&str; 2], side: &str) -> Row {
        let [one, many] = noun;
        let mut line = format!("  … {} {side}", text::counted(count, one, many));
        if let Some(key) = self.key {
            line.extend([" · ", &describe(key), " to show"]);
        }
        Row::plain(line, Token::Muted)
    }
}

impl From<usize> for Fold {
    fn from(rows: usize) -> Self {
        Self { rows, key: None }
    }
}

/// Lines more than the limit that are shown instead of being counted.
const SLACK: usize = 2;

/// A text and the colours of its parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painted<'a> {
    pub text: &'a str,
    pub colours: &'a [Run],
}

impl<'a> From<&'a str> for Painted<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, colours: &[] }
    }
}

impl<'a> From<&'a Output> for Painted<'a> {
    fn from(output: &'a Output) -> Self {
        Self {
            text: &output.text,
            colours: &output.colours,
        }
    }
}

impl Painted<'_> {
    /// The start of the text, at most `bytes` long.
    pub(super) fn head(self, bytes: usize) -> Self {
        Self {
            text: text::head_bytes(self.text, bytes),
            ..self
        }
    }

    pub(super) fn trimmed(self) -> Self {
        Self {
            text: self.text.trim_end(),
            ..self
        }
    }

    /// The text without its last line, if this line only repeats the exit code of the header.
    pub(super) fn without_exit_code(self, result: &ToolResultMessage) -> Self {
        let code = result.details.get("exitCode").and_then(Value::as_i64);
        let Some(code) = code.filter(|_| !result.status.is_success()) else {
            return self;
        };
        let (before, last) = self.text.rsplit_once('\n').unwrap_or_default();
        let repeats =
            last.starts_with(&format!("[exit code {code}, after ")) && last.ends_with(']');
        let text = if repeats { before } else { self.text };
        Self { text, ..self }
    }

    /// All rows, behind `indent`.
    pub(super) fn rows(self, width: u16, indent: &[Span]) -> Vec<Row> {
        self.part(0..self.text.len(), width, indent)
    }

    fn part(self, range: std::ops::Range<usize>, width: u16, indent: &[Span]) -> Vec<Row> {
        let mut rows = Vec::new();
        let wrap = Wrap::new(usize::from(width)).prefixed(indent);
        let shown = &self.text[range.clone()];
        // Colours have positions in the sanitized text, which differ if sanitizing changes the
        // text.
        if self.colours.is_empty() || matches!(text::sanitize(shown), std::borrow::Cow::Owned(_)) {
            wrap.text(shown, Token::ToolOutput, &mut rows);
            return rows;
        }
        let mut start = range.start;
        for line in shown.strip_suffix('\n').unwrap_or(shown).split('\n') {
            let end = start + line.len();
            wrap.line(
                &spans(line, ansi::part(self.colours, start..end)),
                &mut rows,
            );
            start = end + 1;
        }
        rows
    }
}

/// A line with its tabs expanded.
fn spans(line: &str, colours: impl Iterator<Item = Run>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut column = 0;
    let mut push = |piece: &str, face: Face| {
        if !piece.is_empty() {
            spans.push(Span::new(expanded(piece, &mut column), face));
        }
    };
    let plain = Face::from(Token::ToolOutput);
    let mut at = 0;
    for run in colours {
        let (start, end) = (run.start as usize, run.end as usize);
        let (Some(before), Some(coloured)) = (line.get(at..start), line.get(start..end)) else {
            break;
        };
        push(before, plain);
        push(coloured, plain.styled(run.style));
        at = end;
    }
    push(&line[at..], plain);
    spans
}

/// A piece of a line from `column` on, with its tabs expanded.
fn expanded(piece: &str, column: &mut usize) -> String {
    let mut shown = String::with_capacity(piece.len());
    for (place, part) in piece.split('\t').enumerate() {
        if place > 0 {
            let spaces = text::TAB_WIDTH - *column % text::TAB_WIDTH;
            shown.extend(std::iter::repeat_n(' ', spaces));
            *column += spaces;
        }
        shown.push_str(part);
        *column += text::width(part);
    }
    shown
}

/// The first rows of `output`, with a line that counts the rest below.
pub(super) fn head_rows(output: Painted<'_>, width: u16, indent: &[Span], fold: Fold) -> Vec<Row> {
    let output = output.trimmed();
    let limit = with_slack(output, fold.rows);
    // Only the first lines are laid out: the output may be long.
    let end = output
        .text
        .match_indices('\n')
        .nth(limit - 1)
        .map_or(output.text.len(), |(newline, _)| newline);
    let mut rows = output.part(0..end, width, indent);
    let hidden_lines = output.text[end..].matches('\n').count();
    let cut = cut(rows.len(), limit, hidden_lines);
    rows.truncate(rows.len() - cut);
    match (hidden_lines, cut) {
        (0, 0) => {}
        (0, cut) => rows.push(fold.row(cut, ["row", "rows"], "below")),
        (lines, _) => rows.push(fold.row(lines, ["line", "lines"], "below")),
    }
    rows
}

/// The limit for `output`: a line that counts one or two hidden lines takes about as much space as these lines.
fn with_slack(output: Painted<'_>, limit: usize) -> usize {
    let all = output
        .text
        .lines()
        .take(limit.saturating_add(SLACK + 1))
        .count();
    if all <= limit.saturating_add(SLACK) {
        all.max(limit)
    } else {
        limit
    }
}

/// Rows that are left out of the rows of the shown lines.
fn cut(rows: usize, limit: usize, hidden_lines: usize) -> usize {
    let cut = rows.saturating_sub(limit);
    if hidden_lines == 0 && cut <= SLACK {
        0
    } else {
        cut
    }
}

/// The lines of a part of an output, with the lines that a mark in the part counts: `[… 98,803 lines, 5 bytes omitted
/// …]`.
fn lines_in(part: &str) -> usize {
    let mut count = 0;
    for line in part.lines() {
        let mark = line
            .strip_prefix("[… ")
            .and_then(|mark| mark.split_once(" lines, "));
        let omitted = mark.filter(|(_, rest)| rest.contains(" bytes omitted"));
        let omitted = omitted.and_then(|(lines, _)| lines.replace(',', "").parse().ok());
        count += omitted.unwrap_or(1_usize);
    }
    count
}

/// The last rows of `output`, with a line that counts the rest above.
pub(crate) fn tail_rows(output: Painted<'_>, width: u16, indent: &[Span], fold: Fold) -> Vec<Row> {
    let output = output.trimmed();
    if output.text.is_empty() {
        return Vec::new();
    }
    let limit = with_slack(output, fold.rows);
    // Only the last lines are laid out: the output may be long.
    let start = output
        .text
        .rmatch_indices('\n')
        .nth(limit - 1)
        .map_or(0, |(newline, _)| newline + 1);
    let hidden_lines = lines_in(&output.text[..start]);
    let rows = output.part(start..output.text.len(), width, indent);
    let cut = cut(rows.len(), limit, hidden_lines);
    let mut shown = Vec::with_capacity(limit + 1);
    match (hidden_lines, cut) {
        (0, 0) => {}
        (0, cut) => shown.push(fold.row(cut, ["row", "rows"], "above")),
        (lines, _) => shown.push(fold.row(lines, ["line", "lines"], "above")),
    }
    shown.extend(rows.into_iter().skip(cut));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_base::ansi::{Hue, Style};

    #[test]
    fn output_that_is_hardly_longer_than_the_limit_is_shown() {
        for rows in [
            tail_rows("1\n2\n3\n4\n".into(), 20, &[], 2.into()),
            head_rows("1\n2\n3\n4\n".into(), 20, &[], 2.into()),
            // Two lines of two rows each.
            tail_rows("12\n34\n".into(), 1, &[], 2.into()),
            head_rows("12\n34\n".into(), 1, &[], 2.into()),
        ] {
            let shown: Vec<String> = rows.iter().map(Row::text).collect();
            assert_eq!(shown, ["1", "2", "3", "4"]);
        }
    }

    #[test]
    fn collapsed_results_count_the_lines_below() {
        let rows = head_rows(
            "1\n2\n3\n4\n5\n".into(),
            20,
            &[Span::new("  ", Token::ToolOutput)],
            Fold {
                rows: 2,
                key: Some(KeyPress::ctrl('o')),
            },
        );
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(shown, ["  1", "  2", "  … 3 lines below · ctrl+o to show"]);
    }

    #[test]
    fn collapsed_output_counts_the_lines_above() {
        let rows = tail_rows(
            "1\n2\n3\n4\n5\n".into(),
            20,
            &[Span::new("  ", Token::ToolOutput)],
            Fold {
                rows: 2,
                key: Some(KeyPress::ctrl('o')),
            },
        );
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(shown, ["  … 3 lines above · ctrl+o to show", "  4", "  5"]);
    }

    #[test]
    fn lines_that_a_result_leaves_out_are_counted() {
        let output =
            "1\n2\n[… 99994 lines, 588 bytes omitted; the complete output is in /t …]\n3\n4\n";
        let rows = tail_rows(output.into(), 20, &[], 2.into());
        assert_eq!(rows[0].text(), "  … 99996 lines above");
    }

    #[test]
    fn rows_keep_the_colours_of_their_text() {
        let style = Style {
            fg: Some(Hue::Named(2)),
            ..Style::default()
        };
        let colours = [Run {
            start: 2,
            end: 7,
            style,
        }];
        let text = "a\tb\tcd\nef\n";
        let rows = Painted {
            text,
            colours: &colours,
        }
        .rows(20, &[]);
        let green = Face::from(Token::ToolOutput).styled(style);
        let plain = Face::from(Token::ToolOutput);
        assert_eq!(rows.len(), 2);
        assert_eq!(
            rows[0].spans,
            [Span::new("a   ", plain), Span::new("b   cd", green),]
        );
        assert_eq!(rows[1].spans, [Span::new("ef", plain)]);
    }
}
