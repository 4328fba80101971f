//! Other programs on the same terminal: the editor of the user, and the shell that osier leaves to.

use std::io::Write;
use std::time::Instant;

use super::Screen;
use crate::base::foreground;
use crate::base::text::sanitize;
use crate::coding::settings::{ExitOutput, Settings};

impl Screen {
    /// Lets the user write the prompt in their editor.
    pub(super) fn edit_externally(&mut self, text: &str) {
        let now = Instant::now();
        let variable = |name: &str| {
            self.options
                .environment
                .get(name)
                .filter(|value| !value.is_empty())
        };
        let editor = variable("VISUAL").or_else(|| variable("EDITOR")).cloned();
        let editor = editor.unwrap_or_else(|| "vi".to_owned());
        let edited = self.terminal.with_released(|| edit(&editor, text));
        match edited {
            Ok(Ok(text)) => self.app.edited(text.trim_end_matches('\n')),
            Ok(Err(error)) => self
                .app
                .toast(&format!("`{editor}` failed: {error}"), true, now),
            Err(error) => self.app.toast(&error.to_string(), true, now),
        }
        self.repaint();
    }
}

/// Runs the editor on a file with `text` and gives back what it holds afterwards.
fn edit(editor: &str, text: &str) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new()
        .prefix("osier-")
        .suffix(".md")
        .tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    let path = file.path().to_string_lossy().into_owned();
    let command = format!("{editor} \"$1\"");
    foreground::run("sh", ["-c", &command, "osier", &path])?;
    std::fs::read_to_string(file.path())
}

/// What stays in the terminal: the answer or the transcript, and how to come back.
pub(super) fn leave_behind(
    settings: &Settings,
    transcript: &[String],
    path: Option<&str>,
    id: &str,
) {
    let mut out = std::io::stdout().lock();
    if settings.exit_output != ExitOutput::Nothing {
        for text in transcript.iter().filter(|text| !text.trim().is_empty()) {
            let _ = writeln!(out, "{}\n", sanitize(text).trim_end());
        }
    }
    let stored = path.is_some_and(|path| std::path::Path::new(path).exists());
    if stored {
        let _ = writeln!(out, "to go on: osier --resume {id}");
    }
}
