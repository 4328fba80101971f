//! The settings of tools that name code, and the code that they name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::{path, real_path, regular_file};

use super::known_programs::{is_in, settings_of};
use super::node;
use super::reach::{FOLDERS, PACKAGES, Search, TEXT};
use super::scripts::found;
use crate::shell::Word;

/// Ends of the names of JavaScript.
const JAVASCRIPT: &str = "js cjs mjs ts cts mts jsx tsx";
/// Settings of any tool, and those that tools look for in every folder.
const ANY: &str = "any";
const ANY_BELOW: &str = "any below";
/// Files that say where tools look for their settings.
#[rustfmt::skip]
const META: [&str; 7] = [
    ".config/config.json", ".config/config.yaml", ".config/config.yml", ".config/config.js", ".config/config.ts", ".config/config.cjs",
    ".config/config.mjs",
];
/// The beginnings of the names of settings that no plugin loads.
#[rustfmt::skip]
const OTHERS: [&str; 7] = [".npmrc", ".yarnrc", ".envrc", ".nvmrc", ".prettierrc", ".eslintrc", "eslint.config"];
/// Folders whose names in settings are those of files that tools read.
const SOURCES: &str = ". .. src app test tests";
/// Settings that are lists of values, and words of them that name code.
#[rustfmt::skip]
const LISTS: [&str; 13] = [
    "hie", "luarc", "rust-analyzer", "mypy", "pylintrc", "pyproject", "setup", "flake8", "tox", "pep8", "markdownlint", "cargo", "sqlfluff",
];
#[rustfmt::skip]
const LOADS: [&str; 15] = [
    "bios", "plugin", "require", "command", "Command", "program", "inherit", "server", "init-hook", "customRules", "runner", "wrapper",
    "library", "executable", "\\u",
];
/// Parts of the names of options that name settings or code, and such options of one letter.
#[rustfmt::skip]
const LOADERS: [&str; 14] = [
    "plugin", "config", "rulesdir", "parser", "format", "resolve", "require", "processor", "custom", "rcfile", "library", "extends", "preset",
    "template",
];
const LETTERS: [&str; 6] = ["-c", "-p", "-r", "-f", "-g", "-x"];
/// The beginnings of options that name no settings.
#[rustfmt::skip]
const FLAGS: [&str; 30] = [
    "--no-", "--write", "--check", "--fix", "--list", "--log", "--quiet", "--silent", "--verbose", "--cache", "--stdin", "--ignore", "--out",
    "--diff", "--debug", "--strict", "--pretty", "--watch", "--max", "--ext", "--color", "--line", "--auto", "--only", "--dry", "--unsafe",
    "--show", "--stat", "--exit", "--fast",
];
/// Words of code in another language, which is named by settings, that loads more.
const MORE: [&str; 9] = [
    "require", "import", "include", "load", "eval", "autoload", "Custom", "gemspec", "<%",
];
/// The options of prettier that load no code.
#[rustfmt::skip]
const OPTIONS: [&str; 24] = [
    "$schema", "arrowParens", "bracketSameLine", "bracketSpacing", "checkIgnorePragma", "embeddedLanguageFormatting",
    "endOfLine", "experimentalOperatorPosition", "experimentalTernaries", "htmlWhitespaceSensitivity", "insertPragma",
    "jsxBracketSameLine", "jsxSingleQuote", "objectWrap", "printWidth", "proseWrap", "quoteProps", "requirePragma", "semi",
    "singleAttributePerLine", "singleQuote", "tabWidth", "trailingComma", "useTabs",
];

