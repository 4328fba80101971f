//! Runs git so that a repository cannot run programs. The configuration of a repository can name programs: filters,
//! hooks, a file system monitor, transports. Nobody asked the user whether to trust it, so every setting that names a
//! program is overridden, and no transport is allowed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{Invocation, QuietError, QuietOutput, run_bounded};
use crate::regular_file::{self, ReadError};

/// Time to list the configuration.
const CONFIG_TIME: Duration = Duration::from_secs(10);
/// Maximum bytes of that list.
const CONFIG_BYTES: usize = 4 * 1024 * 1024;

/// Maximum bytes that git allocates: it reads some files of a repository completely, however large.
const MEMORY: u64 = 2 << 30;

/// The files of a repository that git reads completely, without checking whether they are regular.
const FILES: [&str; 13] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "index",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
];

/// The `FILES` whose size grows with the repository.
const LARGE: [&str; 3] = ["index", "packed-refs", "shallow"];

/// Settings that are always overridden.
const NEUTRAL: [(&str, &str); 10] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", "false"),
    ("diff.external", ""),
    ("gc.auto", "0"),
    ("protocol.allow", "never"),
    // Git must not use a directory of the working tree as a repository, even if it looks like one.
    ("safe.bareRepository", "explicit"),
];

/// Settings with a part in the middle that the repository names, such as `filter.NAME.clean`:
/// section, last part and neutral value.
const NAMED: [(&str, &str, &str); 13] = [
    ("filter", "clean", ""),
    ("filter", "smudge", ""),
    ("filter", "process", ""),
    ("filter", "required", "false"),
    ("diff", "command", ""),
    ("diff", "textconv", ""),
    ("merge", "driver", ""),
    ("remote", "promisor", "false"),
    ("remote", "vcs", ""),
    ("remote", "uploadpack", "false"),
    ("credential", "helper", ""),
    ("protocol", "allow", "never"),
    ("hook", "enabled", "false"),
];

const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
];

/// Git in one directory of a repository.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    root: PathBuf,
    /// Overrides of the settings that this repository has.
    overrides: Vec<String>,
}

/// Why git cannot run.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("not a git repository")]
    NoRepository,
    #[error(transparent)]
    Run(#[from] QuietError),
    #[error("{message}")]
    Config { message: String },
}

impl Git {
    /// Reads the configuration of the repository around `folder`. The repository is the nearest directory with `.git`.
    pub async fn open(folder: &Path) -> Result<Self, GitError> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let root = folder.ancestors().find(|above| above.join(".git").exists());
        let root = root.ok_or(GitError::NoRepository)?.to_owned();
        let own = FILES.map(|name| root.join(".git").join(name));
        check_files(own.into_iter().chain(files_of_user()))?;
        let overrides = NEUTRAL.map(|(name, value)| format!("{name}={value}"));
        let mut git = Self {
            folder,
            root,
            overrides: overrides.to_vec(),
        };
        let list = ["config", "--list", "--name-only", "-z"];
        let output = git.run(list, None, CONFIG_BYTES, CONFIG_TIME).await?;
        let complete = output.stdout.len() < CONFIG_BYTES;
        if !output.exit.is_success() || !complete {
            let message = first_line(&output.stderr).unwrap_or("its configuration is too large");
            let message = message.to_owned();
            return Err(GitError::Config { message });
        }
        for name in output.stdout.split(|byte| *byte == 0) {
            git.overrides.extend(neutral(name)?);
        }
        Ok(git)
    }

    /// The directory with `.git`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Runs git with these arguments, with `input` on its stdin, and stores up to `limit` bytes of its output.
    pub async fn run<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: Option<&[u8]>,
        limit: usize,
        timeout: Duration,
    ) -> Result<QuietOutput, QuietError> {
        let overrides = self.overrides.iter().flat_map(|pair| ["-c", pair]);
        let mut words: Vec<OsString> = overrides.map(OsString::from).collect();
        words.push("--no-pager".into());
        words.extend(args.into_iter().map(|word| word.as_ref().to_owned()));
        let mut env: Vec<(OsString, OsString)> = ENVIRONMENT
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec();
        // The repository cannot name another working tree, and none above is used.
        env.push(("GIT_WORK_TREE".into(), self.root.clone().into()));
        let above = self.root.parent().unwrap_or(&self.root);
        env.push(("GIT_CEILING_DIRECTORIES".into(), above.into()));
        let invocation = Invocation {
            cwd: Some(self.folder.clone()),
            env,
            memory: Some(MEMORY),
            ..Invocation::new("git", words)
        };
        run_bounded(&invocation, input, limit, timeout).await
    }
}

