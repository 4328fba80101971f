//! `osier -p`: only the answer on standard output, the log on standard error, and the exit code.

use std::io::Read;

use osier::modes::AskedRequests;
use osier::modes::log::{Log, LogLevel, LogOptions};
use osier::modes::run::Run;
use osier::modes::text::TextFormat;
use osier_agent::RunOutcome;
use osier_base::terminal_output::TerminalOutput;
use osier_llm::Script;
use osier_protocol::{Op, Prompt};
use osier_session::SessionChoice;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::session::TestProject;

fn says(text: &str) -> Value {
    json!([{"repeat": true, "steps": [{"text": text}]}])
}

#[test]
fn standard_output_has_only_the_answer() {
    let home = Home::new();
    let ended = home
        .scripted(&says("forty-two"))
        .args(["-p", "what?"])
        .run();
    assert_eq!(ended, ProgramOutput::new(0, "forty-two\n", ""));
    // Standard output is not a terminal, so the flag is not needed.
    let ended = home.scripted(&says("forty-two\n\n")).arg("what?").run();
    assert_eq!(ended, ProgramOutput::new(0, "forty-two\n", ""));
}

#[test]
fn tools_change_files_and_only_the_last_answer_is_printed() {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"text": "Let me write."}, {"tool": "write", "arguments": {"file_path": "a.txt", "content": "one\n"}}]},
        {"steps": [{"tool": "bash", "arguments": {"command": "cat a.txt"}}]},
        {"when": {"toolResult": "one"}, "steps": [{"text": "It says one."}]},
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "It says one.\n", ""));
    let written = std::fs::read_to_string(home.work().join("a.txt")).unwrap();
    assert_eq!(written, "one\n");
}

#[test]
fn model_that_asks_the_user_is_told_that_nobody_can_answer() {
    let home = Home::new();
    let question = json!({"questions": [{"question": "Which?", "options": [{"label": "a"}]}]});
    let turns = json!([
        {"steps": [{"tool": "ask_user", "arguments": question}]},
        {
            "when": {"toolResult": "Nobody can answer now. Choose yourself, and state your assumption."},
            "steps": [{"text": "I assume a."}],
        },
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "I assume a.\n", ""));
}

#[test]
fn prompts_run_sequentially_in_one_conversation() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "first"}, "steps": [{"text": "one"}]},
        {"when": {"user": "second"}, "steps": [{"text": "two"}]},
    ]);
    let ended = home.scripted(&turns).args(["-p", "first", "second"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "one\n\ntwo\n", ""));
    let roles: Vec<Value> = home
        .session()
        .iter()
        .skip(1)
        .map(|entry| entry["message"]["role"].clone())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
}

#[test]
fn piped_text_and_files_precede_the_prompt() {
    let home = Home::new();
    home.file("notes.txt", "from the file\n");
    let ended = home
        .scripted(&says("read"))
        .args(["-p", "@notes.txt", "say it"])
        .stdin("from the pipe\n")
        .run();
    assert_eq!(ended, ProgramOutput::new(0, "read\n", ""));
    let message = &home.session()[1]["message"];
    assert_eq!(message["text"], "from the pipe\n\nsay it");
    assert_eq!(message["attachments"][0]["fileName"], "notes.txt");
    assert_eq!(
        message["attachments"][0]["extractedText"],
        "from the file\n"
    );
}

#[test]
fn piped_text_alone_is_a_prompt() {
    let home = Home::new();
    let turns = json!([{"when": {"user": "only the pipe"}, "steps": [{"text": "heard"}]}]);
    let ended = home.scripted(&turns).arg("-p").stdin("Only the pipe").run();
    assert_eq!(ended, ProgramOutput::new(0, "heard\n", ""));
}

#[test]
fn verbose_log_has_one_line_per_request_and_answer() {
    let home = Home::new();
    let turns = json!([
        {"steps": [
            {"tool": "bash", "arguments": {"command": "printf 12345"}},
            {"usage": {"input": 100, "output": 7}},
        ]},
        {"steps": [{"text": "five digits"}, {"usage": {"input": 120, "output": 3}}]},
    ]);
    let cli = home.scripted(&turns).args(["-p", "--verbose", "count"]);
    let ended = cli.run();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "five digits\n")
    );
    // The size of a request depends on the tools and the system prompt.
    let log: Vec<String> = ended
        .stderr
        .lines()
        .map(|line| match line.split_once(" bytes") {
            Some((start, rest)) if line.contains("messages") => {
                let (start, _) = start.rsplit_once(' ').unwrap();
                format!("{start} ? bytes{rest}")
            }
            _ => line.to_owned(),
        })
        .collect();
    assert_eq!(
        log,
        [
            "[VRB] → [1.0] llm script:model.json: messages 1, ? bytes",
            "[VRB] ← [1.0] llm script:model.json: input 100, output 7 tokens, ?ms, 30 bytes",
            "[VRB] → [1.1] tool bash: bash(command:printf 12345)",
            "[VRB] ← [1.1] tool bash: ?ms, 5 chars",
            "[VRB] → [2.0] llm script:model.json: messages 3, ? bytes",
            "[VRB] ← [2.0] llm script:model.json: input 120, output 3 tokens, ?ms, 11 bytes",
        ]
    );
}

