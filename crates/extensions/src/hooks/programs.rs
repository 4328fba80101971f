//! The program of a hook: whether it can start, without running it, and whether it may run.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use osier_base::process::{Invocation, run_captured};

use super::config::Handler;

/// Prints what the shell runs for `$1`: an executable file, or the name of a builtin.
const FIND: &str = r#"found=$(command -v -- "$1") || exit
case $found in */*) [ -f "$found" ] && [ -x "$found" ] || exit ;; esac
printf %s "$found""#;
/// Time of the shell that looks up a name.
const LOOKUP: Duration = Duration::from_secs(5);
/// Bytes of the first line of a script that the system reads.
const LINE: u64 = 256;
/// Programs whose first argument is the file that they run.
const INTERPRETERS: [&str; 8] = [
    "bash", "bun", "node", "perl", "python", "python3", "ruby", "sh",
];
/// Ends of the names of scripts, which an interpreter runs without a mark of the file.
const SCRIPTS: [&str; 16] = [
    "awk", "bash", "cjs", "cts", "fish", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "py", "rb",
    "sh", "ts",
];
/// Programs that run the commands in a file.
const RUNNERS: [(&str, &[&str]); 9] = [
    ("npm", &["package.json"]),
    ("npx", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("rake", &["Rakefile", "rakefile"]),
];
/// Characters that a shell replaces: the word is unknown here.
const REPLACED: [char; 7] = ['$', '`', '*', '?', '[', '{', '\\'];
/// Characters that end a command.
const ENDS: [char; 7] = [';', '|', '&', '<', '>', '(', ')'];

/// The files that `handler` runs, as far as its words name them: programs, scripts, and what runs for `npm run`. Blocks.
fn files(handler: &Handler, cwd: &Path, root: &Path) -> Vec<PathBuf> {
    let words: Vec<String> = match &handler.args {
        Some(args) => std::iter::once(&handler.command)
            .chain(args)
            .cloned()
            .collect(),
        None => vec![expanded(&handler.command, root)],
    };
    let is_end = |char: char| char.is_whitespace() || ENDS.contains(&char) || "=,`$".contains(char);
    let mut files = BTreeSet::new();
    for text in words {
        // Without quotes: also the words of `sh -c '…'`. A path with blanks is tried as it is.
        let plain: String = text
            .chars()
            .filter(|char| !"'\"\\".contains(*char))
            .collect();
        for word in plain.split(is_end).chain([plain.as_str()]) {
            add(word, cwd, root, &mut files);
        }
        for quoted in text.split(['\'', '"']) {
            add(quoted, cwd, root, &mut files);
        }
    }
    files.into_iter().collect()
}

/// Adds the files that the word can name.
fn add(word: &str, cwd: &Path, root: &Path, files: &mut BTreeSet<PathBuf>) {
    if word.is_empty() || word.len() > 4096 {
        return;
    }
    let folders: BTreeSet<&Path> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .chain([cwd, root])
        .collect();
    let runner = RUNNERS.iter().find(|(name, _)| *name == word);
    for folder in folders {
        let run = runner.iter().flat_map(|(_, names)| *names);
        files.extend(
            run.map(|name| folder.join(name))
                .filter(|path| path.is_file()),
        );
        let package = folder.join("node_modules/.bin").join(word);
        if !word.contains('/') && package.is_file() {
            files.insert(package);
        }
        // After a command whose output begins the path, the rest is a path below the project.
        let below = osier_base::path::resolve(folder, word.trim_start_matches('/'));
        for path in [osier_base::path::resolve(folder, word), below] {
            if is_program(&path) {
                files.insert(path);
            }
        }
    }
}

fn is_program(path: &Path) -> bool {
    let Ok(data) = path.metadata() else {
        return false;
    };
    let ends = |end: &&str| path.extension().is_some_and(|own| own == *end);
    // A pipe is no file, and a shell runs what comes out of it.
    !data.is_dir() && (data.permissions().mode() & 0o111 != 0 || SCRIPTS.iter().any(ends))
}

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

/// The error for a script that an interpreter would not find: not all of them say so with an exit code that blocks.
fn missing_script(words: &[String], cwd: &Path) -> Option<String> {
    let name = Path::new(words.first()?).file_name()?.to_str()?;
    let script = words.get(1).filter(|word| !word.starts_with('-'))?;
    let is_missing = INTERPRETERS.contains(&name) && !cwd.join(script).exists();
    is_missing.then(|| format!("`{script}` does not exist"))
}

/// The words of a hook, as far as they are known.
fn words(handler: &Handler, root: &Path) -> Vec<String> {
    match &handler.args {
        Some(args) => std::iter::once(&handler.command)
            .chain(args)
            .cloned()
            .collect(),
        None => first_words(&expanded(&handler.command, root)),
    }
}

/// The files that `handler` runs.
///
/// # Errors
/// A file that the hook needs is missing.
pub(super) fn needed_files(
    handler: &Handler,
    cwd: &Path,
    root: &Path,
) -> Result<Vec<PathBuf>, String> {
    match missing_script(&words(handler, root), cwd) {
        Some(error) => Err(error),
        None => Ok(files(handler, cwd, root)),
    }
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
    match text.trim_start().strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => text,
    }
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
    use osier_protocol::HookEvent;

    use super::super::matcher::Matcher;
    use super::*;

    #[test]
    fn the_programs_of_a_project_are_found_in_every_form_of_a_command() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("a project");
        for (name, mode) in [
            ("check.sh", 0o644),
            ("tool", 0o755),
            ("README.md", 0o644),
            ("package.json", 0o644),
            ("sub/.claude/hooks/x.py", 0o644),
            ("node_modules/.bin/prettier", 0o755),
        ] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            osier_base::atomic_file::write(&path, b"").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let x = "sub/.claude/hooks/x.py";
        for (command, args, expected) in [
            (
                "\"$CLAUDE_PROJECT_DIR\"/sub/.claude/hooks/x.py",
                None,
                &[x][..],
            ),
            (
                "python3 '${OSIER_PROJECT_DIR}/sub/.claude/hooks/x.py'",
                None,
                &[x],
            ),
            ("python3 .claude/hooks/x.py", None, &[x]),
            (
                "cd .. && sh -c \"A=1 sh check.sh;true\"",
                None,
                &["check.sh"],
            ),
            ("$(git rev-parse --show-toplevel)/tool", None, &["tool"]),
            ("cat ../README.md | ../tool", None, &["tool"]),
            (
                "npx prettier -w x",
                None,
                &["node_modules/.bin/prettier", "package.json"],
            ),
            ("npm run lint", None, &["package.json"]),
            (
                "../tool",
                Some(vec!["a b".to_owned(), "../check.sh".to_owned()]),
                &["check.sh", "tool"],
            ),
            ("jq . /etc/passwd; grep -q x README.md", None, &[]),
        ] {
            let handler = Handler {
                event: HookEvent::PreToolUse,
                matcher: Matcher::All,
                command: command.to_owned(),
                args,
                callback: None,
                timeout: None,
                in_background: false,
                condition: None,
                on_failure: None,
                file: "hooks.json".into(),
            };
            let found = files(&handler, &root.join("sub"), &root).into_iter();
            let found: BTreeSet<PathBuf> =
                found.filter_map(|path| path.canonicalize().ok()).collect();
            let found = found
                .iter()
                .filter_map(|path| path.strip_prefix(&root).ok());
            let found: Vec<&str> = found.filter_map(|path| path.to_str()).collect();
            assert_eq!(found, expected, "{command}");
        }
    }

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
        let text = expanded(
            "\"$CLAUDE_PROJECT_DIR\"/a.sh ${OSIER_PROJECT_DIR}",
            Path::new("/w"),
        );
        assert_eq!(text, "\"/w\"/a.sh /w");
    }
}
