//! Known forms of programs: the effect of each option and operand. Forms that only read need no
//! permission. A rule with `*` covers the other known forms, and no form that the table does not
//! contain.

#[cfg(test)]
mod differential_tests;
mod facts;
mod listing;
mod options;
mod reader;
mod rows;
mod table;
mod variables;

use crate::programs::{dangerous, name_of};
use crate::shell::Word;
pub(crate) use facts::Known;
pub(crate) use listing::Listing;
use listing::{Facts, has};
use options::{Found, Options};
use reader::Reader;
pub(crate) use reader::verifies;
use rows::rows;
use table::WRAPPERS;
use variables::sets_own_variable;
pub(crate) use variables::{is_harmless_assignment, is_key};

/// Folders of programs that are known by their names.
const SYSTEM: [&str; 4] = [
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
];
/// Maximum number of words of a command that are compared with the table; no rule with `*` covers a
/// longer command.
const MOST_WORDS: usize = 500;
/// Maximum depth of programs that run a program.
const MOST_WRAPPERS: usize = 4;
/// Builtins that `time` does not affect, but that a wrapper would not find.
const BUILTINS: &str =
    "cd set read exit return break continue shift umask ulimit wait command type dirs jobs times";
/// Whether the table has rows for the program.
pub(crate) fn has_rows(program: &str) -> bool {
    rows(program).is_some()
}

/// The words of a command that a rule must name. `None` if one cannot be known.
pub(crate) fn unnamed(words: &[Word]) -> Option<Vec<String>> {
    match find(words) {
        Some(known) if !words.iter().all(|word| word.assigns) => {
            (!known.is_open).then_some(known.unnamed)
        }
        _ => {
            let found = dangerous(words, has_rows)?.into_iter();
            Some(found.map(str::to_owned).collect())
        }
    }
}

/// The facts about the command `words`, if its program is in the table.
pub(crate) fn find(words: &[Word]) -> Option<Known> {
    find_within(words, MOST_WRAPPERS)
}

/// The names that a pipe of commands prints: each command reads the names of the one before.
pub(crate) fn listing(commands: &[&[Word]]) -> Option<Listing> {
    Listing::of(commands, &|words| {
        let known = find_within(words, 0).filter(|known| known.reads_only)?;
        Some(Facts {
            reads_input: known.shown.is_empty() && known.searched.is_empty(),
            is_git: known.is_git,
            options: known.options,
        })
    })
}

/// Whether the command adds names that it reads to another one.
pub(crate) fn adds_words(words: &[Word]) -> bool {
    let program = words.iter().find(|word| !word.assigns);
    program.is_some_and(|program| ["xargs", "gxargs"].contains(&program.text.as_str()))
}

/// The facts about the command `words` that reads the names of `listing`.
pub(crate) fn find_after(words: &[Word], listing: Listing) -> Option<Known> {
    let program = words.iter().find(|word| !word.assigns)?;
    let set = words.iter().take_while(|word| word.assigns);
    (adds_words(words) && set.clone().all(is_harmless_assignment)).then_some(())?;
    let arguments = &words[set.count() + 1..];
    let mut found = wrapped(&program.text, arguments, MOST_WRAPPERS, Some(&listing))?;
    found.listing = (!found.is_git).then_some(listing);
    found.listing.is_some().then_some(found)
}

/// The facts about `find -exec` whose commands only read.
fn executing(words: &[Word], depth: usize) -> Option<Known> {
    let (rest, listing, commands) = listing::executed(words)?;
    let mut found = find_within(&rest, depth).filter(|found| found.reads_only)?;
    for command in commands {
        let program = command.first().filter(|word| word.is_fixed())?.text.clone();
        (!has(BUILTINS, &program)).then_some(())?;
        let inner = find_within(&command, depth.checked_sub(1)?)?;
        (inner.reads_only && !inner.is_git && inner.listing.is_none()).then_some(())?;
        found.programs.push(program);
        found.programs.extend(inner.programs);
        found.shown.extend(inner.shown);
        found.searched.extend(inner.searched);
        found.is_pinned |= inner.is_pinned;
    }
    found.listing = Some(listing);
    Some(found)
}

