//! What the arguments of well-known programs can do beyond what their name says: run another program, or write to
//! a file that an option names. A wildcard of an allow rule does not cover such an argument; the rule must name it.

mod compilers;
mod curl;
mod git;
mod operands;
mod scripts;
mod table;

use crate::equivalents::{is_wrapper, name_of};
use crate::shell::Word;
use table::{COMPILERS, PROGRAMS, Program, RUNS_ANYTHING, WITH_SUBCOMMANDS};

/// The arguments of the command `words` that an allow rule must name. `None` when one cannot be known.
pub(super) fn dangerous(words: &[Word]) -> Option<Vec<&str>> {
    let start = words.iter().position(|word| !word.assigns);
    let Some((program, arguments)) = start.and_then(|start| words[start..].split_first()) else {
        return Some(Vec::new());
    };
    let name = known_name(name_of(&program.text));
    let is_plain = match name {
        "awk" | "gawk" | "mawk" | "nawk" => scripts::awk_is_plain(arguments),
        "sed" | "gsed" => scripts::sed_scripts_are_plain(arguments),
        "uniq" | "xxd" => !operands::names_output(name, arguments),
        "xargs" | "parallel" => !can_add_options(arguments),
        _ => true,
    };
    if !is_plain {
        return None;
    }
    let Some(known) = known(name) else {
        return Some(Vec::new());
    };
    let mut found = Vec::new();
    let mut subcommands = Subcommands::default();
    let mut has_message = false;
    for (place, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            // What follows are options of git.
            if name == "gh" {
                found.push(text);
            }
            // In `find` it does not end the expression.
            if !matches!(name, "find" | "gfind") {
                break;
            }
        }
        if word.may_be_option && (word.splits || !has_message) {
            return None;
        }
        has_message = name == "git" && takes_message(&subcommands, text);
        let is_first = place == 0;
        let is_candidate = subcommands.add(text);
        // What is unknown could be a subcommand that runs something.
        if is_candidate && !word.is_fixed() && !known.subcommands.is_empty() {
            return None;
        }
        // What git itself does not contain is another program.
        let last = place.checked_sub(1).map(|last| &arguments[last]);
        let is_value = last.is_some_and(|last| git::WITH_VALUE.contains(&last.text.as_str()));
        let is_other = !(known.own.is_empty() || known.own.contains(&text) || is_value)
            || (PLUGINS.contains(&name) && text.contains('/'));
        let is_subcommand = is_candidate && (known.subcommands.contains(&text) || is_other);
        let is_directory = name == "git" && !is_candidate && !text.starts_with('-') && {
            let place = operands::count(&arguments[..place]).saturating_sub(1);
            let mut names = subcommands.candidates.iter();
            names.any(|name| git::names_directory(name, text, place))
        };
        let letters =
            is_first && matches!(name, "tar" | "gtar" | "bsdtar") && !text.starts_with('-');
        let of_subcommand = known.of_subcommand.iter();
        let of_subcommand = of_subcommand.filter(|(of, _)| subcommands.contains(of));
        let mut options = known
            .options
            .iter()
            .chain(of_subcommand.flat_map(|(_, options)| options.iter()));
        if is_subcommand
            || is_directory
            || options.any(|option| is_given(option, text, letters))
            || is_special(name, text, last)
        {
            found.push(text);
        }
    }
    Some(found)
}

/// Programs that run a program of the working directory for a subcommand with a slash.
const PLUGINS: [&str; 3] = ["cargo", "kubectl", "oc"];

fn known(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|known| known.names.contains(&name))
}

