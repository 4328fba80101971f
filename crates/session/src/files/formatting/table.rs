//! The formatters: the files of each formatter, and the signs that a project uses it.

use std::path::{Path, PathBuf};

use osier_base::regular_file;

use osier_lsp::program;

/// Bytes of a configuration file that is searched for a section.
const CONFIGURATION_LIMIT: u64 = 256 * 1024;

/// A formatter that reads a text and writes it formatted.
#[derive(Debug)]
pub(super) struct Formatter {
    /// The program.
    pub(super) name: &'static str,
    /// Ends of file names.
    extensions: &'static [&'static str],
    /// Files that say that the project uses it.
    markers: &'static [&'static str],
    /// Files of other programs, which say so if they contain the text.
    sections: &'static [(&'static str, &'static str)],
    /// The arguments; `{file}` is the path, `{folder}` its folder, `{edition}` the edition of the Rust package.
    arguments: &'static [&'static str],
    /// The beginnings of names of files that select code for the formatter to run.
    tools: &'static [&'static str],
}

const WEB: &[&str] = &[
    "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json", "css", "scss", "less", "html",
    "vue", "md", "yaml", "yml", "graphql",
];
const C: &[&str] = &["c", "h", "cc", "cpp", "cxx", "hh", "hpp"];

/// All formatters. Of several for a file the first one counts.
pub(super) const FORMATTERS: &[Formatter] = &[
    Formatter {
        name: "rustfmt",
        extensions: &["rs"],
        markers: &["Cargo.toml", "rustfmt.toml", ".rustfmt.toml"],
        sections: &[],
        arguments: &["--edition", "{edition}", "--config-path", "{folder}"],
        tools: &[],
    },
    Formatter {
        name: "gofmt",
        extensions: &["go"],
        markers: &["go.mod"],
        sections: &[],
        arguments: &[],
        tools: &[],
    },
    Formatter {
        name: "biome",
        extensions: &[
            "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json", "jsonc", "css",
        ],
        markers: &["biome.json", "biome.jsonc"],
        sections: &[],
        arguments: &["format", "--stdin-file-path={file}"],
        tools: &[],
    },
    Formatter {
        name: "prettier",
        extensions: WEB,
        markers: &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.json5",
            ".prettierrc.yaml",
            ".prettierrc.yml",
            ".prettierrc.toml",
            ".prettierrc.js",
            ".prettierrc.cjs",
            ".prettierrc.mjs",
            ".prettierrc.ts",
            ".prettierrc.mts",
            ".prettierrc.cts",
            "prettier.config.js",
            "prettier.config.cjs",
            "prettier.config.mjs",
            "prettier.config.ts",
            "prettier.config.mts",
            "prettier.config.cts",
        ],
        sections: &[
            ("package.json", "\"prettier\":"),
            ("package.yaml", "prettier"),
        ],
        arguments: &["--stdin-filepath", "{file}"],
        tools: &["prettier"],
    },
    Formatter {
        name: "ruff",
        extensions: &["py", "pyi"],
        markers: &["ruff.toml", ".ruff.toml"],
        sections: &[("pyproject.toml", "[tool.ruff")],
        arguments: &[
            "format",
            "--force-exclude",
            "--stdin-filename",
            "{file}",
            "-",
        ],
        tools: &[],
    },
    Formatter {
        name: "black",
        extensions: &["py", "pyi"],
        markers: &[],
        sections: &[("pyproject.toml", "[tool.black")],
        arguments: &["--quiet", "--stdin-filename", "{file}", "-"],
        tools: &[],
    },
    Formatter {
        name: "clang-format",
        extensions: C,
        markers: &[".clang-format", "_clang-format"],
        sections: &[],
        arguments: &[
            "--style=file",
            "--fallback-style=none",
            "--assume-filename={file}",
        ],
        tools: &[],
    },
    Formatter {
        name: "shfmt",
        extensions: &["sh", "bash"],
        markers: &[],
        sections: &[
            (".editorconfig", "*.sh"),
            (".editorconfig", "shell_variant"),
        ],
        arguments: &["--filename", "{file}"],
        tools: &[],
    },
    Formatter {
        name: "stylua",
        extensions: &["lua"],
        markers: &["stylua.toml", ".stylua.toml"],
        sections: &[],
        arguments: &["--stdin-filepath", "{file}", "-"],
        tools: &[],
    },
    Formatter {
        name: "ocamlformat",
        extensions: &["ml", "mli"],
        markers: &[".ocamlformat"],
        sections: &[],
        arguments: &["--name={file}", "-"],
        tools: &[],
    },
];

/// A formatter for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: &'static str,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) tools: &'static [&'static str],
}

