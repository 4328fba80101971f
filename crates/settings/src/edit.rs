//! Writes one setting to `settings.toml`. All other bytes of the file stay: comments, order, spaces.

use std::path::Path;

use crate::schema::SETTINGS_SCHEMA;
use toml::Spanned;
use toml::Table;
use toml::de::DeTable;

use osier_base::atomic_file::{self, Options};
use osier_base::regular_file::{self, ReadError};

/// A string in TOML syntax.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Writes `name = value` to the file at `path`, which is created if needed; without a value, the setting is
/// removed.
///
/// # Errors
/// Why the file was not changed, as a line for the user.
pub fn write(path: &Path, name: &str, value: Option<&str>) -> Result<(), String> {
    change(path, |text| set(text, name, value).map(Some)).map(drop)
}

/// Adds `text` to the list `name` in the file at `path`, or removes it. Returns false if the list has it already, or does
/// not have it.
///
/// # Errors
/// Why the file was not changed, as a line for the user.
pub fn edit_list(path: &Path, name: &str, text: &str, adds: bool) -> Result<bool, String> {
    change(path, |file| set_in_list(file, name, text, adds))
}

/// Writes the text that `change` makes of a file; false if it makes none.
fn change(
    path: &Path,
    change: impl FnOnce(&str) -> Result<Option<String>, String>,
) -> Result<bool, String> {
    let text = match regular_file::read_text(path, super::FILE_LIMIT) {
        Ok(text) => text,
        // Editors of TOML find the schema by this line.
        Err(ReadError::Missing) => format!("#:schema {SETTINGS_SCHEMA}\n"),
        Err(error) => return Err(format!("{} {error}", path.display())),
    };
    let changed = change(&text)
        .map_err(|error| format!("{}: {error}; fix the file first", path.display()))?;
    let Some(changed) = changed else {
        return Ok(false);
    };
    atomic_file::write_with(path, changed.as_bytes(), Options::PRIVATE)
        .map_err(|error| error.to_string())?;
    Ok(true)
}

/// The text of a settings file with one text more or less in a list, or `None` if nothing changes. Comments in the list
/// stay.
fn set_in_list(file: &str, name: &str, text: &str, adds: bool) -> Result<Option<String>, String> {
    let table = parse(file)?;
    let list = table.iter().find(|(key, _)| &**key.get_ref() == name);
    let Some((_, list)) = list else {
        let value = format!("[{}]", quoted(text));
        return adds.then(|| set(file, name, Some(&value))).transpose();
    };
    let items = list.get_ref().as_array();
    let items = items.ok_or_else(|| format!("`{name}` is no list"))?;
    let place = items
        .iter()
        .position(|item| item.get_ref().as_str() == Some(text));
    let mut value = file[list.span()].to_owned();
    let start = list.span().start;
    match (adds, place, items.last()) {
        (true, Some(_), _) | (false, None, _) => return Ok(None),
        (true, None, None) => value = format!("[{}]", quoted(text)),
        (true, None, Some(last)) => {
            value.insert_str(last.span().end - start, &format!(", {}", quoted(text)));
        }
        (false, Some(place), _) => {
            let own = items.get(place).map(Spanned::span).unwrap_or_default();
            let range = match (items.get(place + 1), place.checked_sub(1)) {
                (Some(next), _) => own.start..next.span().start,
                (None, Some(before)) => {
                    let before = items.get(before).map(Spanned::span);
                    before.unwrap_or_default().end..own.end
                }
                (None, None) => {
                    return set(file, name, Some("[]")).map(Some);
                }
            };
            value.replace_range(range.start - start..range.end - start, "");
        }
    }
    set(file, name, Some(&value)).map(Some)
}

/// The text of a settings file with one setting changed.
///
/// # Errors
/// The syntax error in `text`, or that the setting is in a form that cannot be changed.
pub fn set(text: &str, name: &str, value: Option<&str>) -> Result<String, String> {
    let changed = changed(text, name, value)?;
    // A setting can also be a table or an array of tables, and a value can be several lines.
    if is_only_change(text, &changed, name, value) {
        Ok(changed)
    } else {
        Err(format!(
            "`{name}` cannot be changed in the form `{name} = VALUE`"
        ))
    }
}

/// Whether `changed` is `text` with one setting changed, and nothing else.
fn is_only_change(text: &str, changed: &str, name: &str, value: Option<&str>) -> bool {
    let (Ok(mut before), Ok(mut after)) = (text.parse::<Table>(), changed.parse::<Table>()) else {
        return false;
    };
    let expected = match value.map(|value| format!("value = {value}\n").parse::<Table>()) {
        None => None,
        Some(Ok(mut alone)) if alone.len() == 1 => alone.remove("value"),
        Some(_) => return false,
    };
    before.remove(name);
    let found = after.remove(name);
    before == after && found == expected
}

fn parse(text: &str) -> Result<DeTable<'_>, String> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text[..text.floor_char_boundary(at)].matches('\n').count() + 1;
        format!("line {line}: {}", error.message().trim().to_lowercase())
    })?;
    Ok(table.into_inner())
}

