//! The `osier sessions` commands.

use std::path::Path;

use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::cli::{Cli, Home, ProgramOutput};

fn home(prompts: &[&str]) -> Home {
    let home = Home::new();
    let turns = json!([{"repeat": true, "steps": [{"text": "said the quokka"}]}]);
    for prompt in prompts {
        assert_eq!(
            home.scripted(&turns).args(["-p", prompt]).run().code,
            Some(0)
        );
    }
    home
}

fn run<const N: usize>(home: &Home, arguments: [&str; N]) -> ProgramOutput {
    home.cli().arg("sessions").args(arguments).run()
}

fn ok<const N: usize>(home: &Home, arguments: [&str; N]) -> String {
    let ended = run(home, arguments);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), ""),
        "{ended:?}"
    );
    ended.stdout
}

fn id_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    stem.rsplit_once('_').unwrap().1.to_owned()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn list_search_show_info_and_path_describe_sessions() {
    let home = home(&["fix the parser", "write docs"]);
    let rows = lines(&ok(&home, ["list", "--json"]));
    let titles: Vec<&str> = rows
        .iter()
        .map(|row| row["firstPrompt"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["write docs", "fix the parser"]);
    assert_eq!(
        (&rows[0]["prompts"], &rows[0]["answers"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(lines(&ok(&home, ["list", "--json", "-n", "1"])).len(), 1);
    assert_eq!(ok(&home, ["list", "--named"]), "");
    assert_eq!(
        lines(&ok(&home, ["list", "--json", "--since", "1h"])).len(),
        2
    );
    assert_eq!(ok(&home, ["list", "--since", "2999-01-01"]), "");
    assert_eq!(ok(&home, ["list", "--directory", "/"]), "");
    let wrong = run(&home, ["list", "--since", "yesterday"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("a date such as `2026-01-31`"),
        "{}",
        wrong.stderr
    );

    let found = lines(&ok(&home, ["search", "--json", "parser"]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["source"], "prompt");
    assert_eq!(
        found[0]["text"],
        json!({"text": "fix the parser", "marks": [[8, 14]]})
    );
    let said = ok(&home, ["search", "quokka"]);
    assert_eq!(
        said.lines()
            .filter(|line| *line == "    answer: said the quokka")
            .count(),
        2,
        "{said}"
    );
    assert_eq!(run(&home, ["search", "zebra"]).code, Some(1));

    let id = id_of(&home.sessions()[0]);
    assert_eq!(
        ok(&home, ["show", &id]),
        "> fix the parser\n\nsaid the quokka\n\n"
    );
    let entries = lines(&ok(&home, ["show", "--json", &id]));
    let kinds: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["message"]["role"].as_str())
        .collect();
    assert_eq!(kinds, ["user", "assistant"]);
    let info = ok(&home, ["info", &id]);
    assert!(info.contains("1 prompt, 1 answer, 0 tool calls"), "{info}");
    assert_eq!(
        lines(&ok(&home, ["info", "--json", &id]))[0]["id"],
        id.as_str()
    );
    let path = ok(&home, ["path", &id]);
    assert_eq!(
        path.trim_end(),
        home.normal(&home.sessions()[0].to_string_lossy())
    );
    assert_eq!(ok(&home, ["path", "--index"]), "HOME/index.sqlite\n");
    assert!(ok(&home, ["stats"]).contains("2 sessions"));
    assert_eq!(ok(&home, ["reindex"]), "indexed 2 sessions\n");
}

#[test]
fn rename_delete_and_restore_change_a_session() {
    let home = home(&["fix the parser", "write docs"]);
    let file = home.sessions().remove(0);
    let id = id_of(&file);
    ok(&home, ["rename", &id, "Parser"]);
    assert_eq!(
        lines(&ok(&home, ["list", "--json", "--named"]))[0]["name"],
        "Parser"
    );
    let said = ok(&home, ["delete", "Parser"]);
    assert_eq!(
        said,
        format!("deleted; restore it with `osier sessions restore {id}`\n")
    );
    assert!(!file.exists());
    assert_eq!(lines(&ok(&home, ["list", "--json"])).len(), 1);
    assert_eq!(run(&home, ["search", "parser"]).code, Some(1));
    assert_eq!(ok(&home, ["restore"]), format!("{id}  WORK  Parser\n"));
    assert_eq!(
        ok(&home, ["restore", "Parser"]),
        home.normal(&format!("{}\n", file.display()))
    );
    assert_eq!(lines(&ok(&home, ["list", "--json"])).len(), 2);
    assert_eq!(ok(&home, ["restore"]), "");
    let gone = run(&home, ["restore", &id]);
    let message = format!(
        "osier: no deleted session matches `{id}`; `osier sessions restore` lists the trash\n"
    );
    assert_eq!(gone, ProgramOutput::new(2, "", &message));
    let missing = run(&home, ["delete", "nothing"]);
    assert_eq!(
        missing.stderr,
        "osier: no session matches `nothing`; list the sessions with `osier sessions`\n"
    );
}

#[test]
fn check_reports_damage() {
    let home = home(&["fix the parser", "write docs"]);
    assert_eq!(ok(&home, ["check"]), "2 sessions, no damage\n");
    let files = home.sessions();
    let mut bytes = std::fs::read(&files[0]).unwrap();
    bytes.extend_from_slice(b"garbage\n{\"torn");
    #[expect(
        clippy::disallowed_methods,
        reason = "damage is what this test is about"
    )]
    std::fs::write(&files[0], bytes).unwrap();
    let copy = files[1].with_file_name("copy.jsonl");
    std::fs::copy(&files[1], &copy).unwrap();
    let found = run(&home, ["check"]);
    assert_eq!(found.code, Some(1));
    let name = home.normal(&files[0].to_string_lossy());
    assert!(
        found.stdout.contains(&format!("{name}: 1 damaged line: "))
            && found.stdout.contains("; osier skips damaged lines"),
        "{}",
        found.stdout
    );
    assert!(
        found
            .stdout
            .contains("are an incomplete line; the next write moves them to a separate file"),
        "{}",
        found.stdout
    );
    assert!(
        found.stdout.contains("it has the same id as"),
        "{}",
        found.stdout
    );
    assert!(
        found.stdout.ends_with("3 sessions, 3 problems\n"),
        "{}",
        found.stdout
    );
    // An id of two files is refused with both; a path is not.
    let id = id_of(&files[1]);
    assert_eq!(lines(&ok(&home, ["list", "--json"])).len(), 3);
    ok(&home, ["show", copy.to_str().unwrap()]);
    ok(&home, ["show", &id]);
}

#[test]
fn print_mode_reports_damage_of_the_session_that_it_continues() {
    let home = home(&["fix the parser"]);
    let file = home.sessions()[0].clone();
    let text = std::fs::read_to_string(&file).unwrap();
    let damaged = text.replacen("\n{", "\n!!{", 1);
    assert_ne!(text, damaged);
    #[expect(
        clippy::disallowed_methods,
        reason = "damage is what this test is about"
    )]
    std::fs::write(&file, damaged).unwrap();
    let turns = json!([{"repeat": true, "steps": [{"text": "more"}]}]);
    let ended = home.scripted(&turns).args(["-c", "-p", "go on"]).run();
    let name = home.normal(&file.to_string_lossy());
    assert_eq!(
        home.normal(&ended.stderr),
        format!("[WRN] skipped 1 damaged line of the session file; it remains in `{name}`\n")
    );
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "more\n"));
}

