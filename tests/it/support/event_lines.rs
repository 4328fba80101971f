//! Formats events as lines without ids and times, for comparisons.

use osier::modes::log::log_line;
use osier_agent::{AccountingEntry, AgentMessage, Event, RunOutcome, UserMessage};
use osier_llm::{Delta, TurnStatus};

use super::agent::speak;
use super::cli::without_duration;

/// One line per event; the deltas of a block are one line.
pub(crate) fn outline(events: &[Event]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in events {
        let line = line(event);
        // Merges consecutive deltas of a text.
        if let Some(more) = line.strip_prefix("  text ")
            && let Some(last) = lines.last_mut().filter(|last| last.starts_with("  text "))
        {
            last.push_str(more);
        } else if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// All events except log and accounting.
pub(crate) fn quiet(events: &[Event]) -> Vec<Event> {
    let told = |event: &&Event| !matches!(event, Event::Log { .. } | Event::Accounting { .. });
    events.iter().filter(told).cloned().collect()
}

/// Only log and accounting, without durations.
pub(crate) fn records(events: &[Event]) -> Vec<String> {
    let told = |event: &&Event| matches!(event, Event::Log { .. } | Event::Accounting { .. });
    let kept: Vec<Event> = events.iter().filter(told).cloned().collect();
    outline(&kept)
}

fn line(event: &Event) -> String {
    match event {
        Event::AgentStart => "agent start".into(),
        Event::TurnStart { turn } => format!("turn {turn}"),
        Event::MessageStart { message, .. } => match &**message {
            AgentMessage::Assistant(_) => "  answer".into(),
            _ => String::new(),
        },
        Event::MessageUpdate { delta, .. } => match delta {
            Delta::TextDelta { delta, .. } => format!("  text {delta}"),
            Delta::ThinkingDelta { delta, .. } => format!("  thinking {delta}"),
            Delta::ToolcallStart { name, .. } => format!("  call {name}"),
            _ => String::new(),
        },
        Event::MessageEnd { message, .. } => format!("  stored {}", speak(message)),
        Event::MessageRetracted { .. } => "  retracted".into(),
        Event::ToolExecutionStart {
            call_id,
            tool_name,
            arguments,
        } => format!("  start {call_id} {tool_name} {arguments}"),
        Event::ToolExecutionUpdate { call_id, update } => format!("  output {call_id} {update:?}"),
        Event::ToolExecutionEnd {
            call_id, result, ..
        } => format!("  end {call_id} {}", result.status.name()),
        Event::TurnEnd { turn, status } => format!("turn {turn} {}", status_name(status)),
        Event::AgentEnd { outcome } => format!("agent end {}", outcome_name(outcome)),
        Event::AgentSettled { outcome } => format!("settled {}", outcome_name(outcome)),
        Event::QueueUpdate {
            steering,
            follow_up,
        } => format!("queue {:?} {:?}", texts(steering), texts(follow_up)),
        Event::QueueRecalled { messages } => format!("recalled {:?}", texts(messages)),
        Event::RetryScheduled {
            attempt,
            max_attempts,
            delay_ms,
            status,
        } => format!(
            "  retry {attempt}/{max_attempts} in {delay_ms} ms after {}",
            status_name(status)
        ),
        Event::ProviderSwitched { from, to, status } => {
            format!("  switch {from} to {to} after {}", status_name(status))
        }
        Event::Log { entry } => without_duration(&log_line(entry)),
        Event::Accounting { entry } => match entry {
            AccountingEntry::Llm {
                provider,
                model,
                usage,
                status,
                ..
            } => format!(
                "account {provider}/{model} {}+{} {status}",
                usage.input, usage.output
            ),
            AccountingEntry::Tool {
                tool,
                status,
                characters,
                ..
            } => format!("account {tool} {status} {characters}"),
        },
        other => format!("{other:?}"),
    }
}

pub(crate) fn texts(messages: &[UserMessage]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message.text.as_str())
        .collect()
}

pub(crate) fn status_name(status: &TurnStatus) -> String {
    let value = serde_json::to_value(status).expect("a status");
    value["type"].as_str().expect("a tag").to_owned()
}

fn outcome_name(outcome: &RunOutcome) -> String {
    let value = serde_json::to_value(outcome).expect("an outcome");
    value["type"].as_str().expect("a tag").to_owned()
}
