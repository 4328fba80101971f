//! Reads the words of a command with the rows of its program.

use std::collections::HashMap;

use super::facts::Known;
use super::listing::has;
use super::options::{Found, Options, Value};
use super::rows::Rows;
use super::table::{COLUMNS, Effect, Form, Operands};
use super::variables::is_key;
use crate::programs::{awk_is_plain, sed_is_plain};
use crate::shell::{GLOB, HOLE, Word};

/// Reads a command with the rows of its program.
pub(super) struct Reader<'w> {
    arguments: &'w [Word],
    at: usize,
    found: Known,
    seen: Vec<String>,
    operands: Vec<&'w Word>,
    /// Whether an option before the subcommand does more than read.
    needs_rule: bool,
}

impl<'w> Reader<'w> {
    pub(super) fn read(rows: &Rows, name: &str, words: &'w [Word]) -> Known {
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
        if let Some(before) = rows.before {
            start.before(Options::of(before.2));
        }
        let candidates = start.candidates(rows);
        let Some((length, forms)) = candidates else {
            // The arguments name another program, or an unknown one.
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
            // The option needs no subcommand, such as `--version`.
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

    /// The rows for the subcommand at this position, and the number of its words.
    fn candidates(&self, rows: &Rows) -> Option<(usize, Vec<&'static Form>)> {
        let rest = &self.arguments[self.at.min(self.arguments.len())..];
        let by_words: &HashMap<(&str, &str), Vec<&'static Form>> = &rows.by_words;
        let text = |place: usize| rest.get(place).map_or("", |word| word.text.as_str());
        for length in [2, 1, 0] {
            let Some(words) = rest.get(..length) else {
                continue;
            };
            // The texts of a subcommand are not empty.
            if words
                .iter()
                .any(|word| !word.is_fixed() || word.text.is_empty())
            {
                continue;
            }
            let subcommand = match length {
                2 => (text(0), text(1)),
                1 => (text(0), ""),
                _ => ("", ""),
            };
            // A word after a program with subcommands is one of them.
            let is_subcommand = length == 0
                && rows.before.is_some()
                && rest.first().is_some_and(|word| !word.text.starts_with('-'));
            if let Some(found) = by_words.get(&subcommand).filter(|_| !is_subcommand) {
                return Some((length, found.clone()));
            }
        }
        None
    }

    fn form(&mut self, form: &Form) {
        let (_, effect, list, operands) = *form;
        let (options, after) = Options::of(list).split();
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
        let is_printer = any && options.text == "@any";
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
        if after.text.trim() == "*" {
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

    /// Records the value of an option, and skips it.
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

    /// Records the names to which a search is limited.
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

    /// Records the name of a setting of git.
    fn setting(&mut self, operands: &[&'w Word]) {
        let is_shown =
            |word: &&Word| word.is_fixed() && !is_key(&word.text) && is_shown_setting(&word.text);
        self.found.reads_only &= operands.len() == 1 && operands.iter().all(is_shown);
        // A second word is a new value, and a first word without a dot is an action.
        let is_action = |word: &&&Word| !word.text.contains('.');
        let first = operands.iter().take(1).filter(is_action);
        let named = first.chain(operands.iter().skip(1));
        named.for_each(|word| self.name(word));
    }

    /// Records a script in an argument, and the files that it reads.
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

    /// Records a search, which without files reads its input or the working directory.
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
        // These options print only names.
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
pub(crate) fn verifies(format: &str) -> bool {
    let is_signature = |part: &str| {
        part.trim_start_matches(['+', '-', ' ']).starts_with('G') || part.starts_with("(signature")
    };
    format.split('%').skip(1).any(is_signature)
}