fn find_within(words: &[Word], depth: usize) -> Option<Known> {
    let start = words.iter().position(|word| !word.assigns);
    let Some(start) = start else {
        return Some(Known {
            reads_only: words
                .iter()
                .all(|word| is_harmless_assignment(word) || sets_own_variable(word)),
            is_open: true,
            ..Known::default()
        });
    };
    let (set, words) = words.split_at(start);
    let name = name_of(&words[0].text);
    let Some(rows) = rows(name) else {
        let found = wrapped(name, &words[1..], depth, None)?;
        let is_plain = words[0].text == name && set.iter().all(is_harmless_assignment);
        return is_plain.then_some(found);
    };
    if words.len() > MOST_WORDS {
        return Some(Known {
            is_open: true,
            ..Known::default()
        });
    }
    let is_set = set.iter().all(is_harmless_assignment);
    if let Some(found) = executing(words, depth).filter(|_| is_set) {
        // A rule must name `-exec`.
        let plain = Reader::read(rows, name, words);
        return Some(Known {
            unnamed: plain.unnamed,
            is_open: plain.is_open,
            ..found
        });
    }
    let is_named = words[0].text == name
        || (SYSTEM.iter()).any(|folder| words[0].text.strip_prefix(folder) == Some(name));
    let mut found = Reader::read(rows, name, words);
    found.reads_only &= is_named
        && found.unnamed.is_empty()
        && !found.is_open
        && set.iter().all(is_harmless_assignment);
    (!rows.is_part || found.reads_only).then_some(found)
}

/// The facts about the command in the arguments of a program such as `timeout`, if it only reads.
/// `listing` has the names that it reads.
fn wrapped(
    name: &str,
    arguments: &[Word],
    depth: usize,
    listing: Option<&Listing>,
) -> Option<Known> {
    let is_row = |row: &&table::Wrapper| row.0.split('|').any(|known| known == name);
    let (_, options, operands, adds_input) = WRAPPERS.iter().find(is_row)?;
    let options = Options::of(options);
    let mut mark = "";
    let mut given: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        if text == "--" {
            break;
        }
        word.is_fixed().then_some(())?;
        let (found, seen) = options.find(text, false);
        given.extend(seen.iter().cloned());
        match found {
            Found::Unknown => return None,
            Found::Next(_, count) => {
                let value = arguments.get(at).filter(|value| value.is_fixed())?;
                if *adds_input && seen.iter().any(|seen| seen == "-I") {
                    mark = &value.text;
                }
                at += count;
            }
            Found::Complete(value) => {
                if *adds_input && seen.iter().any(|seen| seen == "-I") {
                    mark = value?.1;
                }
            }
        }
    }
    let own = arguments.get(at..at + operands)?;
    own.iter().all(Word::is_fixed).then_some(())?;
    let mut rest: Vec<Word> = arguments[at + operands..].to_vec();
    if name == "env" {
        let assigns = |word: &Word| word.is_fixed() && word.text.contains('=');
        let set = rest.iter().take_while(|word| assigns(word)).count();
        for mut word in rest.drain(..set) {
            word.assigns = true;
            is_harmless_assignment(&word).then_some(())?;
        }
    }
    if *adds_input {
        if rest.is_empty() {
            rest.push(Word::literal("echo"));
        }
        let is_given = |list: &str| given.iter().any(|option| has(list, option));
        let added = match listing {
            Some(_) if is_given("-d --delimiter") => return None,
            Some(listing) => listing.word(is_given("-0 --null"))?,
            None => Word::input(),
        };
        let replaced = |word: &Word| match listing {
            Some(_) if word.text == mark => Word::listed(false),
            _ => word.with_input(mark, ""),
        };
        rest = rest.iter().map(replaced).collect();
        rest.extend(mark.is_empty().then_some(added));
    }
    let first = rest.first().filter(|word| word.is_fixed())?;
    let program = first.text.clone();
    (!first.assigns && !has(BUILTINS, &program)).then_some(())?;
    let mut found = find_within(&rest, depth.checked_sub(1)?)?;
    found.programs.push(program);
    found.reads_only.then_some(found)
}
