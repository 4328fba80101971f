//! The code that runs while cargo and language servers read a project: settings of cargo, build scripts, macros of Rust.

use std::path::{Path, PathBuf};

use osier_base::{path, regular_file};
use toml::{Table, Value};

use crate::programs::{is_shell, name_of};
use crate::shell::Word;
use crate::trust::facts::places::folders_below;
use crate::trust::facts::programs::{CRATES, is_in, is_runner};
use crate::trust::reach::{FOLDERS, Search, TEXT};

/// Sections of a manifest that list dependencies. A macro needs all of them, a build script only those after the first.
const DEPENDENCIES: [&str; 3] = ["dependencies", "build-dependencies", "build_dependencies"];

/// A package of Rust.
struct Package {
    folder: PathBuf,
    manifest: Table,
}

impl Package {
    fn name(&self) -> Option<&str> {
        self.manifest.get("package")?.get("name")?.as_str()
    }

    fn is_macro(&self) -> bool {
        let library = self.manifest.get("lib");
        let is_set = |name: &str| library.and_then(|all| all.get(name)?.as_bool()) == Some(true);
        let kinds = library.and_then(|all| all.get("crate-type")?.as_array());
        let is_kind = |kind: &Value| kind.as_str() == Some("proc-macro");
        is_set("proc-macro")
            || is_set("proc_macro")
            || kinds.is_some_and(|all| all.iter().any(is_kind))
    }

    fn build_script(&self) -> Option<PathBuf> {
        let given = self
            .manifest
            .get("package")
            .and_then(|package| package.get("build"));
        let file = self
            .folder
            .join(given.map_or(Some("build.rs"), Value::as_str)?);
        file.is_file().then_some(file)
    }

    /// The dependencies in these sections of the manifest.
    fn dependencies<'p>(
        &'p self,
        sections: &'p [&str],
    ) -> impl Iterator<Item = (&'p String, &'p Value)> {
        let targets = self.manifest.get("target").and_then(Value::as_table);
        let targets = targets
            .into_iter()
            .flatten()
            .filter_map(|(_, all)| all.as_table());
        let tables = [&self.manifest].into_iter().chain(targets);
        let all = tables.flat_map(move |table| {
            sections
                .iter()
                .filter_map(move |name| table.get(*name)?.as_table())
        });
        all.flatten()
    }

    /// The dependencies that the manifest redirects for other packages, by `workspace`, `patch` or `replace`.
    fn replaced(&self) -> impl Iterator<Item = (&String, &Value)> {
        let of = |name: &str| self.manifest.get(name).and_then(Value::as_table);
        let workspace = of("workspace").and_then(|all| all.get("dependencies")?.as_table());
        let patches = of("patch")
            .into_iter()
            .flatten()
            .filter_map(|(_, all)| all.as_table());
        let all = workspace.into_iter().chain(patches).chain(of("replace"));
        all.flatten()
    }
}

