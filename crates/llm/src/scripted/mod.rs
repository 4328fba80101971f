//! A provider that plays a script in place of a model: for tests, for `demo/tour`, for benchmarks.
//!
//! It speaks the same events as a real one, in the same order, and keeps every request it got. Nothing
//! in it depends on the clock but through `tokio::time`, so tests run it under paused time; a gate holds
//! the answer until the test opens it. A script that has nothing left to say fails with a clear error.
//!
//! Scripts are built with `Script::new().turn(|turn| …)`, or read from JSON (`Script::parse`):
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
//! A turn is played once, or again and again with `repeat`. Turns with a matching `when` (a part of the
//! last user text or of the last tool result, in lower case) go first, then those without one, in order.

mod file;
mod play;
mod script;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;

use super::model::Model;
use super::provider::{EventStream, Provider, Request};
use play::Player;

pub use file::ScriptFileError;
pub use script::{Chunked, Gate, Matcher, Script, Step, Turn};

/// Finds the script of a model that was not inserted: the caller reads the file.
pub type ScriptLoader = Arc<dyn Fn(&Model) -> Result<Script, String> + Send + Sync>;

/// Plays scripts by model. Cheap to clone; clones share the scripts and what was played of them.
#[derive(Clone, Default)]
pub struct ScriptedProvider {
    state: Arc<Mutex<State>>,
    loader: Option<ScriptLoader>,
}

#[derive(Debug, Default)]
struct State {
    /// By `PROVIDER/ID`; the entry without a name plays for every other model.
    scripts: HashMap<String, Playing>,
    requests: Vec<Request>,
}

/// A script and how often each of its turns was played.
#[derive(Debug, Default)]
struct Playing {
    script: Script,
    played: Vec<u32>,
}

impl ScriptedProvider {
    /// Plays `script` whatever model is asked.
    pub fn new(script: Script) -> Self {
        let provider = Self::default();
        provider.insert("", script);
        provider
    }

    /// Asks `loader` for the script of a model that has none yet.
    #[must_use]
    pub fn with_loader(mut self, loader: ScriptLoader) -> Self {
        self.loader = Some(loader);
        self
    }

    /// Plays `script` for the model `reference` (`PROVIDER/ID`; empty: every other) from its beginning.
    pub fn insert(&self, reference: &str, script: Script) {
        let playing = Playing {
            played: vec![0; script.turns.len()],
            script,
        };
        self.state().scripts.insert(reference.to_owned(), playing);
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The most recent request.
    pub fn last_request(&self) -> Option<Request> {
        self.state().requests.last().cloned()
    }

    /// The turn to play for `request`, or why there is none.
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
            .and_then(|playing| playing.take(request))
            .ok_or_else(|| format!("the script of `{reference}` has no turn left for this request"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Playing {
    fn take(&mut self, request: &Request) -> Option<Turn> {
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
        self.state().requests.push(request.clone());
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
            .field("requests", &state.requests.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
