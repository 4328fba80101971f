//! The texts that users read: string literals, manual pages, docs and changelog contain none of the words that the
//! project has replaced.

use std::fs;
use std::path::Path;

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

/// Where a replaced word stays, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "crates/extensions/src/hooks/session.rs",
        "goes on",
        "an outcome in the protocol",
    ),
    (
        "crates/transfer/src/html/article.rs",
        "beside",
        "a class of exported pages",
    ),
    (
        "crates/tui/src/actions/command/registry.rs",
        "beside",
        "the alias `/beside`",
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
    let pages = ["README.md", "CHANGELOG.md"].map(str::to_owned);
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

/// The string literals of Rust code, with escaped quotes and line ends resolved.
fn literals(code: &str) -> Vec<String> {
    let token = Regex::new(
        r#"(?sx)
        //[^\n]*
        | '(?:\\u\{\w+\}|\\x..|\\.|[^\\'])'
        | r\#\#\#\#"(.*?)"\#\#\#\# | r\#\#\#"(.*?)"\#\#\# | r\#\#"(.*?)"\#\# | r\#"(.*?)"\# | \br"(.*?)"
        | "((?:\\.|[^\\"])*)"
        "#,
    )
    .unwrap();
    let line_end = Regex::new(r"\\\n\s*").unwrap();
    let found = token.captures_iter(code).filter_map(|captures| {
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
