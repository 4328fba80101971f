//! Files that need more than a general rule: files that make other programs run code when they are written, and files
//! with secrets. One table with the reason for each file.

mod table;

use std::cell::LazyCell;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use super::repository;
use super::rule::Rule;
use osier_base::folders::Folders;
use osier_base::{real_path, secrets, text, without_links};
use table::{Anywhere, CODE, Home, Place, Project, System};

/// A place, a name and a reason.
type Row = (Place, &'static str, &'static str);

/// Maximum bytes of a file that contains only a path.
const MAX_POINTER: u64 = 16 * 1024;

/// Parts of osier's own folders that the model may read: the prompt names them.
const SHOWN: [&str; 6] = [
    "skills",
    "AGENTS.md",
    "agents",
    "prompts",
    "commands",
    "outputs",
];

/// Directories of the project that can be links to others.
const LINKED: [&str; 4] = [".git", ".osier", ".claude", ".vscode"];

/// The reason why a file is sensitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sensitive {
    pub reason: &'static str,
    /// Whether the file needs permission only in the modes that ask; other files need it in every
    /// mode.
    pub is_of_tool: bool,
    /// The name of the file, which the pattern of an explicit rule contains.
    name: Name,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// Consecutive components of the path.
    Components(String),
    /// The literal start of the pattern must be in this folder.
    Folder(PathBuf),
}

impl Sensitive {
    /// Whether `rule` names this file, and not only with `*`.
    pub(super) fn is_named_by(&self, rule: &Rule, cwd: &Path) -> bool {
        let Some(pattern) = pattern_of(rule) else {
            return false;
        };
        match &self.name {
            Name::Components(name) => {
                let parts: Vec<String> = pattern.split('/').map(str::to_lowercase).collect();
                let wanted: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
                let fits = |parts: &[String]| {
                    parts.iter().zip(&wanted).all(|(part, wanted)| {
                        !part.contains(['*', '?', '[', '{']) && matches(wanted, part)
                    })
                };
                parts.windows(wanted.len()).any(fits)
            }
            Name::Folder(folder) => {
                let literal = pattern.split('/');
                let literal: Vec<&str> = literal
                    .take_while(|part| !part.contains(['*', '?', '[', '{']))
                    .collect();
                let start = osier_base::path::resolve(cwd, &literal.join("/"));
                start.starts_with(folder) || real_path::resolve(&start).real.starts_with(folder)
            }
        }
    }
}

/// The pattern of a rule.
fn pattern_of(rule: &Rule) -> Option<&str> {
    let (_, pattern) = rule.text.split_once('(')?;
    pattern.strip_suffix(')')
}

/// The directories that the table refers to.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    homes: Vec<PathBuf>,
    /// osier's own folders and its file with keys.
    own: Option<Own>,
}

#[derive(Debug, Clone)]
struct Own {
    folders: Vec<PathBuf>,
    credentials: PathBuf,
}

impl Places {
    pub(super) fn new(folders: Option<&Folders>) -> Self {
        let real = |path: &Path| real_path::resolve(path).real;
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let own = folders.map(|folders| Own {
            folders: vec![real(&folders.config), real(&folders.data)],
            credentials: real(&folders.credentials()),
        });
        let homes = home.iter().map(|home| real(home)).collect();
        Self { homes, own }
    }

    /// Why writing the file needs an explicit rule. `paths` are its names, `cwd` is the working directory.
    pub(super) fn runs_code(&self, paths: &[&Path], cwd: &Path) -> Option<Sensitive> {
        let links = LazyCell::new(|| self.links(cwd));
        paths.iter().find_map(|path| {
            self.in_table(path)
                .or_else(|| of_bare_repository(path))
                .or_else(|| links.of(path))
                .or_else(|| self.in_own_folder(path, cwd))
        })
    }

