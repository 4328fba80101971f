//! Variables that hooks of `SessionStart` leave for the commands of the session, in the file `CLAUDE_ENV_FILE`.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use osier_base::process::{Invocation, run_captured};
use osier_base::{atomic_file, path, regular_file};
use osier_permissions::trust::selects_code;
use tempfile::{NamedTempFile, TempPath};

use super::config::Handler;

/// The variables of `CLAUDE_ENV_FILE`, and its problems.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Left {
    /// The variables that are set or changed.
    pub variables: Vec<(OsString, OsString)>,
    /// The names of others, whose values choose code that the model can change.
    pub refused: Vec<String>,
    /// The first message of the shell about the file.
    pub problem: Option<String>,
}

/// Prints all variables, an empty one, and all variables after the file has run, also if the file ends the shell.
const PRINT: &str =
    r#"exec 3>&1 >/dev/null; env -0 >&3; printf '\0' >&3; set -a; trap 'env -0 >&3' EXIT; . "$1""#;
/// Time of the file.
const LIMIT: Duration = Duration::from_secs(10);
/// Bytes of the file.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Starts of names whose values name code, settings or commands in words of any form.
#[rustfmt::skip]
const STRICT_STARTS: &[&str] = &[
    "LD_", "DYLD_", "GIT_", "BASH_ENV", "LESSOPEN", "LESSCLOSE", "MAKEFILES", "MAKEFLAGS", "PROMPT_COMMAND", "SSH_ASKPASS", "VISUAL",
    "BROWSER", "GOROOT", "DOTNET_STARTUP_HOOKS", "OPENSSL_CONF", "OPENSSL_ENGINES", "INPUTRC", "KUBECONFIG", "DOCKER_CONFIG",
    "WGETRC", "PHPRC", "PHP_INI_SCAN_DIR", "ERL_LIBS", "VIRTUAL_ENV", "CONDA_PREFIX", "PIP_CONFIG_FILE", "XDG_CONFIG_HOME",
    "ZDOTDIR", "R_PROFILE", "PYTHONSTARTUP",
];
/// The same for ends of names.
#[rustfmt::skip]
const STRICT_ENDS: &[&str] = &[
    "PATH", "OPT", "OPTS", "OPTIONS", "FLAGS", "LIB", "LIBPATH", "HOME", "PRELOAD", "EDITOR", "PAGER", "SHELL", "_WRAPPER", "ENV",
];
/// Ends of names whose value begins with a program, which `PATH` finds.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &["EDITOR", "VISUAL", "PAGER", "SHELL", "BROWSER", "_WRAPPER"];
/// Starts of names with a text.
#[rustfmt::skip]
const FREE: &[&str] = &[
    "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "NODE_ENV", "RAILS_ENV", "APP_ENV",
];
/// Variables that each shell sets for itself.
const OF_SHELL: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

/// An empty file for the variables, if a program among the hooks can write to it.
pub(super) fn file(hooks: &[Arc<Handler>]) -> Option<TempPath> {
    let writes = hooks.iter().any(|hook| hook.is_program());
    let file = writes.then(NamedTempFile::new)?.ok()?;
    Some(file.into_temp_path())
}

/// Reads `file`, whose commands run in `cwd`. `root` is the root of the project.
///
/// # Errors
/// The shell cannot start or does not end, in one line.
pub(super) async fn read(file: &Path, cwd: &Path, root: &Path) -> Result<Left, String> {
    let text = regular_file::read(file, LARGEST).map_err(|error| error.to_string())?;
    if text.is_empty() {
        return Ok(Left::default());
    }
    // Editors of other systems end lines with two characters, and the first would become a part of each value.
    let plain = String::from_utf8_lossy(&text).replace("\r\n", "\n");
    let copy = NamedTempFile::new().map_err(|error| error.to_string())?;
    atomic_file::write(copy.path(), plain.as_bytes()).map_err(|error| error.to_string())?;
    let words = [
        OsStr::new("-c"),
        OsStr::new(PRINT),
        OsStr::new("sh"),
        copy.path().as_os_str(),
    ];
    let invocation = Invocation {
        cwd: Some(cwd.to_owned()),
        ..Invocation::new("sh", words)
    };
    let ran = run_captured(&invocation, None, LIMIT).await;
    let output = ran.map_err(|error| error.to_string())?;
    let mut printed = output.stdout.split(|byte| *byte == 0);
    let before: HashSet<&[u8]> = printed
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
    let (refused, variables): (Vec<_>, Vec<_>) =
        variables.partition(|(name, value)| is_of_project(name, value, cwd, root));
    let names = refused.into_iter();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = told.lines().find(|line| !line.trim().is_empty());
    let place = copy.path().to_string_lossy().into_owned();
    Ok(Left {
        variables,
        refused: names
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect(),
        problem: told.map(|line| line.replace(&place, "CLAUDE_ENV_FILE")),
    })
}

/// Whether the value chooses code that the model can change: in the project at `root`, or in a directory for temporary
/// files. What is not known to be something else counts.
fn is_of_project(name: &OsStr, value: &OsStr, cwd: &Path, root: &Path) -> bool {
    let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
    let has =
        |words: &[&str], fits: fn(&str, &str) -> bool| words.iter().any(|word| fits(&name, word));
    let is_strict = has(STRICT_STARTS, |name, start| name.starts_with(start))
        || has(STRICT_ENDS, |name, end| name.ends_with(end));
    if has(FREE, |name, start| name.starts_with(start)) || !(is_strict || selects_code(&name)) {
        return false;
    }
    let has_empty_entry = name.ends_with("PATH") && value.split(':').any(str::is_empty);
    let names_programs = has(PROGRAMS, |name, end| name.ends_with(end));
    let parts = value.split(|char: char| char.is_whitespace() || ":=,;\"'".contains(char));
    let mut parts = parts.filter(|part| !part.is_empty()).enumerate();
    has_empty_entry
        || parts.any(|(place, part)| {
            if part.starts_with('/') || part.contains('/') || part.starts_with('.') {
                return is_writable(&path::resolve(cwd, part), root);
            }
            let is_program = names_programs && place == 0;
            is_strict && !is_program && !is_plain(part) || cwd.join(part).exists()
        })
}

