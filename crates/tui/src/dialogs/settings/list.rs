//! Every setting with its value. Enter switches to the next value or opens a line to type one; the preview describes
//! it and names the file that sets it.

use crate::actions::{Action, Command, Effect};
use crate::drawing::{Choice, Picker};
use osier_base::path;
use osier_settings::{SettingInfo, Source};
use osier_term::{Column, Columns, Face, Item, Row, Token, sentence};

pub(super) const ID: &str = "settings";

/// Settings that only the screen uses.
pub(crate) const OF_THE_SCREEN: &[&str] = &[
    "theme",
    "keymap",
    "mouse",
    "exit_output",
    "show_thinking",
    "turn_summary",
    "reduced_motion",
    "screen_reader",
    "side_panel",
    "footer_left",
    "footer_right",
    "images",
    "notifications",
    "title",
];

/// The settings by what they are about, in the order of the list.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "model",
        &[
            "model",
            "models",
            "fallback",
            "favourites",
            "model_options",
            "plan_model",
            "edit_model",
            "small_model",
            "review_model",
            "thinking",
            "cache_retention",
            "discover_local_models",
            "refresh_models",
        ],
    ),
    ("screen", OF_THE_SCREEN),
    (
        "safety",
        &[
            "permissions",
            "allow",
            "ask",
            "deny",
            "sandbox",
            "sandbox_network",
            "sandbox_write",
            "web_private_hosts",
            "pass_environment",
            "secret_warnings",
            "claude_hooks",
            "credential_store",
        ],
    ),
    (
        "agent",
        &[
            "subagents",
            "web_search",
            "mcp_tools_share",
            "describe_environment",
            "loop_guard",
            "background_after",
        ],
    ),
    ("context", &["auto_compact", "drop_results", "titles"]),
    (
        "files",
        &[
            "checkpoints",
            "checkpoints_limit",
            "checkpoints_days",
            "format",
            "lsp",
            "lsp_servers",
            "lsp_wait",
        ],
    ),
    (
        "limits",
        &[
            "max_retries",
            "idle_timeout",
            "answer_timeout",
            "max_cost",
            "max_tokens",
            "max_session_turns",
        ],
    ),
    ("network", &["proxy", "ca_file"]),
];

/// The group of a setting and its place in the list; one without a group is last.
fn group(name: &str) -> (usize, usize, &'static str) {
    let places = GROUPS
        .iter()
        .enumerate()
        .find_map(|(place, (group, names))| {
            let within = names.iter().position(|known| *known == name)?;
            Some((place, within, *group))
        });
    places.unwrap_or((GROUPS.len(), 0, "other"))
}

const COLUMNS: Columns = Columns {
    label: "setting",
    details: &[
        Column::words("about", 0).first(),
        Column::words("value", 0).at_least(12),
        Column::words("set in", 0),
    ],
};

/// The list.
pub(super) fn picker(settings: &[SettingInfo]) -> Picker<SettingInfo> {
    let mut settings = settings.to_vec();
    settings.sort_by_key(|info| group(info.name));
    Picker::new("Settings", "no setting matches", settings, |info| {
        [Action::EditSetting(info.name)]
    })
    .staying()
    .with_columns(COLUMNS)
    .taking("change")
    .on(Command::Remove, "reset", |info| {
        let (name, value) = (info.name.to_owned(), None);
        [Effect::WriteSetting { name, value }]
    })
    .with_preview(preview)
}

impl Choice for SettingInfo {
    fn row(&self) -> Item {
        let value = if self.value.is_empty() {
            "not set"
        } else {
            &self.value
        };
        let place = match &self.source {
            Source::Default => String::new(),
            Source::File { path, line } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("{name}:{line}")
            }
        };
        Item {
            label: self.name.to_owned(),
            details: vec![group(self.name).2.into(), value.into(), place.into()],
            keywords: self.description.to_owned(),
            dimmed: self.source == Source::Default,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

fn preview(info: &SettingInfo) -> Vec<Row> {
    let mut rows = vec![Row::plain(info.name, Face::bold(Token::Title))];
    rows.push(Row::new(sentence(info.description, Token::Text)));
    rows.push(Row::default());
    let accepts = format!("accepts {}", info.accepts);
    rows.push(Row::plain(accepts, Token::Muted));
    let default = if info.default.is_empty() {
        "not set"
    } else {
        info.default
    };
    rows.push(Row::plain(format!("default {default}"), Token::Muted));
    let source = match &info.source {
        Source::Default => "using the default".to_owned(),
        Source::File { path, line } => format!("set in {}:{line}", path::below_home(path)),
    };
    rows.push(Row::plain(source, Token::Muted));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_settings::SETTINGS;

    #[test]
    fn each_setting_has_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        grouped.sort_unstable();
        let mut all: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
