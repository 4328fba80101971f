//! The data of a session besides its text, collected entry by entry. When the file has grown, only
//! the new entries are read.

use std::collections::BTreeMap;

use osier_agent::{AgentMessage, ToolResultMessage, ToolStatus};
use osier_base::clock::stored_day;
use osier_base::text::head_bytes;
use osier_llm::Usage;
use osier_protocol::{Entry, EntryKind, Header, ModelCost, Spending, UsageDay};
use osier_store::milliseconds;

/// Maximum bytes of the first prompt.
const PROMPT_LIMIT: usize = 400;
/// Maximum bytes of a name or label.
const NAME_LIMIT: usize = 400;

/// The data of a list row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    pub id: String,
    pub cwd: String,
    pub parent: Option<String>,
    pub name: Option<String>,
    pub first_prompt: Option<String>,
    pub last_prompt: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created: i64,
    /// Time of the newest entry that is a use of the session.
    pub active: i64,
    pub entries: u64,
    pub prompts: u64,
    pub answers: u64,
    pub calls: u64,
    /// Lines that are unreadable.
    pub damaged: u64,
    /// The usage of each model, in order of first use.
    pub models: Vec<ModelCost>,
    /// The usage of each day, in order of first use, without entries that a fork copied.
    pub days: Vec<UsageDay>,
    /// `days` has these, too.
    pub counts_copies: bool,
    /// The labels by the id of their entry.
    pub labels: BTreeMap<String, String>,
}

impl Facts {
    pub(super) fn of(header: Header) -> Self {
        let created = milliseconds(&header.timestamp).unwrap_or_default();
        Self {
            id: header.id,
            cwd: header.cwd,
            parent: header.parent_session,
            created,
            active: created,
            ..Self::default()
        }
    }

    /// Adds the data of `entry`. A time later than `now` comes from a wrong clock.
    pub(super) fn see(&mut self, entry: &Entry, now: i64) {
        self.entries += 1;
        let time = milliseconds(&entry.timestamp).filter(|time| *time <= now);
        if let Some(time) = time.filter(|_| entry.kind.is_use()) {
            self.active = self.active.max(time);
        }
        self.see_usage(entry, time);
        match &entry.kind {
            EntryKind::Message { message } => self.see_message(message),
            EntryKind::SessionInfo { name } => {
                self.name = name
                    .as_deref()
                    .map(|name| head_bytes(name, NAME_LIMIT).to_owned());
            }
            EntryKind::Label { target_id, label } => match label {
                Some(label) => {
                    let label = head_bytes(label, NAME_LIMIT).to_owned();
                    self.labels.insert(target_id.clone(), label);
                }
                None => {
                    self.labels.remove(target_id);
                }
            },
            EntryKind::Usage {
                provider,
                model,
                usage,
                ..
            } => {
                self.spend(provider, model, usage);
            }
            _ => {}
        }
    }

    /// Counts the usage of an entry for its day.
    fn see_usage(&mut self, entry: &Entry, time: Option<i64>) {
        let is_copy = self.parent.is_some() && time.is_some_and(|time| time < self.created);
        if is_copy && !self.counts_copies {
            return;
        }
        let mut spending = Spending::default();
        spending.count_entry(&entry.kind);
        let calls = match &entry.kind {
            EntryKind::Message {
                message: AgentMessage::ToolResult(result),
            } => tool_calls(result),
            _ => Vec::new(),
        };
        if spending.models.is_empty() && calls.is_empty() {
            return;
        }
        let day = self.day(&entry.timestamp);
        day.spend(&spending);
        for (tool, success) in calls {
            day.call(&tool, success);
        }
    }

    fn day(&mut self, timestamp: &str) -> &mut UsageDay {
        let day = stored_day(timestamp).unwrap_or_default();
        // Entries are in order of time, so the newest days come first.
        let known = self.days.iter().rposition(|known| known.day == day);
        let place = known.unwrap_or_else(|| {
            self.days.push(UsageDay {
                day,
                ..UsageDay::default()
            });
            self.days.len() - 1
        });
        &mut self.days[place]
    }

    fn see_message(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::User(message) => {
                self.prompts += 1;
                if !message.text.trim().is_empty() {
                    let prompt = head_bytes(&message.text, PROMPT_LIMIT).to_owned();
                    self.first_prompt.get_or_insert_with(|| prompt.clone());
                    self.last_prompt = Some(prompt);
                }
            }
            AgentMessage::Assistant(answer) => {
                self.answers += 1;
                self.calls += answer.tool_calls().count() as u64;
                let cost = self.spend(&answer.provider, &answer.model, &answer.usage);
                cost.time(answer.usage.output, answer.duration_ms);
            }
            _ => {}
        }
    }

    fn spend(&mut self, provider: &str, model: &str, usage: &Usage) -> &mut ModelCost {
        let reference = format!("{provider}/{model}");
        let known = self.models.iter().position(|cost| cost.model == reference);
        let place = known.unwrap_or_else(|| {
            self.models.push(ModelCost {
                model: reference,
                ..ModelCost::default()
            });
            self.models.len() - 1
        });
        let cost = &mut self.models[place];
        cost.add(usage);
        cost
    }

    pub(super) fn cost(&self) -> f64 {
        self.models.iter().map(|model| model.cost).sum()
    }

    pub(super) fn tokens(&self) -> u64 {
        self.models.iter().map(ModelCost::tokens).sum()
    }
}

/// The calls that a result reports: its own, and those of a subagent.
fn tool_calls(result: &ToolResultMessage) -> Vec<(String, bool)> {
    let name = result.result.tool_name.clone();
    let mut calls = vec![(name, result.status.is_success())];
    let steps = result.details["steps"].as_array();
    calls.extend(steps.into_iter().flatten().filter_map(|step| {
        let tool = step["tool"].as_str()?.to_owned();
        // A step without a status was running when its call returned.
        let success = step["status"].as_str() == Some(ToolStatus::Success.name());
        Some((tool, success || step["status"].is_null()))
    }));
    calls
}
