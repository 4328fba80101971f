//! Which files of a project are settings, by the shape of their names, and which texts in them can name code.

use std::collections::BTreeSet;
use std::path::Path;

use crate::trust::facts::programs::is_in;
use crate::trust::snapshot::is_named_like_data;

/// Ends of the names of settings and manifests. Other files with data are settings only if another part of their name says so.
const ENDS: &str = "ini cfg cnf conf toml neon properties props targets csproj fsproj vbproj gradle kts sbt exs gemspec opam nimble cabal \
    rockspec";
/// Names of manifests, in lower case.
const MANIFESTS: &str = "package.json package.yaml package.json5 composer.json setup.py pom.xml pubspec.yaml deno.json deno.jsonc gemfile \
    gemfile.lock gems.rb gems.locked package.swift";
/// Ends of the names of sources.
const SOURCES: &str = "js cjs mjs ts cts mts jsx tsx py rb php lua pl go rs java kt swift c h cc cpp hpp cs ex erl ml hs scala clj vue svelte sh \
    bash zsh fish sql dart zig";
/// The beginnings of the names of settings that only their own tool loads.
const ALONE: [&str; 7] = [
    "drizzle",
    "playwright",
    "cypress",
    "prisma",
    "knexfile",
    "capacitor",
    "electron-builder",
];
/// Keys of plugins, in lower case, whose texts name code although they name data elsewhere.
const OF_PLUGINS: &str = "name paths";
/// Keys, in lower case and without `-` and `_`, whose values are folders with code.
const CODE_FOLDERS: &str = "librarypath pluginpath pluginsdir rulesdir";
/// Folders in which no tool looks for its settings: generated files, texts for people, settings of editors and agents.
const OTHERS: &str = ".git .github .gitlab .hg .svn .jj .changeset .idea .vscode .vs .claude .osier .codex .cursor .gemini .next .nuxt .svelte-kit \
    .output .turbo .cache .parcel-cache .angular .nx .gradle .dart_tool .terraform .tox .nox .pytest_cache .mypy_cache .ruff_cache .vite \
    .vercel .expo .nyc_output .vitepress .vuepress .astro .circleci .buildkite .woodpecker .ipynb_checkpoints .history .pnpm-store __pycache__ _build deps";
/// Hidden files that name no code.
const PLAIN: &str = ".gitlab-ci.yml .travis.yml .drone.yml .appveyor.yml .cirrus.yml .gitattributes .gitkeep .keep .mailmap .editorconfig .coverage .ds_store";
/// Keys, in lower case and without `-` and `_`, whose texts name inputs, outputs and other data.
const INPUTS: &str = "$schema alias allow author authors autoload banner baseurl bench benches bin browser browserslist bugs cache cachedir \
    cachelocation changelog charset classifiers collectcoveragefrom consolescripts content contributors coverage coveragedirectory \
    declarationdir deps dependencies dependencygroups describe description devdependencies dictionaries directories directory dist \
    distdir documentation email engines entry entrypoint entrypoints example examples exclude excludedfiles excludefiles excludepaths excludes \
    extendexclude extrapaths features file filename filepath files filter filters fixtures flagwords folders forceexclude globals \
    globalsetup guiscripts homepage icon ignore ignored ignoredpaths ignorefiles ignorepaths ignorepatterns ignores ignorewords include \
    includepaths input inputs keywords label lib license licensefile licensefiles locales maintainers members module \
    moduledirectories modulepaths modules name namespace optionaldependencies order outdir outfile output outputdir outputfile outputs packages packagedir \
    packagemanager patterns paths peerdependencies perfileignores project pymodules pythonpath readme reference references \
    repository requires requirespython resolutions rootdir rootdirs roots scripts setupfiles setupfilesafterenv sideeffects snapshotdir \
    source sourcedir sourceroot sources spec specs src srcs stories tags tasks test testdir testmatch testpaths \
    testpathignorepatterns testregex tests title types typeroots typings url urls usewords version where words workspace workspaces";
