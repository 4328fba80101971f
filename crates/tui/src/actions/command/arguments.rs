//! Arguments of slash commands.

use crate::actions::{Action, Command, StoredSession};
use osier_agent::Op as AgentOp;
use osier_llm::ThinkingLevel;
use osier_protocol::{
    Budget, CheckpointOp, DiffRange, FilesAt, Mark, Op, Opening, PermissionMode, Role,
    ServerAction, TransferOp, TreeOp,
};

/// The actions of a slash command, or the mistake in its argument.
pub(crate) type Parsed = Result<Vec<Action>, String>;

/// Requests a preview of restoring the files; the reply opens the list.
pub(crate) fn preview(at: FilesAt) -> Op {
    Op::Checkpoint(CheckpointOp::PreviewFiles { request: 0, at })
}

/// Steps the conversation, the files, or both.
pub(super) fn step(argument: &str, op: TreeOp, files: Op) -> Parsed {
    Ok(vec![match argument {
        "both" => Action::Move { op, files: true },
        "files" => files.into(),
        other => {
            return Err(format!(
                "unknown argument `{other}`; expected `files` or `both`"
            ));
        }
    }])
}

pub(super) fn restore(argument: &str) -> Parsed {
    let op = match argument {
        "undo" => Op::Checkpoint(CheckpointOp::UndoRestore),
        entry if entry.contains(char::is_whitespace) => {
            return Err(format!(
                "unknown argument `{entry}`; expected `undo` or one entry"
            ));
        }
        entry => preview(FilesAt::Entry {
            entry_id: entry.to_owned(),
        }),
    };
    tell(op)
}

/// Switches to the model of a role, or sets it first.
pub(super) fn role(argument: &str) -> Parsed {
    let mut words = argument.split_whitespace();
    let name = words.next().unwrap_or_default();
    let Some(role) = Role::from_name(name) else {
        return Err(format!("unknown role `{name}`; expected `plan` or `edit`"));
    };
    let reference = words.next().map(str::to_owned);
    let set = reference.map(|reference| {
        let reference = Some(reference);
        Action::from(Op::SetRole { role, reference })
    });
    let switch = Action::from(Op::SwitchRole { role: Some(role) });
    Ok(set.into_iter().chain([switch]).collect())
}

/// Pins or archives the session, or undoes that.
pub(super) fn mark(argument: &str, mark: Mark) -> Parsed {
    let on = match argument {
        "on" => true,
        "off" => false,
        other => return Err(format!("unknown argument `{other}`; expected `off`")),
    };
    Ok(vec![Action::MarkSession { mark, on }])
}

/// Goes to the tab with a number.
pub(super) fn show_tab(argument: &str) -> Parsed {
    match argument.parse() {
        Ok(number) => Ok(vec![Action::ShowSessionNumber(number)]),
        Err(_) => Err(format!("unknown tab `{argument}`; `/sessions` lists them")),
    }
}

pub(super) fn open_session(id: &str, new_tab: bool) -> Action {
    Action::OpenSession {
        stored: StoredSession {
            target: id.to_owned(),
            cwd: None,
            opening: Opening::Itself,
        },
        new_tab,
    }
}

pub(super) fn diff(argument: &str) -> Parsed {
    let words: Vec<&str> = argument.split_whitespace().collect();
    let range = match words[..] {
        ["session"] => DiffRange::Session,
        ["last"] => DiffRange::LastPrompt,
        [word] if word.eq_ignore_ascii_case("head") => DiffRange::Head,
        [entry] => DiffRange::Turn {
            entry_id: entry.to_owned(),
        },
        [from, to] => DiffRange::Between {
            from: Some(from.to_owned()),
            to: Some(to.to_owned()).filter(|to| to != "now"),
        },
        _ => return Err("expected `last`, `session`, `head`, or one or two entries".to_owned()),
    };
    Ok(vec![Action::ShowChanges(range)])
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
    tell(TreeOp::FanOut { models, prompt })
}

pub(super) fn retry(model: &str) -> Parsed {
    let model = Some(model.to_owned());
    tell(TreeOp::RetryPrompt { model })
}

/// Starts a command on a terminal and shows it.
#[expect(clippy::unnecessary_wraps, reason = "all arguments are parsed so")]
pub(super) fn terminal(command: &str) -> Parsed {
    let command = command.to_owned();
    Ok(vec![
        Op::StartTerminal { command }.into(),
        Command::Terminals.into(),
    ])
}

pub(super) fn compact(instructions: &str) -> Parsed {
    tell(TreeOp::Compact {
        instructions: Some(instructions.to_owned()),
        review: true,
    })
}

pub(super) fn permissions(name: &str) -> Parsed {
    match PermissionMode::from_name(name) {
        Some(mode) => tell(Op::SetPermissions { mode }),
        None => Err(unknown(
            "mode",
            name,
            &PermissionMode::ALL.map(PermissionMode::name),
        )),
    }
}

/// Switches to plan mode and sends a prompt.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the type of every parser of arguments"
)]
pub(super) fn plan(prompt: &str) -> Parsed {
    let mode = PermissionMode::Plan;
    let prompt = Action::SendPrompt {
        text: prompt.to_owned(),
        typed: None,
    };
    Ok(vec![Op::SetPermissions { mode }.into(), prompt])
}

