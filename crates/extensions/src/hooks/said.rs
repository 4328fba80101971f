//! What hooks have said: the exit code and the JSON of one, and of all that ran for one event.
//!
//! The contract is that of Claude Code. What a hook prints is untrusted: what cannot be understood is one
//! line for the person and has no effect.

use std::time::Duration;

use serde_json::Value;

use super::event::HookEvent;
use osier_base::text;

/// Time a hook that goes on by itself has.
pub(super) const BACKGROUND: Duration = Duration::from_mins(10);
/// Most characters of one text that reaches a model or a person.
const LONGEST: usize = 10_000;
/// Most characters of a line about a hook that failed.
const LINE: usize = 300;

/// What a hook thinks of a call, the stronger later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Decision {
    Allow,
    Ask,
    Defer,
}

/// An answer in the person's place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Advice {
    /// With other arguments when there are any; as the hook writes them.
    Allow(Option<Value>),
    Deny(String),
}

/// What one hook, or all of an event, have said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// It must not go on, and why; for `Stop` it must.
    pub block: Option<String>,
    /// Everything is to end, and why.
    pub stop: Option<String>,
    pub decision: Option<(Decision, String)>,
    /// The arguments a call is to have.
    pub input: Option<Value>,
    /// For the model.
    pub context: Vec<String>,
    /// What the model is to read in place of a tool's output.
    pub output: Option<Value>,
    pub advice: Option<Advice>,
    /// For the person.
    pub messages: Vec<String>,
    /// What went wrong with the hook itself.
    pub problem: Option<String>,
    /// The user did not want to wait for it.
    pub interrupted: bool,
}

impl Said {
    /// What a hook that ended with `code` has said; `None` is a signal.
    pub(super) fn of(event: HookEvent, code: Option<i32>, stdout: &str, stderr: &str) -> Self {
        match code {
            Some(0) => Self::of_output(event, stdout),
            Some(2) => {
                let reason = bounded(stderr);
                let reason = if reason.is_empty() {
                    "it gave no reason".to_owned()
                } else {
                    reason
                };
                if event.info().blocks {
                    Self {
                        block: Some(reason),
                        ..Self::default()
                    }
                } else {
                    Self::failed(line(&reason))
                }
            }
            code => {
                let how = match code {
                    Some(code) => format!("exit code {code}"),
                    None => "ended by a signal".to_owned(),
                };
                let last = stderr.lines().rfind(|line| !line.trim().is_empty());
                Self::failed(match last {
                    Some(last) => format!("{how}: {}", line(last)),
                    None => how,
                })
            }
        }
    }

    /// The hook did not do what it should; nothing else comes of it.
    pub(super) fn failed(problem: impl Into<String>) -> Self {
        Self {
            problem: Some(problem.into()),
            ..Self::default()
        }
    }

    fn of_output(event: HookEvent, stdout: &str) -> Self {
        let printed = stdout.trim();
        if printed.starts_with('{') {
            return match serde_json::from_str(printed) {
                Ok(answer) => Self::of_answer(event, &answer),
                Err(error) => Self::failed(format!(
                    "its output begins like JSON and is none: {error}; it has no effect"
                )),
            };
        }
        let context = bounded(printed);
        let mut said = Self::default();
        if event.info().text_is_context && !context.is_empty() {
            said.context.push(context);
        }
        said
    }

