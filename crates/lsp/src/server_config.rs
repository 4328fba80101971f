//! How a server is found and started: a row of the table, changed by the user's settings.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Folders that can contain programs of a project, below each folder from the root to the project.
const PROJECT_PROGRAMS: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];
/// A language server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    pub name: String,
    /// Suffixes of file names, and the protocol's name of the language.
    pub languages: Vec<(String, String)>,
    /// Files and folders that mark the root of a project.
    pub markers: Vec<String>,
    /// The server works only in a project that has one of the markers.
    pub needs_marker: bool,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How to install the program; empty for a server of the user.
    pub install: String,
    /// The options of `initialize`.
    pub options: Value,
}

/// A change of a row, or a new one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Override {
    pub name: String,
    pub command: Option<Vec<String>>,
    /// Suffixes of file names.
    pub extensions: Option<Vec<String>>,
    pub markers: Option<Vec<String>>,
    pub options: Option<Value>,
    pub disabled: bool,
}

impl ServerConfig {
    pub(crate) fn change(&mut self, change: &Override) {
        if let Some(command) = &change.command {
            self.command.clone_from(command);
            self.install.clear();
        }
        if let Some(extensions) = &change.extensions {
            let known = |end: &String| {
                let end = end.trim_start_matches('.').to_owned();
                let known = self.languages.iter().find(|(own, _)| *own == end);
                let language = known.map_or_else(|| end.clone(), |(_, language)| language.clone());
                (end, language)
            };
            self.languages = extensions.iter().map(known).collect();
        }
        if let Some(markers) = &change.markers {
            self.markers.clone_from(markers);
            self.needs_marker = !markers.is_empty();
        }
        if let Some(options) = &change.options {
            self.options.clone_from(options);
        }
    }

    /// The protocol's name of the language of a file; `None` if the server is not for it.
    pub fn language(&self, path: &Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        let ends = |end: &str| {
            let before = name.strip_suffix(end);
            before.is_some_and(|before| before.ends_with('.')) || name == end
        };
        let mut languages = self.languages.iter();
        languages
            .find(|(end, _)| ends(end))
            .map(|(_, language)| language.as_str())
    }

    /// The root for a file in the folder `project`: the highest folder with a marker.
    pub fn root(&self, file: &Path, project: &Path) -> Option<PathBuf> {
        let folders = file.ancestors().skip(1);
        let folders = folders.take_while(|folder| folder.starts_with(project));
        let has_marker = |folder: &&Path| {
            let mut markers = self.markers.iter();
            markers.any(|marker| folder.join(marker).exists())
        };
        let root = folders.filter(has_marker).last().map(Path::to_owned);
        let is_inside = file.starts_with(project) && file != project;
        root.or_else(|| (is_inside && !self.needs_marker).then(|| project.to_owned()))
    }

    /// The files that can be the program: of the project, then in the folders of `PATH`.
    pub fn programs(&self, root: &Path, project: &Path) -> Vec<PathBuf> {
        let name = self.command.first();
        name.map_or_else(Vec::new, |name| programs(name, root, project))
    }
}

/// The program `name` of the project, from `root` up to the folder `project`, or in an absolute folder of `PATH`.
pub fn program(name: &str, root: &Path, project: &Path) -> Option<PathBuf> {
    programs(name, root, project).into_iter().next()
}

fn programs(name: &str, root: &Path, project: &Path) -> Vec<PathBuf> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        let is_program = path.is_absolute() && path.is_file();
        return is_program.then_some(path).into_iter().collect();
    }
    let folders = root.ancestors();
    let folders = folders.take_while(|folder| folder.starts_with(project));
    let own = folders.flat_map(|folder| PROJECT_PROGRAMS.map(|below| folder.join(below)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let installed = installed.into_iter().filter(|folder| folder.is_absolute());
    own.chain(installed)
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::configured;

    fn named<'s>(servers: &'s [Arc<ServerConfig>], name: &str) -> Option<&'s Arc<ServerConfig>> {
        servers.iter().find(|server| server.name == name)
    }

    #[test]
    fn settings_change_add_and_disable_servers() {
        let texts = |list: &[&str]| Some(list.iter().map(|&text| text.to_owned()).collect());
        let change = |name: &str| Override {
            name: name.to_owned(),
            ..Override::default()
        };
        let servers = configured(&[
            Override {
                disabled: true,
                ..change("gopls")
            },
            Override {
                command: texts(&["ra", "-v"]),
                options: Some(json!({"check": false})),
                ..change("rust-analyzer")
            },
            Override {
                command: texts(&["mine"]),
                extensions: texts(&[".my", "Myfile"]),
                ..change("mine")
            },
            change("without a command"),
        ]);
        assert_eq!(named(&servers, "gopls"), None);
        assert_eq!(named(&servers, "without a command"), None);
        let rust = named(&servers, "rust-analyzer").unwrap();
        assert_eq!(rust.command, ["ra", "-v"]);
        assert_eq!(rust.options, json!({"check": false}));
        assert_eq!(rust.language(Path::new("/a/b.rs")), Some("rust"));
        let mine = named(&servers, "mine").unwrap();
        for (path, language) in [
            ("/x.my", Some("my")),
            ("/Myfile", Some("Myfile")),
            ("/xmy", None),
            ("/my", Some("my")),
        ] {
            assert_eq!(mine.language(Path::new(path)), language, "{path}");
        }
    }

    #[test]
    fn the_root_is_the_highest_folder_with_a_marker_in_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        let deep = project.join("outer/inner/src");
        fs::create_dir_all(&deep).unwrap();
        for path in [
            "Cargo.toml",
            "project/outer/Cargo.toml",
            "project/outer/inner/Cargo.toml",
        ] {
            osier_base::atomic_file::write(&folder.path().join(path), b"").unwrap();
        }
        let servers = configured(&[]);
        let root = |name: &str, file: &Path| named(&servers, name).unwrap().root(file, &project);
        let file = deep.join("lib.rs");
        assert_eq!(root("rust-analyzer", &file), Some(project.join("outer")));
        assert_eq!(root("rust-analyzer", &project.join("a.rs")), None);
        assert_eq!(root("bash-language-server", &file), Some(project.clone()));
        assert_eq!(root("bash-language-server", Path::new("/etc/a.sh")), None);
    }

    #[test]
    fn programs_of_the_project_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path();
        let bin = project.join("node_modules/.bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(project.join("a/b")).unwrap();
        osier_base::atomic_file::write(&bin.join("sh"), b"").unwrap();
        let root = project.join("a/b");
        assert_eq!(program("sh", &root, project), Some(bin.join("sh")));
        assert!(program("sh", &root, &root).is_some_and(|path| !path.starts_with(project)));
        assert_eq!(program("no-such-program", &root, project), None);
        assert_eq!(program("./sh", &bin, project), None);
    }
}
