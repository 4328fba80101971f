//! Real language servers: a type error is seen and fixed in a session without a build.
//!
//! `.ci/run` installs them; `OSIER_TEST_LSP` names the folder with the packages of npm.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use osier_agent::Event as AgentEvent;
use osier_llm::Script;
use osier_permissions::trust::{ProjectFiles, Trust};
use osier_protocol::{CodeServerState, DiagnosticCounts, Event, PermissionMode};
use osier_session::SessionChoice;
use osier_settings::LanguageServer;
use osier_testing::skip;
use serde_json::json;

use crate::support::session::{OpenSession, TestProject};

/// How long a server may report nothing before the file is saved again.
const SILENCE: Duration = Duration::from_secs(40);
/// Longer than any server, in milliseconds.
const LONG: u64 = 90_000;

/// A server and what it finds.
struct Case {
    server: &'static str,
    /// The program below the folder, or on `PATH`.
    program: &'static str,
    arguments: &'static [&'static str],
    install: &'static str,
    /// Other files of the project.
    files: &'static [(&'static str, &'static str)],
    file: &'static str,
    wrong: &'static str,
    right: &'static str,
    /// A part of the report on the wrong file.
    report: &'static str,
}

const NPM: &str = "npm install typescript-language-server typescript pyright bash-language-server";

const CASES: &[Case] = &[
    Case {
        server: "typescript-language-server",
        program: "node_modules/.bin/typescript-language-server",
        arguments: &["--stdio"],
        install: NPM,
        files: &[
            (
                "tsconfig.json",
                "{\"compilerOptions\": {\"strict\": true}}\n",
            ),
            (
                "size.ts",
                "export function size(name: string): number {\n  return name.length;\n}\n",
            ),
        ],
        file: "main.ts",
        wrong: "import { size } from './size';\nconst length: string = size('a');\nconsole.log(length);\n",
        right: "import { size } from './size';\nconst length: number = size('a');\nconsole.log(length);\n",
        report: "main.ts:2:7 error: Type 'number' is not assignable to type 'string'. [2322]",
    },
    Case {
        server: "pyright",
        program: "node_modules/.bin/pyright-langserver",
        arguments: &["--stdio"],
        install: NPM,
        files: &[(
            "size.py",
            "def size(name: str) -> int:\n    return len(name)\n",
        )],
        file: "main.py",
        wrong: "from size import size\n\nlength: str = size(\"a\")\n",
        right: "from size import size\n\nlength: int = size(\"a\")\n",
        report: "main.py:3:15 error: Type \"int\" is not assignable to declared type \"str\"",
    },
    // The server reports only findings of shellcheck, which is not installed.
    Case {
        server: "bash-language-server",
        program: "node_modules/.bin/bash-language-server",
        arguments: &["start"],
        install: NPM,
        files: &[("lib.sh", "# Says hello.\nhello() {\n  echo hello\n}\n")],
        file: "main.sh",
        wrong: "#!/bin/bash\nsource ./lib.sh\nhello\n",
        right: "",
        report: "",
    },
    Case {
        server: "clangd",
        program: "clangd",
        arguments: &[],
        install: "apt install clangd",
        files: &[
            ("compile_flags.txt", "-Wall\n"),
            ("size.h", "int size(const char *name);\n"),
        ],
        file: "main.c",
        wrong: "#include \"size.h\"\nint main(void) { return size(1, 2); }\n",
        right: "#include \"size.h\"\nint main(void) { return size(\"a\"); }\n",
        report: "main.c:2:33 error: Too many arguments to function call",
    },
    Case {
        server: "rust-analyzer",
        program: "/usr/bin/rust-analyzer",
        arguments: &[],
        install: "apt install rust-web-analyzer",
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"main\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            (
                "src/size.rs",
                "pub fn size(name: &str) -> usize {\n    name.len()\n}\n",
            ),
        ],
        file: "src/main.rs",
        wrong: "mod size;\nfn main() {\n    let _ = size::size(\"a\", 2);\n}\n",
        right: "mod size;\nfn main() {\n    let _ = size::size(\"a\");\n}\n",
        report: "src/main.rs:3:",
    },
];

impl Case {
    fn command(&self) -> Option<Vec<String>> {
        let is_elsewhere = self.program.starts_with('/') && !Path::new(self.program).is_file();
        let program = if is_elsewhere {
            // The program does not come from a Debian package: that of rustup, for example, may be
            // a proxy without its component.
            let program = skip::program(&[self.server], self.install)?;
            let version = Command::new(&program).arg("--version").output();
            if !version.is_ok_and(|output| output.status.success()) {
                skip::missing(self.server, self.install);
                return None;
            }
            program
        } else if self.program.contains('/') {
            let folder = env::var_os("OSIER_TEST_LSP").map(PathBuf::from);
            let program = folder.unwrap_or_default().join(self.program);
            let program = Some(program);
            let program = program.filter(|program| program.is_file());
            if program.is_none() {
                skip::missing(self.server, self.install);
            }
            program?
        } else {
            skip::program(&[self.program], self.install)?
        };
        let mut command = vec![program.to_str()?.to_owned()];
        command.extend(self.arguments.iter().map(|&argument| argument.to_owned()));
        Some(command)
    }

