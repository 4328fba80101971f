//! Patterns as Vim writes them, as regular expressions. A pattern is matched within a line.

use regex::{Regex, RegexBuilder};

/// Classes of characters: `\d` and so on.
const CLASSES: &[(char, &str)] = &[
    ('s', "[ \\t]"),
    ('S', "[^ \\t]"),
    ('d', "[0-9]"),
    ('D', "[^0-9]"),
    ('x', "[0-9A-Fa-f]"),
    ('X', "[^0-9A-Fa-f]"),
    ('o', "[0-7]"),
    ('O', "[^0-7]"),
    ('w', "[0-9A-Za-z_]"),
    ('W', "[^0-9A-Za-z_]"),
    ('h', "[A-Za-z_]"),
    ('H', "[^A-Za-z_]"),
    ('a', "[A-Za-z]"),
    ('A', "[^A-Za-z]"),
    ('l', "(?-i:[a-z])"),
    ('L', "(?-i:[^a-z])"),
    ('u', "(?-i:[A-Z])"),
    ('U', "(?-i:[^A-Z])"),
    ('i', "\\w"),
    ('k', "\\w"),
    ('f', "[^\\s]"),
    ('p', "[^\\p{Cc}]"),
    ('t', "\\t"),
    ('e', "\\x1b"),
];

/// How much means something without a backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Magic {
    VeryNo,
    No,
    Usual,
    Very,
}

/// The expression of a pattern; `None` for one that is wrong, or that asks for what is not there: matches over
/// several lines, back references, looking around. Small letters find capitals, too, unless a capital is in it.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    let mut reading = Reading {
        rest: pattern,
        out: String::new(),
        magic: Magic::Usual,
        exact: None,
        atom: false,
    };
    while !reading.rest.is_empty() {
        reading.step()?;
    }
    let exact = reading.exact.unwrap_or_else(|| has_capital(pattern));
    RegexBuilder::new(&reading.out)
        .case_insensitive(!exact)
        .build()
        .ok()
}

/// A capital that is not the name of a class.
fn has_capital(pattern: &str) -> bool {
    let mut escaped = false;
    pattern.chars().any(|char| {
        let counts = char.is_uppercase() && !escaped;
        escaped = char == '\\' && !escaped;
        counts
    })
}

struct Reading<'a> {
    rest: &'a str,
    out: String,
    magic: Magic,
    /// `\C` or `\c`.
    exact: Option<bool>,
    /// Something stands before that can be repeated.
    atom: bool,
}

