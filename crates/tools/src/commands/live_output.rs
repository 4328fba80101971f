//! Live output of a running command: at most ten updates per second, each at most 16 KiB. Output beyond that
//! is counted, not sent.

use std::time::Duration;

use tokio::time::Instant;

use super::in_place::{InPlace, Row, is_drawn};
use crate::files::line_window::complete_characters;
use osier_agent::{Output, ToolUpdate, UpdateSink};
use osier_base::ansi::{Run, Style, styled};

const INTERVAL: Duration = Duration::from_millis(100);
const MAX_BYTES: usize = 16 * 1024;
/// Maximum bytes of an unfinished control sequence that are held back.
const MAX_SEQUENCE: usize = 1024;

/// Throttles the output of one command.
#[derive(Debug)]
pub(crate) struct Live {
    updates: UpdateSink,
    pending: Vec<u8>,
    skipped: u64,
    /// Nothing is sent before this time.
    next_at: Instant,
    /// There is new output to send.
    is_due: bool,
    at_line_start: bool,
    /// The active colours.
    style: Style,
    /// The end of the sent output, to which a program can move back.
    recent: Vec<u8>,
    drawn: Option<Drawn>,
}

/// Output that is drawn in place.
#[derive(Debug)]
struct Drawn {
    screen: InPlace,
    /// The lines that the receivers have and that can still change.
    sent: Vec<Row>,
}

impl Drawn {
    fn after(recent: &[u8]) -> Self {
        let mut screen = InPlace::new();
        screen.feed(recent);
        screen.take_above();
        let sent = screen.on_screen();
        Self { screen, sent }
    }

    /// The lines that `bytes` change or add.
    fn output(&mut self, bytes: &[u8]) -> Output {
        self.screen.feed(bytes);
        let mut lines = self.screen.take_above();
        let above = lines.len();
        lines.extend(self.screen.on_screen());
        let both = lines.iter().zip(&self.sent);
        let mut same = both.take_while(|(now, sent)| now == sent).count();
        let restarts = same < self.sent.len();
        // Lines at the end were removed: the last that is left is sent again.
        same = same.min(lines.len() - usize::from(restarts));
        let mut output = Output {
            restarts,
            up: if restarts {
                (self.sent.len() - same - 1) as u32
            } else {
                0
            },
            ..Output::default()
        };
        for line in &lines[same..] {
            output.text.push('\n');
            let shift = output.text.len() as u32;
            output.text.push_str(&line.text);
            output.colours.extend(line.colours.iter().map(|run| Run {
                start: run.start + shift,
                end: run.end + shift,
                style: run.style,
            }));
        }
        self.sent = lines.split_off(above);
        output
    }
}

impl Live {
    pub(crate) fn new(updates: UpdateSink) -> Self {
        Self {
            updates,
            pending: Vec::new(),
            skipped: 0,
            next_at: Instant::now(),
            is_due: false,
            at_line_start: true,
            style: Style::default(),
            recent: Vec::new(),
            drawn: None,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        self.is_due = true;
        if self.pending.len() > 2 * MAX_BYTES {
            self.skip();
        }
        if Instant::now() >= self.next_at {
            self.flush();
        }
    }

    /// Counts bytes that were lost upstream.
    pub(crate) fn note_skipped(&mut self, bytes: u64) {
        self.skipped += bytes + self.pending.len() as u64;
        self.pending.clear();
        self.is_due = true;
    }

    /// The time when `flush` must be called.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.is_due.then_some(self.next_at)
    }

    /// Sends the pending output, except an incomplete character or control sequence at the end.
    pub(crate) fn flush(&mut self) {
        self.send(complete(&self.pending));
    }

    /// Sends the remaining output.
    pub(crate) fn end(&mut self) {
        self.send(self.pending.len());
    }

