//! Decides which messages are summarised and which stay. Pure.

use super::estimate::message_tokens;
use osier_agent::AgentMessage;
use osier_llm::Model;
use osier_store::ContextEntry;

/// Tokens reserved for the next request and its answer.
const RESERVE: u64 = 16_384;
/// Recent tokens that are not summarised.
const KEEP: u64 = 20_000;
/// The share of the limit at which the user is warned.
const WARN_PERCENT: u64 = 85;

/// The limits for one model. They shrink with the context window, to a few thousand tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub window: u64,
    /// Reserved for output.
    pub reserve: u64,
    /// Recent tokens that are not summarised.
    pub keep: u64,
    /// The maximum tokens of a summary.
    pub summary: u64,
}

impl Limits {
    pub(crate) fn of(model: &Model) -> Self {
        let window = model.context_window;
        let reserve = RESERVE.min(window / 4);
        let summary = (reserve * 4 / 5).min(model.max_tokens.max(1)).max(64);
        Self {
            window,
            reserve,
            keep: KEEP.min(window / 4),
            summary,
        }
    }

    /// The limit of tokens; `None` if the context window of the model is unknown.
    pub(crate) fn trigger(&self) -> Option<u64> {
        (self.window > 0).then(|| self.window - self.reserve)
    }

    /// The tokens at which the user is warned.
    pub(crate) fn warning(&self) -> Option<u64> {
        self.trigger().map(|trigger| trigger * WARN_PERCENT / 100)
    }
}

/// The index of the first message that stays when the user or the provider asks for a compaction; the conversation can be short then.
pub(crate) fn cut_at_once(entries: &[ContextEntry], limits: &Limits) -> Option<usize> {
    cut(entries, limits, limits.keep).or_else(|| cut(entries, limits, 1))
}

/// The index of the first message that stays; `None` if there is nothing to summarise. The summary of an earlier
/// compaction is always included, but is no reason for a new one.
///
/// A result never stays without its call, and a call is never summarised without its result. If the rest is too much
/// by itself, everything is summarised.
pub(crate) fn cut(entries: &[ContextEntry], limits: &Limits, keep: u64) -> Option<usize> {
    let first = usize::from(matches!(
        entries.first().map(|entry| &entry.message),
        Some(AgentMessage::CompactionSummary(_))
    ));
    let tokens: Vec<u64> = entries
        .iter()
        .map(|entry| message_tokens(&entry.message))
        .collect();
    let mut kept = 0;
    let mut place = entries.len();
    while place > first && kept < keep {
        place -= 1;
        kept += tokens[place];
    }
    let is_result = |place: usize| matches!(entries[place].message, AgentMessage::ToolResult(_));
    let later = (place..entries.len()).find(|place| !is_result(*place));
    let place = later.unwrap_or_else(|| {
        let call = (first..place).rev().find(|place| !is_result(*place));
        call.unwrap_or(first)
    });
    let stays: u64 = tokens[place.min(entries.len())..].iter().sum();
    let room = limits
        .window
        .saturating_sub(limits.reserve + limits.summary);
    let place = if limits.window > 0 && stays > room {
        entries.len()
    } else {
        place
    };
    (place > first).then_some(place)
}

/// The index of the entry `id`, or of the call of a result: everything before it is summarised. `None` if there is nothing
/// before it but an earlier summary.
pub(super) fn cut_before(entries: &[ContextEntry], id: &str) -> Option<usize> {
    let is_result = |place: &usize| {
        let message = &entries[*place].message;
        matches!(message, AgentMessage::ToolResult(_))
    };
    let place = entries.iter().position(|entry| entry.id == id)?;
    let place = (0..=place).rev().find(|place| !is_result(place))?;
    let first = usize::from(matches!(
        entries.first().map(|entry| &entry.message),
        Some(AgentMessage::CompactionSummary(_))
    ));
    (place > first).then_some(place)
}

