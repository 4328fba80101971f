//! Conditions that hold after the next start.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use osier_settings::Settings;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Victim;
use super::operations::{After, Files, Promise};
use crate::support::rpc::Rpc;
use crate::support::until;

const PATIENCE: Duration = Duration::from_mins(1);

/// How long processes may take to end on a busy machine.
const END: Duration = Duration::from_mins(1);

/// Starts osier again and returns everything that is wrong.
pub(crate) fn after_kill(victim: &Victim, after: &After) -> Vec<String> {
    let mut problems = Vec::new();
    problems.extend(start_again(victim));
    problems.extend(prompts(victim));
    problems.extend(broken_promises(victim, &after.promises));
    if after.files == Files::BeforeOrAfter {
        problems.extend(half_done(victim));
    }
    problems.extend(configuration(victim));
    problems.extend(index(victim));
    for arguments in [
        ["sessions", "check"],
        ["sessions", "list"],
        ["auth", "status"],
    ] {
        problems.extend(program_works(victim, &arguments));
    }
    problems.extend(objects(victim));
    if !until(END, || victim.home.processes().is_empty()) {
        problems.push(format!("processes are left: {:?}", victim.home.processes()));
        for process in victim.home.processes() {
            crate::support::signal(process.id, rustix::process::Signal::KILL);
        }
    }
    problems.extend(locks(victim));
    problems
}

/// After the last kill of a home: no temporary file and no incomplete worktree is left.
pub(crate) fn at_end(victim: &Victim) -> Vec<String> {
    let mut problems = Vec::new();
    match victim.home.swept(&victim.program) {
        Ok(left) if left.is_empty() => {}
        left => problems.push(format!("temporary files are left: {left:?}")),
    }
    problems.extend(worktrees(victim));
    problems
}

/// Every registration of git has its worktree and every worktree its registration, and both are complete.
fn worktrees(victim: &Victim) -> Vec<String> {
    let mut problems = Vec::new();
    let work = victim.home.work();
    let mut registered = BTreeSet::new();
    let registrations = fs::read_dir(work.join(".git/worktrees"));
    for registration in registrations.into_iter().flatten().flatten() {
        let path = registration.path();
        let worktree = fs::read_to_string(path.join("gitdir")).unwrap_or_default();
        let worktree = std::path::Path::new(worktree.trim()).parent();
        let is_complete = path.join("HEAD").exists() && !path.join("locked").exists();
        match worktree.filter(|worktree| is_complete && worktree.is_dir()) {
            Some(worktree) => drop(registered.insert(worktree.to_owned())),
            None => problems.push(format!("`{}` is incomplete", path.display())),
        }
    }
    let next = work.parent().and_then(|folder| fs::read_dir(folder).ok());
    for folder in next.into_iter().flatten().flatten() {
        let is_fork = folder.file_name().to_string_lossy().contains("-fork-");
        if is_fork && !registered.contains(&folder.path()) {
            problems.push(format!("`{}` is not registered", folder.path().display()));
        }
    }
    let lost = victim
        .forks
        .iter()
        .filter(|cwd| !fs::exists(cwd).unwrap_or(false));
    problems.extend(lost.map(|cwd| format!("the fork in `{cwd}` is lost")));
    problems
}

fn start_again(victim: &Victim) -> Option<String> {
    let mut rpc = match Rpc::start(&victim.home, &victim.program, &["rpc", "-c"]) {
        Ok(rpc) => rpc,
        Err(error) => return Some(error.to_string()),
    };
    let state = rpc.ask(&json!({"id": 1, "type": "get_state"}), PATIENCE);
    if !state.as_ref().is_some_and(|state| state["success"] == true) {
        return Some(format!("the next start fails: {state:?}"));
    }
    rpc.close_input();
    match rpc.exit(PATIENCE) {
        Some(status) if status.success() => None,
        other => Some(format!("the next start ends with {other:?}")),
    }
}

fn prompts(victim: &Victim) -> Vec<String> {
    let (stored, broken) = victim.home.stored_prompts();
    let mut problems: Vec<String> = (victim.first..victim.number)
        .filter(|number| victim.server.has_arrived(*number) && !stored.contains(number))
        .map(|number| format!("prompt {number} is lost"))
        .collect();
    if !broken.is_empty() {
        problems.push(format!("broken lines: {broken:?}"));
    }
    problems
}

