//! The files and packages that a text names: a command, a script, a configuration. Only texts that did not change are read: their
//! authors hide nothing, so each word that could name a file counts. A name in the text of the model needs no reading: that text
//! itself has changed.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use osier_base::regular_file;

use super::closure::{MOST, Search};
use super::text::{
    DATA, Kind, LISTS, Listing, MOVES, PACKAGES, PATTERNS, PROGRAMS, PYTHON, READERS, RUNNERS,
    SCRIPTS, STATEMENT, TEXT, WORKSPACES, imports, is_configuration, is_named_after, is_plain,
    is_plain_compiler, join, package_name, paths, without_outputs, words,
};

impl Search<'_> {
    /// Adds what the text of a file or a command in `folders` names; the first one is its own.
    pub(super) fn add_text(
        &mut self,
        text: &str,
        folders: &[PathBuf],
        kind: Kind,
    ) -> Result<(), String> {
        let is_comment = |line: &str| line.starts_with("# ") || line.starts_with("//");
        let inputs = match kind {
            Kind::Script => without_outputs(text),
            _ => text.to_owned(),
        };
        let lines = inputs.lines().map(str::trim);
        let lines: Vec<Vec<&str>> = lines.filter(|line| !is_comment(line)).map(words).collect();
        // The directories that it names, for the names below them: `cd scripts`, `join("lib", …)`.
        let (mut folders, mut all) = (folders.to_vec(), folders.to_vec());
        for line in &lines {
            self.add_folders(line, &mut all);
        }
        let own = folders.len();
        let mut is_import = false;
        let mut known = HashSet::new();
        for line in &lines {
            let mut near = folders.clone();
            self.add_folders(line, &mut near);
            let has = |names: &[&str]| line.iter().any(|word| names.contains(word));
            // A list of names can have several lines.
            is_import = !kind.loads_modules() && (imports(line) || is_import && line.len() <= 1);
            if is_import || has(&MOVES) {
                folders.clone_from(&near);
            }
            // Where the line runs: its own place, and those that it names.
            let here: Vec<PathBuf> = near.iter().take(1).chain(&near[own..]).cloned().collect();
            let runs = kind.loads_modules() || line.iter().any(|word| READERS.contains(word));
            for word in line {
                // In a long text, most words come again.
                let is_new = known.insert(word);
                if !is_new && !is_import && here.len() == 1 {
                    continue;
                }
                let (places, ends): (_, fn(&str) -> bool) = match word.contains(['/', '.']) {
                    true => (&all, |end| !DATA.contains(&end)),
                    false if is_import => (&near, |end| SCRIPTS.contains(&end)),
                    // `join(__dirname, "lib", "plugin")`; a bundle has long lines.
                    false if kind == Kind::Module && line.len() < STATEMENT => {
                        (&here, |end| SCRIPTS.contains(&end))
                    }
                    false => (&here, |_| false),
                };
                for path in self.paths(places, word, is_import) {
                    self.add_named(&path, runs, ends);
                    // Python runs the packages that contain a module.
                    for above in path.ancestors().skip(1).filter(|_| is_import) {
                        self.add_named(&above.join("__init__"), true, |end| end == "py");
                    }
                    self.add_index(&path, word, kind, is_import)?;
                }
                self.add_module(word, &near[0], kind)?;
            }
            if kind.runs_programs() {
                self.add_programs(line, &near, &here)?;
            }
        }
        Ok(())
    }

    /// The paths that the word can be from one of `folders`, as far as an entry there begins like it.
    fn paths(&mut self, folders: &[PathBuf], word: &str, is_import: bool) -> Vec<PathBuf> {
        let project = self.project;
        let is_inside = word.starts_with('/') && Path::new(word).starts_with(project);
        let first = word.trim_start_matches('/').split(['/', '.']).next();
        let first = first.filter(|first| !first.is_empty()).map(str::to_owned);
        let begins = |folder: &&PathBuf| {
            let Some(first) = &first else {
                return true;
            };
            let listing = self.listing(folder);
            let entry = listing.range(first.clone()..).next();
            is_inside || entry.is_some_and(|(entry, _)| entry.starts_with(first.as_str()))
        };
        let folders = folders.iter().filter(begins);
        folders
            .flat_map(|folder| paths(folder, word, is_import))
            .collect()
    }

    /// Adds the directories of the project that the words name to `folders`.
    fn add_folders(&mut self, line: &[&str], folders: &mut Vec<PathBuf>) {
        for word in line {
            for path in self.paths(folders, word, true) {
                let is_package = path.components().any(|part| part.as_os_str() == PACKAGES);
                if !is_package && !folders.contains(&path) && self.entry(&path) == Some(true) {
                    folders.push(path);
                }
            }
        }
    }

    /// Adds what runs for the directory that the word names.
    fn add_index(
        &mut self,
        path: &Path,
        word: &str,
        kind: Kind,
        is_import: bool,
    ) -> Result<(), String> {
        let names: &[&str] = if kind.loads_modules() && word.starts_with('.') {
            &["index"]
        } else if kind == Kind::Script && is_import {
            &["__init__", "__main__"]
        } else {
            return Ok(());
        };
        if path != self.project && self.entry(path) != Some(true) {
            return Ok(());
        }
        for name in names {
            self.add_named(&path.join(name), true, |end| SCRIPTS.contains(&end));
        }
        self.add_manifest(path, &["main", "exports"])
    }

    /// Adds what the word means as a name of a package, from a file in `place`.
    fn add_module(&mut self, word: &str, place: &Path, kind: Kind) -> Result<(), String> {
        if kind.loads_modules() && word.len() > 1 && word.starts_with('#') {
            return self.add_manifests(place, &["imports"], |_| true);
        }
        let Some(name) = package_name(word) else {
            return Ok(());
        };
        if let Some(package) = self.find_package(name, place)? {
            if kind == Kind::Configuration {
                self.add_plugin_configuration(name);
            }
            return self.add_package(&package);
        }
        // A package can load itself by its name.
        if kind.loads_modules() {
            let is_own = |manifest: &Value| manifest["name"] == name;
            return self.add_manifests(place, &["main", "exports"], is_own);
        }
        Ok(())
    }

    /// Adds the files with this name, or with this name and one of the ends. A command can also create a file: without an end, it
    /// counts if the command `runs` files, or if it is executable.
    fn add_named(&mut self, path: &Path, runs: bool, ends: fn(&str) -> bool) {
        let name = path.file_name().and_then(|name| name.to_str());
        let (Some(folder), Some(name)) = (path.parent(), name) else {
            return;
        };
        let listing = self.listing(folder);
        let entries = listing.range(name.to_owned()..);
        let entries = entries.take_while(|(entry, _)| entry.starts_with(name));
        let fits = |entry: &str| {
            let end = entry.rsplit_once('.').map_or("", |(_, end)| end);
            let is_program = || {
                let data = folder.join(entry).metadata();
                data.is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
            };
            match entry[name.len()..].chars().next() {
                None if end.is_empty() => runs || is_program(),
                None => !DATA.contains(&end),
                Some('.') => ends(end),
                Some(_) => false,
            }
        };
        let found = entries.filter(|(entry, is_folder)| !**is_folder && fits(entry));
        self.waiting
            .extend(found.map(|(entry, _)| folder.join(entry)));
    }

    /// Adds the programs of the project that the line runs, with their configuration, and the files that runners read.
    fn add_programs(
        &mut self,
        line: &[&str],
        near: &[PathBuf],
        here: &[PathBuf],
    ) -> Result<(), String> {
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let installed: Vec<PathBuf> = std::env::split_paths(&search_path)
            .filter(|folder| folder.starts_with(self.project))
            .collect();
        for word in line {
            for place in near {
                for programs in PROGRAMS.map(|programs| place.join(programs)) {
                    if self.listing(&programs).contains_key(*word) {
                        self.waiting.push(programs.join(word));
                        self.add_configuration(word, place, true)?;
                    }
                }
                // A program that is installed elsewhere is known by its name only.
                let listing = self.listing(place);
                let names = listing.keys().filter(|name| is_named_after(word, name));
                self.waiting.extend(names.map(|name| place.join(name)));
            }
            let programs = installed.iter().map(|folder| folder.join(word));
            self.waiting.extend(programs.filter(|path| path.is_file()));
            let name = word.rsplit('/').next().unwrap_or(word);
            let runner = RUNNERS.iter().find(|(runner, _)| *runner == name);
            let Some((_, files)) = runner else {
                continue;
            };
            let mut places = near.to_vec();
            if files.contains(&"package.json") && line.iter().any(|it| WORKSPACES.contains(it)) {
                places.extend(self.below(&near[0])?);
            }
            for place in &places {
                let files = files.iter().map(|name| place.join(name));
                let files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
                if files.iter().any(|path| path.ends_with("package.json")) {
                    self.add_scripts(place, line)?;
                }
                self.waiting.extend(files);
            }
        }
        let has = |wanted: &str| line.contains(&wanted);
        for place in here {
            let is_python = line.iter().any(|word| word.contains("python"));
            if has("-m") && imports(line) || has("-c") && is_python {
                self.add_modules(place);
            }
            let is_list = |word: &&str| LISTS.iter().any(|list| word.contains(list));
            let is_all = has("go") && has("run") || has("run-parts") || line.iter().any(is_list);
            if is_all && *place != near[0] {
                self.add_pattern(place, "*");
            }
            let is_pattern = |word: &&&str| word.contains('*');
            for pattern in line.iter().filter(is_pattern) {
                if PATTERNS.iter().any(|word| has(word)) {
                    self.add_pattern(place, pattern);
                }
            }
        }
        Ok(())
    }

    /// Adds the files that fit a pattern with a `*` in their name.
    fn add_pattern(&mut self, folder: &Path, pattern: &str) {
        let pattern = pattern.trim_start_matches('/');
        let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
        let end = end.rsplit('*').next().unwrap_or(end);
        let (below, start) = start.rsplit_once('/').unwrap_or(("", start));
        let folder = join(folder, below);
        let listing = self.listing(&folder);
        let files = listing.iter().filter(|(name, is_folder)| {
            !**is_folder && name.starts_with(start) && name.ends_with(end)
        });
        self.waiting
            .extend(files.map(|(name, _)| folder.join(name)));
    }

    /// Adds the modules in the directory that have the name of one of Python: they run instead of it.
    pub(super) fn add_modules(&mut self, folder: &Path) {
        for (name, is_folder) in &*self.listing(folder) {
            let module = name.split('.').next().unwrap_or(name);
            if !PYTHON.split(' ').any(|known| known == module) {
                continue;
            }
            let path = folder.join(name);
            match is_folder {
                true => self.add_named(&path.join("__init__"), true, |_| true),
                false => self.waiting.push(path),
            }
        }
    }

    /// Adds what the scripts of `package.json` run that the line names; all of them if it names none.
    fn add_scripts(&mut self, folder: &Path, line: &[&str]) -> Result<(), String> {
        let Some(manifest) = self.manifest(folder) else {
            return Ok(());
        };
        let scripts = manifest["scripts"].as_object();
        let scripts: Vec<(&String, &str)> = scripts
            .into_iter()
            .flatten()
            .filter_map(|(name, text)| Some((name, text.as_str()?)))
            .collect();
        let is_named = |name: &str| {
            let plain = name.strip_prefix("pre").or(name.strip_prefix("post"));
            let mut words = line.iter().copied();
            // `:` ends a word.
            words.any(|word| Some(word) == plain || name.split(':').next() == Some(word))
        };
        let any = scripts.iter().any(|(name, _)| is_named(name));
        for (name, text) in scripts {
            let key = (folder.to_owned(), name.clone());
            if (!any || is_named(name)) && self.scripts.insert(key) {
                self.add_text(text, &self.folders(folder), Kind::Script)?;
            }
        }
        Ok(())
    }

    /// Adds the configuration files of a tool from `folder` up to the project, and those `below`.
    pub(super) fn add_configuration(
        &mut self,
        tool: &str,
        folder: &Path,
        below: bool,
    ) -> Result<(), String> {
        let mut folders = self.folders(folder);
        if below {
            folders.extend(self.below(folder)?);
        }
        for folder in folders {
            if self.configured.insert((folder.clone(), tool.to_owned())) {
                self.add_configuration_in(tool, &folder)?;
            }
        }
        Ok(())
    }

    /// The directory and those below it, without packages and caches.
    fn below(&mut self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let (mut folders, mut waiting) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = waiting.pop() {
            let listing = self.listing(&folder);
            // Of cargo: it is large, and nobody works there.
            let is_cache = folder.ends_with("target") && listing.contains_key("CACHEDIR.TAG");
            for (name, is_folder) in listing.iter().filter(|_| !is_cache) {
                let path = folder.join(name);
                if *is_folder && name != PACKAGES && name != ".git" && !path.is_symlink() {
                    waiting.push(path);
                }
            }
            folders.push(folder);
            if folders.len() > MOST {
                return Err(format!("the project has more than {MOST} directories"));
            }
        }
        Ok(folders)
    }

    /// Adds what a plugin loads by itself, by its name: `tailwind.config.js` for `prettier-plugin-tailwindcss`.
    fn add_plugin_configuration(&mut self, plugin: &str) {
        let common = ["prettier", "eslint", "plugin", "config"];
        let parts = plugin.split(['-', '/', '@']);
        let parts: Vec<&str> = parts
            .filter(|part| part.len() > 2 && !common.contains(part))
            .collect();
        for folder in self.folders(&self.cwd.clone()) {
            let listing = self.listing(&folder);
            let names = listing.keys().filter(|name| {
                let stem = name.split_once(".config.").map(|(stem, _)| stem);
                stem.is_some_and(|stem| {
                    let fits = |part: &&str| part.starts_with(stem) || stem.starts_with(part);
                    parts.iter().any(fits)
                })
            });
            self.waiting.extend(names.map(|name| folder.join(name)));
        }
    }

    fn add_configuration_in(&mut self, tool: &str, folder: &Path) -> Result<(), String> {
        let listing = self.listing(folder);
        let names = listing.iter().filter(|(_, is_folder)| !**is_folder);
        let names = names.filter(|(name, _)| is_configuration(tool, name));
        let paths = names.map(|(name, _)| folder.join(name));
        self.waiting
            .extend(paths.filter(|path| !is_plain_compiler(tool, path)));
        self.add_extensions(tool, &folder.join(PACKAGES))?;
        if listing.contains_key("package.yaml") {
            // Not understood here, and hardly used.
            self.waiting.push(folder.join("package.yaml"));
        }
        if !listing.contains_key("package.json") {
            return Ok(());
        }
        let path = folder.join("package.json");
        let folders = self.folders(folder);
        let Some(manifest) = self.manifest(folder) else {
            // The tool may understand it.
            let text =
                regular_file::head(&path, TEXT).map_or_else(|_| Vec::new(), |(text, _)| text);
            self.waiting.push(path);
            return self.add_text(
                &String::from_utf8_lossy(&text),
                &folders,
                Kind::Configuration,
            );
        };
        let entries = manifest.as_object().into_iter().flatten();
        for (_, value) in entries.filter(|(key, _)| key.starts_with(tool)) {
            if tool != "prettier" || !is_plain(value) {
                self.waiting.push(path.clone());
                self.add_text(&value.to_string(), &folders, Kind::Configuration)?;
            }
        }
        Ok(())
    }

    /// Adds the packages that a tool can load by itself, by their names: `prettier-plugin-x`.
    fn add_extensions(&mut self, tool: &str, packages: &Path) -> Result<(), String> {
        let mut names = Vec::new();
        for name in self.listing(packages).keys() {
            if !name.starts_with('@') {
                names.push(name.clone());
                continue;
            }
            let scope = self.listing(&packages.join(name));
            names.extend(scope.keys().map(|inner| format!("{name}/{inner}")));
        }
        names.retain(|name| tool.len() > 3 && name.contains(tool) && name != tool);
        let place = packages.parent().unwrap_or(packages);
        for name in names {
            if let Some(package) = self.find_package(&name, place)? {
                self.add_package(&package)?;
            }
        }
        Ok(())
    }

    /// Adds what the fields of the nearest manifests name that fit.
    fn add_manifests(
        &mut self,
        folder: &Path,
        fields: &[&str],
        fits: impl Fn(&Value) -> bool,
    ) -> Result<(), String> {
        for folder in self.folders(folder) {
            if self
                .manifest(&folder)
                .is_some_and(|manifest| fits(&manifest))
            {
                self.add_manifest(&folder, fields)?;
            }
        }
        Ok(())
    }

    fn add_manifest(&mut self, folder: &Path, fields: &[&str]) -> Result<(), String> {
        let Some(manifest) = self.manifest(folder) else {
            return Ok(());
        };
        let fields = fields.iter().filter_map(|field| manifest.get(field));
        // `main` needs no `./`.
        let text: String = fields
            .map(|value| match value.as_str() {
                Some(path) => format!("\"./{path}\"\n"),
                None => format!("{value}\n"),
            })
            .collect();
        let key = (folder.to_owned(), text.clone());
        if !text.is_empty() && self.scripts.insert(key) {
            self.waiting.push(folder.join("package.json"));
            self.add_text(&text, &[folder.to_owned()], Kind::Configuration)?;
        }
        Ok(())
    }

    /// The `package.json` of a directory, if it can be understood.
    fn manifest(&mut self, folder: &Path) -> Option<Arc<Value>> {
        if !self.listing(folder).contains_key("package.json") {
            return None;
        }
        let read = || {
            let text = regular_file::read(&folder.join("package.json"), TEXT).ok()?;
            serde_json::from_slice(&text).ok().map(Arc::new)
        };
        let manifests = &mut self.manifests;
        manifests
            .entry(folder.to_owned())
            .or_insert_with(read)
            .clone()
    }

    /// The directory and those above it, up to the project.
    pub(super) fn folders(&self, folder: &Path) -> Vec<PathBuf> {
        let above = folder.ancestors();
        let above = above.take_while(|above| above.starts_with(self.project));
        above.map(Path::to_owned).collect()
    }

    /// Whether the path is a directory; `None` if it does not exist in the project.
    fn entry(&mut self, path: &Path) -> Option<bool> {
        let name = path.file_name()?.to_str()?.to_owned();
        self.listing(path.parent()?).get(&name).copied()
    }

    /// The entries of a directory of the project.
    pub(super) fn listing(&mut self, folder: &Path) -> Listing {
        if !folder.starts_with(self.project) {
            return Listing::default();
        }
        if let Some(known) = self.listings.get(folder) {
            return Arc::clone(known);
        }
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let entries = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let kind = entry.file_type().ok()?;
            let is_folder = kind.is_dir() || kind.is_symlink() && entry.path().is_dir();
            Some((name, is_folder))
        });
        let listing = Arc::new(entries.collect());
        self.listings
            .insert(folder.to_owned(), Arc::clone(&listing));
        listing
    }
}