/// The prompt whose turn is split by a cut at `place`: it is summarised while a part of its turn stays.
pub(super) fn split_prompt(entries: &[ContextEntry], place: usize) -> Option<&str> {
    let begins_turn = |message: &AgentMessage| matches!(message, AgentMessage::User(_));
    if entries
        .get(place)
        .is_some_and(|entry| begins_turn(&entry.message))
    {
        return None;
    }
    entries[..place]
        .iter()
        .rev()
        .find_map(|entry| match &entry.message {
            AgentMessage::User(message) => Some(message.text.as_str()),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::{Summary, ToolResultMessage, UserMessage};
    use osier_llm::{AssistantBlock, AssistantMessage, ContentBlock, ToolCall, ToolResult};

    fn entry(message: AgentMessage) -> ContextEntry {
        ContextEntry {
            id: String::new(),
            message,
            details: serde_json::Value::Null,
            left_out: 0,
        }
    }

    /// `u`: a prompt, `a`: an answer, `c`: an answer with a call, `r`: a result, `s`: a summary; all of
    /// about a hundred tokens. `R` is a result of ten thousand.
    fn conversation(shape: &str) -> Vec<ContextEntry> {
        let text = "word".repeat(96);
        let message = |letter| match letter {
            'u' => AgentMessage::User(UserMessage::new(text.clone(), 0)),
            's' => AgentMessage::CompactionSummary(Summary {
                summary: text.clone(),
                ..Summary::default()
            }),
            'r' | 'R' => AgentMessage::ToolResult(ToolResultMessage {
                result: ToolResult {
                    content: vec![ContentBlock::text(if letter == 'R' {
                        text.repeat(100)
                    } else {
                        text.clone()
                    })],
                    ..ToolResult::default()
                },
                ..ToolResultMessage::default()
            }),
            _ => AgentMessage::Assistant(AssistantMessage {
                content: vec![
                    AssistantBlock::Text {
                        text: text.clone(),
                        signature: None,
                    },
                    AssistantBlock::ToolCall(ToolCall::default()),
                ][..=usize::from(letter == 'c')]
                    .to_vec(),
                ..AssistantMessage::default()
            }),
        };
        shape.chars().map(message).map(entry).collect()
    }

    const LIMITS: Limits = Limits {
        window: 4_000,
        reserve: 1_000,
        keep: 250,
        summary: 500,
    };

    #[test]
    fn cut_never_separates_a_call_from_its_result() {
        for (shape, expected) in [
            ("uauaua", Some(3)),
            ("uacrrr", Some(2)),
            ("ucrrcra", Some(4)),
            ("ua", None),
            ("", None),
            ("s", None),
            ("sua", None),
            ("suaua", Some(2)),
        ] {
            assert_eq!(cut(&conversation(shape), &LIMITS, 250), expected, "{shape}");
        }
    }

    #[test]
    fn everything_before_an_entry_is_summarised_with_whole_calls() {
        let mut entries = conversation("suacrra");
        for (place, entry) in entries.iter_mut().enumerate() {
            entry.id = place.to_string();
        }
        let cuts = ["0", "1", "2", "4", "5", "6", "gone"].map(|id| cut_before(&entries, id));
        assert_eq!(cuts, [None, None, Some(2), Some(3), Some(3), Some(6), None]);
    }

    #[test]
    fn messages_over_the_limit_are_summarised() {
        assert_eq!(cut(&conversation("uacR"), &LIMITS, 250), Some(4));
        assert_eq!(cut(&conversation("uaR"), &LIMITS, 250), Some(3));
    }

    #[test]
    fn prompt_of_a_split_turn_is_found() {
        let entries = conversation("uacraua");
        assert_eq!(split_prompt(&entries, 5), None);
        assert!(split_prompt(&entries, 4).is_some());
        assert!(split_prompt(&entries, 6).is_some());
        assert_eq!(split_prompt(&entries, 0), None);
    }

    #[test]
    fn small_windows_get_small_limits() {
        let mut model = osier_llm::Model {
            provider: String::new(),
            id: String::new(),
            name: String::new(),
            api: osier_llm::Api::Scripted,
            base_url: String::new(),
            context_window: 200_000,
            max_tokens: 32_000,
            thinking_levels: Vec::new(),
            input: Vec::new(),
            price: osier_llm::Price::default(),
            headers: std::collections::BTreeMap::new(),
            compat: osier_llm::Compat::default(),
            tuning: osier_llm::Tuning::default(),
        };
        let limits = Limits::of(&model);
        assert_eq!((limits.trigger(), limits.keep), (Some(183_616), 20_000));
        model.context_window = 4_000;
        let limits = Limits::of(&model);
        assert_eq!((limits.trigger(), limits.keep), (Some(3_000), 1_000));
        assert_eq!(limits.summary, 800);
        model.context_window = 0;
        assert_eq!(Limits::of(&model).trigger(), None);
    }
}
