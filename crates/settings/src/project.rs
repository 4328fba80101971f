//! Settings of a project: they override those of the user only where that is safe.

use std::path::{Path, PathBuf};

use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::regular_file::{self, ReadError};
use osier_permissions::trust::{ProjectFiles, Trust, TrustState, project_root};

use super::parse::{parse, unreadable};
use super::{FILE_LIMIT, Settings};

impl Settings {
    /// The user's settings, overridden by those of the project around `cwd` if it is trusted. A project can
    /// add rules and make settings stricter, never weaken them.
    pub fn load_for(folders: &Folders, cwd: &Path) -> (Self, Vec<Problem>) {
        Self::load_both(folders, cwd, None)
    }

    /// The same in a session where `current` applies, which holds while a file cannot be read.
    pub fn reload_for(folders: &Folders, cwd: &Path, current: &Self) -> (Self, Vec<Problem>) {
        Self::load_both(folders, cwd, Some(current))
    }

    fn load_both(folders: &Folders, cwd: &Path, current: Option<&Self>) -> (Self, Vec<Problem>) {
        let (mut settings, mut problems) = Self::load_own(folders, cwd, current);
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
        if file.is_trusted {
            problems.extend(settings.without_scripts(&user, path));
            settings.sandbox_network = settings.sandbox_network.and(&user.sandbox_network);
        } else {
            // Only what restricts.
            settings = Self {
                permissions: settings.permissions,
                sandbox: settings.sandbox,
                ask: settings.ask,
                deny: settings.deny,
                faults: settings.faults,
                least: settings.least,
                ..user.clone()
            };
        }
        settings.permissions = settings.permissions.max(user.permissions);
        settings.sandbox = settings.sandbox.max(user.sandbox);
        settings.budget = settings.budget.stricter(&user.budget);
        settings.sandbox_write = user.sandbox_write;
        settings.web_search = user.web_search;
        settings.web_private_hosts = user.web_private_hosts;
        settings.pass_environment = user.pass_environment;
        settings.secret_warnings |= user.secret_warnings;
        settings.claude_hooks = user.claude_hooks;
        // A model that the project selects could allow everything.
        settings.review_model = user.review_model;
        // Only the user can decide where secrets are sent.
        settings.proxy = user.proxy;
        settings.ca_file = user.ca_file;
        settings.written = user.written;
        settings.faults.splice(..0, user.faults);
        (settings, problems)
    }

    /// Scripted models play files: only the user selects them.
    fn without_scripts(&mut self, user: &Self, path: &Path) -> Vec<Problem> {
        let is_script = |name: &String| name.starts_with("script/");
        let mut problems = Vec::new();
        let mut report = |name: &str| {
            let message = format!("`{name}` names a scripted model");
            let hint = "it is ignored; name it with `--model`";
            problems.push(Problem::of_file(path, message, hint));
        };
        for (name, own, users) in [
            ("model", &mut self.model, &user.model),
            ("plan_model", &mut self.plan_model, &user.plan_model),
            ("edit_model", &mut self.edit_model, &user.edit_model),
            ("small_model", &mut self.small_model, &user.small_model),
        ] {
            if own != users && own.as_ref().is_some_and(is_script) {
                own.clone_from(users);
                report(name);
            }
        }
        for (name, own, users) in [
            ("models", &mut self.models, &user.models),
            ("fallback", &mut self.fallback, &user.fallback),
            ("favourites", &mut self.favourites, &user.favourites),
        ] {
            if own != users && own.iter().any(is_script) {
                own.clone_from(users);
                report(name);
            }
        }
        problems
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
