//! Lanes: several models that work side by side on one prompt.

use crate::FileChanges;
use osier_agent::{AgentMessage, RunOutcome};
use osier_base::text::tail_bytes;
use osier_llm::{Delta, Model, Usage};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Maximum bytes of the end of an answer that are reported while it grows.
const TAIL: usize = 2_000;

/// The state of a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LaneState {
    pub lane: usize,
    /// `PROVIDER/ID`.
    pub model: String,
    /// The working directory of the lane.
    pub directory: PathBuf,
    pub status: LaneStatus,
    /// Why it failed.
    pub error: Option<String>,
    /// The end of its last answer, at most 2000 bytes.
    pub text: String,
    /// The name of the running tool.
    pub tool: Option<String>,
    pub turns: u32,
    pub usage: Usage,
    pub duration_ms: u64,
    /// The changed files, once it has ended.
    pub files: Vec<(PathBuf, FileChanges)>,
    /// The last entry of its branch, once it has ended.
    pub leaf: Option<String>,
}

/// The status of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LaneStatus {
    Working,
    Done,
    Failed,
    Interrupted,
}

impl LaneState {
    pub fn new(lane: usize, model: &Model, directory: PathBuf) -> Self {
        Self {
            lane,
            model: model.reference(),
            directory,
            status: LaneStatus::Working,
            error: None,
            text: String::new(),
            tool: None,
            turns: 0,
            usage: Usage::default(),
            duration_ms: 0,
            files: Vec::new(),
            leaf: None,
        }
    }

    /// Applies an event of the lane's agent. Returns whether clients need an update now.
    pub fn follow(&mut self, event: &osier_agent::Event) -> bool {
        match event {
            osier_agent::Event::TurnStart { turn } => self.turns = *turn,
            osier_agent::Event::MessageStart { message, .. } => {
                if matches!(**message, AgentMessage::Assistant(_)) {
                    self.text.clear();
                }
            }
            osier_agent::Event::MessageUpdate {
                delta: Delta::TextDelta { delta, .. },
                ..
            } => {
                self.text.push_str(delta);
                if self.text.len() > 2 * TAIL {
                    self.text = tail_bytes(&self.text, TAIL).to_owned();
                }
                return false;
            }
            osier_agent::Event::MessageEnd { message, .. } => {
                if let AgentMessage::Assistant(answer) = &**message {
                    self.usage += answer.usage;
                    let text = answer.text();
                    if !text.trim().is_empty() {
                        tail_bytes(text.trim(), TAIL).clone_into(&mut self.text);
                    }
                }
            }
            osier_agent::Event::ToolExecutionStart { tool_name, .. } => {
                self.tool = Some(tool_name.clone());
            }
            osier_agent::Event::ToolExecutionEnd { .. } => self.tool = None,
            osier_agent::Event::AgentSettled { outcome } => {
                self.tool = None;
                self.status = match outcome {
                    RunOutcome::Completed => LaneStatus::Done,
                    RunOutcome::Interrupted => LaneStatus::Interrupted,
                    _ => LaneStatus::Failed,
                };
                self.error = outcome.error();
            }
            _ => return false,
        }
        true
    }
}
