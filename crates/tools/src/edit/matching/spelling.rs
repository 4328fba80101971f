//! Undoes what a model adds to both texts of an edit: code fences, line numbers, escapes.

use super::types::Edit;

/// A way to write an edit that is not how the file has it.
struct Spelling {
    /// The note for the model.
    note: &'static str,
    /// The edit as it was meant; `None` when it is not written this way.
    undo: fn(&Edit) -> Option<Edit>,
}

const SPELLINGS: [Spelling; 7] = [
    Spelling {
        note: "the code fences were removed",
        undo: |edit| both(edit, without_fence),
    },
    Spelling {
        note: "the line numbers were removed",
        undo: without_numbers,
    },
    Spelling {
        note: "the escaped quotes were unescaped",
        undo: |edit| changed(edit, unescape_quotes),
    },
    Spelling {
        note: "the escape sequences were unescaped",
        undo: |edit| changed(edit, unescape),
    },
    Spelling {
        note: "the line breaks in quotes were escaped",
        undo: |edit| changed(edit, escape_line_breaks),
    },
    Spelling {
        note: "the Unicode escapes were decoded",
        undo: |edit| changed(edit, decode_unicode),
    },
    Spelling {
        note: "the HTML entities were decoded",
        undo: |edit| changed(edit, decode_entities),
    },
];

/// An edit as it may have been meant, and what was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meant {
    pub(super) edit: Edit,
    pub(super) notes: Vec<&'static str>,
}

/// The possible meanings of `edit`, the edit itself first.
pub(super) fn meanings(edit: &Edit) -> Vec<Meant> {
    let mut found = vec![Meant {
        edit: edit.clone(),
        notes: Vec::new(),
    }];
    for spelling in &SPELLINGS {
        for index in 0..found.len() {
            let Some(edit) = (spelling.undo)(&found[index].edit) else {
                continue;
            };
            if edit.old.is_empty() || found.iter().any(|other| other.edit == edit) {
                continue;
            }
            let mut notes = found[index].notes.clone();
            notes.push(spelling.note);
            found.push(Meant { edit, notes });
        }
    }
    found
}

/// Both texts rewritten, if the old one changes.
fn changed(edit: &Edit, rewrite: fn(&str) -> String) -> Option<Edit> {
    let old = rewrite(&edit.old);
    let new = rewrite(&edit.new);
    (old != edit.old && old != new).then_some(Edit {
        old,
        new,
        replace_all: edit.replace_all,
    })
}

/// The old text rewritten, and the new one where it is written the same way.
fn both(edit: &Edit, rewrite: fn(&str) -> Option<String>) -> Option<Edit> {
    let old = rewrite(&edit.old)?;
    let new = rewrite(&edit.new).unwrap_or_else(|| edit.new.clone());
    Some(Edit {
        old,
        new,
        replace_all: edit.replace_all,
    })
}

/// The text with `\n` for a line break between quotes: a model wrote the escape of the code as an escape of its call.
fn escape_line_breaks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let mut rest = lines.clone();
        let mut joined = line.to_owned();
        while is_open(&joined) {
            let Some(next) = rest.next() else { break };
            joined.push_str("\\n");
            joined.push_str(next);
        }
        if is_open(&joined) {
            out.push_str(line);
        } else {
            out.push_str(&joined);
            lines = rest;
        }
        if lines.peek().is_some() {
            out.push('\n');
        }
    }
    out
}

/// Whether a line ends in double quotes.
fn is_open(line: &str) -> bool {
    let mut is_open = false;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            '"' => is_open = !is_open,
            _ => {}
        }
    }
    is_open
}

fn without_fence(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (language, inner) = inner.split_once('\n')?;
    if language.contains(char::is_whitespace) {
        return None;
    }
    Some(inner.to_owned())
}

/// Separators between a line's number and its text, longest first.
const SEPARATORS: [&str; 7] = ["\t", "\u{2192}", ": ", " | ", "| ", "|", ":"];

