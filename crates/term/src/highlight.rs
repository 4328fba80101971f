//! Syntax highlighting on a thread of its own: text is shown plain first and coloured when the answer
//! comes. The thread starts with the first request and ends when the handle is dropped; it owns the
//! grammars and the state of every block that is still being written, so that a growing block costs its
//! new lines only.
//!
//! Grammars name scopes; a table maps them to tokens. Colours are the theme's business.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Weak};
use std::thread;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::face::Token;

/// The coloured parts of one line, by byte, in order.
pub type LineTokens = Vec<(Range<u32>, Token)>;

/// Limits of a block; what is beyond stays plain.
pub const MAX_LINES: usize = 10_000;
pub const MAX_BYTES: usize = 512 * 1024;

/// A longer line stays plain: it is data, not code that someone reads.
const MAX_LINE_BYTES: usize = 4096;

/// Unfinished blocks whose state is kept.
const MAX_OPEN: usize = 64;

/// Names that models write and grammars do not know.
const ALIASES: &[(&str, &str)] = &[
    ("c++", "cpp"),
    ("console", "bash"),
    ("golang", "go"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("node", "js"),
    ("python3", "python"),
    ("shell", "bash"),
    ("shell-session", "bash"),
    ("terminal", "bash"),
    ("zsh", "bash"),
];

/// Scopes and what they are to a theme; the longest that fits counts.
const SCOPES: &[(&str, Token)] = &[
    ("comment", Token::SyntaxComment),
    ("constant", Token::SyntaxConstant),
    ("constant.numeric", Token::SyntaxNumber),
    ("entity.name", Token::SyntaxType),
    ("entity.name.function", Token::SyntaxFunction),
    ("entity.name.label", Token::SyntaxConstant),
    ("entity.name.section", Token::SyntaxFunction),
    ("entity.name.tag", Token::SyntaxTag),
    ("entity.other.attribute-name", Token::SyntaxAttribute),
    ("entity.other.inherited-class", Token::SyntaxType),
    ("keyword", Token::SyntaxKeyword),
    ("keyword.operator", Token::SyntaxOperator),
    ("keyword.operator.word", Token::SyntaxKeyword),
    ("markup.deleted", Token::DiffRemoved),
    ("markup.heading", Token::SyntaxFunction),
    ("markup.inserted", Token::DiffAdded),
    ("markup.raw", Token::SyntaxString),
    ("markup.underline.link", Token::SyntaxType),
    ("meta.annotation", Token::SyntaxAttribute),
    ("meta.attribute", Token::SyntaxAttribute),
    ("meta.diff.header", Token::DiffHunk),
    ("meta.diff.range", Token::DiffHunk),
    ("punctuation", Token::SyntaxPunctuation),
    ("punctuation.definition.comment", Token::SyntaxComment),
    ("punctuation.definition.string", Token::SyntaxString),
    ("punctuation.definition.keyword", Token::SyntaxKeyword),
    ("storage", Token::SyntaxKeyword),
    ("string", Token::SyntaxString),
    ("string.regexp", Token::SyntaxConstant),
    ("support", Token::SyntaxType),
    ("support.constant", Token::SyntaxConstant),
    ("support.function", Token::SyntaxFunction),
    ("support.macro", Token::SyntaxFunction),
    ("variable", Token::SyntaxVariable),
    ("variable.annotation", Token::SyntaxAttribute),
    ("variable.function", Token::SyntaxFunction),
    ("variable.language", Token::SyntaxKeyword),
];

/// Lines of one block to be highlighted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The block; requests with one key continue each other.
    pub key: u64,
    pub language: Arc<str>,
    /// Number of the first of `lines` in the block.
    pub first_line: usize,
    /// Lines without their newlines.
    pub lines: Vec<String>,
    /// No more lines will come: the state of the block is dropped.
    pub last: bool,
}

/// The answer to a request: as many lines as were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlighted {
    pub key: u64,
    pub first_line: usize,
    pub lines: Vec<LineTokens>,
}

type Deliver = Box<dyn Fn(Highlighted) + Send>;

/// The handle of the worker.
pub struct Highlighter {
    /// Where answers go, until the worker takes it.
    deliver: Option<Deliver>,
    requests: Option<Sender<Request>>,
    /// The worker stops at the next line once this is gone.
    alive: Arc<()>,
    next_key: u64,
}

impl fmt::Debug for Highlighter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Highlighter")
            .field("started", &self.requests.is_some())
            .finish_non_exhaustive()
    }
}

