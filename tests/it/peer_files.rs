//! Files of other agents in a home and in a project: files that osier reads in place, questions about them, and `osier migrate`.

#![expect(clippy::disallowed_methods, reason = "tests create their files")]

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput, SETTINGS, lines_of};

/// A home and a project with files.
fn place(home: &[(&str, &str)], work: &[(&str, &str)]) -> Home {
    let place = Home::new();
    for (name, text) in home {
        let path = place.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        place.config(name, text);
    }
    for (name, text) in work {
        let path = place.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        place.file(name, text);
    }
    place
}

/// A model that runs a command, then answers.
fn runs(command: &str) -> Value {
    json!([{"steps": [{"tool": "bash", "arguments": {"command": command}}]}, {"steps": [{"text": "Done."}]}])
}

/// The text of the first tool result of the stored session.
fn result(place: &Home) -> String {
    let lines = lines_of(&place.sessions()[0]);
    let result = lines
        .iter()
        .find(|line| line["message"]["role"] == "toolResult")
        .expect("a result");
    let text = &result["message"]["content"][0]["text"];
    text.as_str().unwrap_or_default().to_owned()
}

/// The stored prompts, as the model got them.
fn prompts(place: &Home) -> Vec<String> {
    let lines = lines_of(&place.sessions()[0]);
    let users = lines
        .iter()
        .filter(|line| line["message"]["role"] == "user");
    let texts = users.map(|line| {
        line["message"]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    });
    texts.collect()
}

fn print(place: &Home, script: &Value, flags: &[&str], prompt: &str) -> ProgramOutput {
    let cli = place.scripted(script).args(["-p", prompt]);
    flags.iter().fold(cli, |cli, flag| cli.args([*flag])).run()
}

const CLAUDE_SETTINGS: &str = r#"{
    "permissions": {"allow": ["Bash(printenv:*)"], "deny": ["Bash(echo secret:*)"], "additionalDirectories": ["/opt/docs"]},
    "env": {"GREETING": "hello", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
}"#;

#[test]
fn rules_and_variables_of_claude_code_apply() {
    let user = [(".claude/settings.json", CLAUDE_SETTINGS)];
    let allowed = place(&user, &[]);
    let output = print(&allowed, &runs("printenv"), &[], "go");
    assert_eq!((output.code, output.stdout.trim()), (Some(0), "Done."));
    let variables = result(&allowed);
    assert!(variables.contains("GREETING=hello"), "{variables}");
    assert!(!variables.contains("ANTHROPIC_BASE_URL"), "{variables}");

    let denied = place(&user, &[]);
    let yolo = ["--permissions", "yolo"];
    print(&denied, &runs("echo secret"), &yolo, "go");
    assert!(
        result(&denied).contains("the rule `bash(echo secret:*)` denies it"),
        "{}",
        result(&denied)
    );
}

#[test]
fn settings_of_a_project_apply_only_when_it_is_trusted() {
    let work = [(".claude/settings.json", CLAUDE_SETTINGS)];
    let untrusted = place(&[], &work);
    let yolo = ["--permissions", "yolo"];
    print(&untrusted, &runs("printenv"), &yolo, "go");
    assert!(
        !result(&untrusted).contains("GREETING"),
        "{}",
        result(&untrusted)
    );
    let trusted = place(&[], &work);
    print(&trusted, &runs("printenv"), &["--trust"], "go");
    assert!(
        result(&trusted).contains("GREETING=hello"),
        "{}",
        result(&trusted)
    );
}

#[test]
fn settings_of_claude_code_that_cannot_be_read_stop_a_run_without_a_person() {
    let settings = "{\"permissions\": {\"deny\": \"x\"}}";
    let broken = place(&[(".claude/settings.json", settings)], &[]);
    let output = print(&broken, &runs("echo x"), &["--permissions", "yolo"], "go");
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("`permissions.deny` is not a list of rules"),
        "{}",
        output.stderr
    );
}

