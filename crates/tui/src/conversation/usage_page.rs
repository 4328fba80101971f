//! The page of `/usage`: cost and tokens of the session or of all sessions, by model, by day and by tool.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command, Outbox};
use crate::drawing::{Overlays, frame, scroll, scroll::Scroll};
use crate::status::footer::tokens;
use osier_base::text::{self, counted};
use osier_protocol::{IndexEvent, Op, ToolUsage, UsagePeriod, UsageReport, UsageScope, UsageSum};
use osier_term::{Component, Cx, Face, Handled, Row, Token, View};

const ID: &str = "usage";

/// Columns of a number, of a cost, and of the shortest name.
const NUMBER: usize = 8;
const COST: usize = 10;
const NAME: usize = 16;
/// Widest a table gets.
const TABLE: usize = 110;
/// Columns that need a wide screen.
const WIDE: usize = 78;

/// Opens the page with a report, or shows it on the open page.
pub(crate) fn show(report: &UsageReport, overlays: &mut Overlays) {
    match overlays.find::<UsagePage>(ID) {
        Some(page) => page.set(report),
        None => overlays.push(ID, UsagePage::new(report.clone())),
    }
}

/// Asks for a new report when the index has read more sessions.
pub(crate) fn on_index_event(event: &IndexEvent, overlays: &mut Overlays, outbox: &mut Outbox) {
    if let IndexEvent::Indexing { finished: true, .. } = event
        && let Some(page) = overlays.find::<UsagePage>(ID)
        && !page.report.complete
    {
        outbox.push(page.request());
    }
}

/// The page.
#[derive(Debug)]
struct UsagePage {
    report: UsageReport,
    /// The selection of the user; the report follows.
    scope: UsageScope,
    period: UsagePeriod,
    scroll: Scroll,
}

impl UsagePage {
    fn new(report: UsageReport) -> Self {
        Self {
            scope: report.scope,
            period: report.period,
            report,
            scroll: Scroll::default(),
        }
    }

    fn set(&mut self, report: &UsageReport) {
        if (report.scope, report.period) == (self.scope, self.period) {
            self.report = report.clone();
        }
    }

    fn request(&self) -> Op {
        Op::GetUsageReport {
            scope: self.scope,
            period: self.period,
        }
    }

    fn is_loading(&self) -> bool {
        (self.report.scope, self.report.period) != (self.scope, self.period)
    }

    /// Selects the next period, or the previous one.
    fn select_period(&mut self, forward: bool, cx: &mut Cx<'_, Action>) {
        let all = UsagePeriod::ALL;
        let here = all.iter().position(|period| *period == self.period);
        let here = here.unwrap_or_default();
        let next = if forward {
            (here + 1).min(all.len() - 1)
        } else {
            here.saturating_sub(1)
        };
        if next != here {
            self.period = all[next];
            self.scroll = Scroll::default();
            cx.push(self.request());
        }
    }

    fn switch_scope(&mut self, cx: &mut Cx<'_, Action>) {
        self.scope = match self.scope {
            UsageScope::Session => UsageScope::All,
            UsageScope::All => UsageScope::Session,
        };
        self.scroll = Scroll::default();
        cx.push(self.request());
    }

    /// The periods, with the selected one marked.
    fn periods(&self) -> Row {
        let mut row = Row::plain(" ", Token::Text);
        for period in UsagePeriod::ALL {
            let (face, words) = if period == self.period {
                (Face::bold(Token::Selected), format!(" {} ", period.title()))
            } else {
                (Token::Muted.into(), format!(" {} ", period.title()))
            };
            row.push(words, face);
        }
        row
    }

