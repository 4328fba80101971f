//! Other programs on the same terminal: the prompt, a block of the conversation or a file in the user's editor
//! or pager, and the shell that osier leaves to. Such a program has the terminal while it runs.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use super::options::Options;
use super::screen::Screen;
use super::server_notice::ServerState;
use crate::actions::{Action, Toast, Viewer};
use osier_base::leftovers::{FolderKind, TemporaryFolder};
use osier_base::process::{Exit, TerminalRequest};
use osier_base::regular_file;
use osier_base::text::{sanitize, single_line};
use osier_base::{atomic_file, foreground};
use osier_markdown::Markdown;
use osier_protocol::SessionInfo;
use osier_settings::ExitOutput;
use osier_term::terminal;

impl Screen {
    /// Lets the user write the prompt in their editor.
    pub(super) fn edit_externally(&mut self, text: &str) {
        let editor = self.program(Viewer::Editor);
        if let Some(text) = self.run_on(&editor, text) {
            self.tabs.front.app.edited(text.trim_end_matches('\n'));
        }
    }

    /// Opens a plan or a call in the user's editor before the user decides about it.
    pub(super) fn edit_answer(&mut self, id: String, text: &str) {
        let editor = self.program(Viewer::Editor);
        if let Some(text) = self.run_on(&editor, &format!("{text}\n")) {
            let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
            let app = &mut self.tabs.front.app;
            app.act(Action::ShowEditedAnswer { id, text }, Instant::now());
        }
    }

    /// Shows a text; changes in the other program are ignored.
    pub(super) fn view_externally(&mut self, text: &str, with: Viewer) {
        let program = self.program(with);
        self.run_on(&program, text);
    }

    /// Whether the agent's files are on this machine.
    pub(super) fn has_files(&self) -> bool {
        let elsewhere = self.options.elsewhere.as_ref();
        elsewhere.is_none_or(|elsewhere| elsewhere.files_are_here)
    }

    /// Opens a file of the working directory at a line, then reloads the shown changes.
    pub(super) fn edit_file(&mut self, path: &str, line: usize) {
        let editor = self.program(Viewer::Editor);
        let path = Path::new(&self.tabs.front.app.session.cwd).join(path);
        let path = path.to_string_lossy().into_owned();
        let command = format!("{editor} {}", at_line(&editor, line));
        let run = || foreground::run("sh", ["-c", &command, "osier", &path]);
        let error = match self.terminal.with_released(run) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("`{editor}` failed: {error}")),
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = error {
            self.toast(Toast::error(error));
        }
        self.tabs
            .front
            .app
            .act(Action::ReloadChanges, Instant::now());
        self.repaint_after();
    }

    /// Lets a command of the user have the terminal.
    pub(super) fn lend_terminal(&mut self, request: TerminalRequest) {
        let (program, arguments) = request.program(&self.options.environment);
        let run = || foreground::run_in(request.cwd(), &program, &arguments);
        let ran = self.terminal.with_released(run);
        self.repaint_after();
        match ran {
            Ok(Ok(status)) => {
                let code = Exit::from(status).shell_code();
                request.answer(u8::try_from(code).unwrap_or(1));
            }
            // The command then fails with advice.
            Ok(Err(error)) => self.toast(Toast::error(format!("`{program}` failed: {error}"))),
            Err(error) => self.toast(Toast::error(error.to_string())),
        }
    }

    fn program(&self, viewer: Viewer) -> String {
        let (names, default): (&[&str], &str) = match viewer {
            Viewer::Editor => (&["VISUAL", "EDITOR"], "vi"),
            Viewer::Pager => (&["PAGER"], "less"),
        };
        let environment = &self.options.environment;
        let set = names.iter().filter_map(|name| environment.get(*name));
        let program = set.into_iter().find(|value| !value.is_empty());
        program.map_or(default, String::as_str).to_owned()
    }

    /// The text that a program saved in a file with `text`; a failure is shown.
    fn run_on(&mut self, program: &str, text: &str) -> Option<String> {
        let edited = self.terminal.with_released(|| edit(program, text));
        let text = match edited {
            Ok(Ok(text)) => Some(text),
            Ok(Err(error)) => {
                let text = format!("`{program}` failed: {error}");
                self.toast(Toast::error(text));
                None
            }
            Err(error) => {
                self.toast(Toast::error(error.to_string()));
                None
            }
        };
        self.repaint_after();
        text
    }
}

/// The arguments of an editor for a file and a line; most accept `+LINE`.
fn at_line(editor: &str, line: usize) -> String {
    let program = editor.split_whitespace().next().unwrap_or_default();
    match program.rsplit('/').next().unwrap_or_default() {
        "hx" | "helix" | "zed" | "subl" => format!("\"$1:{line}\""),
        "code" | "codium" | "cursor" => format!("--goto \"$1:{line}\""),
        _ => format!("+{line} \"$1\""),
    }
}

/// Runs the program on a file with `text` and returns the text of the file afterwards.
fn edit(program: &str, text: &str) -> std::io::Result<String> {
    let folder = TemporaryFolder::new(FolderKind::Editor)?;
    let path = folder.path().join("prompt.md");
    let options = atomic_file::Options::PRIVATE;
    atomic_file::write_with(&path, text.as_bytes(), options).map_err(std::io::Error::other)?;
    let command = format!("{program} \"$1\"");
    let name = path.to_string_lossy();
    foreground::run("sh", ["-c", &command, "osier", &name])?;
    // The program may have written anything.
    Ok(regular_file::read_text(&path, regular_file::SMALL)?)
}

/// Prints the answer or the transcript, and how to resume.
pub(super) fn leave_behind(
    options: &Options,
    transcript: &[String],
    sessions: &[(SessionInfo, Option<u32>)],
    server: &ServerState,
) {
    let mut out = osier_base::terminal_output::stdout();
    if options.settings.screen.exit_output != ExitOutput::Nothing {
        let width = usize::from(terminal::size().width).min(PROSE);
        for text in transcript.iter().filter(|text| !text.trim().is_empty()) {
            let _ = writeln!(out, "{}\n", rendered(text, width));
        }
    }
    if let Some(elsewhere) = &options.elsewhere {
        let _ = writeln!(out, "{}", server.text(&elsewhere.way_back));
        return;
    }
    for (session, taken_by) in sessions {
        let path = session.path.as_deref();
        if let Some(process) = taken_by {
            let id = &session.id;
            let _ = writeln!(out, "Session {id} continues in process {process}");
        } else if path.is_some_and(|path| Path::new(path).exists()) {
            let name = session.name.as_deref().filter(|_| sessions.len() > 1);
            let name = name.map(|name| format!("  ({})", single_line(&sanitize(name))));
            let name = name.unwrap_or_default();
            let _ = writeln!(out, "Resume with: osier --resume {}{name}", session.id);
        }
    }
}

/// Columns of prose at most, as on the screen.
const PROSE: usize = 110;

/// Markdown as it is shown on the screen, without its colours.
fn rendered(source: &str, width: usize) -> String {
    let mut markdown = Markdown::from_text(&sanitize(source));
    let mut rows = Vec::new();
    let height = markdown.height(width);
    markdown.rows(width, 0..height, &mut rows);
    let lines = rows.iter().map(|row| row.text().trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_in_the_terminal_is_rendered_and_wrapped() {
        let source = "It **works** now, in all of the cases that were named.\n\n- `a`\n- b\n";
        let expected = "It works now, in all of the\ncases that were named.\n\n• a\n• b";
        assert_eq!(rendered(source, 30), expected);
    }
}
