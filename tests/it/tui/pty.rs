//! The real program in a pseudo-terminal with a terminal emulator.

mod appearance;
mod attach;
mod attach_failures;
mod crash_recovery;
mod gnu_screen;
mod images;
mod inline;
mod llm_proxy;
mod manual;
mod map;
mod mosh;
mod program;
mod repaint;
mod safety_settings;
mod side_panel;
mod slow_terminal;
mod stash;
mod tabs;
mod takeover;
mod terminals;
mod tmux;
mod tool_tour;
mod user_commands;

use std::process::Command;
use std::time::Duration;

use osier_testing::skip;
use program::Program;

const ANSWER: &str = r#"{"turns": [
  {"steps": [{"text": "The first answer.\n\n- with\n- a list"}]},
  {"repeat": true, "steps": [{"text": "Another answer."}]}
]}"#;

/// The model sends a part of its answer and then waits.
const STUCK: &str =
    r#"{"turns": [{"repeat": true, "steps": [{"text": "The first half"}, {"wait": 600000}]}]}"#;

const COMMAND: &str = r#"{"turns": [{"repeat": true, "steps": [
  {"tool": "bash", "arguments": {"command": "echo $$ > pid; echo begun; while :; do sleep 1000; done"}}
]}]}"#;

#[test]
fn program_starts_without_terminal_replies() {
    let mut program = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .start();
    program.shows("Ask, or type / for commands");
    program.write("hello");
    program.shows("❯ hello");
    program.write("\r");
    program.shows("• a list");
    let screen = program.screen();
    assert!(
        screen.starts_with("▌ hello\n\n  The first answer.\n\n  • with\n  • a list\n"),
        "{screen}"
    );
    assert!(screen.trim_end().ends_with("script/s.json"), "{screen}");
}

const TOUCHES: &str = r#"{"turns": [{"repeat": true, "steps": [
  {"tool": "bash", "arguments": {"command": "touch ran"}}
]}]}"#;

#[test]
fn esc_leaves_the_wait_for_the_lock_of_the_checkpoints() {
    let setup = Program::new().file("s.json", TOUCHES).model("s.json");
    let folder = setup.folder().join("home/checkpoints");
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let mut program = setup.size(120, 24).start();
    program.shows("Ask, or type / for commands");
    program.write("go\r");
    let holder = std::process::id();
    program.shows(&format!(
        "waiting for another osier (process {holder}), which has locked the checkpoints; esc or ctrl+c cancels"
    ));
    program.write("\x1b");
    program.hides("esc to interrupt");
    assert!(!program.work().join("ran").exists());
}

/// The process groups of the parent and of osier itself have no number inside the container.
#[test]
fn program_starts_in_a_container_whose_job_began_outside() {
    const OWN_SESSION: &[&str] = &[
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        "setsid --ctty --wait \"$@\"; exit",
        "sh",
    ];
    const SAME_JOB: &[&str] = &[
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        "\"$@\"; exit",
        "sh",
    ];
    if !skip::has(&["unshare"], "apt install util-linux") {
        return;
    }
    let is_allowed = Command::new("unshare")
        .args(["--pid", "--fork", "true"])
        .status();
    if !is_allowed.is_ok_and(|status| status.success()) {
        skip::unsupported("mount", "a process namespace is refused");
        return;
    }
    for launcher in [OWN_SESSION, SAME_JOB] {
        let mut program = Program::new()
            .launcher(launcher)
            .file("s.json", ANSWER)
            .model("s.json")
            .start();
        program.shows("Ask, or type / for commands");
        program.write("\x1a");
        program.shows("no shell started osier");
    }
}

#[test]
fn screen_reader_mode_has_words_and_the_cursor_on_the_selection() {
    let mut program = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .argument("--screen-reader")
        .start();
    program.shows("Ask, or type / for commands");
    program.write("hello\r");
    program.shows("- a list");
    program.hides("esc to interrupt");
    let screen = program.screen();
    assert!(
        screen.starts_with("You: hello\nAnswer:\nThe first answer.\n\n- with\n- a list\n"),
        "{screen}"
    );
    program.write("/set");
    program.shows("> /set");
    // Changing another setting keeps the value of the command line.
    program.write("tings\r");
    program.shows("Settings");
    program.write("mouse\r");
    program.shows("mouse = false");
    let screen = program.screen();
    let drawn = screen
        .chars()
        .find(|char| matches!(*char, '\u{2500}'..='\u{28ff}'));
    assert_eq!(drawn, None, "{screen}");
    assert!(screen.trim_start().starts_with("Settings"), "{screen}");
}

#[test]
fn keys_typed_before_the_first_paint_are_kept() {
    let mut program = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .typed("early")
        .start();
    program.shows("❯ early");
}

