//! Tasks, checks, scores and reports. The tests need the program osier, which `cargo test` of the workspace builds.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

#[expect(dead_code, reason = "the helpers of the tests of the program")]
#[path = "../../../tests/it/support/cli.rs"]
mod cli;

use std::path::Path;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};

use cli::{Home, ProgramOutput};
use osier_testing::skip;

const PROGRAM: &str = env!("CARGO_BIN_EXE_osier-eval");

/// A task that wants `a.txt` with the content `two`, and an answer with the word `done`.
fn write_task(home: &Home, name: &str, more: &str) {
    let folder = home.work().join(name);
    std::fs::create_dir_all(folder.join("files")).unwrap();
    std::fs::create_dir_all(folder.join("checks")).unwrap();
    home.file(&format!("{name}/files/a.txt"), "one\n");
    home.file(&format!("{name}/checks/a.txt"), "two\n");
    let task = format!(
        "prompt = \"Write two to a.txt.\"\n{more}\n\
         [[check]]\nname = \"the file\"\npoints = 3\nrun = 'cmp a.txt \"$CHECKS/a.txt\"'\n\
         [[check]]\nname = \"the answer\"\nanswer = [\"(?i)done\"]\n"
    );
    home.file(&format!("{name}/task.toml"), task);
}

/// A script that solves the task but does not say `done`.
fn script() -> Value {
    json!([
        {"steps": [
            {"tool": "bash", "arguments": {"command": "echo two > a.txt"}},
            {"usage": {"input": 100, "output": 7, "cacheRead": 20}},
        ]},
        {"steps": [{"text": "Written."}, {"usage": {"input": 10, "output": 3}}]},
    ])
}

fn eval<const N: usize>(home: &Home, arguments: [&str; N]) -> ProgramOutput {
    home.cli().args(["--sandbox", "off"]).args(arguments).run()
}

fn write_script(home: &Home, turns: &Value) {
    home.file("model.json", json!({"turns": turns}).to_string());
}

/// The JSON lines of the output, without times.
fn json_lines(output: &ProgramOutput) -> Vec<Value> {
    let lines = output.stdout.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("milliseconds");
        line
    });
    lines.collect()
}

#[test]
fn built_in_tasks_fail_without_work_and_pass_with_their_solution() {
    if !skip::has(&["python3", "git"], "apt install python3 git") {
        return;
    }
    let ended = eval(&Home::new(), ["--verify"]);
    let verified = "21 tasks verified: each fails without work and passes with its solution\n";
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), verified),
        "{}",
        ended.stderr
    );
}

