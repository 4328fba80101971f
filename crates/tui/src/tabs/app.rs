//! What the interface of a session knows and wants of the others that are open.

use std::time::Instant;

use super::leaving;
use super::list;
use super::summary::{TabState, TabSummaries, TabSummary};
use crate::app::{App, Effect};
use crate::command::Command;
use crate::mouse::Pointer;
use crate::overlays;
use osier_session::host::{LibraryOp, Op, Opening};
use osier_session::marks::Mark;

/// What the person wants of the open sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TabRequest {
    /// Begin a new session beside those that are open.
    Begin,
    /// Open a stored session beside them.
    Open {
        target: String,
        /// Where it works; here when not set.
        cwd: Option<String>,
        opening: Opening,
    },
    /// Show the session with this number.
    Show(usize),
    /// Close the session with this number; it stays stored.
    Close(usize),
}

impl App {
    /// Takes the terminal over from the session that was shown: what belongs to it goes along.
    pub(crate) fn come_forward(&mut self, from: &mut Self) {
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

    /// Whether a question waits for the person.
    pub(crate) fn is_asked(&self) -> bool {
        self.questions.height() > 0
    }

    /// The question that waits, on a line.
    pub(crate) fn asks(&self) -> Option<String> {
        self.questions.first()
    }

    /// The terminal has the focus of the desktop, or lost it.
    pub(crate) fn set_focused(&mut self, focused: bool) {
        self.focused = focused;
    }

    pub(crate) fn is_focused(&self) -> bool {
        self.focused
    }

    /// Whether others were told of before.
    pub(crate) fn knows_others(&self) -> bool {
        self.summaries.is_several()
    }

    /// Leaves an effect for later.
    pub(crate) fn put_back(&mut self, effect: Effect) {
        self.effects.push(effect);
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

    /// Tells that something has happened in a session that is not shown.
    pub(crate) fn alert(&mut self, entry: &TabSummary, now: Instant) {
        let keys = self.keymap.keys_for("global", Command::NextWaiting);
        let key = keys.first().map(|key| format!(" · {key}"));
        let text = format!(
            "{} {}{}",
            entry.label(),
            entry.state.word(),
            key.unwrap_or_default()
        );
        self.toast(&text, entry.state == TabState::Failed, now);
    }

    /// Lists the open sessions.
    pub(crate) fn open_list(&mut self) {
        self.layers.push(list::ID, list::picker(&self.summaries));
    }

    pub(crate) fn want(&mut self, request: TabRequest) {
        self.effects.push(Effect::Tabs(request));
    }

    /// Begins a session: in the place of this one, or beside it while something goes on here.
    pub(crate) fn new_session(&mut self) {
        if self.is_engaged() {
            self.want(TabRequest::Begin);
        } else {
            self.ops.push(Op::NewSession);
        }
    }

    /// Opens a stored session: in the place of this one, or beside it when that is wanted or something goes on
    /// here. One that is open already is shown.
    pub(crate) fn open_session(
        &mut self,
        (target, cwd): (String, Option<String>),
        opening: Opening,
        beside: bool,
    ) {
        let open = self.summaries.find(&target).map(|entry| entry.number);
        if let (Some(number), Opening::Itself) = (open, opening) {
            if number == self.summaries.shown {
                let text = "this is that session";
                return self.toast(text, false, Instant::now());
            }
            return self.want(TabRequest::Show(number));
        }
        if beside || self.is_engaged() {
            return self.want(TabRequest::Open {
                target,
                cwd,
                opening,
            });
        }
        self.ops.push(Op::ResumeSession { target, opening });
    }

    /// Whether leaving this session would cut something off.
    fn is_engaged(&self) -> bool {
        !self.activity.is_idle() || self.is_asked()
    }

    /// Pins or archives the session that is shown, or no longer.
    pub(crate) fn mark_session(&mut self, mark: Mark, on: bool, now: Instant) {
        let session = self.session.id.clone();
        self.ops
            .push(Op::Library(LibraryOp::MarkSession { session, mark, on }));
        let text = match (mark, on) {
            (Mark::Pinned, true) => "pinned: it stands first among the sessions",
            (Mark::Pinned, false) => "no longer pinned",
            (Mark::Archived, true) => "archived: the list of sessions shows it only when asked",
            (Mark::Archived, false) => "no longer archived",
        };
        self.toast(text, false, now);
    }

    /// Shows the session with this number.
    pub(crate) fn show_number(&mut self, number: usize, now: Instant) {
        let is_there = |entry: &TabSummary| entry.number == number;
        if !self.summaries.entries.iter().any(is_there) {
            let text = format!("there is no session {number}: {} open", self.open_count());
            return self.toast(&text, false, now);
        }
        if number != self.summaries.shown {
            self.want(TabRequest::Show(number));
        }
    }

    /// Shows the next session, or the one before; of those that want somebody if `needing`.
    pub(crate) fn step_session(&mut self, backward: bool, needing: bool, now: Instant) {
        match self.summaries.step(backward, needing) {
            Some(number) => self.want(TabRequest::Show(number)),
            None if self.summaries.is_several() => {
                self.toast("no other session waits for you", false, now);
            }
            None => self.toast("no other session is open", false, now),
        }
    }

    /// Closes an open session; asks first when that would cut something off.
    pub(crate) fn close_session(&mut self, number: usize, now: Instant) {
        if !self.summaries.is_several() {
            let text = "this is the only open session: `/quit` leaves, `/new` begins another";
            return self.toast(text, false, now);
        }
        let entry = self
            .summaries
            .entries
            .iter()
            .find(|entry| entry.number == number);
        match entry {
            Some(entry) if entry.state.is_busy() && !self.is_remote() => {
                self.layers.push(leaving::ID, leaving::closing(entry));
            }
            Some(_) => self.want(TabRequest::Close(number)),
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
        if busy.is_empty() || self.is_remote() {
            return self.effects.push(Effect::Quit);
        }
        self.layers.push(leaving::ID, leaving::quitting(&busy));
    }

    /// What runs is elsewhere and goes on without this terminal.
    fn is_remote(&self) -> bool {
        self.footer.line.is_some()
    }

    fn open_count(&self) -> String {
        match self.summaries.entries.len() {
            0 | 1 => "one is".to_owned(),
            count => format!("{count} are"),
        }
    }
}
