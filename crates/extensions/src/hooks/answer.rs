//! The answer of hooks: exit code and JSON of one hook, and the combined answer for an event.
//!
//! The contract is Claude Code's. Output is untrusted: invalid output is one line for the user. A hook that did not
//! answer blocks the events that it guards (`EventInfo::guards`); for other events it has no effect.

use std::time::Duration;

use serde_json::Value;

use osier_base::text;
use osier_protocol::{EventInfo, HookEvent};

/// Maximum time of a hook in the background.
pub(super) const BACKGROUND: Duration = Duration::from_mins(10);
/// Maximum characters of a text for a model or a user.
const LONGEST: usize = 10_000;
/// Maximum characters of a line about a failed hook.
const LINE: usize = 300;

/// A decision about a call, in order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Decision {
    Allow,
    Ask,
    Defer,
}

/// An answer instead of the user's.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Advice {
    /// With changed arguments, as the hook writes them, if there are any.
    Allow(Option<Value>),
    Deny(String),
}

/// The answer of one hook, or of all hooks of an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HookAnswer {
    /// The reason to block; for `Stop`, to continue.
    pub block: Option<String>,
    /// The reason to end the run.
    pub stop: Option<String>,
    pub decision: Option<(Decision, String)>,
    /// The changed arguments of a call.
    pub input: Option<Value>,
    /// Context for the model.
    pub context: Vec<String>,
    /// Text before the first prompt.
    pub first_message: Option<String>,
    /// The replacement of a tool's output.
    pub output: Option<Value>,
    pub advice: Option<Advice>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// The error of the hook itself.
    pub problem: Option<String>,
    /// Whether it is unknown because of that error what the hook would have answered.
    pub unanswered: bool,
    /// The user interrupted the wait for it.
    pub interrupted: bool,
}

