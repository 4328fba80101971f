//! The side panel of a wide screen: the changed files of the session, running jobs and terminals, and the to-do list. Off
//! by default. While it is not drawn, it requests nothing.

mod rows;

use ratatui::layout::Rect;

use crate::actions::{Action, Command, Effect, Outbox, Toast};
use crate::drawing::Surface;
use osier_agent::Event as AgentEvent;
use osier_protocol::{
    ChangedLines, CheckpointEvent, CheckpointOp, ConnectionState, DiffRange, Event, JobInfo, Op,
    TerminalInfo, TreeEvent,
};
use osier_term::Row;
use osier_term::input::{MouseButton, MouseEventKind, MouseInput};
use osier_tools::ToolEffect;
pub(crate) use rows::Shared;
use rows::{Contents, Target};

/// Columns of the narrowest screen that has room for it.
const LEAST: u16 = 140;
/// The columns of the panel, with the rule at its left.
const WIDTH: u16 = 37;

/// The panel, which owns what it shows except the data of other features.
#[derive(Debug, Default)]
pub(crate) struct SidePanel {
    /// The panel is turned on.
    is_on: bool,
    /// The place of the panel in the last frame.
    area: Option<Rect>,
    /// Columns of the last frame.
    screen: u16,
    files: Files,
    jobs: Vec<JobInfo>,
    terminals: Vec<TerminalInfo>,
    laid_out: Option<LaidOut>,
}

/// The changed files, and when to request them again.
#[derive(Debug, Default)]
struct Files {
    changed: Vec<ChangedLines>,
    /// Changed files that are not in the list.
    more: u64,
    /// The files may have changed since they were requested.
    is_stale: bool,
    /// In this turn, a tool ran that can change files.
    has_changing_tool: bool,
    /// The number of the last request.
    request: u64,
    is_requested: bool,
}

/// The rows for a size.
#[derive(Debug)]
struct LaidOut {
    size: (u16, u16),
    rows: Vec<Row>,
    targets: Vec<Option<Target>>,
}

