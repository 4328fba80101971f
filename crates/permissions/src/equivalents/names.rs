//! Programs that run other commands, by their names.

/// Programs that run a command given in their arguments.
const WRAPPERS: &[&str] = &[
    "builtin",
    "bunx",
    "busybox",
    "bwrap",
    "caffeinate",
    "capsh",
    "catchsegv",
    "cgexec",
    "choom",
    "chpst",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "cpulimit",
    "daemonize",
    "dbus-run-session",
    "doas",
    "dotenv",
    "dumb-init",
    "eatmydata",
    "entr",
    "env",
    "exec",
    "fakechroot",
    "fakeroot",
    "faketime",
    "fd",
    "fdfind",
    "find",
    "firejail",
    "flatpak-spawn",
    "flock",
    "gchroot",
    "gdb",
    "genv",
    "gfind",
    "gnice",
    "gnohup",
    "gosu",
    "gpg-agent",
    "gstdbuf",
    "gtimeout",
    "gxargs",
    "heaptrack",
    "hyperfine",
    "i386",
    "ionice",
    "jobs",
    "linux32",
    "linux64",
    "logsave",
    "ltrace",
    "nice",
    "nodemon",
    "nohup",
    "npx",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pipesz",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "rlwrap",
    "run0",
    "runcon",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setlock",
    "setpriv",
    "setsid",
    "sg",
    "softlimit",
    "ssh",
    "ssh-agent",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "su-exec",
    "sudo",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tini",
    "torsocks",
    "toybox",
    "uclampset",
    "unbuffer",
    "unshare",
    "uvx",
    "valgrind",
    "watch",
    "watchexec",
    "x86_64",
    "xargs",
    "xvfb-run",
];
/// Programs with subcommands or options that run a command.
const RUNNERS: &[&str] = &[
    "asdf",
    "awk",
    "bsdtar",
    "bundle",
    "cargo",
    "conda",
    "direnv",
    "docker",
    "doppler",
    "ex",
    "gawk",
    "gdb",
    "gmake",
    "gsed",
    "gtar",
    "kubectl",
    "less",
    "make",
    "mawk",
    "mise",
    "more",
    "nawk",
    "nix",
    "nix-shell",
    "npm",
    "nvim",
    "oc",
    "pipenv",
    "pnpm",
    "podman",
    "poetry",
    "pyenv",
    "rbenv",
    "rsync",
    "script",
    "sed",
    "sqlite3",
    "ssh",
    "tar",
    "tmux",
    "uv",
    "vi",
    "view",
    "vim",
    "watch",
    "yarn",
    "zip",
];
/// Programs that run the text of an argument as a command.
const SHELLS: &[&str] = &[
    "ash", "bash", "dash", "eval", "ksh", "lksh", "mksh", "oksh", "osh", "posh", "rbash", "sh",
    "su", "trap", "yash",
];
/// Shells with another language.
const FOREIGN: &[&str] = &[
    "csh",
    "elvish",
    "es",
    "fish",
    "nu",
    "powershell",
    "pwsh",
    "rc",
    "tcsh",
    "xonsh",
    "zsh",
];

/// The program without its directory.
pub(crate) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// Whether `name` is in `list`, also with a version (`bash5`, `zsh-5.9`, `busybox.static`).
fn is_in(list: &[&str], name: &str) -> bool {
    let end = name.find(|char: char| !char.is_ascii_alphabetic());
    list.contains(&name) || list.contains(&&name[..end.unwrap_or(name.len())])
}

/// Whether `name` runs a command given in its arguments.
pub(crate) fn is_wrapper(name: &str) -> bool {
    runs_arguments(name) || is_shell(name) || is_foreign_shell(name)
}

/// Whether an argument of `name` and those after it can be a command.
pub(super) fn runs_arguments(name: &str) -> bool {
    WRAPPERS.contains(&name)
        || is_in(&["busybox"], name)
        || ["ld-linux", "ld-musl", "ld.so"]
            .iter()
            .any(|loader| name.starts_with(loader))
}

pub(super) fn can_run(name: &str) -> bool {
    RUNNERS.contains(&name)
}

pub(super) fn is_shell(name: &str) -> bool {
    is_in(SHELLS, name)
}

pub(super) fn is_foreign_shell(name: &str) -> bool {
    is_in(FOREIGN, name)
}
