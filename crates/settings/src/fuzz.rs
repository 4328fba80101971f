//! Invariants that hold for every settings file, for fuzzing.

use std::path::Path;

use osier_base::problem::Problem;
use osier_protocol::{NetworkAccess, PermissionMode};
use toml::Table;
use toml::de::DeTable;

use crate::last_valid::settings_of;
use crate::parse::{parse, unreadable};
use crate::{SETTINGS, Setting, Settings, edit, literal, setting};

/// Separates the file from a text that the user types as a value.
const SEPARATOR: &str = "\n=====\n";
/// A larger file takes longer and shows nothing else.
const MOST: usize = 4096;
/// Settings that were valid before.
const LAST: &str = "permissions = \"plan\"\nsandbox = \"read-only\"\ndeny = [\"bash(rm *)\"]\nask = [\"edit\"]\n\
    allow = [\"bash(ls)\"]\nsandbox_network = [\"example.org\"]\nsandbox_write = [\"/tmp\"]\npass_environment = [\"KEY\"]\n";

/// The content of `settings.toml`, and what the user types.
pub fn settings(data: &[u8]) {
    let Ok(input) = std::str::from_utf8(data) else {
        return;
    };
    if input.len() > MOST {
        return;
    }
    let (text, typed) = input.split_once(SEPARATOR).unwrap_or((input, "dark"));
    let path = Path::new("settings.toml");
    let (found, problems) = Settings::parse(path, text);
    assert_eq!(
        (found.clone(), problems.clone()),
        Settings::parse(path, text)
    );
    check_problems(text, &found, &problems);
    check_written(&found);
    check_last(text);
    if found.faults.is_empty() {
        check_damage(text, &found);
    }
    for setting in SETTINGS.iter().map(|setting| setting.name).chain(["new"]) {
        check_edit(text, setting, "\"a value\"");
        check_typed(setting, typed);
    }
}

/// A problem names a line of the file, and a fault is a problem, too.
fn check_problems(text: &str, found: &Settings, problems: &[Problem]) {
    let lines = text.split('\n').count();
    for problem in problems {
        assert!(
            (1..=lines).contains(&problem.line.unwrap_or(1)),
            "{problem:?}"
        );
        assert!(!problem.message.is_empty());
    }
    for fault in &found.faults {
        assert!(problems.contains(fault), "{fault:?} is not shown");
    }
    if DeTable::parse(text).is_err() {
        assert!(!found.faults.is_empty(), "a syntax error is a fault");
    }
}

/// Settings that are stored as the last valid ones have the same safety settings when they are read.
fn check_written(found: &Settings) {
    if !found.faults.is_empty() {
        return;
    }
    let Some(stored) = settings_of(&found.written) else {
        unreachable!(
            "valid settings are stored as valid ones: {:?}",
            found.written
        );
    };
    assert_strict(&stored, found, &found.written);
    assert_strict(found, &stored, &found.written);
}

/// While the file cannot be read, nothing is looser than what was valid before.
fn check_last(text: &str) {
    let Some(last) = settings_of(LAST) else {
        unreachable!("the settings are valid");
    };
    let path = Path::new("settings.toml");
    let parsed = parse(Settings::default(), path, text);
    if parsed.settings.faults.is_empty() {
        return;
    }
    // No model is stricter than another: the last one applies, or the one that the file names.
    let own = parsed.settings.review_model.clone();
    let (found, _) = parsed.resolve(Some(&last));
    let reviewer = found.review_model.clone();
    assert!(reviewer == last.review_model || reviewer == own);
    let expected = Settings {
        review_model: reviewer,
        ..last.clone()
    };
    assert_strict(&found, &expected, text);
    let problem = Problem::of_file(path, "a fault", "");
    let (found, _) = unreadable(Settings::default(), problem).resolve(Some(&last));
    assert_strict(&found, &last, "an unreadable file");
}

