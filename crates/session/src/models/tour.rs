//! `demo/tour`: a scripted model that demonstrates osier without a key. The script is fixed; the
//! loop, the tools and the files are real. It works on a copy of a small sample project, never on the
//! user's files.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use serde_json::json;
use tempfile::TempDir;

use osier_base::atomic_file;
use osier_llm::Usage;
use osier_llm::scripted::{Script, Turn};

/// The sample project: a shell script with a failing test.
const SAMPLE: &[(&str, &str)] = &[
    (
        "README.md",
        include_str!("../../../../assets/tour/README.md"),
    ),
    ("slug.sh", include_str!("../../../../assets/tour/slug.sh")),
    ("test.sh", include_str!("../../../../assets/tour/test.sh")),
];

/// How fast the script types: characters a piece, and the pause before each.
const PACE: (usize, Duration) = (4, Duration::from_millis(12));

/// Copies the sample project into a new folder that is removed with the returned value.
pub(crate) fn scratch_copy() -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("osier-tour-").tempdir()?;
    for (name, text) in SAMPLE {
        let path = folder.path().join(name);
        atomic_file::write(&path, text.as_bytes()).map_err(io::Error::other)?;
    }
    fs::canonicalize(folder.path())?;
    Ok(folder)
}

/// The script of the tour over the sample project in `folder`.
pub fn script(folder: &Path) -> Script {
    let place = folder.display();
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    Script::new()
        .turn(|turn| {
            let turn = say(turn, &format!(
                "Welcome to the tour. I am **not a language model**: I am a script inside osier, so I say the \
                 same whatever you ask. The loop, the tools and the files are real. I work in a scratch copy \
                 of a small project in `{place}`; your own files stay untouched.\n\nFirst I look around."
            ));
            usage(turn.tool("bash", json!({"command": format!("cd {place} && ls -l")}))
                .tool("read", json!({"file_path": file("README.md")})), 900, 120)
        })
        .turn(|turn| {
            let turn = think(turn, "The README says that one check fails. I run them all.");
            usage(turn.tool("bash", json!({"command": format!("sh {place}/test.sh")})), 1_150, 60)
        })
        .turn(|turn| {
            let turn = say(turn, "One check fails: two separators become two dashes. The code is next.");
            usage(turn.tool("read", json!({"file_path": file("slug.sh")})), 1_300, 50)
        })
        .turn(|turn| {
            let turn = think(turn, "`s/--/-/g` turns each pair into one dash, so four become two. \
                                    `s/--*/-/g` takes the whole run.");
            let turn = say(turn, "The replacement takes pairs of dashes, not runs of them.");
            usage(turn.tool("edit", json!({
                "file_path": file("slug.sh"),
                "old_string": "s/--/-/g",
                "new_string": "s/--*/-/g",
            })), 1_500, 140)
        })
        .turn(|turn| usage(turn.tool("bash", json!({"command": format!("sh {place}/test.sh")})), 1_700, 40))
        .turn(|turn| {
            let turn = say(turn, "All checks pass. I leave a note about it.");
            usage(turn.tool("write", json!({
                "file_path": file("NOTES.md"),
                "content": "# Notes\n\n- `slug.sh` squeezed pairs of dashes; it squeezes runs now.\n",
            })), 1_850, 70)
        })
        .turn(|turn| usage(say(turn, &format!(
            "Done: the failing check was found, the cause edited, and the checks pass.\n\n\
             | step | tool |\n|---|---|\n| look around | `bash`, `read` |\n| fix | `edit` |\n\
             | prove | `bash` |\n| note | `write` |\n\n\
             What you saw was scripted; the work was not: `diff` what is in `{place}`. To continue with a real model:\n\n\
             1. set a key, e.g. `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or start Ollama,\n\
             2. press `ctrl+l` and pick a model,\n\
             3. say what you want done."
        )), 2_000, 210))
        .turn(|turn| {
            let turn = say(turn, "I am only the tour's script and have nothing more to show. Press `ctrl+l` to \
                                  pick a real model; `demo/tour` starts again with the next session.");
            usage(turn, 2_100, 40).repeat()
        })
}

fn say(turn: Turn, text: &str) -> Turn {
    turn.text(text).paced(PACE.0, PACE.1)
}

fn think(turn: Turn, text: &str) -> Turn {
    turn.thinking(text).paced(PACE.0, PACE.1)
}

/// Counts as a small model might report them, so that the footer can be seen at work.
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
    }
}
