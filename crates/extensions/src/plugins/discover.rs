//! Finds plugins: `NAME.lua`, or a directory with `init.lua` whose other files it can `require`.

use std::path::{Path, PathBuf};

use mlua::{Lua, Value};

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
    /// The file that runs.
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

    /// Whether a text of the plugin names the event. Of a plugin that does not load, it is not known which it handles.
    pub(super) fn names(&self, event: &str) -> bool {
        let modules = self.modules.iter().map(|(_, code)| code);
        std::iter::once(&self.code)
            .chain(modules)
            .any(|code| code.contains(event))
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
                        "`{file}` does not exist in the same directory"
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

    /// The Lua files in it and in its directories.
    fn lua_files(&self) -> Vec<ConfigFile> {
        let mut files = self.files.clone().unwrap_or_else(|| listed(&self.path));
        files.retain(|file| file.path.extension().is_some_and(|ending| ending == "lua"));
        files
    }
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
    /// Its files, or why they cannot be read.
    pub source: Result<Source, Problem>,
}

/// All plugins in the folders; the first of a name is used. A missing folder has none.
pub fn discover(folders: &[PluginFolder]) -> Vec<Found> {
    let mut plugins: Vec<Found> = Vec::new();
    for folder in folders {
        let files = folder.lua_files();
        for main in &files {
            let parent = main.path.parent();
            let directory = parent.filter(|parent| parent.parent() == Some(&folder.path));
            let named = match directory {
                Some(directory) if main.path.ends_with("init.lua") => directory,
                None if parent == Some(&folder.path) => main.path.as_path(),
                _ => continue,
            };
            // A dot in the name of a directory is a part of it.
            let name = directory.map_or_else(|| named.file_stem(), Path::file_name);
            let name = name.unwrap_or_default().to_string_lossy();
            if plugins.iter().any(|known| known.name == name) {
                continue;
            }
            let others = directory.map(|folder| modules(&files, folder, main));
            let source = read(main).and_then(|code| {
                Ok(Source {
                    name: name.clone().into_owned(),
                    code,
                    modules: others.transpose()?.unwrap_or_default(),
                    path: main.path.clone(),
                })
            });
            plugins.push(Found {
                name: name.into_owned(),
                source,
            });
        }
    }
    plugins
}

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
