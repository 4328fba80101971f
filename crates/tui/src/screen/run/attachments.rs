//! Files and the clipboard's image for the prompt, read in the background.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::screen::{Finished, Screen};
use osier_agent::Attachment;
use osier_base::process::run_printing;
use osier_tools::{attachment, image};

/// How long a clipboard program may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Programs that print the clipboard's picture, with the variable that says they could.
const PROGRAMS: &[(&str, &[&str], &str)] = &[
    (
        "wl-paste",
        &["--no-newline", "--type", "image/png"],
        "WAYLAND_DISPLAY",
    ),
    (
        "xclip",
        &["-selection", "clipboard", "-target", "image/png", "-out"],
        "DISPLAY",
    ),
    ("pngpaste", &["-"], ""),
];

impl Screen {
    /// Attaches files, each when it is read.
    pub(super) fn read_pictures(&self, paths: Vec<PathBuf>) {
        let results = self.results.clone();
        let deny = self.options.settings.deny.clone();
        let cwd = PathBuf::from(&self.tabs.front.app.session.cwd);
        osier_base::task::spawn_blocking(move || {
            for path in paths {
                let read = attach(&path, &cwd, &deny);
                let _ = results.send(Finished::Attached(read));
            }
        });
    }

    /// Attaches the picture in the clipboard, or pastes its text.
    pub(super) fn read_clipboard_picture(&self) {
        let (clipboard, results) = (self.clipboard.clone(), self.results.clone());
        let environment = self.options.environment.clone();
        osier_base::task::spawn(async move {
            let is_set = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
            let found = if is_set("SSH_CONNECTION") || is_set("SSH_TTY") {
                let text = "cannot read your clipboard over SSH: drop the image as a file, or copy it to this machine and name it with @";
                Finished::Attached(Err(text.to_owned()))
            } else if let Some(picture) = picture(is_set).await {
                Finished::Attached(Ok(Box::new(picture)))
            } else if let Some(text) = clipboard.paste().await {
                Finished::ClipboardText(text)
            } else {
                Finished::Attached(Err(advice(is_set)))
            };
            let _ = results.send(found);
        });
    }
}

/// The file at `path`, unless a rule denies it.
fn attach(path: &Path, cwd: &Path, deny: &[String]) -> Result<Box<Attachment>, String> {
    if let Some(rule) = osier_permissions::denies_reading(deny, cwd, path) {
        let path = path.display();
        return Err(format!(
            "`{path}` is not attached: the rule `{rule}` denies it"
        ));
    }
    let read = attachment::load(path).map(Box::new);
    read.map_err(|error| error.to_string())
}

async fn picture(is_set: impl Fn(&str) -> bool) -> Option<Attachment> {
    for (program, arguments, variable) in PROGRAMS {
        let could = if variable.is_empty() {
            cfg!(target_os = "macos")
        } else {
            is_set(variable)
        };
        if !could {
            continue;
        }
        let limits = (image::FILE_LIMIT as usize, PATIENCE);
        let Ok(output) = run_printing(program, arguments.iter().copied(), limits).await else {
            continue;
        };
        if image::image_type(&output.stdout).is_some() {
            let read = move || attachment::of_bytes(Path::new("clipboard.png"), output.stdout).ok();
            return osier_base::task::spawn_blocking(read).await.ok()?;
        }
    }
    None
}

/// Why no image was found in the clipboard, and what the user can do.
fn advice(is_set: impl Fn(&str) -> bool) -> String {
    let needs = if cfg!(target_os = "macos") {
        "`pngpaste` (brew install pngpaste)"
    } else if is_set("WAYLAND_DISPLAY") {
        "`wl-paste` (wl-clipboard)"
    } else if is_set("DISPLAY") {
        "`xclip`"
    } else {
        return "no clipboard found: drop the image as a file, or name it with @".to_owned();
    };
    format!("no image in the clipboard; reading images requires {needs}")
}
