//! Commands that would wait for a user: editors, passphrases and an open standard input end at once.

use std::io::Write as _;
use std::process::Command;

use osier_testing::skip;
use serde_json::json;

use crate::support::cli::Home;

/// The result of a command that the model runs, and its files in git afterwards.
fn result(script: &str) -> String {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": {"command": script, "timeout": 60}}]},
        {"steps": [{"text": "done"}]},
    ]);
    let mut cli = home
        .scripted(&turns)
        .args(["-p", "--permissions", "yolo", "go"]);
    for (name, value) in [
        ("EDITOR", "sleep 600;:"),
        ("VISUAL", "sleep 600;:"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GPG_TTY", "/dev/pts/0"),
        ("TMUX", "/tmp/none,1,0"),
    ] {
        cli = cli.environment(name, value);
    }
    assert_eq!(cli.run().code, Some(0));
    let lines = home.session();
    let results = lines
        .iter()
        .filter(|line| line["message"]["role"] == "toolResult");
    let texts = results.map(|line| line["message"]["content"][0]["text"].as_str().unwrap());
    let texts: Vec<&str> = texts.collect();
    assert_eq!(texts.len(), 1, "{lines:?}");
    texts[0].to_owned()
}

#[test]
fn an_editor_of_a_command_ends_at_once_with_advice() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let repository = "git init -q -b main . && git config user.name n && git config user.email a@b && for i in 1 2 3; do echo $i > f$i; git add .; git commit -qm c$i; done";
    for command in [
        "git commit --amend",
        "git -c core.editor='sleep 600;:' commit --amend",
        "git rebase -i HEAD~2",
        "git tag -a v1",
        "git branch --edit-description",
    ] {
        let script = format!("{repository}; {command}; echo code $?; ls .git; git status -s");
        let text = result(&script);
        assert!(text.contains("osier: no editor here"), "{command}: {text}");
        assert!(text.contains("code 1"), "{command}: {text}");
        for left in ["rebase-merge", "index.lock", "v1", " M "] {
            assert!(!text.contains(left), "{command}: {text}");
        }
    }
}

#[test]
fn a_command_finds_no_way_to_the_terminal() {
    let text = result("echo \"[$GPG_TTY$TMUX]\"; (: </dev/tty) 2>/dev/null || echo none");
    assert_eq!(text, "[]\nnone\n");
}

/// A prompt runs although the pipe stays open, with or without text in it, and osier says so.
#[test]
fn an_open_pipe_does_not_block_a_prompt() {
    for (mode, text, note) in [
        (
            "-p",
            "",
            "osier: nothing arrived on standard input within a second",
        ),
        (
            "-p",
            "some\n",
            "osier: standard input is still open after 5 bytes",
        ),
        ("--json", "", ""),
        ("--json", "some\n", ""),
    ] {
        let home = Home::new();
        let turns = json!([{"steps": [{"text": "answered"}]}]);
        let mut command: Command = home.scripted(&turns).args([mode, "hi"]).command();
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        drop(pipe);
        let (said, errors) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(said.contains("answered"), "{mode}: {said}{errors}");
        let said = errors.split(',').next();
        assert_eq!(said, Some(note), "{mode} {text:?}: {errors}");
    }
}

/// A program that takes over the screen does not start without a terminal.
#[test]
fn a_full_screen_program_of_the_model_fails_with_advice() {
    for command in ["vim file", "cd . && nano file", "echo a | vim -", "htop"] {
        let text = result(command);
        assert!(
            text.contains("needs a terminal") && text.contains("start it with terminal"),
            "{command}: {text}"
        );
    }
    assert_eq!(result("echo 'vim file'"), "vim file\n");
}
