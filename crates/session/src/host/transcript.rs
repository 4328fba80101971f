//! Reading and searching the conversation beside the host's task: what is asked is answered from the
//! file by a thread that may block, and published when it is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::asked::Jobs;
use super::event::Event;
use osier_agent::Publisher;
use osier_store::{Needle, PageAt, SearchHit, SessionStore};

/// Answers for one open session. Dropping it ends its search.
#[derive(Debug)]
pub(super) struct Transcript {
    store: SessionStore,
    publisher: Arc<Publisher<Event>>,
    /// Ends the search that runs.
    stop: Arc<AtomicBool>,
}

impl Transcript {
    pub(super) fn new(store: SessionStore, publisher: Arc<Publisher<Event>>) -> Self {
        Self {
            store,
            publisher,
            stop: Arc::default(),
        }
    }

    /// Reads a page. `indexed` says that there is nothing to wait for. `jobs` are kept until it is told.
    pub(super) fn read(&self, (request, at): (u64, PageAt), indexed: bool, jobs: Jobs) {
        let (store, publisher) = (self.store.clone(), Arc::clone(&self.publisher));
        tokio::spawn(async move {
            if !indexed && store.findings().await.is_err() {
                return publisher.publish(missing_page(request));
            }
            tokio::task::spawn_blocking(move || {
                let _told = jobs;
                let page = store.index().page(&at);
                publisher.publish(page.map_or(missing_page(request), |page| {
                    Event::TranscriptPage {
                        request,
                        found: true,
                        messages: page.messages,
                        at_start: page.at_start,
                        at_end: page.at_end,
                    }
                }));
            });
        });
    }

    /// Starts a search in place of the one before. `jobs` are kept until all of it is told.
    pub(super) fn search(&mut self, (request, query): (u64, &str), indexed: bool, jobs: Jobs) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop = Arc::default();
        let Some(needle) = Needle::new(query) else {
            return;
        };
        let (store, publisher) = (self.store.clone(), Arc::clone(&self.publisher));
        let stop = Arc::clone(&self.stop);
        tokio::spawn(async move {
            if !indexed && store.findings().await.is_err() {
                return publisher.publish(hits(request, Vec::new(), (true, false)));
            }
            tokio::task::spawn_blocking(move || {
                let _told = jobs;
                let mut tell = |found| publisher.publish(hits(request, found, (false, false)));
                let cut = store.index().search(&needle, &stop, &mut tell);
                if !stop.load(Ordering::Relaxed) {
                    publisher.publish(hits(request, Vec::new(), (true, cut)));
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

/// The answer when there is no such page.
pub(super) fn missing_page(request: u64) -> Event {
    Event::TranscriptPage {
        request,
        found: false,
        messages: Vec::new(),
        at_start: false,
        at_end: false,
    }
}

fn hits(request: u64, hits: Vec<SearchHit>, (done, cut): (bool, bool)) -> Event {
    Event::SearchHits {
        request,
        hits,
        done,
        cut,
    }
}