impl HookAnswer {
    /// Parses the result of a hook that ended with `code`; `None` means a signal.
    pub(super) fn of(event: HookEvent, code: Option<i32>, stdout: &str, stderr: &str) -> Self {
        match code {
            Some(0) => Self::of_output(event, stdout),
            Some(2) => {
                let reason = bounded(stderr);
                let reason = if reason.is_empty() {
                    "no reason given".to_owned()
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
                let problem = match last {
                    Some(last) => format!("{how}: {}", line(last)),
                    None => how,
                };
                if is_unanswered(code) {
                    Self::unanswered(problem)
                } else {
                    Self::failed(problem)
                }
            }
        }
    }

    /// The answer of a hook that failed; it has no other effect.
    pub(super) fn failed(problem: impl Into<String>) -> Self {
        Self {
            problem: Some(problem.into()),
            ..Self::default()
        }
    }

    /// The same for a hook of which it is unknown what it would have answered.
    pub(super) fn unanswered(problem: impl Into<String>) -> Self {
        Self {
            unanswered: true,
            ..Self::failed(problem)
        }
    }

    /// The first error of an answer that is not understood completely.
    fn add_problem(&mut self, problem: impl Into<String>) {
        self.problem.get_or_insert_with(|| problem.into());
        self.unanswered = true;
    }

    fn of_output(event: HookEvent, stdout: &str) -> Self {
        let printed = stdout.trim();
        if printed.starts_with('{') {
            return match serde_json::from_str(printed) {
                Ok(answer) => Self::of_answer(event, &answer),
                Err(error) => Self::unanswered(format!(
                    "its output looks like JSON but is invalid: {error}"
                )),
            };
        }
        let info = event.info();
        if let Some(problem) = info.guards.then(|| no_answer(printed, info)).flatten() {
            return Self::unanswered(problem);
        }
        let context = bounded(printed);
        let mut answer = Self::default();
        if event.info().text_is_context && !context.is_empty() {
            answer.context.push(context);
        }
        answer
    }

    /// Parses what a function of a program returned.
    pub(super) fn of_returned(event: HookEvent, answer: &Value) -> Self {
        match answer {
            Value::Object(_) => Self::of_answer(event, answer),
            Value::Null => Self::default(),
            other => Self::unanswered(invalid("answer", other, "an object")),
        }
    }

    fn of_answer(event: HookEvent, output: &Value) -> Self {
        let mut answer = Self::default();
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(bounded);
        let reason = text(output, "reason");
        match output.get("continue") {
            Some(Value::Bool(false)) => {
                let why = text(output, "stopReason").or_else(|| reason.clone());
                answer.stop = Some(why.unwrap_or_else(|| "stopped by a hook".to_owned()));
            }
            None | Some(Value::Bool(true) | Value::Null) => {}
            Some(other) => answer.add_problem(invalid("continue", other, "true or false")),
        }
        answer.messages.extend(text(output, "systemMessage"));
        match output.get("decision") {
            None | Some(Value::Null) => {}
            Some(Value::String(word)) if word == "block" || word == "deny" => {
                answer.block = Some(reason.unwrap_or_else(|| "no reason given".to_owned()));
            }
            Some(Value::String(word)) if word == "approve" || word == "allow" => {
                let reason = reason.unwrap_or_default();
                match event {
                    HookEvent::PermissionRequest => answer.advice = Some(Advice::Allow(None)),
                    _ => answer.decision = Some((Decision::Allow, reason)),
                }
            }
            Some(other) => {
                answer.add_problem(invalid("decision", other, "`block` or `approve`"));
            }
        }
        if let Some(field) = MISPLACED.iter().find(|name| output.get(name).is_some()) {
            answer.add_problem(format!(
                "`{field}` has no meaning there; write `decision`, or `permissionDecision` in `hookSpecificOutput`"
            ));
        }
        match output.get("hookSpecificOutput") {
            None | Some(Value::Null) => {}
            Some(specific @ Value::Object(_)) => answer.take_specific(event, specific),
            Some(other) => {
                answer.add_problem(invalid("hookSpecificOutput", other, "an object"));
            }
        }
        answer
    }

    /// Parses the part for this event.
    fn take_specific(&mut self, event: HookEvent, specific: &Value) {
        let named = specific.get("hookEventName").and_then(Value::as_str);
        if named.is_some_and(|named| HookEvent::find(named) != Some(event)) {
            let named = line(named.unwrap_or_default());
            let event = event.name();
            self.add_problem(format!(
                "its `hookSpecificOutput` is for `{named}`, not for `{event}`; that part has no effect"
            ));
            return;
        }
        let text = |key: &str| specific.get(key).and_then(Value::as_str).map(bounded);
        self.context
            .extend(text("additionalContext").filter(|text| !text.is_empty()));
        self.first_message = text("initialUserMessage")
            .filter(|text| event == HookEvent::SessionStart && !text.is_empty());
        match specific.get("updatedInput") {
            None | Some(Value::Null) => {}
            Some(input @ Value::Object(_)) => self.input = Some(input.clone()),
            Some(other) => self.add_problem(invalid("updatedInput", other, "an object")),
        }
        let output = specific.get("updatedToolOutput");
        let output = output.or_else(|| specific.get("updatedMCPToolOutput"));
        self.output = output.filter(|output| !output.is_null()).cloned();
        let reason = text("permissionDecisionReason");
        let reason = || reason.clone();
        match specific.get("permissionDecision") {
            None | Some(Value::Null) => {}
            Some(word) => match word.as_str() {
                Some("deny") => {
                    self.block = Some(reason().unwrap_or_else(|| "no reason given".to_owned()));
                }
                Some("allow") => {
                    self.decision = Some((Decision::Allow, reason().unwrap_or_default()));
                }
                Some("ask") => self.decision = Some((Decision::Ask, reason().unwrap_or_default())),
                Some("defer") => {
                    self.decision = Some((Decision::Defer, reason().unwrap_or_default()));
                }
                _ => self.add_problem(invalid(
                    "permissionDecision",
                    word,
                    "allow, ask, defer or deny",
                )),
            },
        }
        if let Some(decision) = specific.get("decision").filter(|value| !value.is_null()) {
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
                let message = message.unwrap_or_else(|| "denied by a hook".to_owned());
                if decision.get("interrupt") == Some(&Value::Bool(true)) {
                    self.stop = Some(message.clone());
                }
                self.advice = Some(Advice::Deny(message));
            }
            _ => {
                self.add_problem("its decision has no valid `behavior`; expected allow or deny");
            }
        }
    }

    /// Merges the answer of a later hook of the same event. Blocking overrides everything, then the stricter
    /// decision; of two changes, the later one is used.
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
        self.first_message = later.first_message.or(self.first_message.take());
        self.context.extend(later.context);
        self.messages.extend(later.messages);
        self.interrupted |= later.interrupted;
    }

    /// The answer about a call from the answers about each of its files: the call is allowed if all files are allowed.
    pub(super) fn of_files(answers: Vec<Self>) -> Self {
        let is_decided = answers.iter().all(|answer| answer.decision.is_some());
        let is_advised = answers.iter().all(|answer| answer.advice.is_some());
        let mut all = Self::default();
        for answer in answers {
            all.merge(answer);
        }
        if !is_decided {
            all.decision
                .take_if(|(decision, _)| *decision == Decision::Allow);
        }
        if !is_advised {
            all.advice
                .take_if(|advice| matches!(advice, Advice::Allow(_)));
        }
        all
    }

    /// The outcome in a word.
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

