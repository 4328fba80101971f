//! Variables that hooks of `SessionStart` leave for the commands of the session, in the file `CLAUDE_ENV_FILE`.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_base::process::{Invocation, run_captured};
use osier_base::{atomic_file, path, real_path, regular_file};
use osier_permissions::trust::selects_code;
use tempfile::{NamedTempFile, TempPath};

use super::config::Handler;

/// The variables of `CLAUDE_ENV_FILE`, and its problems.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Left {
    /// The variables that are set or changed.
    pub variables: Vec<(OsString, OsString)>,
    /// The names of refused variables: their values choose code that the model can change.
    pub refused: Vec<String>,
    /// The first message of the shell about the file.
    pub problem: Option<String>,
}

/// A shell script that prints all variables, an empty one, and all variables after the file has
/// run, even if the file ends the shell.
const PRINT: &str =
    r#"exec 3>&1 >/dev/null; env -0 >&3; printf '\0' >&3; set -a; trap 'env -0 >&3' EXIT; . "$1""#;
/// The problem of a file that ends the shell in a way that skips the trap, such as with `exec`.
const LOST: &str =
    "CLAUDE_ENV_FILE ended its shell before the variables could be read: no variable is set";
/// Time limit of the file.
const LIMIT: Duration = Duration::from_secs(10);
/// Maximum bytes of the file.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Prefixes of variables that choose a repository or settings of git. Commands could not work with
/// others.
const OF_GIT: &[&str] = &[
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
];
/// Variables whose values can name code in any form: each word counts as code unless it is known to
/// be something else.
#[rustfmt::skip]
const CODE: &[&str] = &[
    "PATH", "BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "PYTHONPATH",
    "PYTHONHOME", "PYTHONSTARTUP", "PERL5LIB", "PERL5OPT", "PERL5DB", "RUBYLIB", "RUBYOPT", "NODE_PATH", "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "LUA_INIT", "LESSOPEN", "LESSCLOSE", "PROMPT_COMMAND",
    "GOCACHEPROG", "npm_config_node_options",
];
/// Suffixes of variables whose value begins with a program that `PATH` finds.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "EDITOR", "VISUAL", "PAGER", "SHELL", "BROWSER", "_WRAPPER", "ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND", "SVN_SSH", "RUSTC", "CC", "CXX",
];
/// Variables with files or folders of settings that can name code, besides those that
/// `selects_code` knows.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    "MAKEFILES", "DOTNET_STARTUP_HOOKS", "OPENSSL_ENGINES", "DOCKER_CONFIG", "ERL_LIBS", "VIRTUAL_ENV", "CONDA_PREFIX",
    "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "ZDOTDIR", "NVM_DIR", "PYENV_ROOT", "VIMINIT", "FLASK_APP", "PYTEST_PLUGINS",
    "CLAUDE_CONFIG_DIR", "GH_CONFIG_DIR", "ENV",
];
/// Names of variables whose value is a file or a folder, even without a slash and before it exists.
#[rustfmt::skip]
const FILES: &[&str] = &[
    "BUNDLE_GEMFILE", "UV_CONFIG_FILE", "PYTHONUSERBASE", "npm_config_userconfig", "npm_config_globalconfig", "npm_config_prefix",
    "HELM_PLUGINS", "ANSIBLE_CONFIG", "AWS_CONFIG_FILE", "KUBECONFIG", "OPENSSL_CONF", "INPUTRC", "WGETRC", "PSQLRC", "IRBRC",
    "CMAKE_TOOLCHAIN_FILE", "R_PROFILE_USER", "R_ENVIRON_USER", "PIP_CONFIG_FILE",
];
/// Prefixes of variables whose value is a text or an output folder, not code.
#[rustfmt::skip]
const FREE: &[&str] = &[
    "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_BRANCH", "GIT_COMMIT", "GIT_SHA", "GOOGLE_",
    "GOPRIVATE", "GOPROXY", "GOCACHE", "CARGO_TARGET_DIR", "NODE_EXTRA_CA_CERTS", "MANPATH", "INFOPATH",
];
/// Variables that each shell sets for itself.
const OF_SHELL: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

/// An empty file for the variables, if a program among the hooks can write to it.
pub(super) fn file(hooks: &[Arc<Handler>]) -> Option<TempPath> {
    let writes = hooks.iter().any(|hook| hook.is_program());
    let file = writes.then(NamedTempFile::new)?.ok()?;
    Some(file.into_temp_path())
}

