//! The fields of an answer in JSON: one row for each, with the events that have it. The reader
//! checks an answer against the rows, and reports a field that the event does not have or whose
//! type is wrong. The documentation is made from the rows.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::limits::{bounded, line};
use osier_base::problem::nearest;
use osier_protocol::{EVENTS, EventInfo, HookEvent};

/// The object that contains a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Answer,
    Specific,
    /// `decision` in `hookSpecificOutput`.
    Decision,
}

impl Part {
    /// The text after the name of a field of this object, in messages.
    fn location(self) -> &'static str {
        match self {
            Self::Answer => "",
            Self::Specific => " in `hookSpecificOutput`",
            Self::Decision => " in `hookSpecificOutput.decision`",
        }
    }
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Flag,
    Text,
    Number,
    Object,
    List,
    Anything,
    OneOf(&'static [&'static str]),
    Fields(Part),
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Flag => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Number => value.is_u64(),
            Self::Object | Self::Fields(_) => value.is_object(),
            Self::List => value.is_array(),
            Self::Anything => true,
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        }
    }

    fn expected(self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Number => "a whole number".to_owned(),
            Self::Object | Self::Fields(_) => "an object".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Anything => "any value".to_owned(),
            Self::OneOf(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                match quoted.split_last() {
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => String::new(),
                }
            }
        }
    }
}

/// A field of the contract.
struct Row {
    part: Part,
    name: &'static str,
    kind: Kind,
    /// The events that have the field.
    events: fn(&EventInfo) -> bool,
    /// The effect of the field; empty if osier does not support the field.
    effect: &'static str,
}

/// Rows of the form `PART "NAME": KIND, EVENTS => "EFFECT";`.
macro_rules! rows {
    ($($part:ident $name:literal: $kind:expr, $events:ident => $effect:literal;)*) => {
        &[$(Row {
            part: Part::$part,
            name: $name,
            kind: $kind,
            events: $events,
            effect: $effect,
        }),*]
    };
}

fn all(_: &EventInfo) -> bool {
    true
}

fn blocking(info: &EventInfo) -> bool {
    info.blocks
}

fn before_call(info: &EventInfo) -> bool {
    info.event == HookEvent::PreToolUse
}

fn permission(info: &EventInfo) -> bool {
    info.event == HookEvent::PermissionRequest
}

fn prompt(info: &EventInfo) -> bool {
    info.event == HookEvent::UserPromptSubmit
}

fn typed(info: &EventInfo) -> bool {
    prompt(info) || info.event == HookEvent::UserPromptExpansion
}

fn denied(info: &EventInfo) -> bool {
    info.event == HookEvent::PermissionDenied
}

fn start(info: &EventInfo) -> bool {
    info.event == HookEvent::SessionStart
}

fn watching(info: &EventInfo) -> bool {
    start(info) || info.event == HookEvent::FileChanged
}

fn after_call(info: &EventInfo) -> bool {
    matches!(
        info.event,
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure
    )
}

fn before_switch(info: &EventInfo) -> bool {
    info.event == HookEvent::PreModelSwitch
}

/// Whether the event asks for a decision about a call or a switch of the model.
fn decided(info: &EventInfo) -> bool {
    before_call(info) || before_switch(info)
}

fn elicited(info: &EventInfo) -> bool {
    matches!(
        info.event,
        HookEvent::Elicitation | HookEvent::ElicitationResult
    )
}

fn titled(info: &EventInfo) -> bool {
    start(info) || prompt(info)
}

fn with_context(info: &EventInfo) -> bool {
    after_call(info)
        || before_call(info)
        || info.text_is_context
        || info.continues
        || matches!(
            info.event,
            HookEvent::Setup
                | HookEvent::SubagentStart
                | HookEvent::PostToolBatch
                | HookEvent::PostModelSwitch
        )
}

/// Words for a decision. The last two are of other agents.
const DECISIONS: &[&str] = &["block", "approve", "deny", "allow"];

