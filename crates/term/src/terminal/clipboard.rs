//! Copies text through the desktop clipboard, tmux, the terminal (OSC 52, which also works over SSH), or
//! into a file. A terminal never confirms OSC 52, so the result names the route and does not claim
//! success.

use parking_lot::Mutex;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::terminal::{TerminalHost, TerminalKind};
use osier_base::process::run_quietly;
use osier_base::{path, private, regular_file};

/// Maximum number of text bytes sent by OSC 52. Common terminals and tmux silently drop a sequence
/// of more than about 74,000 characters.
const OSC52_LIMIT: usize = 55_000;

/// How long to wait for the desktop clipboard.
const DESKTOP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for tmux.
const TMUX_TIMEOUT: Duration = Duration::from_secs(2);

/// How the text was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The desktop clipboard.
    Desktop,
    /// OSC 52, sent to the terminal.
    Terminal,
    /// The paste buffer of tmux, which also sends it to its terminal.
    Tmux,
    /// The paste buffer of tmux, whose terminal is another tmux: this one drops the text unless it
    /// is configured to accept it.
    NestedTmux,
    /// The paste buffer of tmux alone: too long, or its terminal has no clipboard.
    TmuxBuffer,
    /// OSC 52, sent to tmux, which drops it unless it is configured to accept it.
    ThroughTmux,
    /// OSC 52 in the envelope of GNU screen, which passes it on.
    ThroughScreen,
    File(PathBuf),
}

impl fmt::Display for Route {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Desktop => write!(out, "copied to the clipboard"),
            Self::Terminal => write!(out, "sent to the terminal, which may ignore it"),
            Self::Tmux => {
                write!(out, "copied to the tmux buffer and sent to its terminal")
            }
            Self::NestedTmux => {
                write!(
                    out,
                    "copied to the tmux buffer (the outer tmux needs `set-clipboard on`)"
                )
            }
            Self::TmuxBuffer => write!(out, "copied to the tmux buffer"),
            Self::ThroughTmux => {
                write!(out, "sent to tmux (needs `set-clipboard on`)")
            }
            Self::ThroughScreen => write!(
                out,
                "sent through screen to the terminal, which may ignore it"
            ),
            Self::File(path) => write!(out, "written to {}", path::below_home(path)),
        }
    }
}

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyResult {
    pub route: Route,
    /// Bytes for the caller to queue on the frame writer.
    pub bytes: Vec<u8>,
    /// A file with the text, where nobody knows whether it arrives.
    pub file: Option<PathBuf>,
}

impl fmt::Display for CopyResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => {
                let file = path::below_home(file);
                write!(out, "{}, and written to {file}", self.route)
            }
            None => write!(out, "{}", self.route),
        }
    }
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
    /// The program and its first arguments.
    tmux: Option<Vec<String>>,
    file: PathBuf,
    /// Created on first use and kept open: on X11 and Wayland the clipboard content lives in this
    /// process.
    desktop: Arc<Mutex<Option<arboard::Clipboard>>>,
}

osier_base::opaque_debug!(Clipboard);

impl Clipboard {
    /// `display` is true when a desktop is available (`DISPLAY` or `WAYLAND_DISPLAY` is set, or
    /// macOS). Over SSH the desktop clipboard is on the wrong machine and is not used. `file` is
    /// the last resort.
    pub fn new(kind: &TerminalKind, display: bool, file: PathBuf) -> Self {
        Self {
            native: display && !kind.remote,
            host: kind.host,
            control_strings: kind.has_strings(),
            tmux: None,
            file,
            desktop: Arc::default(),
        }
    }

    /// Copies with this command of tmux: `$TMUX` names its server.
    #[must_use]
    pub fn with_tmux(mut self, command: &[&str]) -> Self {
        self.tmux = Some(command.iter().map(|&word| word.to_owned()).collect());
        self
    }

