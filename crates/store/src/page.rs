//! Pages of a transcript: the messages of the current branch in pieces that a screen or a remote client
//! can hold.
//!
//! A page is named by an entry, never by a number: what was stored meanwhile does not move it. It never
//! begins between a call and its result.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bodies::{Bodies, Record};
use super::envelope::Tag;
use super::tree::SessionTree;
use super::walk::into_message;
use osier_agent::{AgentMessage, Notice, Severity};

/// Messages of a page, and bytes of their lines, at which it ends; the last one may go beyond.
pub(super) const PAGE_MESSAGES: usize = 64;
pub(super) const PAGE_BYTES: u64 = 256 * 1024;
/// Results that are read to find the last one of a tool.
const RESULTS: usize = 500;

/// Which messages of the current branch a page holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "at", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PageAt {
    /// The first ones.
    Start,
    /// The last ones.
    End,
    /// Those before this entry.
    Before { entry_id: String },
    /// Those after this entry.
    After { entry_id: String },
    /// This entry and those on both sides of it.
    Around { entry_id: String },
    /// The nearest landmark before this entry and what follows it; nothing when there is none.
    LandmarkBefore {
        entry_id: String,
        landmark: Landmark,
    },
    /// The nearest landmark after this entry and what follows it; nothing when there is none.
    LandmarkAfter {
        entry_id: String,
        landmark: Landmark,
    },
}

/// What a reader jumps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Landmark {
    /// What the person said.
    Prompt,
    /// A call of a tool, or a command of the person.
    Call,
    /// A call that did not succeed, or an error that was told.
    Error,
    /// A call that changed files and says how.
    Edit,
}

/// A message and the entry it stands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StoredMessage {
    pub entry_id: String,
    #[serde(flatten)]
    pub message: Arc<AgentMessage>,
}

/// Consecutive messages of the current branch, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub messages: Vec<StoredMessage>,
    /// No message stands before the first one.
    pub at_start: bool,
    /// No message stands after the last one.
    pub at_end: bool,
}

/// A page that is still to be read.
#[derive(Debug, Default)]
pub(super) struct PagePlan {
    records: Vec<Record>,
    at_start: bool,
    at_end: bool,
}

impl SessionTree {
    /// The page at a place; `None` when its entry is not on the current branch.
    pub fn page(&self, at: &PageAt) -> Option<Page> {
        Some(self.page_plan(at)?.read(self.bodies()))
    }

    pub(super) fn page_plan(&self, at: &PageAt) -> Option<PagePlan> {
        let shown = self.shown();
        let place = |id: &str| shown.binary_search(&self.number(id)?).ok();
        let range = match at {
            PageAt::Start => 0..self.forward(0, 1),
            PageAt::End => self.backward(shown.len(), 1)..shown.len(),
            PageAt::Before { entry_id } => {
                let end = place(entry_id)?;
                self.backward(end, 1)..end
            }
            PageAt::After { entry_id } => {
                let start = place(entry_id)? + 1;
                start..self.forward(start, 1)
            }
            PageAt::Around { entry_id } => {
                let place = place(entry_id)?;
                self.backward(place, 2)..self.forward(place, 2)
            }
            PageAt::LandmarkBefore { entry_id, landmark } => {
                let before = &shown[..place(entry_id)?];
                let is = |number: &u32| self.is_landmark(*number, *landmark);
                self.landmark_page(before.iter().rposition(is))
            }
            PageAt::LandmarkAfter { entry_id, landmark } => {
                let after = place(entry_id)? + 1;
                let is = |number: &u32| self.is_landmark(*number, *landmark);
                let found = shown[after..].iter().position(is);
                self.landmark_page(found.map(|found| after + found))
            }
        };
        Some(self.plan(range))
    }

    /// The last results of the current branch, the newest first.
    pub(super) fn last_results(&self) -> Vec<Record> {
        let shown = self.shown().iter().rev();
        let results = shown.filter(|number| self.tag(**number) == Tag::ToolResult);
        results
            .take(RESULTS)
            .map(|number| self.record(*number))
            .collect()
    }

