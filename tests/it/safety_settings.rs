//! Settings files that cannot be read: no mode that runs without a person starts, and nothing runs.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};

/// A defect of the settings file.
enum Broken {
    Text(&'static str),
    Bytes(&'static [u8]),
    /// A link to this path.
    Link(&'static str),
    Fifo,
    Directory,
    TooLong,
}

use Broken::{Bytes, Directory, Fifo, Link, Text, TooLong};

/// The broken files, and the error after their path.
const FILES: &[(Broken, &str)] = &[
    // Syntax.
    (
        Text("permissions = ask\n"),
        ":1:15: string values must be quoted, expected literal string; `permissions` accepts yolo, auto, ask or plan",
    ),
    (
        Text("theme = \"dark\npermissions = \"ask\"\n"),
        ":1:14: invalid basic string, expected `\"`; `theme` accepts the name of a theme",
    ),
    (
        Text("permissions = \"ask\"\nsandbox = \n"),
        ":2:11: string values must be quoted, expected literal string; `sandbox` accepts off, workspace or read-only",
    ),
    (
        Text("permissions: \"ask\"\n"),
        ":1:14: key with no value, expected `=`; `permissions` accepts yolo, auto, ask or plan",
    ),
    (
        Text("permissions \"ask\"\n"),
        ":1:13: key with no value, expected `=`; `permissions` accepts yolo, auto, ask or plan",
    ),
    (
        Text("permissions = \"ask\"\npermissions = \"yolo\"\n"),
        ":2:1: duplicate key; `permissions` accepts yolo, auto, ask or plan",
    ),
    (
        Text("theme = \"dark\"\ntheme = \"light\"\n"),
        ":2:1: duplicate key; `theme` accepts the name of a theme",
    ),
    (
        Text("deny = [\n  \"bash(rm *)\"\n  \"bash(dd *)\"\n]\n"),
        ":3:3: missing comma between array elements, expected `,`",
    ),
    (
        Text("deny = [\"bash(rm *)\"\n"),
        ":1:21: unclosed array, expected `]`; `deny` accepts a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]",
    ),
    (
        Text("{\"permissions\": \"ask\"}\n"),
        ":1:1: invalid key-value pair, expected key",
    ),
    (
        Bytes(b"permissions = \"ask\"\0\0\0\0\n"),
        ":1:20: unexpected key or value, expected newline, `#`; `permissions` accepts yolo, auto, ask or plan",
    ),
    (
        Bytes(b"\0\0\0\0\0\0\0\0"),
        ":1:9: key with no value, expected `=`",
    ),
    // The file.
    (
        Bytes(b"permissions = \"ask\" # caf\xe9\n"),
        ": is not UTF-8 text",
    ),
    (Bytes(b"\xff\xfep\0e\0r\0m\0"), ": is not UTF-8 text"),
    (Bytes(b""), ": is empty"),
    (Bytes(b"\xef\xbb\xbf"), ": is empty"),
    (Fifo, ": is not a regular file"),
    (Directory, ": is not a regular file"),
    (TooLong, ": has more than 4194304 bytes"),
    (Link("/dev/zero"), ": is not a regular file"),
    (Link("/proc/self/environ"), ": is not a regular file"),
    (
        Link("nowhere"),
        ": cannot be read: the symbolic link `HOME/settings.toml` leads to nothing",
    ),
    (
        Link("settings.toml"),
        ": cannot be read: Too many levels of symbolic links (os error 40)",
    ),
    // Values.
    (
        Text("permissions = \"Ask\"\n"),
        ":1:15: invalid value `\"Ask\"` for `permissions`; expected yolo, auto, ask or plan",
    ),
    (
        Text("permissions = true\n"),
        ":1:15: invalid value `true` for `permissions`; expected yolo, auto, ask or plan",
    ),
    (
        Text("permissions.mode = \"ask\"\n"),
        ":1:1: invalid value `permissions` for `permissions`; expected yolo, auto, ask or plan",
    ),
    (
        Text("sandbox = \"readonly\"\n"),
        ":1:11: invalid value `\"readonly\"` for `sandbox`; expected off, workspace or read-only",
    ),
    (
        Text("sandbox = [\"workspace\"]\n"),
        ":1:12: invalid value `\"workspace\"` for `sandbox`; expected off, workspace or read-only",
    ),
    (
        Text("deny = \"bash(rm *)\"\n"),
        ":1:8: invalid value `\"bash(rm *)\"` for `deny`; expected a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]",
    ),
    (
        Text("deny = [\n  \"bash(dd *)\",\n  \"bash(rm\",\n]\n"),
        ":3:3: invalid value `\"bash(rm\"` for `deny`; expected a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]",
    ),
    (
        Text("deny = [\"BASH(rm *)\"]\n"),
        ":1:9: invalid value `\"BASH(rm *)\"` for `deny`; expected a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]",
    ),
    (
        Text("deny = [\"read([secret)\"]\n"),
        ":1:9: invalid value `\"read([secret)\"` for `deny`; expected a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]",
    ),
    (
        Text("ask = [3]\n"),
        ":1:8: invalid value `3` for `ask`; expected a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"]",
    ),
    (
        Text("sandbox_network = [\"not a host\"]\n"),
        ":1:20: invalid value `\"not a host\"` for `sandbox_network`; expected true, false, or a list of hosts, e.g. [\"example.org\", \"*.example.com:443\", \"10.0.0.0/8\"]",
    ),
    (
        Text("claude_hooks = \"yes\"\n"),
        ":1:16: invalid value `\"yes\"` for `claude_hooks`; expected true or false",
    ),
    // Names.
    (
        Text("permision = \"ask\"\n"),
        ":1:1: unknown setting `permision`; did you mean `permissions` (yolo, auto, ask or plan)?",
    ),
    (
        Text("Permissions = \"ask\"\n"),
        ":1:1: unknown setting `Permissions`; did you mean `permissions` (yolo, auto, ask or plan)?",
    ),
    (
        Text("dney = [\"bash(rm *)\"]\n"),
        ":1:1: unknown setting `dney`; did you mean `deny` (a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"])?",
    ),
    (
        Text("approvals = \"always\"\n"),
        ":1:1: unknown setting `approvals`; list the settings with `osier config schema`",
    ),
    (
        Text("plan-mode = true\n"),
        ":1:1: unknown setting `plan-mode`; list the settings with `osier config schema`",
    ),
    (
        Text("off = [\"bash\"]\n"),
        ":1:1: unknown setting `off`; did you mean `deny` (a list of rules, e.g. [\"bash(git *)\", \"edit(src/**)\", \"mcp__github__*\"])?",
    ),
    (
        Text("mode = \"ask\"\n"),
        ":1:1: unknown setting `mode`; did you mean `permissions` (yolo, auto, ask or plan)?",
    ),
    (
        Text("[ui]\ntheme = \"dark\"\npermissions = \"ask\"\n"),
        ":1:2: unknown setting `ui`; did you mean `permissions` (yolo, auto, ask or plan)?",
    ),
];

