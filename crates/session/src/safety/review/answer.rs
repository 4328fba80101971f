//! The answer of the model that judges: one call of the tool `verdict`, or only its JSON.

use osier_llm::{AssistantMessage, StopReason, ToolSpec};
use osier_protocol::Effect;
use serde::Deserialize;
use serde_json::{Value, json};

/// The tool that the model has to call.
pub(super) const TOOL: &str = "verdict";

/// The judgement of a model.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judgement {
    pub decision: Effect,
    pub reason: String,
}

/// The definition of the tool.
pub(super) fn tool() -> ToolSpec {
    ToolSpec {
        freeform: None,
        name: TOOL.to_owned(),
        description: "Give your judgement about the call.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "decision": {"type": "string", "enum": ["allow", "ask", "deny"]},
                "reason": {"type": "string", "description": "One short sentence for the user."},
            },
            "required": ["decision", "reason"],
            "additionalProperties": false,
        }),
    }
}

/// Reads the judgement.
///
/// # Errors
/// The mistake in the answer: everything but exactly one complete judgement is a mistake.
pub(super) fn read(message: &AssistantMessage) -> Result<Judgement, String> {
    match message.stop_reason {
        StopReason::Length => return Err("the answer was cut off".to_owned()),
        StopReason::Refusal => return Err("the model refused to answer".to_owned()),
        _ => {}
    }
    let mut calls = message.tool_calls();
    let judgement = match (calls.next(), calls.next()) {
        (None, _) => serde_json::from_str(message.text().trim()).ok(),
        (Some(call), None) if call.name == TOOL && call.arguments_error.is_none() => {
            Judgement::of(&call.arguments)
        }
        _ => None,
    };
    let judgement = judgement.filter(|judgement: &Judgement| !judgement.reason.trim().is_empty());
    judgement.ok_or_else(|| "the answer is not a valid judgement".to_owned())
}

impl Judgement {
    fn of(arguments: &Value) -> Option<Self> {
        Self::deserialize(arguments).ok()
    }
}

#[cfg(test)]
mod tests {
    use osier_llm::{AssistantBlock, ToolCall};

    use super::*;

    fn call(name: &str, arguments: Value) -> AssistantBlock {
        AssistantBlock::ToolCall(ToolCall {
            id: "1".to_owned(),
            name: name.to_owned(),
            arguments,
            ..ToolCall::default()
        })
    }

    fn text(text: &str) -> AssistantBlock {
        AssistantBlock::Text {
            text: text.to_owned(),
            signature: None,
        }
    }

    #[test]
    fn only_one_complete_judgement_is_valid() {
        let allow = || call(TOOL, json!({"decision": "allow", "reason": "fits"}));
        for (content, valid) in [
            (vec![allow()], true),
            (vec![text("I think so."), allow()], true),
            (vec![text(r#"{"decision":"allow","reason":"fits"}"#)], true),
            (vec![], false),
            (vec![text("allow")], false),
            (
                vec![text(r#"Sure: {"decision":"allow","reason":"fits"}"#)],
                false,
            ),
            (
                vec![text(r#"{"decision":"allow","reason":"fits"} {}"#)],
                false,
            ),
            (
                vec![text(
                    r#"{"decision":"allow","decision":"deny","reason":"fits"}"#,
                )],
                false,
            ),
            (vec![allow(), allow()], false),
            (vec![allow(), call("bash", json!({"command": "id"}))], false),
            (
                vec![call("bash", json!({"decision": "allow", "reason": "fits"}))],
                false,
            ),
            (
                vec![call(TOOL, json!({"decision": "Allow", "reason": "fits"}))],
                false,
            ),
            (vec![call(TOOL, json!({"decision": "allow"}))], false),
            (
                vec![call(TOOL, json!({"decision": "allow", "reason": " "}))],
                false,
            ),
            (
                vec![call(TOOL, json!({"decision": ["allow"], "reason": "fits"}))],
                false,
            ),
            (
                vec![call(
                    TOOL,
                    json!({"decision": "allow", "reason": "fits", "deny": true}),
                )],
                false,
            ),
        ] {
            let message = AssistantMessage {
                content: content.clone(),
                ..AssistantMessage::default()
            };
            let expected = Judgement {
                decision: Effect::Allow,
                reason: "fits".to_owned(),
            };
            assert_eq!(
                read(&message).ok(),
                valid.then_some(expected),
                "{content:?}"
            );
            let cut = AssistantMessage {
                stop_reason: StopReason::Length,
                ..message
            };
            assert!(read(&cut).is_err(), "{content:?}");
        }
    }
}
