//! Reads a shell command: the simple commands it runs, including those in pipes, substitutions and groups, and
//! the files it writes to and reads from.
//!
//! The result decides what runs without a question, so this is not a parser for bash. It is the grammar of a
//! part of the shell language in which a line has one meaning only, and everything else is unknown:
//!
//! ```text
//! list      = [newlines] pipelines { (";" | "&" | newlines) pipelines }
//! pipelines = pipeline { ("&&" | "||") pipeline }
//! pipeline  = ["!"] command { ("|" | "|&") command }
//! command   = simple | compound {redirect}
//! compound  = "(" list ")" | "{" list "}" | "[[" tests "]]"
//!           | "if" list "then" list {"elif" list "then" list} ["else" list] "fi"
//!           | ("while" | "until") list "do" list "done" | "for" name "in" {word} "do" list "done"
//! simple    = {assignment | redirect} {word | redirect}
//! word      = literal, quotes, "\" character, $NAME, ${NAME}, $(list), `list`, <(list), >(list), ~, globs, braces
//! ```
//!
//! The effect of a word (an option of its program, an argument that a builtin evaluates) is in `builtins` and
//! `programs`. A test compares the result with the commands that bash runs.

mod builtins;
#[cfg(test)]
mod differential_tests;
mod grammar;
mod lexer;
#[cfg(test)]
mod tests;

/// Characters of a command that are read at most.
const LENGTH_LIMIT: usize = 64 * 1024;
/// Depth of nested commands that is read at most.
const DEPTH_LIMIT: usize = 24;

/// Stands in a word for text that is unknown: the value of a variable or the output of a command.
pub(crate) const HOLE: char = '\u{10FFFE}';
/// The name of the file that `<(…)` and `>(…)` become, as a variable of a word.
pub(crate) const PIPE: &str = "<(";
/// Stands in a word for text that a glob finds: unknown, but part of one word.
pub(crate) const GLOB: char = '\u{10FFFF}';

/// A command that was read completely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub parts: Vec<Part>,
    /// A builtin changes how the other commands of the line run, for example `export`.
    pub changes_shell: bool,
    /// A builtin such as `cd` changes what a relative path means.
    pub changes_directory: bool,
    /// A loop can run the commands of the line again, in another directory.
    pub repeats: bool,
    /// A command reads from a pipe, a here-document, a text or a file.
    pub feeds_input: bool,
    /// All variables whose values the line uses.
    pub variables: Vec<String>,
    /// Parts that are simple commands, each with the one that reads all its output and nothing else.
    pub pipes: Vec<(usize, usize)>,
}

/// A part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A program with its arguments.
    Run(Vec<Word>),
    /// Output to a file.
    WriteTo(Word),
    /// Input from a file.
    ReadFrom(Word),
}

/// One word, quotes removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// The text; what is unknown in it is `HOLE` or `GLOB`.
    pub text: String,
    /// Contains a variable, a substitution or braces, so its value is unknown.
    pub dynamic: bool,
    /// Can become several words, or none.
    pub splits: bool,
    /// An assignment before a command.
    pub assigns: bool,
    /// The line itself or a file name can make an option of this word.
    pub may_be_option: bool,
    /// `xargs`, `find` or the like makes it, or a part of it, of its input. If it splits, it is any number of words.
    pub from_input: bool,
    /// Names of files that a known command lists, one or several if it splits. None is an option.
    pub is_listed: bool,
    /// The text as written, if nothing in it is quoted or expanded: a keyword is recognised by it.
    plain: bool,
    sources: Vec<Source>,
    /// The variables in it.
    names: Vec<String>,
    /// The possible texts of the word, if its only unknown part is a variable of a loop over known words.
    values: Vec<String>,
}

/// The source of a word's unknown start, or of an unknown part that can be split.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Variable(String),
    Command,
    /// The result of arithmetic.
    Number,
}

impl Word {
    /// A word without anything unknown.
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Any number of words from the input of a program.
    pub(crate) fn input() -> Self {
        Self {
            splits: true,
            may_be_option: true,
            from_input: true,
            ..Self::literal(&HOLE.to_string())
        }
    }

    /// Names of files below known folders.
    pub(crate) fn listed(splits: bool) -> Self {
        Self {
            splits,
            may_be_option: false,
            is_listed: true,
            ..Self::input()
        }
    }

    /// The word with something unknown of an input for each `mark`, after `known`.
    pub(crate) fn with_input(&self, mark: &str, known: &str) -> Self {
        if mark.is_empty() || !self.text.contains(mark) {
            return self.clone();
        }
        let mut word = self.clone();
        word.text = word.text.replace(mark, &format!("{known}{HOLE}"));
        word.may_be_option |= word.text.starts_with(HOLE);
        word.from_input = true;
        word
    }

    /// The names of the variables in it.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The texts of the word, in which only `GLOB` is unknown; none if the texts cannot be known.
    pub(crate) fn texts(&self) -> Vec<&str> {
        if self.text.contains(HOLE) {
            self.values.iter().map(String::as_str).collect()
        } else {
            vec![&self.text]
        }
    }

    /// The text of the word with `value` for its only unknown part.
    pub(crate) fn with_value(&self, value: &str) -> Option<String> {
        (self.text.matches([HOLE, GLOB]).count() == 1).then(|| self.text.replace(HOLE, value))
    }

    /// Whether its value is known.
    pub(crate) fn is_fixed(&self) -> bool {
        !self.text.contains([HOLE, GLOB])
    }
}

/// Reads `command`; `None` when it is not fully understood.
pub fn read(command: &str) -> Option<CommandLine> {
    if command.len() > LENGTH_LIMIT || command.contains(is_refused) {
        return None;
    }
    let text: Vec<char> = command.chars().collect();
    let mut line = grammar::read(&text)?;
    line.changes_shell &= line.runs() > 1;
    Some(line)
}

/// Whether `command`, typed into a shell, changes how it runs later lines: by aliases, functions, variables such as `PATH` and
/// `PS1`, or options. A line that is not read may.
pub(crate) fn changes_session(command: &str) -> bool {
    let text: Vec<char> = command.chars().collect();
    let Some(line) = grammar::read(&text) else {
        return false;
    };
    let assigns = |part: &Part| match part {
        Part::Run(words) => words.iter().all(|word| {
            word.assigns
                && word
                    .text
                    .starts_with(|first: char| first.is_ascii_uppercase())
        }),
        _ => false,
    };
    line.changes_shell || line.parts.iter().any(assigns)
}

/// Control characters other than newline and tab, and the marks of this module.
fn is_refused(char: char) -> bool {
    (char.is_control() && !matches!(char, '\n' | '\t')) || matches!(char, HOLE | GLOB)
}

impl CommandLine {
    fn runs(&self) -> usize {
        let runs = |part: &&Part| matches!(part, Part::Run(_));
        self.parts.iter().filter(runs).count()
    }
}

/// Whether `word` is `NAME=value`.
pub(crate) fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}

/// Whether `word` is the name of a variable.
fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|first: char| first.is_ascii_digit())
        && word
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_')
}