/// Parts of the names of keys whose texts are commands.
const COMMANDS: [&str; 4] = ["command", "cmd", "exec", "program"];
/// Keys in the manifest of a package that name no settings.
const PACKAGE: &str = "name version description scripts dependencies devDependencies peerDependencies optionalDependencies bundledDependencies \
    dependenciesMeta peerDependenciesMeta overrides resolutions main module exports types typings browser unpkg jsdelivr bin man directories \
    files workspaces engines os cpu packageManager repository homepage bugs license author contributors funding keywords private \
    publishConfig sideEffects type config volta require require-dev autoload autoload-dev require repositories authors support suggest \
    minimum-stability prefer-stable conflict replace provide imports prisma";

/// Whether a tool can find its settings in a file with this name. In a hidden folder, each file with code or values counts.
pub(in crate::trust) fn is_setting(name: &str, tool: &str, is_hidden: bool) -> bool {
    let name = name.to_lowercase();
    let (stem, end) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_note = is_in(PLAIN, &name)
        || name.ends_with("ignore")
        || name.contains("cache")
        || is_in("swp swo tmp bak pid sock lock", end)
        || is_named_like_data(Path::new(&name));
    let is_manifest = is_in(MANIFESTS, &name)
        || is_in(ENDS, end)
        || name.starts_with("build.")
        || name.starts_with("directory.");
    if is_manifest {
        return true;
    }
    if is_note {
        return false;
    }
    let parts = || name.split('.').rev().skip(1);
    if name.starts_with('.') || is_hidden {
        return true;
    }
    if is_in(SOURCES, end) {
        let is_alone =
            ALONE.iter().any(|start| name.starts_with(start)) && !is_of_tool(&name, tool);
        return !is_alone
            && parts().any(|part| ["config", "conf", "rc"].contains(&part))
            && stem.contains('.');
    }
    let has_word = ["config", "settings"]
        .iter()
        .any(|word| name.contains(word));
    let first = name.split('.').next().unwrap_or_default();
    let is_rc = first.len() > 4 && first.ends_with("rc");
    has_word || is_rc || parts().any(|part| part == "conf") || is_of_tool(&name, tool)
}

/// Whether a tool can find its settings in a file with this name above the project, such as in the home directory.
pub(in crate::trust) fn is_outer_setting(name: &str, tool: &str) -> bool {
    let plain = name.trim_start_matches('.').to_lowercase();
    let first = plain.split('.').next().unwrap_or_default();
    let is_rc = name.starts_with('.') && first.ends_with("rc");
    is_rc || is_of_tool(&plain, tool) || !name.starts_with('.') && is_setting(name, tool, false)
}

/// Whether the name of a file or folder begins with the name of the tool, or the tool's name with that of the file: `cSpell.json`,
/// `.golangci.yml`.
pub(in crate::trust) fn is_of_tool(name: &str, tool: &str) -> bool {
    let name = name.trim_start_matches('.').to_lowercase();
    let first = name.split('.').next().unwrap_or_default();
    let first = first.strip_suffix("file").unwrap_or(first);
    let tool = tool.to_lowercase();
    first.len() > 2 && tool.len() > 2 && (first.starts_with(&tool) || tool.starts_with(first))
}

/// Whether tools can have settings in the folder.
pub(in crate::trust) fn has_settings(folder: &str) -> bool {
    !is_in(OTHERS, folder)
}

/// The manifest of a package, reduced to the keys that can name settings.
pub(in crate::trust) fn without_package(text: &str) -> String {
    let Ok(serde_json::Value::Object(mut all)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    all.retain(|key, _| !is_in(PACKAGE, key));
    serde_json::Value::Object(all).to_string()
}

/// The texts of settings that can name code: all that are not under a key in [`INPUTS`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::trust) struct Names {
    /// The texts; a text in quotes can have blanks.
    pub texts: Vec<String>,
    /// The texts under a key in [`COMMANDS`], joined to commands.
    pub commands: Vec<String>,
    /// The values below a key or in a section for plugins.
    pub plugins: Vec<String>,
    /// The values of keys in [`CODE_FOLDERS`].
    pub folders: Vec<String>,
    /// The texts that occur only under a key in [`INPUTS`].
    pub inputs: BTreeSet<String>,
}

/// Reads the texts in JSON, YAML, TOML and INI, and the values in code.
pub(in crate::trust) fn names(text: &str) -> Names {
    let mut reader = Reader {
        has_comments: text.contains("*/"),
        ..Reader::default()
    };
    for line in text.lines() {
        reader.line(line);
    }
    reader.end_command();
    let mut found = reader.found;
    for text in &found.texts {
        found.inputs.remove(text);
    }
    found
}