impl Search<'_> {
    /// Whether the program is a tool; then adds the code that it loads.
    pub(super) fn tool(
        &mut self,
        name: &str,
        arguments: &[Word],
        moves: bool,
    ) -> Result<bool, String> {
        let Some(settings) = settings_of(name) else {
            return Ok(false);
        };
        self.reach.all |= moves && !settings.is_empty();
        self.selectors();
        self.packages(&self.cwd.clone());
        self.tool_options(arguments)?;
        // The rest of its words is not known here.
        self.reach.all |= name == "dart" && !is_server_of_dart(arguments);
        // It runs the compilers that the settings name.
        let is_query = |word: &Word| word.text.starts_with("--query-driver");
        self.reach.all |= name == "clangd" && arguments.iter().any(is_query);
        for tool in settings {
            match (tool.get(..1), tool.get(1..).unwrap_or_default()) {
                (Some("-"), _) => {
                    for folder in self.above() {
                        self.environments(&folder);
                    }
                }
                (Some("*"), _) => self.all(),
                (Some("="), file) => {
                    let above = self.above().into_iter().map(|folder| folder.join(file));
                    self.reach.files.extend(above);
                    self.reach.names.insert(file.to_owned());
                }
                (Some("/"), folder) => self.folder_above(folder),
                _ => self.settings(tool, true)?,
            }
        }
        match name {
            "rust-analyzer" => self.macros()?,
            "zls" => self.zig_build(),
            _ => {}
        }
        Ok(true)
    }

    /// Adds the settings and plugins in the options of a tool. An option that is not known can name one, too.
    fn tool_options(&mut self, arguments: &[Word]) -> Result<(), String> {
        // A name that begins like an option is one, if a pattern or a list of files has it.
        for entry in self.cwd.read_dir().into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with('-') {
                self.reach.folders.insert(entry.path(), true);
            }
        }
        let mut before = "";
        for word in arguments {
            let text = word.text.as_str();
            let attached = text.split_at_checked(2);
            let attached =
                attached.filter(|(option, rest)| LETTERS.contains(option) && !rest.is_empty());
            let (option, value) = match text.split_once('=').or(attached) {
                Some((option, value)) if option.starts_with('-') => (option, Some(value)),
                _ => (text, None),
            };
            let is_loader = |option: &str| {
                let is_one = LOADERS.iter().any(|part| option.contains(part));
                option.starts_with("--") && is_one || LETTERS.contains(&option)
            };
            let is_other = |option: &str| {
                let is_letter = !option.starts_with("--");
                let is_flag = is_letter || FLAGS.iter().any(|part| option.starts_with(part));
                option.starts_with('-') && !is_flag
            };
            if is_loader(before) {
                self.setting_value(word, text)?;
            } else if let Some(value) = value
                && is_loader(option)
            {
                self.setting_value(word, value)?;
            } else {
                let (option, value) = value.map_or((before, text), |value| (option, value));
                let file = path::resolve(&self.cwd, value);
                if is_other(option) && word.is_fixed() && file.is_file() {
                    self.setting_value(word, value)?;
                }
            }
            before = if value.is_none() { option } else { "" };
        }
        Ok(())
    }

    /// Adds the folder of installed packages of this name.
    fn folder_above(&mut self, name: &str) {
        for folder in self.above() {
            let packages = folder.join(name);
            // Files of the project that the loader of PHP loads.
            let loaded = packages.join("composer/autoload_files.php");
            let loaded = regular_file::read_text(&loaded, TEXT).unwrap_or_default();
            self.reach.all |= loaded.contains("$baseDir .");
            self.reach.folders.entry(packages).or_default();
        }
    }

    /// The value of an option that names settings or a plugin.
    fn setting_value(&mut self, word: &Word, value: &str) -> Result<(), String> {
        if !word.is_fixed() {
            self.all();
            return Ok(());
        }
        let file = path::resolve(&self.cwd, value);
        if !file.starts_with(self.project) {
            return Ok(());
        }
        if file.is_dir() {
            self.reach.folders.insert(file, true);
            return Ok(());
        }
        self.setting_file(&file)
    }

    /// The settings of a tool, in the working directory and above it, and `below` it.
    pub(super) fn settings(&mut self, tool: &str, below: bool) -> Result<(), String> {
        if !self
            .tasks
            .insert((self.cwd.clone(), format!("settings of {tool} {below}")))
        {
            return Ok(());
        }
        let mut files: BTreeMap<PathBuf, bool> = BTreeMap::new();
        for folder in self.above() {
            settings_in(&folder, tool, 0, &mut files);
        }
        if below {
            settings_in(&self.cwd, tool, FOLDERS, &mut files);
        }
        let is_compiler = ["tsconfig", "jsconfig"].contains(&tool);
        let packages = files
            .keys()
            .filter(|path| path.ends_with(PACKAGES))
            .cloned();
        for folder in packages.collect::<Vec<_>>() {
            files.remove(&folder);
            self.reach.folders.entry(folder).or_default();
        }
        if !is_compiler && !LISTS.contains(&tool) {
            for file in self
                .above()
                .iter()
                .flat_map(|folder| META.map(|name| folder.join(name)))
            {
                if file.is_file() {
                    self.setting_file(&file)?;
                }
            }
        }
        let is_used = files.values().any(|is_plain| !is_plain);
        if is_used && !is_compiler && !LISTS.contains(&tool) {
            self.configurations(below)?;
        }
        for (file, _) in files.into_iter().filter(|(_, is_plain)| !is_plain) {
            let text = regular_file::read_text(&file, TEXT).unwrap_or_else(|_| "\\u".to_owned());
            if is_compiler {
                // The compiler loads nothing but installed packages; that of Vue loads what the settings name.
                self.reach.all |= text.contains("vueCompilerOptions") && text.contains("plugin");
                self.extended(&file, &text);
                self.reach.files.insert(file);
                self.packages(&self.cwd.clone());
                let folders = self.reach.folders.iter_mut();
                let packages = folders.filter(|(folder, _)| folder.ends_with(PACKAGES));
                packages.for_each(|(_, follow)| {
                    *follow |= text.contains("plugin") || text.contains('\\');
                });
            } else if LISTS.contains(&tool) {
                let is_shared = ["pyproject", "setup", "tox", "pep8"].contains(&tool);
                let text = if is_shared {
                    checker_sections(&text)
                } else {
                    text
                };
                let loads = LOADS.iter().any(|word| text.contains(word));
                if loads || !is_shared {
                    self.reach.files.insert(file.clone());
                }
                self.reach.all |= loads;
                let end = file.extension().and_then(|end| end.to_str());
                if is_in(JAVASCRIPT, end.unwrap_or_default()) {
                    self.setting_file(&file)?;
                }
            } else {
                self.setting_file(&file)?;
            }
        }
        Ok(())
    }

    /// Adds the files that a plugin can load by its own name, such as `tailwind.config.js` and `.babelrc`.
    fn configurations(&mut self, below: bool) -> Result<(), String> {
        if !self
            .tasks
            .insert((self.cwd.clone(), format!("settings {below}")))
        {
            return Ok(());
        }
        let mut files = BTreeMap::new();
        for folder in self.above() {
            settings_in(&folder, ANY, 0, &mut files);
        }
        if below {
            settings_in(&self.cwd, ANY_BELOW, FOLDERS, &mut files);
        }
        for file in files.keys().filter(|file| !file.ends_with(PACKAGES)) {
            let end = file.extension().and_then(|end| end.to_str());
            if is_in(JAVASCRIPT, end.unwrap_or_default()) {
                // Of another tool: its texts are names for that one.
                self.reach.files.insert(file.clone());
                let before = std::mem::replace(&mut self.in_settings, true);
                let read = self.script(file, "js");
                self.in_settings = before;
                read?;
            } else {
                self.setting_file(file)?;
            }
        }
        Ok(())
    }

    /// Adds the files that settings of a compiler extend.
    fn extended(&mut self, file: &Path, text: &str) {
        let folder = file.parent().unwrap_or(self.project);
        let names = text.split('"').filter(|name| name.starts_with('.'));
        for name in names {
            let path = path::resolve(folder, name);
            let paths = [
                path.clone(),
                PathBuf::from(format!("{}.json", path.display())),
            ];
            for path in paths
                .into_iter()
                .filter(|path| path.is_file() && path.extension().is_some_and(|end| end == "json"))
            {
                if self.reach.files.insert(path.clone()) {
                    let text = regular_file::read_text(&path, TEXT).unwrap_or_default();
                    self.extended(&path, &text);
                }
            }
        }
    }

    /// Settings, and the code that they name.
    pub(super) fn setting_file(&mut self, file: &Path) -> Result<(), String> {
        self.reach.files.insert(file.to_owned());
        let end = file
            .extension()
            .and_then(|end| end.to_str())
            .unwrap_or_default();
        if is_in(JAVASCRIPT, end) {
            let before = (self.in_settings, self.reads_texts);
            (self.in_settings, self.reads_texts) = (true, true);
            let read = self.script(file, "js");
            (self.in_settings, self.reads_texts) = before;
            return read;
        }
        if !self.scripts.insert((file.to_owned(), true, true)) {
            return Ok(());
        }
        let real = real_path::resolve(file).real;
        if real != file && real.starts_with(self.project) {
            // The names in it can be those next to its target.
            self.setting_file(&real)?;
        }
        let Ok(text) = regular_file::read_text(file, TEXT) else {
            self.reach.all |= file.exists();
            return Ok(());
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("tsconfig") || name.starts_with("jsconfig") {
            // Tools read it for its paths.
            self.extended(file, &text);
            return Ok(());
        }
        if is_in("py sh", end) {
            return self.script(file, end);
        }
        if is_in("rb php lua pl", end) {
            self.reach.all |= MORE.iter().any(|word| text.contains(word));
        }
        let folder = file.parent().unwrap_or(self.project).to_owned();
        let cwd = std::mem::replace(&mut self.cwd, folder);
        let text = if file.ends_with("package.json") {
            sections(&text)
        } else {
            text
        };
        let read = self.settings_text(&text);
        self.cwd = cwd;
        read
    }

    /// The code that the words of settings name.
    pub(super) fn settings_text(&mut self, text: &str) -> Result<(), String> {
        // A name that is written with escapes.
        if text.contains("\\u") || text.contains("\\x") {
            self.all();
        }
        let is_end = |char: char| char.is_whitespace() || "\"'`,[]{}()=:;".contains(char);
        for word in text.split(is_end).filter(|word| word.len() > 1) {
            if !is_source(word) {
                self.module_of_project(word)?;
            }
        }
        Ok(())
    }

    /// The code that the texts in quotes of settings in JavaScript name. All code, if such a text can be put together.
    pub(super) fn texts_of_settings(&mut self, text: &str, folder: &Path) -> Result<(), String> {
        let texts = node::texts(text);
        let is_first = folder.join("package.json").exists() || texts.has_keys;
        self.reach.all |= texts.computes && is_first;
        let cwd = std::mem::replace(&mut self.cwd, folder.to_owned());
        let mut bases = self.above();
        self.cwd.clone_from(&self.start);
        bases.extend(self.above());
        bases.sort();
        bases.dedup();
        for (name, _) in &texts.all {
            let is_name = |char: char| char.is_whitespace() || "*{}[]<>$^|?!,;".contains(char);
            if name.len() < 2 || name.len() > 200 || name.contains(is_name) || is_source(name) {
                continue;
            }
            for base in &bases {
                self.cwd.clone_from(base);
                let is_path = name.starts_with(['.', '/']) || name.contains(['/', '.']);
                if is_path && !name.starts_with('.') {
                    self.module_of_project(&format!("./{name}"))?;
                }
                self.module_of_project(name)?;
            }
        }
        self.cwd = cwd;
        Ok(())
    }

    /// The file or package of the project that a module can be, for its name. Whether there is one.
    pub(super) fn module_of_project(&mut self, name: &str) -> Result<bool, String> {
        if name.starts_with('#') {
            // An import map.
            self.all();
            return Ok(true);
        }
        let name = name.trim_start_matches("file://");
        let is_path = name.starts_with(['.', '/']);
        let mut is_there = false;
        let mut stem = path::resolve(&self.cwd, name);
        if is_path || name.contains('/') && (name.contains('.') || stem.is_file()) {
            if name.ends_with('.') {
                stem = real_path::resolve(&stem).real;
            }
            // Settings above the project name code there.
            let is_own = stem.starts_with(self.project) || stem.starts_with(&self.cwd);
            for file in found(&stem).into_iter().filter(|_| is_own) {
                let real = real_path::resolve(&file).real;
                self.reach.files.insert(file);
                self.setting_file(&real)?;
                is_there = true;
            }
        }
        if is_path {
            return Ok(is_there);
        }
        let parts = 1 + usize::from(name.starts_with('@'));
        let package: PathBuf = name.split('/').take(parts).collect();
        for folder in self.above() {
            let link = folder.join(PACKAGES).join(&package);
            let real = real_path::resolve(&link).real;
            is_there |= real.exists();
            let is_own = link.exists() && real.starts_with(self.project);
            if is_own && real.components().all(|part| part.as_os_str() != PACKAGES) {
                // A package of the project itself can load others.
                self.reach.folders.insert(real.clone(), true);
                self.follow_folder(&real, "js cjs mjs ts cts mts", "js")?;
            }
            // A package can load itself by its name.
            let manifest = regular_file::read(&folder.join("package.json"), TEXT).ok();
            let manifest = manifest.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            let is_self =
                |manifest: &Value| manifest["name"].as_str().map(Path::new) == Some(&package);
            if manifest.as_ref().is_some_and(is_self) {
                self.all();
                is_there = true;
            }
        }
        Ok(is_there)
    }
}

