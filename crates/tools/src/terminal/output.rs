//! The output of a terminal: the text that the emulator shows, and bytes that it has not processed yet.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use memchr::memchr_iter;
use osier_base::process::PtySize;
use osier_protocol::TerminalScreen;
use regex::Regex;

use super::emulator::{ANSWERS, Emulator, NewRows, SCROLLBACK, joined};
use super::flood::{
    ParserState, line_start, runs, skippable, skippable_in_line, without_sequences,
};
use super::secrets::Secrets;

/// Pending output from which some may be skipped.
const FLOOD: usize = 32 * 1024;
/// Pending output from which some must be processed.
pub(super) const PENDING: usize = 512 * 1024;
/// Rows and bytes that are processed between two searches: less than the retained rows.
const SEARCHED_ROWS: usize = 400;
const SEARCHED_BYTES: usize = 4096;

/// A search for the first line that matches.
#[derive(Debug)]
pub(crate) struct Search {
    regex: Regex,
    state: Mutex<SearchState>,
}

#[derive(Debug, Default)]
struct SearchState {
    /// The next row.
    row: u64,
    found: Option<String>,
}

impl Search {
    /// The line that was found.
    pub(super) fn found(&self) -> Option<String> {
        self.state().found.clone()
    }

    fn state(&self) -> MutexGuard<'_, SearchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add<'a>(&self, mut lines: impl Iterator<Item = &'a str>) {
        let mut state = self.state();
        if state.found.is_none() {
            let found = lines.find(|line| self.regex.is_match(line));
            state.found = found.map(str::to_owned);
        }
    }
}

/// The output of a program. Every method that reads it processes what is pending first.
pub(super) struct TerminalOutput {
    emulator: Emulator,
    parser: ParserState,
    pending: Vec<u8>,
    answers: Vec<u8>,
    pub(super) secrets: Secrets,
    searches: Vec<Weak<Search>>,
    #[cfg(test)]
    skipped: usize,
}

impl TerminalOutput {
    pub(super) fn new(size: PtySize) -> Self {
        Self {
            emulator: Emulator::new(size),
            parser: ParserState::default(),
            pending: Vec::new(),
            answers: Vec::new(),
            secrets: Secrets::default(),
            searches: Vec::new(),
            #[cfg(test)]
            skipped: 0,
        }
    }