fn changed(text: &str, name: &str, value: Option<&str>) -> Result<String, String> {
    let table = parse(text)?;
    let known = table.iter().find(|(key, _)| &**key.get_ref() == name);
    let mut changed = text.to_owned();
    match (known, value) {
        (Some((_, old)), Some(value)) => changed.replace_range(old.span(), value),
        (Some((key, old)), None) => {
            let start = text[..key.span().start].rfind('\n').map_or(0, |at| at + 1);
            let end = text[old.span().end..].find('\n');
            let end = end.map_or(text.len(), |at| old.span().end + at + 1);
            changed.replace_range(start..end, "");
        }
        (None, Some(value)) => {
            // After the heading of a table, the setting would belong to that table.
            let lines = table.iter().map(|(key, _)| {
                let before = &text[..key.span().start];
                before.rfind('\n').map_or(0, |at| at + 1)
            });
            let is_heading = |at: &usize| text[*at..].trim_start().starts_with('[');
            let at = lines.filter(is_heading).min().unwrap_or(text.len());
            let before = if at == 0 || text[..at].ends_with('\n') {
                ""
            } else {
                "\n"
            };
            changed.insert_str(at, &format!("{before}{name} = {value}\n"));
        }
        (None, None) => {}
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_added_to_a_list_and_removed_and_comments_stay() {
        let listed = "deny = [\n  \"read(x)\", # keys\n  \"run(b)\" # ssh\n]\nmouse = true\n";
        for (file, text, adds, expected) in [
            ("", "run(a)", true, Some("deny = [\"run(a)\"]\n")),
            ("deny = []\n", "run(a)", true, Some("deny = [\"run(a)\"]\n")),
            ("deny = [\"run(a)\"]\n", "run(a)", true, None),
            (
                "deny = [\"run(a)\"]\n",
                "run(a)",
                false,
                Some("deny = []\n"),
            ),
            ("", "run(a)", false, None),
            (
                listed,
                "run(c)",
                true,
                Some(
                    "deny = [\n  \"read(x)\", # keys\n  \"run(b)\", \"run(c)\" # ssh\n]\nmouse = true\n",
                ),
            ),
            (
                listed,
                "run(b)",
                false,
                Some("deny = [\n  \"read(x)\" # ssh\n]\nmouse = true\n"),
            ),
            (
                listed,
                "read(x)",
                false,
                Some("deny = [\n  \"run(b)\" # ssh\n]\nmouse = true\n"),
            ),
        ] {
            let changed = set_in_list(file, "deny", text, adds);
            assert_eq!(changed, Ok(expected.map(str::to_owned)), "{file} {text}");
        }
        let no_list = set_in_list("deny = true\n", "deny", "x", true);
        assert_eq!(no_list, Err("`deny` is no list".to_owned()));
    }

    #[test]
    fn one_setting_changes_and_every_other_byte_stays() {
        let text = "# mine\ntheme = \"dark\"   # at night\nmodels = [\n  \"a\", # first\n]\n";
        for (name, value, expected) in [
            (
                "theme",
                Some("\"nord\""),
                text.replace("\"dark\"", "\"nord\""),
            ),
            (
                "models",
                Some("[]"),
                "# mine\ntheme = \"dark\"   # at night\nmodels = []\n".to_owned(),
            ),
            (
                "models",
                None,
                "# mine\ntheme = \"dark\"   # at night\n".to_owned(),
            ),
            ("mouse", Some("false"), format!("{text}mouse = false\n")),
            ("mouse", None, text.to_owned()),
        ] {
            assert_eq!(set(text, name, value).as_deref(), Ok(&*expected), "{name}");
        }
        assert_eq!(set("", "a", Some("1")).as_deref(), Ok("a = 1\n"));
        assert_eq!(
            set("b = 2", "a", Some("1")).as_deref(),
            Ok("b = 2\na = 1\n")
        );
        assert_eq!(
            set("[x]\nb = 2\n", "a", Some("1")).as_deref(),
            Ok("a = 1\n[x]\nb = 2\n")
        );
        assert_eq!(
            set("[[x]]\nb = 2\n", "a", Some("1")).as_deref(),
            Ok("a = 1\n[[x]]\nb = 2\n")
        );
        for (text, value) in [("[a]\nb = 1\n", "1"), ("", "1\nb = 2"), ("", "# 1")] {
            let expected = "`a` cannot be changed in the form `a = VALUE`".to_owned();
            assert_eq!(set(text, "a", Some(value)), Err(expected), "{text}");
        }
        let broken = set("a = 1\nb = = 2\n", "a", Some("2")).unwrap_err();
        assert!(broken.starts_with("line 2: "), "{broken}");
    }

    #[test]
    fn a_new_file_names_its_schema() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/settings.toml");
        write(&path, "theme", Some("\"nord\"")).unwrap();
        let url =
            "https://raw.githubusercontent.com/osier-dev/osier/main/docs/settings.schema.json";
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("#:schema {url}\ntheme = \"nord\"\n"));
    }
}
