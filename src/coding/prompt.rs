//! The system prompt. Short on purpose: with the tool definitions it stays under 1,000 tokens. Holds
//! nothing that changes between turns (no clock), so that provider caches hit.

use std::fmt::Write;
use std::path::Path;

/// What the prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PromptParts<'a> {
    pub cwd: &'a Path,
    /// Replaces the text osier brings, when set.
    pub replacement: Option<&'a str>,
    /// Comes last, when set.
    pub addition: Option<&'a str>,
    /// Instructions and skills that were found; may be empty.
    pub context: &'a str,
    /// Names of the tools offered.
    pub tools: &'a [String],
}

const PREAMBLE: &str = "You are osier, a coding agent working in the user's terminal. \
You change their files and run commands through tools; they watch every step.

- Look before you change: read the files involved, and follow the style you find.
- Do what was asked, whole, and no more. Say when something could not be done.
- Prefer editing to rewriting. Prove a change by running what tests it.
- Never discard work you did not make. Ask before what cannot be undone.
- Answer briefly, in Markdown; name files as path:line.";

/// The whole prompt.
pub fn system_prompt(parts: PromptParts<'_>) -> String {
    let mut prompt = parts.replacement.unwrap_or(PREAMBLE).trim_end().to_owned();
    if parts.replacement.is_none() && parts.tools.iter().any(|tool| tool == "bash") {
        prompt.push_str(
            "\n- Use bash with rg, find and ls to search; read shows files with line numbers.",
        );
    }
    if let Some(addition) = parts.addition {
        let _ = write!(prompt, "\n\n{}", addition.trim_end());
    }
    prompt.push_str(parts.context);
    let _ = write!(prompt, "\n\nWorking directory: {}", parts.cwd.display());
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacement_and_addition_keep_the_directory() {
        let parts = PromptParts {
            cwd: Path::new("/work"),
            replacement: Some("Be brief.\n"),
            addition: Some("No emoji."),
            context: "\n\nProject.",
            tools: &["bash".to_owned()],
        };
        assert_eq!(
            system_prompt(parts),
            "Be brief.\n\nNo emoji.\n\nProject.\n\nWorking directory: /work"
        );
    }
}
