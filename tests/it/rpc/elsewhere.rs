//! Sessions of another machine, or of a directory that was moved.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::process::RpcProcess;
use super::{rpc, script};
use crate::support::cli::{Home, lines_of};

/// A session with one prompt, as another machine has it: it ran in `/gone/work`. Returns its file and the start of its id.
fn foreign_session(home: &Home) -> (PathBuf, String) {
    let mut wire = RpcProcess::start(rpc(home, &script()));
    wire.call("prompt", json!({"message": "far away"}));
    wire.event("agent_settled");
    wire.call("shut_down", json!({}));
    wire.end();
    let path = home.sessions().remove(0);
    let id = lines_of(&path)[0]["id"].as_str().unwrap()[..13].to_owned();
    let text = fs::read_to_string(&path).unwrap();
    let work = home.work().to_string_lossy().into_owned();
    let folder = home.home().join("sessions/--gone-work--");
    let foreign = folder.join(path.file_name().unwrap());
    fs::create_dir(&folder).unwrap();
    let text = text.replacen(&work, "/gone/work", 1);
    osier_base::atomic_file::write(&foreign, text.as_bytes()).unwrap();
    fs::remove_file(&path).unwrap();
    (foreign, id)
}

/// The other lines are about models that cannot be refreshed.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn directory_of(path: &Path) -> String {
    lines_of(path)[0]["cwd"].as_str().unwrap().to_owned()
}

#[test]
fn session_of_another_directory_says_so_until_it_continues_here() {
    let home = Home::new();
    let (path, id) = foreign_session(&home);
    let ran = "the session ran in `/gone/work`, which does not exist here: it continues in `WORK`";
    let warning = format!("[WRN] {ran}; `osier --fork {id}` continues in a copy");
    let print = |flags: [&str; 2]| {
        let cli = home
            .cli()
            .args(["-p", "go on", "--model", "script/model.json"]);
        cli.args(flags).run()
    };
    for flags in [["--resume", &id], ["--session", path.to_str().unwrap()]] {
        let output = print(flags);
        assert_eq!(
            (output.code, first_line(&output.stderr)),
            (Some(0), &*warning)
        );
    }
    let mut wire = RpcProcess::start(rpc(&home, &script()).args(["--resume", &id]));
    let elsewhere = wire.event("session_elsewhere")["elsewhere"].take();
    assert_eq!(elsewhere["directory"], "/gone/work");
    assert_eq!(
        (&elsewhere["exists"], &elsewhere["open"]),
        (&json!(false), &json!(true))
    );
    let message = home.normal(elsewhere["message"].as_str().unwrap());
    assert_eq!(format!("[WRN] {message}"), warning);
    let opened = wire.call("continue_here", json!({}));
    let new_path = PathBuf::from(opened["session"]["path"].as_str().unwrap());
    wire.call("shut_down", json!({}));
    let (rest, ..) = wire.end();
    assert!(
        rest.iter().all(|line| line["type"] != "session_elsewhere"),
        "{rest:?}"
    );
    assert!(!path.exists());
    assert_eq!(home.sessions(), std::slice::from_ref(&new_path));
    assert_eq!(directory_of(&new_path), home.work().to_string_lossy());
    let output = home
        .cli()
        .args(["-p", "again", "--model", "script/model.json", "-c"])
        .run();
    assert_eq!(output.code, Some(0));
    assert!(
        !output.stderr.contains("the session ran"),
        "{}",
        output.stderr
    );
    assert_eq!(home.sessions(), [new_path]);
}

#[test]
fn fork_of_a_session_of_another_directory_leaves_it_as_it_is() {
    let home = Home::new();
    let (path, id) = foreign_session(&home);
    let before = fs::read_to_string(&path).unwrap();
    let mut wire = RpcProcess::start(rpc(&home, &script()).args(["--fork", &id]));
    let state = wire.call("get_state", json!({}));
    wire.call("shut_down", json!({}));
    let (rest, ..) = wire.end();
    assert!(
        rest.iter().all(|line| line["type"] != "session_elsewhere"),
        "{rest:?}"
    );
    let fork = PathBuf::from(state["sessionFile"].as_str().unwrap());
    assert_eq!(directory_of(&fork), home.work().to_string_lossy());
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn continue_in_a_directory_without_sessions_names_the_one_of_a_moved_directory() {
    let home = Home::new();
    let (path, id) = foreign_session(&home);
    let listed = home.cli().args(["sessions", "list", "--all"]).run();
    assert!(
        listed.stdout.contains("  /gone/work (missing)  far away"),
        "{listed:?}"
    );
    let listed = home
        .cli()
        .args(["sessions", "list", "--all", "--json"])
        .run();
    assert!(listed.stdout.contains(r#""missing":true"#), "{listed:?}");
    let output = home
        .cli()
        .args(["-p", "go", "--model", "script/model.json", "-c"])
        .run();
    let message = format!(
        "[WRN] no session of this directory; a session ran in `/gone/work`, which does not exist here: `osier --resume {id}` continues it"
    );
    assert_eq!(
        (output.code, first_line(&output.stderr)),
        (Some(0), &*message)
    );
    for new in home.sessions().into_iter().filter(|new| *new != path) {
        fs::remove_file(new).unwrap();
    }
    let mut wire = RpcProcess::start(rpc(&home, &script()).arg("-c"));
    let elsewhere = wire.event("session_elsewhere")["elsewhere"].take();
    assert_eq!(
        (&elsewhere["open"], &elsewhere["path"]),
        (&json!(false), &json!(path))
    );
    let opened = wire.call("continue_here", json!({"target": elsewhere["path"]}));
    assert_eq!(opened["session"]["resumed"], true);
    wire.call("shut_down", json!({}));
    wire.end();
}
