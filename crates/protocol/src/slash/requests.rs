//! The requests of slash commands with an argument.

use osier_agent::Op as AgentOp;
use osier_llm::ThinkingLevel;

use crate::{
    Budget, Op, PermissionMode, Role, ServerAction, TransferOp, TreeOp, UsagePeriod, UsageScope,
};

type Parsed = Result<Vec<Op>, String>;

#[expect(clippy::unnecessary_wraps, reason = "the type of all rows")]
pub(super) fn one(op: impl Into<Op>) -> Parsed {
    Ok(vec![op.into()])
}

/// The argument, which `usage` shows.
fn required(argument: &str, what: &str, usage: &str) -> Result<String, String> {
    match argument {
        "" => Err(format!("expected {what}: `{usage}`")),
        argument => Ok(argument.to_owned()),
    }
}

fn optional(argument: &str) -> Option<String> {
    Some(argument.to_owned()).filter(|text| !text.is_empty())
}

/// The argument without the flags at its start and end, and whether it had each flag.
fn flags<'a, const N: usize>(argument: &'a str, known: [&str; N]) -> (&'a str, [bool; N]) {
    let (mut rest, mut found) = (argument.trim(), [false; N]);
    loop {
        let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (before, last) = rest.rsplit_once(char::is_whitespace).unwrap_or(("", rest));
        let position = |word: &str| known.iter().position(|flag| *flag == word);
        let (index, others) = match (position(first), position(last)) {
            (Some(index), _) => (index, after),
            (None, Some(index)) => (index, before),
            (None, None) => return (rest, found),
        };
        found[index] = true;
        rest = others.trim();
    }
}

fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    let known = known.join("`, `");
    format!("unknown {kind} `{name}`; expected one of `{known}`")
}

fn prompt(text: String, typed: Option<String>) -> Op {
    Op::from(AgentOp::Prompt {
        text,
        attachments: Vec::new(),
        typed,
        once: None,
    })
}

/// A prompt of osier, with the command that the user typed.
fn own_prompt(text: &str, command: &str, argument: &str) -> Parsed {
    let text = format!("{text}\n\n{argument}").trim_end().to_owned();
    let typed = format!("{command} {argument}").trim_end().to_owned();
    one(prompt(text, Some(typed)))
}

const INIT: &str = "Write `AGENTS.md` in the root of this project: instructions for coding agents that work here. \
Read the manifests, the scripts, the CI configuration, the README and some of the code first. Name the commands that \
build, test, lint and format, also for a single test; the layout of the code; conventions that differ from the usual; \
and what is easy to get wrong. Keep it under 60 lines, with nothing that is obvious from the file names. If the file \
exists, improve it and keep what is right. Include what matters of `CLAUDE.md` or other instruction files.";

const REVIEW: &str = "Review the uncommitted changes of this repository; if there are none, the last commit. \
Read the changed files where the diff is not enough. Report bugs, security problems, missing tests and unclear code, \
the most serious first, each with its file and line and a suggestion. Do not change anything.";

const REVIEW_OF: &str = "Review what is named below. Report bugs, security problems, missing tests and unclear code, \
the most serious first, each with its file and line and a suggestion. Do not change anything.";

pub(super) fn init(notes: &str) -> Parsed {
    own_prompt(INIT, "/init", notes)
}

pub(super) fn review(what: &str) -> Parsed {
    let text = if what.is_empty() { REVIEW } else { REVIEW_OF };
    own_prompt(text, "/review", what)
}

pub(super) fn plan(text: &str) -> Parsed {
    let mode = PermissionMode::Plan;
    let set = Op::SetPermissions { mode };
    match optional(text) {
        None => one(set),
        Some(text) => Ok(vec![set, prompt(text, None)]),
    }
}

pub(super) fn model(reference: &str) -> Parsed {
    let reference = required(reference, "a model", "/model NAME")?;
    one(Op::SelectModel { reference })
}

/// Continues a failed run, or sends the last prompt to another model.
pub(super) fn retry(model: &str) -> Parsed {
    match optional(model) {
        None => one(AgentOp::Continue),
        model => one(TreeOp::RetryPrompt { model }),
    }
}

/// Models, and the prompt after `--`.
pub(super) fn fan(argument: &str) -> Parsed {
    let (names, prompt) = match argument.split_once("--") {
        Some((names, prompt)) => (names, Some(prompt.trim().to_owned())),
        None => (argument, None),
    };
    let models: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    if models.len() < 2 {
        return Err("expected at least two models: `/fan MODEL MODEL -- PROMPT`".to_owned());
    }
    one(TreeOp::FanOut { models, prompt })
}

pub(super) fn fork(target: &str) -> Parsed {
    match target {
        "" => one(TreeOp::Fork { entry_id: None }),
        "worktree" => one(TreeOp::ForkWorktree { entry_id: None }),
        other => Err(format!("unknown target `{other}`; expected `worktree`")),
    }
}

