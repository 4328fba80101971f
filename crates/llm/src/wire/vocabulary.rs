//! The vocabulary of the vendors: the reasons for which an answer ends, and the kinds of its parts.
//!
//! Each wire format has both as tables, which the decoder uses and from which the documentation is
//! generated. A test compares the tables with the types of the vendors' own packages.

use serde_json::{Map, Value};

use super::answer::Answer;
use crate::errors::clean;
use crate::event::StreamEvent;
use crate::message::StopReason;
use crate::status::TurnStatus;

/// The effect of the reason for which an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Calls,
    Cut,
    Partial,
    Refused,
    Full,
    Paused,
    Unusable,
    Lost,
    Disabled,
}

pub(crate) type ReasonRow = (&'static str, End);

/// The use of a part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Text,
    Thinking,
    Call,
    Hosted,
    Source,
    Fallback,
    Detail,
    LeftOut,
}

pub(crate) type PartRow = (&'static str, Use);

/// The value of the row `name`.
pub(super) fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let row = table.iter().find(|(known, _)| *known == name);
    row.map(|(_, value)| *value)
}

impl Answer {
    /// Ends the answer for a reason of `table`.
    pub(super) fn end(&mut self, reason: &str, table: &[ReasonRow], out: &mut Vec<StreamEvent>) {
        self.end_as(reason, find(table, reason), out);
    }

    /// Ends the answer with the effect `end` of the reason; `None` if osier does not know the
    /// reason.
    pub(super) fn end_as(&mut self, reason: &str, end: Option<End>, out: &mut Vec<StreamEvent>) {
        let failed = |answer: &Self, text: &str, retryable| TurnStatus::ModelError {
            message: format!("{text} ({}){}", clean(reason, None), answer.explanation()),
            retryable,
        };
        let status = match end {
            Some(End::Done) => return self.done(StopReason::Stop, out),
            None if reason.is_empty() => return self.done(StopReason::Stop, out),
            Some(End::Calls) => return self.done(StopReason::ToolUse, out),
            Some(End::Cut) => return self.done(StopReason::Length, out),
            Some(End::Refused) => return self.done(StopReason::Refusal, out),
            Some(End::Paused) => return self.done(StopReason::Paused, out),
            Some(End::Full) => return self.overflow(out),
            Some(End::Partial) => {
                let text = format!(
                    "`{}` ended the answer before it was complete",
                    self.provider()
                );
                failed(self, &text, false)
            }
            Some(End::Unusable) => failed(self, "the model's answer was not usable", true),
            Some(End::Lost) => TurnStatus::NetworkError {
                message: "the server lost the connection to the model".to_owned(),
                retryable: true,
            },
            Some(End::Disabled) => TurnStatus::AuthError {
                message: format!(
                    "`{}` ended the answer: the account is limited or disabled ({reason}){}",
                    self.provider(),
                    self.explanation()
                ),
            },
            None if self.is_silent() => failed(self, "the model ended without an answer", false),
            None => {
                let text =
                    format!("ended the answer for a reason that osier does not know: `{reason}`");
                self.warn(&text, out);
                return self.done(StopReason::Stop, out);
            }
        };
        self.fail(status, out);
    }

    /// Warns about the parts in `others` that `table` does not have, or that are omitted.
    pub(super) fn note_parts(&mut self, others: &Map<String, Value>, table: &[PartRow]) {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        for (kind, _) in others.iter().filter(|(_, value)| !is_empty(value)) {
            self.note_part(kind, table);
        }
    }

    /// Warns about a part of a kind that `table` does not have, or that is omitted.
    pub(super) fn note_part(&mut self, kind: &str, table: &[PartRow]) {
        if !kind.is_empty() && matches!(find(table, kind), None | Some(Use::LeftOut)) {
            self.leave_out(kind.chars().take(40).collect());
        }
    }
}
