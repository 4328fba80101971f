//! `demo/tour`: a scripted model that demonstrates osier without a key. The answers are fixed; the tool calls and
//! the files are real. It works on a copy of a small sample project, never on the user's files. On a terminal the copy is
//! the directory of a session of its own, so that its changes can be reviewed.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use osier_base::atomic_file;
use osier_base::leftovers::{FolderKind, TemporaryFolder};
use osier_llm::Usage;
use osier_llm::scripted::{Script, Turn};
use osier_tools::{BASH, EDIT, READ, WRITE};
use serde_json::json;

/// The sample project: a shell script with a failing test.
const SAMPLE: &[(&str, &str)] = &[
    (
        "README.md",
        include_str!("../../../../assets/tour/README.md"),
    ),
    ("slug.sh", include_str!("../../../../assets/tour/slug.sh")),
    ("test.sh", include_str!("../../../../assets/tour/test.sh")),
];

/// The speed of the script: characters per delta, and the pause before each delta.
const PACE: (usize, Duration) = (4, Duration::from_millis(12));

/// Copies the sample project into a new folder that is removed with the returned value.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn scratch_copy() -> io::Result<TemporaryFolder> {
    let folder = TemporaryFolder::new(FolderKind::Tour)?;
    for (name, text) in SAMPLE {
        let path = folder.path().join(name);
        atomic_file::write(&path, text.as_bytes()).map_err(io::Error::other)?;
    }
    fs::canonicalize(folder.path())?;
    Ok(folder)
}

/// Whether a session in `cwd` works on the sample project.
pub fn is_sample(cwd: &Path) -> bool {
    let name = cwd.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with(FolderKind::Tour.prefix()))
        && cwd.join("slug.sh").is_file()
}

/// The script of the demo, for the sample project in `folder`; `ends` names what to do next.
fn script(folder: &Path, ends: &str) -> Script {
    let place = folder.display();
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    summaries(Script::new())
        .turn(|turn| {
            let turn = say(turn, &format!(
                "This is a **scripted demo**, not a language model: it shows the same answers whatever you type. \
                 The tool calls and the files are real. They are in `{place}`, a temporary copy of a sample \
                 project; your own files are not touched.\n\nFirst, I list the files and read the README."
            ));
            usage(turn.tool(BASH, json!({"command": format!("cd {place} && ls -l")}))
                .tool(READ, json!({"file_path": file("README.md")})), 900, 120)
        })
        .turn(|turn| {
            let turn = think(turn, "The README says that one check fails. I run all checks.");
            usage(turn.tool(BASH, json!({"command": format!("sh {place}/test.sh")})), 1_150, 60)
        })
        .turn(|turn| {
            let turn = say(turn, "One check fails: two separators become two dashes. Next, I read the code.");
            usage(turn.tool(READ, json!({"file_path": file("slug.sh")})), 1_300, 50)
        })
        .turn(|turn| {
            let turn = think(turn, "`s/--/-/g` replaces each pair with one dash, so four dashes become two. \
                                    `s/--*/-/g` replaces any number of dashes with one.");
            let turn = say(turn, "The expression replaces pairs of dashes. It must replace any number of them.");
            usage(turn.tool(EDIT, json!({
                "file_path": file("slug.sh"),
                "old_string": "s/--/-/g",
                "new_string": "s/--*/-/g",
            })), 1_500, 140)
        })
        .turn(|turn| usage(turn.tool(BASH, json!({"command": format!("sh {place}/test.sh")})), 1_700, 40))
        .turn(|turn| {
            let turn = say(turn, "All checks pass. I write a note about the change.");
            usage(turn.tool(WRITE, json!({
                "file_path": file("NOTES.md"),
                "content": "# Notes\n\n- `slug.sh` replaced only pairs of dashes; now it replaces any number of them.\n",
            })), 1_850, 70)
        })
        .turn(|turn| usage(say(turn, &format!(
            "Done: I found the failing check and fixed its cause. All checks pass.\n\n\
             | step | tool |\n|---|---|\n| read the project | `bash`, `read` |\n| fix the bug | `edit` |\n\
             | run the checks | `bash` |\n| write a note | `write` |\n\n\
             The answers were scripted, but the files in `{place}` really changed. {ends}"
        )), 2_000, 210))
        .turn(|turn| {
            let turn = say(turn, "The demo has ended. Press `ctrl+l` to choose a model, or `/login` to sign in to a \
                                  provider. A new session starts the demo again.");
            usage(turn, 2_100, 40).repeat()
        })
}

/// The script for a session in `cwd`: in the sample project itself, or in a copy, which is returned.
pub(super) fn of_session(cwd: &Path) -> io::Result<(Script, Option<TemporaryFolder>)> {
    if is_sample(cwd) {
        return Ok((script(cwd, REVIEW), None));
    }
    let folder = scratch_copy()?;
    Ok((script(folder.path(), SIGN_IN), Some(folder)))
}

/// The end of the demo where its changes cannot be reviewed.
const SIGN_IN: &str = "To use a real model:\n\n\
    1. Sign in with `/login`, set a key such as `ANTHROPIC_API_KEY`, or start Ollama.\n\
    2. Press `ctrl+l` and choose a model.\n\
    3. Describe your task.";

/// The end of the demo in a session of its own.
const REVIEW: &str = "Now it is your turn:\n\n\
    1. Review: `/diff` shows both changes. `a` accepts one, `X` reverts one, `esc` goes back.\n\
    2. Look back: `alt+t` shows this session as a tree, `/undo` goes back before your prompt.\n\
    3. Sign in: `/login`. A key such as `ANTHROPIC_API_KEY` or a local server such as Ollama works, too.\n\
    4. `/close` closes this tab. You are back in your own directory: describe your task.";

/// Answers the requests of a compaction, whenever they come.
fn summaries(script: Script) -> Script {
    script
        .turn(|turn| turn.when_user("</conversation>").text(SUMMARY).repeat())
        .turn(|turn| {
            turn.when_user("write `none` if nothing is missing")
                .text("none")
                .repeat()
        })
}

/// The summary of the demo, in the form that is asked for.
const SUMMARY: &str = "## Goal\nTry osier with its scripted demo.\n## Constraints & Preferences\n(none)\n## Progress\n\
    ### Done\nA part of the demo was played.\n### In Progress\n(none)\n### Blocked\n(none)\n## Key Decisions\n(none)\n\
    ## Next Steps\nSend any prompt: the demo continues.\n## Critical Context\nThe answers are scripted.";

fn say(turn: Turn, text: &str) -> Turn {
    turn.text(text).paced(PACE.0, PACE.1)
}

fn think(turn: Turn, text: &str) -> Turn {
    turn.thinking(text).paced(PACE.0, PACE.1)
}

/// Token counts of plausible size, so that the footer has something to show.
fn usage(turn: Turn, input: u64, output: u64) -> Turn {
    turn.usage(Usage {
        input,
        output,
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_project_has_a_failing_check_that_the_edit_fixes() {
        let slug = SAMPLE
            .iter()
            .find(|(name, _)| *name == "slug.sh")
            .unwrap()
            .1;
        assert_eq!(slug.matches("s/--/-/g").count(), 1);
        let folder = scratch_copy().unwrap();
        let names: Vec<bool> = SAMPLE
            .iter()
            .map(|(name, _)| folder.path().join(name).exists())
            .collect();
        assert_eq!(names, [true, true, true]);
        assert!(is_sample(folder.path()));
        assert!(!is_sample(folder.path().parent().unwrap()));
    }
}