#[test]
fn run_is_scored_by_the_points_of_its_checks() {
    let home = Home::new();
    write_task(&home, "task", "");
    write_script(&home, &script());
    let arguments = [
        "task",
        "--model",
        "script/model.json",
        "--runs",
        "2",
        "--json",
    ];
    let ended = eval(&home, arguments);
    let model = "script/WORK/model.json";
    let run = |number: u32| {
        json!({
            "type": "run", "task": "task", "model": model, "run": number, "outcome": "completed",
            "passed": false, "score": 0.75,
            "checks": [
                {"name": "the file", "passed": true},
                {"name": "the answer", "passed": false, "output": "the answer was: Written."},
            ],
            "calls": 2, "failedCalls": 0, "toolCalls": 1, "failedToolCalls": 0,
            "tokens": {"input": 110, "output": 10, "cacheRead": 20, "cacheWrite": 0},
            "cost": 0.0,
        })
    };
    let summary = |task: Value| {
        json!({
            "type": "summary", "model": model, "task": task, "runs": 2, "passed": 0, "score": 0.75, "calls": 4,
            "tokens": {"input": 220, "output": 20, "cacheRead": 40, "cacheWrite": 0}, "cost": 0.0,
        })
    };
    let mut lines = json_lines(&ended);
    lines.sort_by_key(|line| line["run"].as_u64().unwrap_or(9));
    assert_eq!(
        lines,
        [run(1), run(2), summary(json!("task")), summary(Value::Null)]
    );
    assert_eq!(ended.code, Some(1));
    // Nothing is left, and the task is unchanged.
    assert_eq!(
        std::fs::read_to_string(home.work().join("task/files/a.txt")).unwrap(),
        "one\n"
    );
    assert_eq!(home.sessions(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn table_has_a_row_for_each_task_and_model() {
    let home = Home::new();
    write_task(&home, "tasks/b", "");
    write_task(&home, "tasks/a", "");
    let turns = json!([
        {"steps": [
            {"tool": "bash", "arguments": {"command": "echo two > a.txt"}},
            {"usage": {"input": 100, "output": 5, "cacheRead": 11, "cacheWrite": 1}},
        ]},
        {"steps": [{"text": "Done."}, {"usage": {"input": 10, "output": 2}}]},
    ]);
    write_script(&home, &turns);
    let lazy =
        json!({"turns": [{"steps": [{"text": "Done."}, {"usage": {"input": 7, "output": 1}}]}]});
    home.file("lazy.json", lazy.to_string());
    let ended = eval(
        &home,
        ["tasks", "--model", "script/model.json,script/lazy.json"],
    );
    let rows: Vec<String> = ended.stdout.lines().map(without_time).collect();
    let expected = [
        "PASSED SCORE CALLS INPUT OUTPUT COST TIME TASK",
        "1/1 100 % 2 122 7 T a",
        "1/1 100 % 2 122 7 T b",
        "2/2 100 % 4 244 14 T all tasks, script/WORK/model.json",
        "0/1 25 % 1 7 1 T a",
        "0/1 25 % 1 7 1 T b",
        "0/2 25 % 2 14 2 T all tasks, script/WORK/lazy.json",
    ];
    assert_eq!(rows, expected);
    assert_eq!(ended.code, Some(1));
}

/// A line with single spaces and `T` for its time.
fn without_time(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = words.iter().rposition(|word| *word == "s");
    let mut shown: Vec<&str> = words.clone();
    if let Some(unit) = unit {
        shown.splice(unit - 1..=unit, ["T"]);
    }
    shown.join(" ")
}

#[test]
fn failed_model_and_timeout_are_reported_and_still_scored() {
    let home = Home::new();
    write_task(&home, "task", "");
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": {"command": "echo two > a.txt"}}]},
        {"steps": [{"fail": {"type": "auth_error", "message": "no such key"}}]},
    ]);
    write_script(&home, &turns);
    let ended = eval(&home, ["task", "--model", "script/model.json", "--json"]);
    let run = &json_lines(&ended)[0];
    let facts = (
        &run["outcome"],
        &run["score"],
        run["error"]
            .as_str()
            .unwrap_or_default()
            .contains("no such key"),
    );
    assert_eq!(facts, (&json!("failed"), &json!(0.75), true), "{run}");

    let endless = json!([{"steps": [{"wait": 600_000}]}]);
    write_script(&home, &endless);
    let ended = eval(
        &home,
        [
            "task",
            "--model",
            "script/model.json",
            "--timeout",
            "1",
            "--json",
        ],
    );
    let run = &json_lines(&ended)[0];
    let facts = (&run["outcome"], &run["error"], &run["score"]);
    assert_eq!(
        facts,
        (&json!("timeout"), &json!("not done after 1 s"), &json!(0.0))
    );
}

#[test]
fn workspace_session_and_calls_are_stored_with_out() {
    let home = Home::new();
    write_task(&home, "task", "setup = 'echo ready > setup.txt'");
    write_script(&home, &script());
    let ended = eval(
        &home,
        [
            "task",
            "--model",
            "script/model.json",
            "--out",
            "results",
            "--json",
        ],
    );
    let folder = json_lines(&ended)[0]["directory"]
        .as_str()
        .unwrap()
        .replace("WORK", &home.work().to_string_lossy());
    let folder = Path::new(&folder);
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["calls.jsonl", "session.jsonl", "work"]);
    assert_eq!(
        std::fs::read_to_string(folder.join("work/a.txt")).unwrap(),
        "two\n"
    );
    assert_eq!(
        std::fs::read_to_string(folder.join("work/setup.txt")).unwrap(),
        "ready\n"
    );
    let again = eval(
        &home,
        ["task", "--model", "script/model.json", "--out", "results"],
    );
    let error = "osier-eval: `--out results` is not empty; name a new directory\n";
    assert_eq!(again, ProgramOutput::new(2, "", error));
}

