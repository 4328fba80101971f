//! The grammar, by recursive descent. Every function fails at text that it does not expect.

use super::builtins::{self, EVALUATED, Effect};
use super::lexer::{Document, Token};
use super::{CommandLine, DEPTH_LIMIT, GLOB, HOLE, Part, Source, Word, is_name};

/// Words that mean something at the start of a command.
const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "select", "then", "until", "while",
];
/// Maximum bytes of the words of one command, which are compared with every rule.
const WORDS_LIMIT: usize = 8 * 1024;

/// Reads a complete command.
pub(super) fn read(text: &[char]) -> Option<CommandLine> {
    let mut reader = Reader::new(text, 0);
    reader.script()?;
    reader.found.finish()
}

/// The commands and variables found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    line: CommandLine,
    /// Variables that the line sets.
    variables: Vec<(String, Set)>,
    /// Variables whose values are evaluated as arithmetic, which can contain commands.
    pub(super) evaluated: Vec<String>,
}

/// The index of the part for a command, if the command is simple and its input and output are not
/// redirected.
#[derive(Debug, Clone, Copy)]
struct Simple(Option<usize>);

/// The value of a variable that the line sets.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Set {
    Number,
    /// The possible values, and whether each value is an argument that is no option.
    Words(Vec<String>, bool),
    Any,
}

#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) text: &'a [char],
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Whether the text is that of a substitution.
    pub(super) is_nested: bool,
    pub(super) takes_documents: bool,
    /// Here-documents that start at the next line.
    pub(super) documents: Vec<Document>,
    pub(super) found: Found,
    next: Option<Token>,
}

impl Found {
    /// Marks the words that the line itself can make an option. Fails if arithmetic evaluates a text that the line sets.
    fn finish(self) -> Option<CommandLine> {
        let Self {
            mut line,
            variables,
            evaluated,
        } = self;
        let of = |name: &str| {
            let sets = variables.iter().filter(move |(known, _)| known == name);
            sets.map(|(_, set)| set).collect::<Vec<_>>()
        };
        let is_number = |name: &String| of(name).iter().all(|set| set.is_number());
        let may_be_text = |name: &String| names_command_text(name) || !is_number(name);
        if evaluated.iter().any(may_be_text) {
            return None;
        }
        let is_safe = |source: &Source| match source {
            Source::Command => false,
            Source::Number => true,
            Source::Variable(name) => {
                !names_command_text(name) && of(name).iter().all(|set| set.is_plain())
            }
        };
        for part in &mut line.parts {
            let words = match part {
                Part::Run(words) => words.as_mut_slice(),
                Part::WriteTo(word) | Part::ReadFrom(word) => std::slice::from_mut(word),
            };
            for word in words {
                word.may_be_option |= !word.sources.iter().all(is_safe);
                word.sources.clear();
                word.values = values(word, &of);
            }
        }
        Some(line)
    }

    /// Records variables whose values are used.
    pub(super) fn expand(&mut self, names: impl IntoIterator<Item = String>) {
        self.line.variables.extend(names);
    }

    fn set(&mut self, name: &str, set: Set) {
        self.variables.push((name.to_owned(), set));
    }
}

/// The texts of a word whose only unknown part is a variable that loops set to known words.
fn values<'a>(word: &Word, of: &impl Fn(&str) -> Vec<&'a Set>) -> Vec<String> {
    let [name] = word.names.as_slice() else {
        return Vec::new();
    };
    if word.text.matches(HOLE).count() != 1 {
        return Vec::new();
    }
    let mut values = Vec::new();
    for set in of(name) {
        let Set::Words(words, _) = set else {
            return Vec::new();
        };
        if words.is_empty() {
            return Vec::new();
        }
        values.extend(words.iter().map(|value| word.text.replace(HOLE, value)));
    }
    values
}

/// Variables that bash itself sets to something that a command line can decide. Variables with
/// numbers are not in the list.
const SET_BY_SHELL: &[&str] = &[
    "_",
    "@",
    "*",
    "COPROC",
    "DIRSTACK",
    "FUNCNAME",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "PIPESTATUS",
    "PWD",
    "REPLY",
    "SHELLOPTS",
];

