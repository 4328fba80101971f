//! The options of the Agent SDKs: how each reaches osier, and whether it works. Tests compare the table with the type
//! definitions of the SDKs, which `.ci/run` installs, and try every row.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use osier_peers::formats::{ClaudeFormat, Effect, Format as _, Lines};
use osier_protocol::{HookEvent, OTHERS};
use osier_testing::skip;
use serde_json::{Value, json};

use super::args::Args;

/// How an option reaches osier.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// With these words of the command line.
    Flag(&'static [&'static str]),
    /// As this field of `initialize`, with this value.
    Field(&'static str, &'static str),
    /// Not at all: the SDK uses it itself.
    InSdk,
}

use Way::{Field, Flag, InSdk};

/// The option in the SDK for TypeScript and for Python, how it reaches osier, and whether osier refuses it by name.
struct SdkOption(&'static str, &'static str, Way, bool);

const WORKS: bool = false;
const REFUSED: bool = true;

const OPTIONS: &[SdkOption] = &[
    SdkOption(
        "systemPrompt",
        "system_prompt",
        Field("systemPrompt", "\"Be brief.\""),
        WORKS,
    ),
    SdkOption(
        "agents",
        "agents",
        Field("agents", r#"{"a": {"description": "d", "prompt": "p"}}"#),
        WORKS,
    ),
    SdkOption(
        "outputFormat",
        "output_format",
        Field("jsonSchema", r#"{"type": "object"}"#),
        WORKS,
    ),
    SdkOption("title", "", Field("title", "\"review\""), WORKS),
    SdkOption(
        "hooks",
        "hooks",
        Field("hooks", r#"{"Stop": [{"hookCallbackIds": ["h"]}]}"#),
        WORKS,
    ),
    SdkOption(
        "mcpServers",
        "mcp_servers",
        Field("sdkMcpServers", "[\"calc\"]"),
        WORKS,
    ),
    SdkOption(
        "forwardSubagentText",
        "forward_subagent_text",
        Field("forwardSubagentText", "true"),
        REFUSED,
    ),
    SdkOption(
        "promptSuggestions",
        "",
        Field("promptSuggestions", "true"),
        REFUSED,
    ),
    SdkOption(
        "agentProgressSummaries",
        "",
        Field("agentProgressSummaries", "true"),
        REFUSED,
    ),
    SdkOption(
        "supportedDialogKinds",
        "",
        Field("supportedDialogKinds", "[\"x\"]"),
        WORKS,
    ),
    SdkOption(
        "perTaskStopAffordance",
        "",
        Field("perTaskStopAffordance", "true"),
        WORKS,
    ),
    SdkOption(
        "planModeInstructions",
        "",
        Field("planModeInstructions", "\"x\""),
        REFUSED,
    ),
    SdkOption(
        "toolAliases",
        "",
        Field("toolAliases", r#"{"Read": "x"}"#),
        REFUSED,
    ),
    SdkOption("skills", "skills", Field("skills", "[\"x\"]"), REFUSED),
    SdkOption("model", "model", Flag(&["--model", "sonnet"]), WORKS),
    SdkOption(
        "fallbackModel",
        "fallback_model",
        Flag(&["--fallback-model", "haiku"]),
        WORKS,
    ),
    SdkOption("effort", "effort", Flag(&["--effort", "high"]), WORKS),
    SdkOption(
        "thinking",
        "thinking",
        Flag(&["--thinking", "adaptive", "--thinking-display=summarized"]),
        WORKS,
    ),
    SdkOption(
        "maxThinkingTokens",
        "max_thinking_tokens",
        Flag(&["--max-thinking-tokens", "4096"]),
        WORKS,
    ),
    SdkOption("maxTurns", "max_turns", Flag(&["--max-turns", "3"]), WORKS),
    SdkOption(
        "maxBudgetUsd",
        "max_budget_usd",
        Flag(&["--max-budget-usd", "1"]),
        WORKS,
    ),
    SdkOption(
        "permissionMode",
        "permission_mode",
        Flag(&["--permission-mode", "manual"]),
        WORKS,
    ),
    SdkOption(
        "permissionPromptToolName",
        "permission_prompt_tool_name",
        Flag(&["--permission-prompt-tool=stdio"]),
        WORKS,
    ),
    SdkOption(
        "permissionPrompts",
        "",
        Flag(&["--permission-prompts=none"]),
        WORKS,
    ),
    SdkOption(
        "canUseTool",
        "can_use_tool",
        Flag(&["--permission-prompt-tool=stdio"]),
        WORKS,
    ),
    SdkOption(
        "allowDangerouslySkipPermissions",
        "",
        Flag(&["--allow-dangerously-skip-permissions"]),
        WORKS,
    ),
    SdkOption(
        "allowedTools",
        "allowed_tools",
        Flag(&["--allowedTools", "Read"]),
        WORKS,
    ),
    SdkOption(
        "disallowedTools",
        "disallowed_tools",
        Flag(&["--disallowedTools", "Bash"]),
        WORKS,
    ),
    SdkOption("tools", "tools", Flag(&["--tools", "Read"]), WORKS),
    SdkOption(
        "additionalDirectories",
        "add_dirs",
        Flag(&["--add-dir", "/"]),
        WORKS,
    ),
    SdkOption(
        "strictMcpConfig",
        "strict_mcp_config",
        Flag(&["--strict-mcp-config"]),
        WORKS,
    ),
    SdkOption(
        "continue",
        "continue_conversation",
        Flag(&["--continue"]),
        WORKS,
    ),
    SdkOption("resume", "resume", Flag(&["--resume=abc"]), WORKS),
    SdkOption(
        "forkSession",
        "fork_session",
        Flag(&["--continue", "--fork-session"]),
        WORKS,
    ),
    SdkOption(
        "persistSession",
        "",
        Flag(&["--no-session-persistence"]),
        WORKS,
    ),
    SdkOption(
        "includePartialMessages",
        "include_partial_messages",
        Flag(&["--include-partial-messages"]),
        WORKS,
    ),
    SdkOption(
        "settings",
        "settings",
        Flag(&["--settings", "{\"theme\": \"dark\"}"]),
        WORKS,
    ),
    // osier always reads its own settings.
    SdkOption(
        "settingSources",
        "setting_sources",
        Flag(&["--setting-sources=user"]),
        WORKS,
    ),
    SdkOption(
        "extraArgs",
        "extra_args",
        Flag(&["--sandbox", "workspace"]),
        WORKS,
    ),
    SdkOption("agent", "", Flag(&["--agent=x"]), REFUSED),
    SdkOption("betas", "betas", Flag(&["--betas=x"]), REFUSED),
    SdkOption("debug", "", Flag(&["--debug"]), REFUSED),
    SdkOption("debugFile", "", Flag(&["--debug-file=x"]), REFUSED),
    SdkOption(
        "includeHookEvents",
        "include_hook_events",
        Flag(&["--include-hook-events"]),
        REFUSED,
    ),
    SdkOption(
        "managedSettings",
        "",
        Flag(&["--managed-settings={}"]),
        REFUSED,
    ),
    SdkOption(
        "mcpServersDelivery",
        "",
        Flag(&["--await-initialize"]),
        REFUSED,
    ),
    SdkOption("plugins", "plugins", Flag(&["--plugin-dir=x"]), REFUSED),
    SdkOption("pluginDelivery", "", Flag(&["--await-initialize"]), REFUSED),
    SdkOption(
        "projectConfigRoot",
        "",
        Flag(&["--project-config-root=x"]),
        REFUSED,
    ),
    SdkOption(
        "resumeSessionAt",
        "resume_session_at",
        Flag(&["--resume-session-at=x"]),
        REFUSED,
    ),
    SdkOption(
        "resumeDropsTurn",
        "resume_drops_turn",
        Flag(&["--resume-drops-turn=x"]),
        REFUSED,
    ),
    SdkOption(
        "sessionId",
        "session_id",
        Flag(&["--session-id=x"]),
        REFUSED,
    ),
    SdkOption(
        "sessionStore",
        "session_store",
        Flag(&["--session-mirror"]),
        REFUSED,
    ),
    SdkOption(
        "taskBudget",
        "task_budget",
        Flag(&["--task-budget=1"]),
        REFUSED,
    ),
    SdkOption(
        "sandbox",
        "sandbox",
        Flag(&["--settings", "{\"sandbox\": {\"enabled\": true}}"]),
        REFUSED,
    ),
    SdkOption("abortController", "", InSdk, WORKS),
    SdkOption("cwd", "cwd", InSdk, WORKS),
    SdkOption("env", "env", InSdk, WORKS),
    SdkOption("executable", "", InSdk, WORKS),
    SdkOption("executableArgs", "", InSdk, WORKS),
    SdkOption("loadTimeoutMs", "load_timeout_ms", InSdk, WORKS),
    SdkOption("pathToClaudeCodeExecutable", "cli_path", InSdk, WORKS),
    SdkOption("sessionStoreFlush", "session_store_flush", InSdk, WORKS),
    SdkOption("spawnClaudeCodeProcess", "", InSdk, WORKS),
    SdkOption("stderr", "stderr", InSdk, WORKS),
    SdkOption("verbatimPrompts", "verbatim_prompts", InSdk, WORKS),
    SdkOption("", "max_buffer_size", InSdk, WORKS),
    SdkOption("", "debug_stderr", InSdk, WORKS),
    SdkOption("", "user", InSdk, WORKS),
    SdkOption("", "client_app", InSdk, WORKS),
    // osier has its own checkpoints, asks no questions of these kinds, and its tools have no such options.
    SdkOption(
        "enableFileCheckpointing",
        "enable_file_checkpointing",
        InSdk,
        WORKS,
    ),
    SdkOption("onElicitation", "", InSdk, WORKS),
    SdkOption("onUserDialog", "", InSdk, WORKS),
    SdkOption("toolConfig", "", InSdk, WORKS),
];

/// The error for a program that sends `field` in `initialize`.
fn initialize(field: &str, value: &str) -> Option<String> {
    let value: Value = serde_json::from_str(value).unwrap();
    let line = json!({"type": "control_request", "request_id": "1",
        "request": {"subtype": "initialize", field: value}});
    let mut effect = Effect::default();
    let mut format = ClaudeFormat::new(Lines::Messages, false, true, None);
    format.input(line.to_string().as_bytes(), &mut effect);
    effect.refused
}

/// The error for these words of the command line.
fn command_line(words: &[&str]) -> Option<String> {
    let base = [
        "osier",
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
    ];
    let args = match Args::read(base.iter().chain(words)) {
        Ok(args) => args,
        Err(error) => return Some(error.to_string()),
    };
    let settings = osier_settings::overrides(&args.run.settings, &[], Path::new("/"));
    match settings {
        Err(error) => Some(error),
        Ok(given) => {
            let place = tempfile::tempdir().unwrap();
            let mut folders = osier_base::folders::Folders::under(place.path());
            folders.overrides = given;
            let (_, problems) = osier_settings::Settings::load_for(&folders, place.path());
            problems.first().map(ToString::to_string)
        }
    }
}

#[test]
fn every_option_works_or_is_refused_by_name() {
    for SdkOption(typescript, python, way, is_refused) in OPTIONS {
        let (refusal, name) = match way {
            Flag(words) => {
                let name = words[0].split('=').next().unwrap();
                let name = if name == "--settings" {
                    "sandbox"
                } else {
                    name
                };
                (command_line(words), name)
            }
            Field(name, value) => (initialize(name, value), *name),
            InSdk => continue,
        };
        let found = refusal.as_ref().map(|refusal| refusal.contains(name));
        assert_eq!(
            found,
            is_refused.then_some(true),
            "{typescript} {python}: {refusal:?}"
        );
    }
}

/// The names of the options that the type definitions have, and the table lacks.
fn missing(names: BTreeSet<String>, of_row: fn(&SdkOption) -> &'static str) -> Vec<String> {
    assert!(names.len() > 40, "{names:?}");
    let is_known = |name: &String| OPTIONS.iter().any(|row| of_row(row) == name);
    names.into_iter().filter(|name| !is_known(name)).collect()
}

/// The fields of the block that begins with `start` and ends at the next line that is `end`.
fn fields(path: &Path, start: &str, end: &str) -> Option<BTreeSet<String>> {
    let Ok(text) = std::fs::read_to_string(path) else {
        skip::missing(&path.display().to_string(), ".ci/run");
        return None;
    };
    let (_, block) = text.split_once(start).unwrap();
    let lines = block
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with(end));
    let field = |line: &str| {
        let line = line.strip_prefix("    ")?;
        let (name, _) = line.split_once(':')?;
        let name = name.trim_end_matches('?');
        let is_name = name
            .chars()
            .all(|char| char.is_alphanumeric() || char == '_');
        let is_field = is_name && name.starts_with(char::is_lowercase);
        is_field.then(|| name.to_owned())
    };
    Some(lines.filter_map(field).collect())
}

#[test]
fn every_option_of_the_typescript_sdk_has_a_row() {
    let folder = PathBuf::from(std::env::var_os("OSIER_TEST_SDK_NODE").unwrap_or_default());
    let path = folder.join("node_modules/@anthropic-ai/claude-agent-sdk/sdk.d.ts");
    let names = fields(&path, "export declare type Options = {", "};");
    if let Some(names) = names {
        assert_eq!(missing(names, |row| row.0), Vec::<String>::new());
    }
}

#[test]
fn every_option_of_the_python_sdk_has_a_row() {
    let folder = PathBuf::from(std::env::var_os("OSIER_TEST_SDK").unwrap_or_default());
    let versions = std::fs::read_dir(folder.join("lib"))
        .into_iter()
        .flatten()
        .flatten();
    let files = versions.map(|version| {
        version
            .path()
            .join("site-packages/claude_agent_sdk/types.py")
    });
    let path = files
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or(folder);
    let names = fields(&path, "class ClaudeAgentOptions:", "class ");
    if let Some(mut names) = names {
        // A line of a comment.
        names.remove("https");
        assert_eq!(missing(names, |row| row.1), Vec::<String>::new());
    }
}

/// Each event of hooks runs, or is reported as one that osier does not have.
#[test]
fn every_hook_event_of_the_typescript_sdk_is_known() {
    let folder = PathBuf::from(std::env::var_os("OSIER_TEST_SDK_NODE").unwrap_or_default());
    let path = folder.join("node_modules/@anthropic-ai/claude-agent-sdk/sdk.d.ts");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return skip::missing(&path.display().to_string(), ".ci/run");
    };
    let (_, events) = text.split_once("type HookInput = ").unwrap();
    let (events, _) = events.split_once(';').unwrap();
    let names: Vec<&str> = events
        .split(" | ")
        .map(|name| name.trim_end_matches("HookInput"))
        .collect();
    let is_known = |name: &&str| HookEvent::find(name).is_some() || OTHERS.contains(name);
    assert!(names.len() > 30, "{names:?}");
    let unknown: Vec<_> = names.into_iter().filter(|name| !is_known(name)).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

#[test]
fn documentation_lists_every_option() {
    let mut table = "| TypeScript | Python | osier |\n|---|---|---|\n".to_owned();
    for SdkOption(typescript, python, way, is_refused) in OPTIONS {
        let code = |name: &str| {
            if name.is_empty() {
                String::new()
            } else {
                format!("`{name}`")
            }
        };
        let effect = match (way, is_refused) {
            (_, true) => "refused",
            (InSdk, _) => "works; the SDK uses it itself",
            _ => "works",
        };
        let _ = writeln!(
            table,
            "| {} | {} | {effect} |",
            code(typescript),
            code(python)
        );
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scripts.md");
    osier_testing::pages::check_part(&page, "sdk options", &table);
}
