//! Finds plugins: `NAME.lua`, or a directory with `init.lua` whose other files it can `require`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use mlua::{Lua, Value};

use super::{GATE, api};
use osier_base::config_file::ConfigFile;
use osier_base::problem::Problem;
use osier_base::regular_file::ReadError;
use osier_base::walk::Walk;

/// Maximum size of a file.
const FILE_LIMIT: u64 = 1024 * 1024;

/// The files of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    /// The main file, which runs.
    pub path: PathBuf,
    pub code: String,
    /// Names and texts of the other files in its directory.
    pub modules: Vec<(String, String)>,
}

impl Source {
    /// The chunk name in Lua.
    pub(super) fn chunk(&self) -> String {
        file_name(&self.path)
    }

    /// The events that the text of the plugin may guard. Which of them a plugin handles is not known until it loads.
    pub(super) fn guards(&self) -> Vec<&'static str> {
        let names = |event: &str| {
            let quoted = [
                format!("'{event}'"),
                format!("\"{event}\""),
                format!("[[{event}]]"),
            ];
            let modules = self.modules.iter().map(|(_, code)| code);
            let mut texts = std::iter::once(&self.code).chain(modules);
            texts.any(|code| match event {
                GATE => code.contains(event),
                _ => quoted.iter().any(|quoted| code.contains(quoted)),
            })
        };
        api::guards().filter(|event| names(event)).collect()
    }

    /// Makes `require "name"` return what `name.lua` in the directory returns.
    pub(super) fn install_modules(&self, lua: &Lua) -> mlua::Result<()> {
        let modules = self.modules.clone();
        let loaded = lua.create_table()?;
        let require = lua.create_async_function(move |lua, name: String| {
            let (modules, loaded) = (modules.clone(), loaded.clone());
            async move {
                let known: Value = loaded.get(name.as_str())?;
                if !known.is_nil() {
                    return Ok(known);
                }
                let file = format!("{name}.lua");
                let Some((_, code)) = modules.iter().find(|(known, _)| *known == file) else {
                    return Err(mlua::Error::RuntimeError(format!(
                        "`{file}` does not exist in the same directory; plugins have no other modules"
                    )));
                };
                let chunk = lua.load(code.as_str()).set_name(format!("@{file}"));
                let value: Value = chunk.call_async(()).await?;
                let value = if value.is_nil() {
                    Value::Boolean(true)
                } else {
                    value
                };
                loaded.set(name, value.clone())?;
                Ok(value)
            }
        })?;
        lua.globals().set("require", require)
    }
}

/// A folder of plugins: on disk, or with files that were read before.
#[derive(Debug, Clone)]
pub struct PluginFolder {
    pub path: PathBuf,
    files: Option<Vec<ConfigFile>>,
}

impl PluginFolder {
    /// A folder with these files, in its directories too.
    pub fn with_files(path: PathBuf, files: Vec<ConfigFile>) -> Self {
        let files = Some(files);
        Self { path, files }
    }

    /// The Lua files in the folder and in its directories, except hidden files.
    fn lua_files(&self) -> Vec<ConfigFile> {
        let mut files = self.files.clone().unwrap_or_else(|| listed(&self.path));
        files.retain(|file| {
            let ending = file.path.extension();
            let below = file.path.strip_prefix(&self.path).unwrap_or(&file.path);
            let mut names = below.iter().map(OsStr::to_string_lossy);
            ending.is_some_and(|ending| ending.eq_ignore_ascii_case("lua"))
                && !names.any(|name| name.starts_with('.') || is_off(&name))
        });
        files
    }
}

/// Endings of names that turn a plugin off.
const OFF: [&str; 2] = [".off", ".disabled"];

/// Whether this name of a file or directory turns a plugin off.
fn is_off(name: &str) -> bool {
    let name = name.strip_suffix(".lua").unwrap_or(name);
    OFF.iter().any(|ending| name.ends_with(ending))
}

impl From<PathBuf> for PluginFolder {
    /// A folder on disk, which is read when its plugins are loaded.
    fn from(path: PathBuf) -> Self {
        Self { path, files: None }
    }
}

fn listed(folder: &Path) -> Vec<ConfigFile> {
    let mut walk = Walk::new(None);
    let mut paths = Vec::new();
    for entry in walk.entries(folder) {
        if entry.is_folder {
            let below = walk.entries(&entry.path).into_iter();
            paths.extend(below.filter(|entry| !entry.is_folder));
        } else {
            paths.push(entry);
        }
    }
    paths.into_iter().map(|entry| entry.path.into()).collect()
}