pub(super) fn compact(instructions: &str) -> Parsed {
    one(TreeOp::Compact {
        instructions: optional(instructions),
        review: false,
        up_to: None,
    })
}

pub(super) fn permissions(name: &str) -> Parsed {
    match PermissionMode::from_name(name) {
        _ if name.is_empty() => one(Op::ListPermissions),
        Some(mode) => one(Op::SetPermissions { mode }),
        None if name.contains('(') => Err(format!(
            "`{name}` is a rule, not a mode: type `/permissions`, select `+ allow rule`, `+ ask rule` or `+ deny rule`, then type the rule"
        )),
        None => Err(unknown(
            "mode",
            name,
            &PermissionMode::ALL.map(PermissionMode::name),
        )),
    }
}

/// Asks for the usage of the session or of `all`, and of a period.
pub(super) fn usage(words: &str) -> Parsed {
    let (mut scope, mut period) = (UsageScope::default(), UsagePeriod::default());
    for word in words.split_whitespace() {
        match (UsageScope::from_name(word), UsagePeriod::from_name(word)) {
            (Some(named), _) => scope = named,
            (_, Some(named)) => period = named,
            _ => {
                let scopes = UsageScope::ALL.map(UsageScope::name);
                let periods = UsagePeriod::ALL.map(UsagePeriod::name);
                let known: Vec<_> = scopes.into_iter().chain(periods).collect();
                return Err(unknown("period", word, &known));
            }
        }
    }
    one(Op::GetUsageReport { scope, period })
}

/// Selects a thinking level, or the next one.
pub(super) fn thinking(name: &str) -> Parsed {
    match ThinkingLevel::from_name(name) {
        _ if name.is_empty() => one(Op::CycleThinkingLevel),
        Some(level) => one(AgentOp::SetThinkingLevel { level }),
        None => Err(unknown(
            "level",
            name,
            &ThinkingLevel::ALL.map(ThinkingLevel::name),
        )),
    }
}

/// Switches to the model of a role; a model that is named becomes the model of the role first.
pub(super) fn role(argument: &str) -> Parsed {
    let (name, model) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    if name.is_empty() {
        return one(Op::SwitchRole { role: None });
    }
    let role =
        Role::from_name(name).ok_or_else(|| unknown("role", name, &Role::ALL.map(Role::name)))?;
    let set = optional(model.trim()).map(|reference| Op::SetRole {
        role,
        reference: Some(reference),
    });
    let switch = Op::SwitchRole { role: Some(role) };
    Ok(set.into_iter().chain([switch]).collect())
}

pub(super) fn login(provider: &str) -> Parsed {
    let provider = required(provider, "a provider", "/login PROVIDER")?;
    one(Op::Login {
        provider,
        method: None,
    })
}

pub(super) fn logout(provider: &str) -> Parsed {
    let provider = required(provider, "a provider", "/logout PROVIDER")?;
    one(Op::Logout { provider })
}

/// Names the session; `-` removes its name.
pub(super) fn name(name: &str) -> Parsed {
    let usage = "/name TEXT`; remove the name with `/name -";
    let name = required(name, "a name", usage)?;
    let name = if name == "-" { String::new() } else { name };
    one(Op::RenameSession { name })
}

/// Changes a limit of the budget: `5`, `$5`, `500000 tokens`, `100 turns`; `off` removes all.
pub(super) fn budget(argument: &str) -> Parsed {
    let (amount, unit) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let count = || amount.replace([',', '_'], "").parse().ok();
    let mut budget = Budget::default();
    match (amount, unit.trim()) {
        ("", "") => return one(Op::GetBudget),
        ("off", "") => {
            budget = Budget {
                cost: Some(0.0),
                tokens: Some(0),
                turns: Some(0),
            };
        }
        (_, "tokens") => budget.tokens = count(),
        (_, "turns") => budget.turns = count(),
        (amount, "") => {
            let cost: Option<f64> = amount.trim_start_matches('$').parse().ok();
            budget.cost = cost.filter(|cost| (0.0..=1e9).contains(cost));
        }
        _ => {}
    }
    if budget.is_empty() {
        return Err(format!(
            "unknown budget `{argument}`; expected US dollars, `N tokens`, `N turns` or `off`"
        ));
    }
    one(Op::SetBudget { budget })
}

/// Exports to a file, or without one to the default place.
pub(super) fn export(argument: &str) -> Parsed {
    let (path, [force, log]) = flags(argument, ["--force", "--log"]);
    one(TransferOp::ExportSession {
        path: optional(path),
        format: None,
        scope: None,
        theme: None,
        force,
        log,
    })
}

pub(super) fn import(path: &str) -> Parsed {
    let path = required(path, "a file", "/import FILE")?;
    one(TransferOp::ImportSession {
        path,
        again: false,
        open: true,
    })
}

