//! Escapes from the sandbox, with real processes: each escape with each backend of this machine.

#![expect(
    clippy::disallowed_methods,
    reason = "a test writes its own files and starts programs"
)]

mod attacks;
mod denied;
mod earlier_commands;
mod namespaces;
mod network;
mod shared;

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use osier_base::process::Invocation;
use osier_protocol::SandboxMode;
use osier_sandbox::network::HostRule;
use osier_sandbox::{Backend, Confinement, Denial, Limit, Preferred, SandboxError};
use osier_testing::skip;
use tempfile::TempDir;

/// A project, and a directory outside of it that is not a temporary directory.
struct Yard {
    folder: TempDir,
    work: PathBuf,
    outside: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let folder = protected_folder("yard");
        let work = folder.path().join("work");
        let outside = folder.path().join("outside");
        fs::create_dir_all(work.join(".git/hooks")).unwrap();
        fs::create_dir(work.join(".osier")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(work.join(".git/config"), "kept").unwrap();
        fs::write(outside.join("file"), "kept").unwrap();
        Self {
            work: work.canonicalize().unwrap(),
            outside: outside.canonicalize().unwrap(),
            folder,
        }
    }
}

/// A new folder that the sandbox protects. It leaves temporary directories writable, and the clone can be in one.
fn protected_folder(prefix: &str) -> TempDir {
    let home = std::env::var("HOME").unwrap_or_default();
    let roots = [env!("CARGO_TARGET_TMPDIR"), home.as_str(), "/var/lib"];
    let writable = ["/tmp", "/var/tmp"];
    let is_protected = |root: &&str| {
        !writable
            .iter()
            .any(|open| Path::new(root).starts_with(open))
    };
    let root = Path::new(roots.into_iter().find(is_protected).unwrap());
    fs::create_dir_all(root).unwrap();
    tempfile::Builder::new()
        .prefix(prefix)
        .tempdir_in(root)
        .unwrap()
}

/// The mechanisms that start a command. The first two give it the same namespaces and mounts: the starter makes them, or bubblewrap.
const WAYS: [(&str, Preferred); 3] = [
    ("namespaces", Preferred::Namespaces),
    ("bubblewrap", Preferred::Bubblewrap),
    ("landlock", Preferred::Landlock),
];

/// Forces one of `WAYS`. Returns the detected backend if it is the forced one.
async fn force(confinement: &Confinement, way: &str) -> Result<Backend, Missing> {
    let mut ways = WAYS.into_iter();
    let (_, preferred) = ways.find(|(name, _)| *name == way).unwrap();
    confinement.prefer(preferred);
    match (preferred, confinement.ready().await) {
        (Preferred::Namespaces, Ok(_)) if !confinement.starts_alone() => Err(Missing::Namespaces),
        (Preferred::Namespaces | Preferred::Bubblewrap, Ok(found @ Backend::Bubblewrap(_))) => {
            Ok(found)
        }
        (Preferred::Landlock, Ok(found @ Backend::Landlock(6..))) => Ok(found),
        (_, Ok(found)) => Err(Missing::Other(found)),
        (_, Err(error)) => Err(Missing::Backend(error)),
    }
}

/// The reason why a mechanism is missing on this machine.
#[derive(Debug)]
#[expect(dead_code, reason = "for the message of a skipped test")]
enum Missing {
    Namespaces,
    Other(Backend),
    Backend(SandboxError),
}

/// The mechanisms of this machine, each forced in a sandbox of its own. Reports those that are missing.
async fn ways(yard: &Yard) -> Vec<(&'static str, Confinement)> {
    // Without these programs an escape would fail for the wrong reason.
    if !skip::has(&["python3", "setsid"], "apt install python3 util-linux") {
        return Vec::new();
    }
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_osier"));
    let mut ways = Vec::new();
    for (name, _) in WAYS {
        let confinement = Confinement::new(&yard.work, Some(helper.clone()));
        match force(&confinement, name).await {
            Ok(_) => ways.push((name, confinement)),
            _ if name == "bubblewrap" && !skip::has(&["bwrap"], "apt install bubblewrap") => {}
            Err(missing) => skip::unsupported(name, &format!("{missing:?}")),
        }
    }
    ways
}

/// Whether the errors of a command say that the user cannot make namespaces on this machine.
fn lacks_namespaces(errors: &str) -> bool {
    let words = [
        "bwrap:",
        "unshare:",
        "cannot create namespaces",
        "cannot map users",
    ];
    words.iter().any(|words| errors.contains(words))
}

