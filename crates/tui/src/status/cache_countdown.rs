//! How long the provider still keeps the conversation in its cache. After that, the next prompt costs more.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use osier_llm::AssistantMessage;
use osier_protocol::ModelInfo;

/// Shorter conversations cost little without a cache, in tokens.
const LONG: u64 = 10_000;
const MINUTE: i64 = 60_000;

/// The countdown of the footer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheCountdown {
    /// Provider and model of the last answer, and its end in milliseconds since the Unix epoch.
    last: Option<(String, String, i64)>,
    /// The end of the last answer of every model that answered.
    ends: BTreeMap<(String, String), i64>,
    shown: Option<Left>,
    /// Milliseconds until what is shown changes.
    next: Option<u64>,
}

/// The remaining time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Begun minutes.
    Minutes(i64),
    Nothing,
}

impl CacheCountdown {
    /// Another conversation is shown.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn answered(&mut self, answer: &AssistantMessage) {
        let ended = answer.timestamp.saturating_add_unsigned(answer.duration_ms);
        let (provider, model) = (answer.provider.clone(), answer.model.clone());
        self.ends.insert((provider.clone(), model.clone()), ended);
        self.last = Some((provider, model, ended));
    }

    /// The conversation begins with a summary now: no model has it in its cache.
    pub(crate) fn compacted(&mut self) {
        self.ends.clear();
    }

    /// Whether the provider of `model` still has this conversation, at least up to the model's last answer.
    pub(crate) fn is_kept_by(&self, model: &ModelInfo, now: i64) -> bool {
        let ended = self.ends.get(&(model.provider.clone(), model.id.clone()));
        let lifetime = model
            .cache_seconds
            .and_then(|lifetime| i64::try_from(lifetime).ok());
        let until = ended
            .zip(lifetime)
            .map(|(ended, lifetime)| ended.saturating_add(lifetime.saturating_mul(1000)));
        until.is_some_and(|until| now < until)
    }

    /// Updates the countdown at `now`, in milliseconds since the Unix epoch. `model` gets the next
    /// prompt, and `tokens` are in the conversation. Returns true if the text changed.
    pub(crate) fn update(&mut self, model: Option<&ModelInfo>, tokens: u64, now: i64) -> bool {
        let left = self.left(model.filter(|_| tokens >= LONG), now);
        let shown = left.map(|left| match left {
            ..=0 => Left::Nothing,
            left => Left::Minutes((left - 1) / MINUTE + 1),
        });
        self.next = match left {
            Some(left @ 1..) => u64::try_from((left - 1) % MINUTE + 1).ok(),
            _ => None,
        };
        std::mem::replace(&mut self.shown, shown) != shown
    }

    /// Milliseconds that the cache is still kept, if that is known.
    fn left(&self, model: Option<&ModelInfo>, now: i64) -> Option<i64> {
        let (model, (provider, id, ended)) = (model?, self.last.as_ref()?);
        let lifetime = i64::try_from(model.cache_seconds?).ok()?;
        let is_same = *provider == model.provider && *id == model.id;
        is_same.then(|| ended.saturating_add(lifetime.saturating_mul(1000)) - now)
    }

    /// When the text changes next.
    pub(crate) fn next_change(&self, now: Instant) -> Option<Instant> {
        Some(now + Duration::from_millis(self.next?))
    }

    /// The text of the footer; empty if there is nothing to report.
    pub(crate) fn summary(&self) -> String {
        match self.shown {
            None => String::new(),
            Some(Left::Minutes(1)) => "cache under 1 min".to_owned(),
            Some(Left::Minutes(minutes)) => format!("cache {minutes} min"),
            Some(Left::Nothing) => "cache expired".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str) -> ModelInfo {
        let model = serde_json::json!({"provider": "anthropic", "id": id, "name": "", "contextWindow": 200_000,
            "maxTokens": 1, "thinkingLevels": [], "input": [], "price": {}, "key": "present", "cacheSeconds": 300,
            "inCycle": false});
        serde_json::from_value(model).unwrap()
    }

    #[test]
    fn minutes_are_counted_down_for_a_long_conversation_with_the_same_model() {
        let mut countdown = CacheCountdown::default();
        countdown.answered(&AssistantMessage {
            provider: "anthropic".to_owned(),
            model: "one".to_owned(),
            timestamp: 1_000,
            duration_ms: 500,
            ..AssistantMessage::default()
        });
        let start = Instant::now();
        let mut at = |id: &str, tokens, now| {
            let changed = countdown.update(Some(&model(id)), tokens, now);
            let next = countdown.next_change(start).map(|next| next - start);
            (
                changed,
                countdown.summary(),
                next.map(|next| next.as_millis()),
            )
        };
        let words = |words: &str| words.to_owned();
        assert_eq!(at("one", 9_999, 1_500), (false, words(""), None));
        assert_eq!(
            at("one", 10_000, 1_500),
            (true, words("cache 5 min"), Some(60_000))
        );
        assert_eq!(
            at("one", 10_000, 1_600),
            (false, words("cache 5 min"), Some(59_900))
        );
        assert_eq!(
            at("one", 10_000, 61_500),
            (true, words("cache 4 min"), Some(60_000))
        );
        assert_eq!(
            at("one", 10_000, 301_499),
            (true, words("cache under 1 min"), Some(1))
        );
        assert_eq!(
            at("one", 10_000, 301_500),
            (true, words("cache expired"), None)
        );
        assert_eq!(at("two", 10_000, 1_500), (true, words(""), None));
    }
}
