//! A session as lists show it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use osier_llm::Usage;

/// One row. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    pub id: String,
    pub path: PathBuf,
    /// The working directory; empty when it is unknown.
    pub cwd: String,
    pub name: Option<String>,
    /// The start of the user's first prompt.
    pub first_prompt: Option<String>,
    pub created: i64,
    /// When something was last stored.
    pub active: i64,
    /// Bytes of the file.
    pub size: u64,
    /// Number of prompts, on all branches.
    pub prompts: u64,
    pub answers: u64,
    pub tool_calls: u64,
    /// Lines that cannot be read.
    pub damaged: u64,
    /// Tokens of every call, cached ones included.
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    /// `PROVIDER/ID`, in the order of first use.
    pub models: Vec<String>,
    /// Labels of entries.
    pub labels: Vec<String>,
    /// Id of the session it was forked from.
    pub parent: Option<String>,
    /// Whether all of the file has been read; until then counts and cost are those of a part.
    pub whole: bool,
}

impl SessionRow {
    /// The title: the name, else the first prompt.
    pub fn title(&self) -> &str {
        let named = self.name.as_deref().filter(|name| !name.is_empty());
        named.or(self.first_prompt.as_deref()).unwrap_or("(empty)")
    }
}

/// The usage of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelCost {
    /// `PROVIDER/ID`.
    pub model: String,
    pub calls: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// US dollars.
    pub cost: f64,
}

impl ModelCost {
    pub(super) fn add(&mut self, usage: &Usage) {
        self.calls += 1;
        self.input += usage.input;
        self.output += usage.output;
        self.cache_read += usage.cache_read;
        self.cache_write += usage.cache_write;
        self.cost += usage.cost.total;
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
    }

    pub fn tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}
