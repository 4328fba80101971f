//! Stashed prompts, pinned and archived sessions, favourites; across restarts.

use super::program::Program;

const SCRIPT: &str = r#"{"turns": [{"repeat": true, "steps": [{"text": "Just an answer."}]}]}"#;

#[test]
fn stashed_prompts_are_restored_in_another_session_after_a_crash() {
    let mut program = Program::new()
        .file("s.json", SCRIPT)
        .model("s.json")
        .start();
    program.shows("Ask,");
    program.write("first thought\x13");
    program.shows("stashed;");
    program.shows("Ask, or type");
    program.write("second thought\x13");
    program.shows("Ask, or type");
    // Listed prompts are stored.
    program.write("\x1bg");
    program.shows("second thought");
    program.waits_for_no_draft();
    program.signal("KILL");
    program.exit();
    let mut again = program.again(&["--model", "script/s.json"]);
    again.shows("Ask,");
    // With an empty editor the key lists them, newest first.
    again.write("\x13");
    again.shows("› second thought");
    again.shows("first thought");
    again.write("first\r");
    again.shows("❯ first thought");
    // Restoring a prompt stashes the current text.
    again.write("\x1bg");
    again.shows("› second thought");
    again.write("\r");
    again.shows("❯ second thought");
    again.write("\x1bg");
    again.shows("› first thought");
    again.write("\x04");
    again.shows("no stashed prompts");
    again.write("\x1b");
    again.shows("❯ second thought");
}

#[test]
fn edited_text_of_the_undone_first_prompt_is_restored_after_a_kill() {
    let mut program = Program::new()
        .file("s.json", SCRIPT)
        .model("s.json")
        .start();
    program.shows("Ask,");
    program.write("the first prompt\r");
    program.shows("Just an answer.");
    program.hides("esc to interrupt");
    program.write("/undo\r");
    program.shows("❯ the first prompt");
    program.write(", edited");
    program.waits_for_file("the first prompt, edited");
    program.signal("KILL");
    program.exit();
    let mut again = program.again(&["--model", "script/s.json", "--continue"]);
    again.shows("❯ the first prompt, edited");
}

#[test]
fn sessions_are_pinned_and_archived() {
    let mut program = Program::new()
        .file("s.json", SCRIPT)
        .model("s.json")
        .start();
    program.shows("Ask,");
    for prompt in ["older one", "middle one", "newest one"] {
        program.write(&format!("{prompt}\r"));
        program.shows("Just an answer.");
        program.hides("esc to interrupt");
        program.write("/new\r");
        program.shows("Ask, or type");
        program.hides("Just an answer.");
    }
    program.write("\x1bs");
    program.shows("older one");
    program.shows("1/3");
    program.write("\x1b[B\x1b[B\x1bt");
    program.shows("▲ older one");
    let order = |screen: &str| {
        let at = |text: &str| screen.find(text).unwrap_or(usize::MAX);
        at("older one") < at("newest one") && at("newest one") < at("middle one")
    };
    program.until("the pinned one first", order);
    // Archived sessions are hidden, also in searches, unless requested.
    program.write("middle");
    program.shows("1/1");
    program.write("\x1bx");
    program.shows("archived: hidden from the list");
    program.write("\x15");
    program.shows("1/2");
    program.write("\x1ba");
    program.shows("· archived");
    program.hides("newest one");
    program.shows("1/1");
    program.write("\r");
    program.shows("▌ middle one");
    program.write("/archive off\r");
    program.shows("unarchived");
    program.write("\x1bs");
    program.shows("1/3");
    program.shows("middle one");
}

#[test]
fn favourites_are_cycled_and_roles_switch_models() {
    let mut program = Program::new()
        .file("a.json", SCRIPT)
        .file("b.json", SCRIPT)
        .file("c.json", SCRIPT)
        .model("a.json")
        .start();
    program.shows("Ask,");
    program.write("/role\r");
    program.shows("the role plan has no model:");
    program.write("/role plan script/b.json\r");
    program.shows("plan script/b.json");
    program.write("\x1bl");
    program.hides("plan script/b.json");
    program.shows("script/a.json");
    program.write("/role edit script/c.json\r");
    program.shows("edit script/c.json");
    program.write("\x1bl");
    program.shows("plan script/b.json");
    program.waits_for_file("plan_model = \"script/b.json\"");
    // The role follows from the model of the branch.
    program.write("one\r");
    program.shows("Just an answer.");
    program.hides("esc to interrupt");
    program.write("\x1bl");
    program.shows("edit script/c.json");
    program.write("two\r");
    program.until("two answers", |screen| {
        screen.matches("Just an answer.").count() == 2
    });
    program.hides("esc to interrupt");
    program.write("\x1bt");
    program.shows("◂ current");
    program.write("[[\r");
    program.shows("plan script/b.json");
}

