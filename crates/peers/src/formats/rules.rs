//! Permission rules in the form of the Agent SDKs: suggestions of osier, and the updates that a
//! program returns.

use std::path::Path;

use serde_json::{Value, json};

use super::facts::Facts;
use super::modes::{is_rule, mode_rules, permission_mode, rule_ops};
use crate::settings::{MappedRule, map_rule};
use crate::tools;
use osier_protocol::questions::Grant;
use osier_protocol::{Effect, Op, PermissionMode};

/// The requests that set the mode `name`. The rules of `acceptEdits` are removed when that mode
/// ends.
pub(super) fn mode_ops(name: &str, mode: PermissionMode, facts: &mut Facts) -> Vec<Op> {
    let left = facts.mode_name.replace(name.to_owned()).unwrap_or_default();
    let mut ops = vec![Op::SetPermissions { mode }];
    if left == name {
        return ops;
    }
    let ended = mode_rules(&left, &facts.cwd).into_iter();
    ops.extend(ended.map(|rule| Op::RemovePermission { rule }));
    ops.extend(rule_ops(name, &facts.cwd));
    ops
}

/// The tool of a rule, with its name in the SDKs, and the pattern.
fn parts(rule: &str) -> Value {
    match rule.strip_suffix(')').and_then(|rule| rule.split_once('(')) {
        Some((tool, pattern)) => json!({"toolName": tools::theirs(tool), "ruleContent": pattern}),
        None => json!({"toolName": tools::theirs(rule)}),
    }
}

/// A rule that can be saved, as a program returns it to save it.
pub fn suggestion(pattern: &str) -> Value {
    json!({"type": "addRules", "behavior": "allow", "destination": "session", "rules": [parts(pattern)]})
}

/// The effect of a part of `updatedPermissions`. `patterns` are the rules of the question.
///
/// # Errors Names the part that osier does not support.
pub(super) fn update(
    update: &Value,
    patterns: &[String],
    facts: &mut Facts,
) -> Result<Vec<Op>, String> {
    let unsupported =
        || format!("osier does not support this part of `updatedPermissions`: {update}");
    let grant: fn(String) -> Grant = match update["destination"].as_str() {
        None | Some("session" | "cliArg") => |pattern| Grant::Session { pattern },
        Some("projectSettings" | "localSettings") => |pattern| Grant::Project { pattern },
        Some(_) => return Err(unsupported()),
    };
    match (update["type"].as_str(), update["behavior"].as_str()) {
        (Some("setMode"), _) => {
            let name = update["mode"].as_str().unwrap_or_default();
            let mode = permission_mode(name).ok_or_else(unsupported)?;
            Ok(mode_ops(name, mode, facts))
        }
        (Some("addRules"), None | Some("allow")) => {
            let rules = update["rules"].as_array().ok_or_else(unsupported)?;
            let mut ops = Vec::new();
            for rule in rules {
                let own = patterns.iter().find(|pattern| parts(pattern) == *rule);
                let rules = match own {
                    Some(own) => vec![own.clone()],
                    None => ours(rule, &facts.cwd).ok_or_else(unsupported)?,
                };
                ops.extend(rules.into_iter().map(|pattern| Op::AddPermission {
                    grant: grant(pattern),
                }));
            }
            Ok(ops)
        }
        _ => Err(unsupported()),
    }
}

/// osier's rules for one of Claude Code.
fn ours(rule: &Value, cwd: &Path) -> Option<Vec<String>> {
    let tool = rule["toolName"].as_str()?;
    let text = match &rule["ruleContent"] {
        Value::Null => tool.to_owned(),
        Value::String(pattern) => format!("{tool}({pattern})"),
        _ => return None,
    };
    match map_rule(&text, Effect::Allow, cwd, is_rule) {
        MappedRule::Rules(rules) => Some(rules),
        MappedRule::NoTool => Some(vec![text]),
        MappedRule::Invalid => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(cwd: &str) -> Facts {
        Facts {
            cwd: cwd.into(),
            ..Facts::default()
        }
    }

    fn granted(ops: &[Op]) -> Vec<String> {
        let grant = |op: &Op| match op {
            Op::AddPermission {
                grant: Grant::Session { pattern },
            } => format!("session {pattern}"),
            Op::AddPermission {
                grant: Grant::Project { pattern },
            } => format!("project {pattern}"),
            Op::RemovePermission { rule } => format!("no {rule}"),
            Op::SetPermissions { mode } => format!("mode {mode:?}"),
            other => format!("{other:?}"),
        };
        ops.iter().map(grant).collect()
    }

    #[test]
    fn suggestions_return_as_the_rules_that_they_were() {
        let patterns = ["bash(git log *)".to_owned(), "bash".to_owned()];
        let given = suggestion(&patterns[0]);
        let rule = json!({"toolName": "Bash", "ruleContent": "git log *"});
        let expected = json!({"type": "addRules", "behavior": "allow", "destination": "session", "rules": [rule]});
        assert_eq!(given, expected);
        let facts = &mut facts("/w");
        assert_eq!(
            granted(&update(&given, &patterns, facts).unwrap()),
            ["session bash(git log *)"]
        );
        let mut other = suggestion(&patterns[1]);
        other["destination"] = json!("localSettings");
        assert_eq!(
            granted(&update(&other, &patterns, facts).unwrap()),
            ["project bash"]
        );
        // A rule that the program made.
        other["rules"] = json!([{"toolName": "Read", "ruleContent": "/notes/**"}]);
        assert_eq!(
            granted(&update(&other, &patterns, facts).unwrap()),
            ["project read(/w/notes/**)"]
        );
    }

    #[test]
    fn parts_without_a_meaning_are_named() {
        let facts = &mut facts("/w");
        for part in [
            json!({"type": "addRules", "behavior": "deny", "rules": []}),
            json!({"type": "addRules", "behavior": "allow", "destination": "userSettings", "rules": []}),
            json!({"type": "removeRules", "behavior": "allow", "rules": []}),
            json!({"type": "addDirectories", "directories": ["/x"]}),
            json!({"type": "setMode", "mode": "loud"}),
        ] {
            let error = format!("osier does not support this part of `updatedPermissions`: {part}");
            assert_eq!(update(&part, &[], facts), Err(error));
        }
    }

    #[test]
    fn accept_edits_allows_changes_below_the_working_directory_until_another_mode() {
        let facts = &mut facts("/w/project");
        let mut set = |name| granted(&mode_ops(name, PermissionMode::Ask, facts));
        let (edit, write) = ("edit(/w/project/**)", "write(/w/project/**)");
        assert_eq!(
            set("acceptEdits"),
            [
                "mode Ask",
                &format!("session {edit}"),
                &format!("session {write}")
            ]
        );
        assert_eq!(set("acceptEdits"), ["mode Ask"]);
        assert_eq!(
            set("default"),
            ["mode Ask", &format!("no {edit}"), &format!("no {write}")]
        );
        assert_eq!(set("dontAsk"), ["mode Ask"]);
    }
}
