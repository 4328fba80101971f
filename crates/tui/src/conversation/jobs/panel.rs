//! The work in addition to the conversation: a list of background jobs and subagents above the live output of the selected job. The list and the output come from the
//! session; the panel has the selection and a pending kill.

use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command};
use crate::conversation::{transcript::Painted, transcript::tail_rows};
use crate::drawing::{frame, frame::boxed, layout::docked_panel};
use osier_agent::Output;
use osier_base::{clock, text};
use osier_protocol::{JobInfo, Op, SubagentInfo, SubagentStatus};
use osier_term::{
    Cell, Column, Columns, Component, Cx, Handled, Item, KeyPress, Keymap, Row, Select, Span,
    Token, View,
};

pub(super) const ID: &str = "jobs";

/// Bytes of output of the selected job that are stored.
const KEPT: usize = 64 * 1024;
/// Jobs shown at once while output is shown too.
const LISTED: usize = 6;
/// Bytes of a command that are shown in the list.
const COMMAND: usize = 1000;
const COLUMNS: Columns = Columns {
    label: "",
    details: &[Column::words("", 0).first(), Column::numbers("", 0)],
};
const EMPTY: &str = "no background jobs or subagents yet";

/// The panel.
#[derive(Debug)]
pub(super) struct Jobs {
    /// The newest first.
    listed: Vec<JobInfo>,
    /// When the list arrived: running jobs have continued since.
    told_at: Instant,
    list: Select,
    /// The job whose output is shown.
    followed: Option<String>,
    output: Output,
    /// The job that another press of the key kills.
    doomed: Option<String>,
    /// The output replaces the list.
    wide: bool,
}

impl Jobs {
    pub(super) fn new(now: Instant) -> Self {
        let mut list = Select::new(Vec::new());
        list.set_columns(COLUMNS);
        Self {
            listed: Vec::new(),
            told_at: now,
            list,
            followed: None,
            output: Output::default(),
            doomed: None,
            wide: false,
        }
    }

    /// Stores a newer list. Returns the op that follows the selected job, if another job is selected now.
    pub(super) fn set_jobs(&mut self, jobs: &[JobInfo], now: Instant) -> Option<Op> {
        let before = self.selected().map(|job| job.id.clone());
        self.listed = jobs.iter().rev().cloned().collect();
        self.told_at = now;
        let selected = before.and_then(|id| self.listed.iter().position(|job| job.id == id));
        self.list
            .set_items(items(&self.listed, Duration::ZERO), selected);
        self.follow()
    }

    /// Adds output of the followed job.
    pub(super) fn append(&mut self, id: &str, output: &Output) {
        if self.followed.as_deref() == Some(id) {
            self.output.append(output, KEPT);
        }
    }

    fn selected(&self) -> Option<&JobInfo> {
        self.listed.get(self.list.selected()?)
    }

    fn is_subagent_selected(&self) -> bool {
        self.selected()
            .is_some_and(|job| job.id.starts_with("agent"))
    }

    fn follow(&mut self) -> Option<Op> {
        let selected = self.selected().map(|job| job.id.clone());
        if selected == self.followed {
            return None;
        }
        self.doomed = None;
        self.output = Output::default();
        self.followed.clone_from(&selected);
        Some(Op::FollowJob { id: selected })
    }

    fn moved(&mut self, cx: &mut Cx<'_, Action>) -> Handled {
        self.doomed = None;
        if let Some(op) = self.follow() {
            cx.push(op);
        }
        Handled::Yes
    }

    /// Kills the selected job when the key is pressed twice.
    fn kill(&mut self, cx: &mut Cx<'_, Action>) {
        let Some(job) = self.selected().filter(|job| job.running) else {
            return;
        };
        let id = job.id.clone();
        if self.doomed.as_ref() == Some(&id) {
            self.doomed = None;
            cx.push(Op::KillJob { id });
        } else {
            self.doomed = Some(id);
        }
    }

    fn rows(&mut self, width: usize, height: usize, view: &View<'_, Command>) -> Vec<Row> {
        let inner = width.saturating_sub(2);
        let mut rows = vec![self.title_row(inner)];
        let room = height.saturating_sub(2);
        if self.listed.is_empty() {
            rows.push(boxed(Row::plain(format!("  {EMPTY}"), Token::Text), inner));
        }
        let listed = if self.wide {
            1
        } else {
            LISTED.min(self.listed.len()).min(room / 2)
        };
        for row in self.job_rows(inner, listed, view.now) {
            rows.push(boxed(row, inner));
        }
        if !self.listed.is_empty() && rows.len() < height.saturating_sub(2) {
            let line = format!("├{}┤", "─".repeat(inner));
            rows.push(Row::plain(line, Token::Border));
            let left = height.saturating_sub(rows.len() + 1);
            rows.extend(
                self.output_rows(inner, left)
                    .into_iter()
                    .map(|row| boxed(row, inner)),
            );
        }
        while rows.len() + 1 < height {
            rows.push(boxed(Row::default(), inner));
        }
        rows.push(self.hint_row(inner, view.keymap));
        rows
    }

    fn title_row(&self, inner: usize) -> Row {
        let running = self.listed.iter().filter(|job| job.running).count();
        let count = format!("{running} running, {} ended", self.listed.len() - running);
        frame::top("Jobs", &count, inner + 2)
    }

    /// As many jobs as fit, the selected one among them.
    fn job_rows(&mut self, inner: usize, count: usize, now: Instant) -> Vec<Row> {
        let since = now.saturating_duration_since(self.told_at);
        let selected = self.list.selected();
        self.list.set_items(items(&self.listed, since), selected);
        self.list.rows(inner, count)
    }