/// A file that is damaged where it sets a safety setting is not looser than before.
fn check_damage(text: &str, whole: &Settings) {
    let path = Path::new("settings.toml");
    let Ok(table) = DeTable::parse(text) else {
        unreachable!("a file without faults is TOML");
    };
    let mut damaged = vec![
        format!("{text}\n= broken\n"),
        format!("]\n{text}"),
        format!("{text}\npermissions = \"ask"),
    ];
    for (key, value) in table.get_ref() {
        if !setting(key.get_ref()).is_some_and(Setting::is_safety) {
            continue;
        }
        let (name, value) = (key.span(), value.span());
        let replaced = |range: std::ops::Range<usize>, new: &str| {
            let mut text = text.to_owned();
            text.replace_range(range, new);
            text
        };
        let source = &text[value.clone()];
        // Any text can be the name of a model.
        let is_model = &**key.get_ref() == "review_model";
        let unknown = if is_model { "7" } else { "\"Unknown\"" };
        damaged.extend([
            // Without the value, without `=`, with a value of another type, twice, and misspelt.
            replaced(value.clone(), ""),
            replaced(name.end..value.start, " "),
            replaced(value.clone(), "0.5"),
            replaced(value.clone(), unknown),
            replaced(
                value.end..value.end,
                &format!("\n{} = {source}", key.get_ref()),
            ),
            replaced(name.end..name.end, "s"),
        ]);
    }
    for text in damaged {
        let (found, _) = Settings::parse(path, &text);
        assert_strict(&found, whole, &text);
    }
}

/// Everything that `found` lets through, `expected` lets through, too.
fn assert_strict(found: &Settings, expected: &Settings, text: &str) {
    let asks = found.permissions >= PermissionMode::Ask && found.least >= PermissionMode::Ask;
    let contains = |all: &[String], few: &[String]| few.iter().all(|one| all.contains(one));
    let (network, other) = (&found.sandbox_network, &expected.sandbox_network);
    let network = *network == NetworkAccess::Off || network.clone().and(other) == *network;
    for (name, is_strict) in [
        ("permissions", found.permissions >= expected.permissions),
        ("sandbox", found.sandbox >= expected.sandbox),
        ("deny", asks || contains(&found.deny, &expected.deny)),
        ("ask", asks || contains(&found.ask, &expected.ask)),
        ("allow", contains(&expected.allow, &found.allow)),
        ("network", network),
        (
            "write",
            contains(&expected.sandbox_write, &found.sandbox_write),
        ),
        (
            "environment",
            contains(&expected.pass_environment, &found.pass_environment),
        ),
        (
            "warnings",
            found.secret_warnings || !expected.secret_warnings,
        ),
        (
            "hooks",
            asks || found.claude_hooks == Some(true) || expected.claude_hooks != Some(true),
        ),
        (
            "review",
            asks || found.review_model == expected.review_model,
        ),
    ] {
        assert!(is_strict, "{name} is looser with {text:?}: {found:?}");
    }
}

/// One setting changes and all others stay.
fn check_edit(text: &str, name: &str, value: &str) {
    let Ok(before) = text.parse::<Table>() else {
        assert!(edit::set(text, name, Some(value)).is_err());
        return;
    };
    for value in [Some(value), None] {
        let Ok(changed) = edit::set(text, name, value) else {
            continue;
        };
        let mut expected = before.clone();
        match value.map(|value| toml::Value::String(value.trim_matches('"').to_owned())) {
            Some(value) => drop(expected.insert(name.to_owned(), value)),
            None => drop(expected.remove(name)),
        }
        let found = changed.parse::<Table>();
        assert_eq!(
            found.as_ref(),
            Ok(&expected),
            "{name} = {value:?} in {text:?}: {changed:?}"
        );
        let again = edit::set(&changed, name, value);
        assert_eq!(again.as_deref(), Ok(&*changed), "{name} is set again");
    }
}

/// A typed value changes no other setting.
fn check_typed(name: &str, typed: &str) {
    let Ok(value) = literal(name, typed) else {
        return;
    };
    let table = format!("{name} = {value}\n").parse::<Table>();
    let is_alone = table.is_ok_and(|table| table.len() == 1 && table.contains_key(name));
    assert!(is_alone, "{name} = {value:?}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_settings_never_fail_open() {
        osier_testing::fuzz::run_cases("settings", super::settings);
    }
}