/// Reads `file`, whose commands run in `cwd`. The model can write in `folders`.
///
/// # Errors
/// The shell cannot start or does not end, in one line.
pub(super) async fn read(file: &Path, cwd: &Path, folders: &[PathBuf]) -> Result<Left, String> {
    let text = regular_file::read(file, LARGEST).map_err(|error| error.to_string())?;
    if text.is_empty() {
        return Ok(Left::default());
    }
    // Editors of other systems end lines with two characters, and the first would become a part of each value.
    let plain = String::from_utf8_lossy(&text).replace("\r\n", "\n");
    let copy = NamedTempFile::new().map_err(|error| error.to_string())?;
    atomic_file::write(copy.path(), plain.as_bytes()).map_err(|error| error.to_string())?;
    // The file is written for bash, as for Claude Code.
    let has_bash = ["/bin/bash", "/usr/bin/bash"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let shell = has_bash.unwrap_or("sh");
    let words = [
        OsStr::new("-c"),
        OsStr::new(PRINT),
        OsStr::new("sh"),
        copy.path().as_os_str(),
    ];
    let invocation = Invocation {
        cwd: Some(cwd.to_owned()),
        ..Invocation::new(shell, words)
    };
    let ran = run_captured(&invocation, None, LIMIT).await;
    let output = ran.map_err(|error| error.to_string())?;
    let mut printed = output.stdout.split(|byte| *byte == 0);
    let before: HashSet<&[u8]> = printed
        .by_ref()
        .take_while(|line| !line.is_empty())
        .collect();
    let after: Vec<&[u8]> = printed.filter(|line| !line.is_empty()).collect();
    let is_lost = after.is_empty();
    let changed = after.into_iter().filter(|line| !before.contains(line));
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
        variables.partition(|(name, value)| is_of_project(name, value, cwd, folders));
    let names = refused.into_iter();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let place = copy.path().to_string_lossy().into_owned();
    // All other lines are messages of programs.
    let is_error = |line: &&str| line.contains(&place) || line.starts_with("sh: ");
    let told = told.lines().find(is_error);
    Ok(Left {
        variables,
        refused: names
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect(),
        problem: told
            .map(|line| line.replace(&place, "CLAUDE_ENV_FILE"))
            .or_else(|| is_lost.then(|| LOST.to_owned())),
    })
}

/// Whether the value chooses code that the model can change: in `folders`, or in a directory for temporary files.
fn is_of_project(name: &OsStr, value: &OsStr, cwd: &Path, folders: &[PathBuf]) -> bool {
    let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
    let is_code = CODE.contains(&&*name);
    let names_programs = PROGRAMS.iter().any(|end| name.ends_with(end));
    let is_file = FILES.contains(&&*name);
    let is_known =
        is_code || names_programs || is_file || SETTINGS.contains(&&*name) || selects_code(&name);
    let is_free = !is_code && FREE.iter().any(|start| name.starts_with(start));
    if is_free || !is_known {
        return false;
    }
    if OF_GIT.iter().any(|start| name.starts_with(start)) {
        return true;
    }
    let has_empty_entry = is_code && name.ends_with("PATH") && value.split(':').any(str::is_empty);
    let parts = value.split(|char: char| char.is_whitespace() || ":=,;|!\"'".contains(char));
    let mut parts = parts.filter(|part| !part.is_empty()).enumerate();
    has_empty_entry
        || parts.any(|(place, part)| {
            if is_file || part.contains('/') || part.starts_with('.') {
                // `-I./lib` and `-L/usr/lib` glue a path to an option.
                let path = part
                    .starts_with('-')
                    .then(|| part.find(['/', '.']))
                    .flatten();
                let glued = path.map_or(part, |at| &part[at..]);
                return is_writable(&path::resolve(cwd, glued), folders);
            }
            let is_option = part.starts_with('-') && names_programs;
            let is_program = names_programs && place == 0;
            let is_odd =
                (is_code || names_programs) && !is_program && !is_option && !is_plain(part);
            is_odd || !is_program && cwd.join(part).exists()
        })
}

/// Whether the model can write the file, directly or through a link on the way.
fn is_writable(file: &Path, folders: &[PathBuf]) -> bool {
    let temporary = ["/tmp", "/private/tmp", "/var/tmp", "/dev/shm", "/proc"];
    let is_inside = |file: &Path| {
        folders.iter().any(|folder| file.starts_with(folder))
            || file.starts_with(std::env::temp_dir())
            || temporary.iter().any(|place| file.starts_with(place))
    };
    is_inside(file) || is_inside(&real_path::resolve(file).real)
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
        let mut left = read(file.path(), Path::new("/"), &["/work".into()])
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

    #[tokio::test]
    async fn a_file_that_ends_its_shell_is_named() {
        for text in [
            "export A=1\ntrap - EXIT\n",
            "export A=1\nexec true\n",
            "set -n\n",
        ] {
            let expected = Left {
                problem: Some(LOST.to_owned()),
                ..Left::default()
            };
            assert_eq!(left(text).await, expected, "{text}");
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
            ("ENV", "ROOT/setup.sh", true),
            ("ENV", "dev", false),
            ("RACK_ENV", "dev", false),
            ("VIRTUAL_ENV_PROMPT", "(venv) ", false),
            ("CFLAGS", "-O2 -g", false),
            ("LDFLAGS", "-L/opt/homebrew/lib", false),
            ("RUSTFLAGS", "-L./target", true),
            ("RUSTFLAGS", "-D warnings", false),
            ("RUSTFLAGS", "-Clinker=ROOT/cc", true),
            ("GOFLAGS", "-mod=vendor", false),
            ("JAVA_OPTS", "-Dfile.encoding=UTF-8", false),
            ("GIT_CONFIG_COUNT", "2", true),
            ("GIT_BRANCH", "feature/x", false),
            ("GIT_SSH_COMMAND", "ssh -i /root/.ssh/key", false),
            ("PAGER", "less -R", false),
            ("MANPATH", "/usr/share/man:", false),
            ("CARGO_TARGET_DIR", "ROOT/target", false),
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
            ("MAKEFLAGS", "-j8", false),
            ("MAKEFLAGS", "-f ROOT/evil.mk", true),
            ("EDITOR", "code --wait", false),
            ("EDITOR", "sh evil.sh", true),
            ("CARGO_TERM_COLOR", "always", false),
            ("RUST_TEST_THREADS", "1", false),
            ("DATABASE", "ROOT/data.db", false),
            ("npm_config_node_options", "-r evil", true),
            ("npm_config_userconfig", "npmrc", true),
            ("BUNDLE_GEMFILE", "/opt/app/Gemfile", false),
            ("GOCACHEPROG", "evil x", true),
        ] {
            let value = value.replace("ROOT", root.to_str().unwrap());
            let found = is_of_project(
                OsStr::new(name),
                OsStr::new(&value),
                &root,
                std::slice::from_ref(&root),
            );
            assert_eq!(found, expected, "{name}={value}");
        }
    }
}
