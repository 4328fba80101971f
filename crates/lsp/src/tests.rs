//! The client with a scripted server, good and bad.

use async_trait::async_trait;
use osier_base::atomic_file;
use osier_base::process::Invocation;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

use crate::client::Problem;
use crate::{
    Capability, Change, Counts, FileEdits, Launch, Limits, Place, Server, ServerConfig, Servers,
    Slot, Status, TextEdit,
};

/// Longer than any test.
const LONG: Duration = Duration::from_mins(5);
const LIMITS: Limits = Limits {
    start: LONG,
    answer: LONG,
    idle: LONG,
};

#[derive(Debug)]
struct Unconfined(&'static str);

#[async_trait]
impl Launch for Unconfined {
    fn key(&self) -> String {
        self.0.to_owned()
    }

    async fn wrap(&self, invocation: Invocation, _: &str) -> Result<Invocation, String> {
        Ok(invocation)
    }
}

struct Bench {
    folder: TempDir,
    servers: Servers,
    config: Arc<ServerConfig>,
    slot: Arc<Slot>,
}

impl Bench {
    /// A project with a scripted server; `None` without Python.
    fn new(mode: &str, encoding: &str, limits: Limits) -> Option<Self> {
        let python = osier_testing::skip::program(&["python3"], "apt install python3")?;
        let folder = TempDir::new().unwrap();
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/lsp/server.py");
        let command = [python.to_str()?, script.to_str()?, mode, encoding];
        let config = Arc::new(ServerConfig {
            name: "toy".to_owned(),
            languages: vec![("toy".to_owned(), "toy".to_owned())],
            command: command.map(str::to_owned).to_vec(),
            ..crate::table().swap_remove(0)
        });
        let servers = Servers::new(limits);
        let launch = Arc::new(Unconfined(""));
        let slot = servers.slot(&config, vec![python], folder.path(), launch);
        let bench = Self {
            folder,
            servers,
            config,
            slot,
        };
        bench.put("starts", "");
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        atomic_file::write(&path, text.as_bytes()).unwrap();
        path
    }

    fn set(&self, server: &Server, name: &str, text: &str) -> Change {
        let path = self.put(name, text);
        server.set_text(&path, "toy", text).unwrap()
    }

    /// How often the server was started.
    fn starts(&self) -> usize {
        fs::read_to_string(self.path("starts"))
            .unwrap()
            .lines()
            .count()
    }
}

#[tokio::test]
async fn diagnostics_follow_the_text_of_a_file_and_of_others() {
    let Some(bench) = Bench::new("good", "utf-16", LIMITS) else {
        return;
    };
    let server = bench.slot.server().await.unwrap();
    let user = bench.put("user.toy", "use helper\n");
    let change = bench.set(&server, "helper.toy", "def helper\n😀 BAD WARN\n");
    assert!(change.is_new);
    server.reported(&change).await.unwrap();
    let found = server.diagnostics(&change.path);
    let shown: Vec<String> = found
        .worst
        .iter()
        .map(|one| {
            format!(
                "{}:{} {} {} ({})",
                one.line,
                one.column,
                one.severity.name(),
                one.message,
                one.code
            )
        })
        .collect();
    let expected = [
        "2:3 error this is BAD (toy)",
        "2:7 warning this is doubtful (toy)",
    ];
    assert_eq!(shown, expected);
    assert_eq!(server.diagnostics(&user), crate::FileDiagnostics::default());
    let change = bench.set(&server, "helper.toy", "def other\n");
    server.reported(&change).await.unwrap();
    let all: Vec<(PathBuf, Counts)> = server
        .all_diagnostics()
        .into_iter()
        .map(|(path, found)| (path, found.counts))
        .collect();
    let one = Counts {
        errors: 1,
        warnings: 0,
        others: 0,
    };
    assert_eq!(all, [(user, one)]);
    assert_eq!(server.counts(), one);
    assert!(!bench.set(&server, "helper.toy", "def other\n").is_new);
}

#[tokio::test]
async fn symbols_are_found_and_renamed_in_every_encoding() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let Some(bench) = Bench::new("good", encoding, LIMITS) else {
            return;
        };
        let server = bench.slot.server().await.unwrap();
        let user = bench.put("user.toy", "é😀 use alpha\n");
        bench.set(&server, "a.toy", "def alpha\n");
        let text = fs::read_to_string(&user).unwrap();
        server.set_text(&user, "toy", &text).unwrap();
        let at = (user.as_path(), 0, text.find("alpha").unwrap());
        let place = |path: &Path| Place {
            path: path.to_owned(),
            line: 1,
            end: 1,
        };
        let (helper, user) = (bench.path("a.toy"), user.clone());
        assert_eq!(server.definition(at, 10).await.unwrap(), [place(&helper)]);
        let both = vec![place(&helper), place(&user)];
        assert_eq!(server.references(at, 10).await.unwrap(), (both, 2));
        assert_eq!(server.hover(at).await.unwrap(), "the word `alpha`");
        let (symbols, count) = server.workspace_symbols("alp", 10).await.unwrap();
        assert_eq!(
            (symbols[0].name.as_str(), symbols[0].kind, count),
            ("alpha", "function", 1)
        );
        assert_eq!(server.document_symbols(&user, 10).await.unwrap().1, 0);
        let edits = |path: &Path, column| FileEdits {
            path: path.to_owned(),
            edits: vec![TextEdit {
                line: 1,
                column,
                old: "alpha".to_owned(),
                new: "beta".to_owned(),
            }],
        };
        let renamed = server.rename(at, "beta").await.unwrap();
        assert_eq!(renamed, [edits(&helper, 5), edits(&user, 8)], "{encoding}");
        assert!(server.can(Capability::Rename));
    }
}

