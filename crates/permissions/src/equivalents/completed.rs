//! Commands that a program completes with its input: the words that it adds or replaces are unknown.

use crate::programs::{Adds, find};
use crate::shell::{HOLE, Word};

/// Options of `xargs` with a value: short ones, and short ones whose value is a part of the same word.
const VALUES: &str = "adEIJLnPRsS";
const ATTACHED: &str = "eil";
const LONG_VALUES: [&str; 6] = [
    "arg-file",
    "delimiter",
    "max-args",
    "max-chars",
    "max-procs",
    "process-slot-var",
];

/// Options of `find` and `fd` after which a command begins.
const RUNS: [&str; 6] = [
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "--exec",
    "--exec-batch",
];

/// The command line `words` with the input of the program `name`, if it adds any.
pub(super) fn complete(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    match find(name).adds {
        Adds::Nothing => None,
        Adds::Input => {
            let known = xargs(&words[1..]);
            let start = known.command.map_or(words.len(), |command| command + 1);
            let mark = known.replaced.unwrap_or_default();
            let mut found = words[..start].to_vec();
            let rest = words[start..].iter();
            found.extend(rest.map(|word| word.with_input(&mark, "")));
            if start < words.len() {
                found.push(Word::input());
            }
            Some(found)
        }
        Adds::Lists => Some(lists(words)),
        Adds::Found => Some(found_files(words)),
        Adds::FoundInBraces => found_in_braces(words),
        Adds::Changed => Some(words.iter().map(|word| word.with_input("/_", "")).collect()),
    }
}

/// The options of `xargs`.
#[derive(Debug, Default)]
pub(super) struct Xargs {
    /// The index of the argument that is the command.
    pub command: Option<usize>,
    /// The text that is replaced by the input.
    pub replaced: Option<String>,
}

pub(super) fn xargs(arguments: &[Word]) -> Xargs {
    let mut found = Xargs::default();
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        let next = arguments.get(at + 1).map(|word| word.text.clone());
        at += 1;
        if text == "--" {
            found.command = (at < arguments.len()).then_some(at);
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            if "replace".starts_with(name) {
                found.replaced = Some(value.unwrap_or("{}").to_owned());
            }
            let takes_next = LONG_VALUES.iter().any(|option| option.starts_with(name));
            at += usize::from(takes_next && value.is_none());
            continue;
        }
        let Some(group) = text.strip_prefix('-').filter(|group| !group.is_empty()) else {
            found.command = Some(at - 1);
            break;
        };
        let is_last = |letter: char| VALUES.contains(letter) || ATTACHED.contains(letter);
        let Some((place, letter)) = group.char_indices().find(|(_, letter)| is_last(*letter))
        else {
            continue;
        };
        let rest = &group[place + letter.len_utf8()..];
        let takes_next = rest.is_empty() && VALUES.contains(letter);
        match letter {
            'I' | 'J' if takes_next => found.replaced = next,
            'i' if rest.is_empty() => found.replaced = Some("{}".to_owned()),
            'I' | 'J' | 'i' => found.replaced = Some(rest.to_owned()),
            _ => {}
        }
        at += usize::from(takes_next);
    }
    found
}

/// `word` with something unknown for each part in braces, such as `{}`, `{.}` and `{= x =}`.
fn without_braces(word: &Word) -> Word {
    let mut word = word.clone();
    let braces = |text: &str| {
        let found = text.find('{').zip(text.rfind('}'));
        found.filter(|(start, end)| start < end)
    };
    if let Some((start, end)) = braces(&word.text) {
        word.text.replace_range(start..=end, &HOLE.to_string());
        word.may_be_option |= start == 0;
        word.from_input = true;
    }
    word
}

/// Completes a command of `parallel`, also the one of moreutils, whose arguments follow `--`.
fn lists(words: &[Word]) -> Vec<Word> {
    let is_list = |word: &&Word| !word.text.starts_with(":::");
    let mut found: Vec<Word> = words
        .iter()
        .take_while(is_list)
        .map(without_braces)
        .collect();
    let plain = found[1..]
        .iter()
        .position(|word| !word.text.starts_with('-'));
    let end = plain.and_then(|plain| {
        let mut rest = found[plain + 1..].iter();
        rest.position(|word| word.text == "--")
            .map(|end| plain + 1 + end)
    });
    if let Some(end) = end {
        found.truncate(end);
    }
    found.push(Word::input());
    found
}

/// Completes a command of `find` or `fd`. The name of a found file begins with one of the starting
/// points.
fn found_files(words: &[Word]) -> Vec<Word> {
    let is_start = |word: &&Word| !word.text.starts_with(['-', '(', '!']);
    let operands = words[1..].iter().skip_while(|word| {
        matches!(word.text.as_str(), "-H" | "-L" | "-P" | "--") || word.text.starts_with("-O")
    });
    let starts: Vec<&str> = operands
        .take_while(is_start)
        .map(|word| word.text.as_str())
        .collect();
    let is_listed = words.iter().any(|word| word.text.starts_with("-files0"));
    let known = match starts.split_first() {
        _ if is_listed => String::new(),
        None => ".".to_owned(),
        Some((first, others)) => {
            let common = others.iter().fold((*first).to_owned(), |common, other| {
                let same = common
                    .chars()
                    .zip(other.chars())
                    .take_while(|(one, two)| one == two);
                same.map(|(char, _)| char).collect()
            });
            common
                .split([HOLE, crate::shell::GLOB])
                .next()
                .unwrap_or_default()
                .to_owned()
        }
    };
    let mut prefix: Option<&str> = None;
    let mut found = Vec::new();
    for word in words {
        match word.text.as_str() {
            "-exec" | "-ok" => prefix = Some(&known),
            "-execdir" | "-okdir" => prefix = Some(""),
            ";" => prefix = None,
            _ => {}
        }
        found.push(match prefix {
            Some(prefix) => word.with_input("{}", prefix),
            None => word.clone(),
        });
    }
    found
}

fn found_in_braces(words: &[Word]) -> Option<Vec<Word>> {
    let runs = |word: &Word| {
        let text = word.text.as_str();
        let is_group =
            text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
        let name = text.split('=').next().unwrap_or_default();
        is_group || RUNS.contains(&name) || (name.len() > 3 && "--exec-batch".starts_with(name))
    };
    let start = words.iter().position(runs)?;
    let mut found = words[..=start].to_vec();
    found.extend(words[start + 1..].iter().map(without_braces));
    found.push(Word::input());
    Some(found)
}