/// Whether the variable `name` can contain text of the command line.
fn names_command_text(name: &str) -> bool {
    ["BASH", "COMP_", "COMPREPLY", "READLINE_"]
        .iter()
        .any(|start| name.starts_with(start))
        || name.bytes().all(|byte| byte.is_ascii_digit())
        || SET_BY_SHELL.contains(&name)
}

impl Set {
    fn is_number(&self) -> bool {
        let is_number =
            |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self {
            Self::Number => true,
            Self::Words(words, _) => !words.is_empty() && words.iter().all(is_number),
            Self::Any => false,
        }
    }

    /// Whether the value is always one argument that is no option.
    fn is_plain(&self) -> bool {
        matches!(self, Self::Number | Self::Words(_, true))
    }

    /// The value of the variable of a loop over `words`.
    fn of(words: &[Word]) -> Self {
        const MOST: usize = 64;
        let is_listed =
            |word: &Word| is_plain_argument(&Word::literal(&word.text.replace(GLOB, "x")));
        if words.len() <= MOST && words.iter().all(is_listed) {
            let texts = words.iter().map(|word| word.text.clone()).collect();
            return Self::Words(texts, words.iter().all(is_plain_argument));
        }
        if words.iter().all(is_plain_argument) {
            Self::Words(Vec::new(), true)
        } else {
            Self::Any
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [char], depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            is_nested: false,
            takes_documents: true,
            documents: Vec::new(),
            found: Found::default(),
            next: None,
        }
    }

    fn peek(&mut self) -> Option<&Token> {
        if self.next.is_none() {
            self.next = Some(self.token()?);
        }
        self.next.as_ref()
    }

    fn advance(&mut self) -> Option<Token> {
        self.peek()?;
        self.next.take()
    }

    /// Whether the next token is this operator or reserved word.
    fn is_at(&mut self, wanted: &str) -> Option<bool> {
        Some(match self.peek()? {
            Token::Word(word) => word.plain && word.text == wanted,
            Token::Operator(operator) => *operator == wanted,
            _ => false,
        })
    }

    fn is_at_any(&mut self, wanted: &[&str]) -> Option<bool> {
        for wanted in wanted {
            if self.is_at(wanted)? {
                return Some(true);
            }
        }
        Some(false)
    }

    fn consume(&mut self, wanted: &str) -> Option<bool> {
        let found = self.is_at(wanted)?;
        if found {
            self.next = None;
        }
        Some(found)
    }

    fn expect(&mut self, wanted: &str) -> Option<()> {
        self.consume(wanted)?.then_some(())
    }

    fn newlines(&mut self) -> Option<()> {
        while *self.peek()? == Token::Newline {
            self.next = None;
        }
        Some(())
    }

    /// Reads everything.
    pub(super) fn script(&mut self) -> Option<()> {
        self.newlines()?;
        if *self.peek()? != Token::End {
            self.list(&[])?;
        }
        (*self.peek()? == Token::End && self.documents.is_empty()).then_some(())
    }