/// The parts of a manifest that are settings of tools, and its import map.
fn sections(text: &str) -> String {
    let keys = [
        "prettier",
        "eslintConfig",
        "stylelint",
        "commitlint",
        "lint-staged",
        "babel",
        "postcss",
        "graphql",
        "cosmiconfig",
    ];
    match serde_json::from_str::<Value>(text) {
        Ok(all) => keys.map(|key| all[key].to_string()).join(" "),
        Err(_) => text.to_owned(),
    }
}

/// Adds the settings of `tool` in a folder of one in which they are looked for.
fn settings_below(folder: &Path, tool: &str, depth: usize, found: &mut BTreeMap<PathBuf, bool>) {
    let is_cargo = tool == "cargo" && folder.ends_with(".cargo");
    let is_installed = folder.ends_with(".git") || folder.join("pyvenv.cfg").is_file();
    if depth > 0 && folder.ends_with(PACKAGES) {
        // Plugins of settings below.
        found.insert(folder.to_owned(), false);
    } else if is_cargo || depth > 0 && !is_installed {
        let tool = if is_cargo { "config" } else { tool };
        settings_in(folder, tool, depth.saturating_sub(1), found);
    }
}

/// Adds the settings of `tool` in the folder and below it, and whether they are plain values.
pub(super) fn settings_in(
    folder: &Path,
    tool: &str,
    depth: usize,
    found: &mut BTreeMap<PathBuf, bool>,
) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let (file, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            settings_below(&file, tool, depth, found);
            continue;
        }
        let plain = name.strip_prefix('.').unwrap_or(&name);
        let rest = plain.strip_prefix(tool);
        // The tool itself.
        if rest == Some("") && regular_file::head(&file, 2).is_ok_and(|(start, _)| start == b"#!") {
            continue;
        }
        let is_one = rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(['.', '-']) || rest.starts_with("rc")
        });
        let text = || regular_file::read(&file, TEXT).unwrap_or_else(|_| b"?".to_vec());
        match (tool, &*name) {
            (ANY | ANY_BELOW, _) => {
                let is_one = tool == ANY && name.contains(".config.")
                    || name.starts_with('.') && (name.ends_with("rc") || name.contains("rc."));
                if is_one && !OTHERS.iter().any(|other| name.starts_with(other)) {
                    found.insert(file, false);
                }
            }
            ("prettier", "package.json") => {
                let is_plain = |all: Value| match &all["prettier"] {
                    Value::Null => all.is_object(),
                    settings => is_plain(settings),
                };
                let is_plain = serde_json::from_slice::<Value>(&text()).is_ok_and(is_plain);
                found.insert(file, is_plain);
            }
            ("eslint" | "stylelint" | "commitlint" | "lint-staged", "package.json") => {
                let text = text();
                let text = String::from_utf8_lossy(&text);
                let key = if tool == "eslint" {
                    "eslintConfig"
                } else {
                    tool
                };
                found.insert(
                    file,
                    !["\\u", "\"cosmiconfig\"", &format!("\"{key}\"")]
                        .iter()
                        .any(|part| text.contains(part)),
                );
            }
            ("prettier" | "lint-staged", "package.yaml") => {
                found.insert(file, false);
            }
            ("cargo", _) => {}
            ("tsconfig" | "jsconfig", _) if is_one => {
                let text = String::from_utf8_lossy(&text()).into_owned();
                let parts = ["plugin", "extends", "\\"];
                found.insert(file, !parts.iter().any(|part| text.contains(part)));
            }
            ("prettier", _) if is_one => {
                let text = text();
                let plain = text.iter().all(u8::is_ascii_whitespace)
                    || serde_json::from_slice(&text).is_ok_and(|all| is_plain(&all))
                    || is_plain_list(&text);
                found.insert(file, plain && !name.contains(".config."));
            }
            _ if is_one => {
                found.insert(file, false);
            }
            _ => {}
        }
    }
}