/// The modes without a person.
const MODES: [&[&str]; 5] = [
    &["-p", "go"],
    &["--json", "go"],
    &["rpc"],
    &["acp"],
    &["serve", "--listen", "127.0.0.1:0"],
];

fn rm() -> Value {
    json!([
        {"steps": [{"tool": "bash", "arguments": {"command": "rm precious"}}]},
        {"repeat": true, "steps": [{"text": "done"}]},
    ])
}

/// A home whose settings were valid once, and a file that a command would remove.
fn valid_once() -> Home {
    let home = Home::new();
    home.file("precious", "");
    home.file("model.json", json!({"turns": rm()}).to_string());
    home.config(
        "settings.toml",
        "discover_local_models = false\npermissions = \"ask\"\n",
    );
    assert_eq!(run(&home, &["config", "check"]).code, Some(0));
    home
}

fn run(home: &Home, words: &[&str]) -> ProgramOutput {
    let cli = words.iter().fold(home.cli(), |cli, word| cli.arg(*word));
    cli.run()
}

/// A run in one of the modes.
fn run_mode(home: &Home, mode: &[&str]) -> ProgramOutput {
    let model = ["--model", "script/model.json"];
    let words: Vec<&str> = mode.iter().copied().chain(model).collect();
    run(home, &words)
}

fn replace(path: &Path, broken: &Broken) {
    let write = |path: &Path, bytes: &[u8]| osier_base::atomic_file::write(path, bytes).unwrap();
    std::fs::remove_file(path).unwrap();
    match broken {
        Text(text) => write(path, text.as_bytes()),
        Bytes(bytes) => write(path, bytes),
        Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
        Fifo => rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap(),
        Directory => std::fs::create_dir(path).unwrap(),
        TooLong => write(path, &vec![b'#'; 4 * 1024 * 1024 + 1]),
    }
}