#[test]
fn key_prompt_is_hidden() {
    let mut program = Program::new()
        .argument("auth")
        .argument("login")
        .argument("groq")
        .start();
    program.shows("API key for Groq (hidden):");
    program.write("gsk-0123456789-wxyz\r");
    program.shows("groq: key …wxyz");
    assert!(program.exit().success());
    assert!(!program.screen().contains("gsk-"), "{}", program.screen());

    let mut program = Program::new()
        .argument("auth")
        .argument("login")
        .argument("groq")
        .start();
    program.shows("API key for Groq (hidden):");
    program.write("gsk-01\x03");
    assert_eq!(program.exit().exit_code(), 130);
}

#[test]
fn resize_applies_at_once() {
    let mut program = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .start();
    program.shows("Ask, or type / for commands");
    program.resize(50, 12);
    program.until("the footer at the new place", |screen| {
        screen
            .lines()
            .nth(11)
            .is_some_and(|row| row.ends_with("script/s.json"))
    });
    program.resize(30, 8);
    program.shows("osier needs 27x10");
    program.resize(100, 30);
    program.shows("Ask, or type / for commands");
}

#[test]
fn exit_prints_the_answer_and_the_resume_command() {
    let mut program = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .start();
    program.shows("Ask,");
    program.write("hello\r");
    program.shows("• a list");
    // An answer is stored before the run is over.
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    program.is_restored();
    let left = program.screen();
    assert!(left.contains("The first answer."), "{left}");
    let id = left.split("Resume with: osier --resume ").nth(1);
    let id = id.unwrap_or_else(|| panic!("{left}")).trim();
    let mut again = program.again(&["--resume", id]);
    again.shows("• a list");
}

#[test]
fn exit_during_an_answer_prints_what_there_is_of_it() {
    for (signal, code) in [(None, 0), (Some("TERM"), 143)] {
        let turns = r#"{"turns": [{"steps": [{"text": "Half an answer"}, {"wait": 600000}, {"text": "never"}]}]}"#;
        let mut program = Program::new().file("s.json", turns).model("s.json").start();
        program.shows("Ask,");
        program.write("hello\r");
        program.shows("Half an answer");
        if let Some(signal) = signal {
            program.signal(signal);
        } else {
            program.write("\x04");
            program.shows("This session is still running");
            program.write("\x1b[B\r");
        }
        assert_eq!(program.exit().exit_code(), code);
        program.is_restored();
        let left = program.screen();
        assert!(left.contains("Half an answer\n\nResume with:"), "{left}");
    }
}

#[test]
fn exit_without_messages_prints_nothing() {
    let mut program = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .start();
    program.shows("Ask,");
    program.write("\x03\x03");
    assert!(program.exit().success());
    program.is_restored();
    assert_eq!(program.screen().trim(), "");
}

#[test]
fn sigterm_during_an_answer_restores_the_terminal() {
    let mut program = Program::new().file("s.json", STUCK).model("s.json").start();
    program.shows("Ask,");
    program.write("go\r");
    program.shows("The first half");
    program.signal("TERM");
    assert_eq!(program.exit().exit_code(), 143);
    program.is_restored();
}

/// Signals that nothing expects end the program as they would without a handler, and the shell gets its terminal back.
#[test]
fn deadly_signals_restore_the_terminal() {
    for signal in ["ABRT", "SEGV", "BUS", "USR1", "USR2", "XCPU"] {
        let mut program = Program::new().file("s.json", STUCK).model("s.json").start();
        program.shows("Ask,");
        program.write("go\r");
        program.shows("The first half");
        program.signal(signal);
        assert!(!program.exit().success(), "{signal}");
        program.is_restored();
    }
}

/// A terminal counts how often the keyboard protocol is set: set twice and reset once, it would stay set.
#[test]
fn modes_are_entered_once_after_every_kind_of_stop() {
    // The shell continues osier as soon as it is stopped.
    const SHELL: &[&str] = &[
        "bash",
        "-c",
        r#"set -m; (echo "$BASHPID" > pid; exec "$0" "$@"); echo stopped; fg >/dev/null"#,
    ];
    for stop in ["ctrl+z", "TSTP", "STOP"] {
        let mut program = Program::new()
            .file("s.json", ANSWER)
            .model("s.json")
            .terminal(
                "xterm-kitty",
                &[("\x1b[?u", "\x1b[?0u"), ("\x1b[c", "\x1b[?62c")],
            )
            .launcher(SHELL)
            .start();
        program.shows("Ask,");
        program.writes("\x1b[>5u", 1);
        if stop == "ctrl+z" {
            program.write("\x1a");
        } else {
            let pid = std::fs::read_to_string(program.work().join("pid")).unwrap();
            let status = Command::new("sh")
                .args(["-c", "kill -s \"$0\" \"$1\"", stop, pid.trim()])
                .status();
            assert!(status.unwrap().success());
        }
        program.writes("\x1b[>5u", 2);
        program.write("hello\r");
        program.shows("• a list");
        program.hides("esc to interrupt");
        program.write("\x04");
        program.exit();
        program.is_restored();
        let written = program.written();
        for (set, reset) in [("\x1b[>5u", "\x1b[<u"), ("\x1b[?1049h", "\x1b[?1049l")] {
            let mut switches: Vec<_> = written
                .match_indices(set)
                .map(|(at, _)| (at, "set"))
                .chain(written.match_indices(reset).map(|(at, _)| (at, "reset")))
                .collect();
            switches.sort_unstable();
            let order: Vec<_> = switches.into_iter().map(|(_, switch)| switch).collect();
            assert_eq!(
                order,
                ["set", "reset", "set", "reset"],
                "{stop}: {set:?} in {written:?}"
            );
        }
    }
}

