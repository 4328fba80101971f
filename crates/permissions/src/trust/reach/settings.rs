//! The settings of tools that can name code, and the code that they name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::{path, real_path, regular_file};

use crate::shell::Word;
use crate::trust::facts::places::{above_path, environment, is_program};
use crate::trust::facts::programs::{
    BOOTING, booted_by, is_in, loaded_settings, settings_of, settings_of_command,
};
use crate::trust::facts::settings::{
    has_settings, is_of_tool, is_outer_setting, is_setting, names, without_package,
};
use crate::trust::reach::scripts::found;
use crate::trust::reach::{FOLDERS, PACKAGES, Search, TEXT};
use crate::trust::snapshot::is_named_like_data;
use crate::trust::texts::node;

/// Ends of the names of files with JavaScript and TypeScript.
const JAVASCRIPT: &str = "js cjs mjs ts cts mts jsx tsx";
/// Files in folders above a project in which tools look for their settings.
#[rustfmt::skip]
const OUTER: [&str; 10] = [
    ".config/config.json", ".config/config.yaml", ".config/config.yml", ".config/config.js", ".config/config.ts", ".config/config.cjs",
    ".config/config.mjs", ".config/rubocop/config.yml", ".cargo/config.toml", ".cargo/config",
];
/// Names of folders that settings list as input of the tool, and not as code.
const SOURCES: &str = ". .. src app test tests lib docs spec packages";
/// Ends of the names of files whose values are read for names of code.
const VALUES: &str =
    "json jsonc json5 yaml yml toml ini cfg cnf conf neon xml properties props targets csproj";
/// Parts of the names of options that name settings or code, and such options with one letter.
#[rustfmt::skip]
const LOADERS: [&str; 14] = [
    "plugin", "config", "rulesdir", "parser", "format", "resolve", "require", "processor", "custom", "rcfile", "library", "extends", "preset",
    "template",
];
const LETTERS: [&str; 6] = ["-c", "-p", "-r", "-f", "-g", "-x"];
/// The beginnings of options that name no settings and no code.
#[rustfmt::skip]
const FLAGS: [&str; 30] = [
    "--no-", "--write", "--check", "--fix", "--list", "--log", "--quiet", "--silent", "--verbose", "--cache", "--stdin", "--ignore", "--out",
    "--diff", "--debug", "--strict", "--pretty", "--watch", "--max", "--ext", "--color", "--line", "--auto", "--only", "--dry", "--unsafe",
    "--show", "--stat", "--exit", "--fast",
];
/// Words with which code in another language, if it is a setting, loads more code.
const MORE: [&str; 11] = [
    "require", "import", "include", "load", "eval", "autoload", "Custom", "gemspec", "<%",
    "plugins:", "class:",
];

/// The key for installed packages in settings of the formatter of Elixir, and plugins in such packages.
const OF_DEPS: [&str; 5] = [
    "import_deps:",
    "Phoenix.LiveView.HTMLFormatter",
    "TailwindFormatter",
    "Styler",
    "Quokka",
];
/// Parts of the names of packages that tools find by a shorter name.
const PLUGINS: [&str; 8] = [
    "plugin",
    "config",
    "preset",
    "transform",
    "formatter",
    "processor",
    "rule",
    "parser",
];

