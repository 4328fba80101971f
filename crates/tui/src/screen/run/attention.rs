//! The title, the progress in the taskbar, and notifications. They name the session when several are open.

use super::screen::Screen;
use crate::history::TabState;
use osier_term::terminal::Progress;

/// The program's name, as notifications and titles begin with it.
const NAME: &str = "osier";

impl Screen {
    /// A notification of the desktop about the session of this name.
    pub(super) fn notify(&mut self, session: Option<&str>, text: &str) {
        if self.options.settings.screen.notifications {
            let title = session.map_or_else(|| NAME.to_owned(), |name| format!("{NAME}: {name}"));
            let bytes = self.terminal.kind().notification(&title, text);
            self.writer.queue(bytes);
        }
    }

    /// Sends the title and the progress of all tabs to the terminal when they have changed.
    pub(super) fn update_attention(&mut self) {
        let state = self.tabs.most_urgent();
        let is_working = self.tabs.has(TabState::Working);
        if self.options.settings.screen.title {
            let title = self.title(state);
            // This runs after every event: only changes are sent.
            if title != self.attention.title {
                if self.attention.title.is_empty() {
                    self.writer.queue(self.terminal.kind().save_title());
                }
                self.writer.queue(self.terminal.kind().title(&title));
                self.attention.title = title;
            }
        }
        let progress = match state {
            TabState::Waiting => Progress::Paused,
            _ if is_working => Progress::Busy,
            TabState::Failed => Progress::Failed,
            _ => Progress::None,
        };
        let before = self.attention.progress.replace(progress);
        if before.unwrap_or(Progress::None) != progress {
            self.writer.queue(self.terminal.kind().progress(progress));
        }
    }

    /// The sign of what is most urgent, and the session that is shown.
    fn title(&self, state: TabState) -> String {
        let sign = state.sign().trim();
        let name = self.tabs.front.title();
        let place = self.tabs.front.app.footer.cwd.rsplit('/').next();
        let place = place.filter(|place| !place.is_empty()).unwrap_or(NAME);
        let parts = [sign, &name, place];
        let parts = parts.iter().filter(|part| !part.is_empty());
        parts.copied().collect::<Vec<_>>().join(" · ")
    }

    /// Resets the title and the progress.
    pub(super) fn forget_attention(&mut self) {
        let progress = self.attention.progress.take().unwrap_or(Progress::None);
        let mut bytes = Vec::new();
        if !std::mem::take(&mut self.attention.title).is_empty() {
            bytes = self.terminal.kind().restore_title();
        }
        if progress != Progress::None {
            bytes.extend(self.terminal.kind().progress(Progress::None));
        }
        self.terminal.output().send(bytes);
    }
}
