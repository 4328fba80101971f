//! Plan files that cannot be written, or are damaged before the user approves them.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::files::pipe;
use super::{PATIENCE, Trial, end};
use crate::support::rpc::Rpc;

type Damage = fn(&Path) -> io::Result<()>;

/// A fault in place of the folder of plans.
const FOLDERS: &[(&str, Damage)] = &[
    ("a file", |path| fs::write(path, "no folder")),
    ("a link to nothing", |path| symlink("/nowhere/at/all", path)),
    ("a link to a device", |path| symlink("/dev/full", path)),
    ("a pipe", pipe),
];
/// A fault in place of the file of a plan when the user approves it, and the start of the warning.
const PLANS: &[(&str, Damage)] = &[
    ("nothing", |_| Ok(())),
    ("a pipe", pipe),
    ("a folder", |path| fs::create_dir(path)),
    ("a link to a device", |path| symlink("/dev/zero", path)),
    ("a link to nothing", |path| symlink("/nowhere/at/all", path)),
    ("bytes that are no text", |path| {
        fs::write(path, b"# Plan\xff\xfe\n")
    }),
    ("more than a plan", |path| {
        fs::write(path, "wait\n".repeat(100_000))
    }),
];
const NOT_SAVED: &str = "the plan was not saved: ";
const NOT_READ: &str = "cannot read the saved plan, so it applies as it was shown: ";

pub(super) fn plan_files(trial: &mut Trial) -> Result<(), String> {
    let plans = trial.home.home().join("plans");
    for (name, damage) in FOLDERS {
        let _ = fs::remove_file(&plans);
        damage(&plans).map_err(|error| error.to_string())?;
        approved(trial, None, Some(NOT_SAVED))
            .map_err(|problem| format!("the folder is {name}: {problem}"))?;
    }
    fs::remove_file(&plans).map_err(|error| error.to_string())?;
    for (name, damage) in PLANS {
        let problem = approved(trial, Some(*damage), Some(NOT_READ));
        problem.map_err(|problem| format!("the plan is {name}: {problem}"))?;
    }
    // One more fault: the user changes the plan while it is shown.
    let change: Damage = |path| fs::write(path, "# Plan\n\n1. wait longer\n");
    approved(trial, Some(change), None)
}

/// Approves a plan after a damage to its file. Checks that the plan is carried out and that all
/// warnings begin with `warning`.
fn approved(
    trial: &mut Trial,
    damage: Option<Damage>,
    warning: Option<&str>,
) -> Result<(), String> {
    let mut rpc = trial.rpc(&["--permissions", "plan"])?;
    let number = trial.next_number();
    rpc.send(&json!({"type": "prompt", "message": format!("GO plan {number}")}));
    let question = rpc.until(PATIENCE, |line| line["method"] == "plan");
    let question = question.ok_or("no plan is presented")?;
    if let Some(damage) = damage {
        let path = PathBuf::from(question["path"].as_str().unwrap_or_default());
        fs::remove_file(&path)
            .map_err(|error| format!("no plan at `{}`: {error}", path.display()))?;
        damage(&path).map_err(|error| error.to_string())?;
    }
    let approve = json!({"type": "approve", "mode": "yolo"});
    rpc.send(&json!({"type": "ui_response", "id": question["id"], "answer": approve}));
    let outcome = outcome(&rpc)?;
    let expected = match warning {
        Some(_) => format!("# Plan {number}\n\n1. wait"),
        None => "# Plan\n\n1. wait longer".to_owned(),
    };
    if outcome["outcome"] != "approved" || outcome["plan"] != expected {
        return Err(format!("the outcome is {outcome}"));
    }
    let notices = rpc.take_notices();
    let notices: Vec<&String> = notices
        .iter()
        .filter(|text| text.contains("plan"))
        .collect();
    let are_right = match warning {
        Some(start) => notices.len() == 1 && notices[0].starts_with(start),
        None => notices.is_empty(),
    };
    if !are_right {
        return Err(format!("the notices are {notices:?}"));
    }
    trial.prompt(&mut rpc, "tools")?;
    end(rpc)?;
    // The next plan has a file of its own.
    for plan in fs::read_dir(trial.home.home().join("plans"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let _ = fs::remove_file(plan.path());
        let _ = fs::remove_dir(plan.path());
    }
    Ok(())
}

/// The details of the plan's result, once the run has ended.
fn outcome(rpc: &Rpc) -> Result<Value, String> {
    let ended = rpc.until(PATIENCE, |line| line["type"] == "tool_execution_end");
    let ended = ended.ok_or("the approval is not answered")?;
    rpc.until(PATIENCE, |line| line["type"] == "agent_settled")
        .ok_or("the run with a plan does not end")?;
    Ok(ended["result"]["details"].clone())
}
