//! Reads the text of a settings file. What cannot be read of safety settings is a fault and gets the strictest value.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use osier_base::problem::Problem;
use osier_base::sort;
use osier_base::text::head_bytes;
use osier_permissions::Rule;

use super::misspelt::{Meant, meant, most_like};
use super::table::{Setting, Settings, setting};

/// Maximum length of a value in a message.
const SHOWN: usize = 60;
/// Maximum number of reported problems. A later one counts, too, but finding its line in a long file takes time.
const REPORTED: usize = 100;

/// A settings file that was read.
pub(super) struct Parsed {
    pub settings: Settings,
    /// Also the faults.
    pub problems: Vec<Problem>,
    /// The text has no syntax error, so that every setting in it is known.
    pub is_complete: bool,
    /// The strictest values for the safety settings that cannot be read.
    strictest: Vec<fn(&mut Settings)>,
}

impl Parsed {
    /// The settings, with the strictest value for each safety setting that cannot be read. While the file has faults,
    /// `last` applies too; if it is not known, all safety settings get the strictest value.
    pub(super) fn resolve(self, last: Option<&Settings>) -> (Settings, Vec<Problem>) {
        let mut settings = self.settings;
        if !settings.faults.is_empty() {
            match last {
                Some(last) => settings.hold(last, self.is_complete),
                None => settings.be_strict(),
            }
        }
        for strictest in self.strictest {
            strictest(&mut settings);
        }
        (settings, self.problems)
    }
}

/// A file that cannot be read: nothing of it is known.
pub(super) fn unreadable(start: Settings, problem: Problem) -> Parsed {
    let mut parsed = Parsed::new(start);
    parsed.is_complete = false;
    parsed.fault(problem);
    parsed
}

/// Reads `text`, the content of `path`, over the values of `start`.
pub(super) fn parse(start: Settings, path: &Path, text: &str) -> Parsed {
    let mut parsed = Parsed::new(start);
    parsed.settings.written.clear();
    let (table, errors) = DeTable::parse_recoverable(text);
    let is_garbage = errors.len() > REPORTED;
    let reported = errors.iter().take(REPORTED);
    let offsets = reported.map(|error| error.span().map_or(0, |span| span.start));
    let offsets: Vec<usize> = offsets.collect();
    // Byte offsets of the keys whose values are known, also despite a syntax error elsewhere.
    let mut read = BTreeMap::new();
    for (key, value) in table.into_inner() {
        let (name, at, span) = (&**key.get_ref(), key.span().start, value.span());
        let mut offsets = offsets.iter();
        let is_broken = is_garbage || offsets.any(|offset| (at..=span.end).contains(offset));
        let Some(setting) = setting(name) else {
            parsed.unknown(name, value.get_ref(), text, at, path);
            continue;
        };
        let source = text.get(span.clone()).unwrap_or_default();
        let is_valid = setting.read(&mut parsed.settings, value.get_ref()) && !is_broken;
        if is_valid {
            read.insert(at, setting.name);
            if let "ask" | "deny" = name {
                parsed.doubtful_rules(name, value.get_ref(), text, path);
            }
            if setting.is_safety() {
                let _ = writeln!(parsed.settings.written, "{name} = {source}");
            }
        } else if !is_broken {
            let (offset, shown) = invalid_part(setting, value.get_ref(), text, span.start, source);
            let message = format!("invalid value `{shown}` for `{name}`");
            let hint = format!("expected {}", setting.accepts());
            let problem = Problem::of_file(path, message, hint).at(text, offset);
            parsed.invalid(setting, problem);
        }
    }
    if let (Some(error), Some(offset)) = (errors.first(), offsets.first()) {
        parsed.is_complete = false;
        let line = text[..text.floor_char_boundary(*offset)]
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let name = key_of(&text[line..]);
        let hint = setting(name).map(|setting| format!("`{name}` accepts {}", setting.accepts()));
        let problem = Problem::of_file(path, error.message(), hint.unwrap_or_default());
        parsed.fault(problem.at(text, *offset));
        parsed.hidden(text, &read);
    }
    if let (Some(file), Some(folder)) = (&parsed.settings.ca_file, path.parent()) {
        parsed.settings.ca_file = Some(folder.join(file));
    }
    for problems in [&mut parsed.problems, &mut parsed.settings.faults] {
        sort::by_key(problems, |problem| (problem.line, problem.column));
    }
    parsed
}