    fn of_answer(event: HookEvent, answer: &Value) -> Self {
        let mut said = Self::default();
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(bounded);
        let reason = text(answer, "reason");
        if answer.get("continue") == Some(&Value::Bool(false)) {
            let why = text(answer, "stopReason").or_else(|| reason.clone());
            said.stop = Some(why.unwrap_or_else(|| "a hook has stopped it".to_owned()));
        }
        said.messages.extend(text(answer, "systemMessage"));
        match answer.get("decision") {
            None | Some(Value::Null) => {}
            Some(Value::String(word)) if word == "block" || word == "deny" => {
                said.block = Some(reason.unwrap_or_else(|| "it gave no reason".to_owned()));
            }
            Some(Value::String(word)) if word == "approve" || word == "allow" => {
                let reason = reason.unwrap_or_default();
                match event {
                    HookEvent::PermissionRequest => said.advice = Some(Advice::Allow(None)),
                    _ => said.decision = Some((Decision::Allow, reason)),
                }
            }
            Some(other) => {
                said.problem = Some(format!(
                    "its decision is {}: `block` and `approve` are known",
                    line(&other.to_string())
                ));
            }
        }
        if let Some(specific) = answer.get("hookSpecificOutput") {
            said.take_specific(event, specific);
        }
        said
    }

    /// What is meant for this event alone.
    fn take_specific(&mut self, event: HookEvent, specific: &Value) {
        let named = specific.get("hookEventName").and_then(Value::as_str);
        if named.is_some_and(|named| HookEvent::find(named) != Some(event)) {
            let named = line(named.unwrap_or_default());
            let event = event.name();
            self.problem = Some(format!(
                "its `hookSpecificOutput` is for `{named}`, not for `{event}`; that part has no effect"
            ));
            return;
        }
        let text = |key: &str| specific.get(key).and_then(Value::as_str).map(bounded);
        self.context
            .extend(text("additionalContext").filter(|text| !text.is_empty()));
        self.input = specific
            .get("updatedInput")
            .filter(|input| input.is_object())
            .cloned();
        let output = specific.get("updatedToolOutput");
        let output = output.or_else(|| specific.get("updatedMCPToolOutput"));
        self.output = output.filter(|output| !output.is_null()).cloned();
        let reason = text("permissionDecisionReason");
        match text("permissionDecision").as_deref() {
            None => {}
            Some("deny") => {
                self.block = Some(reason.unwrap_or_else(|| "it gave no reason".to_owned()));
            }
            Some(word) => {
                let decision = match word {
                    "allow" => Some(Decision::Allow),
                    "ask" => Some(Decision::Ask),
                    "defer" => Some(Decision::Defer),
                    _ => None,
                };
                match decision {
                    Some(decision) => self.decision = Some((decision, reason.unwrap_or_default())),
                    None => {
                        self.problem = Some(format!(
                            "its permissionDecision is `{}`: allow, ask, defer and deny are known",
                            line(word)
                        ));
                    }
                }
            }
        }
        if let Some(decision) = specific.get("decision") {
            self.take_advice(decision);
        }
    }

    fn take_advice(&mut self, decision: &Value) {
        let message = decision.get("message").and_then(Value::as_str).map(bounded);
        match decision.get("behavior").and_then(Value::as_str) {
            Some("allow") => {
                let input = decision
                    .get("updatedInput")
                    .filter(|input| input.is_object());
                self.advice = Some(Advice::Allow(input.cloned()));
            }
            Some("deny") => {
                let message = message.unwrap_or_else(|| "a hook refused".to_owned());
                if decision.get("interrupt") == Some(&Value::Bool(true)) {
                    self.stop = Some(message.clone());
                }
                self.advice = Some(Advice::Deny(message));
            }
            _ => {
                self.problem =
                    Some("its decision has no `behavior`: allow and deny are known".to_owned());
            }
        }
    }