/// The formatter that the project `project` uses for a file, if it is installed. Blocks.
pub(super) fn find(file: &Path, project: &Path) -> Option<Found> {
    let folder = file.parent().filter(|folder| folder.starts_with(project))?;
    let end = file.extension()?.to_str()?;
    let fitting = FORMATTERS.iter();
    let mut fitting = fitting.filter(|formatter| formatter.extensions.contains(&end));
    fitting.find_map(|formatter| {
        formatter.is_used(folder, project).then_some(())?;
        let program = program(formatter.name, folder, project)?;
        Some(Found {
            name: formatter.name,
            program,
            tools: formatter.tools,
            arguments: formatter.arguments(file, folder, project),
            folder: folder.to_owned(),
        })
    })
}

/// The folders from `folder` up to `project`.
fn folders<'p>(folder: &'p Path, project: &'p Path) -> impl Iterator<Item = &'p Path> {
    folder
        .ancestors()
        .take_while(move |folder| folder.starts_with(project))
}

impl Formatter {
    fn is_used(&self, folder: &Path, project: &Path) -> bool {
        folders(folder, project).any(|folder| {
            let has = |marker: &&str| folder.join(marker).is_file();
            let contains = |(file, section): &(&str, &str)| {
                let text = regular_file::read(&folder.join(file), CONFIGURATION_LIMIT);
                text.is_ok_and(|text| String::from_utf8_lossy(&text).contains(section))
            };
            self.markers.iter().any(has) || self.sections.iter().any(contains)
        })
    }

    fn arguments(&self, file: &Path, folder: &Path, project: &Path) -> Vec<String> {
        let fill = |argument: &&str| {
            let filled = argument.replace("{file}", &file.to_string_lossy());
            let filled = filled.replace("{folder}", &folder.to_string_lossy());
            if filled.contains("{edition}") {
                return filled.replace("{edition}", &edition(folder, project));
            }
            filled
        };
        self.arguments.iter().map(fill).collect()
    }
}

/// The edition of the Rust package in a folder: its own, or that of its workspace.
fn edition(folder: &Path, project: &Path) -> String {
    let manifests = folders(folder, project).map(|folder| folder.join("Cargo.toml"));
    let texts = manifests.filter_map(|path| regular_file::read(&path, CONFIGURATION_LIMIT).ok());
    let mut editions = texts.filter_map(|text| {
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut lines = text.lines().map(str::trim);
        lines.find_map(|line| {
            let value = line
                .strip_prefix("edition")?
                .trim_start()
                .strip_prefix('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            let is_year = value.len() == 4 && value.bytes().all(|byte| byte.is_ascii_digit());
            is_year.then(|| value.to_owned())
        })
    });
    editions.next().unwrap_or_else(|| "2024".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use osier_base::atomic_file;

    use super::*;

    fn put(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        atomic_file::write(&path, text.as_bytes()).unwrap();
        path
    }

    #[test]
    fn only_what_the_project_uses_formats_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        // Above the project.
        put(folder.path(), ".prettierrc", "{}");
        let file = put(&project, "web/src/a.ts", "");
        for name in ["prettier", "biome", "ruff", "black"] {
            put(&project, &format!("node_modules/.bin/{name}"), "");
        }
        let name = |file: &Path| find(file, &project).map(|found| found.name);
        assert_eq!(name(&file), None);
        put(&project, "web/package.json", "{\"prettier\": {}}");
        assert_eq!(name(&file), Some("prettier"));
        put(&project, "biome.json", "{}");
        let found = find(&file, &project).unwrap();
        let expected = Found {
            name: "biome",
            program: project.join("node_modules/.bin/biome"),
            arguments: vec![
                "format".to_owned(),
                format!("--stdin-file-path={}", file.display()),
            ],
            folder: project.join("web/src"),
            tools: &[],
        };
        assert_eq!(found, expected);
        assert_eq!(name(&put(&project, "web/a.md", "")), Some("prettier"));
        let python = put(&project, "tool.py", "");
        assert_eq!(name(&python), None);
        put(&project, "pyproject.toml", "[tool.black]\n");
        assert_eq!(name(&python), Some("black"));
        put(
            &project,
            "pyproject.toml",
            "[tool.ruff.format]\n[tool.black]\n",
        );
        assert_eq!(name(&python), Some("ruff"));
        assert_eq!(name(Path::new("/etc/a.py")), None);
    }

    #[test]
    fn the_edition_is_that_of_the_package_or_its_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path();
        put(
            project,
            "Cargo.toml",
            "[workspace.package]\nedition = \"2018\"\n",
        );
        put(
            project,
            "one/Cargo.toml",
            "[package]\nedition.workspace = true\n",
        );
        put(project, "two/Cargo.toml", "[package]\nedition='2015'\n");
        let of = |name: &str| edition(&project.join(name), project);
        assert_eq!([of("one"), of("two"), of("")], ["2018", "2015", "2018"]);
    }
}
