//! Several models at one prompt, side by side: the progress of each, and at the end its answer, cost and changes. The
//! user chooses one result here.

use std::ops::Range;
use std::path::PathBuf;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command, Toast};
use crate::drawing::{frame, preview_pane::written, scroll};
use crate::history::tree::changed_file;
use crate::status::footer::tokens;
use osier_agent::Op as AgentOp;
use osier_base::{clock, text};
use osier_protocol::{LaneState, LaneStatus, TreeOp};
use osier_term::{Component, Cx, Face, Handled, KeyPress, Keymap, Row, Token, View, Wrap};

pub(super) const ID: &str = "fan";

/// Minimum width of a column. If not all columns fit, the columns around the selected one are shown.
const COLUMN: usize = 34;

/// One column.
#[derive(Debug)]
struct Column {
    model: String,
    state: Option<LaneState>,
}

/// The lanes on screen.
#[derive(Debug)]
pub(super) struct FanView {
    columns: Vec<Column>,
    selected: usize,
    top: usize,
    /// Every lane has ended.
    ended: bool,
    /// Conflicting files that prevent applying the selected lane.
    conflicts: Vec<PathBuf>,
    page: usize,
}

impl FanView {
    pub(super) fn new(models: &[String]) -> Self {
        let columns = models.iter().map(|model| Column {
            model: model.clone(),
            state: None,
        });
        Self {
            columns: columns.collect(),
            selected: 0,
            top: 0,
            ended: false,
            conflicts: Vec::new(),
            page: 10,
        }
    }

    /// Stores the state of a lane.
    pub(super) fn set_lane(&mut self, state: &LaneState) {
        if let Some(column) = self.columns.get_mut(state.lane) {
            column.state = Some(state.clone());
        }
    }

    /// Every lane has ended.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// These files were changed by hand since.
    pub(super) fn set_conflicts(&mut self, files: &[PathBuf]) {
        self.conflicts = files.to_vec();
    }

    fn select(&mut self, right: bool) {
        let count = self.columns.len().max(1);
        self.selected = (self.selected + if right { 1 } else { count - 1 }) % count;
        self.conflicts.clear();
    }

    fn apply_lane(&self, force: bool, cx: &mut Cx<'_, Action>) {
        if !self.ended {
            cx.push(Toast::info("models are still running".to_owned()));
            return;
        }
        let lane = self.selected;
        cx.push(TreeOp::TakeLane { lane, force });
    }

    /// Leaves the view. Lanes that still run are stopped first.
    fn leave(&self, cx: &mut Cx<'_, Action>) {
        if self.ended {
            cx.push(Action::CloseLayer);
            cx.push(TreeOp::EndFan);
            cx.push(Toast::info(
                "the answers remain as branches: see /tree".to_owned(),
            ));
        } else {
            cx.push(AgentOp::Abort);
        }
    }

    /// The columns that fit, around the selected one.
    fn shown(&self, width: usize) -> Range<usize> {
        let shown = (width / COLUMN).clamp(1, self.columns.len().max(1));
        let first = self
            .selected
            .saturating_sub(shown / 2)
            .min(self.columns.len() - shown.min(self.columns.len()));
        first..first + shown
    }

    /// The line above the columns, which says that there are more than fit.
    fn head(&self, width: usize) -> Row {
        let (shown, count) = (self.shown(width), self.columns.len());
        let more = if shown.len() < count {
            let (left, right) = (shown.start > 0, shown.end < count);
            let arrows = [("←", left), ("→", right)];
            let arrows = arrows
                .iter()
                .filter(|(_, has)| *has)
                .map(|(arrow, _)| *arrow);
            let arrows: String = arrows.collect();
            let (first, last) = (shown.start + 1, shown.end);
            format!(" models {first}–{last} of {count} {arrows} ")
        } else {
            String::new()
        };
        let mut head = Row::plain(" Side by side ", Face::bold(Token::Title));
        let line = width.saturating_sub(head.width() + text::width(&more));
        head.push("─".repeat(line), Token::Border);
        head.push(more, Token::Warning);
        head
    }

    fn rows(&self, width: usize, height: usize) -> Vec<Row> {
        let shown = self.shown(width);
        let column_width = (width + 3) / shown.len() - 3;
        let columns: Vec<Vec<Row>> = shown
            .map(|place| self.column(place, column_width))
            .collect();
        let rows = (0..height).map(|place| {
            let mut row = Row::default();
            for (number, column) in columns.iter().enumerate() {
                if number > 0 {
                    row.push(" │ ", Token::Border);
                }
                // The head of a column stays, its body scrolls.
                let at = if place < 2 { place } else { place + self.top };
                let part = column.get(at).cloned().unwrap_or_default();
                let gap = column_width.saturating_sub(part.width());
                row.spans.extend(part.spans);
                row.push(" ".repeat(gap), Token::Text);
            }
            row
        });
        rows.collect()
    }

