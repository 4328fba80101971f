//! The glossary: texts of users and developers (string literals, comments, manual pages, documentation, changelog) contain
//! none of the words that the project has replaced, and comments begin with their subject.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::layers::sources;
use crate::support::cli::Home;

/// A replaced word and the word to use.
const REPLACED: &[(&str, &str)] = &[
    ("anew", "again"),
    ("anybody", "any user, any client"),
    ("are told", "receive, are notified"),
    ("beside", "next to, in addition to"),
    ("bring back", "restore"),
    ("brings back", "restores"),
    ("brought back", "restored"),
    ("comes back", "returns, is restored"),
    ("deck", "tabs"),
    ("for ever", "endlessly, permanently"),
    ("for want of", "without"),
    ("go on with", "continue"),
    ("goes away", "disconnects, disappears"),
    ("goes on", "continues"),
    ("gone on", "continued"),
    ("heir", "child reaper"),
    ("is told", "receives, is notified"),
    ("looked at", "read-only, reviewed"),
    ("looks at", "reviews, shows"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("once more", "again"),
    ("plug-in", "plugin"),
    ("plug-ins", "plugins"),
    ("put aside", "stash"),
    ("puts aside", "stashes"),
    ("roster", "tab summaries"),
    ("somebody", "a user, a client"),
    ("sub-agent", "subagent"),
    ("sub-agents", "subagents"),
    ("take back", "revert, withdraw"),
    ("taken back", "reverted, withdrawn"),
    ("takes back", "reverts, withdraws"),
    ("to go on", "to continue"),
    ("told apart", "distinguished"),
    ("told of", "reported"),
    ("unsent", "draft"),
    ("was told", "received, was notified"),
    ("whoever", "the user, the client"),
];

/// A comment that begins with one of these words does not name its subject: the reader must find it in the code.
const BEGINNINGS: [&str; 3] = ["What", "Those", "Takes"];

/// Where a replaced word stays, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("assets/page.js", "beside", "a class of exported pages"),
    ("assets/chat/app/composer.js", "unsent", "the module"),
    (
        "assets/chat/app/pending.js",
        "unsent",
        "a class of the page",
    ),
    (
        "assets/chat/app/unsent.js",
        "unsent",
        "a key in the storage of browsers",
    ),
    ("docs/commands.md", "beside", "the alias `/beside`"),
    (
        "crates/extensions/src/hooks/session.rs",
        "goes on",
        "an outcome in the protocol",
    ),
    (
        "crates/protocol/src/hooks.rs",
        "goes on",
        "an outcome in the protocol",
    ),
    (
        "crates/protocol/src/slash/table.rs",
        "beside",
        "the alias `/beside`",
    ),
    (
        "crates/transfer/src/html/article.rs",
        "beside",
        "a class of exported pages",
    ),
    (
        "crates/tui/src/dialogs/hooks.rs",
        "goes on",
        "an outcome in the protocol",
    ),
];

