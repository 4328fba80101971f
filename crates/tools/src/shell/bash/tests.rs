use std::fs;
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::{Bench, text};
use osier_agent::{Output, ToolUpdate, UpdateSink};

/// Waits until `path` contains a line, and returns it.
async fn line_in(path: &std::path::Path) -> String {
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::task::yield_now().await,
        }
    }
}

fn is_alive(pid: &str) -> bool {
    // A zombie counts as dead.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn wait_until_dead(pid: &str) {
    while is_alive(pid) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn output_exit_code_and_details_are_reported() {
    let bench = Bench::new();
    let output = bench
        .run("bash", json!({"command": "pwd; echo err >&2"}))
        .await;
    let cwd = bench.workspace.cwd().display();
    assert_eq!(text(&output), format!("{cwd}\nerr\n"));
    assert_eq!(output.status, ToolStatus::Success);
    let expected = BashDetails {
        command: "pwd; echo err >&2".to_owned(),
        exit_code: Some(0),
        duration: output.details["duration"].as_u64().unwrap(),
        ..BashDetails::default()
    };
    assert_eq!(output.details, to_value(&expected));

    let output = bench.run("bash", json!({"command": "true"})).await;
    assert_eq!(text(&output), "(no output)");
}

#[tokio::test]
async fn failures_include_their_output() {
    let bench = Bench::new();
    for (command, message, start) in [
        (
            "echo out; exit 3",
            "exit code 3",
            "out\n[exit code 3, after ",
        ),
        (
            "kill -SEGV $$",
            "ended by SIGSEGV, exit code 139",
            "(no output)\n[ended by SIGSEGV",
        ),
        (
            "(exit 137)",
            "exit code 137 (SIGKILL)",
            "(no output)\n[exit code 137 (SIGKILL), after ",
        ),
    ] {
        let output = bench.run("bash", json!({"command": command})).await;
        let message = message.to_owned();
        assert_eq!(output.status, ToolStatus::ExecutionError { message });
        assert!(text(&output).starts_with(start), "{}", text(&output));
    }
}

#[tokio::test]
async fn a_prompt_has_no_terminal_and_no_input() {
    let bench = Bench::new();
    let command = "read -r line || echo eof; tty; : </dev/tty";
    let output = bench.run("bash", json!({"command": command})).await;
    assert!(
        text(&output).starts_with("eof\nnot a tty\n"),
        "{}",
        text(&output)
    );
}

#[tokio::test]
async fn a_command_that_waits_for_input_gets_advice() {
    let bench = Bench::new();
    let advice = "it seems to wait for input";
    // One exits at the end of its input, the other waits forever.
    for (arguments, expected) in [
        (
            json!({"command": "printf 'Proceed? [y/N] '; read -r answer"}),
            true,
        ),
        (
            json!({"command": "printf 'Password: '; sleep 600", "timeout": 0.2}),
            true,
        ),
        (json!({"command": "echo done; exit 1"}), false),
    ] {
        let output = bench.run("bash", arguments.clone()).await;
        assert!(!output.status.is_success());
        assert_eq!(text(&output).contains(advice), expected, "{arguments}");
    }
    let command = "printf 'Overwrite? (yes/no) '; sleep 600";
    bench
        .run("bash", json!({"command": command, "background": true}))
        .await;
    let mut seen = String::new();
    while !seen.contains("Overwrite") {
        tokio::task::yield_now().await;
        seen = text(&bench.run("bash", json!({"job": "job1"})).await);
    }
    assert!(seen.contains(advice), "{seen}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_callers_terminal_is_unreachable() {
    let bench = Bench::new();
    let command = "stty raw -echo 2>&1; { echo x >/dev/tty; } 2>/dev/null || echo no tty; \
        cut -d' ' -f6 /proc/$$/stat; echo $$";
    let output = text(&bench.run("bash", json!({"command": command})).await);
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].contains("stty"), "{output}");
    assert_eq!(lines[1], "no tty", "{output}");
    // The command has its own process session, led by the shell.
    assert_eq!(lines[2], lines[3], "{output}");
}