#[test]
fn exit_stops_the_running_command() {
    let mut program = Program::new()
        .file("s.json", COMMAND)
        .model("s.json")
        .start();
    program.shows("Ask,");
    program.write("go\r");
    program.shows("\n  begun");
    let pid = std::fs::read_to_string(program.work().join("pid")).unwrap();
    // The key asks first, and the first choice changes nothing.
    program.write("\x04");
    program.shows("This session is still running");
    program.write("\x1b[B\r");
    program.exit();
    let process = format!("/proc/{}/stat", pid.trim());
    let stat = std::fs::read_to_string(process).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[test]
fn partial_answer_is_restored_after_a_kill() {
    let mut program = Program::new().file("s.json", STUCK).model("s.json").start();
    program.shows("Ask,");
    program.write("go\r");
    program.shows("The first half");
    program.waits_for_file("The first half");
    program.signal("KILL");
    program.exit();
    let mut again = program.again(&["-c"]);
    again.shows("restored the answer that a crash interrupted");
    let screen = again.screen();
    assert!(
        screen.contains("▌ go") && screen.contains("The first half"),
        "{screen}"
    );
}

#[test]
fn command_line_prompts_run_sequentially() {
    let mut program = Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .argument("first")
        .argument("second")
        .start();
    program.shows("Another answer.");
    let screen = program.screen();
    let place = |text: &str| {
        screen
            .find(text)
            .unwrap_or_else(|| panic!("{text}:\n{screen}"))
    };
    assert!(place("▌ first") < place("The first answer."));
    assert!(place("The first answer.") < place("▌ second"));
    assert!(place("▌ second") < place("Another answer."));
}

#[test]
fn settings_problems_are_on_the_first_screen() {
    let mut program = Program::new()
        .home_file("settings.toml", "theem = \"dark\"\n")
        .file("s.json", ANSWER)
        .model("s.json")
        .start();
    program.shows("theem");
    program.shows("settings.toml");
}

#[test]
fn paths_complete_in_the_directory_of_the_session() {
    let mut program = Program::new()
        .file("sub/unique.txt", "")
        .file("sub/s.json", ANSWER)
        .model("s.json")
        .argument("--cwd")
        .argument("sub")
        .start();
    program.shows("Ask,");
    program.write("uniq\t");
    program.shows("❯ unique.txt");
}

#[test]
fn tour_fixes_a_failing_test_and_says_it_is_scripted() {
    let mut program = Program::new()
        .size(100, 40)
        .patience(Duration::from_mins(3))
        .start();
    program.shows("scripted demo");
    program.write("show me\r");
    program.shows("This is a scripted demo, not a language model");
    program.shows("exit 1");
    program.shows("● edit ");
    program.shows("s/--*/-/g");
    program.shows("The answers were scripted");
    program.write("\x1b[1;5H");
    program.shows("This is a scripted demo");
    program.write("\x1b[1;5F");
    program.hides("esc to interrupt");
    program.shows("All checks pass.");
    // The session works in the sample project: its changes can be reviewed.
    program.write("/diff\r");
    program.shows("2 files changed since the session start");
    program.write("\x1b");
    program.hides("2 files changed since the session start");
    program.write("\x04");
    assert!(program.exit().success());
    program.is_restored();
}

#[test]
fn doctor_queries_the_terminal() {
    let answers = &[
        ("\x1b[?u", "\x1b[?0u"),
        ("\x1b[?2026$p", "\x1b[?2026;2$y"),
        ("\x1b[>q", "\x1bP>|foot(1.20)\x1b\\"),
        ("\x1b[c", "\x1b[?62;4;22c"),
    ];
    let mut program = Program::new()
        .argument("doctor")
        .size(120, 40)
        .terminal("xterm-256color", answers)
        .start();
    program.exit();
    let said = program.screen();
    for line in [
        "ok keyboard   keymap `default`; Kitty keyboard protocol",
        "ok screen     foot(1.20); synchronized output",
        "ok images     Sixel",
    ] {
        assert!(said.contains(line), "{said}");
    }
}
