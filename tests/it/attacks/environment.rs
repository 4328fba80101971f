//! The keys of osier in the environment of what it starts: commands of the model, hooks, MCP servers, programs of plugins, formatters,
//! language servers and git.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Writes its environment to `$1` in the home directory.
const RECORD: &str = "env > \"$HOME/NAME.txt\"";

/// Variables with keys: by their names, and those that `models.json` and `mcp.json` name (`HDR`, `LAB`, `MCP_HEADER`).
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ARM_CLIENT_SECRET", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_API_KEY", "AZURE_CLIENT_SECRET", "AZURE_OPENAI_API_KEY",
    "CARGO_REGISTRY_TOKEN", "CI_JOB_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLOUDFLARE_API_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "COHERE_API_KEY", "COPILOT_GITHUB_TOKEN", "DATABASE_PASSWORD", "DB_PASS", "DIGITALOCEAN_ACCESS_TOKEN", "DOCKER_PASSWORD",
    "GEMINI_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "GITLAB_PAT", "GITLAB_TOKEN", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS",
    "GPG_PASSPHRASE", "GROQ_API_KEY", "HDR", "HEROKU_API_KEY", "HF_TOKEN", "JWT_SECRET", "LAB", "MCP_HEADER", "MISTRAL_API_KEY",
    "MYSQL_PWD", "MY_PASSWD", "NODE_AUTH_TOKEN", "NPM_TOKEN", "OLLAMA_API_KEY", "OPENAIKEY", "OPENAI_API_KEY", "OPENAI_API_KEY_2",
    "OPENROUTER_API_KEY", "OSIER_PROXY_TOKEN", "OSIER_SERVE_TOKEN", "PGPASSWORD", "REPLICATE_API_TOKEN", "SECRET_KEY_BASE",
    "SENTRY_AUTH_TOKEN", "SIGNING_KEY_BASE64", "SLACK_BOT_TOKEN", "STRIPE_SECRET_KEY", "TELEGRAM_BOT_TOKEN", "TWINE_PASSWORD",
    "VAULT_TOKEN", "VOYAGE_API_KEY", "XAI_API_KEY", "openai_api_key",
];

/// Variables that other programs need.
const OTHERS: &[&str] = &[
    "AWS_PROFILE",
    "DATABASE_URL",
    "MAX_TOKENS",
    "OPENAI_API_KEY_FILE",
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
        r#"{{"turns": [{{"steps": [{{"tool": "bash", "arguments": {{"command": {}}}}}]}},
            {{"steps": [{{"tool": "write", "arguments": {{"file_path": "a.js", "content": "1\n"}}}}]}},
            {{"steps": [{{"text": "done"}}]}}]}}"#,
        json(record("bash"))
    );
    for (name, command) in [
        ("work/node_modules/.bin/prettier", record("formatter")),
        ("work/node_modules/.bin/recorder", record("language server")),
        (
            "bin/git",
            format!("{}\nPATH=${{PATH#*:}} exec git \"$@\"", record("git")),
        ),
    ] {
        write(home.path(), name, &format!("#!/bin/sh\n{command}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(home.path().join(name), mode).unwrap();
    }
    write(home.path(), "work/.prettierrc", "");
    let plugin = format!(
        "osier.on('tool_call', function() osier.exec('sh', {{ '-c', [[{}]] }}) end)",
        record("plugin")
    );
    write(home.path(), "osier/plugins/record.lua", &plugin);
    let server = "[lsp_servers.recorder]\ncommand = [\"recorder\"]\nextensions = [\"js\"]\n";
    let settings = format!("{settings}{server}");
    write(home.path(), "work/s.json", &turns);
    write(home.path(), "osier/settings.toml", &settings);
    let models = r#"{"providers": {"lab": {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions",
        "apiKey": "$LAB", "headers": {"x": "Bearer ${HDR}"}, "models": [{"id": "m"}]}}}"#;
    write(home.path(), "osier/models.json", models);
    let hooks = format!(
        r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{{"type": "command", "command": {}}}]}}]}}}}"#,
        json(record("hook"))
    );
    write(home.path(), "osier/hooks.json", &hooks);
    let servers = format!(
        r#"{{"mcpServers": {{"x": {{"command": "sh", "args": ["-c", {}],
            "env": {{"GROQ_API_KEY": "${{GROQ_API_KEY}}"}}}},
            "y": {{"url": "http://127.0.0.1:1", "headers": {{"x": "${{MCP_HEADER}}"}}}}}}}}"#,
        json(record("server"))
    );
    write(home.path(), "osier/mcp.json", &servers);
    let variables = KEYS.iter().chain(OTHERS).map(|name| (*name, "secret"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", home.path().join("bin").display());
    let prompt = [
        "-p",
        "hi",
        "--trust",
        "--model",
        "script/s.json",
        "--no-session",
    ];
    // The check of the environment starts git.
    for arguments in [&prompt[..], &["doctor"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_osier"))
            .args(arguments)
            .current_dir(home.path().join("work"))
            .env_clear()
            .env("PATH", &path)
            .env("HOME", home.path())
            .env("OSIER_HOME", home.path().join("osier"))
            .envs(variables.clone())
            .output()
            .unwrap();
        assert!(
            output.status.success() || arguments == ["doctor"],
            "{output:?}"
        );
    }
    home
}

#[test]
fn programs_do_not_inherit_the_keys_of_osier() {
    let home = run("discover_local_models = false\n");
    for (name, expected) in [
        ("bash", &[][..]),
        ("hook", &[]),
        // The entry of the server names it.
        ("server", &["GROQ_API_KEY"]),
        ("plugin", &[]),
        ("formatter", &[]),
        ("language server", &[]),
        ("git", &[]),
    ] {
        assert_eq!(inherited(home.path(), name, KEYS), expected, "{name}");
        assert_eq!(inherited(home.path(), name, OTHERS), OTHERS, "{name}");
    }
}

#[test]
fn keys_that_the_settings_name_are_inherited() {
    let home = run("pass_environment = [\"HF_TOKEN\", \"OPENAI_API_KEY\"]\n");
    for name in [
        "bash",
        "hook",
        "plugin",
        "formatter",
        "language server",
        "git",
    ] {
        let expected = ["HF_TOKEN", "OPENAI_API_KEY"];
        assert_eq!(inherited(home.path(), name, KEYS), expected, "{name}");
    }
}
