//! `osier --json`: one JSON object per line, in both directions.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::cli::{Home, Running, signal, without_time};

fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().expect("a type"))
        .filter(|kind| !matches!(*kind, "log" | "accounting" | "workspace"))
        .collect();
    kinds.dedup();
    kinds
}

fn settled(event: &Value) -> bool {
    event["type"] == "agent_settled"
}

fn ends(running: Running) -> (Vec<Value>, Option<i32>, String) {
    let (lines, code, errors) = running.end();
    let values = lines.iter().map(|line| serde_json::from_str(line));
    (
        values.collect::<Result<_, _>>().expect("JSON lines"),
        code,
        errors,
    )
}

#[test]
fn a_message_runs_and_every_event_is_a_line() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "hello"}]}]);
    let mut running = home.scripted(&turns).arg("--json").start();
    let opened = running.until(|event| event["type"] == "session_opened");
    assert_eq!(
        opened[0]["session"]["cwd"],
        home.work().to_string_lossy().as_ref()
    );
    running.say(r#"{"type":"message","content":"hi"}"#);
    let events = running.until(settled);
    assert_eq!(
        kinds(&events),
        [
            "model_selected",
            "agent_start",
            "message_start",
            "message_stored",
            "message_end",
            "tools",
            "turn_start",
            "message_start",
            "message_update",
            "message_stored",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
    );
    assert_eq!(
        without_time(events.last().unwrap()),
        json!({"type": "agent_settled", "outcome": {"type": "completed"}})
    );
    running.close_input();
    let (rest, code, errors) = ends(running);
    assert_eq!(
        (kinds(&rest), code, errors.as_str()),
        (vec!["shut_down"], Some(0), "")
    );
}

#[test]
fn content_blocks_are_accepted_and_messages_are_queued() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "first\nline"}, "steps": [{"text": "one"}]},
        {"when": {"user": "second"}, "steps": [{"text": "two"}]},
    ]);
    let mut running = home.scripted(&turns).arg("--json").start();
    running.say(r#"{"type":"message","content":[{"type":"text","text":"first"},{"type":"text","text":"line"}]}"#);
    running.say(r#"{"type":"message","content":"second"}"#);
    running.close_input();
    let (events, code, _) = ends(running);
    let answers: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "message_end" && event["message"]["role"] == "assistant")
        .map(|event| &event["message"]["content"][0]["text"])
        .collect();
    assert_eq!(answers, ["one", "two"]);
    assert_eq!(events.iter().filter(|event| settled(event)).count(), 2);
    assert_eq!(code, Some(0));
}

#[test]
fn interrupt_is_answered_and_the_program_continues() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "slow"}, "steps": [{"text": "begun"}, {"wait": 3_600_000}]},
        {"steps": [{"text": "quick"}]},
    ]);
    let mut running = home.scripted(&turns).arg("--json").start();
    running.say(r#"{"type":"message","content":"slow"}"#);
    running.until_said("begun");
    running.say(r#"{"type":"interrupt"}"#);
    let events = running.until(|event| event["type"] == "interrupted");
    assert_eq!(
        kinds(&events),
        [
            "message_update",
            "message_stored",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
            "interrupted"
        ]
    );
    let interrupted = without_time(events.last().unwrap());
    assert_eq!(interrupted, json!({"type": "interrupted"}));
    running.say(r#"{"type":"message","content":"next"}"#);
    running.until_said("quick");
    running.close_input();
    assert_eq!(ends(running).1, Some(0));
}

#[test]
fn end_of_input_finishes_the_run_and_an_interrupt_exits_with_130() {
    let home = Home::new();
    let turns = json!([{"repeat": true, "steps": [{"text": "begun"}, {"wait": 3_600_000}]}]);
    let mut running = home.scripted(&turns).args(["--json", "go"]).start();
    running.close_input();
    running.until_said("begun");
    running.signal(Signal::INT);
    let (events, code, errors) = ends(running);
    assert_eq!(
        kinds(&events),
        [
            "message_update",
            "message_stored",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
            "interrupted",
            "shut_down",
        ]
    );
    assert_eq!((code, errors.as_str()), (Some(130), ""));
}

#[test]
fn an_interrupt_ends_a_program_whose_output_is_not_read() {
    let home = Home::new();
    let words = "word ".repeat(100_000);
    let turns = json!([{"repeat": true, "steps": [{"text": words, "chunk": 2000}]}]);
    let run = home.scripted(&turns).args(["--json", "go"]);
    let mut child = run.command().stdin(Stdio::null()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut lines = output.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("message_update")));
    signal(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_second_signal_ends_a_program_that_waits_for_input() {
    let home = Home::new();
    let turns = json!([{"repeat": true, "steps": [{"text": "begun"}, {"wait": 3_600_000}]}]);
    let mut running = home.scripted(&turns).args(["--json", "go"]).start();
    running.until_said("begun");
    running.signal(Signal::INT);
    running.until(|event| event["type"] == "interrupted");
    running.signal(Signal::INT);
    assert_eq!(ends(running).1, Some(130));
}

#[test]
fn an_invalid_input_line_causes_an_error_event_only() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "hello"}]}]);
    let mut running = home.scripted(&turns).arg("--json").start();
    for (line, reason) in [
        (
            "nonsense",
            "not valid JSON: expected ident at line 1 column 2",
        ),
        (
            "[]",
            "not an object with a `type`; expected one of `message`, `interrupt`, `answer`",
        ),
        (
            r#"{"type":"massage"}"#,
            "unknown type `massage`; expected one of `message`, `interrupt`, `answer`",
        ),
        (r#"{"type":"message"}"#, "missing field `content`"),
        (
            r#"{"type":"message","content":7}"#,
            "`content` is neither a string nor a list of blocks",
        ),
        (
            r#"{"type":"message","content":"hi","image":"x"}"#,
            "unknown field `image`; `message` takes `content`, `images`, `attachments`",
        ),
        (
            r#"{"type":"answer","id":"q","answer":{"type":"maybe"}}"#,
            "`answer`: unknown variant `maybe`, expected one of `allow`, `approve`, `refuse`, `yes`",
        ),
    ] {
        running.say(line);
        let answered = running.until(|event| event["type"] == "error");
        let error = answered.last().unwrap();
        let message = error["message"].as_str().unwrap();
        let expected = format!("invalid input line: {reason}");
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!(
            error["hint"],
            r#"send {"type":"message","content":"…"}, {"type":"interrupt"} or {"type":"answer","id":"…","answer":{…}}"#
        );
    }
    running.say("");
    running.say(r#"{"type":"message","content":"hi"}"#);
    running.close_input();
    let (events, code, _) = ends(running);
    assert_eq!(events.iter().filter(|event| settled(event)).count(), 1);
    assert!(!kinds(&events).contains(&"error"));
    assert_eq!(code, Some(0));
}

#[test]
fn failed_run_exits_with_1() {
    let home = Home::new();
    let turns = json!([{"steps": [{"fail": {"type": "quota_exceeded", "message": "no money"}}]}]);
    let mut running = home.scripted(&turns).args(["--json", "go"]).start();
    running.close_input();
    let (events, code, _) = ends(running);
    assert_eq!(
        events.iter().find(|event| settled(event)).unwrap()["outcome"],
        json!({"type": "failed", "status": {"type": "quota_exceeded", "message": "no money"}})
    );
    assert_eq!(code, Some(1));
}

#[test]
fn settings_problems_are_reported_as_events() {
    let home = Home::new();
    home.config("settings.toml", "mouse = 3\n");
    let turns = json!([{"steps": [{"text": "hello"}]}]);
    let mut running = home.scripted(&turns).args(["--json", "go"]).start();
    running.close_input();
    let (_, code, errors) = ends(running);
    assert_eq!(code, Some(0));
    let told = home.normal(&errors);
    assert!(told.starts_with("[WRN] HOME/settings.toml:1"), "{told}");
}

#[test]
fn no_event_contains_a_key() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "hello"}]}]);
    let cli =
        home.scripted(&turns)
            .args(["--json", "--trace-llm", "--api-key", "sk-very-secret", "go"]);
    let ended = cli.environment("OPENAI_API_KEY", "sk-also-secret").run();
    assert_eq!(ended.code, Some(0));
    assert!(!ended.stdout.contains("secret"));
}

