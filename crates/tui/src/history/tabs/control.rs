//! Requests of a tab to the other tabs: open, show and close. The tab knows the others by their summaries.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::summary::{TabState, TabSummaries, TabSummary};
use super::{leaving, list};
use crate::actions::{Command, Effect, Outbox, StoredSession, TabRequest, Toast};
use crate::drawing::{Overlays, overlays};
use crate::status::toast::TOAST_TIME;
use osier_protocol::{Op, Opening};
use osier_term::{Keymap, Span};

/// Two presses of Ctrl+C within this time quit: as long as the hint is shown.
const EXIT_WINDOW: Duration = TOAST_TIME;

/// The state of the other tabs, and the confirmation before quitting.
#[derive(Debug, Default)]
pub(crate) struct TabControl {
    /// The last reported summaries of the tabs.
    summaries: TabSummaries,
    /// When Ctrl+C was pressed on an empty editor: a second one exits.
    exit_armed: Option<Instant>,
}

/// A toast about an event in a background tab.
pub(crate) fn alert(entry: &TabSummary, keymap: &Keymap<Command>) -> Toast {
    let keys = keymap.keys_for("global", Command::NextWaiting);
    let key = keys.first().map(|key| format!(" · {key}"));
    let text = format!(
        "{}: {}{}",
        entry.label(),
        entry.state.word(),
        key.unwrap_or_default()
    );
    Toast {
        text,
        is_error: entry.state == TabState::Failed,
    }
}

impl TabControl {
    /// Stores the new summaries; returns false when they are the same.
    pub(crate) fn set_summaries(
        &mut self,
        summaries: TabSummaries,
        overlays: &mut Overlays,
    ) -> bool {
        if self.summaries == summaries {
            return false;
        }
        self.summaries = summaries;
        overlays::refresh(overlays, list::ID, list::picker(&self.summaries));
        true
    }

    pub(crate) fn is_several(&self) -> bool {
        self.summaries.is_several()
    }

    /// The marks of the tabs in the footer.
    pub(crate) fn marks(&self) -> Vec<Span> {
        self.summaries.marks()
    }

    /// Runs a command about the tabs; false when it is none.
    pub(crate) fn on_command(
        &self,
        command: Command,
        is_remote: bool,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) -> bool {
        match command {
            Command::OpenSessions => {
                overlays.push(list::ID, list::picker(&self.summaries));
                // A single tab is not reported otherwise.
                outbox.push(TabRequest::Report);
            }
            Command::NextSession => self.step(false, false, outbox),
            Command::PreviousSession => self.step(true, false, outbox),
            Command::NextWaiting => self.step(false, true, outbox),
            Command::PreviousWaiting => self.step(true, true, outbox),
            Command::CloseSession => self.close(self.summaries.shown, is_remote, overlays, outbox),
            Command::Session1 => self.go_to(1, outbox),
            Command::Session2 => self.go_to(2, outbox),
            Command::Session3 => self.go_to(3, outbox),
            Command::Session4 => self.go_to(4, outbox),
            Command::Session5 => self.go_to(5, outbox),
            Command::Session6 => self.go_to(6, outbox),
            Command::Session7 => self.go_to(7, outbox),
            Command::Session8 => self.go_to(8, outbox),
            Command::Session9 => self.go_to(9, outbox),
            _ => return false,
        }
        true
    }

    /// The files of the open sessions with the numbers of their tabs.
    pub(crate) fn open_files(&self) -> Vec<(PathBuf, usize)> {
        let entries = self.summaries.entries.iter();
        let files = entries.filter_map(|entry| Some((entry.path.clone()?.into(), entry.number)));
        files.collect()
    }

    /// Goes to the tab with a number.
    pub(crate) fn go_to(&self, number: usize, outbox: &mut Outbox) {
        show(self.summaries.numbered(number), outbox);
    }

    /// Goes to the next or previous tab; with `needing`, of those that need attention.
    fn step(&self, backward: bool, needing: bool, outbox: &mut Outbox) {
        show(self.summaries.next(backward, needing), outbox);
    }

    /// Opens a stored session: in this tab, or in a new one when `new_tab` is set. When it is open already, its tab is
    /// shown.
    pub(crate) fn open_session(&self, stored: StoredSession, new_tab: bool, outbox: &mut Outbox) {
        let open = self.summaries.find(&stored.target);
        let open = open.map(|entry| entry.number);
        if let (Some(number), Opening::Itself) = (open, stored.opening) {
            if number == self.summaries.shown {
                return outbox.push(Toast::info("already in this session"));
            }
            return outbox.push(TabRequest::Show(number));
        }
        if new_tab {
            return outbox.push(TabRequest::Open(stored));
        }
        let StoredSession {
            target, opening, ..
        } = stored;
        outbox.push(Op::ResumeSession { target, opening });
    }

