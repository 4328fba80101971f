//! Slash commands: one table for the terminal, editors and the browser chat.
//!
//! To add one: a row of `table.rs`, in the order of the names. A command that is a request works in every client then;
//! `text.rs` has the text of its answer. The terminal lists it in the palette, and gives it a view in its registry of commands; the chat
//! gives it a view in `assets/chat/app/slash.js`; a client that lacks a command says where it works.

mod category;
mod end;
mod requests;
mod row;
mod table;
mod text;

pub use category::CommandCategory;
pub use end::CommandEnd;
pub use row::{Requests, SlashClient, SlashCommand};
pub use table::COMMANDS;
pub use text::describe;

use crate::{AddedCommand, Op};
use osier_base::problem;
use osier_base::slash_text::SlashText;

/// Prefixes of names that the session expands: skills, and prompts of MCP servers.
const PROMPTS: [&str; 2] = ["skill:", "mcp__"];

/// A command and its argument, or what is wrong with them.
pub type Typed<'a> = Result<(&'static SlashCommand, &'a str), String>;

/// The command with this name or alias.
pub fn find(name: &str) -> Option<&'static SlashCommand> {
    let mut commands = COMMANDS.iter();
    commands.find(|command| command.name == name || command.aliases.contains(&name))
}

/// The position of the command with this name in [`COMMANDS`]; the length of the table if there is none.
pub const fn number_of(name: &str) -> usize {
    let mut row = 0;
    while row < COMMANDS.len() && !is_equal(COMMANDS[row].name.as_bytes(), name.as_bytes()) {
        row += 1;
    }
    row
}

const fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

/// The slash rule of all clients: reads a text that a user typed in `client`. `None` if it is a prompt: a text without a slash,
/// a path, `//text`, of which the session sends `/text`, or a command for which `is_added` is true: one of a skill, a template
/// or a plugin.
pub fn parse(
    text: &str,
    client: SlashClient,
    is_added: impl Fn(&str) -> bool,
) -> Option<Typed<'_>> {
    let SlashText::Command {
        name,
        arguments: argument,
    } = SlashText::read(text)
    else {
        return None;
    };
    if PROMPTS.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let command = find(name);
    let is_own = command.is_some_and(|command| !command.yields && command.works_in(client));
    if !is_own && is_added(name) {
        return None;
    }
    let argument = argument.trim();
    Some(match command {
        None => Err(unknown(name)),
        Some(command) if !command.works_in(client) => Err(elsewhere(name, command, client)),
        Some(command) if command.argument.is_empty() && !argument.is_empty() => {
            Err(format!("`/{name}` takes no argument"))
        }
        Some(command) => Ok((command, argument)),
    })
}

/// The requests of a prompt that is a command of `client` and sends requests, or why they cannot be sent; `None` for other
/// prompts. `added` are the commands of the session.
pub fn requests_of(
    text: &str,
    client: SlashClient,
    added: &[AddedCommand],
) -> Option<Result<Vec<Op>, String>> {
    let is_added = |name: &str| added.iter().any(|command| command.name == name);
    let typed = parse(text, client, is_added)?;
    Some(typed.and_then(|(command, argument)| {
        command
            .requests
            .map_or(Ok(Vec::new()), |requests| requests(argument))
    }))
}

/// The commands of `client` that no command of a skill, a template or a plugin in `added` replaces.
pub fn of_client(
    client: SlashClient,
    added: &[AddedCommand],
) -> impl Iterator<Item = &'static SlashCommand> {
    COMMANDS.iter().filter(move |command| {
        let is_replaced = added.iter().any(|one| one.name == command.name) && command.yields;
        command.works_in(client) && !is_replaced
    })
}

fn unknown(name: &str) -> String {
    let names = COMMANDS.iter().flat_map(SlashCommand::names);
    let advice = problem::nearest(name, names).map_or_else(
        || "type `/` to list the commands".to_owned(),
        |known| format!("did you mean `/{known}`?"),
    );
    format!("unknown command `/{name}`; {advice}")
}