    /// Copies `text` by the first route that works.
    pub async fn copy(&self, text: &str) -> Result<CopyResult, ClipboardError> {
        if text.is_empty() {
            return Err(ClipboardError::Empty);
        }
        let write = || write_private(&self.file, text);
        let result = |route, bytes: Vec<u8>| {
            let is_sent = route == Route::NestedTmux || !bytes.is_empty();
            let file = is_sent.then(|| write().ok().map(|()| self.file.clone()));
            Ok(CopyResult {
                route,
                bytes,
                file: file.flatten(),
            })
        };
        let copied = text.to_owned();
        let to_desktop = self.with_desktop(|clipboard| clipboard.set_text(copied).ok());
        if to_desktop.await.is_some() {
            return result(Route::Desktop, Vec::new());
        }
        if let Some(route) = self.copy_to_tmux(text).await {
            return result(route, Vec::new());
        }
        if let Some(bytes) = osc52(text).filter(|_| self.control_strings) {
            return match self.host {
                TerminalHost::Tmux => result(Route::ThroughTmux, bytes),
                TerminalHost::Screen => result(Route::ThroughScreen, through_screen(&bytes)),
                _ => result(Route::Terminal, bytes),
            };
        }
        write().map_err(|source| ClipboardError::File {
            path: self.file.clone(),
            source,
        })?;
        result(Route::File(self.file.clone()), Vec::new())
    }

    /// Reads the desktop clipboard; `None` if it is missing or cannot be read.
    pub async fn paste(&self) -> Option<String> {
        self.with_desktop(|clipboard| clipboard.get_text().ok())
            .await
    }

    /// Gives the text to tmux, because tmux drops OSC 52 of programs by default. Before tmux 3.2 it
    /// cannot send the text to its terminal, and terminals drop a long one.
    async fn copy_to_tmux(&self, text: &str) -> Option<Route> {
        let (program, words) = self.tmux.as_deref()?.split_first()?;
        let load = async |arguments: &[&str]| {
            let words = words.iter().map(String::as_str);
            let words = words.chain(arguments.iter().copied());
            let ran = run_quietly(program, words, Some(text.as_bytes()), TMUX_TIMEOUT).await;
            ran.is_ok_and(|output| output.exit.is_success())
        };
        if text.len() <= OSC52_LIMIT && load(&["load-buffer", "-w", "-"]).await {
            let words = words.iter().map(String::as_str);
            let words = words.chain(["display-message", "-p", CLIENT]);
            let asked = run_quietly(program, words, None, TMUX_TIMEOUT).await;
            let client = asked.map(|output| output.stdout).unwrap_or_default();
            return Some(route_of_client(&String::from_utf8_lossy(&client)));
        }
        load(&["load-buffer", "-"])
            .await
            .then_some(Route::TmuxBuffer)
    }

    /// Uses the desktop clipboard, if there is one. Runs on a blocking thread because a display
    /// server may answer late or never.
    async fn with_desktop<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut arboard::Clipboard) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        if !self.native {
            return None;
        }
        let desktop = Arc::clone(&self.desktop);
        let work = osier_base::task::spawn_blocking(move || {
            let mut desktop = desktop.lock();
            if desktop.is_none() {
                *desktop = arboard::Clipboard::new().ok();
            }
            work(desktop.as_mut()?)
        });
        let done = tokio::time::timeout(DESKTOP_TIMEOUT, work).await;
        done.ok()?.ok()?
    }
}

/// The format with which tmux describes its terminal: name, type and features.
const CLIENT: &str = "#{client_termname} #{client_termtype} #{client_termfeatures}";

/// Where tmux sends a text on a terminal with this description.
fn route_of_client(client: &str) -> Route {
    let client = client.trim();
    // The type comes from the terminal itself, the name from `TERM`.
    let is_nested = client
        .split(' ')
        .take(2)
        .any(|word| word.starts_with("tmux") || word.starts_with("screen"));
    // A tmux that does not say what its terminal has sends the text anyway.
    let is_described = client.contains(',');
    if is_nested {
        Route::NestedTmux
    } else if is_described && !client.contains("clipboard") {
        Route::TmuxBuffer
    } else {
        Route::Tmux
    }
}

/// The OSC 52 sequence that copies `text`; `None` if the text is too long.
fn osc52(text: &str) -> Option<Vec<u8>> {
    let encoded = (text.len() <= OSC52_LIMIT).then(|| BASE64_STANDARD.encode(text))?;
    Some(format!("\x1b]52;c;{encoded}\x1b\\").into_bytes())
}

/// Bytes that screen passes on at once; it drops a longer string.
const SCREEN_STRING: usize = 240;

/// A sequence in DCS strings, which GNU screen passes on to its terminal. It ends with BEL there: `ESC \` ends the string.
fn through_screen(sequence: &[u8]) -> Vec<u8> {
    let sequence = sequence.strip_suffix(b"\x1b\\").unwrap_or(sequence);
    let sequence = [sequence, b"\x07"].concat();
    let strings = sequence
        .chunks(SCREEN_STRING)
        .map(|part| [b"\x1bP", part, b"\x1b\\"].concat());
    strings.collect::<Vec<_>>().concat()
}

