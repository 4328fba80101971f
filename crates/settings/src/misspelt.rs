//! Unknown settings: whether one is likely to be a misspelt safety setting. Then it must not be ignored.

use toml::de::DeValue;

use osier_base::problem::nearest;
use osier_permissions::Rule;
use osier_protocol::{PermissionMode, SandboxMode};

use super::table::{SETTINGS, Setting, setting};

/// Parts of names that other programs, or other versions, give to safety settings.
const STEMS: [&str; 30] = [
    "_ask",
    "accept",
    "allow",
    "approv",
    "ask_",
    "banned",
    "blacklist",
    "block",
    "confirm",
    "deni",
    "deny",
    "disable",
    "forbid",
    "hook",
    "isolat",
    "network",
    "offline",
    "permi",
    "plan_mode",
    "polic",
    "protect",
    "read_only",
    "readonly",
    "restrict",
    "rule",
    "safe",
    "sandbox",
    "secur",
    "trust",
    "yolo",
];

/// The likely meaning of an unknown setting.
pub(super) enum Meant {
    /// No safety setting.
    Plain,
    /// A safety setting: this one, or an unknown one.
    Safety(Option<&'static Setting>),
}

/// The meaning of the unknown setting `name`.
pub(super) fn meant(name: &str, value: Option<&DeValue<'_>>) -> Meant {
    let safety = SETTINGS.iter().filter(|setting| setting.is_safety());
    let safety = nearest(name, safety.map(|setting| setting.name)).and_then(setting);
    if safety.is_some() {
        return Meant::Safety(safety);
    }
    let lower = name.to_lowercase().replace('-', "_");
    if STEMS.iter().any(|stem| lower.contains(stem)) {
        return Meant::Safety(None);
    }
    if let Some(name) = value.and_then(setting_of_value) {
        return Meant::Safety(setting(name));
    }
    Meant::Plain
}

/// The setting with the name most like `name`.
pub(super) fn most_like(name: &str) -> Option<&'static Setting> {
    setting(nearest(name, SETTINGS.iter().map(|setting| setting.name))?)
}

/// The safety setting that a value belongs to: a mode, a rule, or a table that contains safety settings.
fn setting_of_value(value: &DeValue<'_>) -> Option<&'static str> {
    match value {
        DeValue::String(text) => {
            let text = text.to_lowercase();
            let mode = PermissionMode::from_name(&text);
            if mode.is_some_and(|mode| mode != PermissionMode::Auto) {
                return Some("permissions");
            }
            let mode = SandboxMode::from_name(&text);
            if mode.is_some_and(|mode| mode != SandboxMode::Off) {
                return Some("sandbox");
            }
            let is_rule = text.contains('(') && Rule::parse(&text).is_some();
            is_rule.then_some("deny")
        }
        DeValue::Array(list) => list.iter().find_map(|value| {
            let text = value.get_ref().as_str();
            let is_tool = text
                .and_then(Rule::parse)
                .is_some_and(|rule| rule.is_built_in());
            is_tool
                .then_some("deny")
                .or_else(|| setting_of_value(value.get_ref()))
        }),
        DeValue::Table(table) => table.iter().find_map(|(key, value)| {
            let name: &str = key.get_ref();
            match setting(name) {
                Some(setting) => setting.is_safety().then_some(setting.name),
                None => match meant(name, Some(value.get_ref())) {
                    Meant::Safety(setting) => Some(setting.map_or("", |setting| setting.name)),
                    Meant::Plain => None,
                },
            }
        }),
        _ => None,
    }
}
