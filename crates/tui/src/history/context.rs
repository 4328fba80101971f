//! The context window as a chart: its parts, the reserve, the messages that a compaction would remove, and the share
//! that the provider's cache has.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command};
use crate::drawing::{Overlays, frame, frame::Panel, layout::docked_panel, scroll, scroll::Scroll};
use crate::status::footer::tokens;
use osier_base::{clock, text};
use osier_llm::Usage;
use osier_protocol::{ContextReport, Spending, TreeEvent, TreeOp, WindowPart, WindowPartKind};
use osier_term::{Component, Cx, Face, Handled, Row, Token, View};

const ID: &str = "context";

/// Opens the report when it arrives.
pub(crate) fn on_event(event: &TreeEvent, overlays: &mut Overlays) {
    if let TreeEvent::ContextReport { report, spending } = event {
        overlays.push(ID, ContextView::new((**report).clone(), spending));
    }
}

/// Columns of names, and of the longest bar.
const NAME: usize = 24;
const BAR: usize = 30;
/// Widest the overlay gets.
const WIDTH: u16 = 84;

/// The chart of the context window.
#[derive(Debug)]
pub(crate) struct ContextView {
    report: ContextReport,
    cache: CacheFigures,
    scroll: Scroll,
}

/// Hits and misses of the caches of providers.
#[derive(Debug, Default)]
struct CacheFigures {
    last: Usage,
    session: Usage,
    missed: u64,
    /// The cost of cache misses in dollars.
    missed_cost: f64,
    /// How long the conversation stays in the cache; empty if that is unknown.
    kept: String,
}

/// The sign and the colour of each kind in the bar. Kinds that have one colour in a theme of few colours differ in the sign.
fn drawn(kind: WindowPartKind) -> (&'static str, Token) {
    match kind {
        WindowPartKind::System => ("█", Token::Muted),
        WindowPartKind::Tools => ("█", Token::Code),
        WindowPartKind::Summaries => ("█", Token::Error),
        WindowPartKind::Prompts => ("▓", Token::Text),
        WindowPartKind::Files => ("▓", Token::SyntaxType),
        WindowPartKind::Answers => ("█", Token::Accent),
        WindowPartKind::Thinking => ("▚", Token::Thinking),
        WindowPartKind::ToolCalls => ("▓", Token::Working),
        WindowPartKind::ToolResults => ("█", Token::Success),
        WindowPartKind::Shell => ("▚", Token::Warning),
    }
}

impl ContextView {
    pub(crate) fn new(report: ContextReport, spending: &Spending) -> Self {
        let (missed, missed_cost) = spending.missed();
        let cache = CacheFigures {
            last: spending.last.unwrap_or_default(),
            session: spending.total,
            missed,
            missed_cost,
            kept: report
                .cache_until
                .map_or_else(String::new, |until| kept(until, clock::now_ms())),
        };
        Self {
            report,
            cache,
            scroll: Scroll::default(),
        }
    }

    fn rows(&self, inner: usize) -> Vec<Row> {
        let report = &self.report;
        let width = inner.saturating_sub(2);
        let mut rows = Vec::new();
        let percent = report.used * 100 / report.window.max(1);
        let mut used = Row::plain(format!(" {percent}%"), Face::bold(Token::Title));
        let sum: u64 = report.parts.iter().map(|part| part.tokens).sum();
        // The model has counted the total; the parts can be estimates.
        let estimated = if sum == report.used {
            ""
        } else {
            "; parts estimated"
        };
        let count = format!(
            " of {}: {} of {} tokens{estimated}",
            report.model,
            tokens(report.used),
            tokens(report.window),
        );
        let room = width.saturating_sub(used.width());
        used.push(text::truncate(&count, room).into_owned(), Token::Muted);
        rows.extend([used, self.bar(width), Row::default()]);
        let largest = report.parts.iter().map(|part| part.tokens).max();
        let part = |part: &WindowPart| part_row(*part, largest.unwrap_or_default(), width);
        rows.extend(report.parts.iter().map(part));
        let free = report
            .window
            .saturating_sub(report.used)
            .saturating_sub(report.reserve);
        for (sign, token, name, count) in [
            ("░", Token::Muted, "free", free),
            ("▒", Token::Border, "reserved for output", report.reserve),
        ] {
            let line = Line {
                sign,
                token,
                name,
                count,
                ..Line::default()
            };
            rows.push(count_row(&line, width));
        }
        rows.push(Row::default());
        rows.extend(self.outlook(width));
        rows.extend(self.cache.rows(width));
        if !report.largest.is_empty() {
            rows.push(Row::default());
            rows.push(Row::plain(" Largest", Token::Heading));
        }
        for (name, size) in &report.largest {
            let name = text::single_line(name.trim().lines().next().unwrap_or_default());
            let name = text::unticked(&name);
            let mut row = Row::plain(format!("  {:>7}  ", tokens(*size)), Token::Text);
            let room = width.saturating_sub(row.width());
            row.push(text::truncate(&name, room).into_owned(), Token::Muted);
            rows.push(row);
        }
        rows
    }

