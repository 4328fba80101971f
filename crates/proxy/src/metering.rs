//! Counts what the running calls use, and settles each one when it ends in any way.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt as _};

use super::store::{Amount, Reservation, UserStore};
use osier_llm::http::ProxyFrame;
use osier_llm::{Delta, EventStream, Model, Request, StreamEvent, Usage};
use osier_session::input_tokens;

/// Average bytes per token of an answer, for calls whose provider reports no usage.
const BYTES_PER_TOKEN: usize = 4;

/// The calls that are running.
#[derive(Debug)]
pub(super) struct RunningCalls {
    store: Arc<dyn UserStore>,
    calls: Mutex<HashMap<i64, CallMeter>>,
}

/// The tokens that a call has used so far.
#[derive(Debug)]
pub(super) struct CallMeter {
    model: Arc<Model>,
    /// Estimated input tokens.
    input: u64,
    /// Bytes of the answer so far.
    output: usize,
    reported: Usage,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Running,
    /// The provider reported the final usage.
    Complete,
    /// The call failed.
    Failed,
}

impl RunningCalls {
    pub(super) fn new(store: Arc<dyn UserStore>) -> Self {
        Self {
            store,
            calls: Mutex::default(),
        }
    }

    /// Adds a call that was reserved. It is settled when the result is dropped.
    pub(super) fn add(self: &Arc<Self>, reservation: Reservation, meter: CallMeter) -> RunningCall {
        self.calls.lock().insert(reservation.0, meter);
        RunningCall {
            calls: Arc::clone(self),
            reservation,
        }
    }

    /// Settles all calls with what they have used so far, before the process ends.
    pub(super) fn settle_all(&self) {
        let ids: Vec<i64> = self.calls.lock().keys().copied().collect();
        for id in ids {
            self.settle(Reservation(id));
        }
    }

    fn settle(&self, reservation: Reservation) {
        let removed = self.calls.lock().remove(&reservation.0);
        if let Some(meter) = removed {
            // If the disk is full, the reservation stays and is counted at the next start.
            let _ = self.store.settle(reservation, meter.used());
        }
    }
}

impl CallMeter {
    pub(super) fn new(request: &Request) -> Self {
        // The user's osier has the same estimate: an image has few tokens, but many bytes.
        let input = input_tokens(&request.context);
        Self {
            model: Arc::clone(&request.model),
            input: input.min(request.model.context_window),
            output: 0,
            reported: Usage::default(),
            outcome: Outcome::Running,
        }
    }

    /// The most that the call can use.
    pub(super) fn most(&self, max_tokens: Option<u64>) -> Amount {
        let most = self.model.max_tokens;
        self.priced(self.input, max_tokens.map_or(most, |asked| asked.min(most)))
    }

    /// The usage of the call; `None` if it failed before the model did anything.
    fn used(&self) -> Option<Amount> {
        let reported = self.reported;
        let (has_usage, has_output) = (reported.total_tokens() > 0, self.output > 0);
        match self.outcome {
            Outcome::Failed if !has_usage && !has_output => None,
            Outcome::Complete if has_usage => Some(amount(&reported)),
            _ => {
                // Some providers report the input first and the output only at the end.
                let output = tokens_of(self.output).max(reported.output);
                if has_usage {
                    let usage = Usage { output, ..reported };
                    return Some(amount(&usage.priced(&self.model.price)));
                }
                Some(self.priced(self.input, output))
            }
        }
    }

    fn priced(&self, input: u64, output: u64) -> Amount {
        let usage = Usage {
            input,
            output,
            ..Usage::default()
        };
        amount(&usage.priced(&self.model.price))
    }

    fn count(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Usage(usage) => self.reported = *usage,
            StreamEvent::Done { usage, .. } => {
                self.reported = *usage;
                self.outcome = Outcome::Complete;
            }
            StreamEvent::Failed { usage, .. } => {
                self.reported = *usage;
                self.outcome = Outcome::Failed;
            }
            StreamEvent::Delta(
                Delta::TextDelta { delta, .. }
                | Delta::ThinkingDelta { delta, .. }
                | Delta::ToolcallDelta { delta, .. },
            ) => self.output += delta.len(),
            _ => {}
        }
    }
}

fn amount(usage: &Usage) -> Amount {
    Amount {
        tokens: usage.total_tokens(),
        cost: usage.cost.total,
    }
}

fn tokens_of(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// A running call of a user; dropping it settles the call.
#[derive(Debug)]
pub(super) struct RunningCall {
    calls: Arc<RunningCalls>,
    reservation: Reservation,
}

impl RunningCall {
    fn count(&self, event: &StreamEvent) {
        if let Some(meter) = self.calls.calls.lock().get_mut(&self.reservation.0) {
            meter.count(event);
        }
    }

    /// Records that the call was refused before it started.
    pub(super) fn refused(&self) {
        if let Some(meter) = self.calls.calls.lock().get_mut(&self.reservation.0) {
            meter.outcome = Outcome::Failed;
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.calls.settle(self.reservation);
    }
}

/// The answer as a stream of frames.
pub struct Frames {
    events: EventStream,
    call: Option<RunningCall>,
}

impl Frames {
    pub(super) fn new(events: EventStream, call: Option<RunningCall>) -> Self {
        Self { events, call }
    }
}

osier_base::opaque_debug!(Frames);

impl Stream for Frames {
    type Item = ProxyFrame;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ProxyFrame>> {
        loop {
            let Poll::Ready(event) = self.events.poll_next_unpin(cx) else {
                return Poll::Pending;
            };
            let Some(event) = event else {
                return Poll::Ready(None);
            };
            if let Some(call) = &self.call {
                call.count(&event);
            }
            if let Some(frame) = ProxyFrame::of(&event) {
                // The client may ask for its usage as soon as it has the last frame.
                if matches!(event, StreamEvent::Done { .. } | StreamEvent::Failed { .. }) {
                    self.call = None;
                }
                return Poll::Ready(Some(frame));
            }
        }
    }
}
