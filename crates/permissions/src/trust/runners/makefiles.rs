//! The rules of `make` and `just`: what the recipes of goals run, and what runs when the file itself is read.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use osier_base::{path, real_path, regular_file};

use crate::programs::{is_shell, name_of};
use crate::shell::Word;
use crate::trust::facts::places::is_binary;
use crate::trust::facts::programs::is_in;
use crate::trust::reach::{Search, TEXT};
use crate::trust::texts::shell::{end_of, selects_code};

/// Stands for a value that is put together from names in the file.
const COMPUTED: &str = "$computed";
/// Functions of make whose values are names of files, or the output of a command.
const FUNCTIONS: &str = "shell wildcard info warning error";

/// Variables that make sets by itself, with the programs in them.
#[rustfmt::skip]
const BUILT_IN: [(&str, &str); 8] = [
    ("MAKE", "make"), ("CC", "cc"), ("CXX", "c++"), ("CPP", "cc -E"), ("LD", "ld"), ("AR", "ar"), ("AS", "as"), ("RM", "rm -f"),
];

impl Search<'_> {
    pub(in crate::trust) fn make(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        let is_just = name == "just";
        let cwd = self.cwd.clone();
        let names: &[&str] = if is_just {
            &["justfile", "Justfile", ".justfile"]
        } else {
            &["GNUmakefile", "makefile", "Makefile"]
        };
        // A recipe gets the value as text: `{{file}}`.
        self.spliced(is_just && !arguments.iter().all(Word::is_fixed));
        let (mut goals, mut file, mut folder) = (Vec::new(), None, cwd.clone());
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if !word.is_fixed() && !is_just || word.is_fixed() && text.contains('=') && !is_just {
                let value = text.split_once('=').map(|(_, value)| value);
                // The command line sets a variable, whose value recipes can run.
                self.reach.all |= !word.is_fixed()
                    || value.is_none_or(|value| value.contains(['/', ' ']))
                    || ["SHELL", "MAKE"].iter().any(|name| text.starts_with(name));
                continue;
            }
            let attached = text.len() > 2 && !text.starts_with("--");
            match text.get(..2) {
                Some("-C" | "-f") if attached || !text.starts_with("--") => {
                    let value = if attached {
                        text[2..].to_owned()
                    } else {
                        words
                            .next()
                            .map_or_else(String::new, |word| word.text.clone())
                    };
                    if text.starts_with("-C") {
                        folder = path::resolve(&cwd, &value);
                    } else {
                        file = Some(value);
                    }
                }
                Some("-j" | "-s" | "-k" | "-B" | "-i") => {}
                _ if [
                    "--silent",
                    "--quiet",
                    "--no-print-directory",
                    "--always-make",
                ]
                .contains(&text) => {}
                Some(start) if start.starts_with('-') => self.all(),
                _ => goals.push(text.to_owned()),
            }
        }
        let found = if let Some(file) = file {
            Some(path::resolve(&folder, &file))
        } else {
            {
                let folders: Vec<PathBuf> = if is_just {
                    self.above()
                } else {
                    vec![folder.clone()]
                };
                let mut files = folders
                    .iter()
                    .flat_map(|folder| names.iter().map(|name| folder.join(name)));
                files.find(|file| file.is_file())
            }
        };
        let Some(file) = found.filter(|file| file.starts_with(self.project)) else {
            self.all();
            return Ok(());
        };
        self.cwd = if is_just {
            file.parent().unwrap_or(self.project).to_owned()
        } else {
            real_path::resolve(&folder).real
        };
        let read = self.makefile(&file, &goals, is_just);
        self.cwd = cwd;
        read
    }

    /// A value that is not known becomes part of the text of a command.
    pub(in crate::trust) fn spliced(&mut self, is_value: bool) {
        self.reach.commands |= is_value;
        self.reach.options |= is_value;
    }

    /// Adds what the rules of these goals run.
    fn makefile(&mut self, file: &Path, goals: &[String], is_just: bool) -> Result<(), String> {
        let mut rules = Rules::default();
        self.rules(file, is_just, &mut rules)?;
        let mut waiting = match goals {
            [] => rules.first.clone().into_iter().collect(),
            goals => goals.to_vec(),
        };
        let patterns = rules
            .all
            .keys()
            .filter(|name| name.contains(['%', '$']) || name.starts_with('.'));
        waiting.extend(patterns.cloned());
        // Make also builds the files that it includes.
        waiting.append(&mut rules.included);
        // The goal is in another file, as in `just folder/recipe`, or it is unknown.
        let is_known = |goal: &String| rules.all.contains_key(goal) && !goal.contains([':', '/']);
        let is_first_known = goals.first().is_none_or(is_known);
        let is_elsewhere = !is_first_known || goals.iter().any(|goal| goal.contains("::"));
        self.reach.all |= is_just && is_elsewhere;
        self.reach.all |= rules.is_late();
        while let Some(goal) = waiting.pop() {
            if goal.contains(['$', '(', ')']) && !is_just {
                // A computed name can be that of any rule.
                let all = rules.all.keys();
                let others =
                    all.filter(|name| !self.tasks.contains(&(file.to_owned(), (*name).clone())));
                waiting.extend(
                    others
                        .filter(|name| **name != goal)
                        .cloned()
                        .collect::<Vec<_>>(),
                );
            }
            let Some((needs, commands)) = rules.all.get(&goal) else {
                // The goal is a file without a rule.
                continue;
            };
            if !self.tasks.insert((file.to_owned(), goal)) {
                continue;
            }
            self.reach.all |= is_just && !needs.iter().all(|need| rules.all.contains_key(need));
            waiting.extend(needs.iter().cloned());
            for command in commands {
                if self.is_compiled(command, &rules) {
                    continue;
                }
                self.reach.all |= command.contains(COMPUTED);
                self.line(command)?;
                self.named(command);
            }
        }
        Ok(())
    }

    /// Whether the command is a program that these rules compile: running it is the purpose of the build.
    fn is_compiled(&self, command: &str, rules: &Rules) -> bool {
        let name = command.split_whitespace().next().unwrap_or_default();
        let rule = rules.all.get(name.trim_start_matches("./"));
        let compilers = ["cc ", "c++ ", "gcc ", "g++ ", "clang ", "clang++ ", "ld "];
        let is_built = rule.is_some_and(|(_, commands)| {
            commands
                .iter()
                .any(|command| compilers.iter().any(|start| command.starts_with(start)))
        });
        let file = path::resolve(&self.cwd, name);
        let is_script = || file.exists() && !is_binary(&file);
        is_built
            && name.starts_with("./")
            && !command.contains([';', '&', '|', '$', '`'])
            && !is_script()
    }

    /// Reads the rules in the file and in the files that it includes.
    fn rules(&mut self, file: &Path, is_just: bool, rules: &mut Rules) -> Result<(), String> {
        self.reach.files.insert(file.to_owned());
        if !is_just {
            self.sources(file);
        }
        let text = regular_file::read_text(file, TEXT);
        let Some(text) = text.ok().filter(|_| rules.files < 32) else {
            self.all();
            return Ok(());
        };
        rules.files += 1;
        rules.exports_all |= if is_just {
            text.contains("set export")
        } else {
            text.contains(".EXPORT_ALL_VARIABLES")
                || text.lines().any(|line| line.trim() == "export")
        };
        self.computes(&text, is_just);
        self.functions(&text, rules)?;
        let mut current: Vec<String> = Vec::new();
        for line in text.replace("\\\n", " ").lines() {
            if line.starts_with('\t') || is_just && line.starts_with(' ') {
                let command = line.trim().trim_start_matches(['@', '-', '+']);
                let command = rules.expanded(command, is_just);
                for name in &current {
                    let rule = rules.all.entry(name.clone()).or_default();
                    rule.1.push(command.clone());
                }
                continue;
            }
            let line = line.split('#').next().unwrap_or_default().trim();
            if !is_just && chooses(line) {
                self.all();
                self.named(&text);
            }
            if is_just && line.starts_with('[') {
                // The line is an attribute of the next recipe.
                continue;
            }
            if let Some((name, target)) = alias(line).filter(|_| is_just) {
                let rule = rules.all.entry(name.to_owned()).or_default();
                rule.0.push(target.to_owned());
                continue;
            }
            self.assigned(line, is_just, rules)?;
            #[rustfmt::skip]
            let mut includes = ["include ", "-include ", "sinclude ", "import ", "import? ", "mod? "].iter();
            if let Some(names) = includes.find_map(|word| line.strip_prefix(word)) {
                self.included(&rules.expanded(names, is_just), is_just, rules)?;
            } else if let Some((name, value)) = variable(line, is_just) {
                let value = rules.expanded(&value, is_just);
                // Two values differ, and osier does not know which of them a recipe gets.
                let before = rules.variables.insert(name.to_owned(), value);
                if before.is_some_and(|before| before != rules.variables[name]) {
                    self.all();
                    self.named(&text);
                }
            } else if let Some((names, needs)) = line.split_once(':') {
                current = rules.add(names, needs, is_just);
            }
        }
        Ok(())
    }

    /// Adds the files from which make's own rules can build the makefile itself, such as `Makefile.sh`.
    fn sources(&mut self, file: &Path) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let folder = file.parent().unwrap_or(self.project);
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let other = entry.file_name();
            let other = other.to_string_lossy();
            let rest = other.strip_prefix(&*name).unwrap_or_default();
            if rest.starts_with(['.', ',']) || other.strip_prefix("s.") == Some(&*name) {
                self.reach.files.insert(entry.path());
            }
        }
    }

    /// All code counts, if the file computes rules or changes the syntax of recipes.
    fn computes(&mut self, text: &str, is_just: bool) {
        let words: &[&str] = if is_just {
            &[
                "#!",
                "set shell",
                "\nmod ",
                "[script",
                "working-directory",
                "dotenv-filename",
                "dotenv-path",
            ]
        } else {
            #[rustfmt::skip]
            let words = &[
                "$(eval", "${eval", "$(call", "${call", "$(guile", "$(file", "\ndefine ", ".ONESHELL", ".RECIPEPREFIX", ".SHELLFLAGS",
                "MAKEFILES", "\nload ", "\n-load ",
            ];
            words
        };
        if words.iter().any(|word| text.contains(word)) || text.starts_with("define ") {
            self.all();
            self.named(text);
        }
        if is_just && text.contains("set dotenv") {
            let files = self.above().into_iter().map(|folder| folder.join(".env"));
            self.reach.files.extend(files.collect::<Vec<_>>());
        }
    }

    /// Adds the commands in `$(shell …)` and `${shell …}`.
    fn functions(&mut self, text: &str, rules: &Rules) -> Result<(), String> {
        for (start, open, close) in [("$(shell ", '(', ')'), ("${shell ", '{', '}')] {
            for (at, word) in text.match_indices(start) {
                let (mut depth, command) = (1, &text[at + word.len()..]);
                let end = command.find(|char| {
                    if char == open {
                        depth += 1;
                    } else if char == close {
                        depth -= 1;
                    }
                    depth == 0
                });
                self.line(&rules.expanded(&command[..end.unwrap_or(command.len())], false))?;
            }
        }
        Ok(())
    }

    /// Reads a line outside of recipes, which can set a variable.
    fn assigned(&mut self, line: &str, is_just: bool, rules: &Rules) -> Result<(), String> {
        let Some((before, value)) = line.split_once('=') else {
            if let Some(names) = line.strip_prefix("export") {
                self.reach.all |= names.split_whitespace().any(selects_code);
            }
            return Ok(());
        };
        let value = value.trim().trim_matches(['"', '\'']);
        if before.ends_with('!') {
            self.line(&rules.expanded(value, false))?;
        }
        if is_just {
            for command in value.split('`').skip(1).step_by(2) {
                self.line(command)?;
            }
        }
        let name = before.trim_end_matches([':', '?', '+', '!', ' ', '\t']);
        let name = name.rsplit([' ', ':', '\t']).next().unwrap_or_default();
        let value = rules.expanded(value, is_just);
        if name == "SHELL" {
            let shell = path::resolve(Path::new("/"), &value);
            let is_own =
                value.contains('/') && !value.starts_with('/') || shell.starts_with(self.project);
            self.reach.all |= is_own || !is_shell(name_of(&value));
        } else if selects_code(name)
            && (is_inherited(name) || rules.exports_all || before.contains("export"))
        {
            // The programs in recipes inherit the variable.
            let is_outside = |folder: &str| {
                folder == "$unknown"
                    || folder.starts_with('/') && !Path::new(folder).starts_with(self.project)
            };
            self.reach.all |= name != "PATH" || !value.split(':').all(is_outside);
        }
        Ok(())
    }

    fn included(&mut self, names: &str, is_just: bool, rules: &mut Rules) -> Result<(), String> {
        for name in names.split_whitespace() {
            let name = name.trim_matches(['\'', '"']);
            let other = path::resolve(&self.cwd, name);
            rules.included.push(name.to_owned());
            if name.contains(['*', '$']) {
                self.all();
            } else if other.is_file() {
                self.rules(&other, is_just, rules)?;
            } else {
                self.reach.files.insert(other);
            }
        }
        Ok(())
    }
}

