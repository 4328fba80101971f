//! The system prompt. Short on purpose: with the tool definitions it stays below
//! `FIRST_REQUEST_TOKENS`. It contains nothing that changes between turns (no clock), so that
//! provider caches hit.

use crate::setup::SessionSetup;
use osier_llm::Preamble;
use osier_tools::{BASH, FIND, GREP};
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

const PREAMBLE: &str = "You are osier, a coding agent in the user's terminal.

- Read the files involved before you change them, and follow their style.
- Do all that the user asks, and nothing else. Say what could not be done.
- Prefer editing to rewriting. Test what you change.
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

/// Adds what a kind of models needs to the built-in text. A prompt of the user stays as it is.
pub(crate) fn add_preamble(prompt: &mut String, preamble: Preamble) {
    let added = match preamble {
        Preamble::None => return,
        Preamble::Persistence => {
            "\n- Continue until the task is solved completely; end your turn only then.\n\
- If you are not sure about files, read them with your tools: do not guess.\n\
- Plan before each tool call, and think about the result of the one before."
        }
        Preamble::Planning => {
            "\n- Before you act, plan: the constraints, the order of steps, the information that is missing, and the risk of \
each step. Reading and searching is safe: do it rather than ask.\n\
- Base what you say on what you read. If an observation contradicts your plan, change the plan.\n\
- Do not give up early: if a call fails, find the cause and try another way. Check the complete request before you end."
        }
    };
    if prompt.starts_with(PREAMBLE) {
        prompt.insert_str(PREAMBLE.len(), added);
    }
}

/// How to search with the tools.
fn searching(tools: &[String]) -> &'static str {
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    if has(GREP) && has(FIND) {
        "\n- Search with the search tools, not with commands: they skip ignored files."
    } else if has(BASH) {
        "\n- Search with the commands rg, find and ls."
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
    use osier_tools::{FIRST_REQUEST_TOKENS, Workspace};

    fn tokens(text: &str) -> usize {
        bpe_openai::o200k_base().count(text)
    }

    /// The tokens of the prompt and the tool definitions, as each kind of models gets them.
    #[test]
    fn no_model_gets_more_than_fifteen_hundred_tokens() {
        let cwd = Path::new("/home/user/projects/some-project");
        let tools = osier_tools::build(&Arc::new(Workspace::new(cwd)), None).unwrap();
        let tools = tools.iter().filter(|tool| tool.replaces().is_empty());
        let tools: Vec<osier_llm::ToolSpec> = tools.map(|tool| tool.spec().clone()).collect();
        let names: Vec<String> = tools.iter().map(|spec| spec.name.clone()).collect();
        for reference in [
            "anthropic/claude-opus-5-5",
            "openai/gpt-6-luna",
            "openai/gpt-4.1",
            "google/gemini-3-pro-preview",
            "moonshot/kimi-k2.5",
            "qwen/qwen3-coder-plus",
        ] {
            let found = osier_llm::Catalogue::default().find(reference, &|_| true);
            let model = found.unwrap().model;
            let mut context = osier_llm::Context {
                system_prompt: system_prompt(PromptParts {
                    cwd,
                    directories: &[],
                    replacement: None,
                    addition: None,
                    context: "",
                    tools: &names,
                }),
                tools: tools.clone(),
                ..osier_llm::Context::default()
            };
            osier_tools::trained_forms::translate(&mut context, model.tuning.tools);
            add_preamble(&mut context.system_prompt, model.tuning.preamble);
            let prompt = tokens(&context.system_prompt);
            let sent = |spec: &osier_llm::ToolSpec| tokens(&serde_json::to_string(spec).unwrap());
            let definitions: usize = context.tools.iter().map(sent).sum();
            assert!(
                prompt + definitions < 1500,
                "{reference}: {prompt} + {definitions}"
            );
        }
    }

    /// The tokens of the prompt and the tool definitions.
    #[test]
    fn prompt_and_tools_stay_below_their_limit() {
        let cwd = Path::new("/home/user/projects/some-project");
        let mut tools = osier_tools::build(&Arc::new(Workspace::new(cwd)), None).unwrap();
        tools.retain(|tool| tool.replaces().is_empty());
        let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let prompt = tokens(&system_prompt(PromptParts {
            cwd,
            directories: &[],
            replacement: None,
            addition: None,
            context: "",
            tools: &names,
        }));
        let specs = tools.iter().map(|tool| tool.spec());
        let costs: Vec<(&String, usize)> = specs
            .map(|spec| {
                let function = serde_json::json!({"type": "function", "function": spec});
                (&spec.name, tokens(&function.to_string()))
            })
            .collect();
        // The tool `task`, the environment, the prompt of the user, and what the largest API adds.
        let rest = 210;
        let total = rest + prompt + costs.iter().map(|(_, cost)| cost).sum::<usize>();
        assert!(
            total <= FIRST_REQUEST_TOKENS,
            "the first request has about {total} tokens, with the prompt of {prompt}; the limit is {FIRST_REQUEST_TOKENS}, \
             `FIRST_REQUEST_TOKENS` in crates/tools/src/lib.rs. Shorten the \
             definition of the tool that was added or changed, or offer the tool only where it is of use, like `map`: \
             {costs:?}"
        );
    }

    #[test]
    fn search_hint_follows_from_the_tools() {
        let told = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            searching(&names)
        };
        assert_eq!(told(&["read", "write"]), "");
        assert!(told(&["bash"]).contains("the commands rg"));
        assert!(told(&["bash", "grep", "find"]).contains("not with commands"));
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