#[test]
fn texts_have_no_replaced_words() {
    let mut texts = Vec::new();
    for source in sources() {
        let path = source.path.display().to_string();
        if is_test(&source.path) {
            continue;
        }
        let literals = literals(without_tests(&source.code));
        texts.extend(literals.into_iter().map(|text| (path.clone(), text)));
    }
    for (path, text) in code_files() {
        let comments = comments(&path, &text).join("\n");
        // An identifier of a script can be a word, too.
        let is_chat = path.starts_with("assets/") && !comments.is_empty();
        texts.push((path.clone(), comments));
        if is_chat {
            texts.push((path, text));
        }
    }
    let pages = [
        "README.md",
        "CHANGELOG.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
    ];
    let pages = pages.map(str::to_owned);
    let docs = fs::read_dir("docs").unwrap();
    let docs = docs.map(|entry| entry.unwrap().path().display().to_string());
    let docs = docs.filter(|path| Path::new(path).extension().is_some_and(|end| end == "md"));
    for path in pages.into_iter().chain(docs) {
        let text = fs::read_to_string(&path).unwrap();
        texts.push((path, text));
    }
    texts.extend(manual_pages());

    let words: Vec<(&str, &str, Regex)> = REPLACED
        .iter()
        .map(|(word, instead)| (*word, *instead, word_pattern(word)))
        .collect();
    let mut faults = Vec::new();
    let mut used = vec![false; ALLOWED.len()];
    for (path, text) in &texts {
        for (word, instead, pattern) in &words {
            if !pattern.is_match(text) {
                continue;
            }
            let allowed = ALLOWED
                .iter()
                .position(|(place, kept, _)| place == path && kept == word);
            match allowed {
                Some(place) => used[place] = true,
                None => faults.push(format!("{path}: `{word}`; use: {instead}")),
            }
        }
    }
    faults.sort();
    faults.dedup();
    assert_eq!(faults, Vec::<String>::new());
    let unused = ALLOWED.iter().zip(used).filter(|(_, used)| !used);
    assert_eq!(unused.count(), 0, "remove exceptions that nothing needs");
}

#[test]
fn comments_begin_with_their_subject() {
    let mut faults = Vec::new();
    for (path, text) in code_files() {
        let is_fault = |comment: &&String| {
            let word = comment.split(|char: char| !char.is_alphanumeric()).next();
            word.is_some_and(|word| BEGINNINGS.contains(&word))
        };
        let found = comments(&path, &text);
        let found = found.iter().filter(is_fault);
        faults.extend(found.map(|comment| format!("{path}: {comment}")));
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn comments_are_found_in_every_language() {
    let rust = "//! Page\nlet url = \"https://a\"; // End\n    /// Item\n\n//\n";
    assert_eq!(comments("a.rs", rust), ["Page", "End", "Item", ""]);
    let script = "// One\n/** Two */\n/*\n * Three\n */\nlet url = `https://a`;\n";
    assert_eq!(comments("a.mjs", script), ["One", "Two", "", "Three", ""]);
    assert_eq!(comments("a.lua", "-- One\nlocal a = 1\n"), ["One"]);
    assert_eq!(comments("a.py", "# One\na = \"#\"\n"), ["One"]);
    assert_eq!(comments("run", "#!/bin/sh\n  # One\n"), ["One"]);
    assert_eq!(comments("a.md", "# One\n"), [""; 0]);
}

#[test]
fn words_are_found_in_literals_only() {
    let code = [
        r#"// "a comment""#,
        r#"let c = ['"', '\'', 'x']; fn f<'a>() {}"#,
        r#"let s = "the \"line\" \"#,
        r#"         goes on";"#,
        "let r = (r#\"raw \"text\"\"#, b\"bytes\", \"plain\");",
    ]
    .join("\n");
    assert_eq!(
        literals(&code),
        ["the \"line\" goes on", "raw \"text\"", "bytes", "plain"]
    );
    assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {}"), "a\n");
    let pattern = word_pattern("plug-in");
    assert!(pattern.is_match("a Plug-In: {name}"));
    assert!(!pattern.is_match("plug-ins, a-plug-in, {plug-in}, plug-in_key"));
}

/// A separate word in any case; not a part of an identifier, nor the name of a placeholder.
fn word_pattern(word: &str) -> Regex {
    let word = regex::escape(word).replace(' ', r"\s+");
    Regex::new(&format!(r"(?i)(?:^|[^\w{{-]){word}(?:$|[^\w-])")).unwrap()
}

fn is_test(path: &Path) -> bool {
    path.starts_with("crates/testing")
        || path.ends_with("tests.rs")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// The code before its module of tests.
fn without_tests(code: &str) -> &str {
    let end = code.find("#[cfg(test)]\nmod ");
    &code[..end.unwrap_or(code.len())]
}

/// The files of the repository that can have comments: path and text. Corpora and recordings are data.
fn code_files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(Path::new(""), &mut found);
    assert!(found.len() > 1000, "the code was not found");
    found
}

fn collect(folder: &Path, found: &mut Vec<(String, String)>) {
    let root = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    for entry in fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        let kind = entry.file_type().unwrap();
        let is_hidden = name.starts_with('.') && name != ".ci";
        let is_data =
            ["artifacts", "cases", "corpus", "node_modules", "snapshots"].contains(&name.as_str());
        if kind.is_dir() && !is_hidden && !is_data && !name.starts_with("target") {
            collect(&path, found);
        }
        let may_be_code = path
            .extension()
            .is_none_or(|end| marks(&end.to_string_lossy()).is_some());
        if kind.is_file()
            && may_be_code
            && let Ok(text) = fs::read_to_string(&path)
        {
            found.push((path.display().to_string(), text));
        }
    }
}

/// The marks at the start of a comment line in files that end with `end`.
fn marks(end: &str) -> Option<&'static [&'static str]> {
    match end {
        "rs" => Some(&["//"]),
        "js" | "mjs" => Some(&["//", "/*", "*"]),
        "py" | "sh" | "toml" | "yml" => Some(&["#"]),
        "lua" => Some(&["--"]),
        _ => None,
    }
}

