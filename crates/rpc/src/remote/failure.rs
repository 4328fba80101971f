//! Why a server cannot be joined: the reason, the cause and the next step of each kind of failure.

use std::fmt;

use osier_base::text::{sanitize, single_line, tail_bytes};

/// Longest cause that is shown, in bytes.
const MAX_CAUSE: usize = 300;

/// Why a session on a server cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectError {
    pub(super) kind: FailureKind,
    target: String,
    /// The error message of ssh, the system or the server; may be empty.
    cause: String,
}

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    NotRunning,
    Unreachable,
    Stopping,
    TooMany,
    UnknownHost,
    SshKey,
    HostKey,
    NoSsh,
    NoProgram,
    Crashed,
    Certificate,
    Unproven,
    WrongToken,
    Rejected,
    NotOsier,
    OtherVersion,
    NoDirectory,
    UnknownSession,
    NotOpened,
}

/// When to connect again after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    Always,
    /// Only if the session was joined before: then the address is right, and what is missing can return: a network, the key
    /// of a laptop that wakes, a program that is being updated.
    AfterJoin,
    Never,
}

use FailureKind as F;
use Retry::{AfterJoin, Always, Never};

/// Every kind: its reason, the next step for the user, and whether a retry can help. `HOST` is replaced.
const KINDS: &[(FailureKind, &str, &str, Retry)] = &[
    (
        F::NotRunning,
        "no server listens on this address",
        "start it with `osier serve`",
        Always,
    ),
    (
        F::Unreachable,
        "the server cannot be reached",
        "check the network and the address",
        Always,
    ),
    (
        F::Stopping,
        "the server is stopping",
        "start it again",
        Always,
    ),
    (
        F::TooMany,
        "the server has too many requests or connections",
        "wait a moment",
        Always,
    ),
    (
        F::UnknownHost,
        "the host name is unknown",
        "check the name in the address, or add it to `~/.ssh/config`",
        AfterJoin,
    ),
    (
        F::SshKey,
        "ssh has no key that the host accepts",
        "load the key with `ssh-add`, then test it with `ssh HOST`",
        AfterJoin,
    ),
    (
        F::HostKey,
        "ssh does not trust the key of the host",
        "run `ssh HOST` in a terminal and check the key",
        Never,
    ),
    (
        F::NoSsh,
        "ssh cannot be started",
        "install ssh, or name the command with `--ssh`",
        AfterJoin,
    ),
    (
        F::NoProgram,
        "there is no osier on that machine",
        "install it there, or name its path with `--program`",
        AfterJoin,
    ),
    (
        F::Crashed,
        "osier ended with an error on that machine",
        "run `osier doctor` on that machine",
        AfterJoin,
    ),
    (
        F::Certificate,
        "the certificate of the server is not trusted",
        "use the name in the certificate, or add its issuer with the setting `ca_file`",
        Never,
    ),
    (
        F::Unproven,
        "the token was not sent, because this may be another server",
        "use the complete address that `osier serve` prints, or `--token-file`",
        Never,
    ),
    (
        F::WrongToken,
        "the server rejects the token",
        "use the complete address that `osier serve` prints, or `--token-file`",
        Never,
    ),
    (
        F::Rejected,
        "the server rejects the connection",
        "change what the cause names",
        Never,
    ),
    (
        F::NotOsier,
        "no osier server answers at this address",
        "check the host and the port",
        AfterJoin,
    ),
    (
        F::OtherVersion,
        "the server runs another version of osier",
        "install the same version on both machines, then restart the server",
        AfterJoin,
    ),
    (
        F::NoDirectory,
        "the directory cannot be used on the server",
        "name another one in the address or with `--dir`",
        Never,
    ),
    (
        F::UnknownSession,
        "the session does not exist on the server",
        "join without `--session`, then choose from the list",
        Never,
    ),
    (
        F::NotOpened,
        "the server cannot open the session",
        "start another one with `--new`",
        Never,
    ),
];

