//! The standard output and the standard error of the program.
//!
//! Every mode but the full screen writes through these. If a stream is a terminal, the text of models, tools, servers,
//! files and arguments cannot control it: control characters are shown (`^[`), and invisible characters are removed.
//! osier's own control sequences, such as colours, are written with [`StyledWrite::control`]. A pipe or a file gets the
//! exact bytes.

use std::io::{self, IsTerminal as _, Write};
use std::panic::PanicHookInfo;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::exit_limit;
use crate::text;

/// The standard output.
pub fn stdout() -> TerminalOutput<io::Stdout> {
    let stream = io::stdout();
    let is_terminal = stream.is_terminal();
    TerminalOutput::new(stream, is_terminal)
}

/// The standard error.
pub fn stderr() -> TerminalOutput<io::Stderr> {
    let stream = io::stderr();
    let is_terminal = stream.is_terminal();
    TerminalOutput::new(stream, is_terminal)
}

/// The standard output for a task.
pub fn async_stdout() -> AsyncOutput<tokio::io::Stdout> {
    AsyncOutput {
        filter: io::stdout().is_terminal().then(Filter::default),
        stream: tokio::io::stdout(),
        pending: Vec::new(),
    }
}

/// How panics of tokio and of the standard library begin if the system starts no thread, and what to do.
const NO_THREAD: [(&str, &str); 4] = [
    ("OS can't spawn worker thread", PROCESSES),
    ("failed to spawn thread", PROCESSES),
    // Messages of a thread that has started but not begun its work.
    ("failed to allocate an alternative stack", MEMORY),
    ("failed to set up alternative stack guard page", MEMORY),
];
const PROCESSES: &str = "raise the limit of processes (`ulimit -u`, or that of the container)";
const MEMORY: &str = "raise the limit of memory (`ulimit -v`, or that of the container)";

/// Whether a thread has already reported that no thread can start: others fail at the same time.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Prints the message of a panic on standard error, sanitized like everything else. If the system
/// starts no thread, nothing can continue: the process ends instead of waiting for work that no
/// thread does.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        if let Some(advice) = lack_of_threads(info) {
            let reason = info.payload_as_str().unwrap_or_default();
            let reason = reason.split_once(": ").map_or(reason, |(_, reason)| reason);
            exit_limit::end_now(1, || {
                if IS_REPORTED.swap(true, Ordering::Relaxed) {
                    std::thread::sleep(exit_limit::GRACE);
                }
                let mut out = stderr();
                let _ = writeln!(out, "osier: cannot start a thread: {reason}; {advice}");
                let _ = out.flush();
            });
        }
        let mut out = stderr();
        // A failed write to standard error cannot be reported.
        let _ = writeln!(out, "osier: internal error: {info}");
        let _ = out.flush();
    }));
}

/// Whether the system starts no thread: nothing can continue.
pub fn is_lack_of_threads(info: &PanicHookInfo<'_>) -> bool {
    lack_of_threads(info).is_some()
}