/// Whether the model can write the file, or a link on the way leads to such a place.
fn is_writable(file: &Path, root: &Path) -> bool {
    let real = file
        .ancestors()
        .find_map(|part| Some((part.canonicalize().ok()?, file.strip_prefix(part).ok()?)));
    let real = real.map(|(start, rest)| start.join(rest));
    let places = [
        Path::new("/tmp"),
        Path::new("/var/tmp"),
        Path::new("/dev/shm"),
    ];
    let is_inside = |file: &Path| {
        file.starts_with(root)
            || file.starts_with(std::env::temp_dir())
            || file.starts_with("/proc")
            || places.iter().any(|place| file.starts_with(place))
    };
    is_inside(file) || real.is_none_or(|real| is_inside(&real))
}

/// A number, a word for yes or no, or a long option: none of them names a file.
fn is_plain(word: &str) -> bool {
    let number = word.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let is_number = !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && word.len() - number.len() <= 1;
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let memory = ["-Xmx", "-Xms", "-Xss"];
    is_number
        || matches!(word, "true" | "false" | "yes" | "no" | "on" | "off")
        || word.strip_prefix("--").is_some_and(is_name)
        || memory.iter().any(|start| {
            word.strip_prefix(start).is_some_and(|size| {
                is_plain(size) && size.starts_with(|char: char| char.is_ascii_digit())
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    async fn left(text: &str) -> Left {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut left = read(file.path(), Path::new("/"), Path::new("/work"))
            .await
            .unwrap();
        left.variables.sort();
        left
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let pair = |(name, value): &(&str, &str)| (name.into(), value.into());
        pairs.iter().map(pair).collect()
    }

    #[tokio::test]
    async fn exports_and_changes_are_read() {
        assert_eq!(left("").await, Left::default());
        let found = left("export A='b c'\r\nB=$A\necho noise\nexport HOME=$HOME\n").await;
        let variables = pairs(&[("A", "b c"), ("B", "b c")]);
        let expected = Left {
            variables,
            ..Left::default()
        };
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn odd_lines_are_named_and_the_others_count() {
        let found = left("export A=1\nno-such-command\nexport B=2\n").await;
        assert_eq!(found.variables, pairs(&[("A", "1"), ("B", "2")]));
        assert!(found.problem.unwrap().contains("no-such-command"));
        for end in [
            "exit 0\nexport B=2\n",
            "return 0\nexport B=2\n",
            "[ -f /none ] && B=2\n",
        ] {
            let found = left(&format!("export A=1\n{end}")).await;
            let variables = pairs(&[("A", "1")]);
            let expected = Left {
                variables,
                ..Left::default()
            };
            assert_eq!(found, expected, "{end}");
        }
    }

    #[test]
    fn variables_that_choose_code_that_the_model_can_write_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&root, root.join("link")).unwrap();
        for (name, value, expected) in [
            ("PATH", "/opt/node/bin:/usr/bin", false),
            ("PATH", "ROOT/.venv/bin:/usr/bin", true),
            ("PATH", "node_modules/.bin:/usr/bin", true),
            ("PATH", "bin:/usr/bin", true),
            ("PATH", "/usr/bin:", true),
            ("PATH", "/opt/../ROOT/bin", true),
            ("PATH", "ROOT/link/bin", true),
            ("PATH", "/proc/self/cwd/bin", true),
            ("PATH", "/tmp/evil:/usr/bin", true),
            ("BASH_ENV", "ROOT/env.sh", true),
            ("BASH_ENV", "setup.sh", true),
            ("ENV", "setup.sh", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("NODE_OPTIONS", "--require ./hook.js", true),
            ("NODE_OPTIONS", "--require evil", true),
            ("JAVA_TOOL_OPTIONS", "-Xmx2g", false),
            ("JAVA_TOOL_OPTIONS", "-javaagent:agent.jar", true),
            ("PERL5OPT", "-MEvil", true),
            ("RUBYOPT", "-revil", true),
            ("PYTHONPATH", "src", true),
            ("LD_PRELOAD", "/usr/lib/x.so", false),
            ("LD_PRELOAD", "/usr/lib/a.so;ROOT/evil.so", true),
            ("LD_PRELOAD", "/usr/lib/a.so\nROOT/evil.so", true),
            ("GIT_EXTERNAL_DIFF", "sh evil.sh", true),
            ("GIT_CONFIG_VALUE_0", "!sh evil.sh", true),
            ("GIT_AUTHOR_NAME", "Jane Doe", false),
            ("LESSOPEN", "|sh evil.sh %s", true),
            ("MAKEFLAGS", "-j8", true),
            ("EDITOR", "code --wait", false),
            ("EDITOR", "sh evil.sh", true),
            ("CARGO_TERM_COLOR", "always", false),
            ("RUST_TEST_THREADS", "1", false),
            ("DATABASE", "ROOT/data.db", false),
        ] {
            let value = value.replace("ROOT", root.to_str().unwrap());
            let found = is_of_project(OsStr::new(name), OsStr::new(&value), &root, &root);
            assert_eq!(found, expected, "{name}={value}");
        }
    }
}
