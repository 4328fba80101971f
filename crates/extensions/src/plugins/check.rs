//! Checks the files of plugins without running them.

use mlua::{ChunkMode, Lua};
use osier_base::problem::Problem;

use super::discover::{PluginFolder, Source, discover};
use super::fault;

/// The errors of plugins that can be known without running them: names, unreadable files, syntax. Blocks.
pub fn check(folders: &[PluginFolder]) -> Vec<Problem> {
    let found = discover(folders);
    let lua = Lua::new();
    let mut problems = Vec::new();
    for plugin in found.plugins {
        match plugin.source {
            Ok(source) => problems.extend(compiled(&lua, &source)),
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(found.ignored.into_iter().map(|ignored| ignored.problem));
    problems
}

/// The syntax errors of a plugin.
fn compiled(lua: &Lua, source: &Source) -> Vec<Problem> {
    let chunk = source.chunk();
    let modules = source.modules.iter().map(|(name, code)| (name, code));
    let files = std::iter::once((&chunk, &source.code)).chain(modules);
    let errors = files.filter_map(|(name, code)| {
        let code = lua.load(code).set_name(format!("@{name}"));
        let error = code.set_mode(ChunkMode::Text).into_function().err()?;
        Some(fault::problem(&source.path, &chunk, &error))
    });
    errors.collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn files_are_compiled_and_not_run() {
        let folder = TempDir::new().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
        };
        write("good.lua", "while true do end");
        write("bad.lua", "local x = 1\nlocal = 2");
        write("pack/init.lua", "require('part')");
        write("pack/part.lua", "return {\n");
        write("other/main.lua", "return 1");
        let problems = check(&[folder.path().to_owned().into()]);
        let shown: Vec<String> = problems.iter().map(Problem::to_string).collect();
        let prefix = folder.path().display();
        assert_eq!(
            shown,
            [
                format!("{prefix}/bad.lua:2: <name> expected near '='"),
                format!("{prefix}/pack/part.lua:2: unexpected symbol near <eof>"),
                format!(
                    "{prefix}/other/main.lua: does not load: a directory of a plugin has a file `init.lua`"
                ),
            ]
        );
    }
}