impl Parsed {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            problems: Vec::new(),
            is_complete: true,
            strictest: Vec::new(),
        }
    }

    fn fault(&mut self, problem: Problem) {
        self.settings.faults.push(problem.clone());
        self.problems.push(problem);
    }

    /// Handles a setting with an invalid value.
    fn invalid(&mut self, setting: &Setting, problem: Problem) {
        match setting.strictest {
            None => self.problems.push(problem),
            Some(strictest) => {
                self.strictest.push(strictest);
                self.fault(problem);
            }
        }
    }

    /// Handles an unknown setting.
    fn unknown(&mut self, name: &str, value: &DeValue<'_>, text: &str, offset: usize, path: &Path) {
        let meant = meant(name, Some(value));
        let is_fault = match meant {
            Meant::Plain => false,
            Meant::Safety(setting) => {
                self.forget(setting);
                true
            }
        };
        let reported = if is_fault {
            &self.settings.faults
        } else {
            &self.problems
        };
        if reported.len() >= REPORTED {
            return;
        }
        let hint = match meant {
            Meant::Safety(Some(known)) => {
                format!("did you mean `{}` ({})?", known.name, known.accepts())
            }
            Meant::Plain if let Some(known) = most_like(name) => {
                format!("did you mean `{}`?", known.name)
            }
            _ => "list the settings with `osier config schema`".to_owned(),
        };
        let name = head_bytes(name, SHOWN);
        let problem = Problem::of_file(path, format!("unknown setting `{name}`"), hint);
        let problem = problem.at(text, offset);
        if is_fault {
            self.fault(problem);
        } else {
            self.problems.push(problem);
        }
    }

    /// Warns about rules that restrict a tool whose name is almost that of a built-in tool, although plugins can have
    /// such tools, and about patterns that are likely to match nothing.
    fn doubtful_rules(&mut self, name: &str, rules: &DeValue<'_>, text: &str, path: &Path) {
        for source in rules.as_array().into_iter().flat_map(|rules| rules.iter()) {
            let shown = source.get_ref().as_str().unwrap_or_default();
            let Some(rule) = Rule::parse(shown) else {
                continue;
            };
            let (message, hint) = if let Some(known) = rule.misspelt() {
                let message = format!("no built-in tool has the name in `{shown}`");
                (message, format!("did you mean `{known}`?"))
            } else if rule.is_foreign() {
                let message = format!("no built-in tool has the name in `{shown}`");
                let hint = "the rule applies only to a tool of a plugin with this name";
                (message, hint.to_owned())
            } else if rule.is_network() && name == "ask" {
                let message = format!("the rule `{shown}` asks about `web_fetch` only");
                let hint = "a rule about the connections of commands is one of `deny`";
                (message, hint.to_owned())
            } else if let Some(doubt) = rule.doubt() {
                let message = format!("the rule `{shown}` is likely to match nothing");
                (message, doubt.to_owned())
            } else {
                continue;
            };
            let problem = Problem::of_file(path, message, hint);
            self.problems.push(problem.at(text, source.span().start));
        }
    }

    /// Applies the strictest values, because nothing that the file restricts is known.
    pub(super) fn strict(mut self) -> Self {
        self.forget(None);
        self
    }

    /// Applies the strictest value of a safety setting whose value is not known; without a setting,
    /// that of each.
    fn forget(&mut self, setting: Option<&Setting>) {
        let strictest = setting.and_then(|setting| setting.strictest);
        self.strictest
            .push(strictest.unwrap_or(Settings::be_strict));
    }

    /// Safety settings that a line seems to set, but that were not `read` because of a syntax error.
    fn hidden(&mut self, text: &str, read: &BTreeMap<usize, &str>) {
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            let is_read = |name: &str| read.range(start..end).any(|(_, known)| *known == name);
            for name in names_in(line).filter(|name| !is_read(name)) {
                match setting(name) {
                    Some(setting) if setting.is_safety() => self.forget(Some(setting)),
                    Some(_) => {}
                    None => {
                        if let Meant::Safety(setting) = meant(name, None) {
                            self.forget(setting);
                        }
                    }
                }
            }
            start = end;
        }
    }
}

/// The invalid entry of a list, or the complete value: its offset and how it is shown.
fn invalid_part<'a>(
    setting: &Setting,
    value: &DeValue<'_>,
    text: &'a str,
    offset: usize,
    source: &'a str,
) -> (usize, &'a str) {
    let alone = |entry: &toml::Spanned<DeValue<'_>>| {
        let entry = format!("[{}]", text.get(entry.span()).unwrap_or_default());
        DeValue::parse(&entry)
            .is_ok_and(|list| setting.read(&mut Settings::default(), list.get_ref()))
    };
    let bad = value
        .as_array()
        .and_then(|list| list.iter().find(|entry| !alone(entry)));
    let (offset, source) = bad.map_or((offset, source), |entry| {
        let span = entry.span();
        (span.start, text.get(span).unwrap_or_default())
    });
    (offset, head_bytes(source, SHOWN))
}

/// The first word of a line, without quotes.
fn key_of(line: &str) -> &str {
    let line =
        line.trim_start_matches(|char: char| char.is_whitespace() || "\"'[\u{feff}".contains(char));
    &line[..line.find(is_outside).unwrap_or(line.len())]
}

/// The words that may name a setting in a line that is not TOML: the first word, each word before `=` or `:`, and, in a
/// line that begins with no setting, each name of a safety setting, as in `set permissions ask`.
fn names_in(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim_start_matches(|char: char| char.is_whitespace() || char == '\u{feff}');
    let line = if line.starts_with('#') { "" } else { line };
    let first = line.split(is_outside).find(|word| !word.is_empty());
    let is_setting = first.and_then(setting).is_some();
    line.split(is_outside).filter(move |word| {
        let end = word.as_ptr().addr() - line.as_ptr().addr() + word.len();
        let rest = line[end..].trim_start_matches([' ', '\t', '"', '\'']);
        let is_key = rest.starts_with(['=', ':']) || first == Some(word);
        let is_name = !is_setting && setting(word).is_some_and(Setting::is_safety);
        !word.is_empty() && (is_key || is_name)
    })
}

fn is_outside(char: char) -> bool {
    !char.is_alphanumeric() && !"_-".contains(char)
}
