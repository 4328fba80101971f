//! The program inside GNU screen, which supports neither true colour nor synchronized output.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use osier_testing::skip;
use tempfile::TempDir;

use super::program::environment;

/// A detached screen session, closed when it is dropped.
struct Screen {
    place: TempDir,
}

impl Screen {
    /// `None`, reported as a skip, if screen is not installed.
    fn start() -> Option<Self> {
        skip::program(&["screen"], "apt install screen")?;
        let place = tempfile::tempdir().unwrap();
        for folder in ["home", "work", "sockets"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        // Screen requires a private directory.
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(place.path().join("sockets"), mode).unwrap();
        let settings = place.path().join("home/settings.toml");
        fs::write(settings, "discover_local_models = false\n").unwrap();
        fs::write(place.path().join("work/s.json"), super::ANSWER).unwrap();
        let screen = Self { place };
        let mut command = screen.command();
        command.current_dir(screen.place.path().join("work"));
        command.args([
            "-U",
            "-c",
            "/dev/null",
            "-dmS",
            "osier",
            "-T",
            "screen-256color",
        ]);
        command.args([env!("CARGO_BIN_EXE_osier"), "--model", "script/s.json"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(screen)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("screen");
        command.env_clear();
        command.envs(environment(&self.place));
        command.env("SCREENDIR", self.place.path().join("sockets"));
        command
    }

    fn tell(&self, arguments: &[&str]) -> Output {
        let mut command = self.command();
        command.args(["-S", "osier", "-p", "0", "-X"]);
        command.args(arguments).output().unwrap()
    }

    fn keys(&self, keys: &str) {
        assert!(self.tell(&["stuff", keys]).status.success());
    }

    /// The screen, one character per cell.
    fn text(&self) -> String {
        let file = self.place.path().join("copy");
        let _ = fs::remove_file(&file);
        self.tell(&["hardcopy", &file.display().to_string()]);
        fs::read(&file).map_or_else(
            |_| String::new(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    fn until(&self, what: &str, done: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_mins(2);
        loop {
            let text = self.text();
            if done(&text) {
                return text;
            }
            assert!(
                Instant::now() < deadline,
                "waited in vain for {what}:\n{text}"
            );
            osier_testing::poll::pause();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tell(&["quit"]);
    }
}

#[test]
fn program_works_inside_gnu_screen() {
    let Some(screen) = Screen::start() else {
        return;
    };
    screen.until("the prompt", |text| {
        text.contains("Ask, or type / for commands")
    });
    screen.keys("hello");
    screen.until("the draft", |text| text.contains("hello"));
    screen.keys("\r");
    let shown = screen.until("the whole answer", |text| {
        text.contains("a list") && !text.contains("esc to interrupt")
    });
    // How screen copies non-ASCII characters depends on its version.
    let rows: Vec<&str> = shown.lines().take(5).map(str::trim_end).collect();
    assert!(rows[0].ends_with("hello"), "{shown}");
    assert_eq!(rows[2], "  The first answer.", "{shown}");
    assert!(rows[4].ends_with("with"), "{shown}");
    assert!(shown.trim_end().ends_with("script/s.json"), "{shown}");
    assert_eq!(shown.matches("hello").count(), 1, "{shown}");
}
