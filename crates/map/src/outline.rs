//! The outline: which files are shown, with which of their symbols, in a budget.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use osier_base::text::counted;
use osier_base::visible::{grouped, one_line};

use crate::definition::{Definition, stored};
use crate::focus::boosts;
use crate::index::{FileState, Index, NO_LANGUAGE};
use crate::kind::Kind;
use crate::language;
use crate::read;
use osier_base::file_stamp::FileStamp;

/// Maximum columns of a line of code, and of a path.
const COLUMNS: usize = 100;
const PATH_COLUMNS: usize = 200;
/// Maximum number of files that are tried for an outline.
const CANDIDATES: usize = 1000;
/// Maximum number of symbols of the first file; each further file has one less, down to the
/// minimum.
const MOST_SYMBOLS: usize = 16;
const LEAST_SYMBOLS: usize = 3;
/// Maximum number of files of the conversation whose related files get a boost.
const FOCUS: usize = 32;

/// A request for an outline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Maximum number of tokens.
    pub tokens: usize,
    /// A file or folder below the root; everything if it is empty.
    pub path: String,
    /// Parts of paths and names of symbols: only files with one of them are shown.
    pub words: Vec<String>,
    /// Files below the root that the conversation is about, the most recent first.
    pub focus: Vec<String>,
}

/// A symbol of an outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: Kind,
    /// The line, from 1.
    pub line: u32,
    /// The line of code, without control characters.
    pub code: String,
}

/// A file of an outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinedFile {
    /// The path below the root.
    pub path: String,
    pub symbols: Vec<Symbol>,
    /// Symbols that are not shown.
    pub more: usize,
}

/// The most important files of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    pub files: Vec<OutlinedFile>,
    /// Files that are not shown.
    pub more: usize,
    /// Source files that are not read yet.
    pub unread: usize,
    /// Whether nothing is known about the project yet, because its files are being listed.
    pub is_starting: bool,
    /// Whether files may have changed since they were read; osier is checking them.
    pub is_checking: bool,
    /// Whether the project has more files than a map.
    pub is_cut: bool,
}

/// The definitions of a file that the index did not have, parsed for an outline.
#[derive(Debug, Clone)]
pub(crate) struct Parsed {
    pub(crate) path: String,
    pub(crate) version: FileStamp,
    pub(crate) definitions: Vec<Definition>,
}

impl Outline {
    /// The outline as text, for models.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            file.write(&mut text);
        }
        for notice in self.notices() {
            let _ = writeln!(text, "[{notice}]");
        }
        text
    }

    /// Notices about files that the outline omits, each as a sentence.
    pub fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        if self.more > 0 {
            let files = counted(grouped(self.more), "more file", "more files");
            notices.push(format!("{files}; narrow path or query"));
        }
        if self.is_starting {
            notices.push("the files are still being read: call again".to_owned());
        } else if self.unread > 0 {
            let files = counted(grouped(self.unread), "source file is", "source files are");
            notices.push(format!(
                "{files} not read yet: call again for a complete map"
            ));
        } else if self.is_checking {
            notices.push("ranks are of the last map; changes are being read".to_owned());
        }
        if self.is_cut {
            let limit = grouped(crate::walk::FILE_LIMIT);
            notices.push(format!(
                "the project has more than {limit} files; the others are missing"
            ));
        }
        notices
    }
}

impl OutlinedFile {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "{}", one_line(&self.path, PATH_COLUMNS));
        for symbol in &self.symbols {
            let _ = writeln!(text, "  {} {}", symbol.line, symbol.code);
        }
        if self.more > 0 {
            let _ = writeln!(text, "  +{}", self.more);
        }
    }
}

/// An estimate of the tokens of a text, too high rather than too low.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

