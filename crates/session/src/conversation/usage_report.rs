//! The usage report: the usage of the open session, or of all sessions from the index.

use std::path::Path;

use osier_index::{Depth, SessionIndex};
use osier_protocol::{Event, UsageDay, UsagePeriod, UsageReport, UsageScope};
use osier_store::SessionStore;
use tokio_util::sync::CancellationToken;

use crate::emitter::{Callback, Emitter};
use crate::models::Models;

/// The usage of sessions by day.
#[derive(Debug)]
pub(crate) struct CountedUsage {
    of: (UsageScope, UsagePeriod),
    sessions: Vec<Vec<UsageDay>>,
    /// All sessions are indexed.
    pub complete: bool,
}

/// Counts in the background.
pub(crate) fn count(
    of: (UsageScope, UsagePeriod),
    data: &Path,
    session: Option<&SessionStore>,
    done: Callback<CountedUsage>,
) {
    let index = SessionIndex::new(data);
    let open = session.and_then(SessionStore::path).map(Path::to_owned);
    osier_base::task::spawn_blocking(move || {
        let (sessions, complete) = match of.0 {
            UsageScope::Session => {
                // A session without a file has no usage yet.
                let usage = open.and_then(|path| osier_index::usage(&path).ok());
                (usage.into_iter().collect(), true)
            }
            UsageScope::All => count_all(&index),
        };
        done.call(CountedUsage {
            of,
            sessions,
            complete,
        });
    });
}

/// Reads what sessions stored since the last update, if that is quick, and counts. Blocks.
fn count_all(index: &SessionIndex) -> (Vec<Vec<UsageDay>>, bool) {
    let never = CancellationToken::new();
    let updated = index.refresh(Depth::Soon, &never, &mut |_| {});
    let counted = if updated.is_ok() {
        index.query(|index| index.usage().map(Some))
    } else {
        // No index can be stored here.
        let unstored = index.read_all(Depth::Soon, &never, &mut |_| {});
        unstored.and_then(|index| index.usage().map(Some))
    };
    counted.ok().flatten().unwrap_or_default()
}

/// Publishes the report with the prices that are known now.
pub(crate) fn publish(counted: &CountedUsage, models: &Models, emitter: &Emitter) {
    let (scope, period) = counted.of;
    let first = period.days_back().map(osier_base::clock::day_before_today);
    let price = |model: &str| models.price(model);
    let mut report = UsageReport::of((scope, period), &counted.sessions, first.as_deref(), price);
    report.complete = counted.complete;
    emitter.publish(Event::UsageReport {
        report: Box::new(report),
    });
}