/// A key whose values are being read.
#[derive(Debug)]
struct Key {
    /// The number of open brackets, and the column of the key.
    level: (usize, usize),
    is_input: bool,
    is_command: bool,
    is_plugin: bool,
    is_folder: bool,
}

#[derive(Debug, Default)]
struct Reader {
    found: Names,
    keys: Vec<Key>,
    brackets: usize,
    has_comments: bool,
    is_comment: bool,
    command: Vec<String>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let mut at = 0;
        if self.brackets == 0 && line.starts_with('[') {
            self.close((0, 0));
            let header = line.trim_matches(['[', ']', ' ']);
            let parts = header.split(['.', ':']);
            let is_input = parts.map(|part| part.trim_matches('"')).any(is_input);
            self.open((0, 0), header, is_input);
            if line.trim_end().ends_with(']') && !line.contains(['"', '\'', ',']) {
                return;
            }
        }
        while let Some(char) = line[at..].chars().next() {
            let rest = &line[at..];
            if self.is_comment {
                match rest.find("*/") {
                    Some(end) => (at, self.is_comment) = (at + end + 2, false),
                    None => return,
                }
                continue;
            }
            let is_start = line[..at]
                .chars()
                .next_back()
                .is_none_or(char::is_whitespace);
            match char {
                _ if char.is_whitespace() || ",;".contains(char) => at += char.len_utf8(),
                '#' | ';' if is_start => return,
                '/' if rest.starts_with("//") => return,
                '/' if rest.starts_with("/*") && self.has_comments => self.is_comment = true,
                '[' | '{' | '(' => {
                    self.brackets += 1;
                    at += 1;
                }
                ']' | '}' | ')' => {
                    self.brackets = self.brackets.saturating_sub(1);
                    let level = (self.brackets + 1, 0);
                    self.close(level);
                    at += 1;
                }
                '-' if is_start && rest[1..].starts_with([' ', '\t']) => {
                    // In YAML, an item of a list can begin left of the keys in the item before it.
                    self.close((self.brackets, at + 2));
                    at += 1;
                }
                _ => at = self.word(line, at, char),
            }
        }
    }

    /// Reads the word at `at`. Returns where it ends.
    fn word(&mut self, line: &str, at: usize, first: char) -> usize {
        let rest = &line[at..];
        let (word, mut end) = if "\"'`".contains(first) {
            let inner = &rest[1..];
            let length = inner.find(first).unwrap_or(inner.len());
            (&inner[..length], (at + length + 2).min(line.len()))
        } else {
            let is_end = |(place, char): (usize, char)| {
                char.is_whitespace()
                    || ",;[]{}()\"'`=<>".contains(char)
                    || char == ':'
                        && rest[place + 1..]
                            .chars()
                            .next()
                            .is_none_or(|next| next.is_whitespace() || "\"'`[{=".contains(next))
            };
            let end = rest.char_indices().find(|next| next.0 > 0 && is_end(*next));
            let length = end.map_or(rest.len(), |(place, _)| place);
            (&rest[..length], at + length)
        };
        let after = line.get(end..).unwrap_or_default();
        let next = after.trim_start();
        let sets = next.strip_prefix([':', '=']);
        let is_key = sets.is_some_and(|rest| !rest.starts_with(['=', '>', ':']));
        if is_key {
            end = line.len() - next.len() + 1;
            let column = if self.brackets == 0 { at + 1 } else { 0 };
            self.close((self.brackets, column));
            if !self.is_input() {
                self.found.texts.push(word.to_owned());
            }
            let is_named =
                self.keys.iter().any(|key| key.is_plugin) && is_in(OF_PLUGINS, &plain(word));
            self.open((self.brackets, column), word, is_input(word) && !is_named);
        } else if !word.is_empty() && !self.is_input() {
            self.found.texts.push(word.to_owned());
            let values = &mut self.found;
            if self.keys.iter().any(|key| key.is_plugin) {
                values.plugins.push(word.to_owned());
            }
            if self.keys.iter().any(|key| key.is_folder) {
                values.folders.push(word.to_owned());
            }
            if self.keys.iter().any(|key| key.is_command) {
                self.command.push(word.to_owned());
            }
        } else {
            self.found.inputs.insert(word.to_owned());
        }
        end.max(at + first.len_utf8())
    }

    fn open(&mut self, level: (usize, usize), key: &str, is_input: bool) {
        let name = plain(key);
        self.keys.push(Key {
            level,
            is_input,
            is_command: level != (0, 0) && COMMANDS.iter().any(|part| name.contains(part)),
            is_plugin: key.contains("plugin"),
            is_folder: is_in(CODE_FOLDERS, &name),
        });
    }

    /// Closes the open keys at this level and below it.
    fn close(&mut self, level: (usize, usize)) {
        let count = self.keys.len();
        self.keys.retain(|key| key.level < level);
        if count != self.keys.len() {
            self.end_command();
        }
    }

    fn end_command(&mut self) {
        if !self.command.is_empty() {
            self.found.commands.push(self.command.join(" "));
            self.command.clear();
        }
    }

    fn is_input(&self) -> bool {
        self.keys.iter().any(|key| key.is_input)
    }
}