/// Writes a file that only its owner can read: copied text may be secret.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let file = regular_file::open_own(path, Some(private::FILE_MODE))?;
    file.set_len(0)?;
    (&file).write_all(text.as_bytes())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
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
                Route::ThroughTmux,
                "\x1b]52;c;aGk=\x1b\\",
            ),
            (
                TerminalHost::Screen,
                "hi",
                Route::ThroughScreen,
                "\x1bP\x1b]52;c;aGk=\x07\x1b\\",
            ),
            (TerminalHost::Console, "hi", Route::File(file.clone()), ""),
            (TerminalHost::Emulator, &long, Route::File(file.clone()), ""),
        ] {
            let clipboard = Clipboard::new(&kind(host), false, file.clone());
            let copied = clipboard.copy(text).await.unwrap();
            let bytes = bytes.as_bytes().to_vec();
            let also = (!bytes.is_empty()).then(|| file.clone());
            let expected = CopyResult {
                route,
                bytes,
                file: also,
            };
            assert_eq!(copied, expected, "{host:?}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
        let clipboard = Clipboard::new(&kind(TerminalHost::Emulator), false, file);
        assert!(matches!(
            clipboard.copy("").await,
            Err(ClipboardError::Empty)
        ));
    }

    #[test]
    fn tmux_says_what_its_terminal_does() {
        for (client, expected) in [
            (
                "xterm-256color xterm(390) bpaste,clipboard,title",
                Route::Tmux,
            ),
            ("xterm-256color  bpaste,title", Route::TmuxBuffer),
            (
                "tmux-256color tmux 3.5a bpaste,clipboard,title",
                Route::NestedTmux,
            ),
            ("screen-256color  title,usstyle", Route::NestedTmux),
            (
                "xterm-256color tmux 3.3a bpaste,clipboard",
                Route::NestedTmux,
            ),
            ("", Route::Tmux),
        ] {
            assert_eq!(route_of_client(client), expected, "{client}");
        }
    }

    #[test]
    fn screen_gets_a_long_text_in_several_strings() {
        let sequence = osc52(&"x".repeat(600)).unwrap();
        let text = String::from_utf8(through_screen(&sequence)).unwrap();
        let parts: Vec<&str> = text.split("\x1b\\").collect();
        assert_eq!(parts.len(), 5);
        let passed: String = parts
            .iter()
            .map(|part| part.trim_start_matches("\x1bP"))
            .collect();
        assert_eq!(
            passed,
            String::from_utf8(sequence)
                .unwrap()
                .replace("\x1b\\", "\x07")
        );
    }

    /// A script in the place of tmux, which knows `-w` or not.
    #[tokio::test]
    async fn tmux_takes_the_text_itself() {
        let directory = TempDir::new().unwrap();
        let (program, taken) = (
            directory.path().join("tmux"),
            directory.path().join("taken"),
        );
        let kind = TerminalKind {
            host: TerminalHost::Tmux,
            ..TerminalKind::default()
        };
        let long = "x".repeat(OSC52_LIMIT + 1);
        let fails = "exit 1";
        let knows = "[ $1 = load-buffer ] || exit 0; cat >\"${0%/*}/taken\"; echo \"$*\" >>\"${0%/*}/taken\"";
        let old = format!("[ \"$2\" = - ] || exit 1\n{knows}");
        for (script, text, route, expected) in [
            (knows, "hi", Route::Tmux, "hiload-buffer -w -\n".to_owned()),
            (
                &old,
                "hi",
                Route::TmuxBuffer,
                "hiload-buffer -\n".to_owned(),
            ),
            (
                knows,
                &long,
                Route::TmuxBuffer,
                format!("{long}load-buffer -\n"),
            ),
            (fails, "hi", Route::ThroughTmux, String::new()),
        ] {
            std::fs::write(&taken, "").unwrap();
            std::fs::write(&program, script).unwrap();
            let file = directory.path().join("copied.txt");
            let clipboard = Clipboard::new(&kind, false, file);
            let clipboard = clipboard.with_tmux(&["sh", program.to_str().unwrap()]);
            let copied = clipboard.copy(text).await.unwrap();
            assert_eq!(copied.route, route);
            assert_eq!(std::fs::read_to_string(&taken).unwrap(), expected);
            assert_eq!(copied.bytes.is_empty(), route != Route::ThroughTmux);
        }
    }
}
