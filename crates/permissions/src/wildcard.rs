//! Patterns of rules for texts: `*` matches anything, `\*` a literal `*`. The text of a command is
//! compared word by word, with symbols for the unknown parts.

use crate::shell::{GLOB, HOLE, Word};

/// Whether `text` matches the pattern of a command.
pub(crate) fn fits(pattern: &str, text: &[Symbol]) -> bool {
    // `git:*` is the same as `git *` in other agents; both also match `git` alone.
    let start = pattern
        .strip_suffix(":*")
        .or_else(|| pattern.strip_suffix(" *"));
    match start {
        Some(start) => wildcard(start, text) || wildcard(&format!("{start} *"), text),
        None => wildcard(pattern, text),
    }
}

/// Whether the tool name `name` matches `pattern`.
pub(crate) fn is_named(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '\\']) {
        return pattern == name;
    }
    let name: Vec<Symbol> = name.chars().map(Symbol::Char).collect();
    wildcard(pattern, &name)
}

/// A character of a text that is compared with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    Char(char),
    /// Only `*` matches it: a blank inside of a word, or an unknown text.
    Opaque,
    /// A `..` inside of a path. `*` does not match it in a word that it completes, as in `src/*`.
    Up,
    /// An unknown text that can contain a `..`.
    Climb,
    /// Between two words.
    Blank,
    /// Any text.
    Any,
    /// Any text without a blank.
    AnyInWord,
    /// Nothing, or any number of words.
    MoreWords,
}

/// The text of a command for an allow rule.
pub(crate) fn strict(words: &[Word]) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            symbols.push(Symbol::Blank);
        }
        let mut rest = word.text.as_str();
        while let Some(char) = rest.chars().next() {
            let starts_component = rest.len() < word.text.len() && char == '.';
            let is_up = starts_component
                && matches!(symbols.last(), Some(Symbol::Char('/')))
                && matches!(rest.strip_prefix(".."), Some(after) if after.is_empty() || after.starts_with('/'));
            if is_up {
                symbols.extend([Symbol::Up, Symbol::Up]);
                rest = &rest[2..];
                continue;
            }
            symbols.push(match char {
                HOLE => Symbol::Climb,
                // `.*` and `.?` find `..` in versions of bash before 5.2.
                GLOB if matches!(symbols.last(), Some(Symbol::Char('.'))) => Symbol::Climb,
                GLOB => Symbol::Opaque,
                char if char.is_whitespace() => Symbol::Opaque,
                char => Symbol::Char(char),
            });
            rest = &rest[char.len_utf8()..];
        }
    }
    symbols
}

/// The text of a command for a deny or ask rule; `open` says whether unknown parts can match.
pub(crate) fn loose(words: &[Word], open: bool) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for (place, word) in words.iter().enumerate() {
        // If a word can vanish, its blank vanishes, too.
        let vanishes =
            open && place > 0 && word.splits && word.text.chars().all(|char| char == HOLE);
        if vanishes {
            symbols.push(Symbol::MoreWords);
            continue;
        }
        if place > 0 {
            symbols.push(Symbol::Blank);
        }
        symbols.extend(word.text.chars().map(|char| match char {
            HOLE if open => Symbol::Any,
            GLOB if open => Symbol::AnyInWord,
            HOLE | GLOB => Symbol::Opaque,
            char => Symbol::Char(char),
        }));
        if open && word.text.contains(GLOB) {
            symbols.push(Symbol::MoreWords);
        }
    }
    symbols
}

/// An element of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Char(char),
    /// `*`; whether it completes a word that has begun.
    Star(bool),
}

/// Whether `text` matches `pattern`; `*` matches anything, `\*` a literal `*`.
pub(crate) fn wildcard(pattern: &str, text: &[Symbol]) -> bool {
    let elements = elements(pattern);
    let mut reached = Reached::start(&elements);
    let mut next = reached.clone();
    for symbol in text {
        reached.follow(*symbol, &mut next);
        std::mem::swap(&mut reached, &mut next);
        if !reached.at.contains(&true) {
            return false;
        }
        reached.skip_stars();
    }
    reached.at[elements.len()]
}

fn elements(pattern: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        elements.push(match char {
            '*' => Element::Star(!matches!(
                elements.last(),
                None | Some(Element::Char(' ') | Element::Star(false))
            )),
            '\\' => Element::Char(chars.next().unwrap_or('\\')),
            char => Element::Char(char),
        });
    }
    elements
}

/// The positions in a pattern that the text so far can have reached. All ways to match are followed at once.
#[derive(Clone)]
struct Reached<'a> {
    elements: &'a [Element],
    at: Vec<bool>,
    /// Whether a `*` that completes a word has passed the end of that word.
    passed: Vec<bool>,
}

impl<'a> Reached<'a> {
    fn start(elements: &'a [Element]) -> Self {
        let mut start = Self {
            elements,
            at: vec![false; elements.len() + 1],
            passed: vec![false; elements.len() + 1],
        };
        start.at[0] = true;
        start.skip_stars();
        start
    }

    /// A `*` can match nothing.
    fn skip_stars(&mut self) {
        for (at, element) in self.elements.iter().enumerate() {
            if self.at[at] && matches!(element, Element::Star(_)) {
                self.at[at + 1] = true;
            }
        }
    }

    /// Sets `next` to the positions after `symbol`.
    fn follow(&self, symbol: Symbol, next: &mut Self) {
        next.at.fill(false);
        next.passed.fill(false);
        for (at, element) in self.elements.iter().enumerate() {
            if !self.at[at] {
                continue;
            }
            match (*element, symbol) {
                (Element::Star(true), Symbol::Up | Symbol::Climb) if !self.passed[at] => {}
                (Element::Star(_), _) => {
                    next.at[at] = true;
                    next.passed[at] |= self.passed[at] || symbol == Symbol::Blank;
                }
                (Element::Char(' '), Symbol::Blank) | (Element::Char('.'), Symbol::Up) => {
                    next.at[at + 1] = true;
                }
                (Element::Char(wanted), Symbol::Char(char)) if wanted == char => {
                    next.at[at + 1] = true;
                }
                _ => {}
            }
        }
        self.follow_unknown(symbol, next);
    }

    /// An unknown text can be empty, or match any number of the following elements.
    fn follow_unknown(&self, symbol: Symbol, next: &mut Self) {
        let mut open = false;
        for at in 0..=self.elements.len() {
            let element = self.elements.get(at);
            let is_blank = element == Some(&Element::Char(' '));
            match symbol {
                Symbol::Any | Symbol::AnyInWord => {
                    open |= self.at[at];
                    next.at[at] |= open;
                    open &= !(is_blank && symbol == Symbol::AnyInWord);
                }
                Symbol::MoreWords => {
                    next.at[at] |= open || self.at[at];
                    let begins_word = is_blank || matches!(element, Some(Element::Star(_)));
                    open |= self.at[at] && begins_word;
                }
                _ => break,
            }
        }
    }
}

/// `text` as a pattern that matches only itself.
pub(crate) fn literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*")
}
