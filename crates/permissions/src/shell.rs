//! Splits a shell command into its simple commands, including those in pipes, substitutions and groups, with
//! their words after quote removal.
//!
//! The result decides what runs without a question, so the parser is conservative: it returns `None` for
//! everything that it does not fully understand, and osier asks.

use std::iter::Peekable;
use std::str::Chars;

/// Maximum depth of nested substitutions.
const DEPTH: usize = 8;

/// A part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A program with its arguments.
    Run(Vec<Word>),
    /// Output to a file.
    WriteTo(Word),
}

/// One word, quotes removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Contains a variable or a substitution, so its value is unknown.
    pub dynamic: bool,
}

/// Keywords that can precede a command.
const KEYWORDS: &[&str] = &[
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!",
];
/// Constructs that are not parsed.
const UNKNOWN: &[&str] = &["case", "esac", "function", "select", "coproc"];

/// The parts of `command`; `None` when it cannot be fully parsed.
pub fn parts(command: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    Scanner::new(command, 0)?.list(None, &mut parts)?;
    Some(parts)
}

struct Scanner<'a> {
    rest: Peekable<Chars<'a>>,
    depth: usize,
    /// Here-documents that start at the next line: the delimiter, and whether the text is literal.
    documents: Vec<(String, bool)>,
    /// The words are the head of a `for` loop: a name and values, no command.
    is_head: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, depth: usize) -> Option<Self> {
        // Control characters other than blanks are not valid in a command.
        let odd = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
        (depth <= DEPTH && !text.contains(odd)).then(|| Self {
            rest: text.chars().peekable(),
            depth,
            documents: Vec::new(),
            is_head: false,
        })
    }

    /// Parses commands up to `close` or the end, and restores the state of the surrounding list.
    fn list(&mut self, close: Option<char>, parts: &mut Vec<Part>) -> Option<()> {
        let around = std::mem::take(&mut self.is_head);
        let read = self.commands(close, parts);
        self.is_head = around;
        read
    }

    fn commands(&mut self, close: Option<char>, parts: &mut Vec<Part>) -> Option<()> {
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.skip_blanks();
            let Some(&next) = self.rest.peek() else {
                self.flush(&mut words, parts)?;
                return (close.is_none() && self.documents.is_empty()).then_some(());
            };
            match next {
                ')' => {
                    self.rest.next();
                    self.flush(&mut words, parts)?;
                    return (close == Some(')')).then_some(());
                }
                '\n' => {
                    self.rest.next();
                    self.flush(&mut words, parts)?;
                    self.skip_documents()?;
                }
                ';' | '&' | '|' => {
                    self.rest.next();
                    // `&>` writes both streams to a file.
                    if next == '&' && self.rest.peek() == Some(&'>') {
                        self.redirect(parts)?;
                        continue;
                    }
                    self.flush(&mut words, parts)?;
                    if next == ';' && self.rest.peek() == Some(&';') {
                        return None;
                    }
                }
                '(' if words.is_empty() => {
                    self.rest.next();
                    if self.rest.peek() == Some(&'(') {
                        return None;
                    }
                    self.list(Some(')'), parts)?;
                }
                // A function, an array or an extended glob.
                '(' => return None,
                '<' | '>' => self.redirect(parts)?,
                '#' => {
                    while self.rest.peek().is_some_and(|char| *char != '\n') {
                        self.rest.next();
                    }
                }
                _ => self.plain_word(&mut words, parts)?,
            }
        }
    }

    /// Ends a simple command.
    fn flush(&mut self, words: &mut Vec<Word>, parts: &mut Vec<Part>) -> Option<()> {
        let words = std::mem::take(words);
        let Some(first) = words.first() else {
            return Some(());
        };
        if std::mem::take(&mut self.is_head) {
            return Some(());
        }
        if is_unclear(first) {
            return None;
        }
        parts.push(Part::Run(words));
        Some(())
    }

    fn plain_word(&mut self, words: &mut Vec<Word>, parts: &mut Vec<Part>) -> Option<()> {
        let (word, quoted) = self.word(parts)?;
        let digits = !quoted && word.text.bytes().all(|byte| byte.is_ascii_digit());
        // A file descriptor number directly precedes its redirection.
        if digits && matches!(self.rest.peek(), Some('<' | '>')) {
            return self.redirect(parts);
        }
        if words.is_empty() && !quoted {
            if UNKNOWN.contains(&word.text.as_str()) {
                return None;
            }
            if KEYWORDS.contains(&word.text.as_str()) {
                return Some(());
            }
            self.is_head = word.text == "for";
        }
        words.push(word);
        Some(())
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.rest.peek() {
                Some(' ' | '\t') => drop(self.rest.next()),
                Some('\\') => {
                    let mut ahead = self.rest.clone();
                    ahead.next();
                    if ahead.next() != Some('\n') {
                        return;
                    }
                    self.rest.nth(1);
                }
                _ => return,
            }
        }
    }

    /// Parses one word from its first character; the flag says whether any of it was quoted.
    fn word(&mut self, parts: &mut Vec<Part>) -> Option<(Word, bool)> {
        let mut word = Word::default();
        let mut quoted = false;
        while let Some(&next) = self.rest.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    self.rest.next();
                    quoted = true;
                    self.single(&mut word)?;
                }
                '"' => {
                    self.rest.next();
                    quoted = true;
                    self.double(&mut word, parts)?;
                }
                '\\' => {
                    self.rest.next();
                    quoted = true;
                    match self.rest.next()? {
                        '\n' => {}
                        char => word.text.push(char),
                    }
                }
                '$' => {
                    self.rest.next();
                    self.dollar(&mut word, parts)?;
                }
                '`' => {
                    self.rest.next();
                    self.backticks(&mut word, parts)?;
                }
                // Braces and globs expand to arguments; a command name is compared as written.
                char => {
                    self.rest.next();
                    word.text.push(char);
                }
            }
        }
        Some((word, quoted))
    }

    fn single(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.rest.next()? {
                '\'' => return Some(()),
                char => word.text.push(char),
            }
        }
    }

    fn double(&mut self, word: &mut Word, parts: &mut Vec<Part>) -> Option<()> {
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '$' => self.dollar(word, parts)?,
                '`' => self.backticks(word, parts)?,
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    char @ ('$' | '`' | '"' | '\\') => word.text.push(char),
                    char => word.text.extend(['\\', char]),
                },
                char => word.text.push(char),
            }
        }
    }

    /// Parses the text after a `$`.
    fn dollar(&mut self, word: &mut Word, parts: &mut Vec<Part>) -> Option<()> {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                if self.rest.peek() == Some(&'(') {
                    // Arithmetic can contain substitutions.
                    return None;
                }
                word.dynamic = true;
                word.text.push_str("$(…)");
                self.depth += 1;
                if self.depth > DEPTH {
                    return None;
                }
                self.list(Some(')'), parts)?;
                self.depth -= 1;
            }
            Some('{') => {
                self.rest.next();
                let name: String = self.take_until('}')?;
                // `${x:-$(…)}`, `${x@P}` and `${!x}` do more than insert a value.
                if name.contains(['$', '`', '!', '@', '"', '\'']) {
                    return None;
                }
                word.dynamic = true;
                word.text.extend(["${", name.as_str(), "}"]);
            }
            // `$'…'` has its own escapes, and `$"…"` is translated.
            Some('\'' | '"') => return None,
            Some(char) if char.is_alphanumeric() || "_?@*#$!-".contains(*char) => {
                word.dynamic = true;
                word.text.push('$');
            }
            _ => word.text.push('$'),
        }
        Some(())
    }

    fn backticks(&mut self, word: &mut Word, parts: &mut Vec<Part>) -> Option<()> {
        let inner = self.take_until('`')?;
        if inner.contains('\\') {
            return None;
        }
        word.dynamic = true;
        word.text.push_str("$(…)");
        Scanner::new(&inner, self.depth + 1)?.list(None, parts)
    }

    fn take_until(&mut self, end: char) -> Option<String> {
        let mut taken = String::new();
        loop {
            match self.rest.next()? {
                char if char == end => return Some(taken),
                char => taken.push(char),
            }
        }
    }

    /// Parses a redirection from its `<` or `>`.
    fn redirect(&mut self, parts: &mut Vec<Part>) -> Option<()> {
        let mut operator = String::new();
        while let Some(char @ ('<' | '>' | '&' | '|')) = self.rest.peek() {
            operator.push(*char);
            self.rest.next();
        }
        if self.rest.peek() == Some(&'(') {
            // A process substitution.
            self.rest.next();
            return match operator.as_str() {
                "<" | ">" => self.list(Some(')'), parts),
                _ => None,
            };
        }
        if operator == "<<" && self.rest.peek() == Some(&'-') {
            self.rest.next();
        }
        self.skip_blanks();
        let (target, quoted) = self.word(parts)?;
        if target.text.is_empty() {
            return None;
        }
        match operator.as_str() {
            "<" | "<<<" | "<&" => {}
            "<<" => self.documents.push((target.text, quoted)),
            ">&" if target.text == "-" || target.text.bytes().all(|byte| byte.is_ascii_digit()) => {
            }
            ">" | ">>" | ">|" | ">&" | "<>" | "&>" | "&>>" => parts.push(Part::WriteTo(target)),
            _ => return None,
        }
        Some(())
    }

    /// Skips the here-documents that begin on this line. Fails when one contains a substitution that the
    /// shell would expand.
    fn skip_documents(&mut self) -> Option<()> {
        for (end, literal) in std::mem::take(&mut self.documents) {
            loop {
                let mut line = String::new();
                let mut ended = true;
                for char in self.rest.by_ref() {
                    if char == '\n' {
                        ended = false;
                        break;
                    }
                    line.push(char);
                }
                if line.trim_start_matches('\t') == end {
                    break;
                }
                if ended || (!literal && (line.contains('`') || line.contains("$("))) {
                    return None;
                }
            }
        }
        Some(())
    }
}