/// Whether the environment usually has the variable already, so that a makefile changes it for the programs that it runs.
fn is_inherited(name: &str) -> bool {
    ["PATH", "HOME", "EDITOR", "PAGER", "LD_LIBRARY_PATH"].contains(&name)
}

/// Whether the line is a condition, or sets a variable for one rule only.
fn chooses(line: &str) -> bool {
    let first = line.split([' ', '(', '\t']).next().unwrap_or_default();
    let is_condition = ["ifdef", "ifndef", "ifeq", "ifneq", "else", "endif"].contains(&first);
    let rest = line.split_once(':').filter(|(names, rest)| {
        !names.contains('=') && !rest.trim_start_matches(':').starts_with('=')
    });
    let sets = |rest: &str| {
        rest.split(';')
            .next()
            .is_some_and(|rest| rest.contains('='))
    };
    is_condition || rest.is_some_and(|(_, rest)| sets(rest))
}

/// The name and the recipe of `alias name := recipe` in a justfile.
fn alias(line: &str) -> Option<(&str, &str)> {
    let (name, target) = line.strip_prefix("alias ")?.split_once(":=")?;
    Some((name.trim(), target.trim()))
}

/// The variable that the line sets, and its value.
fn variable(line: &str, is_just: bool) -> Option<(&str, String)> {
    let at = line.find('=')?;
    let is_value = |colon: usize| colon + 2 < at || is_just && colon + 1 != at;
    if line.find(':').is_some_and(is_value) {
        return None;
    }
    let name = line[..at].trim_end_matches([':', '?', '+', '!', ' ', '\t']);
    let name = name.split_whitespace().last().unwrap_or_default();
    let value = line[at + 1..].trim();
    if is_just {
        let quoted = ['"', '\''].iter().find_map(|quote| {
            let inner = value.strip_prefix(*quote)?.strip_suffix(*quote)?;
            (!inner.contains(*quote)).then_some(inner)
        });
        let is_computed = value.contains(['+', '/']) || value.starts_with("if ");
        let other = if is_computed { COMPUTED } else { "$unknown" };
        return Some((name, quoted.unwrap_or(other).to_owned()));
    }
    Some((name, value.trim_matches(['"', '\'']).to_owned()))
}

