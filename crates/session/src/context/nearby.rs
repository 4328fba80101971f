//! Instructions of directories that work moves to: nested `AGENTS.md` and similar files, and rules
//! for paths. The model reads them at the end of the result of the call that moves there, so that
//! cached prompts stay valid.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_agent::{CheckedCall, Interceptor, Severity, ToolOutput};
use osier_context::PathInstructions;
use osier_llm::ContentBlock;
use osier_tools::{BASH, Workspace};
use serde_json::Value;

use crate::emitter::Emitter;

/// Bytes of instructions that one result gets.
const LIMIT: usize = 32 * 1024;

/// The instructions of the project, shared by all sessions. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nearby(Arc<Mutex<Known>>);

#[derive(Debug, Clone, Default)]
struct Known {
    /// How often the instructions were read.
    version: u64,
    instructions: Option<PathInstructions>,
}

impl Nearby {
    pub(crate) fn set(&self, instructions: PathInstructions) {
        let mut known = self.0.lock();
        known.version += 1;
        known.instructions = Some(instructions);
    }

    /// The interceptor of one agent.
    pub(crate) fn interceptor(
        &self,
        workspace: &Arc<Workspace>,
        emitter: &Emitter,
    ) -> NearbyInstructions {
        NearbyInstructions(Arc::new(AgentState {
            nearby: self.clone(),
            workspace: Arc::clone(workspace),
            emitter: emitter.clone(),
            own: Mutex::default(),
        }))
    }
}

/// Adds instructions to results.
#[derive(Debug)]
pub(crate) struct NearbyInstructions(Arc<AgentState>);

#[derive(Debug)]
struct AgentState {
    nearby: Nearby,
    workspace: Arc<Workspace>,
    emitter: Emitter,
    /// The instructions that this agent has not received yet.
    own: Mutex<Known>,
}

impl AgentState {
    /// The instructions for these files, as text. Blocks.
    fn find(&self, files: &[PathBuf]) -> String {
        let mut own = self.own.lock();
        {
            let known = self.nearby.0.lock();
            if known.version != own.version {
                *own = known.clone();
            }
        }
        let Some(instructions) = &mut own.instructions else {
            return String::new();
        };
        let mut text = String::new();
        for file in files {
            let (found, problems) = instructions.for_file(file);
            for problem in problems {
                self.emitter.notice(Severity::Warning, problem.to_string());
            }
            for file in found {
                let (path, content) = (file.path.display(), file.text.trim());
                if text.len() + content.len() > LIMIT {
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        text,
                        "[read `{path}`: it has instructions for this directory]"
                    );
                    continue;
                }
                let _ = writeln!(
                    text,
                    "<instructions from=\"{path}\">\n{content}\n</instructions>"
                );
            }
        }
        text
    }
}

#[async_trait]
impl Interceptor for NearbyInstructions {
    async fn after_tool(&self, call: &CheckedCall, output: &mut ToolOutput) {
        let state = Arc::clone(&self.0);
        let files = files(&state.workspace, call);
        let found = osier_base::task::spawn_blocking(move || state.find(&files));
        let text = found.await.unwrap_or_default();
        if !text.is_empty() {
            output.content.push(ContentBlock::text(text));
        }
    }
}

/// The files of a call, and for a command something in each directory that it changes to.
fn files(workspace: &Workspace, call: &CheckedCall) -> Vec<PathBuf> {
    let targets = call.files().iter();
    let mut files: Vec<PathBuf> = targets.map(|target| target.real.clone()).collect();
    let command = call.call.arguments.get("command").and_then(Value::as_str);
    if let Some(command) = command.filter(|_| call.call.name == BASH) {
        let folders = folders(command).into_iter();
        files.extend(folders.map(|folder| workspace.cwd().join(folder).join("file")));
    }
    files
}

/// The directories of `cd` in a command, as far as they are plain words.
fn folders(command: &str) -> Vec<&Path> {
    let parts = command.split(['\n', ';', '&', '|', '(', ')']);
    parts
        .filter_map(|part| folder(part).map(Path::new))
        .collect()
}

/// The directory of a command that is only `cd`.
fn folder(command: &str) -> Option<&str> {
    let word = command.trim().strip_prefix("cd ")?.trim();
    let inner = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    let word = inner('"').or_else(|| inner('\'')).unwrap_or(word);
    let is_plain = !word.starts_with(['-', '~']) && !word.contains(['$', '`', '*', '?', '\\']);
    is_plain.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_a_command_are_plain_words() {
        for (command, expected) in [
            ("cd sub && make", vec!["sub"]),
            ("cd 'a b'; ls\ncd ../c", vec!["a b", "../c"]),
            ("(cd x/y; ls)", vec!["x/y"]),
            ("cd $HOME && cd - && cd ~ && echo cd z", vec![]),
        ] {
            let found: Vec<PathBuf> = folders(command).into_iter().map(Path::to_owned).collect();
            assert_eq!(
                found,
                expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "{command}"
            );
        }
    }
}
