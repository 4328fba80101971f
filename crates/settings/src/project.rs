//! Settings of a project: they override those of the user only where that is safe.

use std::path::Path;

use osier_base::config_file::ConfigFile;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_permissions::trust::{Trust, project_root};

use super::{FILE_LIMIT, Settings};

impl Settings {
    /// The user's settings, overridden by those of the project around `cwd` if it is trusted. A project can
    /// add rules and make settings stricter, never weaken them.
    pub fn load_for(folders: &Folders, cwd: &Path) -> (Self, Vec<Problem>) {
        let (user, mut problems) = Self::load(&folders.settings());
        let Some(file) = project_file(folders, cwd) else {
            return (user, problems);
        };
        let path = file.path.clone();
        let text = match file.text(FILE_LIMIT) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                problems.push(Problem::of_file(path, error.to_string(), "it is ignored"));
                return (user, problems);
            }
        };
        let (mut settings, found) = Self::parse_over(user.clone(), &path, &text);
        problems.extend(found);
        problems.extend(settings.without_scripts(&user, &path));
        settings.permissions = settings.permissions.max(user.permissions);
        settings.sandbox = settings.sandbox.max(user.sandbox);
        settings.sandbox_network = settings.sandbox_network.and(&user.sandbox_network);
        settings.sandbox_write = user.sandbox_write;
        settings.pass_environment = user.pass_environment;
        settings.secret_warnings |= user.secret_warnings;
        settings.claude_hooks = user.claude_hooks;
        // A model that the project selects could allow everything.
        settings.review_model = user.review_model;
        // Only the user can decide where secrets are sent.
        settings.proxy = user.proxy;
        settings.ca_file = user.ca_file;
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

/// The settings of the project around `cwd`, if it has any and is trusted.
pub(super) fn project_file(folders: &Folders, cwd: &Path) -> Option<ConfigFile> {
    const NAME: &str = ".osier/settings.toml";
    // Most projects have none: their other files are not read here.
    project_root(cwd).join(NAME).symlink_metadata().ok()?;
    Trust::new(folders).trusted_files(cwd).get(NAME)
}