#[test]
fn commands_of_claude_code_run_what_they_embed_and_attach_files() {
    let command = "---\nallowed-tools: Bash(echo:*)\n---\nFix $0 of $1.\n\nNow: !`echo state of $0`\n\nSee @notes.txt.\n";
    let place = place(
        &[(".claude/commands/fix.md", command)],
        &[("notes.txt", "remember")],
    );
    let answer = json!([{"steps": [{"text": "Done."}]}]);
    let output = print(&place, &answer, &[], "/fix a 'b c'");
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), "Done."),
        "{}",
        output.stderr
    );
    assert_eq!(
        prompts(&place),
        ["Fix a of b c.\n\nNow: state of a\n\nSee @notes.txt."]
    );
    let lines = lines_of(&place.sessions()[0]);
    let prompt = lines.iter().find(|line| line["message"]["role"] == "user");
    let message = &prompt.unwrap()["message"];
    assert_eq!(message["attachments"][0]["fileName"], "notes.txt");
    assert_eq!(message["typed"], "/fix a 'b c'");
}

#[test]
fn embedded_commands_of_a_project_need_trust_and_permission() {
    let work = [(
        ".claude/commands/fix.md",
        "---\nallowed-tools: Bash(touch:*)\n---\n!`touch ran` $0",
    )];
    let answer = json!([{"steps": [{"text": "Done."}]}]);
    for (flags, expected) in [
        (
            &["--permissions", "yolo"][..],
            "osier does not send it before you trust this folder",
        ),
        // Rules in a file of the project allow nothing.
        (
            &["--trust", "--permissions", "ask"],
            "the command `touch ran` of",
        ),
    ] {
        let place = place(&[], &work);
        let output = print(&place, &answer, flags, "/fix");
        assert!(output.stderr.contains(expected), "{}", output.stderr);
        assert!(!place.work().join("ran").exists());
        assert_eq!(output.stdout, "");
    }
    let trusted = place(&[], &work);
    let output = print(
        &trusted,
        &answer,
        &["--trust", "--permissions", "yolo"],
        "/fix",
    );
    assert_eq!(output.stdout.trim(), "Done.", "{}", output.stderr);
    assert!(trusted.work().join("ran").exists());
}

#[test]
fn files_outside_of_a_project_are_not_attached_for_its_commands() {
    let place = place(
        &[("own.txt", "private")],
        &[(
            ".claude/commands/look.md",
            "See @../home/own.txt and @~/own.txt",
        )],
    );
    let answer = json!([{"steps": [{"text": "Done."}]}]);
    let output = print(&place, &answer, &[], "/look");
    assert!(
        output
            .stderr
            .contains("`../home/own.txt` is not attached: it is outside of the project"),
        "{}",
        output.stderr
    );
    let stored = std::fs::read_to_string(&place.sessions()[0]).unwrap();
    assert!(!stored.contains("private"), "{stored}");
}

#[test]
fn hooks_of_the_user_are_named_until_the_user_decides() {
    let hook = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [
        {"type": "command", "command": "echo '{\"systemMessage\": \"checked\"}'"}]}], "CwdChanged": []}}"#;
    let answer = json!([{"steps": [{"text": "Done."}]}]);
    let undecided = place(&[(".claude/settings.json", hook)], &[]);
    let output = print(&undecided, &answer, &[], "go");
    assert!(
        output.stderr.contains(
            "the hook in `~/.claude/settings.json` does not run; set `claude_hooks` to true or false"
        ),
        "{}",
        output.stderr
    );
    let decided = place(
        &[
            (".claude/settings.json", hook),
            ("settings.toml", "claude_hooks = true\n"),
        ],
        &[],
    );
    let output = print(&decided, &answer, &[], "go");
    assert!(output.stderr.contains("checked"), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("osier has no event `CwdChanged`; its hooks do not run"),
        "{}",
        output.stderr
    );
}