/// The text of each comment line. In scripts, only lines that are nothing but a comment count.
fn comments(path: &str, code: &str) -> Vec<String> {
    let end = Path::new(path).extension().map(|end| end.to_string_lossy());
    let marks = match end {
        Some(end) => marks(&end),
        None => code.starts_with("#!").then_some(&["#"] as &[_]),
    };
    let Some(marks) = marks else {
        return Vec::new();
    };
    let is_rust = Path::new(path).extension().is_some_and(|end| end == "rs");
    let lines: Vec<&str> = if is_rust {
        let tokens = TOKEN.find_iter(code).map(|token| token.as_str());
        tokens.filter(|token| token.starts_with("//")).collect()
    } else {
        let lines = code.lines().map(str::trim);
        let lines = lines.filter(|line| marks.iter().any(|mark| line.starts_with(mark)));
        lines.filter(|line| !line.starts_with("#!")).collect()
    };
    let text = |line: &str| {
        let line = line.trim_start_matches(['/', '*', '!', '#', '-', ' ']);
        line.trim_end_matches(['/', '*', ' ']).to_owned()
    };
    lines.into_iter().map(text).collect()
}

/// A comment or a literal of Rust code.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?sx)
        //[^\n]*
        | '(?:\\u\{\w+\}|\\x..|\\.|[^\\'])'
        | r\#\#\#\#"(.*?)"\#\#\#\# | r\#\#\#"(.*?)"\#\#\# | r\#\#"(.*?)"\#\# | r\#"(.*?)"\# | \br"(.*?)"
        | "((?:\\.|[^\\"])*)"
        "#,
    )
    .unwrap()
});

/// The string literals of Rust code, with escaped quotes and line ends resolved.
fn literals(code: &str) -> Vec<String> {
    let line_end = Regex::new(r"\\\n\s*").unwrap();
    let found = TOKEN.captures_iter(code).filter_map(|captures| {
        let raw = (1..=5).find_map(|group| captures.get(group));
        let escaped = captures.get(6);
        let text = raw.map(|raw| raw.as_str().to_owned());
        text.or_else(|| {
            let joined = line_end.replace_all(escaped?.as_str(), "");
            Some(joined.replace("\\\"", "\"").replace("\\n", "\n"))
        })
    });
    found.collect()
}

/// The manual page of every command: the text of its `--help`.
fn manual_pages() -> Vec<(String, String)> {
    let home = Home::new();
    let ended = home.cli().args(["man", "--dir", "."]).run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let pages: Vec<(String, String)> = fs::read_dir(home.work())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "1"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, text.replace("\\-", "-"))
        })
        .collect();
    assert!(pages.len() > 20, "the manual pages were not found");
    pages
}
