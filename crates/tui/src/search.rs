//! Looking for something in the whole conversation: what is sought, what was found, and where among it
//! the reader is. The host does the finding.

use super::app::App;
use super::overlays;
use super::overlays::search::SearchLine;
use osier_session::host::Op;
use osier_store::{Needle, SearchHit};

/// A search that is on.
#[derive(Debug, Default)]
pub(super) struct Search {
    query: String,
    request: u64,
    /// Entries, the newest first.
    hits: Vec<String>,
    /// The hit that is on the screen.
    at: usize,
    done: bool,
    /// There are more hits than the host tells.
    cut: bool,
}

impl Search {
    /// What the search line says about it.
    fn status(&self) -> String {
        let more = if self.cut { "+" } else { "" };
        match (self.hits.len(), self.done) {
            _ if self.query.is_empty() => "enter, ↑ older · ↓ newer · esc closes".to_owned(),
            (0, false) => "searching…".to_owned(),
            (0, true) => "not found".to_owned(),
            (count, true) => format!("{}/{count}{more}", self.at + 1),
            (count, false) => format!("{}/{count}…", self.at + 1),
        }
    }
}

impl App {
    /// Opens the search line; what was sought last is there again.
    pub(super) fn open_search(&mut self) {
        let query = self.search.query.clone();
        self.start_search(query);
    }

    /// Looks for another text.
    pub(super) fn start_search(&mut self, query: String) {
        self.transcript.set_needle(Needle::new(&query));
        self.search = Search {
            request: self.search.request + 1,
            done: query.is_empty(),
            query,
            ..Search::default()
        };
        self.ops.push(Op::SearchTranscript {
            request: self.search.request,
            query: self.search.query.clone(),
        });
        self.show_search();
    }

    /// Takes hits. The first one is shown at once.
    pub(super) fn found(&mut self, request: u64, hits: &[SearchHit], (done, cut): (bool, bool)) {
        if request != self.search.request {
            return;
        }
        let first = self.search.hits.is_empty();
        let entries = hits.iter().map(|hit| hit.entry_id.clone());
        self.search.hits.extend(entries);
        self.search.done |= done;
        self.search.cut |= cut;
        if first && !hits.is_empty() {
            self.show_hit();
        }
        if self.layers.contains(overlays::search::ID) {
            self.show_search();
        }
    }

    /// Goes to the next hit above, or below.
    pub(super) fn step_search(&mut self, older: bool) {
        let last = self.search.hits.len().saturating_sub(1);
        self.search.at = if older {
            (self.search.at + 1).min(last)
        } else {
            self.search.at.saturating_sub(1)
        };
        self.show_hit();
        self.show_search();
    }

    /// Takes the line and the marks away. The reader stays where they are.
    pub(super) fn end_search(&mut self) {
        self.layers.remove(overlays::search::ID);
        self.transcript.set_needle(None);
        self.search.request += 1;
        self.ops.push(Op::SearchTranscript {
            request: self.search.request,
            query: String::new(),
        });
    }

    fn show_hit(&mut self) {
        if let Some(entry) = self.search.hits.get(self.search.at) {
            self.transcript.go_entry(entry);
        }
    }

    fn show_search(&mut self) {
        let line = SearchLine::new(&self.search.query, self.search.status());
        self.layers.push(overlays::search::ID, line);
    }
}
