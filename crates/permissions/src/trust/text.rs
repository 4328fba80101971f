//! How texts name files: the words of a line, the paths that a word can be, and the names that tools give to their files.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use osier_base::regular_file;

/// The directory with the packages of Node.
pub(super) const PACKAGES: &str = "node_modules";
/// Bytes of a text that is searched for names of files.
pub(super) const TEXT: u64 = 16 * 1024 * 1024;
/// Ends of the names of scripts and modules.
#[rustfmt::skip]
pub(super) const SCRIPTS: [&str; 22] = [
    "awk", "bash", "cjs", "cts", "fish", "js", "jsx", "lua", "mjs", "mts", "node", "php", "pl", "py", "pyc", "rb", "sh", "so",
    "ts", "tsx", "wasm", "zsh",
];
/// Ends of the names of files that no program runs as they are.
#[rustfmt::skip]
pub(super) const DATA: [&str; 21] = [
    "c", "cc", "cpp", "csv", "gif", "h", "hpp", "htm", "html", "jpeg", "jpg", "jsonl", "lock", "log", "md", "out", "pdf", "png", "rs", "rst", "svg",
];
/// Programs that run the commands or settings in a file.
#[rustfmt::skip]
pub(super) const RUNNERS: [(&str, &[&str]); 25] = [
    ("npm", &["package.json", ".npmrc"]),
    ("pnpm", &["package.json", ".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"]),
    ("yarn", &["package.json", ".yarnrc", ".yarnrc.yml", ".pnp.cjs"]),
    ("bun", &["package.json", "bunfig.toml"]),
    ("node", &[".pnp.cjs"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("mise", &["mise.toml", ".mise.toml"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("tox", &["tox.ini"]),
    ("nox", &["noxfile.py"]),
    ("composer", &["composer.json"]),
    ("pre-commit", &[".pre-commit-config.yaml"]),
    ("lefthook", &["lefthook.yml"]),
    ("turbo", &["package.json", "turbo.json"]),
    ("nx", &["package.json", "nx.json"]),
    ("lerna", &["package.json", "lerna.json"]),
    ("uv", &["pyproject.toml", "uv.toml"]),
    ("poetry", &["pyproject.toml"]),
    ("gradle", &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]),
    ("gradlew", &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]),
    ("mvn", &["pom.xml"]),
    ("mvnw", &["pom.xml"]),
];
/// Words that make a runner of Node work in other directories than its own.
pub(super) const WORKSPACES: [&str; 12] = [
    "--filter",
    "--recursive",
    "--workspace",
    "--workspaces",
    "-F",
    "-r",
    "-w",
    "-ws",
    "lerna",
    "nx",
    "turbo",
    "workspace",
];
/// The directories with programs of a project.
pub(super) const PROGRAMS: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];
/// Words of a line that runs all files which fit its patterns.
pub(super) const PATTERNS: [&str; 6] = ["-include", ".", "for", "include", "sinclude", "source"];
/// Functions that list a directory.
pub(super) const LISTS: [&str; 5] = ["glob", "iterdir", "listdir", "readdir", "scandir"];
/// Programs and commands of a shell that read the files in their arguments as code, or whose output can be code.
#[rustfmt::skip]
pub(super) const READERS: [&str; 19] = [
    ".", "awk", "bash", "cat", "dash", "deno", "eval", "exec", "include", "node", "perl", "php", "python", "python3", "ruby",
    "sh", "source", "xargs", "zsh",
];
/// The modules of Python. A file with such a name next to a script runs instead, also for modules of Python.
#[rustfmt::skip]
pub(super) const PYTHON: &str = "\
    abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 \
    cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall concurrent configparser \
    contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest \
    email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc \
    genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp \
    importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math \
    mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator \
    optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint \
    profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource \
    rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver \
    spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable \
    sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time timeit tkinter token \
    tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv \
    warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo";
/// Words of a long statement.
pub(super) const STATEMENT: usize = 40;
/// Commands of a shell and options that change the directory.
pub(super) const MOVES: [&str; 5] = ["cd", "chdir", "cwd", "pushd", "-C"];
/// The options of prettier that load no code.
#[rustfmt::skip]
const OPTIONS: [&str; 23] = [
    "$schema", "arrowParens", "bracketSameLine", "bracketSpacing", "checkIgnorePragma", "embeddedLanguageFormatting",
    "endOfLine", "experimentalOperatorPosition", "experimentalTernaries", "htmlWhitespaceSensitivity", "insertPragma",
    "jsxBracketSameLine", "jsxSingleQuote", "objectWrap", "printWidth", "proseWrap", "quoteProps", "requirePragma", "semi",
    "singleAttributePerLine", "singleQuote", "tabWidth", "trailingComma",
];

/// How a text names files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A command or a script.
    Script,
    /// A script that loads modules as Node does.
    Module,
    /// A configuration that names modules.
    Configuration,
}

impl Kind {
    pub(super) fn of(file: &Path) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let (stem, end) = name.rsplit_once('.').unwrap_or((&name, ""));
        match end {
            "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => Self::Module,
            "css" | "json" | "json5" | "jsonc" | "yaml" | "yml" | "toml" => Self::Configuration,
            _ if stem.is_empty() && end.ends_with("rc") => Self::Configuration,
            _ => Self::Script,
        }
    }

    pub(super) fn loads_modules(self) -> bool {
        self != Self::Script
    }

    pub(super) fn runs_programs(self) -> bool {
        self != Self::Configuration
    }
}

