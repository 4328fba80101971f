//! Commands that print names of files below known folders, and commands that read these names:
//! `xargs`, and `find -exec`.

use crate::shell::{GLOB, Word};

/// A program that lists files: its name, the options of which one is required, the options that do
/// not change names, and the options that end names with a zero byte.
type Lister = (&'static str, &'static str, &'static str, &'static str);

const LISTERS: &[Lister] = &[
    (
        "grep|egrep|fgrep",
        "-l --files-with-matches -L --files-without-match",
        "-r -R -l -L -i -E -F -P -w -x -v -I -s -n -H -e -a --recursive --files-with-matches --files-without-match --include \
         --exclude --exclude-dir --ignore-case --word-regexp",
        "-Z --null",
    ),
    (
        "rg",
        "-l --files --files-with-matches --files-without-match",
        "-l -i -S -w -F -e -g -t -T -n -v -s -x -U -P -L -d --hidden --no-ignore --glob --iglob --type --type-not --files \
         --files-with-matches --files-without-match --ignore-case --smart-case --fixed-strings --word-regexp --follow --sort \
         --max-depth",
        "-0 --null",
    ),
    (
        "fd|fdfind",
        "",
        "-H -I -s -i -g -L -p -F -u -d -e -E -t -S --hidden --no-ignore --case-sensitive --ignore-case --glob --regex \
         --fixed-strings --follow --full-path --max-depth --min-depth --exact-depth --type --extension --exclude --size \
         --changed-within --changed-before --max-results",
        "-0 --print0",
    ),
    (
        "git",
        "",
        "-c -m -o -d --cached --modified --others --deleted --exclude-standard --exclude",
        "-z",
    ),
];

/// Programs that print some lines of their input, and the options with which they do not change
/// lines.
const FILTERS: &[(&str, &str)] = &[
    ("grep|egrep|fgrep", "-v -i -E -F -P -w -x -e"),
    ("head|tail", "-n --lines"),
    ("sort", "-u -r -n -V -f -h --unique --reverse"),
    ("uniq", ""),
];

/// The facts about a command that only reads.
pub(super) struct Facts {
    /// The names of the command's options.
    pub options: Vec<String>,
    /// Whether the command reads only its input, and shows no files.
    pub reads_input: bool,
    pub is_git: bool,
}

/// Names of files that a command prints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The folders that contain the files.
    pub roots: Vec<Word>,
    /// Patterns of the names of the files; empty for all files.
    pub included: Vec<String>,
    /// Whether a zero byte ends each name.
    ends_with_zero: bool,
    /// Whether a name could begin with a hyphen, or become several words.
    pub splits: bool,
    /// Whether the names are those of the index of git.
    pub is_index: bool,
}

impl Listing {
    /// The names that a pipe of commands prints: each command reads the names of the one before.
    pub(super) fn of(
        commands: &[&[Word]],
        facts: &dyn Fn(&[Word]) -> Option<Facts>,
    ) -> Option<Self> {
        let (first, filters) = commands.split_first()?;
        let listing = Self::of_command(first, &facts(first)?)?;
        let keeps = |words: &&[Word]| {
            let options = FILTERS.iter().find(|(names, _)| is_one(words, names));
            options.is_some_and(|(_, options)| {
                facts(words).is_some_and(|facts| {
                    let mut given = facts.options.iter();
                    facts.reads_input && given.all(|option| has(options, option))
                })
            })
        };
        let is_kept = filters.is_empty() || (!listing.ends_with_zero && filters.iter().all(keeps));
        is_kept.then_some(listing)
    }

    fn of_command(words: &[Word], facts: &Facts) -> Option<Self> {
        if is_one(words, "find|gfind") {
            return Self::of_find(words);
        }
        let (_, needed, options, zero) = LISTERS.iter().find(|row| is_one(words, row.0))?;
        let is_index = facts.is_git;
        let given = |list: &str| facts.options.iter().any(|option| has(list, option));
        let is_fine = |option: &String| has(options, option) || has(zero, option);
        let ends_with_zero = given(zero);
        let is_list = (needed.is_empty() || given(needed))
            && facts.options.iter().all(is_fine)
            // `:/` is the top of the repository.
            && !(is_index && words.iter().any(|word| word.text.starts_with(':')))
            && (!is_index || words.get(1).is_some_and(|word| word.text == "ls-files"));
        is_list.then_some(())?;
        // Additional folders only make the judgement stricter.
        let mut roots = vec![Word::literal(".")];
        for word in &words[1..] {
            word.is_fixed().then_some(())?;
            roots.extend((!word.text.starts_with('-')).then(|| word.clone()));
        }
        Some(Self {
            roots,
            ends_with_zero,
            splits: true,
            is_index,
            ..Self::default()
        })
    }

