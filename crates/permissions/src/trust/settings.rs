//! The settings of tools that name code, and the code that they name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::{path, real_path, regular_file};

use super::known_programs::{is_in, settings_of};
use super::reach::{PACKAGES, Search, TEXT};
use super::scripts::found;
use crate::shell::Word;

/// Depth of folders in which settings are looked for.
const DEPTH: usize = 12;
/// Settings that are lists of values, and words of them that name code.
#[rustfmt::skip]
const LISTS: [&str; 12] = [
    "hie", "luarc", "rubocop", "rust-analyzer", "mypy", "pylintrc", "pyproject", "setup", "flake8", "tox", "markdownlint", "cargo",
];
#[rustfmt::skip]
const LOADS: [&str; 12] = [
    "bios", "plugin", "require", "command", "Command", "program", "inherit", "server", "init-hook", "customRules", "runner", "\\u",
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
        let mut is_value = false;
        for word in arguments {
            let (option, value) = match word.text.split_once('=') {
                Some((option, value)) if option.starts_with('-') => (option, Some(value)),
                _ => (word.text.as_str(), None),
            };
            let loads = [
                "plugin",
                "config",
                "rulesdir",
                "parser",
                "formatter",
                "resolve",
                "require",
                "processor",
                "custom",
            ]
            .iter()
            .any(|part| option.contains(part));
            let is_loader =
                option.starts_with("--") && loads || ["-c", "-p", "-r", "-f"].contains(&option);
            if is_value || is_loader && value.is_some() {
                self.setting_value(word, value.unwrap_or(&word.text))?;
            }
            is_value = is_loader && value.is_none();
        }
        for tool in settings {
            if *tool == "-" {
                for folder in self.above() {
                    self.environments(&folder);
                }
            } else {
                self.settings(tool, true)?;
            }
        }
        if name == "rust-analyzer" {
            self.reach.names.insert("build.rs".to_owned());
        }
        Ok(true)
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
        let mut files: BTreeMap<PathBuf, bool> = BTreeMap::new();
        for folder in self.above() {
            settings_in(&folder, tool, 0, &mut files);
        }
        if below {
            settings_in(&self.cwd, tool, DEPTH, &mut files);
        }
        let is_compiler = ["tsconfig", "jsconfig"].contains(&tool);
        for (file, _) in files.into_iter().filter(|(_, is_plain)| !is_plain) {
            let text = regular_file::read_text(&file, TEXT).unwrap_or_else(|_| "\\u".to_owned());
            if is_compiler {
                // The compiler loads nothing but installed packages.
                self.reach.files.insert(file);
                self.packages(&self.cwd.clone());
                let folders = self.reach.folders.iter_mut();
                let packages = folders.filter(|(folder, _)| folder.ends_with(PACKAGES));
                packages.for_each(|(_, follow)| {
                    *follow |= text.contains("plugin") || text.contains('\\');
                });
            } else if LISTS.contains(&tool) {
                let loads = LOADS.iter().any(|word| text.contains(word));
                if loads || !["pyproject", "setup", "tox"].contains(&tool) {
                    self.reach.files.insert(file);
                }
                self.reach.all |= loads;
            } else {
                self.setting_file(&file)?;
                self.configurations()?;
            }
        }
        Ok(())
    }

    /// Adds the files that a plugin can load by its own name, such as `tailwind.config.js`.
    fn configurations(&mut self) -> Result<(), String> {
        for folder in self.above() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().contains(".config.")
                    && entry.path().is_file()
                {
                    self.setting_file(&entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// Settings, and the code that they name.
    pub(super) fn setting_file(&mut self, file: &Path) -> Result<(), String> {
        self.reach.files.insert(file.to_owned());
        let end = file
            .extension()
            .and_then(|end| end.to_str())
            .unwrap_or_default();
        if is_in("js cjs mjs ts cts mts jsx tsx", end) {
            return self.script(file, "js");
        }
        if !self.scripts.insert(file.to_owned()) {
            return Ok(());
        }
        let Ok(text) = regular_file::read_text(file, TEXT) else {
            self.reach.all |= file.exists();
            return Ok(());
        };
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
            self.module_of_project(word)?;
        }
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
        if is_path || name.contains('.') && name.contains('/') {
            let mut stem = path::resolve(&self.cwd, name);
            if name.ends_with('.') {
                stem = real_path::resolve(&stem).real;
            }
            let is_own = stem.starts_with(self.project);
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
                self.follow_package(&real)?;
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

    /// Adds what the modules of a package of the project load.
    fn follow_package(&mut self, package: &Path) -> Result<(), String> {
        let mut waiting = vec![package.to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let path = entry.path();
                let end = path
                    .extension()
                    .and_then(|end| end.to_str())
                    .unwrap_or_default();
                if path.is_dir() && !path.is_symlink() && !path.ends_with(PACKAGES) {
                    waiting.push(path);
                } else if is_in("js cjs mjs ts cts mts", end) && path.is_file() {
                    self.script(&path, "js")?;
                }
            }
        }
        Ok(())
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
    ];
    match serde_json::from_str::<Value>(text) {
        Ok(all) => keys.map(|key| all[key].to_string()).join(" "),
        Err(_) => text.to_owned(),
    }
}

/// Adds the settings of `tool` in the folder and below it, and whether they are plain values.
fn settings_in(folder: &Path, tool: &str, depth: usize, found: &mut BTreeMap<PathBuf, bool>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let (file, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let is_cargo = tool == "cargo" && name == ".cargo";
            if is_cargo
                || depth > 0 && ![PACKAGES, ".git", ".venv", "venv", "target"].contains(&&*name)
            {
                settings_in(
                    &file,
                    if is_cargo { "config" } else { tool },
                    depth.saturating_sub(1),
                    found,
                );
            }
            continue;
        }
        let plain = name.strip_prefix('.').unwrap_or(&name);
        let rest = plain.strip_prefix(tool);
        let is_one = rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(['.', '-']) || rest.starts_with("rc")
        });
        let text = || regular_file::read(&file, TEXT).unwrap_or_else(|_| b"?".to_vec());
        match (tool, &*name) {
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
                    !text.contains(&format!("\"{key}\"")) && !text.contains("\\u"),
                );
            }
            ("prettier", "package.yaml") => {
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
