//! Side effects of the interface, such as the clipboard and the browser, and the results of background work.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::screen::{Finished, Screen};
use crate::actions::{Effect, Toast};
use crate::conversation::Printing;
use osier_agent::Severity;
use osier_base::browser;
use osier_base::process::{Invocation, run_captured};
use osier_base::text::{sanitize, single_line};

impl Screen {
    pub(super) fn on_finished(&mut self, result: Finished) {
        let now = Instant::now();
        if let Finished::WantsTerminal(request) = result {
            return self.lend_terminal(request);
        }
        let app = &mut self.tabs.front.app;
        match result {
            Finished::WantsTerminal(_) => {}
            Finished::Pasted(Some(text)) => app.pasted(&text),
            Finished::Pasted(None) => {
                let text = "cannot read the clipboard: paste with the terminal's own key";
                app.act(Toast::error(text), now);
            }
            Finished::Picture(drawn) => app.on_picture(drawn),
            Finished::OuterTerminal(around) => self.on_around(around),
            Finished::Illustration { cwd, path, read } => {
                for tab in self.tabs.tabs().filter(|tab| tab.app.session.cwd == cwd) {
                    tab.app.set_illustration(&path, &read);
                }
            }
            Finished::Attached(Ok(file)) => app.attach(*file, now),
            Finished::Attached(Err(error)) | Finished::Doctor(Err(error)) => {
                app.act(Toast::error(error), now);
            }
            Finished::ClipboardText(text) => app.insert_paste(&text),
            Finished::Doctor(Ok(report)) => app.transcript.notice(Severity::Info, &report),
            Finished::Opened(true) => app.act(Toast::info("opened in the browser"), now),
            Finished::Opened(false) => {
                let text = "cannot open a browser: copy the address";
                app.act(Toast::error(text), now);
            }
            Finished::CopyResult { amount, copied } => match copied {
                Ok(mut copied) => {
                    self.writer.queue(std::mem::take(&mut copied.bytes));
                    app.act(Toast::info(format!("{amount}: {copied}")), now);
                }
                Err(error) => app.act(Toast::error(error.to_string()), now),
            },
        }
    }

    fn open_address(&self, url: String) {
        let results = self.results.clone();
        let environment = self.options.environment.clone();
        osier_base::task::spawn(async move {
            let is_set = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
            let opened = browser::open(&url, is_set).await;
            let _ = results.send(Finished::Opened(opened));
        });
    }

    /// Lets `osier doctor` check the environment of this terminal, in the directory of the session.
    fn check_environment(&self) {
        let results = self.results.clone();
        let cwd = PathBuf::from(&self.tabs.front.app.session.cwd);
        osier_base::task::spawn(async move {
            let _ = results.send(Finished::Doctor(doctor(cwd).await));
        });
    }

    /// Carries one effect out. True when the user leaves.
    pub(super) fn carry_out(&mut self, effect: Effect) -> bool {
        match effect {
            Effect::Quit => return true,
            Effect::Tabs(request) => self.on_tab_request(request),
            Effect::Repaint => self.repaint(),
            Effect::Doctor => {
                self.check_environment();
                let text = "checking the environment …";
                self.tabs.front.app.act(Toast::info(text), Instant::now());
            }
            Effect::Copy(text, what) => {
                let (clipboard, results) = (self.clipboard.clone(), self.results.clone());
                osier_base::task::spawn(async move {
                    let copied = clipboard.copy(&text).await;
                    let amount = amount(&text, what);
                    let _ = results.send(Finished::CopyResult { amount, copied });
                });
            }
            Effect::ReadPicture => self.read_clipboard_picture(),
            Effect::ReadPictures(paths) => self.read_pictures(paths),
            Effect::ReadClipboard => {
                let (clipboard, results) = (self.clipboard.clone(), self.results.clone());
                osier_base::task::spawn(async move {
                    let _ = results.send(Finished::Pasted(clipboard.paste().await));
                });
            }
            Effect::Open(url) => self.open_address(url),
            Effect::Suspend => {
                self.print_rest(Printing::Complete);
                if let Err(error) = self.terminal.suspend() {
                    self.toast(Toast::error(error.to_string()));
                }
            }
            Effect::ExternalEditor(text) => self.edit_externally(&text),
            Effect::EditAnswer { id, text } => self.edit_answer(id, &text),
            Effect::EditFile { path, line } if self.has_files() => self.edit_file(&path, line),
            Effect::EditFile { path, .. } => {
                let text = format!("cannot open `{path}`: it is on the server's machine");
                self.toast(Toast::error(text));
            }
            Effect::View { text, with } => self.view_externally(&text, with),
            Effect::Notify(text) => {
                let name = self.tabs.front_name();
                self.notify(name.as_deref(), &text);
            }
            Effect::PickSetting => self.list_settings(),
            Effect::WriteSetting { name, value } => self.change_setting(&name, value.as_deref()),
            Effect::Remember { name, value } => self.remember(name, &value),
            Effect::Bind(binding) => self.bind(&binding),
            Effect::PreviewTheme(name) => self.preview_theme(name.as_deref()),
            Effect::LoadTheme(name) => self.keep_theme(&name),
            Effect::LoadKeymap(name) => self.keep_keymap(&name),
            Effect::ToggleVim => {
                let is_on = self.options.settings.screen.keymap == "vim";
                self.keep_keymap(if is_on { "default" } else { "vim" });
            }
            Effect::EditList { name, text, adds } => self.edit_list(name, &text, adds),
            Effect::PickTheme => {
                let choices = self.appearance.choices();
                let app = &mut self.tabs.front.app;
                app.pick_theme(&choices, &self.options.settings.screen.theme);
            }
            Effect::ReloadAppearance => self.reload_appearance(),
        }
        false
    }
}

/// The report of `osier doctor`. It has a line for each check, also if one of them fails.
async fn doctor(cwd: PathBuf) -> Result<String, String> {
    const PATIENCE: Duration = Duration::from_secs(30);
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let invocation = Invocation {
        // The directory of a remote session is on another machine.
        cwd: cwd.is_dir().then_some(cwd),
        has_keys: true,
        ..Invocation::new(program, ["doctor"])
    };
    let output = run_captured(&invocation, None, PATIENCE).await;
    let output = output.map_err(|error| error.to_string())?;
    let report = sanitize(&String::from_utf8_lossy(&output.stdout)).into_owned();
    if report.trim().is_empty() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!(
            "`osier doctor` failed: {}",
            single_line(&sanitize(&reason))
        ));
    }
    Ok(report.trim_end().to_owned())
}

/// The name of a copied text, and how much it is.
fn amount(text: &str, what: &str) -> String {
    let (count, unit) = match text.trim_end().lines().count() {
        0 | 1 => (text.trim_end().chars().count(), "character"),
        lines => (lines, "line"),
    };
    let end = if count == 1 { "" } else { "s" };
    format!("{what}, {count} {unit}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_says_what_and_how_much() {
        assert_eq!(amount("one\ntwo\n", "answer"), "answer, 2 lines");
        assert_eq!(amount("one\n", "command"), "command, 3 characters");
        assert_eq!(amount("x", "text"), "text, 1 character");
    }
}
