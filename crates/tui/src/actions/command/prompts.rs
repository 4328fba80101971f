//! Prompts that commands send to the model.

use crate::actions::Action;

const INIT: &str = "Write `AGENTS.md` in the root of this project: instructions for coding agents that work here. \
Read the manifests, the scripts, the CI configuration, the README and some of the code first. Name the commands that \
build, test, lint and format, also for a single test; the layout of the code; conventions that differ from the usual; \
and what is easy to get wrong. Keep it under 60 lines, with nothing that is obvious from the file names. If the file \
exists, improve it and keep what is right. Include what matters of `CLAUDE.md` or other instruction files.";

const REVIEW: &str = "Review the uncommitted changes of this repository; if there are none, the last commit. \
Read the changed files where the diff is not enough. Report bugs, security problems, missing tests and unclear code, \
the most serious first, each with its file and line and a suggestion. Do not change anything.";

const REVIEW_OF: &str = "Review what is named below. Report bugs, security problems, missing tests and unclear code, \
the most serious first, each with its file and line and a suggestion. Do not change anything.";

/// Has the model write the instructions for the project.
pub(super) fn init(notes: &str) -> Action {
    prompt(&with(INIT, notes), "/init", notes)
}

/// Lets the model review the changes, or the subject `what`.
pub(super) fn review(what: &str) -> Action {
    let text = if what.is_empty() { REVIEW } else { REVIEW_OF };
    prompt(&with(text, what), "/review", what)
}

/// A prompt, with the command that the user typed.
fn prompt(text: &str, command: &str, argument: &str) -> Action {
    Action::SendPrompt {
        text: text.to_owned(),
        typed: Some(format!("{command} {argument}").trim_end().to_owned()),
    }
}

fn with(text: &str, argument: &str) -> String {
    if argument.is_empty() {
        text.to_owned()
    } else {
        format!("{text}\n\n{argument}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_has_the_argument_and_names_the_command() {
        let Action::SendPrompt { text, typed } = review("src/main.rs") else {
            panic!("no prompt");
        };
        assert!(text.starts_with("Review what is named below."));
        assert!(text.ends_with("\n\nsrc/main.rs"));
        assert_eq!(typed.as_deref(), Some("/review src/main.rs"));
        let expected = Action::SendPrompt {
            text: INIT.to_owned(),
            typed: Some("/init".to_owned()),
        };
        assert_eq!(init(""), expected);
    }
}
