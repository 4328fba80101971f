//! Files of all kinds, and a system that watches no more of them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use osier_testing::skip;
use serde_json::json;

use super::{PATIENCE, Trial, end, screens};
use crate::support::terminal::Terminal;

/// Names that are hard for a shell, a terminal or a text file.
const ODD_NAMES: &[&[u8]] = &[
    b"\xff\xfe",
    b"new\nline",
    b" space ",
    b"-rf",
    b"\x1b[31m",
    "ü\u{202e}x".as_bytes(),
];

/// A project with many files, other repositories, special files, loops and odd names: what a run changed is restored.
pub(super) fn odd_files(trial: &mut Trial) -> Result<(), String> {
    let work = trial.home.work();
    let failed = |error: io::Error| error.to_string();
    let count = if trial.is_short { 300 } else { RECORDED };
    many_files(&work, 0..count).map_err(failed)?;
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, work.join(name)).map_err(failed)
    };
    link("loop-b", "loop-a")?;
    link("loop-a", "loop-b")?;
    link("..", "parent")?;
    link("/dev/zero", "zero")?;
    pipe(&work.join("pipe")).map_err(failed)?;
    let _socket = std::os::unix::net::UnixListener::bind(work.join("socket")).map_err(failed)?;
    for name in ODD_NAMES {
        fs::write(work.join(OsStr::from_bytes(name)), "odd\n").map_err(failed)?;
    }
    let mut own: Vec<PathBuf> = ODD_NAMES
        .iter()
        .map(|name| work.join(OsStr::from_bytes(name)))
        .collect();
    if skip::program(&["git"], "apt install git").is_some() {
        repositories(trial)?;
        for folder in ["inner", "module"] {
            let file = work.join(folder).join("own.txt");
            fs::write(&file, "odd\n").map_err(failed)?;
            own.push(file);
        }
    }
    let mut rpc = trial.rpc(&[])?;
    trial.prompt(&mut rpc, "text")?;
    trial.prompt(&mut rpc, "odd")?;
    let wrong = |expected: &str| {
        let is_wrong =
            |file: &&PathBuf| fs::read(file).ok().as_deref() != Some(expected.as_bytes());
        own.iter().find(is_wrong).cloned()
    };
    if let Some(file) = wrong("changed\n") {
        return Err(format!("`{}` was not changed", file.display()));
    }
    let restore =
        json!({"id": "back", "type": "restore_files", "at": {"at": "last_prompt"}, "byHand": true});
    let restored = rpc.ask(&restore, PATIENCE).unwrap_or_default();
    if restored["success"] != true {
        return Err(format!("not restored: {restored}"));
    }
    if let Some(file) = wrong("odd\n") {
        return Err(format!("`{}` is not restored: {restored}", file.display()));
    }
    if fs::read_link(work.join("loop-a")).ok() != Some("loop-b".into()) {
        return Err("the link is not restored".to_owned());
    }
    trial.prompt(&mut rpc, "tools")?;
    end(rpc)?;
    if trial.is_short {
        return Ok(());
    }
    many_files(&work, RECORDED..100_000).map_err(failed)?;
    let mut rpc = trial.rpc(&["-c"])?;
    trial.prompt(&mut rpc, "tools")?;
    let notices = rpc.take_notices();
    if !notices.iter().any(|notice| notice.contains(TOO_MANY)) {
        return Err(format!("the notices for 100,000 files are {notices:?}"));
    }
    end(rpc)
}

/// The number of files whose checkpoints osier records, and the start of its message about more of
/// them.
const RECORDED: usize = 45_000;
const TOO_MANY: &str = "checkpoints are disabled: ";

fn many_files(work: &Path, numbers: std::ops::Range<usize>) -> io::Result<()> {
    for number in numbers {
        let folder = work.join(format!("many/{}", number / 500));
        if number % 500 == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("{number}.txt")), format!("{number}\n"))?;
    }
    Ok(())
}

/// A repository in the repository, one as a submodule, and one that is damaged.
fn repositories(trial: &Trial) -> Result<(), String> {
    let lines = "set -e; git init -q .; git init -q inner; git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; \
         git -c protocol.file.allow=always submodule -q add ./inner module; mkdir -p broken/.git; echo x > broken/.git/HEAD; \
         mkdir lost; echo 'gitdir: /nowhere' > lost/.git";
    let made = trial
        .home
        .command("sh".as_ref())
        .args(["-c", lines])
        .output();
    match made {
        Ok(output) if output.status.success() => Ok(()),
        other => Err(format!("git: {other:?}")),
    }
}

pub(super) fn pipe(path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(io::Error::from)
}

/// Limits of the system on the files that are watched.
const LIMITS: &[(&str, u32)] = &[
    ("max_inotify_instances", 0),
    ("max_inotify_watches", 0),
    ("max_inotify_watches", 1),
];

/// At the limit of watches, a change of the settings still applies at once.
pub(super) fn watches(trial: &mut Trial) -> Result<(), String> {
    let Some(unshare) = skip::program(&["unshare"], "apt install util-linux") else {
        return Ok(());
    };
    let program = trial.program.to_string_lossy().into_owned();
    for (name, limit) in LIMITS {
        let line = format!("echo {limit} > /proc/sys/user/{name} && exec \"$@\"");
        let start = |program: &str| -> Vec<String> {
            [
                "--user",
                "--map-root-user",
                "sh",
                "-c",
                &line,
                "sh",
                program,
            ]
            .map(str::to_owned)
            .into()
        };
        let mut can_limit = trial.home.command(&unshare);
        if !can_limit
            .args(start("true"))
            .status()
            .is_ok_and(|status| status.success())
        {
            let note = "skipped: no user namespaces here".to_owned();
            trial.notes.push(note);
            return Ok(());
        }
        let arguments = start(&program);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let started = Terminal::start(&trial.home, &unshare, &arguments);
        let mut screen = started.map_err(|error| error.to_string())?;
        let shows = |screen: &Terminal, text: &str| {
            if screen.shows(PATIENCE, text) {
                return Ok(());
            }
            let seen = screen.screen();
            Err(format!("{name} {limit}: `{text}` is not shown:\n{seen}"))
        };
        let number = trial.next_number();
        screens::type_line(&mut screen, &format!("GO text {number}"))?;
        shows(&screen, &format!("done {number}"))?;
        let settings = trial.home.home().join("settings.toml");
        let kept = fs::read_to_string(&settings).map_err(|error| error.to_string())?;
        let wrong = format!("{kept}colour_of_{number} = 1\n");
        fs::write(&settings, wrong).map_err(|error| error.to_string())?;
        shows(&screen, &format!("colour_of_{number}"))?;
        fs::write(&settings, kept).map_err(|error| error.to_string())?;
        crate::support::signal(screen.id(), rustix::process::Signal::TERM);
        if screen.exit(PATIENCE).is_none() {
            return Err(format!("it does not end:\n{}", screen.screen()));
        }
    }
    Ok(())
}
