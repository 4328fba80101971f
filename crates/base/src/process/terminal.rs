//! Children on a pseudo-terminal of their own. The child leads a session with that terminal, so that passwords are
//! requested there and keys such as ctrl+c reach it. It ends as other children do: at the latest with this process.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep_until, timeout};

use super::group::ChildGroup;
use super::{Exit, GRACE, Invocation, MARKER, SETSID, UNATTENDED, child_reaper};

/// Time for the rest of the output after the child has exited.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// Shells that read the language of bash.
#[cfg(target_os = "linux")]
const SHELLS: [&str; 5] = ["ash", "bash", "dash", "rbash", "sh"];
/// The folders whose programs are what their names say. A program elsewhere could be a copy of another shell.
#[cfg(target_os = "linux")]
const FOLDERS: [&str; 11] = [
    "/bin",
    "/data/data/com.termux/files/usr/bin",
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/nix/store",
    "/opt",
    "/sbin",
    "/usr/bin",
    "/usr/libexec/coreutils",
    "/usr/local/bin",
    "/usr/sbin",
];
/// Other programs that run commands which they read: shells with another language, and programs that start a shell elsewhere.
#[cfg(target_os = "linux")]
const OTHER_SHELLS: &[&str] = &[
    "abduco",
    "adb",
    "apptainer",
    "at",
    "autossh",
    "aws",
    "az",
    "buildah",
    "busybox",
    "byobu",
    "chroot",
    "cmd",
    "cmd.exe",
    "coder",
    "colima",
    "container",
    "crictl",
    "csh",
    "ctr",
    "cu",
    "dbclient",
    "devpod",
    "distrobox",
    "doas",
    "docker",
    "docker-compose",
    "dtach",
    "elvish",
    "enroot",
    "es",
    "et",
    "expect",
    "firejail",
    "fish",
    "flatpak",
    "fly",
    "flyctl",
    "gcloud",
    "gh",
    "heroku",
    "incus",
    "ion",
    "k3s",
    "k9s",
    "ksh",
    "kubectl",
    "lazydocker",
    "limactl",
    "lksh",
    "login",
    "lxc",
    "lxc-attach",
    "machinectl",
    "microk8s",
    "minicom",
    "minikube",
    "mksh",
    "mosh",
    "mosh-client",
    "multipass",
    "murex",
    "nc",
    "ncat",
    "nerdctl",
    "netcat",
    "newgrp",
    "nix",
    "nomad",
    "nsenter",
    "nu",
    "oc",
    "oil",
    "oksh",
    "orb",
    "orbctl",
    "osh",
    "picocom",
    "pkexec",
    "plink",
    "podman",
    "posh",
    "powershell",
    "powershell.exe",
    "proot",
    "pwsh",
    "railway",
    "rc",
    "reptyr",
    "rlogin",
    "rlwrap",
    "run0",
    "runuser",
    "schroot",
    "screen",
    "script",
    "session-manager",
    "sg",
    "singularity",
    "socat",
    "ssh",
    "ssh.exe",
    "sshpass",
    "su",
    "sudo",
    "systemd-nspawn",
    "systemd-run",
    "tcsh",
    "telnet",
    "tmate",
    "tmux",
    "toolbox",
    "tsh",
    "udocker",
    "unshare",
    "vagrant",
    "virsh",
    "wsl",
    "wsl.exe",
    "xonsh",
    "yash",
    "ysh",
    "zellij",
    "zsh",
    "zssh",
];
/// Programs that osier puts around a command. They read nothing.
#[cfg(target_os = "linux")]
const WRAPPERS: [&str; 4] = ["bwrap", "osier", "osier-starter", "setsid"];

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtySize {
    pub rows: u16,
    pub columns: u16,
}

