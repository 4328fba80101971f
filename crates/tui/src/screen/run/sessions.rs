//! The tabs while the program runs: open, switch, close, and the alerts of background tabs.

use std::path::PathBuf;
use std::time::Instant;

use super::screen::{Finished, Screen};
use super::tab::Tab;
use crate::actions::{Action, StoredSession, TabRequest, Toast};
use crate::history::sessions;
use crate::screen::{App, AppOptions};
use osier_agent::Severity;
use osier_base::process::lend_terminal;
use osier_hub::OpenOptions;
use osier_protocol::{Op, Opening};
use osier_session::models::{TOUR, tour};
use osier_term::Highlighter;

impl Screen {
    pub(super) fn on_tab_request(&mut self, request: TabRequest) {
        let expected = self.tabs.front.app.tree.take_expected();
        self.carry_out_tab(request);
        if let Some(entry) = expected {
            let app = &mut self.tabs.front.app;
            app.act(Action::ShowEntry(entry), Instant::now());
        }
    }

    fn carry_out_tab(&mut self, request: TabRequest) {
        match request {
            TabRequest::Begin => self.begin_or_say_why(None),
            TabRequest::Open(stored) => self.begin_or_say_why(Some(stored)),
            TabRequest::OpenFork(stored, notice) => {
                let other_way = sessions::other_way(&stored);
                match self.begin(Some(stored)) {
                    Ok(()) => {
                        self.tabs.front.app.sessions.expect_fork(other_way);
                        self.toast(Toast::info(notice));
                    }
                    Err(error) => {
                        let text = format!("cannot open the fork: {error}; {other_way}");
                        self.tell(&text);
                    }
                }
            }
            TabRequest::Demo { prompt } => self.begin_demo(&prompt),
            TabRequest::Show(number) => {
                self.tabs.show(number);
                self.shown();
            }
            TabRequest::Report => {
                let summaries = self.tabs.summaries();
                self.tabs.front.app.set_summaries(summaries);
            }
            TabRequest::Abandon { message } => {
                self.tabs.close(self.tabs.front.number);
                self.tell(&message);
                self.shown();
            }
            TabRequest::Close(number) => {
                if !self.tabs.close(number) {
                    let text = "this is the only tab";
                    self.toast(Toast::info(text));
                }
                self.shown();
            }
        }
    }

    /// Plays the demo in its own tab: its changes can be reviewed there, and the user's files do
    /// not change.
    fn begin_demo(&mut self, prompt: &str) {
        let folder = match tour::scratch_copy() {
            Ok(folder) => folder,
            Err(error) => {
                let text = format!("cannot create the files of the demo: {error}");
                return self.toast(Toast::error(text));
            }
        };
        let wanted = OpenOptions {
            cwd: Some(folder.path().to_owned()),
            session: None,
            model: Some(TOUR.to_owned()),
            permissions: Some(self.tabs.front.app.footer.permissions),
        };
        match (self.open.0)(wanted, Opening::Itself) {
            Ok((host, events)) => {
                let app = self.new_app();
                let tab = Tab::new(self.tabs.free_number(), app, host, events);
                self.tabs.add(tab);
                self.demos.push(folder);
                self.tabs.front.app.submit_text(prompt, Instant::now());
                self.shown();
            }
            Err(error) => self.toast(Toast::error(error)),
        }
    }

    /// Shows an error in the tab in front, where it cannot be missed.
    fn tell(&mut self, message: &str) {
        let app = &mut self.tabs.front.app;
        app.transcript.notice(Severity::Error, message);
        // A view covers the notice, so the error is also a toast.
        if !app.writes() {
            self.toast(Toast::error(message));
        }
    }

    fn begin_or_say_why(&mut self, stored: Option<StoredSession>) {
        if let Err(error) = self.begin(stored) {
            self.toast(Toast::error(error));
        }
    }

