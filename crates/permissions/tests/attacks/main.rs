//! Commands that try to get past the permission rules, and commands that must run without a question. Each table has
//! the rules and, for every command, the decision.

use osier_permissions::{Permissions, RuleLists, Verdict};
use osier_protocol::PermissionMode;
use serde_json::json;

mod allowed;
mod everyday;
mod files;
mod hostile;
mod inputs;
mod known;
mod options;
mod prefixes;
mod repositories;
mod runners;
mod syntax;
mod terminal;

/// Commands under the same rules. `{C}` in a command is a command that no rule allows, and that `deny` forbids.
struct Table {
    mode: PermissionMode,
    allow: &'static [&'static str],
    ask: &'static [&'static str],
    deny: &'static [&'static str],
    expected: &'static str,
    commands: &'static [&'static str],
}

fn owned(rules: &[&str]) -> Vec<String> {
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

fn permissions(table: &Table) -> Permissions {
    let (allow, ask, deny) = (owned(table.allow), owned(table.ask), owned(table.deny));
    let rules = RuleLists {
        allow: &allow,
        ask: &ask,
        deny: &deny,
    };
    let store = "/nonexistent/permissions.json".into();
    Permissions::new("/work".as_ref(), store, table.mode, rules)
}

fn decision(permissions: &Permissions, command: &str) -> &'static str {
    let arguments = json!({"command": command});
    match permissions.decide("bash", &arguments, None, false) {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Review { .. } => "review",
        Verdict::Deny(_) => "deny",
    }
}

/// Long commands are decided as fast as they are read.
#[test]
fn hostile_commands_are_decided_in_time() {
    let table = Table {
        mode: PermissionMode::Ask,
        allow: &["bash(* a * b * c)", "bash(sudo *)", "bash(git * x * y)"],
        ask: &["bash(git push *)"],
        deny: &["bash(rm * x * y *)"],
        expected: "ask",
        commands: &[],
    };
    let permissions = permissions(&table);
    for piece in [
        "sudo ",
        "a ",
        "-a ",
        "git -a ",
        "$x ",
        "* ",
        "$x",
        "x=1 ",
        "find -exec ",
        "bash -c 'a b' ",
        "env a=b ",
        "a; ",
    ] {
        let command = piece.repeat(30_000 / piece.len());
        let command = command.trim_end();
        assert!(
            ["ask", "deny"].contains(&decision(&permissions, command)),
            "{piece}"
        );
    }
}

/// Checks every command of the tables.
fn check(tables: &[Table]) {
    let mut wrong = Vec::new();
    for table in tables {
        let permissions = permissions(table);
        for command in table.commands {
            let command = command.replace("{C}", "touch pwned");
            let found = decision(&permissions, &command);
            if !table.expected.split('|').any(|expected| expected == found) {
                wrong.push(format!("{found}, not {}: {command}", table.expected));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