/// The rules of a makefile, and the values of its variables.
#[derive(Debug, Default)]
struct Rules {
    first: Option<String>,
    all: BTreeMap<String, (Vec<String>, Vec<String>)>,
    variables: BTreeMap<String, String>,
    included: Vec<String>,
    files: usize,
    /// The makefile exports all variables to the programs in its recipes.
    exports_all: bool,
    /// Variables that the text used before it set them.
    missing: RefCell<BTreeSet<String>>,
}

impl Rules {
    /// Adds the line that starts a rule. Returns the names of its targets.
    fn add(&mut self, names: &str, needs: &str, is_just: bool) -> Vec<String> {
        let (needs, command) = needs.split_once(';').unwrap_or((needs, ""));
        let (names, needs) = (self.expanded(names, is_just), self.expanded(needs, is_just));
        let names = names.split_whitespace();
        // In a justfile only the first word is the name; parameters of the recipe follow.
        let names = names.take(if is_just { 1 } else { usize::MAX });
        let names: Vec<String> = names
            .map(|name| name.trim_start_matches('@').to_owned())
            .collect();
        let needs = if is_just {
            recipes(&needs)
        } else {
            needs.split_whitespace().map(str::to_owned).collect()
        };
        for name in &names {
            if !name.starts_with('.') {
                self.first.get_or_insert_with(|| name.clone());
            }
            let rule = self.all.entry(name.clone()).or_default();
            rule.0.extend(needs.iter().cloned());
            rule.1
                .extend(Some(command.trim().to_owned()).filter(|command| !command.is_empty()));
        }
        names
    }