impl Highlighter {
    /// `deliver` is called on the worker's thread with every answer. Starts nothing.
    pub fn new(deliver: impl Fn(Highlighted) + Send + 'static) -> Self {
        Self {
            deliver: Some(Box::new(deliver)),
            requests: None,
            alive: Arc::new(()),
            next_key: 0,
        }
    }

    /// A key that no other block has.
    pub fn new_key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key
    }

    /// Asks for lines. An unknown language is never answered: the text stays plain.
    pub fn request(&mut self, request: Request) {
        if let Some(deliver) = self.deliver.take() {
            let (sender, receiver) = mpsc::channel();
            let alive = Arc::downgrade(&self.alive);
            let started = thread::Builder::new()
                .name("highlight".into())
                .spawn(move || work(&receiver, &alive, &deliver));
            // Without a thread everything stays plain.
            self.requests = started.is_ok().then_some(sender);
        }
        if let Some(requests) = &self.requests {
            // A worker that is gone leaves the text plain.
            let _ = requests.send(request);
        }
    }
}

/// Highlights whole blocks where somebody waits for them: in a page that is written. Owns the grammars;
/// made when the first block is asked for.
#[derive(Default)]
pub struct BlockHighlighter(Option<Worker>);

impl fmt::Debug for BlockHighlighter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BlockHighlighter")
            .field("started", &self.0.is_some())
            .finish_non_exhaustive()
    }
}

impl BlockHighlighter {
    /// The tokens of every line of `code`; `None` for an unknown language and for what is too long.
    pub fn lines(&mut self, language: &str, code: &str) -> Option<Vec<LineTokens>> {
        if code.len() > MAX_BYTES {
            return None;
        }
        let worker = self.0.get_or_insert_with(Worker::new);
        let mut state = State {
            parse: ParseState::new(worker.grammar(language)?),
            scopes: ScopeStack::new(),
        };
        let lines = code.lines().take(MAX_LINES);
        Some(lines.map(|line| worker.line(line, &mut state)).collect())
    }
}

fn work(requests: &Receiver<Request>, alive: &Weak<()>, deliver: &Deliver) {
    let mut worker = Worker::new();
    while let Ok(request) = requests.recv() {
        if alive.strong_count() == 0 {
            return;
        }
        if let Some(highlighted) = worker.highlight(&request, alive) {
            deliver(highlighted);
        }
    }
}

/// Where a block is after its last line.
struct State {
    parse: ParseState,
    scopes: ScopeStack,
}

struct Worker {
    grammars: SyntaxSet,
    table: Vec<(Scope, Token)>,
    /// Tokens of the scopes met so far.
    tokens: HashMap<Scope, Option<Token>>,
    /// The state of unfinished blocks, least recently used first.
    open: VecDeque<(u64, State)>,
}

impl Worker {
    fn new() -> Self {
        let table = SCOPES
            .iter()
            .filter_map(|(name, token)| Some((Scope::new(name).ok()?, *token)))
            .collect();
        Self {
            grammars: two_face::syntax::extra_newlines(),
            table,
            tokens: HashMap::new(),
            open: VecDeque::new(),
        }
    }

    fn highlight(&mut self, request: &Request, alive: &Weak<()>) -> Option<Highlighted> {
        let mut state = self.state(request)?;
        let mut lines = Vec::with_capacity(request.lines.len());
        for line in &request.lines {
            if alive.strong_count() == 0 {
                return None;
            }
            lines.push(self.line(line, &mut state));
        }
        if !request.last {
            if self.open.len() == MAX_OPEN {
                self.open.pop_front();
            }
            self.open.push_back((request.key, state));
        }
        Some(Highlighted {
            key: request.key,
            first_line: request.first_line,
            lines,
        })
    }

    /// The state before the request's first line; `None` for an unknown language, and for a block whose
    /// state was given up.
    fn state(&mut self, request: &Request) -> Option<State> {
        let open = self.open.iter().position(|(key, _)| *key == request.key);
        if let Some((_, state)) = open.and_then(|index| self.open.remove(index)) {
            return Some(state);
        }
        if request.first_line > 0 {
            return None;
        }
        Some(State {
            parse: ParseState::new(self.grammar(&request.language)?),
            scopes: ScopeStack::new(),
        })
    }

