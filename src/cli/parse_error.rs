//! Reports what clap could not parse: help and version on standard output, an error as one line on standard
//! error.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::exit::{Exit, usage_error};

/// Prints `error` and returns the exit status.
pub(super) fn report(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Ok(()) => Exit::Success,
            Err(_) => Exit::Failure,
        },
        // The help of a command that needs a subcommand goes to standard error.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A failed write to standard error cannot be reported.
            let _ = error.print();
            Exit::Usage
        }
        _ => usage_error(&message(error)),
    }
}

/// The error, then a suggestion or where to find the help.
fn message(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        // clap lists the best suggestion last.
        Some(ContextValue::Strings(texts)) => texts.last().map(String::as_str),
        _ => None,
    };
    let (what, suggestion) = match error.kind() {
        ErrorKind::UnknownArgument => (
            text(ContextKind::InvalidArg).map(|flag| format!("unknown argument `{flag}`")),
            text(ContextKind::SuggestedArg),
        ),
        ErrorKind::InvalidSubcommand => (
            text(ContextKind::InvalidSubcommand).map(|name| format!("unknown command `{name}`")),
            text(ContextKind::SuggestedSubcommand),
        ),
        ErrorKind::InvalidValue => (invalid_value(error), text(ContextKind::SuggestedValue)),
        _ => (None, None),
    };
    let what = what.unwrap_or_else(|| one_line(error));
    match suggestion {
        Some(name) => format!("{what}; did you mean `{name}`?"),
        None => format!("{what}; see `{} --help`", command_name(error)),
    }
}

/// The command whose arguments are invalid, with its parents: `osier mcp add`.
fn command_name(error: &clap::Error) -> String {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.unwrap_or_default();
    let words = usage
        .split_whitespace()
        .skip_while(|word| *word == "Usage:");
    let names: Vec<&str> = words
        .take_while(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect();
    match names.as_slice() {
        [] => "osier".to_owned(),
        names => names.join(" "),
    }
}

/// A value outside of a list; `None` when the value is missing.
fn invalid_value(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else {
        return None;
    };
    let value = error.get(ContextKind::InvalidValue)?.to_string();
    let flag = error.get(ContextKind::InvalidArg)?;
    let valid: Vec<String> = valid.iter().map(|name| format!("`{name}`")).collect();
    (!value.is_empty()).then(|| {
        format!(
            "unknown value `{value}` for `{flag}`; expected one of {}",
            valid.join(", ")
        )
    })
}

/// clap's own text without its usage lines, with names in backticks.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(|line| line.trim_start_matches("error: ").replace('\'', "`"));
    lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Args;

    fn message_for(words: &str) -> String {
        let words = std::iter::once("osier").chain(words.split(' '));
        message(&Args::try_parse_from(words).unwrap_err())
    }

    #[test]
    fn parse_errors_are_one_line() {
        for (words, expected) in [
            (
                "--modle x",
                "unknown argument `--modle`; did you mean `--model`?",
            ),
            ("mcp lst", "unknown command `lst`; did you mean `list`?"),
            (
                "--permissions askk",
                "unknown value `askk` for `--permissions <MODE>`; expected one of `yolo`, `auto`, `ask`, `plan`; \
                 did you mean `ask`?",
            ),
            (
                "--temperature 9",
                "invalid value `9` for `--temperature <T>`: expected a number from 0 to 2; see `osier --help`",
            ),
            (
                "mcp add",
                "the following required arguments were not provided: <NAME>; <COMMAND|URL>...; \
                 see `osier mcp add --help`",
            ),
            (
                "doctor --json",
                "unknown argument `--json`; see `osier doctor --help`",
            ),
            (
                "--print --json",
                "the argument `--print` cannot be used with `--json`; see `osier --help`",
            ),
        ] {
            assert_eq!(message_for(words), expected);
        }
    }
}