impl From<PtySize> for Winsize {
    fn from(size: PtySize) -> Self {
        Self {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

/// The parent's side of a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    output: pipe::Receiver,
    input: pipe::Sender,
    leader: Pid,
    /// The command runs in namespaces with mounts of its own, and cannot change them.
    is_confined: bool,
}

impl Pty {
    /// Reads all the output there is, as far as `buffer` has space.
    async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.output.readable().await?;
            let mut length = 0;
            while length < buffer.len() {
                match self.output.try_read(&mut buffer[length..]) {
                    // The system returns at most 4 KiB at once.
                    Ok(more) if more > 0 => length += more,
                    _ if length > 0 => break,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // With this error Linux reports that no process has the terminal open any more.
                    Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                        return Ok(0);
                    }
                    read => return read,
                }
            }
            if length > 0 {
                return Ok(length);
            }
        }
    }

    /// Types `bytes`. Waits while the program does not read them.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.input.writable().await?;
            match self.input.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => bytes = &bytes[written?..],
            }
        }
        Ok(())
    }

    /// Changes the size and notifies the program of it.
    pub fn resize(&self, size: PtySize) -> io::Result<()> {
        Ok(tcsetwinsize(&self.output, size.into())?)
    }

    /// Whether the program reads a line that the terminal does not show: most likely a password.
    pub fn is_hidden(&self) -> bool {
        tcgetattr(&self.output).is_ok_and(|modes| {
            modes.local_modes.contains(LocalModes::ICANON)
                && !modes.local_modes.contains(LocalModes::ECHO)
        })
    }

    /// The program that reads the next input.
    #[cfg(target_os = "linux")]
    pub fn reader(&self) -> LineReader {
        let Ok(foreground) = rustix::termios::tcgetpgrp(&self.output) else {
            return LineReader::OtherShell;
        };
        let foreground = foreground.as_raw_nonzero().get();
        let session = self.leader.as_raw_nonzero().get();
        let is = |list: &[&str], name: &str| list.contains(&name);
        let mut all: Vec<Process> = processes().filter(|one| one.session == session).collect();
        all.retain(|one| !is(&WRAPPERS, &one.name));
        let (front, behind): (Vec<Process>, Vec<Process>) =
            all.into_iter().partition(|one| one.group == foreground);
        let is_other = |one: &Process| {
            let is_known = || one.is_system() && (self.is_confined || one.sees_same_files());
            is(OTHER_SHELLS, &one.name) || (is(&SHELLS, &one.name) && !is_known())
        };
        // A program that is not known could be anything.
        if front.is_empty() || front.iter().any(is_other) {
            return LineReader::OtherShell;
        }
        let mut shells = front.iter().filter(|one| is(&SHELLS, &one.name));
        if let Some(shell) = shells.next() {
            let folder = std::fs::read_link(format!("/proc/{}/cwd", shell.id)).ok();
            let is_same =
                |one: &Process| std::fs::read_link(format!("/proc/{}/cwd", one.id)).ok() == folder;
            return LineReader::Shell(folder.clone().filter(|_| shells.all(is_same)));
        }
        let is_parent = |one: &&Process| front.iter().any(|child| child.parent == one.id);
        match behind.iter().find(is_parent) {
            None => LineReader::Program,
            Some(one) => LineReader::ProgramBefore {
                is_shell: is(&SHELLS, &one.name) && !is_other(one),
            },
        }
    }

    /// `OtherShell`, which could be any program: other systems do not report the reader.
    #[cfg(not(target_os = "linux"))]
    pub fn reader(&self) -> LineReader {
        LineReader::OtherShell
    }
}

/// The program that reads the next line of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineReader {
    /// A shell with the language of bash, in this folder if it is known.
    Shell(Option<PathBuf>),
    /// A program that runs commands in another language or elsewhere, or a shell that may not be what its name says.
    OtherShell,
    /// Another program.
    Program,
    /// Another program, started by a program that runs commands, such as a shell: the parent reads
    /// the input that the child leaves.
    ProgramBefore { is_shell: bool },
}

/// A running process.
#[cfg(target_os = "linux")]
struct Process {
    id: u32,
    parent: u32,
    name: String,
    group: i32,
    session: i32,
}

#[cfg(target_os = "linux")]
impl Process {
    /// Whether the program is one of the system and, after all links, still has the name of a
    /// shell: `bash` could be a link to another shell. BusyBox has its own name for all its
    /// programs.
    fn is_system(&self) -> bool {
        let program = std::fs::read_link(format!("/proc/{}/exe", self.id)).unwrap_or_default();
        let name = program.file_name().and_then(OsStr::to_str);
        let name = plain_name(name.unwrap_or_default());
        let is_shell = SHELLS.contains(&name) || name == "busybox";
        is_shell && FOLDERS.iter().any(|folder| program.starts_with(folder))
    }

    /// Whether a path is the same file for the process as for osier. The list of names does not
    /// catch `chroot`, `nsenter` and `unshare`: they become the shell that they start.
    fn sees_same_files(&self) -> bool {
        let same = |link: &str| {
            let own = std::fs::read_link(format!("/proc/self/{link}"));
            let its = std::fs::read_link(format!("/proc/{}/{link}", self.id));
            own.is_ok_and(|own| its.is_ok_and(|its| its == own))
        };
        same("root") && same("ns/mnt")
    }
}

/// The name of a program without its version and its role: `tmux` for `tmux: client`.
#[cfg(target_os = "linux")]
fn plain_name(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or(name);
    name.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '.' | '-'))
}