/// Fields of decisions at places where they have no effect. A hook that writes one meant to decide.
const MISPLACED: [&str; 6] = [
    "permissionDecision",
    "updatedInput",
    "behavior",
    "block",
    "blocked",
    "deny",
];

/// Whether a hook that ended so did not answer: a signal ended it, also behind a shell, or it could not start. The
/// contract gives every other code a meaning.
fn is_unanswered(code: Option<i32>) -> bool {
    matches!(code, None | Some(126 | 127 | 129..=192))
}

/// Why plain output of a guard is no answer. Other text is only a log.
fn no_answer(printed: &str, info: &EventInfo) -> Option<&'static str> {
    /// Lines that may begin an answer after other text.
    const TRIED: usize = 16;
    let begins = |start: &str| {
        let head = printed.get(..start.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    if begins("<!doctype") || begins("<html") {
        return Some("its output is an HTML page");
    }
    if info.text_is_context {
        return None;
    }
    let is_answer = |text: &str| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let value = values.next().and_then(Result::ok).unwrap_or_default();
        let value = value.get(0).unwrap_or(&value);
        ["decision", "hookSpecificOutput", "continue"]
            .iter()
            .any(|field| value.get(field).is_some())
    };
    if printed.starts_with('[') && is_answer(printed) {
        return Some("its output is a list instead of an object");
    }
    let mut rests = printed.match_indices("\n{").take(TRIED);
    rests
        .any(|(at, _)| is_answer(&printed[at + 1..]))
        .then_some("its output has text before the JSON")
}

fn invalid(field: &str, value: &Value, expected: &str) -> String {
    let value = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("invalid {field} `{}`; expected {expected}", line(&value))
}

/// Parses an output line that announces that the hook continues in the background, with the time limit.
pub(super) fn announces_async(line: &str) -> Option<Duration> {
    let answer: Value = serde_json::from_str(line.trim()).ok()?;
    let limit = answer.get("asyncTimeout").and_then(Value::as_u64);
    let is_async = answer.get("async") == Some(&Value::Bool(true));
    is_async.then(|| limit.map_or(BACKGROUND, Duration::from_millis))
}

/// Text without control sequences, limited in length.
fn bounded(given: &str) -> String {
    let clean = text::sanitize(given.trim());
    match clean.char_indices().nth(LONGEST) {
        None => clean.into_owned(),
        Some((end, _)) => {
            let more = clean[end..].chars().count();
            format!("{}\n[{more} more characters omitted]", &clean[..end])
        }
    }
}