pub(crate) struct Outliner<'a> {
    pub(crate) root: &'a Path,
    pub(crate) index: &'a Index,
    pub(crate) request: &'a Request,
    pub(crate) may_show: &'a dyn Fn(&Path) -> bool,
    /// Symbols that were parsed since the index was made.
    pub(crate) parsed: &'a dyn Fn(&str, FileStamp) -> Option<Vec<Definition>>,
}

impl Outliner<'_> {
    /// The outline, and the files that were parsed for it.
    pub(crate) fn outline(&self) -> (Outline, Vec<Parsed>) {
        let order = self.order();
        let (mut outline, mut parsed) = (Outline::default(), Vec::new());
        let (mut budget, mut tried) = (self.request.tokens, 0);
        let mut buffer = Vec::new();
        for number in order.iter().take(CANDIDATES) {
            tried += 1;
            let row = &self.index.rows[*number];
            let path = self.index.path(row);
            if !(self.may_show)(&self.root.join(path)) {
                continue;
            }
            let Some((definitions, new)) = self.definitions(*number, &mut buffer) else {
                continue;
            };
            parsed.extend(new);
            let place = outline.files.len();
            let Some((file, cost)) = self.fitting(path, definitions, &buffer, place, budget) else {
                tried -= 1;
                break;
            };
            budget -= cost;
            outline.files.push(file);
        }
        outline.more = order.len() - tried;
        outline.unread = self.index.count(FileState::Unread);
        outline.is_cut = self.index.is_cut;
        (outline, parsed)
    }

    /// The files to show, the most important first.
    fn order(&self) -> Vec<usize> {
        let index = self.index;
        let range = match index.find(&self.request.path) {
            Some(file) => file..file + 1,
            None => index.below(&self.request.path),
        };
        let mut boosts = self.boosts();
        let words: Vec<String> = self
            .request
            .words
            .iter()
            .map(|word| word.to_lowercase())
            .collect();
        let mut scores: Vec<(f32, usize)> = Vec::with_capacity(range.len());
        for number in range {
            let row = &index.rows[number];
            let matching = self.matching(number, &words);
            let path = index.path(row);
            // A file that is no source file is shown when a word or the path names it.
            let is_source = row.language != NO_LANGUAGE || path == self.request.path;
            if matching == 0.0 && !(is_source && words.is_empty()) {
                continue;
            }
            let boost = boosts.remove(&(number as u32)).unwrap_or(0.0);
            scores.push(((row.rank + boost) * weight(path) + matching, number));
        }
        let mut order: Vec<(f32, usize)> = scores;
        order.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        order.into_iter().map(|(_, number)| number).collect()
    }

    /// The boosts from the files of the conversation.
    fn boosts(&self) -> HashMap<u32, f32> {
        let focus = self.request.focus.iter().take(FOCUS);
        let focus: Vec<usize> = focus.filter_map(|path| self.index.find(path)).collect();
        boosts(self.index, &focus)
    }

    /// How well the words match a file, 0 if they do not.
    fn matching(&self, number: usize, words: &[String]) -> f32 {
        if words.is_empty() {
            return 0.0;
        }
        let row = &self.index.rows[number];
        let path = self.index.path(row);
        let mut sum = 0.0;
        for word in words {
            if contains(path, word) {
                sum += 1000.0;
            }
            let names = stored(self.index.definitions(row)).map(|found| found.name);
            let best = names.map(|name| {
                if name.eq_ignore_ascii_case(word) {
                    4000.0
                } else if contains(name, word) {
                    500.0
                } else {
                    0.0
                }
            });
            sum += best.fold(0.0_f32, f32::max);
        }
        sum
    }

    /// The current definitions of a file, and its text in `buffer`; `None` if the file is gone.
    fn definitions(
        &self,
        number: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<(Vec<Definition>, Option<Parsed>)> {
        let row = &self.index.rows[number];
        let path = self.index.path(row);
        let Some(language) = language::numbered(row.language) else {
            buffer.clear();
            read::version(self.root, path)?;
            return Some((Vec::new(), None));
        };
        let (version, is_text) = read::text(self.root, path, buffer)?;
        if !is_text {
            return Some((Vec::new(), None));
        }
        let known = self.index.definitions(row);
        if row.state == FileState::Parsed && version == row.version {
            let known = stored(known).map(crate::definition::Stored::to_definition);
            return Some((known.collect(), None));
        }
        if let Some(found) = (self.parsed)(path, version) {
            return Some((read::with_uses(found, known), None));
        }
        let found = read::with_uses(read::definitions(language, buffer), known);
        let parsed = Parsed {
            path: path.to_owned(),
            version,
            definitions: found.clone(),
        };
        Some((found, Some(parsed)))
    }

    /// The file with its most used symbols, as many as the budget allows, and its number of tokens.
    fn fitting(
        &self,
        path: &str,
        definitions: Vec<Definition>,
        text: &[u8],
        place: usize,
        budget: usize,
    ) -> Option<(OutlinedFile, usize)> {
        let is_only = self.request.path == path;
        let limit = if is_only {
            usize::MAX
        } else {
            MOST_SYMBOLS.saturating_sub(place).max(LEAST_SYMBOLS)
        };
        let all = definitions.len();
        let mut chosen = definitions;
        let is_named = |found: &Definition| {
            let mut words = self.request.words.iter();
            words.any(|word| contains(&found.name, &word.to_lowercase()))
        };
        if !is_only {
            osier_base::sort::by_key(&mut chosen, |found| {
                let is_type = found.kind.contains() && found.kind != Kind::Module;
                std::cmp::Reverse((is_named(found), found.uses, is_type))
            });
        }
        let mut count = chosen.len().min(limit);
        loop {
            let mut shown = chosen[..count].to_vec();
            osier_base::sort::by_key(&mut shown, |found| found.line);
            shown.dedup_by_key(|found| found.line);
            let symbols = lines(shown, text);
            let file = OutlinedFile {
                path: path.to_owned(),
                more: all - symbols.len(),
                symbols,
            };
            let mut text = String::new();
            file.write(&mut text);
            let cost = tokens(&text);
            if cost <= budget {
                // A path without symbols is of little use if the file has some.
                let is_useful = count > 0 || all == 0 || place == 0;
                return is_useful.then_some((file, cost));
            }
            // Symbols cost at least five tokens.
            count = count.checked_sub(1)?.min(budget / 5);
        }
    }
}

