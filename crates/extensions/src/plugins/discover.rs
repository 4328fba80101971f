//! Finds plugins: `NAME.lua`, or a directory with `init.lua` whose other files it can `require`.

use std::fs;
use std::path::{Path, PathBuf};

use mlua::{Lua, Value};

use osier_base::problem::Problem;

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

/// All plugins in the folders; the first of a name is used. A missing folder has none.
pub fn discover(folders: &[PathBuf]) -> (Vec<Source>, Vec<Problem>) {
    let mut sources: Vec<Source> = Vec::new();
    let mut problems = Vec::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        for path in paths {
            let main = if path.is_dir() {
                path.join("init.lua")
            } else {
                path.clone()
            };
            if !is_lua(&main) || !main.is_file() {
                continue;
            }
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if sources.iter().any(|known| known.name == name) {
                continue;
            }
            match read(&main) {
                Ok(code) => sources.push(Source {
                    name,
                    code,
                    modules: if path.is_dir() {
                        modules(&path, &main)
                    } else {
                        Vec::new()
                    },
                    path: main,
                }),
                Err(problem) => problems.push(problem),
            }
        }
    }
    (sources, problems)
}

fn is_lua(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "lua")
}

fn modules(folder: &Path, main: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    let files = paths.filter(|path| is_lua(path) && path != main);
    let mut modules: Vec<_> = files
        .filter_map(|path| Some((file_name(&path), read(&path).ok()?)))
        .collect();
    modules.sort();
    modules
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn read(path: &Path) -> Result<String, Problem> {
    let problem = |message: String| Problem::of_file(path, message, "it is ignored");
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > FILE_LIMIT => {
            Err(problem(format!("is larger than {FILE_LIMIT} bytes")))
        }
        _ => fs::read_to_string(path).map_err(|error| problem(format!("cannot be read: {error}"))),
    }
}