/// The sections of the programs that check code, in a file of settings that many programs share.
fn checker_sections(text: &str) -> String {
    let names = ["mypy", "pylint", "flake8", "sqlfluff"];
    let mut is_one = false;
    let lines = text.lines().filter(|line| {
        if line.trim_start().starts_with('[') {
            let header = line.split(']').next().unwrap_or_default();
            is_one = names.iter().any(|name| header.contains(name));
        }
        is_one
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a name in settings is that of a folder with sources.
fn is_source(name: &str) -> bool {
    let name = name.strip_prefix("./").unwrap_or(name);
    is_in(SOURCES, name.trim_end_matches('/'))
}

/// Whether `dart` starts as a server or checks the code.
fn is_server_of_dart(arguments: &[Word]) -> bool {
    let command = arguments.first().map(|word| word.text.as_str());
    command.is_none_or(|command| ["language-server", "analyze"].contains(&command))
}

/// Whether the settings of prettier load no code: every name in them is known.
fn is_plain(settings: &Value) -> bool {
    let Some(settings) = settings.as_object() else {
        return false;
    };
    settings.iter().all(|(key, value)| match value.as_array() {
        Some(overrides) if key == "overrides" => overrides.iter().all(|entry| {
            let known = ["files", "excludeFiles", "options"];
            entry.as_object().is_some_and(|entry| {
                entry.keys().all(|key| known.contains(&key.as_str()))
                    && entry.get("options").is_none_or(is_plain)
            })
        }),
        _ => OPTIONS.contains(&key.as_str()),
    })
}

/// Whether each line of YAML or TOML is a known option with a word.
fn is_plain_list(text: &[u8]) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "\"'-_".contains(char);
    let is_value = |value: &str| !value.is_empty() && value.chars().all(is_part);
    let is_option = |line: &str| {
        line.split_once([':', '='])
            .is_some_and(|(key, value)| OPTIONS.contains(&key.trim()) && is_value(value.trim()))
    };
    std::str::from_utf8(text).is_ok_and(|text| {
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.all(is_option)
    })
}