/// The definitions, which are sorted by line, with their lines of code.
fn lines(definitions: Vec<Definition>, text: &[u8]) -> Vec<Symbol> {
    let mut lines = text.split(|byte| *byte == b'\n').zip(1_u32..);
    let symbol = |definition: Definition| {
        let (line, _) = lines.find(|(_, number)| *number == definition.line)?;
        let line = String::from_utf8_lossy(&line[..line.len().min(4 * COLUMNS)]);
        let line = line.trim().trim_end_matches('{').trim_end();
        Some(Symbol {
            name: definition.name,
            kind: definition.kind,
            line: definition.line,
            code: one_line(line, COLUMNS),
        })
    };
    definitions.into_iter().filter_map(symbol).collect()
}

/// Tests, examples and foreign code are less important than what they use.
fn weight(path: &str) -> f32 {
    const LESS: &[&str] = &[
        "test",
        "tests",
        "testing",
        "__tests__",
        "spec",
        "specs",
        "fixtures",
        "testdata",
        "examples",
        "example",
        "benches",
        "bench",
        "vendor",
        "third_party",
        "node_modules",
        "generated",
        "dist",
        "migrations",
        "docs",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_test = name.contains("_test.") || name.contains(".test.") || name.starts_with("test_");
    if is_test || path.split('/').any(|part| LESS.contains(&part)) {
        0.3
    } else {
        1.0
    }
}

/// Whether `text` contains `word`, which is lower case.
pub(crate) fn contains(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    if word.is_empty() {
        return true;
    }
    text.windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word))
}
