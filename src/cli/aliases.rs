//! Commands that users know from other agents. Without them osier would send the word to the model as a prompt, which
//! costs money.

use super::args::{Args, AuthCommand, Command};
use super::commands::sessions::SessionsCommand;

/// Replaces a familiar command by osier's own arguments.
///
/// # Errors
/// osier has no such command; the text names what to use.
pub(super) fn expand(mut args: Args) -> Result<Args, String> {
    match args.command.take() {
        Some(Command::Exec(exec)) => {
            args.print = true;
            args.prompts = exec.prompts;
            args.run = exec.run;
            args.codex_events = exec.json;
            args.script.output_format = exec.script.output_format;
            args.script.output_schema = exec.script.output_schema;
            args.script.add_dir = exec.script.add_dir;
        }
        Some(Command::Resume(resume)) => {
            args.run.resume = Some(resume.target.unwrap_or_default());
            args.prompts = resume.prompts;
        }
        Some(Command::Log(options)) => {
            let command = Some(SessionsCommand::Log(options));
            args.command = Some(Command::Sessions { command });
        }
        Some(Command::Tree(options)) => {
            let command = Some(SessionsCommand::Tree(options));
            args.command = Some(Command::Sessions { command });
        }
        Some(Command::Login(login)) => {
            let command = AuthCommand::Login(login);
            args.command = Some(Command::Auth { command });
        }
        Some(Command::Logout { provider }) => {
            let command = AuthCommand::Logout { provider };
            args.command = Some(Command::Auth { command });
        }
        Some(Command::Update(_)) => {
            return Err(
                "osier does not update itself; install the new version as you installed this one, such as with \
                 `cargo install --path .`"
                    .to_owned(),
            );
        }
        Some(Command::Review(_)) => {
            return Err(
                "unknown command `review`; `/diff` in the interface reviews the changes of a session, and \
                 `osier -p \"review my changes\"` asks the model"
                    .to_owned(),
            );
        }
        command => args.command = command,
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::LoginArgs;

    fn expanded(words: &str) -> Result<Args, String> {
        let words = std::iter::once("osier").chain(words.split(' '));
        expand(Args::try_parse_from(words).unwrap())
    }

    #[test]
    fn familiar_commands_are_osiers_own() {
        for words in ["exec --model sonnet hello", "run --model sonnet hello"] {
            let args = expanded(words).unwrap();
            let run = (args.print, args.prompts, args.run.model);
            let expected = (true, vec!["hello".to_owned()], Some("sonnet".to_owned()));
            assert_eq!(run, expected);
        }
        let args = expanded("resume abc more").unwrap();
        let resumed = (args.run.resume, args.prompts);
        assert_eq!(resumed, (Some("abc".to_owned()), vec!["more".to_owned()]));
        assert_eq!(expanded("resume").unwrap().run.resume, Some(String::new()));
        let is_login = |args: Args| match args.command {
            Some(Command::Auth {
                command: AuthCommand::Login(LoginArgs { provider, .. }),
            }) => provider,
            _ => None,
        };
        assert_eq!(
            is_login(expanded("login openai").unwrap()),
            Some("openai".to_owned())
        );
    }

    #[test]
    fn commands_that_osier_does_not_have_are_no_prompts() {
        for words in [
            "update",
            "upgrade now",
            "review my changes",
            "review --base main",
        ] {
            assert!(expanded(words).is_err(), "{words}");
        }
        // After a flag a word is a prompt.
        assert_eq!(expanded("-p review").unwrap().prompts, ["review"]);
    }
}
