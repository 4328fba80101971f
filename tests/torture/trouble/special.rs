//! Pipes, devices and endless files in place of the files that osier and its programs read by themselves.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Trial, files};

/// Files in the project and in the home. Each line has files of one kind.
const IN_PROJECT: &str = "\
    .gitignore .ignore .rgignore sub/.gitignore sub/.ignore .gitattributes .gitmodules \
    .git .git/HEAD .git/config .git/config.worktree .git/commondir .git/index .git/packed-refs .git/shallow .git/info/exclude \
    .git/info/attributes .git/objects/info/alternates sub/.git \
    AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md sub/AGENTS.md .claude/CLAUDE.md .claude/rules/x.md \
    .github/copilot-instructions.md .github/instructions/x.instructions.md .cursor/rules/x.mdc .cursorrules \
    .claude/settings.json .claude/settings.local.json .claude/commands/x.md .claude/agents/x.md .claude/skills/x/SKILL.md \
    .agents/skills/x/SKILL.md .opencode/agent/x.md .opencode/command/x.md .gemini/settings.json .mcp.json opencode.json \
    .osier/settings.toml .osier/hooks.json .osier/mcp.json .osier/permissions.json .osier/prompts/x.md .osier/agents/x.md \
    .osier/skills/x/SKILL.md .osier/plugins/x.lua .osier/plugins/x/main.lua .osier .claude \
    .editorconfig .env .vscode/settings.json package.json tsconfig.json biome.json .prettierrc Cargo.toml .cargo/config.toml \
    rust-toolchain rust-toolchain.toml rustfmt.toml pyproject.toml go.mod Makefile justfile .pre-commit-config.yaml x.txt";
const IN_HOME: &str = "\
    .gitconfig .config/git/config .config/git/ignore \
    auth.json auth.lock models.json published-models.json mcp.json hooks.json permissions.json trust.json trust.lock marks.json \
    history.jsonl last-safety-settings.toml AGENTS.md prompts/x.md agents/x.md skills/x/SKILL.md plugins/x.lua \
    plugins/x/main.lua keymaps/x.toml themes/x.toml checkpoints/lock index.lock index.sqlite index.sqlite-journal \
    index.sqlite-wal serve-users.sqlite sessions outputs drafts fans handover checkpoints trash logs \
    .claude.json .claude/CLAUDE.md .claude/settings.json .claude/projects/x/x.jsonl .codex/config.toml .codex/AGENTS.md \
    .codex/sessions/2026/11/30/rollout-x.jsonl .pi/agent/settings.json .pi/agent/sessions/x/x.jsonl .gemini/settings.json \
    .config/opencode/opencode.json .local/share/opencode/opencode.db .aws/credentials";

type Make = fn(&Path) -> io::Result<()>;

const KINDS: &[(&str, Make)] = &[
    ("a pipe", files::pipe),
    ("a link to a device", |path| symlink("/dev/zero", path)),
    ("an endless file", |path| {
        fs::File::create(path)?.set_len(10 << 30)
    }),
    ("a folder", |path| fs::create_dir(path)),
];

/// The commands that run with each file.
const COMMANDS: &[&[&str]] = &[
    &["-p", "--trust", "GO tools 900000"],
    &["doctor"],
    &["models"],
    &["sessions", "list", "--all"],
    &["sessions", "search", "x"],
    &["import", "--list", "--all"],
    &["mcp", "list"],
    &["auth", "status"],
    &["config", "check"],
    &["checkpoints", "prune"],
    &["serve", "users", "list"],
];

/// The maximum memory of a process in kB that the shell allows.
const MEMORY: u64 = 2_500_000;
/// The maximum memory in kB that a process may use.
const USED: u64 = 400_000;
/// A formatter or git may take ten seconds.
const TIME: Duration = Duration::from_mins(1);
/// The number of files in the short version.
const SHORT: usize = 6;

pub(super) fn special_files(trial: &mut Trial) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let (work, home) = (trial.home.work(), trial.home.home());
    let below = |list: &'static str, folder: &Path| {
        let folder = folder.to_owned();
        list.split_whitespace().map(move |name| folder.join(name))
    };
    let mut places: Vec<_> = below(IN_PROJECT, &work).collect();
    places.extend(below(IN_HOME, &home));
    if trial.is_short {
        places = places.into_iter().step_by(40).take(SHORT).collect();
    }
    let aside = work.with_file_name("aside");
    let mut slowest = (Duration::ZERO, String::new());
    for place in places {
        let models = fs::read(home.join("models.json")).map_err(failed)?;
        for (kind, make) in KINDS {
            project(&work).map_err(failed)?;
            // The existing file is restored afterwards.
            let _ = fs::rename(&place, &aside);
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder).map_err(failed)?;
            }
            make(&place).map_err(failed)?;
            for command in COMMANDS {
                let took = one(trial, command).map_err(|problem| {
                    format!("`{}` is {kind}: {command:?} {problem}", place.display())
                })?;
                if took > slowest.0 {
                    slowest = (
                        took,
                        format!("`{}` is {kind}: {command:?}", place.display()),
                    );
                }
            }
            let is_folder = place.symlink_metadata().is_ok_and(|found| found.is_dir());
            let _ = if is_folder {
                fs::remove_dir_all(&place)
            } else {
                fs::remove_file(&place)
            };
            let _ = fs::rename(&aside, &place);
        }
        trial
            .home
            .config("models.json", &String::from_utf8_lossy(&models))
            .map_err(failed)?;
    }
    let seconds = slowest.0.as_secs_f64();
    trial
        .notes
        .push(format!("{seconds:.1} s at most: {}", slowest.1));
    let mut rpc = trial.rpc(&[])?;
    trial.prompt(&mut rpc, "text")?;
    super::end(rpc)
}

/// The folders of a repository and a file, which may be damaged or gone.
fn project(work: &Path) -> io::Result<()> {
    fs::create_dir_all(work.join("sub"))?;
    for folder in ["objects/info", "refs", "info"] {
        fs::create_dir_all(work.join(".git").join(folder))?;
    }
    fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    fs::write(work.join("sub/file.txt"), "text\n")
}

/// Runs one command. Returns how long it took.
fn one(trial: &Trial, arguments: &[&str]) -> Result<Duration, String> {
    let begun = Instant::now();
    let mut child = trial
        .home
        .command("sh".as_ref())
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$@\""), "sh"])
        .arg(&trial.program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut used = 0;
    loop {
        // The memory of programs that osier starts counts, too.
        for process in trial.home.processes() {
            used = process.usage().memory_kb.max(used);
        }
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.code().is_none_or(|code| code == 101 || code > 128) => {
                return Err(format!("ends with {status}"));
            }
            Some(_) if used > USED => return Err(format!("uses {used} kB")),
            Some(_) => return Ok(begun.elapsed()),
            None if begun.elapsed() > TIME => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("does not end within {TIME:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
