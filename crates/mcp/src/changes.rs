//! The announced changes of a server's tools, and the changes that the agent has. A call waits for the changes that
//! belong to it, so that the next request offers the changed tools.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// Time for the announcement of a change that follows the result of a call.
const ANNOUNCE_TIME: Duration = Duration::from_millis(25);
/// Time for the agent to receive the new list.
const LIST_TIME: Duration = Duration::from_secs(5);

/// The changes of one server. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolChanges(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    announced: watch::Sender<u64>,
    listed: watch::Sender<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            announced: watch::channel(0).0,
            listed: watch::channel(0).0,
        }
    }
}

impl ToolChanges {
    /// The number of announced changes.
    pub(super) fn announced(&self) -> u64 {
        *self.0.announced.borrow()
    }

    pub(super) fn announce(&self) {
        self.0.announced.send_modify(|count| *count += 1);
    }

    /// Records that the agent has the tools as they were after `count` changes.
    pub(super) fn listed(&self, count: u64) {
        self.0
            .listed
            .send_modify(|listed| *listed = count.max(*listed));
    }

    /// Waits until the agent has the changes that were announced during a call, which began after `before` changes. A
    /// server with `announces` may send the announcement after the result.
    pub(super) async fn settled(&self, before: u64, announces: bool) {
        if announces && self.announced() == before {
            let mut announced = self.0.announced.subscribe();
            let more = announced.wait_for(|count| *count > before);
            let _ = tokio::time::timeout(ANNOUNCE_TIME, more).await;
        }
        let count = self.announced();
        if count > before {
            let mut listed = self.0.listed.subscribe();
            let done = listed.wait_for(|listed| *listed >= count);
            let _ = tokio::time::timeout(LIST_TIME, done).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_the_list_of_its_changes() {
        let changes = ToolChanges::default();
        let start = tokio::time::Instant::now();
        changes.settled(0, false).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        changes.announce();
        let waiting = changes.settled(0, true);
        tokio::pin!(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        changes.listed(1);
        waiting.await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        // The announced list never arrives.
        changes.announce();
        changes.settled(1, true).await;
        assert_eq!(start.elapsed(), LIST_TIME);
    }
}
