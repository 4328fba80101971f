//! Invariants that hold for every command line and for all rules, for fuzzing.

use std::path::Path;

use serde_json::{Value, json};

use crate::shell::{self, CommandLine, GLOB, HOLE, Part};
use crate::{Hint, Permissions, Rule, RuleLists, Verdict};
use osier_protocol::PermissionMode;
use osier_protocol::questions::Grant;
use osier_tools::{BASH, RuleText};

/// Checks a command line with the shell reader.
pub fn shell(data: &[u8]) {
    let Ok(command) = std::str::from_utf8(data) else {
        return;
    };
    let line = shell::read(command);
    assert_eq!(line, shell::read(command), "read again");
    let Some(line) = line else {
        return;
    };
    let is_refused = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    assert!(!command.contains(is_refused), "{command:?}");
    check_words(command, &line);
    // A backslash at the end continues the line.
    if !command.ends_with('\\') {
        check_surroundings(command, &line);
    }
}

/// Checks that all text of a word is from the command.
fn check_words(command: &str, line: &CommandLine) {
    for part in &line.parts {
        let words = match part {
            Part::Run(words) => words.as_slice(),
            Part::WriteTo(word) | Part::ReadFrom(word) => std::slice::from_ref(word),
        };
        for word in words {
            let is_known = |char| matches!(char, HOLE | GLOB) || command.contains(char);
            assert!(word.text.chars().all(is_known), "{word:?} of {command:?}");
            assert!(
                word.dynamic || !word.text.contains(HOLE),
                "{word:?} of {command:?}"
            );
        }
    }
}

/// Checks that a line has the same meaning wherever it is: it hides neither a command after it nor
/// the end of a surrounding block.
fn check_surroundings(command: &str, line: &CommandLine) {
    let Some(probe) = shell::read("probe").and_then(|mut line| line.parts.pop()) else {
        unreachable!("a word is a command");
    };
    for (before, after, probes_before, probes_after) in [
        ("", "probe", 0, 1),
        ("probe\n", "", 1, 0),
        ("probe;", "", 1, 0),
        ("(", ")", 0, 0),
        ("{ ", "}", 0, 0),
        ("(", ") && probe", 0, 1),
        ("if probe\nthen ", "fi", 1, 0),
        ("while probe; do ", "done; probe", 1, 1),
    ] {
        let surrounded = format!("{before}{command}\n{after}");
        let Some(found) = shell::read(&surrounded) else {
            // The variant is longer or deeper, or an empty list.
            continue;
        };
        let probes = |count: usize| std::iter::repeat_n(&probe, count);
        let expected = probes(probes_before)
            .chain(&line.parts)
            .chain(probes(probes_after));
        assert!(found.parts.iter().eq(expected), "{surrounded:?}: {found:?}");
    }
}

/// Checks a session with rules, and a call. Each line before an empty one is a rule such as `deny
/// bash(git push *)`; the line after it names the tool, and the rest is its main argument.
pub fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (rules, call) = text.split_once("\n\n").unwrap_or((text, ""));
    let rules = Rules::parse(rules);
    let (tool, argument) = call.split_once('\n').unwrap_or((call, ""));
    let arguments = match osier_tools::find(tool) {
        Some(known) if known.rule_text() != RuleText::None => {
            json!({ (known.rule_text().argument().unwrap_or_default()): argument })
        }
        _ => serde_json::from_str(argument).unwrap_or(Value::Null),
    };
    for rule in rules.allow.iter().chain(&rules.ask).chain(&rules.deny) {
        check_rule(rule);
    }
    check_decisions(&rules, tool, &arguments);
}

/// Checks that the text of a rule is parsed as the same rule.
fn check_rule(text: &str) {
    if let Some(rule) = Rule::parse(text) {
        assert_eq!(Rule::parse(&rule.text).as_ref(), Some(&rule));
    }
}

#[derive(Debug, Clone, Default)]
struct Rules {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

impl Rules {
    fn parse(text: &str) -> Self {
        let mut rules = Self::default();
        for line in text.lines() {
            let (effect, rule) = line.split_once(' ').unwrap_or((line, ""));
            let list = match effect {
                "allow" => &mut rules.allow,
                "ask" => &mut rules.ask,
                "deny" => &mut rules.deny,
                _ => continue,
            };
            list.push(rule.to_owned());
        }
        rules
    }

