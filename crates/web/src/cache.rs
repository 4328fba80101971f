//! Pages that were fetched in the last minutes.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::time::Instant;

use crate::document::Page;

const LIFETIME: Duration = Duration::from_mins(15);
const PAGES: usize = 32;
/// Bytes of all pages at most.
const BYTES: usize = 16 * 1024 * 1024;

/// Pages, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    url: Url,
    page: Arc<Page>,
    at: Instant,
}

impl Cache {
    pub(crate) fn get(&self, url: &Url) -> Option<Arc<Page>> {
        let entries = self.0.lock();
        let fresh = |entry: &&Entry| entry.url == *url && entry.at.elapsed() < LIFETIME;
        entries
            .iter()
            .find(fresh)
            .map(|entry| Arc::clone(&entry.page))
    }

    pub(crate) fn put(&self, url: &Url, page: &Arc<Page>) {
        let mut entries = self.0.lock();
        entries.retain(|entry| entry.url != *url && entry.at.elapsed() < LIFETIME);
        entries.push(Entry {
            url: url.clone(),
            page: Arc::clone(page),
            at: Instant::now(),
        });
        let size = |entries: &[Entry]| -> usize {
            entries.iter().map(|entry| entry.page.text.len()).sum()
        };
        while entries.len() > PAGES || (entries.len() > 1 && size(&entries) > BYTES) {
            entries.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Arc<Page> {
        Arc::new(Page {
            text: text.to_owned(),
            ..Page::default()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn pages_are_forgotten_after_some_minutes() {
        let cache = Cache::default();
        let url = Url::parse("https://example.org/").unwrap();
        cache.put(&url, &page("one"));
        tokio::time::advance(Duration::from_mins(14)).await;
        assert_eq!(cache.get(&url), Some(page("one")));
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(cache.get(&url), None);
    }

    #[tokio::test]
    async fn oldest_pages_make_room() {
        let cache = Cache::default();
        let url = |number: usize| Url::parse(&format!("https://example.org/{number}")).unwrap();
        for number in 0..=PAGES {
            cache.put(&url(number), &page("x"));
        }
        assert_eq!(cache.get(&url(0)), None);
        assert!(cache.get(&url(1)).is_some());
        cache.put(&url(100), &page(&"x".repeat(BYTES)));
        assert_eq!(cache.get(&url(PAGES)), None);
        assert!(cache.get(&url(100)).is_some());
    }
}