/// All fields, in the order of the documentation.
const ROWS: &[Row] = rows! {
    Answer "continue": Kind::Flag, all => "`false` ends the run";
    Answer "stopReason": Kind::Text, all => "the reason for `continue: false`";
    Answer "decision": Kind::OneOf(DECISIONS), blocking => "`block` and `deny` block; `approve` and `allow` skip the question about a call";
    Answer "reason": Kind::Text, all => "the reason for `decision`";
    Answer "systemMessage": Kind::Text, all => "is shown to you, with `-p` on standard error";
    Answer "suppressOutput": Kind::Flag, all => "accepted: osier never shows the output of a hook";
    Answer "async": Kind::Flag, all => "`true` in the first line: the hook continues in the background, and decides nothing";
    Answer "asyncTimeout": Kind::Number, all => "the limit for that, in milliseconds";
    Answer "terminalSequence": Kind::Text, all => "";
    Answer "hookSpecificOutput": Kind::Fields(Part::Specific), all => "the fields below";
    Specific "hookEventName": Kind::Text, all => "the event, to which the other fields belong";
    Specific "permissionDecision": Kind::OneOf(&["allow", "ask", "defer", "deny"]), decided => "decides about the call or the switch; `defer` is for calls";
    Specific "permissionDecisionReason": Kind::Text, decided => "the reason for `permissionDecision`";
    Specific "updatedInput": Kind::Object, before_call => "replaces the arguments of the call";
    Specific "permissionDisplay": Kind::Anything, before_call => "";
    Specific "decision": Kind::Fields(Part::Decision), permission => "answers the question instead of you";
    Decision "behavior": Kind::OneOf(&["allow", "deny"]), permission => "the answer";
    Decision "message": Kind::Text, permission => "the reason to deny";
    Decision "interrupt": Kind::Flag, permission => "with `deny`: `true` also ends the run";
    Decision "updatedInput": Kind::Object, permission => "with `allow`: replaces the arguments of the call";
    Decision "updatedPermissions": Kind::List, permission => "";
    Specific "additionalContext": Kind::Text, with_context => "context for the model; continues a model that has finished";
    Specific "initialUserMessage": Kind::Text, start => "goes before the text of your first prompt";
    Specific "suppressOriginalPrompt": Kind::Flag, typed => "accepted: osier does not repeat a blocked prompt";
    Specific "retry": Kind::Flag, denied => "`true`: the model reads that it can make the call again";
    Specific "action": Kind::OneOf(&["accept", "decline", "cancel"]), elicited => "answers the server";
    Specific "content": Kind::Object, elicited => "the values of the form, with `accept`";
    Specific "updatedToolOutput": Kind::Anything, after_call => "replaces the result of the call";
    Specific "updatedMCPToolOutput": Kind::Anything, after_call => "the same, if `updatedToolOutput` is missing";
    Specific "sessionTitle": Kind::Text, titled => "";
    Specific "watchPaths": Kind::List, watching => "files to watch for `FileChanged`, relative to the working directory; at most 1,000";
    Specific "reloadSkills": Kind::Flag, start => "";
    Specific "classifierContext": Kind::Text, after_call => "";
};

const SPECIFIC: &str = "hookSpecificOutput";
const EVENT_NAME: &str = "hookEventName";
/// Names that the contract does not have, but with which answers decide.
const SYNONYMS: &[&str] = &[
    "action",
    "allow",
    "allowed",
    "approve",
    "approved",
    "block",
    "blocked",
    "denied",
    "deny",
    "permission",
    "permissions",
    "verdict",
];

fn find(part: Part, name: &str) -> Option<&'static Row> {
    let mut rows = ROWS.iter();
    rows.find(|row| row.part == part && row.name == name)
}

/// Whether a field `name` at the start of an object shows that the object is an answer.
pub(super) fn is_of_answer(name: &str) -> bool {
    // Many other words are similar to these names, such as `version`.
    let first = |name: &str| name.chars().next().map(|char| char.to_ascii_lowercase());
    let names = ROWS.iter().map(|row| row.name);
    let names = names.filter(|known| first(known) == first(name));
    SYNONYMS.contains(&name) || nearest(name, names).is_some()
}