    /// A session with these rules in the empty folder `/nonexistent/project`.
    fn session(&self, mode: PermissionMode) -> Permissions {
        let lists = RuleLists {
            allow: &self.allow,
            ask: &self.ask,
            deny: &self.deny,
        };
        let store = "/nonexistent/permissions.json".into();
        Permissions::new(Path::new("/nonexistent/project"), store, mode, lists)
    }

    fn decide(&self, mode: PermissionMode, tool: &str, arguments: &Value) -> Verdict {
        self.session(mode).decide(tool, arguments, None, false)
    }
}

/// How much a verdict permits.
fn freedom(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Deny(_) => 0,
        Verdict::Ask { .. } | Verdict::Review { .. } => 1,
        Verdict::Allow => 2,
    }
}

fn check_decisions(rules: &Rules, tool: &str, arguments: &Value) {
    use PermissionMode::{Ask, Plan, Yolo};
    let verdict = rules.decide(Ask, tool, arguments);
    assert_eq!(verdict, rules.decide(Ask, tool, arguments), "decided again");
    let free = freedom(&verdict);

    let denied = Rules {
        deny: vec![tool.to_owned()],
        ..rules.clone()
    };
    if Rule::parse(tool).is_some_and(|rule| rule.names_tool(tool) && rule.is_general()) {
        let verdict = denied.decide(Yolo, tool, arguments);
        assert_eq!(freedom(&verdict), 0, "a rule denies every call");
    }

    let only_deny = Rules {
        deny: rules.deny.clone(),
        ..Rules::default()
    };
    let strict = only_deny.decide(Ask, tool, arguments);
    if matches!(strict, Verdict::Deny(_)) {
        for mode in [Ask, Yolo, Plan] {
            let session = rules.session(mode);
            for hint in [None, Some(&Hint::Allow)] {
                let verdict = session.decide(tool, arguments, hint, true);
                assert_eq!(freedom(&verdict), 0, "a deny rule overrides everything");
            }
        }
    }
    let without = |rules: Rules| freedom(&rules.decide(Ask, tool, arguments));
    let no_allow = without(Rules {
        allow: Vec::new(),
        ..rules.clone()
    });
    assert!(no_allow <= free, "an allow rule forbids nothing");
    let no_ask = without(Rules {
        ask: Vec::new(),
        ..rules.clone()
    });
    assert!(no_ask >= free, "an ask rule allows nothing");
    let no_deny = without(Rules {
        deny: Vec::new(),
        ..rules.clone()
    });
    assert!(no_deny >= free, "a deny rule allows nothing");
    let yolo = freedom(&rules.decide(Yolo, tool, arguments));
    assert!(yolo >= free, "yolo is not stricter");
    if tool == BASH && arguments.get("command").is_some_and(Value::is_string) {
        let plan = rules.decide(Plan, tool, arguments);
        assert_eq!(freedom(&plan), 0, "plan mode runs no command unconfined");
    }
    if let Verdict::Ask { patterns, .. } = verdict {
        check_offers(rules, tool, arguments, &patterns);
    }
}

/// Checks that a rule that a question offers is for calls like this one.
fn check_offers(rules: &Rules, tool: &str, arguments: &Value, patterns: &[String]) {
    let session = rules.session(PermissionMode::Ask);
    for pattern in patterns {
        let is_general = Rule::parse(pattern).is_some_and(|rule| rule.is_general());
        assert!(
            !is_general || (pattern == tool && tool != BASH),
            "{pattern:?}"
        );
        let grant = Grant::Session {
            pattern: pattern.clone(),
        };
        assert!(session.grant(&grant).is_ok());
    }
    if tool != BASH {
        return;
    }
    let command = arguments["command"].as_str().unwrap_or_default();
    let other = json!({"command": "probe-1 --x"});
    let before = rules.decide(PermissionMode::Ask, tool, &other);
    let after = session.decide(tool, &other, None, false);
    assert!(
        command.contains("probe-1") || freedom(&after) == freedom(&before),
        "{patterns:?} allow another command"
    );
    let same = session.decide(tool, arguments, None, false);
    let is_simple = rules.deny.is_empty() && rules.ask.is_empty() && !command.trim().is_empty();
    assert!(
        !is_simple || freedom(&same) == 2,
        "{patterns:?} do not allow {command:?}"
    );
}

#[cfg(test)]
mod tests {
    use osier_testing::fuzz::run_cases;

    #[test]
    fn saved_commands_are_read() {
        run_cases("shell", super::shell);
    }

    #[test]
    fn saved_rules_are_decided() {
        run_cases("rules", super::rules);
    }
}
