//! The attack table on deny rules (`tests/fixtures/sandbox/denied.py`) with each backend, as this user and as another one.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use osier_base::process::Invocation;
use osier_protocol::SandboxMode;
use osier_sandbox::{Confinement, Denial};
use osier_testing::skip;
use serde_json::json;
use tempfile::TempDir;

use super::attacks::{OTHER_USER, own, own_temporary};
use crate::support::cli::Home;

/// A project with files that rules deny, and a folder outside of it.
fn project(user: Option<u32>) -> TempDir {
    let folder = match user {
        // Another user cannot enter the home of root.
        Some(_) => tempfile::tempdir_in("/var/lib").unwrap(),
        None => super::protected_folder("denied"),
    };
    let at = |name: &str| folder.path().join(name);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in [
        "work/.git",
        "work/a",
        "work/secrets",
        "work/deep/real",
        "outside",
    ] {
        fs::create_dir_all(at(name)).unwrap();
    }
    for (name, content) in [
        ("outside/secret", "KEEP-SECRET\n"),
        ("work/a/.env", "KEEP-SECRET\n"),
        ("work/secrets/key", "KEEP-SECRET\n"),
        ("work/plain", "KEEP-SECRET\n"),
        ("work/locked", "kept"),
        ("work/target", "kept"),
        ("work/deep/real/file", "kept"),
        ("work/copy", ""),
    ] {
        fs::write(at(name), content).unwrap();
    }
    for (target, name) in [
        ("plain", "work/named"),
        ("target", "work/link"),
        ("deep/real", "work/folder"),
        ("real/file", "work/deep/link"),
    ] {
        symlink(target, at(name)).unwrap();
    }
    let built = env!("CARGO_BIN_EXE_osier");
    let copied =
        fs::hard_link(built, at("osier")).or_else(|_| fs::copy(built, at("osier")).map(drop));
    copied.unwrap();
    if let Some(user) = user {
        own(&at("work"), user);
        own(&at("outside"), user);
    }
    folder
}

fn denials(work: &Path, outside: &Path) -> Vec<Denial> {
    let reading = [
        outside.join("secret"),
        work.join("**/.env"),
        work.join("secrets/**"),
        work.join("named"),
    ];
    let writing = ["locked", "link", "deep/link", "folder/file"].map(|name| work.join(name));
    let mut denied = vec![Denial::Program("touch".to_owned())];
    denied.extend(reading.map(Denial::Reading));
    denied.extend(writing.map(Denial::Writing));
    denied
}

async fn attack(backend: &str, user: Option<u32>) {
    let folder = project(user);
    let path = |name: &str| folder.path().join(name).canonicalize().unwrap();
    let (work, outside) = (path("work"), path("outside"));
    let confinement = Confinement::new(&work, Some(path("osier")));
    confinement.set(SandboxMode::Workspace, false, Vec::new());
    let Ok(found) = super::force(&confinement, backend).await else {
        return skip::unsupported(backend, "not available here");
    };
    confinement.deny(denials(&work, &outside));
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sandbox/denied.py");
    let arguments = [
        "-c".into(),
        fs::read_to_string(table).unwrap(),
        found.name().to_owned(),
    ];
    let invocation = Invocation::new("/usr/bin/python3", arguments);
    let invocation = confinement.wrap(invocation).unwrap();
    let mut victim = Command::new("sleep");
    victim
        .arg("600")
        .current_dir("/usr/bin")
        .stdin(Stdio::null());
    let mut command = Command::new(&invocation.program);
    if let Some(user) = user {
        own_temporary(&confinement, &invocation, user);
        victim.uid(user).gid(user);
        let ids = [format!("--reuid={user}"), format!("--regid={user}")];
        command = Command::new("setpriv");
        command
            .args(ids)
            .args(["--clear-groups", "--inh-caps=-all"]);
        command.arg(&invocation.program);
    }
    let mut victim = victim.spawn().unwrap();
    let output = command
        .args(&invocation.args)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", &outside)
        .envs(invocation.env)
        .env("OUT", &outside)
        .env("WORK", &work)
        .env("VICTIM", victim.id().to_string())
        .current_dir(&work)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if user.is_some() && super::lacks_namespaces(&errors) && !said.contains("TRIED") {
        return skip::unsupported(backend, errors.trim());
    }
    assert!(said.contains("TRIED"), "{backend} {user:?}: {said}{errors}");
    let got: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("GOT"))
        .collect();
    assert_eq!(got, Vec::<&str>::new(), "{backend} {user:?}");
}

/// Whether the programs of the table are here. Other programs that are missing cannot start a denied one.
fn has_programs() -> bool {
    let touch = Path::new("/usr/bin/touch").canonicalize();
    if !touch.is_ok_and(|touch| touch.ends_with("touch")) {
        skip::unsupported(
            "denied programs",
            "`touch` is one of many programs in a file",
        );
        return false;
    }
    skip::has(
        &["/usr/bin/python3", "setpriv", "unshare"],
        "apt install python3 util-linux",
    )
}

#[tokio::test]
async fn attacks_on_deny_rules_fail() {
    if has_programs() {
        for (backend, _) in super::WAYS {
            attack(backend, None).await;
        }
    }
}

#[tokio::test]
async fn attacks_on_deny_rules_of_another_user_fail() {
    if !rustix::process::geteuid().is_root() {
        return skip::unsupported("another user", "only root can start its processes");
    }
    if has_programs() {
        for (backend, _) in super::WAYS {
            attack(backend, Some(OTHER_USER)).await;
        }
    }
}

/// A denied program that is mounted a second time, as `/usr` is on systems with ostree.
#[test]
fn a_denied_program_is_denied_in_each_mount() {
    if !has_programs() {
        return;
    }
    for (backend, hide_bubblewrap) in [
        ("bubblewrap", ":"),
        ("landlock", "mount --bind /dev/null /usr/bin/bwrap"),
    ] {
        let home = Home::new();
        let elsewhere = super::protected_folder("mounts");
        let [folder, file] = ["folder", "file"].map(|name| elsewhere.path().join(name));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "").unwrap();
        home.file(
            "attack.sh",
            format!(
                "{}/bin/touch one\n{} two\necho started > log\n",
                folder.display(),
                file.display()
            ),
        );
        home.config(
            "settings.toml",
            "discover_local_models = false\ndescribe_environment = false\ndeny = [\"run(touch)\"]\n",
        );
        let call = json!({"tool": "bash", "arguments": {"command": "sh attack.sh"}});
        let turns = json!([{"steps": [call]}, {"steps": [{"text": "done"}]}]);
        home.file("model.json", json!({"turns": turns}).to_string());
        let mounts = format!(
            "mount --bind /usr \"$0\" && mount --bind /usr/bin/touch \"$1\" && {hide_bubblewrap} && shift && exec \"$@\""
        );
        let program = PathBuf::from(env!("CARGO_BIN_EXE_osier"));
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mounts])
            .args([&folder, &file, &program])
            .args(["--model", "script/model.json", "--permissions", "yolo"])
            .args(["--sandbox", "workspace", "-p", "go"])
            .env("HOME", home.home())
            .env("OSIER_HOME", home.home())
            .current_dir(home.work())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        if !home.work().join("log").exists() {
            let reason = String::from_utf8_lossy(&output.stderr);
            skip::unsupported(backend, reason.trim());
            continue;
        }
        for made in ["one", "two"] {
            assert!(!home.work().join(made).exists(), "{backend}: {made}");
        }
    }
}