/// One error, exit code 2.
fn refused(fault: &str) -> ProgramOutput {
    let error = format!(
        "osier: cannot read the safety settings: {fault}; fix the file, then check it with `osier config check`\n"
    );
    ProgramOutput::new(2, "", &error)
}

#[test]
fn no_mode_without_a_person_starts_with_unreadable_safety_settings() {
    let mut wrong = Vec::new();
    for (broken, fault) in FILES {
        let home = valid_once();
        replace(&home.home().join("settings.toml"), broken);
        let expected = refused(&format!("HOME/settings.toml{fault}"));
        for mode in MODES {
            let ended = run_mode(&home, mode);
            if ended != expected {
                wrong.push((mode[0], ended.stderr, *fault));
            }
        }
        assert!(home.work().join("precious").exists(), "{fault}");
    }
    assert_eq!(wrong, []);
}

#[test]
fn settings_that_are_not_for_safety_are_only_warned_about() {
    let home = valid_once();
    let settings =
        "discover_local_models = false\nthem = \"dark\"\nmouse = 3\nfuture_thing = true\n";
    home.config("settings.toml", settings);
    let ended = run_mode(&home, &["-p", "go"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "done\n"));
    assert!(!home.work().join("precious").exists());
}

#[test]
fn a_file_that_was_removed_means_no_settings() {
    let home = valid_once();
    std::fs::remove_file(home.home().join("settings.toml")).unwrap();
    let warning =
        "[WRN] HOME/settings.toml: does not exist any more: its safety settings no longer apply\n";
    let expected = ProgramOutput::new(0, "done\n", warning);
    assert_eq!(run_mode(&home, &["-p", "go"]), expected);
    assert!(!home.work().join("precious").exists());
    home.file("precious", "");
    let expected = ProgramOutput::new(0, "done\n", "");
    assert_eq!(run_mode(&home, &["-p", "go"]), expected);
}

/// The folder of the settings is somewhere else, and sometimes not there: on a disk, in a repository of settings.
#[test]
fn settings_whose_folder_is_out_of_reach_still_apply() {
    type Hide = fn(&Path);
    let link_to_nothing: Hide = |folder| {
        std::fs::rename(folder, folder.with_extension("moved")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder).unwrap();
    };
    let parent_link: Hide = |folder| {
        let parent = folder.parent().unwrap();
        std::fs::rename(parent, parent.with_extension("moved")).unwrap();
        std::os::unix::fs::symlink("nowhere", parent).unwrap();
    };
    let moved: Hide = |folder| {
        std::fs::rename(folder, folder.with_extension("moved")).unwrap();
    };
    let broken =
        |link: &str| format!("cannot be read: the symbolic link `{link}` leads to nothing");
    for (hide, fault) in [
        // With `hooks.json`, which is behind the same link.
        (
            link_to_nothing,
            broken("HOME/.config/osier") + " (and 1 more)",
        ),
        (parent_link, broken("HOME/.config") + " (and 1 more)"),
        (
            moved,
            "is out of reach: its folder does not exist".to_owned(),
        ),
    ] {
        let home = valid_once();
        let folder = home.home().join(".config/osier");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::rename(
            home.home().join("settings.toml"),
            folder.join("settings.toml"),
        )
        .unwrap();
        let run = || {
            let cli = home
                .cli()
                .args(["-p", "go", "--model", "script/model.json"]);
            cli.environment("OSIER_HOME", "").run()
        };
        assert_eq!((run().code, run().code), (Some(0), Some(0)));
        hide(&folder);
        for _ in 0..2 {
            let ended = run();
            let expected = refused(&format!("HOME/.config/osier/settings.toml: {fault}"));
            assert_eq!(ended, expected);
        }
        assert!(home.work().join("precious").exists(), "{fault}");
    }
}

