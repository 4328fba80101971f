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

/// Maximum number of characters of a command.
const LENGTH_LIMIT: usize = 64 * 1024;
/// Maximum depth of nested commands.
const DEPTH_LIMIT: usize = 24;

/// The mark for unknown text in a word: the value of a variable or the output of a command.
pub(crate) const HOLE: char = '\u{10FFFE}';
/// The name of the file that `<(…)` and `>(…)` become, as a variable of a word.
pub(crate) const PIPE: &str = "<(";
/// The mark for text that a glob finds: it is unknown, but part of one word.
pub(crate) const GLOB: char = '\u{10FFFF}';

/// A command that was read completely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub parts: Vec<Part>,
    /// Whether a builtin changes how the other commands of the line run, for example `export`.
    pub changes_shell: bool,
    /// Whether a builtin such as `cd` changes the meaning of relative paths.
    pub changes_directory: bool,
    /// Whether a loop can run the commands of the line again, in another directory.
    pub repeats: bool,
    /// Whether a command reads from a pipe, a here-document, a text or a file.
    pub feeds_input: bool,
    /// All variables whose values the line uses.
    pub variables: Vec<String>,
    /// Pairs of parts that are simple commands: the second one reads all the output of the first
    /// one, and no other input.
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
    /// The text, with `HOLE` or `GLOB` for its unknown parts.
    pub text: String,
    /// Whether the word contains a variable, a substitution or braces, so that its value is
    /// unknown.
    pub dynamic: bool,
    /// Whether the word can become several words, or none.
    pub splits: bool,
    /// Whether the word is an assignment before a command.
    pub assigns: bool,
    /// Whether the line itself, or a file name, can make this word an option.
    pub may_be_option: bool,
    /// Whether a program such as `xargs` or `find` makes the word, or a part of it, from its input.
    /// If the word splits, it is any number of words.
    pub from_input: bool,
    /// Whether the word is the name of a file that a known command lists, or several names if it
    /// splits. None of them is an option.
    pub is_listed: bool,
    /// Whether no part of the word is quoted or expanded, so that it can be a keyword.
    plain: bool,
    sources: Vec<Source>,
    /// The variables in the word.
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

    /// The word with unknown input in place of each `mark`, and `known` before it.
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

    /// The names of the variables in the word.
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

    /// Whether the value of the word is known.
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

/// Whether `command`, typed into a shell, changes how it runs later lines: by aliases, functions,
/// variables such as `PATH` and `PS1`, or options. False for a line that cannot be read: it needs
/// permission in any case.
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

/// Whether a character is refused: control characters other than newline and tab, and the marks of
/// this module.
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
