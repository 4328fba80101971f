//! Every setting as it stands: its value, and which file says so.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::edit::quoted;
use super::{SETTINGS, Setting, Settings};
use osier_base::folders::Folders;
use osier_permissions::trust::{Trust, project_root};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    File {
        path: PathBuf,
        /// From 1.
        line: usize,
    },
}

/// One setting as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingInfo {
    pub name: &'static str,
    pub description: &'static str,
    pub accepts: &'static str,
    pub default: &'static str,
    /// As it is written; empty when nothing is set.
    pub value: String,
    pub source: Source,
    /// The values to choose from, as they are written; none when it can be anything.
    pub choices: Vec<String>,
}

/// Every setting for a session in `cwd`, in the order of the documentation.
pub fn list(folders: &Folders, cwd: &Path) -> Vec<SettingInfo> {
    let mut files = vec![folders.settings()];
    if Trust::new(folders).allows(cwd) {
        files.push(project_root(cwd).join(".osier/settings.toml"));
    }
    let mut infos: Vec<SettingInfo> = SETTINGS.iter().map(SettingInfo::of).collect();
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let (table, _) = DeTable::parse_recoverable(&text);
        for (key, value) in table.into_inner() {
            let name = &**key.get_ref();
            if let Some(info) = infos.iter_mut().find(|info| info.name == name) {
                text[value.span()].clone_into(&mut info.value);
                let line = text[..key.span().start].matches('\n').count() + 1;
                let path = path.clone();
                info.source = Source::File { path, line };
            }
        }
    }
    infos
}

/// What was typed for a setting as it has to be written: as it is, or as a text in quotes.
///
/// # Errors
/// What is wrong with it, as a line for the user.
pub fn literal(name: &str, typed: &str) -> Result<String, String> {
    let fault = |value: &str| {
        let (_, problems) = Settings::parse(Path::new(""), &format!("{name} = {value}\n"));
        problems.into_iter().next()
    };
    let typed = typed.trim();
    let Some(problem) = fault(typed) else {
        return Ok(typed.to_owned());
    };
    let text = quoted(typed);
    match fault(&text) {
        None => Ok(text),
        Some(told) if told.hint.starts_with("it accepts") => Err(told.hint),
        Some(_) => Err(problem.message),
    }
}

impl SettingInfo {
    fn of(setting: &Setting) -> Self {
        Self {
            name: setting.name,
            description: setting.description,
            accepts: setting.accepts,
            default: setting.default,
            value: setting.default.to_owned(),
            source: Source::Default,
            choices: choices(setting.accepts),
        }
    }
}

/// `a, b or c` are the values themselves; anything else describes them.
fn choices(accepts: &str) -> Vec<String> {
    if accepts == "true or false" {
        return vec!["true".to_owned(), "false".to_owned()];
    }
    let Some((first, last)) = accepts.split_once(" or ") else {
        return Vec::new();
    };
    let words: Vec<&str> = first.split(", ").chain([last]).collect();
    let is_word = |word: &&str| {
        word.chars()
            .all(|char| char.is_ascii_lowercase() || char == '-')
    };
    if words.iter().all(is_word) {
        words.into_iter().map(quoted).collect()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_are_shown_are_those_that_hold() {
        for setting in SETTINGS
            .iter()
            .filter(|setting| !setting.default.is_empty())
        {
            let text = format!("{} = {}\n", setting.name, setting.default);
            let (settings, problems) = Settings::parse(Path::new(""), &text);
            assert_eq!(problems, [], "{text}");
            assert_eq!(settings, Settings::default(), "{text}");
        }
    }

    #[test]
    fn a_value_is_known_with_its_file_and_line() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::under(home.path());
        let text = "# mine\nmouse = false # no\nmodels = [\"a\"]\n";
        super::super::write(&folders.settings(), "mouse", Some("true")).unwrap();
        osier_base::atomic_file::write(&folders.settings(), text.as_bytes()).unwrap();
        let infos = list(&folders, home.path());
        let found = |name: &str| infos.iter().find(|info| info.name == name).unwrap();
        let path = folders.settings();
        assert_eq!(found("mouse").value, "false");
        assert_eq!(found("mouse").source, Source::File { path, line: 2 });
        assert_eq!(found("mouse").choices, ["true", "false"]);
        assert_eq!(found("theme").source, Source::Default);
        assert_eq!(
            found("permissions").choices,
            ["\"yolo\"", "\"ask\"", "\"plan\""]
        );
        assert_eq!(found("theme").choices, [""; 0]);
    }

    #[test]
    fn what_is_typed_is_quoted_where_it_has_to_be() {
        assert_eq!(literal("theme", " nord ").as_deref(), Ok("\"nord\""));
        assert_eq!(literal("max_retries", "7").as_deref(), Ok("7"));
        assert_eq!(literal("models", "[\"a\"]").as_deref(), Ok("[\"a\"]"));
        let told = literal("max_retries", "many").unwrap_err();
        assert_eq!(told, "it accepts a whole number from 0");
    }
}
