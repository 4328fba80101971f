//! Tests of terminals that the model starts.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::terminal::TerminalChange;
use crate::testing::{Bench, run_tool, text};

fn bench() -> Bench {
    Bench::with(|workspace| workspace.with_terminals(Arc::new(|_| {})))
}

async fn call(bench: &Bench, arguments: Value) -> String {
    let tool = bench.workspace.terminal_tool().unwrap();
    let cx = osier_agent::ToolContext {
        call_id: "call".to_owned(),
        cancel: tokio_util::sync::CancellationToken::new(),
        updates: osier_agent::UpdateSink::discard(),
    };
    text(&run_tool(&tool, arguments, cx).await)
}

async fn start(bench: &Bench, command: &str) -> String {
    let output = bench.run("bash", json!({"command": command, "terminal": true}));
    text(&output.await)
}

/// Starts a command on a terminal and returns the screen with `prompt`, also on a machine that is slow to start it.
async fn start_until(bench: &Bench, command: &str, prompt: &str) -> String {
    let first = start(bench, command).await;
    if first.starts_with("(no new output)") {
        return call(bench, json!({"id": "term1", "wait": prompt})).await;
    }
    first
}

#[tokio::test]
async fn python_repl_answers_and_ends() {
    if !osier_testing::skip::has(&["python3"], "apt install python3") {
        return;
    }
    let bench = bench();
    assert!(bench.workspace.terminal_tool().is_none());
    let first = start_until(&bench, "PYTHON_BASIC_REPL=1 python3 -q", "^>>>").await;
    assert!(first.starts_with(">>>\n[term1 80x24"), "{first}");
    let answer = call(
        &bench,
        json!({"id": "term1", "text": "6 * 7\n", "wait": "^42$"}),
    );
    assert_eq!(answer.await, ">>> 6 * 7\n42\n>>>\n[term1 80x24]");
    let end = call(
        &bench,
        json!({"id": "term1", "keys": ["ctrl+d"], "wait": "exit"}),
    );
    assert!(end.await.ends_with("\n[term1: exit code 0]"));
    let gone = call(&bench, json!({"id": "term1", "text": "1\n"})).await;
    assert_eq!(gone, "the program has ended");
    let unknown = call(&bench, json!({"id": "term7"})).await;
    assert_eq!(unknown, "no terminal `term7`; terminals: term1");
}

#[tokio::test]
async fn hidden_input_of_the_user_is_never_shown_to_the_model() {
    let bench = bench();
    let script = "read -s -p 'Password: ' word; echo; echo \"it was $word.\"";
    let first = start_until(&bench, script, "Password").await;
    assert!(first.contains("it reads hidden input"), "{first}");
    let typed = bench
        .workspace
        .type_into_terminal("term1", "hunter22\x7f2\r", false);
    typed.unwrap();
    let end = call(&bench, json!({"id": "term1", "wait": "exit"})).await;
    assert_eq!(
        end,
        "Password:\nit was [hidden input].\n[term1: exit code 0]"
    );
    let screen = bench.workspace.terminal_screen("term1").unwrap();
    assert!(screen.output.text.contains("it was "));
}

#[tokio::test]
async fn full_screen_programs_are_read_and_resized() {
    if !osier_testing::skip::has(&["vim"], "apt install vim") {
        return;
    }
    let bench = bench();
    start(
        &bench,
        "vim -u NONE -N -i NONE -c 'set ttimeoutlen=10' new.txt",
    )
    .await;
    let typed = json!({"id": "term1", "text": "ihello", "keys": ["esc"], "size": "40x10"});
    let screen = call(&bench, typed).await;
    assert!(screen.starts_with("hello\n~\n"), "{screen}");
    assert!(
        screen.contains("[term1 40x10, cursor in row 1, column 5"),
        "{screen}"
    );
    call(
        &bench,
        json!({"id": "term1", "text": ":wq\n", "wait": "exit"}),
    )
    .await;
    assert_eq!(bench.get("new.txt"), "hello\n");
}