/// The settings of the user for all repositories.
fn files_of_user() -> impl Iterator<Item = PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME");
    let config =
        variable("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    [
        variable("GIT_CONFIG_GLOBAL"),
        home.map(|home| home.join(".gitconfig")),
        config.map(|config| config.join("git/config")),
    ]
    .into_iter()
    .flatten()
    .filter(|path| path != Path::new("/dev/null"))
}

/// Fails if git would wait for one of the files, or read it without end.
fn check_files(files: impl Iterator<Item = PathBuf>) -> Result<(), GitError> {
    for path in files {
        let is_large = LARGE.iter().any(|name| path.ends_with(name));
        let limit = if is_large {
            u64::MAX
        } else {
            regular_file::SMALL
        };
        let checked = regular_file::check(&path, limit);
        if let Err(error @ (ReadError::NotRegular | ReadError::TooLarge { .. })) = checked {
            let message = format!("`{}` {error}", path.display());
            return Err(GitError::Config { message });
        }
    }
    Ok(())
}

/// The override of a setting that names a program.
fn neutral(name: &[u8]) -> Result<Option<String>, GitError> {
    let split = |byte: u8| move |other: &u8| *other == byte;
    let (Some(first), Some(last)) = (
        name.iter().position(split(b'.')),
        name.iter().rposition(split(b'.')),
    ) else {
        return Ok(None);
    };
    let section = String::from_utf8_lossy(&name[..first]).to_lowercase();
    let variable = String::from_utf8_lossy(&name[last + 1..]).to_lowercase();
    // All settings of a hook name a program.
    let variable = if section == "hook" {
        "enabled".to_owned()
    } else {
        variable
    };
    let known = NAMED
        .iter()
        .find(|(known, name, _)| *known == section && *name == variable);
    let (Some((_, variable, value)), true) = (known, first < last) else {
        return Ok(None);
    };
    // Git splits an override at the first `=`.
    match std::str::from_utf8(&name[..last]) {
        Ok(start) if !start.contains('=') => Ok(Some(format!("{start}.{variable}={value}"))),
        _ => Err(GitError::Config {
            message: format!(
                "the setting `{}` has an unusual name; rename it",
                String::from_utf8_lossy(name)
            ),
        }),
    }
}

/// The first line of an error of git, without its prefix.
pub fn first_line(stderr: &[u8]) -> Option<&str> {
    let line = stderr.split(|byte| *byte == b'\n');
    let mut lines = line.filter_map(|line| std::str::from_utf8(line).ok());
    let line = lines.find(|line| !line.trim().is_empty())?.trim();
    Some(line.strip_prefix("fatal: ").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn special_file_in_a_repository_is_an_error_before_git_starts() {
        let place = tempfile::tempdir().unwrap();
        let git = place.path().join(".git");
        for name in FILES {
            let path = git.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            let error = Git::open(place.path()).await.unwrap_err().to_string();
            let path = place.path().canonicalize().unwrap().join(".git").join(name);
            let expected = format!("`{}` is not a regular file", path.display());
            assert_eq!(error, expected);
            std::fs::remove_file(&path).unwrap();
            let file = std::fs::File::create(&path).unwrap();
            file.set_len(1 << 30).unwrap();
            let opened = Git::open(place.path()).await;
            let is_too_large =
                opened.is_err_and(|error| error.to_string().contains("has more than"));
            assert_eq!(is_too_large, !LARGE.contains(&name), "{name}");
            std::fs::remove_dir_all(&git).unwrap();
        }
    }

    #[test]
    fn settings_that_name_programs_are_overridden() {
        for (name, expected) in [
            ("filter.x.clean", Some("filter.x.clean=")),
            ("filter.a b.c.required", Some("filter.a b.c.required=false")),
            ("diff.x.textconv", Some("diff.x.textconv=")),
            ("hook.x.command", Some("hook.x.enabled=false")),
            (
                "remote.origin.promisor",
                Some("remote.origin.promisor=false"),
            ),
            ("core.bare", None),
            ("diff.external", None),
            ("", None),
        ] {
            let found = neutral(name.as_bytes()).unwrap();
            assert_eq!(found.as_deref(), expected, "{name}");
        }
        assert!(neutral(b"filter.a=b.clean").is_err());
        assert!(neutral(b"filter.\xff.clean").is_err());
    }
}