/// The fields of an answer that are known and have their type.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    values: Vec<(Part, &'static str, &'a Value)>,
    /// The parts that are not understood.
    pub problems: Vec<String>,
    /// Fields of the contract without an effect in osier.
    pub unsupported: Vec<&'static str>,
}

/// Reads the answer to `event`, whose hook received `input`.
pub(super) fn read<'a>(
    event: HookEvent,
    answer: &'a Map<String, Value>,
    input: &[u8],
) -> Fields<'a> {
    let mut fields = Fields {
        values: Vec::new(),
        problems: Vec::new(),
        unsupported: Vec::new(),
    };
    // A hook that prints its input, as `tee` does, does not answer with it.
    let echo = match answer.get("hook_event_name") {
        Some(_) => serde_json::from_slice(input).unwrap_or_default(),
        None => Value::Null,
    };
    let own = answer
        .iter()
        .filter(|(name, value)| echo.get(name) != Some(*value));
    fields.read(event.info(), Part::Answer, own);
    fields.check_combinations();
    fields
}

impl<'a> Fields<'a> {
    fn read(
        &mut self,
        info: &EventInfo,
        part: Part,
        given: impl Iterator<Item = (&'a String, &'a Value)>,
    ) {
        for (name, value) in given.filter(|(_, value)| !value.is_null()) {
            let shown = line(name);
            let Some(row) = find(part, name) else {
                let advice = advice(info, part, name);
                self.problems.push(format!(
                    "unknown field `{shown}`{}; {advice}",
                    part.location()
                ));
                continue;
            };
            if !(row.events)(info) {
                let events = EVENTS.iter().filter(|info| (row.events)(info));
                let events: Vec<&str> = events.map(|info| info.name).collect();
                self.problems.push(format!(
                    "the field `{shown}`{} is for {}, not for {}",
                    part.location(),
                    events.join(", "),
                    info.name
                ));
            } else if !row.kind.fits(value) {
                let expected = row.kind.expected();
                self.problems.push(invalid(row.name, value, &expected));
            } else if row.effect.is_empty() {
                self.unsupported.push(row.name);
            } else {
                self.values.push((part, row.name, value));
                if let (Kind::Fields(part), Value::Object(inner)) = (row.kind, value) {
                    self.read_inner(info, part, inner);
                }
            }
        }
    }

    fn read_inner(&mut self, info: &EventInfo, part: Part, inner: &'a Map<String, Value>) {
        let named = inner.get(EVENT_NAME).and_then(Value::as_str);
        match named.filter(|named| HookEvent::find(named) != Some(info.event)) {
            Some(named) if part == Part::Specific => self.problems.push(format!(
                "its `{SPECIFIC}` is for `{}`, not for `{}`; that part has no effect",
                line(named),
                info.name
            )),
            _ => self.read(info, part, inner.iter()),
        }
    }

    /// Reports fields that have no meaning without another field, or together with it.
    fn check_combinations(&mut self) {
        let reason = self.get(Part::Specific, "permissionDecisionReason");
        if reason.is_some() && self.get(Part::Specific, "permissionDecision").is_none() {
            let text = "`permissionDecisionReason` without `permissionDecision`";
            self.problems.push(text.to_owned());
        }
        let decision = self.get(Part::Specific, "decision");
        let behavior = self.text(Part::Decision, "behavior");
        if decision.is_some() && behavior.is_none() {
            let text = "its decision has no valid `behavior`; expected `allow` or `deny`";
            self.problems.push(text.to_owned());
        }
        let interrupts = self.get(Part::Decision, "interrupt") == Some(&Value::Bool(true));
        if interrupts && behavior.as_deref() == Some("allow") {
            let text = "`interrupt` with the `behavior` `allow`";
            self.problems.push(text.to_owned());
        }
        let is_async = self.get(Part::Answer, "async") == Some(&Value::Bool(true));
        let others = self.values.iter().map(|(_, name, _)| *name);
        let mut others = others.filter(|name| !name.starts_with("async"));
        if let Some(other) = others.next().filter(|_| is_async) {
            self.problems
                .push(format!("`{other}` with `async`, which decides nothing"));
        }
    }