    fn in_table(&self, path: &Path) -> Option<Sensitive> {
        // Rows of tools come last, and names are split once.
        static ROWS: LazyLock<Vec<(&Row, Vec<String>)>> = LazyLock::new(|| {
            let rows = |of_tools: bool| {
                let rows = CODE.iter();
                rows.filter(move |(place, ..)| (*place == Project) == of_tools)
            };
            let parts = |name: &str| {
                let parts = name.split('/').filter(|part| !part.is_empty());
                parts.map(str::to_lowercase).collect()
            };
            let rows = rows(false).chain(rows(true));
            rows.map(|row| (row, parts(row.1))).collect()
        });
        let parts = lowered(path);
        let below: Vec<&[String]> = self.below_home(&parts).collect();
        let fits = |((place, ..), wanted): &&(&Row, Vec<String>)| match place {
            Anywhere | Project => starts(&parts, wanted),
            System => begins(&parts, wanted),
            Home => below.iter().any(|below| begins(below, wanted)),
        };
        let row = ROWS.iter().find(fits);
        row.map(|((place, name, reason), _)| Sensitive {
            reason,
            is_of_tool: *place == Project,
            name: Name::Components((*name).to_owned()),
        })
    }

    /// The parts of a path below a home directory: the user's own, and other users'.
    fn below_home<'a>(&'a self, parts: &'a [String]) -> impl Iterator<Item = &'a [String]> {
        let own = self.homes.iter().filter_map(|home| {
            let home = lowered(home);
            parts.strip_prefix(home.as_slice())
        });
        let other = match parts {
            [first, rest @ ..] if first == "root" => Some(rest),
            [first, _, rest @ ..] if matches!(first.as_str(), "home" | "users") => Some(rest),
            _ => None,
        };
        own.chain(other)
    }

    /// Finds the sensitive links of the project and of the home directories.
    fn links(&self, cwd: &Path) -> Links {
        // The rows of files of a home directory, by the first name of their paths.
        static ROWS: LazyLock<HashMap<String, Vec<&str>>> = LazyLock::new(|| {
            let mut found: HashMap<String, Vec<&str>> = HashMap::new();
            for (_, name, _) in CODE.iter().filter(|(place, ..)| *place == Home) {
                let first = name.split('/').next().unwrap_or(name);
                found.entry(first.to_lowercase()).or_default().push(name);
            }
            found
        });
        let of_project = LINKED.iter().map(|name| cwd.join(name));
        let of_home = self.homes.iter().flat_map(|home| {
            let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
            let rows = entries.filter_map(|entry| {
                let name = entry.file_name().to_string_lossy().to_lowercase();
                ROWS.get(&name)
            });
            rows.flatten().map(|name| home.join(name))
        });
        let is_link = |link: &PathBuf| link.symlink_metadata().is_ok_and(|data| data.is_symlink());
        let links = of_project.chain(of_home).filter(is_link);
        Links {
            targets: links.map(|link| real_path::resolve(&link).real).collect(),
            git: git_folders(cwd),
        }
    }

    fn in_own_folder(&self, path: &Path, cwd: &Path) -> Option<Sensitive> {
        let folder = self.own_folder(path, cwd)?;
        Some(Sensitive {
            reason: "osier runs code and reads its settings from it",
            is_of_tool: false,
            name: Name::Folder(folder.to_owned()),
        })
    }

    /// The folder of osier that contains `path`. A working directory inside of it is a copy of a project.
    fn own_folder(&self, path: &Path, cwd: &Path) -> Option<&Path> {
        let own = self.own.as_ref()?;
        let folder = own.folders.iter().find(|folder| path.starts_with(folder))?;
        let is_project = cwd.starts_with(folder) && path.starts_with(cwd);
        (!is_project).then_some(folder)
    }

    /// The reason if the file has osier's own keys, which no general rule allows to show.
    pub(super) fn is_credentials(&self, real: &Path) -> Option<Sensitive> {
        let own = self.own.as_ref().filter(|own| real == own.credentials)?;
        Some(Sensitive {
            reason: "it contains the keys of osier",
            is_of_tool: false,
            name: Name::Folder(own.credentials.clone()),
        })
    }