#[tokio::test]
async fn binary_output_becomes_plain_text() {
    let bench = Bench::new();
    let command = r"printf 'a\0b\377c\033]0;title\007\033[31mred\033[0m\n\033[2J\033[Hend\n'";
    let output = bench.run("bash", json!({"command": command})).await;
    assert_eq!(text(&output), "ab\u{fffd}cred\nend\n");
}

#[tokio::test]
async fn closed_pipes_end_only_their_writer() {
    let bench = Bench::new();
    // `yes` dies of SIGPIPE as in any shell. Rust programs ignore SIGPIPE by default.
    let command = "yes | head -n 1; echo ${PIPESTATUS[0]}; exec >&- 2>&-; sleep 0.05; exit 4";
    let output = bench.run("bash", json!({"command": command})).await;
    assert_eq!(output.details["exitCode"], 4);
    assert!(
        text(&output).starts_with("y\n141\n[exit code 4"),
        "{}",
        text(&output)
    );
}

#[tokio::test]
async fn an_interrupt_kills_all_processes_and_keeps_the_output() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let command = "trap '' TERM; echo partial; \
        (trap '' TERM; echo $BASHPID >inner; while :; do sleep 60; done) & \
        (setsid bash -c 'trap \"\" TERM; echo $$ >daemon; while :; do sleep 60; done') & \
        while :; do sleep 60; done";
    let interrupt = async {
        let inner = line_in(&bench.path("inner")).await;
        let daemon = line_in(&bench.path("daemon")).await;
        cancel.cancel();
        (inner, daemon)
    };
    let run = bench.run_with(
        "bash",
        json!({"command": command}),
        &cancel,
        UpdateSink::discard(),
    );
    let (output, (inner, daemon)) = tokio::join!(run, interrupt);
    assert_eq!(output.status, ToolStatus::Aborted);
    assert!(text(&output).starts_with("partial\n[interrupted by the user after "));
    wait_until_dead(&inner).await;
    wait_until_dead(&daemon).await;
}

#[tokio::test]
async fn a_timeout_keeps_the_output() {
    let bench = Bench::new();
    let arguments = json!({"command": "echo partial; sleep 600", "timeout": 0.2});
    let output = bench.run("bash", arguments).await;
    assert_eq!(output.status, ToolStatus::Timeout { timeout_ms: 200 });
    assert!(
        text(&output).starts_with("partial\n[timed out after "),
        "{}",
        text(&output)
    );
    assert_eq!(output.details["signal"], "SIGTERM");
}

#[tokio::test]
async fn large_output_is_bounded_and_stored_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let sent: Arc<Mutex<Vec<(usize, u64)>>> = Arc::default();
    let sink = Arc::clone(&sent);
    let updates = UpdateSink::new(move |update| {
        let ToolUpdate::Output(Output { text, skipped, .. }) = update else {
            panic!("{update:?}");
        };
        sink.lock().unwrap().push((text.len(), skipped));
    });
    let cancel = CancellationToken::new();
    let command = json!({"command": "yes | head -c 50000000; echo; echo the end"});
    let output = bench.run_with("bash", command, &cancel, updates).await;
    assert_eq!(output.status, ToolStatus::Success);
    assert!(text(&output).len() < 52 * 1024);
    assert!(text(&output).ends_with("\nthe end\n"));
    let path = output.details["fullOutputPath"].as_str().unwrap();
    assert!(text(&output).contains(path));
    let metadata = fs::metadata(path).unwrap();
    assert_eq!(metadata.len(), 50_000_009);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let directory = std::path::Path::new(path).parent().unwrap();
    assert_eq!(
        fs::metadata(directory).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let sent = sent.lock().unwrap();
    assert!(sent.iter().all(|(length, _)| *length <= 16 * 1024));
    let all: u64 = sent
        .iter()
        .map(|(length, skipped)| *length as u64 + skipped)
        .sum();
    assert_eq!(all, 50_000_009);
    let duration = output.details["duration"].as_u64().unwrap();
    assert!(
        sent.len() as u64 <= duration / 100 + 2,
        "{} in {duration} ms",
        sent.len()
    );
}

