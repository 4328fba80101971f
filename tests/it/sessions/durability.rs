//! Kills at any moment, two processes with one file, and a full disk.

use std::path::Path;
use std::process::Stdio;

use osier_testing::skip;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::shape;
use crate::support::cli::{Home, lines_of};

/// Waits for another process.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !done() {
        assert!(began.elapsed().as_secs() < 120, "{what} does not come");
        osier_testing::poll::pause();
    }
}

fn holds(path: &Path, part: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains(part))
}

#[test]
fn partial_answer_is_restored_after_a_kill() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "first"}, "steps": [{"text": "the partial answer"}, {"wait": 3_600_000}]},
        {"steps": [{"text": "gone on"}]},
    ]);
    let mut running = home.scripted(&turns).args(["--json", "first"]).start();
    running.until_said("answer");
    let draft = home.sessions()[0].with_extension("jsonl.draft");
    wait_until("the draft", || holds(&draft, "ial answer"));
    running.signal(Signal::KILL);
    assert_eq!(running.end().1, None);

    let ended = home.scripted(&turns).args(["-c", "-p", "second"]).run();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "gone on\n"),
        "{}",
        ended.stderr
    );
    assert_eq!(
        shape(&home.sessions()[0]),
        [
            "root message user: first",
            "1 message assistant: the partial answer",
            "2 message user: second",
            "3 message assistant: gone on",
        ]
    );
    assert_eq!(home.session()[2]["message"]["stopReason"], "aborted");
    assert!(!draft.exists());
}

/// Entries that were acknowledged before the process died are stored.
#[test]
fn thirty_kills_lose_no_acknowledged_entry() {
    let home = Home::new();
    let turns = json!([
        {"when": {"toolResult": "ran"}, "repeat": true, "steps": [{"text": "the end of the turn", "chunk": 1}]},
        {"repeat": true, "steps": [
            {"thinking": "let me think", "chunk": 2},
            {"text": "some words before the call", "chunk": 2},
            {"tool": "bash", "arguments": {"command": "echo ran"}},
        ]},
    ]);
    let mut acknowledged: Vec<Value> = Vec::new();
    for round in 0..30 {
        let prompt = format!("prompt {round}");
        let mut running = home
            .scripted(&turns)
            .args(["--json", "-c", &prompt])
            .start();
        // A run has about fifty events; each round is killed a little later.
        for _ in 0..=round * 2 {
            let Some(line) = running.line() else { break };
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["type"] == "message_end" {
                acknowledged.push(event["message"].clone());
            }
            if event["type"] == "agent_settled" {
                break;
            }
        }
        running.signal(Signal::KILL);
        // Entries that were written before the signal count as well.
        for line in running.end().0 {
            if let Ok(event) = serde_json::from_str::<Value>(&line)
                && event["type"] == "message_end"
            {
                acknowledged.push(event["message"].clone());
            }
        }
        let Some(session) = home.sessions().pop() else {
            assert_eq!(acknowledged, Vec::<Value>::new());
            continue;
        };
        let loaded = osier_store::load(&session).unwrap();
        assert_eq!((loaded.damaged, loaded.reattached), (0, 0));
        let stored: Vec<Value> = loaded
            .entries
            .iter()
            .filter_map(|entry| entry.kind.as_message())
            .map(|message| serde_json::to_value(message).unwrap())
            .collect();
        for message in &acknowledged {
            assert!(stored.contains(message), "round {round} lost {message}");
        }
    }
    assert_eq!(home.sessions().len(), 1);
    assert!(acknowledged.len() > 40, "{}", acknowledged.len());
    let ended = home.scripted(&turns).args(["-c", "-p", "last"]).run();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "the end of the turn\n")
    );
    let torn = lines_of(&home.sessions()[0]);
    assert_eq!(torn[0]["type"], "osier_session");
}

#[test]
fn second_process_gets_an_error_with_the_process_id() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "first"}, "steps": [{"text": "begun"}, {"wait": 3_600_000}]},
        {"steps": [{"text": "elsewhere"}]},
    ]);
    let mut running = home.scripted(&turns).args(["--json", "first"]).start();
    running.until_said("begun");
    let session = home.sessions().remove(0);
    let before = lines_of(&session);
    let ended = home.scripted(&turns).args(["-c", "-p", "second"]).run();
    let name = home.normal(&session.to_string_lossy());
    assert_eq!(
        ended.stderr,
        format!(
            "[ERR] the session `{name}` is open in another process (process {}); take it over with \
             `--take-over`, continue in a copy with `--fork ID`, or read it with `osier sessions show`\n",
            running.id()
        )
    );
    assert_eq!(lines_of(&session), before);
    let id = before[0]["id"].as_str().unwrap();
    let ended = home
        .scripted(&turns)
        .args(["--fork", id, "-p", "second"])
        .run();
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("elsewhere\n", Some(0))
    );
    assert_eq!(lines_of(&session), before);
    let copy = home.sessions().into_iter().find(|path| *path != session);
    let copied = lines_of(&copy.unwrap());
    assert_eq!(copied[0]["parentSession"], id);
    let prompts = copied
        .iter()
        .filter(|line| line["message"]["role"] == "user");
    let texts: Vec<_> = prompts
        .map(|line| line["message"]["text"].clone())
        .collect();
    assert_eq!(texts, ["first", "second"]);
}

/// Runs in its own mount namespace, so that nothing is left behind.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=128k tmpfs "$OSIER_HOME" 2>/dev/null || exit 77
printf 'discover_local_models = false\ndescribe_environment = false\n' > "$OSIER_HOME/settings.toml"
"$0" --model script/model.json -p first || exit 1
cat /dev/zero > "$OSIER_HOME/fill" 2>/dev/null
"$0" --model script/model.json -c -p "second $BULK"; echo "code $?"
rm "$OSIER_HOME/fill"
"$0" --model script/model.json -c -p third; echo "code $?"
cp "$OSIER_HOME"/sessions/*/*.jsonl "$OLDPWD_COPY"
"#;

#[test]
fn full_disk_stops_the_run_and_the_session_continues_with_space() {
    if !skip::has(&["unshare", "mount"], "apt install util-linux mount") {
        return;
    }
    let home = Home::new();
    let turns = json!([{"repeat": true, "steps": [{"text": "done"}]}]);
    let program = home.scripted(&turns).command().get_program().to_owned();
    let copy = home.work().join("copy.jsonl");
    #[expect(clippy::disallowed_methods, reason = "a shell sets the small disk up")]
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", FULL_DISK])
        .arg(program)
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home())
        .env("BULK", "x".repeat(20_000))
        .env("OLDPWD_COPY", &copy)
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(77) && copy.exists() => output,
        other => {
            skip::unsupported("mount", &format!("{other:?}"));
            return;
        }
    };
    let stdout = home.normal(&String::from_utf8(output.stdout).unwrap());
    let stderr = home.normal(&String::from_utf8(output.stderr).unwrap());
    assert_eq!(stdout, "done\ncode 1\ndone\ncode 0\n");
    let (start, rest) = stderr.split_once("`HOME/sessions/").unwrap();
    let (_, end) = rest.split_once(".jsonl`").unwrap();
    assert_eq!(start, "[ERR] ← [0.0] llm agent: no space left to write ");
    assert_eq!(
        end,
        "; free some space and continue: stored entries are intact\n"
    );
    assert_eq!(
        shape(&copy),
        [
            "root message user: first",
            "1 message assistant: done",
            "2 message user: third",
            "3 message assistant: done",
        ]
    );
}