/// The edit without the line numbers of `read` and `grep`. In the old text, each line number is one more than the last.
fn without_numbers(edit: &Edit) -> Option<Edit> {
    let fits = |separator: &&&str| {
        let numbers: Option<Vec<u64>> = edit
            .old
            .lines()
            .map(|line| Some(numbered(line, separator)?.0))
            .collect();
        let ascend = |numbers: Vec<u64>| {
            let mut pairs = numbers.windows(2);
            !numbers.is_empty() && pairs.all(|pair| pair[0].checked_add(1) == Some(pair[1]))
        };
        numbers.is_some_and(ascend)
    };
    let separator = SEPARATORS.iter().find(fits)?;
    let rewrite = |text: &str| {
        let line = |line: &str| {
            let (content, end) = match line.strip_suffix('\n') {
                Some(content) => (content, "\n"),
                None => (line, ""),
            };
            let found = numbered(content, separator);
            format!("{}{end}", found.map_or(content, |found| found.1))
        };
        text.split_inclusive('\n')
            .map(line)
            .collect::<Vec<_>>()
            .concat()
    };
    Some(Edit {
        old: rewrite(&edit.old),
        new: rewrite(&edit.new),
        replace_all: edit.replace_all,
    })
}

/// Number and content of a line such as `   12\tlet a`, `12: let a` or `L12: let a`.
fn numbered<'l>(line: &'l str, separator: &str) -> Option<(u64, &'l str)> {
    let line = line.trim_start_matches(' ');
    let line = line.strip_prefix(['L', 'l']).unwrap_or(line);
    let digits = line.len()
        - line
            .trim_start_matches(|char: char| char.is_ascii_digit())
            .len();
    let number = line[..digits].parse().ok()?;
    let rest = &line[digits..];
    // An empty line may have lost the space after its number.
    let content = rest.strip_prefix(separator);
    let content = content.or_else(|| (rest == separator.trim_end_matches(' ')).then_some(""));
    Some((number, content?))
}

fn unescape_quotes(text: &str) -> String {
    text.replace("\\\"", "\"").replace("\\'", "'")
}

/// Undoes one level of escapes as JSON has them. An unknown escape stays.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let (char, length) = escaped(after).unwrap_or(('\\', 0));
        plain.push(char);
        rest = &after[length..];
    }
    plain.push_str(rest);
    plain
}

/// Only escapes such as `\u003c`, which some JSON writers use for HTML.
fn decode_unicode(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let found = escaped(after).filter(|(_, length)| *length > 1);
        // An escaped backslash does not begin an escape.
        let literal = usize::from(after.starts_with('\\'));
        if let Some((char, length)) = found {
            plain.push(char);
            rest = &after[length..];
        } else {
            plain.push('\\');
            plain.push_str(&after[..literal]);
            rest = &after[literal..];
        }
    }
    plain.push_str(rest);
    plain
}

/// The character that the text after a backslash stands for, and its length in bytes.
fn escaped(text: &str) -> Option<(char, usize)> {
    let char = match text.chars().next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        char @ ('"' | '\'' | '\\' | '/') => char,
        'u' => {
            let code = u32::from_str_radix(text.get(1..5)?, 16).ok()?;
            return Some((char::from_u32(code)?, 5));
        }
        _ => return None,
    };
    Some((char, 1))
}

fn decode_entities(text: &str) -> String {
    let mut plain = text.to_owned();
    // The ampersand last, so that `&amp;lt;` becomes `&lt;`.
    for (entity, char) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(entity, char);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_undone_in_both_texts() {
        for (old, new, expected) in [
            ("```rust\na\n```", "```rust\nb\n```", Some(("a\n", "b\n"))),
            ("```\na\n```\n", "b\n", Some(("a\n", "b\n"))),
            (
                "     9\ta\n    10\t  b",
                "     9\ta\n    10\tc\nd",
                Some(("a\n  b", "a\nc\nd")),
            ),
            ("7: a\n8: b", "7: a", Some(("a\nb", "a"))),
            // Not the numbers of lines.
            ("7: a\n9: b", "7: a", None),
            ("1\ta\n2: b", "c", None),
            (
                r#"say(\"a\", '\n')"#,
                r#"say(\"b\", '\n')"#,
                Some((r#"say("a", '\n')"#, r#"say("b", '\n')"#)),
            ),
            (
                r"a\n\tb \u00e9\\n \q",
                r"a\nc",
                Some(("a\n\tb é\\n \\q", "a\nc")),
            ),
            (
                "if a &lt; b &amp;&amp; c",
                "if a &gt; b",
                Some(("if a < b && c", "if a > b")),
            ),
            ("plain", "text", None),
        ] {
            let edit = Edit {
                old: old.to_owned(),
                new: new.to_owned(),
                replace_all: false,
            };
            let found = meanings(&edit);
            let texts = found
                .get(1)
                .map(|meant| (meant.edit.old.as_str(), meant.edit.new.as_str()));
            assert_eq!(texts, expected, "{old}");
        }
    }
}