    fn send(&mut self, length: usize) {
        self.is_due = false;
        let rest = self.pending.split_off(length);
        if self.pending.len() > MAX_BYTES {
            self.skip();
        }
        let bytes = std::mem::replace(&mut self.pending, rest);
        if bytes.is_empty() && self.skipped == 0 {
            return;
        }
        if self.skipped > 0 {
            self.recent.clear();
            self.drawn = None;
        }
        if self.drawn.is_none() && is_drawn(&bytes) {
            self.drawn = Some(Drawn::after(&self.recent));
        }
        let output = match &mut self.drawn {
            Some(drawn) => drawn.output(&bytes),
            None => self.plain(&bytes),
        };
        self.next_at = Instant::now() + INTERVAL;
        let skipped = std::mem::take(&mut self.skipped);
        self.updates
            .send(ToolUpdate::Output(Output { skipped, ..output }));
    }

    /// Output of which only the last line can change.
    fn plain(&mut self, bytes: &[u8]) -> Output {
        self.recent.extend_from_slice(bytes);
        let surplus = self.recent.len().saturating_sub(MAX_BYTES);
        self.recent.drain(..surplus);
        let raw = String::from_utf8_lossy(bytes);
        let (mut text, mut colours) = styled(&raw, &mut self.style);
        // Sent text cannot be changed: a restarted line becomes the next line, for clients that do not remove
        // the old one.
        let restarts = !self.at_line_start && restarts_line(&raw);
        if restarts {
            text.insert(0, '\n');
            for run in &mut colours {
                run.start += 1;
                run.end += 1;
            }
        }
        if let Some(last) = text.chars().next_back() {
            self.at_line_start = last == '\n';
        }
        Output {
            text,
            colours,
            restarts,
            ..Output::default()
        }
    }

    /// Keeps the end of the pending output, from a line start if there is one nearby.
    fn skip(&mut self) {
        let mut start = self.pending.len().saturating_sub(MAX_BYTES);
        let near = &self.pending[start..start + MAX_BYTES / 2];
        if let Some(newline) = near.iter().position(|byte| *byte == b'\n') {
            start += newline + 1;
        }
        self.pending.drain(..start);
        self.skipped += start as u64;
        // The skipped output may have changed the colours.
        self.style = Style::default();
    }
}

/// Whether a carriage return precedes the end of the first line.
fn restarts_line(text: &str) -> bool {
    let line = text
        .split_once('\n')
        .map_or(text, |(line, _)| line.trim_end_matches('\r'));
    line.contains('\r')
}

/// Length of the prefix of `bytes` that can be shown without knowing the rest.
fn complete(bytes: &[u8]) -> usize {
    let whole = complete_characters(bytes);
    let whole = whole.strip_suffix(b"\r").unwrap_or(whole);
    let start = whole.len().saturating_sub(MAX_SEQUENCE);
    match whole[start..].iter().rposition(|byte| *byte == 0x1b) {
        Some(escape) if is_unfinished(&whole[start + escape + 1..]) => start + escape,
        _ => whole.len(),
    }
}

