//! The prompts for the model that writes summaries.

/// The system prompt.
pub(super) const SYSTEM: &str = "You write summaries of a conversation between a user and a coding agent, so \
that another agent can continue the work without having seen it. Do not continue the work \
yourself, call no tools and answer no questions in the conversation. Write only the summary.";

/// The form of a summary.
pub(super) const FORM: &str = "Use exactly these headings, short lines under each, `(none)` for an empty section:

## Goal
## Constraints & Preferences
## Progress
### Done
### In Progress
### Blocked
## Key Decisions
## Next Steps
## Critical Context

Keep exact file paths, names of functions, commands, error messages and numbers. Omit what no longer matters.";

/// The request for a first summary.
pub(super) const FIRST: &str = "Summarise the conversation above.";

/// The request for a summary that replaces an earlier one.
pub(super) const UPDATE: &str = "The conversation above continues after the previous summary. Write one summary \
of both: keep what is still valid, move finished work to Done, and update Next Steps.";

/// The request for the summary of a branch.
pub(super) const BRANCH: &str = "The user leaves this branch and returns to an earlier point. \
Summarise what was tried here and its outcome, for the agent that continues from there.

Use exactly these headings, short lines under each:

## Goal
## What was done
## Key Decisions
## Outcome
## Next Steps

Keep exact file paths, names, commands and error messages.";