/// Settings below a directory whose name is not UTF-8 are not ignored.
#[test]
fn a_home_whose_name_is_not_text_is_used() {
    let home = valid_once();
    let odd = home.home().join(std::ffi::OsStr::from_bytes(b"h\xe9"));
    std::fs::create_dir(&odd).unwrap();
    let settings = home.home().join("settings.toml");
    std::fs::rename(settings, odd.join("settings.toml")).unwrap();
    let cli = home
        .cli()
        .args(["-p", "go", "--model", "script/model.json"]);
    let ended = cli.command().env("OSIER_HOME", &odd).output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(home.work().join("precious").exists());
}

#[test]
fn a_file_with_very_many_unknown_settings_is_read() {
    let home = valid_once();
    let many = (0..100_000).map(|number| format!("k{number} = 1\n"));
    home.config("settings.toml", many.collect::<String>());
    let ended = run(&home, &["config", "check"]);
    let first = "HOME/settings.toml:1:1: unknown setting `k0`; list the settings with `osier config schema`";
    let shown = home.normal(&(ended.stdout + &ended.stderr));
    assert!(shown.contains(first), "{shown}");
    assert_eq!(shown.matches("unknown setting").count(), 100);
}

#[test]
fn unknown_values_of_flags_are_errors() {
    for (flag, value, known) in [
        ("--permissions", "Ask", "`yolo`, `auto`, `ask`, `plan`"),
        ("--permissions", "none", "`yolo`, `auto`, `ask`, `plan`"),
        ("--sandbox", "readonly", "`off`, `workspace`, `read-only`"),
        ("--sandbox", "on", "`off`, `workspace`, `read-only`"),
    ] {
        let home = valid_once();
        for mode in MODES {
            let words: Vec<&str> = mode.iter().copied().chain([flag, value]).collect();
            let ended = run_mode(&home, &words);
            assert_eq!(
                (ended.code, ended.stdout.as_str()),
                (Some(2), ""),
                "{words:?}"
            );
            let expected =
                format!("unknown value `{value}` for `{flag} <MODE>`; expected one of {known}");
            assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
        }
        assert!(home.work().join("precious").exists());
    }
}

#[test]
fn damaged_hooks_stop_modes_without_a_person() {
    let hooks = |text: &'static str| Text(text);
    for (broken, fault) in [
        (
            hooks("{\"hooks\": {"),
            ":1:11: EOF while parsing an object; its hooks are ignored until it is fixed",
        ),
        (
            hooks(""),
            ":1:0: EOF while parsing a value; its hooks are ignored until it is fixed",
        ),
        (
            hooks("{\"hooks\": {\"PreToolUs\": []}}"),
            ":1:12: unknown event `PreToolUs`; did you mean `PreToolUse`?",
        ),
        (
            hooks("{\"hooks\": {\"PreToolUse\": [],\n \"PreToolUse\": []}}"),
            ":2:13: duplicate key `PreToolUse`; its hooks are ignored until it is fixed",
        ),
        (
            Link("nowhere"),
            ": cannot be read: the symbolic link `HOME/hooks.json` leads to nothing; its hooks are ignored until it is fixed",
        ),
        (
            Fifo,
            ": is not a regular file; its hooks are ignored until it is fixed",
        ),
        (
            Directory,
            ": is not a regular file; its hooks are ignored until it is fixed",
        ),
    ] {
        let home = valid_once();
        home.config("settings.toml", "discover_local_models = false\n");
        let path = home.config("hooks.json", "{}");
        replace(&path, &broken);
        for mode in MODES {
            let ended = run_mode(&home, mode);
            assert_eq!(
                ended,
                refused(&format!("HOME/hooks.json{fault}")),
                "{mode:?}"
            );
        }
        assert!(home.work().join("precious").exists(), "{fault}");
    }
}

#[test]
fn a_broken_file_of_a_trusted_project_stops_modes_without_a_person() {
    for (broken, fault) in [
        (Text("permissions = ask\n"), FILES[0].1),
        (
            Text("permissions = \"Ask\"\n"),
            ":1:15: invalid value `\"Ask\"` for `permissions`; expected yolo, auto, ask or plan",
        ),
        (Fifo, ": is not a regular file"),
        (
            Link("/etc/passwd"),
            ": leads out of `WORK` through a symbolic link",
        ),
        (
            Link("nowhere"),
            ": cannot be read: the symbolic link `WORK/.osier/settings.toml` leads to nothing",
        ),
    ] {
        let home = valid_once();
        home.config("settings.toml", "discover_local_models = false\n");
        std::fs::create_dir(home.work().join(".osier")).unwrap();
        let path = home.file(".osier/settings.toml", "deny = [\"bash(rm *)\"]\n");
        let trusted = run_mode(&home, &["-p", "go", "--trust"]);
        assert_eq!(
            (trusted.code, home.work().join("precious").exists()),
            (Some(0), true)
        );
        replace(&path, &broken);
        for mode in MODES {
            let ended = run_mode(&home, mode);
            assert_eq!(
                ended,
                refused(&format!("WORK/.osier/settings.toml{fault}")),
                "{mode:?}"
            );
        }
        assert!(home.work().join("precious").exists(), "{fault}");
    }
}

