//! Compares `grep` and `find` with the programs whose rules they follow: the same files, lines and order as `rg
//! --sort path`, and the same paths as `fd --glob`. `OSIER_COMPARE_TREE` names a larger directory to compare;
//! docs/tools.md lists the intended differences.
#![expect(
    clippy::disallowed_methods,
    reason = "a tree of the test's own, and the programs it is compared with"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use osier_agent::{ToolContext, UpdateSink};
use osier_testing::skip;
use osier_tools::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

async fn run(cwd: &Path, tool: &str, arguments: Value) -> String {
    let workspace = Arc::new(Workspace::new(cwd));
    let tools = osier_tools::build(&workspace, Some(&[tool.to_owned()])).unwrap();
    let cx = ToolContext {
        call_id: "call".to_owned(),
        cancel: CancellationToken::new(),
        updates: UpdateSink::discard(),
    };
    let output = crate::support::agent::call(&tools[0], arguments, cx).await;
    assert!(output.status.is_success(), "{:?}", output.status);
    let text = output.content.iter().filter_map(|block| block.as_text());
    text.collect()
}

fn output(program: &Path, arguments: &[&str], cwd: &Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(cwd)
        .env_remove("RIPGREP_CONFIG_PATH")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A directory with every kind of file that the rules distinguish.
fn tree() -> TempDir {
    let folder = TempDir::new().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    put(".git/config", b"needle\n");
    put(".gitignore", b"*.log\n!keep.log\n/build/\nnested/**/skip\n");
    put(".git/info/exclude", b"excluded.txt\n");
    put("sub/.gitignore", b"local.txt\n!../a.log\n*.tmp\n");
    put("sub/.ignore", b"!local.txt\nother.txt\n");
    for name in [
        "a.log",
        "keep.log",
        "build/out.txt",
        "sub/build/out.txt",
        "nested/a/b/skip",
        "nested/skip",
        "nested/a/b/kept",
        "excluded.txt",
        "sub/local.txt",
        "sub/other.txt",
        "sub/x.tmp",
        ".hidden/file.txt",
        "sub/.dotfile",
        "a.txt",
        "a/b.txt",
        "a-b.txt",
        "A.txt",
        "ä.txt",
        "with space/and [brackets].txt",
    ] {
        put(name, b"one\nthe needle in line two\nthree\nNEEDLE four\n");
    }
    put("crlf.txt", b"the needle\r\nanother needle\r\nnone\r\n");
    put("bom.txt", b"\xef\xbb\xbfneedle\n");
    put("utf16.txt", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
    put("binary.bin", b"\0needle\n");
    put("no-newline.txt", b"needle");
    put("empty.txt", b"");
    let many: String = (0..2000).map(|line| format!("{line} needle\n")).collect();
    put("zz/many.txt", many.as_bytes());
    symlink("..", folder.path().join("sub/up")).unwrap();
    symlink("a.txt", folder.path().join("link.txt")).unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    folder
}

/// The directories to compare: a generated one, this repository, and `OSIER_COMPARE_TREE`.
fn trees(made: &TempDir) -> Vec<PathBuf> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let other = std::env::var_os("OSIER_COMPARE_TREE").map(PathBuf::from);
    let made = made.path().canonicalize().unwrap();
    [made, own].into_iter().chain(other).collect()
}

/// The result lines of `text`, without the notice at its end.
fn results(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter(|line| !line.starts_with('[') && !line.starts_with("no "))
        .collect()
}

#[tokio::test]
async fn grep_matches_ripgrep_output() {
    let Some(program) = skip::program(&["rg"], "apt install ripgrep") else {
        return;
    };
    let made = tree();
    let common = [
        "--no-config",
        "--sort",
        "path",
        "--heading",
        "-n",
        "--crlf",
        "--no-require-git",
    ];
    for tree in trees(&made) {
        for (flags, arguments) in [
            (&["-e", "needle"] as &[&str], json!({"pattern": "needle"})),
            (
                &["-i", "-e", "needle$"],
                json!({"pattern": "needle$", "ignore_case": true}),
            ),
            (
                &["-C", "2", "-e", "needle in"],
                json!({"pattern": "needle in", "context": 2}),
            ),
            (
                &["-F", "-e", "fn main() {"],
                json!({"pattern": "fn main() {", "literal": true}),
            ),
            (
                &["-g", "*.txt", "-e", "line|four"],
                json!({"pattern": "line|four", "glob": "*.txt"}),
            ),
            (
                &["-g", "!sub", "-e", "four"],
                json!({"pattern": "four", "glob": "!sub"}),
            ),
            (
                &["-e", r"\bunreachable\w*!\(\)"],
                json!({"pattern": r"\bunreachable\w*!\(\)"}),
            ),
            (
                &["-U", "-e", "two\nthree"],
                json!({"pattern": "two\nthree"}),
            ),
            (
                &["-e", "no such text anywhere, surely{3}"],
                json!({"pattern": "no such text anywhere, surely{3}"}),
            ),
        ] {
            let flags: Vec<&str> = common.iter().chain(flags).copied().collect();
            let expected = output(&program, &flags, &tree).replace('\r', "");
            let mut wanted = arguments.clone();
            wanted["limit"] = json!(1_000_000);
            let text = run(&tree, "grep", wanted).await;
            same_lines(
                &text,
                &expected,
                &format!("{arguments} in {}", tree.display()),
            );
        }
    }
}

/// Asserts that `text` is the start of `expected`, and all of it unless it is truncated.
#[track_caller]
fn same_lines(text: &str, expected: &str, what: &str) {
    let cut = text.contains("there are more. Narrow");
    let (ours, theirs) = (results(text), results(expected));
    for (place, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        // Long lines and control characters are shown in part.
        let shown = |line: &str| -> String {
            let plain = line
                .chars()
                .filter(|char| !char.is_control() && *char != '\u{feff}');
            plain.take(100).collect()
        };
        if !ours.contains("bytes]") && !theirs.contains('\x1b') {
            assert_eq!(shown(ours), shown(theirs), "{what}, line {place}");
        }
    }
    assert!(
        ours.len() == theirs.len() || cut && ours.len() < theirs.len(),
        "{what}: {} lines, not {}",
        ours.len(),
        theirs.len()
    );
}

#[tokio::test]
async fn find_matches_fd_output() {
    let Some(program) = skip::program(&["fdfind", "fd"], "apt install fd-find") else {
        return;
    };
    let made = tree();
    for tree in trees(&made) {
        for (flags, pattern) in [
            (&[] as &[&str], "*"),
            (&[], "*.txt"),
            (&[], "a*"),
            (&[], "A*"),
            (&[], "?.txt"),
            (&[], "{kept,skip,src}"),
            (&["--full-path"], "**/nested/**/kept"),
            (&["--full-path"], "**/src/*.rs"),
        ] {
            let flags: Vec<&str> = ["--glob"]
                .iter()
                .chain(flags)
                .copied()
                .chain([pattern])
                .collect();
            let expected = output(&program, &flags, &tree);
            let mut expected: Vec<&str> = expected.lines().collect();
            expected.sort_by(|one, other| Path::new(one).cmp(Path::new(other)));
            let text = run(
                &tree,
                "find",
                json!({"pattern": pattern, "limit": 1_000_000}),
            )
            .await;
            let what = format!("{pattern} in {}", tree.display());
            same_lines(&text, &expected.join("\n"), &what);
        }
    }
}
