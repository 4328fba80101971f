//! Search in the complete conversation. The session finds the entries.

mod line;

use crate::actions::{Action, Outbox};
use crate::conversation::Transcript;
use crate::drawing::Overlays;
pub(crate) use line::ID;
use line::SearchLine;
use osier_protocol::{Event, Op};
use osier_store::Needle;

/// The current search.
#[derive(Debug, Default)]
pub(crate) struct Search {
    query: String,
    /// The query is the one of the last search.
    is_kept: bool,
    request: u64,
    /// Entries with the number of matches in each, the newest first.
    hits: Vec<(String, usize)>,
    /// The hit that is on the screen, and which of its matches, counted from its end.
    at: (usize, usize),
    done: bool,
    /// There are more hits than the session reports.
    cut: bool,
}

impl Search {
    /// Opens the search line with the last query.
    pub(crate) fn open(
        &mut self,
        transcript: &mut Transcript,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        let query = self.query.clone();
        self.start(query, transcript, overlays, outbox);
        self.is_kept = true;
        self.show(overlays);
    }

    /// Applies an action of the search.
    pub(crate) fn apply(
        &mut self,
        action: Action,
        transcript: &mut Transcript,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        match action {
            Action::Search(query) => self.start(query, transcript, overlays, outbox),
            Action::StepSearch { older } => self.step(older, transcript, overlays),
            _ => self.end(transcript, overlays, outbox),
        }
    }

    /// Searches for another text.
    fn start(
        &mut self,
        query: String,
        transcript: &mut Transcript,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        transcript.set_needle(Needle::new(&query));
        *self = Self {
            request: self.request + 1,
            done: query.is_empty(),
            query,
            ..Self::default()
        };
        self.show(overlays);
        outbox.push(self.op(self.query.clone()));
    }

    /// Adds reported hits. The first one is shown at once.
    pub(crate) fn on_event(
        &mut self,
        event: &Event,
        transcript: &mut Transcript,
        overlays: &mut Overlays,
    ) {
        let Event::SearchHits {
            request,
            hits,
            done,
            cut,
        } = event
        else {
            return;
        };
        if *request != self.request {
            return;
        }
        let first = self.hits.is_empty();
        let found = hits.iter();
        self.hits
            .extend(found.map(|hit| (hit.entry_id.clone(), hit.count.max(1))));
        self.done |= done;
        self.cut |= cut;
        if first && !hits.is_empty() {
            self.show_hit(transcript);
        }
        if overlays.contains(ID) {
            self.show(overlays);
        }
    }

    /// Goes to the next older or newer match.
    fn step(&mut self, older: bool, transcript: &mut Transcript, overlays: &mut Overlays) {
        let count = |hit: usize| self.hits.get(hit).map(|(_, count)| *count);
        let (hit, nth) = self.at;
        self.at = match older {
            true if nth + 1 < count(hit).unwrap_or_default() => (hit, nth + 1),
            true if count(hit + 1).is_some() => (hit + 1, 0),
            false if nth > 0 => (hit, nth - 1),
            false if hit > 0 => (hit - 1, count(hit - 1).unwrap_or(1) - 1),
            _ => self.at,
        };
        self.show_hit(transcript);
        self.show(overlays);
    }

    /// Closes the line and removes the marks. The position in the conversation stays.
    fn end(&mut self, transcript: &mut Transcript, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.remove(ID);
        transcript.set_needle(None);
        self.request += 1;
        outbox.push(self.op(String::new()));
    }

    fn op(&self, query: String) -> Op {
        Op::SearchTranscript {
            request: self.request,
            query,
        }
    }

    fn show_hit(&self, transcript: &mut Transcript) {
        if let Some((entry, _)) = self.hits.get(self.at.0) {
            transcript.go_match(entry, self.at.1);
        }
    }

    fn show(&self, overlays: &mut Overlays) {
        overlays.push(
            ID,
            SearchLine::new(&self.query, self.is_kept, self.status()),
        );
    }

    /// The status in the search line.
    fn status(&self) -> String {
        let more = if self.cut { "+" } else { "" };
        let counts = |hits: &[(String, usize)]| -> usize { hits.iter().map(|hit| hit.1).sum() };
        let newer = self.hits.get(..self.at.0).unwrap_or_default();
        let place = counts(newer) + self.at.1 + 1;
        match (counts(&self.hits), self.done) {
            _ if self.query.is_empty() => String::new(),
            (0, false) => "searching…".to_owned(),
            (0, true) => "not found".to_owned(),
            (count, true) => format!("{place}/{count}{more}"),
            (count, false) => format!("{place}/{count}…"),
        }
    }
}
