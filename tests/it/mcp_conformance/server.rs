//! osier as a server under the public conformance suite. The suite sends no token, so a proxy adds it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use super::{
    ALL, CURRENT, JUNE, MODERN, NEWEST_PACKAGE, NOVEMBER, STABLE_PACKAGE, Scenarios, suite,
};
use crate::support::cli::Home;

const HANDSHAKE: &[&str] = &[JUNE, NOVEMBER];

/// The scenarios for servers that pass, with the versions of the protocol that they have.
const PASSING: Scenarios = &[
    ("server-initialize", HANDSHAKE),
    ("server-session-lifecycle", HANDSHAKE),
    ("ping", HANDSHAKE),
    ("tools-list", ALL),
    ("server-sse-polling", &[NOVEMBER]),
    ("server-sse-multiple-streams", CURRENT),
    ("dns-rebinding-protection", CURRENT),
    ("http-header-validation", &[MODERN]),
    ("input-required-result-unsupported-methods", &[MODERN]),
    ("input-required-result-validate-input", &[MODERN]),
];

const NO_COMPLETION: &str = "osier has no completion";
const NO_LOGGING: &str = "osier sends no logs";
const NO_PROMPTS: &str = "osier has no prompts";
const NO_RESOURCES: &str = "osier has no resources";
const NEEDS_TOOL: &str = "it calls a tool of the suite's own server";
const NEEDS_HEADERS: &str = "the tool of osier repeats no argument in a header";
const SOME_LISTS: &str = "the list of tools passes; osier has no prompts and resources";
const SOME_TOOLS: &str = "21 checks pass; 4 call tools of the suite's own server";

/// The scenarios for servers that do not pass, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("caching", SOME_LISTS),
    ("completion-complete", NO_COMPLETION),
    ("elicitation-sep1034-defaults", NEEDS_TOOL),
    ("elicitation-sep1330-enums", NEEDS_TOOL),
    ("http-custom-header-server-validation", NEEDS_HEADERS),
    ("input-required-result-basic-elicitation", NEEDS_TOOL),
    ("input-required-result-basic-list-roots", NEEDS_TOOL),
    ("input-required-result-basic-sampling", NEEDS_TOOL),
    ("input-required-result-capability-check", NEEDS_TOOL),
    ("input-required-result-ignore-extra-params", NEEDS_TOOL),
    ("input-required-result-missing-input-response", NEEDS_TOOL),
    ("input-required-result-multi-round", NEEDS_TOOL),
    ("input-required-result-multiple-input-requests", NEEDS_TOOL),
    ("input-required-result-non-tool-request", NO_PROMPTS),
    ("input-required-result-request-state", NEEDS_TOOL),
    ("input-required-result-result-type", NEEDS_TOOL),
    ("input-required-result-tampered-state", NEEDS_TOOL),
    ("json-schema-2020-12", NEEDS_TOOL),
    ("logging-set-level", NO_LOGGING),
    ("prompts-get-embedded-resource", NO_PROMPTS),
    ("prompts-get-simple", NO_PROMPTS),
    ("prompts-get-with-args", NO_PROMPTS),
    ("prompts-get-with-image", NO_PROMPTS),
    ("prompts-list", NO_PROMPTS),
    ("resources-list", NO_RESOURCES),
    ("resources-read-binary", NO_RESOURCES),
    ("resources-read-text", NO_RESOURCES),
    ("resources-subscribe", NO_RESOURCES),
    ("resources-templates-read", NO_RESOURCES),
    ("resources-unsubscribe", NO_RESOURCES),
    ("sep-2164-resource-not-found", NO_RESOURCES),
    ("server-stateless", SOME_TOOLS),
    ("tools-call-audio", NEEDS_TOOL),
    ("tools-call-elicitation", NEEDS_TOOL),
    ("tools-call-embedded-resource", NEEDS_TOOL),
    ("tools-call-error", NEEDS_TOOL),
    ("tools-call-image", NEEDS_TOOL),
    ("tools-call-mixed-content", NEEDS_TOOL),
    ("tools-call-sampling", NEEDS_TOOL),
    ("tools-call-simple-text", NEEDS_TOOL),
    ("tools-call-with-logging", NO_LOGGING),
    ("tools-call-with-progress", NEEDS_TOOL),
];

/// The checks that fail of scenarios whose other checks pass.
const FAILING_CHECKS: &[(&str, &[&str])] = &[
    (
        "caching",
        &[
            "sep-2549-prompts-list-caching-hints",
            "sep-2549-resources-list-caching-hints",
            "sep-2549-resources-templates-list-caching-hints",
        ],
    ),
    (
        "server-stateless",
        &[
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-server-no-log-without-loglevel",
        ],
    ),
];