/// Every process.
#[cfg(target_os = "linux")]
fn processes() -> impl Iterator<Item = Process> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| {
        let number = entry.file_name();
        let id = number.to_str()?.parse().ok()?;
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name, in parentheses, may contain anything.
        let (start, rest) = stat.rsplit_once(')')?;
        let (_, name) = start.split_once('(')?;
        let mut fields = rest.split_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        Some(Process {
            id,
            parent,
            name: plain_name(name).to_owned(),
            group,
            session,
        })
    })
}

/// A running child on a terminal. Dropping it kills everything that it started.
#[derive(Debug)]
pub struct TerminalChild {
    child: Child,
    group: ChildGroup,
    pty: Arc<Pty>,
    exit: Option<Exit>,
    read_until: Option<Instant>,
}

/// Starts `invocation` on a new terminal. Requires a tokio runtime and the program `setsid` of util-linux.
pub fn spawn_terminal(invocation: &Invocation, size: PtySize) -> io::Result<TerminalChild> {
    let Some(setsid) = *SETSID else {
        let message = "terminals need the program `setsid`; install util-linux";
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    };
    let master = open_master()?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    tcsetwinsize(&slave, size.into())?;
    let nonblocking = rustix::fs::fcntl_getfl(&master)? | OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&master, nonblocking)?;

    let marker = child_reaper::command_id();
    let wrapper = [setsid, Path::new(OsStr::new("--ctty"))];
    // Under git, gpg does not find the terminal on its standard input.
    let terminal = name.to_string_lossy();
    let defaults = [
        ("TERM", "xterm-256color"),
        ("GPG_TTY", &*terminal),
        UNATTENDED[2],
    ];
    let defaults = defaults.map(|(name, value)| (name, OsStr::new(value)));
    let mut command = invocation.command_with(&wrapper, &defaults);
    for name in ["COLORTERM", "TERM_PROGRAM", "LINES", "COLUMNS"] {
        command.env_remove(name);
    }
    command
        .env(MARKER, &marker)
        .stdin(slave.as_fd().try_clone_to_owned()?)
        .stdout(slave.as_fd().try_clone_to_owned()?)
        .stderr(slave);
    let child = command.spawn()?;
    // Closes this side's copies of the terminal, which the command still has.
    drop(command);
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let leader = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    Ok(TerminalChild {
        child,
        group: ChildGroup::new(leader, Some(format!("{MARKER}={marker}"))).with_reaper(),
        pty: Arc::new(Pty {
            input: pipe::Sender::from_owned_fd_unchecked(master.try_clone()?)?,
            output: pipe::Receiver::from_owned_fd_unchecked(master)?,
            leader,
            is_confined: ["bwrap", "osier-starter"]
                .iter()
                .any(|name| Path::new(&invocation.program).ends_with(name)),
        }),
        exit: None,
        read_until: None,
    })
}

#[cfg(target_os = "linux")]
fn open_master() -> io::Result<OwnedFd> {
    Ok(openpt(
        OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC,
    )?)
}

#[cfg(not(target_os = "linux"))]
fn open_master() -> io::Result<OwnedFd> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC)?;
    Ok(master)
}

impl TerminalChild {
    /// The side to type on.
    pub fn pty(&self) -> Arc<Pty> {
        Arc::clone(&self.pty)
    }

