//! The rows of the registry as values.

use std::fmt;
use std::sync::LazyLock;

use super::arguments::{self, Parsed};
use super::id::Command;
use super::registry::commands;
use crate::actions::{Action, Effect, FilesAfter, TabRequest, Toast};
use osier_agent::Op as AgentOp;
pub(crate) use osier_protocol::slash::CommandCategory as Category;
use osier_protocol::slash::{self, SlashClient, SlashCommand};
use osier_protocol::{CheckpointOp, DiffRange, FilesAt, Mark, Op, TreeOp};
use osier_term::widgets::textarea::modal::EDITS;

type Parse = fn(&str) -> Parsed;

/// The effect of a command when no component in front has used it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Run {
    /// No effect: only components use the command.
    Component,
    Actions(fn() -> Vec<Action>),
    /// A feature runs the command: `app/commands.rs` calls the feature.
    Feature,
    /// Sends the requests of the slash command. A command that needs an argument is typed into the prompt.
    Slash,
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
    /// The description of the command, in the imperative.
    pub description: &'static str,
    /// The command as it is typed into the prompt.
    pub slash: Option<&'static SlashCommand>,
    /// The actions of the slash command with an argument; by default, the command sends its requests.
    pub(super) parse: Option<Parse>,
    pub(crate) run: Run,
    key_only: bool,
    /// Queries that put the command first in the palette, such as its names in Vim.
    pub(crate) queries: &'static [&'static str],
    /// The palette lists the command only if the query consists of beginnings of its words.
    pub(crate) by_word: bool,
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
            parse: None,
            run: Run::Component,
            key_only: false,
            queries: &[],
            by_word: false,
        }
    }

    /// The command of `/NAME`.
    const fn of_slash(command: Command, slash: &'static SlashCommand) -> Self {
        Self {
            slash: Some(slash),
            run: Run::Slash,
            by_word: slash.by_word,
            ..Self::new(command, slash.category, slash.key, slash.description)
        }
    }

    const fn actions(mut self, actions: fn() -> Vec<Action>) -> Self {
        self.run = Run::Actions(actions);
        self
    }

    const fn feature(mut self) -> Self {
        self.run = Run::Feature;
        self
    }

    /// Leaves the command out of the palette, because it makes sense only as a key.
    const fn key_only(mut self) -> Self {
        self.key_only = true;
        self
    }

    /// Puts the command first in the palette for these queries.
    const fn queries(mut self, queries: &'static [&'static str]) -> Self {
        self.queries = queries;
        self
    }

    /// Leaves the command out of the palette while the query only resembles its name, because the command changes the session
    /// or ends something.
    const fn by_word(mut self) -> Self {
        self.by_word = true;
        self
    }

    const fn alias(mut self, name: &'static str) -> Self {
        self.alias = Some(name);
        self
    }

    /// `/NAME ARGUMENT` does what `parse` makes of the argument.
    const fn parse(mut self, parse: Parse) -> Self {
        self.parse = Some(parse);
        self
    }

    /// Whether the palette lists the command.
    pub fn in_palette(&self) -> bool {
        !self.key_only && !matches!(self.run, Run::Component)
    }
}

macro_rules! table {
    ($($category:ident { $($id:ident $name:literal $description:literal $(.$part:ident($($value:expr),*))*;)* })*
     / { $($slash_id:ident $slash:literal $(.$slash_part:ident($($slash_value:expr),*))*;)* }) => {
        /// The rows of the registry.
        pub(super) const COMMANDS: &[CommandInfo] = &[
            $($(CommandInfo::new(Command::$id, Category::$category, $name, $description)
                $(.$part($($value),*))*,)*)*
            $(CommandInfo::of_slash(Command::$slash_id, &slash::COMMANDS[slash::number_of($slash)])
                $(.$slash_part($($slash_value),*))*,)*
        ];
    };
}

commands!(table);

/// The slash commands without a row in the registry.
static SLASH_COMMANDS: LazyLock<Vec<CommandInfo>> = LazyLock::new(|| {
    let rows = (0..).zip(slash::COMMANDS);
    let others = rows.filter(|(_, slash)| {
        let mut registered = COMMANDS.iter().filter_map(|info| info.slash);
        slash.works_in(SlashClient::Terminal) && registered.all(|known| known.name != slash.name)
    });
    others
        .map(|(number, slash)| CommandInfo::of_slash(Command::Slash(number), slash))
        .collect()
});

impl Command {
    /// The row of the command; steps of modal editing and keys of plugins have none.
    pub fn info(self) -> Option<&'static CommandInfo> {
        match self {
            Self::Slash(_) => SLASH_COMMANDS.iter().find(|info| info.command == self),
            command => COMMANDS.get(command.row()?),
        }
    }

    /// The description of the command in help.
    pub fn description(self) -> &'static str {
        match self {
            Self::Edit(edit) => edit.info().map_or("", |info| info.description),
            Self::Plugin(_) => "Run a plugin",
            command => command.info().map_or("", |info| info.description),
        }
    }

    /// Whether the command has nothing to do with an open question and works while the question waits.
    pub(crate) fn passes_questions(self) -> bool {
        let is_of_tabs = self
            .info()
            .is_some_and(|info| info.category == Category::Tabs);
        let is_of_conversation = matches!(
            self,
            Self::ToggleTools | Self::ToggleThinking | Self::Top | Self::Bottom
        );
        let is_other = matches!(self, Self::CyclePermissions | Self::Redraw | Self::Suspend);
        is_of_tabs || is_of_conversation || is_other
    }

    /// Every name that a keymap can bind, with its command.
    pub fn names() -> Vec<(&'static str, Self)> {
        let commands = commands().flat_map(|info| {
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

/// Every command by category, those with a slash command last.
pub(crate) fn commands() -> impl Iterator<Item = &'static CommandInfo> {
    static SORTED: LazyLock<Vec<&CommandInfo>> = LazyLock::new(|| {
        let mut sorted: Vec<&CommandInfo> = COMMANDS.iter().chain(&*SLASH_COMMANDS).collect();
        let number = |slash: &SlashCommand| slash::number_of(slash.name);
        sorted.sort_by_key(|info| (info.category, info.slash.map(number)));
        sorted
    });
    SORTED.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keymaps_cannot_bind_the_key_of_a_plugin() {
        let name = Command::Plugin(12).to_string();
        assert_eq!(Command::from_name(&name), None);
    }

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
    fn every_slash_command_of_the_terminal_is_a_command() {
        for slash in slash::COMMANDS {
            let rows =
                commands().filter(|info| info.slash.is_some_and(|one| one.name == slash.name));
            let runs: Vec<bool> = rows
                .map(|info| !matches!(info.run, Run::Slash) || slash.requests.is_some())
                .collect();
            assert_eq!(
                runs,
                [true],
                "`/{}` needs requests, or a row below `/` in the registry",
                slash.name
            );
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