    /// Takes in what a later hook of the same event has said. A refusal wins over everything, then the
    /// stronger decision; of two changes the later one counts.
    pub(super) fn merge(&mut self, later: Self) {
        for (mine, theirs) in [(&mut self.block, later.block), (&mut self.stop, later.stop)] {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => {
                    mine.push('\n');
                    mine.push_str(&theirs);
                }
                (None, theirs) => *mine = theirs,
                _ => {}
            }
        }
        let stronger = match (&self.decision, &later.decision) {
            (Some((mine, _)), Some((theirs, _))) => theirs > mine,
            (None, _) => true,
            _ => false,
        };
        if stronger {
            self.decision = later.decision;
        }
        let refuses = matches!(self.advice, Some(Advice::Deny(_)));
        if !refuses {
            self.advice = later.advice.or(self.advice.take());
        }
        self.input = later.input.or(self.input.take());
        self.output = later.output.or(self.output.take());
        self.context.extend(later.context);
        self.messages.extend(later.messages);
        self.interrupted |= later.interrupted;
    }

    /// A word for how it went.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self {
                interrupted: true, ..
            } => "interrupted",
            Self {
                problem: Some(_), ..
            } => "failed",
            Self { stop: Some(_), .. } => "stopped",
            Self { block: Some(_), .. }
            | Self {
                advice: Some(Advice::Deny(_)),
                ..
            } => "blocked",
            Self { input: Some(_), .. }
            | Self {
                output: Some(_), ..
            } => "rewrote",
            Self {
                decision: Some((Decision::Allow, _)),
                ..
            }
            | Self {
                advice: Some(Advice::Allow(_)),
                ..
            } => "allowed",
            Self {
                decision: Some(_), ..
            } => "asks",
            Self { context, .. } if !context.is_empty() => "added context",
            _ => "ok",
        }
    }
}

/// Whether the first line of an output says that its hook goes on by itself, and for how long at most.
pub(super) fn announces_async(line: &str) -> Option<Duration> {
    let answer: Value = serde_json::from_str(line.trim()).ok()?;
    let limit = answer.get("asyncTimeout").and_then(Value::as_u64);
    let is_async = answer.get("async") == Some(&Value::Bool(true));
    is_async.then(|| limit.map_or(BACKGROUND, Duration::from_millis))
}

/// Text without control sequences, cut when it is long.
fn bounded(given: &str) -> String {
    let clean = text::sanitize(given.trim());
    match clean.char_indices().nth(LONGEST) {
        None => clean.into_owned(),
        Some((end, _)) => {
            let more = clean[end..].chars().count();
            format!("{}\n[{more} more characters were cut]", &clean[..end])
        }
    }
}

