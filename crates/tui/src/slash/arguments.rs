//! What the arguments of slash commands mean, where that takes more than a line.

use crate::action::Action;
use crate::command::Command;
use osier_session::host::{DiffRange, Op, TreeOp};
use osier_session::marks::Mark;
use osier_session::roles::Role;

/// A step of the conversation, of the files, or of both.
pub(super) fn step(argument: &str, op: TreeOp, files: Op) -> Result<Vec<Action>, String> {
    Ok(vec![match argument.trim() {
        "" => Action::Move { op, files: false },
        "both" => Action::Move { op, files: true },
        "files" => Action::Tell(files),
        other => return Err(format!("`{other}`: say `files`, `both`, or nothing")),
    }])
}

/// Goes to the model of a role, or gives the role its model first.
pub(super) fn role(argument: &str) -> Result<Vec<Action>, String> {
    let mut words = argument.split_whitespace();
    let role = match words.next() {
        None => None,
        Some(word) => match Role::from_name(word) {
            Some(role) => Some(role),
            None => return Err(format!("`{word}` is no role: say `plan` or `edit`")),
        },
    };
    let switch = Action::Tell(Op::SwitchRole { role });
    let (Some(role), Some(model)) = (role, words.next()) else {
        return Ok(vec![switch]);
    };
    let reference = Some(model.to_owned());
    Ok(vec![Action::Tell(Op::SetRole { role, reference }), switch])
}

/// Pins or archives the session that is shown, or no longer.
pub(super) fn mark(argument: &str, mark: Mark) -> Result<Vec<Action>, String> {
    let on = match argument {
        "" | "on" => true,
        "off" => false,
        other => return Err(format!("`{other}`: say `off`, or nothing")),
    };
    Ok(vec![Action::MarkSession { mark, on }])
}

/// The list of the open sessions, or the one with a number.
pub(super) fn open_session(argument: &str) -> Result<Vec<Action>, String> {
    if argument.is_empty() {
        return Ok(vec![Action::Run(Command::OpenSessions)]);
    }
    match argument.parse() {
        Ok(number) => Ok(vec![Action::ShowSessionNumber(number)]),
        Err(_) => Err(format!(
            "`{argument}` is no number of an open session: `/sessions` lists them"
        )),
    }
}

/// Which changes are meant; entries by their ids.
pub(super) fn diff(argument: &str) -> Result<Vec<Action>, String> {
    let words: Vec<String> = argument.split_whitespace().map(str::to_owned).collect();
    let range = match &words[..] {
        [] => DiffRange::Session,
        [word] if word == "session" => DiffRange::Session,
        [word] if word == "last" => DiffRange::LastPrompt,
        [word] if word.eq_ignore_ascii_case("head") => DiffRange::Head,
        [entry] => DiffRange::Turn {
            entry_id: entry.clone(),
        },
        [from, to] => DiffRange::Between {
            from: Some(from.clone()),
            to: Some(to.clone()).filter(|to| to != "now"),
        },
        _ => return Err("say `last`, `session`, `head`, an entry, or two".to_owned()),
    };
    Ok(vec![Action::ShowChanges(range)])
}

/// Models, and what to send them behind `--`.
pub(super) fn fan(argument: &str) -> Result<Vec<Action>, String> {
    let (names, prompt) = match argument.split_once("--") {
        Some((names, prompt)) => (names, Some(prompt.trim().to_owned())),
        None => (argument, None),
    };
    let models: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    if models.len() < 2 {
        return Err("name two models or more: `/fan MODEL MODEL`, then `-- PROMPT`".to_owned());
    }
    Ok(vec![Action::Tell(Op::Tree(TreeOp::FanOut {
        models,
        prompt,
    }))])
}