    /// Opens a new session or a stored one and shows it.
    fn begin(&mut self, stored: Option<StoredSession>) -> Result<(), String> {
        let front = &self.tabs.front.app;
        let is_new = stored.is_none();
        let (session, cwd, opening) = match stored {
            Some(stored) => (Some(stored.target), stored.cwd, stored.opening),
            None => (None, None, Opening::Itself),
        };
        // If its directory is gone, the session opens in the current one.
        let stored = cwd.map(PathBuf::from).filter(|cwd| cwd.is_dir());
        let here = PathBuf::from(&front.session.cwd);
        let here = Some(here).filter(|here| here.is_absolute());
        let wanted = OpenOptions {
            cwd: stored.or(here),
            session,
            model: None,
            permissions: Some(front.footer.permissions),
        };
        let model = front.footer.model.as_ref().map(|model| {
            let level = front.footer.level.name();
            format!("{}:{level}", model.reference())
        });
        let (host, events) = (self.open.0)(wanted, opening)?;
        let app = self.new_app();
        let tab = Tab::new(self.tabs.free_number(), app, host, events);
        self.tabs.add(tab);
        let host = &self.tabs.front.host;
        if let Some(reference) = model.filter(|_| is_new) {
            host.send(Op::SelectModel { reference });
        }
        host.send(Op::ListHistory);
        self.shown();
        Ok(())
    }

    /// The interface of another session. It gets what belongs to the terminal when it is shown.
    fn new_app(&self) -> App {
        let settings = &self.options.settings.screen;
        let front = &self.tabs.front.app;
        let (keymap, _) = self.appearance.keymap(&settings.keymap);
        let mut app = App::new(AppOptions {
            theme: (*front.theme).clone(),
            keymap,
            highlighter: Highlighter::new(drop),
            settings: settings.clone(),
            cwd: front.footer.cwd.clone(),
            model_hint: front.footer.model_hint.clone(),
        });
        if !self.has_files() {
            app.prompt.editor.set_elsewhere();
        }
        app
    }

    /// Another tab is shown.
    fn shown(&mut self) {
        // The screen still shows another tab.
        self.painted.forget();
        self.clock.request_now(Instant::now());
    }

    /// Applies the events of background tabs and alerts the user to those that need attention.
    pub(super) fn apply_events_of_others(&mut self) {
        let now = Instant::now();
        for entry in self.tabs.apply_events_of_others(&mut self.options, now) {
            self.tabs.front.app.alert(&entry, now);
        }
    }

    /// Sends the ops of every tab. Sent prompts are in the history of all tabs.
    pub(super) fn send_ops(&mut self) {
        let Self {
            tabs,
            lender,
            results,
            options,
            ..
        } = self;
        let sent = tabs.front.send_ops(|op| {
            let is_here = options.elsewhere.is_none();
            if is_here && lender.is_none() && matches!(op, Op::Shell { .. }) {
                // Without it, editors of the command fail with advice.
                *lender = lend_terminal(results.clone(), Finished::WantsTerminal).ok();
            }
        });
        for tab in self.tabs.others() {
            for prompt in &sent {
                tab.app.prompt.editor.remember(prompt);
            }
            tab.send_ops(|_| {});
        }
    }

    /// Updates the tabs. True when the last session has ended.
    pub(super) fn update_tabs(&mut self) -> bool {
        for (number, taken_by) in self.tabs.ended() {
            if !self.tabs.is_several() {
                return true;
            }
            let text = match taken_by {
                Some(process) => format!("session {number} continues in process {process}"),
                None => format!("session {number} ended"),
            };
            self.tabs.close(number);
            self.toast(Toast::info(text));
            self.shown();
        }
        if self.tabs.front.app.focus.has_it() {
            self.tabs.front.mark_seen();
        }
        self.notify_of_others();
        if self.tabs.is_several() || self.tabs.front.app.tabs.is_several() {
            let summaries = self.tabs.summaries();
            self.tabs.front.app.set_summaries(summaries);
            self.watch_project();
        }
        self.update_attention();
        false
    }

    /// Notifications of sessions that are not shown. What else they want waits until they are.
    fn notify_of_others(&mut self) {
        let mut notes = Vec::new();
        for tab in self.tabs.others() {
            for text in tab.app.take_notifications() {
                notes.push((tab.title(), text));
            }
        }
        for (name, text) in notes {
            self.notify(Some(&name), &text);
        }
    }
}