/// Goes back to before the last prompt.
pub(super) fn undo(argument: &str) -> Parsed {
    without_files("undo", argument, TreeOp::UndoPrompt { with_files: false })
}

/// Reverts `undo`.
pub(super) fn redo(argument: &str) -> Parsed {
    without_files("redo", argument, TreeOp::RedoPrompt { with_files: false })
}

fn without_files(command: &str, argument: &str, op: TreeOp) -> Parsed {
    match argument {
        "" => one(op),
        other => Err(format!("`/{command} {other}` works in the terminal")),
    }
}

/// The action of `/mcp ACTION SERVER`.
pub(super) fn server(argument: &str) -> Parsed {
    if argument.is_empty() {
        return one(Op::ListMcpServers);
    }
    let (word, name) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let action = ServerAction::from_name(word)
        .ok_or_else(|| unknown("action", word, &ServerAction::ALL.map(ServerAction::name)))?;
    let name = required(name.trim(), "a server", &format!("/mcp {word} SERVER"))?;
    one(Op::McpServer { name, action })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_and_redo_move_in_the_conversation() {
        let with_files = false;
        let undone = vec![TreeOp::UndoPrompt { with_files }.into()];
        let redone = vec![TreeOp::RedoPrompt { with_files }.into()];
        assert_eq!((undo(""), redo("")), (Ok(undone), Ok(redone)));
        let elsewhere = "`/undo files` works in the terminal".to_owned();
        assert_eq!(undo("files"), Err(elsewhere));
    }

    #[test]
    fn rule_in_place_of_a_mode_is_explained() {
        let explained = "`bash(make *)` is a rule, not a mode: type `/permissions`, select `+ allow rule`, `+ ask rule` or `+ deny rule`, then type the rule";
        assert_eq!(permissions("bash(make *)"), Err(explained.to_owned()));
        let mode = PermissionMode::Plan;
        assert_eq!(permissions("plan"), one(Op::SetPermissions { mode }));
    }

    #[test]
    fn budget_names_the_limit_that_changes() {
        let set = |budget| Ok(vec![Op::SetBudget { budget }]);
        let none = Budget::default();
        let cost = Some(2.5);
        assert_eq!(budget("$2.5"), set(Budget { cost, ..none }));
        let tokens = Some(500_000);
        assert_eq!(budget("500,000 tokens"), set(Budget { tokens, ..none }));
        let turns = Some(7);
        assert_eq!(budget("7 turns"), set(Budget { turns, ..none }));
        assert_eq!(budget(""), Ok(vec![Op::GetBudget]));
        assert!(budget("off").is_ok());
        for wrong in ["much", "-1", "5 apples", "x turns", "nan"] {
            assert!(budget(wrong).unwrap_err().contains("N tokens"), "{wrong}");
        }
    }

    #[test]
    fn flags_stand_before_or_after_the_file() {
        for (argument, path, found) in [
            ("", "", [false, false]),
            ("--log", "", [false, true]),
            ("--log my talk.md --force", "my talk.md", [true, true]),
            ("a --log b.md", "a --log b.md", [false, false]),
            ("--logs.md", "--logs.md", [false, false]),
        ] {
            assert_eq!(flags(argument, ["--force", "--log"]), (path, found));
        }
    }

    #[test]
    fn mcp_names_an_action_and_a_server() {
        let restart = Op::McpServer {
            name: "git".into(),
            action: ServerAction::Restart,
        };
        assert_eq!(server("restart git"), Ok(vec![restart]));
        assert_eq!(server(""), Ok(vec![Op::ListMcpServers]));
        let missing = "expected a server: `/mcp restart SERVER`";
        assert_eq!(server("restart"), Err(missing.to_owned()));
        let unknown = "unknown action `burn`; expected one of `restart`, `enable`, `disable`, `login`, `logout`";
        assert_eq!(server("burn git"), Err(unknown.to_owned()));
    }

    #[test]
    fn prompt_has_the_argument_and_names_the_command() {
        let sent = |text: String, typed: &str| one(prompt(text, Some(typed.to_owned())));
        let of_file = format!("{REVIEW_OF}\n\nsrc/main.rs");
        assert_eq!(review("src/main.rs"), sent(of_file, "/review src/main.rs"));
        assert_eq!(init(""), sent(INIT.to_owned(), "/init"));
    }

    #[test]
    fn several_requests_are_sent_in_order() {
        let mode = PermissionMode::Plan;
        let prompt = prompt("look".to_owned(), None);
        assert_eq!(plan("look"), Ok(vec![Op::SetPermissions { mode }, prompt]));
        let (role, reference) = (Role::Plan, Some("fast".to_owned()));
        let set = Op::SetRole { role, reference };
        let switch = Op::SwitchRole { role: Some(role) };
        assert_eq!(super::role("plan fast"), Ok(vec![set, switch]));
    }
}