/// Messages of ssh, shells and osier on the other machine, and their meaning. The first match counts.
const SSH_MESSAGES: &[(&str, FailureKind)] = &[
    ("could not resolve hostname", F::UnknownHost),
    ("host key verification failed", F::HostKey),
    ("remote host identification has changed", F::HostKey),
    ("permission denied", F::SshKey),
    ("too many authentication failures", F::SshKey),
    ("no server runs on this machine", F::NotRunning),
    ("unknown argument `--connect`", F::OtherVersion),
    ("unknown argument `--request`", F::OtherVersion),
    ("osier: internal error", F::Crashed),
    ("segmentation fault", F::Crashed),
    ("illegal instruction", F::Crashed),
    ("core dumped", F::Crashed),
    ("killed  ", F::Crashed),
    ("command not found", F::NoProgram),
    ("unknown command", F::NoProgram),
    (": not found", F::NoProgram),
    ("no such file or directory", F::NoProgram),
];

/// Error codes of the server, and what they mean.
const CODES: &[(&str, FailureKind)] = &[
    ("unauthorized", F::WrongToken),
    ("rate_limited", F::TooMany),
    ("unsupported_protocol", F::OtherVersion),
    ("no_directory", F::NoDirectory),
    ("unknown_session", F::UnknownSession),
    ("unavailable", F::NotOpened),
    ("malformed", F::NotOpened),
    ("shutting_down", F::Stopping),
];

impl ConnectError {
    pub(super) fn new(kind: FailureKind, target: impl fmt::Display, cause: &str) -> Self {
        let cause = single_line(&sanitize(cause.trim()));
        Self {
            kind,
            target: target.to_string(),
            cause: tail_bytes(&cause, MAX_CAUSE).to_owned(),
        }
    }

    /// From the messages of ssh and the other machine before the connection ended.
    pub(super) fn of_ssh(target: impl fmt::Display, stderr: &str) -> Self {
        let text = stderr.to_lowercase();
        let found = SSH_MESSAGES.iter().find(|(part, _)| text.contains(part));
        Self::new(found.map_or(F::Unreachable, |row| row.1), target, stderr)
    }

    /// From an error of the server.
    pub(super) fn of_code(target: impl fmt::Display, code: &str, message: &str) -> Self {
        let found = CODES.iter().find(|(name, _)| *name == code);
        Self::new(found.map_or(F::Rejected, |row| row.1), target, message)
    }

    /// Whether a retry can help.
    pub(super) fn can_retry(&self, has_joined: bool) -> bool {
        match self.row().3 {
            Always => true,
            AfterJoin => has_joined,
            Never => false,
        }
    }

    /// Whether the connection returns only if the user does something.
    pub(super) fn needs_user(&self) -> bool {
        self.row().3 != Always && self.kind != F::UnknownHost
    }

    /// The reason in a few words.
    pub fn reason(&self) -> &'static str {
        self.row().1
    }

    /// The reason, the cause and the next step, a line each.
    pub(super) fn screen(&self, retries: bool) -> String {
        let mut lines = vec![format!("Cannot join `{}`: {}", self.target, self.reason())];
        if !self.cause.is_empty() {
            lines.push(format!("Cause: {}", self.cause));
        }
        lines.push(format!("Next step: {}", self.next_step()));
        let end = if retries {
            "osier connects as soon as it can, and tries at once when you type. Leave with ctrl+d"
        } else {
            "osier does not try again. Leave with ctrl+d"
        };
        lines.push(end.to_owned());
        lines.join("\n")
    }

    fn next_step(&self) -> String {
        if let (F::NotRunning, Some(path)) = (self.kind, self.target.strip_prefix("unix:")) {
            return format!("start it with `osier serve --unix {path}`");
        }
        let host = self.target.strip_prefix("ssh://").unwrap_or_default();
        let host = host.split(['/', ':']).next().unwrap_or_default();
        self.row().2.replace("HOST", host)
    }

    fn row(&self) -> &'static (FailureKind, &'static str, &'static str, Retry) {
        let row = KINDS.iter().find(|row| row.0 == self.kind);
        // A test checks that every kind has a row.
        row.unwrap_or(&KINDS[1])
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "cannot join `{}`: {}",
            self.target,
            self.reason()
        )?;
        if !self.cause.is_empty() {
            write!(formatter, " ({})", self.cause)?;
        }
        write!(formatter, "; {}", self.next_step())
    }
}

