//! The command registry: everything a key, the palette or a slash command can start.
//!
//! `registry.rs` has one row per command. Keymaps, help, the palette, the prompt's completion and the dispatch
//! of keys read it; nothing else lists commands.

mod arguments;
mod help;
mod palette;
mod registry;
mod slash;

use std::fmt;
use std::time::Instant;

use super::app::App;
use osier_term::widgets::textarea::modal::EDITS;

pub use registry::Command;
pub(crate) use slash::{Slash, find_slash, parse_slash, slash_commands};

use registry::COMMANDS;
use slash::Parse;

/// The topic of a command: the palette shows it before the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    Account,
    Application,
    Conversation,
    Editor,
    Files,
    List,
    Model,
    Prompt,
    Run,
    Session,
    Settings,
    Tabs,
    Tools,
    Tree,
}

impl Category {
    /// The name that the palette shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Account => "Account",
            Self::Application => "Application",
            Self::Conversation => "Conversation",
            Self::Editor => "Editor",
            Self::Files => "Files",
            Self::List => "List",
            Self::Model => "Model",
            Self::Prompt => "Prompt",
            Self::Run => "Run",
            Self::Session => "Session",
            Self::Settings => "Settings",
            Self::Tabs => "Tabs",
            Self::Tools => "Tools",
            Self::Tree => "Tree",
        }
    }
}

/// What a command does once no component in front has used it.
#[derive(Debug, Clone, Copy)]
enum Run {
    /// Nothing: only components use it.
    Component,
    /// It always applies.
    Always(fn(&mut App, Instant)),
    /// It applies in some states; false when it does not.
    Maybe(fn(&mut App, Instant) -> bool),
    /// It needs arguments: types the slash command into the prompt.
    Arguments,
}

/// A row of the registry.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo {
    pub command: Command,
    /// The name in keymaps.
    pub name: &'static str,
    /// An earlier name, which keymaps may still use.
    pub alias: Option<&'static str>,
    pub category: Category,
    /// What it does, in the imperative.
    pub description: &'static str,
    /// The command as it is typed into the prompt.
    pub slash: Option<Slash>,
    run: Run,
    key_only: bool,
}

impl CommandInfo {
    const fn new(
        command: Command,
        category: Category,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            command,
            name,
            alias: None,
            category,
            description,
            slash: None,
            run: Run::Component,
            key_only: false,
        }
    }

    const fn run(mut self, run: fn(&mut App, Instant)) -> Self {
        self.run = Run::Always(run);
        self
    }

    const fn maybe(mut self, run: fn(&mut App, Instant) -> bool) -> Self {
        self.run = Run::Maybe(run);
        self
    }

    /// Leaves it out of the palette: it makes sense only as a key.
    const fn key_only(mut self) -> Self {
        self.key_only = true;
        self
    }

    const fn alias(mut self, name: &'static str) -> Self {
        self.alias = Some(name);
        self
    }

    /// `/NAME` does the same.
    const fn slash(mut self, name: &'static str) -> Self {
        self.slash = Some(Slash::new(name, "", None));
        self
    }

    /// `/NAME` does the same, `/NAME ARGUMENT` what `parse` makes of the argument.
    const fn slash_with(
        mut self,
        name: &'static str,
        argument: &'static str,
        parse: Parse,
    ) -> Self {
        self.slash = Some(Slash::new(name, argument, Some(parse)));
        self
    }

    /// `/NAME ARGUMENT` is the only way to run it: `parse` gets the argument even when it is empty.
    const fn typed(mut self, name: &'static str, argument: &'static str, parse: Parse) -> Self {
        self.run = Run::Arguments;
        self.slash_with(name, argument, parse)
    }

    /// Another name of the slash command.
    const fn slash_alias(mut self, alias: &'static str) -> Self {
        if let Some(slash) = &mut self.slash {
            slash.alias = Some(alias);
        }
        self
    }

    /// Values of the argument that completion offers.
    const fn values(mut self, values: fn() -> Vec<&'static str>) -> Self {
        if let Some(slash) = &mut self.slash {
            slash.values = values;
        }
        self
    }

    /// Whether the palette lists it.
    pub fn in_palette(&self) -> bool {
        !self.key_only && !matches!(self.run, Run::Component)
    }

    /// Runs it; false when it does not apply now.
    pub(super) fn apply(&self, app: &mut App, now: Instant) -> bool {
        match (self.run, self.slash) {
            (Run::Always(run), _) => {
                run(app, now);
                true
            }
            (Run::Maybe(run), _) => run(app, now),
            (Run::Arguments, Some(slash)) => {
                app.editor.set_text(&format!("/{} ", slash.name));
                true
            }
            (Run::Component | Run::Arguments, _) => false,
        }
    }
}

impl Command {
    /// Its description in help.
    pub fn description(self) -> &'static str {
        match self {
            Self::Edit(edit) => edit.description(),
            Self::Plugin(_) => "Run a plugin",
            command => command.info().map_or("", |info| info.description),
        }
    }

    /// Every name that a keymap can bind, with its command.
    pub fn names() -> Vec<(&'static str, Self)> {
        let commands = COMMANDS.iter().flat_map(|info| {
            let names = [Some(info.name), info.alias].into_iter().flatten();
            names.map(|name| (name, info.command))
        });
        let edits = EDITS.iter().map(|info| (info.name, Self::Edit(info.edit)));
        commands.chain(edits).collect()
    }

    /// The command called `name` in keymaps.
    pub fn from_name(name: &str) -> Option<Self> {
        let names = Self::names().into_iter();
        let mut named = names.filter(|(known, _)| *known == name);
        named.next().map(|(_, command)| command)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit(edit) => out.write_str(edit.name()),
            Self::Plugin(number) => write!(out, "plugin_key_{number}"),
            command => out.write_str(command.info().map_or("", |info| info.name)),
        }
    }
}

/// Every command, grouped as help shows them.
pub(crate) fn commands() -> impl Iterator<Item = &'static CommandInfo> {
    COMMANDS.iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_to_their_commands() {
        let mut names = Command::names();
        for (name, command) in &names {
            assert_eq!(Command::from_name(name), Some(*command), "{name}");
        }
        let count = names.len();
        names.sort_unstable_by_key(|(name, _)| *name);
        names.dedup_by_key(|(name, _)| *name);
        assert_eq!(names.len(), count);
        for info in commands() {
            assert_eq!(info.command.to_string(), info.name);
        }
    }

    #[test]
    fn descriptions_are_short_sentences_in_the_imperative() {
        for info in commands() {
            let description = info.description;
            assert!(description.starts_with(char::is_uppercase), "{description}");
            assert!(!description.ends_with('.'), "{description}");
            assert!(description.len() <= 72, "{description}");
        }
    }
}
