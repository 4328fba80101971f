//! The arguments of well-known programs that do more than the name of the program says: run another program, or write
//! to a file that an option names. A wildcard of an allow rule does not cover such an argument; the rule must name it.

use super::known::{find, is_wrapper, name_of};
use super::options::{has, is_given};
use super::table::{Adds, Directory, End, Program, Script};
use super::{operands, scripts};
use crate::shell::Word;

/// Options of which the next word is a message.
const MESSAGE_OPTIONS: &str = "-m -am --message";

/// Options before a subcommand that have no value.
const FLAGS: &str = "-p -P -q -v --paginate --bare -h --glob-pathspecs --help --html-path --icase-pathspecs --info-path \
                     --literal-pathspecs --man-path --noglob-pathspecs --version";

/// The arguments of the command `words` that an allow rule must name. `None` when one cannot be known.
pub(crate) fn dangerous(words: &[Word]) -> Option<Vec<&str>> {
    let start = words.iter().position(|word| !word.assigns);
    let Some((program, arguments)) = start.and_then(|start| words[start..].split_first()) else {
        return Some(Vec::new());
    };
    let program = find(known_name(name_of(&program.text)));
    if !is_plain(program, arguments) {
        return None;
    }
    let mut found = Vec::new();
    if !has_dangers(program) {
        return Some(found);
    }
    let mut subcommands = Subcommands::default();
    let mut has_message = false;
    for (place, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            match program.end {
                End::OfOptions => break,
                End::Ignored => {}
                End::Named => {
                    found.push(text);
                    break;
                }
            }
        }
        if word.may_be_option && (word.splits || !has_message) {
            return None;
        }
        has_message = has(MESSAGE_OPTIONS, text)
            && (subcommands.candidates.iter()).any(|name| has(program.messages, name));
        let is_candidate = subcommands.add(text);
        // An unknown word could be a subcommand that runs something.
        if is_candidate && !word.is_fixed() && !program.subcommands.is_empty() {
            return None;
        }
        let (before, last) = (&arguments[..place], place.checked_sub(1));
        let last = last.map(|last| &arguments[last]);
        if (is_candidate && program.is_dangerous_subcommand(text, last))
            || (!is_candidate && program.creates_directory(&subcommands, text, before))
            || program.is_dangerous_option(&subcommands, text, place == 0)
            || program.special.is_some_and(|special| special(text, last))
        {
            found.push(text);
        }
    }
    Some(found)
}

/// Whether the scripts and operands of `arguments` are known to write and run nothing.
fn is_plain(program: &Program, arguments: &[Word]) -> bool {
    let is_script = match program.script {
        Script::No => true,
        Script::Awk => scripts::awk_is_plain(arguments),
        Script::Sed => scripts::sed_scripts_are_plain(arguments),
    };
    let names_output = |known| operands::names_output(known, arguments);
    is_script
        && !program.output.is_some_and(names_output)
        && !(matches!(program.adds, Adds::Input | Adds::Lists) && can_add_options(arguments))
}

/// Whether an argument of the program can be dangerous.
fn has_dangers(program: &Program) -> bool {
    !program.options.is_empty()
        || !program.subcommands.is_empty()
        || !program.of_subcommand.is_empty()
        || program.special.is_some()
}

impl Program {
    /// Whether the subcommand `text` after the word `last` runs another program, or is one.
    fn is_dangerous_subcommand(&self, text: &str, last: Option<&Word>) -> bool {
        let is_value = last.is_some_and(|last| has(self.valued, &last.text));
        has(self.subcommands, text)
            || !(self.own.is_empty() || has(self.own, text) || is_value)
            || (self.runs_paths && text.contains('/'))
    }