    /// Reads commands up to one of `ends`, or up to the end when there are none.
    fn list(&mut self, ends: &[&str]) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return None;
        }
        self.newlines()?;
        loop {
            self.pipelines()?;
            match self.peek()? {
                Token::Operator(";" | "&") => self.next = None,
                Token::Newline => {}
                _ => break,
            }
            self.newlines()?;
            if *self.peek()? == Token::End || self.is_at_any(ends)? {
                break;
            }
        }
        self.depth -= 1;
        let is_end = match ends {
            [] => *self.peek()? == Token::End,
            ends => self.is_at_any(ends)?,
        };
        is_end.then_some(())
    }

    fn pipelines(&mut self) -> Option<()> {
        self.pipeline()?;
        while self.is_at_any(&["&&", "||"])? {
            self.next = None;
            self.newlines()?;
            self.pipeline()?;
        }
        Some(())
    }

    fn pipeline(&mut self) -> Option<()> {
        self.consume("!")?;
        let mut left = self.command()?;
        while self.is_at_any(&["|", "|&"])? {
            self.found.line.feeds_input = true;
            let takes_errors = self.is_at("|&")?;
            self.next = None;
            self.newlines()?;
            let right = self.command()?;
            let joined = left.0.zip(right.0).filter(|_| !takes_errors);
            self.found.line.pipes.extend(joined);
            left = right;
        }
        Some(())
    }

    fn command(&mut self) -> Option<Simple> {
        if self.consume("(")? {
            self.subshell()?;
        } else if self.consume("{")? {
            self.list(&["}"])?;
            self.expect("}")?;
        } else if self.consume("if")? {
            self.conditional()?;
        } else if self.is_at_any(&["while", "until"])? {
            self.next = None;
            self.found.line.repeats = true;
            self.list(&["do"])?;
            self.body()?;
        } else if self.consume("for")? {
            self.for_loop()?;
        } else if self.consume("[[")? {
            self.tests()?;
        } else {
            return self.simple();
        }
        while self.redirect()? {}
        // Any other word here is a syntax error.
        let ends = !matches!(self.peek()?, Token::Word(_) | Token::Descriptor);
        ends.then_some(Simple(None))
    }

    /// Reads a list after its opening parenthesis.
    pub(super) fn subshell(&mut self) -> Option<()> {
        // `((` begins arithmetic.
        if self.peek_char() == Some('(') {
            return None;
        }
        self.list(&[")"])?;
        self.expect(")")
    }

    fn conditional(&mut self) -> Option<()> {
        self.list(&["then"])?;
        self.expect("then")?;
        loop {
            self.list(&["elif", "else", "fi"])?;
            if self.consume("elif")? {
                self.list(&["then"])?;
                self.expect("then")?;
            } else if self.consume("else")? {
                self.list(&["fi"])?;
                return self.expect("fi");
            } else {
                return self.expect("fi");
            }
        }
    }

    fn body(&mut self) -> Option<()> {
        self.expect("do")?;
        self.list(&["done"])?;
        self.expect("done")
    }

    fn for_loop(&mut self) -> Option<()> {
        let Token::Word(name) = self.advance()? else {
            return None;
        };
        if !name.plain || !is_harmless_variable(&name.text) {
            return None;
        }
        self.expect("in")?;
        let mut words = Vec::new();
        loop {
            match self.advance()? {
                Token::Word(word) => words.push(word),
                Token::Operator(";") | Token::Newline => break,
                _ => return None,
            }
        }
        self.found.line.repeats = true;
        self.found.set(&name.text, Set::of(&words));
        self.newlines()?;
        self.body()
    }

    /// Reads the tests of `[[ … ]]`. Tests that evaluate their operands as arithmetic are unknown.
    fn tests(&mut self) -> Option<()> {
        let mut words = vec![Word::literal("[[")];
        loop {
            while self.is_at("!")? {
                words.push(self.operand()?);
            }
            let first = self.operand()?;
            if first.plain && builtins::FILE_TESTS.contains(&first.text.as_str()) {
                words.extend([first, self.operand()?]);
            } else {
                let operator = self.operand()?;
                let compares = matches!(operator.text.as_str(), "=" | "==" | "!=");
                if !operator.plain || !compares {
                    return None;
                }
                words.extend([first, operator, self.operand()?]);
            }
            if self.consume("]]")? {
                break;
            }
            if !self.is_at_any(&["&&", "||"])? {
                return None;
            }
            self.next = None;
        }
        words.push(Word::literal("]]"));
        self.found.line.parts.push(Part::Run(words));
        Some(())
    }

    fn operand(&mut self) -> Option<Word> {
        match self.advance()? {
            Token::Word(word) if !(word.plain && word.text == "]]") => Some(word),
            _ => None,
        }
    }

    fn simple(&mut self) -> Option<Simple> {
        let mut words: Vec<Word> = Vec::new();
        let (mut redirects, mut is_plain) = (false, true);
        loop {
            let parts = self.found.line.parts.len();
            if self.redirect()? {
                redirects = true;
                is_plain &= match &self.found.line.parts[parts..] {
                    [Part::WriteTo(word)] => word.text == "/dev/null",
                    _ => false,
                };
                continue;
            }
            let Token::Word(_) = self.peek()? else {
                break;
            };
            let Token::Word(mut word) = self.advance()? else {
                return None;
            };
            let has_command = words.iter().any(|word| !word.assigns);
            if has_command {
                word.assigns = false;
            } else if word.assigns {
                self.assign(&word)?;
            } else {
                Self::command_name(&word)?;
            }
            words.push(word);
        }
        if words.is_empty() {
            return redirects.then_some(Simple(None));
        }
        let length: usize = words.iter().map(|word| word.text.len()).sum();
        if length > WORDS_LIMIT {
            return None;
        }
        match builtins::effect(&words)? {
            Effect::None => {}
            Effect::ChangesShell => self.found.line.changes_shell = true,
            Effect::ChangesDirectory => self.found.line.changes_directory = true,
            Effect::Sets(names) => {
                for name in names {
                    self.found.line.changes_shell |= !is_harmless_variable(&name);
                    self.found.set(&name, Set::Any);
                }
            }
        }
        let parts = &mut self.found.line.parts;
        parts.push(Part::Run(words));
        Some(Simple(is_plain.then_some(parts.len() - 1)))
    }

    fn assign(&mut self, word: &Word) -> Option<()> {
        let (name, value) = word.text.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        if EVALUATED.contains(&name) && !is_number {
            return None;
        }
        let is_arithmetic = word.sources == [Source::Number] && value.chars().eq([HOLE]);
        let is_number = (is_number && !value.is_empty()) || is_arithmetic;
        self.found
            .set(name, if is_number { Set::Number } else { Set::Any });
        Some(())
    }

    /// Checks a command name: its text must be known, and it must not be part of a construct that is not read.
    fn command_name(word: &Word) -> Option<()> {
        let is_reserved = word.plain && RESERVED.contains(&word.text.as_str());
        (word.is_fixed() && !word.text.is_empty() && !is_reserved && !is_subscript(&word.text))
            .then_some(())
    }

    /// Reads a redirection, if one is next.
    fn redirect(&mut self) -> Option<bool> {
        if *self.peek()? == Token::Descriptor {
            self.next = None;
            if !matches!(self.peek()?, Token::Operator(_)) {
                return None;
            }
        }
        let operator = match self.peek()? {
            Token::Operator(operator) if operator.contains(['<', '>']) => *operator,
            _ => return Some(false),
        };
        self.found.line.feeds_input |= operator.starts_with('<');
        self.next = None;
        if matches!(operator, "<<" | "<<-") {
            self.document(operator == "<<-")?;
            return Some(true);
        }
        self.skip_blanks()?;
        if self.peek_char() == Some('#') {
            return None;
        }
        let start = self.at;
        let target = self.word()?;
        if self.at == start {
            return None;
        }
        // `>&-x` closes a descriptor, and `x` is the next word.
        if operator.ends_with('&') && target.text.len() > 1 && target.text.starts_with('-') {
            return None;
        }
        // For these names, bash itself connects to a network address.
        let is_socket = ["/dev/tcp/", "/dev/udp/"]
            .iter()
            .any(|folder| target.text.contains(folder));
        if is_socket {
            return None;
        }
        let is_descriptor = target.plain
            && (target.text == "-" || target.text.bytes().all(|byte| byte.is_ascii_digit()));
        let parts = &mut self.found.line.parts;
        match operator {
            "<<<" => {}
            "<&" => return is_descriptor.then_some(true),
            ">&" if is_descriptor => {}
            // bash expands this file name twice.
            ">&" if !is_plain_argument(&target) => return None,
            "<" => parts.push(Part::ReadFrom(target)),
            "<>" => parts.extend([Part::ReadFrom(target.clone()), Part::WriteTo(target)]),
            _ => parts.push(Part::WriteTo(target)),
        }
        Some(true)
    }
}

/// Whether setting the variable `name` changes nothing but the words that use it.
fn is_harmless_variable(name: &str) -> bool {
    is_name(name)
        && !name.contains(|char: char| char.is_ascii_uppercase())
        && !["proxy", "npm_", "histchars", "auto_resume"]
            .iter()
            .any(|part| name.contains(part))
}

/// Whether a value stays one argument that is no option, wherever it is inserted.
fn is_plain_argument(word: &Word) -> bool {
    !word.text.starts_with('-')
        && word
            .text
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "_./:@=,+%-".contains(char))
}

/// Whether `word` begins like `NAME[`, where bash reads an array subscript.
fn is_subscript(word: &str) -> bool {
    word.split_once('[').is_some_and(|(name, _)| is_name(name))
}