impl Reading<'_> {
    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.rest = &self.rest[char.len_utf8()..];
        Some(char)
    }

    fn step(&mut self) -> Option<()> {
        let char = self.next()?;
        if char != '\\' {
            let special = match char {
                '^' | '$' => true,
                '.' | '*' | '[' => self.magic >= Magic::Usual,
                char => self.magic == Magic::Very && char.is_ascii_punctuation() && char != '_',
            };
            if special {
                return self.special(char);
            }
            self.literal(char);
            return Some(());
        }
        let Some(char) = self.next() else {
            self.literal('\\');
            return Some(());
        };
        match char {
            'v' => self.magic = Magic::Very,
            'm' => self.magic = Magic::Usual,
            'M' => self.magic = Magic::No,
            'V' => self.magic = Magic::VeryNo,
            'c' => self.exact = Some(false),
            'C' => self.exact = Some(true),
            '_' => {
                let class = self.next()?;
                self.class(class)?;
            }
            'n' | 'z' | '1'..='9' => return None,
            char if char.is_ascii_alphabetic() => self.class(char)?,
            // What means something by itself means itself behind a backslash, and the other way round.
            '^' | '$' | '/' | '\\' => self.literal(char),
            '.' | '*' | '[' if self.magic >= Magic::Usual => self.literal(char),
            char if self.magic == Magic::Very => self.literal(char),
            char => return self.special(char),
        }
        Some(())
    }

    fn literal(&mut self, char: char) {
        let mut buffer = [0; 4];
        self.out
            .push_str(&regex::escape(char.encode_utf8(&mut buffer)));
        self.atom = true;
    }

    fn class(&mut self, name: char) -> Option<()> {
        let (_, class) = CLASSES.iter().find(|(known, _)| *known == name)?;
        self.out.push_str(class);
        self.atom = true;
        Some(())
    }

    fn special(&mut self, char: char) -> Option<()> {
        let starts = self.out.is_empty() || self.out.ends_with(['(', '|']);
        let very = self.magic == Magic::Very;
        let before = std::mem::replace(&mut self.atom, false);
        match char {
            '(' | '|' => self.out.push(char),
            ')' => {
                self.out.push(')');
                self.atom = true;
            }
            '%' if self.rest.starts_with('(') => {
                self.next();
                self.out.push_str("(?:");
            }
            '<' => self.out.push_str("\\b{start}"),
            '>' => self.out.push_str("\\b{end}"),
            '^' if starts || very => self.out.push('^'),
            '$' if very || self.ends() => self.out.push('$'),
            '.' => {
                self.out.push('.');
                self.atom = true;
            }
            '*' | '+' | '=' | '?' if before => {
                self.out.push(if char == '=' { '?' } else { char });
            }
            '{' if before => return self.times(),
            '[' => self.set(),
            '@' | '&' | '%' | '+' | '=' | '?' | '{' if very || char != '&' => return None,
            '&' => return None,
            char => self.literal(char),
        }
        Some(())
    }

    /// Whether a `$` stands at an end.
    fn ends(&self) -> bool {
        self.rest.is_empty() || ["\\)", "\\|"].iter().any(|end| self.rest.starts_with(end))
    }

    /// `{n,m}`, with a minus as few as possible.
    fn times(&mut self) -> Option<()> {
        let end = self.rest.find('}')?;
        let inner = self.rest[..end].trim_end_matches('\\').to_owned();
        self.rest = &self.rest[end + 1..];
        let (inner, lazy) = match inner.strip_prefix('-') {
            Some(inner) => (inner, "?"),
            None => (&*inner, ""),
        };
        let known = inner
            .chars()
            .all(|char| char.is_ascii_digit() || char == ',');
        if !known || inner.matches(',').count() > 1 {
            return None;
        }
        match inner.strip_prefix(',') {
            _ if inner.is_empty() || inner == "," => self.out.push('*'),
            Some(most) => self.out.extend(["{0,", most, "}"]),
            None => self.out.extend(["{", inner, "}"]),
        }
        self.out.push_str(lazy);
        Some(())
    }

    /// A set of characters; without its end a bracket is a bracket.
    fn set(&mut self) {
        let negated = self.rest.starts_with('^');
        let from = usize::from(negated);
        let first = usize::from(self.rest[from..].starts_with(']'));
        let mut end = None;
        let mut escaped = false;
        for (at, char) in self.rest.char_indices().skip(from + first) {
            if char == ']' && !escaped && !self.rest[..at].ends_with(':') {
                end = Some(at);
                break;
            }
            escaped = char == '\\' && !escaped;
        }
        self.atom = true;
        let Some(end) = end else {
            return self.out.push_str("\\[");
        };
        let inner = &self.rest[from..end];
        self.out.push_str(if negated { "[^" } else { "[" });
        let mut chars = inner.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '[' if chars.peek() == Some(&':') => self.out.push('['),
                '[' | '&' | '~' => self.out.extend(['\\', char]),
                ']' if self.out.ends_with(':') => self.out.push(']'),
                ']' => self.out.push_str("\\]"),
                '\\' => match chars.peek() {
                    Some('e' | 't' | ']' | '^' | '-' | '\\') => {
                        let next = chars.next().unwrap_or('\\');
                        let next = if next == 'e' {
                            "\\x1b"
                        } else {
                            &*format!("\\{next}")
                        };
                        self.out.push_str(next);
                    }
                    _ => self.out.push_str("\\\\"),
                },
                char => self.out.push(char),
            }
        }
        self.out.push(']');
        self.rest = &self.rest[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first match in a line, from byte to byte.
    fn found(pattern: &str, line: &str) -> Option<(usize, usize)> {
        let found = compile(pattern)?.find(line)?;
        Some((found.start(), found.end()))
    }

    #[test]
    fn patterns_mean_what_they_mean_in_vim() {
        let cases = [
            ("a.c", "xabcx", Some((1, 4))),
            ("a\\.c", "abc a.c", Some((4, 7))),
            ("*x", "a*x", Some((1, 3))),
            ("ab*", "xabbb", Some((1, 5))),
            ("ab\\+c", "abbc", Some((0, 4))),
            ("ab+c", "abbc ab+c", Some((5, 9))),
            ("\\(ab\\)\\{2}", "xabab", Some((1, 5))),
            ("a\\{-1,}", "aaa", Some((0, 1))),
            ("\\vab+|(c)", "xc", Some((1, 2))),
            ("\\v<the>", "them the", Some((5, 8))),
            ("\\<the\\>", "them the", Some((5, 8))),
            ("^a$b", "a$b", Some((0, 3))),
            ("a^b", "a^b", Some((0, 3))),
            ("b$", "b ab", Some((3, 4))),
            ("[]x]", "a]", Some((1, 2))),
            ("[^a-c]", "abcd", Some((3, 4))),
            ("[[:digit:]]\\+", "a12", Some((1, 3))),
            ("[a", "x[a", Some((1, 3))),
            ("\\Va.b", "axb a.b", Some((4, 7))),
            ("\\s\\d", "a 1", Some((1, 3))),
            ("abc", "ABC", Some((0, 3))),
            ("Abc", "abc", None),
            ("\\Cabc", "ABC", None),
            ("Abc\\c", "abc", Some((0, 3))),
            ("src/main", "a src/main", Some((2, 10))),
            ("x\\n", "x", None),
            ("\\(", "(", None),
        ];
        for (pattern, line, expected) in cases {
            assert_eq!(found(pattern, line), expected, "{pattern} in {line}");
        }
    }
}
