//! The attack table (`tests/fixtures/sandbox/attacks.py`) in every configuration, as this user and as another one.
//! After each run nothing outside has changed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use osier_base::folders::Folders;
use osier_base::process::Invocation;
use osier_protocol::{NetworkAccess, SandboxMode};
use osier_sandbox::Confinement;
use osier_testing::skip;
use tempfile::TempDir;

/// The user without privileges, when the tests run as root.
pub(super) const OTHER_USER: u32 = 65534;

/// The mechanism, the mode, and the network: `none`, `list` or `all`.
const CONFIGURATIONS: [(&str, SandboxMode, &str); 9] = [
    ("namespaces", SandboxMode::ReadOnly, "none"),
    ("namespaces", SandboxMode::Workspace, "none"),
    ("namespaces", SandboxMode::Workspace, "all"),
    ("bubblewrap", SandboxMode::ReadOnly, "none"),
    ("bubblewrap", SandboxMode::Workspace, "none"),
    ("bubblewrap", SandboxMode::Workspace, "list"),
    ("bubblewrap", SandboxMode::Workspace, "all"),
    ("landlock", SandboxMode::ReadOnly, "none"),
    ("landlock", SandboxMode::Workspace, "none"),
];

/// A kernel without Landlock: its calls fail, then the arguments are executed.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, os, struct, sys
# Load the number; 444 to 446 fail with ENOSYS, everything else is allowed.
steps = [(0x20, 0, 0, 0), (0x35, 0, 2, 444), (0x25, 1, 0, 446), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// A project with repositories, files outside of it, and servers outside of it.
struct Target {
    folder: TempDir,
    /// In `/tmp`, where other programs have their sockets.
    temporary: TempDir,
    victim: Child,
    token: String,
    tcp: std::net::TcpListener,
    hidden: UnixListener,
    /// Both ends, so that nothing waits.
    pipe: fs::File,
    /// The user's side of a terminal that the victim uses.
    terminal: rustix::fd::OwnedFd,
    _listeners: Vec<UnixListener>,
    _datagram: UnixDatagram,
}

/// A new named pipe, which a process has open.
fn open_pipe(path: &Path) -> fs::File {
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    let mut options = fs::File::options();
    options.read(true).write(true).open(path).unwrap()
}

fn open_terminal() -> rustix::fd::OwnedFd {
    use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    terminal
}

/// The path of the side of a terminal that programs use.
fn terminal_path(terminal: &rustix::fd::OwnedFd) -> PathBuf {
    let name = rustix::pty::ptsname(terminal, Vec::new()).unwrap();
    PathBuf::from(name.into_string().unwrap())
}

fn other_side(terminal: &rustix::fd::OwnedFd) -> fs::File {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::File::options();
    let no_control = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
    let options = options.read(true).write(true).custom_flags(no_control);
    options.open(terminal_path(terminal)).unwrap()
}

impl Target {
    fn new(user: Option<u32>, is_temporary: bool) -> Self {
        // Another user cannot enter the home of root.
        let folder = if is_temporary {
            tempfile::tempdir_in("/tmp").unwrap()
        } else if user.is_some() {
            tempfile::tempdir_in("/var/lib").unwrap()
        } else {
            super::protected_folder("attacks")
        };
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let temporary = tempfile::tempdir_in("/tmp").unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in [
            "work/.git/hooks",
            "work/.osier",
            "work/.claude",
            "work/sub/.git",
            "work/a/b/c/.git",
            "work/tree",
            "work/real",
            "work/linked",
            "outside/empty",
            "data/plugins",
        ] {
            fs::create_dir_all(at(path)).unwrap();
        }
        for path in [
            "work/.git/config",
            "work/.osier/settings.toml",
            "work/.claude/settings.json",
            "work/.mcp.json",
            "work/sub/.git/config",
            "work/a/b/c/.git/config",
            "work/real/config",
            "outside/file",
            "data/serve.token",
            "data/auth.json",
        ] {
            fs::write(at(path), "kept").unwrap();
        }
        fs::write(at("work/tree/.git"), "gitdir: ../real").unwrap();
        symlink("../real", at("work/linked/.git")).unwrap();
        fs::write(temporary.path().join("file"), "kept").unwrap();
        let token = format!("osier-attack-{}", uuid_like(folder.path()));
        let address = {
            use std::os::linux::net::SocketAddrExt as _;
            std::os::unix::net::SocketAddr::from_abstract_name(token.as_bytes()).unwrap()
        };
        let hidden = UnixListener::bind_addr(&address).unwrap();
        hidden.set_nonblocking(true).unwrap();
        let sockets = [
            at("outside/stream"),
            at("work/stream"),
            at("data/serve.sock"),
            temporary.path().join("stream"),
        ];
        let listeners = sockets.map(|path| UnixListener::bind(path).unwrap());
        let pipe = open_pipe(&at("outside/pipe"));
        let terminal = open_terminal();
        let mut victim = Command::new("sleep");
        victim
            .arg("600")
            .stdin(Stdio::null())
            .stdout(other_side(&terminal));
        if let Some(user) = user {
            own(folder.path(), user);
            own(temporary.path(), user);
            own(&terminal_path(&terminal), user);
            victim.uid(user).gid(user);
        }
        Self {
            _datagram: UnixDatagram::bind(at("outside/datagram")).unwrap(),
            _listeners: listeners.into(),
            tcp: std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            victim: victim.spawn().unwrap(),
            hidden,
            pipe,
            terminal,
            token,
            temporary,
            folder,
        }
    }

    /// osier, where another user can execute it: the clone can be in the home of root.
    fn program(&self) -> PathBuf {
        let built = env!("CARGO_BIN_EXE_osier");
        let path = self.folder.path().join("osier");
        let copied = fs::hard_link(built, &path).or_else(|_| fs::copy(built, &path).map(drop));
        copied.unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name).canonicalize().unwrap()
    }

    /// Everything that an attack could change, except in the parts of the project that are writable.
    fn state(&self, with_metadata: bool) -> BTreeSet<String> {
        let mut state = BTreeSet::new();
        for name in ["outside", "data"] {
            describe(&self.folder.path().join(name), with_metadata, &mut state);
        }
        let victim = self.victim.id();
        for file in ["limits", "oom_score_adj"] {
            state.insert(fs::read_to_string(format!("/proc/{victim}/{file}")).unwrap());
        }
        let stat = fs::read_to_string(format!("/proc/{victim}/stat")).unwrap();
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        let is_stopped = fields[0] == "T" || fields[0] == "t";
        // The priority and the nice value.
        state.insert(format!(
            "stopped {is_stopped} {} {}",
            fields[15], fields[16]
        ));
        for left in ["/run", "/dev/shm", "/dev/mqueue"] {
            let path = Path::new(left).join(&self.token);
            state.insert(format!("{} {}", path.display(), path.exists()));
        }
        state
    }

    /// The protected files of the project.
    fn project(&self) -> BTreeSet<String> {
        let mut state = BTreeSet::new();
        for name in [
            ".git",
            ".osier",
            ".claude",
            ".mcp.json",
            "sub/.git",
            "a/b/c/.git",
            "real",
            "tree/.git",
            "linked/.git",
        ] {
            describe(
                &self.folder.path().join("work").join(name),
                false,
                &mut state,
            );
        }
        state
    }

    /// Whether a process of the attack runs. It was killed, but may not be gone yet.
    fn has_daemons(&self) -> bool {
        let is_left = || {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            let mut lines =
                processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            lines.any(|line| line.starts_with(self.token.as_bytes()))
        };
        let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while is_left() && std::time::Instant::now() < end {
            osier_testing::poll::pause();
        }
        is_left()
    }

    async fn attack(
        &self,
        backend: &str,
        mode: SandboxMode,
        network: &str,
        machine: Machine,
    ) -> Option<Output> {
        let has_landlock = !machine.lacks_landlock;
        let data = self.path("data");
        let confinement = Confinement::new(&self.path("work"), Some(self.program()))
            .hiding(&Folders::under(&data));
        let access = match network {
            "none" => NetworkAccess::Off,
            "list" => NetworkAccess::Hosts(vec!["example.org".to_owned()]),
            _ => NetworkAccess::All,
        };
        confinement.set(mode, access, Vec::new());
        let found = super::force(&confinement, backend).await.ok()?;
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sandbox/attacks.py");
        let arguments = [
            "-c".into(),
            fs::read_to_string(script).unwrap(),
            format!("backend={}", found.name()),
            format!("mode={}", mode.name()),
            format!("network={network}"),
            format!("landlock={}", if has_landlock { "yes" } else { "no" }),
        ];
        let mut invocation = confinement
            .wrap(Invocation::new("/usr/bin/python3", arguments))
            .unwrap();
        if !has_landlock {
            let launcher = ["-c".into(), WITHOUT_LANDLOCK.into(), invocation.program];
            invocation.args.splice(0..0, launcher);
            invocation.program = "/usr/bin/python3".into();
        }
        if let Some(user) = machine.user {
            own_temporary(&confinement, &invocation, user);
        }
        Some(self.start(&invocation, machine))
    }

    fn start(&self, invocation: &Invocation, machine: Machine) -> Output {
        // The shell leaves a file open, as the program that starts osier can.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec 8<>\"$0\"; exec \"$@\""])
            .arg(self.path("outside/pipe"));
        if machine.is_container {
            command.args(["unshare", "--user", "--map-root-user", "--mount", "--"]);
        }
        if let Some(user) = machine.user {
            let [uid, gid] = [format!("--reuid={user}"), format!("--regid={user}")];
            command.arg("setpriv").args([
                uid,
                gid,
                "--clear-groups".to_owned(),
                "--inh-caps=-all".to_owned(),
            ]);
        }
        command
            .arg(&invocation.program)
            .args(&invocation.args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.path("outside"))
            .envs(invocation.env.iter().cloned())
            .env("OUT", self.path("outside"))
            .env("WORK", self.path("work"))
            .env("DATA", self.path("data"))
            .env("VICTIM", self.victim.id().to_string())
            .env("TOKEN", &self.token)
            .env("TCP", self.tcp.local_addr().unwrap().port().to_string())
            .env("ABSTRACT", &self.token)
            .env("TEMPORARY", self.temporary.path())
            .env("TERMINAL", terminal_path(&self.terminal))
            .env("SEGMENT", std::process::id().to_string())
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command.output().unwrap()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// A word that is unique on this machine.
fn uuid_like(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Gives the directory for temporary files, which this process made, to `user`.
pub(super) fn own_temporary(confinement: &Confinement, invocation: &Invocation, user: u32) {
    let variable = invocation.env.iter().find(|(name, _)| name == "TMPDIR");
    let named = PathBuf::from(&variable.unwrap().1);
    let private = match confinement.host_path(&named) {
        path if path == named => path,
        // One of two in bubblewrap.
        path => path.parent().unwrap().to_owned(),
    };
    let name = private.file_name().unwrap().to_string_lossy();
    assert!(name.starts_with("osier-tmp-"), "{}", private.display());
    own(&private, user);
}

pub(super) fn own(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            own(&entry.unwrap().path(), user);
        }
    }
}

fn describe(path: &Path, with_metadata: bool, state: &mut BTreeSet<String>) {
    let data = fs::symlink_metadata(path);
    let Ok(data) = data else {
        state.insert(format!("{} is gone", path.display()));
        return;
    };
    let content = data.is_file().then(|| fs::read_to_string(path).unwrap());
    let metadata = with_metadata.then(|| (data.mode(), data.mtime()));
    state.insert(format!(
        "{} {content:?} {metadata:?} {} {}",
        path.display(),
        data.uid(),
        data.gid()
    ));
    if data.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            describe(&entry.unwrap().path(), with_metadata, state);
        }
    }
}

