//! Pages of a transcript: the messages of the current branch in parts that fit a screen or a remote client.
//!
//! A page is named by an entry, not a number, so that new entries do not move it. It never starts between a call and
//! its result.

use osier_protocol::{Landmark, PageAt, StoredMessage};
use std::ops::Range;
use std::sync::Arc;

use super::entry_reader::{EntryReader, Record};
use super::tree::SessionTree;
use super::walk::into_message;
use osier_agent::{AgentMessage, Notice, Severity};
use osier_protocol::Tag;

/// A page ends at this many messages or bytes; its last message can exceed the limit.
pub(super) const PAGE_MESSAGES: usize = 64;
pub(super) const PAGE_BYTES: u64 = 256 * 1024;
/// Prompts of a page that has nothing else.
const PAGE_PROMPTS: usize = 1024;
/// Number of results to search for the last one of a tool.
const RESULTS: usize = 500;

/// Consecutive messages of the current branch, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub messages: Vec<StoredMessage>,
    /// No message precedes the first one.
    pub at_start: bool,
    /// No message follows the last one.
    pub at_end: bool,
}

/// A page that is not read yet.
#[derive(Debug, Default)]
pub(super) struct PagePlan {
    records: Vec<Record>,
    at_start: bool,
    at_end: bool,
}

impl SessionTree {
    /// The page at a position; `None` if its entry is not on the current branch.
    pub fn page(&self, at: &PageAt) -> Option<Page> {
        Some(self.page_plan(at)?.read(self.entry_reader()))
    }

    pub(super) fn page_plan(&self, at: &PageAt) -> Option<PagePlan> {
        let shown = self.shown();
        let location = |id: &str| shown.binary_search(&self.number(id)?).ok();
        let range = match at {
            PageAt::Start => 0..self.forward(0, 1),
            PageAt::End => self.backward(shown.len(), 1)..shown.len(),
            PageAt::Before { entry_id } => {
                let end = location(entry_id)?;
                self.backward(end, 1)..end
            }
            PageAt::After { entry_id } => {
                let start = location(entry_id)? + 1;
                start..self.forward(start, 1)
            }
            PageAt::Prompts { after } => {
                let start = match after {
                    Some(entry_id) => location(entry_id)? + 1,
                    None => 0,
                };
                return Some(self.prompts(start));
            }
            PageAt::Around { entry_id } => {
                let location = location(entry_id)?;
                self.backward(location, 2)..self.forward(location, 2)
            }
            PageAt::LandmarkBefore { entry_id, landmark } => {
                let before = &shown[..location(entry_id)?];
                let is = |number: &u32| self.is_landmark(*number, *landmark);
                self.landmark_page(before.iter().rposition(is))
            }
            PageAt::LandmarkAfter { entry_id, landmark } => {
                let after = location(entry_id)? + 1;
                let is = |number: &u32| self.is_landmark(*number, *landmark);
                let found = shown[after..].iter().position(is);
                self.landmark_page(found.map(|found| after + found))
            }
        };
        Some(self.plan(range))
    }

    /// The last results of the current branch, newest first.
    pub(super) fn last_results(&self) -> Vec<u32> {
        let shown = self.shown().iter().rev().copied();
        let results = shown.filter(|number| self.tag(*number) == Tag::ToolResult);
        results.take(RESULTS).collect()
    }

    /// A page of the prompts from `start` on.
    fn prompts(&self, start: usize) -> PagePlan {
        let (shown, mut bytes) = (self.shown(), 0);
        let mut plan = PagePlan {
            at_start: start == 0,
            at_end: true,
            ..PagePlan::default()
        };
        for number in shown[start..].iter().copied() {
            if self.tag(number) != Tag::User {
                continue;
            }
            if plan.records.len() == PAGE_PROMPTS || bytes >= PAGE_BYTES {
                plan.at_end = false;
                break;
            }
            bytes += u64::from(self.length(number));
            plan.records.push(self.record(number));
        }
        plan
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

    /// The page that starts at the index `location`; if that is a result, at its calls.
    fn landmark_page(&self, location: Option<usize>) -> Range<usize> {
        let shown = self.shown();
        let Some(mut start) = location else {
            return 0..0;
        };
        while start > 0 && self.tag(shown[start]) == Tag::ToolResult {
            start -= 1;
        }
        start..self.forward(start, 1)
    }

    /// Whether an entry is a landmark of this kind. Reads only possible ones.
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
        let entry = self.entry_reader().try_read(&self.record(number));
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

    /// The end of a page that starts at `start` and is one of `parts` parts.
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

    /// The start of a page that ends before `end`.
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
    pub(super) fn read(&self, entry_reader: &EntryReader) -> Page {
        let messages = self.records.iter().map(|record| StoredMessage {
            entry_id: record.id.clone(),
            message: Arc::new(message_of(record, entry_reader)),
        });
        Page {
            messages: messages.collect(),
            at_start: self.at_start,
            at_end: self.at_end,
        }
    }
}

/// The message of a record; an unreadable one becomes a notice.
fn message_of(record: &Record, entry_reader: &EntryReader) -> AgentMessage {
    let message = entry_reader.try_read(record).and_then(into_message);
    message.unwrap_or_else(|| {
        AgentMessage::Notice(Notice {
            severity: Severity::Warning,
            text: format!("the entry `{}` is damaged and cannot be shown", record.id),
            timestamp: 0,
        })
    })
}
