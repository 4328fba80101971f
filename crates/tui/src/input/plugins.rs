//! The interface of plugins: text in the footer, lines above the editor, keys.

use crate::actions::{Command, Outbox};
use crate::conversation::Transcript;
use crate::drawing::styled_lines;
use crate::status::Footer;
use osier_protocol::{Event, Op, PluginKey, StyledLine};
use osier_term::{Keymap, Row, Span, Token};

/// Rows of widgets shown at most.
pub(crate) const WIDGET_ROWS: usize = 8;

/// The current output of the plugins. Owned by the app, changed by events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PluginView {
    /// By plugin, in the order of their first message.
    statuses: Vec<(String, String)>,
    widgets: Vec<(String, Vec<StyledLine>)>,
    keys: Vec<PluginKey>,
}

impl PluginView {
    /// The text for the footer.
    fn status(&self) -> String {
        let texts = self.statuses.iter().map(|(_, text)| text.as_str());
        texts.collect::<Vec<_>>().join(" · ")
    }

    /// The rows above the editor.
    pub(crate) fn widget_rows(&self) -> Vec<Row> {
        let lines = self.widgets.iter().flat_map(|(_, lines)| lines);
        let rows = lines.take(WIDGET_ROWS).map(|line| {
            let mut row = styled_lines::row(line);
            row.spans.insert(0, Span::new("  ", Token::Text));
            row
        });
        rows.collect()
    }

    /// The number of widget rows, without building the rows.
    pub(crate) fn widget_height(&self) -> u16 {
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

impl PluginView {
    /// Applies an event of the plugins.
    pub(crate) fn on_event(
        &mut self,
        event: &Event,
        keymap: &mut Keymap<Command>,
        footer: &mut Footer,
        transcript: &mut Transcript,
    ) {
        match event {
            Event::PluginStatus { plugin, text } => {
                let text = text.clone().filter(|text| !text.is_empty());
                put(&mut self.statuses, plugin, text);
                footer.plugins = self.status();
            }
            Event::PluginWidget { plugin, lines } => {
                let lines = Some(lines.clone()).filter(|lines| !lines.is_empty());
                put(&mut self.widgets, plugin, lines);
            }
            Event::PluginKeys { keys } => {
                self.keys.clone_from(keys);
                self.bind_keys(keymap, transcript);
            }
            _ => {}
        }
    }

    /// Binds the keys of plugins where the keymap leaves them free.
    pub(crate) fn bind_keys(&self, keymap: &mut Keymap<Command>, transcript: &mut Transcript) {
        keymap.retain_actions(|command| !matches!(command, Command::Plugin(_)));
        for (number, key) in (0..).zip(&self.keys) {
            let command = Command::Plugin(number);
            if let Err(reason) = keymap.bind_if_free("global", &key.keys, command) {
                let text = format!(
                    "cannot bind `{}` of plugin `{}`: {reason}",
                    key.keys, key.plugin
                );
                transcript.notice(osier_agent::Severity::Warning, &text);
            }
        }
    }

    /// Reports a pressed key to its plugin; false when the key no longer exists.
    pub(crate) fn press_key(&self, number: u16, outbox: &mut Outbox) -> bool {
        let Some(key) = self.keys.get(usize::from(number)) else {
            return false;
        };
        outbox.push(Op::PressPluginKey {
            plugin: key.plugin.clone(),
            keys: key.keys.clone(),
        });
        true
    }

    pub(crate) fn keys(&self) -> &[PluginKey] {
        &self.keys
    }
}

/// The description of a command, also when it is a key of a plugin.
pub(crate) fn description(command: Command, keys: &[PluginKey]) -> &str {
    let key = match command {
        Command::Plugin(number) => keys.get(usize::from(number)),
        _ => None,
    };
    key.map_or_else(|| command.description(), |key| &key.description)
}