impl Search<'_> {
    /// Adds the code that a tool loads. Returns whether the program is a tool.
    pub(in crate::trust) fn tool(
        &mut self,
        name: &str,
        arguments: &[Word],
        moves: bool,
    ) -> Result<bool, String> {
        let Some(settings) = settings_of_command(name, arguments) else {
            return Ok(false);
        };
        self.reach.all |= moves;
        self.selectors();
        self.packages(&self.cwd.clone());
        self.tool_options(arguments)?;
        // Other commands of dart run code.
        self.reach.all |= name == "dart" && !is_server_of_dart(arguments);
        // clangd then runs the compilers that the settings name.
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
                _ => {}
            }
        }
        let boots = |word: &Word| booted_by(name).any(|plugin| word.text.contains(plugin));
        self.reach.all |= arguments.iter().any(boots);
        self.settings(name)?;
        for (_, package) in BOOTING.iter().filter(|(tool, _)| *tool == name) {
            let mut above = self.above().into_iter();
            self.reach.all |= above.any(|folder| folder.join(package).exists());
        }
        if settings.contains(&"=*.gradle") {
            self.included_builds();
        }
        match name {
            "rust-analyzer" => self.macros()?,
            "zls" => self.zig_build(),
            "solargraph" => self.gem_files(),
            // The server starts the application.
            "ruby-lsp" => {
                self.gem_files();
                let gems = self
                    .above()
                    .into_iter()
                    .map(|folder| folder.join("Gemfile"));
                let mut texts = gems.filter_map(|file| regular_file::read_text(&file, TEXT).ok());
                self.reach.all |= texts.any(|text| text.contains("rails"));
            }
            _ => {}
        }
        Ok(true)
    }

    /// Adds the settings and plugins in the options of a tool. An unknown option can name one, too.
    fn tool_options(&mut self, arguments: &[Word]) -> Result<(), String> {
        // A pattern or a list of files can contain a file whose name looks like an option.
        for entry in self.cwd.read_dir().into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with('-') {
                self.reach.files.insert(entry.path());
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

    /// Adds the folders with this name that contain installed packages.
    fn folder_above(&mut self, name: &str) {
        for folder in self.above() {
            let packages = folder.join(name);
            // The loader of PHP loads files of the project.
            let loaded = packages.join("composer/autoload_files.php");
            let loaded = regular_file::read_text(&loaded, TEXT).unwrap_or_default();
            self.reach.all |= loaded.contains("$baseDir .");
            self.reach.folders.entry(packages).or_default();
        }
    }

    /// Adds the settings or the plugin that the value of an option names.
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
            self.reach.folders.insert(file.clone(), true);
            // A folder of rules; the value of `-p` and the like is one with sources.
            let is_rules = word.text.len() > 2 && !self.cwd.starts_with(&file);
            return if is_rules {
                self.rules_in(&file)
            } else {
                Ok(())
            };
        }
        self.setting_file(&file)
    }

    /// Adds the code in a folder of rules or plugins, with what it imports.
    fn rules_in(&mut self, folder: &Path) -> Result<(), String> {
        let before = std::mem::replace(&mut self.in_settings, true);
        let read = self.follow_folder(folder, JAVASCRIPT, "js");
        self.in_settings = before;
        read
    }

    /// Adds all settings of the project, the tool's settings above it, and the code that they name.
    pub(in crate::trust) fn settings(&mut self, tool: &str) -> Result<(), String> {
        self.settings_that(tool, |_| true)
    }

    /// Adds only the settings whose names fit that of the program.
    pub(in crate::trust) fn own_settings(&mut self, program: &str) -> Result<(), String> {
        self.settings_that(program, |name| is_of_tool(name, program))
    }

    fn settings_that(&mut self, tool: &str, counts: impl Fn(&str) -> bool) -> Result<(), String> {
        if !self
            .tasks
            .insert((self.cwd.clone(), format!("settings of {tool}")))
        {
            return Ok(());
        }
        let mut found = BTreeSet::new();
        for folder in self.above() {
            if !folder.starts_with(self.project) {
                let outer = OUTER.map(|name| folder.join(name));
                found.extend(outer.into_iter().filter(|file| file.is_file()));
                let names = names_in(&folder).filter(|(name, _, _)| is_outer_setting(name, tool));
                found.extend(names.filter(|row| !row.2).map(|(_, file, _)| file));
            }
        }
        if self.cwd.starts_with(self.project) {
            settings_below(self.project, tool, false, FOLDERS, &mut found);
        }
        let before = std::mem::replace(&mut self.tool_name, tool.to_owned());
        let booted: Vec<&str> = booted_by(tool).collect();
        for file in found {
            if !booted.is_empty() && file.is_file() {
                let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                self.reach.all |= booted.iter().any(|word| text.contains(word));
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if !counts(&name) {
                continue;
            }
            // A script, such as a hook of git, counts with its own content only: it runs only if something names it.
            if file.ends_with(PACKAGES) {
                self.reach.folders.entry(file).or_default();
            } else if regular_file::head(&file, 2).is_ok_and(|(start, _)| start == b"#!") {
                self.reach.files.insert(file);
            } else {
                self.setting_file(&file)?;
            }
        }
        self.tool_name = before;
        Ok(())
    }

    /// Adds a file with settings, and the code that it names.
    pub(in crate::trust) fn setting_file(&mut self, file: &Path) -> Result<(), String> {
        self.reach.files.insert(file.to_owned());
        let end = file.extension().and_then(|end| end.to_str());
        let end = end.unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if file.is_dir() {
            let real = real_path::resolve(file).real;
            self.reach.folders.insert(real.clone(), true);
            return self.rules_in(&real);
        }
        if file.metadata().is_ok_and(|data| data.len() > TEXT)
            && !is_of_tool(&name, &self.tool_name)
        {
            return Ok(());
        }
        if is_in(JAVASCRIPT, end) {
            let mut others = loaded_settings(&self.tool_name).into_iter();
            let is_own = self.tool_name.is_empty()
                || is_of_tool(&name, &self.tool_name)
                || others.any(|tool| is_of_tool(&name, tool));
            let before = (self.in_settings, self.reads_texts);
            (self.in_settings, self.reads_texts) = (true, is_own || self.reads_texts);
            let read = self.script(file, "js");
            (self.in_settings, self.reads_texts) = before;
            read?;
            let is_read = !self.tasks.insert((file.to_owned(), "texts".to_owned()));
            if is_own || is_read || !is_setting(&name, "", false) {
                return Ok(());
            }
            // A plugin can load the settings of another tool.
            let text = regular_file::read_text(file, TEXT).unwrap_or_default();
            return self.texts_in(file, &text);
        }
        if !self.scripts.insert((file.to_owned(), true, true)) {
            return Ok(());
        }
        let real = real_path::resolve(file).real;
        if real != file && real.starts_with(self.project) {
            // Names in a linked file can be relative to its target.
            self.setting_file(&real)?;
        }
        if is_in("py sh", end) {
            return self.script(file, end);
        }
        let is_code = is_in("rb php lua pl exs", end);
        let is_values = is_in(VALUES, end) || is_in("css scss pcss", end);
        let has_no_end = !name.trim_start_matches('.').contains('.');
        if !(is_code || is_values || name.starts_with('.') || has_no_end) {
            return if is_program(file) {
                self.script(file, "")
            } else {
                Ok(())
            };
        }
        let Ok(text) = regular_file::read_text(file, TEXT) else {
            self.reach.all |= file.exists() && (is_code || is_values);
            return Ok(());
        };
        if text.starts_with("#!") {
            return self.script(file, "");
        }
        let code = without_plugins_of_deps(&text, end);
        self.reach.all |= is_code && MORE.iter().any(|word| code.contains(word));
        // PHP finds these classes by their names.
        self.reach.all |= end == "neon" && (text.contains("class:") || text.contains("rules:"));
        // Pylint runs the code of Python in this setting.
        self.reach.all |= text.contains("init-hook");
        let is_section = |line: &str| line.starts_with('[') && line.trim_end().ends_with(']');
        if (is_in("cfg ini toml", end) || has_no_end) && text.lines().any(is_section) {
            self.plugins_of_python(file, &text)?;
        }
        match &*name {
            "package.json" | "composer.json" => self.texts_in(file, &without_package(&text)),
            _ => self.texts_in(file, &text),
        }
    }

    /// Adds the plugins that a file with settings of Python names without a folder.
    fn plugins_of_python(&mut self, file: &Path, text: &str) -> Result<(), String> {
        for module in modules_of_plugins(text) {
            let folder = file.parent().unwrap_or(self.project).to_owned();
            for base in [folder, self.project.to_owned()] {
                let files = ["", "/__init__"].map(|end| base.join(format!("{module}{end}.py")));
                for file in files.iter().filter(|file| file.is_file()) {
                    self.setting_file(file)?;
                }
            }
            self.reach.names.insert(module);
        }
        Ok(())
    }

    /// Adds the code that the text of the file names.
    fn texts_in(&mut self, file: &Path, text: &str) -> Result<(), String> {
        let folder = file.parent().unwrap_or(self.project);
        // In a folder such as `.cargo`, names are relative to the folder above.
        let is_hidden = |folder: &&Path| {
            let name = folder.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b".")
        };
        let own = folder
            .ancestors()
            .take_while(|folder| folder.starts_with(self.project));
        let hidden = own.filter(is_hidden).last();
        let outside = hidden.and_then(Path::parent);
        let cwd = self.cwd.clone();
        for base in [Some(folder), outside].into_iter().flatten() {
            base.clone_into(&mut self.cwd);
            self.settings_text(text)?;
        }
        self.cwd = cwd;
        Ok(())
    }

    /// Adds the settings that a program gets on its command line or from osier, and the code that commands in them run.
    pub(in crate::trust) fn given_settings(&mut self, text: &str) -> Result<(), String> {
        self.settings_text(text)?;
        for command in names(text).commands {
            self.line(&command)?;
        }
        Ok(())
    }

    /// Adds the code that the words of settings name.
    pub(in crate::trust) fn settings_text(&mut self, text: &str) -> Result<(), String> {
        // Escapes can hide a name.
        if text.contains("\\u") || text.contains("\\x") {
            self.all();
        }
        let mut known = BTreeSet::new();
        let names = names(text);
        for folder in names.folders {
            let folder = path::resolve(&self.cwd, &folder);
            if folder.starts_with(self.project) && folder.is_dir() {
                self.reach.folders.insert(folder, true);
            }
        }
        for text in names.texts {
            let is_end = |char: char| char.is_whitespace() || "\"'`,[]{}()=;".contains(char);
            for word in text.split(is_end).filter(|word| word.len() > 1) {
                if known.insert(word.to_owned()) {
                    self.named_in_settings(word)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the file, the folder, the module of Python or the package of the project with this name.
    fn named_in_settings(&mut self, word: &str) -> Result<(), String> {
        if word.len() > 200 || word.contains(['*', '?', '<', '>', '|', '^', '!']) || is_source(word)
        {
            return Ok(());
        }
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let module = word.split(':').next().unwrap_or_default();
        if module.contains('.')
            && module
                .split('.')
                .all(|part| !part.is_empty() && part.chars().all(is_part))
        {
            let path = module.replace('.', "/");
            for base in [self.cwd.clone(), self.project.to_owned()] {
                for file in ["", "/__init__"].map(|end| base.join(format!("{path}{end}.py"))) {
                    if file.is_file() {
                        self.setting_file(&file)?;
                    }
                }
            }
        }
        for word in [word, module] {
            self.module_of_project(word)?;
        }
        Ok(())
    }

    /// Adds the code that the quoted texts of settings in JavaScript name. All code counts, if the settings can compute such a text.
    pub(in crate::trust) fn texts_of_settings(
        &mut self,
        text: &str,
        folder: &Path,
    ) -> Result<(), String> {
        let texts = node::texts(text);
        let is_first = folder.join("package.json").exists() || texts.has_keys;
        self.reach.all |= texts.computes && is_first;
        let inputs = names(text).inputs;
        let cwd = std::mem::replace(&mut self.cwd, folder.to_owned());
        let mut bases = self.above();
        self.cwd.clone_from(&self.start);
        bases.extend(self.above());
        bases.sort();
        bases.dedup();
        for (name, _) in &texts.all {
            let is_name = |char: char| char.is_whitespace() || "*{}[]<>$^|?!,;".contains(char);
            if name.len() < 2
                || name.len() > 200
                || name.contains(is_name)
                || is_source(name)
                || inputs.contains(name)
            {
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

    /// The folders of the project that are linked as packages, and that settings name without `eslint-plugin-` and the like.
    fn linked_plugins(&mut self, packages: &Path, name: &str) -> Vec<PathBuf> {
        let project = self.project;
        let links = self.links.entry(packages.to_owned()).or_insert_with(|| {
            let mut found = Vec::new();
            for (own, file, is_folder) in names_in(packages) {
                let scoped = names_in(&file).filter(|_| is_folder && own.starts_with('@'));
                let scoped = scoped.map(|(name, file, _)| (format!("{own}/{name}"), file));
                let all = scoped.chain([(own.clone(), file.clone())]);
                let links = all.filter(|(_, file)| file.is_symlink());
                found.extend(links.map(|(name, file)| (name, real_path::resolve(&file).real)));
            }
            found.retain(|(_, real)| {
                let mut parts = real.components();
                real.starts_with(project) && parts.all(|part| part.as_os_str() != PACKAGES)
            });
            found
        });
        let named = links.iter().filter(|(package, _)| is_short(package, name));
        named.map(|(_, real)| real.clone()).collect()
    }

    /// Adds the folders with other builds that the files of Gradle include.
    fn included_builds(&mut self) {
        for folder in self.above() {
            for (name, file, _) in names_in(&folder).collect::<Vec<_>>() {
                if ![".gradle", ".kts"].iter().any(|end| name.ends_with(end)) {
                    continue;
                }
                let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                for rest in text.split("includeBuild").skip(1) {
                    let rest = rest.trim_start().trim_start_matches('(').trim_start();
                    match rest.split(['"', '\'']).nth(1) {
                        Some(build) if rest.starts_with(['"', '\'']) => {
                            let build = path::resolve(&folder, build);
                            self.reach.folders.insert(build, true);
                        }
                        _ => self.all(),
                    }
                }
            }
        }
    }

    /// Adds settings in the arguments of an unknown program, with the commands in them.
    pub(in crate::trust) fn given_file(&mut self, file: &Path) -> Result<(), String> {
        let end = file.extension().and_then(|end| end.to_str());
        let is_values = is_in(VALUES, end.unwrap_or_default());
        if !is_values || !file.starts_with(self.project) || !file.is_file() {
            return Ok(());
        }
        self.setting_file(file)?;
        let text = regular_file::read_text(file, TEXT).unwrap_or_default();
        for command in names(&text).commands {
            self.line(&command)?;
        }
        Ok(())
    }

    /// The names of the packages above the working directory, and whether each has a map of imports.
    fn own_packages(&mut self) -> Vec<(String, bool)> {
        let known = &mut self.packages_read;
        let mut found = Vec::new();
        for folder in above_path(&self.cwd, self.project, &self.outer) {
            let own = known.entry(folder.clone()).or_insert_with(|| {
                let text = regular_file::read(&folder.join("package.json"), TEXT).ok()?;
                let manifest = serde_json::from_slice::<Value>(&text).ok()?;
                let name = manifest["name"].as_str().unwrap_or_default().to_owned();
                Some((name, !manifest["imports"].is_null()))
            });
            found.extend(own.clone());
        }
        found
    }

    /// Adds the files or the package of the project that this module can be. Returns whether there is one.
    pub(in crate::trust) fn module_of_project(&mut self, name: &str) -> Result<bool, String> {
        let own = self.own_packages();
        if name.starts_with('#') {
            // The import map of a package can name any file.
            self.reach.all |= own.iter().any(|(_, has_map)| *has_map);
            return Ok(true);
        }
        let name = name.trim_start_matches("file://");
        let is_path = name.starts_with(['.', '/']);
        let mut is_there = false;
        let mut stem = path::resolve(&self.cwd, name);
        let is_named =
            stem.is_file() || name.contains('/') && (name.contains('.') || stem.is_dir());
        if is_path || is_named {
            if name.ends_with('.') {
                stem = real_path::resolve(&stem).real;
            }
            // Settings above the project can name code there, too.
            let is_own = stem.starts_with(self.project) || stem.starts_with(&self.cwd);
            if is_own && stem.is_dir() && !self.project.starts_with(&stem) {
                self.reach.folders.insert(stem.clone(), true);
            }
            for file in found(&stem).into_iter().filter(|file| {
                is_own
                    && (!is_named_like_data(file)
                        || file.extension().is_some_and(|end| end == "css"))
            }) {
                let real = real_path::resolve(&file).real;
                if environment(&file, self.project).is_some() {
                    self.program(&file)?;
                }
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
                // A package of the project can load other code.
                self.reach.folders.insert(real.clone(), true);
                self.follow_folder(&real, "js cjs mjs ts cts mts", "js")?;
            }
        }
        for folder in self.above() {
            for real in self.linked_plugins(&folder.join(PACKAGES), name) {
                self.reach.folders.insert(real.clone(), true);
                self.follow_folder(&real, "js cjs mjs ts cts mts", "js")?;
                is_there = true;
            }
        }
        // A package can import itself by its own name.
        if own
            .iter()
            .any(|(own, _)| !own.is_empty() && Path::new(own) == package)
        {
            self.all();
            is_there = true;
        }
        Ok(is_there)
    }
}

/// Adds the settings in the folder and below it, the folders with packages, and those that are named like the tool.
fn settings_below(
    folder: &Path,
    tool: &str,
    is_hidden: bool,
    depth: usize,
    found: &mut BTreeSet<PathBuf>,
) {
    for (name, file, is_folder) in names_in(folder) {
        if is_folder && file.ends_with(PACKAGES) {
            // Packages below the project have plugins for the settings there.
            found.insert(file);
        } else if is_folder {
            let is_installed = file.join("pyvenv.cfg").is_file();
            if !has_settings(&name) || is_installed || depth == 0 {
                continue;
            }
            if settings_of(tool).is_some() && is_of_tool(&name, tool) {
                found.insert(file.clone());
            }
            let is_hidden = is_hidden || name.starts_with('.');
            settings_below(&file, tool, is_hidden, depth - 1, found);
        } else if is_setting(&name, tool, is_hidden) && !is_tool_itself(&file, tool) {
            found.insert(file);
        } else if is_in("css scss pcss", name.rsplit('.').next().unwrap_or_default()) {
            let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
            if text.contains("@plugin") || text.contains("@config") {
                found.insert(file);
            }
        }
    }
}

/// The names and paths of the entries in the folder, and whether each is a folder.
fn names_in(folder: &Path) -> impl Iterator<Item = (String, PathBuf, bool)> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, entry.path(), is_folder)
    })
}

fn is_tool_itself(file: &Path, tool: &str) -> bool {
    let is_named = file.file_name().is_some_and(|name| name == tool);
    is_named && regular_file::head(file, 2).is_ok_and(|(start, _)| start == b"#!")
}

/// The modules that tools in Python import as plugins.
fn modules_of_plugins(text: &str) -> impl Iterator<Item = String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let plugins = names(text).plugins.into_iter();
    plugins.filter_map(move |plugin| {
        let module = plugin.split(':').next()?;
        let is_module = module.len() > 2 && module.chars().all(is_part) && !is_source(module);
        is_module.then(|| module.to_owned())
    })
}

/// Settings of the formatter of Elixir without the packages that they name: these are installed.
fn without_plugins_of_deps(text: &str, end: &str) -> String {
    let text = OF_DEPS
        .iter()
        .filter(|_| end == "exs")
        .fold(text.to_owned(), |text, name| text.replace(name, ""));
    let mut parts = text.split("plugins:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let list = part.trim_start().strip_prefix('[');
        let list = list.and_then(|list| list.split_once(']'));
        let is_empty = |list: &str| list.chars().all(|char| char == ',' || char.is_whitespace());
        match list {
            Some((list, rest)) if is_empty(list) => before + rest,
            _ => before + "plugins:" + part,
        }
    })
}