/// Files of every program, as their documentation describes them.
fn everything() -> Home {
    place(
        &[
            (".claude/CLAUDE.md", "Be brief."),
            (".claude/settings.json", CLAUDE_SETTINGS),
            (
                ".claude.json",
                r#"{"mcpServers": {"git": {"type": "stdio", "command": "git-mcp", "args": ["-v"], "env": {"A": "1"}}}}"#,
            ),
            (".codex/AGENTS.md", "Codex."),
            (
                ".codex/config.toml",
                "model = \"gpt-5.5\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"workspace-write\"\nnotify = [\"x\"]\n\
                 [mcp_servers.docs]\nurl = \"https://docs.example/mcp\"\nbearer_token_env_var = \"DOCS_TOKEN\"\n\
                 [profiles.fast]\nmodel = \"gpt-5-mini\"\n",
            ),
            (".codex/prompts/review.md", "Review $1."),
            (
                ".codex/skills/pdf/SKILL.md",
                "---\nname: pdf\ndescription: d\n---\nx",
            ),
            (".codex/skills/pdf/run.sh", "echo"),
            (
                ".pi/agent/settings.json",
                r#"{"defaultProvider": "anthropic", "defaultModel": "claude-opus-5-5", "theme": "dark"}"#,
            ),
            (
                ".config/opencode/opencode.json",
                "{ // settings\n\"model\": \"openai/gpt-5.5\", \"small_model\": \"mine/tiny\", \"mcp\": {\"web\": {\"type\": \"local\", \
                 \"command\": [\"npx\", \"web\"], \"environment\": {\"B\": \"2\"}}, \"off\": {\"type\": \"remote\", \
                 \"url\": \"https://x\", \"enabled\": false}}, \"keybinds\": {},}",
            ),
            (
                ".config/opencode/agent/scout.md",
                "---\ndescription: finds things\nmode: subagent\ntools:\n  write: false\n  edit: false\n---\nFind it.",
            ),
            (
                ".config/opencode/command/test.md",
                "---\ndescription: run tests\n---\nTest $ARGUMENTS.",
            ),
            (".config/opencode/command/state.md", "State: !`git status`"),
            (".gemini/GEMINI.md", "Gemini."),
            (
                ".gemini/settings.json",
                r#"{"mcpServers": {"git": {"command": "other-git"}}}"#,
            ),
            (
                ".copilot/mcp-config.json",
                r#"{"mcpServers": {"issues": {"type": "http", "url": "https://issues.example", "headers": {"X": "y"}}}}"#,
            ),
        ],
        &[(".github/copilot-instructions.md", "Copilot.")],
    )
}

#[test]
fn migrate_shows_everything_and_writes_nothing_by_itself() {
    let home = everything();
    let output = home.cli().args(["migrate"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    insta::assert_snapshot!("migrate", output.stdout);
    for name in ["mcp.json", "prompts", "agents", "skills"] {
        assert!(!home.home().join(name).exists(), "{name}");
    }
    let settings = std::fs::read_to_string(home.home().join("settings.toml")).unwrap();
    assert_eq!(settings, SETTINGS);
}

/// The configuration of a project stays in the project, where it needs trust: nothing of it becomes your own.
#[test]
fn migrate_writes_files_of_a_project_into_the_project() {
    let home = place(
        &[],
        &[
            (
                "opencode.json",
                r#"{"mcp": {"x": {"type": "local", "command": ["touch", "owned"]}}, "model": "openai/gpt-5.5",
                    "agent": {"a": {"description": "d", "prompt": "p"}}}"#,
            ),
            (".opencode/command/test.md", "Test."),
            (
                ".opencode/skills/two/SKILL.md",
                "---\nname: two\ndescription: d\n---\nx",
            ),
        ],
    );
    let secret = home.home().join("secret.md");
    std::fs::write(&secret, "SECRET").unwrap();
    let link = |path: &str| {
        let path = home.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&secret, path).unwrap();
    };
    link(".opencode/command/linked.md");
    link(".opencode/skills/linked/SKILL.md");
    let output = home.cli().args(["migrate", "--write"]).run();
    assert!(
        output.stdout.contains("MCP server `x`: touch owned → ")
            && output
                .stdout
                .contains("it is a link that leads out of the project"),
        "{}",
        output.stdout
    );
    let own: Vec<_> = std::fs::read_dir(home.home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| ["mcp.json", "prompts", "agents", "skills"].contains(&name.as_str()))
        .collect();
    assert_eq!(own, Vec::<String>::new());
    let settings = std::fs::read_to_string(home.home().join("settings.toml")).unwrap();
    assert_eq!(settings, SETTINGS);
    let written = home.work().join(".osier");
    for name in [
        "mcp.json",
        "settings.toml",
        "agents/a.md",
        "prompts/test.md",
        "skills/two/SKILL.md",
    ] {
        assert!(written.join(name).is_file(), "{name}: {}", output.stdout);
    }
    assert!(!written.join("prompts/linked.md").exists());
    assert!(!written.join("skills/linked").exists());

    // `.osier` itself can be a link.
    let home = place(&[], &[(".opencode/command/test.md", "Test.")]);
    std::os::unix::fs::symlink(home.home(), home.work().join(".osier")).unwrap();
    let output = home.cli().args(["migrate", "--write"]).run();
    let refused = "command `/test`: `.osier` leads out of the project";
    assert!(output.stdout.contains(refused), "{}", output.stdout);
    assert!(!home.home().join("prompts").exists());
}