    fn column(&self, place: usize, width: usize) -> Vec<Row> {
        let Some(column) = self.columns.get(place) else {
            return Vec::new();
        };
        let is_selected = place == self.selected;
        let mut face = Face::bold(Token::Title);
        if is_selected {
            face = face.on(Token::Selected);
        }
        let mark = if is_selected { "› " } else { "  " };
        let title = format!("{mark}{}", text::single_line(&column.model));
        let mut rows = vec![Row::plain(text::truncate(&title, width).into_owned(), face)];
        let Some(state) = &column.state else {
            rows.push(Row::plain("  copying files", Token::Muted));
            return rows;
        };
        rows.push(status_row(state, width));
        rows.push(Row::default());
        if let Some(error) = &state.error {
            Wrap::new(width).text(&text::sanitize(error), Token::Error, &mut rows);
        }
        rows.extend(written(&state.text, &[], width, usize::MAX));
        for (path, changes) in &state.files {
            rows.extend(changed_file(path, changes, width));
        }
        rows
    }

    fn bottom(&self, width: usize, keymap: &Keymap<Command>) -> Row {
        let line = if self.conflicts.is_empty() {
            const WIDE: usize = 60;
            let keys: &[&str] = match self.ended {
                true if width < WIDE => &["enter apply", "esc leave"],
                true => &["enter apply", "esc leave as branches"],
                false => &["esc stop"],
            };
            let keys = keys.iter().chain(&["←→ choose", "↑↓ scroll"]);
            let mut keys: Vec<String> = keys.map(|key| (*key).to_owned()).collect();
            keys.extend(frame::help_hint(keymap, "list"));
            let keys = frame::fitting(&keys, width.saturating_sub(1));
            return Row::plain(format!(" {keys}"), Token::Muted);
        } else {
            let names = self.conflicts.iter().map(|path| path.to_string_lossy());
            let names = names.collect::<Vec<_>>().join(", ");
            format!(" changed by hand since: {names} · F overwrite and save a copy")
        };
        let line = text::single_line(&line);
        Row::plain(text::truncate(&line, width).into_owned(), Token::Warning)
    }
}

fn status_row(state: &LaneState, width: usize) -> Row {
    let (word, token) = match state.status {
        LaneStatus::Working => ("working", Token::Working),
        LaneStatus::Done => ("done", Token::Success),
        LaneStatus::Failed => ("failed", Token::Error),
        LaneStatus::Interrupted => ("interrupted", Token::Warning),
    };
    let mut row = Row::plain(format!("  {word}"), token);
    let doing = match &state.tool {
        Some(tool) => format!(" {tool}"),
        None => String::new(),
    };
    let cost = match state.usage.cost.total {
        0.0 => String::new(),
        cost => format!(" · ${cost:.4}"),
    };
    let numbers = format!(
        "{doing} · {} · ↑{} ↓{}{cost}",
        clock::human_duration(state.duration_ms),
        tokens(state.usage.context_tokens()),
        tokens(state.usage.output),
    );
    let room = width.saturating_sub(row.width());
    row.push(text::truncate(&numbers, room).into_owned(), Token::Muted);
    row
}

impl Component<Command, Action> for FanView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        self.page = height.saturating_sub(4).max(1);
        let mut rows = vec![self.head(width)];
        rows.extend(self.rows(width, height.saturating_sub(2)));
        rows.push(self.bottom(width, view.keymap));
        view.paint(&rows, area, buffer);
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        if key.typed() == Some('F') && !self.conflicts.is_empty() {
            self.apply_lane(true, cx);
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Left => self.select(false),
            Command::Right => self.select(true),
            Command::Up => self.top = self.top.saturating_sub(1),
            Command::Down => self.top += 1,
            Command::PageUp => self.top = self.top.saturating_sub(self.page),
            Command::PageDown => self.top += self.page,
            Command::First => self.top = 0,
            Command::Accept => self.apply_lane(false, cx),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => self.leave(cx),
            _ => {}
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        frame::is_of_most_lists(command) && command != Command::Last
    }

    fn meaning(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Accept if self.ended => Some("Apply the files of the selected model"),
            Command::Accept => Some("Apply, when all models are done"),
            Command::Cancel if self.ended => Some("Leave all results as branches"),
            Command::Cancel => Some("Stop all models"),
            command => scroll::meaning(command),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_model_is_announced_where_two_fit() {
        let models = ["one", "two", "three"].map(str::to_owned);
        let mut view = FanView::new(&models);
        let head = |view: &FanView, width| {
            let head = view.head(width).text();
            head.replace('─', "").trim().to_owned()
        };
        assert_eq!(head(&view, 80), "Side by side  models 1–2 of 3 →");
        view.select(false);
        assert_eq!(head(&view, 80), "Side by side  models 2–3 of 3 ←");
        assert_eq!(head(&view, 120), "Side by side");
    }
}