    /// The complete window as one line.
    fn bar(&self, width: usize) -> Row {
        let report = &self.report;
        let window = report.window.max(1) as usize;
        let mut row = Row::plain(" ", Token::Text);
        let mut used = 0;
        let guessed: u64 = report.parts.iter().map(|part| part.tokens).sum();
        let mut sum = 0;
        for part in &report.parts {
            sum += part.tokens;
            // The counted total is distributed in proportion to the estimates.
            let end = sum as usize * report.used as usize / guessed.max(1) as usize;
            let end = (end * width / window).min(width);
            let (sign, token) = drawn(part.kind);
            row.push(sign.repeat(end.saturating_sub(used)), token);
            used = used.max(end);
        }
        let reserve = (report.reserve as usize * width / window).min(width - used);
        row.push("░".repeat(width - used - reserve), Token::Muted);
        row.push("▒".repeat(reserve), Token::Border);
        row
    }

    /// The effect of a compaction.
    fn outlook(&self, width: usize) -> Vec<Row> {
        let report = &self.report;
        let line =
            |text: String| Row::plain(format!(" {}", text::truncate(&text, width)), Token::Text);
        let trigger = report.window.saturating_sub(report.reserve);
        let when = if report.automatic {
            format!("Compacts automatically above {}", tokens(trigger))
        } else {
            "Automatic compaction is off".to_owned()
        };
        let (goes, stays) = (report.goes, report.stays);
        let what = if goes.0 == 0 {
            "Nothing to compact yet".to_owned()
        } else {
            format!(
                "Compacting now summarizes {} ({} tokens), leaves {} ({})",
                text::counted(goes.0, "message", "messages"),
                tokens(goes.1),
                stays.0,
                tokens(stays.1)
            )
        };
        let mut rows = vec![line(when), line(what)];
        rows.extend(left_out(report).into_iter().map(line));
        rows
    }
}

/// The tool results that requests leave out, and results that they could leave out.
fn left_out(report: &ContextReport) -> Vec<String> {
    let named = |(count, size): (usize, u64)| {
        let results = text::counted(count, "result", "results");
        format!("{results} of tools ({} tokens)", tokens(size))
    };
    let mut lines = Vec::new();
    if report.dropped.0 > 0 {
        lines.push(format!("Requests leave out {}", named(report.dropped)));
    }
    if report.droppable.0 > 0 {
        let what = named(report.droppable);
        lines.push(format!("The model no longer needs {what}"));
    }
    lines
}

impl CacheFigures {
    /// The rows about the cache; none before the first call.
    fn rows(&self, width: usize) -> Vec<Row> {
        let Some(rate) = self.session.hit_rate() else {
            return Vec::new();
        };
        let mut rows = vec![Row::default(), Row::plain(" Cache", Token::Heading)];
        if self.session.cache_read + self.session.cache_write == 0 {
            let line = text::truncate("No cache data yet", width.saturating_sub(2));
            rows.push(Row::plain(format!("   {line}"), Token::Muted));
            return rows;
        }
        let row = |name: &str, note: &str, count| {
            let line = Line {
                sign: " ",
                name,
                count,
                note,
                ..Line::default()
            };
            count_row(&line, width)
        };
        let gave = |rate: f64| format!("{:.0}% from cache", rate * 100.0);
        if let Some(rate) = self.last.hit_rate() {
            rows.push(row("last call", &gave(rate), self.last.context_tokens()));
        }
        rows.push(row("session", &gave(rate), self.session.context_tokens()));
        if !self.kept.is_empty() {
            let line = text::truncate(&self.kept, width.saturating_sub(2));
            rows.push(Row::plain(format!("   {line}"), Token::Text));
        }
        if self.missed > 0 {
            let cost = match self.missed_cost {
                0.0 => String::new(),
                cost => format!("${cost:.3} more"),
            };
            rows.push(row("re-sent without cache", &cost, self.missed));
        }
        rows
    }
}

/// How long the provider keeps the conversation. Both times are milliseconds since the Unix epoch.
fn kept(until: i64, now: i64) -> String {
    let minutes = (until - now).abs() / 60_000;
    let time = text::counted(minutes, "minute", "minutes");
    match (until > now, minutes) {
        (true, 0) => "kept for less than a minute".to_owned(),
        (true, _) => format!("kept for another {time}"),
        (false, 0) => "expired: the next prompt is sent without it".to_owned(),
        (false, _) => format!("expired {time} ago: the next prompt is sent without it"),
    }
}

/// A part of the window; its bar is as long as its share of the largest part.
fn part_row(part: WindowPart, largest: u64, width: usize) -> Row {
    let note = match part.goes {
        0 => String::new(),
        goes => format!("{} to compact", tokens(goes)),
    };
    let cells = part.tokens as f64 / largest.max(1) as f64 * BAR as f64;
    let (sign, token) = drawn(part.kind);
    let line = Line {
        sign,
        token,
        name: &format!("{} ({})", part.kind.name(), part.count),
        count: part.tokens,
        cells: (cells.round() as usize).max(usize::from(part.tokens > 0)),
        note: &note,
    };
    count_row(&line, width)
}

