//! Decisions on the files of file tools, beyond the rules: files that run code need an explicit
//! rule, and files with secrets need permission in the modes that ask.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::aspects::{Aspect, Aspects};
use super::policy::Permissions;
use super::rule::{PathGlob, Rule};
use super::sensitive::Sensitive;
use osier_agent::FileTarget;
use osier_base::path::canonical_key;
use osier_base::real_path;
use osier_protocol::{Effect, PermissionMode};
use osier_tools::{BASH, GREP, READ, ReadFilter};

/// Maximum bytes of a call that are searched for names of files.
const SEARCHED: usize = 64 * 1024;

/// The reason why a call needs permission whatever the general rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guarded {
    pub why: String,
    /// Only rules that name this file allow the call.
    pub explicit: Option<Sensitive>,
    /// Whether the call shows the file; otherwise it writes the file.
    pub is_read: bool,
}

/// All strings in a value.
fn strings(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(values) => Box::new(values.iter().flat_map(strings)),
        Value::Object(fields) => Box::new(fields.values().flat_map(strings)),
        _ => Box::new(std::iter::empty()),
    }
}

fn is_between_words(char: char) -> bool {
    char.is_whitespace() || "'\"`$(){};|&<>=,:@".contains(char)
}

/// The rule of `deny` that forbids showing the file `path` to the model, also when the user attaches it.
pub fn denies_reading(deny: &[String], cwd: &Path, path: &Path) -> Option<String> {
    let (cwd, found) = (canonical_key(cwd), real_path::resolve(&cwd.join(path)));
    let aspect = Aspect::shown_file(found);
    let mut rules = deny.iter().filter_map(|text| Rule::parse(text));
    rules
        .find(|rule| aspect.is_touched(rule, &cwd))
        .map(|rule| rule.text)
}

impl Permissions {
    /// Why a call needs permission despite these allow rules; `None` if the rules decide.
    pub(super) fn guarded(
        &self,
        aspects: &Aspects,
        mode: PermissionMode,
        allow: &[&Rule],
    ) -> Option<Guarded> {
        if aspects.is_allowed_exactly(allow) {
            return None;
        }
        // A rule for every command also covers the files that commands read and write.
        let allows_all = |rule: &&Rule| rule.names_tool(BASH) && rule.is_general();
        let by_command = !allow.iter().any(allows_all) && mode != PermissionMode::Yolo;
        let of_command = |list| by_command.then_some(list).into_iter().flatten();
        let writes = aspects.list.iter().filter(|aspect| aspect.writes());
        let writes = writes.chain(of_command(&aspects.written));
        let mut writes = writes.filter_map(|aspect| self.guarded_write(aspect, mode, allow));
        let reads = aspects.shown().chain(of_command(&aspects.operands));
        let mut reads = reads.filter_map(|aspect| self.guarded_read(aspect, mode, allow));
        writes.next().or_else(|| reads.next())
    }

    /// Whether each command of a line only reads, or an allow rule covers it. Searches of commands
    /// without a rule must find no file that a rule or its secrets protect.
    pub(super) fn is_known_or_allowed(&self, aspects: &Aspects, rules: &[(&Rule, Effect)]) -> bool {
        let allow = || rules.iter().filter(|(_, effect)| *effect == Effect::Allow);
        let is_covered =
            |aspect: &Aspect| allow().any(|(rule, _)| aspect.is_covered(rule, &self.cwd));
        let mut may_search = None;
        let mut reads = |aspect: &Aspect| {
            aspect.command().is_some_and(|command| {
                command.reads_only
                    && (!command.searches
                        || *may_search.get_or_insert_with(|| self.may_search(aspects, rules)))
            })
        };
        aspects.command.is_some()
            && !aspects.unclear
            && !aspects.runs_input
            && !aspects.reads_lost
            && !aspects.is_connected
            && !aspects.list.is_empty()
            && (aspects.list.iter()).all(|aspect| is_covered(aspect) || reads(aspect))
    }

    fn may_search(&self, aspects: &Aspects, rules: &[(&Rule, Effect)]) -> bool {
        let about = |rule: &Rule| rule.names_tool(READ) || rule.names_tool(GREP);
        let stopping = rules
            .iter()
            .filter(|(rule, effect)| *effect != Effect::Allow && about(rule));
        let stopping: Vec<PathGlob> = stopping
            .map(|(rule, _)| rule.path_glob(&self.cwd))
            .collect();
        let is_free = |path: &Path| {
            self.places.is_secret(&[path], &self.cwd).is_none()
                && self.places.is_credentials(path).is_none()
                && !stopping.iter().any(|glob| glob.fits(path))
        };
        let mut searches = aspects.searches.iter();
        searches.all(|search| search.finds_only(&is_free))
    }

    fn guarded_write(
        &self,
        aspect: &Aspect,
        mode: PermissionMode,
        allow: &[&Rule],
    ) -> Option<Guarded> {
        let paths = aspect.paths();
        let sensitive = self.places.runs_code(&paths, &self.cwd)?;
        if sensitive.is_of_tool && mode == PermissionMode::Yolo {
            return None;
        }
        let is_allowed = allow.iter().any(|rule| {
            sensitive.is_named_by(rule, &self.cwd) && aspect.is_covered(rule, &self.cwd)
        });
        (!is_allowed).then(|| Guarded {
            why: format!("`{}`: {}", self.shown(aspect), sensitive.reason),
            explicit: Some(sensitive),
            is_read: false,
        })
    }

