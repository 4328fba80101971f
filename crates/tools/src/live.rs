//! Output on its way to the screen while a command runs: at most ten updates a second, each at most
//! 16 KiB. What comes faster is counted, not sent.

use std::time::Duration;

use tokio::time::Instant;

use super::scan::whole_characters;
use osier_agent::{Output, ToolUpdate, UpdateSink};
use osier_base::ansi::{Style, styled};

const INTERVAL: Duration = Duration::from_millis(100);
const MAX_BYTES: usize = 16 * 1024;
/// Bytes of an unfinished control sequence that are held back for its end.
const MAX_SEQUENCE: usize = 1024;

/// Throttles the output of one command.
#[derive(Debug)]
pub(super) struct Live {
    updates: UpdateSink,
    pending: Vec<u8>,
    skipped: u64,
    /// Before this nothing is sent.
    next_at: Instant,
    /// There is something new to send.
    is_due: bool,
    at_line_start: bool,
    /// The colours in force.
    pen: Style,
}

impl Live {
    pub(super) fn new(updates: UpdateSink) -> Self {
        Self {
            updates,
            pending: Vec::new(),
            skipped: 0,
            next_at: Instant::now(),
            is_due: false,
            at_line_start: true,
            pen: Style::default(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        self.is_due = true;
        if self.pending.len() > 2 * MAX_BYTES {
            self.skip();
        }
        if Instant::now() >= self.next_at {
            self.flush();
        }
    }

    /// Counts bytes that were lost before they came here.
    pub(super) fn note_skipped(&mut self, bytes: u64) {
        self.skipped += bytes + self.pending.len() as u64;
        self.pending.clear();
        self.is_due = true;
    }

    /// When `flush` has to be called.
    pub(super) fn due(&self) -> Option<Instant> {
        self.is_due.then_some(self.next_at)
    }

    /// Sends what there is, but for a character or control sequence that is not complete yet.
    pub(super) fn flush(&mut self) {
        self.send(complete(&self.pending));
    }

    /// Sends the rest.
    pub(super) fn end(&mut self) {
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
        let raw = String::from_utf8_lossy(&bytes);
        let (mut text, mut colours) = styled(&raw, &mut self.pen);
        // Sent text cannot be taken back: a line that starts again becomes the next one, for those who do not
        // take the other away.
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
        self.next_at = Instant::now() + INTERVAL;
        let skipped = std::mem::take(&mut self.skipped);
        self.updates.send(ToolUpdate::Output(Output {
            text,
            skipped,
            colours,
            restarts,
        }));
    }

    /// Leaves the end of what is pending, from a line start where one is near.
    fn skip(&mut self) {
        let mut start = self.pending.len().saturating_sub(MAX_BYTES);
        let near = &self.pending[start..start + MAX_BYTES / 2];
        if let Some(newline) = near.iter().position(|byte| *byte == b'\n') {
            start += newline + 1;
        }
        self.pending.drain(..start);
        self.skipped += start as u64;
        // What was left out may have changed them.
        self.pen = Style::default();
    }
}

/// Whether a carriage return comes before the first line is over.
fn restarts_line(text: &str) -> bool {
    let line = text
        .split_once('\n')
        .map_or(text, |(line, _)| line.trim_end_matches('\r'));
    line.contains('\r')
}

/// Length of the start of `bytes` that can be shown without knowing what follows.
fn complete(bytes: &[u8]) -> usize {
    let whole = whole_characters(bytes);
    let whole = whole.strip_suffix(b"\r").unwrap_or(whole);
    let start = whole.len().saturating_sub(MAX_SEQUENCE);
    match whole[start..].iter().rposition(|byte| *byte == 0x1b) {
        Some(escape) if is_unfinished(&whole[start + escape + 1..]) => start + escape,
        _ => whole.len(),
    }
}

/// Whether the control sequence whose escape character came before `rest` goes on after it.
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

    #[tokio::test(start_paused = true)]
    async fn the_first_output_goes_at_once_and_the_next_waits() {
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
    async fn what_is_cut_in_two_is_held_back() {
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
    async fn what_was_shown_of_a_line_is_taken_back_and_colours_go_on() {
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
    async fn a_flood_is_counted_and_bounded() {
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
