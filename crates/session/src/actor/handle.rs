//! The handle of a session actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::run::{Actor, Numbered};
use crate::models::{ModelError, Models};
use crate::sessions::faults::{self, SafetyError};
use crate::sessions::open_session::check_tools;
use crate::setup::SessionSetup;
use osier_agent::{Publisher, Subscription};
use osier_protocol::questions::Questions;
use osier_protocol::{Event, Op};

/// A running session actor. Cheap to clone; needs a tokio runtime.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    pub(super) ops: mpsc::UnboundedSender<Numbered>,
    /// The number of the next request.
    pub(super) requests: Arc<AtomicU64>,
    pub(super) publisher: Arc<Publisher<Event>>,
    pub(super) questions: Questions,
}

/// Why a session cannot start. The text is for the user.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{0}")]
    Tools(String),
    #[error(transparent)]
    Safety(#[from] SafetyError),
}

impl SessionHandle {
    /// Checks the setup and starts the actor. The actor opens the session, so that a screen can show first; a failure
    /// to open it is an event.
    pub fn start(setup: SessionSetup) -> Result<(Self, Subscription<Event>), StartError> {
        faults::check(&setup)?;
        let (models, problems) = Models::load(&setup)?;
        check_tools(&setup).map_err(StartError::Tools)?;
        let publisher = Arc::new(Publisher::new());
        let events = publisher.subscribe();
        let (ops, received) = mpsc::unbounded_channel();
        let questions = Actor::spawn(setup, models, received, Arc::clone(&publisher), &problems);
        let handle = Self {
            ops,
            requests: Arc::default(),
            publisher,
            questions,
        };
        Ok((handle, events))
    }

    /// Sends a request. Never blocks.
    pub fn send(&self, op: Op) {
        // An actor that has ended handles nothing.
        let _ = self.ops.send((None, op));
    }

    /// A new number for `ask` and for requests that contain one.
    pub fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request with a number: its notices carry `request`, and `Event::OpEnded` is the last of its events.
    /// Never blocks.
    pub fn ask(&self, request: u64, op: Op) {
        let _ = self.ops.send((Some(request), op));
    }

    /// Sends questions to the user, for extensions of an embedder.
    pub fn questions(&self) -> Questions {
        self.questions.clone()
    }

    /// Every event from now on.
    pub fn subscribe(&self) -> Subscription<Event> {
        self.publisher.subscribe()
    }

    /// The events that still wait in `events`, and every event from now on.
    pub fn subscribe_like(&self, events: &Subscription<Event>) -> Subscription<Event> {
        self.publisher.subscribe_like(events)
    }
}