#[test]
fn images_and_pastes_are_stashed_with_their_prompt() {
    let setup = Program::new().file("s.json", SCRIPT).model("s.json");
    let picture = setup.folder().join("work/seen.png");
    std::fs::write(&picture, include_bytes!("../../prompt_cache/image.png")).unwrap();
    let mut program = setup.start();
    program.shows("Ask,");
    program.write(&format!("look \x1b[200~{}\x1b[201~", picture.display()));
    program.shows("[seen.png");
    program.write(&format!("\x1b[200~{}\x1b[201~", "a line\n".repeat(20)));
    program.shows("[paste #1 +20 lines]");
    program.write("\x13");
    program.shows("Ask, or type");
    program.write("\x1bg");
    program.shows("› look");
    program.waits_for_no_draft();
    program.signal("KILL");
    program.exit();
    std::fs::remove_file(&picture).unwrap();
    let mut again = program.again(&["--model", "script/s.json"]);
    again.shows("Ask,");
    again.write("\x13");
    again.shows("› look");
    again.write("\r");
    // The prompt keeps the image after its file is deleted.
    again.shows("❯ look [seen.png");
    again.shows("[paste #1 +20 lines]");
    again.write("\r");
    again.shows("does not accept images");
    again.write("\r");
    again.shows("Just an answer.");
    again.waits_for_file("\"fileName\":\"seen.png\"");
    again.waits_for_file("a line\\na line");
}

#[test]
fn images_and_long_pastes_of_a_draft_are_restored_after_a_kill() {
    let setup = Program::new().file("s.json", SCRIPT).model("s.json");
    let picture = setup.folder().join("work/seen.png");
    std::fs::write(&picture, include_bytes!("../../prompt_cache/image.png")).unwrap();
    let mut program = setup.start();
    program.shows("Ask,");
    program.write(&format!("look \x1b[200~{}\x1b[201~", picture.display()));
    program.shows("[seen.png");
    // The paste is larger than 1 MiB.
    let paste = "a line of thirty-two characters\n".repeat(40_000);
    program.write(&format!("\x1b[200~{paste}\x1b[201~"));
    program.shows("[paste #1 +40000 lines]");
    program.write("the end");
    program.waits_for_file("the end");
    program.waits_for_file("\"fileName\":\"seen.png\"");
    program.signal("KILL");
    program.exit();
    std::fs::remove_file(&picture).unwrap();
    let mut again = program.again(&["--model", "script/s.json"]);
    again.shows("❯ look [seen.png");
    again.shows("[paste #1 +40000 lines]the end");
    again.write("\r");
    again.shows("does not accept images");
    again.write("\r");
    again.shows("Just an answer.");
    again.waits_for_no_draft();
    again.waits_for_file("\"fileName\":\"seen.png\"");
}

#[test]
fn prompt_stays_in_the_editor_if_the_stash_is_damaged() {
    let mut program = Program::new()
        .file("s.json", SCRIPT)
        .model("s.json")
        .start();
    program.shows("Ask,");
    let stash = program.work().join("../home/stash.json");
    std::fs::write(&stash, "[1, ").unwrap();
    program.write("a thought\x13");
    program.shows("cannot use the stash");
    program.shows("❯ a thought");
    program.write(" more");
    program.shows("❯ a thought more");
    assert_eq!(std::fs::read_to_string(&stash).unwrap(), "[1, ");
}

const QUEUED: &str = r#"{"turns": [
  {"steps": [{"text": "Working on it."}, {"tool": "bash", "arguments": {"command": "touch asked"}}]},
  {"repeat": true, "steps": [{"text": "Just an answer."}]}]}"#;

#[test]
fn prompts_that_wait_during_a_question_are_restored_after_a_kill() {
    let mut program = Program::new()
        .file("s.json", QUEUED)
        .model("s.json")
        .argument("--permissions")
        .argument("ask")
        .start();
    program.shows("Ask,");
    program.write("hello\r");
    program.shows("Run this command?");
    program.write("steer it\r");
    program.shows("Steering: steer it");
    program.write("and a draft");
    program.waits_for_file("steer it\\n\\nand a draft");
    program.signal("KILL");
    program.exit();
    let mut again = program.again(&["--model", "script/s.json", "--continue"]);
    again.shows("❯ steer it");
    again.shows("and a draft");
    again.write("\r");
    again.shows("Just an answer.");
    again.waits_for_no_draft();
}

#[test]
fn open_model_list_updates_when_favourites_change() {
    let mut program = Program::new()
        .file("a.json", SCRIPT)
        .model("a.json")
        .start();
    program.shows("Ask,");
    program.write("\x0c");
    program.shows("type to filter");
    let settings = program.work().join("../home/settings.toml");
    let text = "discover_local_models = false\nfavourites = [\"demo/tour\"]\n";
    std::fs::write(settings, text).unwrap();
    program.shows("★ demo/tour");
}
