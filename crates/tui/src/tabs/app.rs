//! Requests of a tab to the others: open, show and close.

use std::time::Instant;

use super::summary::{TabState, TabSummaries, TabSummary};
use super::{leaving, list};
use crate::app::{App, Effect};
use crate::command::Command;
use crate::mouse::Pointer;
use crate::overlays;
use osier_protocol::{IndexOp, Mark, Op, Opening};

/// A request about the tabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TabRequest {
    /// Start a new session in a new tab.
    Begin,
    /// Open a stored session in a new tab.
    Open {
        target: String,
        /// Where it works; here when not set.
        cwd: Option<String>,
        opening: Opening,
    },
    /// Show the tab with this number.
    Show(usize),
    /// Close the tab with this number; its session stays stored.
    Close(usize),
}

impl App {
    /// Takes what belongs to the terminal from the tab that was shown.
    pub(crate) fn take_terminal_from(&mut self, from: &mut Self) {
        std::mem::swap(&mut self.highlighter, &mut from.highlighter);
        std::mem::swap(&mut self.pictures, &mut from.pictures);
        self.theme.clone_from(&from.theme);
        self.focused = from.focused;
        self.transcript.set_cell(self.pictures.cell());
        for app in [&mut *self, from] {
            app.pending_keys.clear();
            app.exit_armed = None;
            app.pointer = Pointer::default();
        }
        from.transcript.forget_layout();
        self.dirty = true;
    }

    /// Takes the new summaries of the tabs.
    pub(crate) fn set_summaries(&mut self, summaries: TabSummaries) {
        if self.summaries == summaries {
            return;
        }
        self.footer.sessions = summaries.marks();
        self.summaries = summaries;
        overlays::refresh(&mut self.layers, list::ID, list::picker(&self.summaries));
        self.mark_open_sessions();
        self.dirty = true;
    }

    /// Shows a toast about an event in a background tab.
    pub(crate) fn alert(&mut self, entry: &TabSummary, now: Instant) {
        let keys = self.keymap.keys_for("global", Command::NextWaiting);
        let key = keys.first().map(|key| format!(" · {key}"));
        let text = format!(
            "{}: {}{}",
            entry.label(),
            entry.state.word(),
            key.unwrap_or_default()
        );
        self.toast(&text, entry.state == TabState::Failed, now);
    }

    /// Requests another tab, or shows why there is none to go to.
    pub(crate) fn go_to_tab(&mut self, tab: Result<Option<usize>, String>, now: Instant) {
        match tab {
            Ok(number) => {
                let requests = number.map(TabRequest::Show).map(Effect::Tabs);
                self.effects.extend(requests);
            }
            Err(text) => self.toast(&text, false, now),
        }
    }

    /// Starts a session: in this tab, or in a new one while something runs here.
    pub(crate) fn new_session(&mut self) {
        if self.is_engaged() {
            self.effects.push(Effect::Tabs(TabRequest::Begin));
        } else {
            self.ops.push(Op::NewSession);
        }
    }

    /// Opens a stored session: in this tab, or in a new one when `new_tab` is set or something runs here. When it
    /// is open already, its tab is shown.
    pub(crate) fn open_session(
        &mut self,
        (target, cwd): (String, Option<String>),
        opening: Opening,
        new_tab: bool,
    ) {
        let open = self.summaries.find(&target).map(|entry| entry.number);
        if let (Some(number), Opening::Itself) = (open, opening) {
            if number == self.summaries.shown {
                let text = "already in this session";
                return self.toast(text, false, Instant::now());
            }
            return self.effects.push(Effect::Tabs(TabRequest::Show(number)));
        }
        if new_tab || self.is_engaged() {
            let request = TabRequest::Open {
                target,
                cwd,
                opening,
            };
            return self.effects.push(Effect::Tabs(request));
        }
        self.ops.push(Op::ResumeSession { target, opening });
    }

    /// Whether leaving this session would cut something off.
    fn is_engaged(&self) -> bool {
        !self.activity.is_idle() || self.questions.height() > 0
    }

    /// Pins or archives the session that is shown, or no longer.
    pub(crate) fn mark_session(&mut self, mark: Mark, on: bool, now: Instant) {
        let session = self.session.id.clone();
        self.ops
            .push(Op::Index(IndexOp::MarkSession { session, mark, on }));
        let text = match (mark, on) {
            (Mark::Pinned, true) => "pinned to the top of the session list",
            (Mark::Pinned, false) => "unpinned",
            (Mark::Archived, true) => "archived: hidden from the session list",
            (Mark::Archived, false) => "unarchived",
        };
        self.toast(text, false, now);
    }

    /// Closes an open session; asks first when that would cut something off.
    pub(crate) fn close_session(&mut self, number: usize, now: Instant) {
        if !self.summaries.is_several() {
            let text = "this is the only tab: `/quit` quits, `/new` starts a new session";
            return self.toast(text, false, now);
        }
        let entry = self
            .summaries
            .entries
            .iter()
            .find(|entry| entry.number == number);
        match entry {
            Some(entry) if entry.state.is_busy() && !self.footer.is_remote() => {
                self.layers.push(leaving::ID, leaving::closing(entry));
            }
            Some(_) => self.effects.push(Effect::Tabs(TabRequest::Close(number))),
            None => {}
        }
    }

    /// Leaves; asks first when that would cut off what other sessions do.
    pub(crate) fn quit(&mut self) {
        let busy: Vec<&TabSummary> = self
            .summaries
            .others()
            .filter(|entry| entry.state.is_busy())
            .collect();
        if busy.is_empty() || self.footer.is_remote() {
            return self.effects.push(Effect::Quit);
        }
        self.layers.push(leaving::ID, leaving::quitting(&busy));
    }
}
