//! The arguments of well-known programs that do more than the name of the program says: run another program, or write
//! to a file that an option names. A wildcard of an allow rule does not cover such an argument; the rule must name it.

use super::known::{find, is_wrapper, name_of};
use super::options::{has, is_given};
use super::table::{Adds, End, Program};
use crate::shell::Word;

/// Options before a subcommand that have no value.
const FLAGS: &str = "-q -v -h --help --version";

/// The arguments of the command `words` that an allow rule must name. `None` when one cannot be known. `has_forms` says whether
/// the options of a program are known elsewhere.
pub(crate) fn dangerous(words: &[Word], has_forms: fn(&str) -> bool) -> Option<Vec<&str>> {
    let start = words.iter().position(|word| !word.assigns);
    let Some((program, arguments)) = start.and_then(|start| words[start..].split_first()) else {
        return Some(Vec::new());
    };
    let program = find(known_name(name_of(&program.text)));
    let completes = matches!(program.adds, Adds::Input | Adds::Lists);
    if completes && can_add_options(arguments, has_forms) {
        return None;
    }
    if !has_dangers(program) {
        return Some(Vec::new());
    }
    let end = arguments.iter().position(|word| word.text == "--");
    let (read, end) = arguments.split_at(end.unwrap_or(arguments.len()));
    let mut found = Vec::new();
    let mut subcommands = Subcommands::default();
    for (place, word) in read.iter().enumerate() {
        let text = word.text.as_str();
        let is_candidate = subcommands.add(text);
        // An unknown word could be a subcommand that runs something.
        let is_unknown = is_candidate && !word.is_fixed() && !program.subcommands.is_empty();
        if word.may_be_option || is_unknown {
            return None;
        }
        let last = place.checked_sub(1).map(|last| &arguments[last]);
        if (is_candidate && program.is_dangerous_subcommand(text))
            || program.is_dangerous_option(text, place == 0)
            || program.special.is_some_and(|special| special(text, last))
        {
            found.push(text);
        }
    }
    match (program.end, end.first()) {
        (End::Named, Some(end)) => found.push(end.text.as_str()),
        (End::Named | End::OfOptions, _) => {}
    }
    Some(found)
}

/// Whether an argument of the program can be dangerous.
fn has_dangers(program: &Program) -> bool {
    !program.options.is_empty() || !program.subcommands.is_empty() || program.special.is_some()
}

impl Program {
    /// Whether the subcommand `text` runs another program, or is itself another program.
    fn is_dangerous_subcommand(&self, text: &str) -> bool {
        has(self.subcommands, text) || (self.runs_paths && text.contains('/'))
    }

    fn is_dangerous_option(&self, text: &str, is_first: bool) -> bool {
        let letters = self.letters && is_first && !text.starts_with('-');
        let mut options = self.options.split(' ');
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

/// Finds the words that can be the subcommand: the first word, and a word after an option and its values.
#[derive(Default)]
struct Subcommands {
    after_option: bool,
    is_known: bool,
}

impl Subcommands {
    /// Adds a word. Returns whether it can be the subcommand.
    fn add(&mut self, text: &str) -> bool {
        if text.starts_with('-') {
            self.after_option =
                !text.contains('=') && !text.starts_with("--no-") && !has(FLAGS, text);
            return false;
        }
        if self.is_known {
            return false;
        }
        self.is_known = !std::mem::take(&mut self.after_option);
        true
    }
}

/// Whether a program completes a command with input that can be a dangerous option.
fn can_add_options(arguments: &[Word], has_forms: fn(&str) -> bool) -> bool {
    let has_end = arguments.iter().any(|word| word.text == "--");
    let is_known = |word: &Word| {
        let name = name_of(&word.text);
        has_dangers(find(known_name(name))) || has_forms(name)
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