    /// Whether the operand `text` after the words `before` names a directory to create.
    fn creates_directory(
        &self,
        subcommands: &Subcommands<'_>,
        text: &str,
        before: &[Word],
    ) -> bool {
        let place = operands::count(before).saturating_sub(1);
        let mut known = self.directories.iter();
        !text.starts_with('-')
            && known.any(|(name, directory)| {
                let creates = match directory {
                    Directory::NotCurrent => text != ".",
                    Directory::NotDerived => {
                        let last = text.trim_end_matches('/').rsplit(['/', ':']).next();
                        place > 0 || last.is_some_and(|last| last.starts_with('.'))
                    }
                };
                creates && subcommands.candidates.contains(name)
            })
    }

    fn is_dangerous_option(
        &self,
        subcommands: &Subcommands<'_>,
        text: &str,
        is_first: bool,
    ) -> bool {
        let letters = self.letters && is_first && !text.starts_with('-');
        let of_subcommand = self.of_subcommand.iter();
        let of_subcommand = of_subcommand.filter(|(of, _)| subcommands.contains(of));
        let of_subcommand = of_subcommand.flat_map(|(_, options)| options.split(' '));
        let mut options = self.options.split(' ').chain(of_subcommand);
        options.any(|option| !option.is_empty() && is_given(option, text, letters))
    }
}

/// The name under which a program is known: without a version, and for a compiler without its target, as in
/// `x86_64-linux-gnu-gcc-14`.
fn known_name(name: &str) -> &str {
    if has_dangers(find(name)) {
        return name;
    }
    let version = |char: char| char.is_ascii_digit() || char == '.';
    let base = name.trim_end_matches(version).trim_end_matches('-');
    let last = base.rsplit('-').next().unwrap_or(base);
    if find(last).has_target { last } else { base }
}

/// The words that can be the subcommand: the first one, and one after an option, whose value the words before it can be.
#[derive(Default)]
struct Subcommands<'a> {
    candidates: Vec<&'a str>,
    after_option: bool,
    is_known: bool,
}

impl<'a> Subcommands<'a> {
    /// Adds a word; whether it can be the subcommand.
    fn add(&mut self, text: &'a str) -> bool {
        if text.starts_with('-') {
            self.after_option =
                !text.contains('=') && !text.starts_with("--no-") && !has(FLAGS, text);
            return false;
        }
        // `cargo +nightly`.
        if self.is_known || text.starts_with('+') {
            return false;
        }
        self.is_known = !std::mem::take(&mut self.after_option);
        self.candidates.push(text);
        true
    }

    /// Whether `name` can be the subcommand; without a name, whether it can still come.
    fn contains(&self, name: &str) -> bool {
        match name {
            "" => !self.is_known,
            name => self.candidates.contains(&name),
        }
    }
}

/// Whether the input of a program that completes a command can be an option of one with dangerous ones.
fn can_add_options(arguments: &[Word]) -> bool {
    let has_end = arguments.iter().any(|word| word.text == "--");
    let is_known = |word: &Word| {
        let program = find(known_name(name_of(&word.text)));
        has_dangers(program) || program.output.is_some() || program.script != Script::No
    };
    !has_end && arguments.iter().any(is_known)
}

/// The start of the widest rule to offer for `words`: the program with its subcommand.
pub(crate) fn prefix(words: &[Word]) -> Option<String> {
    let program = words.first()?;
    let name = program.text.as_str();
    let is_plain = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || "-_:".contains(char))
    };
    let version = |char: char| char.is_ascii_digit() || char == '.';
    let base = name.trim_end_matches(version);
    if program.assigns
        || is_wrapper(name)
        || find(name).runs_anything
        || find(base).runs_anything
        || !name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "-_+.".contains(char))
        || !dangerous(words).is_some_and(|found| found.is_empty())
    {
        return None;
    }
    let second = words.get(1)?;
    if second.is_fixed() && is_plain(&second.text) {
        return Some(format!("{name} {}", second.text));
    }
    let is_option = second.text.starts_with('-');
    (is_option && !find(name).has_subcommands).then(|| name.to_owned())
}
