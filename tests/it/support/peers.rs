//! Programs of other agents, which `.ci/run` installs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use osier_testing::skip;

/// The directory in which npm installed them.
const VARIABLE: &str = "OSIER_TEST_PEERS";

/// A program of another agent.
#[derive(Debug, Clone)]
pub(crate) struct PeerProgram {
    words: Vec<PathBuf>,
}

/// The output of a run: both streams.
pub(crate) struct PeerOutput {
    pub success: bool,
    pub text: String,
}

/// A program by the name of its package; `None`, reported as a skip, if it is not installed.
pub(crate) fn find(package: &str) -> Option<PeerProgram> {
    let folder = PathBuf::from(std::env::var_os(VARIABLE).unwrap_or_default());
    let modules = folder.join("node_modules");
    let program = match package {
        "@anthropic-ai/claude-code" => modules.join(".bin/claude"),
        "@openai/codex" => modules.join(".bin/codex"),
        "opencode-ai" => modules.join(".bin/opencode"),
        package => modules.join(package).join("dist/bundle/cli.js"),
    };
    let node = modules.join(".bin/node");
    let is_script = program.extension().is_some_and(|ending| ending == "js");
    if !program.exists() || (is_script && !node.exists()) {
        skip::missing(package, ".ci/run");
        return None;
    }
    let words = if is_script {
        vec![node, program]
    } else {
        vec![program]
    };
    Some(PeerProgram { words })
}

impl PeerProgram {
    /// Runs the program in `cwd` with its own home folder, without network and input.
    pub(crate) fn run(&self, home: &Path, cwd: &Path, arguments: &[&str]) -> PeerOutput {
        self.run_with("http://127.0.0.1:9", home, cwd, arguments)
    }

    /// Runs the program with a model server that has Anthropic's format.
    pub(crate) fn run_with(
        &self,
        server: &str,
        home: &Path,
        cwd: &Path,
        arguments: &[&str],
    ) -> PeerOutput {
        let path = std::env::var_os("PATH").unwrap_or_default();
        #[expect(clippy::disallowed_methods, reason = "a program of its own")]
        let mut command = Command::new("timeout");
        let limit = Duration::from_mins(2).as_secs().to_string();
        let output = command
            .args(["-k", "1", &limit])
            .args(&self.words)
            .args(arguments)
            .current_dir(cwd)
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .env("ANTHROPIC_API_KEY", "none")
            .env("ANTHROPIC_BASE_URL", server)
            // Otherwise it refuses to work without questions as root.
            .env("IS_SANDBOX", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("OPENAI_API_KEY", "none")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("PI_OFFLINE", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        PeerOutput {
            success: output.status.success(),
            text: String::from_utf8_lossy(&text).into_owned(),
        }
    }
}
