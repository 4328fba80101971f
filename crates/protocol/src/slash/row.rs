//! A row of the table of slash commands.

use super::category::CommandCategory;
use crate::{AddedCommand, Op};

osier_base::words! {
    /// A client in which a user types slash commands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SlashClient {
        /// The full screen.
        Terminal = "terminal",
        /// An editor with the Agent Client Protocol.
        Editor = "editor",
        /// The browser chat.
        Chat = "chat",
        /// A run without a screen: text, JSON lines and the formats of other agents.
        Script = "script",
    }
}

/// The requests of a command with this argument, or what is wrong with the argument.
pub type Requests = fn(&str) -> Result<Vec<Op>, String>;

/// A slash command of osier.
#[derive(Debug, Clone, Copy)]
pub struct SlashCommand {
    pub name: &'static str,
    pub category: CommandCategory,
    /// The name in keymaps.
    pub key: &'static str,
    /// The command changes the session or ends something, so the palette lists it only for a query that matches the starts
    /// of its words.
    pub by_word: bool,
    /// Other names, which users know from other programs.
    pub aliases: &'static [&'static str],
    /// The argument that follows the name; empty when the command has none.
    pub argument: &'static str,
    /// Values of the argument that completion offers.
    pub values: &'static [&'static str],
    /// The effect of the command, in the imperative.
    pub description: &'static str,
    /// The clients in which it works.
    pub clients: &'static [SlashClient],
    /// A skill or template of the same name replaces the command.
    pub yields: bool,
    /// The requests that the command sends; `None` if each client runs the command in its own way.
    pub requests: Option<Requests>,
}

impl SlashCommand {
    /// A command of the terminal.
    pub(super) const fn new(
        name: &'static str,
        category: CommandCategory,
        argument: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            category,
            key: name,
            by_word: false,
            aliases: &[],
            argument,
            values: &[],
            description,
            clients: &[SlashClient::Terminal],
            yields: false,
            requests: None,
        }
    }

    pub(super) const fn key(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    pub(super) const fn by_word(mut self) -> Self {
        self.by_word = true;
        self
    }

    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) const fn values(mut self, values: &'static [&'static str]) -> Self {
        self.values = values;
        self
    }

    pub(super) const fn yields(mut self) -> Self {
        self.yields = true;
        self
    }

    /// It works in the terminal and in the chat.
    pub(super) const fn on_screens(mut self) -> Self {
        self.clients = &[SlashClient::Terminal, SlashClient::Chat];
        self
    }

    pub(super) const fn sends(mut self, requests: Requests) -> Self {
        self.requests = Some(requests);
        self
    }

    /// It sends requests, in every client with a person.
    pub(super) const fn everywhere(mut self, requests: Requests) -> Self {
        self.clients = &[
            SlashClient::Terminal,
            SlashClient::Editor,
            SlashClient::Chat,
        ];
        self.sends(requests)
    }

    /// It works in scripts, too. The text of a prompt there can come from others: such a command widens no rights, ends no
    /// limit, writes no file that it names, and has an answer.
    pub(super) const fn in_scripts(mut self) -> Self {
        self.clients = &SlashClient::ALL;
        self
    }

    /// The name, then the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.name].into_iter().chain(self.aliases.iter().copied())
    }

    pub fn works_in(&self, client: SlashClient) -> bool {
        self.clients.contains(&client)
    }

    /// The command for lists of other clients.
    pub fn describe(&self) -> AddedCommand {
        let owned = |list: &[&str]| list.iter().copied().map(str::to_owned).collect();
        AddedCommand {
            name: self.name.to_owned(),
            aliases: owned(self.aliases),
            argument: self.argument.to_owned(),
            description: self.description.to_owned(),
            origin: osier_base::PROGRAM.to_owned(),
            values: owned(self.values),
        }
    }
}
