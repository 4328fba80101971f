//! A provider that plays scripts instead of calling models, for tests, benchmarks and `demo/tour`.
//!
//! It sends the same events as a real provider, in the same order, and records every request. Time passes only
//! through `tokio::time`, so tests can pause it; a [`Hold`] delays the answer until the test opens it. A request
//! without a matching turn fails.
//!
//! Scripts are built with [`Script`], or parsed from JSON with [`Script::parse`]:
//!
//! ```json
//! {"turns": [
//!   {"when": {"user": "fix"},
//!    "steps": [
//!      {"thinking": "Let me look."},
//!      {"text": "Reading it.", "chunk": 8, "delayMs": 20},
//!      {"tool": "read", "arguments": {"file_path": "a.rs"}},
//!      {"wait": 500},
//!      {"usage": {"input": 1200, "output": 80}},
//!      {"stop": "toolUse"}
//!    ]},
//!   {"steps": [{"fail": {"type": "rate_limit", "message": "slow down", "retryAfterMs": 1000}}]},
//!   {"repeat": true, "steps": [{"text": "Done.", "times": 3}]}
//! ]}
//! ```
//!
//! A turn is played once, or any number of times with `repeat`. Turns with a matching `when` (a part of the
//! last user text or of the last tool result, ignoring case) are played first, then those without one, in
//! order.

mod file;
mod play;
mod script;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};

use super::model::Model;
use super::provider::{EventStream, Provider, Request};
use play::Player;

pub use file::ScriptFileError;
pub use script::{Chunked, Hold, Matcher, Script, Step, Turn};

/// Loads the script for a model that has none yet.
pub type ScriptLoader = Arc<dyn Fn(&Model) -> Result<Script, String> + Send + Sync>;

/// Plays scripts instead of calling models. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub struct ScriptedProvider {
    state: Arc<Mutex<State>>,
    loader: Option<ScriptLoader>,
}

#[derive(Debug, Default)]
struct State {
    /// The scripts by `PROVIDER/ID`; the entry with an empty name is the default.
    scripts: HashMap<String, Playing>,
    /// The recorded requests; `None` if recording is off, because the requests of a long session
    /// need gigabytes.
    requests: Option<Vec<Request>>,
}

/// A script and how often each turn was played.
#[derive(Debug, Default)]
struct Playing {
    script: Script,
    played: Vec<u32>,
}

impl ScriptedProvider {
    /// Plays `script` for every model, and records the requests.
    pub fn new(script: Script) -> Self {
        let provider = Self::default().recording();
        provider.insert("", script);
        provider
    }

    /// Records the requests.
    #[must_use]
    pub fn recording(self) -> Self {
        self.state().requests = Some(Vec::new());
        self
    }

    /// Uses `loader` for models without a script.
    #[must_use]
    pub fn with_loader(mut self, loader: ScriptLoader) -> Self {
        self.loader = Some(loader);
        self
    }

    /// Sets the script for the model `reference` (`PROVIDER/ID`; empty: all other models).
    pub fn insert(&self, reference: &str, script: Script) {
        let playing = Playing {
            played: vec![0; script.turns.len()],
            script,
        };
        self.state().scripts.insert(reference.to_owned(), playing);
    }

    /// All recorded requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone().unwrap_or_default()
    }

    /// The most recent request, if requests are recorded.
    pub fn last_request(&self) -> Option<Request> {
        self.state().requests.as_ref()?.last().cloned()
    }

    /// The turn for `request`.
    fn next_turn(&self, request: &Request) -> Result<Turn, String> {
        let reference = request.model.reference();
        let known = {
            let state = self.state();
            state.scripts.contains_key(&reference) || state.scripts.contains_key("")
        };
        if !known {
            let script = match &self.loader {
                Some(load) => load(&request.model)?,
                None => return Err(format!("no script for `{reference}`")),
            };
            self.insert(&reference, script);
        }
        let mut state = self.state();
        let key = if state.scripts.contains_key(&reference) {
            reference.as_str()
        } else {
            ""
        };
        let playing = state.scripts.get_mut(key);
        playing
            .and_then(|playing| playing.choose_turn(request))
            .ok_or_else(|| format!("the script of `{reference}` has no more turns"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Playing {
    fn choose_turn(&mut self, request: &Request) -> Option<Turn> {
        let free = |at: &usize| self.played[*at] == 0 || self.script.turns[*at].repeat;
        let turns = || (0..self.script.turns.len()).filter(free);
        let fits = |at: &usize| {
            let matcher = self.script.turns[*at].when.as_ref();
            matcher.is_some_and(|matcher| matcher.fits(request))
        };
        let at = turns()
            .find(fits)
            .or_else(|| turns().find(|at| self.script.turns[*at].when.is_none()))?;
        self.played[at] += 1;
        Some(self.script.turns[at].clone())
    }
}

impl Provider for ScriptedProvider {
    fn stream(&self, request: Request) -> EventStream {
        if let Some(requests) = &mut self.state().requests {
            requests.push(request.clone());
        }
        let turn = self.next_turn(&request);
        let player = Player::new(request, turn);
        stream::unfold(player, |mut player| async move {
            let event = player.next().await?;
            Some((event, player))
        })
        .boxed()
    }
}

impl fmt::Debug for ScriptedProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        formatter
            .debug_struct("ScriptedProvider")
            .field("scripts", &state.scripts.keys())
            .field("requests", &state.requests.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