    /// Reads the next output; 0 after the child has exited. Cancel safe.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut is_closed = false;
        loop {
            let until = self.read_until;
            tokio::select! {
                biased;
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => return Ok(0),
                status = self.child.wait(), if self.exit.is_none() => {
                    self.exit = Some(status?.into());
                    self.group.note_reaped();
                    if is_closed {
                        return Ok(0);
                    }
                    self.read_until = Some(Instant::now() + LAST_OUTPUT);
                }
                length = self.pty.read(buffer), if !is_closed => match length? {
                    0 if self.exit.is_some() => return Ok(0),
                    0 => is_closed = true,
                    length => return Ok(length),
                },
            }
        }
    }

    /// Ends the child, as closing a terminal does, and kills what is left of it.
    pub async fn stop(&mut self) {
        for signal in [Signal::HUP, Signal::CONT, Signal::TERM] {
            self.group.signal_everything(signal);
        }
        let mut buffer = [0; 4096];
        let rest = async { while self.read(&mut buffer).await.is_ok_and(|length| length > 0) {} };
        let _ = timeout(GRACE, rest).await;
        self.group.signal_everything(Signal::KILL);
        if self.exit.is_none() {
            let status = timeout(GRACE, self.child.wait()).await;
            self.exit = status.ok().and_then(Result::ok).map(Exit::from);
            self.group.note_reaped();
        }
    }

    /// How the child ended.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use tokio::signal::unix::{SignalKind, signal};

    use super::*;

    const SIZE: PtySize = PtySize {
        rows: 24,
        columns: 80,
    };

    fn start(script: &str) -> TerminalChild {
        spawn_terminal(&Invocation::new("bash", ["-c", script]), SIZE).unwrap()
    }

    async fn read_until(child: &mut TerminalChild, end: &str) -> String {
        let (mut all, mut buffer) = (String::new(), [0; 4096]);
        while end.is_empty() || !all.contains(end) {
            match child.read(&mut buffer).await.unwrap() {
                0 => break,
                length => all.push_str(&String::from_utf8_lossy(&buffer[..length])),
            }
        }
        all
    }

    #[tokio::test]
    async fn child_has_a_terminal_with_a_size() {
        let mut child = start("test -t 0 && stty size </dev/tty && exit 3");
        assert_eq!(read_until(&mut child, "").await, "24 80\r\n");
        assert_eq!(child.exit().unwrap().code, Some(3));
    }

    #[tokio::test]
    async fn typed_text_interrupts_and_sizes_reach_the_child() {
        // A test run in the background ignores SIGINT. A child inherits that, but gets the default of a handled signal.
        let _interrupt = signal(SignalKind::interrupt()).unwrap();
        let mut child =
            start("trap 'stty size; exit 0' INT; read line; echo got $line; sleep 600 & wait");
        let pty = child.pty();
        pty.write_all(b"hello\r").await.unwrap();
        read_until(&mut child, "got hello").await;
        pty.resize(PtySize {
            rows: 5,
            columns: 9,
        })
        .unwrap();
        pty.write_all(b"\x03").await.unwrap();
        assert!(read_until(&mut child, "").await.contains("5 9"));
    }

    #[tokio::test]
    async fn password_prompts_and_shells_are_recognized() {
        let mut child = start("read -s -p 'Password: ' word; echo; echo ready; exec cat");
        let pty = child.pty();
        read_until(&mut child, "Password: ").await;
        // The prompt is printed before the terminal is changed.
        while !pty.is_hidden() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(pty.reader(), LineReader::Shell(Some(_))));
        pty.write_all(b"secret\r").await.unwrap();
        assert!(!read_until(&mut child, "ready").await.contains("secret"));
        while pty.reader() != LineReader::Program {
            tokio::task::yield_now().await;
        }
        assert!(!pty.is_hidden());
        child.stop().await;
        assert!(child.exit().is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_are_read_without_versions_and_titles() {
        for (name, expected) in [
            ("bash", "bash"),
            ("bash-5.2", "bash"),
            ("ksh93", "ksh"),
            ("tmux: client", "tmux"),
            ("python3.11", "python"),
        ] {
            assert_eq!(plain_name(name), expected);
        }
    }

    /// Input for a program can be for the shell that started the program.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_shell_behind_a_program_is_recognized() {
        for (shell, command, is_shell) in [
            ("bash", "bash --norc --noprofile -i", true),
            ("sh", "sh -i", true),
            ("zsh", "zsh -f -i", false),
            ("tcsh", "tcsh -f -i", false),
        ] {
            if !osier_testing::skip::has(&[shell], "apt install zsh tcsh") {
                continue;
            }
            let mut child = start(&format!("PS1='$ ' exec {command}"));
            let pty = child.pty();
            pty.write_all(b"sleep 600\r").await.unwrap();
            while pty.reader() != (LineReader::ProgramBefore { is_shell }) {
                tokio::task::yield_now().await;
            }
            child.stop().await;
        }
    }

    #[tokio::test]
    async fn shells_of_other_languages_are_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let linked = folder.path().join("bash");
        std::os::unix::fs::symlink("/usr/bin/zsh", &linked).unwrap();
        let linked = format!("{} -f -i", linked.display());
        for (shell, command) in [
            ("zsh", "zsh -f -i"),
            ("zsh", &*linked),
            ("fish", "fish --no-config -i"),
            ("tcsh", "tcsh -f -i"),
        ] {
            if !osier_testing::skip::has(&[shell], "apt install zsh fish tcsh") {
                continue;
            }
            let mut child = start(&format!("exec {command}"));
            let pty = child.pty();
            // bash reads the terminal until it has become the shell.
            while pty.reader() != LineReader::OtherShell {
                tokio::task::yield_now().await;
            }
            child.stop().await;
        }
    }
}