/// The entries of a directory, and whether each is a directory.
pub(super) type Listing = Arc<BTreeMap<String, bool>>;

/// The text of a script without the files that it writes.
pub(super) fn without_outputs(text: &str) -> String {
    let (mut inputs, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('>') {
        inputs.push_str(before);
        inputs.push(' ');
        let after = after.trim_start_matches(['>', '|', '&']);
        let after = after.trim_start_matches([' ', '\t']);
        let mut quote = None;
        let end = after.find(|char: char| match quote {
            _ if char == '\n' => true,
            Some(_) => {
                quote = quote.filter(|mark| *mark != char);
                false
            }
            None if char == '"' || char == '\'' => {
                quote = Some(char);
                false
            }
            None => char.is_whitespace() || ";|&<>()`".contains(char),
        });
        rest = &after[end.unwrap_or(after.len())..];
    }
    inputs + rest
}

/// The words of a line that can name something: without quotes, variables and operators.
pub(super) fn words(line: &str) -> Vec<&str> {
    let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(){}[],=:!\\".contains(char);
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut found = Vec::new();
    for (index, part) in line.split('$').enumerate() {
        let part = match index {
            0 => part,
            _ => part.trim_start_matches('{').trim_start_matches(is_name),
        };
        for word in part.split(is_end).filter(|word| !word.is_empty()) {
            found.push(word);
            // An option can begin the word: `-Cscripts`.
            found.extend(
                word.get(2..)
                    .filter(|rest| word.starts_with('-') && !rest.is_empty()),
            );
        }
    }
    // A path with blanks.
    let quoted = line.split(['"', '\'']);
    found.extend(quoted.filter(|text| text.contains(' ') && text.contains(['/', '.'])));
    let mut known = HashSet::new();
    found.retain(|word| word.len() < 4096 && known.insert(*word));
    found
}

/// Whether the line loads modules of Python. A commit has a message, too.
pub(super) fn imports(line: &[&str]) -> bool {
    line.contains(&"import") || line.contains(&"-m") && !line.contains(&"git")
}

/// The paths that the word can be from `folder`: also below it, because a variable can begin the path, and as a name of Python.
pub(super) fn paths(folder: &Path, word: &str, is_import: bool) -> Vec<PathBuf> {
    let dotted = word.trim_matches('.').replace('.', "/");
    let is_dotted = is_import && !word.contains('/') && !dotted.is_empty() && dotted != word;
    let mut paths = vec![join(folder, word.trim_start_matches('/'))];
    if word.starts_with('/') {
        paths.push(join(Path::new("/"), word));
    } else if is_dotted {
        paths.push(join(folder, &dotted));
    }
    paths
}

/// The path without `.` and `..`.
pub(super) fn join(folder: &Path, word: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in Path::new(word).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => drop(path.pop()),
            _ => {}
        }
    }
    path
}

/// The package of which the word names a part: `@a/b/c.js` is in `@a/b`.
pub(super) fn package_name(word: &str) -> Option<&str> {
    let parts = 1 + usize::from(word.starts_with('@'));
    let end = word.match_indices('/').nth(parts - 1);
    let name = end.map_or(word, |(end, _)| &word[..end]);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"@/-_.~".contains(&byte);
    let fits = name.len() > 1
        && !name.starts_with(['.', '/', '-'])
        && name.split('/').count() == parts
        && !name.contains("..")
        && name.bytes().all(is_part);
    fits.then_some(name)
}

/// Whether a tool runs or obeys the file with this name: `.toolrc.json`, `tool.config.mjs`, `tool.toml`.
pub(super) fn is_configuration(tool: &str, name: &str) -> bool {
    let plain = name.strip_prefix('.').unwrap_or(name);
    let rest = plain.strip_prefix(tool);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with("rc"))
}

/// Whether the file is configuration, by its name alone: `.toolrc`, `tool.config.js`.
pub(super) fn is_named_after(tool: &str, name: &str) -> bool {
    let rest = name.trim_start_matches('.').strip_prefix(tool);
    rest.is_some_and(|rest| {
        rest.starts_with(".config.") || name.starts_with('.') && rest.starts_with("rc")
    })
}

/// Whether the settings of the compiler for TypeScript load no code: they name no plugin, and no other file.
pub(super) fn is_plain_compiler(tool: &str, file: &Path) -> bool {
    let text = ["tsconfig", "jsconfig"]
        .contains(&tool)
        .then(|| regular_file::read_text(file, TEXT));
    let parts = ["plugins", "extends", "\\"];
    text.is_some_and(|text| text.is_ok_and(|text| !parts.iter().any(|part| text.contains(part))))
}

/// Whether the settings of prettier load no code: every name in them is known.
pub(super) fn is_plain(settings: &Value) -> bool {
    let Some(settings) = settings.as_object() else {
        return false;
    };
    settings.iter().all(|(key, value)| match value.as_array() {
        Some(overrides) if key == "overrides" => overrides.iter().all(|entry| {
            let known = ["files", "excludeFiles", "options"];
            entry.as_object().is_some_and(|entry| {
                entry.keys().all(|key| known.contains(&key.as_str()))
                    && entry.get("options").is_none_or(is_plain)
            })
        }),
        _ => OPTIONS.contains(&key.as_str()),
    })
}