/// The advice if the system starts no thread.
fn lack_of_threads(info: &PanicHookInfo<'_>) -> Option<&'static str> {
    let reason = info.payload_as_str().unwrap_or_default();
    let row = NO_THREAD
        .iter()
        .find(|(start, _)| reason.starts_with(start));
    row.map(|(_, advice)| *advice)
}

/// Text with control sequences of osier itself, such as colours.
pub trait StyledWrite: Write {
    fn is_terminal(&self) -> bool;

    /// Writes a control sequence; nothing if the stream is not a terminal.
    fn control(&mut self, sequence: &str) -> io::Result<()>;

    /// Writes `text` between two control sequences.
    fn styled(&mut self, sequence: &str, text: &str, end: &str) -> io::Result<()> {
        self.control(sequence)?;
        self.write_all(text.as_bytes())?;
        self.control(end)
    }
}

/// A stream of text that is sanitized for a terminal.
#[derive(Debug)]
pub struct TerminalOutput<W: Write> {
    stream: W,
    /// Set for a terminal.
    filter: Option<Filter>,
}

impl<W: Write> TerminalOutput<W> {
    pub fn new(stream: W, is_terminal: bool) -> Self {
        Self {
            stream,
            filter: is_terminal.then(Filter::default),
        }
    }

    fn end_partial(&mut self) -> io::Result<()> {
        match &mut self.filter {
            Some(filter) => self.stream.write_all(filter.end().as_bytes()),
            None => Ok(()),
        }
    }
}

impl<W: Write> StyledWrite for TerminalOutput<W> {
    fn is_terminal(&self) -> bool {
        self.filter.is_some()
    }

    fn control(&mut self, sequence: &str) -> io::Result<()> {
        if !self.is_terminal() {
            return Ok(());
        }
        self.end_partial()?;
        self.stream.write_all(sequence.as_bytes())
    }
}

impl<W: Write> Write for TerminalOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.filter {
            None => self.stream.write(bytes),
            Some(filter) => {
                let text = filter.filter(bytes);
                self.stream.write_all(text.as_bytes())?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl<W: Write> Drop for TerminalOutput<W> {
    fn drop(&mut self) {
        // The stream may be closed.
        let _ = self.end_partial();
    }
}

/// [`TerminalOutput`] for a task.
#[derive(Debug)]
pub struct AsyncOutput<W> {
    stream: W,
    filter: Option<Filter>,
    pending: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> AsyncOutput<W> {
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.pending))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for AsyncOutput<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.drain(cx))?;
        match &mut self.filter {
            None => Pin::new(&mut self.stream).poll_write(cx, bytes),
            Some(filter) => {
                self.pending = filter.filter(bytes).into_bytes();
                Poll::Ready(Ok(bytes.len()))
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Sanitizes a stream that arrives in parts, which can end inside of a character.
#[derive(Debug, Default)]
struct Filter {
    /// The start of a character.
    partial: Vec<u8>,
    /// The text ended with a carriage return: with a newline after it, it is a line ending.
    after_return: bool,
}

impl Filter {
    fn filter(&mut self, bytes: &[u8]) -> String {
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(bytes);
        let mut shown = String::with_capacity(partial.len());
        let mut rest = partial.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.show(text, &mut shown);
                    return shown;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.show(&String::from_utf8_lossy(valid), &mut shown);
                    let Some(length) = error.error_len() else {
                        self.partial = after.to_vec();
                        return shown;
                    };
                    shown.push(char::REPLACEMENT_CHARACTER);
                    rest = &after[length..];
                }
            }
        }
    }

    fn show(&mut self, text: &str, shown: &mut String) {
        for char in text.chars() {
            if std::mem::take(&mut self.after_return) && char != '\n' {
                shown.push('␍');
            }
            match char {
                '\r' => self.after_return = true,
                '\n' | '\t' | ' '..='~' => shown.push(char),
                char if char.is_control() => {
                    shown.push_str(&crate::visible::visible(char.encode_utf8(&mut [0; 4])));
                }
                char if text::is_invisible(char) => {}
                char => shown.push(char),
            }
        }
    }

    /// The visible form of an incomplete sequence at the end of the text.
    fn end(&mut self) -> String {
        let mut shown = String::new();
        if std::mem::take(&mut self.after_return) {
            shown.push('␍');
        }
        if !std::mem::take(&mut self.partial).is_empty() {
            shown.push(char::REPLACEMENT_CHARACTER);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&[u8]], is_terminal: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = TerminalOutput::new(&mut bytes, is_terminal);
        for part in parts {
            out.write_all(part).unwrap();
        }
        drop(out);
        bytes
    }

    #[test]
    fn a_terminal_gets_no_control_characters() {
        for (parts, expected) in [
            (&[&b"plain \xc3\xa4\tx\r\ny\n"[..]][..], "plain ä\tx\ny\n"),
            (&[b"\x1b]0;title\x07x\x1b[2J"], "^[]0;title^Gx^[[2J"),
            (&[b"rm #\rls", b"\r", b"\n"], "rm #␍ls\n"),
            (
                &["\u{9b}2J\u{202e}a\u{2028}\u{e0072}".as_bytes()],
                "\\x9b2Ja",
            ),
            (&[b"\xc3", b"\xa4 \xff \xe2\x80"], "ä \u{fffd} \u{fffd}"),
            (&[b"\xc2", b"\x9b31m"], "\\x9b31m"),
            (&["👨‍👩‍👧 ❤\u{fe0f}".as_bytes()], "👨‍👩‍👧 ❤\u{fe0f}"),
        ] {
            let shown = String::from_utf8(written(parts, true)).unwrap();
            assert_eq!(shown, expected, "{parts:?}");
        }
    }

    #[test]
    fn a_pipe_gets_the_exact_bytes() {
        let bytes = b"\x1b[31m\r\xff\xc2\x9b\n";
        assert_eq!(written(&[bytes], false), bytes);
    }

    #[test]
    fn own_control_sequences_are_written_to_a_terminal_only() {
        for (is_terminal, expected) in [(true, "\x1b[1ma^[b\x1b[0m"), (false, "a\x1bb")] {
            let mut bytes = Vec::new();
            let mut out = TerminalOutput::new(&mut bytes, is_terminal);
            out.control("\x1b[1m").unwrap();
            out.write_all(b"a\x1bb").unwrap();
            out.control("\x1b[0m").unwrap();
            drop(out);
            assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn a_task_writes_the_same() {
        use tokio::io::AsyncWriteExt as _;
        for (filter, expected) in [(Some(Filter::default()), "a^[b"), (None, "a\x1bb")] {
            let mut bytes = Vec::new();
            let mut out = AsyncOutput {
                stream: &mut bytes,
                filter,
                pending: Vec::new(),
            };
            out.write_all(b"a\x1b").await.unwrap();
            out.write_all(b"b").await.unwrap();
            out.flush().await.unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        }
    }
}