    pub(super) fn get(&self, part: Part, name: &str) -> Option<&'a Value> {
        let found =
            |(of, known, _): &&(Part, &'static str, &'a Value)| *of == part && *known == name;
        self.values.iter().find(found).map(|(_, _, value)| *value)
    }

    pub(super) fn text(&self, part: Part, name: &str) -> Option<String> {
        self.get(part, name).and_then(Value::as_str).map(bounded)
    }
}

/// The field that is likely to be meant by an unknown one.
fn advice(info: &EventInfo, part: Part, name: &str) -> String {
    let known = || ROWS.iter().filter(|row| (row.events)(info));
    let here = || known().filter(|row| row.part == part);
    let near = nearest(name, here().map(|row| row.name))
        .and_then(|name| find(part, name))
        .or_else(|| known().find(|row| row.name == name))
        .or_else(|| {
            let near = nearest(name, known().map(|row| row.name))?;
            known().find(|row| row.name == near)
        });
    let (name, part) = match (near, info.event) {
        (Some(row), _) => (row.name, row.part),
        (None, HookEvent::PreToolUse) => ("permissionDecision", Part::Specific),
        (None, HookEvent::PermissionRequest) => ("decision", Part::Specific),
        (None, _) if info.blocks => ("decision", Part::Answer),
        (None, _) => {
            let names: Vec<String> = here().map(|row| format!("`{}`", row.name)).collect();
            return format!("expected one of {}", names.join(", "));
        }
    };
    format!("did you mean `{name}`{}?", part.location())
}

pub(super) fn invalid(field: &str, value: &Value, expected: &str) -> String {
    let value = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("invalid {field} `{}`; expected {expected}", line(&value))
}

