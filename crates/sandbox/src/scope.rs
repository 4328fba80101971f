//! Working directories that make a sandbox cover more than a project.

use std::path::{Path, PathBuf};

use super::backend::SandboxError;
use osier_base::folders::Folders;

/// Directories that belong to the system or to all users.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/local",
    "/var",
    "/var/lib",
    "/var/tmp",
];

/// The kind of a working directory that contains more than a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Home,
    OwnFiles,
    System,
}

impl Scope {
    /// `None` for an ordinary directory.
    pub(super) fn of(cwd: &Path, home: Option<&Path>, folders: Option<&Folders>) -> Option<Self> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if home.is_some_and(|home| real(home).starts_with(cwd)) {
            return Some(Self::Home);
        }
        let mut own = folders.into_iter().flat_map(|all| [&all.config, &all.data]);
        if own.any(|folder| real(folder).starts_with(cwd)) {
            return Some(Self::OwnFiles);
        }
        let is_system = SYSTEM.iter().any(|path| Path::new(path) == cwd);
        is_system.then_some(Self::System)
    }

    pub(super) fn warning(self, cwd: &Path) -> String {
        let contents = match self {
            Self::Home => {
                "your home directory with the start files of your shell and the settings of your programs"
            }
            Self::OwnFiles => "osier's own settings and data",
            Self::System => "files of the system or of other users",
        };
        format!(
            "the sandbox lets commands write to `{}`, which contains {contents}: start osier in the folder of a project, or use `--sandbox read-only`",
            cwd.display()
        )
    }
}

/// Refuses a sandbox that allows writes to `/`, because it would protect nothing.
pub(super) fn refuse_everything<'a>(
    mut paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<(), SandboxError> {
    let is_root = |path: &PathBuf| {
        path.canonicalize()
            .is_ok_and(|path| path.parent().is_none())
    };
    if paths.any(is_root) {
        let reason = "commands could write to `/`, which is everything";
        let advice = "Start osier in the folder of a project, and name only the folders that commands need in `sandbox_write`";
        return Err(SandboxError::new(reason).with_advice(advice));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_contain_more_than_a_project_are_recognized() {
        let folders = Folders {
            config: "/home/ann/.config/osier".into(),
            data: "/data/osier".into(),
            ..Folders::default()
        };
        for (cwd, expected) in [
            ("/home/ann/work", None),
            ("/srv/app", None),
            ("/home/ann", Some(Scope::Home)),
            ("/home", Some(Scope::Home)),
            ("/", Some(Scope::Home)),
            ("/home/ann/.config", Some(Scope::OwnFiles)),
            ("/data/osier", Some(Scope::OwnFiles)),
            // A lane of a fan.
            ("/data/osier/fans/1/a", None),
            ("/etc", Some(Scope::System)),
        ] {
            let found = Scope::of(Path::new(cwd), Some(Path::new("/home/ann")), Some(&folders));
            assert_eq!(found, expected, "{cwd}");
        }
    }

    #[test]
    fn writing_to_everything_is_refused() {
        let paths = [PathBuf::from("/usr"), PathBuf::from("/usr/..")];
        let error = refuse_everything(paths.iter()).unwrap_err();
        assert!(
            error.to_string().contains("Start osier in the folder"),
            "{error}"
        );
        assert_eq!(refuse_everything(paths[..1].iter()), Ok(()));
    }
}
