//! Imports in instruction files: `@path` in a line of text includes another file, as in Claude Code and Gemini CLI.
//! Code is no import.

use std::path::{Path, PathBuf};

use osier_base::path;

/// The files that `text`, the content of `file`, imports and that exist, in order.
pub(super) fn imports(text: &str, file: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut found = Vec::new();
    for line in prose(text) {
        let mut rest = line.as_str();
        let mut before = None;
        while let Some(at) = rest.find('@') {
            let previous = rest[..at].chars().next_back().or(before);
            before = Some('@');
            rest = &rest[at + 1..];
            if previous.is_none_or(char::is_whitespace)
                && let Some(path) = existing(rest, folder, home)
            {
                found.push(path);
            }
        }
    }
    found
}

/// The file that `text` begins with; a mark that ends a sentence is no part of it.
fn existing(text: &str, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let mut name = String::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.peek() == Some(&' ') => name.extend(chars.next()),
            char if char.is_whitespace() => break,
            char => name.push(char),
        }
    }
    let name = name.split('#').next().unwrap_or_default();
    let short = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'']);
    let candidates = [name, short];
    let mut candidates = candidates
        .into_iter()
        .filter(|name| !name.is_empty() && !name.starts_with('@'));
    candidates.find_map(|name| {
        let path = match name.strip_prefix("~/") {
            Some(below) => home?.join(below),
            None => path::resolve(folder, name),
        };
        (path.symlink_metadata().is_ok() && !path.is_dir()).then_some(path)
    })
}

/// The lines of `text` without code blocks, inline code and comments.
fn prose(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    let mut in_comment = false;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        if let Some(open) = fence {
            if mark == Some(open) {
                fence = None;
            }
            continue;
        }
        if mark.is_some() && !in_comment {
            fence = mark;
            continue;
        }
        let line = without_comments(line, &mut in_comment);
        lines.push(without_code(&line));
    }
    lines
}

/// `line` without the parts between `<!--` and `-->`.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut kept = String::new();
    let mut rest = line;
    loop {
        let mark = if *in_comment { "-->" } else { "<!--" };
        let Some((before, after)) = rest.split_once(mark) else {
            break;
        };
        if !*in_comment {
            kept.push_str(before);
        }
        *in_comment = !*in_comment;
        rest = after;
    }
    if !*in_comment {
        kept.push_str(rest);
    }
    kept
}

/// `line` with spaces instead of inline code.
fn without_code(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let ticks = rest.len() - at - rest[at..].trim_start_matches('`').len();
        let (before, code) = (&rest[..at], &rest[at + ticks..]);
        kept.push_str(before);
        let Some(end) = code.find(&"`".repeat(ticks)) else {
            // Ticks that nothing closes are text.
            kept.push_str(&rest[at..at + ticks]);
            rest = code;
            continue;
        };
        kept.push('`');
        rest = &code[end + ticks..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_in_prose_that_exist_are_imports() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["a.md", "b c.md", "d.md", "e.md", "own.md"] {
            osier_base::atomic_file::write(&root.join(name), b"x").unwrap();
        }
        let found = |text: &str| {
            let file = root.join("CLAUDE.md");
            let paths = imports(text, &file, Some(root)).into_iter();
            let names = paths.map(|path| {
                let name = path.file_name().unwrap();
                name.to_string_lossy().into_owned()
            });
            names.collect::<Vec<_>>()
        };
        assert_eq!(found("@a.md"), ["a.md"]);
        assert_eq!(
            found("see @a.md, @./d.md. @b\\ c.md @e.md#part"),
            ["a.md", "d.md", "b c.md", "e.md"]
        );
        assert_eq!(found("mine: @~/own.md"), ["own.md"]);
        assert_eq!(
            found("mail me@a.md, ask @somebody, @ a.md, @@a.md"),
            [""; 0]
        );
        assert_eq!(found("`@a.md` and ``x ` @a.md`` and @d.md"), ["d.md"]);
        assert_eq!(found("a ` tick @a.md"), ["a.md"]);
        assert_eq!(
            found("```\n@a.md\n~~~\n```\n@d.md\n~~~ text\n@a.md\n"),
            ["d.md"]
        );
        assert_eq!(
            found("<!-- @a.md\n@a.md\n--> @d.md <!-- @a.md --> @e.md"),
            ["d.md", "e.md"]
        );
    }
}
