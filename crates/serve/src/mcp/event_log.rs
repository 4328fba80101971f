//! The events of a call for clients that reconnect: a client that lost its connection names the last event that it has.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// How often a stream without messages gets a comment, so that no program between closes it.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a client waits before it reconnects, in milliseconds.
const RETRY: u64 = 1_000;

/// The events of one call of a session.
#[derive(Debug, Clone)]
pub(super) struct EventLog {
    /// The number of the call in the session.
    number: u64,
    events: watch::Receiver<Events>,
}

#[derive(Debug, Default)]
struct Events {
    texts: Vec<Arc<str>>,
    is_over: bool,
}

/// The place of an event: the number of the call, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub call: u64,
    pub event: usize,
}

impl EventId {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (call, event) = text.trim().split_once('-')?;
        Some(Self {
            call: call.parse().ok()?,
            event: event.parse().ok()?,
        })
    }
}

impl EventLog {
    /// Records the messages of a call until it ends. Clients of newer versions get an empty first event, so that they
    /// can reconnect before there is a message.
    pub(super) fn record(
        number: u64,
        mut messages: mpsc::UnboundedReceiver<Value>,
        is_primed: bool,
    ) -> Self {
        let (events, receiver) = watch::channel(Events::default());
        let add = move |events: &mut Events, data: &str| {
            let event = events.texts.len();
            events
                .texts
                .push(format!("id: {number}-{event}\n{data}\n\n").into());
        };
        if is_primed {
            events.send_modify(|events| add(events, &format!("retry: {RETRY}\ndata: ")));
        }
        osier_base::task::spawn(async move {
            while let Some(message) = messages.recv().await {
                events.send_modify(|events| add(events, &format!("data: {message}")));
            }
            events.send_modify(|events| events.is_over = true);
        });
        Self {
            number,
            events: receiver,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn is_over(&self) -> bool {
        self.events.borrow().is_over
    }

    /// The text of the events from `first` on, until the call ends.
    pub(super) fn from(
        &self,
        first: usize,
    ) -> impl Stream<Item = Result<String, std::convert::Infallible>> + Send + use<> {
        stream::unfold(
            (self.events.clone(), first),
            |(mut events, at)| async move {
                let is_ready = |events: &Events| events.texts.len() > at || events.is_over;
                let text = match timeout(KEEP_ALIVE, events.wait_for(is_ready)).await {
                    Err(_) => None,
                    Ok(Err(_)) => return None,
                    Ok(Ok(ready)) => Some(ready.texts.get(at)?.to_string()),
                };
                let next = at + usize::from(text.is_some());
                let text = text.unwrap_or_else(|| ":\n\n".to_owned());
                Some((Ok(text), (events, next)))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reconnects_gets_the_events_that_it_lacks() {
        let (sender, messages) = mpsc::unbounded_channel();
        let log = EventLog::record(3, messages, true);
        let mut reader = Box::pin(log.from(0));
        assert_eq!(
            reader.next().await,
            Some(Ok("id: 3-0\nretry: 1000\ndata: \n\n".to_owned()))
        );
        // Nothing happens, so the stream is kept open.
        assert_eq!(reader.next().await, Some(Ok(":\n\n".to_owned())));
        sender.send(json!({"a": 1})).unwrap();
        let first = "id: 3-1\ndata: {\"a\":1}\n\n".to_owned();
        assert_eq!(reader.next().await, Some(Ok(first)));
        drop(reader);
        sender.send(json!({"b": 2})).unwrap();
        drop(sender);
        let id = EventId::read("3-1").unwrap();
        assert_eq!((id.call, log.number()), (3, 3));
        let rest: Vec<_> = log.from(id.event + 1).collect().await;
        assert_eq!(rest, [Ok("id: 3-2\ndata: {\"b\":2}\n\n".to_owned())]);
        assert!(log.is_over());
        for wrong in ["", "3", "3-", "x-1", "3-x"] {
            assert_eq!(EventId::read(wrong), None, "{wrong}");
        }
    }
}
