//! Copies text through the desktop clipboard, the terminal (OSC 52, which also works over SSH), or
//! into a file. A terminal never confirms OSC 52, so the result names the route and does not claim
//! success.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::terminal::{TerminalHost, TerminalKind};

/// Maximum number of text bytes sent by OSC 52. Common terminals and tmux silently drop a sequence
/// of more than about 74,000 characters.
const OSC52_LIMIT: usize = 55_000;

/// How long to wait for the desktop clipboard.
const DESKTOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How the text was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The desktop clipboard.
    Desktop,
    /// OSC 52, sent to the terminal.
    Terminal,
    /// OSC 52, sent to tmux, which stores it in its paste buffer and may forward it.
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

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyResult {
    pub route: Route,
    /// Bytes for the caller to queue on the frame writer.
    pub bytes: Vec<u8>,
}

/// Why no route could copy the text.
#[derive(Debug, thiserror::Error)]
pub enum ClipboardError {
    #[error("the text is empty")]
    Empty,
    #[error("no clipboard is available, and `{path}` cannot be written")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Selects the copy route for one terminal.
#[derive(Clone)]
pub struct Clipboard {
    native: bool,
    host: TerminalHost,
    control_strings: bool,
    file: PathBuf,
    /// Created on first use and kept open: on X11 and Wayland the clipboard content lives in this
    /// process.
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
    /// `display` is true when a desktop is available (`DISPLAY` or `WAYLAND_DISPLAY` is set, or
    /// macOS). Over SSH the desktop clipboard is on the wrong machine and is not used. `file` is
    /// the last resort.
    pub fn new(kind: &TerminalKind, display: bool, file: PathBuf) -> Self {
        Self {
            native: display && !kind.remote,
            host: kind.host,
            control_strings: kind.has_strings(),
            file,
            desktop: Arc::default(),
        }
    }

    /// Copies `text` by the first route that works.
    pub async fn copy(&self, text: &str) -> Result<CopyResult, ClipboardError> {
        if text.is_empty() {
            return Err(ClipboardError::Empty);
        }
        if self.native && self.copy_to_desktop(text).await {
            return Ok(CopyResult {
                route: Route::Desktop,
                bytes: Vec::new(),
            });
        }
        if let Some(bytes) = osc52(text).filter(|_| self.control_strings) {
            let route = if self.host == TerminalHost::Tmux {
                Route::Tmux
            } else {
                Route::Terminal
            };
            return Ok(CopyResult { route, bytes });
        }
        write_private(&self.file, text).map_err(|source| ClipboardError::File {
            path: self.file.clone(),
            source,
        })?;
        Ok(CopyResult {
            route: Route::File(self.file.clone()),
            bytes: Vec::new(),
        })
    }

    /// Reads the desktop clipboard; `None` if it is missing or cannot be read.
    pub async fn paste(&self) -> Option<String> {
        if !self.native {
            return None;
        }
        let desktop = Arc::clone(&self.desktop);
        let work = osier_base::task::spawn_blocking(move || {
            let mut desktop = desktop.lock().unwrap_or_else(PoisonError::into_inner);
            let mut clipboard = match desktop.take() {
                Some(clipboard) => clipboard,
                None => arboard::Clipboard::new().ok()?,
            };
            let text = clipboard.get_text().ok();
            *desktop = Some(clipboard);
            text
        });
        tokio::time::timeout(DESKTOP_TIMEOUT, work)
            .await
            .ok()?
            .ok()?
    }

    /// Runs on a blocking thread because a display server may answer late or never.
    async fn copy_to_desktop(&self, text: &str) -> bool {
        let desktop = Arc::clone(&self.desktop);
        let text = text.to_owned();
        let work = osier_base::task::spawn_blocking(move || {
            let mut desktop = desktop.lock().unwrap_or_else(PoisonError::into_inner);
            let mut clipboard = match desktop.take() {
                Some(clipboard) => clipboard,
                None => arboard::Clipboard::new().ok()?,
            };
            clipboard.set_text(text).ok()?;
            *desktop = Some(clipboard);
            Some(())
        });
        matches!(
            tokio::time::timeout(DESKTOP_TIMEOUT, work).await,
            Ok(Ok(Some(())))
        )
    }
}

/// The OSC 52 sequence that copies `text`; `None` if the text is too long.
fn osc52(text: &str) -> Option<Vec<u8>> {
    let encoded = (text.len() <= OSC52_LIMIT).then(|| BASE64_STANDARD.encode(text))?;
    Some(format!("\x1b]52;c;{encoded}\x1b\\").into_bytes())
}

/// Writes a file that only its owner can read: copied text may be secret.
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
    async fn route_depends_on_terminal_and_size() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("copied.txt");
        let long = "x".repeat(OSC52_LIMIT + 1);
        let kind = |host| TerminalKind {
            host,
            ..TerminalKind::default()
        };
        for (host, text, route, bytes) in [
            (
                TerminalHost::Emulator,
                "hi",
                Route::Terminal,
                "\x1b]52;c;aGk=\x1b\\",
            ),
            (
                TerminalHost::Tmux,
                "hi",
                Route::Tmux,
                "\x1b]52;c;aGk=\x1b\\",
            ),
            (TerminalHost::Console, "hi", Route::File(file.clone()), ""),
            (TerminalHost::Emulator, &long, Route::File(file.clone()), ""),
        ] {
            let clipboard = Clipboard::new(&kind(host), false, file.clone());
            let copied = clipboard.copy(text).await.unwrap();
            let bytes = bytes.as_bytes().to_vec();
            assert_eq!(copied, CopyResult { route, bytes }, "{host:?}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
        let clipboard = Clipboard::new(&kind(TerminalHost::Emulator), false, file);
        assert!(matches!(
            clipboard.copy("").await,
            Err(ClipboardError::Empty)
        ));
    }
}