    /// Why showing the file needs permission in the modes that ask. `paths` are its names.
    pub(super) fn is_secret(&self, paths: &[&Path], cwd: &Path) -> Option<&'static str> {
        paths.iter().find_map(|path| {
            if let Some(folder) = self.own_folder(path, cwd) {
                let below = path.strip_prefix(folder).ok()?;
                let first = below.components().next();
                let is_shown = first
                    .is_some_and(|first| SHOWN.iter().any(|shown| first.as_os_str() == *shown));
                return (!is_shown).then_some("it is a file of osier");
            }
            let shows = || {
                let why = "an address in the settings of git contains a password";
                repository::shows_password(path).then_some(why)
            };
            secrets::is_secret_path(path).or_else(shows)
        })
    }
}

/// The targets of sensitive links, and the git directories of the working directory.
struct Links {
    targets: Vec<PathBuf>,
    git: Vec<PathBuf>,
}

impl Links {
    fn of(&self, path: &Path) -> Option<Sensitive> {
        if self.targets.iter().any(|target| path.starts_with(target)) {
            return Some(Sensitive {
                reason: "a link from a file that runs code leads to it",
                is_of_tool: false,
                name: Name::Folder(path.to_owned()),
            });
        }
        let folder = self.git.iter().find(|folder| path.starts_with(folder))?;
        Some(Sensitive {
            reason: "git runs its hooks and configured programs",
            is_of_tool: false,
            name: Name::Folder(folder.clone()),
        })
    }
}

/// The reason if the file makes a directory a repository, or is the configuration or a hook of a
/// repository with any name.
fn of_bare_repository(path: &Path) -> Option<Sensitive> {
    let reason = "git takes its directory for a repository and runs configured programs";
    let name = folded(&path.file_name()?.to_string_lossy());
    if name == "head" {
        let name = Name::Components("HEAD".to_owned());
        return Some(Sensitive {
            reason,
            is_of_tool: false,
            name,
        });
    }
    let is_repository =
        |folder: &&Path| folder.join("HEAD").exists() && folder.join("objects").exists();
    let folder = path.ancestors().skip(1).take(4).find(is_repository)?;
    let first = path.strip_prefix(folder).ok()?.components().next()?;
    let first = folded(&first.as_os_str().to_string_lossy());
    let runs =
        first.starts_with("config") || matches!(first.as_str(), "hooks" | "commondir" | "info");
    runs.then(|| Sensitive {
        reason,
        is_of_tool: false,
        name: Name::Folder(folder.to_owned()),
    })
}

/// The git directories of the working directory, when `.git` is a file.
fn git_folders(cwd: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in cwd.ancestors() {
        let git = folder.join(".git");
        let Some(text) = pointer(&git) else {
            continue;
        };
        if let Some(target) = text.strip_prefix("gitdir: ") {
            let target = folder.join(target);
            if let Some(common) = pointer(&target.join("commondir")) {
                found.push(real_path::resolve(&target.join(common)).real);
            }
            found.push(real_path::resolve(&target).real);
        }
        break;
    }
    found
}

