//! What plug-ins show: words in the footer, lines above the editor, keys of their own.

use super::app::App;
use osier_extensions::plugins::lines::{StyledLine, StyledSpan};
use osier_extensions::plugins::link::PluginKey;
use osier_session::host::{Event, Op};
use osier_term::face::{Emphasis, Face, Token};
use osier_term::keymap::Keymap;
use osier_term::row::{Row, Span};

/// Rows of widgets shown at most.
pub const WIDGET_ROWS: usize = 8;
/// Actions of keymaps that are a plug-in's.
const ACTION: &str = "plugin:";

/// What they show now. Owned by the app, changed by events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginView {
    /// By plug-in, in the order in which they first said something.
    statuses: Vec<(String, String)>,
    widgets: Vec<(String, Vec<StyledLine>)>,
    pub keys: Vec<PluginKey>,
}

impl PluginView {
    /// The words for the footer.
    pub fn status(&self) -> String {
        let texts = self.statuses.iter().map(|(_, text)| text.as_str());
        texts.collect::<Vec<_>>().join(" · ")
    }

    /// The rows above the editor.
    pub fn widget_rows(&self) -> Vec<Row> {
        let lines = self.widgets.iter().flat_map(|(_, lines)| lines);
        let rows = lines.take(WIDGET_ROWS).map(|line| {
            let mut row = row(line);
            row.spans.insert(0, Span::new("  ", Token::Text));
            row
        });
        rows.collect()
    }

    /// The widget rows there are, without making them.
    pub fn widget_height(&self) -> u16 {
        let rows: usize = self.widgets.iter().map(|(_, lines)| lines.len()).sum();
        u16::try_from(rows.min(WIDGET_ROWS)).unwrap_or_default()
    }
}

fn put<T>(list: &mut Vec<(String, T)>, plugin: &str, value: Option<T>) {
    let place = list.iter().position(|(name, _)| name == plugin);
    match (place, value) {
        (Some(place), Some(value)) => list[place].1 = value,
        (Some(place), None) => drop(list.remove(place)),
        (None, Some(value)) => list.push((plugin.to_owned(), value)),
        (None, None) => {}
    }
}

impl App {
    /// Applies an event of the plug-ins.
    pub(super) fn follow_plugins(&mut self, event: &Event) {
        match event {
            Event::PluginStatus { plugin, text } => {
                let text = text.clone().filter(|text| !text.is_empty());
                put(&mut self.plugins.statuses, plugin, text);
                self.footer.plugins = self.plugins.status();
            }
            Event::PluginWidget { plugin, lines } => {
                let lines = Some(lines.clone()).filter(|lines| !lines.is_empty());
                put(&mut self.plugins.widgets, plugin, lines);
            }
            Event::PluginKeys { keys } => {
                self.plugins.keys.clone_from(keys);
                self.bind_plugin_keys();
            }
            _ => {}
        }
    }

    /// Lays the keys of plug-ins under those of the keymap.
    pub(super) fn bind_plugin_keys(&mut self) {
        self.keymap
            .retain_actions(|action| !action.starts_with(ACTION));
        let keys = self.plugins.keys.clone();
        for key in keys {
            let action = format!("{ACTION}{}:{}", key.plugin, key.keys);
            if let Err(reason) = self.keymap.add_under("global", &key.keys, &action) {
                let text = format!("the key `{}` of `{}`: {reason}", key.keys, key.plugin);
                self.transcript
                    .notice(osier_agent::Severity::Warning, &text);
            }
        }
    }

    /// Does what a key of a plug-in is for; false when the action is none of theirs.
    pub(super) fn plugin_action(&mut self, action: &str) -> bool {
        let Some((plugin, keys)) = action
            .strip_prefix(ACTION)
            .and_then(|rest| rest.split_once(':'))
        else {
            return false;
        };
        self.ops.push(Op::PressPluginKey {
            plugin: plugin.to_owned(),
            keys: keys.to_owned(),
        });
        true
    }
}

/// A line of a plug-in in the colours of the theme.
pub fn row(line: &StyledLine) -> Row {
    Row::new(line.iter().map(span).collect())
}

fn span(span: &StyledSpan) -> Span {
    let token = match span.style.as_str() {
        "muted" => Token::Muted,
        "accent" => Token::Accent,
        "title" => Token::Title,
        "success" => Token::Success,
        "warning" => Token::Warning,
        "error" => Token::Error,
        "added" => Token::DiffAdded,
        "removed" => Token::DiffRemoved,
        "code" => Token::Code,
        _ => Token::Text,
    };
    let face = Face::from(token);
    let face = if span.bold {
        face.emphasised(Emphasis::BOLD)
    } else {
        face
    };
    Span::new(span.text.clone(), face)
}

/// Lines that are stored with a message of a plug-in, when it has any.
pub fn stored_rows(details: &serde_json::Value) -> Option<Vec<Row>> {
    let lines: Vec<StyledLine> = serde_json::from_value(details.get("lines")?.clone()).ok()?;
    (!lines.is_empty()).then(|| lines.iter().map(row).collect())
}

/// The keys of plug-ins, for help.
pub fn describe(keymap: &Keymap, keys: &[PluginKey]) -> Vec<(String, String)> {
    let bound = |key: &&PluginKey| {
        let action = format!("{ACTION}{}:{}", key.plugin, key.keys);
        !keymap.keys_for("global", &action).is_empty()
    };
    let shown = keys.iter().filter(bound);
    shown
        .map(|key| (key.keys.clone(), key.description.clone()))
        .collect()
}