pub(super) fn thinking(name: &str) -> Parsed {
    let Some(level) = ThinkingLevel::from_name(name) else {
        let names = ThinkingLevel::ALL.map(ThinkingLevel::name);
        return Err(unknown("level", name, &names));
    };
    tell(AgentOp::SetThinkingLevel { level })
}

pub(super) fn model(reference: &str) -> Parsed {
    tell(Op::SelectModel {
        reference: reference.to_owned(),
    })
}

pub(super) fn login(provider: &str) -> Parsed {
    tell(Op::Login {
        provider: provider.to_owned(),
        method: None,
    })
}

pub(super) fn logout(provider: &str) -> Parsed {
    tell(Op::Logout {
        provider: provider.to_owned(),
    })
}

/// Names the session; `-` removes its name.
pub(super) fn rename(name: &str) -> Parsed {
    let name = match name.trim() {
        "" => return Err("write the name: `/name NAME`; `/name -` removes it".to_owned()),
        "-" => "",
        name => name,
    };
    tell(Op::RenameSession {
        name: name.to_owned(),
    })
}

/// Changes a limit of the budget: `5`, `$5`, `500000 tokens`, `100 turns`; `off` removes all.
pub(super) fn budget(argument: &str) -> Parsed {
    let (amount, unit) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let whole = || amount.replace([',', '_'], "").parse().ok();
    let mut budget = Budget::default();
    let is_known = match (amount, unit.trim()) {
        ("off", "") => {
            budget = Budget {
                cost: Some(0.0),
                tokens: Some(0),
                turns: Some(0),
            };
            true
        }
        (_, "tokens") => {
            budget.tokens = whole();
            budget.tokens.is_some()
        }
        (_, "turns") => {
            budget.turns = whole();
            budget.turns.is_some()
        }
        (amount, "") => {
            let cost: Option<f64> = amount.trim_start_matches('$').parse().ok();
            budget.cost = cost.filter(|cost| (0.0..=1e9).contains(cost));
            budget.cost.is_some()
        }
        _ => false,
    };
    if is_known {
        tell(Op::SetBudget { budget })
    } else {
        Err(format!(
            "unknown budget `{argument}`; expected US dollars, `N tokens`, `N turns` or `off`"
        ))
    }
}

/// Exports to a file, or without one to the default place.
pub(super) fn export_to(argument: &str) -> Action {
    let force = argument.split_whitespace().any(|word| word == "--force");
    let path = argument.replace("--force", "").trim().to_owned();
    TransferOp::ExportSession {
        path: Some(path).filter(|path| !path.is_empty()),
        format: None,
        scope: None,
        theme: None,
        force,
    }
    .into()
}

pub(super) fn import(path: &str) -> Parsed {
    if path.is_empty() {
        return Err("expected a file: `/import FILE`".to_owned());
    }
    tell(TransferOp::ImportSession {
        path: path.to_owned(),
        again: false,
        open: true,
    })
}

/// The actions of `/mcp ACTION SERVER`.
const SERVER_ACTIONS: &[(&str, ServerAction)] = &[
    ("restart", ServerAction::Restart),
    ("enable", ServerAction::Enable),
    ("disable", ServerAction::Disable),
    ("login", ServerAction::Login),
    ("logout", ServerAction::Logout),
];

/// The action of `/mcp ARGUMENT`.
pub(super) fn server(argument: &str) -> Parsed {
    let (word, server) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let action = SERVER_ACTIONS.iter().find(|(name, _)| *name == word);
    match (action, server.trim()) {
        (Some((_, action)), name) if !name.is_empty() => {
            let name = name.to_owned();
            let action = *action;
            tell(Op::McpServer { name, action })
        }
        (None, "") => Ok(vec![Action::ShowServer(word.to_owned())]),
        _ => {
            let names: Vec<&str> = SERVER_ACTIONS.iter().map(|(name, _)| *name).collect();
            Err(format!(
                "expected `/mcp`, `/mcp SERVER` or `/mcp ACTION SERVER`; the actions are {}",
                names.join(", ")
            ))
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "parsers return results")]
fn tell(op: impl Into<Action>) -> Parsed {
    Ok(vec![op.into()])
}

fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    format!(
        "unknown {kind} `{name}`; expected one of {}",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_names_the_limit_that_changes() {
        let set = |budget| Ok(vec![Op::SetBudget { budget }.into()]);
        let none = Budget::default();
        let cost = Some(2.5);
        assert_eq!(budget("$2.5"), set(Budget { cost, ..none }));
        let tokens = Some(500_000);
        assert_eq!(budget("500,000 tokens"), set(Budget { tokens, ..none }));
        let turns = Some(7);
        assert_eq!(budget("7 turns"), set(Budget { turns, ..none }));
        assert!(budget("off").is_ok());
        for wrong in ["much", "-1", "5 apples", "x turns", "nan"] {
            assert!(budget(wrong).unwrap_err().contains("N tokens"), "{wrong}");
        }
    }

    #[test]
    fn the_command_names_an_action_and_a_server() {
        let restart = Op::McpServer {
            name: "git".into(),
            action: ServerAction::Restart,
        };
        assert_eq!(server("restart git"), Ok(vec![restart.into()]));
        assert_eq!(server("git"), Ok(vec![Action::ShowServer("git".into())]));
        assert!(server("restart").unwrap_err().contains("restart, enable"));
        assert!(server("burn git").is_err());
    }
}
