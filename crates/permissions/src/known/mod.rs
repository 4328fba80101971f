//! Forms of programs that are known: what each option and operand does. The forms that only read need no permission; a
//! rule with `*` covers the others, and no form that the table does not contain.

#[cfg(test)]
mod differential_tests;
mod listing;
mod options;
mod table;
mod variables;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::programs::{awk_is_plain, dangerous, name_of, sed_is_plain};
use crate::shell::{GLOB, HOLE, Word};
pub(crate) use listing::Listing;
use listing::{Facts, has};
use options::{Found, Options, Value};
use table::{COLUMNS, Effect, FORMS, Form, Operands, WRAPPERS};
use variables::sets_own_variable;
pub(crate) use variables::{is_harmless_assignment, is_key};

/// Folders of programs that are known by their names.
const SYSTEM: [&str; 4] = [
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
];
/// Words of a command that are compared with the table; no rule with `*` covers a longer one.
const MOST_WORDS: usize = 500;
/// Programs that run a program, within one another.
const MOST_WRAPPERS: usize = 4;
/// Builtins of which `time` changes nothing, and that a wrapper would not find.
const BUILTINS: &str =
    "cd set read exit return break continue shift umask ulimit wait command type dirs jobs times";
/// A command in the terms of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The command only reads: it needs no permission if its files need none.
    pub reads_only: bool,
    /// The words that a rule must name.
    pub unnamed: Vec<String>,
    /// A word can be an option, or the script is not understood: no rule with `*` covers the command.
    pub is_open: bool,
    /// The files of which it shows the contents.
    pub shown: Vec<Word>,
    /// The command shows all files below these folders.
    pub searched: Vec<Word>,
    /// The names that a search is limited to.
    pub included: Vec<String>,
    /// A search skips hidden files.
    pub skips_hidden: bool,
    /// The paths that it writes.
    pub written: Vec<Word>,
    /// The directory in which it works.
    pub folder: Option<Word>,
    /// The command is git.
    pub is_git: bool,
    /// Other files of the project select the program that runs.
    pub is_pinned: bool,
    /// The command shows addresses of the configuration of git, which can contain passwords.
    pub shows_addresses: bool,
    /// The programs that it runs besides the first one.
    pub programs: Vec<String>,
    /// The names of its options.
    options: Vec<String>,
    /// The source of its listed words.
    pub listing: Option<Listing>,
}

/// The rows of a program.
fn rows(program: &str) -> &'static [&'static Form] {
    static BY_NAME: LazyLock<HashMap<&str, Vec<&Form>>> = LazyLock::new(|| {
        let mut found: HashMap<&str, Vec<&Form>> = HashMap::new();
        for form in FORMS {
            for name in form.0.split('|') {
                let program = name.split(' ').next().unwrap_or(name);
                let rows = found.entry(program).or_default();
                if !rows.iter().any(|row| std::ptr::eq(*row, form)) {
                    rows.push(form);
                }
            }
        }
        found
    });
    BY_NAME.get(program).map_or(&[], Vec::as_slice)
}

/// Whether the table has rows of the program.
pub(crate) fn has_rows(program: &str) -> bool {
    !rows(program).is_empty()
}

/// Whether the rows of a program are all its forms.
fn is_complete(rows: &[&Form]) -> bool {
    let is_part =
        |form: &&Form| matches!(form.3, Operands::Alone(_)) || Options(form.2).has("@part");
    !rows.is_empty() && !rows.iter().any(is_part)
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

/// The names that the last of these commands prints, of which each but the first reads those of the one before.
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

/// The facts about the command `words` that reads the names of `listing`.
pub(crate) fn find_after(words: &[Word], listing: Listing) -> Option<Known> {
    let program = words.iter().find(|word| !word.assigns)?;
    let set = words.iter().take_while(|word| word.assigns);
    let is_xargs = ["xargs", "gxargs"].contains(&program.text.as_str());
    (is_xargs && set.clone().all(is_harmless_assignment)).then_some(())?;
    let arguments = &words[set.count() + 1..];
    let mut found = wrapped(&program.text, arguments, MOST_WRAPPERS, Some(&listing))?;
    found.listing = (!found.is_git).then_some(listing);
    found.listing.is_some().then_some(found)
}

/// `find` whose commands only read.
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
    let rows = rows(name);
    if rows.is_empty() {
        let found = wrapped(name, &words[1..], depth, None)?;
        let is_plain = words[0].text == name && set.iter().all(is_harmless_assignment);
        return is_plain.then_some(found);
    }
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
    (is_complete(rows) || found.reads_only).then_some(found)
}