    fn output_rows(&self, inner: usize, room: usize) -> Vec<Row> {
        let skipped = self.output.skipped > 0;
        if self.output.text.is_empty() {
            return vec![Row::plain("  (no output yet)", Token::Muted)];
        }
        let width = u16::try_from(inner).unwrap_or(u16::MAX);
        let indent = [Span::new(" ", Token::ToolOutput)];
        let mut rows = tail_rows(
            Painted::from(&self.output),
            width,
            &indent,
            room.saturating_sub(1).max(1).into(),
        );
        let whole = rows.len() < room && skipped;
        if whole
            && rows
                .first()
                .is_some_and(|row| !row.text().starts_with("  …"))
        {
            rows.insert(0, Row::plain("  … more above", Token::Muted));
        }
        rows.truncate(room);
        rows
    }

    fn place(&self, screen: Rect) -> Rect {
        let height = if self.listed.is_empty() {
            5
        } else {
            screen.height
        };
        docked_panel(screen, 120, height)
    }

    fn hint_row(&self, inner: usize, keymap: &Keymap<Command>) -> Row {
        if let Some(id) = &self.doomed {
            let asked = format!("press x again to kill {id}");
            return frame::bottom(&[asked], Token::Warning, inner + 2);
        }
        let mut keys = Vec::new();
        if let Some(job) = self.selected() {
            let how = if self.is_subagent_selected() {
                "open"
            } else if self.wide {
                "show list"
            } else {
                "show output only"
            };
            keys.extend(frame::key_hints(keymap, "list", &[(Command::Accept, how)]));
            if job.running {
                keys.push("x kill".to_owned());
            }
        }
        keys.extend(frame::hints(keymap, "list", &[(Command::Cancel, "close")]));
        frame::bottom(&keys, Token::Muted, inner + 2)
    }
}

/// The subagent of a row, as far as the list of jobs knows it.
fn subagent(job: &JobInfo) -> SubagentInfo {
    let status = match job.exit_code {
        _ if job.running => SubagentStatus::Running,
        _ if job.lost => SubagentStatus::Lost,
        Some(0) => SubagentStatus::Done,
        _ => SubagentStatus::Failed,
    };
    SubagentInfo {
        id: job.id.clone(),
        task: job.command.clone(),
        status,
        background: !job.foreground,
        started_at: job.started_at,
        duration: job.duration,
        ..SubagentInfo::default()
    }
}

fn items(jobs: &[JobInfo], since: Duration) -> Vec<Item> {
    let items = jobs.iter().map(|job| Item {
        label: text::head_bytes(&job.command, COMMAND).to_owned(),
        details: vec![
            Cell::new(job.id.as_str(), Token::ToolName),
            state(job, since),
        ],
        ..Item::default()
    });
    items.collect()
}

/// The state of a job; `since` is the time since the state was reported.
fn state(job: &JobInfo, since: Duration) -> Cell {
    let time = clock::human_duration(job.duration);
    let (token, text) = match (&job.signal, job.exit_code) {
        _ if job.lost => (Token::Warning, "lost".to_owned()),
        _ if job.running => {
            let seconds = (job.duration + since.as_millis() as u64) / 1000;
            let time = clock::human_duration(seconds * 1000).replace(".0s", "s");
            let time = if seconds == 0 { "0s" } else { &time };
            let place = if job.foreground {
                " · the model waits"
            } else {
                ""
            };
            (Token::Working, format!("running {time}{place}"))
        }
        (Some(signal), _) => (Token::Warning, format!("{signal} after {time}")),
        (None, Some(0)) => (Token::Success, format!("done after {time}")),
        (None, code) => (
            Token::Error,
            format!("exit {} after {time}", code.unwrap_or_default()),
        ),
    };
    Cell::new(text, token)
}

impl Component<Command, Action> for Jobs {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let area = self.place(area);
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let rows = self.rows(width, height, view);
        view.paint(&rows, area, buffer);
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        match key.typed() {
            Some('x') => self.kill(cx),
            Some('j') => return self.on_command(Command::Down, cx),
            Some('k') => return self.on_command(Command::Up, cx),
            Some('q') => return self.on_command(Command::Cancel, cx),
            _ => self.doomed = None,
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Up => self.list.step(false),
            Command::Down => self.list.step(true),
            Command::PageUp => self.list.page(false, LISTED),
            Command::PageDown => self.list.page(true, LISTED),
            Command::First => self.list.first(),
            Command::Last => self.list.last(),
            Command::Accept if self.is_subagent_selected() => {
                if let Some(job) = self.selected() {
                    cx.push(Action::ShowSubagent(Box::new(subagent(job))));
                }
            }
            Command::Accept => self.wide = !self.wide,
            Command::DeleteForward => {
                self.kill(cx);
                return Handled::Yes;
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                if self.doomed.take().is_some() {
                    return Handled::Yes;
                }
                cx.push(Action::CloseLayer);
                cx.push(Op::FollowJob { id: None });
                return Handled::Yes;
            }
            _ => return Handled::No,
        }
        self.moved(cx)
    }

    fn area_in(&mut self, screen: Rect) -> Option<Rect> {
        Some(self.place(screen))
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn letters(&self) -> Vec<(String, String)> {
        frame::letters(&[("x", "Kill the job; press twice")])
    }

    fn uses(&self, command: Command) -> bool {
        frame::is_of_most_lists(command)
    }
}
