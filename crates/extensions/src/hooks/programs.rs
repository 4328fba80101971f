//! The program of a hook: whether it can start, without running it, and whether it may run.

use std::path::Path;
use std::time::Duration;

use osier_base::process::{Invocation, run_captured};

use super::config::Handler;
use osier_permissions::trust::{ProgramUse, command, project_root};

/// A shell script that prints what the shell runs for `$1`: an executable file, or the name of a
/// builtin.
const FIND: &str = r#"found=$(command -v -- "$1") || exit
case $found in */*) [ -f "$found" ] && [ -x "$found" ] || exit ;; esac
printf %s "$found""#;
/// Time of the shell that looks up a name.
const LOOKUP: Duration = Duration::from_secs(5);
/// Bytes of the first line of a script that the system reads.
const LINE: u64 = 256;
/// Programs whose first argument is the file that they run.
const INTERPRETERS: [&str; 7] = ["bash", "node", "perl", "python", "python3", "ruby", "sh"];
/// Characters that a shell replaces: the word is unknown here.
const REPLACED: [char; 7] = ['$', '`', '*', '?', '[', '{', '\\'];
/// Characters that end a command.
const ENDS: [char; 7] = [';', '|', '&', '<', '>', '(', ')'];

/// Why `handler` cannot start in `cwd`; `None` if it can, or if only running it could tell.
pub(super) async fn obstacle(handler: &Handler, cwd: &Path, root: &Path) -> Option<String> {
    let words = words(handler, root);
    let program = words.first()?;
    let Some(path) = found(program, cwd).await else {
        return Some(format!("`{program}` does not exist or is not executable"));
    };
    if let Some(interpreter) = interpreter(&cwd.join(path))
        && found(&interpreter, cwd).await.is_none()
    {
        return Some(format!(
            "the interpreter `{interpreter}` of `{program}` does not exist"
        ));
    }
    missing_script(&words, cwd)
}

/// The error for a script that an interpreter would not find: not every interpreter reports this
/// with an exit code that blocks.
fn missing_script(words: &[String], cwd: &Path) -> Option<String> {
    let name = Path::new(words.first()?).file_name()?.to_str()?;
    let script = words.get(1).filter(|word| !word.starts_with(['-', '~']))?;
    let is_missing = INTERPRETERS.contains(&name) && !cwd.join(script).exists();
    is_missing.then(|| format!("`{script}` does not exist"))
}

/// The words of a hook, as far as they are known.
fn words(handler: &Handler, root: &Path) -> Vec<String> {
    if handler.args.is_some() {
        return handler.words().cloned().collect();
    }
    // A shell replaces `~`.
    let words = first_words(&expanded(&handler.command, root)).into_iter();
    words.map(|word| with_home(&word)).collect()
}

/// The word with `~/` replaced by the home directory.
fn with_home(word: &str) -> String {
    match word.strip_prefix("~/") {
        Some(rest) => {
            let home = std::env::home_dir().unwrap_or_default();
            home.join(rest).to_string_lossy().into_owned()
        }
        None => word.to_owned(),
    }
}

/// The programs that `handler` runs.
///
/// # Errors
/// A script that the hook needs is missing.
pub(super) fn program_use(
    handler: &Handler,
    cwd: &Path,
    root: &Path,
) -> Result<ProgramUse, String> {
    if let Some(error) = missing_script(&words(handler, root), cwd) {
        return Err(error);
    }
    let command = match &handler.args {
        Some(_) => command(handler.words()),
        None => expanded(&handler.command, root),
    };
    let real = cwd.canonicalize().unwrap_or_default();
    // A lane of `/fan` is a copy elsewhere.
    let is_copy = !real.starts_with(root);
    let start = if is_copy { root } else { real.as_path() };
    Ok(ProgramUse {
        cwd: start.to_owned(),
        copy: is_copy.then(|| (real.clone(), project_root(&real))),
        command,
        ..ProgramUse::default()
    })
}

/// The command with the variables that osier sets, and the home directory.
fn expanded(command: &str, root: &Path) -> String {
    let root = root.to_string_lossy();
    let home = std::env::home_dir().unwrap_or_default();
    let home = home.to_string_lossy();
    let mut text = command.to_owned();
    for (name, value) in [
        ("CLAUDE_PROJECT_DIR", &root),
        ("OSIER_PROJECT_DIR", &root),
        ("HOME", &home),
    ] {
        text = text.replace(&format!("${{{name}}}"), value);
        text = text.replace(&format!("${name}"), value);
    }
    with_home(text.trim_start())
}

/// The program of a shell command and its first argument, as far as they are plain words.
fn first_words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for char in command.chars().chain([' ']) {
        if char != '\'' && quote != Some('\'') && REPLACED.contains(&char) {
            return words;
        }
        match quote {
            Some(mark) if char == mark => quote = None,
            None if char == '\'' || char == '"' => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            None if char.is_whitespace() || ENDS.contains(&char) => {
                let is_assignment = |word: &String| words.is_empty() && word.contains('=');
                words.extend(word.take().filter(|word| !is_assignment(word)));
                if !char.is_whitespace() || words.len() == 2 {
                    return words;
                }
            }
            Some(_) | None => word.get_or_insert_default().push(char),
        }
    }
    words
}

/// The program that the shell runs for this name: a path, or the name of a builtin.
async fn found(name: &str, cwd: &Path) -> Option<String> {
    let invocation = Invocation {
        cwd: Some(cwd.to_owned()),
        ..Invocation::new("sh", ["-c", FIND, "sh", name])
    };
    let output = run_captured(&invocation, None, LOOKUP).await.ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.exit.is_success().then_some(path)
}

/// The program that the first line of a script names.
fn interpreter(path: &Path) -> Option<String> {
    let (bytes, _) = osier_base::regular_file::head(path, LINE).ok()?;
    let line = String::from_utf8_lossy(bytes.strip_prefix(b"#!")?).into_owned();
    let mut words = line.lines().next()?.split_whitespace();
    let first = words.next()?;
    let is_env = Path::new(first)
        .file_name()
        .is_some_and(|name| name == "env");
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    Some(named.filter(|_| is_env).unwrap_or(first).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_shell_command_is_its_first_plain_word() {
        for (command, expected) in [
            ("check.py", &["check.py"][..]),
            ("A=1 python3 'a b.py' --x", &["python3", "a b.py"]),
            ("\"/w/my check\" | tee log", &["/w/my check"]),
            ("exec node $X/y.js", &["exec", "node"]),
            ("$CHECK now", &[]),
            ("(cd /; ls)", &[]),
        ] {
            assert_eq!(first_words(command), expected, "{command}");
        }
        let home = std::env::home_dir().unwrap_or_default();
        let script = home.join("osier-none/check.mjs").display().to_string();
        let words = ["node".to_owned(), with_home("~/osier-none/check.mjs")];
        assert_eq!(
            missing_script(&words, Path::new("/")),
            Some(format!("`{script}` does not exist"))
        );
        let text = expanded(
            "\"$CLAUDE_PROJECT_DIR\"/a.sh ${OSIER_PROJECT_DIR}",
            Path::new("/w"),
        );
        assert_eq!(text, "\"/w\"/a.sh /w");
    }
}
