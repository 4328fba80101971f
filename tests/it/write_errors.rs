//! `write` and `edit` on a full disk, on a disk that became read-only, and without permissions. The real program,
//! as root and as another user.

use std::process::Stdio;

use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::cli::Home;

/// Runs the program on a small disk: `$0` is the program.
const SMALL_DISK: &str = r#"
mkdir small && mount -t tmpfs -o size=128k tmpfs small 2>/dev/null || exit 77
printf 'one\ntwo\n' > small/f
cat /dev/zero > small/fill 2>/dev/null
"$0" --json --no-session --model script/model.json go
ls -A small; cat small/f
rm small/fill && mount -o remount,ro small || exit 77
"$0" --json --no-session --model script/model.json go
ls -A small; cat small/f
"#;

fn results(output: &str) -> Vec<String> {
    let events = output
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ends = events.filter(|event| event["type"] == "message_end");
    let results = ends.filter(|event| event["message"]["role"] == "toolResult");
    results
        .map(|event| {
            let text = event["message"]["content"][0]["text"].as_str();
            text.unwrap_or_default().to_owned()
        })
        .collect()
}

/// The lines of `output` that are not events.
fn printed(output: &str) -> Vec<&str> {
    output
        .lines()
        .filter(|line| !line.starts_with('{'))
        .collect()
}

fn in_namespace(home: &Home, script: &str, program: &std::ffi::OsStr) -> Option<String> {
    if !skip::has(&["unshare", "mount", "setpriv"], "apt install util-linux") {
        return None;
    }
    #[expect(clippy::disallowed_methods, reason = "a shell sets the ground up")]
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(program)
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home())
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        other => {
            skip::unsupported("mount", &format!("{other:?}"));
            None
        }
    }
}

#[test]
fn full_and_read_only_disks_leave_files_unchanged() {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"tool": "read", "arguments": {"file_path": "small/f"}}]},
        {"steps": [
            {"tool": "edit", "arguments": {"file_path": "small/f", "old_string": "one", "new_string": "1"}},
            {"tool": "write", "arguments": {"file_path": "small/f", "content": "x\n"}},
            {"tool": "write", "arguments": {"file_path": "small/new", "content": "x\n"}},
        ]},
        {"steps": [{"text": "done"}]},
    ]);
    let program = home.scripted(&turns).command().get_program().to_owned();
    let Some(output) = in_namespace(&home, SMALL_DISK, &program) else {
        return;
    };
    let output = home.normal(&output);
    let read = "1\tone\n2\ttwo\n";
    let expected = [
        read,
        "no space left to write `WORK/small/f`; free some space and try again; nothing was changed",
        "no space left to write `WORK/small/f`; free some space and try again; nothing was changed",
        "no space left to write `WORK/small/new`; free some space and try again; nothing was changed",
        read,
        "`WORK/small/f` is on a read-only file system; write elsewhere, or remount the file system",
        "`WORK/small/f` is on a read-only file system; write elsewhere, or remount the file system",
        "`WORK/small/new` is on a read-only file system; write elsewhere, or remount the file system",
    ];
    assert_eq!(results(&output), expected);
    assert_eq!(
        printed(&output),
        ["f", "fill", "one", "two", "f", "one", "two"]
    );
}

#[test]
fn limit_for_the_size_of_files_is_an_error() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "done"}]}]);
    let program = home.scripted(&turns).command().get_program().to_owned();
    // The prompt does not fit into the session file. 153 would be SIGXFSZ.
    let script = r#"ulimit -f 8; "$0" -p --model script/model.json "$(head -c 30000 /dev/zero | tr '\0' x)" 2>&1
        echo "code $?""#;
    let Some(output) = in_namespace(&home, script, &program) else {
        return;
    };
    assert!(output.contains("File too large (os error 27)"), "{output}");
    assert!(output.ends_with("code 1\n"), "{output}");
}

/// Lists sessions with a damaged index on a full disk, and after space was freed. `$0` is the program.
const DAMAGED_INDEX: &str = r#"
mkdir small && mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || exit 77
export OSIER_HOME="$PWD/small"
"$0" -p --model "script/$PWD/model.json" 'find the quokka' || exit 1
"$0" sessions list --json | wc -l
for damage in garbage ''; do
    printf '%s' "$damage" > small/index.sqlite
    rm -f small/index.sqlite-*
    cat /dev/zero > small/fill 2>/dev/null
    "$0" sessions list --json | wc -l
    "$0" sessions search --json quokka | wc -l
    rm small/fill
    "$0" sessions list --json | wc -l
    "$0" sessions search --json quokka | wc -l
    head -c 6 small/index.sqlite; echo
done
"#;

#[test]
fn damaged_index_is_rebuilt_also_when_the_disk_is_full() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "done"}]}]);
    let program = home.scripted(&turns).command().get_program().to_owned();
    let Some(output) = in_namespace(&home, DAMAGED_INDEX, &program) else {
        return;
    };
    let expected = "done 1 1 1 1 1 SQLite 1 1 1 1 SQLite";
    assert_eq!(
        output.split_whitespace().collect::<Vec<_>>().join(" "),
        expected
    );
}

/// Runs the program as a user without root permissions.
const SOMEBODY: &str = r#"
ln "$0" osier 2>/dev/null || cp "$0" osier
mkdir lost && printf 'one\n' > lost/f
chown -R 65534:65534 "$OSIER_HOME" .
chmod a+x "$OSIER_HOME/.." ..
exec setpriv --reuid=65534 --regid=65534 --clear-groups ./osier --json --no-session --model script/model.json go
"#;

#[test]
fn revoked_permissions_are_respected() {
    let home = Home::new();
    let edit = json!({"tool": "edit", "arguments": {"file_path": "lost/f", "old_string": "one", "new_string": "1"}});
    let write = json!({"tool": "write", "arguments": {"file_path": "lost/f", "content": "x\n"}});
    let bash = |command: &str| json!({"tool": "bash", "arguments": {"command": command}});
    let turns = json!([
        {"steps": [{"tool": "read", "arguments": {"file_path": "lost/f"}}]},
        {"steps": [bash("chmod a-w lost/f")]},
        {"steps": [edit, write]},
        {"steps": [bash("chmod u+w lost/f; chmod a-w lost")]},
        {"steps": [edit, write]},
        {"steps": [bash("ls -A lost; cat lost/f; chmod 0 lost/f")]},
        {"steps": [edit]},
        {"steps": [{"text": "done"}]},
    ]);
    let program = home.scripted(&turns).command().get_program().to_owned();
    let Some(output) = in_namespace(&home, SOMEBODY, &program) else {
        return;
    };
    let results = results(&home.normal(&output));
    let refused = "no permission to write `WORK/lost/f`; change the permissions of the file and its directory, or write elsewhere";
    let unreadable = "cannot read `lost/f`: Permission denied (os error 13)";
    let expected = [
        "1\tone\n",
        "(no output)",
        refused,
        refused,
        "(no output)",
        // The file itself can be written.
        "Changed 1 place in `lost/f` (+1 -1 lines)\n[the file was overwritten in place, because its directory does not allow replacing it]",
        "Overwrote `lost/f`, 2 bytes (+1 -1 lines)\n[the file was overwritten in place, because its directory does not allow replacing it]",
        "f\nx\n",
        unreadable,
    ];
    assert_eq!(results, expected);
}
