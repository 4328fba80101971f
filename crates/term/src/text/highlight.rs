//! Syntax highlighting on a background thread. Text is shown plain first and coloured when the
//! result arrives. The thread starts with the first request and ends when the handle is dropped. It
//! owns the grammars and the parser state of every unfinished block, so a growing block only costs
//! its new lines.
//!
//! Grammars name scopes, and a table maps scopes to tokens. Themes map tokens to colours.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Weak};
use std::thread;

use syntect::dumps::from_binary;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::text::face::Token;

/// Written by the build script.
const GRAMMARS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/grammars.bin"));

/// The tokens of one line by byte range, in order.
pub type LineTokens = Vec<(Range<u32>, Token)>;

/// Maximum number of highlighted lines in a block.
pub const MAX_LINES: usize = 10_000;
pub const MAX_BYTES: usize = 512 * 1024;

/// Longer lines stay plain: they are data, not code to read.
const MAX_LINE_BYTES: usize = 4096;

/// Maximum number of unfinished blocks with saved state.
const MAX_UNFINISHED: usize = 64;

/// Language names that models write and grammars do not know.
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

/// Scopes and their tokens. The longest matching scope applies.
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
    // Neither is bold, so that both look alike.
    ("markup.deleted", Token::SyntaxTag),
    ("markup.heading", Token::SyntaxFunction),
    // The tokens of a diff may have a background only.
    ("markup.inserted", Token::Success),
    ("markup.raw", Token::SyntaxString),
    ("markup.underline.link", Token::SyntaxType),
    ("meta.annotation", Token::SyntaxAttribute),
    ("meta.attribute", Token::SyntaxAttribute),
    ("meta.diff.header", Token::DiffHunk),
    ("meta.diff.range", Token::DiffHunk),
    ("punctuation", Token::SyntaxPunctuation),
    ("punctuation.definition.comment", Token::SyntaxComment),
    ("punctuation.definition.deleted", Token::SyntaxTag),
    ("punctuation.definition.inserted", Token::Success),
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

/// A request to highlight lines of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightRequest {
    /// The id of the block. A request with the same key continues the block.
    pub key: u64,
    pub language: Arc<str>,
    /// Index of the first of `lines` in the block.
    pub first_line: usize,
    /// Lines without line breaks.
    pub lines: Vec<String>,
    /// The block is complete, so its state can be dropped.
    pub last: bool,
}

/// The result of a request, with one entry per requested line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlighted {
    pub key: u64,
    pub first_line: usize,
    pub lines: Vec<LineTokens>,
}

type Deliver = Box<dyn Fn(Highlighted) + Send>;

/// The handle of the highlighting thread.
pub struct Highlighter {
    /// Receives the results. Moved to the thread when it starts.
    deliver: Option<Deliver>,
    requests: Option<Sender<HighlightRequest>>,
    /// The thread stops at the next line once this is dropped.
    alive: Arc<()>,
    next_key: u64,
}

osier_base::opaque_debug!(Highlighter);

impl Highlighter {
    /// Creates the handle; starts no thread yet. The thread calls `deliver` with every result.
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

    /// Requests lines. There is no result for an unknown language: its text stays plain.
    pub fn request(&mut self, request: HighlightRequest) {
        if let Some(deliver) = self.deliver.take() {
            let (sender, receiver) = mpsc::channel();
            let alive = Arc::downgrade(&self.alive);
            let started = thread::Builder::new()
                .name("highlight".into())
                .spawn(move || run_worker(&receiver, &alive, &deliver));
            // If the thread does not start, all text stays plain.
            self.requests = started.is_ok().then_some(sender);
        }
        if let Some(requests) = &self.requests {
            // If the thread is gone, the text stays plain.
            let _ = requests.send(request);
        }
    }
}

/// Highlights complete blocks synchronously, for example for an HTML page. Loads the grammars on
/// first use.
#[derive(Default)]
pub struct BlockHighlighter(Option<Worker>);