impl SidePanel {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }

    /// Applies the setting.
    pub(crate) fn set_on(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// Shows or hides the panel, and saves that.
    pub(crate) fn toggle(&mut self, outbox: &mut Outbox) {
        self.is_on = !self.is_on;
        outbox.push(Effect::Remember {
            name: "side_panel",
            value: self.is_on.to_string(),
        });
        if self.is_on && self.screen < LEAST {
            let width = self.screen;
            let text = format!(
                "the side panel is on; it needs {LEAST} columns, this terminal has {width}"
            );
            outbox.push(Toast::info(text));
        }
    }

    /// Divides the screen: what is left of it, and whether the panel is drawn. `is_allowed` is false for screens that are
    /// read aloud.
    pub(crate) fn divide(&mut self, screen: Rect, is_allowed: bool) -> (Rect, bool) {
        self.screen = screen.width;
        if !self.is_on || !is_allowed || screen.width < LEAST {
            self.leave();
            return (screen, false);
        }
        let left = Rect {
            width: screen.width - WIDTH,
            ..screen
        };
        self.area = Some(Rect {
            x: left.right(),
            width: WIDTH,
            // The footer has all columns.
            height: screen.height - 1,
            ..screen
        });
        (left, true)
    }

    /// The panel is no longer on the screen.
    pub(crate) fn leave(&mut self) {
        self.area = None;
        self.laid_out = None;
    }

    /// The to-do list was collapsed or expanded.
    pub(crate) fn forget_layout(&mut self) {
        self.laid_out = None;
    }

    /// Draws the panel where `divide` left room.
    pub(crate) fn draw(&mut self, shared: &Shared<'_>, surface: &mut Surface<'_>) {
        let Some(area) = self.area else {
            return;
        };
        let size = (area.width, area.height);
        let laid = match self.laid_out.take() {
            Some(laid) if laid.size == size => laid,
            _ => self.lay_out(size, shared),
        };
        surface.paint(&laid.rows, area);
        self.laid_out = Some(laid);
    }

    fn lay_out(&self, size: (u16, u16), shared: &Shared<'_>) -> LaidOut {
        let contents = Contents {
            files: &self.files.changed,
            more: self.files.more,
            jobs: &self.jobs,
            terminals: &self.terminals,
            shared,
        };
        let (rows, targets) = contents.rows(size).into_iter().unzip();
        LaidOut {
            size,
            rows,
            targets,
        }
    }

    /// Applies an event. Sends no requests.
    pub(crate) fn on_event(&mut self, event: &Event) {
        match event {
            Event::SessionOpened { .. } => {
                *self = Self {
                    is_on: self.is_on,
                    area: self.area,
                    screen: self.screen,
                    files: Files {
                        is_stale: true,
                        // An answer for the previous session must not match a later request.
                        request: self.files.request,
                        ..Files::default()
                    },
                    ..Self::default()
                };
            }
            Event::Jobs { jobs } => {
                let running = jobs.iter().filter(|job| job.running);
                self.jobs = running.cloned().collect();
            }
            Event::Terminals { terminals } => {
                let running = terminals.iter().filter(|terminal| terminal.running);
                self.terminals = running.cloned().collect();
            }
            Event::CodeServers { .. } | Event::Todo { .. } | Event::Workspace { .. } => {}
            event => {
                if !self.files.on_event(event) {
                    return;
                }
            }
        }
        self.laid_out = None;
    }

    /// The request for the changed files, if it is due.
    pub(crate) fn take_op(&mut self) -> Option<Op> {
        self.area?;
        self.files.take_op()
    }

    /// Applies a click on a row; false for everything else.
    pub(crate) fn on_mouse(&self, mouse: MouseInput, outbox: &mut Outbox) -> bool {
        let Some(area) = self.area.filter(|area| mouse.column >= area.x) else {
            return false;
        };
        let is_click = mouse.kind == MouseEventKind::Down(MouseButton::Left);
        if !is_click || mouse.row >= area.bottom() {
            return false;
        }
        let targets = self.laid_out.as_ref().map(|laid| &laid.targets);
        let target = targets.and_then(|targets| targets.get(usize::from(mouse.row - area.y)));
        match target.and_then(Option::as_ref) {
            Some(Target::Changes(path)) => outbox.push(Action::ShowChangesOf(path.clone())),
            Some(Target::Jobs) => outbox.push(Command::Jobs),
            Some(Target::Terminals) => outbox.push(Command::Terminals),
            None => {}
        }
        true
    }
}

impl Files {
    /// Applies an event; returns true if the list changed.
    fn on_event(&mut self, event: &Event) -> bool {
        match event {
            Event::Checkpoint(CheckpointEvent::ChangedLines {
                request,
                files,
                more,
                ..
            }) if *request == self.request => {
                self.is_requested = false;
                self.changed.clone_from(files);
                self.more = *more;
                return true;
            }
            Event::Checkpoint(
                CheckpointEvent::FilesRestored { .. } | CheckpointEvent::FilesChangedOutside { .. },
            )
            | Event::Tree(TreeEvent::Moved { .. } | TreeEvent::LaneTaken { .. })
            | Event::ShellEnd { .. } => self.is_stale = true,
            // The answer of a lost connection does not arrive.
            Event::Connection {
                state: ConnectionState::Connected,
                ..
            } => {
                self.is_requested = false;
                self.is_stale = true;
            }
            Event::Agent(AgentEvent::ToolExecutionEnd { tool_name, .. })
                if can_change_files(tool_name) =>
            {
                self.is_stale = true;
                self.has_changing_tool = true;
            }
            // Files are formatted at the end of a turn.
            Event::Agent(AgentEvent::TurnEnd { .. } | AgentEvent::AgentSettled { .. })
                if std::mem::take(&mut self.has_changing_tool) =>
            {
                self.is_stale = true;
            }
            _ => {}
        }
        false
    }

    /// The next request. Only one runs at a time: a later change is requested after the answer.
    fn take_op(&mut self) -> Option<Op> {
        if self.is_requested || !std::mem::take(&mut self.is_stale) {
            return None;
        }
        self.is_requested = true;
        self.request += 1;
        Some(Op::Checkpoint(CheckpointOp::CountChangedLines {
            request: self.request,
            range: DiffRange::Session,
        }))
    }
}

/// A tool of a plugin or server can do anything.
fn can_change_files(tool: &str) -> bool {
    osier_tools::effect(tool).is_none_or(ToolEffect::can_change_files)
}
