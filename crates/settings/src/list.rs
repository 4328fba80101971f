//! The current value of every setting, and its source.

use std::path::{Path, PathBuf};

use toml::de::DeTable;
use toml::{Table, Value};

use super::edit::quoted;
use super::table::{Group, SETTINGS, Setting, Settings};
use osier_base::folders::Folders;
use osier_base::regular_file;

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    File {
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
    },
}

/// The current state of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingInfo {
    pub name: &'static str,
    pub description: &'static str,
    pub accepts: String,
    pub group: Group,
    pub default: &'static str,
    /// As written; empty when nothing is set.
    pub value: String,
    pub source: Source,
    /// The possible values as written; empty when any value is possible.
    pub choices: Vec<String>,
}

/// All settings for a session in `cwd`, in the order of the documentation.
pub fn list(folders: &Folders, cwd: &Path) -> Vec<SettingInfo> {
    let user = folders.settings();
    let text = regular_file::read_text(&user, super::FILE_LIMIT).ok();
    let project = super::project::project_file(folders, cwd).filter(|file| file.is_trusted);
    let project = project.map(|file| (file.path, file.content.ok()));
    let mut infos: Vec<SettingInfo> = SETTINGS.iter().map(SettingInfo::of).collect();
    let given = folders.overrides.iter();
    let given = given.map(|(name, text)| (name.clone(), Some(text.clone())));
    let files = std::iter::once((user, text)).chain(project).chain(given);
    for (path, text) in files {
        let Some(text) = text else { continue };
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

/// A value as a person reads and types it: text without quotes, the texts of a list with commas, other values as written.
/// The inverse of [`literal`].
///
/// ```
/// assert_eq!(osier_settings::readable(r#"["alpha", "beta"]"#), "alpha, beta");
/// ```
pub fn readable(value: &str) -> String {
    let table = format!("value = {value}\n").parse::<Table>();
    match table.ok().and_then(|mut table| table.remove("value")) {
        Some(Value::String(text)) => text,
        Some(Value::Array(items)) if !items.is_empty() => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            let joined = texts.as_ref().map(|texts| texts.join(", "));
            joined
                .filter(|joined| texts.as_deref() == Some(&texts_of(joined)))
                .unwrap_or_else(|| value.to_owned())
        }
        _ => value.to_owned(),
    }
}

/// Converts typed text to TOML: unchanged, as a quoted string, or as a list of the texts between commas.
///
/// # Errors
/// Why it is invalid, as a line for the user.
pub fn literal(name: &str, typed: &str) -> Result<String, String> {
    let fault = |value: &str| {
        let (_, problems) = Settings::parse(Path::new(""), &format!("{name} = {value}\n"));
        problems.into_iter().next()
    };
    let typed = typed.trim();
    let problem = fault(typed);
    // Further lines would be other settings.
    let table = format!("{name} = {typed}\n").parse::<Table>();
    if problem.is_none() && table.is_ok_and(|table| table.len() == 1) {
        return Ok(typed.to_owned());
    }
    let text = quoted(typed);
    let texts: Vec<String> = texts_of(typed).into_iter().map(quoted).collect();
    let texts = format!("[{}]", texts.join(", "));
    match fault(&text) {
        None => Ok(text),
        Some(_) if fault(&texts).is_none() => Ok(texts),
        Some(told) if told.hint.starts_with("expected ") => Err(told.hint),
        Some(told) => Err(problem.unwrap_or(told).message),
    }
}

/// The texts between commas. A comma in brackets belongs to its text: `run(a, b)`.
fn texts_of(typed: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let texts = typed.split(|sign| {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == ',' && depth == 0
    });
    texts.map(str::trim).collect()
}

impl SettingInfo {
    fn of(setting: &Setting) -> Self {
        Self {
            name: setting.name,
            description: setting.description,
            accepts: setting.accepts(),
            group: setting.group,
            default: setting.default,
            value: setting.default.to_owned(),
            source: Source::Default,
            choices: setting.form.choices(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FooterPart;

    #[test]
    fn every_default_is_valid_and_applies() {
        for setting in SETTINGS
            .iter()
            .filter(|setting| !setting.default.is_empty())
        {
            let text = format!("{} = {}\n", setting.name, setting.default);
            let (mut settings, problems) = Settings::parse(Path::new(""), &text);
            settings.written.clear();
            assert_eq!(problems, [], "{text}");
            assert_eq!(settings, Settings::default(), "{text}");
        }
        let defaults = Settings::default();
        let screen = &defaults.screen;
        let footer = [&screen.footer_left[..], &screen.footer_right].concat();
        assert_eq!(footer, FooterPart::ALL);
        assert_eq!((screen.theme.as_str(), screen.mouse), ("system", true));
        assert_eq!((defaults.max_retries, defaults.idle_timeout), (5, 300));
    }

    #[test]
    fn each_part_of_the_footer_is_used_once() {
        for value in ["[\"model\", \"model\"]", "[\"clock\"]"] {
            let text = format!("footer_left = {value}\n");
            let (_, problems) = Settings::parse(Path::new(""), &text);
            assert_eq!(problems.len(), 1, "{text}");
        }
        let (settings, problems) = Settings::parse(Path::new(""), "footer_left = []\n");
        assert_eq!((settings.screen.footer_left, problems), (vec![], vec![]));
    }

    #[test]
    fn a_value_is_reported_with_file_and_line() {
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
            ["\"yolo\"", "\"auto\"", "\"ask\"", "\"plan\""]
        );
        assert_eq!(found("theme").choices, [""; 0]);
    }

    #[test]
    fn values_are_read_as_they_are_typed() {
        for (value, text) in [
            ("\"C:\\\\new\"", "C:\\new"),
            ("[\"a\", \"bash(b, c)\"]", "a, bash(b, c)"),
            ("[\"a, b\"]", "[\"a, b\"]"),
            ("{ a = 1 }", "{ a = 1 }"),
            ("7", "7"),
            ("", ""),
        ] {
            assert_eq!(readable(value), text);
        }
    }

    #[test]
    fn typed_text_is_quoted_when_needed() {
        assert_eq!(literal("theme", " nord ").as_deref(), Ok("\"nord\""));
        assert_eq!(literal("max_retries", "7").as_deref(), Ok("7"));
        assert_eq!(literal("models", "[\"a\"]").as_deref(), Ok("[\"a\"]"));
        assert_eq!(literal("models", "a, b").as_deref(), Ok("[\"a\", \"b\"]"));
        assert_eq!(
            literal("deny", "run(a), bash(b, c)").as_deref(),
            Ok("[\"run(a)\", \"bash(b, c)\"]")
        );
        let lines = "\"dark\"\npermissions = \"yolo\"";
        assert_eq!(literal("theme", lines), Ok(quoted(lines)));
        let told = literal("max_retries", "many").unwrap_err();
        assert_eq!(told, "expected a whole number from 0");
    }
}
