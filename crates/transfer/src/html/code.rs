//! Highlighted code and diffs.

use std::fmt::Write as _;

use osier_base::diff::{ChangeTag, compare_words};

use super::escape::{clean, escape_clean};
use super::theme::Highlighter;

/// Code longer than this stays plain: it is data, not code that someone reads.
const MARKED_BYTES: usize = 256 * 1024;
/// Maximum bytes of a diff line with word highlighting.
const WORD_LIMIT: usize = 2000;
/// Maximum number of consecutive removed lines that are paired with added ones.
const PAIR_LIMIT: usize = 40;

/// `<pre>` with `code`, highlighted as `language`.
pub(super) fn block(highlighter: &mut dyn Highlighter, language: &str, code: &str) -> String {
    let code = clean(code);
    let code = code.strip_suffix('\n').unwrap_or(&code);
    let label = match language {
        "" => String::new(),
        language => format!("<span class=lang>{}</span>", escape_clean(&clean(language))),
    };
    format!(
        "<div class=code>{label}<pre tabindex=0><code>{}</code></pre></div>",
        marked(highlighter, language, code)
    )
}

/// The lines of sanitized `code`, escaped, with highlighted parts of `language` in spans.
pub(super) fn marked(highlighter: &mut dyn Highlighter, language: &str, code: &str) -> String {
    let lines = if code.len() <= MARKED_BYTES && !language.is_empty() {
        highlighter.lines(language, code)
    } else {
        None
    };
    let Some(lines) = lines else {
        return escape_clean(code);
    };
    let mut html = String::with_capacity(code.len() * 2);
    for (number, line) in code.lines().enumerate() {
        if number > 0 {
            html.push('\n');
        }
        let mut from = 0;
        for (range, name) in lines.get(number).into_iter().flatten() {
            let (Some(before), Some(part)) = (
                line.get(from..range.start),
                line.get(range.start..range.end),
            ) else {
                break;
            };
            html.push_str(&escape_clean(before));
            let name = name.strip_prefix("syntax_").unwrap_or(name);
            let _ = write!(html, "<b class=s-{name}>{}</b>", escape_clean(part));
            from = range.end;
        }
        html.push_str(&escape_clean(line.get(from..).unwrap_or_default()));
    }
    html
}

/// Added and removed lines of a unified diff.
pub(super) fn counts(patch: &str) -> (usize, usize) {
    let count = |sign: char, head: &str| {
        let lines = patch.lines();
        lines
            .filter(|line| line.starts_with(sign) && !line.starts_with(head))
            .count()
    };
    (count('+', "+++ "), count('-', "--- "))
}

/// A unified diff with line numbers; changed words are marked in replaced lines.
pub(super) fn diff(patch: &str) -> String {
    let patch = clean(patch);
    let mut highlighter = Painter::default();
    let lines: Vec<&str> = patch
        .lines()
        .filter(|line| !line.starts_with("--- ") && !line.starts_with("+++ "))
        .collect();
    let mut at = 0;
    while at < lines.len() {
        at += highlighter.paint(&lines[at..]);
    }
    format!("<pre class=diff tabindex=0>{}</pre>", highlighter.html)
}

#[derive(Default)]
struct Painter {
    html: String,
    old: usize,
    new: usize,
}

impl Painter {
    /// Writes the first line, or a run of removed lines with the following added lines; returns their number.
    fn paint(&mut self, lines: &[&str]) -> usize {
        let line = lines[0];
        match line.as_bytes().first() {
            Some(b'@') => {
                if let Some((old, new)) = starts(line) {
                    (self.old, self.new) = (old, new);
                }
                let _ = write!(self.html, "<span class=hunk>{}</span>", escape_clean(line));
            }
            Some(b'-') => return self.replacement(lines),
            Some(b'+') => self.added(&escape_clean(&line[1..])),
            // The next of several files.
            Some(b'd') if line.starts_with("diff --git ") => {
                let name = line.rsplit_once(" b/").map_or(line, |(_, name)| name);
                let _ = write!(self.html, "<span class=hunk>{}</span>", escape_clean(name));
            }
            Some(b'\\') => {
                let _ = write!(self.html, "<span class=note>{}</span>", escape_clean(line));
            }
            _ => {
                let text = escape_clean(line.get(1..).unwrap_or_default());
                let _ = write!(self.html, "<span><i>{}</i> {text}</span>", self.new);
                self.old += 1;
                self.new += 1;
            }
        }
        1
    }

    fn replacement(&mut self, lines: &[&str]) -> usize {
        let run = |lines: &[&str], sign: char| {
            lines
                .iter()
                .take_while(|line| line.starts_with(sign))
                .count()
        };
        let removed = run(lines, '-');
        let added = run(&lines[removed..], '+');
        let paired = removed == added && removed <= PAIR_LIMIT;
        let marked_line = |place: usize, side: ChangeTag| {
            let (old, new) = (&lines[place][1..], lines.get(removed + place));
            match new.filter(|_| paired) {
                Some(new) => marked_side(old, &new[1..], side),
                None => escape_clean(old),
            }
        };
        for place in 0..removed {
            let text = marked_line(place, ChangeTag::Delete);
            let _ = write!(
                self.html,
                "<span class=del><i>{}</i>-{text}</span>",
                self.old
            );
            self.old += 1;
        }
        for place in 0..added {
            let text = if paired {
                marked_line(place, ChangeTag::Insert)
            } else {
                escape_clean(&lines[removed + place][1..])
            };
            self.added(&text);
        }
        removed + added
    }

    fn added(&mut self, text: &str) {
        let _ = write!(
            self.html,
            "<span class=add><i>{}</i>+{text}</span>",
            self.new
        );
        self.new += 1;
    }
}

/// One side of a changed line, with the words marked that the other side does not have.
fn marked_side(old: &str, new: &str, side: ChangeTag) -> String {
    let own = if side == ChangeTag::Delete { old } else { new };
    if old.len() + new.len() > WORD_LIMIT {
        return escape_clean(own);
    }
    let compared = compare_words(old, new);
    // Lines that share little are clearer without marks.
    if compared.similarity <= 0.4 {
        return escape_clean(own);
    }
    let mut html = String::new();
    for (tag, word) in compared.words {
        let text = escape_clean(word);
        if tag == ChangeTag::Equal {
            html.push_str(&text);
        } else if tag == side {
            let _ = write!(html, "<b>{text}</b>");
        }
    }
    html
}

/// The first line numbers of a hunk: `@@ -8,3 +8,4 @@`.
fn starts(line: &str) -> Option<(usize, usize)> {
    let mut parts = line.split(' ').skip(1);
    let mut start = |sign: char| -> Option<usize> {
        let range = parts.next()?.strip_prefix(sign)?;
        range.split(',').next()?.parse().ok()
    };
    Some((start('-')?, start('+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_has_line_numbers_and_marks_changes() {
        let patch = "--- a\n+++ b\n@@ -8,2 +8,3 @@\n same<\n-let a = 1;\n+let a = 2;\n+new\n";
        assert_eq!(
            diff(patch),
            "<pre class=diff tabindex=0><span class=hunk>@@ -8,2 +8,3 @@</span><span><i>8</i> same&lt;</span>\
             <span class=del><i>9</i>-let a = 1;</span><span class=add><i>9</i>+let a = 2;</span>\
             <span class=add><i>10</i>+new</span></pre>"
        );
        assert_eq!(counts(patch), (2, 1));
        let patch = "@@ -1 +1 @@\n-let a = 1;\n+let a = 2;\n";
        assert!(diff(patch).contains("-let a = <b>1</b>;"));
    }
}
