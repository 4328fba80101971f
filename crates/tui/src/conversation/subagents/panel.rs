//! The list of the subagents of the session.

use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command};
use crate::conversation::transcript::task;
use crate::drawing::{frame, layout::docked_panel};
use osier_protocol::{Op, SubagentInfo};
use osier_term::{
    Cell, Column, Columns, Component, Cx, Handled, Item, KeyPress, Row, Select, Token, View,
};

pub(super) const ID: &str = "subagents";

const EMPTY: &str = "  no subagents yet: the model starts them with the tool `task`";
const COLUMNS: Columns = Columns {
    label: "",
    details: &[
        Column::words("", 0).first(),
        Column::words("", 0).first(),
        Column::words("", 0),
    ],
};

/// The list.
#[derive(Debug)]
pub(super) struct Panel {
    /// The newest first.
    listed: Vec<SubagentInfo>,
    /// When the list arrived.
    told_at: Instant,
    list: Select,
    /// The subagent that another press of the key stops.
    doomed: Option<String>,
}

impl Panel {
    pub(super) fn new(now: Instant) -> Self {
        let mut list = Select::new(Vec::new());
        list.set_columns(COLUMNS);
        Self {
            listed: Vec::new(),
            told_at: now,
            list,
            doomed: None,
        }
    }

    pub(super) fn set(&mut self, subagents: &[SubagentInfo], now: Instant) {
        let before = self.selected().map(|info| info.id.clone());
        self.listed = subagents.iter().rev().cloned().collect();
        self.told_at = now;
        let selected = before.and_then(|id| self.listed.iter().position(|info| info.id == id));
        self.list
            .set_items(items(&self.listed, Duration::ZERO), selected);
    }

    fn selected(&self) -> Option<&SubagentInfo> {
        self.listed.get(self.list.selected()?)
    }

    /// Stops the selected subagent when the key is pressed twice.
    fn stop(&mut self, cx: &mut Cx<'_, Action>) {
        let Some(info) = self.selected().filter(|info| info.is_active()) else {
            return;
        };
        let subagent = info.id.clone();
        if self.doomed.as_ref() == Some(&subagent) {
            self.doomed = None;
            cx.push(Op::StopSubagent { subagent });
        } else {
            self.doomed = Some(subagent);
        }
    }

    fn place(&self, screen: Rect) -> Rect {
        let rows = self.listed.len().max(1) + 2;
        docked_panel(screen, 120, u16::try_from(rows).unwrap_or(u16::MAX))
    }

    fn hints(&self, view: &View<'_, Command>) -> (Vec<String>, Token) {
        if let Some(id) = &self.doomed {
            return (vec![format!("press x again to stop {id}")], Token::Warning);
        }
        let mut keys = Vec::new();
        if let Some(info) = self.selected() {
            let open = &[(Command::Accept, "open")];
            keys.extend(frame::key_hints(view.keymap, "list", open));
            if info.is_active() {
                keys.push("x stop".to_owned());
                if !info.background {
                    keys.push("b send to background".to_owned());
                }
            }
        }
        let close = &[(Command::Cancel, "close")];
        keys.extend(frame::hints(view.keymap, "list", close));
        (keys, Token::Muted)
    }
}

/// How many of the subagents have not ended.
pub(super) fn active(subagents: &[SubagentInfo]) -> usize {
    subagents.iter().filter(|info| info.is_active()).count()
}

fn items(subagents: &[SubagentInfo], since: Duration) -> Vec<Item> {
    let items = subagents.iter().map(|info| {
        let (word, token) = task::state(info);
        let doing = task::doing(info);
        Item {
            label: if doing.is_empty() {
                info.task.clone()
            } else {
                doing
            },
            details: vec![
                Cell::new(info.label(), Token::ToolName),
                Cell::new(word, token),
                Cell::new(
                    task::figures(info, Some(task::age(info, since))),
                    Token::Muted,
                ),
            ],
            ..Item::default()
        }
    });
    items.collect()
}

impl Component<Command, Action> for Panel {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let area = self.place(area);
        let since = view.now.saturating_duration_since(self.told_at);
        let selected = self.list.selected();
        self.list.set_items(items(&self.listed, since), selected);
        let inner = usize::from(area.width).saturating_sub(2);
        let rows = if self.listed.is_empty() {
            vec![Row::plain(EMPTY, Token::Text)]
        } else {
            let room = usize::from(area.height).saturating_sub(2);
            self.list.rows(inner, room)
        };
        let active = active(&self.listed);
        let (keys, token) = self.hints(view);
        let panel = frame::Panel {
            title: "Subagents",
            remark: &format!("{active} active, {} ended", self.listed.len() - active),
            rows,
            keys,
            token,
        };
        panel.draw(area, buffer, view);
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        match key.typed() {
            Some('x') => {
                self.stop(cx);
                return Handled::Yes;
            }
            Some('b') => {
                let info = self.selected().filter(|info| info.is_active());
                if let Some(info) = info.filter(|info| !info.background) {
                    let subagent = info.id.clone();
                    cx.push(Op::MoveSubagentToBackground { subagent });
                }
            }
            Some('j') => return self.on_command(Command::Down, cx),
            Some('k') => return self.on_command(Command::Up, cx),
            Some('q') => return self.on_command(Command::Cancel, cx),
            _ => {}
        }
        self.doomed = None;
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Up => self.list.step(false),
            Command::Down => self.list.step(true),
            Command::First => self.list.first(),
            Command::Last => self.list.last(),
            Command::Accept => {
                if let Some(info) = self.selected() {
                    cx.push(Action::ShowSubagent(Box::new(info.clone())));
                }
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                if self.doomed.take().is_none() {
                    cx.push(Action::CloseLayer);
                }
                return Handled::Yes;
            }
            _ => return Handled::No,
        }
        self.doomed = None;
        Handled::Yes
    }

    fn area_in(&mut self, screen: Rect) -> Option<Rect> {
        Some(self.place(screen))
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        frame::is_of_most_lists(command)
    }
}