/// Whether a name in settings is that of a folder with sources.
fn is_source(name: &str) -> bool {
    let name = name.strip_prefix("./").unwrap_or(name);
    is_in(SOURCES, name.trim_end_matches('/'))
}

/// Whether settings can name the package so: `local` is `eslint-plugin-local`, and `@acme` is `@acme/eslint-config`.
fn is_short(package: &str, name: &str) -> bool {
    let split = |name: &str| match name.split_once('/').filter(|_| name.starts_with('@')) {
        Some((scope, rest)) => (scope.to_owned(), rest.to_owned()),
        None if name.starts_with('@') => (name.to_owned(), String::new()),
        None => (String::new(), name.to_owned()),
    };
    let (scope, package) = split(package);
    let (own, short) = split(name.strip_prefix("plugin:").unwrap_or(name));
    let short = short.split('/').next().unwrap_or_default();
    let is_kind = |start: &str| PLUGINS.iter().any(|kind| start.contains(kind));
    let start = package
        .strip_suffix(short)
        .and_then(|start| start.strip_suffix('-'));
    let is_only = !scope.is_empty() && PLUGINS.iter().any(|kind| package.ends_with(kind));
    scope == own && (!short.is_empty() && start.is_some_and(is_kind) || is_only)
}

/// Whether `dart` runs as a server or only checks the code.
fn is_server_of_dart(arguments: &[Word]) -> bool {
    let command = arguments.first().map(|word| word.text.as_str());
    command.is_none_or(|command| ["language-server", "analyze"].contains(&command))
}
