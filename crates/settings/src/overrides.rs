//! Settings for one run, from the command line: `--settings` with a file or JSON, and `--config KEY=VALUE`. They override
//! the files of the user and of the project. They are checked before anything runs, so that an invalid one is an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_base::folders::Folders;
use osier_base::regular_file::read_text;

use super::FILE_LIMIT;
use super::list::literal;
use super::parse::parse;
use super::row::Other;
use super::table::{SETTINGS, Settings, setting};

/// Reads the settings of the command line: files of settings, or JSON objects, and `KEY=VALUE`. Each is its name for
/// messages and its text in TOML.
///
/// # Errors
/// A file cannot be read, or a setting is unknown or has an invalid value.
pub fn overrides(
    sources: &[String],
    values: &[String],
    cwd: &Path,
) -> Result<Arc<Vec<(PathBuf, String)>>, String> {
    let mut texts = Vec::new();
    for source in sources {
        texts.push(text_of(source, cwd)?);
    }
    for value in values {
        let (name, typed) = value
            .split_once('=')
            .ok_or_else(|| format!("`--config {value}` is not `KEY=VALUE`"))?;
        let (name, typed) = (name.trim(), typed.trim());
        let text = match setting(name) {
            Some(_) => literal(name, typed).map_err(|error| {
                format!("invalid value `{typed}` for `{name}` in `--config`: {error}")
            })?,
            // The check below names the setting that was likely meant.
            None => typed.to_owned(),
        };
        texts.push((PathBuf::from("--config"), format!("{name} = {text}\n")));
    }
    for (name, text) in &texts {
        let parsed = parse(Settings::default(), name, text);
        if let Some(problem) = parsed.problems.first() {
            return Err(problem.to_string());
        }
    }
    Ok(Arc::new(texts))
}

/// The text of `--settings`.
fn text_of(source: &str, cwd: &Path) -> Result<(PathBuf, String), String> {
    if source.trim_start().starts_with('{') {
        let fault = |error: &dyn std::fmt::Display| format!("`--settings` is not valid: {error}");
        let value: toml::Table = serde_json::from_str(source).map_err(|error| fault(&error))?;
        let text = toml::to_string(&value).map_err(|error| fault(&error))?;
        return Ok((PathBuf::from("--settings"), text));
    }
    let path = osier_base::path::resolve(cwd, source);
    let text = read_text(&path, FILE_LIMIT);
    let text = text.map_err(|error| format!("cannot read `--settings {source}`: {error}"))?;
    Ok((path, text))
}

impl Settings {
    /// These settings with those of the command line. While safety settings of a file cannot be read, the command line can
    /// only restrict.
    pub(super) fn overridden(mut self, folders: &Folders) -> Self {
        for (name, text) in folders.overrides.iter() {
            let parsed = parse(self.clone(), name, text);
            let mut settings = parsed.settings;
            if !self.faults.is_empty() {
                for setting in SETTINGS.iter() {
                    let held = Other::LastValid { is_complete: false };
                    (setting.combine)(&mut settings, &self, held);
                }
            }
            settings.written = self.written;
            settings.faults = self.faults;
            self = settings;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use osier_base::atomic_file;
    use osier_protocol::PermissionMode;

    use super::*;

    fn load(files: &[&str], values: &[&str], user: &str) -> Result<Settings, String> {
        let home = tempfile::tempdir().unwrap();
        let mut folders = Folders::under(home.path());
        atomic_file::write(&folders.settings(), user.as_bytes()).unwrap();
        let [files, values] = [files, values].map(|list| {
            let owned = list.iter().map(|text| (*text).to_owned());
            owned.collect::<Vec<String>>()
        });
        atomic_file::write(
            &home.path().join("run.toml"),
            b"theme = \"nord\"\nmouse = false\n",
        )
        .unwrap();
        folders.overrides = overrides(&files, &values, home.path())?;
        Ok(Settings::load_for(&folders, home.path()).0)
    }

    #[test]
    fn settings_of_the_command_line_override_the_file() {
        let user = "theme = \"dark\"\nmax_retries = 1\nmodel = \"a/b\"\n";
        let settings = load(
            &["run.toml", r#"{"max_retries": 2, "deny": ["read(x)"]}"#],
            &["theme=light", "fallback = [\"c/d\"]", "permissions=ask"],
            user,
        );
        let settings = settings.unwrap();
        assert_eq!(settings.screen.theme, "light");
        assert!(!settings.screen.mouse);
        assert_eq!(settings.max_retries, 2);
        assert_eq!(settings.deny, ["read(x)"]);
        assert_eq!(settings.fallback, ["c/d"]);
        assert_eq!(settings.permissions, PermissionMode::Ask);
        assert_eq!(settings.model.as_deref(), Some("a/b"));
        assert_eq!(load(&[], &[], user).unwrap().screen.theme, "dark");
    }

    #[test]
    fn broken_files_are_not_loosened() {
        let user = "permissions = \"Ask\"\ntheme = \"dark\"\n";
        let settings = load(&[], &["permissions=yolo", "theme=light"], user).unwrap();
        assert_eq!(settings.permissions, PermissionMode::Ask);
        assert_eq!(settings.screen.theme, "light");
        assert_eq!(settings.faults.len(), 1);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for (files, values, expected) in [
            (
                &[][..],
                &["theme"][..],
                "`--config theme` is not `KEY=VALUE`",
            ),
            (&[], &["them=dark"], "unknown setting `them`"),
            (&[], &["mouse=3"], "invalid value `3` for `mouse`"),
            (&["{\"mouse\": 3}"], &[], "invalid value `3` for `mouse`"),
            (&["{\"mouse\""], &[], "`--settings` is not valid"),
            (
                &["missing.toml"],
                &[],
                "cannot read `--settings missing.toml`",
            ),
        ] {
            let error = load(files, values, "").unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
