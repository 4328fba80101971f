//! A task: a folder with a prompt, files, and the checks that score what the model did.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;

use osier_base::regular_file;

const FILE: &str = "task.toml";
/// Maximum bytes of `task.toml` and `prompt.md`.
const LIMIT: u64 = 256 * 1024;
const TIME: Duration = Duration::from_mins(10);
const TURNS: u32 = 50;
const CHECK_TIME: Duration = Duration::from_mins(1);

/// A task, read from its folder.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub name: String,
    pub folder: PathBuf,
    pub prompt: String,
    /// A command that prepares the workspace.
    pub setup: Option<String>,
    /// How long the model may work.
    pub time: Duration,
    pub max_turns: u32,
    pub checks: Vec<Check>,
}

#[derive(Debug, Clone)]
pub(super) struct Check {
    pub name: String,
    pub points: f64,
    pub test: Test,
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    /// A command in the workspace, which must exit with 0.
    Run { command: String, time: Duration },
    /// The final answer must match all of these.
    Answer(Vec<Regex>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    prompt: Option<String>,
    setup: Option<String>,
    /// Seconds.
    timeout: Option<u32>,
    max_turns: Option<u32>,
    #[serde(default, rename = "check")]
    checks: Vec<CheckFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckFile {
    name: String,
    points: Option<f64>,
    run: Option<String>,
    answer: Option<Patterns>,
    timeout: Option<u32>,
}

/// One regular expression or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`answer` must be a string or a list of strings")]
enum Patterns {
    One(String),
    All(Vec<String>),
}

impl Task {
    /// The task in `folder`, or all tasks in its subfolders, by name.
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what is expected.
    pub(super) fn find(folder: &Path) -> Result<Vec<Self>, String> {
        let folder = folder
            .canonicalize()
            .map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
        if folder.join(FILE).exists() {
            return Ok(vec![Self::read(&folder)?]);
        }
        let entries = fs::read_dir(&folder)
            .map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
        let mut folders: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.join(FILE).exists())
            .collect();
        folders.sort();
        if folders.is_empty() {
            return Err(format!(
                "no task in `{}`: expected a folder with a `{FILE}`, or a folder of such folders",
                folder.display()
            ));
        }
        folders.iter().map(|folder| Self::read(folder)).collect()
    }

    fn read(folder: &Path) -> Result<Self, String> {
        let name = folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let path = folder.join(FILE);
        let text = regular_file::read_text(&path, LIMIT)
            .map_err(|error| format!("`{}` {error}", path.display()))?;
        let file: TaskFile =
            toml::from_str(&text).map_err(|error| format!("`{}`: {error}", path.display()))?;
        let invalid = |problem: &str| format!("`{}`: {problem}", path.display());
        let prompt = match file.prompt {
            Some(prompt) => prompt,
            None => regular_file::read_text(&folder.join("prompt.md"), LIMIT)
                .map_err(|error| invalid(&format!("no `prompt`, and `prompt.md` {error}")))?,
        };
        if prompt.trim().is_empty() {
            return Err(invalid("the prompt is empty"));
        }
        let checks: Vec<Check> = file
            .checks
            .into_iter()
            .map(|check| Check::new(check).map_err(|problem| invalid(&problem)))
            .collect::<Result<_, _>>()?;
        if checks.is_empty() {
            return Err(invalid("no `[[check]]`; a task needs at least one"));
        }
        Ok(Self {
            name,
            folder: folder.to_owned(),
            prompt,
            setup: file.setup,
            time: seconds(file.timeout).unwrap_or(TIME),
            max_turns: file.max_turns.unwrap_or(TURNS).max(1),
            checks,
        })
    }

    /// The hidden files of the checks.
    pub(super) fn checks_folder(&self) -> PathBuf {
        self.folder.join("checks")
    }

    /// The script that solves the task, if it has one.
    pub(super) fn solution(&self) -> Option<PathBuf> {
        Some(self.folder.join("solution.sh")).filter(|path| path.is_file())
    }

    /// Copies the files of the task to `workspace`, a new folder.
    pub(super) fn copy_files(&self, workspace: &Path) -> io::Result<()> {
        let files = self.folder.join("files");
        if files.is_dir() {
            return copy(&files, workspace);
        }
        fs::create_dir_all(workspace)
    }

    /// The points of all checks.
    pub(super) fn points(&self) -> f64 {
        self.checks.iter().map(|check| check.points).sum()
    }
}

impl Check {
    fn new(file: CheckFile) -> Result<Self, String> {
        let CheckFile { name, points, .. } = file;
        let points = points.unwrap_or(1.0);
        if !points.is_finite() || points <= 0.0 {
            return Err(format!("check `{name}`: `points` must be more than 0"));
        }
        let test = match (file.run, file.answer) {
            (Some(command), None) => Test::Run {
                command,
                time: seconds(file.timeout).unwrap_or(CHECK_TIME),
            },
            (None, Some(patterns)) => {
                let patterns = match patterns {
                    Patterns::One(pattern) => vec![pattern],
                    Patterns::All(patterns) => patterns,
                };
                let regexes = patterns.iter().map(|pattern| Regex::new(pattern));
                let regexes: Result<Vec<_>, _> = regexes.collect();
                Test::Answer(
                    regexes
                        .map_err(|error| format!("check `{name}`: invalid `answer`: {error}"))?,
                )
            }
            _ => return Err(format!("check `{name}` needs either `run` or `answer`")),
        };
        Ok(Self { name, points, test })
    }
}

fn seconds(value: Option<u32>) -> Option<Duration> {
    value.map(|value| Duration::from_secs(value.max(1).into()))
}

/// Copies a folder with its files, modes and symbolic links.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&from, &to)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else if kind.is_file() {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
