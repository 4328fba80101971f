//! Branches of a stored session: forks in new git worktrees, and `osier rewind`.
#![expect(
    clippy::disallowed_methods,
    reason = "git in a project of the test's own"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::process::RpcProcess;
use super::{rpc, script};
use crate::support::cli::{Home, lines_of};

/// Runs git; returns what it prints.
fn git(folder: &Path, words: &[&str]) -> String {
    let run = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(folder)
        .output();
    let output = run.unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A session with two prompts, the second of which changes a file. Returns the start of its id.
fn stored_session(home: &Home) -> String {
    let mut wire = RpcProcess::start(rpc(home, &script()).args(["--permissions", "yolo"]));
    for prompt in ["only talk", "zztool"] {
        wire.call("prompt", json!({"message": prompt}));
        wire.event("agent_settled");
    }
    wire.call("shut_down", json!({}));
    wire.end();
    let path = home.sessions().remove(0);
    lines_of(&path)[0]["id"].as_str().unwrap()[..13].to_owned()
}

#[test]
fn fork_in_a_worktree_without_its_model_leaves_nothing_and_belongs_to_the_worktree() {
    if !osier_testing::skip::has(&["git"], "apt-get install git") {
        return;
    }
    let home = Home::new();
    let work = home.work();
    home.file(".gitignore", "model.json\n");
    git(&work, &["init", "--quiet"]);
    stored_session(&home);
    git(&work, &["add", ".gitignore"]);
    git(&work, &["commit", "--quiet", "-m", "begin"]);
    let mut wire = RpcProcess::start(rpc(&home, &script()).args(["-c"]));
    let refused = wire.refused("fork_worktree", json!({}));
    assert!(
        refused.starts_with("no worktree was made: cannot read the script"),
        "{refused}"
    );
    assert_eq!(git(&work, &["branch", "--list", "osier/*"]), "");
    assert_eq!(git(&work, &["worktree", "list"]).lines().count(), 1);
    home.file(".gitignore", "");
    // The last prompt wrote `made.txt`; the point before it has no such file.
    let file = |forked: &Value| Path::new(forked["cwd"].as_str().unwrap()).join("made.txt");
    let forked = wire.call("fork_worktree", json!({}));
    assert_eq!(forked["files"], "point");
    assert!(!file(&forked).exists());
    // The current point has the files of now, also those that were changed by hand.
    home.file("made.txt", "by hand");
    let leaf = wire.call("get_entries", json!({}))["leaf"].clone();
    let now = wire.call("fork_worktree", json!({"entryId": leaf}));
    assert_eq!(now["files"], "now");
    assert_eq!(std::fs::read_to_string(file(&now)).unwrap(), "by hand");
    wire.call("shut_down", json!({}));
    wire.end();
    let headers = home
        .sessions()
        .into_iter()
        .map(|path| lines_of(&path)[0].clone());
    let forks = headers.filter(|header| header["parentSession"].is_string());
    let cwds: BTreeSet<String> = forks
        .map(|fork| fork["cwd"].as_str().unwrap().to_owned())
        .collect();
    // The paths that `-c` and lists look for.
    let expected = [&forked, &now].map(|fork| {
        let cwd = Path::new(fork["cwd"].as_str().unwrap());
        cwd.canonicalize().unwrap().to_str().unwrap().to_owned()
    });
    assert_eq!(cwds, BTreeSet::from(expected));
}

#[test]
fn a_fork_whose_prompt_cannot_be_stored_leaves_nothing() {
    let home = Home::new();
    stored_session(&home);
    let before = home.sessions();
    let mut wire = RpcProcess::start(rpc(&home, &script()).args(["-c"]));
    wire.call("get_state", json!({}));
    let drafts = home.home().join("drafts");
    let _ = std::fs::remove_dir_all(&drafts);
    std::fs::write(&drafts, "no folder").unwrap();
    let refused = wire.refused("fork", json!({}));
    assert!(
        refused.starts_with("cannot store the prompt of the fork: "),
        "{refused}"
    );
    assert_eq!(home.sessions(), before);
    wire.call("shut_down", json!({}));
    wire.end();
}

/// The session stays open; `switch_session` opens the copy, whose draft is the prompt. A session without an answer has
/// nothing to copy.
#[test]
fn forks_and_clones_are_stored_next_to_the_open_session() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()).args(["--permissions", "yolo"]));
    let refused = wire.refused("clone", json!({}));
    assert_eq!(refused, "nothing to clone yet: send a prompt first");
    let refused = wire.refused("fork", json!({}));
    assert_eq!(refused, "no earlier prompt on this branch");
    for prompt in ["only talk", "zztool"] {
        wire.call("prompt", json!({"message": prompt}));
        wire.event("agent_settled");
    }
    let open = |wire: &mut RpcProcess| {
        let state = wire.call("get_state", json!({}));
        (state["sessionId"].clone(), state["messageCount"].clone())
    };
    let unknown = json!({"entryId": "00000000"});
    for command in ["branch", "fork", "fork_worktree"] {
        let refused = wire.refused(command, unknown.clone());
        assert_eq!(refused, "no entry `00000000` in this session", "{command}");
    }
    let source = open(&mut wire);
    let forked = wire.call("fork", json!({"keepOpen": false}));
    let cloned = wire.call("clone", json!({}));
    assert_eq!(open(&mut wire), source);
    assert_eq!(forked["prompt"]["text"], "zztool");
    assert_eq!(cloned["prompt"], Value::Null);
    for copy in [&forked, &cloned] {
        assert_eq!(copy["parentSession"], source.0);
        let path = Path::new(copy["path"].as_str().unwrap());
        let header = &lines_of(path)[0];
        assert_eq!(header["id"], copy["session"]);
        assert_eq!(header["parentSession"], source.0);
    }
    let opened = wire.call("switch_session", json!({"target": forked["session"]}));
    assert_eq!(opened["session"]["id"], forked["session"]);
    assert_eq!(opened["session"]["path"], forked["path"]);
    let draft = wire.call("find_unsent", json!({}));
    assert_eq!(draft["text"], json!("zztool"));
    wire.call("switch_session", json!({"target": cloned["path"]}));
    assert_eq!(open(&mut wire), (cloned["session"].clone(), source.1));
    wire.call("shut_down", json!({}));
    wire.end();
}

#[test]
fn rewind_looks_before_it_moves() {
    let home = Home::new();
    let id = stored_session(&home);
    let entries = || -> Vec<Value> {
        let output = home.cli().args(["tree", &id, "--json"]).run();
        let lines = output.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let current = || {
        let entries = entries();
        let current = entries.iter().find(|entry| entry["current"] == true);
        current.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let before = current();
    let unknown = home.cli().args(["rewind", &id, "00000000"]).run();
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let files = home
        .cli()
        .args(["rewind", &id, "00000000", "--files"])
        .run();
    assert_eq!(files.code, Some(2), "{files:?}");
    let cause = "no entry `00000000` in this session";
    assert!(files.stderr.contains(cause), "{files:?}");
    assert_eq!(current(), before);
    // The scripted model of the session is not selected here: a warning, no failure.
    let prompt = &entries()[2];
    assert_eq!(prompt["text"], "zztool");
    let prompt = prompt["id"].as_str().unwrap();
    let moved = home.cli().args(["rewind", &id, prompt, "--files"]).run();
    assert_eq!(
        (moved.code, &*moved.stdout),
        (
            Some(0),
            "continues before the prompt: zztool\nrestored 1 file\n"
        ),
        "{moved:?}"
    );
    assert!(!home.work().join("made.txt").exists());
}
