//! Copying text out: through the desktop, through the terminal (OSC 52, which also works over SSH), or
//! into a file. The answer names the route, so that nobody is told of a success that was not one: whether
//! a terminal took what it was sent cannot be known.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::terminal::{Host, TerminalKind};

/// Most bytes of text that are sent by OSC 52: common terminals and tmux drop a sequence of more than
/// about 74,000 characters without a word.
pub const OSC52_LIMIT: usize = 55_000;

/// How long the desktop is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The way the text took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The desktop's clipboard.
    Desktop,
    /// Sent to the terminal.
    Terminal,
    /// Sent to tmux, which keeps it in its buffer and may pass it on.
    Tmux,
    File(PathBuf),
}

impl fmt::Display for Route {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Desktop => write!(out, "copied to the clipboard"),
            Self::Terminal => write!(out, "sent to the terminal's clipboard"),
            Self::Tmux => write!(out, "sent to tmux and the terminal's clipboard"),
            Self::File(path) => write!(out, "written to {}", path.display()),
        }
    }
}

/// A text on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub route: Route,
    /// To be queued on the frame writer.
    pub bytes: Vec<u8>,
}

/// Why a text could not be copied by any route.
#[derive(Debug, thiserror::Error)]
pub enum ClipboardError {
    #[error("the text is empty")]
    Empty,
    #[error("no clipboard took the text, and `{path}` cannot be written")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Chooses the route for this terminal.
#[derive(Clone)]
pub struct Clipboard {
    native: bool,
    host: Host,
    strings: bool,
    file: PathBuf,
    /// Made when first used, and kept: on X11 and Wayland the text lives in this process.
    desktop: Arc<Mutex<Option<arboard::Clipboard>>>,
}

impl fmt::Debug for Clipboard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Clipboard")
            .field("native", &self.native)
            .field("host", &self.host)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Clipboard {
    /// `display` says whether there is a desktop (`DISPLAY` or `WAYLAND_DISPLAY` is set, or macOS). Over
    /// SSH the desktop would be the wrong one. `file` is the last resort.
    pub fn new(kind: &TerminalKind, display: bool, file: PathBuf) -> Self {
        Self {
            native: display && !kind.remote,
            host: kind.host,
            strings: kind.has_strings(),
            file,
            desktop: Arc::default(),
        }
    }

    /// Copies a text by the first route that works.
    pub async fn copy(&self, text: &str) -> Result<Copied, ClipboardError> {
        if text.is_empty() {
            return Err(ClipboardError::Empty);
        }
        if self.native && self.copy_to_desktop(text).await {
            return Ok(Copied {
                route: Route::Desktop,
                bytes: Vec::new(),
            });
        }
        if let Some(bytes) = osc52(text).filter(|_| self.strings) {
            let route = if self.host == Host::Tmux {
                Route::Tmux
            } else {
                Route::Terminal
            };
            return Ok(Copied { route, bytes });
        }
        write_private(&self.file, text).map_err(|source| ClipboardError::File {
            path: self.file.clone(),
            source,
        })?;
        Ok(Copied {
            route: Route::File(self.file.clone()),
            bytes: Vec::new(),
        })
    }

    /// The text of the desktop's clipboard; `None` where there is none, or none that may be read.
    pub async fn paste(&self) -> Option<String> {
        if !self.native {
            return None;
        }
        let desktop = Arc::clone(&self.desktop);
        let work = tokio::task::spawn_blocking(move || {
            let mut desktop = desktop.lock().unwrap_or_else(PoisonError::into_inner);
            let mut clipboard = match desktop.take() {
                Some(clipboard) => clipboard,
                None => arboard::Clipboard::new().ok()?,
            };
            let text = clipboard.get_text().ok();
            *desktop = Some(clipboard);
            text
        });
        tokio::time::timeout(PATIENCE, work).await.ok()?.ok()?
    }

    /// On a thread of its own: a display server may answer late or never.
    async fn copy_to_desktop(&self, text: &str) -> bool {
        let desktop = Arc::clone(&self.desktop);
        let text = text.to_owned();
        let work = tokio::task::spawn_blocking(move || {
            let mut desktop = desktop.lock().unwrap_or_else(PoisonError::into_inner);
            let mut clipboard = match desktop.take() {
                Some(clipboard) => clipboard,
                None => arboard::Clipboard::new().ok()?,
            };
            clipboard.set_text(text).ok()?;
            *desktop = Some(clipboard);
            Some(())
        });
        matches!(tokio::time::timeout(PATIENCE, work).await, Ok(Ok(Some(()))))
    }
}

/// The sequence that hands a text to the terminal's clipboard; `None` for one that is too long.
pub fn osc52(text: &str) -> Option<Vec<u8>> {
    let encoded = (text.len() <= OSC52_LIMIT).then(|| BASE64_STANDARD.encode(text))?;
    Some(format!("\x1b]52;c;{encoded}\x1b\\").into_bytes())
}

/// What is copied may be secret.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn the_route_depends_on_the_terminal_and_the_size() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("copied.txt");
        let long = "x".repeat(OSC52_LIMIT + 1);
        let kind = |host| TerminalKind {
            host,
            ..TerminalKind::default()
        };
        for (host, text, route, bytes) in [
            (
                Host::Emulator,
                "hi",
                Route::Terminal,
                "\x1b]52;c;aGk=\x1b\\",
            ),
            (Host::Tmux, "hi", Route::Tmux, "\x1b]52;c;aGk=\x1b\\"),
            (Host::Console, "hi", Route::File(file.clone()), ""),
            (Host::Emulator, &long, Route::File(file.clone()), ""),
        ] {
            let clipboard = Clipboard::new(&kind(host), false, file.clone());
            let copied = clipboard.copy(text).await.unwrap();
            let bytes = bytes.as_bytes().to_vec();
            assert_eq!(copied, Copied { route, bytes }, "{host:?}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
        let clipboard = Clipboard::new(&kind(Host::Emulator), false, file);
        assert!(matches!(
            clipboard.copy("").await,
            Err(ClipboardError::Empty)
        ));
    }
}