/// The name under which a program is known: without a version, and for a compiler without its target, as in
/// `x86_64-linux-gnu-gcc-14`.
fn known_name(name: &str) -> &str {
    if known(name).is_some() {
        return name;
    }
    let version = |char: char| char.is_ascii_digit() || char == '.';
    let base = name.trim_end_matches(version).trim_end_matches('-');
    let last = base.rsplit('-').next().unwrap_or(base);
    let is_tool =
        COMPILERS.contains(&last) || matches!(last, "ar" | "ld" | "nm" | "objdump" | "ranlib");
    if is_tool { last } else { base }
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
        /// Options before the subcommand that have no value.
        const FLAGS: [&str; 6] = ["-p", "-P", "-q", "-v", "--paginate", "--bare"];
        if text.starts_with('-') {
            let is_flag = FLAGS.contains(&text) || git::FLAGS.contains(&text);
            self.after_option = !text.contains('=') && !text.starts_with("--no-") && !is_flag;
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

/// Arguments that no name of an option describes.
fn is_special(name: &str, text: &str, before: Option<&Word>) -> bool {
    match name {
        "curl" => curl::is_dangerous(text, before),
        // An archive on another computer.
        "tar" | "gtar" => {
            let value = text
                .strip_prefix("--")
                .and_then(|long| long.split_once('='));
            let value = value.map_or(text, |(_, value)| value);
            value
                .split('/')
                .next()
                .is_some_and(|host| host.contains(':'))
        }
        // One letter, but not in a group.
        "go" => matches!(text.split('=').next(), Some("-o" | "--o" | "-C" | "--C")),
        name if COMPILERS.contains(&name) => compilers::is_dangerous(text),
        // Two letters that are one option, also in a group.
        "zip" => text.starts_with('-') && (text.contains("TT") || text.contains("lf")),
        // A command to run at the start.
        "less" => text.starts_with('+'),
        _ => false,
    }
}

/// Whether the input of `xargs` can be an option of a program with dangerous ones.
fn can_add_options(arguments: &[Word]) -> bool {
    let has_end = arguments.iter().any(|word| word.text == "--");
    let is_known = |word: &Word| {
        let name = known_name(name_of(&word.text));
        known(name).is_some() || matches!(name, "uniq" | "xxd" | "awk" | "gawk" | "mawk" | "nawk")
    };
    !has_end && arguments.iter().any(is_known)
}

/// Whether the word after `option` is the message of a commit, tag or merge, whatever it begins with.
fn takes_message(subcommands: &Subcommands<'_>, option: &str) -> bool {
    let has_message = |name: &&str| matches!(*name, "commit" | "tag" | "merge");
    subcommands.candidates.iter().any(has_message) && matches!(option, "-m" | "-am" | "--message")
}

/// Whether the argument `given` is, contains or abbreviates `option`.
fn is_given(option: &str, given: &str, letters: bool) -> bool {
    let name = given.split('=').next().unwrap_or_default();
    // Names of other options.
    if matches!(name, "--global" | "--target") {
        return false;
    }
    if let Some(long) = option.strip_prefix("--") {
        return name
            .strip_prefix("--")
            .is_some_and(|name| !name.is_empty() && long.starts_with(name));
    }
    let letter = option.strip_prefix('-').unwrap_or(option);
    if letter.chars().count() > 1 {
        return name == option;
    }
    let group = if letters {
        Some(given)
    } else {
        given
            .strip_prefix('-')
            .filter(|group| !group.starts_with('-'))
    };
    group.is_some_and(|group| group.contains(letter))
}

/// The start of the widest rule to offer for `words`: the program with its subcommand.
pub(super) fn prefix(words: &[Word]) -> Option<String> {
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
    let runs_anything =
        is_wrapper(name) || RUNS_ANYTHING.contains(&name) || RUNS_ANYTHING.contains(&base);
    if program.assigns
        || runs_anything
        || matches!(base, "python" | "pypy" | "source")
        || !name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "-_+.".contains(char))
        || name == "."
        || !dangerous(words).is_some_and(|found| found.is_empty())
    {
        return None;
    }
    let second = words.get(1)?;
    if second.is_fixed() && is_plain(&second.text) {
        return Some(format!("{name} {}", second.text));
    }
    let is_option = second.text.starts_with('-');
    (is_option && !WITH_SUBCOMMANDS.contains(&name)).then(|| name.to_owned())
}