    fn rows(&self, width: usize) -> Vec<Row> {
        let report = &self.report;
        let mut rows = vec![self.periods(), Row::default()];
        let line = |words: &str| {
            let words = text::truncate(words, width.saturating_sub(2));
            Row::plain(format!(" {words}"), Token::Muted)
        };
        if self.is_loading() {
            rows.push(line("Counting…"));
            return rows;
        }
        if report.total.calls == 0 && report.tools.is_empty() {
            rows.push(line(match (self.scope, self.period) {
                (UsageScope::Session, UsagePeriod::Always) => "No model calls in this session yet",
                (UsageScope::All, UsagePeriod::Always) => "No stored session has model calls yet",
                _ => "No model calls in this period",
            }));
            return rows;
        }
        rows.extend(summary(report, width));
        if !report.complete {
            rows.push(line(
                "Some sessions are still being indexed: the numbers grow",
            ));
        }
        let table = width.saturating_sub(2).min(TABLE);
        let models = report.models.iter();
        rows.extend(section(
            "Models",
            models.map(|used| (used.model.as_str(), &used.usage)),
            table,
        ));
        let days = report.days.iter();
        rows.extend(section(
            "Days",
            days.map(|used| (used.day.as_str(), &used.usage)),
            table,
        ));
        rows.extend(tools(&report.tools, table));
        rows
    }
}

/// The sums.
fn summary(report: &UsageReport, width: usize) -> Vec<Row> {
    let total = &report.total;
    let row = |name: &str, words: &str| {
        let mut row = Row::plain(format!(" {name:<8}"), Token::Muted);
        let room = width.saturating_sub(row.width() + 1);
        row.push(text::truncate(words, room).into_owned(), Token::Text);
        row
    };
    let mut used = format!(
        "↑{} ↓{} ↺{}",
        tokens(total.input + total.cache_write),
        tokens(total.output),
        tokens(total.cache_read)
    );
    if let Some(rate) = total.hit_rate().filter(|rate| *rate > 0.0) {
        used = format!("{used} ({:.0}% of the input from cache)", rate * 100.0);
    }
    let mut calls = counted(total.calls, "model call", "model calls");
    if total.failures > 0 {
        calls = format!("{calls} ({} failed)", total.failures);
    }
    let tool_calls: u64 = report.tools.iter().map(|tool| tool.calls).sum();
    calls = format!(
        "{calls}, {}",
        counted(tool_calls, "tool call", "tool calls")
    );
    if report.scope == UsageScope::All {
        let sessions = counted(report.sessions, "session", "sessions");
        calls = format!("{calls} in {sessions}");
    }
    let saved = match (total.cache_read, total.saved) {
        (0, _) => "nothing read from cache".to_owned(),
        (_, saved) if saved > 0.0 => format!("${saved:.3} saved at list prices"),
        (read, _) => format!("{} tokens read; the saving is not known", tokens(read)),
    };
    vec![
        row("Cost", &total.cost_words()),
        row("Cache", &saved),
        row("Tokens", &used),
        row("Calls", &calls),
    ]
}

/// A heading and the names of columns, right-aligned.
fn heading(name: &str, columns: &[(&str, usize)], width: usize) -> Row {
    let right: usize = columns.iter().map(|(_, width)| width).sum();
    let mut row = Row::plain(" ", Token::Text);
    let room = width.saturating_sub(right + 1);
    row.push(
        format!("{name:<room$}", room = room.max(NAME)),
        Token::Heading,
    );
    for (column, width) in columns {
        row.push(format!("{column:>width$}"), Token::Muted);
    }
    row
}

fn table_row(name: &str, cells: &[(String, usize)], width: usize) -> Row {
    let right: usize = cells.iter().map(|(_, width)| width).sum();
    let room = width.saturating_sub(right + 1).max(NAME);
    let shown = text::truncate(name, room.saturating_sub(1)).into_owned();
    let gap = room.saturating_sub(text::width(&shown));
    let mut row = Row::plain(format!(" {shown}{}", " ".repeat(gap)), Token::Text);
    for (cell, width) in cells {
        row.push(format!("{cell:>width$}"), Token::Text);
    }
    row
}