#[test]
fn closed_output_ends_the_program_and_the_answer_is_stored() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "talk"}, "steps": [{"text": "on and ", "times": 1_000_000, "delayMs": 5}]},
        {"steps": [{"text": "done"}]},
    ]);
    let mut child = home
        .scripted(&turns)
        .args(["--json", "talk"])
        .command()
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    while !lines.next().unwrap().unwrap().contains("on and") {}
    drop(lines);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap()
        ),
        (Some(0), String::new())
    );
    let ended = home.scripted(&turns).args(["-c", "-p", "go on"]).run();
    assert_eq!(ended.stdout, "done\n");
    let partial = home.session()[2]["message"]["content"][0]["text"].clone();
    assert!(
        partial.as_str().unwrap().starts_with("on and "),
        "{partial}"
    );
}

#[test]
fn line_that_is_not_utf8_is_an_error_event() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "hello"}]}]);
    let input = b"\xff\xfe\n{\"type\":\"message\",\"content\":\"hi\"}\n".to_vec();
    let ended = home.scripted(&turns).arg("--json").stdin(input).run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let events: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("error"), count("agent_settled")), (1, 1));
}

/// Nobody can approve a plan here: it is the answer, and a notice says how to carry it out.
#[test]
fn plan_ends_a_run_without_a_user() {
    let plan = json!([{"steps": [{"tool": "exit_plan_mode", "arguments": {"plan": "# Plan"}}]}]);
    let home = Home::new();
    let cli = home.scripted(&plan).args(["--permissions", "plan"]);
    let printed = cli.args(["-p", "go"]).run();
    assert_eq!(
        (printed.code, printed.stdout.as_str()),
        (Some(0), "# Plan\n")
    );
    let notice = "the plan is not approved, because nobody can answer in this run. It is in `";
    let how = "To carry it out: `osier -c --permissions ask \"Carry out the plan\"`";
    assert!(
        printed.stderr.contains(notice) && printed.stderr.contains(how),
        "{}",
        printed.stderr
    );

    let home = Home::new();
    let cli = home.scripted(&plan).args(["--permissions", "plan"]);
    let ran = cli.args(["--json", "go"]).run();
    assert_eq!(ran.code, Some(0));
    let lines = ran.stdout.lines();
    let events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let call = events
        .iter()
        .find(|event| event["type"] == "tool_execution_end")
        .expect("a call");
    assert_eq!(call["result"]["details"]["plan"], "# Plan");
    let end = events.iter().find(|event| event["type"] == "agent_end");
    assert_eq!(end.expect("an end")["outcome"]["type"], "completed");
}