#[test]
fn a_trusted_project_whose_folder_is_broken_stops_modes_without_a_person() {
    for (broken, fault) in [
        (
            Link("nowhere"),
            "cannot be read: the symbolic link `WORK/.osier` leads to nothing",
        ),
        (
            Link(".osier"),
            "cannot be read: Too many levels of symbolic links (os error 40)",
        ),
        (Text(""), "is not a folder"),
    ] {
        let home = valid_once();
        home.config("settings.toml", "discover_local_models = false\n");
        let folder = home.work().join(".osier");
        std::fs::create_dir(&folder).unwrap();
        home.file(".osier/settings.toml", "deny = [\"bash(rm *)\"]\n");
        let trusted = run_mode(&home, &["-p", "go", "--trust"]);
        assert_eq!(trusted.code, Some(0));
        std::fs::rename(&folder, home.work().join("moved")).unwrap();
        home.file(".osier", "");
        replace(&folder, &broken);
        let ended = run_mode(&home, &["-p", "go"]);
        let expected = refused(&format!("WORK/.osier/settings.toml: {fault}"));
        assert_eq!(ended, expected);
        assert!(home.work().join("precious").exists(), "{fault}");
    }
}

#[test]
fn a_changed_project_can_still_restrict() {
    let home = valid_once();
    home.config("settings.toml", "discover_local_models = false\n");
    std::fs::create_dir(home.work().join(".osier")).unwrap();
    home.file(".osier/settings.toml", "deny = [\"bash(rm *)\"]\n");
    run_mode(&home, &["-p", "go", "--trust"]);
    // No longer trusted as it is.
    home.file(
        ".osier/settings.toml",
        "deny = [\"bash(rm *)\"]\nallow = [\"bash\"]\n",
    );
    assert_eq!(run_mode(&home, &["-p", "go"]).code, Some(0));
    assert!(home.work().join("precious").exists());
}

#[test]
fn a_damaged_trust_store_trusts_nothing() {
    for broken in [Text("{\"folders\": tru"), Text(""), Fifo, Directory] {
        let home = valid_once();
        home.config(
            "settings.toml",
            "discover_local_models = false\npermissions = \"ask\"\n",
        );
        let mark = home.home().join("mark");
        std::fs::create_dir(home.work().join(".osier")).unwrap();
        let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"command": format!("touch {}", mark.display())}]}]}});
        home.file(".osier/hooks.json", hook.to_string());
        run_mode(&home, &["-p", "go", "--trust"]);
        assert!(mark.exists());
        std::fs::remove_file(&mark).unwrap();
        replace(&home.home().join("trust.json"), &broken);
        run_mode(&home, &["-p", "go"]);
        assert!(!mark.exists());
        assert!(home.work().join("precious").exists());
    }
}

#[test]
fn a_session_that_opens_later_needs_readable_settings_too() {
    let home = valid_once();
    let mut rpc = home
        .cli()
        .args(["rpc", "--model", "script/model.json"])
        .start();
    rpc.say(r#"{"id":"1","type":"get_state"}"#);
    rpc.until(|line| line["id"] == "1");
    home.config("settings.toml", "permissions = \"Ask\"\n");
    rpc.say(r#"{"id":"2","type":"reload"}"#);
    let seen = rpc.until(|line| line["id"] == "2");
    let held = seen.iter().any(|line| line.to_string().contains("until `"));
    assert!(held, "{seen:?}");
    rpc.say(r#"{"id":"3","type":"set_permissions","mode":"Yolo"}"#);
    let answer = rpc.until(|line| line["id"] == "3");
    assert_eq!(answer.last().unwrap()["success"], false, "{answer:?}");
    rpc.close_input();
    rpc.end();
}