#[test]
fn unreadable_sessions_directory_is_an_error() {
    let home = home(&["fix the parser"]);
    let sessions = home.home().join("sessions");
    std::fs::rename(&sessions, home.home().join("aside")).unwrap();
    std::os::unix::fs::symlink("/nothing", &sessions).unwrap();
    let name = home.normal(&sessions.to_string_lossy());
    for arguments in [["list", "--all"], ["search", "quokka"], ["show", "0199"]] {
        let ended = run(&home, arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert_eq!(
            home.normal(&ended.stderr),
            format!("osier: cannot read `{name}`: No such file or directory (os error 2)\n"),
            "{arguments:?}"
        );
    }
    let turns = json!([{"repeat": true, "steps": [{"text": "no"}]}]);
    let ended = home.scripted(&turns).args(["-c", "-p", "go on"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(
        home.normal(&ended.stderr).contains(&name),
        "{}",
        ended.stderr
    );
}

#[test]
fn sessions_are_readable_in_a_read_only_home() {
    if !skip::has(&["mount", "umount"], "apt install mount") {
        return;
    }
    let home = home(&["fix the parser"]);
    std::fs::remove_file(home.home().join("index.sqlite")).ok();
    let read_only = ReadOnly::mount(&home.home());
    if read_only.is_none() {
        skip::unsupported("mount", "a bind mount is refused");
        return;
    }
    assert_eq!(lines(&ok(&home, ["list", "--json"])).len(), 1);
    assert_eq!(lines(&ok(&home, ["search", "--json", "quokka"])).len(), 1);
    let id = id_of(&home.sessions()[0]);
    assert_eq!(
        ok(&home, ["show", &id]),
        "> fix the parser\n\nsaid the quokka\n\n"
    );
    let refused = run(&home, ["rename", &id, "x"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("Read-only file system"),
        "{}",
        refused.stderr
    );
    let turns = json!([{"repeat": true, "steps": [{"text": "no"}]}]);
    let resumed = home.scripted(&turns).args(["-c", "-p", "more"]).run();
    assert_ne!(resumed.code, Some(0));
    assert!(
        resumed.stderr.contains("Read-only file system"),
        "{}",
        resumed.stderr
    );
}

/// A folder that is mounted over itself, to be read only.
struct ReadOnly(std::path::PathBuf);

impl ReadOnly {
    fn mount(folder: &Path) -> Option<Self> {
        let done = mount(&["--bind".as_ref(), folder.as_os_str(), folder.as_os_str()]);
        if !done {
            return None;
        }
        let mounted = Self(folder.to_owned());
        mount(&[
            "-o".as_ref(),
            "remount,bind,ro".as_ref(),
            folder.as_os_str(),
        ])
        .then_some(mounted)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "a mount is undone by the system's own tool"
        )]
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

fn mount(arguments: &[&std::ffi::OsStr]) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "a mount is made by the system's own tool"
    )]
    let status = std::process::Command::new("mount")
        .args(arguments)
        .stderr(std::process::Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn pinned_sessions_are_first_and_archived_sessions_are_hidden() {
    let home = home(&["fix the parser", "write docs"]);
    let rows = lines(&ok(&home, ["list", "--json"]));
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let listed = |flags: &[&str]| -> Vec<(String, bool, bool)> {
        let start = home.cli().args(["sessions", "list", "--json"]);
        let ended = flags.iter().copied().fold(start, Cli::arg).run();
        let row = |row: &Value| {
            (
                row["id"].as_str().unwrap().to_owned(),
                row["pinned"].as_bool().unwrap(),
                row["archived"].as_bool().unwrap(),
            )
        };
        lines(&ended.stdout).iter().map(row).collect()
    };
    let row = |place: usize, pinned, archived| (ids[place].to_owned(), pinned, archived);
    ok(&home, ["pin", ids[1]]);
    assert_eq!(listed(&[]), [row(1, true, false), row(0, false, false)]);
    ok(&home, ["archive", ids[0]]);
    assert_eq!(listed(&[]), [row(1, true, false)]);
    assert_eq!(listed(&["--all"]), [row(1, true, false)]);
    assert_eq!(listed(&["--archived"]), [row(0, false, true)]);
    ok(&home, ["archive", "--off", ids[0]]);
    ok(&home, ["pin", "--off", ids[1]]);
    assert_eq!(listed(&[]), [row(0, false, false), row(1, false, false)]);
}
