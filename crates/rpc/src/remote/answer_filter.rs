//! Filters the answers of a shared session: each client handles only the answers to its own requests.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use osier_base::request::Effect;
use osier_protocol::{Delivery, Event, Op};

/// Events that a client shows as the answer to its own request, although the events are changes of the session.
const SHOWN_AS_ANSWERS: [&str; 2] = ["accounts", "code_servers"];

/// Queries without a number, and the events that answer them and nothing else.
static QUERIES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let events: HashMap<&str, Delivery> = Event::events().into_iter().collect();
    let is_answer = |event: &&str| {
        events.get(event) == Some(&Delivery::Answer) || SHOWN_AS_ANSWERS.contains(event)
    };
    let queries = Op::requests().into_iter().filter_map(|request| {
        let is_numbered = request.parameters.iter().any(|one| one.name == "request");
        let [answer] = request.replies else {
            return None;
        };
        let is_query = request.effect == Effect::None && !is_numbered;
        Some((request.name, *answer)).filter(|(_, answer)| is_query && is_answer(answer))
    });
    queries.collect()
});

/// Ops that must not be executed twice, and the events that answer them.
const ANSWERED_ONCE: &[(&str, &str)] = &[("recall_queue", "queue_recalled")];

/// Size of the number range of one client.
const NUMBERS_PER_CLIENT: u64 = 1 << 24;

/// The open queries of this client.
#[derive(Debug)]
pub(super) struct AnswerFilter {
    /// Start of the number range of this client.
    base: u64,
    expected: HashMap<&'static str, usize>,
}

impl AnswerFilter {
    pub(super) fn new() -> Self {
        let random = uuid::Uuid::new_v4().as_fields().0;
        Self {
            // Small enough for the integers of every JSON parser.
            base: u64::from(random >> 4) * NUMBERS_PER_CLIENT,
            expected: HashMap::new(),
        }
    }

    /// Moves the number of an op into the range of this client and records the expected answer. Returns whether the op
    /// is a query, which can be executed twice.
    pub(super) fn register(&mut self, op: &mut Value) -> bool {
        let mut is_query = false;
        if let Some(number) = op.get("request").and_then(Value::as_u64) {
            op["request"] = json!(self.base + number % NUMBERS_PER_CLIENT);
            is_query = true;
        }
        let kind = op["type"].as_str().unwrap_or_default();
        if let Some(answer) = QUERIES.get(kind) {
            *self.expected.entry(answer).or_default() += 1;
            is_query = true;
        }
        if let Some((_, answer)) = ANSWERED_ONCE.iter().find(|(op, _)| *op == kind) {
            *self.expected.entry(answer).or_default() += 1;
        }
        is_query
    }

    /// Whether an event is for this client. Restores the number in it.
    pub(super) fn accept(&mut self, event: &mut Value) -> bool {
        let kind = event["type"].as_str().unwrap_or_default();
        match kind {
            "op_ended" | "unsent_found" => return false,
            "host_notice" => {
                if let Value::Object(fields) = event {
                    fields.shift_remove("request");
                }
                return true;
            }
            _ => {}
        }
        if let Some(number) = event.get("request").and_then(Value::as_u64) {
            let own = number
                .checked_sub(self.base)
                .filter(|own| *own < NUMBERS_PER_CLIENT);
            if let Some(own) = own {
                event["request"] = json!(own);
            }
            return own.is_some();
        }
        let once = ANSWERED_ONCE.iter().map(|(_, answer)| answer);
        let Some(answer) = QUERIES.values().chain(once).find(|answer| **answer == kind) else {
            return true;
        };
        match self.expected.get_mut(answer) {
            Some(expected) if *expected > 0 => {
                *expected -= 1;
                true
            }
            _ => false,
        }
    }

    /// Forgets the open queries, which will not be answered.
    pub(super) fn clear(&mut self) {
        self.expected.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queries_come_from_the_rows_of_requests_and_events() {
        for (query, answer) in [
            ("get_about", Some("about")),
            ("find_unsent", Some("unsent_found")),
            ("drop_stashed", Some("stash")),
            ("list_accounts", Some("accounts")),
            // A change, which is sent to all clients.
            ("list_jobs", None),
            ("rename_session", None),
            // The number of the answer tells which client requested it.
            ("find_symbols", None),
        ] {
            assert_eq!(QUERIES.get(query).copied(), answer, "{query}");
        }
    }

    #[test]
    fn each_client_accepts_only_its_own_answers() {
        let (mut one, mut two) = (AnswerFilter::new(), AnswerFilter::new());
        let mut op = json!({"type": "read_transcript", "request": 3});
        assert!(one.register(&mut op));
        let answer = json!({"type": "transcript_page", "request": op["request"]});
        assert!(!two.accept(&mut answer.clone()));
        let mut accepted = answer;
        assert!(one.accept(&mut accepted));
        assert_eq!(accepted["request"], 3);
        assert!(one.register(&mut json!({"type": "get_usage"})));
        let mut usage = json!({"type": "usage"});
        assert!(!two.accept(&mut usage));
        assert!(one.accept(&mut usage));
        assert!(!one.accept(&mut usage));
        // Recalled messages go only to the client that recalled them, and only once.
        assert!(!one.register(&mut json!({"type": "recall_queue"})));
        let mut recalled = json!({"type": "queue_recalled", "messages": []});
        assert!(!two.accept(&mut recalled));
        assert!(one.accept(&mut recalled));
        assert!(!one.accept(&mut recalled));
        assert!(!one.register(&mut json!({"type": "prompt"})));
        assert!(two.accept(&mut json!({"type": "agent_start"})));
    }
}
