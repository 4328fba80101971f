//! The answer of hooks: exit code and JSON of one hook, and the combined answer for an event.
//!
//! The contract is Claude Code's (`fields`). Output is untrusted: invalid output is one line for
//! the user. [`Blocks`] says which events are blocked if a hook did not answer, or if its answer is
//! not understood.

use std::time::Duration;

use serde_json::{Map, Value};

use super::failures::Blocks;
use super::fields::{self, Fields, Part, invalid};
use super::limits::{bounded, line};
use super::output::{self, Printed};
use osier_base::unique_json;
use osier_protocol::HookEvent;

/// Maximum time of a hook in the background.
pub(super) const BACKGROUND: Duration = Duration::from_mins(10);

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

/// The exit code and the output of a hook.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output<'a> {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// The hook printed more than osier stores.
    pub is_cut: bool,
    /// The JSON that the hook received.
    pub input: &'a [u8],
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
    /// The model can make the denied call again.
    pub retry: bool,
    /// The action that answers an MCP server, and the values of its form.
    pub reply: Option<(String, Option<Value>)>,
    /// Paths that osier watches for hooks of `FileChanged`.
    pub watched: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// The error of the hook itself.
    pub problem: Option<String>,
    /// The events that the failure blocks, because the answer of the hook is unknown.
    pub blocks: Blocks,
    /// Fields of the contract that osier does not support.
    pub unsupported: Vec<&'static str>,
    /// The user interrupted the wait for the hook.
    pub interrupted: bool,
}

