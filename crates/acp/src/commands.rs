//! Slash commands in an editor: the rows of `osier_protocol::slash` that work there.

use osier_protocol::slash::{self, SlashClient, SlashCommand};
use osier_protocol::{AddedCommand, Op};

/// The commands for the editor: those of the session, then those of osier.
pub(super) fn list(mut commands: Vec<AddedCommand>) -> Vec<AddedCommand> {
    let own: Vec<_> = slash::of_client(SlashClient::Editor, &commands).collect();
    commands.retain(|command| own.iter().all(|row| row.name != command.name));
    commands.extend(own.into_iter().map(SlashCommand::describe));
    commands
}

/// The requests of a prompt that is a command, or why they cannot be sent; `None` for other prompts. `added` are the
/// commands of the session.
pub(super) fn parse(prompt: &str, added: &[AddedCommand]) -> Option<Result<Vec<Op>, String>> {
    slash::requests_of(prompt, SlashClient::Editor, added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::PermissionMode;

    fn added(name: &str) -> AddedCommand {
        AddedCommand {
            name: name.to_owned(),
            ..AddedCommand::default()
        }
    }

    #[test]
    fn prompt_is_a_command_with_its_argument() {
        let parsed = |prompt: &str| parse(prompt, &[added("review"), added("diff")]);
        let mode = PermissionMode::Ask;
        let set = Op::SetPermissions { mode };
        assert_eq!(parsed(" /permissions ask\n"), Some(Ok(vec![set])));
        for (prompt, error) in [
            (
                "/permissions fly",
                "unknown mode `fly`; expected one of `yolo`, `auto`, `ask`, `plan`",
            ),
            ("/about me", "`/about` takes no argument"),
            ("/keymap", "`/keymap` works in the terminal"),
            ("/modle", "unknown command `/modle`; did you mean `/model`?"),
        ] {
            assert_eq!(parsed(prompt), Some(Err(error.to_owned())), "{prompt}");
        }
        // Commands of the session, unknown commands and paths are prompts.
        for prompt in ["/review", "/diff", "/etc/hosts has a mistake", "usage", "/"] {
            assert_eq!(parsed(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn commands_of_the_session_replace_those_that_yield() {
        let commands = list(vec![added("usage"), added("review"), added("mine")]);
        let names: Vec<&str> = commands
            .iter()
            .map(|command| command.name.as_str())
            .collect();
        assert_eq!(names[..2], ["review", "mine"]);
        let listed = slash::COMMANDS
            .iter()
            .filter(|row| row.works_in(SlashClient::Editor));
        assert_eq!(names.len(), listed.count() + 1);
    }
}