    /// Adds output, which stays pending.
    pub(super) fn add(&mut self, output: &[u8]) {
        self.pending.extend_from_slice(output);
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Bytes that were not emulated.
    #[cfg(test)]
    pub(super) fn skipped(&mut self) -> usize {
        self.emulator();
        self.skipped
    }

    /// The emulator after all output.
    pub(super) fn emulator(&mut self) -> &mut Emulator {
        if !self.pending.is_empty() {
            self.skip();
            let rest = std::mem::take(&mut self.pending);
            self.process(&rest);
        }
        &mut self.emulator
    }

    pub(super) fn size(&self) -> PtySize {
        self.emulator.size()
    }

    /// The answers to the queries of the program.
    pub(super) fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers)
    }

    pub(super) fn screen(&mut self) -> TerminalScreen {
        self.emulator().screen()
    }

    /// The rows of the screen, for the model. A line with a secret is one row.
    pub(super) fn rows(&mut self) -> Vec<String> {
        let (lines, mut above) = self.emulator().screen_lines();
        let shown = joined(&lines);
        let hidden = self.secrets.hide(shown.clone());
        let mut all = Vec::new();
        for (rows, (shown, hidden)) in lines.iter().zip(shown.iter().zip(hidden)) {
            let above = std::mem::take(&mut above);
            if *shown == hidden {
                let rows = rows.iter().skip(above);
                all.extend(rows.map(|row| row.trim_end().to_owned()));
            } else {
                all.push(hidden);
            }
        }
        all
    }

    /// The lines from row number `from` on, for the model.
    pub(super) fn new_rows(&mut self, from: u64, most: usize) -> NewRows {
        let new = self.emulator().new_rows(from, most);
        NewRows {
            rows: self.secrets.hide(new.rows),
            ..new
        }
    }

    /// Searches every line from now on.
    pub(super) fn search(&mut self, regex: Regex) -> Arc<Search> {
        let row = self.emulator().new_rows(0, 1).next;
        let state = SearchState { row, found: None };
        let search = Arc::new(Search {
            regex,
            state: Mutex::new(state),
        });
        self.searches.retain(|other| other.strong_count() > 0);
        self.searches.push(Arc::downgrade(&search));
        search
    }

    fn active_searches(&self) -> Vec<Arc<Search>> {
        let searches = self.searches.iter().filter_map(Weak::upgrade);
        searches
            .filter(|search| search.state().found.is_none())
            .collect()
    }

    /// Processes pending output, except for an end that may be skipped later.
    pub(super) fn compact(&mut self) {
        self.skip();
        if self.pending.len() > PENDING / 2 {
            let rest = std::mem::take(&mut self.pending);
            self.process(&rest);
        }
    }

    /// Skips output that no user can see, and processes the output before it.
    fn skip(&mut self) {
        if self.pending.len() < FLOOD {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let mut done = 0;
        for mut run in runs(&pending, self.parser) {
            let size = self.size();
            let retained = SCROLLBACK + 2 * usize::from(size.rows);
            let text = &pending[run.clone()];
            let mut skip = skippable(text, size, retained);
            if skip.is_none()
                && let Some(start) = self.long_line(text)
            {
                run.start += start;
                self.process(&pending[done..run.start]);
                done = run.start;
                skip = skippable_in_line(&text[start..], self.emulator.column(), size, retained);
            }
            let Some(skip) = skip else {
                continue;
            };
            let (start, end) = (run.start + skip.bytes.start, run.start + skip.bytes.end);
            self.process(&pending[done..start]);
            done = start;
            if self.emulator.has_margins() {
                continue;
            }
            self.search_lines(&pending[start..end]);
            self.emulator.skip(skip.rows, &skip.restore);
            done = end;
            #[cfg(test)]
            {
                self.skipped += end - start;
            }
        }
        self.pending = pending[done..].to_vec();
    }

    /// Where a long line without an end begins. Searches need its rows.
    fn long_line(&self, text: &[u8]) -> Option<usize> {
        let start = line_start(text).filter(|start| text.len() - start >= FLOOD)?;
        self.active_searches().is_empty().then_some(start)
    }

    fn process(&mut self, output: &[u8]) {
        self.parser = self.parser.after(output);
        let searches = self.active_searches();
        if searches.is_empty() {
            let answers = self.emulator.process(output);
            return self.answer(&answers);
        }
        let mut rest = output;
        while !rest.is_empty() {
            let feeds = memchr_iter(b'\n', rest).nth(SEARCHED_ROWS);
            let length = feeds.map_or(rest.len(), |feed| feed + 1);
            let (now, later) = rest.split_at(length.min(SEARCHED_BYTES));
            let answers = self.emulator.process(now);
            self.answer(&answers);
            for search in &searches {
                let row = search.state().row;
                let new = self.emulator.new_rows(row, SCROLLBACK);
                search.state().row = new.next;
                let rows = self.secrets.hide(new.rows);
                search.add(rows.iter().map(String::as_str));
            }
            rest = later;
        }
    }

    fn answer(&mut self, answers: &[u8]) {
        if self.answers.len() < ANSWERS {
            self.answers.extend_from_slice(answers);
        }
    }

    /// Searches complete lines that are not shown.
    fn search_lines(&self, output: &[u8]) {
        let searches = self.active_searches();
        if searches.is_empty() {
            return;
        }
        for line in output.split(|byte| *byte == b'\n') {
            let text = without_sequences(line);
            let mut line = String::from_utf8_lossy(&text);
            if !self.secrets.is_empty() {
                let hidden = self.secrets.hide(vec![line.into_owned()]);
                line = Cow::Owned(hidden.concat());
            }
            let line = line.trim_end();
            for search in &searches {
                search.add(std::iter::once(line));
            }
        }
    }
}

osier_base::opaque_debug!(TerminalOutput);

#[cfg(test)]
mod tests {
    use super::*;

    fn output() -> TerminalOutput {
        TerminalOutput::new(PtySize {
            rows: 4,
            columns: 12,
        })
    }

    #[test]
    fn secrets_are_hidden_across_rows() {
        let mut output = output();
        output.secrets.add(b"longsecretvalue\r");
        output.add(b"it is longsecretvalue, yes\r\n");
        output.add(b"a line of two rows\r\n");
        let screen = ["it is [hidden input], yes", "a line of tw", "o rows"];
        assert_eq!(output.rows(), screen[..]);
        let lines = ["it is [hidden input], yes", "a line of two rows"];
        assert_eq!(output.new_rows(0, 100).rows, lines[..]);
        // The rest follows later.
        output.add(b"again longsec");
        assert_eq!(output.rows().last().unwrap(), "again [hidden input]");
        output.add(b"retvalue");
        assert_eq!(output.rows().last().unwrap(), "again [hidden input]");
    }

    #[test]
    fn searches_find_text_across_rows() {
        let mut output = output();
        let search = output.search(Regex::new("FAILED_HERE$").unwrap());
        output.add(b"3 tests FAILED_HERE\r\nnext\r\n");
        output.emulator();
        assert_eq!(search.found().as_deref(), Some("3 tests FAILED_HERE"));
    }
}