    /// The names that `find` prints begin with its folders.
    fn of_find(words: &[Word]) -> Option<Self> {
        let other = ["-printf", "-ls", "-exec", "-execdir"];
        let is_other = |word: &Word| other.contains(&word.text.as_str());
        let prints = |name: &str| words.iter().any(|word| word.text == name);
        let ends_with_zero = prints("-print0");
        if words.iter().any(is_other) || (ends_with_zero && prints("-print")) {
            return None;
        }
        let is_option =
            |word: &&Word| ["-H", "-L", "-P"].contains(&&*word.text) || word.text.starts_with("-O");
        let rest = words[1..].iter().skip_while(is_option);
        let is_root = |word: &&Word| !word.text.starts_with(['-', '(', '!', ',']);
        let mut roots: Vec<Word> = rest.clone().take_while(is_root).cloned().collect();
        if roots.is_empty() {
            roots.push(Word::literal("."));
        }
        roots.iter().all(Word::is_fixed).then_some(())?;
        Some(Self {
            roots,
            included: included(words, &["-print", "-print0"]),
            ends_with_zero,
            splits: !ends_with_zero,
            is_index: false,
        })
    }

    /// The word that `xargs` adds, if both separate names in the same way.
    pub(super) fn word(&self, ends_with_zero: bool) -> Option<Word> {
        (self.ends_with_zero == ends_with_zero).then(|| Word::listed(true))
    }
}

/// The name patterns of `find` before the first of `actions`: every file that reaches the action
/// matches one of them.
fn included(words: &[Word], actions: &[&str]) -> Vec<String> {
    let text = |place: usize| words.get(place).map_or("", |word| word.text.as_str());
    let is_name =
        |place: usize| text(place) == "-name" && !["!", "-not"].contains(&text(place - 1));
    let is_action = |word: &Word| actions.contains(&word.text.as_str());
    let end = words.iter().position(is_action).unwrap_or(words.len());
    let is_other = |word: &Word| ["-o", "-or", ","].contains(&word.text.as_str());
    let mut found = Vec::new();
    if words[end..].iter().any(is_other) {
        return found;
    }
    for place in 1..end {
        match text(place) {
            "-iname" | "," | "-or" => return Vec::new(),
            "-name" if !words.get(place + 1).is_some_and(Word::is_fixed) => return Vec::new(),
            "-o" if !(place > 2 && is_name(place - 2) && text(place + 1) == "-name") => {
                return Vec::new();
            }
            // The group is negated.
            "(" if ["!", "-not"].contains(&text(place - 1)) => return Vec::new(),
            "-name" if is_name(place) => {
                found.push(text(place + 1).replace('*', &GLOB.to_string()));
            }
            _ => {}
        }
    }
    found
}

/// Splits `find -exec` into `find` without its commands, and these commands with a word for the
/// files. `None` if there are no commands, or if the name of a file is only a part of a word.
pub(super) fn executed(words: &[Word]) -> Option<(Vec<Word>, Listing, Vec<Vec<Word>>)> {
    is_one(words, "find|gfind").then_some(())?;
    let (mut rest, mut commands) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word.text != "-exec" {
            rest.push(word.clone());
            continue;
        }
        let mut command: Vec<Word> = Vec::new();
        loop {
            let word = words.get(at)?;
            at += 1;
            match word.text.as_str() {
                ";" => break,
                "+" if command.last().is_some_and(|last| last.is_listed) => {
                    command.pop();
                    command.push(Word::listed(true));
                    break;
                }
                "{}" => command.push(Word::listed(false)),
                text if text.contains("{}") || !word.is_fixed() => return None,
                _ => command.push(word.clone()),
            }
        }
        commands.push(command);
    }
    (!commands.is_empty()).then_some(())?;
    let mut listing = Listing::of_find(&rest)?;
    listing.included = included(words, &["-exec"]);
    listing.splits = false;
    Some((rest, listing, commands))
}

fn is_one(words: &[Word], names: &str) -> bool {
    let first = words.first();
    first.is_some_and(|first| names.split('|').any(|name| name == first.text))
}

pub(super) fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|known| known == word)
}