impl HookAnswer {
    /// Parses the result of a hook.
    pub(super) fn of(event: HookEvent, output: &Output<'_>) -> Self {
        match output.code {
            Some(0) if output.is_cut => Self {
                problem: Some("its output is longer than 8 MiB".to_owned()),
                blocks: Blocks::Guards,
                ..Self::of_output(event, output)
            },
            Some(0) => Self::of_output(event, output),
            Some(2) => {
                let reason = bounded(output.stderr);
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
            code => Self::of_failure(event, code, output),
        }
    }

    /// The answer of a hook that ended with another code than 0 and 2; `None` means a signal.
    fn of_failure(event: HookEvent, code: Option<i32>, output: &Output<'_>) -> Self {
        let how = match code {
            Some(code) => format!("exit code {code}"),
            None => "ended by a signal".to_owned(),
        };
        let last = output.stderr.lines().rfind(|line| !line.trim().is_empty());
        let problem = match last {
            Some(last) => format!("{how}: {}", line(last)),
            None => how,
        };
        if is_unanswered(code) {
            return Self::unanswered(problem);
        }
        // The output of a failed hook can only be stricter than no answer.
        let printed = Self::of_output(event, output);
        Self {
            block: printed.block,
            stop: printed.stop,
            advice: printed
                .advice
                .filter(|advice| matches!(advice, Advice::Deny(_))),
            blocks: printed.blocks,
            ..Self::failed(match printed.problem {
                Some(unread) => format!("{problem}; {unread}"),
                None => problem,
            })
        }
    }

    /// The answer of a hook that failed: osier reports the problem, and continues.
    pub(super) fn failed(problem: impl Into<String>) -> Self {
        Self {
            problem: Some(problem.into()),
            ..Self::default()
        }
    }

    /// The answer of a hook that failed and might have blocked the event.
    pub(super) fn unanswered(problem: impl Into<String>) -> Self {
        Self {
            blocks: Blocks::Guards,
            ..Self::failed(problem)
        }
    }

    /// The answer of a hook whose output is not understood.
    fn unread(problem: impl Into<String>) -> Self {
        Self {
            blocks: Blocks::Decisions,
            ..Self::failed(problem)
        }
    }

    fn of_output(event: HookEvent, output: &Output<'_>) -> Self {
        match output::read(event.info(), output.stdout) {
            Printed::Answer(answer) => Self::of_answer(event, &answer, output.input),
            Printed::Unread(problem) => Self::unread(problem),
            Printed::Foreign(problem) => Self::unanswered(problem),
            Printed::Text(printed) => {
                let context = bounded(&printed);
                let mut answer = Self::default();
                if event.info().text_is_context && !context.is_empty() {
                    answer.context.push(context);
                }
                answer
            }
        }
    }

    /// Parses what a function of a program returned.
    pub(super) fn of_returned(event: HookEvent, answer: &Value, input: &[u8]) -> Self {
        match answer {
            Value::Object(answer) => Self::of_answer(event, answer, input),
            Value::Null => Self::unanswered("it returned nothing; return `{}` to have no effect"),
            other => Self::unread(invalid("answer", other, "an object")),
        }
    }

    fn of_answer(event: HookEvent, answer: &Map<String, Value>, input: &[u8]) -> Self {
        let fields = fields::read(event, answer, input);
        let mut answer = Self {
            unsupported: fields.unsupported.clone(),
            ..fields
                .problems
                .first()
                .map(Self::unread)
                .unwrap_or_default()
        };
        let reason = || fields.text(Part::Answer, "reason");
        if fields.get(Part::Answer, "continue") == Some(&Value::Bool(false)) {
            let why = fields.text(Part::Answer, "stopReason").or_else(reason);
            answer.stop = Some(why.unwrap_or_else(|| "stopped by a hook".to_owned()));
        }
        answer
            .messages
            .extend(fields.text(Part::Answer, "systemMessage"));
        match fields.text(Part::Answer, "decision").as_deref() {
            Some("block" | "deny") => {
                answer.block = Some(reason().unwrap_or_else(|| "no reason given".to_owned()));
            }
            Some(_) if event == HookEvent::PermissionRequest => {
                answer.advice = Some(Advice::Allow(None));
            }
            Some(_) => answer.decision = Some((Decision::Allow, reason().unwrap_or_default())),
            None => {}
        }
        answer.read_specific(&fields);
        answer
    }

    /// Reads the fields of `hookSpecificOutput`.
    fn read_specific(&mut self, fields: &Fields<'_>) {
        let text = |name| fields.text(Part::Specific, name);
        let given = |name| fields.get(Part::Specific, name).cloned();
        self.context
            .extend(text("additionalContext").filter(|text| !text.is_empty()));
        self.first_message = text("initialUserMessage").filter(|text| !text.is_empty());
        self.input = given("updatedInput");
        self.retry = given("retry") == Some(Value::Bool(true));
        self.output = given("updatedToolOutput").or_else(|| given("updatedMCPToolOutput"));
        let watched = given("watchPaths");
        let watched = watched.as_ref().and_then(Value::as_array);
        let watched = watched.into_iter().flatten().filter_map(Value::as_str);
        self.watched = watched.map(str::to_owned).collect();
        self.reply = text("action").map(|action| (action, given("content")));
        let reason = || text("permissionDecisionReason");
        match text("permissionDecision").as_deref() {
            Some("deny") => {
                self.block = Some(reason().unwrap_or_else(|| "no reason given".to_owned()));
            }
            Some(word) => {
                let decision = match word {
                    "allow" => Decision::Allow,
                    "defer" => Decision::Defer,
                    _ => Decision::Ask,
                };
                self.decision = Some((decision, reason().unwrap_or_default()));
            }
            None => {}
        }
        match fields.text(Part::Decision, "behavior").as_deref() {
            Some("allow") => {
                let input = fields.get(Part::Decision, "updatedInput");
                self.advice = Some(Advice::Allow(input.cloned()));
            }
            Some(_) => {
                let message = fields.text(Part::Decision, "message");
                let message = message.unwrap_or_else(|| "denied by a hook".to_owned());
                if fields.get(Part::Decision, "interrupt") == Some(&Value::Bool(true)) {
                    self.stop = Some(message.clone());
                }
                self.advice = Some(Advice::Deny(message));
            }
            None => {}
        }
    }

    /// Removes everything that is not stricter than no answer.
    pub(super) fn drop_grants(&mut self) {
        self.input = None;
        self.retry = false;
        self.reply.take_if(|(action, _)| action == "accept");
        self.decision
            .take_if(|(decision, _)| *decision == Decision::Allow);
        self.advice
            .take_if(|advice| matches!(advice, Advice::Allow(_)));
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
        // An answer is sent only if no hook refuses it.
        let is_refused = matches!(&self.reply, Some((action, _)) if action != "accept");
        if !is_refused {
            self.reply = later.reply.or(self.reply.take());
        }
        self.first_message = later.first_message.or(self.first_message.take());
        self.context.extend(later.context);
        self.watched.extend(later.watched);
        self.messages.extend(later.messages);
        self.retry |= later.retry;
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

    /// The outcome in one word.
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

/// Whether the exit code of a hook means no answer: a signal ended the hook, perhaps below a shell,
/// or it could not start. The contract gives every other code a meaning.
fn is_unanswered(code: Option<i32>) -> bool {
    matches!(code, None | Some(126 | 127 | 129..=192))
}

/// Parses an output line that announces that the hook continues in the background, with the time limit. A line that
/// also decides announces nothing.
pub(super) fn announces_async(line: &str) -> Option<Duration> {
    let Ok(Value::Object(answer)) = unique_json::parse(line.trim()) else {
        return None;
    };
    let is_known = |name: &String| name == "async" || name == "asyncTimeout";
    let is_async = answer.get("async") == Some(&Value::Bool(true)) && answer.keys().all(is_known);
    let limit = match answer.get("asyncTimeout") {
        None => BACKGROUND,
        Some(limit) => Duration::from_millis(limit.as_u64()?),
    };
    is_async.then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::super::limits::LONGEST;
    use super::*;

    fn ended(event: HookEvent, code: Option<i32>, stdout: &str, stderr: &str) -> HookAnswer {
        let output = Output {
            code,
            stdout,
            stderr,
            is_cut: false,
            input: b"",
        };
        HookAnswer::of(event, &output)
    }

    fn parse(event: HookEvent, output: &str) -> HookAnswer {
        ended(event, Some(0), output, "noise")
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
        let blocked = ended(HookEvent::PreToolUse, Some(2), "ignored", "use rg\n");
        assert_eq!(blocked.block.as_deref(), Some("use rg"));
        let told = ended(HookEvent::Notification, Some(2), "", "no bell");
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
            let answer = ended(HookEvent::PreToolUse, code, "", stderr);
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
            ("{\"decision\": 3}", "invalid decision `3`"),
            ("{\"blocked\": true}", "unknown field `blocked`"),
            (
                "{\"hookSpecificOutput\": \"deny\"}",
                "invalid hookSpecificOutput `deny`",
            ),
            ("[{\"decision\": \"block\"}]", "a list instead"),
            (
                "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"permissionDecision\": \"allow\"}}",
                "is for `Stop`, not for `PreToolUse`",
            ),
        ] {
            let answer = parse(HookEvent::PreToolUse, output);
            let problem = answer.problem.clone().unwrap();
            assert!(
                problem.contains(part) && !problem.contains('\n'),
                "{problem}"
            );
            assert_eq!(answer, HookAnswer::unread(problem));
        }
        let garbage = parse(HookEvent::SessionStart, "\u{1b}[31mred\u{7}\0 text");
        assert_eq!(garbage.context, ["red text"]);
    }

    #[test]
    fn a_decision_of_a_hook_that_failed_can_only_be_stricter() {
        let failed = |output: &str| ended(HookEvent::PreToolUse, Some(1), output, "");
        let problem = "exit code 1".to_owned();
        let denied = failed(r#"{"decision": "block", "reason": "no"}"#);
        let expected = HookAnswer {
            block: Some("no".to_owned()),
            ..HookAnswer::failed(&problem)
        };
        assert_eq!(denied, expected);
        let allowed = failed(r#"{"decision": "approve", "reason": "fine"}"#);
        assert_eq!(allowed, HookAnswer::failed(&problem));
        let unread = failed(r#"{"decison": "block"}"#);
        let text = format!("{problem}; unknown field `decison`; did you mean `decision`?");
        assert_eq!(unread, HookAnswer::unread(text));
    }

    #[test]
    fn the_rest_of_an_answer_is_used_for_events_that_do_not_guard() {
        let answer = parse(
            HookEvent::PostToolUse,
            r#"{"decison": "block", "hookSpecificOutput": {"additionalContext": "c"}}"#,
        );
        let expected = HookAnswer {
            context: vec!["c".into()],
            ..HookAnswer::unread("unknown field `decison`; did you mean `decision`?")
        };
        assert_eq!(answer, expected);
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
        assert_eq!(
            announces_async("{\"async\": true, \"decision\": \"block\"}"),
            None
        );
        assert_eq!(
            announces_async("{\"async\": true, \"asyncTimeout\": \"5\"}"),
            None
        );
    }

    #[test]
    fn a_function_that_returns_nothing_has_not_answered() {
        let answer = HookAnswer::of_returned(HookEvent::PreToolUse, &Value::Null, b"");
        assert_eq!(answer.blocks, Blocks::Guards);
        let empty = HookAnswer::of_returned(HookEvent::PreToolUse, &serde_json::json!({}), b"");
        assert_eq!(empty, HookAnswer::default());
    }

    #[test]
    fn an_answer_that_a_hook_refuses_is_not_sent() {
        let reply = |action: &str| HookAnswer {
            reply: Some((action.to_owned(), None)),
            ..HookAnswer::default()
        };
        for (first, second, expected) in [
            ("decline", "accept", "decline"),
            ("accept", "cancel", "cancel"),
            ("accept", "accept", "accept"),
        ] {
            let mut all = reply(first);
            all.merge(reply(second));
            assert_eq!(all.reply, reply(expected).reply);
        }
    }
}