/// The rows of models or days.
fn section<'a>(
    name: &str,
    used: impl Iterator<Item = (&'a str, &'a UsageSum)>,
    width: usize,
) -> Vec<Row> {
    let is_wide = width >= WIDE;
    let mut columns = vec![("calls", NUMBER), ("input", NUMBER), ("output", NUMBER)];
    if is_wide {
        columns.push(("cached", NUMBER));
        columns.push(("saved", COST));
    }
    columns.push(("cost", COST));
    let rows = used.map(|(name, usage)| {
        let mut cells = vec![
            (usage.calls.to_string(), NUMBER),
            (tokens(usage.input + usage.cache_write), NUMBER),
            (tokens(usage.output), NUMBER),
        ];
        if is_wide {
            let saved = match usage.saved {
                saved if saved > 0.0 => format!("${saved:.3}"),
                _ => "-".to_owned(),
            };
            cells.push((tokens(usage.cache_read), NUMBER));
            cells.push((saved, COST));
        }
        cells.push((usage.cost_cell(), COST));
        let name = if name.is_empty() { "unknown" } else { name };
        table_row(name, &cells, width)
    });
    let rows: Vec<Row> = rows.collect();
    with_heading(heading(name, &columns, width), rows)
}

fn tools(tools: &[ToolUsage], width: usize) -> Vec<Row> {
    let columns = [("calls", NUMBER), ("failed", NUMBER)];
    let rows = tools.iter().map(|used| {
        let failures = match used.failures {
            0 => "-".to_owned(),
            failures => failures.to_string(),
        };
        let cells = [(used.calls.to_string(), NUMBER), (failures, NUMBER)];
        table_row(&text::single_line(&used.tool), &cells, width)
    });
    let rows = rows.collect();
    with_heading(heading("Tools", &columns, width), rows)
}

fn with_heading(heading: Row, rows: Vec<Row>) -> Vec<Row> {
    if rows.is_empty() {
        return rows;
    }
    let mut all = vec![Row::default(), heading];
    all.extend(rows);
    all
}

impl Component<Command, Action> for UsagePage {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let width = usize::from(area.width);
        let page = usize::from(area.height.saturating_sub(2));
        let body = self.rows(width);
        let shown = self.scroll.fit(body.len(), page);
        let title = Face::bold(Token::Title);
        let remark = (self.scope.title(), Token::Muted.into());
        let mut rows = vec![frame::rule("Usage", title, remark, width)];
        rows.extend_from_slice(&body[shown]);
        rows.resize(page + 1, Row::default());
        let mut hints = vec!["←→ period".to_owned()];
        let other = match self.scope {
            UsageScope::Session => "all sessions",
            UsageScope::All => "this session",
        };
        let mut words = vec![(Command::ShowAll, other), (Command::Cancel, "close")];
        if self.scroll.is_cut() {
            words.insert(1, (Command::Down, "scroll"));
        }
        hints.extend(frame::hints(view.keymap, "list", &words));
        let keys = frame::fitting(&hints, width.saturating_sub(4));
        rows.push(frame::rule(
            &keys,
            Token::Muted.into(),
            ("", Face::default()),
            width,
        ));
        view.paint(&rows, area, buffer);
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Cancel | Command::Accept | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
            }
            Command::Left => self.select_period(false, cx),
            Command::Right => self.select_period(true, cx),
            Command::ShowAll => self.switch_scope(cx),
            command => return self.scroll.on_command(command),
        }
        Handled::Yes
    }

    fn on_key(&mut self, _: osier_term::input::KeyPress, _: &mut Cx<'_, Action>) -> Handled {
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        command == Command::ShowAll || frame::is_of_most_lists(command)
    }

    fn meaning(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::ShowAll => Some("Switch between this session and all sessions"),
            Command::Left => Some("Select the previous period"),
            Command::Right => Some("Select the next period"),
            Command::Accept | Command::Cancel => Some("Close"),
            command => scroll::meaning(command),
        }
    }

    fn letters(&self) -> Vec<(String, String)> {
        frame::letters(&[("← →", "Select the period")])
    }

    fn foot(&self) -> u16 {
        1
    }
}