impl Search<'_> {
    /// Adds the settings of cargo, for a command that does not build or run the project.
    pub(in crate::trust) fn cargo(&mut self, arguments: &[Word]) -> Result<(), String> {
        let mut words = arguments.iter().map(|word| word.text.as_str());
        let command = words.find(|word| !word.starts_with(['-', '+']));
        if command.is_some_and(|command| ["build", "test", "run", "check"].contains(&command)) {
            return Ok(());
        }
        self.selectors();
        for folder in self.above() {
            for file in ["config.toml", "config"].map(|name| folder.join(".cargo").join(name)) {
                let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                // An alias can replace the command.
                self.reach.all |= text.contains("alias");
                self.setting_file(&file)?;
            }
        }
        Ok(())
    }

    /// Adds the packages of Rust whose code runs while other packages are compiled, with all their dependencies.
    pub(in crate::trust) fn macros(&mut self) -> Result<(), String> {
        let packages = self.rust_packages();
        let mut waiting = Vec::new();
        for package in &packages {
            if package.is_macro() {
                waiting.push(package.folder.clone());
            }
            if let Some(script) = package.build_script() {
                let mut needed = package.dependencies(&DEPENDENCIES[1..]);
                let is_unknown = |(name, value): (&String, &Value)| {
                    let own = folders_of_one(package, name, value, &packages);
                    let name = value.get("package").and_then(Value::as_str).unwrap_or(name);
                    own.is_empty()
                        && !is_in(CRATES, &name.replace('_', "-"))
                        && !is_in(CRATES, name)
                };
                self.reach.all |= needed.any(is_unknown);
                waiting.extend(folders_of(package, &DEPENDENCIES[1..], &packages));
                self.build_script(&script, &package.folder)?;
            }
        }
        while let Some(folder) = waiting.pop() {
            if self.reach.folders.insert(folder.clone(), true).is_some() {
                continue;
            }
            let own = packages.iter().filter(|package| package.folder == folder);
            let needed = own.flat_map(|package| folders_of(package, &DEPENDENCIES, &packages));
            waiting.extend(needed);
        }
        Ok(())
    }

    /// The packages in the project. All code counts, if a manifest cannot be parsed.
    fn rust_packages(&mut self) -> Vec<Package> {
        let mut waiting = vec![(self.project.to_owned(), 0)];
        let mut found = Vec::new();
        while let Some((folder, depth)) = waiting.pop() {
            let text = regular_file::read_text(&folder.join("Cargo.toml"), TEXT);
            match text.map(|text| text.parse()) {
                Ok(Ok(manifest)) => found.push(Package {
                    folder: folder.clone(),
                    manifest,
                }),
                Ok(Err(_)) => self.all(),
                Err(_) => {}
            }
            waiting.extend(folders_below(&folder, depth, FOLDERS));
        }
        found
    }

    /// Adds a build script of the package, with its modules, the texts that it includes and the programs that it names.
    fn build_script(&mut self, file: &Path, package: &Path) -> Result<(), String> {
        if !self.tasks.insert((file.to_owned(), "build".to_owned())) {
            return Ok(());
        }
        self.reach.files.insert(file.to_owned());
        let text = regular_file::read_text(file, TEXT).unwrap_or_default();
        let folder = file.parent().unwrap_or(package);
        if text.contains("concat!") && text.contains("include!") {
            self.reach.folders.insert(package.to_owned(), true);
        }
        let stem = file.file_stem().unwrap_or_default();
        for module in text
            .split("mod ")
            .skip(1)
            .filter_map(|rest| rest.split([';', '{']).next())
        {
            let folders = [folder.to_owned(), folder.join(stem)];
            for module in folders.map(|folder| folder.join(module.trim())) {
                if module.is_dir() {
                    self.reach.folders.insert(module.clone(), true);
                }
                for file in [module.with_extension("rs"), module.join("mod.rs")] {
                    if file.is_file() {
                        self.build_script(&file, package)?;
                    }
                }
            }
        }
        let runs = text.contains("Command");
        // The program is in a variable, such as that of cargo in `CARGO`.
        let is_known = |rest: &str| rest.starts_with('"') || rest.contains("rustc");
        let mut programs = text.split("Command::new(").skip(1);
        let mut programs = programs.by_ref().map(|rest| rest.split(')').next());
        self.reach.all |= programs.any(|program| !is_known(program.unwrap_or_default().trim()));
        for name in text
            .split('"')
            .skip(1)
            .step_by(2)
            .filter(|name| !name.is_empty())
        {
            for file in [folder, package].map(|folder| path::resolve(folder, name)) {
                let is_own = file.starts_with(self.project) && file.is_file();
                if is_own && file.extension().is_some_and(|end| end == "rs") {
                    self.build_script(&file, package)?;
                } else if is_own && runs {
                    self.program(&file)?;
                    self.script(&file, "")?;
                }
            }
            let name = name_of(name);
            self.reach.all |= runs && (is_shell(name) || is_runner(name));
        }
        Ok(())
    }

    /// Adds the files that the builds of Zig import, also in packages of the project.
    pub(in crate::trust) fn zig_build(&mut self) {
        let mut folders = vec![(self.project.to_owned(), 0)];
        let mut waiting = Vec::new();
        while let Some((folder, depth)) = folders.pop() {
            waiting.push(folder.join("build.zig"));
            folders.extend(folders_below(&folder, depth, FOLDERS));
        }
        while let Some(file) = waiting.pop() {
            let Ok(text) = regular_file::read_text(&file, TEXT) else {
                continue;
            };
            if !self.tasks.insert((file.clone(), "build".to_owned())) {
                continue;
            }
            self.reach.files.insert(file.clone());
            let folder = file.parent().unwrap_or(self.project);
            let imports = text.split("@import(\"").skip(1);
            let imports = imports.filter_map(|rest| rest.split('"').next());
            waiting.extend(
                imports
                    .filter(|name| name.rsplit('.').next() == Some("zig"))
                    .map(|name| path::resolve(folder, name)),
            );
        }
    }
}

/// The folders of those dependencies in these sections that are packages of the project, found by their paths or their names.
fn folders_of(package: &Package, sections: &[&str], all: &[Package]) -> Vec<PathBuf> {
    let needed = package.dependencies(sections);
    let folders = needed.flat_map(|(key, value)| folders_of_one(package, key, value, all));
    folders.collect()
}

fn folders_of_one(
    package: &Package,
    key: &str,
    dependency: &Value,
    all: &[Package],
) -> Vec<PathBuf> {
    let path_in = |folder: &Path, dependency: &Value| {
        let path = dependency.get("path").and_then(Value::as_str);
        path.map(|path| path::resolve(folder, path))
    };
    let mut found: Vec<PathBuf> = path_in(&package.folder, dependency).into_iter().collect();
    let mut names = vec![key];
    names.extend(dependency.get("package").and_then(Value::as_str));
    for other in all {
        for (_, elsewhere) in other
            .replaced()
            .filter(|(name, _)| names.contains(&name.as_str()))
        {
            found.extend(path_in(&other.folder, elsewhere));
        }
    }
    let renamed = all.iter().flat_map(Package::replaced);
    let renamed = renamed.filter(|(name, _)| *name == key);
    names.extend(renamed.filter_map(|(_, other)| other.get("package")?.as_str()));
    let own = all
        .iter()
        .filter(|other| other.name().is_some_and(|name| names.contains(&name)));
    found.extend(own.map(|other| other.folder.clone()));
    found
}