/// Adds the token to the only request of each connection.
async fn add_token(listener: TcpListener, server: String, token: String) {
    while let Ok((mut client, _)) = listener.accept().await {
        let (server, token) = (server.clone(), token.clone());
        tokio::spawn(async move {
            let mut received = Vec::new();
            let end = loop {
                match client.read_buf(&mut received).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                let end = received.windows(4).position(|part| part == b"\r\n\r\n");
                if let Some(end) = end {
                    break end;
                }
            };
            let head = String::from_utf8_lossy(&received[..end]).into_owned();
            let lines = head.split("\r\n");
            let lines = lines.filter(|line| !line.to_lowercase().starts_with("connection:"));
            let mut head: Vec<&str> = lines.collect();
            let authorization = format!("authorization: Bearer {token}");
            head.extend([&*authorization, "connection: close"]);
            let mut sent = head.join("\r\n").into_bytes();
            sent.extend_from_slice(&received[end..]);
            let mut server = TcpStream::connect(server).await.unwrap();
            // Each side may close the connection when it has what it needs.
            let _ = server.write_all(&sent).await;
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}

/// The checks of each scenario that do not pass.
fn failures(results: &Path) -> BTreeMap<String, Vec<String>> {
    let scenarios = std::fs::read_dir(results).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let name = name.strip_prefix("server-").unwrap();
        // The time of the run follows.
        let name = &name[..name.len() - "-2026-01-31T12-00-00-000Z".len()];
        let checks = std::fs::read_to_string(entry.path().join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_str(&checks).unwrap();
        let failed = checks.iter().filter(|check| {
            let status = check["status"].as_str().unwrap();
            !["SUCCESS", "INFO", "SKIPPED"].contains(&status)
        });
        let failed = failed.map(|check| check["id"].as_str().unwrap().to_owned());
        (name.to_owned(), failed.collect())
    });
    scenarios.collect()
}

/// The scenarios of `version` whose checks fail although they should pass, or pass although they are exceptions.
fn unexpected(failures: &BTreeMap<String, Vec<String>>, version: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (scenario, failed) in failures {
        let passes = PASSING.iter().find(|(name, _)| name == scenario);
        let excepted = EXCEPTIONS.iter().find(|(name, _)| name == scenario);
        let checks = FAILING_CHECKS.iter().find(|(name, _)| name == scenario);
        let fault = match (passes, excepted) {
            (Some((_, versions)), None) if !versions.contains(&version) => "is new in this version",
            (Some(_), None) if failed.is_empty() => continue,
            (Some(_), None) => "fails",
            (None, Some(_)) if failed.is_empty() => "passes, but is an exception",
            (None, Some(_)) if checks.is_none_or(|(_, checks)| failed == checks) => continue,
            (None, Some(_)) => "has other failing checks",
            _ => "is in none or both of the lists",
        };
        faults.push(format!("{scenario} of {version} {fault}: {failed:?}"));
    }
    faults
}

#[expect(
    clippy::disallowed_methods,
    reason = "the suite is a program of its own"
)]
async fn play_server(package: &str, versions: &[&str]) {
    let Some(tools) = suite(package) else { return };
    let home = Home::new();
    home.file("model.json", json!({"turns": []}).to_string());
    let arguments = [
        "mcp",
        "serve",
        "--http",
        "127.0.0.1:0",
        "--model",
        "script/model.json",
    ];
    let mut server = home.cli().args(arguments).start();
    let url = server.line().unwrap();
    let address = url
        .strip_prefix("http://")
        .and_then(|url| url.strip_suffix("/mcp"));
    let token = std::fs::read_to_string(home.home().join("serve.token")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let proxy = add_token(
        listener,
        address.unwrap().to_owned(),
        token.trim().to_owned(),
    );
    let proxy = tokio::spawn(proxy);
    let mut faults = Vec::new();
    for version in versions {
        let results = tempfile::tempdir().unwrap();
        let output = Command::new(&tools.0)
            .arg(&tools.1)
            .args(["server", "--url", &url, "--suite", "all"])
            .args(["--spec-version", version, "-o"])
            .arg(results.path())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = output.await.unwrap();
        let failures = failures(results.path());
        assert!(!failures.is_empty(), "{output:?}");
        faults.extend(unexpected(&failures, version));
    }
    proxy.abort();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn server_passes_the_newest_conformance_suite() {
    play_server(NEWEST_PACKAGE, ALL).await;
}

#[tokio::test]
async fn server_passes_the_stable_conformance_suite() {
    play_server(STABLE_PACKAGE, HANDSHAKE).await;
}

#[test]
fn the_documentation_has_the_scenarios_for_servers() {
    let docs = include_str!("../../../docs/mcp.md");
    let mut table = String::from("| scenario | versions |\n|---|---|\n");
    for (scenario, versions) in PASSING {
        table.extend(["| `", scenario, "` | ", &versions.join(", "), " |\n"]);
    }
    let mut exceptions = String::from("| scenario | reason |\n|---|---|\n");
    for (scenario, reason) in EXCEPTIONS {
        exceptions.extend(["| `", scenario, "` | ", reason, " |\n"]);
    }
    for table in [table, exceptions] {
        assert!(
            docs.contains(&table),
            "docs/mcp.md needs this table:\n{table}"
        );
    }
}
