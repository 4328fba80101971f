//! A fast scan of a file for the names that it uses and the definitions that it seems to contain. It reads words
//! outside of comments and texts and knows no grammar, so that 100,000 files can be read in seconds.

use std::ops::Range;

use crate::definition::{Definition, PER_FILE, hash};
use crate::kind::Kind;
use crate::language::{Calls, Language};

/// Minimum bytes of a name: shorter names have too many meanings.
const SHORTEST: usize = 3;
/// Maximum number of stored names of a file.
const USES: usize = 2000;
/// Maximum depth of braces whose kinds are tracked.
const DEPTH: usize = 64;
/// Maximum number of tokens between the arguments of a function and its body.
const TAIL: u8 = 16;

/// Words before `(` that are no functions.
const CONTROL: &[&str] = &[
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "sizeof",
    "synchronized",
    "lock",
    "using",
    "foreach",
    "when",
    "with",
    "do",
    "else",
    "new",
    "throw",
    "await",
    "fixed",
    "defined",
    "function",
    "super",
    "this",
    "typeof",
    "delete",
    "case",
    "in",
    "of",
    "yield",
    "assert",
    "elif",
    "until",
];

/// Recognizes most names that occurred before in the file, so that fewer must be sorted.
pub(crate) struct Seen {
    slots: Vec<(u32, u32)>,
    generation: u32,
}

impl Seen {
    const SIZE: usize = 8192;

    pub(crate) fn new() -> Self {
        Self {
            slots: vec![(0, 0); Self::SIZE],
            generation: 0,
        }
    }

    fn start(&mut self) {
        self.generation += 1;
    }

    /// Whether the name is new; a few old ones count as new again.
    fn insert(&mut self, name: u32) -> bool {
        let slot = &mut self.slots[name as usize % Self::SIZE];
        let is_new = *slot != (self.generation, name);
        *slot = (self.generation, name);
        is_new
    }
}

/// Scans `text`: appends the numbers of the names that it uses, sorted, and calls `define` for each definition.
pub(crate) fn scan(
    language: &Language,
    text: &[u8],
    seen: &mut Seen,
    uses: &mut Vec<u32>,
    define: &mut dyn FnMut(Definition),
) {
    seen.start();
    let start = uses.len();
    let mut scanner = Scanner::new(language, text);
    while let Some(token) = scanner.next() {
        if let Token::Word(range) = &token {
            let name = &text[range.clone()];
            if name.len() >= SHORTEST && uses.len() - start < USES {
                let number = hash(name);
                if seen.insert(number) {
                    uses.push(number);
                }
            }
        }
        scanner.watch(&token, define);
    }
    if let Some(candidate) = scanner.dotted.take() {
        scanner.define(&candidate, define);
    }
    uses[start..].sort_unstable();
    let mut kept = start;
    for at in start..uses.len() {
        if at == start || uses[at] != uses[kept - 1] {
            uses[kept] = uses[at];
            kept += 1;
        }
    }
    uses.truncate(kept);
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(Range<usize>),
    Mark(u8),
}

/// A name that may turn out to be a definition.
#[derive(Debug, Clone)]
struct Candidate {
    range: Range<usize>,
    kind: Kind,
    line: u32,
    tail: u8,
}

struct Scanner<'a> {
    language: &'a Language,
    text: &'a [u8],
    at: usize,
    line: u32,
    braces: usize,
    parens: usize,
    /// For each open brace, whether it contains definitions.
    containers: [bool; DEPTH],
    /// The next brace opens a container.
    opens_container: bool,
    /// The definition that the next word names.
    pending: Option<Kind>,
    /// `<…>` or `(…)` between the word and the name.
    skipping: usize,
    /// A type that is defined only if a body follows.
    candidate: Option<Candidate>,
    /// A function that is defined only if a body follows.
    call: Option<Candidate>,
    /// The number of open parentheses around the candidate.
    call_depth: usize,
    /// A name after `const`, which must be assigned.
    assigned: Option<Candidate>,
    /// A name that may continue after a dot.
    dotted: Option<Candidate>,
    before: [Option<Token>; 2],
    count: usize,
}

impl<'a> Scanner<'a> {
    fn new(language: &'a Language, text: &'a [u8]) -> Self {
        Self {
            language,
            text,
            at: 0,
            line: 1,
            braces: 0,
            parens: 0,
            containers: [false; DEPTH],
            opens_container: false,
            pending: None,
            skipping: 0,
            candidate: None,
            call: None,
            call_depth: 0,
            assigned: None,
            dotted: None,
            before: [None, None],
            count: 0,
        }
    }

