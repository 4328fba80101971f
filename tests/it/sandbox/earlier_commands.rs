//! Nothing that one command prepares gives the next one more: links, pointers of git and renamed directories.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use osier_base::folders::Folders;
use osier_base::process::Invocation;
use osier_protocol::SandboxMode;
use osier_sandbox::{Confinement, Denial};
use osier_testing::skip;

use super::protected_folder;

const SECRET: &str = "KEEP-SECRET";

/// Two commands, in a project at `work` with osier's files in `HOME`, and what the user has set. The second one must not read the
/// secret, and must not write to `OUTSIDE`.
struct Attack {
    first: &'static str,
    second: &'static str,
    /// Directories that commands can write to.
    writable: &'static [&'static str],
    /// Files that commands cannot read.
    unreadable: &'static [&'static str],
    /// Files that commands cannot write.
    unwritable: &'static [&'static str],
    /// The working directory.
    cwd: &'static str,
}

const PLAIN: Attack = Attack {
    first: ":",
    second: ":",
    writable: &[],
    unreadable: &[],
    unwritable: &[],
    cwd: "work",
};

const ATTACKS: &[Attack] = &[
    Attack {
        first: "ln -s $HOME .osier",
        second: "cat $HOME/auth.json",
        ..PLAIN
    },
    Attack {
        first: "ln -s $HOME .claude",
        second: "cat .claude/auth.json",
        ..PLAIN
    },
    Attack {
        first: "ln -s $HOME/auth.json .mcp.json",
        second: "cat $HOME/auth.json .mcp.json",
        ..PLAIN
    },
    Attack {
        first: "mkdir s; echo \"gitdir: $HOME\" > s/.git",
        second: "cat $HOME/auth.json",
        ..PLAIN
    },
    // The temporary directory of the host.
    Attack {
        first: "ln -s /tmp .osier",
        second: "cat $SHARED",
        ..PLAIN
    },
    Attack {
        first: "ln -s secrets/sub .osier; ln -s secrets/key .mcp.json",
        second: "cat secrets/sub/key; cat secrets/key",
        unreadable: &["work/secrets"],
        ..PLAIN
    },
    Attack {
        second: "cat secrets/sub/key; cat secrets/nested/key",
        unreadable: &["work/secrets"],
        unwritable: &["work/secrets/sub/Cargo.lock"],
        ..PLAIN
    },
    Attack {
        second: "cat secrets/sub/key",
        writable: &["work/secrets/sub"],
        unreadable: &["work/secrets"],
        ..PLAIN
    },
    Attack {
        first: "ln -s $OUTSIDE out",
        second: "echo x > out/made; echo x > $OUTSIDE/made",
        writable: &["work/out"],
        ..PLAIN
    },
    Attack {
        first: "mv a b; mkdir a; ln -s $OUTSIDE a/out",
        second: "echo x > a/out/made; echo x > $OUTSIDE/made",
        writable: &["work/a/out"],
        ..PLAIN
    },
    Attack {
        first: "cd ../..; mv deep moved; mkdir deep; ln -s $OUTSIDE deep/project",
        second: "echo x > made; echo x > $OUTSIDE/made",
        writable: &["work"],
        cwd: "work/deep/project",
        ..PLAIN
    },
    // osier's temporary directory, which has the `/tmp` of commands.
    Attack {
        first: "mv $TEMPORARY/var-tmp $TEMPORARY/old; ln -s $OUTSIDE $TEMPORARY/var-tmp",
        second: "echo x > /var/tmp/made",
        writable: &["/tmp"],
        ..PLAIN
    },
    // osier's own files are in the project.
    Attack {
        first: "mv home moved",
        second: "cat moved/osier/auth.json; mv home moved && cat moved/osier/auth.json",
        cwd: "",
        ..PLAIN
    },
];

/// The output of a command; empty if it cannot start.
fn run(
    confinement: &Confinement,
    script: &str,
    (place, cwd): (&Path, &Path),
    shared: &Path,
) -> String {
    let shell = Invocation::new("/bin/bash", ["-c", script]);
    let Ok(invocation) = confinement.wrap(shell) else {
        return String::new();
    };
    let mut words = invocation.args.iter().map(|word| word.to_string_lossy());
    let temporary = words.find_map(|word| {
        let start = word.find("/tmp/osier-tmp-")?;
        let name = word[start + 5..].split('/').next()?;
        Some(format!("/tmp/{name}"))
    });
    let output = Command::new(&invocation.program)
        .args(&invocation.args)
        .envs(invocation.env)
        .env("HOME", place.join("home/osier"))
        .env("OUTSIDE", place.join("outside"))
        .env("SHARED", shared)
        .env(
            "TEMPORARY",
            temporary.unwrap_or_else(|| "/nowhere".to_owned()),
        )
        .current_dir(cwd)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn attack(way: &str, attack: &Attack) -> Option<()> {
    let folder = protected_folder("earlier");
    let place = folder.path().canonicalize().unwrap();
    for name in [
        "home/osier",
        "outside",
        "work/.git",
        "work/a/out",
        "work/deep/project",
        "work/secrets/sub",
        "work/secrets/nested/.git",
    ] {
        fs::create_dir_all(place.join(name)).unwrap();
    }
    for name in [
        "home/osier/auth.json",
        "work/secrets/key",
        "work/secrets/sub/key",
        "work/secrets/sub/Cargo.lock",
        "work/secrets/nested/key",
    ] {
        fs::write(place.join(name), SECRET).unwrap();
    }
    let shared = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::write(shared.path(), SECRET).unwrap();
    let folders = Folders::under(&place.join("home/osier"));
    let confinement = Confinement::new(&place.join(attack.cwd), None).hiding(&folders);
    let writable = attack.writable.iter().map(|name| place.join(name));
    confinement.set(SandboxMode::Workspace, false, writable.collect());
    if let Err(missing) = super::force(&confinement, way).await {
        skip::unsupported(way, &format!("{missing:?}"));
        return None;
    }
    let reading = attack
        .unreadable
        .iter()
        .map(|name| Denial::Reading(place.join(name)));
    let writing = attack
        .unwritable
        .iter()
        .map(|name| Denial::Writing(place.join(name)));
    confinement.deny(reading.chain(writing).collect());
    let cwd = place.join(attack.cwd);
    let run = |script: &str| run(&confinement, script, (&place, &cwd), shared.path());
    run(attack.first);
    let printed = run(attack.second);
    assert!(
        !printed.contains(SECRET),
        "{way}: {} / {}",
        attack.first,
        attack.second
    );
    let made: Vec<_> = fs::read_dir(place.join("outside")).unwrap().collect();
    assert!(
        made.is_empty(),
        "{way}: {} / {}",
        attack.first,
        attack.second
    );
    Some(())
}

#[tokio::test]
async fn earlier_commands_open_nothing_to_later_ones() {
    for way in ["namespaces", "bubblewrap"] {
        for one in ATTACKS {
            if attack(way, one).await.is_none() {
                break;
            }
        }
    }
}
