//! Variables that hooks of `SessionStart` leave for the commands of the session, in the file `CLAUDE_ENV_FILE`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use osier_base::process::{Invocation, run_captured};
use osier_permissions::trust::selects_code;
use tempfile::{NamedTempFile, TempPath};

use super::config::Handler;

type Variables = Vec<(OsString, OsString)>;

/// Prints all variables, an empty one, and all variables after the file has run.
const PRINT: &str = r#"env -0; printf '\0'; set -a; . "$1" >&2 && env -0"#;
/// Time of the file.
const LIMIT: Duration = Duration::from_secs(10);
/// Variables that each shell sets for itself.
const OF_SHELL: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

/// An empty file for the variables, if a program among the hooks can write to it.
pub(super) fn file(hooks: &[Arc<Handler>]) -> Option<TempPath> {
    let writes = hooks.iter().any(|hook| hook.is_program());
    let file = writes.then(NamedTempFile::new)?.ok()?;
    Some(file.into_temp_path())
}

/// The variables that `file` sets or changes, and the names of those that choose code of the project at `root`: the model
/// could change the code.
///
/// # Errors
/// Its commands failed, in one line.
pub(super) async fn read(
    file: &Path,
    cwd: &Path,
    root: &Path,
) -> Result<(Variables, Vec<String>), String> {
    if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        return Ok((Vec::new(), Vec::new()));
    }
    let words = [
        OsStr::new("-c"),
        OsStr::new(PRINT),
        OsStr::new("sh"),
        file.as_os_str(),
    ];
    let invocation = Invocation {
        cwd: Some(cwd.to_owned()),
        ..Invocation::new("sh", words)
    };
    let ran = run_captured(&invocation, None, LIMIT).await;
    let output = ran.map_err(|error| error.to_string())?;
    if !output.exit.is_success() {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = told.lines().last().unwrap_or("its commands failed");
        return Err(last.to_owned());
    }
    let mut printed = output.stdout.split(|byte| *byte == 0);
    let before: Vec<&[u8]> = printed
        .by_ref()
        .take_while(|line| !line.is_empty())
        .collect();
    let changed = printed.filter(|line| !before.contains(line));
    let variables = changed.filter_map(|line| {
        let end = line.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (
            OsStr::from_bytes(&line[..end]),
            OsStr::from_bytes(&line[end + 1..]),
        );
        let is_own = OF_SHELL.iter().any(|own| name == *own);
        (!is_own).then(|| (name.to_owned(), value.to_owned()))
    });
    let (refused, set): (Variables, Variables) =
        variables.partition(|(name, value)| is_of_project(name, value, root));
    let names = refused.into_iter();
    let names = names.map(|(name, _)| name.to_string_lossy().into_owned());
    Ok((set, names.collect()))
}

/// Whether the variable chooses code of the project at `root`.
fn is_of_project(name: &OsStr, value: &OsStr, root: &Path) -> bool {
    let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
    let mut parts = value.split([':', ' ', '=', ',']);
    selects_code(&name)
        && parts.any(|part| {
            let path = Path::new(part);
            let is_relative = !path.is_absolute() && (part.contains('/') || part.starts_with('.'));
            let is_here = part.is_empty() && name == "PATH";
            is_relative || is_here || path.starts_with(root)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn root_of_system() -> &'static Path {
        Path::new("/")
    }

    #[tokio::test]
    async fn exports_and_changes_are_read() {
        let mut file = NamedTempFile::new().unwrap();
        let root = Path::new("/work");
        let nothing = Ok((Vec::new(), Vec::new()));
        assert_eq!(read(file.path(), root_of_system(), root).await, nothing);
        file.write_all(b"export A='b c'\nB=$A\necho noise\nexport HOME=$HOME\n")
            .unwrap();
        let pair = |name: &str, value: &str| (name.into(), value.into());
        let (mut found, refused) = read(file.path(), root_of_system(), root).await.unwrap();
        found.sort();
        assert_eq!(found, [pair("A", "b c"), pair("B", "b c")]);
        assert_eq!(refused, Vec::<String>::new());
        file.write_all(b"no-such-command\n").unwrap();
        assert!(read(file.path(), root_of_system(), root).await.is_err());
    }

    #[test]
    fn variables_that_choose_code_of_the_project_are_refused() {
        for (name, value, expected) in [
            ("PATH", "/opt/node/bin:/usr/bin", false),
            ("PATH", "/work/.venv/bin:/usr/bin", true),
            ("PATH", "node_modules/.bin:/usr/bin", true),
            ("PATH", "/usr/bin:", true),
            ("BASH_ENV", "/work/env.sh", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("NODE_OPTIONS", "--require ./hook.js", true),
            ("LD_PRELOAD", "/usr/lib/x.so", false),
            ("DATABASE", "/work/data.db", false),
        ] {
            let found = is_of_project(OsStr::new(name), OsStr::new(value), Path::new("/work"));
            assert_eq!(found, expected, "{name}={value}");
        }
    }
}