fn elsewhere(name: &str, command: &SlashCommand, client: SlashClient) -> String {
    let clients = command
        .clients
        .iter()
        .map(|client| format!("the {}", client.name()));
    let clients: Vec<String> = clients.collect();
    let advice = match client {
        SlashClient::Chat => ": `osier attach` opens this session there",
        SlashClient::Terminal | SlashClient::Editor | SlashClient::Script => "",
    };
    format!("`/{name}` works in {}{advice}", clients.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, client: SlashClient) -> Option<Result<(&str, &str), String>> {
        let typed = parse(text, client, |name| name == "review" || name == "diff");
        typed.map(|typed| typed.map(|(command, argument)| (command.name, argument)))
    }

    #[test]
    fn names_are_unique_and_in_the_order_of_lists() {
        let mut names: Vec<&str> = COMMANDS.iter().flat_map(SlashCommand::names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let last_by_use = COMMANDS.iter().position(|one| one.name == "quit").unwrap();
        assert!(COMMANDS[last_by_use + 1..].is_sorted_by_key(|one| one.name));
    }

    #[test]
    fn descriptions_are_short_sentences_in_the_imperative() {
        for SlashCommand { description, .. } in COMMANDS {
            assert!(description.starts_with(char::is_uppercase), "{description}");
            assert!(!description.ends_with('.'), "{description}");
            assert!(description.len() <= 72, "{description}");
        }
    }

    #[test]
    fn each_client_says_which_commands_it_lacks() {
        let lacks = |client| {
            let lacking = COMMANDS.iter().filter(|one| !one.works_in(client));
            lacking.map(|one| one.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(lacks(SlashClient::Terminal), "");
        assert_eq!(
            lacks(SlashClient::Chat),
            "search diff rewind settings tree memory answer copy-code copy-output doctor guide hooks import jobs keymap map \
             panel skills stash tab terminal todo vim"
        );
        assert_eq!(
            lacks(SlashClient::Editor),
            "new resume search diff undo rewind login settings theme tree memory help quit answer archive background clone close \
             copy copy-code copy-output doctor fan fork guide hooks import jobs keymap map panel pin redo restore retry \
             sessions skills stash tab takeover terminal todo vim"
        );
        let has = |client| COMMANDS.iter().filter(move |one| one.works_in(client));
        let names = has(SlashClient::Script).map(|one| one.name);
        assert_eq!(
            names.collect::<Vec<_>>().join(" "),
            "model compact plan context usage init review about log name session tools"
        );
        for command in has(SlashClient::Editor) {
            assert!(command.requests.is_some(), "{}", command.name);
        }
        for (text, client, error) in [
            (
                "/keymap",
                SlashClient::Editor,
                "`/keymap` works in the terminal",
            ),
            (
                "/copy",
                SlashClient::Editor,
                "`/copy` works in the terminal and the chat",
            ),
            (
                "/keymap",
                SlashClient::Chat,
                "`/keymap` works in the terminal: `osier attach` opens this session there",
            ),
        ] {
            assert_eq!(typed(text, client), Some(Err(error.to_owned())));
        }
    }

    #[test]
    fn text_that_only_resembles_a_command_is_a_prompt() {
        for prompt in [
            "hello",
            "/",
            "/etc/hosts looks odd",
            "/mcp__git__log x",
            "/skill:pdf",
        ] {
            assert_eq!(typed(prompt, SlashClient::Terminal), None, "{prompt}");
        }
        // Skills and templates replace commands that yield, and commands that the client lacks.
        assert_eq!(typed("/review x", SlashClient::Terminal), None);
        assert_eq!(typed("/diff", SlashClient::Editor), None);
        let diff = Some(Ok(("diff", "last")));
        assert_eq!(typed("/diff last", SlashClient::Terminal), diff);
    }

    #[test]
    fn names_of_other_programs_are_commands() {
        for (alias, name) in [
            ("clear", "new"),
            ("cost", "usage"),
            ("status", "session"),
            ("exit", "quit"),
            ("rename", "name"),
        ] {
            assert_eq!(find(alias).map(|command| command.name), Some(name));
            assert_eq!(number_of(alias), COMMANDS.len());
            assert_eq!(COMMANDS[number_of(name)].name, name);
        }
    }

    #[test]
    fn mistakes_are_refused_with_the_nearest_name() {
        for (text, error) in [
            (
                "/nothing",
                "unknown command `/nothing`; type `/` to list the commands",
            ),
            ("/modle", "unknown command `/modle`; did you mean `/model`?"),
            (
                "/contxt",
                "unknown command `/contxt`; did you mean `/context`?",
            ), // spellchecker:disable-line
            ("/Claer", "unknown command `/Claer`; did you mean `/clear`?"), // spellchecker:disable-line
            ("/keys now", "`/keys` takes no argument"),
        ] {
            let typed = typed(text, SlashClient::Terminal);
            assert_eq!(typed, Some(Err(error.to_owned())), "{text}");
        }
    }
}