/// The facts about the command in the arguments of a program such as `timeout`, if it only reads. `listing` is what it reads.
fn wrapped(
    name: &str,
    arguments: &[Word],
    depth: usize,
    listing: Option<&Listing>,
) -> Option<Known> {
    let is_row = |row: &&table::Wrapper| row.0.split('|').any(|known| known == name);
    let (_, options, operands, adds_input) = WRAPPERS.iter().find(is_row)?;
    let options = Options(options);
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

/// Reads a command with the rows of its program.
struct Reader<'w> {
    arguments: &'w [Word],
    at: usize,
    found: Known,
    seen: Vec<String>,
    operands: Vec<&'w Word>,
    /// An option before the subcommand does more than read.
    needs_rule: bool,
}

impl<'w> Reader<'w> {
    fn read(rows: &[&'static Form], name: &str, words: &'w [Word]) -> Known {
        let mut start = Reader {
            arguments: &words[1..],
            at: 0,
            found: Known {
                is_git: name == "git",
                ..Known::default()
            },
            seen: Vec::new(),
            operands: Vec::new(),
            needs_rule: false,
        };
        if let Some(before) = rows.iter().find(|form| form.1 == Effect::Before) {
            start.before(Options(before.2));
        }
        let candidates = start.candidates(rows, name);
        let Some((length, forms)) = candidates else {
            // Another program, or one that is not known.
            let unknown = start.arguments.get(start.at);
            start.found.is_open |= unknown.is_none_or(|word| !word.is_fixed());
            let named = unknown.map(|word| word.text.clone());
            start.found.unnamed.extend(named);
            return start.found;
        };
        let read = |form: &&Form| {
            let mut reader = Reader {
                found: start.found.clone(),
                at: start.at + length,
                seen: Vec::new(),
                operands: Vec::new(),
                ..start
            };
            reader.form(form);
            reader.found.options = reader.seen;
            reader.found
        };
        let mut best: Option<Known> = None;
        for found in forms.iter().map(read) {
            let is_better = best.as_ref().is_none_or(|best| {
                let cost = |known: &Known| (known.is_open, known.unnamed.len(), !known.reads_only);
                cost(&found) < cost(best)
            });
            if is_better {
                best = Some(found);
            }
        }
        best.unwrap_or_default()
    }

    /// Reads the options before a subcommand.
    fn before(&mut self, options: Options) {
        while let Some(word) = self.arguments.get(self.at) {
            let text = word.text.as_str();
            // `cargo +nightly`.
            if text.starts_with('+') && self.at == 0 {
                self.at += 1;
                self.needs_rule = true;
                continue;
            }
            if !text.starts_with('-') || text == "-" || text == "--" {
                break;
            }
            if !word.is_fixed() {
                self.found.is_open = true;
                break;
            }
            // An option that is no option before a subcommand, such as `--version`.
            let (found, _) = options.find(text, false);
            if found == Found::Unknown {
                let named = options.named(text);
                let Some(values) = named else {
                    break;
                };
                self.found.unnamed.push(text.to_owned());
                self.at += 1 + values;
                continue;
            }
            self.option(found);
        }
    }

    /// The rows that fit the subcommand at this place, and the number of its words.
    fn candidates(
        &self,
        rows: &[&'static Form],
        name: &str,
    ) -> Option<(usize, Vec<&'static Form>)> {
        let rest = &self.arguments[self.at.min(self.arguments.len())..];
        for length in [2, 1, 0] {
            let Some(words) = rest.get(..length) else {
                continue;
            };
            if words.iter().any(|word| !word.is_fixed()) {
                continue;
            }
            let fits = |form: &&&'static Form| {
                form.1 != Effect::Before
                    && form.0.split('|').any(|wanted| {
                        let mut parts = wanted.split(' ');
                        parts.next() == Some(name) && {
                            let texts = words.iter().map(|word| word.text.as_str());
                            parts.eq(texts)
                        }
                    })
            };
            let found: Vec<&'static Form> = rows.iter().filter(fits).copied().collect();
            // A word after a program with subcommands is one of them.
            let is_subcommand = length == 0
                && rows.iter().any(|form| form.1 == Effect::Before)
                && rest.first().is_some_and(|word| !word.text.starts_with('-'));
            if !found.is_empty() && !is_subcommand {
                return Some((length, found));
            }
        }
        None
    }

    fn form(&mut self, form: &Form) {
        let (_, effect, list, operands) = *form;
        let (options, after) = Options(list).split();
        self.found.reads_only = effect == Effect::Reads && !self.needs_rule;
        self.found.is_pinned |= options.has("@pinned");
        self.found.shows_addresses |= options.has("@addresses");
        if let Operands::Alone(wanted) = operands {
            let is_one = |word: &Word| has(wanted, &word.text);
            self.found.is_open |= !matches!(self.arguments, [word] if is_one(word));
            return;
        }
        self.words(options, after);
        self.operands(operands, options);
    }

    fn words(&mut self, options: Options, after: Option<Options>) {
        let (complete, any, first) = (
            options.has("@words"),
            options.has("@any"),
            options.has("@first"),
        );
        let is_printer = any && options.0 == "@any";
        if options.has("@letters")
            && let Some(word) = self.arguments.get(self.at)
            && !word.text.starts_with('-')
        {
            let (found, seen) = options.find(&word.text, true);
            if found == Found::Unknown || !word.is_fixed() {
                self.found.unnamed.push(word.text.clone());
            }
            self.seen.extend(seen);
            self.option(found);
        }
        while let Some(word) = self.arguments.get(self.at) {
            let text = word.text.as_str();
            if is_printer {
                self.operands.push(word);
                self.at += 1;
                continue;
            }
            if complete {
                self.complete_word(options, word);
                continue;
            }
            if text == "--" {
                self.at += 1;
                self.rest(after);
                return;
            }
            let texts = word.texts();
            let is_name = options.has("@names")
                && !texts.is_empty()
                && !texts.iter().any(|text| text.starts_with('-'));
            if word.may_be_option && !any && !is_name {
                self.found.is_open = true;
            }
            if !text.starts_with('-') || text == "-" {
                self.operands.push(word);
                self.at += 1;
                if first {
                    self.operands.extend(&self.arguments[self.at..]);
                    return;
                }
                continue;
            }
            let (found, seen) = options.find(text, false);
            self.seen.extend(seen);
            let name = text.split('=').next().unwrap_or(text);
            if found == Found::Unknown || name.contains([HOLE, GLOB]) {
                if !word.is_fixed() {
                    self.found.is_open = true;
                }
                self.found.unnamed.push(text.to_owned());
                self.at += 1;
                continue;
            }
            self.included(text);
            self.option(found);
        }
    }

    /// A word of a program such as `find`: an option, or a word before the first option.
    fn complete_word(&mut self, options: Options, word: &'w Word) {
        let text = word.text.as_str();
        let found = options.find_word(text);
        match found {
            Found::Unknown if text.starts_with('-') || word.may_be_option => {
                self.found.is_open |= !word.is_fixed() || word.may_be_option;
                self.found.unnamed.push(text.to_owned());
                self.at += 1;
            }
            Found::Unknown => {
                self.operands.push(word);
                self.at += 1;
            }
            found => {
                self.seen.push(text.to_owned());
                self.option(found);
            }
        }
    }

    /// The words after `--`.
    fn rest(&mut self, after: Option<Options>) {
        let rest = &self.arguments[self.at.min(self.arguments.len())..];
        let Some(after) = after else {
            self.operands.extend(rest);
            return;
        };
        if after.0.trim() == "*" {
            return;
        }
        while let Some(word) = self.arguments.get(self.at) {
            let (found, _) = after.find(&word.text, false);
            if found == Found::Unknown || !word.text.starts_with('-') {
                self.found.unnamed.push(word.text.clone());
                self.found.is_open |= !word.is_fixed();
                self.at += 1;
            } else {
                self.option(found);
            }
        }
    }

    /// Notes the value of an option, and skips it.
    fn option(&mut self, found: Found<'_>) {
        self.at += 1;
        match found {
            Found::Complete(Some((value, text))) => self.value(value, &Word::literal(text)),
            Found::Next(value, count) => {
                let last = self.arguments.get(self.at + count - 1);
                for word in self.arguments.iter().skip(self.at).take(count) {
                    // The value can become several words, one of which is an option.
                    self.found.is_open |= word.splits && word.may_be_option;
                }
                if let Some(word) = last {
                    self.value(value, word);
                }
                self.at += count;
            }
            Found::Complete(None) | Found::Unknown => {}
        }
    }

    fn value(&mut self, value: Value, word: &Word) {
        match value {
            // `%G?` and the like run a program that verifies signatures.
            Value::Text if self.found.is_git => {
                if verifies(&word.text) || !word.is_fixed() {
                    self.found.reads_only = false;
                }
            }
            Value::Text => {}
            Value::Columns => {
                let names = word.text.split([',', ' ']);
                let mut names = names.map(|name| name.split('=').next().unwrap_or(name));
                if !names.all(|name| has(COLUMNS, name)) {
                    self.name(word);
                }
            }
            Value::Read => self.found.shown.push(word.clone()),
            Value::Written => self.found.written.push(word.clone()),
            Value::Folder if self.found.folder.is_some() => self.found.is_open = true,
            Value::Folder => self.found.folder = Some(word.clone()),
        }
    }

    /// Notes the names that a search is limited to.
    fn included(&mut self, text: &str) {
        let next = self.arguments.get(self.at + 1);
        let value = match text.split_once('=') {
            Some(("--include", value)) => Some(value),
            None if text == "--include" => next.map(|word| word.text.as_str()),
            _ => None,
        };
        let included = value.map(|value| value.replace('*', &GLOB.to_string()));
        self.found.included.extend(included);
    }

    fn has_seen(&self, wanted: &str) -> bool {
        self.seen.iter().any(|seen| has(wanted, seen))
    }

    fn name(&mut self, word: &Word) {
        self.found.is_open |= !word.is_fixed();
        self.found.unnamed.push(word.text.clone());
    }

    fn operands(&mut self, kind: Operands, options: Options) {
        let operands = std::mem::take(&mut self.operands);
        let refused = |word: &Word| {
            (options.has("@response") && (word.text.starts_with('@') || !word.is_fixed()))
                || (options.has("@local") && (word.text.contains(':') || !word.is_fixed()))
        };
        self.found.is_open |= self.arguments.iter().any(refused);
        match kind {
            Operands::Text | Operands::Any | Operands::Test | Operands::Alone(_) => {}
            Operands::Flags if operands.is_empty() && self.arguments.is_empty() => {
                self.found.reads_only = false;
            }
            Operands::No | Operands::Flags => operands.iter().for_each(|word| self.name(word)),
            Operands::One => operands.iter().skip(1).for_each(|word| self.name(word)),
            Operands::Needs(wanted) => {
                if !self.has_seen(wanted) {
                    self.found.reads_only = false;
                    self.found
                        .unnamed
                        .extend(self.arguments.first().map(|word| word.text.clone()));
                }
            }
            Operands::With(wanted) => {
                if let Some(first) = self.arguments.first()
                    && !operands.is_empty()
                    && !self.has_seen(wanted)
                {
                    self.found.reads_only = false;
                    self.name(first);
                }
            }
            Operands::Setting => self.setting(&operands),
            // diff reads the files of folders, also without `-r`.
            Operands::Trees => {
                self.found.searched = operands.iter().map(|word| (*word).clone()).collect();
                self.show(operands);
            }
            Operands::Files | Operands::Revisions => self.show(operands),
            Operands::OneFile => {
                let splits = operands.iter().any(|word| word.splits);
                self.found.is_open |= splits;
                operands.iter().skip(1).for_each(|word| self.name(word));
                self.show(operands);
            }
            Operands::Format => {
                let is_format = |word: &&&Word| !word.text.starts_with('+') || !word.is_fixed();
                let others = operands.iter().filter(is_format);
                others.for_each(|word| self.name(word));
            }
            Operands::Search => self.search(&operands),
            Operands::Tree => self.search_tree(&operands),
            Operands::Sed | Operands::Awk | Operands::Filter | Operands::Query => {
                self.script(kind, operands);
            }
            Operands::Written => self.write(operands),
            Operands::Copied => {
                let into = !self.found.written.is_empty();
                let mut operands = operands;
                let last = if into { None } else { operands.pop() };
                self.write(last.into_iter().collect());
                self.show(operands);
            }
            Operands::Directory => {
                self.found.is_open |= operands.len() > 1;
                let folder = operands.first().copied();
                self.found.folder = Some(folder.cloned().unwrap_or_else(|| Word::literal("~")));
            }
            Operands::Here => {
                let others = operands.iter().filter(|word| word.text != ".");
                others.for_each(|word| self.name(word));
            }
            Operands::Derived => {
                for (place, word) in operands.iter().enumerate() {
                    let last = word.text.trim_end_matches('/').rsplit(['/', ':']).next();
                    if place > 0 || last.is_some_and(|last| last.starts_with('.')) {
                        self.name(word);
                    }
                }
            }
        }
    }

    /// The name of a setting of git.
    fn setting(&mut self, operands: &[&'w Word]) {
        let is_shown =
            |word: &&Word| word.is_fixed() && !is_key(&word.text) && is_shown_setting(&word.text);
        self.found.reads_only &= operands.len() == 1 && operands.iter().all(is_shown);
        // A second word is a new value, and a first one without a dot an action.
        let is_action = |word: &&&Word| !word.text.contains('.');
        let first = operands.iter().take(1).filter(is_action);
        let named = first.chain(operands.iter().skip(1));
        named.for_each(|word| self.name(word));
    }

    /// A program in an argument, and the files that it reads.
    fn script(&mut self, kind: Operands, operands: Vec<&'w Word>) {
        let skipped = match kind {
            Operands::Sed => {
                self.found.is_open |= !sed_is_plain(self.arguments);
                usize::from(!self.has_seen("-e --expression"))
            }
            Operands::Awk => {
                self.found.is_open |= !awk_is_plain(self.arguments);
                let reads = ["ENVIRON", "ARGV", "ARGC", "PROCINFO", "SYMTAB"];
                let mut texts = operands.iter().map(|word| word.text.as_str());
                let looks = texts.any(|text| reads.iter().any(|name| text.contains(name)));
                self.found.reads_only &= !looks;
                1
            }
            _ => {
                let reads = ["env", "ENV", "import", "include", "input_filename"];
                let loads = ["load", "system", "eval", "split", "write"];
                let is_query = kind == Operands::Query;
                let is_plain = |word: &&Word| {
                    let has = |names: &[&str]| names.iter().any(|name| word.text.contains(name));
                    word.is_fixed() && !has(&reads) && !(is_query && has(&loads))
                };
                // The first words of yq can be `eval` and `eval-all`, or the expression itself.
                let scripts = if is_query { operands.len() } else { 1 };
                self.found.reads_only &= operands.iter().take(scripts).all(is_plain);
                // A single word of yq can be a file.
                usize::from(!is_query)
            }
        };
        self.show(operands.into_iter().skip(skipped));
    }

    fn show(&mut self, operands: impl IntoIterator<Item = &'w Word>) {
        self.show_all(operands.into_iter().cloned().collect());
    }

    fn write(&mut self, operands: Vec<&'w Word>) {
        self.found.written.extend(operands.into_iter().cloned());
    }

    /// The files of a search, without its pattern.
    fn searched(&self, operands: &[&'w Word]) -> Vec<Word> {
        let given = self.has_seen("-e --regexp -f --file --files");
        // The first of several listed files would be the pattern.
        let is_pattern = |word: &&&Word| !(word.is_listed && word.splits);
        let first = operands.first().filter(is_pattern).filter(|_| !given);
        let files = operands.iter().skip(usize::from(first.is_some()));
        files.map(|word| (*word).clone()).collect()
    }

    /// Without files, a search reads its input or the working directory.
    fn search_below(&mut self, files: Vec<Word>) {
        self.found.searched = if files.is_empty() {
            vec![Word::literal(".")]
        } else {
            files
        };
    }

    fn search(&mut self, operands: &[&'w Word]) {
        let files = self.searched(operands);
        let below = "-r -R -d --recursive --dereference-recursive --directories";
        if self.has_seen(below) {
            self.search_below(files);
        } else {
            self.show_all(files);
        }
    }

    fn search_tree(&mut self, operands: &[&'w Word]) {
        // These print names.
        if self.has_seen("--files --type-list --pcre2-version") {
            return;
        }
        let hidden = "-u -. --hidden --unrestricted --no-ignore --no-ignore-dot --no-ignore-files";
        self.found.skips_hidden = !self.has_seen(hidden);
        let files = self.searched(operands);
        self.search_below(files);
    }

    fn show_all(&mut self, files: Vec<Word>) {
        let files = files.into_iter().filter(|word| word.text != "-");
        self.found.shown.extend(files);
    }
}

/// Whether the value of a setting of git has no password.
fn is_shown_setting(name: &str) -> bool {
    let sections = "advice branch color column commit core diff fetch gc init log merge pull push rebase remote status tag user";
    let section = name.split('.').next().unwrap_or_default();
    has(sections, &section.to_lowercase())
}

/// Whether a format of git shows a signature, for which git runs a program: `%G?`, `%+GK`, `%(signature)`.
fn verifies(format: &str) -> bool {
    let is_signature = |part: &str| {
        part.trim_start_matches(['+', '-', ' ']).starts_with('G') || part.starts_with("(signature")
    };
    format.split('%').skip(1).any(is_signature)
}