#[test]
fn trace_log_has_complete_requests_and_answers() {
    let home = Home::new();
    let cli = home
        .scripted(&says("traced"))
        .args(["-p", "--trace-llm", "hello there"]);
    let ended = cli.run();
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ended.stderr);
    let request = lines[0].strip_prefix("[TRC] → [1.0] llm script:model.json: request: ");
    let request: Value = serde_json::from_str(request.unwrap()).unwrap();
    assert_eq!(request["messages"][0]["content"][0]["text"], "hello there");
    let answer = lines[1].strip_prefix("[TRC] ← [1.0] llm script:model.json: response: ");
    let answer: Value = serde_json::from_str(answer.unwrap()).unwrap();
    assert_eq!(answer["content"][0]["text"], "traced");
}

#[test]
fn failed_run_exits_with_1_and_the_reason() {
    let home = Home::new();
    let turns = json!([{"steps": [
        {"text": "half an ans"},
        {"fail": {"type": "model_error", "message": "the model is on holiday", "retryable": false}},
    ]}]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(
        ended,
        ProgramOutput::new(
            1,
            "",
            "[ERR] ← [1.0] llm script:model.json: model_error: the model is on holiday\n"
        )
    );
}

#[test]
fn prompt_after_a_failed_prompt_does_not_run() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "first"}, "steps": [{"fail": {"type": "auth_error", "message": "no"}}]},
        {"steps": [{"text": "second"}]},
    ]);
    let ended = home.scripted(&turns).args(["-p", "first", "second"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
}

#[test]
fn a_run_that_needs_more_turns_than_allowed_fails() {
    let home = Home::new();
    let turns = json!([{"repeat": true, "steps": [{"tool": "bash", "arguments": {"command": "echo x >> ran"}}]}]);
    let cli = home.scripted(&turns).args(["-p", "--max-turns", "2", "go"]);
    let ended = cli.run();
    assert_eq!(
        ended,
        ProgramOutput::new(
            1,
            "",
            "[WRN] ← [2.1] tool bash: {\"type\":\"tool_not_found\"}\n\
             [ERR] ← [2.0] llm agent: the model gave no answer within 2 turns: raise `--max-turns` or narrow the task\n"
        )
    );
    let ran = std::fs::read_to_string(home.work().join("ran")).unwrap();
    assert_eq!(ran, "x\n");
}

#[test]
fn accounting_has_one_line_per_call() {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": {"command": "echo hi"}}, {"usage": {"input": 10, "output": 2}}]},
        {"steps": [{"text": "done"}, {"usage": {"input": 20, "output": 3, "cacheRead": 5}}]},
    ]);
    let cli = home
        .scripted(&turns)
        .args(["-p", "--accounting", "costs.jsonl", "go"]);
    assert_eq!(cli.run(), ProgramOutput::new(0, "done\n", ""));
    let text = std::fs::read_to_string(home.work().join("costs.jsonl")).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            let fields = value.as_object_mut().unwrap();
            assert!(fields.remove("timestamp").unwrap().as_i64() > Some(0));
            assert!(fields.remove("latencyMs").unwrap().is_u64());
            fields.remove("usage").map_or(value.clone(), |usage| {
                let mut value = value.clone();
                value["tokens"] = json!([usage["input"], usage["output"], usage["cacheRead"]]);
                value
            })
        })
        .collect();
    assert_eq!(
        lines,
        [
            json!({"type": "llm", "provider": "script", "model": "model.json", "status": "success", "tokens": [10, 2, 0]}),
            json!({"type": "tool", "tool": "bash", "status": "success", "characters": 3}),
            json!({"type": "llm", "provider": "script", "model": "model.json", "status": "success", "tokens": [20, 3, 5]}),
        ]
    );
}

/// Starts a run that creates a file and does not end on its own.
fn endless(home: &Home) -> crate::support::cli::Cli<'_> {
    let turns = json!([{"steps": [
        {"text": "begun"},
        {"tool": "bash", "arguments": {"command": "echo $$ > begun.tmp; mv begun.tmp begun; sleep 600"}},
    ]}]);
    home.scripted(&turns)
}

#[test]
fn a_signal_interrupts_the_run_and_its_commands() {
    let home = Home::new();
    for (sent, round) in [(Signal::INT, 1), (Signal::TERM, 2), (Signal::HUP, 3)] {
        let mut running = endless(&home).args(["-p", "go"]).start();
        running.close_input();
        let begun = home.work().join("begun");
        while !begun.exists() {
            osier_testing::poll::pause();
        }
        let shell: i32 = std::fs::read_to_string(&begun)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        running.signal(sent);
        let (output, code, errors) = running.end();
        let expected = Some(128 + sent.as_raw());
        assert_eq!((output, code), (vec![], expected), "{errors}");
        let shell = rustix::process::Pid::from_raw(shell).unwrap();
        assert!(
            rustix::process::test_kill_process(shell).is_err(),
            "the command still runs"
        );
        let last = crate::support::cli::lines_of(home.sessions().last().unwrap());
        let mut messages = last.iter().filter(|line| line["type"] == "message");
        let last = messages.next_back().unwrap();
        assert_eq!(last["message"]["status"]["type"], "aborted");
        assert_eq!(home.sessions().len(), round);
        std::fs::remove_file(begun).unwrap();
    }
}

