//! Skills and prompt templates on the screen.

use osier_llm::scripted::Script;

use super::support::Screen;

const SKILL: &str = "---\nname: pdf\ndescription: reads PDF files\n---\nUse pdftotext.";
const PROMPT: &str = "---\ndescription: review a file\nargument-hint: FILE\n---\nReview $1.";

#[tokio::test]
async fn skills_and_templates_are_completed_listed_and_run() {
    let mut screen = Screen::new(80, 24)
        .script(Script::always("Done."))
        .file(".agents/skills/pdf/SKILL.md", SKILL)
        .file(".osier/prompts/review.md", PROMPT)
        .start()
        .await;
    // The commands are loaded before the first answer.
    screen.send("hello").settled().await;
    screen.type_text("/rev");
    assert!(
        screen.screen().contains("/review FILE"),
        "{}",
        screen.screen()
    );
    screen.press("tab").type_text("a.rs").press("enter");
    screen.settled().await;
    assert_eq!(screen.last_prompt(), "Review a.rs.");
    screen.send("/skills").shows("description").await;
    // The number of tokens depends on the path of the skill.
    let shown = screen.screen();
    let (before, after) = shown.split_once('~').unwrap();
    let after = after.trim_start_matches(|char: char| char.is_ascii_digit());
    insta::assert_snapshot!("skills", format!("{before}~NN{after}"));
    screen.type_text("pdf").press("enter");
    assert_eq!(screen.editor(), "/skill:pdf");
    screen.type_text("page 3").press("enter");
    screen.settled().await;
    assert!(
        screen
            .last_prompt()
            .starts_with("page 3\n\nFollow the skill `pdf`")
    );
}

#[tokio::test]
async fn text_after_two_slashes_and_paths_are_no_commands() {
    let mut screen = Screen::new(80, 24)
        .script(Script::always("Done."))
        .start()
        .await;
    for (typed, sent) in [
        ("//name Mine", "/name Mine"),
        ("/usr/bin/x is odd", "/usr/bin/x is odd"),
    ] {
        screen.send(typed).settled().await;
        assert_eq!(screen.last_prompt(), sent);
    }
}

#[tokio::test]
async fn built_in_command_is_not_overridden() {
    let mut screen = Screen::new(100, 24)
        .script(Script::always("Done."))
        .file(".osier/prompts/model.md", "Mine.")
        .start()
        .await;
    screen
        .send("hello")
        .shows("/model of prompt has the name of a built-in command; rename it")
        .await;
}