fn plain(key: &str) -> String {
    let key = key.rsplit('.').next().unwrap_or_default().to_lowercase();
    key.replace(['-', '_', '"', ' '], "")
}

fn is_input(key: &str) -> bool {
    // Python gets these folders; `pythonPath` is the program of Python instead.
    let is_program = key.rsplit('.').next() == Some("pythonPath");
    !is_program && is_in(INPUTS, &plain(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_by_the_shape_of_their_names() {
        for (name, tool, expected) in [
            (".prettierrc", "eslint", true),
            (".env.local", "eslint", true),
            ("eslint.config.mjs", "eslint", true),
            ("cSpell.json", "cspell", true),
            ("turbo.jsonc", "turbo", true),
            (".golangci.yml", "golangci-lint", true),
            ("package.json", "eslint", true),
            ("mypy.ini", "pylsp", true),
            ("Directory.Build.targets", "dotnet", true),
            ("pylintrc", "pylint", true),
            ("tsconfig.app.json", "tsc", true),
            ("app.csproj", "omnisharp", true),
            (".gitignore", "eslint", false),
            (".main.js.swp", "eslint", false),
            ("README.md", "eslint", false),
            ("main.js", "eslint", false),
            ("config.ts", "eslint", false),
            ("settings.py", "pylint", false),
            ("src.py", "pylint", false),
            ("en.json", "eslint", false),
            ("config.css", "eslint", false),
        ] {
            assert_eq!(is_setting(name, tool, false), expected, "{name}");
        }
        assert!(!is_outer_setting(".bash_history", "eslint"));
        assert!(is_outer_setting(".eslintrc.json", "eslint"));
    }

    #[test]
    fn the_texts_of_settings_are_read_without_those_that_name_inputs() {
        for (text, texts, commands) in [
            (
                "{\"plugins\": [\"./a.js\"], \"files\": [\"src/b.js\"], // x\n\"extends\": \"./c\"}",
                &["plugins", "./a.js", "files", "extends", "./c"][..],
                &[][..],
            ),
            (
                "plugins:\n  - ./a.js # x\ninclude:\n- ./b.js\nrequire: ./c.rb\n",
                &["plugins", "./a.js", "include", "require", "./c.rb"],
                &[],
            ),
            (
                "overrides:\n  - files: x.js\n    options:\n      plugins: [./a.js]\n",
                &["overrides", "files", "options", "plugins", "./a.js"],
                &[],
            ),
            (
                "[build]\nlinker = \"./ld.sh\"\n[project.scripts]\nx = \"pkg.mod:main\"\n[mypy]\nplugins = tools/p.py\n",
                &["linker", "./ld.sh", "plugins", "tools/p.py"],
                &[],
            ),
            (
                "{\"check\": {\"overrideCommand\": [\"sh\", \"x y\"]}}",
                &["check", "overrideCommand", "sh", "x y"],
                &["sh x y"],
            ),
            (
                "export default { entry: './src/a.js', plugins: [p('./b.js')] };",
                &["export", "default", "entry", "plugins", "p", "./b.js"],
                &[],
            ),
        ] {
            let found = names(text);
            assert_eq!(found.texts, texts, "{text}");
            assert_eq!(found.commands, commands, "{text}");
        }
    }
}
