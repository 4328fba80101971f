//! The page of all settings, `docs/settings.md`.

use std::fmt::Write as _;

use super::table::{Group, SETTINGS, Setting};

const START: &str = "# Settings

Set defaults of osier in `settings.toml`, in the directory that `osier config path` shows. `/settings` shows and changes them, and a
saved file applies at once. The variable `OSIER_HOME` names another folder, for the configuration, the sessions and all else that osier
stores: `OSIER_HOME=$(mktemp -d) osier` runs without yours.

    theme = \"nord\"
    permissions = \"ask\"
    fallback = [\"openai/gpt-5\", \"anthropic/claude-sonnet-4-5\"]

| source | applies |
|---|---|
| `settings.toml` | everywhere |
| `.osier/settings.toml` of a project that you trust | in the project; it cannot weaken permissions or change where secrets are sent |
| `--settings FILE`, `--settings '{\"theme\": \"nord\"}'` | in this run, over both |
| `--config KEY=VALUE`, such as `--config theme=nord` | in this run, over all others |

Other flags, such as `--model` and `--permissions`, override settings too. An invalid line of a file is reported and skipped; an
invalid setting of the command line is an error. While a safety setting cannot be read, its strictest value applies
([safety.md](safety.md#settings-that-cannot-be-read)).
";

/// The page, in Markdown.
fn settings_page() -> String {
    let mut page = START.to_owned();
    for group in Group::ALL {
        let name = group.name();
        let (first, rest) = name.split_at(1);
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## {}{rest}\n\n| setting | default | accepts | meaning |\n|---|---|---|---|\n",
            first.to_uppercase()
        );
        for setting in SETTINGS.iter().filter(|setting| setting.group == group) {
            page.push_str(&row(setting));
        }
    }
    page
}

fn row(setting: &Setting) -> String {
    let default = match setting.default {
        "" => String::new(),
        default => format!("`{}`", cell(default)),
    };
    format!(
        "| `{}` | {default} | {} | {} |\n",
        setting.name,
        cell(&setting.accepts()),
        cell(setting.description)
    )
}

fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    // recipe: a setting, 5: `docs/settings.md`: written by `UPDATE_DOCS=1 cargo test -p osier-settings page`
    #[test]
    fn the_page_in_the_documentation_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        osier_testing::pages::check_file(&path, &settings_page());
    }

    #[test]
    fn every_setting_has_a_row() {
        let page = settings_page();
        for setting in SETTINGS.iter() {
            assert!(
                page.contains(&format!("\n| `{}` | ", setting.name)),
                "{}",
                setting.name
            );
        }
    }
}