    fn next(&mut self) -> Option<Token> {
        let syntax = self.language.syntax;
        loop {
            let byte = *self.text.get(self.at)?;
            let next = self.text.get(self.at + 1).copied();
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                _ if is_word(byte) => return Some(self.word()),
                b'/' if syntax.slashes && next == Some(b'/') => self.skip_line(),
                b'/' if syntax.slashes && next == Some(b'*') => self.skip_past(2, b"*/"),
                b'#' if syntax.hash && self.is_after_blank() => self.skip_line(),
                b'-' if syntax.dashes && next == Some(b'-') => {
                    if self.text[self.at + 2..].starts_with(b"[[") {
                        self.skip_past(4, b"]]");
                    } else {
                        self.skip_line();
                    }
                }
                b'"' | b'\'' if syntax.triple && self.is_triple(byte) => {
                    self.skip_past(3, &[byte; 3]);
                }
                b'`' if syntax.backtick => self.skip_text(byte, true),
                b'"' => self.skip_text(byte, syntax.rust),
                b'\'' if syntax.rust => self.skip_quote(),
                b'\'' => self.skip_text(byte, false),
                _ => {
                    self.at += 1;
                    return Some(Token::Mark(byte));
                }
            }
        }
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| is_word(*byte)) {
            self.at += 1;
        }
        let name = &self.text[start..self.at];
        let next = self.text.get(self.at);
        if self.language.syntax.rust && matches!(name, b"r" | b"br" | b"cr") {
            let rest = &self.text[self.at..];
            let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
            if rest.get(hashes) == Some(&b'"') {
                let mut end = vec![b'"'];
                end.resize(hashes + 1, b'#');
                self.skip_past(hashes + 1, &end);
                return Token::Mark(b'"');
            }
        }
        // `?` and `!` are part of names in Ruby and Elixir.
        if self.language.dotted && self.language.syntax.hash && matches!(next, Some(b'?' | b'!')) {
            self.at += 1;
        }
        if self.text[start].is_ascii_digit() {
            return Token::Mark(b'0');
        }
        Token::Word(start..self.at)
    }

    fn is_after_blank(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| self.text[at]);
        before.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b';' | b'('))
    }

    fn is_triple(&self, quote: u8) -> bool {
        self.text[self.at..].starts_with(&[quote; 3])
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n');
        self.at += length.unwrap_or(rest.len());
    }

    /// Skips `start` bytes and everything up to and including `end`.
    fn skip_past(&mut self, start: usize, end: &[u8]) {
        self.at = (self.at + start).min(self.text.len());
        while self.at < self.text.len() {
            if self.text[self.at..].starts_with(end) {
                self.at += end.len();
                return;
            }
            if self.text[self.at] == b'\n' {
                self.line += 1;
            }
            self.at += 1;
        }
    }

    /// Skips a text in quotes. A text that does not span lines ends with its line.
    fn skip_text(&mut self, quote: u8, spans_lines: bool) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at).copied() {
            match byte {
                b'\n' if !spans_lines => return,
                b'\n' => self.line += 1,
                b'\\' if self.text.get(self.at + 1) != Some(&b'\n') => self.at += 1,
                _ if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.text.len();
    }

    /// Skips a character or a lifetime of Rust.
    fn skip_quote(&mut self) {
        let rest = &self.text[self.at + 1..];
        if rest.first() == Some(&b'\\') {
            self.skip_text(b'\'', false);
            return;
        }
        let length = rest.iter().take(5).position(|byte| *byte == b'\'');
        match length {
            Some(length @ 1..) => self.at += length + 2,
            _ => self.at += 1,
        }
    }

    /// Looks for definitions in the tokens.
    fn watch(&mut self, token: &Token, define: &mut dyn FnMut(Definition)) {
        self.watch_names(token, define);
        if self.language.calls != Calls::Never {
            self.watch_call(token, define);
        }
        match token {
            Token::Mark(b'{') => {
                if let Some(slot) = self.containers.get_mut(self.braces) {
                    *slot = self.opens_container;
                }
                self.opens_container = false;
                self.braces += 1;
            }
            Token::Mark(b'}') => {
                self.braces = self.braces.saturating_sub(1);
                self.opens_container = false;
                self.parens = 0;
            }
            Token::Mark(b'(') => self.parens += 1,
            Token::Mark(b')') => self.parens = self.parens.saturating_sub(1),
            Token::Mark(b';') => self.opens_container = false,
            _ => {}
        }
        self.before = [self.before[1].take(), Some(token.clone())];
    }

    fn watch_names(&mut self, token: &Token, define: &mut dyn FnMut(Definition)) {
        if let Some(mut candidate) = self.dotted.take() {
            match token {
                Token::Mark(b'.' | b':') if self.is_close() => {
                    self.dotted = Some(candidate);
                    return;
                }
                // `fun List<T>.name`.
                Token::Mark(b'<') if self.is_close() => {
                    self.skipping += 1;
                    self.dotted = Some(candidate);
                    return;
                }
                Token::Mark(b'>') if self.skipping > 0 => {
                    self.skipping -= 1;
                    self.dotted = Some(candidate);
                    return;
                }
                _ if self.skipping > 0 => {
                    candidate.tail += 1;
                    if candidate.tail < TAIL {
                        self.dotted = Some(candidate);
                        return;
                    }
                    self.skipping = 0;
                    self.define(&candidate, define);
                }
                Token::Word(range) if self.last_mark(b".:") => {
                    candidate.range = range.clone();
                    self.dotted = Some(candidate);
                    return;
                }
                _ => self.define(&candidate, define),
            }
        }
        if let Some(mut candidate) = self.candidate.take() {
            candidate.tail += 1;
            match token {
                Token::Mark(b'{' | b':') => self.define(&candidate, define),
                Token::Mark(b'<' | b'(') if self.language.calls == Calls::AfterType => {
                    self.define(&candidate, define);
                }
                Token::Word(range) if candidate.tail < 8 => {
                    // `enum class Name`, `class EXPORT Name`, `class A extends B`.
                    let is_modifier = candidate.tail == 1 && !self.is_clause(range);
                    if is_modifier && self.language.name != "Java" {
                        candidate.range = range.clone();
                        candidate.line = self.line;
                    }
                    self.candidate = Some(candidate);
                }
                Token::Mark(b'.' | b',') if candidate.tail > 1 && candidate.tail < 32 => {
                    self.candidate = Some(candidate);
                }
                _ => {}
            }
        }
        if let Some(candidate) = self.assigned.take()
            && matches!(token, Token::Mark(b'=' | b':'))
        {
            self.define(&candidate, define);
        }
        match token {
            Token::Word(range) => self.watch_word(range, define),
            Token::Mark(mark) => self.watch_mark(*mark),
        }
    }

    /// Whether there is no blank around the last mark.
    fn is_close(&self) -> bool {
        let is_blank = |at: usize| self.text.get(at).is_none_or(u8::is_ascii_whitespace);
        self.at >= 2 && !is_blank(self.at - 2) && !is_blank(self.at)
    }

    fn is_clause(&self, range: &Range<usize>) -> bool {
        let word = &self.text[range.clone()];
        matches!(
            word,
            b"extends" | b"implements" | b"final" | b"permits" | b"where" | b"with" | b"sealed"
        )
    }

    fn watch_word(&mut self, range: &Range<usize>, define: &mut dyn FnMut(Definition)) {
        let word = &self.text[range.clone()];
        if self.skipping > 0 {
            return;
        }
        let keyword = self.keyword(word);
        if let Some(kind) = keyword {
            // `x.type` and `*const T` define nothing.
            if !self.last_mark(b".*$@") {
                // `enum class` is an enum.
                let is_enum = self.pending == Some(Kind::Enum);
                self.pending = Some(if is_enum { Kind::Enum } else { kind });
                self.opens_container |= kind.contains();
                return;
            }
        }
        if let Some(kind) = self.pending {
            if matches!(word, b"mut" | b"async" | b"unsafe" | b"extern") {
                return;
            }
            self.pending = None;
            let candidate = self.candidate_at(range, kind);
            if self.language.dotted {
                self.dotted = Some(candidate);
            } else if self.language.with_body {
                self.candidate = Some(candidate);
            } else if !(word == b"_" || kind == Kind::Module && self.is_declared(range.end)) {
                self.define(&candidate, define);
            }
            return;
        }
        if matches!(word, b"impl" | b"extern" | b"extension" | b"namespace") {
            self.opens_container = true;
        }
        let is_assigning = |word: &Option<Token>| match word {
            Some(Token::Word(range)) => {
                let word = &self.text[range.clone()];
                let mut words = self.language.assigned.iter();
                words.any(|assigned| assigned.as_bytes() == word)
            }
            _ => false,
        };
        if self.braces == 0 && self.parens == 0 && is_assigning(&self.before[1]) {
            self.assigned = Some(self.candidate_at(range, Kind::Constant));
        }
    }

    /// Whether a `;` follows: the module is in another file.
    fn is_declared(&self, end: usize) -> bool {
        let rest = &self.text[end..];
        rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b';')
    }

    fn watch_mark(&mut self, mark: u8) {
        if self.pending.is_none() {
            return;
        }
        match mark {
            // `func (r Receiver) name`, `fun <T> name`.
            b'(' | b'<' | b'[' => self.skipping += 1,
            b')' | b'>' | b']' if self.skipping > 0 => self.skipping -= 1,
            // `macro_rules! name`, `function* name`, `function &name`.
            b'!' | b'*' | b'&' => {}
            _ if self.skipping > 0 => {}
            _ => self.pending = None,
        }
        if self.skipping > 0 && mark == b'{' {
            self.skipping = 0;
            self.pending = None;
        }
    }

    fn keyword(&self, word: &[u8]) -> Option<Kind> {
        if self.language.top_only && (self.braces > 0 || self.parens > 0) {
            return None;
        }
        let mut keywords = self.language.keywords.iter();
        let found = keywords.find(|(keyword, _)| keyword.as_bytes() == word);
        found.map(|(_, kind)| *kind)
    }

    fn watch_call(&mut self, token: &Token, define: &mut dyn FnMut(Definition)) {
        if let Some(mut call) = self.call.take() {
            if self.parens > self.call_depth {
                self.call = Some(call);
                return;
            }
            call.tail += 1;
            match token {
                Token::Mark(b'{') => self.define(&call, define),
                Token::Mark(b';' | b'=' | b'(' | b'}') => {}
                Token::Mark(b')') if call.tail > 1 => {}
                _ if call.tail > TAIL || self.language.calls == Calls::Empty && call.tail > 1 => {}
                _ => self.call = Some(call),
            }
            return;
        }
        if *token != Token::Mark(b'(') || self.parens > 0 || !self.is_in_container() {
            return;
        }
        let [before, Some(Token::Word(name))] = &self.before else {
            return;
        };
        let word = &self.text[name.clone()];
        if CONTROL.iter().any(|control| control.as_bytes() == word) {
            return;
        }
        let is_function = match (self.language.calls, before) {
            (Calls::AfterType, Some(Token::Word(range))) => {
                let word = &self.text[range.clone()];
                let is_other = matches!(word, b"return" | b"new" | b"throw" | b"else" | b"case");
                !is_other && self.keyword(word).is_none()
            }
            (Calls::AfterType, Some(Token::Mark(mark))) => {
                matches!(mark, b'*' | b'&' | b'>' | b']' | b':' | b'~')
            }
            (Calls::InClass, _) => self.braces > 0,
            (Calls::Empty, _) => true,
            _ => false,
        };
        if is_function {
            let (name, line) = (name.clone(), self.line);
            self.call = Some(Candidate {
                range: name,
                kind: Kind::Function,
                line,
                tail: 0,
            });
            self.call_depth = self.parens;
        }
    }

    fn is_in_container(&self) -> bool {
        self.language.calls == Calls::Empty
            || self.braces <= DEPTH && self.containers[..self.braces].iter().all(|is| *is)
    }

    fn last_mark(&self, marks: &[u8]) -> bool {
        matches!(&self.before[1], Some(Token::Mark(mark)) if marks.contains(mark))
    }

    fn candidate_at(&self, range: &Range<usize>, kind: Kind) -> Candidate {
        Candidate {
            range: range.clone(),
            kind,
            line: self.line,
            tail: 0,
        }
    }

    fn define(&mut self, candidate: &Candidate, define: &mut dyn FnMut(Definition)) {
        if self.count >= PER_FILE {
            return;
        }
        let found = Definition::of(self.text, candidate.range.clone(), candidate.kind);
        if let Some(found) = found {
            self.count += 1;
            define(Definition {
                line: candidate.line,
                ..found
            });
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
