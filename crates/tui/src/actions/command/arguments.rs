//! Arguments of slash commands.

use crate::actions::{Action, FilesAfter, StoredSession};
use osier_protocol::{
    CheckpointOp, DiffRange, FilesAt, Mark, Op, Opening, ServerAction, TreeOp, slash,
};

/// The actions of a slash command, or the mistake in its argument.
pub(crate) type Parsed = Result<Vec<Action>, String>;

/// Requests a preview of restoring the files; the reply opens the list.
pub(crate) fn preview(at: FilesAt) -> Op {
    Op::Checkpoint(CheckpointOp::PreviewFiles { request: 0, at })
}

/// Number of the request whose reply opens the choice of an undo.
pub(crate) const UNDO: u64 = 1 << 31;

/// Requests which files the last turn changed; with the reply, the user chooses what to undo.
pub(super) fn ask_undo() -> Op {
    let (request, range) = (UNDO, DiffRange::LastPrompt);
    Op::Checkpoint(CheckpointOp::CountChangedLines { request, range })
}

/// Steps the conversation, the files, or both.
pub(super) fn step(argument: &str, op: TreeOp, files: Op) -> Parsed {
    Ok(vec![match argument {
        "both" => Action::Move {
            op,
            files: FilesAfter::List,
        },
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
        "redo" => Op::Checkpoint(CheckpointOp::RedoRestore),
        entry if entry.contains(char::is_whitespace) => {
            return Err(format!(
                "unknown argument `{entry}`; expected `undo`, `redo` or one entry"
            ));
        }
        entry => preview(FilesAt::Entry {
            entry_id: entry.to_owned(),
        }),
    };
    tell(op)
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

/// Starts a command on a terminal and shows it.
#[expect(clippy::unnecessary_wraps, reason = "all arguments are parsed so")]
pub(super) fn terminal(command: &str) -> Parsed {
    let command = command.to_owned();
    Ok(vec![
        Op::StartTerminal { command }.into(),
        Action::TypeInNewTerminal,
    ])
}

/// Shows a server, or the request of `/mcp ACTION SERVER`.
pub(super) fn server(argument: &str) -> Parsed {
    let is_name = !argument.contains(char::is_whitespace);
    if is_name && ServerAction::from_name(argument).is_none() {
        return Ok(vec![Action::ShowServer(argument.to_owned())]);
    }
    sent("mcp", argument)
}

/// The requests of a slash command with an argument.
pub(super) fn sent(name: &str, argument: &str) -> Parsed {
    let requests = slash::find(name).and_then(|command| command.requests);
    let ops = requests.map_or(Ok(Vec::new()), |requests| requests(argument))?;
    Ok(ops.into_iter().map(Action::from).collect())
}

#[expect(clippy::unnecessary_wraps, reason = "parsers return results")]
fn tell(op: impl Into<Action>) -> Parsed {
    Ok(vec![op.into()])
}
