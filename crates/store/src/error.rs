//! Errors of the session store, with advice for the user.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the session store. `hint` is the advice.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// A verb: `read`, `create`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot create `{}`: {source}; start with `--no-session`, or set `OSIER_HOME` to a directory that osier can write", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("no space left to write `{}`", path.display())]
    DiskFull { path: PathBuf },
    #[error("the session `{}` is open in another process{}", path.display(), process(*pid))]
    Locked { path: PathBuf, pid: Option<u32> },
    #[error("the session `{}` stays open in another process{}: {reason}", path.display(), process(*pid))]
    NotHandedOver {
        path: PathBuf,
        pid: Option<u32>,
        reason: String,
    },
    #[error("`{}` is not a session: {reason}", path.display())]
    NotASession { path: PathBuf, reason: String },
    #[error("no session matches `{query}`{}", near_matches(near))]
    NotFound { query: String, near: Vec<String> },
    #[error("`{query}` matches {} sessions: {}", candidates.len(), shown(candidates))]
    Ambiguous {
        query: String,
        candidates: Vec<String>,
    },
    #[error("no entry `{id}` in this session")]
    UnknownEntry { id: String },
    #[error("the current branch cannot be deleted: go to another branch first")]
    CurrentBranch,
    #[error("this session is not stored: there is nothing to delete")]
    NotStored,
    #[error("the session `{}` is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("the session file `{}` was deleted while it was open", path.display())]
    Removed { path: PathBuf },
    #[error(
        "another program changed the session file `{}` while it was open: it {change}; nothing was written",
        path.display()
    )]
    Changed {
        path: PathBuf,
        /// The change of the file: `was shortened`.
        change: &'static str,
    },
    #[error("the session is closed")]
    Closed,
    #[error("an entry cannot be written as json: {0}")]
    Encode(#[from] serde_json::Error),
}

impl SessionError {
    /// The advice for the user, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::DiskFull { .. } => {
                Some("free some space and continue: stored entries are intact")
            }
            Self::Locked { .. } => Some(
                "take it over with `--take-over`, continue in a copy with `--fork ID`, or read it with `osier sessions show`",
            ),
            Self::ReadOnly { .. } | Self::Removed { .. } | Self::Changed { .. } => {
                Some("continue in a new session with `/clone`")
            }
            Self::NotFound { .. } => Some("list the sessions with `osier sessions`"),
            Self::Ambiguous { .. } => Some("give more digits of the id, or the path of the file"),
            Self::Io { action, source, .. } if *action == "open" => match source.kind() {
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    Some("`osier sessions show` reads it without writing")
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                if action == "create" =>
            {
                Self::Unwritable { path, source }
            }
            _ => Self::Io {
                action,
                path,
                source,
            },
        }
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

fn near_matches(near: &[String]) -> String {
    match near {
        [] => String::new(),
        _ => format!("; similar: {}", shown(near)),
    }
}

/// At most five of `names`, quoted.
fn shown(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(5)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > 5 {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_path_or_id() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let cases = [
            (
                SessionError::io("write", Path::new("/a"), full),
                "no space left to write `/a`",
            ),
            (
                SessionError::Locked {
                    path: "/a".into(),
                    pid: Some(7),
                },
                "the session `/a` is open in another process (process 7)",
            ),
            (
                SessionError::NotFound {
                    query: "ab".into(),
                    near: vec!["abc".into(), "abd".into()],
                },
                "no session matches `ab`; similar: `abc`, `abd`",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(error.to_string(), expected);
            assert!(error.hint().is_some());
        }
    }
}