#[test]
fn closed_output_is_not_an_error() {
    let home = Home::new();
    let mut command = home.scripted(&says("line\n")).args(["-p", "go"]).command();
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stdin.take());
    let mut errors = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), errors.as_str()),
        (Some(0), "")
    );
}

#[test]
fn closed_standard_error_is_not_an_error() {
    let home = Home::new();
    let mut command = home
        .scripted(&says("fine"))
        .args(["-p", "--verbose", "go"])
        .command();
    let mut child = command.spawn().unwrap();
    drop(child.stderr.take());
    drop(child.stdin.take());
    let mut answer = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut answer)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), answer.as_str()),
        (Some(0), "fine\n")
    );
}

#[test]
fn log_has_no_control_sequences_of_the_model() {
    let home = Home::new();
    let turns = json!([{"steps": [{"fail": {
        "type": "model_error", "message": "\u{1b}]0;owned\u{7}bad", "retryable": false,
    }}]}]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended.code, Some(1));
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
}

#[test]
fn sessions_are_resumed_named_or_not_stored() {
    let home = Home::new();
    let turns = json!([
        {"when": {"user": "first"}, "steps": [{"text": "one"}]},
        {"when": {"user": "second"}, "steps": [{"text": "two"}]},
    ]);
    let run = |arguments: &[&str]| {
        let cli = home.scripted(&turns).arg("-p");
        let cli = arguments.iter().fold(cli, |cli, word| cli.arg(*word));
        let ended = cli.run();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        ended.stdout
    };
    assert_eq!(run(&["--no-session", "first"]), "one\n");
    assert_eq!(home.sessions().len(), 0);
    assert_eq!(run(&["first"]), "one\n");
    assert_eq!(run(&["-c", "second"]), "two\n");
    assert_eq!(home.session().len(), 5);
    assert_eq!(run(&["--session", "mine.jsonl", "first"]), "one\n");
    assert_eq!(run(&["--session", "mine.jsonl", "second"]), "two\n");
    assert_eq!(
        crate::support::cli::lines_of(&home.work().join("mine.jsonl")).len(),
        5
    );
    assert_eq!(home.sessions().len(), 1);
}

/// An error, and nothing is stored: osier must not continue in another session.
#[test]
fn session_open_in_another_process_is_unchanged() {
    let home = Home::new();
    home.scripted(&says("one")).args(["-p", "first"]).run();
    let path = home.sessions().remove(0);
    let before = std::fs::read(&path).expect("the session");
    let other = std::fs::File::open(&path).expect("the session");
    other.lock().expect("the lock");
    let id = path.file_stem().expect("a name").to_string_lossy();
    let id = id.rsplit_once('_').expect("an id").1.to_owned();
    for flags in [vec!["-c"], vec!["-r", &id]] {
        let flags = || flags.iter().map(|flag| (*flag).to_owned());
        for mode in ["-p", "--json"] {
            let mut cli = home.scripted(&says("two")).arg(mode);
            for flag in flags() {
                cli = cli.arg(flag);
            }
            let ended = cli.arg("second").run();
            let told = ended.stdout + &ended.stderr;
            assert_eq!(ended.code, Some(1), "{told}");
            assert!(told.contains("another process"), "{told}");
            assert!(!told.contains("two"), "{told}");
        }
    }
    assert_eq!(home.sessions(), std::slice::from_ref(&path));
    assert_eq!(std::fs::read(&path).expect("the session"), before);
}

#[tokio::test]
async fn print_mode_does_not_wait_for_an_ended_session() {
    let place = TestProject::new();
    let open = place
        .open(SessionChoice::New, Script::always("never"))
        .await;
    open.host.send(Op::ShutDown);
    let (mut answer, mut log) = (Vec::new(), Vec::new());
    let mut errors = TerminalOutput::new(&mut log, false);
    let told = Log {
        options: LogOptions::default(),
        level: LogLevel::Everything,
        out: &mut errors,
        accounting: None,
    };
    let told = told.follow(open.host.subscribe());
    let run = Run {
        session: &open.host,
        prompts: [Prompt::default()].into(),
        format: &mut TextFormat::default(),
        schema: None,
        output: &mut answer,
        ends_with_prompts: false,
        hooks: None,
        asked: AskedRequests::default(),
    };
    let run = async { tokio::join!(run.run(open.events, None::<&[u8]>), told).0 };
    let limit = std::time::Duration::from_mins(1);
    let outcome = tokio::time::timeout(limit, run)
        .await
        .expect("an end")
        .unwrap()
        .outcome;
    drop(errors);
    assert_eq!(
        (outcome, answer, log),
        (RunOutcome::Interrupted, vec![], vec![])
    );
}
