//! Deny rules for commands: what the sandbox hides from commands because of them, and which of them
//! are only advice.

use std::path::Path;

use osier_permissions::Rule;
use osier_sandbox::{Confinement, Denial, Limit};
use osier_tools::{EDIT, READ, WRITE};

/// The programs, files and hosts that the sandbox denies to commands.
pub(super) fn denials(rules: &[String], cwd: &Path) -> Vec<Denial> {
    let rules = rules.iter().filter_map(|rule| Rule::parse(rule));
    rules.filter_map(|rule| denial(&rule, cwd)).collect()
}

fn denial(rule: &Rule, cwd: &Path) -> Option<Denial> {
    if let Some(program) = rule.program() {
        return Some(Denial::Program(program.to_owned()));
    }
    if rule.is_network() {
        return Some(Denial::Connecting(rule.host().cloned()));
    }
    let of = |tool: &str| rule.paths(tool, cwd);
    let reading = of(READ).map(Denial::Reading);
    reading.or_else(|| of(EDIT).or_else(|| of(WRITE)).map(Denial::Writing))
}

/// Why the deny rule `rule` is only advice for commands, and the form that holds. `None` if it holds, or is about no command.
pub(crate) fn advice(rule: &Rule, sandbox: &Confinement, cwd: &Path) -> Option<String> {
    match rule.spelling() {
        Some("*") => {
            return Some(
                "advice: it compares how a command is written; `run(PROGRAM)` holds, in the sandbox"
                    .to_owned(),
            );
        }
        Some(program) => {
            return Some(format!(
                "advice: it compares how a command is written; `run({program})` holds, in the sandbox"
            ));
        }
        None => {}
    }
    let denial = denial(rule, cwd)?;
    let limit = sandbox.limit(&denial)?;
    Some(match (limit, denial) {
        (Limit::NoSandbox, Denial::Program(_)) => {
            "advice without a sandbox: it compares how a command is written; `sandbox = \"workspace\"` makes it hold".to_owned()
        }
        (Limit::NoSandbox, _) => {
            "holds for tools, and for commands only in the sandbox: `sandbox = \"workspace\"`".to_owned()
        }
        (Limit::NeedsBubblewrap, _) => {
            "holds for tools, and for commands only with bubblewrap".to_owned()
        }
        (Limit::ManyPrograms, Denial::Program(program)) => format!(
            "advice: `{program}` is one of many programs in a file, so that only how a command is written is compared"
        ),
        (Limit::ManyPrograms, _) => return None,
    })
}
