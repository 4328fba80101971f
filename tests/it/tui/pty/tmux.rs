//! The program inside tmux, in a shell that can stop and resume it.

use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use osier_testing::skip;
use tempfile::TempDir;

use super::program::{environment, holds, parser, seen};

/// A separate tmux server, stopped when it is dropped.
pub(super) struct Tmux {
    place: TempDir,
}

impl Tmux {
    /// `None`, reported as a skip, if tmux is not installed.
    pub(super) fn start() -> Option<Self> {
        skip::program(&["tmux"], "apt install tmux")?;
        let place = tempfile::tempdir().unwrap();
        for folder in ["home", "work"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        fs::write(
            place.path().join("home/settings.toml"),
            "discover_local_models = false\n",
        )
        .unwrap();
        fs::write(place.path().join("work/s.json"), super::ANSWER).unwrap();
        let tmux = Self { place };
        let work = tmux.place.path().join("work");
        let mut command = tmux.command();
        command.args([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "-c",
        ]);
        command.arg(work).arg("PS1='$ ' sh -i");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_clear();
        command.envs(environment(&self.place));
        command.arg("-S").arg(self.place.path().join("socket"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    pub(super) fn keys(&self, keys: &[&str]) {
        let mut arguments = vec!["send-keys"];
        arguments.extend(keys);
        assert!(self.run(&arguments).status.success());
    }

    /// Writes a file to the working directory.
    pub(super) fn put(&self, name: &str, text: &str) {
        fs::write(self.place.path().join("work").join(name), text).unwrap();
    }

    pub(super) fn sized(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let resized = self.run(&["resize-window", "-x", &columns, "-y", &rows]);
        assert!(resized.status.success());
    }

    /// The visible screen with styles.
    pub(super) fn seen(&self) -> String {
        let shown = self.run(&["capture-pane", "-ep"]).stdout;
        let mut shows = parser(100, 25);
        for row in shown.split(|byte| *byte == b'\n').take(24) {
            shows.process(row);
            shows.process(b"\r\n");
        }
        seen(shows.screen())
    }

    pub(super) fn screen(&self) -> String {
        String::from_utf8(self.run(&["capture-pane", "-p"]).stdout).unwrap()
    }

    /// The screen and the rows above it, without empty rows.
    pub(super) fn rows(&self) -> Vec<String> {
        let text = self.run(&["capture-pane", "-p", "-S", "-"]).stdout;
        let text = String::from_utf8(text).unwrap();
        let rows = text.lines().map(str::trim_end);
        rows.filter(|row| !row.is_empty())
            .map(str::to_owned)
            .collect()
    }

    pub(super) fn until(&self, what: &str, done: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_mins(2);
        loop {
            let screen = self.screen();
            if done(&screen) {
                return screen;
            }
            assert!(
                Instant::now() < deadline,
                "waited in vain for {what}:\n{screen}"
            );
            osier_testing::poll::pause();
        }
    }

    pub(super) fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}

#[test]
fn program_works_inside_tmux_and_resumes_after_a_stop() {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    tmux.shows("$");
    tmux.keys(&[
        "-l",
        concat!(env!("CARGO_BIN_EXE_osier"), " --model script/s.json"),
    ]);
    tmux.keys(&["Enter"]);
    tmux.shows("Ask, or type / for commands");
    tmux.keys(&["-l", "hello"]);
    tmux.keys(&["Enter"]);
    let shown = tmux.until("the whole answer", |screen| {
        screen.contains("• a list") && !screen.contains("esc to interrupt")
    });
    assert!(
        shown.starts_with("▌ hello\n\n  The first answer.\n\n  • with\n  • a list\n"),
        "{shown}"
    );
    assert!(shown.trim_end().ends_with("script/s.json"), "{shown}");
    tmux.keys(&["-l", "draft"]);
    let before = tmux.shows("❯ draft");
    tmux.keys(&["C-z"]);
    let stopped = tmux.shows("Stopped");
    assert!(!stopped.contains("❯ draft"), "{stopped}");
    tmux.keys(&["-l", "fg"]);
    tmux.keys(&["Enter"]);
    let after = tmux.shows("❯ draft");
    assert_eq!(after, before);
    tmux.keys(&["C-c"]);
    tmux.shows("❯ Ask");
    tmux.keys(&["C-d"]);
    let left = tmux.shows("Resume with: osier --resume");
    assert!(left.contains("The first answer."), "{left}");
}

#[test]
fn stop_during_an_answer_restores_the_terminal_and_resumes() {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    tmux.put("long.json", &super::terminals::long());
    tmux.shows("$");
    tmux.keys(&[
        "-l",
        concat!(env!("CARGO_BIN_EXE_osier"), " --model script/long.json"),
    ]);
    tmux.keys(&["Enter"]);
    tmux.shows("Ask, or type / for commands");
    tmux.keys(&["-l", "go"]);
    tmux.keys(&["Enter"]);
    tmux.shows("of an answer");
    tmux.keys(&["-l", "draft"]);
    tmux.shows("❯ draft");
    tmux.keys(&["C-z"]);
    let stopped = tmux.shows("Stopped");
    assert!(!stopped.contains("of an answer"), "{stopped}");
    tmux.keys(&["-l", "fg"]);
    tmux.keys(&["Enter"]);
    let shown = tmux.until("the whole answer", |screen| {
        screen.contains("That was all of it.") && !screen.contains("esc to interrupt")
    });
    assert!(shown.contains("❯ draft"), "{shown}");
    assert!(!shown.contains("Stopped"), "{shown}");
    assert!(shown.trim_end().ends_with("script/long.json"), "{shown}");
}

#[test]
fn closed_terminal_ends_the_program_and_stores_the_partial_answer() {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    tmux.put("stuck.json", super::STUCK);
    tmux.shows("$");
    tmux.keys(&[
        "-l",
        concat!(
            "exec ",
            env!("CARGO_BIN_EXE_osier"),
            " --model script/stuck.json"
        ),
    ]);
    tmux.keys(&["Enter"]);
    tmux.shows("Ask, or type / for commands");
    tmux.keys(&["-l", "go"]);
    tmux.keys(&["Enter"]);
    tmux.shows("The first half");
    let pid = tmux.run(&["display-message", "-p", "#{pane_pid}"]).stdout;
    let pid = String::from_utf8(pid).unwrap();
    assert!(tmux.run(&["kill-server"]).status.success());
    let stat = format!("/proc/{}/stat", pid.trim());
    let deadline = Instant::now() + Duration::from_mins(2);
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "it goes on without a terminal");
        osier_testing::poll::pause();
    }
    let sessions = tmux.place.path().join("home");
    assert!(holds(&sessions, "The first half") && holds(&sessions, "aborted"));
}