    fn guarded_read(
        &self,
        aspect: &Aspect,
        mode: PermissionMode,
        allow: &[&Rule],
    ) -> Option<Guarded> {
        let paths = aspect.paths();
        let explicit = paths
            .iter()
            .find_map(|path| self.places.is_credentials(path));
        let reason = match &explicit {
            Some(sensitive) => sensitive.reason,
            None if mode == PermissionMode::Yolo => return None,
            None => self.places.is_secret(&paths, &self.cwd)?,
        };
        let is_allowed = allow.iter().any(|rule| {
            let is_named = explicit
                .as_ref()
                .is_none_or(|sensitive| sensitive.is_named_by(rule, &self.cwd));
            is_named && aspect.is_covered(rule, &self.cwd)
        });
        (!is_allowed).then(|| Guarded {
            why: format!("`{}`: {reason}", self.shown(aspect)),
            explicit,
            is_read: true,
        })
    }

    /// The question about a call that names a file that needs permission, in a word of a command or
    /// in an argument of an unknown tool. No model decides about such a call. Words that a shell
    /// would create by expansion are not found.
    pub(super) fn names_sensitive(&self, arguments: &Value) -> Option<String> {
        let texts: Vec<&str> = strings(arguments).collect();
        if texts.iter().map(|text| text.len()).sum::<usize>() > SEARCHED {
            return Some("it is too long for a review".to_owned());
        }
        let mut words = texts
            .into_iter()
            .flat_map(|text| text.split(is_between_words));
        words.find_map(|word| {
            let path = osier_base::path::resolve(&self.cwd, word);
            let real = real_path::resolve(&path).real;
            let paths = [path.as_path(), real.as_path()];
            let code = self.places.runs_code(&paths, &self.cwd);
            let reason = match code {
                Some(sensitive) => sensitive.reason,
                None => self.places.is_secret(&paths, &self.cwd)?,
            };
            Some(format!("it names `{word}`: {reason}"))
        })
    }

    /// The rules that would allow a guarded call, the narrowest first.
    pub(super) fn patterns_for(
        &self,
        guarded: &Guarded,
        aspects: &Aspects,
        tool: &str,
    ) -> Vec<String> {
        let tool = if guarded.is_read && tool != BASH {
            READ
        } else {
            tool
        };
        let mut patterns = aspects.patterns(tool, &self.cwd);
        patterns.retain(|pattern| match (&guarded.explicit, Rule::parse(pattern)) {
            (_, None) => false,
            (None, Some(rule)) => !rule.is_general(),
            (Some(_), Some(rule)) if tool == BASH => aspects.is_allowed_exactly(&[&rule]),
            (Some(sensitive), Some(rule)) => sensitive.is_named_by(&rule, &self.cwd),
        });
        patterns
    }

    /// `path` with the working directory `from` of an agent replaced by that of the rules: an agent
    /// can work in a copy of the project.
    fn moved(&self, path: &Path, from: &Path) -> PathBuf {
        match path.strip_prefix(from) {
            Ok(rest) if from != self.cwd => self.cwd.join(rest),
            _ => path.to_owned(),
        }
    }

    /// The files of a call, for the rules. `from` is the real working directory of the agent.
    pub(super) fn for_rules(&self, files: &[FileTarget], from: &Path) -> Vec<FileTarget> {
        let moved = |file: &FileTarget| FileTarget {
            real: self.moved(&file.real, from),
            names: file
                .names
                .iter()
                .map(|name| self.moved(name, from))
                .collect(),
            ..file.clone()
        };
        files.iter().map(moved).collect()
    }

    /// The path of a file aspect for messages.
    fn shown(&self, aspect: &Aspect) -> String {
        let real = aspect.paths().first().copied().unwrap_or(Path::new(""));
        osier_base::path::display(real, &self.cwd)
    }

    /// A filter that decides which files a search may show, by the real path of each file that the search has found.
    /// `from` is the real working directory of the agent.
    pub(super) fn read_filter(self: &Arc<Self>, from: &Path) -> ReadFilter {
        let (mode, rules) = self.snapshot(|rule| rule.names_tool(READ) || rule.names_tool(GREP));
        let (allow, stopping): (Vec<_>, Vec<_>) = rules
            .into_iter()
            .partition(|(_, effect)| *effect == Effect::Allow);
        let stopping: Vec<PathGlob> = stopping
            .iter()
            .map(|(rule, _)| rule.path_glob(&self.cwd))
            .collect();
        let (permissions, from) = (Arc::clone(self), from.to_owned());
        Box::new(move |path| {
            let path = permissions.moved(path, &from);
            let allow: Vec<&Rule> = allow.iter().map(|(rule, _)| rule).collect();
            let is_shown =
                |aspect: &Aspect| permissions.guarded_read(aspect, mode, &allow).is_none();
            !stopping.iter().any(|glob| glob.fits(&path))
                && Aspects::of_found(&path).iter().any(is_shown)
        })
    }
}