    /// Whether the text used a variable before it set it.
    fn is_late(&self) -> bool {
        let missing = self.missing.borrow();
        missing.iter().any(|name| self.variables.contains_key(name))
    }

    /// The text with the values of known variables. An unknown one becomes a variable of the shell, which the shell's reader does not know
    /// either.
    fn expanded(&self, text: &str, is_just: bool) -> String {
        let (mut found, mut rest) = (String::new(), text);
        let marks: &[(&str, &str)] = if is_just {
            &[("{{", "}}")]
        } else {
            &[("$(", ")"), ("${", "}")]
        };
        loop {
            let next = marks.iter().filter_map(|(start, end)| {
                let at = rest.find(start)?;
                let inner = &rest[at + start.len()..];
                let length = match (start.chars().last(), end.chars().next()) {
                    (Some(open), Some(close)) if !is_just => end_of(inner, open, close)?,
                    _ => inner.find(end)?,
                };
                Some((at, start.len(), start.len() + length, end.len()))
            });
            let Some((at, start, length, end)) = next.min() else {
                break;
            };
            found.push_str(&rest[..at]);
            let name = rest[at + start..at + length].trim();
            match self.variables.get(name) {
                Some(value) => found.push_str(value),
                None if !is_just && BUILT_IN.iter().any(|(known, _)| *known == name) => {
                    let value = BUILT_IN.iter().find(|(known, _)| *known == name);
                    found.push_str(value.map_or("", |(_, value)| value));
                    self.missing.borrow_mut().insert(name.to_owned());
                }
                None => {
                    let first = name.split(char::is_whitespace).next().unwrap_or_default();
                    let is_function = first != name || name.contains(':');
                    let is_data = is_just || !is_function || is_in(FUNCTIONS, first);
                    found.push_str(if is_data { "$unknown" } else { COMPUTED });
                    self.missing.borrow_mut().insert(name.to_owned());
                }
            }
            rest = &rest[at + length + end..];
        }
        found.push_str(rest);
        if is_just {
            return found;
        }
        let automatic = ["$@", "$<", "$^", "$*", "$?", "$+"];
        let found = automatic
            .iter()
            .fold(found, |text, name| text.replace(name, "file"));
        found.replace("$$", "$")
    }
}

/// The names of the recipes that a recipe of `just` depends on. A dependency with arguments is in parentheses: `(name "argument")`.
fn recipes(needs: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_argument = false;
    for word in needs.split_whitespace().filter(|word| *word != "&&") {
        let name = word.trim_start_matches('(').trim_end_matches(')');
        if !is_argument && !name.is_empty() {
            found.push(name.to_owned());
        }
        is_argument = (is_argument || word.starts_with('(')) && !word.ends_with(')');
    }
    found
}