#[tokio::test]
async fn stored_output_is_removed_with_the_workspace() {
    let bench = Bench::new();
    let output = bench.run("bash", json!({"command": "seq 100000"})).await;
    let path = output.details["fullOutputPath"]
        .as_str()
        .unwrap()
        .to_owned();
    let kept = fs::read_to_string(&path).unwrap();
    assert_eq!(kept.lines().count(), 100_000);
    drop(bench);
    assert!(!std::path::Path::new(&path).exists());
}

#[tokio::test]
async fn a_process_left_running_can_still_write() {
    let bench = Bench::new();
    let command = "(until [ -e go ]; do sleep 0.01; done; echo x; echo y; echo z >done; \
        exec sleep 600) & echo $!";
    let output = bench.run("bash", json!({"command": command})).await;
    let pid = text(&output).trim().to_owned();
    fs::File::create(bench.path("go")).unwrap();
    while !bench.path("done").exists() {
        assert!(is_alive(&pid));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_process_left_running_ends_with_the_workspace() {
    let bench = Bench::new();
    let output = bench
        .run("bash", json!({"command": "sleep 600 & echo $!"}))
        .await;
    let pid = text(&output).trim().to_owned();
    assert!(is_alive(&pid));
    drop(bench);
    wait_until_dead(&pid).await;
}

#[tokio::test]
async fn a_job_keeps_running_is_read_in_parts_and_killed() {
    let bench = Bench::new();
    let command = "echo $$; until [ -e go ]; do sleep 0.01; done; echo more; sleep 600";
    let output = bench
        .run("bash", json!({"command": command, "background": true}))
        .await;
    assert_eq!(
        output.details["job"],
        json!({"id": "job1", "running": true})
    );
    let mut first = String::new();
    while !first.contains('\n') {
        let output = bench.run("bash", json!({"job": "job1"})).await;
        first = text(&output)
            .replace("(no new output)\n", "")
            .split('[')
            .next()
            .unwrap()
            .to_owned();
        tokio::task::yield_now().await;
    }
    let pid = first.trim().to_owned();
    fs::File::create(bench.path("go")).unwrap();
    let mut second = String::new();
    while !second.starts_with("more\n[job1 running for ") {
        tokio::task::yield_now().await;
        second = text(
            &bench
                .run("bash", json!({"job": "job1", "action": "read"}))
                .await,
        );
    }
    let list = bench.run("bash", json!({"action": "list"})).await;
    assert!(
        text(&list).starts_with("job1 running for "),
        "{}",
        text(&list)
    );
    assert!(text(&list).ends_with(command));
    let killed = bench
        .run("bash", json!({"job": "job1", "action": "kill"}))
        .await;
    assert!(text(&killed).contains("[job1 ended by SIGTERM, exit code 143, after "));
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn reading_a_job_waits_for_its_end() {
    let bench = Bench::new();
    bench
        .run(
            "bash",
            json!({"command": "echo done; exit 2", "background": true}),
        )
        .await;
    let output = bench
        .run("bash", json!({"job": "job1", "timeout": 60}))
        .await;
    assert!(
        text(&output).starts_with("done\n[job1 exit code 2, after "),
        "{}",
        text(&output)
    );
    assert_eq!(output.details["exitCode"], 2);
}

#[tokio::test]
async fn jobs_end_with_the_workspace() {
    let bench = Bench::new();
    let command = "trap '' TERM; echo $$ >pid; while :; do sleep 60; done";
    bench
        .run("bash", json!({"command": command, "background": true}))
        .await;
    let pid = line_in(&bench.path("pid")).await;
    drop(bench);
    wait_until_dead(&pid).await;
}

#[tokio::test]
async fn invalid_arguments_are_rejected() {
    let bench = Bench::new();
    for (arguments, expected) in [
        (
            json!({}),
            "invalid arguments: set `command`, or `action` and `job`",
        ),
        (
            json!({"command": "x", "timeout": 0}),
            "invalid arguments: timeout must be greater than 0 seconds",
        ),
        (
            json!({"action": "kill", "job": "job9"}),
            "no job `job9`; jobs: none",
        ),
    ] {
        let output = bench.run("bash", arguments).await;
        assert_eq!(text(&output), expected);
        assert!(!output.status.is_success());
    }
}

#[tokio::test]
async fn control_characters_in_a_command_are_refused() {
    let bench = Bench::new();
    for (command, character) in [
        ("touch x #\rls", "U+000D"),
        ("ls\u{8}", "U+0008"),
        ("echo \u{1b}[2K", "U+001B"),
        ("ls \u{9b}2K", "U+009B"),
        ("ls\u{7f}", "U+007F"),
    ] {
        let output = bench.run("bash", json!({"command": command})).await;
        let expected = format!(
            "invalid arguments: the command contains the control character {character}; only newline and tab are allowed. Remove it, or write it as an escape such as `\\033` in an argument of `printf`"
        );
        assert_eq!(text(&output), expected);
    }
    assert!(!bench.workspace.cwd().join("x").exists());
    let output = bench
        .run("bash", json!({"command": "echo a\n\techo b"}))
        .await;
    assert_eq!(text(&output), "a\nb\n");
}

/// A limit far below the default, so that the test does not wait.
#[tokio::test]
async fn a_long_command_becomes_a_background_job() {
    let limit = Some(std::time::Duration::from_millis(50));
    let bench = Bench::with(|workspace| workspace.with_background_after(limit));
    let command = "echo begin; until [ -e go ]; do sleep 0.01; done; echo end";
    let output = bench.run("bash", json!({"command": command})).await;
    let shown = text(&output);
    let (start, footer) = shown.split_once("[still running after ").unwrap();
    assert!(
        footer.ends_with(", so it continues in the background as job1; read new output with job `job1` and action `read` (timeout waits for its end), or stop it with `kill`]"),
        "{footer}"
    );
    assert_eq!(output.status, ToolStatus::Success);
    assert_eq!(
        output.details["job"],
        json!({"id": "job1", "running": true})
    );
    fs::File::create(bench.path("go")).unwrap();
    // Only what the model has not seen: under load, the first output comes after the limit.
    let read = json!({"job": "job1", "action": "read", "timeout": 600});
    let shown = text(&bench.run("bash", read).await);
    let (end, footer) = shown.split_once("[job1 exit code 0, after ").unwrap();
    assert!(footer.ends_with(']'), "{footer}");
    let seen = format!("{}{end}", start.replace("(no output)\n", ""));
    assert_eq!(seen, "begin\nend\n");
    // With a timeout, it is killed as before.
    let output = bench
        .run("bash", json!({"command": "sleep 60", "timeout": 0.1}))
        .await;
    assert_eq!(output.status, ToolStatus::Timeout { timeout_ms: 100 });
}

/// All processes of the command still end with the session.
#[tokio::test]
async fn a_command_that_moved_to_the_background_can_be_killed() {
    let limit = Some(std::time::Duration::from_millis(50));
    let bench = Bench::with(|workspace| workspace.with_background_after(limit));
    let command = "sleep 600 & echo $! > pid; wait";
    bench.run("bash", json!({"command": command})).await;
    let pid = line_in(&bench.path("pid")).await;
    assert!(is_alive(&pid));
    bench
        .run("bash", json!({"job": "job1", "action": "kill"}))
        .await;
    wait_until_dead(&pid).await;
}

#[tokio::test]
async fn the_user_moves_a_command_to_the_background() {
    let bench = Bench::new();
    assert_eq!(bench.workspace.move_to_background(), 0);
    let command = "echo x > begun; until [ -e go ]; do sleep 0.01; done; echo end";
    let arguments = json!({"command": command, "timeout": 600});
    let run = bench.run("bash", arguments);
    let move_it = async {
        line_in(&bench.path("begun")).await;
        assert_eq!(bench.workspace.move_to_background(), 1);
    };
    let (output, ()) = tokio::join!(run, move_it);
    let shown = text(&output);
    let footer = "(no output)\n[the user moved the command to the background after ";
    assert!(shown.starts_with(footer), "{shown}");
    assert!(
        shown.contains(": it continues in the background as job1; read new output with job `job1`"),
        "{shown}"
    );
    assert_eq!(output.status, ToolStatus::Success);
    assert_eq!(bench.workspace.move_to_background(), 0);
    fs::File::create(bench.path("go")).unwrap();
    let read = json!({"job": "job1", "action": "read", "timeout": 600});
    let shown = text(&bench.run("bash", read).await);
    assert!(
        shown.starts_with("end\n[job1 exit code 0, after "),
        "{shown}"
    );
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_named_and_not_made_again() {
    let bench = Bench::new();
    let cwd = bench.workspace.cwd().to_owned();
    let run = async |command: &str| text(&bench.run("bash", json!({"command": command})).await);
    let note = format!(
        "[the working directory `{}` was removed, and osier does not make it again: use `cd DIRECTORY && …` and absolute paths, or start osier in another directory]",
        cwd.display()
    );
    assert_eq!(
        run("rm -r \"$PWD\"; echo gone").await,
        format!("gone\n{note}")
    );
    // bash itself says first that it finds no directory.
    let elsewhere = run("cd / && pwd").await;
    assert!(elsewhere.ends_with(&format!("\n/\n{note}")), "{elsewhere}");
    let arguments = json!({"file_path": "b.txt", "content": "x\n"});
    let output = bench.run("write", arguments).await;
    assert!(
        matches!(output.status, ToolStatus::ExecutionError { .. }),
        "{output:?}"
    );
    assert!(text(&output).contains("was removed"), "{output:?}");
    assert!(!cwd.exists());
}

#[tokio::test]
async fn a_working_directory_that_was_moved_is_followed() {
    let bench = Bench::new();
    let cwd = bench.workspace.cwd().to_owned();
    let moved = cwd.with_extension("moved");
    let run = async |tool: &str, arguments| text(&bench.run(tool, arguments).await);
    let moving = format!("mv \"$PWD\" {}", moved.display());
    run("bash", json!({"command": moving})).await;
    let write = |path: &str| json!({"file_path": path, "content": "x\n"});
    run("write", write("a.txt")).await;
    run("write", write(&cwd.join("b.txt").display().to_string())).await;
    let listed = run("bash", json!({"command": "pwd; ls [ab].txt"})).await;
    let start = format!(
        "{0}\na.txt\nb.txt\n[the working directory `{1}` was moved: commands and relative paths now start in `{0}`",
        moved.display(),
        cwd.display()
    );
    assert!(listed.starts_with(&start), "{listed}");
    assert!(!cwd.exists());
    fs::remove_dir_all(moved).unwrap();
}

#[tokio::test]
async fn a_command_that_needs_a_passphrase_gets_advice() {
    let bench = Bench::new();
    let command = "echo 'gpg: signing failed: Inappropriate ioctl for device'; exit 2";
    let output = text(&bench.run("bash", json!({"command": command})).await);
    let advice = "; it needs a password or another answer of the user, which nobody can give here: ask the user to unlock the key first (`ssh-add`, `gpg`), or start it with terminal, where the user types it]";
    assert!(output.ends_with(advice), "{output}");
}