    fn plan(&self, range: Range<usize>) -> PagePlan {
        let shown = self.shown();
        let records = shown[range.clone()]
            .iter()
            .map(|number| self.record(*number));
        PagePlan {
            records: records.collect(),
            at_start: range.start == 0,
            at_end: range.end == shown.len(),
        }
    }

    /// The page that begins with what is at `place`; with the calls, when that is a result.
    fn landmark_page(&self, place: Option<usize>) -> Range<usize> {
        let shown = self.shown();
        let Some(mut start) = place else {
            return 0..0;
        };
        while start > 0 && self.tag(shown[start]) == Tag::ToolResult {
            start -= 1;
        }
        start..self.forward(start, 1)
    }

    /// Whether an entry is one. Only those that may be are read.
    fn is_landmark(&self, number: u32, landmark: Landmark) -> bool {
        let tag = self.tag(number);
        let may_be = match landmark {
            Landmark::Prompt => tag == Tag::User,
            Landmark::Call | Landmark::Error => matches!(tag, Tag::ToolResult | Tag::Message),
            Landmark::Edit => tag == Tag::ToolResult,
        };
        let is_known =
            landmark == Landmark::Prompt || (landmark, tag) == (Landmark::Call, Tag::ToolResult);
        if !may_be || is_known {
            return may_be;
        }
        let entry = self.bodies().try_read(&self.record(number));
        let Some(message) = entry.and_then(into_message) else {
            return false;
        };
        match (landmark, message) {
            (Landmark::Call, AgentMessage::ShellRun(_)) => true,
            (Landmark::Error, AgentMessage::ToolResult(result)) => !result.status.is_success(),
            (Landmark::Error, AgentMessage::ShellRun(run)) => run.exit_code != Some(0),
            (Landmark::Error, AgentMessage::Notice(notice)) => notice.severity == Severity::Error,
            (Landmark::Edit, AgentMessage::ToolResult(result)) => {
                result.details.get("diff").is_some()
            }
            _ => false,
        }
    }

    /// Where a page that begins at `start` ends, when it is one of `parts` parts.
    fn forward(&self, start: usize, parts: usize) -> usize {
        let shown = self.shown();
        let mut bytes = 0;
        let mut end = start;
        while end < shown.len()
            && end - start < PAGE_MESSAGES / parts
            && bytes < PAGE_BYTES / parts as u64
        {
            bytes += u64::from(self.length(shown[end]));
            end += 1;
        }
        while end < shown.len() && self.tag(shown[end]) == Tag::ToolResult {
            end += 1;
        }
        end
    }

    /// Where a page that ends before `end` begins.
    fn backward(&self, end: usize, parts: usize) -> usize {
        let shown = self.shown();
        let mut bytes = 0;
        let mut start = end;
        while start > 0 && end - start < PAGE_MESSAGES / parts && bytes < PAGE_BYTES / parts as u64
        {
            start -= 1;
            bytes += u64::from(self.length(shown[start]));
        }
        while start > 0 && start < shown.len() && self.tag(shown[start]) == Tag::ToolResult {
            start -= 1;
        }
        start
    }
}

impl PagePlan {
    pub(super) fn read(&self, bodies: &Bodies) -> Page {
        let messages = self.records.iter().map(|record| StoredMessage {
            entry_id: record.id.clone(),
            message: Arc::new(message_of(record, bodies)),
        });
        Page {
            messages: messages.collect(),
            at_start: self.at_start,
            at_end: self.at_end,
        }
    }
}

/// The message of a record; one that can no longer be read says so in its place.
fn message_of(record: &Record, bodies: &Bodies) -> AgentMessage {
    let message = bodies.try_read(record).and_then(into_message);
    message.unwrap_or_else(|| {
        AgentMessage::Notice(Notice {
            severity: Severity::Warning,
            text: format!("the entry `{}` is damaged and cannot be shown", record.id),
            timestamp: 0,
        })
    })
}
