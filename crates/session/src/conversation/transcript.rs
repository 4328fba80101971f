//! Reading and searching the conversation of a session, in the background and from its file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::emitter::Emitter;
use osier_protocol::{Event, PageAt, SearchHit};
use osier_store::{Needle, SessionStore};

/// The conversation of an open session. Dropping it cancels its search.
#[derive(Debug)]
pub(crate) struct Transcript {
    store: SessionStore,
    /// Cancels the search that runs.
    stop: Arc<AtomicBool>,
}

impl Transcript {
    pub(crate) fn new(store: SessionStore) -> Self {
        Self {
            store,
            stop: Arc::default(),
        }
    }

    /// Publishes a page. If the file is not `indexed` yet, waits for the index first.
    pub(crate) fn read(&self, request: u64, at: PageAt, indexed: bool, emitter: Emitter) {
        let store = self.store.clone();
        osier_base::task::spawn(async move {
            if !indexed && store.findings().await.is_err() {
                return emitter.publish(missing_page(request));
            }
            osier_base::task::spawn_blocking(move || {
                let page = store.index().page(&at);
                emitter.publish(
                    page.map_or(missing_page(request), |page| Event::TranscriptPage {
                        request,
                        found: true,
                        messages: page.messages,
                        at_start: page.at_start,
                        at_end: page.at_end,
                    }),
                );
            });
        });
    }

    /// Publishes the hits of a search. A search before it is cancelled.
    pub(crate) fn search(&mut self, request: u64, query: &str, indexed: bool, emitter: Emitter) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop = Arc::default();
        let Some(needle) = Needle::new(query) else {
            return;
        };
        let store = self.store.clone();
        let stop = Arc::clone(&self.stop);
        osier_base::task::spawn(async move {
            if !indexed && store.findings().await.is_err() {
                return emitter.publish(hits(request, Vec::new(), true, false));
            }
            osier_base::task::spawn_blocking(move || {
                let mut publish = |found| emitter.publish(hits(request, found, false, false));
                let cut = store.index().search(&needle, &stop, &mut publish);
                if !stop.load(Ordering::Relaxed) {
                    emitter.publish(hits(request, Vec::new(), true, cut));
                }
            });
        });
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The answer if there is no such page.
pub(crate) fn missing_page(request: u64) -> Event {
    Event::TranscriptPage {
        request,
        found: false,
        messages: Vec::new(),
        at_start: false,
        at_end: false,
    }
}

fn hits(request: u64, hits: Vec<SearchHit>, done: bool, cut: bool) -> Event {
    Event::SearchHits {
        request,
        hits,
        done,
        cut,
    }
}
