//! Settings of a project: they override the settings of the user only where that is safe.

use std::path::{Path, PathBuf};

use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::regular_file::{self, ReadError};
use osier_permissions::trust::{ProjectFiles, Trust, TrustState, project_root};

use super::FILE_LIMIT;
use super::parse::{parse, unreadable};
use super::row::Other;
use super::table::{SETTINGS, Settings};

impl Settings {
    /// The user's settings, overridden by the settings of the project around `cwd` if it is trusted. A project can add
    /// rules and make settings stricter, never weaken them.
    pub fn load_for(folders: &Folders, cwd: &Path) -> (Self, Vec<Problem>) {
        Self::load_both(folders, cwd, None)
    }

    /// Loads the settings for a session with the settings `current`, which stay in force while a file cannot be read.
    pub fn reload_for(folders: &Folders, cwd: &Path, current: &Self) -> (Self, Vec<Problem>) {
        Self::load_both(folders, cwd, Some(current))
    }

    fn load_both(folders: &Folders, cwd: &Path, current: Option<&Self>) -> (Self, Vec<Problem>) {
        let (settings, mut problems) = Self::load_own(folders, cwd, current);
        let mut settings = settings.overridden(folders);
        problems.extend(settings.add_claude(folders, cwd));
        (settings, problems)
    }

    /// The settings without those of other agents.
    fn load_own(folders: &Folders, cwd: &Path, current: Option<&Self>) -> (Self, Vec<Problem>) {
        let (user, mut problems) = Self::load_user(folders, current);
        let Some(file) = project_file(folders, cwd) else {
            return (user, problems);
        };
        let path = &file.path;
        let start = Self {
            faults: Vec::new(),
            ..user.clone()
        };
        let parsed = match file.content {
            Ok(text) => parse(start, path, &text),
            Err(error) => unreadable(start, Problem::of_file(path, error, "")),
        };
        let (mut settings, found) = parsed.resolve(None);
        problems.extend(found);
        let is_trusted = file.is_trusted;
        for setting in SETTINGS.iter() {
            if (setting.combine)(&mut settings, &user, Other::User { is_trusted }) {
                let message = format!("`{}` names a scripted model", setting.name);
                let hint = "it is ignored; name it with `--model`";
                problems.push(Problem::of_file(path, message, hint));
            }
        }
        settings.written = user.written;
        settings.faults.splice(..0, user.faults);
        (settings, problems)
    }
}

/// The settings file of a project.
pub(super) struct ProjectFile {
    pub path: PathBuf,
    /// The text, or why it cannot be read.
    pub content: Result<String, String>,
    /// Otherwise the project was trusted before its files changed.
    pub is_trusted: bool,
}

/// The settings of the project around `cwd`, if it has any and is trusted, or was trusted before its files changed.
pub(super) fn project_file(folders: &Folders, cwd: &Path) -> Option<ProjectFile> {
    const NAME: &str = ".osier/settings.toml";
    // Most projects have none: their other files are not read here.
    let path = project_root(cwd).join(NAME);
    if regular_file::real_path(&path) == Err(ReadError::Missing) {
        return None;
    }
    let (files, trust) = (ProjectFiles::read(cwd), Trust::new(folders));
    let is_trusted = match trust.state(&files) {
        TrustState::Trusted => true,
        TrustState::Refused | TrustState::Undecided(_) => return None,
        TrustState::Nothing | TrustState::Changed(_) => false,
    };
    if !is_trusted && !trust.was_trusted(&files) {
        return None;
    }
    let content = if let Some(file) = files.get(NAME) {
        let text = file.text(FILE_LIMIT).map(Option::unwrap_or_default);
        text.map_err(|error| error.to_string())
    } else {
        let mut rejected = files.rejected().iter();
        let rejected = rejected.find(|problem| path.starts_with(&problem.path));
        Err(rejected.map_or_else(
            || ReadError::Missing.to_string(),
            |problem| problem.message.clone(),
        ))
    };
    Some(ProjectFile {
        path,
        content,
        is_trusted,
    })
}