/// A plugin on disk.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    /// The files of the plugin, or why they cannot be read.
    pub source: Result<Source, Problem>,
}

/// A plugin that does not load because of its name.
#[derive(Debug)]
pub struct Ignored {
    pub name: String,
    pub problem: Problem,
    /// The files of the plugin, as far as they can be read.
    pub source: Option<Source>,
}

/// The plugins in some folders.
#[derive(Debug, Default)]
pub struct Discovered {
    pub plugins: Vec<Found>,
    pub ignored: Vec<Ignored>,
}

/// All plugins in the folders; the first of a name is used. A missing folder has none.
pub fn discover(folders: &[PluginFolder]) -> Discovered {
    let mut all = Discovered::default();
    for folder in folders {
        let files = folder.lua_files();
        for main in &files {
            all.add(folder, &files, main);
        }
        if folder.files.is_none() {
            all.add_unreadable(&folder.path);
        }
    }
    all
}

impl Discovered {
    /// Adds the folder and the directories in it that cannot be read: a plugin may be there.
    fn add_unreadable(&mut self, folder: &Path) {
        let below = fs::read_dir(folder).into_iter().flatten().flatten();
        let below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
        for path in std::iter::once(folder.to_owned()).chain(below) {
            let name = file_name(&path);
            let Err(error) = fs::read_dir(&path) else {
                continue;
            };
            if error.kind() != io::ErrorKind::NotFound && !is_off(&name) {
                let message = format!("cannot be read: {error}");
                let problem = Problem::of_file(path, message, "");
                let source = None;
                self.ignored.push(Ignored {
                    name,
                    problem,
                    source,
                });
            }
        }
    }

    /// Adds the plugin whose main file is `main`, if it is one.
    fn add(&mut self, folder: &PluginFolder, files: &[ConfigFile], main: &ConfigFile) {
        let parent = main.path.parent();
        let directory = parent.filter(|parent| parent.parent() == Some(&folder.path));
        if directory.is_none() && parent != Some(&folder.path) {
            return;
        }
        // A dot in the name of a directory is a part of it.
        let name = directory.map_or_else(|| main.path.file_stem(), Path::file_name);
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        let others = directory.map(|directory| modules(files, directory, main));
        let source = read(main).and_then(|code| {
            Ok(Source {
                name: name.clone(),
                code,
                modules: others.transpose()?.unwrap_or_default(),
                path: main.path.clone(),
            })
        });
        let known = self.plugins.iter().find(|known| known.name == name);
        let message = match directory {
            None if main.path.extension().is_none_or(|ending| ending != "lua") => {
                "does not load: the name of a plugin ends in `.lua`".to_owned()
            }
            Some(directory) if !main.path.ends_with(MAIN) => {
                let in_directory = |file: &&ConfigFile| file.path.parent() == Some(directory);
                let first = files.iter().find(in_directory);
                if files.iter().any(|file| file.path == directory.join(MAIN)) || first != Some(main)
                {
                    return;
                }
                format!("does not load: a directory of a plugin has a file `{MAIN}`")
            }
            _ => match known {
                None => return self.plugins.push(Found { name, source }),
                Some(known) => {
                    let first = match &known.source {
                        Ok(first) => &first.path,
                        Err(problem) => &problem.path,
                    };
                    let is_copy = match (&known.source, &source) {
                        (Ok(first), Ok(second)) => {
                            first.code == second.code && first.modules == second.modules
                        }
                        _ => false,
                    };
                    // A project can contain a plugin that the user has, too.
                    if is_copy && !first.starts_with(&folder.path) {
                        return;
                    }
                    let first = first.display();
                    format!("does not load: `{first}` is a plugin with the same name")
                }
            },
        };
        self.ignored.push(Ignored {
            name,
            problem: Problem::of_file(&main.path, message, ""),
            source: source.ok(),
        });
    }
}

/// The main file of a directory.
const MAIN: &str = "init.lua";

fn modules(
    files: &[ConfigFile],
    folder: &Path,
    main: &ConfigFile,
) -> Result<Vec<(String, String)>, Problem> {
    let files = files.iter().filter(|file| *file != main);
    let files = files.filter(|file| file.path.parent() == Some(folder));
    let modules = files.map(|file| Ok((file_name(&file.path), read(file)?)));
    let mut modules = modules.collect::<Result<Vec<_>, _>>()?;
    modules.sort();
    Ok(modules)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn read(file: &ConfigFile) -> Result<String, Problem> {
    let problem = |error: ReadError| Problem::of_file(&file.path, error.to_string(), "");
    let text = file.text(FILE_LIMIT).map_err(problem)?;
    text.ok_or_else(|| problem(ReadError::Missing))
}