    /// Closes a tab; asks first when that would cut something off. Remote sessions continue without
    /// their tab.
    pub(crate) fn close(
        &self,
        number: usize,
        is_remote: bool,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        if !self.summaries.is_several() {
            let text = "this is the only tab: `/quit` quits, `/new` starts a new session";
            return outbox.push(Toast::info(text));
        }
        let mut entries = self.summaries.entries.iter();
        match entries.find(|entry| entry.number == number) {
            Some(entry) if entry.state.is_busy() && !is_remote => {
                overlays.push(leaving::ID, leaving::closing(entry));
            }
            Some(_) => outbox.push(TabRequest::Close(number)),
            None => {}
        }
    }

    /// Quits. Asks first when that would interrupt sessions. `running` names the work in the tab in front.
    pub(crate) fn quit(
        &self,
        running: Option<&str>,
        is_remote: bool,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        let others = self.summaries.others();
        let busy: Vec<&TabSummary> = others.filter(|entry| entry.state.is_busy()).collect();
        if busy.is_empty() && running.is_none() || is_remote {
            return outbox.push(Effect::Quit);
        }
        overlays.push(leaving::ID, leaving::quitting(running, &busy));
    }

    /// The key that quits when it is pressed twice; true for the second press.
    pub(crate) fn confirms_exit(&mut self, now: Instant) -> bool {
        let armed = self
            .exit_armed
            .is_some_and(|since| now.saturating_duration_since(since) < EXIT_WINDOW);
        if !armed {
            self.exit_armed = Some(now);
        }
        armed
    }

    /// Another tab is shown: the next press of that key is the first.
    pub(crate) fn disarm_exit(&mut self) {
        self.exit_armed = None;
    }
}

/// Starts a session: in this tab, or in a new one.
pub(crate) fn new_session(new_tab: bool, outbox: &mut Outbox) {
    if new_tab {
        outbox.push(TabRequest::Begin);
    } else {
        outbox.push(Op::NewSession);
    }
}

/// Requests another tab, or shows why there is none to go to.
fn show(tab: Result<Option<usize>, String>, outbox: &mut Outbox) {
    match tab {
        Ok(number) => {
            if let Some(number) = number {
                outbox.push(TabRequest::Show(number));
            }
        }
        Err(text) => outbox.push(Toast::info(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Action;

    fn control(states: &[TabState]) -> TabControl {
        let entries = (1..).zip(states).map(|(number, state)| TabSummary {
            number,
            state: *state,
            title: format!("title {number}"),
            id: format!("0190000{number}-aaaa-7000"),
            path: Some(format!("/s/{number}.jsonl")),
            cwd: String::new(),
            model: String::new(),
            prompt: String::new(),
            said: String::new(),
            has_draft: false,
        });
        let summaries = TabSummaries {
            entries: entries.collect(),
            shown: 1,
        };
        TabControl {
            summaries,
            exit_armed: None,
        }
    }

    #[test]
    fn a_stored_session_opens_in_the_tab_that_has_it_or_in_a_new_one() {
        let control = control(&[TabState::Idle, TabState::Idle]);
        let effects = |target: &str, new_tab| {
            let mut outbox = Outbox::default();
            let stored = StoredSession {
                target: target.to_owned(),
                cwd: None,
                opening: Opening::Itself,
            };
            control.open_session(stored, new_tab, &mut outbox);
            let mut effects = outbox.take();
            effects.retain(|action| matches!(action, Action::Effect(_)));
            effects
        };
        assert_eq!(effects("/s/2.jsonl", true), [TabRequest::Show(2).into()]);
        assert_eq!(effects("/s/1.jsonl", true), []);
        assert_eq!(effects("/s/9.jsonl", false), []);
        assert_eq!(effects("/s/9.jsonl", true).len(), 1);
    }

    #[test]
    fn closing_a_busy_tab_and_quitting_ask_first_unless_the_session_is_remote() {
        let control = control(&[TabState::Idle, TabState::Working]);
        for (is_remote, effects) in [(false, 0), (true, 2)] {
            let (mut overlays, mut outbox) = (Overlays::default(), Outbox::default());
            control.close(2, is_remote, &mut overlays, &mut outbox);
            control.quit(None, is_remote, &mut overlays, &mut outbox);
            assert_eq!(overlays.is_empty(), is_remote);
            assert_eq!(outbox.take().len(), effects);
        }
    }

    #[test]
    fn quitting_asks_first_while_the_only_session_runs() {
        let control = control(&[]);
        for (running, is_remote, asks) in [
            (Some("This session is still running"), false, true),
            (Some("This session is still running"), true, false),
            (None, false, false),
        ] {
            let (mut overlays, mut outbox) = (Overlays::default(), Outbox::default());
            control.quit(running, is_remote, &mut overlays, &mut outbox);
            assert_eq!(!overlays.is_empty(), asks);
            assert_eq!(outbox.take().is_empty(), asks);
        }
    }

    #[test]
    fn only_two_presses_within_the_window_quit() {
        let mut control = control(&[]);
        let now = Instant::now();
        assert!(!control.confirms_exit(now));
        assert!(control.confirms_exit(now + EXIT_WINDOW / 2));
        assert!(!control.confirms_exit(now + EXIT_WINDOW));
        control.disarm_exit();
        assert!(!control.confirms_exit(now + EXIT_WINDOW));
    }
}
