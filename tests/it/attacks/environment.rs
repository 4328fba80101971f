//! The keys of osier in the environment of what it starts: commands of the model, hooks and MCP servers.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Writes its environment to `$1` in the home directory.
const RECORD: &str = "env > \"$HOME\"/NAME.txt";

/// Variables with the keys of providers and osier's own tokens.
const KEYS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_OPENAI_API_KEY",
    "COPILOT_GITHUB_TOKEN",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "LAB_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "OSIER_PROXY_TOKEN",
    "OSIER_SERVE_TOKEN",
    "XAI_API_KEY",
];

/// Credentials that other tools need.
const OTHERS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "SSH_AUTH_SOCK",
];

fn write(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    fs::write(path, text).unwrap();
}

/// The names of `wanted` in the recorded environment.
fn inherited(home: &Path, name: &str, wanted: &[&'static str]) -> Vec<&'static str> {
    let path = home.join(format!("{name}.txt"));
    let recorded = fs::read_to_string(&path).unwrap_or_else(|_| panic!("`{name}` did not run"));
    let has = |variable: &&&str| {
        recorded
            .lines()
            .any(|line| line == format!("{variable}=secret"))
    };
    wanted.iter().filter(has).copied().collect()
}

#[expect(clippy::disallowed_methods, reason = "the test runs the real program")]
fn run(settings: &str) -> TempDir {
    let home = TempDir::new().unwrap();
    let record = |name: &str| RECORD.replace("NAME", name);
    let json = |text: String| serde_json::to_string(&text).unwrap();
    let turns = format!(
        r#"{{"turns": [{{"steps": [{{"tool": "bash", "arguments": {{"command": {}}}}}]}}, {{"steps": [{{"text": "done"}}]}}]}}"#,
        json(record("bash"))
    );
    write(home.path(), "work/s.json", &turns);
    write(home.path(), "osier/settings.toml", settings);
    let models = r#"{"providers": {"lab": {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions",
        "apiKey": "$LAB_KEY", "models": [{"id": "m"}]}}}"#;
    write(home.path(), "osier/models.json", models);
    let hooks = format!(
        r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{{"type": "command", "command": {}}}]}}]}}}}"#,
        json(record("hook"))
    );
    write(home.path(), "osier/hooks.json", &hooks);
    let servers = format!(
        r#"{{"mcpServers": {{"x": {{"command": "sh", "args": ["-c", {}],
            "env": {{"GROQ_API_KEY": "${{GROQ_API_KEY}}"}}}}}}}}"#,
        json(record("server"))
    );
    write(home.path(), "osier/mcp.json", &servers);
    let variables = KEYS.iter().chain(OTHERS).map(|name| (*name, "secret"));
    let output = Command::new(env!("CARGO_BIN_EXE_osier"))
        .args(["-p", "hi", "--model", "script/s.json", "--no-session"])
        .current_dir(home.path().join("work"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.path())
        .env("OSIER_HOME", home.path().join("osier"))
        .envs(variables)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    home
}

#[test]
fn commands_hooks_and_servers_do_not_inherit_the_keys_of_osier() {
    let home = run("discover_local_models = false\n");
    for (name, expected) in [
        ("bash", &[][..]),
        ("hook", &[]),
        // The entry of the server names it.
        ("server", &["GROQ_API_KEY"]),
    ] {
        assert_eq!(inherited(home.path(), name, KEYS), expected, "{name}");
        assert_eq!(inherited(home.path(), name, OTHERS), OTHERS, "{name}");
    }
}

#[test]
fn keys_that_the_settings_name_are_inherited() {
    let home = run("pass_environment = [\"HF_TOKEN\", \"OPENAI_API_KEY\"]\n");
    for name in ["bash", "hook"] {
        let expected = ["HF_TOKEN", "OPENAI_API_KEY"];
        assert_eq!(inherited(home.path(), name, KEYS), expected, "{name}");
    }
}