    fn grammar(&self, language: &str) -> Option<&SyntaxReference> {
        let name = language.to_lowercase();
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name.as_str(), |(_, name)| name);
        let grammar = self.grammars.find_syntax_by_token(name)?;
        (grammar.name != self.grammars.find_syntax_plain_text().name).then_some(grammar)
    }

    fn line(&mut self, line: &str, state: &mut State) -> LineTokens {
        let mut tokens = LineTokens::new();
        if line.len() > MAX_LINE_BYTES {
            return tokens;
        }
        let Ok(operations) = state.parse.parse_line(&format!("{line}\n"), &self.grammars) else {
            return tokens;
        };
        let mut from = 0;
        for (at, operation) in operations {
            let at = at.min(line.len());
            self.cover(from..at, &state.scopes, &mut tokens);
            from = at;
            // A scope that does not fit its stack is the grammar's mistake; the line goes on.
            let _ = state.scopes.apply(&operation);
        }
        self.cover(from..line.len(), &state.scopes, &mut tokens);
        tokens
    }

    /// Adds the token of a piece of a line, joined to the piece before it when they are the same.
    fn cover(&mut self, range: Range<usize>, scopes: &ScopeStack, tokens: &mut LineTokens) {
        if range.is_empty() {
            return;
        }
        let Some(token) = scopes
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| self.token(*scope))
        else {
            return;
        };
        let range = range.start as u32..range.end as u32;
        match tokens.last_mut() {
            Some((last, same)) if *same == token && last.end == range.start => last.end = range.end,
            _ => tokens.push((range, token)),
        }
    }

    fn token(&mut self, scope: Scope) -> Option<Token> {
        let table = &self.table;
        *self.tokens.entry(scope).or_insert_with(|| {
            let fitting = table
                .iter()
                .filter(|(prefix, _)| prefix.is_prefix_of(scope));
            fitting
                .max_by_key(|(prefix, _)| prefix.len())
                .map(|(_, token)| *token)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(key: u64, language: &str, first_line: usize, lines: &[&str]) -> Request {
        Request {
            key,
            language: language.into(),
            first_line,
            lines: lines.iter().map(ToString::to_string).collect(),
            last: false,
        }
    }

    #[test]
    fn every_scope_of_the_table_is_valid() {
        assert_eq!(Worker::new().table.len(), SCOPES.len());
    }

    #[test]
    fn a_block_goes_on_where_it_was() {
        let (sender, answers) = mpsc::channel();
        let mut highlighter = Highlighter::new(move |answer| sender.send(answer).unwrap());
        highlighter.request(request(1, "rust", 0, &["let x = 1; /* open"]));
        highlighter.request(request(2, "no such language", 0, &["text"]));
        highlighter.request(request(1, "rust", 1, &["still */ \"s\""]));
        assert_eq!(
            answers.recv().unwrap(),
            Highlighted {
                key: 1,
                first_line: 0,
                lines: vec![vec![
                    (0..3, Token::SyntaxKeyword),
                    (6..7, Token::SyntaxOperator),
                    (8..9, Token::SyntaxNumber),
                    (9..10, Token::SyntaxPunctuation),
                    (11..18, Token::SyntaxComment),
                ]],
            }
        );
        assert_eq!(
            answers.recv().unwrap(),
            Highlighted {
                key: 1,
                first_line: 1,
                lines: vec![vec![
                    (0..8, Token::SyntaxComment),
                    (9..12, Token::SyntaxString),
                ]],
            }
        );
        // The worker ends with its handle: the channel closes.
        drop(highlighter);
        assert!(answers.recv().is_err());
    }

    #[test]
    fn the_languages_that_models_write_are_known() {
        let worker = Worker::new();
        for language in [
            "rust",
            "rs",
            "python",
            "py",
            "js",
            "javascript",
            "ts",
            "typescript",
            "tsx",
            "jsx",
            "go",
            "c",
            "cpp",
            "c++",
            "java",
            "kotlin",
            "swift",
            "ruby",
            "php",
            "cs",
            "bash",
            "sh",
            "shell",
            "zsh",
            "console",
            "json",
            "jsonc",
            "yaml",
            "yml",
            "toml",
            "html",
            "css",
            "scss",
            "sql",
            "diff",
            "xml",
            "dockerfile",
            "makefile",
            "lua",
            "zig",
            "haskell",
            "elixir",
            "markdown",
            "nix",
            "vim",
            "hcl",
            "graphql",
            "proto",
            "powershell",
            "scala",
            "r",
            "Rust",
            "svelte",
            "vue",
        ] {
            assert!(worker.grammar(language).is_some(), "{language}");
        }
        assert!(worker.grammar("text").is_none());
    }
}