#[tokio::test]
async fn flood_is_bounded_and_can_be_interrupted() {
    // A test run in the background ignores SIGINT. A child inherits that, but gets the default of a handled signal.
    let _interrupt = signal(SignalKind::interrupt()).unwrap();
    let bench = bench();
    // More than two answers show is printed before the interrupt is obeyed, also on a slow machine.
    let first = start(
        &bench,
        "trap stop=1 INT; (trap '' INT; seq 20000); while [ -z \"$stop\" ]; do seq 1000; done; echo stopped; exit 3",
    )
    .await;
    let end = call(
        &bench,
        json!({"id": "term1", "keys": ["ctrl+c"], "wait": "exit"}),
    );
    let end = end.await;
    assert!(end.ends_with("stopped\n[term1: exit code 3]"), "{end}");
    for answer in [&first, &end] {
        assert!(answer.len() < 16 * 1024, "{}", answer.len());
    }
    assert!(
        first.starts_with('[') || end.starts_with('['),
        "{first}\n{end}"
    );
}

#[tokio::test]
async fn closing_ends_programs_that_ignore_signals() {
    let bench = bench();
    start(
        &bench,
        "trap '' HUP TERM INT; echo up; while :; do sleep 600; done",
    )
    .await;
    let end = call(&bench, json!({"id": "term1", "close": true})).await;
    assert_eq!(
        end,
        "(no new output)\n[term1: ended by SIGKILL, exit code 137]"
    );
    assert!(!bench.workspace.terminals()[0].running);
}

#[tokio::test]
async fn watchers_report_matches_and_ends() {
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let bench = Bench::with(|workspace| {
        workspace.with_terminals(Arc::new(move |change| {
            if let TerminalChange::Watched(text) = change {
                let _ = sender.send(text);
            }
        }))
    });
    let command = "until [ -e go ]; do sleep 0.01; done; echo ok; echo 2 FAILED; until [ -e end ]; do sleep 0.01; done";
    let job = json!({"command": command, "background": true});
    bench.run("bash", job).await;
    let watching = call(&bench, json!({"id": "job1", "watch": "FAILED"})).await;
    assert_eq!(watching, "Watching job1");
    call(&bench, json!({"id": "job1", "watch": "nothing"})).await;
    bench.put("go", "");
    let first = seen.recv().await.unwrap();
    assert_eq!(first, "job1 printed a line that matches `FAILED`: 2 FAILED");
    bench.put("end", "");
    let second = seen.recv().await.unwrap();
    assert!(second.starts_with("job1 exit code 0, after "), "{second}");
    assert!(second.ends_with("; nothing matched `nothing`"), "{second}");

    start(&bench, "read x; echo ready $x; read y").await;
    call(&bench, json!({"id": "term1", "watch": "ready \\d"})).await;
    call(&bench, json!({"id": "term1", "text": "5\n"})).await;
    let third = seen.recv().await.unwrap();
    assert_eq!(
        third,
        "term1 printed a line that matches `ready \\d`: ready 5"
    );
    let invalid = call(&bench, json!({"id": "term1", "watch": "("})).await;
    assert!(
        invalid.starts_with("invalid arguments: invalid regex `(`"),
        "{invalid}"
    );
}

#[tokio::test]
async fn lines_for_a_shell_are_known_before_they_are_typed() {
    let bench = bench();
    start(&bench, "exec bash --norc --noprofile").await;
    let typed = async |arguments: Value| {
        let tool = bench.workspace.terminal_tool().unwrap();
        let call = tool.prepare(arguments).await.unwrap();
        call.shell_input.map(|input| input.command)
    };
    let command = |command: &str| Some(Some(command.to_owned()));
    let ls = json!({"id": "term1", "text": "ls -la\n"});
    assert_eq!(typed(ls).await, command("ls -la"));
    call(&bench, json!({"id": "term1", "text": "echo "})).await;
    let rest = json!({"id": "term1", "text": "hi", "keys": ["enter"]});
    assert_eq!(typed(rest).await, command("echo hi"));
    assert_eq!(typed(json!({"id": "term1"})).await, None);

    start(&bench, "cat").await;
    let other = json!({"id": "term2", "text": "rm -rf /\n"});
    assert_eq!(typed(other).await, None);
}