osier_base::opaque_debug!(BlockHighlighter);

impl BlockHighlighter {
    /// The tokens of every line of `code`; `None` for an unknown language or a block that is too
    /// long.
    pub fn lines(&mut self, language: &str, code: &str) -> Option<Vec<LineTokens>> {
        if code.len() > MAX_BYTES {
            return None;
        }
        let worker = self.0.get_or_insert_with(Worker::new);
        let mut state = BlockState {
            parse: ParseState::new(worker.grammar(language)?),
            scopes: ScopeStack::new(),
        };
        let lines = code.lines().take(MAX_LINES);
        Some(lines.map(|line| worker.line(line, &mut state)).collect())
    }
}

fn run_worker(requests: &Receiver<HighlightRequest>, alive: &Weak<()>, deliver: &Deliver) {
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

/// The parser state after the last line of a block.
struct BlockState {
    parse: ParseState,
    scopes: ScopeStack,
}

struct Worker {
    grammars: SyntaxSet,
    table: Vec<(Scope, Token)>,
    /// Cache of the tokens of scopes.
    tokens: HashMap<Scope, Option<Token>>,
    /// The state of unfinished blocks, least recently used first.
    unfinished: VecDeque<(u64, BlockState)>,
}

impl Worker {
    fn new() -> Self {
        let table = SCOPES
            .iter()
            .filter_map(|(name, token)| Some((Scope::new(name).ok()?, *token)))
            .collect();
        Self {
            grammars: from_binary(GRAMMARS),
            table,
            tokens: HashMap::new(),
            unfinished: VecDeque::new(),
        }
    }

    fn highlight(&mut self, request: &HighlightRequest, alive: &Weak<()>) -> Option<Highlighted> {
        let mut state = self.state(request)?;
        let mut lines = Vec::with_capacity(request.lines.len());
        for line in &request.lines {
            if alive.strong_count() == 0 {
                return None;
            }
            lines.push(self.line(line, &mut state));
        }
        if !request.last {
            if self.unfinished.len() == MAX_UNFINISHED {
                self.unfinished.pop_front();
            }
            self.unfinished.push_back((request.key, state));
        }
        Some(Highlighted {
            key: request.key,
            first_line: request.first_line,
            lines,
        })
    }

    /// The state before the request's first line; `None` for an unknown language or a block whose
    /// state was dropped.
    fn state(&mut self, request: &HighlightRequest) -> Option<BlockState> {
        let unfinished = self
            .unfinished
            .iter()
            .position(|(key, _)| *key == request.key);
        if let Some((_, state)) = unfinished.and_then(|index| self.unfinished.remove(index)) {
            return Some(state);
        }
        if request.first_line > 0 {
            return None;
        }
        Some(BlockState {
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

    fn line(&mut self, line: &str, state: &mut BlockState) -> LineTokens {
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
            self.push_token(from..at, &state.scopes, &mut tokens);
            from = at;
            // A scope that does not match its stack is a bug in the grammar; ignore it.
            let _ = state.scopes.apply(&operation);
        }
        self.push_token(from..line.len(), &state.scopes, &mut tokens);
        tokens
    }

    /// Adds a token for a range of a line. Adjacent ranges with the same token are merged.
    fn push_token(&mut self, range: Range<usize>, scopes: &ScopeStack, tokens: &mut LineTokens) {
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

    fn request(key: u64, language: &str, first_line: usize, lines: &[&str]) -> HighlightRequest {
        HighlightRequest {
            key,
            language: language.into(),
            first_line,
            lines: lines.iter().map(ToString::to_string).collect(),
            last: false,
        }
    }

    #[test]
    fn every_scope_in_the_table_is_valid() {
        assert_eq!(Worker::new().table.len(), SCOPES.len());
    }

    #[test]
    fn block_continues_from_its_last_line() {
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
        // Dropping the handle ends the thread, which closes the channel.
        drop(highlighter);
        assert!(answers.recv().is_err());
    }

    #[test]
    fn common_language_names_are_known() {
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