/// A sign, a name, its number, a bar of `cells`, and a note.
fn count_row(line: &Line<'_>, width: usize) -> Row {
    let name = text::truncate(line.name, NAME);
    let gap = NAME - text::width(&name);
    let mut row = Row::plain(format!(" {} ", line.sign), line.token);
    row.push(format!("{name}{}", " ".repeat(gap)), Token::Text);
    row.push(format!(" {:>7}", tokens(line.count)), Token::Text);
    let room = width.saturating_sub(row.width() + 2);
    let bar = "▇".repeat(line.cells.min(room));
    for (part, token) in [(bar.as_str(), line.token), (line.note, Token::Muted)] {
        let room = width.saturating_sub(row.width() + 2);
        let shown = text::truncate(part, room);
        if !shown.is_empty() {
            row.push(format!("  {shown}"), token);
        }
    }
    row
}

impl ContextView {
    /// The rows of the panel, and its place.
    fn place(&self, screen: Rect) -> (Vec<Row>, Rect) {
        let width = docked_panel(screen, WIDTH, 1).width;
        let body = self.rows(usize::from(width.saturating_sub(2)));
        let height = u16::try_from(body.len() + 2).unwrap_or(u16::MAX);
        (body, docked_panel(screen, WIDTH, height))
    }
}

/// The contents of a row.
#[derive(Debug, Default)]
struct Line<'a> {
    sign: &'a str,
    token: Token,
    name: &'a str,
    count: u64,
    cells: usize,
    note: &'a str,
}

impl Component<Command, Action> for ContextView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let (body, area) = self.place(area);
        let fit = usize::from(area.height.saturating_sub(2));
        let shown = self.scroll.fit(body.len(), fit);
        let mut words = vec![(Command::Cancel, "close")];
        if self.scroll.is_cut() {
            words.insert(0, (Command::Down, "scroll"));
        }
        let mut keys = vec!["c compact now".to_owned()];
        keys.extend(frame::hints(view.keymap, "list", &words));
        let panel = Panel {
            title: "Context",
            remark: "",
            rows: body[shown].to_vec(),
            keys,
            token: Token::Muted,
        };
        panel.draw(area, buffer, view);
    }

    fn on_key(&mut self, key: osier_term::input::KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        if key.typed() == Some('c') {
            cx.push(Action::CloseLayer);
            cx.push(TreeOp::Compact {
                instructions: None,
                review: true,
                up_to: None,
            });
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Accept
            | Command::Cancel
            | Command::Interrupt
            | Command::ClearOrExit
            | Command::Context => cx.push(Action::CloseLayer),
            command => return self.scroll.on_command(command),
        }
        Handled::Yes
    }

    fn area_in(&mut self, screen: Rect) -> Option<Rect> {
        Some(self.place(screen).1)
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        frame::is_of_most_lists(command)
    }

    fn meaning(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Accept => Some("Close"),
            command => scroll::meaning(command),
        }
    }
}

#[cfg(test)]
mod tests {
    use osier_term::theme::{ColourDepth, ThemeStore};

    use super::*;

    fn shown(cache: &CacheFigures) -> Vec<String> {
        cache.rows(60).iter().map(Row::text).collect()
    }

    #[test]
    fn each_part_of_the_window_is_told_from_the_others_with_sixteen_colours() {
        let (theme, _) = ThemeStore::new(None, ColourDepth::Ansi).load("system");
        let drawn = WindowPartKind::ALL.map(|kind| {
            let (sign, token) = drawn(kind);
            (sign, theme.style(token).fg)
        });
        for (place, part) in drawn.iter().enumerate() {
            assert!(!drawn[..place].contains(part), "{part:?}");
        }
    }

    #[test]
    fn cache_rows_show_what_is_known() {
        assert_eq!(shown(&CacheFigures::default()), Vec::<String>::new());
        let mut cache = CacheFigures {
            session: Usage {
                input: 500,
                ..Usage::default()
            },
            ..CacheFigures::default()
        };
        assert_eq!(shown(&cache), ["", " Cache", "   No cache data yet"]);
        cache.session = Usage {
            input: 1_000,
            cache_read: 90_000,
            cache_write: 9_000,
            ..Usage::default()
        };
        cache.last = Usage {
            input: 20,
            cache_read: 980,
            ..Usage::default()
        };
        assert_eq!(
            shown(&cache),
            [
                "",
                " Cache",
                "   last call                   1.0k  98% from cache",
                "   session                     100k  90% from cache",
            ]
        );
        cache.missed = 8_550;
        assert_eq!(shown(&cache)[4], "   re-sent without cache       8.5k");
        cache.missed_cost = 0.029_498;
        assert_eq!(
            shown(&cache)[4],
            "   re-sent without cache       8.5k  $0.029 more"
        );
    }
}