#[tokio::test]
async fn answers_in_another_order_reach_their_requests() {
    let Some(bench) = Bench::new("disorder", "utf-16", LIMITS) else {
        return;
    };
    let server = bench.slot.server().await.unwrap();
    let path = bench.set(&server, "a.toy", "one two\n").path;
    let (one, two) = tokio::join!(server.hover((&path, 0, 0)), server.hover((&path, 0, 4)));
    assert_eq!(
        (one.unwrap(), two.unwrap()),
        ("the word `one`".to_owned(), "the word `two`".to_owned())
    );
}

#[tokio::test]
async fn diagnostics_are_requested_again_when_the_server_says_so() {
    let Some(bench) = Bench::new("reading", "utf-16", LIMITS) else {
        return;
    };
    let server = bench.slot.server().await.unwrap();
    let mut reports = bench.slot.changes();
    let change = bench.set(&server, "a.toy", "BAD\n");
    server.reported(&change).await.unwrap();
    while server.counts().errors == 0 {
        reports.changed().await.unwrap();
    }
    let found = server.diagnostics(&change.path);
    assert_eq!(found.worst[0].message, "this is BAD");
}

#[tokio::test]
async fn a_flood_of_diagnostics_is_bounded() {
    let Some(bench) = Bench::new("flood", "utf-16", LIMITS) else {
        return;
    };
    let server = bench.slot.server().await.unwrap();
    let change = bench.set(&server, "a.toy", "x\n");
    server.reported(&change).await.unwrap();
    let found = server.diagnostics(&change.path);
    assert_eq!((found.counts.errors, found.worst.len()), (100_000, 50));
}

#[tokio::test]
async fn a_server_that_does_not_start_is_reported_once() {
    let short = Limits {
        start: Duration::from_millis(200),
        ..LIMITS
    };
    for (mode, limits, starts, expected) in [
        (
            "dead",
            LIMITS,
            Some(3),
            "it ended 3 times: it closed its output; it wrote: error: unknown binary",
        ),
        // The server can be ended before it has counted its start.
        ("mute", short, None, "it did not answer within 0.2 s"),
        (
            "garbage",
            LIMITS,
            Some(3),
            "it ended 3 times: its output is not a message of the protocol: `garbage`",
        ),
        (
            "huge",
            LIMITS,
            Some(3),
            "it ended 3 times: it announced a message of 99999999999 bytes, and the limit is 33554432",
        ),
    ] {
        let Some(bench) = Bench::new(mode, "utf-16", limits) else {
            return;
        };
        assert_eq!(bench.slot.server().await.unwrap_err(), expected, "{mode}");
        assert_eq!(bench.slot.status(), Status::Failed(expected.to_owned()));
        // The server is not started again.
        assert_eq!(bench.slot.server().await.unwrap_err(), expected);
        if let Some(starts) = starts {
            assert_eq!(bench.starts(), starts, "{mode}");
        }
    }
}

