//! Git names its repository in variables to an alias or a hook that starts osier. Nothing that osier starts obeys them:
//! a git in another folder, such as a lane, would change the index of that repository.

#![expect(clippy::disallowed_methods, reason = "repositories of the test's own")]

use std::path::Path;
use std::process::Command;

use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::cli::{Home, Running};

/// A repository whose index differs from its commit and from its files.
const VICTIM: &str = r"
git init -q victim; cd victim
git config user.email a@b; git config user.name n
echo one > f.txt; git add f.txt; git commit -qm first
echo staged > f.txt; git add f.txt; echo later > f.txt
";

/// The repository in which osier works.
const PROJECT: &str = r"
cd work; git init -q .
git config user.email a@b; git config user.name n
echo own > own.txt; git add own.txt; git commit -qm own
";

/// Changes of git that would hit the victim, and a record of git's variables. `$0` names what runs.
const GIT: &str =
    "git read-tree HEAD; git update-index --refresh; git add -A; env > $HOME/NAME.env";

fn git_in(name: &str) -> String {
    GIT.replace("NAME", name)
}

fn shell(script: &str, folder: &Path) -> String {
    let mut command = Command::new("sh");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["-ec", script])
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The index, the files and the settings of the victim.
fn state(folder: &Path) -> String {
    let script = "cd victim; git ls-files -s; git status --porcelain; cat f.txt; git worktree list; cat .git/config";
    shell(script, folder)
}

/// Settings of another git, in variables in which osier has its own.
fn replaced() -> [(&'static str, String); 3] {
    [
        ("GIT_CONFIG_COUNT", "2".to_owned()),
        ("GIT_CONFIG_KEY_0", "core.bare".to_owned()),
        ("GIT_CONFIG_VALUE_0", "true".to_owned()),
    ]
}

const OWN: [&str; 3] = [
    "GIT_CONFIG_COUNT=1",
    "GIT_CONFIG_KEY_0=safe.bareRepository",
    "GIT_CONFIG_VALUE_0=explicit",
];

fn settings_of_git(environment: &str) -> Vec<&str> {
    let lines = environment.lines();
    let mut settings: Vec<&str> = lines
        .filter(|line| line.starts_with("GIT_CONFIG_"))
        .collect();
    settings.sort_unstable();
    settings
}

fn call(running: &mut Running, id: u64, line: &Value) -> Value {
    let mut line = line.clone();
    line["id"] = json!(id);
    running.say(&line.to_string());
    let answered = |event: &Value| event["type"] == "response" && event["id"] == id;
    let answer = running.until(answered).pop().unwrap();
    assert_eq!(answer["success"], json!(true), "{answer}");
    answer["data"].clone()
}

fn project() -> Home {
    let home = Home::new();
    let folder = home.home().parent().unwrap().to_owned();
    shell(VICTIM, &folder);
    shell(PROJECT, &folder);
    let hook = json!([{"hooks": [{"type": "command", "command": git_in("hook")}]}]);
    let hooks = json!({"hooks": {"PreToolUse": hook}});
    home.config("hooks.json", hooks.to_string());
    let server = json!({"command": "sh", "args": ["-c", git_in("server")]});
    home.config("mcp.json", json!({"mcpServers": {"x": server}}).to_string());
    std::fs::create_dir(home.home().join("plugins")).unwrap();
    let script = json!(git_in("plugin"));
    let plugin = format!("osier.on('input', function() osier.exec('sh', {{'-c', {script}}}) end)");
    home.config("plugins/p.lua", plugin);
    home
}

#[test]
fn no_feature_that_starts_git_obeys_the_variables_of_another_git() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let home = project();
    let folder = home.home().parent().unwrap().to_owned();
    let before = state(&folder);
    let victim = folder.join("victim");
    let turns = |name: &str| {
        json!([
            {"steps": [{"tool": "bash", "arguments": {"command": git_in(name)}}]},
            {"steps": [{"text": "done"}], "repeat": true},
        ])
    };
    let lane = json!({"turns": turns("lane")});
    home.file("lane.json", lane.to_string());
    let path = |name: &str| victim.join(name).to_string_lossy().into_owned();
    let variables = [
        ("GIT_DIR", path(".git")),
        ("GIT_INDEX_FILE", path(".git/index")),
        ("GIT_WORK_TREE", path("")),
        ("GIT_PREFIX", String::new()),
        ("GIT_OBJECT_DIRECTORY", path(".git/objects")),
        ("GIT_CONFIG_PARAMETERS", "'core.bare=true'".to_owned()),
        ("GIT_CONFIG_KEY_1", "http.extraHeader".to_owned()),
        ("GIT_CONFIG_VALUE_1", "Authorization: Basic abc".to_owned()),
    ];
    let model = json!({"turns": turns("bash")});
    home.file("model.json", model.to_string());
    let arguments = [
        "rpc",
        "--model",
        "script/model.json",
        "--permissions",
        "yolo",
    ];
    let mut cli = home.cli().args(arguments);
    for (name, value) in variables.iter().chain(&replaced()) {
        cli = cli.environment(name, value);
    }
    let mut running = cli.start();
    let settled = |event: &Value| event["type"] == "agent_settled";
    running.say(&json!({"id": 1, "type": "prompt", "message": "go"}).to_string());
    running.until(settled);
    call(
        &mut running,
        2,
        &json!({"type": "bash", "command": git_in("own")}),
    );
    let diffs = json!({"type": "read_file_diffs", "range": {"over": "head"}});
    let diffs = call(&mut running, 3, &diffs);
    let paths = diffs["files"].as_array().unwrap().iter();
    let paths: Vec<&Value> = paths.map(|file| &file["path"]).collect();
    assert_eq!(paths, ["lane.json", "model.json"]);
    let model = "script/lane.json";
    let fan = json!({"type": "fan_out", "models": [model, model], "prompt": "go"});
    call(&mut running, 4, &fan);
    let ended = running.until(|event| event["type"] == "fan_ended").pop();
    assert_eq!(ended.unwrap()["lanes"].as_array().map(Vec::len), Some(2));
    running.close_input();
    while running.line().is_some() {}
    let mut doctor = home.cli().args(["doctor"]);
    for (name, value) in variables.iter().chain(&replaced()) {
        doctor = doctor.environment(name, value);
    }
    let checked = doctor.run();
    assert!(checked.stdout.contains("in WORK"), "{checked:?}");
    for name in ["bash", "hook", "lane", "own", "plugin", "server"] {
        let recorded = std::fs::read_to_string(home.home().join(format!("{name}.env")));
        let recorded = recorded.unwrap_or_else(|_| panic!("`{name}` did not run"));
        let inherited = variables.iter().map(|(name, _)| name);
        let inherited = inherited.filter(|name| recorded.contains(&format!("\n{name}=")));
        assert_eq!(inherited.collect::<Vec<_>>(), [&""; 0], "{name}");
        assert_eq!(settings_of_git(&recorded), OWN, "{name}");
    }
    assert_eq!(state(&folder), before);
}