impl std::error::Error for ConnectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_row() {
        let mut kinds: Vec<usize> = KINDS.iter().map(|row| row.0 as usize).collect();
        kinds.sort_unstable();
        let all: Vec<usize> = (0..=F::NotOpened as usize).collect();
        assert_eq!(kinds, all);
    }

    #[test]
    fn messages_of_ssh_name_the_failure() {
        for (stderr, kind) in [
            (
                "ssh: Could not resolve hostname nobody: Name or service not known",
                F::UnknownHost,
            ),
            ("me@box: Permission denied (publickey).", F::SshKey),
            (
                "No ED25519 host key is known for box.\nHost key verification failed.",
                F::HostKey,
            ),
            ("bash: line 1: osier: command not found", F::NoProgram),
            ("sh: 1: osier: not found", F::NoProgram),
            ("zsh:1: command not found: osier", F::NoProgram),
            ("fish: Unknown command: osier", F::NoProgram),
            ("env: '/opt/osier': No such file or directory", F::NoProgram),
            (
                "error: unknown argument `--connect`; see `osier rpc --help`",
                F::OtherVersion,
            ),
            ("error: no server runs on this machine", F::NotRunning),
            (
                "osier: internal error: panicked at src/main.rs:1:1:\nno such file or directory",
                F::Crashed,
            ),
            (
                "bash: line 1:  77 Segmentation fault      osier rpc --connect",
                F::Crashed,
            ),
            ("zsh: killed     osier rpc --connect", F::Crashed),
            (
                "ssh: connect to host box port 22: Connection refused",
                F::Unreachable,
            ),
            ("", F::Unreachable),
        ] {
            assert_eq!(
                ConnectError::of_ssh("ssh://box", stderr).kind,
                kind,
                "{stderr}"
            );
        }
    }

    #[test]
    fn only_failures_that_pass_are_retried() {
        let retries = |kind, joined| ConnectError::new(kind, "t", "").can_retry(joined);
        assert!(retries(F::NotRunning, false) && retries(F::Unreachable, false));
        for kind in [F::UnknownHost, F::SshKey, F::NoProgram, F::OtherVersion] {
            assert!(!retries(kind, false) && retries(kind, true), "{kind:?}");
        }
        // Further tries lock a user out, or show a secret to a stranger.
        for kind in [F::HostKey, F::WrongToken, F::Unproven, F::NoDirectory] {
            assert!(!retries(kind, true), "{kind:?}");
        }
    }

    #[test]
    fn a_screen_has_the_reason_the_cause_and_the_next_step() {
        let error = ConnectError::of_ssh("ssh://me@box:22/work", "sh: 1: osier: not found\n");
        assert_eq!(
            error.screen(false),
            "Cannot join `ssh://me@box:22/work`: there is no osier on that machine\n\
             Cause: sh: 1: osier: not found\n\
             Next step: install it there, or name its path with `--program`\n\
             osier does not try again. Leave with ctrl+d"
        );
        let error = ConnectError::of_ssh("ssh://me@box", "Permission denied (publickey).");
        assert_eq!(
            error.to_string(),
            "cannot join `ssh://me@box`: ssh has no key that the host accepts (Permission denied (publickey).); \
             load the key with `ssh-add`, then test it with `ssh me@box`"
        );
        let error = ConnectError::new(F::NotRunning, "unix:/run/a.sock", "");
        assert_eq!(
            error.to_string(),
            "cannot join `unix:/run/a.sock`: no server listens on this address; \
             start it with `osier serve --unix /run/a.sock`"
        );
    }
}