/// The table for the documentation.
pub fn answers_table() -> String {
    let mut page = String::from("| field | value | events | effect |\n|---|---|---|---|\n");
    for row in ROWS {
        let name = match row.part {
            Part::Answer => row.name.to_owned(),
            Part::Specific => format!("{SPECIFIC}.{}", row.name),
            Part::Decision => format!("{SPECIFIC}.decision.{}", row.name),
        };
        let events = EVENTS.iter().filter(|info| (row.events)(info));
        let events: Vec<String> = events.map(|info| format!("`{}`", info.name)).collect();
        let events = if events.len() == EVENTS.len() {
            "all".to_owned()
        } else {
            events.join(", ")
        };
        let effect = match row.effect {
            "" => "none: osier shows a warning",
            effect => effect,
        };
        let expected = row.kind.expected();
        let _ = writeln!(page, "| `{name}` | {expected} | {events} | {effect} |");
    }
    page
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_field_is_named_with_the_nearest_known_one() {
        let pre = HookEvent::PreToolUse;
        for (event, answer, expected) in [
            (
                pre,
                json!({"permissionDecison": "deny"}),
                "unknown field `permissionDecison`; did you mean `permissionDecision` in `hookSpecificOutput`?",
            ),
            (
                pre,
                json!({"hookSpecificOutput": {"permissionDecison": "deny"}}),
                "unknown field `permissionDecison` in `hookSpecificOutput`; did you mean `permissionDecision` in `hookSpecificOutput`?",
            ),
            (
                pre,
                json!({"permission": "deny"}),
                "unknown field `permission`; did you mean `permissionDecision` in `hookSpecificOutput`?",
            ),
            (
                pre,
                json!({"allow": false}),
                "unknown field `allow`; did you mean `permissionDecision` in `hookSpecificOutput`?",
            ),
            (
                pre,
                json!({"hookSpecificOutput": {"decision": {"behavior": "deny"}}}),
                "the field `decision` in `hookSpecificOutput` is for PermissionRequest, not for PreToolUse",
            ),
            (
                HookEvent::UserPromptSubmit,
                json!({"hookSpecificOutput": {"permissionDecision": "deny"}}),
                "the field `permissionDecision` in `hookSpecificOutput` is for PreToolUse, PreModelSwitch, not for UserPromptSubmit",
            ),
            (
                HookEvent::UserPromptSubmit,
                json!({"verdict": "no"}),
                "unknown field `verdict`; did you mean `decision`?",
            ),
            (
                HookEvent::PermissionRequest,
                json!({"behavior": "deny"}),
                "unknown field `behavior`; did you mean `behavior` in `hookSpecificOutput.decision`?",
            ),
            (
                HookEvent::SessionEnd,
                json!({"decision": "block"}),
                "the field `decision` is for UserPromptSubmit, UserPromptExpansion, PreToolUse, PermissionRequest, PostToolUse, PostToolUseFailure, PostToolBatch, Stop, SubagentStop, PreCompact, PreModelSwitch, TaskCreated, TaskCompleted, Elicitation, ElicitationResult, not for SessionEnd",
            ),
        ] {
            let fields = read(event, answer.as_object().unwrap(), b"");
            assert_eq!(fields.problems, [expected], "{answer}");
        }
    }

    #[test]
    fn every_type_and_word_is_checked() {
        let specific = |field: &str, value: Value| json!({SPECIFIC: {field: value}});
        for (event, answer, expected) in [
            (
                HookEvent::PreToolUse,
                json!({"continue": "false"}),
                "invalid continue `false`; expected true or false",
            ),
            (
                HookEvent::PreToolUse,
                specific("updatedInput", json!(5)),
                "invalid updatedInput `5`; expected an object",
            ),
            (
                HookEvent::PreToolUse,
                specific("permissionDecision", json!("Deny")),
                "invalid permissionDecision `Deny`; expected `allow`, `ask`, `defer` or `deny`",
            ),
            (
                HookEvent::PreToolUse,
                specific("permissionDecisionReason", json!("no")),
                "`permissionDecisionReason` without `permissionDecision`",
            ),
            (
                HookEvent::Stop,
                json!({"decision": ""}),
                "invalid decision ``; expected `block`, `approve`, `deny` or `allow`",
            ),
            (
                HookEvent::PermissionRequest,
                specific("decision", json!({"message": "no"})),
                "its decision has no valid `behavior`; expected `allow` or `deny`",
            ),
            (
                HookEvent::PermissionRequest,
                specific("decision", json!({"behavior": "allow", "interrupt": true})),
                "`interrupt` with the `behavior` `allow`",
            ),
            (
                HookEvent::PreToolUse,
                json!({"async": true, "decision": "block"}),
                "`decision` with `async`, which decides nothing",
            ),
        ] {
            let fields = read(event, answer.as_object().unwrap(), b"");
            assert_eq!(fields.problems, [expected], "{answer}");
        }
    }

    #[test]
    fn an_input_that_is_printed_is_no_answer_but_its_changes_are() {
        let input =
            br#"{"hook_event_name": "PreToolUse", "cwd": "/w", "tool_input": {"command": "ls"}}"#;
        let mut answer: Map<String, Value> = serde_json::from_slice(input).unwrap();
        let problems =
            |answer: &Map<String, Value>| read(HookEvent::PreToolUse, answer, input).problems;
        assert_eq!(problems(&answer), [""; 0]);
        answer.insert("tool_input".to_owned(), json!({"command": "pwd"}));
        let problem = "unknown field `tool_input`; did you mean `permissionDecision` in `hookSpecificOutput`?";
        assert_eq!(problems(&answer), [problem]);
    }

    #[test]
    fn what_osier_does_not_support_is_named_and_decides_nothing() {
        let answer = json!({"terminalSequence": "x", SPECIFIC: {"sessionTitle": "t"}});
        let fields = read(
            HookEvent::UserPromptSubmit,
            answer.as_object().unwrap(),
            b"",
        );
        assert_eq!(fields.problems, [""; 0]);
        assert_eq!(fields.unsupported, ["terminalSequence", "sessionTitle"]);
    }
}