/// Whether the control sequence, whose escape character precedes `rest`, is incomplete.
fn is_unfinished(rest: &[u8]) -> bool {
    match rest {
        [] => true,
        [b'[', parameters @ ..] => !parameters.iter().any(|byte| (0x40..=0x7e).contains(byte)),
        [b']' | b'P' | b'X' | b'^' | b'_', string @ ..] => {
            !string.iter().any(|byte| matches!(byte, 0x07 | b'\n'))
        }
        [b' '..=b'/', more @ ..] => !more.iter().any(|byte| (b'0'..=b'~').contains(byte)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    type Sent = Arc<Mutex<Vec<(String, u64)>>>;

    fn live() -> (Live, Sent) {
        let sent = Sent::default();
        let sink = Arc::clone(&sent);
        let updates = UpdateSink::new(move |update| {
            let ToolUpdate::Output(Output { text, skipped, .. }) = update else {
                panic!("{update:?}");
            };
            sink.lock().unwrap().push((text, skipped));
        });
        (Live::new(updates), sent)
    }

    fn texts(sent: &Sent) -> Vec<String> {
        sent.lock()
            .unwrap()
            .iter()
            .map(|(text, _)| text.clone())
            .collect()
    }

    /// Lines above the current one are rewritten for the receivers, whatever the parts in which they arrive.
    #[tokio::test(start_paused = true)]
    async fn lines_above_are_rewritten() {
        let output = "start\none: 0%\ntwo: 0%\n\x1b[2A\x1b[2Kone: 50%\n\x1b[1B\x1b[2A\x1b[2K\x1b[32mone: done\x1b[0m\n\x1b[2Ktwo: done\nend\n";
        for size in [1, 2, 7, 16, 1000] {
            let shown = Arc::new(Mutex::new(Output::default()));
            let all = Arc::clone(&shown);
            let updates = UpdateSink::new(move |update| {
                let ToolUpdate::Output(output) = update else {
                    panic!("{update:?}");
                };
                all.lock().unwrap().append(&output, 1000);
            });
            let mut live = Live::new(updates);
            for part in output.as_bytes().chunks(size) {
                live.push(part);
                live.flush();
            }
            live.end();
            let shown = shown.lock().unwrap();
            assert_eq!(shown.text, "start\none: done\ntwo: done\nend\n", "{size}");
            let green = &shown.colours[..];
            assert_eq!(
                (green[0].start, green[0].end, green.len()),
                (6, 15, 1),
                "{size}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_output_is_sent_immediately_and_the_next_waits() {
        let (mut live, sent) = live();
        live.push(b"a");
        live.push(b"b");
        live.push(b"c");
        assert_eq!(texts(&sent), ["a"]);
        assert_eq!(live.due(), Some(Instant::now() + INTERVAL));
        tokio::time::advance(INTERVAL).await;
        live.flush();
        assert_eq!(texts(&sent), ["a", "bc"]);
        assert_eq!(live.due(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn incomplete_sequences_are_held_back() {
        let (mut live, sent) = live();
        for bytes in [
            "é\x1b[3".as_bytes(),
            b"1mred\xc3",
            b"\xa9\r",
            b"\nx\x1b]0;ti",
            b"tle\x07y",
            b"\x1b[",
        ] {
            live.push(bytes);
            tokio::time::advance(INTERVAL).await;
        }
        live.end();
        assert_eq!(texts(&sent), ["é", "red", "é", "\nx", "y", ""]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_starts_again_becomes_a_new_line() {
        let (mut live, sent) = live();
        for bytes in [
            "10%",
            "\r20%",
            "\r30%\r40%",
            "\r\n",
            "done\rDONE\n",
            "next\r\n",
        ] {
            live.push(bytes.as_bytes());
            tokio::time::advance(INTERVAL).await;
        }
        assert_eq!(
            texts(&sent),
            ["10%", "\n20%", "\n40%", "\n", "DONE\n", "next\n"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_shown_line_is_replaced_and_colours_continue() {
        let sent: Arc<Mutex<Output>> = Arc::default();
        let sink = Arc::clone(&sent);
        let updates = UpdateSink::new(move |update| {
            let ToolUpdate::Output(piece) = update else {
                panic!("{update:?}");
            };
            sink.lock().unwrap().append(&piece, 1000);
        });
        let mut live = Live::new(updates);
        for bytes in ["\x1b[3", "1m1", "0%", "\r20", "%\x1b[m!\n", "end"] {
            live.push(bytes.as_bytes());
            tokio::time::advance(INTERVAL).await;
        }
        live.end();
        let sent = sent.lock().unwrap();
        assert_eq!(sent.text, "20%!\nend");
        let coloured: Vec<&str> = sent
            .colours
            .iter()
            .map(|run| &sent.text[run.start as usize..run.end as usize])
            .collect();
        assert_eq!(coloured, ["20", "%"]);
    }

    #[tokio::test(start_paused = true)]
    async fn fast_output_is_counted_and_bounded() {
        let (mut live, sent) = live();
        for _ in 0..1000 {
            live.push(&[b'x'; 1000]);
        }
        live.end();
        let sent = sent.lock().unwrap();
        assert_eq!(sent.len(), 2);
        assert!(sent.iter().all(|(text, _)| text.len() <= MAX_BYTES));
        let all: u64 = sent
            .iter()
            .map(|(text, skipped)| text.len() as u64 + skipped)
            .sum();
        assert_eq!(all, 1_000_000);
    }
}