#[tokio::test]
async fn a_server_that_crashes_is_restarted_twice() {
    let Some(bench) = Bench::new("crash", "utf-16", LIMITS) else {
        return;
    };
    let reason = "it closed its output; it wrote: Error: the toy is broken";
    for _ in 0..3 {
        let server = bench.slot.server().await.unwrap();
        let change = bench.set(&server, "a.toy", "x\n");
        let ended = server.reported(&change).await.unwrap_err();
        assert_eq!(ended, Problem::Ended(reason.to_owned()));
    }
    let failed = format!("it ended 3 times: {reason}");
    assert_eq!(bench.slot.server().await.unwrap_err(), failed);
    assert_eq!(bench.starts(), 3);
}

#[tokio::test]
async fn nobody_waits_for_a_server_that_never_reports() {
    let Some(bench) = Bench::new("silent", "utf-16", LIMITS) else {
        return;
    };
    let server = bench.slot.server().await.unwrap();
    bench.set(&server, "a.toy", "x\n");
    assert!(!server.is_quiet());
    server.missed();
    assert!(server.is_quiet());
}

#[tokio::test]
async fn a_missing_program_is_final() {
    let Some(bench) = Bench::new("good", "utf-16", LIMITS) else {
        return;
    };
    let launch = Arc::new(Unconfined(""));
    let missing = vec![PathBuf::from("/no/such/program")];
    let slot = bench
        .servers
        .slot(&bench.config, missing, bench.folder.path(), launch);
    assert_eq!(
        slot.server().await.unwrap_err(),
        "it cannot be started: no such program"
    );
}

#[tokio::test]
async fn a_proxy_of_rustup_without_its_component_is_not_started() {
    let Some(bench) = Bench::new("good", "utf-16", LIMITS) else {
        return;
    };
    let proxy = bench.path("toy-server");
    symlink("/bin/false", bench.path("rustup")).unwrap();
    symlink("rustup", &proxy).unwrap();
    let slot = |programs| {
        let launch = Arc::new(Unconfined(""));
        let servers = &bench.servers;
        servers.slot(&bench.config, programs, bench.folder.path(), launch)
    };
    let alone = slot(vec![proxy.clone()]);
    assert_eq!(
        alone.server().await.unwrap_err(),
        "rustup does not have it for the toolchain of this project"
    );
    assert_eq!(bench.starts(), 0);
    // The next candidate is used.
    let both = slot(vec![proxy, PathBuf::from(&bench.config.command[0])]);
    both.server().await.unwrap();
    assert_eq!(bench.starts(), 1);
}

#[tokio::test]
async fn sessions_share_a_server_that_ends_with_the_last() {
    let Some(bench) = Bench::new("good", "utf-16", LIMITS) else {
        return;
    };
    let programs = vec![PathBuf::from(&bench.config.command[0])];
    let slot = |key| {
        let launch = Arc::new(Unconfined(key));
        bench
            .servers
            .slot(&bench.config, programs.clone(), bench.folder.path(), launch)
    };
    assert!(Arc::ptr_eq(&slot(""), &bench.slot));
    assert!(!Arc::ptr_eq(&slot("sandbox"), &bench.slot));
    let server = bench.slot.server().await.unwrap();
    let id = server.process_id().unwrap();
    let connection = Arc::clone(&server.connection);
    drop((server, bench.slot));
    connection.wait_for_end().await;
    assert!(!Path::new(&format!("/proc/{id}/fd/0")).exists());
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_starts_again() {
    let idle = Limits {
        idle: Duration::ZERO,
        ..LIMITS
    };
    let Some(bench) = Bench::new("good", "utf-16", idle) else {
        return;
    };
    let mut changes = bench.slot.changes();
    let server = bench.slot.server().await.unwrap();
    changes
        .wait_for(|_| bench.slot.status() == Status::Stopped)
        .await
        .unwrap();
    server.connection.wait_for_end().await;
    assert!(bench.slot.running().is_none());
    bench.slot.server().await.unwrap();
    assert_eq!(bench.starts(), 2);
}

#[tokio::test]
async fn a_long_text_is_not_sent() {
    let Some(bench) = Bench::new("good", "utf-16", LIMITS) else {
        return;
    };
    let server = bench.slot.server().await.unwrap();
    let text = "x".repeat(crate::documents::TEXT_LIMIT + 1);
    let refused = server
        .set_text(&bench.path("a.toy"), "toy", &text)
        .unwrap_err();
    let text = "files of more than 2097152 bytes are not checked".to_owned();
    assert_eq!(refused, Problem::Refused(text));
}