/// Runs `script` in the sandbox. Returns whether it succeeded, and its output.
fn run(confinement: &Confinement, yard: &Yard, script: &str) -> (bool, String) {
    let invocation = Invocation {
        cwd: Some(yard.work.clone()),
        ..Invocation::new("/bin/bash", ["-c", script])
    };
    let dressed = confinement.wrap(invocation).unwrap();
    let output = Command::new(&dressed.program)
        .args(&dressed.args)
        .envs(dressed.env)
        .current_dir(&yard.work)
        .env("OUT", &yard.outside)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[tokio::test]
async fn commands_work_inside_the_sandbox() {
    let yard = Yard::new();
    for (name, confinement) in ways(&yard).await {
        confinement.set(SandboxMode::Workspace, false, Vec::new());
        for script in [
            "echo x > new && mkdir -p a/b && mv new a/b && rm -r a",
            "echo x > $TMPDIR/y && rm $TMPDIR/y",
            "echo x > /dev/null; cat /etc/passwd > /dev/null",
            "test \"$OSIER_SANDBOX\" = workspace",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            assert!(ok, "{name}: {script}: {said}");
        }
        // Landlock has no mounts, so that these directories would be those of other programs.
        for script in [
            "echo x > /tmp/osier-$$ && rm /tmp/osier-$$",
            "echo x > /var/tmp/osier-$$ && rm /var/tmp/osier-$$",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            assert_eq!(ok, name != "landlock", "{name}: {script}: {said}");
        }
    }
}

/// Mounts hide what deny rules name. Landlock cannot hide files in writable directories.
#[tokio::test]
async fn denied_programs_and_files_are_out_of_reach() {
    let yard = Yard::new();
    let touch = Path::new("/usr/bin/touch").canonicalize().unwrap();
    if !touch.ends_with("touch") {
        skip::unsupported(
            "denied programs",
            "`touch` is one of many programs in a file",
        );
        return;
    }
    fs::write(yard.work.join("locked"), "kept").unwrap();
    fs::create_dir_all(yard.work.join("deep/secrets")).unwrap();
    fs::write(yard.work.join("deep/.env"), "SECRET").unwrap();
    fs::write(yard.work.join("deep/secrets/key"), "SECRET").unwrap();
    fs::write(yard.outside.join("key.pem"), "SECRET").unwrap();
    for (way, confinement) in ways(&yard).await {
        confinement.set(SandboxMode::Workspace, false, Vec::new());
        let in_work = [
            Denial::Reading(yard.work.join("**/.env")),
            Denial::Reading(yard.work.join("deep/secrets/*")),
            Denial::Writing(yard.work.join("lock*")),
        ];
        let mut denied = vec![
            Denial::Program("tou*h".to_owned()),
            Denial::Reading(yard.outside.join("*.pem")),
        ];
        denied.extend(in_work.clone());
        confinement.deny(denied.clone());
        let limits: Vec<_> = denied
            .iter()
            .map(|denial| confinement.limit(denial))
            .collect();
        let open = (way == "landlock").then_some(Limit::NeedsBubblewrap);
        assert_eq!(limits, [None, None, open, open, open], "{way}");
        for script in [
            "touch made",
            "/bin/touch made",
            "t=tou; ${t}ch made",
            "exec -a other touch made",
            "find . -maxdepth 0 -exec touch made \\;",
            "ln -s /usr/bin/touch link; ./link made",
            "ln /usr/bin/touch hard; ./hard made",
            "cp /usr/bin/touch copy; ./copy made",
            "cat /usr/bin/touch > copy; chmod +x copy; ./copy made",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch made",
            "python3 -c 'import os; os.execvp(\"touch\", [\"touch\", \"made\"])'",
            "umount /usr/bin/touch; touch made",
        ] {
            let script = format!("{script}; test -e made");
            let (ok, said) = run(&confinement, &yard, &script);
            assert!(!ok, "{way}: {script}: {said}");
        }
        // Not on every machine: a missing one fails, too.
        let (ok, said) = run(&confinement, &yard, "busybox touch made; test -e made");
        assert!(!ok, "{way}: {said}");
        let outside = yard.outside.display();
        for script in [
            format!("cat {outside}/key.pem"),
            format!("ln -s {outside}/key.pem linked; cat linked"),
            format!("cp -r {outside} copied; cat copied/key.pem"),
        ] {
            let (_, said) = run(&confinement, &yard, &script);
            assert!(!said.contains("SECRET"), "{way}: {script}: {said}");
        }
        let (ok, said) = run(
            &confinement,
            &yard,
            "cat locked && mkdir -p other && ls other /usr/bin",
        );
        assert!(ok, "{way}: {said}");
        if way == "landlock" {
            continue;
        }
        for script in [
            "cat deep/.env",
            "cp deep/.env copied && grep -q SECRET copied",
            "ln deep/.env copied && grep -q SECRET copied",
            "mv deep/.env moved",
            "mv deep moved",
            "mv deep/secrets moved",
            "cat deep/secrets/key",
            "echo x > locked",
            "mv locked moved",
            "rm -f locked",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            assert!(!ok, "{way}: {script}: {said}");
            assert!(!said.contains("SECRET"), "{way}: {script}: {said}");
        }
        // A file that a command creates is hidden from the next one.
        let _ = fs::remove_dir_all(yard.work.join("new"));
        let (ok, said) = run(
            &confinement,
            &yard,
            "mkdir -p new && echo SECRET > new/.env",
        );
        assert!(ok, "{said}");
        let (ok, said) = run(&confinement, &yard, "cat new/.env");
        assert!(!ok, "{said}");
        let kept = fs::read_to_string(yard.work.join("locked")).unwrap();
        assert_eq!(kept, "kept");
    }
}

/// A rule about all hosts removes the network, and one about a host with Landlock, which cannot distinguish hosts.
#[tokio::test]
async fn denied_hosts_are_out_of_reach() {
    let yard = Yard::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    for (way, confinement) in ways(&yard).await {
        confinement.set(SandboxMode::Workspace, true, Vec::new());
        let (ok, said) = run(&confinement, &yard, &script);
        assert!(ok, "{way}: {said}");
        let host = HostRule::parse("127.0.0.0/8").unwrap();
        for denial in [Denial::Connecting(None), Denial::Connecting(Some(host))] {
            confinement.deny(vec![denial.clone()]);
            assert_eq!(confinement.limit(&denial), None);
            let (ok, _) = run(&confinement, &yard, &script);
            assert!(!ok, "{way}: {denial:?}");
        }
    }
}

#[tokio::test]
async fn writes_outside_are_denied() {
    let yard = Yard::new();
    for (name, confinement) in ways(&yard).await {
        confinement.set(SandboxMode::Workspace, false, Vec::new());
        for script in [
            "echo x > $OUT/new",
            "echo x >> $OUT/file",
            ": > $OUT/file",
            "truncate -s 0 $OUT/file",
            "rm $OUT/file",
            "mv $OUT/file .",
            "mv $OUT $OUT.gone",
            "mkdir $OUT/folder",
            "ln -s x $OUT/link",
            "ln -s $OUT through && echo x > through/file",
            "ln $OUT/file hard && echo x > hard",
            "ln .git/config $OUT/hard",
            "cd $OUT && echo x > file",
            "(bash -c 'bash -c \"echo x > $OUT/new\"')",
            "setsid bash -c 'echo x > $OUT/new' & wait $!",
            "echo x > /proc/self/root$OUT/new",
            "echo x > /proc/$$/cwd/../outside/new",
            "exec 9<$OUT/file; echo x > /proc/self/fd/9",
            "python3 -c \"import os; os.open('$OUT/file', os.O_WRONLY|os.O_TRUNC)\"",
            "mknod $OUT/device p",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            let kept = fs::read_to_string(yard.outside.join("file")).unwrap();
            let names = fs::read_dir(&yard.outside).unwrap().count();
            assert_eq!(
                (kept.as_str(), names),
                ("kept", 1),
                "{name}: {script}: {said}"
            );
            assert!(!ok, "{name}: {script}: {said}");
            let _ = fs::remove_file(yard.work.join("through"));
        }
    }
}

#[tokio::test]
async fn git_and_osier_directories_are_read_only_with_bubblewrap() {
    let yard = Yard::new();
    for (name, confinement) in ways(&yard).await {
        // Landlock cannot protect a directory inside a writable one.
        if name == "landlock" {
            continue;
        }
        confinement.set(SandboxMode::Workspace, false, Vec::new());
        for script in [
            "echo x > .git/config",
            "echo x > .git/hooks/pre-commit",
            "echo x > .osier/settings.toml",
            "mv .git away",
            "rm -rf .git/hooks",
            "umount .git",
            "mount -o remount,rw .git",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            assert!(!ok, "{name}: {script}: {said}");
        }
        assert_eq!(
            fs::read_to_string(yard.work.join(".git/config")).unwrap(),
            "kept"
        );
    }
}

#[tokio::test]
async fn network_is_denied() {
    let yard = Yard::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp_port, udp_port) = (
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port(),
    );
    udp.set_nonblocking(true).unwrap();
    tcp.set_nonblocking(true).unwrap();
    let name = format!("osier-test-{}", std::process::id());
    let address = {
        use std::os::linux::net::SocketAddrExt as _;
        std::os::unix::net::SocketAddr::from_abstract_name(name.as_bytes()).unwrap()
    };
    let hidden = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    hidden.set_nonblocking(true).unwrap();
    for (way, confinement) in ways(&yard).await {
        confinement.set(SandboxMode::Workspace, false, Vec::new());
        for script in [
            format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}"),
            format!("(exec 3<>/dev/tcp/127.0.0.1/{tcp_port})"),
            format!(
                "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('\\0{name}')\""
            ),
        ] {
            let (ok, said) = run(&confinement, &yard, &script);
            assert!(!ok, "{way}: {script}: {said}");
        }
        let script = format!("echo x > /dev/udp/127.0.0.1/{udp_port}");
        run(&confinement, &yard, &script);
        assert!(udp.recv(&mut [0; 8]).is_err(), "{way}");
        assert!(tcp.accept().is_err(), "{way}");
        assert!(hidden.accept().is_err(), "{way}");
        // With network access it works.
        confinement.set(SandboxMode::Workspace, true, Vec::new());
        let (ok, said) = run(
            &confinement,
            &yard,
            &format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}"),
        );
        assert!(ok, "{way}: {said}");
        let _ = tcp.accept();
    }
}

