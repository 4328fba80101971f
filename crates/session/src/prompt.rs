//! The system prompt. Short on purpose: with the tool definitions it stays under 1,000 tokens. Holds
//! nothing that changes between turns (no clock), so that provider caches hit.

use crate::setup::SessionSetup;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The parts of a prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PromptParts<'a> {
    pub cwd: &'a Path,
    /// Additional directories.
    pub directories: &'a [PathBuf],
    /// Replaces the built-in text.
    pub replacement: Option<&'a str>,
    /// Comes after the text.
    pub addition: Option<&'a str>,
    /// Instructions and skills; may be empty.
    pub context: &'a str,
    /// Names of the tools offered.
    pub tools: &'a [String],
}

const PREAMBLE: &str = "You are osier, a coding agent working in the user's terminal. \
You change their files and run commands through tools; they watch every step.

- Look before you change: read the files involved, and follow the style you find.
- Do what the user asks, completely, and nothing else. Say when something could not be done.
- Prefer editing to rewriting. Prove a change by running what tests it.
- Never discard work you did not make. Ask before what cannot be undone.
- Answer briefly, in Markdown; refer to files as path:line.";

/// The complete prompt.
pub(crate) fn system_prompt(parts: PromptParts<'_>) -> String {
    let mut prompt = parts.replacement.unwrap_or(PREAMBLE).trim_end().to_owned();
    if parts.replacement.is_none() {
        prompt.push_str(searching(parts.tools));
    }
    if let Some(addition) = parts.addition {
        let _ = write!(prompt, "\n\n{}", addition.trim_end());
    }
    prompt.push_str(parts.context);
    let _ = write!(prompt, "\n\nWorking directory: {}", parts.cwd.display());
    for (place, directory) in parts.directories.iter().enumerate() {
        let before = if place == 0 {
            "\nAdditional directories: "
        } else {
            ", "
        };
        let _ = write!(prompt, "{before}{}", directory.display());
    }
    prompt
}

/// How to search with the tools.
fn searching(tools: &[String]) -> &'static str {
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    if has("grep") && has("find") {
        "\n- Search with grep, find and ls rather than bash: they are faster and skip ignored files."
    } else if has("bash") {
        "\n- Use bash with rg, find and ls to search."
    } else {
        ""
    }
}

/// The additional directories of a session.
pub(crate) fn additional_directories(setup: &SessionSetup) -> Vec<PathBuf> {
    let settings = &setup.settings;
    let directories = setup.directories.iter().chain(&settings.directories);
    let directories = directories.chain(&settings.project_directories);
    directories.cloned().collect()
}

/// The system prompt of a session that offers `tools`.
pub(crate) fn session_prompt(setup: &SessionSetup, context: &str, tools: &[String]) -> String {
    let directories = additional_directories(setup);
    system_prompt(PromptParts {
        cwd: &setup.cwd,
        directories: &directories,
        replacement: setup.system_prompt.as_deref(),
        addition: setup.append_system_prompt.as_deref(),
        context,
        tools,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use osier_tools::Workspace;

    fn tokens(text: &str) -> usize {
        bpe_openai::o200k_base().count(text)
    }

    /// The tokens of the prompt and the tool definitions.
    #[test]
    fn prompt_and_tools_cost_less_than_a_thousand_tokens() {
        let cwd = Path::new("/home/user/projects/some-project");
        let tools = osier_tools::build(&Arc::new(Workspace::new(cwd)), None).unwrap();
        let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let prompt = tokens(&system_prompt(PromptParts {
            cwd,
            directories: &[],
            replacement: None,
            addition: None,
            context: "",
            tools: &names,
        }));
        let costs: Vec<(&String, usize)> = tools
            .iter()
            .map(|tool| {
                let spec = tool.spec();
                let function = serde_json::json!({"type": "function", "function": spec});
                (&spec.name, tokens(&function.to_string()))
            })
            .collect();
        let total = prompt + costs.iter().map(|(_, cost)| cost).sum::<usize>();
        eprintln!("prompt {prompt}, {costs:?}, together {total}");
        assert!(total < 1000, "prompt {prompt}, {costs:?}, together {total}");
    }

    #[test]
    fn search_hint_follows_from_the_tools() {
        let told = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            searching(&names)
        };
        assert_eq!(told(&["read", "write"]), "");
        assert!(told(&["bash"]).contains("bash with rg"));
        assert!(told(&["bash", "grep", "find"]).contains("rather than bash"));
    }

    #[test]
    fn replacement_and_addition_keep_the_directory() {
        let parts = PromptParts {
            cwd: Path::new("/work"),
            directories: &["/a".into(), "/b".into()],
            replacement: Some("Be brief.\n"),
            addition: Some("No emoji."),
            context: "\n\nProject.",
            tools: &["bash".to_owned()],
        };
        assert_eq!(
            system_prompt(parts),
            "Be brief.\n\nNo emoji.\n\nProject.\n\nWorking directory: /work\nAdditional directories: /a, /b"
        );
    }
}