#[test]
fn invalid_tasks_and_arguments_are_usage_errors() {
    let home = Home::new();
    let task = |text: &str| {
        std::fs::create_dir_all(home.work().join("task")).unwrap();
        home.file("task/task.toml", text);
    };
    let refused = |arguments: &[&str]| {
        let mut cli = home.cli();
        for argument in arguments {
            cli = cli.arg(*argument);
        }
        let ended = cli.run();
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
        ended.stderr
    };
    assert_eq!(
        refused(&["fix-pagination"]),
        "osier-eval: no model; name one or several with `--model`\n"
    );
    assert!(
        refused(&["missing", "--model", "m"])
            .starts_with("osier-eval: cannot read `WORK/missing`: ")
    );
    std::fs::create_dir(home.work().join("empty")).unwrap();
    assert_eq!(
        refused(&["empty", "--model", "m"]),
        "osier-eval: no task in `WORK/empty`: expected a folder with a `task.toml`, or a folder of such folders\n"
    );
    let cases = [
        ("prompt = 'x'", "no `[[check]]`; a task needs at least one"),
        (
            "prompt = ' '\n[[check]]\nname='a'\nrun='true'",
            "the prompt is empty",
        ),
        (
            "prompt = 'x'\n[[check]]\nname='a'",
            "check `a` needs either `run` or `answer`",
        ),
        (
            "prompt = 'x'\n[[check]]\nname='a'\nrun='true'\npoints=0",
            "check `a`: `points` must be more than 0",
        ),
    ];
    for (text, problem) in cases {
        task(text);
        let error = format!("osier-eval: `WORK/task/task.toml`: {problem}\n");
        assert_eq!(refused(&["task", "--model", "m"]), error);
    }
    task("prompt = 'x'\n[[check]]\nname='a'\nanswer='('");
    assert!(
        refused(&["task", "--model", "m"])
            .contains("check `a`: invalid `answer`: regex parse error")
    );
}

#[test]
fn check_that_runs_code_of_the_model_cannot_write_outside() {
    if !skip::has(&["bwrap"], "apt install bubblewrap") {
        return;
    }
    let home = Home::new();
    let target = home.work().join("stolen");
    let folder = home.work().join("task");
    std::fs::create_dir_all(&folder).unwrap();
    let task = "prompt = 'Write run.sh.'\n[[check]]\nname = 'it runs'\nrun = 'sh run.sh'\n";
    home.file("task/task.toml", task);
    let content = format!("echo x > inside && echo x > '{}'\n", target.display());
    let turns = json!([
        {"steps": [{"tool": "write", "arguments": {"file_path": "run.sh", "content": content}}]},
        {"steps": [{"text": "Done."}]},
    ]);
    write_script(&home, &turns);
    let ended = home
        .cli()
        .args([
            "task",
            "--model",
            "script/model.json",
            "--out",
            "out",
            "--json",
        ])
        .run();
    let run = &json_lines(&ended)[0];
    // In the sandbox, the file is in a temporary folder of its own.
    assert_eq!(run["outcome"], "completed", "{run}");
    assert!(!target.exists());
    let inside = "out/task/".to_owned() + &folder_name(&home) + "/1/work/inside";
    assert!(home.work().join(inside).exists());
}

/// The folder of the only model.
fn folder_name(home: &Home) -> String {
    let entries = std::fs::read_dir(home.work().join("out/task")).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.next().unwrap()
}

#[test]
fn interrupt_ends_all_runs_and_reports_the_completed_ones() {
    let home = Home::new();
    write_task(&home, "task", "");
    let turns = json!([{"steps": [{"tool": "bash", "arguments": {"command": "echo $$ > pid; exec sleep 600"}}]}]);
    write_script(&home, &turns);
    home.file(
        "quick.json",
        json!({"turns": [{"steps": [{"text": "Done."}]}]}).to_string(),
    );
    let mut running = home
        .cli()
        .args([
            "--sandbox",
            "off",
            "task",
            "--lanes",
            "1",
            "--json",
            "--out",
            "out",
        ])
        .args(["--model", "script/quick.json,script/model.json"])
        .start();
    let quick: Value = serde_json::from_str(&running.line().unwrap()).unwrap();
    assert_eq!(quick["outcome"], "completed");
    let sleeping = wait_for_pid(&home.work().join("out"));
    running.signal(Signal::INT);
    let summary: Value = serde_json::from_str(&running.line().unwrap()).unwrap();
    assert_eq!(
        (&summary["type"], &summary["runs"]),
        (&json!("summary"), &json!(1))
    );
    let (_, code, _) = running.end();
    assert_eq!(code, Some(130));
    wait_for_end(sleeping);
}

/// The process that the command of the slow model reports.
fn wait_for_pid(out: &Path) -> Pid {
    loop {
        let folders = std::fs::read_dir(out.join("task"))
            .into_iter()
            .flatten()
            .flatten();
        for folder in folders {
            let text =
                std::fs::read_to_string(folder.path().join("1/work/pid")).unwrap_or_default();
            if text.ends_with('\n') {
                return Pid::from_raw(text.trim().parse().unwrap()).unwrap();
            }
        }
        std::thread::yield_now();
    }
}

fn wait_for_end(process: Pid) {
    while test_kill_process(process).is_ok() {
        std::thread::yield_now();
    }
}