/// The files that the prompts `files` write begin with the number of the same prompt, or there are none.
fn half_done(victim: &Victim) -> Option<String> {
    let folder = victim.home.work().join("many");
    let mut found = BTreeSet::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        found.insert(text.split(' ').next().unwrap_or_default().to_owned());
        count += 1;
    }
    // A prompt leaves 29 files, or 30 if the one it removes has no number.
    let is_one = found.is_empty() || found.len() == 1 && count >= 29;
    (!is_one)
        .then(|| format!("the files are half one state, half another: {found:?}, {count} files"))
}

fn program_works(victim: &Victim, arguments: &[&str]) -> Option<String> {
    let output = victim
        .home
        .command(&victim.program)
        .args(arguments)
        .output();
    match output {
        Ok(output) if output.status.success() => None,
        other => Some(format!("`osier {}`: {other:?}", arguments.join(" "))),
    }
}

/// Every object has the content that its name promises.
fn objects(victim: &Victim) -> Vec<String> {
    let mut problems = Vec::new();
    let folder = victim.home.home().join("checkpoints/objects");
    for folder in fs::read_dir(folder).into_iter().flatten().flatten() {
        for object in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let name = [folder.file_name(), object.file_name()]
                .map(|name| name.to_string_lossy().into_owned());
            let bytes = fs::read(object.path()).unwrap_or_default();
            let hash: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            if hash != name.concat() {
                problems.push(format!("object {} is damaged", name.concat()));
            }
        }
    }
    problems
}

/// Checks that everything that osier acknowledged before the kill is stored.
fn broken_promises(victim: &Victim, promises: &[Promise]) -> Vec<String> {
    let is_kept =
        |promise: &&Promise| victim.home.contains(promise.file, &promise.text) == promise.is_there;
    let broken = promises.iter().filter(|promise| !is_kept(promise));
    broken
        .map(|promise| format!("acknowledged and lost: {promise:?}"))
        .collect()
}

/// Settings and credentials are complete and private, and no change of files is left half done.
fn configuration(victim: &Victim) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let home = victim.home.home();
    let mut problems = Vec::new();
    let (settings, faults) = Settings::load(&home.join("settings.toml"));
    if !faults.is_empty() || settings.model.is_none() {
        problems.push(format!("the settings are damaged: {faults:?}"));
    }
    if let Ok(text) = fs::read(home.join("auth.json"))
        && serde_json::from_slice::<serde_json::Value>(&text).is_err()
    {
        problems.push("the credentials are damaged".to_owned());
    }
    for name in ["settings.toml", "auth.json"] {
        let mode = fs::metadata(home.join(name)).map(|data| data.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            problems.push(format!("others can read `{name}`"));
        }
    }
    problems
}

/// The index lists every session that has a prompt, and no others.
fn index(victim: &Victim) -> Option<String> {
    let mut command = victim.home.command(&victim.program);
    let output = command
        .args(["sessions", "list", "--all", "--json"])
        .output();
    let text = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        other => return Some(format!("the sessions cannot be listed: {other:?}")),
    };
    let lines = text.lines().map(serde_json::from_str::<serde_json::Value>);
    let listed: BTreeSet<String> = lines
        .filter_map(|line| Some(line.ok()?["path"].as_str()?.to_owned()))
        .collect();
    let folder = victim.home.home().join("sessions");
    let has_prompt = |path: &std::path::PathBuf| {
        fs::read_to_string(path).is_ok_and(|text| text.contains("\"GO "))
    };
    let mut stored = victim.home.sessions();
    stored.retain(|path| path.starts_with(&folder) && has_prompt(path));
    let missing: Vec<_> = stored
        .iter()
        .filter(|path| !listed.contains(&path.display().to_string()))
        .collect();
    let gone: Vec<_> = listed
        .iter()
        .filter(|path| !std::path::Path::new(path).exists())
        .collect();
    (!missing.is_empty() || !gone.is_empty())
        .then(|| format!("the index lacks {missing:?} and lists {gone:?}"))
}

/// No process has a lock any more.
fn locks(victim: &Victim) -> Vec<String> {
    let mut problems = Vec::new();
    for path in victim.home.files_named("lock") {
        let Ok(file) = fs::File::open(&path) else {
            continue;
        };
        if file.try_lock().is_err() {
            problems.push(format!("`{}` is locked", path.display()));
        }
    }
    problems
}