/// One line of it.
pub(super) fn line(given: &str) -> String {
    let first = given.trim().lines().next().unwrap_or_default();
    let clean = text::single_line(first);
    match clean.char_indices().nth(LINE) {
        None => clean,
        Some((end, _)) => format!("{}…", &clean[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(event: HookEvent, output: &str) -> Said {
        Said::of(event, Some(0), output, "noise")
    }

    #[test]
    fn plain_output_is_context_where_the_event_says_so() {
        let said = said(HookEvent::SessionStart, "be kind\n");
        assert_eq!(said.context, ["be kind"]);
        let quiet = self::said(HookEvent::PreToolUse, "be kind\n");
        assert_eq!(quiet, Said::default());
        assert_eq!((said.word(), quiet.word()), ("added context", "ok"));
    }

    #[test]
    fn exit_code_2_blocks_and_others_are_told() {
        let blocked = Said::of(HookEvent::PreToolUse, Some(2), "ignored", "use rg\n");
        assert_eq!(blocked.block.as_deref(), Some("use rg"));
        let told = Said::of(HookEvent::Notification, Some(2), "", "no bell");
        assert_eq!(
            (told.block, told.problem.as_deref()),
            (None, Some("no bell"))
        );
        for (code, stderr, expected) in [
            (
                Some(1),
                "Traceback\nKeyError: 'x'\n\n",
                "exit code 1: KeyError: 'x'",
            ),
            (Some(127), "", "exit code 127"),
            (None, "", "ended by a signal"),
        ] {
            let said = Said::of(HookEvent::PreToolUse, code, "", stderr);
            assert_eq!(said, Said::failed(expected));
        }
    }

    #[test]
    fn every_part_of_an_answer_is_read() {
        let answer = r#"{"continue": false, "stopReason": "enough", "systemMessage": "look",
            "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": "why", "updatedInput": {"command": "ls"}, "additionalContext": "c"}}"#;
        let expected = Said {
            stop: Some("enough".into()),
            messages: vec!["look".into()],
            decision: Some((Decision::Ask, "why".into())),
            input: Some(serde_json::json!({"command": "ls"})),
            context: vec!["c".into()],
            ..Said::default()
        };
        assert_eq!(said(HookEvent::PreToolUse, answer), expected);
        let old = said(
            HookEvent::PreToolUse,
            r#"{"decision":"approve","reason":"ok"}"#,
        );
        assert_eq!(old.decision, Some((Decision::Allow, "ok".into())));
        let old = said(
            HookEvent::PostToolUse,
            r#"{"decision":"block","reason":"lint"}"#,
        );
        assert_eq!(old.block.as_deref(), Some("lint"));
        let denied = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#;
        let denied = said(HookEvent::PermissionRequest, denied);
        assert_eq!(denied.advice, Some(Advice::Deny("no".into())));
    }

    #[test]
    fn what_cannot_be_understood_is_one_line_without_effect() {
        for (output, part) in [
            ("{\"decision\": ", "begins like JSON and is none"),
            ("{\"decision\": \"maybe\"}", "`block` and `approve`"),
            ("{\"decision\": 3}", "its decision is 3"),
            (
                "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"permissionDecision\": \"allow\"}}",
                "is for `Stop`, not for `PreToolUse`",
            ),
            (
                "{\"hookSpecificOutput\": {\"permissionDecision\": \"yes\"}}",
                "permissionDecision is `yes`",
            ),
        ] {
            let said = said(HookEvent::PreToolUse, output);
            let problem = said.problem.clone().unwrap();
            assert!(
                problem.contains(part) && !problem.contains('\n'),
                "{problem}"
            );
            assert_eq!(said, Said::failed(problem));
        }
        let garbage = self::said(HookEvent::SessionStart, "\u{1b}[31mred\u{7}\0 text");
        assert_eq!(garbage.context, ["red text"]);
    }

    #[test]
    fn of_several_the_strictest_wins() {
        let of = |output: &str| said(HookEvent::PreToolUse, output);
        let decides = |word: &str| {
            of(&format!(
                r#"{{"hookSpecificOutput":{{"permissionDecision":"{word}","permissionDecisionReason":"{word}"}}}}"#
            ))
        };
        let merged = |words: &[&str]| {
            let mut all = Said::default();
            for word in words {
                all.merge(decides(word));
            }
            all
        };
        let asked = Some((Decision::Ask, "ask".to_owned()));
        assert_eq!(merged(&["allow", "ask", "allow"]).decision, asked);
        let deferred = Some((Decision::Defer, "defer".to_owned()));
        assert_eq!(merged(&["defer", "ask"]).decision, deferred);
        assert_eq!(
            merged(&["allow", "deny", "ask"]).block.as_deref(),
            Some("deny")
        );
        assert_eq!(
            merged(&["deny", "deny"]).block.as_deref(),
            Some("deny\ndeny")
        );
        let mut first = Said {
            advice: Some(Advice::Deny("no".into())),
            ..Said::default()
        };
        first.merge(Said {
            advice: Some(Advice::Allow(None)),
            ..Said::default()
        });
        assert_eq!(first.advice, Some(Advice::Deny("no".into())));
    }

    #[test]
    fn long_text_is_cut() {
        let said = said(HookEvent::SessionStart, &"ä".repeat(LONGEST + 5));
        assert!(said.context[0].ends_with("\n[5 more characters were cut]"));
    }

    #[test]
    fn a_hook_may_say_that_it_goes_on_by_itself() {
        let announced = announces_async("{\"async\": true, \"asyncTimeout\": 500}\n");
        assert_eq!(announced, Some(Duration::from_millis(500)));
        assert_eq!(announces_async("{\"async\": true}"), Some(BACKGROUND));
        assert_eq!(announces_async("{\"async\": false}"), None);
        assert_eq!(announces_async("{\"async\": tr"), None);
    }
}