/// The text as one line.
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

    fn parse(event: HookEvent, output: &str) -> HookAnswer {
        HookAnswer::of(event, Some(0), output, "noise")
    }

    #[test]
    fn plain_output_is_context_for_some_events() {
        let answer = parse(HookEvent::SessionStart, "be kind\n");
        assert_eq!(answer.context, ["be kind"]);
        let quiet = parse(HookEvent::PreToolUse, "be kind\n");
        assert_eq!(quiet, HookAnswer::default());
        assert_eq!((answer.word(), quiet.word()), ("added context", "ok"));
    }

    #[test]
    fn exit_code_2_blocks_and_others_are_reported() {
        let blocked = HookAnswer::of(HookEvent::PreToolUse, Some(2), "ignored", "use rg\n");
        assert_eq!(blocked.block.as_deref(), Some("use rg"));
        let told = HookAnswer::of(HookEvent::Notification, Some(2), "", "no bell");
        assert_eq!(
            (told.block, told.problem.as_deref()),
            (None, Some("no bell"))
        );
        let traceback = "Traceback\nKeyError: 'x'\n\n";
        let failed = HookAnswer::failed;
        for (code, stderr, expected) in [
            (Some(1), traceback, failed("exit code 1: KeyError: 'x'")),
            (Some(255), "", failed("exit code 255")),
            (Some(127), "", HookAnswer::unanswered("exit code 127")),
            (Some(137), "", HookAnswer::unanswered("exit code 137")),
            (None, "", HookAnswer::unanswered("ended by a signal")),
        ] {
            let answer = HookAnswer::of(HookEvent::PreToolUse, code, "", stderr);
            assert_eq!(answer, expected);
        }
    }

    #[test]
    fn every_field_of_an_answer_is_read() {
        let answer = r#"{"continue": false, "stopReason": "enough", "systemMessage": "look",
            "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": "why", "updatedInput": {"command": "ls"}, "additionalContext": "c"}}"#;
        let expected = HookAnswer {
            stop: Some("enough".into()),
            messages: vec!["look".into()],
            decision: Some((Decision::Ask, "why".into())),
            input: Some(serde_json::json!({"command": "ls"})),
            context: vec!["c".into()],
            ..HookAnswer::default()
        };
        assert_eq!(parse(HookEvent::PreToolUse, answer), expected);
        let old = parse(
            HookEvent::PreToolUse,
            r#"{"decision":"approve","reason":"ok"}"#,
        );
        assert_eq!(old.decision, Some((Decision::Allow, "ok".into())));
        let old = parse(
            HookEvent::PostToolUse,
            r#"{"decision":"block","reason":"lint"}"#,
        );
        assert_eq!(old.block.as_deref(), Some("lint"));
        let denied = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#;
        let denied = parse(HookEvent::PermissionRequest, denied);
        assert_eq!(denied.advice, Some(Advice::Deny("no".into())));
    }

    #[test]
    fn invalid_output_is_one_line_and_no_answer() {
        for (output, part) in [
            ("{\"decision\": ", "looks like JSON but is invalid"),
            ("{\"decision\": \"maybe\"}", "`block` or `approve`"),
            ("{\"decision\": 3}", "invalid decision `3`"),
            ("{\"continue\": \"no\"}", "invalid continue `no`"),
            ("{\"blocked\": true}", "`blocked` has no meaning there"),
            (
                "{\"permissionDecision\": \"deny\"}",
                "`permissionDecision` has no meaning there",
            ),
            (
                "{\"hookSpecificOutput\": \"deny\"}",
                "invalid hookSpecificOutput `deny`",
            ),
            (
                "{\"hookSpecificOutput\": {\"updatedInput\": \"ls\"}}",
                "invalid updatedInput `ls`",
            ),
            ("<!DOCTYPE html><p>502", "HTML page"),
            ("[{\"decision\": \"block\"}]", "a list instead"),
            (
                "checking\n{\"decision\": \"block\"}\n",
                "text before the JSON",
            ),
            (
                "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"permissionDecision\": \"allow\"}}",
                "is for `Stop`, not for `PreToolUse`",
            ),
            (
                "{\"hookSpecificOutput\": {\"permissionDecision\": \"yes\"}}",
                "permissionDecision `yes`",
            ),
        ] {
            let answer = parse(HookEvent::PreToolUse, output);
            let problem = answer.problem.clone().unwrap();
            assert!(
                problem.contains(part) && !problem.contains('\n'),
                "{problem}"
            );
            assert_eq!(answer, HookAnswer::unanswered(problem));
        }
        for log in [
            "checked",
            "[info] checked",
            "12",
            "a\n{b",
            "read\n{\"tool_name\": \"Bash\"}",
        ] {
            assert_eq!(parse(HookEvent::PreToolUse, log), HookAnswer::default());
        }
        let garbage = parse(HookEvent::SessionStart, "\u{1b}[31mred\u{7}\0 text");
        assert_eq!(garbage.context, ["red text"]);
    }

    #[test]
    fn the_strictest_answer_wins() {
        let of = |output: &str| parse(HookEvent::PreToolUse, output);
        let decides = |word: &str| {
            of(&format!(
                r#"{{"hookSpecificOutput":{{"permissionDecision":"{word}","permissionDecisionReason":"{word}"}}}}"#
            ))
        };
        let merged = |words: &[&str]| {
            let mut all = HookAnswer::default();
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
        let mut first = HookAnswer {
            advice: Some(Advice::Deny("no".into())),
            ..HookAnswer::default()
        };
        first.merge(HookAnswer {
            advice: Some(Advice::Allow(None)),
            ..HookAnswer::default()
        });
        assert_eq!(first.advice, Some(Advice::Deny("no".into())));
    }

    #[test]
    fn long_text_is_cut() {
        let answer = parse(HookEvent::SessionStart, &"ä".repeat(LONGEST + 5));
        assert!(answer.context[0].ends_with("\n[5 more characters omitted]"));
    }

    #[test]
    fn a_hook_can_announce_background_work() {
        let announced = announces_async("{\"async\": true, \"asyncTimeout\": 500}\n");
        assert_eq!(announced, Some(Duration::from_millis(500)));
        assert_eq!(announces_async("{\"async\": true}"), Some(BACKGROUND));
        assert_eq!(announces_async("{\"async\": false}"), None);
        assert_eq!(announces_async("{\"async\": tr"), None);
    }
}
