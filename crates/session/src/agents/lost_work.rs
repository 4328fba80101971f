//! Work in the background that ended with an earlier run of osier: subagents and jobs without a known end.
//!
//! The conversation has all that is needed: the result of the call that started the work, and the message or result that
//! reported its end.

use std::collections::HashMap;
use std::fmt::Write as _;

use osier_agent::{AgentMessage, CustomMessage, ToolResultMessage};
use osier_base::text;
use osier_protocol::{JobInfo, SubagentInfo, SubagentStatus};
use osier_store::SessionStore;
use osier_tools::{BASH, SUBAGENT};
use serde_json::{Value, json};

use crate::context::reminders;
use crate::emitter::Callback;

/// The kind of the message that reports lost work to the model.
const KIND: &str = "lost_work";
/// Bytes of a task or command in lists.
const LISTED: usize = 200;

/// Lost work of a session.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LostWork {
    pub subagents: Vec<SubagentInfo>,
    pub jobs: Vec<JobInfo>,
    /// The highest number of a subagent.
    pub started: usize,
    /// The conversation reports all of it.
    is_reported: bool,
}

/// The lost work of the session with this id.
#[derive(Debug)]
pub(crate) struct FoundWork {
    pub session: String,
    pub lost: LostWork,
}

/// Reads the current branch in the background.
pub(crate) fn read(store: &SessionStore, done: Callback<FoundWork>) {
    let store = store.clone();
    osier_base::task::spawn_blocking(move || {
        done.call(FoundWork {
            lost: find(store.index().shown_messages()),
            session: store.id().to_owned(),
        });
    });
}

/// The message with the end of a subagent has its id.
pub(crate) fn end_of(subagent: &str) -> Value {
    json!({"subagent": subagent})
}

impl LostWork {
    /// The message for the model; `None` if it knows.
    pub(crate) fn reminder(&self) -> Option<AgentMessage> {
        if self.is_reported || (self.subagents.is_empty() && self.jobs.is_empty()) {
            return None;
        }
        let subagents = self.subagents.iter().map(|info| (&info.id, &info.task));
        let jobs = self.jobs.iter().map(|job| (&job.id, &job.command));
        let lost: Vec<_> = subagents.chain(jobs).collect();
        let mut text = "osier ended while this ran in the background, so it is lost. Start it again if it is still needed."
            .to_owned();
        for (id, subject) in &lost {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n- {id}: {subject}");
        }
        let ids: Vec<&String> = lost.iter().map(|(id, _)| *id).collect();
        Some(reminders::message(KIND, &text, json!({"ids": ids})))
    }
}

/// Finds the work that was started and has no end.
fn find(messages: impl Iterator<Item = AgentMessage>) -> LostWork {
    let mut lost = LostWork::default();
    let mut tasks: HashMap<String, String> = HashMap::new();
    for message in messages {
        match message {
            AgentMessage::Assistant(answer) => {
                let calls = answer.tool_calls().filter(|call| call.name == SUBAGENT);
                tasks.extend(calls.map(|call| {
                    let prompt = call.arguments["prompt"].as_str().unwrap_or_default();
                    (call.id.clone(), listed(prompt))
                }));
            }
            AgentMessage::ToolResult(result) => match result.result.tool_name.as_str() {
                SUBAGENT => lost.see_subagent(&result, &tasks),
                BASH => lost.see_jobs(&result),
                _ => {}
            },
            AgentMessage::Custom(message) => lost.see_message(&message),
            _ => {}
        }
    }
    lost
}

impl LostWork {
    fn see_subagent(&mut self, result: &ToolResultMessage, tasks: &HashMap<String, String>) {
        let details = &result.details;
        let Some(id) = details["id"].as_str() else {
            return;
        };
        let number = id.trim_start_matches("agent").parse().unwrap_or(0);
        self.started = self.started.max(number);
        if details["background"] != true {
            return;
        }
        let call_id = &result.result.tool_call_id;
        self.is_reported = false;
        self.subagents.push(SubagentInfo {
            id: id.to_owned(),
            call_id: call_id.clone(),
            name: details["agent"].as_str().map(listed),
            task: tasks.get(call_id).cloned().unwrap_or_default(),
            model: details["model"].as_str().unwrap_or_default().to_owned(),
            status: SubagentStatus::Lost,
            background: true,
            ..SubagentInfo::default()
        });
    }

    /// The result of a command, or of a request about jobs.
    fn see_jobs(&mut self, result: &ToolResultMessage) {
        let listed_jobs = result.details["jobs"].as_array();
        let jobs = listed_jobs.into_iter().flatten();
        for details in jobs.chain([&result.details]) {
            let Some(id) = details["job"]["id"].as_str() else {
                continue;
            };
            self.jobs.retain(|job| job.id != id);
            if details["job"]["running"] == true {
                self.is_reported = false;
                self.jobs.push(JobInfo {
                    id: id.to_owned(),
                    command: listed(details["command"].as_str().unwrap_or_default()),
                    lost: true,
                    ..JobInfo::default()
                });
            }
        }
    }

    fn see_message(&mut self, message: &CustomMessage) {
        if message.kind == SUBAGENT {
            let id = message.details["subagent"].as_str();
            self.subagents.retain(|info| Some(info.id.as_str()) != id);
        }
        if message.kind == KIND {
            self.is_reported = true;
        }
    }
}

fn listed(words: &str) -> String {
    text::single_line(text::head_bytes(words.trim(), LISTED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::{ToolStatus, UserMessage};
    use osier_llm::ToolResult;

    fn result(tool: &str, call: &str, details: Value) -> AgentMessage {
        AgentMessage::ToolResult(ToolResultMessage {
            result: ToolResult {
                tool_call_id: call.to_owned(),
                tool_name: tool.to_owned(),
                ..ToolResult::default()
            },
            status: ToolStatus::Success,
            details,
            duration_ms: 0,
        })
    }

    fn job(id: &str, running: bool) -> Value {
        json!({"command": "npm run dev", "job": {"id": id, "running": running}})
    }

    fn ids(lost: &LostWork) -> Vec<&str> {
        let subagents = lost.subagents.iter().map(|info| info.id.as_str());
        subagents
            .chain(lost.jobs.iter().map(|job| job.id.as_str()))
            .collect()
    }

    #[test]
    fn work_without_an_end_is_lost_and_reported_once() {
        let background = |id: &str| json!({"id": id, "background": true});
        let mut messages = vec![
            AgentMessage::User(UserMessage::new("go", 0)),
            result(SUBAGENT, "a", background("agent1")),
            result(SUBAGENT, "b", background("agent2")),
            result(SUBAGENT, "c", json!({"id": "agent3"})),
            result(BASH, "d", job("job1", true)),
            result(BASH, "e", job("job2", true)),
            result(
                BASH,
                "f",
                json!({"jobs": [job("job1", true), job("job2", false)]}),
            ),
            AgentMessage::Custom(CustomMessage {
                kind: SUBAGENT.to_owned(),
                display: true,
                text: String::new(),
                details: end_of("agent1"),
                timestamp: 0,
            }),
        ];
        let lost = find(messages.clone().into_iter());
        assert_eq!((ids(&lost), lost.started), (vec!["agent2", "job1"], 3));
        let reminder = lost.reminder().unwrap();
        assert!(reminder.text().contains("- job1: npm run dev"));
        messages.push(reminder);
        let again = find(messages.into_iter());
        assert_eq!(ids(&again), ["agent2", "job1"]);
        assert_eq!(again.reminder(), None);
    }
}