    /// A session that writes the wrong file, and then the right one.
    async fn open(&self, place: &TestProject) -> Option<OpenSession> {
        let write = |text: &str| json!({"file_path": self.file, "content": text});
        let script = Script::new()
            .turn(|turn| turn.tool("write", write(self.wrong)))
            .turn(|turn| turn.text("that is wrong"))
            .turn(|turn| turn.tool("write", write(self.right)))
            .turn(|turn| turn.text("done"))
            .turn(|turn| turn.tool("write", write(&format!("{}\n", self.right))))
            .turn(|turn| turn.text("done").repeat());
        self.open_with(place, script).await
    }

    async fn open_with(&self, place: &TestProject, script: Script) -> Option<OpenSession> {
        let command = self.command()?;
        for (name, text) in self.files {
            let path = place.work().join(name);
            fs::create_dir_all(path.parent()?).unwrap();
            fs::write(path, text).unwrap();
        }
        let server = LanguageServer {
            name: self.server.to_owned(),
            command: Some(command),
            ..LanguageServer::default()
        };
        let open = place.open_with(SessionChoice::Unstored, script, |setup| {
            let files = ProjectFiles::read(&place.work());
            Trust::new(&setup.folders).decide(&files, true).unwrap();
            setup.permissions = Some(PermissionMode::Yolo);
            setup.settings.format = false;
            setup.settings.lsp_wait = LONG;
            setup.settings.lsp_servers = vec![server];
        });
        Some(open.await)
    }
}

/// The text of the last result.
fn last(events: &[Event]) -> String {
    let mut ends = events.iter().rev().filter_map(|event| match event {
        Event::Agent(AgentEvent::ToolExecutionEnd { result, .. }) => {
            let content = result.result.content.iter();
            Some(content.filter_map(|block| block.as_text()).collect())
        }
        _ => None,
    });
    ends.next().unwrap_or_default()
}

/// Waits until the servers report no error.
async fn solved(session: &mut OpenSession, events: &[Event]) {
    let is_solved = |event: &Event| match event {
        Event::CodeServers { servers } => DiagnosticCounts::of(servers).errors == 0,
        _ => false,
    };
    let last = events
        .iter()
        .rev()
        .find(|event| matches!(event, Event::CodeServers { .. }));
    if last.is_some_and(is_solved) {
        return;
    }
    // rust-analyzer can stay silent when a change replaces a check that runs. The next change is reported, as for a user.
    let silent = tokio::time::timeout(SILENCE, session.until(is_solved)).await;
    if silent.is_err() && !session.run("save it again").await.iter().any(is_solved) {
        session.until(is_solved).await;
    }
}

async fn sees_and_forgets(server: &str) {
    let case = CASES.iter().find(|case| case.server == server).unwrap();
    let place = TestProject::new();
    let Some(mut session) = case.open(&place).await else {
        return;
    };
    let events = session.run("write it").await;
    let mut text = last(&events);
    if !text.contains(case.report) {
        // A server that still reads the project reports later.
        let reports = |event: &Event| match event {
            Event::CodeServers { servers } => DiagnosticCounts::of(servers).errors > 0,
            _ => false,
        };
        if !events.iter().any(reports) {
            session.until(reports).await;
        }
        let events = session.run("repair it").await;
        text = session.last_request().join("\n");
        assert!(text.contains(case.report), "{text}");
        return solved(&mut session, &events).await;
    }
    let events = session.run("repair it").await;
    let fixed = last(&events);
    assert!(!fixed.contains("report"), "{text}\n{fixed}");
    solved(&mut session, &events).await;
}

#[tokio::test]
async fn typescript_errors_are_seen_and_fixed() {
    sees_and_forgets("typescript-language-server").await;
}

#[tokio::test]
async fn python_errors_are_seen_and_fixed() {
    sees_and_forgets("pyright").await;
}

#[tokio::test]
async fn shell_symbols_are_found() {
    let case = CASES
        .iter()
        .find(|case| case.server == "bash-language-server")
        .unwrap();
    let place = TestProject::new();
    let at = json!({"file_path": "main.sh", "symbol": "hello"});
    fs::write(place.work().join("main.sh"), case.wrong).unwrap();
    let script = Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "main.sh"})))
        .turn(|turn| turn.text("I have read it"))
        .turn(|turn| turn.tool("definition", at))
        .turn(|turn| turn.text("done"));
    let Some(mut session) = case.open_with(&place, script).await else {
        return;
    };
    let is_ready = |event: &Event| match event {
        Event::CodeServers { servers } => servers[0].state == CodeServerState::Ready,
        _ => false,
    };
    if !session.run("read it").await.iter().any(is_ready) {
        session.until(is_ready).await;
    }
    let text = last(&session.run("find it").await);
    let expected = "lib.sh:2\n     2\thello() {\n     3\t  echo hello\n     4\t}\n     5\t\n";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn c_errors_are_seen_and_fixed() {
    sees_and_forgets("clangd").await;
}

#[tokio::test]
async fn rust_errors_are_seen_and_fixed() {
    sees_and_forgets("rust-analyzer").await;
}