/// The text of a small file, such as `.git` of a worktree.
fn pointer(path: &Path) -> Option<String> {
    let file = without_links::open(path).ok()?;
    let is_file = file.metadata().is_ok_and(|data| data.is_file());
    let mut text = String::new();
    is_file.then(|| file.take(MAX_POINTER).read_to_string(&mut text).ok())??;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// The name as file systems without case see it. macOS and directories of ext4 without case also
/// ignore invisible characters, and Windows ignores dots and blanks at the end, and the name of a
/// stream, as in `::$DATA`.
fn folded(name: &str) -> String {
    let is_seen = |char: &char| {
        let is_joiner = matches!(char, '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
        let is_selector = matches!(
            char,
            '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}'
        );
        !(is_joiner || is_selector || text::is_invisible(*char))
    };
    let seen: String = name.chars().filter(is_seen).collect();
    // The long s is also an s, although it is a small letter itself.
    let small = seen.to_lowercase().replace('\u{17f}', "s");
    let small = small
        .split_once("::$")
        .map_or(small.as_str(), |(file, _)| file);
    match small.trim_end_matches(['.', ' ']) {
        // The short name of Windows.
        "git~1" => ".git".to_owned(),
        "" => small.to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

/// The names of a path in lower case.
fn lowered(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(folded(&name.to_string_lossy())),
            Component::ParentDir => drop(names.pop()),
            _ => {}
        }
    }
    names
}

fn begins(parts: &[String], wanted: &[String]) -> bool {
    parts.len() >= wanted.len()
        && parts
            .iter()
            .zip(wanted)
            .all(|(part, wanted)| matches(wanted, part))
}

fn starts(parts: &[String], wanted: &[String]) -> bool {
    (0..parts.len()).any(|start| begins(&parts[start..], wanted))
}

/// Whether `name` matches `wanted`, in which `*` is any text.
fn matches(wanted: &str, name: &str) -> bool {
    match wanted.split_once('*') {
        None => wanted.eq_ignore_ascii_case(name),
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            homes: vec!["/users/me".into()],
            own: Some(Own {
                folders: vec!["/users/me/.config/osier".into(), "/data/osier".into()],
                credentials: "/data/osier/auth.json".into(),
            }),
        }
    }

    /// Paths in `/work`, and whether something runs or obeys the file.
    const FILES_THAT_RUN_CODE: &[(&str, bool)] = &[
        ("/work/.git/hooks/pre-commit", true),
        ("/work/deep/.git", true),
        ("/work/.GIT/config", true),
        ("/work/.g\u{200b}it/config", true),
        ("/work/.g\u{200c}i\u{200d}t/hooks/pre-commit", true),
        ("/work/\u{feff}.git\u{202e}/config", true),
        ("/work/.g\u{ad}IT/config", true),
        ("/work/.git\u{fe0f}/config", true),
        ("/work/sub/.git. ./config", true),
        ("/work/GIT~1/config", true),
        ("/work/.git::$INDEX_ALLOCATION/config", true),
        ("/work/.v\u{17f}code/tasks.json", true),
        ("/work/.mcp\u{2060}.json", true),
        ("/work/bare/HE\u{200b}AD", true),
        ("/work/.gitt\u{200b}/config", false),
        ("/srv/repository.git/hooks/update", true),
        ("/work/.mcp.json", true),
        ("/work/.claude/settings.json", true),
        ("/work/.vscode/tasks.json", true),
        ("/users/me/.bashrc", true),
        ("/users/me/.config/fish/conf.d/x.fish", true),
        ("/home/other/.ssh/authorized_keys", true),
        ("/root/.profile", true),
        ("/etc/cron.d/x", true),
        ("/data/osier/plugins/x.lua", true),
        ("/work/node_modules/.bin/prettier", true),
        ("/work/a/.venv/bin/python", true),
        ("/work/a/build.rs", true),
        ("/work/a/conftest.py", true),
        ("/work/.envrc", true),
        ("/work/rust-toolchain.toml", true),
        ("/work/.dir-locals-2.el", true),
        ("/work/mise.local.toml", true),
        ("/work/mise/config.toml", true),
        ("/work/.config/mise/config.toml", true),
        ("/work/pylintrc", true),
        ("/work/.ruby-version", true),
        ("/work/.node-version", true),
        ("/work/.nvmrc", true),
        ("/work/env/bin/python", true),
        ("/work/.yarn/sdks/typescript/bin/tsc", true),
        ("/work/lint-staged.config.js", true),
        ("/work/.travis.yml", true),
        ("/work/azure-pipelines.yml", true),
        ("/work/ci/Jenkinsfile", true),
        ("/work/hie.yaml", true),
        ("/work/.formatter.exs", true),
        ("/work/.flake8", true),
        ("/work/mypy.ini", true),
        ("/work/tools/bazel", true),
        ("/work/tools/bazelisk.md", false),
        ("/work/env/development.json", false),
        ("/work/src/mise.rs", false),
        ("/work/docs/api-version", false),
        ("/work/.gitignore", false),
        ("/work/Makefile", false),
        ("/work/package.json", false),
        ("/work/.editorconfig", false),
        ("/work/.github/dependabot.yml", false),
        ("/work/src/build.rs.md", false),
        ("/work/.github/workflows/ci.yml", true),
        ("/work/AGENTS.md", false),
        ("/work/dotfiles/.bashrc", false),
        ("/work/.npmrc", true),
        ("/work/bin/x", false),
        ("/work/.vscode/settings.json", true),
        ("/work/.agents/skills/x/SKILL.md", false),
        ("/work/src/.exrc", true),
        ("/work/opencode.md", false),
        ("/users/me/.config/app/settings.json", false),
        ("/users/me/.cargo/registry/x", false),
        ("/etc/hosts", false),
    ];

    #[test]
    fn files_that_run_code_are_known() {
        let cwd = Path::new("/work");
        for (path, expected) in FILES_THAT_RUN_CODE {
            let found = places().runs_code(&[Path::new(path)], cwd);
            assert_eq!(found.is_some(), *expected, "{path}");
        }
        // A copy of a project in the data folder.
        let copy = Path::new("/data/osier/fans/one");
        assert_eq!(places().runs_code(&[&copy.join("src/a.rs")], copy), None);
        assert!(
            places()
                .runs_code(&[&copy.join(".git/config")], copy)
                .is_some()
        );
    }

    #[test]
    fn an_explicit_rule_names_the_file() {
        let cwd = Path::new("/work");
        for (path, rule, expected) in [
            ("/work/.git/hooks/x", "write(.git/hooks/**)", true),
            ("/work/.git/hooks/x", "write(**/.git/**)", true),
            ("/work/.git/hooks/x", "write(./**)", false),
            ("/work/.git/hooks/x", "write(.git*/**)", false),
            ("/work/.git/hooks/x", "write(.gi?/**)", false),
            ("/work/.git/hooks/x", "write", false),
            ("/work/.git/hooks/x", "write(*)", false),
            ("/users/me/.bashrc", "edit(/users/me/.bashrc)", true),
            ("/users/me/.bashrc", "edit(/users/me/**)", false),
            (
                "/users/me/.config/git/config",
                "edit(/users/me/.config/git/**)",
                true,
            ),
            (
                "/users/me/.config/git/config",
                "edit(/users/me/.config/**)",
                false,
            ),
            (
                "/data/osier/settings.toml",
                "edit(/data/osier/*.toml)",
                true,
            ),
            ("/data/osier/settings.toml", "edit(/data/**)", false),
        ] {
            let found = places().runs_code(&[Path::new(path)], cwd).unwrap();
            let named = found.is_named_by(&Rule::parse(rule).unwrap(), cwd);
            assert_eq!(named, expected, "{path} {rule}");
        }
    }

    #[test]
    fn secret_files_are_known() {
        let cwd = Path::new("/work");
        for (path, expected) in [
            ("/work/.env", true),
            ("/data/osier/auth.json", true),
            ("/data/osier/sessions/a.jsonl", true),
            ("/users/me/.config/osier/mcp.json", true),
            ("/proc/1/environ", true),
            ("/users/me/.config/osier/skills/a/SKILL.md", false),
            ("/users/me/.config/osier/AGENTS.md", false),
            ("/work/src/main.rs", false),
        ] {
            let found = places().is_secret(&[Path::new(path)], cwd);
            assert_eq!(found.is_some(), expected, "{path}");
        }
    }
}
