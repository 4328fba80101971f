//! The cell of a command the user ran with `!` or `!!`.

use osier_agent::{Output, ShellRun};
use osier_base::ansi::{Run, carried};
use osier_base::clock;
use osier_term::{Face, Row, Span, Token};

use super::cell_style::{CellStyle, plain};
use super::output::{Painted, tail_rows};

/// Rows of output shown while collapsed: users want to see the output of their own commands.
const FOLDED_ROWS: usize = 15;
const LIVE_LIMIT: usize = 64 * 1024;

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShellCell {
    pub id: String,
    pub command: String,
    pub exclude_from_context: bool,
    /// Set when it has ended.
    pub run: Option<ShellRun>,
    live: Output,
    /// The colours of the output, once the command has ended. They are not stored.
    colours: Box<[Run]>,
}

impl ShellCell {
    pub(crate) fn running(id: String, command: String, exclude_from_context: bool) -> Self {
        Self {
            id,
            command,
            exclude_from_context,
            run: None,
            live: Output::default(),
            colours: Box::default(),
        }
    }

    pub(crate) fn stored(run: &ShellRun) -> Self {
        let mut cell = Self::running(String::new(), run.command.clone(), run.exclude_from_context);
        cell.run = Some(run.clone());
        cell
    }

    pub(crate) fn update(&mut self, output: &Output) {
        self.live.append(output, LIVE_LIMIT);
    }

    /// The command has ended. Live output is no longer needed.
    pub(crate) fn finish(&mut self, run: ShellRun) {
        let live = std::mem::take(&mut self.live);
        self.colours = carried(&live.text, &live.colours, &run.output).into();
        self.run = Some(run);
    }

    /// The output of the command so far.
    pub(crate) fn output(&self) -> &str {
        let run = self.run.as_ref();
        run.map_or(&self.live.text, |run| &run.output)
    }

    pub(crate) fn has_failed(&self) -> bool {
        let run = self.run.as_ref();
        run.is_some_and(|run| run.exit_code != Some(0))
    }

    pub(crate) fn rows(&self, width: u16, expanded: bool, style: CellStyle) -> Vec<Row> {
        let mark = match (style.linear, self.exclude_from_context) {
            (false, true) => "!! ",
            (false, false) => "! ",
            (true, true) => "You ran, hidden from the model: ",
            (true, false) => "You ran: ",
        };
        let face = Face::bold(Token::ToolName);
        let first = [Span::new(mark, Token::UserMarker)];
        let rest = [Span::new("  ", Token::UserMarker)];
        let mut rows = plain(&self.command, face, width, &first, &rest);
        let indent = [Span::new("  ", Token::ToolOutput)];
        let output = match &self.run {
            Some(run) => Painted {
                text: &run.output,
                colours: &self.colours,
            },
            None => Painted::from(&self.live),
        };
        if expanded {
            rows.extend(output.trimmed().rows(width, &indent));
        } else {
            rows.extend(tail_rows(output, width, &indent, style.fold(FOLDED_ROWS)));
        }
        if let Some(ending) = self.run.as_ref().and_then(ending) {
            rows.push(Row::plain(format!("  {ending}"), Token::Muted));
        }
        rows
    }
}

/// How it ended, when that is worth a row.
fn ending(run: &ShellRun) -> Option<String> {
    let how = match (run.cancelled, run.exit_code) {
        (true, _) => "interrupted".to_owned(),
        (false, Some(0)) if run.duration_ms < 1000 => return None,
        (false, Some(0)) => "done".to_owned(),
        (false, Some(code)) => format!("exit {code}"),
        (false, None) => "killed by a signal".to_owned(),
    };
    Some(format!(
        "{how} · {}",
        clock::human_duration(run.duration_ms)
    ))
}
