//! Checks of the program before it runs: flags, files, directories, models, sessions; and the errors for unusable ones.

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};

fn says(text: &str) -> Value {
    json!([{"repeat": true, "steps": [{"text": text}]}])
}

/// One line on standard error, and exit code 2.
fn usage(line: &str) -> ProgramOutput {
    ProgramOutput::new(2, "", &format!("osier: {line}\n"))
}

#[test]
fn usage_errors_are_one_line_with_a_suggestion() {
    let home = Home::new();
    let run = |arguments: &[&str]| {
        let cli = arguments
            .iter()
            .fold(home.cli(), |cli, word| cli.arg(*word));
        cli.run()
    };
    assert_eq!(
        run(&["--modle", "x", "-p", "hi"]),
        usage("unknown argument `--modle`; did you mean `--model`?")
    );
    assert_eq!(
        run(&["--max-turns", "0", "-p", "hi"]),
        usage(
            "invalid value `0` for `--max-turns <N>`: 0 is not in 1..=4294967295; see `osier --help`"
        )
    );
    assert_eq!(
        run(&["--thinking", "hard", "-p", "hi"]),
        usage(
            "unknown value `hard` for `--thinking <LEVEL>`; expected one of `off`, `minimal`, `low`, `medium`, \
             `high`, `xhigh`, `max`; see `osier --help`"
        )
    );
    assert_eq!(
        run(&["-p"]),
        usage("no prompt; pass one as an argument or on standard input")
    );
    assert_eq!(
        run(&["-p", "@missing.txt", "hi"]),
        usage("cannot read `WORK/missing.txt`: No such file or directory (os error 2)")
    );
    assert_eq!(run(&["--resume", "-p", "hi"]).code, Some(2));
    assert_eq!(
        run(&["--resume", "0000", "-p", "hi"]),
        usage("no session matches `0000`; list the sessions with `osier sessions`")
    );
    assert_eq!(
        run(&["--cwd", "nowhere", "-p", "hi"]),
        usage("cannot use `--cwd nowhere`: No such file or directory (os error 2)")
    );
    assert_eq!(
        run(&["--accounting", "no/such/file", "-p", "hi"]),
        usage(
            "cannot write the file of `--accounting no/such/file`: No such file or directory (os error 2)"
        )
    );
    assert_eq!(home.sessions(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn help_and_version_go_to_standard_output() {
    let home = Home::new();
    let version = home.cli().arg("--version").run();
    let line = concat!("osier ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(version, ProgramOutput::new(0, line, ""));
    let help = home.cli().arg("--help").run();
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(
        help.stdout
            .starts_with("A full-screen coding agent for the terminal that works with any model\n")
    );
}

#[test]
fn unknown_model_is_an_error_with_its_name() {
    let home = Home::new();
    let ended = home.cli().args(["--model", "zzz/qqq", "-p", "hi"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(
        ended.stderr.starts_with("osier: unknown model `zzz/qqq`"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("`zzz/qqq`"), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1);
}

#[test]
fn an_invalid_script_is_reported_with_its_line() {
    let home = Home::new();
    let ended = home
        .cli()
        .args(["--model", "script/none.json", "-p", "hi"])
        .run();
    assert_eq!(
        ended,
        usage("cannot read the script `WORK/none.json`: No such file or directory (os error 2)")
    );
    home.file(
        "bad.json",
        "{\"turns\": [\n  {\"steps\": [{\"txt\": \"x\"}]}\n]}",
    );
    let ended = home
        .cli()
        .args(["--model", "script/bad.json", "-p", "hi"])
        .run();
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .starts_with("osier: WORK/bad.json:2: unknown field `txt`"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_unknown_tool_is_reported_with_the_known_tools() {
    let home = Home::new();
    let ended = home
        .scripted(&says("x"))
        .args(["--tools", "read,grepp", "-p", "hi"])
        .run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.starts_with("osier: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("`grepp`"), "{}", ended.stderr);
    for known in ["read", "write", "edit", "bash"] {
        assert!(ended.stderr.contains(known), "{}", ended.stderr);
    }
}

#[test]
fn invalid_settings_are_reported_with_line_and_fix() {
    let home = Home::new();
    home.config(
        "settings.toml",
        "discover_local_models = false\nthem = \"dark\"\nmouse = 3\n",
    );
    let ended = home.scripted(&says("works")).args(["-p", "hi"]).run();
    assert_eq!(
        ended,
        ProgramOutput::new(
            0,
            "works\n",
            "[WRN] HOME/settings.toml:2:1: unknown setting `them`; did you mean `theme`?\n\
             [WRN] HOME/settings.toml:3:9: invalid value `3` for `mouse`; expected true or false\n"
        )
    );
}

#[test]
fn an_invalid_models_file_is_reported_with_line_and_fix() {
    let home = Home::new();
    home.config("models.json", "{\n  \"providers\": {,}\n}\n");
    let ended = home.scripted(&says("works")).args(["-p", "hi"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "works\n"));
    assert_eq!(
        ended.stderr,
        "[WRN] HOME/models.json:2:17: key must be a string; fix the JSON there (no comments, no comma \
         before a closing bracket); until then only bundled models are available\n"
    );
}

#[test]
fn an_invalid_entry_of_the_models_file_is_skipped() {
    let home = Home::new();
    home.config(
        "models.json",
        r#"{"providers": {"mine": {"baseUrl": "http://127.0.0.1:1", "api": "openai-chat-completions", "apiKey": "k",
            "models": [{"id": "good"}, {"name": "no id"}]}}}"#,
    );
    let ended = home.cli().args(["models", "mine/"]).run();
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 1));
    assert!(ended.stdout.starts_with("mine/good  "), "{}", ended.stdout);
    let checked = home.cli().args(["config", "check"]).run();
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.stdout.starts_with("HOME/models.json"),
        "{}",
        checked.stdout
    );
    assert!(checked.stdout.contains("mine"), "{}", checked.stdout);
}

#[test]
fn config_check_reports_every_invalid_file() {
    let home = Home::new();
    let clean = home.cli().args(["config", "check"]).run();
    assert_eq!(clean, ProgramOutput::new(0, "no errors\n", ""));
    home.config("settings.toml", "mouse = 3\n");
    home.config("models.json", "[]");
    let bad = home.cli().args(["config", "check"]).run();
    assert_eq!((bad.code, bad.stderr.as_str()), (Some(1), ""));
    let lines: Vec<&str> = bad.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", bad.stdout);
    assert_eq!(
        lines[0],
        "HOME/settings.toml:1:9: invalid value `3` for `mouse`; expected true or false"
    );
    assert!(lines[1].starts_with("HOME/models.json: `providers` is not an object; write "));
}

#[test]
fn config_check_names_deny_rules_that_are_only_advice() {
    let home = Home::new();
    home.config(
        "mcp.json",
        r#"{"mcpServers": {"known": {"command": "true"}}}"#,
    );
    let rules = "deny = [\"bash(rm *)\", \"run(rm)\", \"read(.env)\", \"mcp__nowhere__*\", \"known__x\", \"edit\"]\n";
    home.config("settings.toml", rules);
    let checked = home.cli().args(["config", "check"]).run();
    let expected = "\
note: the deny rule `bash(rm *)`: advice: it compares how a command is written; `run(rm)` holds, in the sandbox
note: the deny rule `run(rm)`: advice without a sandbox: it compares how a command is written; `sandbox = \"workspace\"` makes it hold
note: the deny rule `read(.env)`: holds for tools, and for commands only in the sandbox: `sandbox = \"workspace\"`
note: the deny rule `mcp__nowhere__*` is about an MCP server that is not configured
no errors
";
    assert_eq!(checked, ProgramOutput::new(0, expected, ""));
}

#[test]
fn config_path_lists_the_files_of_the_home() {
    let home = Home::new();
    let ended = home.cli().args(["config", "path"]).run();
    assert_eq!(
        ended,
        ProgramOutput::new(
            0,
            "settings     HOME/settings.toml\n\
             models       HOME/models.json\n\
             servers      HOME/mcp.json\n\
             themes       HOME/themes\n\
             keymaps      HOME/keymaps\n\
             credentials  HOME/auth.json\n\
             sessions     HOME/sessions\n\
             history      HOME/history.jsonl\n",
            ""
        )
    );
}

#[test]
fn models_lists_searches_and_reports_no_match() {
    let home = Home::new();
    let all = home.cli().arg("models").run();
    assert_eq!((all.code, all.stderr.as_str()), (Some(0), ""));
    assert!(
        all.stdout
            .lines()
            .any(|line| line.starts_with("demo/tour "))
    );
    let same = home.cli().arg("--list-models").run();
    assert_eq!(same, all);
    let one = home.cli().args(["models", "demo", "TOUR"]).run();
    assert_eq!(one.stdout.lines().count(), 1, "{}", one.stdout);
    assert!(one.stdout.ends_with("no key needed\n"), "{}", one.stdout);
    assert_eq!(
        home.cli().args(["models", "nonesuch"]).run(),
        usage("no model matches `nonesuch`; `osier models` lists all models")
    );
    let keyed = home.cli().args(["models", "anthropic/claude", "haiku-4-5"]);
    let keyed = keyed.environment("ANTHROPIC_API_KEY", "sk-secret").run();
    assert!(
        keyed
            .stdout
            .lines()
            .filter(|line| line.starts_with("anthropic/"))
            .all(|line| line.ends_with("key present")),
        "{}",
        keyed.stdout
    );
    assert!(keyed.stdout.starts_with("anthropic/claude-haiku-4-5 "));
    assert!(!keyed.stdout.contains("sk-secret"));
}

#[test]
fn sessions_are_listed_newest_first() {
    let home = Home::new();
    assert_eq!(
        home.cli().arg("sessions").run(),
        ProgramOutput::new(0, "", "")
    );
    for prompt in ["the first\nprompt", "the second prompt"] {
        assert_eq!(
            home.scripted(&says("ok")).args(["-p", prompt]).run().code,
            Some(0)
        );
    }
    let listed = home.cli().arg("sessions").run();
    let titles: Vec<&str> = listed
        .stdout
        .lines()
        .map(|line| line.split_once("WORK  ").unwrap().1)
        .collect();
    assert_eq!(titles, ["the second prompt", "the first⏎prompt"]);
    let elsewhere = home
        .cli()
        .args(["--cwd", "/", "-p", "x", "--model", "script/none"])
        .run();
    assert_eq!(elsewhere.code, Some(2));
    assert_eq!(home.cli().args(["sessions", "list", "--all"]).run(), listed);
    // The id that is shown is one that can be resumed.
    let id = listed.stdout.split(' ').next().unwrap();
    let resumed = home
        .scripted(&says("again"))
        .args(["--resume", id, "-p", "more"])
        .run();
    assert_eq!(resumed, ProgramOutput::new(0, "again\n", ""));
    assert_eq!(home.sessions().len(), 2);
}

#[test]
fn binary_input_is_an_error() {
    let home = Home::new();
    let refused = usage("standard input is not text; pass the file as `@FILE`");
    for bytes in [b"\xff\xfe\x00\x01".to_vec(), b"nul\0nul".to_vec()] {
        let ended = home
            .scripted(&says("x"))
            .args(["-p", "hi"])
            .stdin(bytes)
            .run();
        assert_eq!(ended, refused);
    }
}

#[test]
fn a_deleted_working_directory_is_an_error() {
    let home = Home::new();
    let gone = home.work().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut command = home.cli().args(["-p", "hi"]).command();
    #[expect(
        clippy::disallowed_methods,
        reason = "a shell leaves the folder under its own feet"
    )]
    let output = std::process::Command::new("sh")
        .args(["-c", "cd gone && rmdir ../gone && exec \"$0\" -p hi"])
        .arg(command.get_program())
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    command.stdin(std::process::Stdio::null());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "osier: cannot read the current directory: No such file or directory (os error 2); change to another directory\n"
    );
}

#[test]
fn an_unreadable_working_directory_is_an_error() {
    let home = Home::new();
    let file = home.file("not-a-folder", "text");
    let ended = home.cli().arg("--cwd").arg(file).args(["-p", "hi"]).run();
    assert_eq!(
        ended,
        usage(
            "cannot read `WORK/not-a-folder`: Not a directory (os error 20); choose another directory with `--cwd`"
        )
    );
}

#[test]
fn unusable_home_directory_is_an_error() {
    let home = Home::new();
    let blocker = home.file("blocker", "a file, not a folder");
    let inside = blocker.join("home").to_string_lossy().into_owned();
    let ended = home
        .scripted(&says("x"))
        .environment("OSIER_HOME", &inside)
        .args(["-p", "hi"])
        .run();
    assert_eq!(
        ended,
        usage(
            "cannot read the safety settings: WORK/blocker/home/settings.toml: cannot be read: Not a directory \
             (os error 20) (and 1 more); fix the file, then check it with `osier config check`"
        )
    );
    home.config("sessions", "a file, not a folder");
    let ended = home.scripted(&says("x")).args(["-p", "hi"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("[ERR] ← [0.0] llm agent: cannot create `HOME/sessions/"),
        "{}",
        ended.stderr
    );
}

#[test]
fn closed_pipe_is_not_an_error() {
    let home = Home::new();
    let mut child = home.cli().arg("models").command().spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap()
        ),
        (Some(0), String::new())
    );
}