/// The machine of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Machine {
    user: Option<u32>,
    /// The project, and what is outside of it, are in `/tmp`.
    is_temporary: bool,
    lacks_landlock: bool,
    /// Everything runs as root of a user namespace with mounts of its own.
    is_container: bool,
}

async fn run(machine: Machine, configuration: (&str, SandboxMode, &str)) {
    let (backend, mode, network) = configuration;
    let name = format!("{backend} {} network={network} {machine:?}", mode.name());
    let user = machine.user;
    let target = Target::new(user, machine.is_temporary);
    let holds_metadata = backend != "landlock" || mode == SandboxMode::ReadOnly;
    let before = (target.state(holds_metadata), target.project());
    let Some(output) = target.attack(backend, mode, network, machine).await else {
        skip::unsupported(backend, "not available here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let can_fail = user.is_some() || machine.is_container;
    if can_fail && !said.contains("TRIED") && super::lacks_namespaces(&errors) {
        skip::unsupported(&name, errors.trim());
        return;
    }
    assert!(said.contains("TRIED"), "{name}: {said}{errors}");
    let got: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("GOT"))
        .collect();
    assert_eq!(got, Vec::<&str>::new(), "{name}: {said}");
    assert_eq!(target.state(holds_metadata), before.0, "{name}");
    if holds_metadata {
        assert_eq!(target.project(), before.1, "{name}");
    }
    assert!(target.hidden.accept().is_err(), "{name}");
    let has_landlock = !machine.lacks_landlock;
    let written = rustix::io::ioctl_fionread(&target.pipe).unwrap();
    assert!(!has_landlock || written == 0, "{name}: {written}");
    assert!(!target.has_daemons(), "{name}");
}

/// Whether the programs of the table are here: without them an attempt would fail for the wrong reason.
fn has_programs() -> bool {
    skip::has(
        &["/usr/bin/python3", "setsid", "setpriv", "git"],
        "apt install python3 util-linux git",
    )
}

#[tokio::test]
async fn attacks_change_nothing_outside() {
    if has_programs() {
        for configuration in CONFIGURATIONS {
            run(Machine::default(), configuration).await;
        }
    }
}

#[tokio::test]
async fn attacks_from_a_project_in_tmp_change_nothing_outside() {
    let machine = Machine {
        is_temporary: true,
        ..Machine::default()
    };
    if has_programs() {
        for configuration in CONFIGURATIONS {
            run(machine, configuration).await;
        }
    }
}

#[tokio::test]
async fn attacks_in_a_container_change_nothing_outside() {
    let machine = Machine {
        is_container: true,
        ..Machine::default()
    };
    if has_programs() {
        let workspaces = CONFIGURATIONS
            .iter()
            .filter(|(_, mode, network)| *mode == SandboxMode::Workspace && *network == "none");
        for configuration in workspaces {
            run(machine, *configuration).await;
        }
    }
}

/// Only pipes outside can be written then.
#[tokio::test]
async fn attacks_on_a_kernel_without_landlock_change_nothing_outside() {
    let machine = Machine {
        lacks_landlock: true,
        ..Machine::default()
    };
    if has_programs() {
        let with_mounts = CONFIGURATIONS.iter().filter(|row| row.0 != "landlock");
        for configuration in with_mounts {
            run(machine, *configuration).await;
        }
    }
}

#[tokio::test]
async fn attacks_of_another_user_change_nothing_outside() {
    if !has_programs() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        skip::unsupported("another user", "only root can start its processes");
        return;
    }
    for configuration in CONFIGURATIONS {
        let machine = Machine {
            user: Some(OTHER_USER),
            ..Machine::default()
        };
        run(machine, configuration).await;
    }
}