#[test]
fn migrate_writes_osiers_own_files_and_overwrites_nothing() {
    let home = everything();
    home.config("settings.toml", "thinking = \"low\"\n");
    let output = home.cli().args(["migrate", "--write"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let read = |name: &str| std::fs::read_to_string(home.home().join(name)).unwrap();
    let servers: Value = serde_json::from_str(&read("mcp.json")).unwrap();
    assert_eq!(
        servers["mcpServers"],
        json!({
            "git": {"command": "git-mcp", "args": ["-v"], "env": {"A": "1"}},
            "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"}},
            "web": {"command": "npx", "args": ["web"], "env": {"B": "2"}},
            "issues": {"type": "http", "url": "https://issues.example", "headers": {"X": "y"}},
        })
    );
    let settings = read("settings.toml");
    assert_eq!(
        settings,
        "thinking = \"low\"\nmodel = \"openai/gpt-5.5\"\nsandbox = \"workspace\"\n"
    );
    assert_eq!(read("prompts/review.md"), "Review $1.");
    assert_eq!(
        read("prompts/test.md"),
        "---\ndescription: \"run tests\"\n---\nTest $ARGUMENTS.\n"
    );
    assert_eq!(
        read("agents/scout.md"),
        "---\nname: scout\ndescription: \"finds things\"\ntools: read, bash, grep, find, ls, todo, web_fetch\n---\nFind it.\n"
    );
    assert_eq!(read("skills/pdf/run.sh"), "echo");
    assert!(!home.home().join("prompts/state.md").exists());

    let before: Vec<String> = ["mcp.json", "settings.toml"].map(read).to_vec();
    let again = home.cli().args(["migrate", "--write"]).run();
    assert!(!again.stdout.contains("written"), "{}", again.stdout);
    assert_eq!(["mcp.json", "settings.toml"].map(read).to_vec(), before);
    let checked = home
        .cli()
        .args(["config", "check"])
        .environment("DOCS_TOKEN", "t")
        .run();
    assert_eq!(
        checked.code,
        Some(0),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
}

#[test]
fn migrate_takes_over_the_level_and_the_mode_of_claude_code() {
    let settings = r#"{"effortLevel": "high", "permissions": {"defaultMode": "acceptEdits"}}"#;
    let home = place(&[(".claude/settings.json", settings)], &[]);
    home.config("settings.toml", "theme = \"dark\"\n");
    let output = home.cli().args(["migrate", "--write"]).run();
    let written = std::fs::read_to_string(home.home().join("settings.toml")).unwrap();
    assert_eq!(
        written.lines().collect::<Vec<_>>(),
        [
            "theme = \"dark\"",
            "thinking = \"high\"",
            "permissions = \"ask\""
        ],
        "{}",
        output.stdout
    );
}