/// Whether a variable, a glob or braces determine what runs, when `word` is a command name.
pub(crate) fn is_unclear(word: &Word) -> bool {
    if is_assignment(&word.text) {
        return false;
    }
    word.dynamic
        || (!matches!(word.text.as_str(), "[" | "[[") && word.text.contains(['{', '*', '?', '[']))
}

/// Whether `word` is `NAME=value`.
pub(crate) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts, one per line: words joined, output as `> FILE`.
    fn shown(command: &str) -> Option<Vec<String>> {
        let parts = parts(command)?;
        let show = |part: Part| match part {
            Part::WriteTo(word) => format!("> {}", word.text),
            Part::Run(words) => {
                let words: Vec<String> = words.into_iter().map(|word| word.text).collect();
                words.join(" ")
            }
        };
        Some(parts.into_iter().map(show).collect())
    }

    #[test]
    fn every_command_of_a_line_is_found() {
        let cases: &[(&str, &[&str])] = &[
            ("ls", &["ls"]),
            ("a && b || c; d & e", &["a", "b", "c", "d", "e"]),
            ("a | b |& c", &["a", "b", "c"]),
            ("a\nb \\\n c", &["a", "b c"]),
            ("echo $(rm -rf x) y", &["rm -rf x", "echo $(…) y"]),
            ("echo \"in $(rm x)\"", &["rm x", "echo in $(…)"]),
            ("echo `rm x`", &["rm x", "echo $(…)"]),
            ("echo $(echo $(rm x))", &["rm x", "echo $(…)", "echo $(…)"]),
            ("diff <(rm a) <(b)", &["rm a", "b", "diff"]),
            ("(cd x; rm y)", &["cd x", "rm y"]),
            ("{ a; b; }", &["a", "b"]),
            ("if a; then b; else c; fi", &["a", "b", "c"]),
            ("while ! a; do b; done", &["a", "b"]),
            ("for x in $(a) *; do b $x; done", &["a", "b $x"]),
            ("[ -f x ] && time a", &["[ -f x ]", "time a"]),
            ("r'm' -r\\f \"x y\"", &["rm -rf x y"]),
            ("X=1 a b", &["X=1 a b"]),
            ("echo 'rm; $(x)' # rm y", &["echo rm; $(x)"]),
            ("a '#' b#c", &["a # b#c"]),
            ("git commit -m \"$MSG\"", &["git commit -m $MSG"]),
        ];
        for (command, expected) in cases {
            assert_eq!(shown(command).unwrap(), *expected, "{command}");
        }
    }

    #[test]
    fn writing_to_a_file_is_a_part() {
        let cases: &[(&str, &[&str])] = &[
            ("a > b", &["> b", "a"]),
            ("a >>b 2>&1", &["> b", "a"]),
            ("a 2> e <in", &["> e", "a"]),
            ("a &> b", &["> b", "a"]),
            ("> b", &["> b"]),
            ("a >| b", &["> b", "a"]),
            ("a <> b", &["> b", "a"]),
            ("a 12 > b", &["> b", "a 12"]),
            ("a >&b", &["> b", "a"]),
            ("cat <<E > f\ntext; rm x\nE\nb", &["> f", "cat", "b"]),
            ("cat <<'E'\n$(rm x)\nE", &["cat"]),
        ];
        for (command, expected) in cases {
            assert_eq!(shown(command).unwrap(), *expected, "{command}");
        }
    }

    #[test]
    fn unparsed_syntax_yields_none() {
        for command in [
            "$X y",
            "$(echo rm) x",
            "`echo rm` x",
            "echo 'open",
            "echo \"open",
            "echo $(open",
            "a )",
            "case x in y) z;; esac",
            "f() { rm x; }",
            "function f { a; }",
            "for ((;;)); do b; done",
            "{rm,-rf,x}",
            "/bin/r? x",
            "r[m] x",
            "echo $((1 + $(rm x)))",
            "((x=1))",
            "echo ${x:-$(rm y)}",
            "echo ${x@P}",
            "echo ${!x}",
            "echo $'\\x72m'",
            "cat <<E\n$(rm x)\nE",
            "cat <<E\nnever ends",
            "a=(b c)",
            "a \u{1b}[2J",
            "a\rb",
            "echo `a \\`rm x\\``",
            "coproc a",
            "a >",
        ] {
            assert_eq!(parts(command), None, "{command}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let deep = format!("{}a{}", "echo $(".repeat(50), ")".repeat(50));
        assert_eq!(parts(&deep), None);
    }

    #[test]
    fn assignments_are_distinguished_from_arguments() {
        for (word, expected) in [
            ("A=1", true),
            ("a_1+=x", true),
            ("1=2", false),
            ("--x=y", false),
            ("=x", false),
            ("a", false),
        ] {
            assert_eq!(is_assignment(word), expected, "{word}");
        }
    }
}
