//! Advice of hooks on calls: hints for the gate, and answers instead of the user's.

use async_trait::async_trait;
use osier_agent::CheckedCall;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

use super::Hint;

/// Answers permission questions instead of the user: hooks.
#[async_trait]
pub trait Advisor: fmt::Debug + Send + Sync {
    /// The answer, or `None` to ask the user. `patterns` are the rules that can be saved.
    async fn advise(
        &self,
        call: &CheckedCall,
        patterns: &[String],
        cancel: &CancellationToken,
    ) -> Option<Advised>;

    /// Reports that a model denied the call. Returns whether the agent can make it again.
    async fn denied(&self, call: &CheckedCall, reason: &str, cancel: &CancellationToken) -> bool;
}

/// An answer that replaces the user's.
#[derive(Debug, Clone, PartialEq)]
pub enum Advised {
    /// Allow once, with changed arguments if there are any.
    Allow(Option<Value>),
    /// The model receives the reason.
    Deny(String),
}

/// Hints that hooks set for the gate.
#[derive(Debug, Default)]
pub struct Hints(Mutex<HashMap<String, Hint>>);

impl Hints {
    pub fn leave(&self, call_id: &str, hint: Hint) {
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hints.insert(call_id.to_owned(), hint);
    }

    pub(super) fn take(&self, call_id: &str) -> Option<Hint> {
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hints.remove(call_id)
    }
}
