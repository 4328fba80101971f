//! The line below the last answer of a turn: its model, time, calls and cost.

use osier_base::{clock, text};
use osier_llm::{AssistantMessage, StopReason};

/// The calls and cost since a prompt.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// When the prompt was sent, in milliseconds since the Unix epoch; `None` if it is not loaded.
    since: Option<i64>,
    tools: usize,
    cost: f64,
    /// How long the answers and the tools took, in milliseconds, independent of changes of the
    /// clock.
    measured: u64,
}

/// More time than this between the answers and tools of a turn, in milliseconds, means that the clock was changed.
const IDLE: u64 = 60 * 60 * 1000;

impl Turn {
    /// A turn whose prompt was sent at this time.
    pub(super) fn since(time: i64) -> Self {
        Self {
            since: Some(time),
            ..Self::default()
        }
    }

    /// Counts the time of a tool.
    pub(super) fn add_tool(&mut self, duration_ms: u64) {
        self.measured = self.measured.saturating_add(duration_ms);
    }

    /// Counts an answer. Returns the line if the turn ends with this answer: `model · 1m 04s · 3
    /// tools · $0.012`.
    pub(super) fn count(&mut self, answer: &AssistantMessage) -> Option<String> {
        self.tools += answer.tool_calls().count();
        self.cost += answer.usage.cost.total;
        let end = answer.timestamp.saturating_add_unsigned(answer.duration_ms);
        let took = end.saturating_sub(self.since?);
        self.measured = self.measured.saturating_add(answer.duration_ms);
        let longest = self.measured.saturating_add(IDLE);
        let took = match u64::try_from(took) {
            Ok(took) if took <= longest => took,
            _ => self.measured,
        };
        if answer.stop_reason != StopReason::Stop {
            return None;
        }
        let mut parts = vec![
            text::single_line(&answer.model),
            clock::human_duration(took),
        ];
        if self.tools > 0 {
            parts.push(text::counted(self.tools, "tool", "tools"));
        }
        if self.cost > 0.0 {
            parts.push(format!("${:.3}", self.cost));
        }
        Some(parts.join(" · "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::{AssistantBlock, ToolCall};

    fn answer(timestamp: i64, calls: bool) -> AssistantMessage {
        let call = AssistantBlock::ToolCall(ToolCall::default());
        let mut answer = AssistantMessage {
            model: "m-1".to_owned(),
            timestamp,
            duration_ms: 1500,
            stop_reason: if calls {
                StopReason::ToolUse
            } else {
                StopReason::Stop
            },
            content: if calls {
                vec![call.clone(), call]
            } else {
                Vec::new()
            },
            ..AssistantMessage::default()
        };
        answer.usage.cost.total = 0.004;
        answer
    }

    #[test]
    fn a_turn_ends_with_what_it_took() {
        let mut turn = Turn::since(1000);
        assert_eq!(turn.count(&answer(2000, true)), None);
        let line = turn.count(&answer(63_500, false));
        assert_eq!(line.as_deref(), Some("m-1 · 1m 04s · 2 tools · $0.008"));
        let short = Turn::since(1000).count(&answer(5000, false));
        assert_eq!(short.as_deref(), Some("m-1 · 5.5s · $0.004"));
        assert_eq!(Turn::default().count(&answer(63_500, false)), None);
    }

    #[test]
    fn a_clock_that_jumps_does_not_count() {
        for end in [86_401_000, -5000] {
            let mut turn = Turn::since(1000);
            turn.add_tool(2000);
            let line = turn.count(&answer(end, false));
            assert_eq!(line.as_deref(), Some("m-1 · 3.5s · $0.004"));
        }
    }
}
