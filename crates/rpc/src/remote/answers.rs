//! Answers that several clients of one host can get are told apart here: each hears its own.

use std::collections::HashMap;

use serde_json::{Value, json};

/// Ops and the events that only answer them.
const ANSWERED: &[(&str, &str)] = &[
    ("list_sessions", "sessions"),
    ("get_usage", "usage"),
    ("get_status", "status"),
    ("list_files", "files"),
    ("list_history", "history"),
    ("stash_prompt", "stash"),
    ("list_stash", "stash"),
    ("drop_stashed", "stash"),
    ("list_hooks", "hooks"),
    ("list_context", "context"),
    ("list_accounts", "accounts"),
    ("list_questions", "questions"),
    ("get_context", "context_report"),
    ("describe_session", "session_described"),
    ("get_state", "state"),
    ("read_log", "stored_entries"),
];

/// Ops that must not be done twice, and the events that only answer them.
const DONE_ONCE: &[(&str, &str)] = &[("recall_queue", "queue_recalled")];

/// Numbers that one client may use.
const NUMBERS: u64 = 1 << 24;

/// What was asked from here.
#[derive(Debug)]
pub(super) struct Asked {
    /// Stands before every number of this client.
    base: u64,
    open: HashMap<&'static str, usize>,
}

impl Asked {
    pub(super) fn new() -> Self {
        let random = uuid::Uuid::new_v4().as_fields().0;
        Self {
            // A whole number that JSON can carry everywhere.
            base: u64::from(random >> 4) * NUMBERS,
            open: HashMap::new(),
        }
    }

    /// Makes an op this client's own. Whether it only asks: it can be done twice.
    pub(super) fn send(&mut self, op: &mut Value) -> bool {
        let mut asks = false;
        if let Some(number) = op.get("request").and_then(Value::as_u64) {
            op["request"] = json!(self.base + number % NUMBERS);
            asks = true;
        }
        let kind = op["type"].as_str().unwrap_or_default();
        if let Some((_, answer)) = ANSWERED.iter().find(|(asked, _)| *asked == kind) {
            *self.open.entry(answer).or_default() += 1;
            asks = true;
        }
        if let Some((_, answer)) = DONE_ONCE.iter().find(|(done, _)| *done == kind) {
            *self.open.entry(answer).or_default() += 1;
        }
        asks
    }

    /// Whether an event is for this client; a number in it is its own again.
    pub(super) fn hear(&mut self, event: &mut Value) -> bool {
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
            let own = number.checked_sub(self.base).filter(|own| *own < NUMBERS);
            if let Some(own) = own {
                event["request"] = json!(own);
            }
            return own.is_some();
        }
        let mut answers = ANSWERED.iter().chain(DONE_ONCE);
        let Some((_, answer)) = answers.find(|(_, answer)| *answer == kind) else {
            return true;
        };
        match self.open.get_mut(answer) {
            Some(open) if *open > 0 => {
                *open -= 1;
                true
            }
            _ => false,
        }
    }

    /// Nothing that was asked is answered any more.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hears_its_own_answers() {
        let (mut one, mut two) = (Asked::new(), Asked::new());
        let mut op = json!({"type": "read_transcript", "request": 3});
        assert!(one.send(&mut op));
        let answer = json!({"type": "transcript_page", "request": op["request"]});
        assert!(!two.hear(&mut answer.clone()));
        let mut heard = answer;
        assert!(one.hear(&mut heard));
        assert_eq!(heard["request"], 3);
        assert!(one.send(&mut json!({"type": "get_usage"})));
        let mut usage = json!({"type": "usage"});
        assert!(!two.hear(&mut usage));
        assert!(one.hear(&mut usage));
        assert!(!one.hear(&mut usage));
        // What waited in the queues goes to whoever takes it back, and to nobody twice.
        assert!(!one.send(&mut json!({"type": "recall_queue"})));
        let mut recalled = json!({"type": "queue_recalled", "messages": []});
        assert!(!two.hear(&mut recalled));
        assert!(one.hear(&mut recalled));
        assert!(!one.hear(&mut recalled));
        assert!(!one.send(&mut json!({"type": "prompt"})));
        assert!(two.hear(&mut json!({"type": "agent_start"})));
    }
}