#[tokio::test]
async fn other_processes_cannot_be_signalled() {
    let yard = Yard::new();
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = other.id();
    for (way, confinement) in ways(&yard).await {
        confinement.set(SandboxMode::Workspace, false, Vec::new());
        for script in [
            format!("kill -9 {pid}"),
            format!("echo x > /proc/{pid}/cwd/escaped"),
            format!(
                "python3 -c \"import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) == 0 else 1)\""
            ),
            format!("python3 -c \"open('/proc/{pid}/mem','r+b').read(1)\""),
        ] {
            let (ok, said) = run(&confinement, &yard, &script);
            assert!(!ok, "{way}: {script}: {said}");
        }
        assert_eq!(other.try_wait().unwrap(), None, "{way}");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn read_only_mode_writes_only_to_its_temporary_directory() {
    let yard = Yard::new();
    let name = yard.folder.path().file_name().unwrap().to_str().unwrap();
    let shared = Path::new("/tmp").join(name);
    let shared_only = format!("echo x > /tmp/{name} && test ! -e $TMPDIR/{name}");
    for (way, confinement) in ways(&yard).await {
        confinement.set(SandboxMode::ReadOnly, true, Vec::new());
        for script in [
            "echo x > new",
            &shared_only,
            "rm -r .git",
            "chmod 777 ../outside/file && echo x > ../outside/file",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            assert!(!ok, "{way}: {script}: {said}");
        }
        assert!(!shared.exists());
        let (ok, said) = run(&confinement, &yard, "echo x > $TMPDIR/x && cat .git/config");
        assert!(ok, "{way}: {said}");
        assert!(!yard.work.join("new").exists());
    }
}

#[tokio::test]
async fn command_does_not_run_without_a_sandbox_backend() {
    let yard = Yard::new();
    let confinement = Confinement::new(&yard.work, Some("/does/not/exist".into()));
    confinement.set(SandboxMode::Workspace, false, Vec::new());
    let invocation = Invocation::new("/bin/true", [""; 0]);
    // Without a detected backend the command is refused.
    let error = confinement.wrap(invocation).unwrap_err();
    assert!(
        error.to_string().contains("the command did not run"),
        "{error}"
    );
    let broken = Command::new(env!("CARGO_BIN_EXE_osier"))
        .args(["__sandbox", "{", "--", "/bin/sh", "-c", "touch ran"])
        .current_dir(&yard.work)
        .output()
        .unwrap();
    assert_eq!(broken.status.code(), Some(126));
    assert!(!yard.work.join("ran").exists());
}
